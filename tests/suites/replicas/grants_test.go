package replicas

import (
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// granted brings a world in which Ana allowed write for the room's chat, in turn 0.
func granted(w *World) {
	w.Helper()
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "write it")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
	w.Over(0)
	equal(w, "runs", w.Tools.Count("write"), 1)
}

// cardIn waits for a card of write in the room's n-th message.
func cardIn(w *World, n int) {
	w.Helper()
	w.Until("a card in a new message", func() bool { return len(w.Platform.Messages(Room)) == n+1 && w.Asked() == "write" })
	equal(w, "runs", w.Tools.Count("write"), 1)
}

func TestGrantCoversTheNextTurn(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		granted(w)
		w.Say(w.Replicas[1], Ana, "write it again")
		has(w, "the message", w.Over(1), "allowed for this chat by Ana")
		equal(w, "runs", w.Tools.Count("write"), 2)
	})
}

// REQUIREMENTS 5.6: with the default rule Ana's grant covers Ana's requests.
// C15
func TestGrantIsNotForAnothersRequests(t *testing.T) {
	w := New(t, Options{})
	granted(w)
	w.Say(w.Replicas[0], Ben, "write it")
	cardIn(w, 1)
	has(w, "Ana's whisper", w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write"), "Only Ben")
}

func TestGrantForAnyoneWhereAnyoneMayDecide(t *testing.T) {
	w := New(t, Options{})
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Approvers.Rule = permission.ApproversAnyone })
	granted(w)
	w.Say(w.Replicas[0], Ben, "write it")
	w.Over(1)
	equal(w, "runs", w.Tools.Count("write"), 2)
}

// C15
func TestGrantIsNotForAnotherChat(t *testing.T) {
	w := New(t, Options{})
	granted(w)
	in := w.SaidBy(Ana, "write it")
	in.Chat = Other
	w.Deliver(w.Replicas[0], in)
	w.Until("the other chat asks", func() bool { _, ok := w.Button(Other, chat.AllowOnce, "write"); return ok })
	equal(w, "runs", w.Tools.Count("write"), 1)
}

// R99
func TestGrantIsNotForAnotherTool(t *testing.T) {
	w := New(t, Options{})
	granted(w)
	w.Tools.Put(Tool{Server: "files2", Name: "write"})
	for _, c := range []struct{ word, server, tool string }{{"send it", "files", "send"}, {"elsewhere", "files2", "write"}} {
		call := Call(c.tool, `{}`)
		call.Server = c.server
		w.Model.When(c.word, Calls(call))
		w.Say(w.Replicas[0], Ana, c.word)
		w.Asks(c.tool)
		w.Press(w.Replicas[0], Ana, chat.Deny, c.tool)
	}
	w.Over(2)
	equal(w, "ran", w.Tools.Ran(), "write")
}

func TestGrantIsNotForAChangedDefinition(t *testing.T) {
	w := New(t, Options{})
	granted(w)
	w.Tools.Change("write")
	w.Say(w.Replicas[0], Ana, "write it")
	cardIn(w, 1)
}

// Setting the mode to always drops the chat's grants; one that is given after that counts (C2).
// R2 C2 C3
func TestModeAlwaysClearsGrants(t *testing.T) {
	w := New(t, Options{Replicas: 2})
	granted(w)
	mode := func(u chat.User, m string) string {
		return w.Deliver(w.Replicas[1], command(w, u, "mode", m))
	}
	equal(w, "whisper", mode(Ana, "always"), "")
	w.Say(w.Replicas[0], Ana, "write it")
	cardIn(w, 1)
	has(w, "the banner", w.Text(1), "This chat always asks before a tool runs.")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
	w.Over(1)
	w.Say(w.Replicas[0], Ana, "write it")
	w.Over(2)
	equal(w, "runs", w.Tools.Count("write"), 3)
	has(w, "Ben's whisper", mode(Ben, "never"), "Only the person who began this chat or an admin")
	has(w, "the usage", mode(Ana, "sometimes"), "Say: mode always")
}

// Replicas' clocks decide nothing: whether a grant is newer than the mode is a matter of the log's stamps.
// C2
func TestGrantAndModeByTheLogsClock(t *testing.T) {
	w, clock := clocked(t, Options{})
	w.Deliver(w.Replicas[0], chat.Commanded{Envelope: w.Envelope(Room, Ana), Verb: "mode", Args: []string{"always"}})
	clock(time.Second)
	granted(w)
	w.Say(w.Replicas[0], Ana, "write it")
	has(w, "the message", w.Over(1), "allowed for this chat by Ana")
	equal(w, "runs", w.Tools.Count("write"), 2)
}

// The policy may tighten between a decision and the start (DESIGN 3).
// R47
func TestPolicyTightened(t *testing.T) {
	t.Run("asks an admin", func(t *testing.T) {
		w := New(t, Options{})
		twoAsks(w)
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
		auth := permission.RequireAuth
		w.SetPolicy(func(_ *permission.Policy, files tools) {
			s := files["write"]
			s.Approval = &auth
			files["write"] = s
		})
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "send")
		w.Shows(0, "Run write from files", "admin can answer")
		if w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write") == "" {
			t.Error("Ana could decide what needs an admin")
		}
		equal(w, "ran", w.Tools.Ran(), "")
		w.Press(w.Replicas[0], Root, chat.AllowOnce, "write")
		w.Over(0)
		equal(w, "ran", w.Tools.Ran(), "write send")
	})
	t.Run("forbids", func(t *testing.T) {
		w := New(t, Options{})
		twoAsks(w)
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
		w.SetPolicy(func(_ *permission.Policy, files tools) { files["write"] = permission.ToolSettings{Disabled: true} })
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "send")
		has(w, "the message", w.Over(0), "disabled")
		equal(w, "ran", w.Tools.Ran(), "send")
		equal(w, "results", len(w.Model.Latest().Results()), 2)
	})
	t.Run("takes the cover of a call that needed no asking", func(t *testing.T) {
		w := New(t, Options{})
		w.Model.When("go", Calls(Call("send", `{}`), Call("touch", `{}`)))
		w.Say(w.Replicas[0], Ana, "go")
		w.Asks("send")
		w.SetPolicy(func(_ *permission.Policy, files tools) { delete(files, "touch") })
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "send")
		w.Until("touch asks", func() bool { _, ok := w.Button(Room, chat.AllowOnce, "touch"); return ok })
		w.Press(w.Replicas[0], Ana, chat.Deny, "touch")
		w.Over(0)
		equal(w, "ran", w.Tools.Ran(), "send")
	})
}

// A definition that changed between the decision and the start is another tool: it does not run under that decision.
func TestDefinitionChangedAfterTheDecision(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Tools.Change("write")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "send")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "send")
	has(w, "the result", w.Model.Latest().Results()[0].Text, "changed after it was offered")
}
