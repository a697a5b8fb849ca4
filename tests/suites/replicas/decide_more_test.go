package replicas

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// overAnd brings a world in which the turn with write's card ended one way, and a later one is over, too.
func overAnd(w *World, choice chat.Choice) (card Button) {
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	card = w.Await(choice, "write")
	w.Press(w.Replicas[0], Ana, choice, "write")
	w.Over(0)
	return card
}

// Approve all for this session: who may, of which card, and in which chat. A refusal leaves no trace.
func TestWhenTheSessionGoesOnAsking(t *testing.T) {
	forged := func(w *World, choice chat.Choice) chat.Clicked {
		b := w.Await(chat.AllowOnce, "write")
		b.Choice = choice
		return w.Click(Ana, b)
	}
	t.Run("a card that is not there", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		twoAsks(w)
		refused(w, api(w, Ana, chat.AllowSession, "made-up"), decision.RefusedUnknown)
		refused(w, api(w, Ana, chat.AllowSession, ""), decision.RefusedUnknown)
	})
	t.Run("another message's button", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		twoAsks(w)
		in := forged(w, chat.AllowSession)
		in.Message = "elsewhere"
		refused(w, in, decision.RefusedUnknown)
		decide(w, forged(w, chat.AllowSession))
		w.Over(0)
	})
	t.Run("no message", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		twoAsks(w)
		in := forged(w, chat.AllowSession)
		in.Message = ""
		decide(w, in)
		w.Over(0)
		equal(t, "runs", w.Tools.Ran(), "write send")
	})
	t.Run("decided already", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		twoAsks(w)
		b := forged(w, chat.AllowSession)
		w.Press(w.Replicas[0], Ana, chat.Deny, "write")
		refused(w, b, decision.RefusedDecided)
	})
	t.Run("over", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		b := overAnd(w, chat.Deny)
		b.Choice = chat.AllowSession
		refused(w, w.Click(Ana, b), decision.RefusedDecided)
	})
	t.Run("lapsed long ago", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		lapsedBefore(w)
		refused(w, api(w, Ana, chat.AllowSession, string(session(w).Lapsed[0].Call.Ask)), decision.RefusedExpired)
	})
	for name, c := range map[string]struct {
		strict  bool
		mode    permission.Mode
		refuses bool
	}{
		"strict": {true, permission.ModeTool, false}, "always": {false, permission.ModeAlways, false}, "strict and always": {true, permission.ModeAlways, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			vouched(w)
			if c.mode != permission.ModeTool {
				equal(w, "whisper", w.Deliver(w.Replicas[0], command(w, Ana, "mode", c.mode.String())), "")
			}
			twoAsks(w)
			in := forged(w, chat.AllowSession)
			w.SetPolicy(func(p *permission.Policy, _ tools) { p.Strict = c.strict }) // since the card was drawn
			if c.refuses {
				refused(w, in, decision.RefusedNotOffered)
				return
			}
			decide(w, in)
			w.Over(0)
			equal(t, "runs", w.Tools.Ran(), "write send")
		})
	}
	t.Run("whoever may not decide this call", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		w.SetPolicy(func(_ *permission.Policy, f tools) {
			f["write"] = permission.ToolSettings{Rights: permission.Rights{Approvers: &permission.Approvers{Rule: permission.ApproversListed, Users: []chat.User{Ben}}}}
		})
		twoAsks(w)
		refused(w, forged(w, chat.AllowSession), decision.RefusedNotYours, "Only ben")
	})
}

// Approve all for this session leaves open what that person may not decide, what changed, and what cannot be shown.
func TestWhatTheSessionsApprovalLeavesOpen(t *testing.T) {
	left := func(w *World, tool string) {
		w.Helper()
		w.Press(w.Replicas[0], Ana, chat.AllowSession, "send")
		w.Until("send ran, and the other is open", func() bool { return w.Asked() == tool })
		equal(w, "its status", callOf(w, tool).Status, turn.Awaiting)
		equal(w, "its choice", callOf(w, tool).Choice, "")
		if m := session(w).Mode; m != permission.ModeNever {
			w.Errorf("the mode is %v", m)
		}
	}
	t.Run("another's", func(t *testing.T) {
		w := New(t, Options{})
		w.SetPolicy(func(_ *permission.Policy, f tools) {
			f["write"] = permission.ToolSettings{Rights: permission.Rights{Approvers: &permission.Approvers{Rule: permission.ApproversListed, Users: []chat.User{Ben}}}}
		})
		twoAsks(w)
		left(w, "write")
	})
	t.Run("too long to be shown", func(t *testing.T) {
		w := New(t, Options{})
		bigAsks(w)
		left(w, "write")
	})
	t.Run("changed", func(t *testing.T) {
		w := New(t, Options{})
		w.Model.When("look", Calls(Call("read", `{}`)))
		w.Say(w.Replicas[0], Ana, "look")
		w.Over(0)
		w.Until("the tools are known", func() bool { return len(settingsOf(w).Pins) == 5 })
		w.Tools.Change("write")
		w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`)))
		w.Say(w.Replicas[0], Ana, "go")
		w.Until("both are asked for", func() bool { return w.Asked() == "write send" })
		left(w, "write")
	})
}

// Asking from now on: by somebody, and only where nothing is asked.
func TestAskFromNowOn(t *testing.T) {
	w := New(t, Options{})
	w.Say(w.Replicas[0], Ana, "hello") // the chat is hers
	w.Over(0)
	refused(w, api(w, Ana, chat.AskFor, ""), decision.RefusedNotOffered)
	for _, mode := range []string{"always", "never"} {
		equal(t, "whisper", w.Deliver(w.Replicas[0], command(w, Ana, "mode", mode)), "")
		if mode == "always" {
			refused(w, api(w, Ana, chat.AskFor, ""), decision.RefusedNotOffered)
		}
	}
	in := api(w, Ana, chat.AskFor, "")
	in.User = chat.User{}
	refused(w, in, decision.RefusedNotYours)
	decide(w, api(w, Ben, chat.AskFor, ""))
	if m := session(w).Mode; m != permission.ModeTool {
		t.Errorf("the mode is %v", m)
	}
}

// lapsedBefore brings a world in which nobody answered write's card, and another turn came after it.
func lapsedBefore(w *World) {
	w.SetPolicy(func(_ *permission.Policy, files tools) {
		d := 50 * time.Millisecond
		files["write"] = permission.ToolSettings{Timeout: &d}
	})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Over(0)
	w.Say(w.Replicas[0], Ana, "something else")
	w.Over(1)
}

// The box can be ticked on an open card of the turn that runs, by each person for themselves, and off again.
func TestWhenTheBoxCanBeTicked(t *testing.T) {
	t.Run("lapsed long ago", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		lapsedBefore(w)
		refused(w, api(w, Ana, chat.Remember, string(session(w).Lapsed[0].Call.Ask)), decision.RefusedExpired)
	})
	t.Run("over", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		b := overAnd(w, chat.Deny)
		b.Choice = chat.Remember
		refused(w, w.Click(Ana, b), decision.RefusedDecided)
	})
	t.Run("open", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		w.SetPolicy(func(p *permission.Policy, _ tools) { p.Approvers.Rule = permission.ApproversAnyone })
		twoAsks(w)
		ticked := func() string {
			if x := callOf(w, "write").Ticked; x != nil {
				return x.User.Key
			}
			return ""
		}
		for _, step := range []struct {
			by   chat.User
			want string
		}{{Ana, Ana.Key}, {Ana, ""}, {Ana, Ana.Key}, {Ben, Ben.Key}, {Ben, ""}} {
			w.Press(w.Replicas[0], step.by, chat.Remember, "write")
			equal(t, "ticked by", ticked(), step.want)
		}
		b := w.Await(chat.Remember, "write")
		w.Press(w.Replicas[0], Ana, chat.Deny, "write")
		refused(w, w.Click(Ana, b), decision.RefusedDecided)
	})
}

// Only allowances and denials are remembered: not what was done with a card beside that.
func TestOnlyDecisionsAreRemembered(t *testing.T) {
	w := New(t, Options{})
	vouched(w)
	twoAsks(w)
	w.Press(w.Replicas[0], Ana, chat.Remember, "write")
	w.Press(w.Replicas[0], Ana, chat.Extend, "write")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "send")
	equal(t, "remembered", len(settingsOf(w).Remembered), 0)
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(0)
	got := settingsOf(w).Remembered
	if len(got) != 1 || got[0].Tool.Name != "write" || got[0].Choice != permission.StandDeny || got[0].By != Ana {
		t.Errorf("%+v", got)
	}
}

// What a server wants is answered once, on its own message, by the requester.
func TestWhoseAnswerAServerGets(t *testing.T) {
	form := turn.Elicitation{Kind: turn.ElicitationForm, Message: "Which branch?", Fields: []turn.FormField{{Name: "branch", Type: "string", Required: true}}}
	w := New(t, Options{})
	got := make(chan turn.Fill, 1)
	w.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(in Invocation) (turn.Result, error) {
		f, err := in.Ask(form)
		got <- f
		return turn.Result{Text: "done"}, err
	}})
	w.Model.When("go", Calls(Call("touch", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	b := w.Await(chat.Answer, "touch")
	seen(w)
	fill := func(u chat.User, message chat.MessageRef) chat.Clicked {
		in := w.Click(u, b)
		in.Message, in.Fields = message, map[string]string{"branch": "main"}
		return in
	}
	refused(w, api(w, Ana, chat.Answer, "made-up"), decision.RefusedExpired)
	refused(w, fill(Ana, "elsewhere"), decision.RefusedUnknown)
	refused(w, fill(Ben, b.Message), decision.RefusedNotYours, "Only Ana")
	nobody := fill(Ana, b.Message)
	nobody.User = chat.User{}
	refused(w, nobody, decision.RefusedNotYours)
	decide(w, fill(Ana, "")) // as from the API
	w.Over(0)
	if f := <-got; f.Action != turn.FillAccept || string(f.Content) != `{"branch":"main"}` {
		t.Errorf("the server got %s %s", f.Action, f.Content)
	}
	refused(w, fill(Ana, b.Message), decision.RefusedExpired)
}

// A command of nobody's, and one that nobody knows, change nothing, and say so.
func TestCommandsOfAGroup(t *testing.T) {
	w := New(t, Options{})
	for _, verb := range []string{"stop", "reset", "mode"} {
		in := command(w, Ana, verb, "always")
		in.User = chat.User{Platform: Ana.Platform, Workspace: Ana.Workspace, Key: "&G"}
		has(w, verb, w.Deliver(w.Replicas[0], in), text.WhoAreYou)
	}
	equal(t, "recorded", recorded(w), "")
	for _, args := range [][]string{nil, {"perhaps"}, {"always", "never"}} {
		if w.Deliver(w.Replicas[0], command(w, Ana, "mode", args...)) == "" {
			t.Errorf("mode %s was taken", strings.Join(args, " "))
		}
	}
	equal(t, "recorded", recorded(w), "")
}
