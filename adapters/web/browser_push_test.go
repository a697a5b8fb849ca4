package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/harness/chromium"
	"github.com/nodhq/nod/tests/standins/fakepush"
)

// One press has this device notified, another ends it. The browser's worker shows what is pushed, unless its person looks at the question, and
// takes away what is answered. The browser subscribes nowhere here: the page is given a subscription of the stand-in.
func TestPageIsNotifiedWhileClosed(t *testing.T) {
	looked := make(chan struct{}, 100) // the worker at the inbox, once it has shown what came
	var lost atomic.Bool               // what it asks there gets no answer
	ctx, b, s := browserPast(t, chromium.OpenWhole, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1/inbox" && r.URL.RawQuery == "" {
				looked <- struct{}{}
				if lost.Load() {
					<-r.Context().Done()
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	})
	service := fakepush.Start(t)
	s.push.Client = service.Client()
	hears(t, b, s)
	key, err := s.push.Key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := service.Subscribe(key)
	if _, err := chromedp.CallBrowser(ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
		Permission: &cdpbrowser.PermissionDescriptor{Name: "notifications"}, Setting: "granted", BrowserContextID: chromedp.FromContext(ctx).BrowserContextID}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(`
		(() => {
			const device = { toJSON: () => ({ endpoint: %q, expirationTime: null, keys: { p256dh: %q, auth: %q } }), unsubscribe: async () => { sessionStorage.there = ""; } };
			PushManager.prototype.subscribe = async o => { if (!o.userVisibleOnly || o.applicationServerKey !== %q) throw new Error("refused"); sessionStorage.there = "yes"; return device; };
			PushManager.prototype.getSubscription = async () => sessionStorage.there ? device : null;
		})()`, d.Endpoint, d.P256dh, d.Auth, key)}); err != nil {
		t.Fatal(err)
	}
	registrations := chromedp.Events(ctx, serviceworker.WorkerRegistrationUpdated)
	if _, err := chromedp.Call(ctx, serviceworker.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	origin := eval[string](t, ctx, `location.origin`)
	do(t, ctx, chromedp.Navigate(origin+"/"))
	until(t, ctx, `document.getElementById("bell").title === "Notify me on this device, also when the page is closed"`)
	press(t, ctx, "#bell")
	until(t, ctx, `document.getElementById("bell").title === "This device is notified, also when the page is closed"`)
	kept := func() (n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, device := range b.pushes {
			if strings.Contains(string(device), d.Endpoint) {
				n++
			}
		}
		return n
	}
	if n := kept(); n != 1 {
		t.Fatalf("%d devices are kept", n)
	}
	var registration serviceworker.RegistrationID
	for ev, err := range registrations {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range ev.Registrations {
			if r.ScopeURL == origin+"/" {
				registration = r.RegistrationID
			}
		}
		if registration != "" {
			break
		}
	}
	pushes := func(tag, to string) {
		t.Helper()
		if _, err := chromedp.Call(ctx, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: origin, RegistrationID: registration,
			Data: fmt.Sprintf(`{"title":"Otto asks: Allow %s from db?","body":"Waits in Slack.","tag":%q,"to":%q}`, tag, tag, to)}); err != nil {
			t.Fatal(err)
		}
		<-looked
	}
	// Nothing may be looked at while it is being shown: Chromium takes what it has not displayed yet for closed.
	shown := func(want string) {
		t.Helper()
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(async () => { for (let n = 0; ; n++) {
			const now = (await (await navigator.serviceWorker.ready).getNotifications()).map(n => n.title + "|" + n.body + "|" + n.tag + "|" + n.data).sort().join("\n");
			if (now === `+fmt.Sprintf("%q", want)+` || n > 2000) return now;
			await new Promise(go => setTimeout(go, 20));
		} })()`, chromedp.EvalAwaitPromise))
		if err != nil || got != want {
			t.Fatalf("%v: shown is %q, want %q", err, got, want)
		}
	}
	// Nobody looks at the questions: one is shown, and a second time in place of the first. The inbox was not open before: a page that was left
	// counts until the browser has let go of it.
	b.mu.Lock()
	me := chat.User{Platform: Platform}
	for _, x := range b.sessions {
		me.Key = keptOf(x).User
	}
	b.shown = map[string]bool{me.String(): true}
	b.mu.Unlock()
	other := thread
	other.Key += "9"
	asked := func(id chat.ID) string {
		b.asksThere(t, id, "write hello")
		b.mu.Lock()
		defer b.mu.Unlock()
		return string(turn.OpenAsks(b.fold(id))[0].Ask)
	}
	ask, second := asked(thread), asked(other)
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`navigator.serviceWorker.ready.then(r => r.showNotification("old", { tag: "answered" })).then(() => true)`, chromedp.EvalAwaitPromise)); err != nil {
		t.Fatal(err)
	}
	shown("old||answered|null")
	lost.Store(true) // where nod does not answer, the next is shown all the same: Apple takes the permission from whoever shows nothing
	pushes(ask, "/inbox")
	lost.Store(false)
	pushes(ask, "/inbox") // and what waits no more goes
	one := "Otto asks: Allow " + ask + " from db?|Waits in Slack.|" + ask + "|/inbox"
	shown(one)
	pushes(ask, "/inbox")
	shown(one)
	// Who looks at the inbox sees it there. What is answered goes.
	do(t, ctx, chromedp.Navigate(origin+"/inbox"))
	until(t, ctx, `document.querySelectorAll("#asks .ask").length === 2`)
	const words = `document.getElementById("bell").innerText`
	until(t, ctx, words+` === "This device is notified, also when the page is closed"`)
	shoot(t, ctx, "push-on")
	// The browser may take another address, and tells its worker alone.
	targets, err := chromedp.Targets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(targets, func(x *target.Info) bool { return x.Type == "service_worker" })
	if i < 0 {
		t.Fatal("no worker runs")
	}
	worker, leave := chromedp.NewContext(ctx, chromedp.WithTargetID(targets[i].TargetID))
	defer leave()
	was := d
	d = service.Subscribe(key)
	if _, err := chromedp.Run(worker, chromedp.Evaluate[bool](fmt.Sprintf(`(async () => {
		PushManager.prototype.subscribe = async o => { if (!o.userVisibleOnly || o.applicationServerKey !== %q) throw new Error("refused"); return { endpoint: %q, keys: { p256dh: %q, auth: %q } }; };
		let work;
		dispatchEvent(Object.assign(new Event("pushsubscriptionchange"), { waitUntil: p => { work = p; } }));
		await work;
		return true;
	})()`, key, d.Endpoint, d.P256dh, d.Auth), chromedp.EvalAwaitPromise)); err != nil {
		t.Fatal(err)
	}
	if n := kept(); n != 1 {
		t.Errorf("the new address is kept %d times", n)
	}
	d = was
	if n := kept(); n != 0 {
		t.Errorf("the old address is kept %d times", n)
	}
	pushes(second, "/inbox")
	pushes(second, "/c/elsewhere")
	shown(one)
	press(t, ctx, `#asks .ask[data-request="`+ask+`"] .choices [data-choice=allow_once]`)
	shown("")
	// The other way.
	press(t, ctx, "#bell")
	until(t, ctx, words+` === "Notify me on this device, also when the page is closed"`)
	if n := kept(); n != 0 {
		t.Errorf("%d devices are kept after the second press", n)
	}
	press(t, ctx, "#bell")
	until(t, ctx, words+` === "This device is notified, also when the page is closed"`)
	// Who signs in here later did not ask for it.
	do(t, ctx, chromedp.Navigate(origin+"/"))
	press(t, ctx, `.me button[type=submit]:not([name])`)
	do(t, ctx, chromedp.WaitVisible(css("#name")), chromedp.SetValue(css("#name"), "Eve"), chromedp.Click(css("button.send")), chromedp.WaitVisible(css("#say")))
	until(t, ctx, `document.getElementById("bell").title === "Notify me on this device, also when the page is closed" && !sessionStorage.there`)
	if n := kept(); n != 0 {
		t.Errorf("%d devices are kept of another's", n)
	}
}
