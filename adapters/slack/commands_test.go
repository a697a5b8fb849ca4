package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func TestCommandsInAThread(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root := sc.slack.Say("UANA", "C1", "", "<@UBOT> hello")
	sc.quiet()
	for _, say := range []string{"<@UBOT> stop", "<@UBOT> mode always", "<@UBOT>  Reset"} {
		sc.slack.Say("UANA", "C1", root, say)
		sc.quiet()
	}
	sc.slack.Say("UANA", "C1", root, "stop") // without a mention it is a message
	sc.quiet()
	got := sc.ledger.got()
	if len(got) != 5 {
		t.Fatalf("taken: %+v", got)
	}
	for i, want := range []string{"stop []", "mode [always]", "reset []"} {
		c, ok := got[i+1].(chat.Commanded)
		if !ok || fmt.Sprint(c.Verb, " ", c.Args) != want || c.User != ana || c.Chat != got[0].From().Chat {
			t.Errorf("%s: %+v", want, got[i+1])
		}
	}
	if s, ok := got[4].(chat.Said); !ok || s.Text != "stop" {
		t.Errorf("%+v", got[4])
	}
	if n := len(sc.ledger.asked()); n != 6 {
		t.Errorf("Accept was called %d times: a command comes as two events, and is taken of one", n)
	}
	sc.until("the reset is confirmed", func() bool { return len(sc.told("UANA")) == 1 && sc.told("UANA")[0] == surface.SayReset })
}

// What is not recorded is not confirmed either: Slack sends the command again.
func TestACommandIsConfirmedOnce(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.ledger.set(func() { sc.ledger.fail = func(chat.Inbound) error { return errDown } })
	th := sc.slack.Say("UANA", "C1", "", "<@UBOT> reset")
	sc.until("it failed", func() bool { return strings.Contains(sc.log.String(), errDown.Error()) })
	sc.ledger.set(func() { sc.ledger.fail = nil })
	sc.clock.Advance(fakeslack.AckWithin)
	sc.quiet()
	sc.slack.Say("UANA", "C1", th, "<@UBOT> help") // is answered after it
	sc.until("there is help", func() bool { return strings.Contains(strings.Join(sc.told("UANA"), ""), "each thread is one chat") })
	if got := sc.told("UANA"); len(got) != 2 || got[0] != surface.SayReset || len(sc.ledger.got()) != 1 {
		t.Errorf("told: %q", got)
	}
}

func TestCommandsInADirectConversationNeedNoMention(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	dm, root := sc.dm("hello")
	sc.quiet()
	sc.slack.Say("UANA", dm, root, "stop")
	sc.quiet()
	if c, ok := sc.ledger.got()[1].(chat.Commanded); !ok || c.Verb != "stop" {
		t.Errorf("%+v", sc.ledger.got())
	}
	sc.slack.Say("UANA", dm, root, "help")
	told := func() string { return strings.Join(sc.told("UANA"), "\n") } // with a newcomer's welcome, if that comes in time
	sc.until("there is help", func() bool { return strings.Contains(told(), "each thread is one chat") })
	if strings.Contains(told(), "@nod") {
		t.Errorf("told: %q", told())
	}
}

func TestModeIsConfirmedWhereItHolds(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root := sc.slack.Say("UANA", "C1", "", "<@UBOT> hello")
	sc.quiet()
	id := blocks.Place{Team: "T1", Channel: "C1", Thread: root}.Chat()
	sc.ledger.set(func() { sc.ledger.sessions[id] = turn.Session{Chat: id, Mode: permission.ModeAlways} })
	sc.slack.Say("UANA", "C1", root, "<@UBOT> mode never") // which the engine refuses: it says so itself
	sc.quiet()
	sc.slack.Say("UANA", "C1", root, "<@UBOT> mode always")
	sc.until("it is confirmed", func() bool { return len(sc.told("UANA")) == 1 })
	if got := sc.told("UANA")[0]; got != surface.SayMode(permission.ModeAlways) {
		t.Errorf("told: %q", got)
	}
}

func TestGuestsMaySetNothingButMayStop(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root := sc.slack.Say("UANA", "C1", "", "<@UBOT> hello")
	sc.quiet()
	for _, say := range []string{"mode never", "reset"} {
		sc.slack.Say("UGUEST", "C1", root, "<@UBOT> "+say)
	}
	sc.until("the guest is told", func() bool { return len(sc.told("UGUEST")) == 2 })
	sc.slack.Say("UGUEST", "C1", root, "<@UBOT> stop")
	sc.quiet()
	got := sc.ledger.got()
	if c, ok := got[len(got)-1].(chat.Commanded); len(got) != 2 || !ok || c.Verb != "stop" {
		t.Errorf("%+v", got)
	}
}

// R66
func TestPendingInAThread(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root := sc.slack.Say("UANA", "C1", "", "<@UBOT> hello")
	sc.quiet()
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "a", "b")
	sc.slack.Say("UBEN", "C1", root, "<@UBOT> pending")
	sc.until("Ben is told", func() bool { return len(sc.told("UBEN")) == 1 })
	if got := sc.told("UBEN")[0]; strings.Count(got, "Write file “notes.txt” · files") != 2 {
		t.Errorf("told: %q", got)
	}
	if len(sc.ledger.asked()) != 2 { // the mention and its twin
		t.Error("a question to the bot became a message")
	}
}

// slash runs a command and returns what only that person sees.
func (sc *scene) slash(user, channel, text string) string {
	sc.t.Helper()
	got, err := sc.slack.Slash(user, channel, "/nod", text).Wait(sc.ctx)
	if err != nil {
		sc.t.Fatalf("%v; the log:\n%s", err, sc.log)
	}
	var a slashAnswer
	if err := json.Unmarshal(got.Answer, &a); err != nil || a.Type != "ephemeral" || a.Text == "" {
		sc.t.Fatalf("/nod %s: %s, %v", text, got.Answer, err)
	}
	return a.Text
}

func TestSlashCommands(t *testing.T) {
	for _, over := range []bool{overSocket, overHTTP} {
		sc := newScene(t, over)
		if over == overSocket {
			sc.connected()
		}
		for text, want := range map[string]string{
			"": "each thread is one chat", "help": "each thread is one chat", "Help me": "each thread is one chat",
			"<!channel> & run": "There is no command “&lt;!channel&gt; &amp; run”", "reset": "write “@nod reset” in the", "mode never": "write “@nod mode never” in the", "pending": surface.SayNothingPending,
			"stop": "write “@nod stop” in the", "stop now": "write “@nod stop now” in the",
		} {
			if got := sc.slash("UANA", "C1", text); !strings.Contains(got, want) || strings.Contains(got, "There is no command") != strings.Contains(want, "There is no command") {
				t.Errorf("/nod %s: %q", text, got)
			}
		}
		if len(sc.ledger.asked()) != 0 || len(sc.ledger.decided) != 0 {
			t.Error("something was recorded")
		}
	}
}

// R66
func TestSlashPendingListsTheChannelWithLinks(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000001.000001"}, ana, "a")
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000002.000001"}, ana, "b")
	sc.asks(blocks.Place{Team: "T1", Channel: "C2", Thread: "1700000003.000001"}, ana, "c")
	got := sc.slash("UBEN", "C1", "pending")
	if strings.Count(got, "•") != 2 || !strings.Contains(got, "<"+sc.a.self.URL+"archives/C1/p1700000001000001?thread_ts=1700000001.000001&cid=C1|Write file “notes.txt” · files>") {
		t.Errorf("%q", got)
	}
	sc.ledger.set(func() {
		for id, s := range sc.ledger.sessions { // a tool that would like to be a link of its own
			s.Turn.Calls[0].Tool.Name = "x|y> <https://evil.test|click> <!channel>"
			sc.ledger.sessions[id] = s
		}
	})
	got = sc.slash("UBEN", "C1", "pending")
	if strings.Contains(got, "<https://evil") || strings.Contains(got, "<!channel>") || strings.Count(got, "|") != 2 {
		t.Errorf("%q", got)
	}
}

func TestSlashPendingIsBounded(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	for i := range 300 {
		sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: fmt.Sprintf("17000%05d.000001", i)}, ana, "a")
	}
	if got := sc.slash("UBEN", "C1", "pending"); len(got) > maxSlashAnswer+200 || !strings.Contains(got, "more threads") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-80:])
	}
}

func TestSlashStop(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	ben := chat.User{Platform: Platform, Workspace: "T1", Key: "UBEN"}
	one := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000001.000001"}, ana, "a")
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000002.000001"}, ben, "b")
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000003.000001"}, ben, "c")
	sc.asks(blocks.Place{Team: "T1", Channel: "C2", Thread: "1700000004.000001"}, ana, "d")
	if got := sc.slash("UBEN", "C1", "stop"); !strings.Contains(got, "2 of your turns") || len(sc.ledger.decided) != 0 {
		t.Errorf("%q", got)
	}
	if got := sc.slash("UANA", "C1", "stop"); !strings.Contains(got, sayStopped) {
		t.Errorf("%q", got)
	}
	if len(sc.ledger.decided) != 1 {
		t.Fatalf("%+v", sc.ledger.decided)
	}
	if d := sc.ledger.decided[0]; d.Chat != one || d.Choice != chat.Stop || d.Token != "turn-1700000001.000001" || d.User != ana || d.Delivery == "" {
		t.Errorf("%+v", d)
	}
	sc.ledger.set(func() {
		sc.ledger.refuse = func(chat.Clicked) error { return &decision.Refusal{Say: "It is over <now>."} }
	})
	if got := sc.slash("UANA", "C1", "stop"); got != "It is over &lt;now&gt;." {
		t.Errorf("%q", got)
	}
	sc.ledger.set(func() { sc.ledger.refuse = func(chat.Clicked) error { return errDown } })
	if got := sc.slash("UANA", "C1", "stop"); got != surface.SayCommandFailed("Slack") {
		t.Errorf("%q", got)
	}
}

// asked are chats that something waited in.
type asked []chat.ID

func (a asked) Asking(context.Context, func(chat.ID) bool) ([]chat.ID, error) { return a, nil }

// A turn that is over since, or stops already, is none that could be meant; nor is a program's, whoever cannot be told apart from it.
func TestSlashStopOfWhatIsOver(t *testing.T) {
	sc := newScene(t, overSocket, func(_ *scene, c *Config) {
		c.Asks = asked{blocks.Place{Team: "T1", Channel: "C1", Thread: "1.1"}.Chat(), blocks.Place{Team: "T1", Channel: "C1", Thread: "1.2"}.Chat()}
	}).connected()
	id := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1.2"}, ana, "a")
	sc.ledger.set(func() { sc.ledger.sessions[id].Turn.Stopped = &turn.Person{} })
	if got := sc.slash("UANA", "C1", "stop"); got != blocks.Escape(sayStopInThread(0)) {
		t.Errorf("%q", got)
	}
	api, _ := answers(t, `{"ok":true,"user":{"id":"UANA","name":"ana"}}`)
	a := newAdapter(t, Config{APIURL: api})
	a.self, a.Engine, a.Asks = testSelf, sc.ledger, sc.ledger
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1.2"}, chat.User{}, "a")
	if r, err := a.serve(t.Context(), inbound.SlashCommand{Team: "T1", User: "UANA", Channel: "C1", Text: "stop"}); err != nil || len(sc.ledger.decided) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What could not be looked at is not said to be nothing.
func TestSlashCommandsThatFail(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000001.000001"}, ana, "a")
	fails := func(text string) {
		t.Helper()
		if got := sc.slash("UANA", "C1", text); got != surface.SayCommandFailed("Slack") {
			t.Errorf("/nod %s: %q", text, got)
		}
	}
	sc.slack.Fail("users.info", 1, fakeslack.Fault{Error: "internal_error"})
	fails("stop")
	sc.forget()
	for _, text := range []string{"pending", "stop"} {
		sc.ledger.set(func() { sc.ledger.unread = errDown })
		fails(text)
		sc.ledger.set(func() { sc.ledger.unread, sc.ledger.unasked = nil, errDown })
		fails(text)
		sc.ledger.set(func() { sc.ledger.unasked = nil })
	}
}

// A slash command of another workspace, or of another app, is nobody's here: one signing secret brings those of every workspace.
func TestASlashCommandOfAnotherWorkspaceIsRefused(t *testing.T) {
	for _, via := range []bool{overSocket, overHTTP} {
		sc := newScene(t, via)
		sc.until("it is known who the bot is", func() bool { return isClosed(sc.a.introduced) })
		if !via {
			sc.connected()
		}
		sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000000.000100"}, ana, "tok")
		for _, cmd := range []map[string]string{{"team_id": "T9"}, {"team_id": "T9", "enterprise_id": "E1"}, {"team_id": ""}, {"api_app_id": "AOTHER"}} {
			for _, text := range []string{"pending", "stop", "help", "permissions"} {
				d := sc.slack.SlashAs("UANA", "C1", "/nod", text, cmd)
				got, err := d.Wait(sc.ctx)
				if err != nil || !strings.Contains(string(got.Answer), "of another workspace") || strings.Contains(string(got.Answer), "Write file") {
					t.Errorf("%v %s: %s, %v", cmd, text, got.Answer, err)
				}
			}
		}
		if len(sc.ledger.decided) != 0 {
			t.Errorf("%+v", sc.ledger.decided)
		}
		if got, err := sc.slack.Slash("UANA", "C1", "/nod", "pending").Wait(sc.ctx); err != nil || !strings.Contains(string(got.Answer), "Write file") {
			t.Errorf("their own: %s, %v", got.Answer, err)
		}
	}
}

// Slack may send an envelope to every socket.
func TestWhatComesTwiceIsAnsweredOnce(t *testing.T) {
	sc, b := boarded(t)
	root, ts := sc.thread()
	_ = root
	sc.slack.Duplicate(1)
	d := sc.slack.Slash("UANA", "C1", "/nod", "whoami")
	sc.until("both are acknowledged", func() bool {
		a := d.Attempts()
		return len(a) == 1 && sc.slack.Acks(a[0].Envelope) == 2
	})
	sc.slack.Duplicate(1)
	c := sc.press("UGUEST", "C1", ts, buttonFor(chat.AllowOnce, "tok"))
	sc.until("both are acknowledged", func() bool { return sc.slack.Acks(c.Attempts()[0].Envelope) == 2 })
	sc.until("both are told", func() bool { return len(sc.told("UANA")) == 1 && len(sc.told("UGUEST")) == 1 })
	sc.stop()
	<-sc.ended
	sc.ended <- nil
	b.set(func() {
		if len(b.asked) != 1 {
			t.Errorf("asked: %q", b.asked)
		}
	})
	if a, g := sc.told("UANA"), sc.told("UGUEST"); len(a) != 1 || len(g) != 1 {
		t.Errorf("told: %q, %q", a, g)
	}
}
