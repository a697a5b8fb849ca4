package discord

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

// cardOfChat posts the card of a chat in a new thread.
func (p *parlor) cardOfChat(s turn.Session) (thread, message string) {
	p.t.Helper()
	thread = p.CreateThread(p.ana, p.general, "", "a thread")
	s.Chat, s.Turn.Requester = p.in(thread), p.user(p.ana)
	s.People = []turn.Person{{User: p.user(p.ana), Name: "Ana"}}
	ref, err := p.a.Post(p.ctx, p.in(thread), "card", render.Fit(card.View(s, s.Turn, card.Live{}), p.a.Limits()))
	if err != nil {
		p.t.Fatal(err)
	}
	s.Turn.Shown = ref
	p.ledger.set(func() { p.ledger.sessions[s.Chat] = s })
	return thread, string(ref)
}

func (p *parlor) choose(user, channel, message, what string) fakediscord.Answer {
	p.t.Helper()
	return p.wait(p.Click(user, channel, message, what))
}

// What is to be confirmed is asked in exactly the card's words, and what is sent then is what the card's own button would have sent.
// R106
func TestAChoiceIsConfirmed(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Grantable("tok"))
	if got := p.choose(p.ben, thread, card, text.LabelAllowServer("files")); got.Type != answerMessage {
		t.Fatalf("answered with %+v; %s", got, p.log)
	}
	m := p.seen(p.ben, thread)
	if !strings.HasPrefix(m.Text(), text.ConfirmServer("files")+"\n[") || len(p.ledger.asked()) != 0 || len(p.Seen(p.ana, thread)) != 0 {
		t.Errorf("%q, %+v", m.Text(), p.ledger.asked())
	}
	if b := m.Buttons(); len(b) != 2 || b[0].Style != 4 || b[0].Label != text.LabelAllowServer("files") {
		t.Errorf("%+v", b)
	}
	p.clickSeen(p.ben, thread, "Cancel")
	if got := p.seen(p.ben, thread); got.ID != m.ID || strings.TrimSpace(got.Text()) != sayCancelled || len(got.Buttons()) != 0 || len(p.ledger.asked())+len(p.ledger.decisions()) != 0 {
		t.Errorf("%q, %+v", got.Text(), p.ledger.asked())
	}
	p.choose(p.ben, thread, card, text.LabelAllowServer("files"))
	if got := p.clickSeen(p.ben, thread, text.LabelAllowServer("files")); got.Type != answerUpdate {
		t.Errorf("answered with %+v", got)
	}
	got := p.ledger.decisions()
	if len(got) != 1 || got[0].Choice != chat.AllowServer || got[0].Token != "tok" || string(got[0].Message) != card || got[0].User != p.user(p.ben) || got[0].Chat != p.in(thread) ||
		got[0].Reply.Key == "" || got[0].Groups == nil || got[0].Delivery == "" {
		t.Errorf("%+v", got)
	}
	if m := p.seen(p.ben, thread); !strings.Contains(m.Text(), "Recorded") || len(m.Buttons()) != 0 {
		t.Errorf("%q", m.Text())
	}
}

// Who would be refused is told at once, and not asked whether they mean it.
func TestWhatWouldBeRefusedIsNotConfirmed(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Grantable("tok"))
	p.ledger.set(func() {
		p.ledger.refuses = func(in chat.Clicked) *decision.Refusal {
			if in.Choice == chat.AllowServer && in.User == p.user(p.ana) && in.Token == "tok" {
				return &decision.Refusal{Code: decision.RefusedNotOffered, Say: text.NotYoursToGrant}
			}
			return nil
		}
	})
	p.choose(p.ana, thread, card, text.LabelAllowServer("files"))
	if got := p.told(p.ana, thread); !strings.Contains(got, text.NotYoursToGrant) || len(p.ledger.asked()) != 0 {
		t.Error(got)
	}
	p.choose(p.ben, thread, card, text.LabelAllowServer("files"))
	if m := p.seen(p.ben, thread); !strings.HasPrefix(m.Text(), text.ConfirmServer("files")) {
		t.Errorf("%q", m.Text())
	}
}

// What a wide grant of a dangerous tool gives is said before it counts; once needs no second click.
func TestADangerousToolIsNotAllowedForAChatUnsaid(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Dangerous())
	p.choose(p.ana, thread, card, text.LabelAllowChat)
	if m := p.seen(p.ana, thread); !strings.HasPrefix(m.Text(), "Allow run\\_command of shell, with any arguments, whenever Ana asks in this chat? ") || len(p.ledger.got()) != 0 {
		t.Errorf("%q, %+v", m.Text(), p.ledger.got())
	}
	p.clickSeen(p.ana, thread, text.LabelAllowChat)
	if got := p.ledger.decisions(); len(got) != 1 || got[0].Choice != chat.AllowChat || got[0].Token != "ASK1" || string(got[0].Message) != card {
		t.Errorf("%+v", got)
	}
	p.choose(p.ana, thread, card, text.LabelAllowOnce)
	if got := onlyOne[chat.Clicked](p); got.Choice != chat.AllowOnce {
		t.Errorf("%+v", got)
	}
}

// Five reads are allowed, or denied, with one click, which names exactly them; and Stop stands behind More with the ask's own token.
func TestReadsAreAnsweredAsOne(t *testing.T) {
	p := newParlor(t)
	s := samples.Reads()
	thread, card := p.cardOfChat(s)
	all := turn.BatchToken(turn.OpenAsks(s))
	for i, x := range []struct {
		label, token string
		choice       chat.Choice
	}{{text.LabelAllowThese(5), all, chat.ApproveAll}, {text.LabelDeny, all, chat.DenyAll}, {text.LabelStop, "ASK1", chat.Stop}} {
		p.choose(p.ana, thread, card, x.label)
		if got, _ := p.ledger.got()[i].(chat.Clicked); got.Choice != x.choice || got.Token != x.token || string(got.Message) != card {
			t.Errorf("%s: %+v", x.label, got)
		}
	}
}

// R106
func TestAConfirmedChoiceThatIsNotTaken(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Grantable("tok"))
	var refuse error
	p.ledger.set(func() { p.ledger.refuse = func(chat.Clicked) error { return refuse } })
	for _, x := range []struct {
		err  error
		want string
	}{
		{&decision.Refusal{Code: decision.RefusedNotYours, Say: "Only Ana can decide this."}, "Only Ana"},
		{&decision.Refusal{Code: decision.RefusedDecided, Say: "Already allowed.", By: p.user(p.ana), Choice: chat.AllowSession}, "Recorded"},
		{&decision.Refusal{Code: decision.RefusedDecided, Say: "Already denied by Ben.", By: p.user(p.ben), Choice: chat.Deny}, "Already denied"},
		{&decision.Refusal{Code: decision.RefusedDecided, Say: "Already denied by you.", By: p.user(p.ana), Choice: chat.Deny}, "Already denied by you"},
		{errDown, "was not recorded"},
	} {
		p.choose(p.ana, thread, card, text.LabelAllowSession)
		p.ledger.set(func() { refuse = x.err })
		asked := p.seen(p.ana, thread).ID
		p.clickSeen(p.ana, thread, text.LabelAllowSession)
		if got := p.seen(p.ana, thread); !strings.Contains(got.Text(), x.want) || (got.ID == asked) == (x.err == errDown) {
			t.Errorf("%v: %q", x.err, got.Text())
		}
	}
	if m, ok := p.Message(thread, p.Seen(p.ana, thread)[4].ID); !ok || len(m.Buttons()) != 2 {
		t.Errorf("nobody can try again: %+v", m)
	}
}

// A question about a choice that its card does not have any more is not asked: the engine says why.
func TestWhatIsOverIsNotConfirmed(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Grantable("tok"))
	p.press(p.ana, thread, card, "ask:allow_once:tok") // a card of before: nothing is to be confirmed any more
	if got := onlyOne[chat.Clicked](p); got.Choice != chat.AllowOnce {
		t.Errorf("%+v", got)
	}
	p.ledger.set(func() { p.ledger.sessions[p.in(thread)], p.ledger.taken, p.ledger.calls = turn.Session{}, nil, nil })
	p.choose(p.ana, thread, card, text.LabelAllowServer("files"))
	if got := onlyOne[chat.Clicked](p); got.Choice != chat.AllowServer {
		t.Errorf("%+v", got)
	}
	p.ledger.set(func() { p.ledger.down = errDown })
	p.choose(p.ana, thread, card, text.LabelAllowServer("files"))
	if got := p.told(p.ana, thread); !strings.Contains(got, "could not be reached just now") || len(p.ledger.asked()) != 1 {
		t.Error(got)
	}
}

// A question that cannot be asked decides nothing.
func TestAQuestionThatCannotBeAsked(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Grantable("tok"))
	p.Fail("POST /interactions/{interaction}/{token}/callback", 1, fakediscord.Fault{Status: 500})
	p.choose(p.ana, thread, card, text.LabelAllowServer("files"))
	if got := p.told(p.ana, thread); !strings.Contains(got, "Nothing was changed") || len(p.ledger.asked()) != 0 {
		t.Error(got)
	}
}

// The choices that need nothing more are recorded as they are, and a checkbox with them.
// R83
func TestChoicesBeyondTheThreeButtons(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Grantable("tok"))
	for i, x := range []struct {
		label  string
		choice chat.Choice
		token  string
	}{
		{text.LabelAllowHour, chat.AllowHour, "tok"}, {text.LabelAllowUses(turn.GrantUses), chat.AllowUses, "tok"}, {"☐ " + text.LabelRemember, chat.Remember, "tok"}, {text.LabelAskMore, chat.AskFor, "t1"},
	} {
		if got := p.choose(p.ana, thread, card, x.label); got.Type != answerDeferred {
			t.Errorf("%s: answered with %+v", x.label, got)
		}
		if got, _ := p.ledger.got()[i].(chat.Clicked); got.Choice != x.choice || got.Token != x.token || string(got.Message) != card {
			t.Errorf("%+v", got)
		}
	}
}

// A card of before has a button for it; now it is a part of the details.
// R150
func TestWhyIsForOnePerson(t *testing.T) {
	p, o := managed(t)
	thread, card := p.cardOfChat(samples.Grantable("tok"))
	p.press(p.ben, thread, card, "nod:why:tok")
	if got := p.seen(p.ben, thread).Text(); !strings.Contains(got, `the \*server\* asks`) || len(p.Seen(p.ana, thread)) != 0 {
		t.Error(got)
	}
	if got := lastOf(o, &o.why); got.token != "tok" || got.env.Chat != p.in(thread) || got.env.User != p.user(p.ben) || got.env.Groups == nil {
		t.Errorf("%+v", got)
	}
	for _, x := range []struct {
		err  error
		want string
	}{{&decision.Refusal{Say: "This ask is over."}, "This ask is over"}, {errDown, "could not be reached just now"}} {
		o.set(func() { o.err = x.err })
		p.press(p.ben, thread, card, "nod:why:tok")
		if got := p.seen(p.ben, thread).Text(); !strings.Contains(got, x.want) {
			t.Errorf("%v: %s", x.err, got)
		}
	}
	o.set(func() { o.err = nil })
	p.Fail("POST /interactions/{interaction}/{token}/callback", 1, fakediscord.Fault{Status: 500})
	p.press(p.ben, thread, card, "nod:why:tok")
	if got := p.seen(p.ben, thread).Text(); !strings.Contains(got, "could not be opened") {
		t.Error(got)
	}
}

// Buttons that replace their message do so only where one person sees it.
func TestNoButtonReplacesACard(t *testing.T) {
	p := newParlor(t)
	thread, card := p.cardOfChat(samples.Grantable("tok"))
	for _, id := range []string{"nod:cancel:x", "sure::allow_server:tok", "sure:" + card + ":allow_server:tok"} {
		if got := p.press(p.ana, thread, card, id); got.Type != answerMessage || !strings.Contains(p.seen(p.ana, thread).Text(), "another version") {
			t.Errorf("%s: answered with %+v", id, got)
		}
	}
	if m, _ := p.Message(thread, card); len(m.Buttons()) == 0 || len(p.ledger.asked())+len(p.ledger.decisions()) != 0 {
		t.Errorf("%+v", m)
	}
}
