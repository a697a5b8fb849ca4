package replicas

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// command is what somebody typed. A mode that never asks comes with the word that confirms it.
func command(w *World, u chat.User, verb string, args ...string) chat.Commanded {
	if verb == "mode" && slices.Equal(args, []string{"never"}) {
		args = append(args, "yes")
	}
	return chat.Commanded{Envelope: w.Envelope(Room, u), Verb: verb, Args: args}
}

func TestStopsThatAreRefused(t *testing.T) {
	w := New(t, Options{})
	r := w.Replicas[0]
	refused(w, api(w, Ana, chat.Stop, ""), decision.RefusedStopped, "nothing to stop")
	hold := w.Latch()
	w.Tools.Put(Tool{Server: "files", Name: "touch", Stubborn: true, Run: func(Invocation) (turn.Result, error) { <-hold.C(); return turn.Result{Text: "ok"}, nil }})
	w.Model.When("go", Calls(Call("touch", `{}`)))
	w.Say(r, Ana, "go")
	w.Ran("touch")
	refused(w, api(w, Ana, chat.Stop, "t99"), decision.RefusedStopped, "nothing to stop")
	nobody := api(w, Ana, chat.Stop, "")
	nobody.User = chat.User{}
	refused(w, nobody, decision.RefusedNotYours, "not known who you are")
	other := chat.Clicked{Envelope: w.Envelope(Room, Ana), Token: "t99", Choice: chat.Stop}
	has(w, "another turn's stop", w.Deliver(r, other), "nothing to stop")
	equal(w, "recorded", recorded(w), "said")
	equal(w, "whisper", w.Deliver(r, chat.Clicked{Envelope: w.Envelope(Room, Ben), Token: string(session(w).Turn.ID), Choice: chat.Stop}), "")
	refused(w, api(w, Ana, chat.Stop, ""), decision.RefusedStopped, "already stopping")
	has(w, "a second stop command", w.Deliver(r, command(w, Ana, "stop")), "nothing to stop")
	hold.Open()
	has(w, "the message", w.Over(0), "Stopped by Ben")
}

func TestStopCommand(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	equal(w, "whisper", w.Deliver(w.Replicas[0], command(w, Ana, "stop")), "")
	has(w, "the message", w.Over(0), "Stopped by Ana")
}

func TestRevoke(t *testing.T) {
	w := New(t, Options{})
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Approvers.Rule = permission.ApproversAnyone })
	refused(w, api(w, Ana, chat.Revoke, "*"), decision.RefusedUnknown, "already ended")
	w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`), Call("drop", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write", "send", "drop")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "send")
	w.Press(w.Replicas[0], Ben, chat.AllowChat, "drop")
	w.Over(0)
	grants := func() (all string) {
		for _, g := range session(w).Grants {
			all += g.Tool.Name + " "
		}
		return all
	}
	id := map[string]string{}
	for _, g := range session(w).Grants {
		id[g.Tool.Name] = string(g.ID)
	}
	nobody := api(w, Ana, chat.Revoke, id["write"])
	nobody.User = chat.User{}
	refused(w, nobody, decision.RefusedNotYours)
	refused(w, api(w, Ben, chat.Revoke, id["write"]), decision.RefusedNotYours, "Only Ana or an admin")
	refused(w, api(w, Ana, chat.Revoke, "*"), decision.RefusedNotYours, "Only Ben or an admin") // hers are not all
	refused(w, api(w, Ana, chat.Revoke, "made-up"), decision.RefusedUnknown, "already ended")
	refused(w, api(w, Ana, chat.Revoke, ""), decision.RefusedUnknown, "already ended")
	equal(t, "grants", grants(), "write send drop ")
	decide(w, api(w, Ana, chat.Revoke, id["write"]))
	equal(t, "grants", grants(), "send drop ")
	refused(w, api(w, Ana, chat.Revoke, id["write"]), decision.RefusedUnknown, "already ended")
	decide(w, api(w, Root, chat.Revoke, id["drop"]))
	equal(t, "grants", grants(), "send ")
	decide(w, api(w, Ana, chat.Revoke, "*"))
	equal(t, "grants", grants(), "")
}

// R173
func TestRevokeAllByAnAdmin(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "send")
	w.Over(0)
	decide(w, api(w, Root, chat.Revoke, "*"))
	equal(t, "grants", len(session(w).Grants), 0)
}

// Ask again works for the calls of turns that ended long ago, for whoever could have decided them.
// R125
func TestAskAgainInAnEarlierTurn(t *testing.T) {
	for _, by := range []chat.User{Ana, Root} {
		t.Run(by.Key, func(t *testing.T) {
			w := New(t, Options{})
			w.SetPolicy(func(_ *permission.Policy, files tools) {
				d := 50 * time.Millisecond
				files["write"] = permission.ToolSettings{Timeout: &d}
			})
			w.Model.When("go", Calls(Call("write", `{"n":1}`)))
			w.Say(w.Replicas[0], Ana, "go")
			w.Over(0)
			again := w.Await(chat.AskAgain, "write")
			w.SetPolicy(func(_ *permission.Policy, files tools) { delete(files, "write") })
			w.Say(w.Replicas[0], Ben, "something else") // the turn is no longer the last one, and its requester no longer the current one
			w.Over(1)
			c := session(w).Lapsed[0].Call
			refused(w, w.Click(Ben, again), decision.RefusedNotYours, "Only Ana")
			for _, choice := range []chat.Choice{chat.AllowOnce, chat.Deny, chat.Extend, chat.Happened} {
				refused(w, api(w, by, choice, again.Token), decision.RefusedExpired, "Ask again")
			}
			refused(w, api(w, by, chat.Undo, again.Token), decision.RefusedTooLate)
			out := decide(w, w.Click(by, again))
			if len(out) != 1 || out[0].Call == "" || out[0].Call == c.ID {
				t.Fatalf("outcomes: %+v", out)
			}
			refused(w, w.Click(by, again), decision.RefusedUnknown)
			w.Until("it is asked for again", func() bool { return len(w.Platform.Messages(Room)) == 3 && w.Asked() == "write" })
			equal(w, "the new call", callOf(w, "write").ID, out[0].Call)
			w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
			w.Over(2)
			equal(w, "ran", args(w), `{"n":1}`)
		})
	}
}

// In the open turn, once the model was told, Ask again is a turn of its own; and what a reset forgot cannot be asked for again.
func TestAskAgainIsTakenOnce(t *testing.T) {
	w := New(t, Options{})
	d := 50 * time.Millisecond
	w.SetPolicy(func(_ *permission.Policy, files tools) { files["write"] = permission.ToolSettings{Timeout: &d} })
	hold := w.Latch()
	w.Model.When("first", Calls(Call("write", `{"n":1}`)))
	w.Model.When("second", Calls(Call("write", `{"n":2}`)), func(h Heard) (agent.Reply, error) { <-hold.C(); return Says("So be it.")(h) })
	w.Say(w.Replicas[0], Ana, "first")
	w.Over(0)
	forgotten := w.Await(chat.AskAgain, "write")
	w.Deliver(w.Replicas[0], command(w, Ana, "reset"))
	w.Say(w.Replicas[0], Ana, "second")
	w.Until("the model was told", func() bool { return len(w.Model.Heard()) == 4 })
	w.Say(w.Replicas[0], Ben, "and I wait")
	c := callOf(w, "write")
	out := decide(w, api(w, Ana, chat.AskAgain, string(c.Ask)))
	if len(out) != 1 || out[0].Call == "" || out[0].Call == c.ID {
		t.Errorf("outcomes: %+v", out)
	}
	refused(w, api(w, Ana, chat.AskAgain, string(c.Ask)), decision.RefusedNotOffered)
	// Another call is queued to be asked for again; this one is not.
	if got := w.Deliver(w.Replicas[0], w.Click(Ana, forgotten)); got == "" {
		t.Error("what a reset forgot was taken")
	}
	w.SetPolicy(func(_ *permission.Policy, files tools) { delete(files, "write") })
	hold.Open()
	w.Over(2)
	w.Asks("write")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(3)
	equal(w, "messages", len(w.Platform.Messages(Room)), 4)
}

// A decision about the turn that is over is none about the open one, even where their steps are alike.
func TestUndoInTheTurnBefore(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Press(w.Replicas[0], Ana, chat.Deny, "send")
	w.Over(0)
	old := callOf(w, "write")
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("the next turn asks", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write send" })
	if got := w.Deliver(w.Replicas[0], api(w, Ana, chat.Undo, string(old.Ask))); !strings.Contains(got, "already taken effect") {
		t.Errorf("the whisper: %q", got)
	}
	equal(w, "asks", len(turn.OpenAsks(session(w))), 2)
}

// Deliveries without a name are each their own, and a name belongs to the one who used it.
func TestNamesOfDeliveries(t *testing.T) {
	w := New(t, Options{})
	r := w.Replicas[0]
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Approvers.Rule = permission.ApproversAnyone })
	named := func(u chat.User, d chat.Delivery) chat.Envelope {
		env := w.Envelope(Room, u)
		env.Delivery = d
		return env
	}
	for i, d := range []chat.Delivery{"", "", "same"} {
		w.Deliver(r, chat.Said{Envelope: named(Ana, d), Text: "hello"})
		w.Over(i)
	}
	w.Deliver(r, chat.Said{Envelope: named(Ben, "same"), Text: "hello"})
	w.Over(3)
	w.Deliver(r, chat.Said{Envelope: named(Ben, "same"), Text: "hello"})
	equal(w, "recorded", recorded(w), "said said said said")
	twoAsks(w)
	c := callOf(w, "write")
	more := func(u chat.User, d chat.Delivery) {
		equal(w, "whisper", w.Deliver(r, chat.Clicked{Envelope: named(u, d), Token: string(c.Ask), Choice: chat.Extend}), "")
	}
	more(Ana, "")
	more(Ana, "")
	more(Ana, "click")
	more(Ben, "click")
	equal(w, "more time", callOf(w, "write").Deadline.Sub(c.Deadline), 20*time.Minute)
	w.Press(r, Ana, chat.DenyAll, "")
	w.Over(4)
}

// What was decided stands, and only the one who decided just that is spared the word.
func TestSecondClicks(t *testing.T) {
	for _, choice := range []chat.Choice{chat.AllowOnce, chat.AllowChat, chat.Deny} {
		t.Run(string(choice), func(t *testing.T) {
			w := New(t, Options{})
			r := w.Replicas[0]
			twoAsks(w)
			b := w.Await(choice, "write")
			click := w.Click(Ana, b)
			w.Deliver(r, click)
			before := recorded(w)
			equal(w, "the same click again", w.Deliver(r, click), "")
			equal(w, "the same button again", w.Deliver(r, w.Click(Ana, b)), "")
			other := b
			if other.Choice = chat.Deny; choice == chat.Deny {
				other.Choice = chat.AllowOnce
			}
			has(w, "Ana's other choice", w.Deliver(r, w.Click(Ana, other)), "Already", "by Ana")
			has(w, "Root's same choice", w.Deliver(r, w.Click(Root, b)), "Already", "by Ana")
			equal(w, "recorded", recorded(w), before)
		})
	}
}

// Whoever the platform does not name is told so, whatever they chose.
func TestNobodyIsTold(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	for _, choice := range []chat.Choice{"", chat.Deny, chat.AllowOnce} {
		in := api(w, Ana, choice, string(callOf(w, "write").Ask))
		in.User = chat.User{}
		if w.Deliver(w.Replicas[0], in) == "" {
			t.Errorf("%q of nobody was taken", choice)
		}
	}
	equal(w, "recorded", recorded(w), "said")
}

func TestFormWithAReason(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	equal(w, "whisper", w.Deliver(w.Replicas[0], chat.Clicked{
		Envelope: w.Envelope(Room, Ana), Token: string(callOf(w, "write").Ask), Choice: chat.Deny, Reason: "wrong file",
	}), "")
	c := callOf(w, "write")
	equal(t, "decided", string(c.Choice)+": "+c.Reason, "deny: wrong file")
}

// A platform that cannot whisper is no reason to have a click delivered again.
func TestRefusalWithoutWhisper(t *testing.T) {
	w := New(t, Options{Engine: func(c *agent.Config) {
		c.Platforms = map[string]agent.Platform{Room.Platform: struct{ agent.Platform }{c.Platforms[Room.Platform]}}
	}})
	w.Deliver(w.Replicas[0], api(w, Ana, chat.AllowOnce, "made-up"))
}

func TestTextsThatAreRefused(t *testing.T) {
	w := New(t, Options{})
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"empty", "", agent.ErrEmpty}, {"blank", " \n\t\u00a0", agent.ErrEmpty}, {"not UTF-8", "a\xffb", agent.ErrNotText},
		{"too long", strings.Repeat("é", agent.MaxText/2) + "x", agent.ErrTooLong},
	} {
		for _, in := range []chat.Inbound{
			chat.Said{Envelope: w.Envelope(Room, Ana), Message: "p", Text: c.text},
			chat.Edited{Envelope: w.Envelope(Room, Ana), Message: "p", Text: c.text},
		} {
			if err := w.Replicas[0].Engine.Accept(context.Background(), in); !errors.Is(err, c.want) {
				t.Errorf("%s, %T: %v", c.name, in, err)
			}
		}
	}
	equal(w, "recorded", recorded(w), "")
	in := w.SaidBy(Ana, strings.Repeat("é", agent.MaxText/2))
	w.Deliver(w.Replicas[0], in)
	w.Over(0)
}

// F16: what waits behind an open question is bounded in number and size, on whichever replica it comes in; once it is answered there is room.
func TestTheQueueHasABound(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		takes int
	}{"messages": {"hello", agent.MaxWaiting}, "bytes": {strings.Repeat("x", agent.MaxText), agent.MaxWaitingBytes / agent.MaxText}} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Replicas: 2})
			w.Model.When("go", Calls(Call("write", `{}`)))
			w.Say(w.Replicas[0], Ana, "go")
			w.Asks("write")
			for i := range c.takes {
				if err := w.Replicas[i%2].Engine.Accept(context.Background(), w.SaidBy(Ben, c.text)); err != nil {
					t.Fatalf("message %d: %v", i, err)
				}
			}
			for _, r := range w.Replicas { // the first may not know of the other's last ones yet, and take one more
				err := r.Engine.Accept(context.Background(), w.SaidBy(Ana, "one more"))
				if err == nil {
					if _, err = r.Engine.Session(context.Background(), Room); err != nil { // it reads the log, whether or not it had heard
						t.Fatal(err)
					}
					err = r.Engine.Accept(context.Background(), w.SaidBy(Ana, "and one more"))
				}
				if !errors.Is(err, agent.ErrFull) {
					t.Errorf("one more: %v", err)
				}
			}
			w.Press(w.Replicas[0], Ana, chat.Deny, "write")
			w.Until("everything was answered", func() bool { return session(w).Turn == nil && len(session(w).Waiting) == 0 })
			for _, r := range w.Replicas { // what this replica knew was old
				if err := r.Engine.Accept(context.Background(), w.SaidBy(Ana, "one more")); err != nil {
					t.Errorf("there is room again: %v", err)
				}
			}
		})
	}
}

func TestCommandsThatAreRefused(t *testing.T) {
	w := New(t, Options{})
	r := w.Replicas[0]
	own := "Only the person who began this chat or an admin"
	has(w, "before anybody said anything", w.Deliver(r, command(w, Ana, "mode", "never")), own)
	w.Say(r, Ana, "hello")
	w.Say(r, Ben, "hello")
	w.Until("both were answered", func() bool { return len(w.Platform.Messages(Room)) == 2 })
	nobody := command(w, Ana, "mode", "never")
	nobody.User = chat.User{}
	for _, c := range []struct {
		in   chat.Commanded
		says string
	}{
		{command(w, Ben, "mode", "never"), own}, {nobody, "not known who you are"},
		{command(w, Ana, "mode"), "Say: mode always"}, {command(w, Ana, "mode", "never", "ever"), "Say: mode always"}, {command(w, Ana, "mode", "sometimes"), "Say: mode always"},
		{command(w, Ana, "mode", "always", "yes", "yes"), "Say: mode always"}, {command(w, Ana, "mode", "never", "yes", "yes"), "Say: mode always"},
		{command(w, Ana, "dance"), `There is no command "dance"`}, {command(w, Ana, ""), "There is no command"},
	} {
		has(w, strings.Join(append([]string{c.in.Verb}, c.in.Args...), " "), w.Deliver(r, c.in), c.says)
	}
	equal(w, "recorded", recorded(w), "said said")
	for _, c := range []struct {
		by   chat.User
		mode string
		want permission.Mode
	}{{Ana, "never", permission.ModeNever}, {Ben, "always", permission.ModeAlways}, {Root, "never", permission.ModeNever}, {Ben, "tool", permission.ModeTool}} {
		equal(w, "whisper", w.Deliver(r, command(w, c.by, "mode", c.mode)), "")
		equal(w, c.mode, session(w).Mode, c.want)
	}
}

// Who may is told by name, and by key where nobody ever said a name.
func TestWhoMayIsNamed(t *testing.T) {
	for _, c := range []struct{ name, want string }{{"Ana", "Only Ana"}, {"", "Only ana"}} {
		t.Run(c.want, func(t *testing.T) {
			w := New(t, Options{})
			w.Say(w.Replicas[0], Ben, "hello")
			w.Over(0)
			w.Model.When("go", Calls(Call("write", `{}`)))
			in := w.SaidBy(Ana, "go")
			in.Name = c.name
			w.Deliver(w.Replicas[0], in)
			w.Await(chat.Deny, "write")
			refused(w, api(w, Ben, chat.Deny, string(callOf(w, "write").Ask)), decision.RefusedNotYours, c.want)
		})
	}
}

// A chat that never asks has to be confirmed (C3).
func TestModeNeverIsConfirmed(t *testing.T) {
	w := New(t, Options{})
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(0)
	has(w, "the whisper", w.Deliver(w.Replicas[0], chat.Commanded{Envelope: w.Envelope(Room, Ana), Verb: "mode", Args: []string{"never"}}), "mode never yes")
	if m := session(w).Mode; m != permission.ModeTool {
		t.Errorf("the mode is %v", m)
	}
	equal(w, "the whisper", w.Deliver(w.Replicas[0], command(w, Ana, "mode", "never")), "")
	if m := session(w).Mode; m != permission.ModeNever {
		t.Errorf("the mode is %v", m)
	}
	w.Shows(0, "This chat never asks (dangerous)", "[Ask again from now on]")
	w.Press(w.Replicas[0], Ben, chat.AskFor, "")
	w.Until("the banner is gone", func() bool { return !strings.Contains(w.Text(0), "never asks") })
}
