package web

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/nodhq/nod/adapters/web/inbox"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// thread is a chat of another surface, and otto who asks there.
var (
	thread = chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/1.2"}
	otto   = chat.User{Platform: "slack", Workspace: "T1", Key: "UOTTO"}
)

// elsewhere is a surface that knows the addresses of its messages.
type elsewhere struct{ agent.Platform }

func (elsewhere) LinkTo(l render.ChatLink) string { return "https://slack.example.org/" + l.Message }

// listens is the key under which a context has what is called once somebody listens to live frames with it.
type listens struct{}

// hears lets the surface run, and hear of what waits.
func hears(t *testing.T, b *bot, s *Server) {
	t.Helper()
	joined := make(chan struct{})
	ctx, end := context.WithCancel(context.WithValue(context.Background(), listens{}, sync.OnceFunc(func() { close(joined) })))
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	t.Cleanup(func() { end(); running.Wait() })
	<-joined
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notices = s.Noticed
}

// asksThere has Otto ask for something in a chat of another surface.
func (b *bot) asksThere(t *testing.T, id chat.ID, says string) {
	t.Helper()
	if err := b.Accept(t.Context(), chat.Said{Envelope: chat.Envelope{Chat: id, User: otto, Name: "Otto", Delivery: chat.Delivery(id.Key + says)}, Text: says}); err != nil {
		t.Fatal(err)
	}
}

func (c *client) inbox() inboxForm {
	c.t.Helper()
	return inboxOf(c.t, c.ok(http.StatusOK, "GET", "/api/v1/inbox", nil))
}

func inboxOf(t *testing.T, answer map[string]any) (f inboxForm) {
	t.Helper()
	b, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Who may decide what waits in another surface's chat sees it as the card that stands there, and decides it. A stranger sees no sign of it.
func TestInboxOverAllChats(t *testing.T) {
	log := make(lines, 100)
	b, s, c := serve(t, func(c *Config) {
		c.Surfaces = map[string]agent.Platform{"slack": elsewhere{}}
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	hears(t, b, s)
	ana, eve := c.as("Ana"), c.as("Eve")
	b.shown = map[string]bool{ana.user: true}
	if f := ana.inbox(); f.Open != 0 || f.Asks == nil {
		t.Errorf("an empty inbox: %+v", f)
	}
	r, stranger := ana.follow(), eve.follow()
	r.until("inbox")
	if h := stranger.until("inbox"); fmt.Sprint(h[0].data["open"]) != "0" {
		t.Errorf("a stranger is told %v", h[0].data)
	}
	b.asksThere(t, thread, "write hello to notes.txt")
	r.until("inbox")
	f := ana.inbox()
	if f.Open != 1 || len(f.Asks) != 1 || f.More != 0 {
		t.Fatalf("the inbox: %+v", f)
	}
	a := f.Asks[0]
	if a.Surface != "slack" || a.Where != "Slack" || a.Name != "Otto" || a.Card.Question != "Write hello to notes.txt?" || a.Card.Arguments.JSON == "" || len(a.Card.Choices) == 0 {
		t.Errorf("what waits there is drawn as %+v", a)
	}
	if !strings.HasPrefix(a.Link, "https://slack.example.org/post-t1") {
		t.Errorf("it leads to %q", a.Link)
	}
	click := map[string]any{"token": a.RequestID, "choice": "allow_once"}
	eve.fails(http.StatusForbidden, "not_yours", "POST", "/api/v1/inbox/clicks", click)
	eve.fails(http.StatusForbidden, "not_yours", "GET", "/api/v1/asks/"+a.RequestID+"/details", nil)
	if f := eve.inbox(); f.Open != 0 || len(f.Asks) != 0 || f.More != 0 {
		t.Errorf("a stranger's inbox: %+v", f)
	}
	if _, n := eve.call("GET", "/api/v1/inbox?count", nil); fmt.Sprint(n["open"]) != "0" {
		t.Errorf("a stranger counts %v", n)
	}
	ana.ok(http.StatusOK, "GET", "/api/v1/asks/"+a.RequestID+"/details", nil)
	ana.ok(http.StatusOK, "POST", "/api/v1/inbox/clicks", map[string]any{"token": a.RequestID, "choice": "allow_once", "check": true})
	ana.ok(http.StatusOK, "POST", "/api/v1/inbox/clicks", click)
	gone := r.until("inbox")
	if h := gone[len(gone)-1].data; fmt.Sprint(h["gone"]) != "["+a.RequestID+"]" || fmt.Sprint(h["open"]) != "0" {
		t.Errorf("after the answer the stream tells %v", h)
	}
	ana.fails(http.StatusConflict, "decided", "POST", "/api/v1/inbox/clicks", click)
	log.none(t)
	b.mu.Lock()
	defer b.mu.Unlock()
	if by := b.clicked[len(b.clicked)-2]; by.Chat != thread || by.On() != Platform || by.User.String() != ana.user {
		t.Errorf("it was decided by %+v", by)
	}
}

// A replica on which somebody looks is told by the others what waits, and they tell nobody before.
func TestInboxOnAnotherReplica(t *testing.T) {
	b, s, _ := serve(t, nil)
	hears(t, b, s)
	there, err := New(Config{Listen: "127.0.0.1:8080", Engine: b, Settings: b, Log: b, Shelf: b, Heartbeat: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ana := to(t, there).as("Ana")
	b.shown = map[string]bool{ana.user: true}
	r := ana.follow()
	r.until("inbox")
	b.asksThere(t, thread, "write hello")
	if h := r.until("inbox"); fmt.Sprint(h[0].data["open"]) != "1" {
		t.Errorf("told: %v", h[0].data)
	}
}

// What moves is told as long as some replica wants to know, and costs nothing before and after.
func TestNobodyIsToldWhatNobodyLooksAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBot()
		s, err := New(Config{Listen: "127.0.0.1:8080", Engine: b, Settings: b, Log: b, Shelf: b})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		live, _ := b.Live(ctx, inboxChat())
		go s.tellNoticed(ctx)
		told := func(want int) {
			t.Helper()
			s.notice(thread)
			synctest.Wait()
			if len(live) != want {
				t.Errorf("told %d times, want %d", len(live), want)
			}
			for range len(live) {
				<-live
			}
		}
		synctest.Wait()
		told(0)
		if err := b.PublishLive(ctx, inboxChat(), []byte(inboxWanted)); err != nil {
			t.Fatal(err)
		}
		told(2) // the wish, and the chat
		time.Sleep(inbox.Wanted / 2)
		told(1)
		time.Sleep(inbox.Wanted)
		told(0)
		end()
		synctest.Wait()
	})
}

// A store that is away while nod starts costs nothing once it is back.
func TestReplicasAreHeardOnceTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBot()
		s, err := New(Config{Listen: "127.0.0.1:8080", Engine: b, Settings: b, Log: b, Shelf: b})
		if err != nil {
			t.Fatal(err)
		}
		b.deaf = 7
		ctx, end := context.WithCancel(t.Context())
		go func() { _ = s.Run(ctx) }()
		time.Sleep(time.Minute)
		b.mu.Lock()
		if len(b.live[framesChat()]) != 1 || len(b.live[inboxChat()]) != 1 {
			t.Errorf("heard are %d and %d", len(b.live[framesChat()]), len(b.live[inboxChat()]))
		}
		b.deaf = 1 << 30
		b.mu.Unlock()
		end()
		synctest.Wait()

		ctx, end = context.WithCancel(t.Context())
		go s.subscribe(ctx, inboxChat(), "it is away")
		synctest.Wait()
		end() // it does not go on trying
		synctest.Wait()
	})
}

// A stream ends with the session that opened it.
func TestInboxEndsWithTheSession(t *testing.T) {
	_, _, c := serve(t, func(c *Config) { c.Heartbeat = 5 * time.Millisecond })
	ana := c.as("Ana")
	r := ana.follow()
	r.until("inbox")
	ana.ok(http.StatusOK, "DELETE", "/api/v1/sessions", nil)
	for ok := true; ok; {
		_, ok = r.next()
	}
	if r.ctx.Err() != nil {
		t.Error("it goes on")
	}
}

// A stream of the inbox tells what changed. Where it cannot be known what waits it ends, and nobody is told that nothing does.
func TestInboxTellsWhatIsKnown(t *testing.T) {
	b, s, c := serve(t, func(c *Config) { c.Heartbeat = time.Millisecond })
	hears(t, b, s)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "write hello")
	r := ana.follow()
	r.until("inbox")
	ana.say(ana.chat(), "write hello")
	if h := r.until("inbox")[0].data; h["open"] != 2.0 || len(h["asks"].([]any)) != 1 { // what is new
		t.Errorf("%v", h)
	}
	ana.ok(http.StatusOK, "POST", "/api/v1/asks/"+ana.ask(id).RequestID, map[string]string{"choice": "extend"})
	if h := r.until("inbox")[0].data; h["open"] != 2.0 || len(h["asks"].([]any)) != 1 { // or other
		t.Errorf("%v", h)
	}
	b.mu.Lock()
	b.down = "Sees"
	b.mu.Unlock()
	if h, ok := r.next(); ok || r.ctx.Err() != nil {
		t.Errorf("%v, %v", h, r.ctx.Err())
	}
}

// A chat of the page is open to whoever has its address: the inbox gives that to those who were in it alone, and its title, too.
func TestInboxKeepsAddressesOfChats(t *testing.T) {
	b, _, c := serve(t, nil)
	ana, ben := c.as("Ana"), c.as("Ben")
	b.shown = map[string]bool{ben.user: true}
	id := ana.chat()
	ana.say(id, "write hello, secretly")
	if f := ana.inbox(); len(f.Asks) != 1 || f.Asks[0].Link != "/c/"+id || f.Asks[0].Where != "write hello, secretly" {
		t.Errorf("who asked sees %+v", f.Asks)
	}
	at := "/api/v1/asks/" + ana.ask(id).RequestID + "/details"
	ben.ok(http.StatusOK, "GET", at, nil)
	c.as("Eve").fails(http.StatusForbidden, "not_yours", "GET", at, nil)
	if f := ben.inbox(); len(f.Asks) != 1 || f.Asks[0].Link != "" || f.Asks[0].Where != "This page" {
		t.Errorf("who only decides sees %+v", f.Asks)
	}
}

// Fifty are shown, and how many more there are.
func TestInboxIsBounded(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	b.shown = map[string]bool{ana.user: true}
	for i := range maxInbox + 2 {
		b.asksThere(t, chat.ID{Platform: "slack", Workspace: "T1", Key: fmt.Sprintf("C1/%d", i)}, "write")
	}
	f := ana.inbox()
	if f.Open != maxInbox+2 || len(f.Asks) != maxInbox || f.More != 2 {
		t.Fatalf("%d open, %d shown, %d more", f.Open, len(f.Asks), f.More)
	}
	for i := range f.Asks[1:] {
		if f.Asks[i].ExpiresAt.After(*f.Asks[i+1].ExpiresAt) {
			t.Fatal("an older deadline comes later")
		}
	}
	if f := inboxOf(t, ana.ok(http.StatusOK, "GET", "/api/v1/inbox?count", nil)); f.Open != maxInbox+2 || len(f.Asks) != 0 {
		t.Errorf("counted: %+v", f)
	}
}

func TestInboxPage(t *testing.T) {
	ctx, b, s := browser(t)
	hears(t, b, s)
	b.mu.Lock()
	b.shown = map[string]bool{}
	for hash := range b.sessions {
		b.shown[chat.User{Platform: Platform, Key: keptOf(b.sessions[hash]).User}.String()] = true
	}
	b.mu.Unlock()
	until(t, ctx, `document.querySelector("#inbox").textContent === "Inbox"`)
	b.asksThere(t, thread, "write hello to notes.txt")
	b.asksThere(t, chat.ID{Platform: "discord", Workspace: "G1", Key: "9"}, "three files")
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `document.querySelector("#inbox").textContent === "Inbox · 4"`)
	do(t, ctx, chromedp.Navigate(eval[string](t, ctx, `document.querySelector("#inbox").href`)))
	until(t, ctx, `document.querySelectorAll("#asks > li > .ask").length === 4 && document.querySelector("#count").textContent === "4 questions wait for you."`)
	if got := eval[string](t, ctx, `[...document.querySelectorAll(".where")].map(w => w.innerText).join("|")`); got != "Slack · Otto asks|Discord · Otto asks|Discord · Otto asks|write hello to notes.txt · Ana asks" {
		t.Errorf("they wait in %q", got)
	}
	shoot(t, ctx, "inbox")
	dark(t, ctx, true)
	do(t, ctx, chromedp.EmulateViewport(390, 844))
	fits(t, ctx, 390)
	shoot(t, ctx, "inbox-phone-dark")
	// The answer is recorded, the card goes, and the next one has the focus.
	eval[bool](t, ctx, `!new MutationObserver((_, o) => { window.unpressed ||= getComputedStyle(document.querySelector("#asks")).pointerEvents === "none" }).observe(document.querySelector("#asks"), {attributes: true})`)
	press(t, ctx, `#asks > li:first-child .choices [data-choice=allow_once]`)
	until(t, ctx, `document.querySelectorAll("#asks > li").length === 3 && window.unpressed`) // a card moved: no click counts for a moment
	// One that comes stands where its deadline puts it, and what is written on another stays.
	press(t, ctx, `#asks > li:first-child .more summary`)
	press(t, ctx, `#asks > li:first-child [data-choice=deny_reason]`)
	until(t, ctx, `!document.querySelector("#asks > li:first-child form.deny_reason").hidden`)
	do(t, ctx, chromedp.SendKeys(css("#asks > li:first-child form.deny_reason input"), "not this"))
	b.asksThere(t, chat.ID{Platform: "slack", Workspace: "T1", Key: "C2/3.4"}, "write more")
	until(t, ctx, `document.querySelectorAll("#asks > li").length === 4 && document.querySelector("#asks > li:first-child form.deny_reason input").value === "not this"`)
	press(t, ctx, `#asks > li:first-child form.deny_reason [type=submit]`)
	until(t, ctx, `document.querySelectorAll("#asks > li").length === 3`)
	// Decided by somebody else meanwhile: the page says so in words, and nothing is left of it.
	b.mu.Lock()
	ask := turn.OpenAsks(b.fold(chat.ID{Platform: "slack", Workspace: "T1", Key: "C2/3.4"}))[0]
	b.notices = nil // the other replica's word is lost
	b.mu.Unlock()
	if _, err := b.Decide(t.Context(), chat.Clicked{Envelope: chat.Envelope{Chat: chat.ID{Platform: "slack", Workspace: "T1", Key: "C2/3.4"}, User: otto, Name: "Otto"}, Token: string(ask.Ask), Choice: chat.Deny}); err != nil {
		t.Fatal(err)
	}
	press(t, ctx, `[data-request="`+string(ask.Ask)+`"] .choices [data-choice=allow_once]`)
	until(t, ctx, `document.querySelector("#said").innerText.includes("Already deny by Otto.") && !document.querySelector("[data-request='`+string(ask.Ask)+`']")`)
}

// Who signs in by a platform is looked up in the place where something waits: who left it sees nothing of it any more.
func TestInboxAsksThePlatform(t *testing.T) {
	m, r, d := atGuild(t)
	session, _ := m.comes(byDiscord, anaThere)
	ana := m.c.with(session.Value)
	there := chat.ID{Platform: "discord", Workspace: "800000000000000007", Key: "1/2"}
	m.b.shown = map[string]bool{chat.User{Platform: "discord", Workspace: there.Workspace, Key: anaThere}.String(): true}
	m.b.asksThere(t, there, "write hello")
	m.b.asksThere(t, chat.ID{Platform: "discord", Workspace: there.Workspace, Key: "3/4"}, "write hello")
	m.b.asksThere(t, chat.ID{Platform: "discord", Workspace: d.Guild(), Key: "1/2"}, "write hello")
	f := ana.inbox()
	if n := strings.Count(strings.Join(r.asked, "\n"), "discord:"+there.Workspace+":"); n != 1 {
		t.Errorf("it is asked %d times who she is in one server", n)
	}
	if f.Open != 2 {
		t.Fatalf("by whom she is there, and not by whom she is elsewhere: %+v", f)
	}
	r.out[anaThere] = true
	m.b.shown[chat.User{Platform: "discord", Workspace: d.Guild(), Key: anaThere}.String()] = true
	if f := ana.inbox(); f.Open != 0 || len(f.Asks) != 0 {
		t.Errorf("who left sees %+v", f)
	}
}
