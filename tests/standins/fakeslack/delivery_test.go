package fakeslack_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func TestEventsOfAMention(t *testing.T) {
	s := start(t, fakeslack.Options{})
	w := dial(t, s)
	ts := s.Say("U1", "C1", "", "<@"+s.BotUser()+"> go")
	a, b := w.next(), w.next()
	if at(a, "payload", "event", "type") != "message" || at(b, "payload", "event", "type") != "app_mention" {
		t.Fatalf("%v\n%v", a, b)
	}
	if at(a, "payload", "event_id") == at(b, "payload", "event_id") || a["envelope_id"] == b["envelope_id"] {
		t.Error("both have the same ID")
	}
	for _, f := range []map[string]any{a, b} {
		e := at(f, "payload", "event")
		if at(e, "ts") != ts || at(e, "channel") != "C1" || at(e, "user") != "U1" || at(f, "payload", "team_id") != s.Team() || f["retry_attempt"] != 0.0 ||
			at(e, "blocks", 0, "elements", 0, "elements", 0, "user_id") != s.BotUser() {
			t.Errorf("%v", f)
		}
		w.ack(f, nil)
	}
	s.Say("U1", "C3", "", "<@"+s.BotUser()+"> I am not here") // the bot is no member
	s.Say("U1", "C2", "", "no mention")
	if f := w.next(); at(f, "payload", "event", "channel") != "C2" || at(f, "payload", "event", "channel_type") != "group" {
		t.Errorf("%v", f)
	}
	s.Say("U1", s.DM("U1"), "", "<@"+s.BotUser()+"> in private")
	if f := w.next(); at(f, "payload", "event", "channel_type") != "im" {
		t.Errorf("%v", f)
	}
	s.Say("U3BOT", "C1", "", "beep")
	if f := w.next(); at(f, "payload", "event", "bot_id") != "B3BOT" {
		t.Errorf("%v", f)
	}
	w.quiet()
}

func TestEventsOfTheRest(t *testing.T) {
	s := start(t, fakeslack.Options{Enterprise: "E1"})
	s.AddUser(fakeslack.User{ID: "U4", Team: "T2"})
	s.AddChannel(fakeslack.Channel{ID: "C4", Shared: true, Members: []string{"U4", s.BotUser()}})
	w := dial(t, s)
	event := func() map[string]any {
		t.Helper()
		f := w.next()
		w.ack(f, nil)
		return at(f, "payload", "event").(map[string]any)
	}
	ts := s.Say("U1", "C1", "", "one")
	event()
	s.EditMessage("C1", ts, "two")
	if e := event(); e["subtype"] != "message_changed" || at(e, "message", "text") != "two" || at(e, "previous_message", "text") != "one" || at(e, "message", "edited", "user") != "U1" {
		t.Errorf("%v", e)
	}
	s.DeleteMessage("C1", ts)
	if e := event(); e["subtype"] != "message_deleted" || e["deleted_ts"] != ts || at(e, "previous_message", "text") != "two" {
		t.Errorf("%v", e)
	}
	mine := said(t, s, "C1", "", "")
	if e := event(); e["bot_id"] != s.BotID() || e["ts"] != mine { // Slack tells a bot of its own messages
		t.Errorf("%v", e)
	}
	a, _ := call(t, s, "chat.update", "channel", "C1", "ts", mine, "text", "x")
	ok(t, a, "")
	if e := event(); e["subtype"] != "message_changed" || at(e, "message", "bot_id") != s.BotID() {
		t.Errorf("%v", e)
	}
	a, _ = call(t, s, "chat.delete", "channel", "C1", "ts", mine)
	ok(t, a, "")
	if e := event(); e["subtype"] != "message_deleted" || at(e, "previous_message", "bot_id") != s.BotID() {
		t.Errorf("%v", e)
	}
	s.Say("U4", "C4", "", "from abroad")
	f := w.next()
	if at(f, "payload", "is_ext_shared_channel") != true || at(f, "payload", "event", "user_team") != "T2" || at(f, "payload", "enterprise_id") != "E1" {
		t.Errorf("%v", f)
	}
	dm := s.OpenAgentView("U2")
	if e := event(); e["type"] != "app_home_opened" || e["tab"] != "messages" || e["channel"] != dm || dm != s.DM("U2") {
		t.Errorf("%v", e)
	}
	s.OpenHome("U2")
	if e := event(); e["tab"] != "home" {
		t.Errorf("%v", e)
	}
	s.StopAgent("U2", "C1", "1.000001")
	if e := event(); e["type"] != "agent_session_stopped" || e["thread_ts"] != "1.000001" || e["user"] != "U2" {
		t.Errorf("%v", e)
	}
	s.Archive("U1", "C1")
	if e := event(); e["type"] != "channel_archive" || e["channel"] != "C1" {
		t.Errorf("%v", e)
	}
	s.Archive("U1", "C2")
	if e := event(); e["type"] != "group_archive" {
		t.Errorf("%v", e)
	}
	s.Send(map[string]any{"type": "team_join"})
	if e := event(); e["type"] != "team_join" {
		t.Errorf("%v", e)
	}
	w.quiet()
}

func TestOnlyWhatIsSubscribed(t *testing.T) {
	s := start(t, fakeslack.Options{Events: []string{"app_mention"}, NoEcho: true})
	w := dial(t, s)
	s.Say("U1", "C1", "", "nothing")
	said(t, s, "C1", "", "")
	s.Say("U1", "C1", "", "<@"+s.BotUser()+">")
	if f := w.next(); at(f, "payload", "event", "type") != "app_mention" {
		t.Errorf("%v", f)
	}
	w.quiet()
}

// attempts waits until a delivery had n of them.
func attempts(t *testing.T, s *fakeslack.Server, d *fakeslack.Delivery, n int) []fakeslack.Attempt {
	t.Helper()
	wait(t, s, fmt.Sprint(n, " attempts"), func() bool { return len(d.Attempts()) >= n })
	return d.Attempts()
}

func TestRetries(t *testing.T) {
	clock := fakeslack.NewManual()
	s := start(t, fakeslack.Options{Clock: clock})
	w := dial(t, s)
	d := s.Send(map[string]any{"type": "team_join"})
	first := w.next()
	clock.Advance(fakeslack.AckWithin - time.Millisecond)
	w.quiet()
	clock.Advance(time.Millisecond) // too late: at once again
	second := w.next()
	if second["envelope_id"] == first["envelope_id"] || at(second, "payload", "event_id") != at(first, "payload", "event_id") || second["retry_attempt"] != 1.0 || second["retry_reason"] != "timeout" {
		t.Errorf("%v", second)
	}
	w.ack(first, nil)
	wait(t, s, "the late acknowledgement", func() bool { return d.Attempts()[0].Late })
	clock.Advance(fakeslack.AckWithin + time.Minute - time.Millisecond)
	w.quiet()
	clock.Advance(time.Millisecond)
	if f := w.next(); f["retry_attempt"] != 2.0 {
		t.Errorf("%v", f)
	}
	clock.Advance(fakeslack.AckWithin + 5*time.Minute)
	last := w.next()
	if last["retry_attempt"] != 3.0 {
		t.Errorf("%v", last)
	}
	clock.Advance(fakeslack.AckWithin)
	if _, err := d.Wait(within(t)); err == nil || !strings.Contains(err.Error(), "gave up") {
		t.Errorf("%v", err)
	}
	clock.Advance(24 * time.Hour)
	if n := len(d.Attempts()); n != 4 {
		t.Errorf("%d attempts", n)
	}
	w.ack(last, nil) // nobody waits for it any more
	wait(t, s, "it", func() bool { return s.Acks(last["envelope_id"].(string)) == 1 })

	d = s.Send(map[string]any{"type": "team_join"})
	f := w.next()
	clock.Advance(2 * time.Second)
	w.ack(f, map[string]any{"x": 1})
	if got, err := d.Wait(within(t)); err != nil || got.Acked.Sub(got.At) != 2*time.Second || string(got.Answer) != `{"x":1}` || got.Late {
		t.Errorf("%+v %v", got, err)
	}
	clock.Advance(time.Hour)
	if n := len(d.Attempts()); n != 1 {
		t.Errorf("%d attempts of what was acknowledged", n)
	}
	w.quiet()
}

func TestNobodyConnected(t *testing.T) {
	clock := fakeslack.NewManual()
	s := start(t, fakeslack.Options{Clock: clock})
	d := s.Send(map[string]any{"type": "team_join"})
	if a := d.Attempts(); len(a) != 1 || a[0].Failed != "no connection" || a[0].Envelope != "" {
		t.Fatalf("%+v", a)
	}
	clock.Advance(0)
	if a := attempts(t, s, d, 2); a[1].Failed == "" {
		t.Fatalf("%+v", a)
	}
	w := dial(t, s)
	clock.Advance(time.Minute)
	f := w.next()
	if f["retry_attempt"] != 2.0 {
		t.Errorf("%v", f)
	}
	w.ack(f, nil)
	if _, err := d.Wait(within(t)); err != nil {
		t.Error(err)
	}
	_ = w.conn.Close()
	wait(t, s, "the end of it", func() bool { return s.Connections() == 0 })
	if d := s.Slash("U1", "C1", "/nod", "x"); d != nil { // interactions and commands are not repeated
		if _, err := d.Wait(within(t)); err == nil {
			t.Error("no error")
		}
	}
}

func TestTroubleOnTheWay(t *testing.T) {
	clock := fakeslack.NewManual()
	s := start(t, fakeslack.Options{Clock: clock})
	w := dial(t, s)
	s.Duplicate(1)
	d := s.Send(map[string]any{"type": "team_join"})
	a, b := w.next(), w.next()
	if a["envelope_id"] != b["envelope_id"] || b["retry_attempt"] != 0.0 {
		t.Errorf("%v\n%v", a, b)
	}
	w.ack(a, nil)
	w.ack(b, nil)
	wait(t, s, "both", func() bool { return s.Acks(a["envelope_id"].(string)) == 2 })
	s.Redeliver(d, true)
	if f := w.next(); f["envelope_id"] != a["envelope_id"] {
		t.Errorf("%v", f)
	}
	s.Redeliver(d, false)
	if f := w.next(); f["envelope_id"] == a["envelope_id"] || at(f, "payload", "event_id") != at(a, "payload", "event_id") || f["retry_attempt"] != 1.0 {
		t.Errorf("%v", f)
	}
	s.Hold(true)
	d = s.Send(map[string]any{"type": "team_join"})
	if len(d.Attempts()) != 0 {
		t.Error("it was sent")
	}
	s.Hold(false)
	s.LoseAcks(1)
	w.ack(w.next(), nil)
	w.ack(map[string]any{"envelope_id": "marker"}, nil)
	wait(t, s, "the marker", func() bool { return s.Acks("marker") == 1 })
	if !d.Attempts()[0].Acked.IsZero() {
		t.Error("the acknowledgement was not lost")
	}
	clock.Advance(fakeslack.AckWithin)
	f := w.next()
	w.ack(f, long(fakeslack.MaxAck)) // dropped without a word
	w.ack(f, nil)
	if got, err := d.Wait(within(t)); err != nil || got.Answer != nil {
		t.Errorf("%+v %v", got, err)
	}
	if err := s.Raw(`{"type":"novelty","envelope_id":"e1"}`); err != nil {
		t.Error(err)
	}
	f = w.next()
	w.ack(f, nil)
	wait(t, s, "e1", func() bool { return s.Acks("e1") == 1 })
}

func TestSocketRules(t *testing.T) {
	s := start(t, fakeslack.Options{Seed: 7})
	if err := s.Raw("x"); err == nil {
		t.Error("no socket, and no error")
	}
	var all []*wire
	for range fakeslack.MaxConnections {
		all = append(all, dial(t, s))
	}
	extra, err := tryDial(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if f := extra.next(); f["type"] != "disconnect" || f["reason"] != "too_many_websockets" {
		t.Errorf("%v", f)
	}
	if f := extra.next(); f != nil {
		t.Errorf("it stays: %v", f)
	}
	for i := range 50 { // each goes to one of them
		s.Send(map[string]any{"type": "team_join", "n": i})
	}
	var n, used int
	s.Disconnect("warning") // comes after what was sent
	for _, w := range all {
		some := false
		for f := w.next(); f["type"] != "disconnect"; f = w.next() {
			n++
			some = true
		}
		if some {
			used++
		}
	}
	if n != 50 || used < 5 {
		t.Errorf("%d frames over %d sockets", n, used)
	}
	if s.Connections() != 10 {
		t.Error("a warning ended a connection")
	}
	s.Disconnect("refresh_requested")
	for _, w := range all {
		if f := w.next(); f["reason"] != "refresh_requested" {
			t.Errorf("%v", f)
		}
		if f := w.next(); f != nil {
			t.Errorf("%v", f)
		}
	}
	wait(t, s, "the end of all", func() bool { return s.Connections() == 0 })
	s.RefuseConnections(true)
	if _, err := tryDial(t, s); err == nil || !strings.Contains(err.Error(), "internal_error") {
		t.Errorf("%v", err)
	}
	s.RefuseConnections(false)
	w := dial(t, s)
	s.Drop()
	if f := w.next(); f != nil {
		t.Errorf("%v", f)
	}
	res, err := http.Get(strings.TrimSuffix(s.URL(), "/api/") + "/link/?ticket=made-up")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Error(res.Status)
	}
}

// app is an HTTP app that checks signatures with the real library and answers what it is told to.
type app struct {
	mu     sync.Mutex
	bodies []string
	heads  []http.Header
	status int
	header map[string]string
	answer string
	hang   chan struct{} // requests wait for it
	hung   chan struct{} // of size 1: one waits
	bad    []error
	secret string
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	v, err := slack.NewSecretsVerifier(r.Header, a.secret)
	if err == nil {
		_, _ = v.Write(body)
		err = v.Ensure()
	}
	a.mu.Lock()
	if err != nil {
		a.bad = append(a.bad, err)
	}
	a.bodies, a.heads = append(a.bodies, string(body)), append(a.heads, r.Header)
	hang, status, answer := a.hang, a.status, a.answer
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	a.mu.Unlock()
	if hang != nil {
		a.hung <- struct{}{}
		select {
		case <-hang:
		case <-r.Context().Done():
			return
		}
	}
	var c struct{ Type, Challenge string }
	if json.Unmarshal(body, &c) == nil && c.Type == "url_verification" {
		answer = c.Challenge
	}
	if status != 0 {
		w.WriteHeader(status)
	}
	_, _ = io.WriteString(w, answer)
}

func (a *app) set(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

func TestSignedDelivery(t *testing.T) {
	clock := fakeslack.NewManual()
	s := start(t, fakeslack.Options{Clock: clock})
	a := &app{secret: s.SigningSecret(), hung: make(chan struct{}, 1)}
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	if err := s.Deliver(fakeslack.Endpoints{Events: srv.URL, Interactivity: srv.URL, Commands: srv.URL}); err != nil {
		t.Fatal(err)
	}
	d := s.Send(map[string]any{"type": "team_join"})
	if _, err := d.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	a.set(func() { a.status = 500 })
	d = s.Send(map[string]any{"type": "team_join"})
	wait(t, s, "the failure", func() bool { return d.Attempts()[0].Failed == "http_error" })
	a.set(func() { a.status, a.hang = 0, make(chan struct{}) })
	clock.Advance(0)
	select { // the request must be there before time goes on
	case <-a.hung:
	case <-within(t).Done():
		t.Fatal("no request")
	}
	clock.Advance(fakeslack.AckWithin)
	wait(t, s, "the timeout", func() bool { return d.Attempts()[1].Failed == "http_timeout" })
	a.set(func() { a.hang = nil })
	clock.Advance(time.Minute)
	if got, err := d.Wait(within(t)); err != nil || got.Number != 2 {
		t.Errorf("%+v %v", got, err)
	}
	a.set(func() {
		last := a.heads[len(a.heads)-1]
		if last.Get("X-Slack-Retry-Num") != "2" || last.Get("X-Slack-Retry-Reason") != "http_timeout" || a.heads[0].Get("X-Slack-Retry-Num") != "" {
			t.Errorf("%v", last)
		}
		a.status, a.header = 500, map[string]string{"X-Slack-No-Retry": "1"}
	})
	d = s.Send(map[string]any{"type": "team_join"})
	if _, err := d.Wait(within(t)); err == nil || !strings.Contains(err.Error(), "gave up") {
		t.Error(err)
	}
	clock.Advance(time.Minute)
	if n := len(d.Attempts()); n != 1 {
		t.Errorf("%d attempts, and the app wanted no more", n)
	}
	a.set(func() { a.status, a.header, a.answer = 0, nil, "at once" })
	if got, err := s.Slash("U1", "C1", "/nod", "x").Wait(within(t)); err != nil || string(got.Answer) != `"at once"` {
		t.Errorf("%+v %v", got, err)
	}
	if e := s.Ephemerals("U1"); len(e) != 1 || e[0].Text != "at once" {
		t.Errorf("%+v", e)
	}
	ts := said(t, s, "C1", "", "["+actions(button("a", ""))+"]")
	click, err := s.Click("U1", "C1", ts, "Go")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := click.Wait(within(t)); err != nil {
		t.Error(err)
	}
	a.set(func() {
		if !slices.ContainsFunc(a.bodies, func(b string) bool { return strings.HasPrefix(b, "payload=%7B") }) ||
			!slices.ContainsFunc(a.bodies, func(b string) bool { return strings.Contains(b, "command=%2Fnod") }) {
			t.Errorf("%q", a.bodies)
		}
		if len(a.bad) > 0 {
			t.Errorf("signatures: %v", a.bad)
		}
	})
	srv.Close()
	d = s.Send(map[string]any{"type": "team_join"})
	wait(t, s, "the failure", func() bool { return d.Attempts()[0].Failed == "connection_failed" })
	if err := s.Deliver(fakeslack.Endpoints{Events: srv.URL}); err == nil {
		t.Error("url_verification of nobody")
	}
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(mute.Close)
	if err := s.Deliver(fakeslack.Endpoints{Events: mute.URL}); err == nil {
		t.Error("url_verification without the challenge")
	}
}
