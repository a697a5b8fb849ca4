package replicas

import (
	"errors"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// What is wrong with a call settles it at once: one result, nobody is asked, nothing runs, and the others go on.
func TestBadCalls(t *testing.T) {
	unknown := agent.ReplyCall{ModelID: "x", Name: "no_such_tool", Args: []byte(`{}`)}
	for _, c := range []struct {
		name   string
		call   agent.ReplyCall
		before func(*World, Heard)
		result string
	}{
		{"unknown tool", unknown, nil, `There is no tool named "no_such_tool". Nothing was run. Tools that are available: `},
		{"not JSON", Call("write", `{"path":`), nil, "The arguments were refused"},
		{"not an object", Call("write", `[1]`), nil, "not a JSON object"},
		{"repeated key", Call("write", `{"to":"a","to":"b"}`), nil, "The arguments were refused"},
		{"not UTF-8", Call("write", "{\"to\":\"\xff\"}"), nil, "The arguments were refused"},
		{"breaks the schema", Call("write", `{"bad":true}`), nil, "bad is not a property"},
		{"disabled", Call("drop", `{}`), nil, `There is no tool named "drop"`},
		{"vanished", Call("write", `{}`), func(w *World, _ Heard) { w.Tools.Remove("write") }, "is not available now"},
		{"changed", Call("write", `{}`), func(w *World, _ Heard) { w.Tools.Change("write") }, "changed after it was offered"},
		{"forbidden meanwhile", Call("write", `{}`), func(w *World, _ Heard) {
			w.SetPolicy(func(_ *permission.Policy, files tools) { files["write"] = permission.ToolSettings{Disabled: true} })
		}, "Not allowed: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := New(t, Options{})
			w.Tools.Put(Tool{Server: "files", Name: "write", Check: func(args string) error {
				if args == `{"bad":true}` {
					return errors.New("bad is not a property")
				}
				return nil
			}})
			w.SetPolicy(func(_ *permission.Policy, files tools) { files["drop"] = permission.ToolSettings{Disabled: true} })
			w.Model.When("go", func(h Heard) (agent.Reply, error) {
				if c.before != nil {
					c.before(w, h)
				}
				return agent.Reply{Calls: []agent.ReplyCall{c.call, Call("read", `{}`)}}, nil
			}, Says("I see."))
			w.Say(w.Replicas[0], Ana, "go")
			w.Over(0)
			equal(w, "ran", w.Tools.Ran(), "read")
			for _, m := range w.Platform.Messages(Room) {
				for _, v := range m.Versions {
					for _, b := range v.View.Blocks {
						if _, ok := b.(render.Ask); ok {
							t.Fatal("somebody was asked")
						}
					}
				}
			}
			r := w.Model.Latest().Results()
			if len(r) != 2 || !r[0].IsError || r[1].IsError {
				t.Fatalf("results: %+v", r)
			}
			has(w, "the result", r[0].Text, c.result)
		})
	}
}

// Equal calls of one reply are calls of their own.
func TestEqualCallsOfOneReply(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", Calls(Call("write", `{}`), Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write", "write")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Until("one is left", func() bool { return w.Asked() == "write" })
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write")
	equal(w, "results", len(w.Model.Latest().Results()), 2)
}

// Arguments that cannot be shown in full cannot be allowed.
func TestArgumentsTooLongToShow(t *testing.T) {
	w := New(t, Options{})
	long := make([]byte, render.MaxArgs+10)
	for i := range long {
		long[i] = 'x'
	}
	w.Model.When("go", Calls(Call("write", `{"text":"`+string(long)+`"}`)))
	w.Say(w.Replicas[0], Ana, "go")
	deny := w.Await(chat.Deny, "write")
	if _, ok := w.Button(Room, chat.AllowOnce, "write"); ok {
		t.Error("Allow is offered")
	}
	forged := deny
	forged.Choice = chat.AllowOnce
	if w.Deliver(w.Replicas[0], w.Click(Ana, forged)) == "" {
		t.Error("a forged Allow was taken")
	}
	w.Deliver(w.Replicas[0], w.Click(Ana, deny))
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "")
}

// Nobody attends: what asks is not offered, and what is called all the same is refused.
// R175
func TestUnattended(t *testing.T) {
	w := New(t, Options{})
	granted(w) // a grant does not help either
	w.Model.When("nightly", func(h Heard) (agent.Reply, error) {
		names := ""
		for _, x := range h.Tools {
			names += x.Tool.Name + " "
		}
		equal(w, "offered", names, "read touch ")
		return agent.Reply{Calls: []agent.ReplyCall{Call("write", `{}`), Call("read", `{}`)}}, nil
	}, Says("Done what I could."))
	in := w.SaidBy(Ana, "nightly")
	in.Unattended = true
	w.Deliver(w.Replicas[0], in)
	w.Over(1)
	equal(w, "ran", w.Tools.Ran(), "write read")
	r := w.Model.Latest().Results()
	if len(r) != 2 || !r[0].IsError || r[1].IsError {
		t.Errorf("results: %+v", r)
	}
}

// A tool that starts to ask between the offer and the ruling is refused in an unattended run.
// R175
func TestUnattendedToolBeginsToAsk(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("nightly", func(Heard) (agent.Reply, error) {
		w.SetPolicy(func(_ *permission.Policy, files tools) { delete(files, "read") })
		return agent.Reply{Calls: []agent.ReplyCall{Call("read", `{}`)}}, nil
	})
	in := w.SaidBy(Ana, "nightly")
	in.Unattended = true
	w.Deliver(w.Replicas[0], in)
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "")
	has(w, "the result", w.Model.Latest().Results()[0].Text, "Not allowed: ")
}
