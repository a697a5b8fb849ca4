package replicas

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

// REQUIREMENTS 5.1: what stands before the first ask runs at once; what stands behind it runs at once only if it reads; the
// rest runs in order when nothing waits any more.
// R10 R47 R58 C12
func TestBatchOrder(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		w.Model.When("go", Calls(
			Call("touch", `{"n":1}`), Call("write", `{"n":2}`), Call("read", `{"n":3}`), Call("touch", `{"n":4}`), Call("send", `{"n":5}`),
		), Says("Done all five."))
		w.Say(w.Replicas[0], Ana, "go")
		w.Ran("touch read")
		w.Asks("write", "send")
		w.Shows(0, "2 of 5 need approval", "[Approve all (2)…] [Deny all (2)]")
		w.Press(w.Replicas[1], Ana, chat.AllowOnce, "send")
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
		w.Over(0)
		equal(w, "order", args(w), `{"n":1}{"n":3}{"n":2}{"n":4}{"n":5}`)
		equal(w, "requests to the model", len(w.Model.Heard()), 2)
		var got []string
		for _, r := range w.Model.Latest().Results() {
			got = append(got, r.Text)
		}
		equal(w, "results", strings.Join(got, ","), "touch ok,write ok,read ok,touch ok,send ok")
	})
}

func args(w *World) string {
	all := ""
	for _, e := range w.Tools.Effects() {
		all += e.Args
	}
	return all
}

func threeAsks(w *World) {
	w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`), Call("drop", `{}`)), Says("I see."))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write", "send", "drop")
	seen(w)
}

// R105 R163 C14
func TestApproveAll(t *testing.T) {
	w := New(t, Options{})
	threeAsks(w)
	equal(w, "whisper", w.Press(w.Replicas[0], Ana, chat.ApproveAll, ""), "")
	has(w, "the message", w.Over(0), "allowed once by Ana")
	equal(w, "ran", w.Tools.Ran(), "write send drop")
	// Once each, and no grant (C14).
	w.Model.When("again", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "again")
	w.Asks("write")
}

// R163
func TestDenyAll(t *testing.T) {
	w := New(t, Options{})
	threeAsks(w)
	w.Press(w.Replicas[0], Ana, chat.DenyAll, "")
	has(w, "the message", w.Over(0), "denied by Ana")
	equal(w, "ran", w.Tools.Ran(), "")
	for _, r := range w.Model.Latest().Results() {
		has(w, "result", r.Text, "Tool execution denied by user.")
	}
}

// A batch button answers the asks it was drawn for, or nothing.
// R163
func TestStaleBatchButton(t *testing.T) {
	w := New(t, Options{})
	threeAsks(w)
	stale := w.Await(chat.ApproveAll, "")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	has(w, "whisper", w.Deliver(w.Replicas[0], w.Click(Ana, stale)), "has changed", "nothing was decided")
	w.Asks("send", "drop")
	has(w, "Ben's whisper", w.Press(w.Replicas[0], Ben, chat.ApproveAll, ""), "Only")
	w.Press(w.Replicas[0], Ana, chat.DenyAll, "")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "")
}

// C12
func TestSequential(t *testing.T) {
	w := New(t, Options{Engine: func(c *agent.Config) { c.Sequential = true }})
	w.Model.When("go", Calls(Call("write", `{}`), Call("read", `{}`), Call("send", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	equal(w, "ran before the first answer", w.Tools.Ran(), "")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Asks("send")
	equal(w, "ran before the second answer", w.Tools.Ran(), "write read")
	w.Press(w.Replicas[0], Ana, chat.Deny, "send")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write read")
}

// R63 R120 R121 R122 C8
func TestDenyOneOfThree(t *testing.T) {
	w := New(t, Options{})
	threeAsks(w)
	in := w.Click(Ana, w.Await(chat.Deny, "send"))
	in.Reason = "not that address"
	w.Deliver(w.Replicas[0], in)
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "drop")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	has(w, "the message", w.Over(0), "denied by Ana", "not that address")
	equal(w, "ran", w.Tools.Ran(), "write drop")
	equal(w, "requests to the model", len(w.Model.Heard()), 2)
	r := w.Model.Latest().Results()
	if len(r) != 3 {
		t.Fatalf("results: %+v", r)
	}
	if !strings.HasPrefix(r[1].Text, "Tool execution denied by user.") || !r[1].IsError { // R120, R122
		t.Errorf("R120: %+v", r[1])
	}
	has(w, "the reason", r[1].Text, "not that address")
	has(w, "R121", string(r[1].Structured), `"success":false`, `"error":"User denied tool execution"`)
	equal(w, "the others", r[0].Text+","+r[2].Text, "write ok,drop ok")
}

// REQUIREMENTS 5.7: the very same call is denied again without a card, another one asks.
func TestDeniedCallAgain(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", Calls(Call("write", `{"to":"a"}`)), Calls(Call("write", `{ "to": "a" }`)), Calls(Call("write", `{"to":"b"}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Until("the third reply", func() bool { return len(w.Model.Heard()) == 3 })
	has(w, "the second result", w.Model.Latest().Results()[0].Text, "Tool execution denied by user.", "this very call")
	w.Shows(0, "to: b", "[Allow once]")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Over(0)
	equal(w, "ran", args(w), `{"to":"b"}`)
}

func TestThreeDenials(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", Calls(Call("write", `{"n":1}`)), Calls(Call("write", `{"n":2}`)), Calls(Call("write", `{"n":3}`)), Calls(Call("write", `{"n":4}`)))
	w.Say(w.Replicas[0], Ana, "go")
	for _, n := range []string{"n: 1", "n: 2", "n: 3"} {
		w.Shows(0, n, "[Deny]")
		w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	}
	has(w, "the message", w.Over(0), "Several calls were denied in this turn, so I stopped.")
	equal(w, "requests to the model", len(w.Model.Heard()), 3)
	equal(w, "ran", w.Tools.Ran(), "")
}
