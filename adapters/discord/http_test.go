package discord

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// overHTTP has Discord send interactions to the adapter's handler.
func (p *parlor) overHTTP() *parlor {
	p.t.Helper()
	p.web = httptest.NewServer(p.a.Handler())
	p.t.Cleanup(p.web.Close)
	if err := p.Deliver(p.web.URL + PathInteractions); err != nil { // also asks for a PONG, and forges a PING
		p.t.Fatal(err)
	}
	return p
}

func TestSignedInteractionsAreTaken(t *testing.T) {
	p := newParlor(t).overHTTP()
	thread, card := p.card()
	d, err := p.Press(p.ana, thread, card, fakediscord.Button{ID: "nod:allow_chat:tok"})
	if got := p.wait(d, err); got.Type != answerDeferred || got.Direct {
		t.Errorf("answered with %+v", got)
	}
	if got := onlyOne[chat.Clicked](p); got.Choice != chat.AllowChat || got.User != p.user(p.ana) || got.Chat != p.in(thread) {
		t.Errorf("%+v", got)
	}
	status, body, err := p.Forge(d, fakediscord.Forgery{}) // which Discord really signed: the same again
	if err != nil || status != http.StatusAccepted || len(body) != 0 || len(p.ledger.got()) != 1 {
		t.Errorf("%d %s %v", status, body, err)
	}
	p.press(p.ana, thread, card, "nod:deny_reason:tok")
	if len(p.Modals(p.ana)) != 1 {
		t.Error("no form is open")
	}
	p.command(p.ana, thread, inbound.VerbHelp, nil)
}

func TestForgedInteractionsAreRefused(t *testing.T) {
	p := newParlor(t).overHTTP()
	thread, card := p.card()
	d, err := p.Press(p.ana, thread, card, fakediscord.Button{ID: "nod:deny:tok"})
	p.wait(d, err)
	forged := bytes.ReplaceAll(d.Payload, []byte(p.ana), []byte(p.ben))
	for what, f := range map[string]fakediscord.Forgery{
		"another key":   {Key: true},
		"another body":  {Body: string(forged)},
		"no headers":    {NoHeaders: true},
		"no signature":  {Signature: "00"},
		"no hex":        {Signature: strings.Repeat("z", 128)},
		"old":           {Stale: freshWithin + time.Second},
		"of the future": {Stale: -freshWithin - time.Second},
	} {
		if status, body, err := p.Forge(d, f); err != nil || status != http.StatusUnauthorized || len(body) != 0 {
			t.Errorf("%s: %d %s %v", what, status, body, err)
		}
	}
	if status, _, err := p.Forge(d, fakediscord.Forgery{Pad: maxRequest}); err != nil || status != http.StatusRequestEntityTooLarge {
		t.Errorf("too long: %d %v", status, err)
	}
	if status, _, err := p.Forge(d, fakediscord.Forgery{Stale: freshWithin - time.Second}); err != nil || status != http.StatusAccepted {
		t.Errorf("within the window: %d %v", status, err)
	}
	if n := len(p.ledger.got()); n != 1 {
		t.Errorf("%d were taken", n)
	}
}

// signedRequest is what Discord would send.
func (p *parlor) signedRequest(method, path string, body []byte, change func(http.Header)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	at, signature := p.Sign(p.clock.Now(), body)
	r.Header.Set(headerTimestamp, at)
	r.Header.Set(headerSignature, signature)
	change(r.Header)
	w := httptest.NewRecorder()
	p.a.Handler().ServeHTTP(w, r)
	return w
}

func TestRequestsThatAreNone(t *testing.T) {
	p := newParlor(t)
	same := func(http.Header) {}
	ping := []byte(`{"type":1}`)
	for what, x := range map[string]struct {
		method, path string
		body         []byte
		change       func(http.Header)
		want         int
	}{
		"ping":           {"POST", PathInteractions, ping, same, 200},
		"get":            {"GET", PathInteractions, ping, same, 405},
		"another path":   {"POST", PathInteractions + "/x", ping, same, 404},
		"not JSON":       {"POST", PathInteractions, []byte("hello"), same, 400},
		"two stamps":     {"POST", PathInteractions, ping, func(h http.Header) { h.Add(headerTimestamp, "1") }, 401},
		"two signatures": {"POST", PathInteractions, ping, func(h http.Header) { h.Add(headerSignature, h.Get(headerSignature)) }, 401},
		"more after it":  {"POST", PathInteractions, ping, func(h http.Header) { h.Set(headerSignature, h.Get(headerSignature)+"zz") }, 401},
		"no number":      {"POST", PathInteractions, ping, func(h http.Header) { h.Set(headerTimestamp, "now") }, 401},
		"a kind of 2030": {"POST", PathInteractions, []byte(`{"type":77,"id":"5","token":"t"}`), same, 202},
		"nothing in it":  {"POST", PathInteractions, []byte(`{"type":3}`), same, 202},
	} {
		w := p.signedRequest(x.method, x.path, x.body, x.change)
		if w.Code != x.want {
			t.Errorf("%s: %d", what, w.Code)
		}
		var pong struct{ Type int }
		if what == "ping" && (json.Unmarshal(w.Body.Bytes(), &pong) != nil || pong.Type != 1) {
			t.Errorf("%s", w.Body)
		}
	}
	p.close()
	click := []byte(`{"type":3,"id":"5","token":"t"}`)
	if w := p.signedRequest("POST", PathInteractions, click, same); w.Code != http.StatusServiceUnavailable {
		t.Errorf("after Run: %d", w.Code)
	}
	if len(p.ledger.asked()) != 0 {
		t.Errorf("%+v", p.ledger.asked())
	}
}

// unread is a body that nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) { u.t.Error("it is read"); return 0, io.EOF }

func TestARequestOfAnotherDayCostsNothing(t *testing.T) {
	p := newParlor(t)
	r := httptest.NewRequest(http.MethodPost, PathInteractions, unread{t})
	at, signature := p.Sign(p.clock.Now().Add(-freshWithin-time.Second), nil)
	r.Header.Set(headerTimestamp, at)
	r.Header.Set(headerSignature, signature)
	w := httptest.NewRecorder()
	if p.a.Handler().ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
		t.Error(w.Code)
	}
}

func TestNoHandlerWithoutAKey(t *testing.T) {
	t.Parallel()
	a, _ := quietAdapter(t)
	if a.Handler() != nil {
		t.Error("there is one")
	}
}
