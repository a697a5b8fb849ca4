package web

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakepush"
)

// device is a browser of a session that is notified.
func (c *client) device(at *fakepush.Service) *fakepush.Device {
	c.t.Helper()
	key, _ := c.ok(http.StatusOK, "GET", "/api/v1/push", nil)["key"].(string)
	d := at.Subscribe(key)
	c.ok(http.StatusOK, "POST", "/api/v1/push", d.Form())
	return d
}

// Who is shown a question hears of it on their devices, with the way to it; the chat's own address goes only to who was in it. A stranger hears
// nothing, and nobody hears of what is no question.
func TestDevicesHearOfQuestions(t *testing.T) {
	at := fakepush.Start(t)
	log := make(lines, 100)
	b, s, c := serve(t, func(c *Config) { c.Push = at.Client(); c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	hears(t, b, s)
	ana, ben, eve := c.as("Ana"), c.as("Ben"), c.as("Eve")
	b.shown = map[string]bool{ben.user: true}
	phone, desk, stranger := ana.device(at), ben.device(at), eve.device(at)
	id := ana.chat()
	ana.say(id, "hello")
	ana.say(id, "write hello to notes.txt")
	b.asksThere(t, thread, "write bye to b.txt")
	ask := ana.look(id).Pending[0].RequestID
	if m := phone.Wait(1)[0]; m.Text != fmt.Sprintf(`{"title":"Ana asks: Allow write_file from files?","body":"Waits on this page.","tag":%q,"to":"/c/%s"}`, ask, id) {
		t.Errorf("who asked hears %s", m.Text)
	}
	heard := desk.Wait(2)
	if m := heard[0].Text + heard[1].Text; !strings.Contains(m, `"tag":"`+ask+`","to":"/inbox"`) || strings.Contains(m, id) || !strings.Contains(m, "Otto asks") {
		t.Errorf("an approver hears %s", m)
	}
	if phone.Tried() != 1 || desk.Tried() != 2 || stranger.Tried() != 0 {
		t.Errorf("they hear %d, %d and %d", phone.Tried(), desk.Tried(), stranger.Tried())
	}
	log.none(t)
}

// lines are what is logged, where a test wants nothing to be.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

func (l lines) none(t *testing.T) {
	t.Helper()
	select {
	case line := <-l:
		t.Errorf("the log has %s", line)
	default:
	}
}

// A device counts as long as the session that asked for it, and for the browser's last: whoever signed out, in whichever way, hears nothing.
func TestDevicesEndWithTheirSession(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, b *bot, ana *client){
		"signed out": func(_ *testing.T, _ *bot, ana *client) { ana.signs("/signout", url.Values{}, ana.browser()) },
		"everywhere": func(_ *testing.T, _ *bot, ana *client) {
			ana.signs("/signout", url.Values{"all": {"yes"}}, ana.browser())
		},
		"by the API": func(_ *testing.T, _ *bot, ana *client) { ana.ok(http.StatusOK, "DELETE", "/api/v1/sessions", nil) },
		"somebody else": func(_ *testing.T, _ *bot, ana *client) {
			ana.signs("/session", url.Values{"name": {"Eve"}}, ana.browser())
		},
		"switched off":    func(_ *testing.T, _ *bot, ana *client) { ana.ok(http.StatusOK, "DELETE", "/api/v1/push", nil) },
		"the time is up":  func(_ *testing.T, b *bot, ana *client) { b.ages(ana, 31*24*time.Hour) },
		"no longer shown": func(_ *testing.T, b *bot, ana *client) { b.mu.Lock(); defer b.mu.Unlock(); b.shown[ana.user] = false },
	} {
		t.Run(name, func(t *testing.T) {
			at := fakepush.Start(t)
			b, s, c := serve(t, func(c *Config) { c.Push = at.Client() })
			hears(t, b, s)
			ana, ben := c.as("Ana"), c.as("Ben")
			b.shown = map[string]bool{ana.user: true, ben.user: true}
			phone, desk := ana.device(at), ben.device(at)
			b.asksThere(t, thread, "write one")
			phone.Wait(1)
			desk.Wait(1)
			end(t, b, ana)
			other := thread
			other.Key += "9"
			b.asksThere(t, other, "write two")
			desk.Wait(2)
			if n := phone.Tried(); n != 1 {
				t.Errorf("it hears %d", n)
			}
		})
	}
}

// browser is the cookie of a session.
func (c *client) browser() *http.Cookie { return &http.Cookie{Name: "nod_session", Value: c.key} }

// ages has a session last been used so long ago.
func (b *bot) ages(c *client, by time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := keptOf(b.sessions[hashOf(c.key)])
	x.Opened, x.Seen = x.Opened.Add(-by), x.Seen.Add(-by)
	b.sessions[hashOf(c.key)], _ = json.Marshal(x)
}

// What is no browser's subscription is refused in words, and an admin's key has no browser.
func TestDevicesAreSubscriptions(t *testing.T) {
	at := fakepush.Start(t)
	b, s, c := serve(t, nil)
	ana := c.as("Ana")
	key, _ := ana.ok(http.StatusOK, "GET", "/api/v1/push", nil)["key"].(string)
	form := at.Subscribe(key).Form()
	c.with(masterKey).fails(http.StatusBadRequest, "bad_request", "POST", "/api/v1/push", form)
	form["endpoint"] = "https://10.0.0.1/x"
	ana.fails(http.StatusBadRequest, "bad_request", "POST", "/api/v1/push", form)
	ana.fails(http.StatusBadRequest, "bad_request", "POST", "/api/v1/push", "{")
	if len(b.pushes) > 0 {
		t.Errorf("kept: %q", b.pushes)
	}
	d := ana.device(at)
	b.down = "PutPush"
	ana.fails(http.StatusServiceUnavailable, "unavailable", "POST", "/api/v1/push", d.Form())
	b.down = "Session"
	if _, _, err := s.deviceOf(t.Context(), hashOf(ana.key), chat.ID{}); err == nil {
		t.Error("without the store a device is taken for nobody's")
	}
	b.down = ""
	if got := ana.ok(http.StatusOK, "POST", "/api/v1/push", d.Form()); got["devices"] != 1.0 || got["user"] != ana.user {
		t.Errorf("%v", got)
	}
	for hash, kept := range b.pushes { // an endpoint is as good as a key, so a program that reads the answer gets none
		if hash != hashOf(ana.key) || !strings.Contains(string(kept), d.Endpoint) {
			t.Errorf("kept: %s", kept)
		}
	}
}

// The worker is served for all of the page, and what the page may load is no more than it needs.
func TestWorkerIsServed(t *testing.T) {
	_, _, c := serve(t, nil)
	ana := c.cookie(url.Values{"name": {"Ana"}})
	for _, path := range []string{"/", "/inbox"} { // a browser asks for a manifest without cookies, and a proxy that wants some refuses it: there is no app then
		r := c.request("GET", path, nil)
		r.AddCookie(ana)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if !strings.Contains(string(page), `<link rel="manifest" crossorigin="use-credentials" href="/assets/app.webmanifest?`) {
			t.Errorf("%s: %s", path, page)
		}
	}
	for path, kind := range map[string]string{"/sw.js": "text/javascript", "/assets/app.webmanifest": "application/manifest+json", "/assets/bell.js": "text/javascript"} {
		res, err := http.DefaultClient.Do(c.request("GET", path, nil))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || !strings.HasPrefix(got, kind) || res.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %s, %q, %q", path, res.Status, got, res.Header.Get("Cache-Control"))
		}
	}
}

// A chat of the page is where those find its questions who were in it; the inbox is for all others, and for what waits elsewhere.
func TestQuestionsAt(t *testing.T) {
	b := newBot()
	id := webChat("c-1")
	if err := b.Accept(t.Context(), chat.Said{Envelope: chat.Envelope{Chat: id, User: otto, Name: "Otto", Delivery: "d"}, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	of := b.fold(id)
	for u, want := range map[chat.User]string{otto: "/c/c-1", {Platform: Platform, Key: "eve"}: "/inbox", {}: "/inbox"} {
		if got := questionsAt(u, of); got != want {
			t.Errorf("%v finds it at %s", u, got)
		}
	}
	of.Chat = thread
	if got := questionsAt(otto, of); got != "/inbox" {
		t.Errorf("%s", got)
	}
}
