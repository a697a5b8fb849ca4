package replicas

import (
	"testing"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// What was allowed is looked at once more before it starts (SAFETY 4): what holds then may only tighten, and the log says that it never
// began. write is decided first, and starts only once send is decided, too. See TestPolicyTightened as well.
func TestWhatHoldsWhenACallStarts(t *testing.T) {
	two := permission.People(2)
	listed := func(who ...chat.User) *permission.Approvers {
		return &permission.Approvers{Rule: permission.ApproversListed, Users: who}
	}
	for name, c := range map[string]struct {
		then  func(w *World) // between the click on write and its start
		asks  bool           // write is asked for again
		says  string         // in its result, where it is not
		event string         // what becomes of it in the log
	}{
		"nothing changed": {then: func(*World) {}, says: "write ok", event: "ruled ask, allow_once by ana, started, finished"},
		"the tool is gone": {then: func(w *World) { w.Tools.Remove("write") },
			says: "not available", event: "ruled ask, allow_once by ana, ruled forbid"},
		"the tool is another": {then: func(w *World) { w.Tools.Change("write") },
			says: "changed after it was offered", event: "ruled ask, allow_once by ana, ruled forbid"},
		"who allowed it may not any more": {then: func(w *World) {
			w.SetPolicy(func(_ *permission.Policy, f tools) {
				f["write"] = permission.ToolSettings{Rights: permission.Rights{Approvers: listed(Ben)}}
			})
		}, asks: true, event: "ruled ask, allow_once by ana, ruled ask"},
		"it needs two people now": {then: func(w *World) {
			w.SetPolicy(func(_ *permission.Policy, f tools) {
				f["write"] = permission.ToolSettings{Rights: permission.Rights{MinApprovals: &two}}
			})
		}, asks: true, event: "ruled ask, allow_once by ana, ruled ask"},
		"it would not have to ask any more": {then: func(w *World) {
			w.SetPolicy(func(_ *permission.Policy, f tools) { f["write"] = permission.ToolSettings{Ask: permission.NeverAsk} })
		}, says: "write ok", event: "ruled ask, allow_once by ana, started, finished"},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			twoAsks(w)
			w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
			c.then(w)
			w.Press(w.Replicas[0], Ana, chat.Deny, "send")
			if c.asks {
				w.Until("write is asked for again, or it is over", func() bool { return w.Asked() == "write" || session(w).Turn == nil })
				equal(t, "its status", callOf(w, "write").Status, turn.Awaiting)
			} else {
				w.Over(0)
				has(t, "the result", w.Model.Latest().Results()[0].Text, c.says)
			}
			equal(t, "the record of write", records(w)["write"], c.event)
		})
	}
}

// A call that nobody had to be asked for is looked at again, too: what is switched off by the time it would start does not run.
func TestAnUnaskedCallThatIsSwitchedOff(t *testing.T) {
	w := New(t, Options{})
	door := w.Latch()
	w.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(Invocation) (turn.Result, error) {
		<-door.C()
		return turn.Result{Text: "touched"}, nil
	}})
	w.Model.When("go", Calls(Call("touch", `{}`), Call("read", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Ran("touch") // read waits for its turn
	w.SetPolicy(func(_ *permission.Policy, f tools) { f["read"] = permission.ToolSettings{Disabled: true} })
	door.Open()
	w.Over(0)
	equal(t, "ran", w.Tools.Ran(), "touch")
	equal(t, "the record of read", records(w)["read"], "ruled allow, ruled forbid")
}

// That nobody is an admin stands on a card that needs one, and on no other.
func TestWhatACardWarnsOf(t *testing.T) {
	admin := permission.RequireAuth
	for name, c := range map[string]struct {
		admins []chat.User
		tool   permission.ToolSettings
		warns  bool
	}{
		"an admin is needed, and there is none": {nil, permission.ToolSettings{Approval: &admin}, true},
		"an admin is needed, and there is one":  {[]chat.User{Root}, permission.ToolSettings{Approval: &admin}, false},
		"no admin is needed":                    {nil, permission.ToolSettings{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.SetPolicy(func(p *permission.Policy, f tools) { p.Admins, f["write"] = c.admins, c.tool })
			w.Model.When("go", Calls(Call("write", `{}`)))
			w.Say(w.Replicas[0], Ana, "go")
			w.Asks("write")
			if card := w.Text(0); c.warns {
				has(t, "the card", card, permission.NoAdminsNotice)
			} else {
				hasNot(t, "the card", card, permission.NoAdminsNotice)
			}
		})
	}
}
