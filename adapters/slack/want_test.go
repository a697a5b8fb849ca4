package slack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// wants is a session in which a running tool's server wants something.
func (sc *scene) wants(p place, w turn.Want) chat.ID {
	id := p.id()
	c := wantOf(w)
	s := turn.Session{Chat: id, People: []turn.Person{{User: ana, Name: "Ana"}}, Turn: &turn.Turn{ID: "turn", Requester: ana, Calls: []turn.ToolCall{c}}}
	sc.ledger.set(func() { sc.ledger.sessions[id] = s })
	return id
}

func TestAServersForm(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	id := sc.wants(place{"T1", "C1", root}, turn.Want{Kind: turn.WantForm, Message: "Where to?", Fields: wantedFields()})
	v := sc.modal("UANA", ts, chat.Answer, "WANT1")
	if v.Submit != saySend || !strings.Contains(string(v.Blocks), "Never give it passwords") {
		t.Errorf("%+v", v)
	}
	submit := func(values map[string]string) {
		t.Helper()
		d, err := sc.slack.SubmitView("UANA", v.ID, values)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Wait(sc.ctx); err != nil {
			t.Fatal(err)
		}
	}
	sc.ledger.set(func() {
		sc.ledger.refuse = func(chat.Clicked) error {
			return &agent.Refusal{Code: agent.RefusedArguments, Say: "Your address is none."}
		}
	})
	submit(map[string]string{"field2": "ana@example.com"})
	sc.until("the form says so at the field", func() bool { return sc.slack.Views("UANA")[0].Errors["field2"] == "Your address is none." })
	sc.ledger.set(func() { sc.ledger.refuse = func(chat.Clicked) error { return errDown } })
	submit(nil)
	sc.until("the form says that it is not recorded", func() bool { return sc.slack.Views("UANA")[0].Errors["field0"] == surface.SayNotRecorded })
	sc.ledger.set(func() { sc.ledger.refuse = nil })
	submit(map[string]string{"field0": "dev", "field2": "ana@example.com", "field3": "https://x.example", "field5": "1795269720", "field7": "0.5", "field8": "0", "field9": "1", "field11": "10", "field12": "0\n1", "field13": "3\n11"})
	sc.until("the form is closed", func() bool { return len(sc.slack.Views("UANA")) == 0 })
	sc.ledger.mu.Lock()
	defer sc.ledger.mu.Unlock()
	if len(sc.ledger.decided) != 3 || len(sc.ledger.calls) != 0 {
		t.Fatalf("%+v", sc.ledger.decided)
	}
	got := sc.ledger.decided[2]
	want := map[string]string{"branch": "dev", "mail": "ana@example.com", "page": "https://x.example", "day": "2026-11-21", "when": "2026-11-21T14:02:00Z", "count": "3", "ratio": "0.5", "force": "true", "dry": "false",
		"colour": "#0f0", "size": "opt10", "tags": "a\nb", "more": "opt3\nopt11"}
	if d := cmp.Diff(want, got.Fields); d != "" {
		t.Error(d)
	}
	if got.Choice != chat.Answer || got.Token != "WANT1" || got.Chat != id || got.User != ana || got.Message != chat.MessageRef(ts) {
		t.Errorf("%+v", got)
	}
	if sc.ledger.decided[0].Delivery == sc.ledger.decided[2].Delivery {
		t.Error("a corrected form is taken for the first one")
	}
}

// What a server asks of Ana nobody else gets to see, let alone to answer.
func TestOnlyTheRequesterIsAsked(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	id := sc.wants(place{"T1", "C1", root}, turn.Want{Kind: turn.WantURL, URL: "https://secret.example/s3cret"})
	sc.press("UBEN", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ben is told", func() bool { return len(sc.told("UBEN")) == 1 })
	if got := sc.told("UBEN")[0]; got != render.OnlyRequesterFills("Ana") {
		t.Errorf("told: %q", got)
	}
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "other"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 && sc.told("UANA")[0] == surface.SayNotOpen })
	for _, e := range sc.slack.Ephemerals("UBEN") {
		if strings.Contains(string(e.Blocks), "s3cret") {
			t.Error("Ben has the address")
		}
	}
	// Nor by sending a form that was opened for somebody else.
	sc.wants(place{"T1", "C1", root}, turn.Want{Kind: turn.WantForm, Fields: wantedFields()})
	in := interaction{Type: "view_submission", Team: crew{ID: "T1"}, User: "UBEN"}
	in.View.Callback, in.View.ID = callbackAnswer, "V1"
	in.View.Metadata = loose(form{Place: place{"T1", "C1", root}, Message: chat.MessageRef(ts), Token: "WANT1", Choice: chat.Answer}.meta())
	if r, err := in.serve(sc.ctx, sc.a); err != nil || !strings.Contains(string(rawJSON(r.body)), render.OnlyRequesterFills("Ana")) {
		t.Errorf("%s %v", rawJSON(r.body), err)
	}
	for _, meta := range []string{"", form{Place: place{"T9", "C1", root}, Token: "WANT1", Choice: chat.Answer}.meta(), form{Place: place{"T1", "C1", root}, Token: "WANT1", Choice: chat.Deny}.meta()} {
		in.User, in.View.Metadata = "UANA", loose(meta)
		if r, err := in.serve(sc.ctx, sc.a); err != nil || !strings.Contains(string(rawJSON(r.body)), sayNoPlace) {
			t.Errorf("%q: %s %v", meta, rawJSON(r.body), err)
		}
	}
	in.View.Metadata = loose(form{Place: place{"T1", "C1", root}, Token: "gone", Choice: chat.Answer}.meta())
	if r, err := in.serve(sc.ctx, sc.a); err != nil || !strings.Contains(string(rawJSON(r.body)), surface.SayNotOpen) {
		t.Errorf("%s %v", rawJSON(r.body), err)
	}
	sc.ledger.mu.Lock()
	defer sc.ledger.mu.Unlock()
	if len(sc.ledger.decided)+len(sc.ledger.calls) != 0 {
		t.Errorf("%v: %+v", id, sc.ledger.decided)
	}
}

func TestAServersAddress(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	const address = "https://accounts.example.com/authorize?state=1&x=2"
	id := sc.wants(place{"T1", "C1", root}, turn.Want{Kind: turn.WantURL, URL: address})
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ana has the address", func() bool { return len(sc.slack.Ephemerals("UANA")) == 1 })
	if len(sc.ledger.asked()) != 0 || len(sc.slack.Ephemerals("UBEN")) != 0 || len(sc.slack.Messages("C1", root)) != 2 {
		t.Fatal("it is not hers alone, or was answered already")
	}
	d, err := sc.slack.ClickEphemeral("UANA", sayVisit)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Wait(sc.ctx); err != nil {
		t.Fatal(err)
	}
	if len(sc.ledger.asked()) != 0 {
		t.Error("opening the address answered")
	}
	if d, err = sc.slack.ClickEphemeral("UANA", sayVisited); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Wait(sc.ctx); err != nil {
		t.Fatal(err)
	}
	if c := only[chat.Clicked](sc); c.Choice != chat.Answer || c.Token != "WANT1" || c.Chat != id || c.User != ana || c.Message != chat.MessageRef(ts) {
		t.Errorf("%+v", c)
	}
	sc.until("it is gone", func() bool { return len(sc.slack.Ephemerals("UANA")) == 0 })
}

func TestAnAddressThatIsNone(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.wants(place{"T1", "C1", root}, turn.Want{Kind: turn.WantURL, URL: "javascript:alert(1)"})
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 && sc.told("UANA")[0] == sayNoAddress })
}

func TestAnswersWithoutAForm(t *testing.T) {
	for _, w := range []turn.Want{{Kind: turn.WantSample, Prompt: []byte(`{}`)}, {Kind: turn.WantForm, Message: "Go on?"}} {
		sc := newScene(t, overSocket).connected()
		root, ts := sc.thread()
		sc.wants(place{"T1", "C1", root}, w)
		sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
		sc.until("it is taken", func() bool { return len(sc.ledger.got()) == 1 })
		if c := only[chat.Clicked](sc); c.Choice != chat.Answer || c.Token != "WANT1" || c.Message != chat.MessageRef(ts) || len(sc.slack.Views("UANA")) != 0 {
			t.Errorf("%+v", c)
		}
	}
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.wants(place{"T1", "C1", root}, turn.Want{Kind: turn.WantSample})
	sc.ledger.set(func() { sc.ledger.fail = func(chat.Inbound) error { return errDown } })
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 && sc.told("UANA")[0] == surface.SayNotRecorded })
	sc.wants(place{"T1", "C1", root}, turn.Want{Kind: "of a later version"})
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 2 && sc.told("UANA")[1] == surface.SayNotOpen })
}

func TestAFormWithTooManyFields(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.wants(place{"T1", "C1", root}, turn.Want{Kind: turn.WantForm, Fields: make([]turn.FormField, maxFields+1)})
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 && sc.told("UANA")[0] == sayFormTooLong })
}
