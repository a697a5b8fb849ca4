package replicas

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// What docs/requirements.md asks of the engine and no other test shows. The number stands with each test.

// history is the log of the room.
func history(w *World) []turn.Entry {
	w.Helper()
	entries, err := w.Replicas[len(w.Replicas)-1].Engine.Log.History(context.Background(), Room)
	if err != nil {
		w.Fatal(err)
	}
	return entries
}

// kinds are the log's events in order, without when the message was posted: that is at the same time as the model's work.
func kinds(w *World) string {
	w.Helper()
	var out []string
	for _, x := range history(w) {
		if k := x.Event.Kind(); k != "shown" {
			out = append(out, k)
		}
	}
	return strings.Join(out, " ")
}

// Equal names of two servers are two tools, and names that are equal when joined are, too.
// R1 R40
func TestEqualNamesAreGovernedApart(t *testing.T) {
	for _, x := range []struct{ server, tool, otherServer, otherTool string }{
		{"files", "write", "files2", "write"},
		{"a_b", "c", "a", "b_c"},
		{"a", "b_c", "a_b", "c"},
		{"a.b", "c", "a", "b.c"},
		{"a", "b", "A", "B"},
	} {
		t.Run(x.server+" "+x.tool, func(t *testing.T) {
			w := New(t, Options{})
			call := func(server, tool string) agent.ReplyCall {
				c := Call(tool, `{}`)
				c.Server = server
				return c
			}
			w.Tools.Put(Tool{Server: x.server, Name: x.tool})
			w.Tools.Put(Tool{Server: x.otherServer, Name: x.otherTool})
			w.Model.When("one", Calls(call(x.server, x.tool)))
			w.Model.When("two", Calls(call(x.otherServer, x.otherTool)))
			w.Say(w.Replicas[0], Ana, "one")
			w.Press(w.Replicas[0], Ana, chat.AllowChat, x.tool)
			w.Over(0)
			w.Say(w.Replicas[0], Ana, "one")
			w.Over(1)
			w.Say(w.Replicas[0], Ana, "two")
			w.Asks(x.otherTool)
			equal(w, "runs before the second server's own click", len(w.Tools.Effects()), 2)
			w.Press(w.Replicas[0], Ana, chat.AllowOnce, x.otherTool)
			w.Over(2)
			var ran []string
			for _, e := range w.Tools.Effects() {
				ran = append(ran, e.Server+"/"+e.Name)
			}
			one, two := x.server+"/"+x.tool, x.otherServer+"/"+x.otherTool
			equal(w, "ran", strings.Join(ran, " "), one+" "+one+" "+two)
		})
	}
}

// A mode is stored with the chat, shown in its messages, and holds at the next process.
// R2
func TestModesOutliveTheProcess(t *testing.T) {
	for _, x := range []struct {
		set    []string
		mode   permission.Mode
		shows  string
		asks   string // of read, which never asks by itself, and write, which does
		allows string
	}{
		{[]string{"always"}, permission.ModeAlways, text.AlwaysAsks, "read write", ""},
		{[]string{"never"}, permission.ModeNever, text.NeverAsks, "", "read write"},
		{[]string{"always", "tool"}, permission.ModeTool, "", "write", "read"},
	} {
		t.Run(strings.Join(x.set, " "), func(t *testing.T) {
			w := New(t, Options{})
			vouched(w)
			door := w.Latch()
			w.Tools.Put(Tool{Server: "files", Name: "write", Run: func(Invocation) (turn.Result, error) {
				<-door.C() // the message says how the chat asks for as long as somebody works at it
				return turn.Result{Text: "write ok"}, nil
			}})
			w.Model.When("both", Calls(Call("read", `{}`), Call("write", `{}`)))
			w.Say(w.Replicas[0], Ana, "hello")
			w.Over(0)
			for _, m := range x.set {
				equal(w, "whisper", w.Deliver(w.Replicas[0], command(w, Ana, "mode", m)), "")
			}
			w.Replicas[0].Stop()
			r := w.Start()
			s, err := r.Engine.Session(context.Background(), Room)
			if err != nil || s.Mode != x.mode {
				t.Fatalf("the mode is %v: %v", s.Mode, err)
			}
			w.Say(r, Ana, "both")
			w.Until("it asks for: "+x.asks, func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == x.asks })
			w.Shows(1, x.shows)
			w.Ran(x.allows)
			for _, other := range []string{text.AlwaysAsks, text.NeverAsks} {
				if other != x.shows {
					hasNot(w, "the message", w.Text(1), other)
				}
			}
		})
	}
}

// A changed setting counts at the next call, of a process that goes on; a tool without one follows its server.
// R3/server R4/tool
func TestSettingsCountAtTheNextCall(t *testing.T) {
	turns := 0
	next := func(w *World, asks bool) {
		w.Helper()
		w.Say(w.Replicas[0], Ana, "write it")
		if asks {
			w.Until("it asks", func() bool { return len(w.Platform.Messages(Room)) == turns+1 && w.Asked() == "write" })
			w.Press(w.Replicas[0], Ana, chat.Deny, "write")
		}
		w.Over(turns)
		equal(w, "runs of write without a click", w.Tools.Count("write") > 0, !asks)
		turns++
	}
	world := func(t *testing.T) *World {
		turns = 0
		w := New(t, Options{})
		w.Model.When("write it", Calls(Call("write", `{}`)))
		return w
	}
	set := func(w *World, server, tool permission.Prompt) {
		w.SetPolicy(func(p *permission.Policy, files tools) {
			s := p.Servers["files"]
			s.Ask = server
			p.Servers["files"] = s
			files["write"] = permission.ToolSettings{Ask: tool}
		})
	}
	t.Run("server", func(t *testing.T) {
		w := world(t)
		next(w, true)
		set(w, permission.AlwaysAsk, permission.Inherit)
		next(w, true)
		set(w, permission.NeverAsk, permission.Inherit)
		next(w, false)
	})
	t.Run("tool", func(t *testing.T) {
		w := world(t)
		set(w, permission.NeverAsk, permission.AlwaysAsk)
		next(w, true)
		set(w, permission.AlwaysAsk, permission.Inherit)
		next(w, true)
		set(w, permission.AlwaysAsk, permission.NeverAsk)
		next(w, false)
		set(w, permission.NeverAsk, permission.Inherit)
		next(w, false)
	})
}

// What is disabled is not offered, and does not run for a model that calls it all the same; nobody is asked about it.
// R11
func TestDisabledToolsAreNotThere(t *testing.T) {
	w := New(t, Options{})
	w.SetPolicy(func(_ *permission.Policy, files tools) { files["send"] = permission.ToolSettings{Disabled: true} })
	var offered []string
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		offered = nil
		for _, x := range h.Tools {
			offered = append(offered, x.Tool.Name)
		}
		return agent.Reply{Calls: []agent.ReplyCall{Call("send", `{}`), Call("read", `{}`)}}, nil
	})
	w.Say(w.Replicas[0], Ana, "go")
	has(w, "the message", w.Over(0), `There is no tool named "send"`)
	equal(w, "offered", strings.Join(offered, " "), "drop read touch write")
	equal(w, "ran", w.Tools.Ran(), "read")
	r := w.Model.Latest().Results()
	if len(r) != 2 || !r[0].IsError || r[1].IsError {
		t.Fatalf("results: %+v", r)
	}
	hasNot(w, "what else there is", r[0].Text, "send (files)")
}

// A model that calls what is not there is told what else there is, and nothing that it may not have.
// R126
func TestOtherToolsAreNamed(t *testing.T) {
	w := New(t, Options{})
	w.SetPolicy(func(_ *permission.Policy, files tools) { files["drop"] = permission.ToolSettings{Disabled: true} })
	w.Model.When("go", func(Heard) (agent.Reply, error) {
		w.Tools.Remove("send") // after it was offered
		return agent.Reply{Calls: []agent.ReplyCall{Call("send", `{}`)}}, nil
	})
	w.Say(w.Replicas[0], Ana, "go")
	has(w, "the message", w.Over(0), "not available")
	result := w.Model.Latest().Results()[0]
	has(w, "the result", result.Text, "send", "not available", "was not run", "Tools that are available: ", "read (files)")
	hasNot(w, "the result", result.Text, "drop (files)")
	equal(w, "ran", w.Tools.Ran(), "")
}

// While it waits for a person nothing is held: no goroutine of the turn, no request to the model, no lease.
// R51 R60 C10
func TestNothingIsHeldWhilePending(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	idle(w)
	equal(w, "requests to the model", len(w.Model.Heard()), 1)
	w.Press(w.Start(), Ana, chat.AllowOnce, "write") // a replica that has never heard of it
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write")
}

// What waits in one chat holds up no other, of the same person and replica.
// R68
func TestWhatWaitsHoldsUpNoOtherChat(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "write it")
	w.Asks("write")
	in := w.SaidBy(Ana, "write it")
	in.Chat = Other
	w.Deliver(w.Replicas[0], in)
	var b Button
	w.Until("the other chat asks, too", func() (ok bool) { b, ok = w.Button(Other, chat.AllowOnce, "write"); return ok })
	w.Deliver(w.Replicas[0], w.Click(Ana, b))
	w.Until("the other chat's turn is over", func() bool { return w.Platform.Messages(Other)[0].Now().State == render.Done })
	equal(w, "runs", w.Tools.Count("write"), 1)
	equal(w, "still asked for here", w.Asked(), "write")
}

// The order of the diagram. What comes first is on record before the next one acts on it.
// R47 R50 R172
func TestTraceOfAnApproval(t *testing.T) {
	w := New(t, Options{})
	var atTool, atModel string
	w.Tools.Put(Tool{Server: "files", Name: "write", Run: func(Invocation) (turn.Result, error) {
		atTool = kinds(w)
		return turn.Result{Text: "write ok"}, nil
	}})
	w.Model.When("go", Calls(Call("write", `{}`)), func(Heard) (agent.Reply, error) {
		atModel = kinds(w)
		return agent.Reply{Text: "It is written."}, nil
	})
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	equal(w, "the log while it waits", kinds(w), "said replied ruled")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Over(0)
	equal(w, "the log when the tool ran", atTool, "said replied ruled decided started")
	equal(w, "the log when the model was asked again", atModel, "said replied ruled decided started finished")
	equal(w, "the log at the end", kinds(w), "said replied ruled decided started finished replied ended")
}

// Every call has its record, whatever became of it: one ruling, one answer or none, one run or none.
// R27 R65 R117 R143 C19
func TestEveryOutcomeHasItsRecord(t *testing.T) {
	w := New(t, Options{})
	short(w, "drop")
	w.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(Invocation) (turn.Result, error) {
		return turn.Result{Text: "the disk is full", IsError: true}, nil
	}})
	w.Tools.Put(Tool{Server: "files", Name: "lost", Run: func(Invocation) (turn.Result, error) { return turn.Result{}, errors.New("no answer") }})
	w.Model.When("go", Calls(Call("touch", `{}`), Call("read", `{}`), Call("write", `{}`), Call("send", `{}`), Call("drop", `{}`), Call("lost", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Press(w.Replicas[0], Root, chat.Deny, "send")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "lost")
	w.Press(w.Replicas[0], Ana, chat.Happened, "lost")
	w.Over(0)
	for tool, want := range map[string]string{
		"touch": "ruled allow, started, finished with an error",
		"read":  "ruled allow, started, finished",
		"write": "ruled ask, allow_once by ana, started, finished",
		"send":  "ruled ask, deny by root",
		"drop":  "ruled ask, expired",
		"lost":  "ruled ask, allow_once by ana, started, abandoned, happened by ana",
	} {
		equal(w, "the record of "+tool, records(w)[tool], want)
	}
	results := map[string]string{}
	for i, tool := range []string{"touch", "read", "write", "send", "drop", "lost"} {
		results[tool] = w.Model.Latest().Results()[i].Text
	}
	has(w, "the denied one", results["send"], "Tool execution denied by user.")
	has(w, "the one that ran out of time", results["drop"], "timed out")
	hasNot(w, "the one that ran out of time", results["drop"], "denied")
	hasNot(w, "the one that ran", results["write"], "denied", "timed out")
}

// Of calls that are approved at once each has its own record.
// R105
func TestEachOfABatchHasItsRecord(t *testing.T) {
	w := New(t, Options{})
	threeAsks(w)
	w.Press(w.Replicas[0], Ana, chat.ApproveAll, "")
	w.Over(0)
	for _, tool := range []string{"write", "send", "drop"} {
		equal(w, "the record of "+tool+" of a batch", records(w)[tool], "ruled ask, allow_once by ana, started, finished")
	}
}

// records are what the log says of each tool's call.
func records(w *World) map[string]string {
	w.Helper()
	tool, asked, out := map[turn.CallID]string{}, map[turn.AskID]turn.CallID{}, map[string][]string{}
	put := func(id turn.CallID, format string, a ...any) {
		out[tool[id]] = append(out[tool[id]], fmt.Sprintf(format, a...))
	}
	for _, x := range history(w) {
		switch e := x.Event.(type) {
		case turn.Replied:
			for _, c := range e.Calls {
				tool[c.ID] = c.Tool.Name
			}
		case turn.Ruled:
			asked[e.Ask] = e.Call
			put(e.Call, "ruled %v", e.Ruling.Verdict)
		case turn.Decided:
			put(asked[e.Ask], "%s by %s", e.Choice, e.By.Key)
		case turn.Expired:
			put(asked[e.Ask], "expired")
		case turn.Started:
			put(e.Call, "started")
		case turn.Finished:
			if e.Result.IsError {
				put(e.Call, "finished with an error")
			} else {
				put(e.Call, "finished")
			}
		case turn.Abandoned:
			asked[e.Ask] = e.Call
			put(e.Call, "abandoned")
		case turn.Resolved:
			put(asked[e.Ask], "%s by %s", e.Answer, e.By.Key)
		default: // about the turn, not about a call
		}
	}
	flat := map[string]string{}
	for name, all := range out {
		flat[name] = strings.Join(all, ", ")
	}
	return flat
}

// Of several calls each has the answer that it was given, also one that grants.
// R104
func TestEachAskHasItsOwnAnswer(t *testing.T) {
	w := New(t, Options{})
	threeAsks(w)
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Press(w.Replicas[0], Ana, chat.Deny, "send")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "drop")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write drop")
	w.Model.When("again", Calls(Call("drop", `{"n":2}`), Call("write", `{"n":2}`), Call("send", `{"n":2}`)))
	w.Say(w.Replicas[0], Ana, "again")
	w.Asks("write", "send")
	w.Ran("write drop drop")
}
