package discord

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// card is a message of the bot's in a thread whose chat asks for one call, "tok".
func (p *parlor) card() (thread, message string) {
	p.t.Helper()
	thread = p.CreateThread(p.ana, p.general, "", "a thread")
	ref, err := p.a.Post(p.ctx, p.in(thread), "card", inWords("May I?"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.asking(ids.Place{Guild: p.Guild(), Channel: p.general, Thread: thread}, string(ref), "tok")
	return thread, string(ref)
}

func (p *parlor) press(user, channel, message, id string) fakediscord.Answer {
	p.t.Helper()
	return p.wait(p.Press(user, channel, message, fakediscord.Button{ID: id}))
}

func TestAClickIsRecordedAndSettled(t *testing.T) {
	p := newParlor(t)
	crew := p.AddRole(p.Guild(), fakediscord.Role{Name: "crew"})
	p.SetRoles(p.ben, crew)
	thread, card := p.card()
	d, err := p.Press(p.ben, thread, card, fakediscord.Button{ID: "nod:allow_once:tok"})
	if got := p.wait(d, err); got.Type != answerDeferred {
		t.Errorf("answered with %+v", got)
	}
	got := onlyOne[chat.Clicked](p)
	if got.Chat != p.in(thread) || got.Choice != chat.AllowOnce || got.Token != "tok" || string(got.Message) != card || got.User != p.user(p.ben) ||
		got.Name != "Ben" || got.Delivery != chat.Delivery("i:"+d.ID) || got.Reply.Platform != Platform || got.Reply.Key == "" {
		t.Errorf("%+v", got)
	}
	if !slices.Contains(got.Groups, ids.Role(p.Guild(), crew)) || !slices.Contains(got.Groups, ids.Role(p.Guild(), p.Guild())) {
		t.Errorf("groups: %v", got.Groups)
	}
	p.Redeliver(d) // over the connection of another session
	p.until("it came again", func() bool { return len(p.ledger.asked()) == 2 })
	if len(p.ledger.got()) != 1 {
		t.Errorf("%+v", p.ledger.got())
	}
	if strings.Contains(p.log.String(), d.Token()) {
		t.Error("the log holds the interaction's token")
	}
}

// Discord takes its time for what one person is told: another one's click on the same message is answered meanwhile.
func TestASlowAnswerHoldsUpNobodyElse(t *testing.T) {
	p := newParlor(t)
	thread, card := p.card()
	hold := make(chan struct{})
	defer close(hold)
	p.FailWhen(fakediscord.Callback, func(c fakediscord.Call) *fakediscord.Fault {
		if fmt.Sprint(c.Body["type"]) == strconv.Itoa(answerMessage) {
			return &fakediscord.Fault{Hold: hold}
		}
		return nil
	})
	for range 3 {
		if _, err := p.Press(p.ana, thread, card, fakediscord.Button{ID: "nod:details:no-such"}); err != nil {
			t.Fatal(err)
		}
	}
	p.until("Ana is served", func() bool { return p.a.in.clicks.Taken() > 0 })
	p.press(p.ben, thread, card, "nod:allow_once:tok")
	onlyOne[chat.Clicked](p)
	if strings.Count(p.log.String(), "a private answer did not arrive") == 3 {
		t.Error("Ben waited until all that Ana was told was given up")
	}
}

func TestWhatIsDrawnAnswersTheClick(t *testing.T) {
	p := newParlor(t)
	thread, card := p.card()
	p.ledger.set(func() { p.ledger.clicked = nil })
	d, err := p.Press(p.ana, thread, card, fakediscord.Button{ID: "nod:deny:tok"})
	p.until("it is recorded", func() bool { return len(p.ledger.got()) == 1 })
	if err := p.a.Edit(p.ctx, p.in(thread), chat.MessageRef(card), inWords("denied"), agent.Decision); err != nil {
		t.Fatal(err)
	}
	if got := p.wait(d, err); got.Type != answerUpdate {
		t.Errorf("answered with %+v", got)
	}
}

func TestAClickInAChannelOrDirectMessageBelongsThere(t *testing.T) {
	p := newParlor(t)
	dm := p.OpenDM(p.ana)
	for _, at := range []ids.Place{{Guild: "", Channel: dm, Thread: ""}, {Guild: p.Guild(), Channel: p.general, Thread: ""}} {
		ref, err := p.a.Post(p.ctx, at.Chat(), chat.PostKey("card in "+at.Channel), inWords("May I?"))
		if err != nil {
			t.Fatal(err)
		}
		p.press(p.ana, at.Channel, string(ref), "nod:deny:tok")
		got := p.ledger.got()[len(p.ledger.got())-1].(chat.Clicked)
		if got.Chat != at.Chat() || got.User != ids.Person(at.Guild, p.ana) || (at.Guild == "") != (got.Groups == nil) {
			t.Errorf("%+v", got)
		}
	}
}

func TestAClickThatIsNotRecordedIsSaid(t *testing.T) {
	p := newParlor(t)
	thread, card := p.card()
	p.ledger.set(func() { p.ledger.fail = func(chat.Inbound) error { return errDown } })
	if got := p.press(p.ana, thread, card, "nod:deny:tok"); got.Type != answerMessage {
		t.Errorf("answered with %+v", got)
	}
	if got := p.told(p.ana, thread); !strings.Contains(got, "was not recorded") || p.told(p.ben, thread) != "" {
		t.Errorf("told: %s", got)
	}
}

func TestUnknownButtons(t *testing.T) {
	p := newParlor(t)
	thread, card := p.card()
	for i, id := range []string{"nod2:allow:tok", "something else", "nod::"} {
		p.press(p.ana, thread, card, id)
		if got := p.told(p.ana, thread); strings.Count(got, "another version") != i+1 {
			t.Errorf("%s: told %s", id, got)
		}
	}
	p.event("INTERACTION_CREATE", map[string]any{"id": "940", "type": 5, "token": "t", "application_id": p.AppID(), "channel_id": "1", "channel": map[string]any{"id": "1", "type": 1},
		"user": map[string]any{"id": p.ana}, "data": map[string]any{"custom_id": "form:later:tok"}})
	p.close() // all that was taken is done
	if len(p.ledger.asked())+len(p.ledger.decisions()) != 0 {
		t.Errorf("%+v, %+v", p.ledger.asked(), p.ledger.decisions())
	}
}

func TestShowArgumentsIsForOnePerson(t *testing.T) {
	p := newParlor(t)
	thread, card := p.card()
	p.press(p.ben, thread, card, "nod:view:tok")
	if got := p.told(p.ben, thread); !strings.Contains(got, "notes.txt") {
		t.Errorf("told: %s", got)
	}
	p.press(p.ana, thread, card, "nod:reveal:tok") // nothing is masked in it
	if got := p.told(p.ana, thread); !strings.Contains(got, "nothing to show") {
		t.Errorf("told: %s", got)
	}
	p.press(p.ben, thread, card, "nod:view:old")
	if got := p.told(p.ben, thread); !strings.Contains(got, "no longer kept") {
		t.Errorf("told: %s", got)
	}
	p.ledger.set(func() { p.ledger.down = errDown })
	p.press(p.ben, thread, card, "nod:view:tok")
	if got := p.told(p.ben, thread); !strings.Contains(got, "could not be reached") {
		t.Errorf("told: %s", got)
	}
	if len(p.ledger.asked()) != 0 {
		t.Errorf("%+v", p.ledger.asked())
	}
}

func TestAReasonIsAskedForInAForm(t *testing.T) {
	p := newParlor(t)
	thread, card := p.card()
	if got := p.press(p.ana, thread, card, "nod:deny_reason:tok"); got.Type != answerModal {
		t.Fatalf("answered with %+v; the log:\n%s", got, p.log)
	}
	if len(p.Modals(p.ana)) != 1 {
		t.Fatal("no form is open")
	}
	d, err := p.Submit(p.ana, map[string]string{components.FieldReason: " not on a Friday "})
	if got := p.wait(d, err); got.Type != answerDeferred {
		t.Errorf("answered with %+v", got)
	}
	got := p.ledger.decisions()
	if len(got) != 1 || got[0].Choice != chat.Deny || got[0].Reason != "not on a Friday" || got[0].Token != "tok" || string(got[0].Message) != card ||
		got[0].Chat != p.in(thread) || got[0].User != p.user(p.ana) || got[0].Delivery != chat.Delivery("i:"+d.ID) {
		t.Errorf("%+v", got)
	}
}

func TestArgumentsAreEditedInAForm(t *testing.T) {
	p := newParlor(t)
	thread, card := p.card()
	if got := p.press(p.ana, thread, card, "nod:edit:tok"); got.Type != answerModal {
		t.Fatalf("answered with %+v", got)
	}
	refusal := &decision.Refusal{Code: decision.RefusedArguments, Say: "That is not JSON."}
	p.ledger.set(func() { p.ledger.refuse = func(chat.Clicked) error { return refusal } })
	p.wait(p.Submit(p.ana, map[string]string{components.FieldArgs: "{"}))
	if got := p.told(p.ana, thread); !strings.Contains(got, "That is not JSON") {
		t.Errorf("told: %s", got)
	}
	got := p.ledger.decisions()
	if len(got) != 1 || got[0].Choice != chat.Edit || got[0].Args != "{" || got[0].Reason != "" {
		t.Errorf("%+v", got)
	}
}

func TestAFormThatIsNotTaken(t *testing.T) {
	p := newParlor(t)
	thread, card := p.card()
	var refuse error
	p.ledger.set(func() { p.ledger.refuse = func(chat.Clicked) error { return refuse } })
	for _, x := range []struct {
		err  error
		want string // "": settled
	}{
		{&decision.Refusal{Code: decision.RefusedNotYours, Say: "Only Ana can decide this."}, "Only Ana"},
		{&decision.Refusal{Code: decision.RefusedDecided, Say: "Already denied by Ben.", By: p.user(p.ben), Choice: chat.Deny}, "Already denied by Ben"},
		{&decision.Refusal{Code: decision.RefusedDecided, Say: "Already allowed by you.", By: p.user(p.ana), Choice: chat.AllowOnce}, "Already allowed by you"},
		{errDown, "was not recorded"},
		{&decision.Refusal{Code: decision.RefusedDecided, Say: "Already denied by Ana.", By: p.user(p.ana), Choice: chat.Deny}, ""},
	} {
		p.press(p.ana, thread, card, "nod:deny_reason:tok")
		p.ledger.set(func() { refuse = x.err })
		if x.want == "" {
			p.clock.Advance(0)
		}
		d, err := p.Submit(p.ana, map[string]string{components.FieldReason: "no"})
		got := p.wait(d, err)
		if told := p.told(p.ana, thread); x.want != "" && !strings.Contains(told, x.want) || x.want == "" && (got.Type != answerDeferred || strings.Contains(told, "by Ana")) {
			t.Errorf("%v: %+v, told %s", x.err, got, told)
		}
	}
}

func TestAFormThatCannotBeOpened(t *testing.T) {
	p := newParlor(t)
	thread, card := p.card()
	p.press(p.ana, thread, card, "nod:edit:old")
	if got := p.told(p.ana, thread); !strings.Contains(got, "no longer waits") {
		t.Errorf("told: %s", got)
	}
	id := p.in(thread)
	p.ledger.set(func() {
		p.ledger.sessions[id].Turn.Calls[0].Args = json.RawMessage(`{"text":"` + strings.Repeat("x", 5000) + `"}`)
	})
	p.press(p.ana, thread, card, "nod:edit:tok")
	if got := p.told(p.ana, thread); !strings.Contains(got, "longer than a form") {
		t.Errorf("told: %s", got)
	}
	p.ledger.set(func() { p.ledger.sessions[id].Turn.Calls[0].Args = json.RawMessage(`{"password":"hunter2hunter2"}`) })
	p.press(p.ana, thread, card, "nod:edit:tok")
	if len(p.Modals(p.ana)) != 0 {
		t.Errorf("a masked secret stands in a form: %+v", p.Modals(p.ana))
	}
	p.Fail("POST /interactions/{interaction}/{token}/callback", 1, fakediscord.Fault{Status: 500})
	p.press(p.ana, thread, card, "nod:deny_reason:tok")
	if got := p.told(p.ana, thread); !strings.Contains(got, "could not be opened") {
		t.Errorf("told: %s", got)
	}
	p.ledger.set(func() { p.ledger.down = errDown })
	p.press(p.ana, thread, card, "nod:deny_reason:tok")
	if got := p.told(p.ana, thread); !strings.Contains(got, "could not be reached just now") {
		t.Errorf("told: %s", got)
	}
}

// A form, and details, have to be the answer themselves: no edit of the message may be it.
func TestOnlyAClickThatDecidesIsAnsweredByAnEdit(t *testing.T) {
	t.Parallel()
	a, _ := quietAdapter(t)
	for id, want := range map[string]string{"nod:deny:x": "950", "nod:allow_hour:x": "950", "nod:remember:x": "950", "ask:allow_server:x": "950", "nod:view:x": "", "nod:deny_reason:x": "",
		"nod:edit:x": "", "nod:answer:x": "", "nod:why:x": "", "nod:open:x": "", "sure:950:allow_server:x": "", "in:5:accept:x": "", "in:5:deny:x": "", "nodp:d:0: tok =v": "", "other": ""} {
		in := new(inbound.Interaction)
		if err := inbound.Decode([]byte(`{"type":3,"message":{"id":"950"},"data":{"custom_id":"`+id+`"}}`), in); err != nil {
			t.Fatal(err)
		}
		if got := a.incomingOf(in).Message; got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
}

// A form's answer may be an edit of the card that it was opened from, and of nothing else.
func TestOnlyACardsFormIsAnsweredByAnEdit(t *testing.T) {
	t.Parallel()
	a, _ := quietAdapter(t)
	for id, want := range map[string][2]string{"form:edit:x": {"950", "950"}, "form:answer:x 950": {"950", ""}, "nodp:m:0: tok =v": {"", ""}} {
		for i, flags := range []string{"0", "64"} {
			in := new(inbound.Interaction)
			if err := inbound.Decode([]byte(`{"type":5,"message":{"id":"950","flags":`+flags+`},"data":{"custom_id":"`+id+`"}}`), in); err != nil {
				t.Fatal(err)
			}
			if got := a.incomingOf(in).Message; got != want[i] {
				t.Errorf("%s, flags %s: %q", id, flags, got)
			}
		}
	}
}

func TestFormsOfTheNewerKindAreRead(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`[{"type":1,"components":[{"type":4,"custom_id":"args","value":"{}"}]}]`,
		`[{"type":10,"content":"args"},{"type":18,"component":{"type":4,"custom_id":"args","value":"{}"}}]`,
		`[7,{"type":99},{"type":17,"components":[{"type":1,"components":[{"type":4,"custom_id":"args","value":"{}"}]}]}]`,
	} {
		in := new(inbound.Interaction)
		if err := inbound.Decode([]byte(`{"data":{"components":`+raw+`}}`), in); err != nil {
			t.Fatal(err)
		}
		if got := inbound.InputValue(in.Data.Components, "args"); got != "{}" {
			t.Errorf("%s: %q", raw, got)
		}
	}
	deep := &inbound.Component{CustomID: "args", Value: "deep"}
	for range 100_000 {
		deep = &inbound.Component{Component: deep}
	}
	if inbound.InputValue([]inbound.Component{*deep}, "args") != "" {
		t.Error("there is no end to it")
	}
}

func TestInteractionsWithoutAPersonAreNobodys(t *testing.T) {
	p := newParlor(t)
	for i, fields := range []map[string]any{
		{},
		{"member": map[string]any{"roles": []any{"1"}}},
		{"user": map[string]any{"id": p.ana}}, // in a guild the member counts
		{"member": map[string]any{"user": map[string]any{"id": p.ana, "bot": true}}},
	} {
		e := map[string]any{"id": fmt.Sprint(940 + i), "type": 3, "token": "t", "application_id": p.AppID(), "guild_id": p.Guild(), "channel_id": p.general,
			"channel": map[string]any{"id": p.general, "type": 0}, "message": map[string]any{"id": "950"}, "data": map[string]any{"custom_id": "nod:deny:tok"}}
		for k, v := range fields {
			e[k] = v
		}
		p.event("INTERACTION_CREATE", e)
	}
	p.event("INTERACTION_CREATE", map[string]any{"id": "949", "type": 3, "token": "t", "application_id": "5", "channel_id": "1", "channel": map[string]any{"id": "1", "type": 1},
		"user": map[string]any{"id": p.ana}, "message": map[string]any{"id": "950"}, "data": map[string]any{"custom_id": "nod:deny:tok"}}) // another application's
	p.event("INTERACTION_CREATE", map[string]any{"id": "951", "type": 4, "token": "t", "application_id": p.AppID(), "channel_id": "1", "user": map[string]any{"id": p.ana}})
	p.close() // all that was taken is done
	if len(p.ledger.asked()) != 0 {
		t.Errorf("%+v", p.ledger.asked())
	}
}

// The channel of an interaction says what it is; where it does not, Discord is asked.
func TestWhereAClickBelongs(t *testing.T) {
	p := newParlor(t)
	thread, _ := p.card()
	dm := p.OpenDM(p.ana)
	p.a.in.channels.byID.Remove(thread)
	p.Forget()
	type object = map[string]any
	cases := []struct {
		what, channel string
		said          object
		asked         int
		want          chat.ID // none: it is said that it is not known
	}{
		{"a thread without its channel", thread, object{"id": thread, "type": 11}, 1, p.in(thread)},
		{"nothing said of what is remembered", p.general, nil, 0, ids.Place{Guild: p.Guild(), Channel: p.general}.Chat()},
		{"nothing said of a direct message", dm, nil, 1, ids.Place{Channel: dm}.Chat()},
		{"a thread that nobody has seen", "123", object{"id": "123", "type": 11, "parent_id": p.general}, 0, p.in("123")},
		{"a channel that nobody has seen", "124", object{"id": "124", "type": 0}, 0, ids.Place{Guild: p.Guild(), Channel: "124"}.Chat()},
		{"a channel that is none", "125", nil, 1, chat.ID{}},
	}
	for i, c := range cases {
		by := object{"id": p.ana, "username": "ana"}
		e := object{"id": fmt.Sprint(940 + i), "type": 3, "token": "t", "application_id": p.AppID(), "guild_id": p.Guild(), "member": object{"user": by, "roles": []any{}},
			"channel_id": c.channel, "channel": c.said, "message": object{"id": "950"}, "data": object{"custom_id": "nod:deny:tok"}}
		if c.channel == dm {
			delete(e, "guild_id")
			e["user"] = by
		}
		p.event("INTERACTION_CREATE", e)
	}
	p.close() // all that was taken is done
	chats := map[chat.Delivery]chat.ID{}
	for _, in := range p.ledger.got() {
		c := in.(chat.Clicked)
		chats[c.Delivery] = c.Chat
	}
	for i, c := range cases {
		if got := chats[chat.Delivery(fmt.Sprint("i:", 940+i))]; got != c.want {
			t.Errorf("%s: it belongs to %v", c.what, got)
		}
		asked := 0
		for _, call := range p.Calls(fakediscord.GetChannel) {
			if call.Channel == c.channel {
				asked++
			}
		}
		if asked != c.asked {
			t.Errorf("%s: asked %d times", c.what, asked)
		}
	}
}

func TestWhatIsNotTakenIsSaid(t *testing.T) {
	p := newParlor(t)
	thread, card := p.card()
	hold := make(chan struct{})
	p.ledger.set(func() { p.ledger.hold = hold })
	defer close(hold)
	for i := range surface.MaxWaiting {
		p.a.in.clicks.Put(fmt.Sprint("full", i), func() { <-hold })
	}
	p.press(p.ana, thread, card, "nod:deny:tok")
	if got := p.told(p.ana, thread); !strings.Contains(got, "too much is going on") {
		t.Errorf("told: %s", got)
	}
}

func TestMessagesThatAreNotTakenAreFetched(t *testing.T) {
	p := newParlor(t)
	hold := make(chan struct{})
	for range surface.MaxWaiting {
		p.a.in.messages.Put("full", func() { <-hold })
	}
	id := p.Say(p.ana, p.OpenDM(p.ana), "hello")
	p.until("it is fetched", func() bool { return p.tookMessage(id) })
	close(hold)
}

func TestAStoppingAdapterFinishesWhatItTook(t *testing.T) {
	p := newParlor(t)
	hold := make(chan struct{})
	p.ledger.set(func() { p.ledger.hold = hold })
	p.Say(p.ana, p.OpenDM(p.ana), "hello")
	p.until("it is being recorded", func() bool { return len(p.ledger.asked()) == 1 })
	p.stop()
	close(hold)
	p.close()
	if got := p.ledger.texts(); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("taken: %q", got)
	}
}

func TestAClosedInboxTakesNothing(t *testing.T) {
	t.Parallel()
	a, _ := quietAdapter(t)
	a.event("MESSAGE_CREATE", []byte(`{"id":"1","channel_id":"2","author":{"id":"3"},"content":"hello"}`))
	done := 0
	a.interacted(&inbound.Interaction{ID: "1", Token: "t", Type: discordgo.InteractionMessageComponent}, func() { done++ })
	a.closeInbox()
	if n := a.missed.Status().Behind; n != 0 || done != 1 {
		t.Errorf("behind: %d, done: %d", n, done)
	}
}

// quietAdapter runs nothing.
func quietAdapter(t *testing.T) (*Adapter, *daybook) {
	t.Helper()
	l := newDaybook()
	a, err := New(Config{Token: "t", Engine: l, Asks: l})
	if err != nil {
		t.Fatal(err)
	}
	a.self = self{User: "11", Application: "12"}
	close(a.introduced)
	return a, l
}
