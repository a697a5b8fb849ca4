package slack

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// lineFor is a line of the select as it stands on our cards.
func lineFor(value, token string) fakeslack.Button {
	return fakeslack.Button{BlockID: "b", ActionID: "nod:more:1:" + token, Type: "static_select", Text: value, Value: value}
}

// wide makes the calls of a chat ones that offer everything.
func (sc *scene) wide(id chat.ID) {
	sc.ledger.set(func() {
		s := sc.ledger.sessions[id]
		for i := range s.Turn.Calls {
			r := &s.Turn.Calls[i].Ruling
			r.Verdict, r.Level, r.ChatGrant, r.Remember = permission.Ask, permission.LevelUser, true, true
			r.Scopes = []permission.Scope{permission.ScopeReads, permission.ScopeWrites, permission.ScopeServer}
		}
	})
}

func TestAllThatCanBeChosenOnACard(t *testing.T) {
	for _, c := range []chat.Choice{chat.AllowHour, chat.AllowUses, chat.AllowExact, chat.AllowPath, chat.AllowReads, chat.AllowWrites, chat.AllowServer, chat.AllowSession, chat.AskFor, chat.Decline, chat.Accept} {
		sc := newScene(t, overSocket).connected()
		_, ts := sc.thread()
		sc.press("UANA", "C1", ts, buttonFor(c, "tok"))
		if click := only[chat.Clicked](sc); click.Choice != c || click.Token != "tok" || click.User != ana || click.Message != chat.MessageRef(ts) {
			t.Errorf("%+v", click)
		}
	}
}

// It stands behind the other choices with a box before it, toggles, and decides nothing.
// R83
func TestRememberIsALineOfAMenu(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, _ := sc.thread()
	a := asking("ASK1").Blocks[1].(render.Ask)
	for _, c := range []chat.Choice{chat.DenyReason, chat.Edit, chat.ViewDetail, chat.AllowExact, chat.AllowHour, chat.AllowUses} {
		a.More = append(a.More, render.Choice{Choice: c, Token: "tok", Label: string(c)})
	}
	for i, x := range []struct {
		toggle render.Toggle
		label  string
	}{{render.ToggleOff, "☐ Remember this choice"}, {render.ToggleOn, "☑ Remember this choice"}} {
		a.Call = x.label
		shown := a
		shown.More = append(slices.Clone(a.More), render.Choice{Choice: chat.Remember, Token: "tok", Label: text.LabelRemember, Toggle: x.toggle})
		ref, err := sc.a.Post(sc.ctx, blocks.Place{Team: "T1", Channel: "C1", Thread: root}.Chat(), chat.PostKey("k"+x.label), render.Message{State: render.Waiting, Blocks: []render.Block{shown}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := sc.slack.Click("UANA", "C1", string(ref), x.label)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Wait(sc.ctx); err != nil {
			t.Fatal(err)
		}
		got := sc.ledger.got()
		if len(got) != i+1 {
			t.Fatalf("%+v", got)
		}
		if c := got[i].(chat.Clicked); c.Choice != chat.Remember || c.Token != "tok" || c.Message != ref {
			t.Errorf("%+v", c)
		}
	}
}

// A message from before it was a line of a menu has a checkbox, which says the same whether it is ticked or unticked: Slack names no option
// then.
func TestTheCheckboxOfAnOldMessage(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	_, ts := sc.thread()
	sc.press("UANA", "C1", ts, fakeslack.Button{BlockID: "b", ActionID: "nod:remember:4:tok", Type: "checkboxes", Text: text.LabelRemember})
	if c := only[chat.Clicked](sc); c.Choice != chat.Remember || c.Token != "tok" || c.User != ana {
		t.Errorf("%+v", c)
	}
}

// What allows much is asked about once more, in the words of the card, before it is anybody's click.
// R106
func TestAConfirmation(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	id := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	sc.wide(id)
	sc.press("UANA", "C1", ts, lineFor("?allow_server", "tok"))
	sc.until("Ana is asked", func() bool { return len(sc.told("UANA")) == 1 })
	if len(sc.ledger.asked()) != 0 {
		t.Fatal("it was taken before")
	}
	e := sc.slack.Ephemerals("UANA")[0]
	if blocks := e.JSON(); len(blocks) != 2 || textIn(blocks[0]) != text.ConfirmServer("files") || e.Thread != root {
		t.Errorf("%s", e.Blocks)
	}
	d, err := sc.slack.ClickEphemeral("UANA", text.LabelAllowServer("files"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Wait(sc.ctx); err != nil {
		t.Fatal(err)
	}
	click := only[chat.Clicked](sc)
	if click.Choice != chat.AllowServer || click.Token != "tok" || click.Chat != id || click.Message != chat.MessageRef(ts) || click.User != ana || click.Delivery == "" {
		t.Errorf("%+v", click)
	}
	sc.until("the question is gone", func() bool { return len(sc.slack.Ephemerals("UANA")) == 0 })
}

func textIn(block map[string]any) string {
	text, _ := block["text"].(map[string]any)
	s, _ := text["text"].(string)
	return s
}

// Who would be refused is told at once, and not asked whether they mean it.
func TestWhatWouldBeRefusedIsNotConfirmed(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.wide(sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok"))
	sc.ledger.set(func() {
		sc.ledger.refuses = func(in chat.Clicked) *decision.Refusal {
			if in.Choice == chat.AllowServer && in.User == ana && in.Token == "tok" && in.Message == chat.MessageRef(ts) {
				return &decision.Refusal{Code: decision.RefusedNotOffered, Say: text.NotYoursToGrant}
			}
			return nil
		}
	})
	sc.press("UANA", "C1", ts, lineFor("?allow_server", "tok"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 })
	if got := sc.told("UANA")[0]; got != text.NotYoursToGrant || len(sc.ledger.asked()) != 0 {
		t.Errorf("told: %q", got)
	}
}

// R106
func TestAConfirmationThatIsCancelled(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.wide(sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok"))
	sc.press("UANA", "C1", ts, lineFor("?allow_session", "tok"))
	sc.until("Ana is asked", func() bool { return len(sc.told("UANA")) == 1 })
	if _, err := sc.slack.ClickEphemeral("UANA", "Cancel"); err != nil {
		t.Fatal(err)
	}
	const links = 2 // it came, and is taken away
	sc.until("the question is gone", func() bool {
		return len(sc.slack.Ephemerals("UANA")) == 0 && len(sc.slack.Calls("response_url")) == links
	})
	sc.press("UANA", "C1", ts, fakeslack.Button{BlockID: "b", ActionID: blocks.ActionCancel, Type: "button", Text: "Cancel", Value: "x"}) // on everybody's message
	sc.press("UGUEST", "C1", ts, buttonFor(chat.AllowOnce, "tok"))
	sc.until("what comes after it is answered", func() bool { return len(sc.told("UGUEST")) == 1 && len(sc.slack.Calls("response_url")) > links })
	if n := len(sc.slack.Calls("response_url")) - links; n != 1 {
		t.Errorf("%d messages were replaced or taken away", n-1)
	}
	if len(sc.ledger.asked()) != 0 {
		t.Error("it was taken")
	}
}

func TestAConfirmationForWhatIsNotOffered(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	id := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	for i, b := range []fakeslack.Button{lineFor("?allow_server", "tok"), lineFor("?allow_server", "other")} {
		if i == 1 {
			sc.wide(id) // which offers it, but not for another ask
		}
		sc.press("UANA", "C1", ts, b)
		sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == i+1 })
		if got := sc.told("UANA")[i]; got != surface.SayNotOpen {
			t.Errorf("told: %q", got)
		}
	}
	sc.press("UGUEST", "C1", ts, lineFor("?allow_server", "tok"))
	sc.until("the guest is told", func() bool { return len(sc.told("UGUEST")) == 1 })
	if got := sc.told("UGUEST")[0]; got != sayGuest || len(sc.ledger.asked()) != 0 {
		t.Errorf("told: %q", got)
	}
}

// The button of a private message is held to what parseForm takes, and to where it stands.
func TestAConfirmationThatIsNotOurs(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	for i, value := range []string{"", "{}", "tok", blocks.Form{Place: blocks.Place{Team: "T9", Channel: "C1", Thread: "1.2"}, Token: "tok", Choice: chat.AllowOnce}.Metadata(), blocks.Form{Place: blocks.Place{Team: "T1", Channel: "C2", Thread: "1.2"}, Token: "tok", Choice: chat.AllowOnce}.Metadata(),
		blocks.Form{Place: blocks.Place{Team: "T1", Channel: "C1", Thread: "1.2"}, Token: "a b", Choice: chat.AllowOnce}.Metadata(), blocks.Form{Place: blocks.Place{Team: "T1", Channel: "C1", Thread: "1.2"}, Token: "tok", Choice: "anything"}.Metadata()} {
		sc.press("UANA", "C1", ts, fakeslack.Button{BlockID: "b", ActionID: blocks.ActionSure, Type: "button", Text: "x", Value: value})
		sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == i+1 })
		if got := sc.told("UANA")[i]; got != sayNoPlace {
			t.Errorf("%q: %q", value, got)
		}
	}
	if len(sc.ledger.asked()) != 0 {
		t.Errorf("%+v", sc.ledger.asked())
	}
	sc.press("UGUEST", "C1", ts, fakeslack.Button{BlockID: "b", ActionID: blocks.ActionSure, Type: "button", Text: "x", Value: blocks.Form{Place: blocks.Place{Team: "T1", Channel: "C1", Thread: root}, Token: "tok", Choice: chat.AllowOnce}.Metadata()})
	sc.until("the guest is told", func() bool { return len(sc.told("UGUEST")) == 1 })
	if len(sc.ledger.asked()) != 0 {
		t.Error("a guest decided")
	}
}

// A chat that cannot be read is no reason to say that its question is over.
func TestAClickWhileTheChatCannotBeRead(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.wide(sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok"))
	sc.ledger.set(func() { sc.ledger.unread = errDown })
	for i, b := range []fakeslack.Button{lineFor("?allow_server", "tok"), buttonFor(chat.Answer, "tok"), buttonFor(chat.Edit, "tok")} {
		sc.press("UANA", "C1", ts, b)
		sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == i+1 })
		if got := sc.told("UANA")[i]; got != surface.SayNotRead {
			t.Errorf("%s: told %q", b.Text, got)
		}
	}
}

func TestAConfirmedClickThatIsNotRecorded(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.wide(sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok"))
	sc.press("UANA", "C1", ts, lineFor("?allow_reads", "tok"))
	sc.until("Ana is asked", func() bool { return len(sc.told("UANA")) == 1 })
	sc.ledger.set(func() { sc.ledger.fail = func(chat.Inbound) error { return errDown } })
	if _, err := sc.slack.ClickEphemeral("UANA", text.LabelAllowReads("files")); err != nil {
		t.Fatal(err)
	}
	sc.until("Ana is told, and can try again", func() bool { return len(sc.told("UANA")) == 2 })
	if got := sc.told("UANA")[1]; got != surface.SayNotRecorded {
		t.Errorf("told: %q", got)
	}
}

// R150
func TestWhyAmIAsked(t *testing.T) {
	sc, b := boarded(t)
	root, ts := sc.thread()
	id := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	v := sc.modal("UBEN", ts, chat.Why, "tok")
	if !strings.Contains(string(v.Blocks), "Why am I asked? tok") {
		t.Errorf("%s", v.Blocks)
	}
	if v = sc.inView("UBEN", "Next"); !strings.Contains(string(v.Blocks), "Page 2 of") || strings.Contains(string(v.Blocks), "<!here>\",\"type\":\"mrkdwn") {
		t.Errorf("%s", v.Blocks)
	}
	b.set(func() {
		for _, e := range b.envs {
			if e.User.Key != "UBEN" || e.Chat != id {
				t.Errorf("%+v", e)
			}
		}
		b.down = errDown
	})
	sc.press("UANA", "C1", ts, buttonFor(chat.Why, "tok"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 && sc.told("UANA")[0] == surface.SayNotRead })
	sc.press("UGUEST", "C1", ts, buttonFor(chat.Why, "tok"))
	sc.until("the guest is told", func() bool { return len(sc.told("UGUEST")) == 1 })
	if len(sc.ledger.asked()) != 0 {
		t.Error("asking why decided something")
	}
}

// What a card masks is on record before each page of it is shown, and to whom. Who may not decide any more sees no more of it.
func TestWhatIsMaskedIsShown(t *testing.T) {
	sc, b := boarded(t)
	root, ts := sc.thread()
	id := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	d, err := b.Why(sc.ctx, chat.Envelope{}, "tok")
	if err != nil {
		t.Fatal(err)
	}
	for i, no := range []error{&decision.Refusal{Say: "Only Ana may."}, errDown} {
		sc.ledger.set(func() { sc.ledger.refuse = func(chat.Clicked) error { return no } })
		sc.press("UBEN", "C1", ts, buttonFor(chat.Reveal, "tok"))
		sc.until("Ben is told", func() bool { return len(sc.told("UBEN")) == i+1 })
	}
	if got := sc.told("UBEN"); got[0] != "Only Ana may." || got[1] != surface.SayNotRecorded || len(sc.slack.Views("UBEN")) > 0 {
		t.Errorf("told: %q", got)
	}
	sc.ledger.set(func() { sc.ledger.hidden, sc.ledger.refuse, sc.ledger.decided = &d, nil, nil })
	sc.modal("UANA", ts, chat.Reveal, "tok")
	if v := sc.inView("UANA", "Next"); !strings.Contains(string(v.Blocks), "Page 2 of") {
		t.Errorf("%s", v.Blocks)
	}
	sc.slack.AddUser(fakeslack.User{ID: "UANA", Name: "Ana", Guest: true})
	sc.forget()
	if _, err := sc.slack.ClickInView("UANA", sc.slack.Views("UANA")[0].ID, "Next"); err != nil {
		t.Fatal(err)
	}
	sc.until("it is said", func() bool { return slices.Contains(sc.told("UANA"), sayGuest) })
	sc.ledger.set(func() {
		if n := len(sc.ledger.decided); n != 2 || len(sc.ledger.calls) > 0 {
			t.Errorf("recorded: %+v %+v", sc.ledger.decided, sc.ledger.calls)
		}
		for _, c := range sc.ledger.decided {
			if c.Choice != chat.Reveal || c.User != ana || c.Chat != id || c.Token != "tok" {
				t.Errorf("%+v", c)
			}
		}
		sc.ledger.sessions[id].Turn.Calls[0].Args = []byte(`{"text":"` + rep(20_000) + `"}`)
	})
	sc.modal("UGUEST", ts, chat.ViewDetail, "tok") // whose message they see anyway
	if v := sc.inView("UGUEST", "Next"); !strings.Contains(string(v.Blocks), "Page 2 of") {
		t.Errorf("%s", v.Blocks)
	}
}

func TestWhyWithoutSettingsIsInTheDetails(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	if v := sc.modal("UANA", ts, chat.Why, "tok"); !strings.Contains(string(v.Blocks), "notes.txt") {
		t.Errorf("%s", v.Blocks)
	}
}
