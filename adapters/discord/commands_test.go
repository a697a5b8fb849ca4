package discord

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func (p *parlor) command(user, channel, sub string, options map[string]any) fakediscord.Answer {
	p.t.Helper()
	return p.wait(p.Slash(user, channel, inbound.CommandName, sub, options))
}

func TestTypedCommands(t *testing.T) {
	p := newParlor(t)
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	p.asking(ids.Place{Guild: p.Guild(), Channel: p.general, Thread: thread}, "1", "tok")
	failed := false
	p.ledger.set(func() {
		p.ledger.fail = func(chat.Inbound) error { // the first is not recorded at once
			if !failed {
				failed = true
				return errDown
			}
			return nil
		}
	})
	for i, x := range []struct {
		user, say, verb string
		args            []string
	}{
		{p.ana, p.bot() + " stop", "stop", nil},
		{p.ana, "Reset", "reset", nil}, // the thread is followed
		{p.ben, p.bot() + " mode always", "mode", []string{"always"}},
	} {
		p.Say(x.user, thread, x.say)
		p.until("it is taken", func() bool { return len(p.ledger.got()) == i+1 })
		got, ok := p.ledger.got()[i].(chat.Commanded)
		if !ok || got.Verb != x.verb || !slices.Equal(got.Args, x.args) || got.User != p.user(x.user) || got.Chat != p.in(thread) || got.Reply.Key == "" || got.Groups == nil {
			t.Errorf("%+v", p.ledger.got()[i])
		}
	}
	p.until("the reset is confirmed", func() bool { return strings.Contains(p.told(p.ana, thread), "starts over") })
	p.Say(p.ana, thread, p.bot()+" stop the server") // a message
	p.until("it is taken", func() bool { return len(p.ledger.texts()) == 1 })
	for _, in := range p.ledger.got() { // only commands were given before, but there was a chat
		if s, ok := in.(chat.Said); ok && s.Context != nil {
			t.Errorf("%+v", s.Context)
		}
	}
	p.ledger.set(func() { p.ledger.unread = errDown })
	dm := p.OpenDM(p.ana)
	p.Say(p.ana, dm, "pending") // what waits there cannot be read at once
	p.until("it is not known", func() bool {
		return strings.Contains(p.log.String(), `was not recorded; it is fetched until it is" room=`+dm)
	})
	p.ledger.set(func() { p.ledger.unread = nil })
	p.until("it is known", func() bool { return strings.Contains(p.told(p.ana, dm), surface.SayPending(nil, "chat")) })
	p.Say(p.ana, thread, p.bot()+" pending")
	p.until("what waits is listed", func() bool { return strings.Contains(p.told(p.ana, thread), `Write file “notes.txt” · files`) })
	p.Say(p.ana, thread, p.bot()+" help")
	p.until("there is help", func() bool { return strings.Contains(p.told(p.ana, thread), "/nod ask") })
	p.ledger.set(func() {
		p.ledger.sessions[p.in(thread)] = turn.Session{Mode: permission.ModeAlways}
	})
	p.Say(p.ana, thread, p.bot()+" mode always")
	p.until("the mode is confirmed", func() bool { return strings.Contains(p.told(p.ana, thread), "asks first") })
	p.Say(p.ben, thread, p.bot()+" mode never") // which the engine does not do here
	p.settled(thread)
	p.close()
	if n := len(p.Calls(fakediscord.GetMember)); n != 1 { // of the first, which was fetched and does not say
		t.Errorf("asked for roles %d times", n)
	}
	if got := p.told(p.ben, thread); strings.Contains(got, "without asking") {
		t.Errorf("told: %s", got)
	}
}

func TestOldCommandsAreNotAnswered(t *testing.T) {
	p := newParlor(t)
	dm := p.oldDM(p.ana)
	p.event("MESSAGE_CREATE", map[string]any{"id": ids.FirstAt(p.clock.Now().Add(-2 * staleAfter)), "channel_id": dm, "content": "help", "author": map[string]any{"id": p.ana}})
	p.Say(p.ana, dm, "hello")
	p.until("it is taken", func() bool { return len(p.ledger.got()) == 1 })
	p.close()
	if got := p.told(p.ana, dm); got != "" {
		t.Errorf("told: %s", got)
	}
}

func TestAskBeginsAThreadOnItsAnswer(t *testing.T) {
	p := newParlor(t)
	d, err := p.Slash(p.ana, p.general, inbound.CommandName, inbound.VerbAsk, map[string]any{inbound.OptionText: "read *this* @everyone <#" + p.general + ">\nand that"})
	if got := p.wait(d, err); got.Type != answerMessage {
		t.Fatalf("answered with %+v", got)
	}
	p.until("it is recorded", func() bool { return len(p.ledger.got()) == 1 })
	mine := p.Mine(p.general)
	if len(mine) != 1 {
		t.Fatalf("%+v", mine)
	}
	m := mine[0]
	if s := m.Text(); !strings.Contains(s, "Ana asks:") || !strings.Contains(s, `> read \*this\* \@everyone #general`) || !strings.Contains(s, "> and that") || m.Ephemeral != "" || len(m.Mentions) != 0 || m.Everyone {
		t.Errorf("%+v", m)
	}
	got := onlyOne[chat.Said](p)
	if got.Chat != p.in(m.ID) || string(got.Message) != m.ID || got.Text != "read *this* @everyone #general\nand that" || got.User != p.user(p.ana) || got.Delivery != chat.Delivery("i:"+d.ID) {
		t.Errorf("%+v", got)
	}
	p.until("both rooms are marked", func() bool { return p.marks.of(p.general) == m.ID && p.marks.of(m.ID) == m.ID })
	if _, err := p.a.Post(p.ctx, got.Chat, "key", inWords("hello")); err != nil {
		t.Fatal(err)
	}
	if c, ok := p.Channel(m.ID); !ok || !strings.HasPrefix(c.Name, "read *this*") {
		t.Errorf("%+v", c)
	}
	p.Redeliver(d) // to another session: the question is asked once
	p.settled(p.general)
	p.until("the second is done", func() bool { return len(p.Mine(p.general)) == 1 })
}

func TestAskElsewhereStaysThere(t *testing.T) {
	p := newParlor(t, func(p *parlor, c *Config) {
		c.Channels = map[string]Channel{p.AddChannel(fakediscord.Channel{ID: "4001", Name: "talk"}): {Conversation: InChannel}}
	})
	dm := p.OpenDM(p.ana)
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	voice := p.AddChannel(fakediscord.Channel{Name: "voice", Kind: 2})
	for i, at := range []ids.Place{{Guild: "", Channel: dm, Thread: ""}, {Guild: p.Guild(), Channel: p.general, Thread: thread}, {Guild: p.Guild(), Channel: voice}, {Guild: p.Guild(), Channel: "4001"}} {
		p.command(p.ana, at.Room(), inbound.VerbAsk, map[string]any{inbound.OptionText: "hello " + p.bot()})
		p.until("it is recorded", func() bool { return len(p.ledger.got()) == i+1 })
		if got := p.ledger.got()[i].(chat.Said); got.Chat != at.Chat() || got.Text != "hello @nod" {
			t.Errorf("%+v", got)
		}
	}
}

func TestAQuestionThatIsNotRecordedIsTakenDown(t *testing.T) {
	for because, want := range map[error]string{errDown: "question was not recorded", agent.ErrFull: "100 messages"} {
		t.Run(because.Error(), func(t *testing.T) {
			p := newParlor(t)
			p.ledger.set(func() { p.ledger.fail = func(chat.Inbound) error { return because } })
			p.command(p.ana, p.general, inbound.VerbAsk, map[string]any{inbound.OptionText: "hello"})
			p.until("it is taken down", func() bool { m := p.Mine(p.general); return len(m) == 1 && m[0].Deleted || len(m) == 0 })
			if got := p.told(p.ana, p.general); !strings.Contains(got, want) {
				t.Errorf("told: %s", got)
			}
		})
	}
}

func TestWhoeverFindsAChatFullIsTold(t *testing.T) {
	p := newParlor(t)
	p.ledger.set(func() { p.ledger.fail = func(chat.Inbound) error { return agent.ErrFull } })
	p.Say(p.ana, p.OpenDM(p.ana), "hello")
	p.until("it is said", func() bool {
		all := p.Mine(p.OpenDM(p.ana))
		return len(all) == 1 && strings.Contains(fmt.Sprint(all[0]), "100 messages")
	})
}

func TestAQuestionThatIsNotShownIsNotRecorded(t *testing.T) {
	p := newParlor(t)
	p.Fail("POST /interactions/{interaction}/{token}/callback", 1, fakediscord.Fault{Status: 500})
	p.command(p.ana, p.general, inbound.VerbAsk, map[string]any{inbound.OptionText: "hello"})
	if got := p.told(p.ana, p.general); !strings.Contains(got, "not recorded") || len(p.ledger.asked()) != 0 {
		t.Errorf("told: %s; %+v", got, p.ledger.asked())
	}
}

// What is mentioned becomes its name, which may make a question longer than Discord lets anybody type one.
func TestAQuestionOfAnOddLength(t *testing.T) {
	p := newParlor(t)
	long := p.AddChannel(fakediscord.Channel{ID: "4002", Name: strings.Repeat("𝔩", 100)})
	p.until("its name is known", func() bool { _, there := p.a.in.channels.get(long, p.clock.Now()); return there })
	for _, x := range []struct {
		question, told string
		taken          int
	}{{" ", sayEmptyAsk, 0}, {strings.Repeat("<#4002>", 170), "67 KiB, and at most 64 KiB", 0}, {strings.Repeat("<#4002>", 41), "", 1}} {
		p.command(p.ana, p.general, inbound.VerbAsk, map[string]any{inbound.OptionText: x.question})
		p.until("it is taken or not", func() bool { return len(p.ledger.asked()) == x.taken })
		if got := p.told(p.ana, p.general); !strings.Contains(got, x.told) {
			t.Errorf("%.20q: told %s", x.question, got)
		}
	}
	p.Say(p.ben, p.OpenDM(p.ben), strings.Repeat("<#4002>", 170))
	p.until("Ben is told, too", func() bool { return strings.Contains(p.told(p.ben, p.general), "67 KiB") })
}

func TestStopAndResetActOnThePlaceTheyAreGivenIn(t *testing.T) {
	p := newParlor(t)
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	p.command(p.ana, thread, inbound.VerbStop, nil)
	if got := p.ledger.decisions(); len(got) != 1 || got[0].Choice != chat.Stop || got[0].Chat != p.in(thread) || got[0].User != p.user(p.ana) || got[0].Token != "" {
		t.Errorf("%+v", got)
	}
	p.ledger.set(func() {
		p.ledger.refuse = func(chat.Clicked) error {
			return &decision.Refusal{Code: decision.RefusedStopped, Say: "Nothing runs."}
		}
	})
	p.command(p.ana, thread, inbound.VerbStop, nil)
	p.ledger.set(func() { p.ledger.refuse = func(chat.Clicked) error { return errDown } })
	p.command(p.ana, thread, inbound.VerbStop, nil)
	p.command(p.ana, thread, inbound.VerbReset, nil)
	if got := onlyOne[chat.Commanded](p); got.Verb != "reset" || got.Chat != p.in(thread) {
		t.Errorf("%+v", got)
	}
	told := p.told(p.ana, thread)
	for _, want := range []string{"Stopping", "Nothing runs", "did not work", "starts over"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in %s", want, told)
		}
	}
	p.command(p.ana, p.general, inbound.VerbStop, nil) // which thread?
	if got := p.told(p.ana, p.general); !strings.Contains(got, "are threads") || len(p.ledger.decisions()) != 3 {
		t.Errorf("told: %s", got)
	}
}

// R66
func TestPendingListsTheChannelAndItsThreads(t *testing.T) {
	p := newParlor(t)
	g := p.Guild()
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	p.command(p.ana, p.general, inbound.VerbPending, nil)
	if got := p.told(p.ana, p.general); !strings.Contains(got, "Nothing in this channel waits") {
		t.Errorf("told: %s", got)
	}
	p.asking(ids.Place{Guild: g, Channel: p.general, Thread: thread}, "555", "a", "b")
	p.asking(ids.Place{Guild: g, Channel: p.general, Thread: "3333"}, "", "c")
	p.asking(ids.Place{Guild: g, Channel: "4444", Thread: ""}, "1", "d")
	p.asking(ids.Place{Guild: "", Channel: p.general, Thread: ""}, "1", "e")
	p.command(p.ana, p.general, inbound.VerbPending, nil)
	got := p.told(p.ana, p.general)
	if strings.Count(got, "Write file") != 3 || !strings.Contains(got, "https://discord.com/channels/"+g+"/"+thread+"/555") || !strings.Contains(got, "/3333") {
		t.Errorf("told: %s", got)
	}
	p.command(p.ana, thread, inbound.VerbPending, nil)
	if got := p.told(p.ana, thread); strings.Count(got, "Write file") != 2 {
		t.Errorf("told: %s", got)
	}
	for i, fail := range []*error{&p.ledger.down, &p.ledger.unread} {
		p.ledger.set(func() { p.ledger.down, *fail = nil, errDown })
		p.command(p.ben, p.general, inbound.VerbPending, nil)
		if got := p.told(p.ben, p.general); strings.Count(got, "did not work") != i+1 {
			t.Errorf("told: %s", got)
		}
	}
}

func TestALongListIsCut(t *testing.T) {
	p := newParlor(t)
	for _, id := range []string{"101", "102", "103", "104"} {
		tokens := make([]string, 30)
		for i := range tokens {
			tokens[i] = id + string(rune('a'+i))
		}
		p.asking(ids.Place{Guild: p.Guild(), Channel: p.general, Thread: id}, "1", tokens...)
	}
	p.command(p.ana, p.general, inbound.VerbPending, nil)
	if got := p.told(p.ana, p.general); !strings.Contains(got, "more chats") && !strings.Contains(got, "one more chat") {
		t.Errorf("told: %s", got)
	}
}

func TestHelpIsPrivate(t *testing.T) {
	p := newParlor(t)
	p.command(p.ana, p.general, inbound.VerbHelp, nil)
	if got := p.told(p.ana, p.general); !strings.Contains(got, "Mention @nod") || strings.Contains(got, "Here nod can only") || len(p.Mine(p.general)) != 0 {
		t.Errorf("told: %s", got)
	}
	p.command(p.ben, p.OpenDM(p.ben), inbound.VerbHelp, nil)
	if got := p.told(p.ben, p.OpenDM(p.ben)); !strings.Contains(got, "Write what you want") {
		t.Errorf("told: %s", got)
	}
}

func TestACommandOfAnotherVersion(t *testing.T) {
	p := newParlor(t)
	d, err := p.Slash(p.ana, p.general, inbound.CommandName, inbound.VerbHelp, nil)
	p.wait(d, err)
	for i, data := range []map[string]any{{"name": "nod"}, {"name": "nod", "options": []any{map[string]any{"name": "dance"}}}, {"name": "other", "options": 5}} {
		if verb, _ := inbound.CommandOf(&inbound.Interaction{Data: inbound.InteractionData{Name: inbound.LooseString(data["name"].(string))}}); verb != "" {
			t.Errorf("%d: %q", i, verb)
		}
	}
}
