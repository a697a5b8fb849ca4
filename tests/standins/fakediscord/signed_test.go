package fakediscord_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// endpoint is a careful endpoint for interactions, written after the documentation.
type endpoint struct {
	*httptest.Server
	key    ed25519.PublicKey
	now    func() time.Time
	answer func(in obj) (int, any)
}

func listen(t *testing.T, r *room, now func() time.Time, answer func(in obj) (int, any)) *endpoint {
	t.Helper()
	key, err := hex.DecodeString(r.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{key: key, now: now, answer: answer}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) serve(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, 1<<20))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	at, _ := time.ParseDuration(q.Header.Get("X-Signature-Timestamp") + "s")
	signature, err := hex.DecodeString(q.Header.Get("X-Signature-Ed25519"))
	fresh := e.now().Sub(time.Unix(int64(at.Seconds()), 0)) < time.Minute
	if err != nil || !fresh || !ed25519.Verify(e.key, append([]byte(q.Header.Get("X-Signature-Timestamp")), body...), signature) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var in obj
	_ = json.Unmarshal(body, &in)
	if in["type"] == 1.0 {
		_ = json.NewEncoder(w).Encode(obj{"type": 1})
		return
	}
	status, answer := e.answer(in)
	w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func TestInteractionsOverHTTP(t *testing.T) {
	r := start(t, fakediscord.Options{})
	e := listen(t, r, time.Now, func(obj) (int, any) { return 200, obj{"type": 7, "data": v2(text("done"))} })
	if err := r.Deliver(e.URL); err != nil {
		t.Fatal(err)
	}
	w := r.ready()
	id := r.post(asking()).id(t)
	w.event("MESSAGE_CREATE")
	d, err := r.Click(r.ana, r.general, id, "Deny")
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Wait(within(t))
	if err != nil || a.Type != 7 || !a.Direct {
		t.Errorf("%+v %v", a, err)
	}
	if f := w.op(0); f["t"] != "MESSAGE_UPDATE" { // and no INTERACTION_CREATE: one excludes the other
		t.Errorf("the gateway got %v", f["t"])
	}
	for name, f := range map[string]fakediscord.Forgery{"other key": {Key: true}, "signature": {Signature: hex.EncodeToString(make([]byte, 64))}, "no headers": {NoHeaders: true},
		"stale": {Stale: time.Hour}, "other body": {Body: `{"type":3}`}} {
		status, _, err := r.Forge(d, f)
		if err != nil || status != 401 {
			t.Errorf("%s: %d %v", name, status, err)
		}
	}
	if status, _, err := r.Forge(d, fakediscord.Forgery{Pad: 2 << 20}); err != nil || status != 413 {
		t.Errorf("large: %d %v", status, err)
	}
	if status, _, err := r.Forge(d, fakediscord.Forgery{}); err != nil || status != 200 {
		t.Errorf("the real one: %d %v", status, err)
	}
	equal(t, "application", at(r.call("GET", "/applications/@me", nil).obj, "interactions_endpoint_url"), e.URL)
	if err := r.Deliver(""); err != nil {
		t.Fatal(err)
	}
	again := r.post(asking()).id(t)
	if _, err := r.Click(r.ana, r.general, again, "Deny"); err != nil {
		t.Fatal(err)
	}
	w.event("INTERACTION_CREATE")
}

func TestEndpointsThatFail(t *testing.T) {
	clock := fakediscord.NewManual()
	r := start(t, fakediscord.Options{Clock: clock})
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"type":1}`) }))
	t.Cleanup(open.Close)
	if err := r.Deliver(open.URL); err == nil {
		t.Error("an endpoint that does not check signatures is refused")
	}
	id := r.post(asking()).id(t)
	hold, arrived := make(chan struct{}), make(chan struct{})
	defer close(hold)
	e := listen(t, r, clock.Now, func(in obj) (int, any) {
		switch at(in, "data", "custom_id") {
		case "yes":
			return 202, nil
		case "no":
			return 500, nil
		}
		close(arrived)
		<-hold
		return 200, obj{"type": 6}
	})
	if err := r.Deliver(e.URL); err != nil {
		t.Fatal(err)
	}
	later, _ := r.Click(r.ana, r.general, id, "Allow once")
	r.answer(later, obj{"type": 6}).is(t, 200, 0) // after a 202 the route answers
	broken, _ := r.Click(r.ana, r.general, id, "Deny")
	if _, err := broken.Wait(within(t)); err == nil {
		t.Error("a 500 is no answer")
	}
	slow, _ := r.Press(r.ana, r.general, id, fakediscord.Button{ID: "slow"})
	select {
	case <-arrived:
	case <-within(t).Done():
		t.Fatal("no request came")
	}
	clock.Advance(3 * time.Second)
	if _, err := slow.Wait(within(t)); err == nil {
		t.Error("three seconds are over")
	}
}
