package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakeslack/samples"
)

// wants is a session in which a running tool's server wants something.
func (sc *scene) wants(p blocks.Place, w turn.Elicitation) chat.ID {
	id := p.Chat()
	c := samples.Wanting(w)
	s := turn.Session{Chat: id, People: []turn.Person{{User: ana, Name: "Ana"}}, Turn: &turn.Turn{ID: "turn", Requester: ana, Calls: []turn.ToolCall{c}}}
	sc.ledger.set(func() { sc.ledger.sessions[id] = s })
	return id
}

func TestAServersForm(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	id := sc.wants(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, turn.Elicitation{Kind: turn.ElicitationForm, Message: "Where to?", Fields: samples.FormFields()})
	v := sc.modal("UANA", ts, chat.Answer, "WANT1")
	if v.Submit != "Send" || !strings.Contains(string(v.Blocks), "Never give it passwords") {
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
			return &decision.Refusal{Code: decision.RefusedArguments, Say: "Your address is none."}
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
	id := sc.wants(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, turn.Elicitation{Kind: turn.ElicitationURL, URL: "https://secret.example/s3cret"})
	sc.press("UBEN", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ben is told", func() bool { return len(sc.told("UBEN")) == 1 })
	if got := sc.told("UBEN")[0]; got != text.OnlyRequesterFills("Ana") {
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
	sc.wants(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, turn.Elicitation{Kind: turn.ElicitationForm, Fields: samples.FormFields()})
	in := inbound.Interaction{Type: "view_submission", Team: inbound.TeamRef{ID: "T1"}, User: "UBEN"}
	in.View.Callback, in.View.ID = blocks.CallbackAnswer, "V1"
	in.View.Metadata = inbound.LooseString(blocks.Form{Place: blocks.Place{Team: "T1", Channel: "C1", Thread: root}, Message: chat.MessageRef(ts), Token: "WANT1", Choice: chat.Answer}.Metadata())
	if r, err := sc.a.serve(sc.ctx, in); err != nil || !strings.Contains(jsonOf(r.body), text.OnlyRequesterFills("Ana")) {
		t.Errorf("%s %v", jsonOf(r.body), err)
	}
	for _, meta := range []string{"", blocks.Form{Place: blocks.Place{Team: "T9", Channel: "C1", Thread: root}, Token: "WANT1", Choice: chat.Answer}.Metadata(), blocks.Form{Place: blocks.Place{Team: "T1", Channel: "C1", Thread: root}, Token: "WANT1", Choice: chat.Deny}.Metadata()} {
		in.User, in.View.Metadata = "UANA", inbound.LooseString(meta)
		if r, err := sc.a.serve(sc.ctx, in); err != nil || !strings.Contains(jsonOf(r.body), sayNoPlace) {
			t.Errorf("%q: %s %v", meta, jsonOf(r.body), err)
		}
	}
	in.View.Metadata = inbound.LooseString(blocks.Form{Place: blocks.Place{Team: "T1", Channel: "C1", Thread: root}, Token: "gone", Choice: chat.Answer}.Metadata())
	if r, err := sc.a.serve(sc.ctx, in); err != nil || !strings.Contains(jsonOf(r.body), surface.SayNotOpen) {
		t.Errorf("%s %v", jsonOf(r.body), err)
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
	id := sc.wants(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, turn.Elicitation{Kind: turn.ElicitationURL, URL: address})
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ana has the address", func() bool { return len(sc.slack.Ephemerals("UANA")) == 1 })
	if len(sc.ledger.asked()) != 0 || len(sc.slack.Ephemerals("UBEN")) != 0 || len(sc.slack.Messages("C1", root)) != 2 {
		t.Fatal("it is not hers alone, or was answered already")
	}
	d, err := sc.slack.ClickEphemeral("UANA", "Open this address")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Wait(sc.ctx); err != nil {
		t.Fatal(err)
	}
	if len(sc.ledger.asked()) != 0 {
		t.Error("opening the address answered")
	}
	if d, err = sc.slack.ClickEphemeral("UANA", "I am done there"); err != nil {
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
	sc.wants(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, turn.Elicitation{Kind: turn.ElicitationURL, URL: "javascript:alert(1)"})
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 && sc.told("UANA")[0] == sayNoAddress })
}

func TestAnswersWithoutAForm(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.wants(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, turn.Elicitation{Kind: turn.ElicitationForm, Message: "Go on?"})
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("it is taken", func() bool { return len(sc.ledger.got()) == 1 })
	if c := only[chat.Clicked](sc); c.Choice != chat.Answer || c.Token != "WANT1" || c.Message != chat.MessageRef(ts) || len(sc.slack.Views("UANA")) != 0 {
		t.Errorf("%+v", c)
	}
	sc = newScene(t, overSocket).connected()
	root, ts = sc.thread()
	sc.wants(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, turn.Elicitation{Kind: turn.ElicitationForm})
	sc.ledger.set(func() { sc.ledger.fail = func(chat.Inbound) error { return errDown } })
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 && sc.told("UANA")[0] == surface.SayNotRecorded })
	sc.wants(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, turn.Elicitation{Kind: "of a later version"})
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 2 && sc.told("UANA")[1] == surface.SayNotOpen })
}

func TestAFormWithTooManyFields(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.wants(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, turn.Elicitation{Kind: turn.ElicitationForm, Fields: make([]turn.FormField, 90+1)})
	sc.press("UANA", "C1", ts, buttonFor(chat.Answer, "WANT1"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 && sc.told("UANA")[0] == sayFormTooLong })
}

func TestFieldText(t *testing.T) {
	fields := map[string]turn.FormField{}
	for _, x := range samples.FormFields() {
		fields[x.Name] = x
	}
	for _, c := range []struct{ field, entered, want string }{
		{"branch", `{"value":"dev"}`, "dev"}, {"count", `{"type":"number_input","value":"3"}`, "3"}, {"force", `{"selected_option":{"value":"0"}}`, "true"}, {"force", `{"selected_option":{"value":"1"}}`, "false"},
		{"force", `{"selected_option":null}`, ""}, {"colour", `{"selected_option":{"value":"1"}}`, "#0f0"}, {"colour", `{"selected_option":{"value":"2"}}`, ""}, {"colour", `{"selected_option":{"value":"-1"}}`, ""},
		{"colour", `{"selected_option":{"value":"#0f0"}}`, ""}, {"tags", `{"selected_options":[{"value":"0"},{"value":"2"},{"value":"9"}]}`, "a\nc"}, {"tags", `{"selected_options":[]}`, ""},
		{"day", `{"selected_date":"2026-11-22"}`, "2026-11-22"}, {"when", `{"selected_date_time":1795269720}`, "2026-11-21T14:02:00Z"}, {"when", `{"selected_date_time":null}`, ""}, {"when", `{"selected_date_time":"noon"}`, ""}, {"notes", `{"value":null}`, ""},
	} {
		var e inbound.InputState
		if err := json.Unmarshal([]byte(c.entered), &e); err != nil {
			t.Fatal(err)
		}
		if got := readField(fields[c.field], e); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.field, c.entered, got, c.want)
		}
	}
}

func TestWhichFieldIsToBlame(t *testing.T) {
	fields := samples.FormFields()
	for say, want := range map[string]string{
		"Branch must be one that exists.": "field0", "Your address is none.": "field2", "count has to be at most 9": "field6", "Nothing fits.": "field0", "tags: too many": "field12",
	} {
		if got := inputToBlame(blocks.FieldBlock(0), fields, say); got != want {
			t.Errorf("%q: %s, want %s", say, got, want)
		}
	}
}
