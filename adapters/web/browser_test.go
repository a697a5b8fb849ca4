package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/harness/chromium"
)

// browser opens the page of a fresh bot in a headless Chromium, signed in as Ana.
func browser(t *testing.T) (context.Context, *bot, *Server) {
	t.Helper()
	return browserPast(t, chromium.Open, func(h http.Handler) http.Handler { return h })
}

// browserPast is browser in another program, past what front makes of the handler.
func browserPast(t *testing.T, open func(testing.TB, time.Duration) context.Context, front func(http.Handler) http.Handler) (context.Context, *bot, *Server) {
	t.Helper()
	b := newBot()
	b.clock, b.tick = time.Now(), time.Millisecond
	b.timeout = 10 * time.Minute
	s, err := New(Config{Listen: "127.0.0.1:0", Engine: b, Settings: b, Log: b, Shelf: b,
		Banner:      "This is a scripted demo, not a language model. Set OPENAI_API_KEY and OPENAI_MODEL to connect a real one.",
		Suggestions: []string{"what time is it", "write hello to notes.txt", "read notes.txt and write bye to b.txt and list files"}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(front(s.Handler()))
	t.Cleanup(srv.Close)
	ctx := open(t, 2*time.Minute) // closed before srv is, which waits for open streams
	do(t, ctx, chromedp.EmulateViewport(1200, 820), chromedp.Navigate(srv.URL),
		chromedp.SetValue(css("#name"), "Ana"), chromedp.Click(css("button.send")), chromedp.WaitVisible(css("#say")))
	until(t, ctx, `document.readyState === "complete"`) // its scripts have run: what is typed before is heard by nobody
	return ctx, b, s
}

func TestMain(m *testing.M) {
	code := m.Run()
	chromium.Stop()
	os.Exit(code)
}

func css(s string) chromedp.CSS { return chromedp.CSS(s) }

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func eval[T any](t *testing.T, ctx context.Context, js string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	if err != nil {
		t.Fatal(js, err)
	}
	return v
}

// until waits for a condition of the page.
func until(t *testing.T, ctx context.Context, js string) {
	t.Helper()
	if err := chromium.Until(ctx, js, time.Minute); err != nil {
		shoot(t, ctx, "failed-"+t.Name())
		t.Fatalf("waiting for %s: %v\npage: %s", js, err, eval[string](t, ctx, "document.body.innerText"))
	}
}

// press clicks by script once there is something to press: a mouse aims at a place, and while the window changes its size the button may
// have left it.
func press(t *testing.T, ctx context.Context, selector string) {
	t.Helper()
	until(t, ctx, `(b => { if (!b || b.disabled || !b.checkVisibility()) return false; b.click(); return true })(document.querySelector('`+selector+`'))`)
}

func speak(t *testing.T, ctx context.Context, text string) {
	t.Helper()
	if err := chromium.Insert(ctx, "#say", text); err != nil {
		t.Fatal(err)
	}
	keys(t, ctx, kb.Enter)
}

func keys(t *testing.T, ctx context.Context, typed string) {
	t.Helper()
	if err := chromium.Type(ctx, typed); err != nil {
		t.Fatal(err)
	}
}

// shoot keeps a picture where NOD_WEB_SHOTS names a folder: for people, not for the test.
func shoot(t *testing.T, ctx context.Context, name string) {
	dir := os.Getenv("NOD_WEB_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Log(err)
		return
	}
	if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".png"), png, 0o600); err != nil {
		t.Log(err)
	}
}

func dark(t *testing.T, ctx context.Context, on bool) {
	t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		t.Fatal(err)
	}
}

// R88
func TestPageAsksAndFinishesInOneMessage(t *testing.T) {
	ctx, _, _ := browser(t)
	shoot(t, ctx, "empty")
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `!!document.querySelector(".ask")`)
	shoot(t, ctx, "ask")

	text := eval[string](t, ctx, `document.querySelector(".ask").innerText`)
	for _, want := range []string{"Allow tool call from files?", "Run write_file from files",
		"Malicious MCP Servers or conversation content could potentially trick nod into attempting harmful actions through your installed tools.",
		"changes things", "moderate risk", "notes.txt", "Ana can answer until "} {
		if !strings.Contains(text, want) {
			t.Errorf("the card lacks %q:\n%s", want, text)
		}
	}
	if got := eval[string](t, ctx, `document.querySelector(".ask .review strong").innerText`); got != "Review each action carefully before approving" {
		t.Errorf("bold line: %q", got)
	}
	if got := eval[string](t, ctx, `document.querySelector(".ask").getAttribute("aria-live")`); got != "polite" {
		t.Errorf("aria-live %q", got)
	}
	if n := eval[int](t, ctx, `document.querySelectorAll(".ask .rows dt").length - 10 * document.querySelectorAll(".ask pre").length`); n != 2 {
		t.Errorf("the arguments do not stand there once, a row each: %d", n)
	}
	// The eye reads Allow for this chat, Allow once, Deny, and Tab goes the same way.
	eye := eval[[]string](t, ctx, `[...document.querySelectorAll(".ask .answers .choices .act")].sort((a, b) => a.getBoundingClientRect().x - b.getBoundingClientRect().x).map(b => b.textContent)`)
	if strings.Join(eye, "|") != "Allow for this chat|Allow once|Deny" {
		t.Errorf("the eye reads %v", eye)
	}
	tab := eval[[]string](t, ctx, `[...document.querySelectorAll(".ask .answers .choices button")].filter(b => b.tabIndex === 0).map(b => b.dataset.choice)`)
	if strings.Join(tab, "|") != "allow_chat|allow_once|deny" {
		t.Errorf("Tab goes %v", tab)
	}
	if on := eval[string](t, ctx, `document.activeElement.className`); on != "ask" || eval[bool](t, ctx, `!!document.querySelector("[autofocus][data-choice]")`) {
		t.Errorf("the focus is on %q, not on the question itself", on)
	}

	press(t, ctx, ".ask .answers .choices [data-choice=allow_once]")
	until(t, ctx, `!!document.querySelector('.bot[data-state=done] .step[data-state=done]')`)
	shoot(t, ctx, "done")
	if n := eval[int](t, ctx, `document.querySelectorAll(".bot").length`); n != 1 {
		t.Errorf("%d messages of the bot, want 1", n)
	}
	if got := eval[string](t, ctx, `document.querySelector(".step").innerText`); !strings.Contains(got, "by Ana") {
		t.Errorf("the step does not say who allowed it: %q", got)
	}
	if got := eval[string](t, ctx, `document.querySelector(".text strong").innerText`); got != "Done." {
		t.Errorf("the model's Markdown is not drawn: %q", got)
	}
}

func TestPageDeniesWithReason(t *testing.T) {
	ctx, b, _ := browser(t)
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `!!document.querySelector(".ask")`)
	press(t, ctx, ".ask .more summary")
	press(t, ctx, ".ask [data-choice=deny_reason]")
	do(t, ctx, chromedp.SendKeys(css(`.ask .deny_reason input`), "not now\r"))
	until(t, ctx, `!!document.querySelector('.step[data-state=denied]')`)
	if got := eval[string](t, ctx, `document.querySelector(".step").innerText`); !strings.Contains(got, "not now") {
		t.Errorf("the step does not say why: %q", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ran) > 0 {
		t.Errorf("a denied call ran: %v", b.ran)
	}
}

// What somebody writes stays when the card is drawn anew below it, and a form opens that was asked for before.
func TestPageKeepsWhatIsWrittenOnACard(t *testing.T) {
	for choice, field := range map[string]string{"deny_reason": "input", "edit": "textarea"} {
		t.Run(choice, func(t *testing.T) {
			ctx, b, _ := browser(t)
			speak(t, ctx, "write hello to notes.txt")
			until(t, ctx, `!!document.querySelector(".ask")`)
			id := webChat(eval[string](t, ctx, `location.pathname.split("/").pop()`))
			minutes := 0
			redraw := func() {
				t.Helper()
				eval[bool](t, ctx, `document.querySelector(".ask").old = true`)
				b.mu.Lock()
				c := turn.OpenAsks(b.fold(id))[0]
				minutes += 5
				b.append(id, turn.Extended{Ask: c.Ask, By: chat.User{Platform: Platform, Key: "ben"}, Name: "Ben", Until: c.Deadline.Add(time.Duration(minutes) * time.Minute)})
				b.mu.Unlock()
				until(t, ctx, `!document.querySelector(".ask").old`)
			}
			eval[bool](t, ctx, `(fetch => { window.fetch = async (...a) => { if (JSON.parse(a[1].body || "{}").check) { window.held = true; await new Promise(go => window.go = go); } return fetch(...a); }; return true })(window.fetch)`)
			press(t, ctx, ".ask .more summary")
			press(t, ctx, ".ask .more [data-choice="+choice+"]")
			until(t, ctx, `window.held === true`)
			redraw()
			eval[bool](t, ctx, `(go(), true)`)
			at := `document.querySelector(".ask form.` + choice + ` ` + field + `")`
			until(t, ctx, `document.activeElement === `+at)
			choose(t, ctx, ".ask form."+choice+" "+field, "half a sentence")
			eval[bool](t, ctx, `(`+at+`.setSelectionRange(2, 6), true)`)
			redraw()
			if got := eval[string](t, ctx, `(f => f.value + "|" + f.selectionStart + "-" + f.selectionEnd + "|" + (document.activeElement === f) + "|" + f.checkVisibility())(`+at+`)`); got != `half a sentence|2-6|true|true` {
				t.Errorf("after the card was drawn anew: %s", got)
			}
			if eval[bool](t, ctx, `document.querySelectorAll(".ask form:not([hidden])").length !== 1`) {
				t.Error("the other form opened, too")
			}
		})
	}
}

// Who may not decide writes no reason, and no arguments, for nothing.
func TestPageOpensNoFormInVain(t *testing.T) {
	ctx, b, _ := browser(t)
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `!!document.querySelector(".ask")`)
	b.mu.Lock()
	for id := range b.logs {
		b.refused = map[string]bool{b.fold(id).Turn.Requester.String(): true}
	}
	b.mu.Unlock()
	for _, choice := range []string{"deny_reason", "edit"} {
		press(t, ctx, ".ask .more summary")
		press(t, ctx, ".ask .more [data-choice="+choice+"]")
		until(t, ctx, `document.querySelector("#whisper p").textContent === "Only somebody else can decide this."`)
		if !eval[bool](t, ctx, `document.querySelector(".ask form.`+choice+`").hidden`) {
			t.Errorf("the form of %s opens", choice)
		}
		press(t, ctx, "#whisper button")
		until(t, ctx, `document.querySelector("#whisper").hidden`)
	}
}

func TestPageMixedTurnAndLooks(t *testing.T) {
	ctx, _, _ := browser(t)
	speak(t, ctx, "three files")
	until(t, ctx, `document.querySelectorAll(".ask").length === 2`)
	if n := eval[int](t, ctx, `document.querySelectorAll(".ask .warning").length`); n != 1 {
		t.Errorf("the warning stands %d times, want once", n)
	}
	shoot(t, ctx, "batch-light")
	dark(t, ctx, true)
	shoot(t, ctx, "batch-dark")
	do(t, ctx, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	shoot(t, ctx, "batch-phone-dark")
	dark(t, ctx, false)
	shoot(t, ctx, "batch-phone")
	if eval[bool](t, ctx, `document.documentElement.scrollWidth > innerWidth`) {
		t.Error("the page scrolls sideways on a phone")
	}

	press(t, ctx, "#burger")
	until(t, ctx, `document.querySelector("#side").getBoundingClientRect().x === 0`)
	shoot(t, ctx, "side-phone")
	keys(t, ctx, kb.Escape)
	do(t, ctx, chromedp.EmulateViewport(1200, 820))
	press(t, ctx, ".batch [data-choice=approve_all]")
	press(t, ctx, "[data-dialog=confirm] [data-act=confirm]") // which names every call
	until(t, ctx, `document.querySelectorAll('.step[data-state=done]').length === 3`)
	shoot(t, ctx, "batch-done")
}

func TestPageUnknownAndExpired(t *testing.T) {
	ctx, b, _ := browser(t)
	b.mu.Lock()
	b.hold = true
	b.mu.Unlock()
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `!!document.querySelector(".ask")`)
	id := webChat(eval[string](t, ctx, `location.pathname.split("/").pop()`))
	press(t, ctx, ".ask .answers .choices [data-choice=allow_once]")
	until(t, ctx, `!!document.querySelector('.step[data-state=running]')`)
	shoot(t, ctx, "running")
	b.lose(id)
	until(t, ctx, `!!document.querySelector('.ask[data-kind=outcome]')`)
	shoot(t, ctx, "unknown")
	press(t, ctx, ".ask [data-choice=leave]")
	until(t, ctx, `!!document.querySelector('.step[data-state=unknown]')`)
	speak(t, ctx, "write it again")
	until(t, ctx, `!!document.querySelector(".ask")`)
	b.expire(id)
	until(t, ctx, `!!document.querySelector('.step[data-state=expired] [data-choice=ask_again]')`)
	shoot(t, ctx, "expired")
}

// What people, models and tools write never becomes markup, and nothing is fetched for it.
func TestPageDrawsTextAsText(t *testing.T) {
	ctx, _, _ := browser(t)
	speak(t, ctx, `<img src=x onerror="window.pwned=1"><b id=evil>x</b> ![p](https://evil.example/p.png) [bank](https://evil.example/) [js](javascript:window.pwned=1)`)
	until(t, ctx, `!!document.querySelector('.bot[data-state=done]')`)
	shoot(t, ctx, "text")
	if eval[bool](t, ctx, `!!document.getElementById("evil") || !!window.pwned || document.querySelectorAll(".messages img").length > 0`) {
		t.Error("text became markup")
	}
	for _, a := range eval[[]string](t, ctx, `[...document.querySelectorAll(".text a")].map(a => a.protocol + a.rel + "|" + a.parentElement.innerText)`) {
		if !strings.HasPrefix(a, "https:noopener noreferrer") || !strings.Contains(a, "evil.example") {
			t.Errorf("a link that does not say where it leads: %q", a)
		}
	}
}

func TestPageShowsLiveTextWithoutTheLog(t *testing.T) {
	ctx, b, s := browser(t)
	b.mu.Lock()
	b.hold = true
	b.mu.Unlock()
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `!!document.querySelector(".ask")`)
	id := webChat(eval[string](t, ctx, `location.pathname.split("/").pop()`))
	press(t, ctx, ".ask .answers .choices [data-choice=allow_once]")
	until(t, ctx, `!!document.querySelector('.step[data-state=running]')`)
	session := func() turn.Session { b.mu.Lock(); defer b.mu.Unlock(); return b.fold(id) }()
	m := card.View(session, session.Turn, card.Live{Text: "Half a sent"})
	if err := s.Edit(ctx, id, session.Turn.Shown, m, agent.Progress); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, `document.querySelector(".bot").innerText.includes("Half a sent")`)
}

// Enter counts also while the message before is on its way: they go one after the other, and what is typed then stays. What could not be sent
// comes back, all of it.
func TestPageSendsOneAfterTheOther(t *testing.T) {
	ctx, _, _ := browser(t)
	eval[bool](t, ctx, `(real => { let hold = new Promise(r => { window.release = r });
		fetch = async (url, opts) => { if (/\/messages$/.test(url)) { await hold; if (window.cut) { await cut; throw new TypeError("cut off") } } return real(url, opts) }; return true })(fetch.bind(window))`)
	speak(t, ctx, "hello one")
	speak(t, ctx, "hello two")
	do(t, ctx, chromedp.SendKeys(css("#say"), "and thr"))
	eval[bool](t, ctx, `(release(), true)`)
	until(t, ctx, `document.querySelectorAll(".mine").length === 2 && !document.getElementById("send").disabled`)
	if got := eval[string](t, ctx, `[...document.querySelectorAll(".mine")].map(m => m.innerText.match(/hello \w+/)[0]).join() + "|" + document.getElementById("say").value.trim()`); got != "hello one,hello two|and thr" {
		t.Errorf("sent and left: %q", got)
	}
	eval[bool](t, ctx, `(window.cut = new Promise(r => { window.drop = r }), true)`)
	do(t, ctx, chromedp.SendKeys(css("#say"), "ee\rfour\rfive"))
	eval[bool](t, ctx, `(drop(), true)`)
	until(t, ctx, `document.getElementById("say").value.split(/\n+/).filter(s => s).join() === "and three,four,five" && !document.getElementById("send").disabled`)
}

// Opening a long chat takes as long as it is long: what is drawn is measured and looked through once, not with every message.
func TestPageOpensALongChat(t *testing.T) {
	ctx, _, _ := browser(t)
	speak(t, ctx, "hello")
	until(t, ctx, `!!document.querySelector(".bot[data-state=done]") && !!document.querySelector("#chats a")`)
	eval[bool](t, ctx, `(real => { window.fetch = async (...a) => {
			const res = await real(...a);
			if (!a[0].includes("nodes=1")) return res;
			const c = await res.json();
			c.messages = Array.from({ length: 200 }, (_, i) => ({ ...c.messages[i % 2], id: "m" + i, number: i }));
			return new Response(JSON.stringify(c));
		};
		window.looks = 0;
		const scroll = document.getElementById("scroll"), list = document.getElementById("messages"), high = Object.getOwnPropertyDescriptor(Element.prototype, "scrollHeight");
		Object.defineProperty(scroll, "scrollHeight", { get() { looks++; return high.get.call(this); } });
		list.querySelectorAll = q => { looks++; return Element.prototype.querySelectorAll.call(list, q); };
		return true })(fetch.bind(window))`)
	press(t, ctx, "#new")
	press(t, ctx, "#chats a")
	until(t, ctx, `document.getElementById("log").getAttribute("aria-busy") === "false" && document.getElementById("messages").children.length > 199`)
	if n := eval[int](t, ctx, `looks`); n > 50 {
		t.Errorf("it was looked at %d times", n)
	}
}

// A proxy refuses while a replica starts, and a browser's stream that is refused never comes back by itself: the page does, with what came meanwhile.
// Only a session that has ended is said to have: here, or with a proxy that asks people who they are.
func TestPageComesBackAfterARefusal(t *testing.T) {
	for page, of := range map[string]struct {
		stream, says, shown string
		proxy               bool
	}{
		"chat":  {"/events", "#link", ".ask", false},
		"inbox": {"/inbox/events", "#count", "#asks .ask", false},
		"proxy": {"/events", "#link", ".ask", true},
	} {
		t.Run(page, func(t *testing.T) {
			var mu sync.Mutex
			down, away, refused := false, false, make(chan bool, 100)
			life, cut := context.WithCancel(t.Context())
			restart := func(is bool) {
				mu.Lock()
				defer mu.Unlock()
				down = is
				cut()
				life, cut = context.WithCancel(t.Context())
			}
			ctx, b, s := browserPast(t, chromium.Open, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					is, leads, until := down, away, life
					mu.Unlock()
					if leads {
						http.Redirect(w, r, "https://login.example.org/", http.StatusFound)
						return
					}
					if is {
						http.Error(w, "Bad Gateway", http.StatusBadGateway)
						if strings.HasSuffix(r.URL.Path, of.stream) {
							refused <- true
						}
						return
					}
					ctx, stop := context.WithCancel(r.Context())
					defer context.AfterFunc(until, stop)()
					next.ServeHTTP(w, r.WithContext(ctx))
				})
			})
			hears(t, b, s)
			speak(t, ctx, "hello")
			until(t, ctx, `!!document.querySelector(".bot[data-state=done]")`)
			id := eval[string](t, ctx, `location.pathname.split("/").pop()`)
			if page == "inbox" {
				do(t, ctx, chromedp.Navigate(eval[string](t, ctx, `location.origin`)+"/inbox"))
				until(t, ctx, `document.querySelector("#count").textContent.startsWith("Nothing waits")`)
			}
			restart(true)
			<-refused
			until(t, ctx, `document.querySelector("`+of.says+`").textContent === "Reconnecting…"`)
			b.mu.Lock()
			b.shown = map[string]bool{}
			for hash := range b.sessions {
				b.shown[chat.User{Platform: Platform, Key: keptOf(b.sessions[hash]).User}.String()] = true
			}
			b.mu.Unlock()
			b.asksThere(t, webChat(id), "write hello to notes.txt")
			restart(false)
			until(t, ctx, `!!document.querySelector("`+of.shown+`") && document.querySelector("`+of.says+`").textContent !== "Reconnecting…"`)
			if of.proxy {
				mu.Lock()
				away = true
				mu.Unlock()
			} else {
				b.mu.Lock()
				clear(b.sessions)
				b.mu.Unlock()
			}
			restart(false)
			until(t, ctx, `document.querySelector("`+of.says+`").textContent.startsWith("Your session has ended")`)
		})
	}
}

// Without TLS a browser has six connections for all tabs of a page. A tab that nobody looks at leaves its own to those that were used since, and hears
// what came when somebody looks at it again.
func TestPageLeavesConnectionsToOtherTabs(t *testing.T) {
	ctx, b, _ := browser(t)
	speak(t, ctx, "hello")
	until(t, ctx, `!!document.querySelector(".bot[data-state=done]")`)
	id := webChat(eval[string](t, ctx, `location.pathname.split("/").pop()`))
	eval[bool](t, ctx, `(window.tabs = [], true)`)
	for range 8 {
		eval[bool](t, ctx, `(tabs.push(open(location.href)), true)`)
		until(t, ctx, `tabs.at(-1).document.readyState === "complete" && !!tabs.at(-1).document.querySelector(".bot[data-state=done]")`)
		eval[bool](t, ctx, `(Object.defineProperty(tabs.at(-1).document, "hidden", { configurable: true, get: () => true }), true)`)
	}
	b.asksThere(t, id, "write hello to notes.txt")
	until(t, ctx, `[window, ...tabs.slice(-4)].every(w => w.document.querySelector(".ask"))`) // the first is in sight all the time
	if eval[bool](t, ctx, `tabs.slice(0, -4).some(w => w.document.querySelector(".ask"))`) {
		t.Error("more tabs than that have a stream")
	}
	eval[bool](t, ctx, `(d => { Object.defineProperty(d, "hidden", { get: () => false }); d.dispatchEvent(new Event("visibilitychange")); return true })(tabs[0].document)`)
	until(t, ctx, `!!tabs[0].document.querySelector(".ask")`)
	eval[bool](t, ctx, `(tabs.forEach(w => w.close()), true)`)
}

// The session's cookie stays at home when somebody follows a link from another site, such as a chat's that a colleague sent them.
func TestPageOpensALinkFromElsewhere(t *testing.T) {
	ctx, _, _ := browser(t)
	speak(t, ctx, "hello")
	until(t, ctx, `!!document.querySelector(".bot[data-state=done]")`)
	here := eval[string](t, ctx, `location.href`)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<a href="`+here+`">look</a>`)
	}))
	t.Cleanup(elsewhere.Close)
	follow := func(to string) {
		t.Helper()
		do(t, ctx, chromedp.Navigate(strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)), chromedp.Click(css("a")), chromedp.WaitVisible(css(to)))
	}
	follow("#say")
	until(t, ctx, `location.href === "`+here+`" && !!document.querySelector(".bot[data-state=done]")`)
	do(t, ctx, chromedp.Click(css(".me button")), chromedp.WaitVisible(css("#name")))
	follow("#name") // nobody is signed in: once, and not for ever
	until(t, ctx, `location.href === "`+here+`"`)
}
