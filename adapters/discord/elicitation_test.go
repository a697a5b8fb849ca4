package discord

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

func TestAFormIsFilledIn(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Wanting("want", turn.Elicitation{Kind: turn.ElicitationForm, Fields: samples.Fields()}))
	if got := p.choose(p.ana, thread, card, text.LabelAnswer); got.Type != answerModal {
		t.Fatalf("answered with %+v; %s", got, p.log)
	}
	refusal := &decision.Refusal{Code: decision.RefusedArguments, Say: "Recipient has to be an *e-mail* address."}
	p.ledger.set(func() { p.ledger.refuse = func(chat.Clicked) error { return refusal } })
	p.wait(p.Submit(p.ana, map[string]string{"field0": "nobody", "field3": "Rouge", "field4": "Mon\nTue"}))
	got := p.ledger.decisions()
	if len(got) != 1 || got[0].Choice != chat.Answer || got[0].Token != "want" || string(got[0].Message) != card || got[0].User != p.user(p.ana) || got[0].Chat != p.in(thread) ||
		got[0].Fields["to"] != "nobody" || got[0].Fields["colour"] != "red" || got[0].Fields["days"] != "Mon\nTue" || got[0].Fields["n"] != "2" {
		t.Fatalf("%+v", got)
	}
	if s := p.seen(p.ana, thread).Text(); !strings.Contains(s, `Recipient has to be an \*e-mail\* address`) {
		t.Error(s)
	}
	// What was typed stands there when it is opened again, from the private message or from the card.
	for _, open := range []func() fakediscord.Answer{
		func() fakediscord.Answer { return p.clickSeen(p.ana, thread, "Open the form again") }, func() fakediscord.Answer { return p.choose(p.ana, thread, card, text.LabelAnswer) },
	} {
		if got := open(); got.Type != answerModal {
			t.Fatalf("answered with %+v", got)
		}
		if in := p.Modals(p.ana)[0].Inputs; in[0].Value != "nobody" || in[4].Value != "Mon\nTue" || !in[4].Long {
			t.Errorf("%+v", in)
		}
		p.wait(p.Submit(p.ana, nil))
		if got := p.ledger.decisions(); string(got[len(got)-1].Message) != card || got[len(got)-1].Fields["to"] != "nobody" {
			t.Errorf("%+v", got)
		}
	}
	refusal = &decision.Refusal{Code: decision.RefusedExpired, Say: "It is too late."}
	p.choose(p.ana, thread, card, text.LabelAnswer)
	p.wait(p.Submit(p.ana, nil))
	if m := p.seen(p.ana, thread); !strings.Contains(m.Text(), "too late") || len(m.Buttons()) != 0 {
		t.Errorf("%q", m.Text())
	}
	again := &decision.Refusal{Code: decision.RefusedDecided, Say: "You answered.", By: p.user(p.ana)} // when it came the first time
	for _, refuse := range []func(chat.Clicked) error{func(chat.Clicked) error { return again }, nil} {
		p.ledger.set(func() { p.ledger.refuse = refuse })
		p.choose(p.ana, thread, card, text.LabelAnswer)
		if got := p.wait(p.Submit(p.ana, map[string]string{"field0": "a@b.example", "field3": "red"})); got.Type != answerDeferred {
			t.Errorf("answered with %+v", got)
		}
	}
	p.choose(p.ana, thread, card, text.LabelAnswer)
	if in := p.Modals(p.ana)[0].Inputs; in[0].Value != "" {
		t.Errorf("what was taken is still kept: %+v", in)
	}
}

func TestAFormIsKeptForAWhile(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Wanting("want", turn.Elicitation{Kind: turn.ElicitationForm, Fields: samples.Fields()}))
	p.ledger.set(func() { p.ledger.refuse = func(chat.Clicked) error { return errDown } })
	p.choose(p.ana, thread, card, text.LabelAnswer)
	p.wait(p.Submit(p.ana, map[string]string{"field0": "nobody", "field3": "red"}))
	if s := p.seen(p.ana, thread).Text(); !strings.Contains(s, "was not recorded") {
		t.Error(s)
	}
	if v, ok := p.a.drafts.Get(draftKey(p.user(p.ana), "want"), p.clock.Now()); !ok || v["field0"] != "nobody" {
		t.Errorf("%v", v)
	}
	p.ledger.set(func() { p.ledger.down = errDown }) // nor is it lost where not even the chat can be read
	p.clickSeen(p.ana, thread, "Open the form again")
	p.ledger.set(func() { p.ledger.down = nil })
	p.choose(p.ana, thread, card, text.LabelAnswer)
	p.ledger.set(func() { p.ledger.down = errDown })
	p.wait(p.Submit(p.ana, map[string]string{"field0": "somebody"}))
	p.ledger.set(func() { p.ledger.down = nil })
	p.choose(p.ana, thread, card, text.LabelAnswer)
	if in := p.Modals(p.ana)[0].Inputs; in[0].Value != "somebody" {
		t.Errorf("%+v", in)
	}
	p.wait(p.Submit(p.ana, nil))
	p.clock.Advance(draftLife)
	p.clickSeen(p.ana, thread, "Open the form again")
	if in := p.Modals(p.ana)[0].Inputs; in[0].Value != "" {
		t.Errorf("%+v", in)
	}
}

// What a server asks of one person nobody else is shown, let alone asked.
func TestOnlyTheRequesterAnswers(t *testing.T) {
	for name, w := range map[string]turn.Elicitation{
		"form": {Kind: turn.ElicitationForm, Fields: samples.Fields()}, "url": {Kind: turn.ElicitationURL, URL: "https://secret.example/"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParlor(t)
			thread, card := p.cardOfChat(samples.Wanting("want", w))
			p.press(p.ben, thread, card, "nod:answer:want")
			if got := p.seen(p.ben, thread).Text(); !strings.Contains(got, "Only Ana (who asked) can answer this") || strings.Contains(got, "secret") {
				t.Error(got)
			}
			p.press(p.ben, thread, card, "nod:answer:other")
			if got := p.seen(p.ben, thread).Text(); !strings.Contains(got, "not asked for any more") {
				t.Error(got)
			}
			p.ledger.set(func() { p.ledger.down = errDown })
			p.press(p.ben, thread, card, "nod:answer:want")
			if got := p.seen(p.ben, thread).Text(); !strings.Contains(got, "could not be reached just now") {
				t.Error(got)
			}
			if len(p.Modals(p.ben)) != 0 || len(p.ledger.asked())+len(p.ledger.decisions()) != 0 {
				t.Errorf("%+v", p.ledger.asked())
			}
		})
	}
}

// A form that was open when somebody else came to be the one who asked is not theirs to send.
func TestAFormOfSomebodyElseIsNotSent(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Wanting("want", turn.Elicitation{Kind: turn.ElicitationForm, Fields: samples.Fields()}))
	p.choose(p.ana, thread, card, text.LabelAnswer)
	p.ledger.set(func() { p.ledger.sessions[p.in(thread)].Turn.Requester = p.user(p.ben) })
	p.wait(p.Submit(p.ana, map[string]string{"field0": "x", "field3": "red"}))
	if got := p.told(p.ana, thread); !strings.Contains(got, "can answer this") || len(p.ledger.decisions()) != 0 {
		t.Error(got)
	}
}

func TestAnAddressIsShownToOnePerson(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Wanting("want", turn.Elicitation{Kind: turn.ElicitationURL, URL: "https://good.example/a?b=c"}))
	if got := p.choose(p.ana, thread, card, text.LabelOpenPage); got.Type != answerMessage {
		t.Fatalf("answered with %+v; %s", got, p.log)
	}
	m := p.seen(p.ana, thread)
	links := m.Buttons()
	if !strings.HasPrefix(m.Text(), "```\nhttps://good.example/a?b=c\n```") || !strings.Contains(m.Text(), "**good.example**") || m.Flags&fakediscord.FlagSuppressEmbeds == 0 || len(links) != 2 || links[0].URL != "https://good.example/a?b=c" {
		t.Errorf("%s %+v", m.Text(), links)
	}
	if len(p.ledger.asked())+len(p.ledger.decisions()) != 0 {
		t.Error("shown is not answered")
	}
	if got := p.clickSeen(p.ana, thread, "Done"); got.Type != answerUpdate {
		t.Errorf("answered with %+v", got)
	}
	got := p.ledger.decisions()
	if len(got) != 1 || got[0].Choice != chat.Answer || got[0].Token != "want" || string(got[0].Message) != card || got[0].Fields != nil {
		t.Errorf("%+v", got)
	}
	p.Fail("POST /interactions/{interaction}/{token}/callback", 1, fakediscord.Fault{Status: 500})
	p.choose(p.ana, thread, card, text.LabelOpenPage)
	if got := p.seen(p.ana, thread).Text(); !strings.Contains(got, "could not be opened") {
		t.Error(got)
	}
}

func TestWhatNeedsNoFormIsRecorded(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Wanting("want", turn.Elicitation{Kind: turn.ElicitationForm}))
	p.press(p.ana, thread, card, "nod:answer:want")
	if got := onlyOne[chat.Clicked](p); got.Choice != chat.Answer || got.Token != "want" || string(got.Message) != card {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsDeclinedIsRecorded(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Wanting("want", turn.Elicitation{Kind: turn.ElicitationForm, Fields: samples.Fields()}))
	p.choose(p.ana, thread, card, text.LabelDecline)
	if got := onlyOne[chat.Clicked](p); got.Choice != chat.Decline || got.Token != "want" {
		t.Errorf("%+v", got)
	}
}

// A form with more values than Discord's forms take says so, and can be declined.
func TestAFormThatIsTooLong(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Wanting("want", turn.Elicitation{Kind: turn.ElicitationForm, Fields: slices.Concat(samples.Fields(), samples.Fields())}))
	p.choose(p.ana, thread, card, text.LabelAnswer)
	if got := p.seen(p.ana, thread).Text(); !strings.Contains(got, "10 values") || !strings.Contains(got, "Decline") || len(p.Modals(p.ana)) != 0 {
		t.Error(got)
	}
}

func TestAFormThatDoesNotOpen(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Wanting("want", turn.Elicitation{Kind: turn.ElicitationForm, Fields: samples.Fields()}))
	p.Fail("POST /interactions/{interaction}/{token}/callback", 1, fakediscord.Fault{Status: 500})
	p.choose(p.ana, thread, card, text.LabelAnswer)
	if got := p.seen(p.ana, thread).Text(); !strings.Contains(got, "could not be opened") {
		t.Error(got)
	}
}

// Options may be written as people read them.
func TestOptionsInWords(t *testing.T) {
	t.Parallel()
	f := turn.FormField{Options: []string{"red", "green", "RED!", "a", "b"}, Labels: []string{"Rouge", "Vert", "", "Same", "same"}}
	for in, want := range map[string]string{"red": "red", " Red ": "red", "vert": "green", "blue": "blue", "same": "same", "rouge\n\n green ": "red\ngreen", "": ""} {
		if got := optionsIn(f, in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := optionsIn(turn.FormField{}, " as it is "); got != " as it is " {
		t.Errorf("%q", got)
	}
}

func TestFormsThatCameBack(t *testing.T) {
	t.Parallel()
	w := turn.Elicitation{Fields: []turn.FormField{{Name: "a"}, {Name: "b"}}}
	got := fieldsOf(w, []inbound.Component{{Components: []inbound.Component{{CustomID: "field1", Value: "x"}, {CustomID: "field9", Value: "y"}}}})
	if want := map[string]string{"a": "", "b": "x"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}
