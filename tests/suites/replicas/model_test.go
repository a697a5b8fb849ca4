package replicas

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

func TestModelFails(t *testing.T) {
	for _, c := range []struct {
		name, text string
		err        error
		say        string
	}{
		{"before any text", "", &agent.ModelError{Say: "The key was refused. Ask whoever runs nod.", Cause: errors.New("401 sk-123")}, "The key was refused."},
		{"after text", "Once upon a", &agent.ModelError{Say: "The connection broke.", Cause: errors.New("eof")}, "The connection broke."},
		{"without words of its own", "", errors.New("boom sk-123"), text.EndModel},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := New(t, Options{})
			w.Model.When("go", func(h Heard) (agent.Reply, error) {
				if c.text != "" {
					h.Stream(agent.Delta{Text: c.text})
				}
				return agent.Reply{}, c.err
			})
			w.Say(w.Replicas[0], Ana, "go")
			said := w.Over(0)
			has(w, "the message", said, c.say, c.text)
			hasNot(w, "the message", said, "sk-123", "[Stop]")
			if c.text != "" {
				has(w, "the message", said, text.CutReply)
			}
			equal(w, "state", w.Platform.Messages(Room)[0].Now().State, render.Failed)
			w.Say(w.Replicas[0], Ana, "try that again")
			has(w, "the next turn", w.Over(1), "All done.")
		})
	}
}

func TestCutStream(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		h.Stream(agent.Delta{Text: "Once upon a"})
		return agent.Reply{Text: "Once upon a", Cut: true}, nil
	})
	w.Say(w.Replicas[0], Ana, "go")
	has(w, "the message", w.Over(0), "Once upon a", text.CutReply)
}

func TestMostSteps(t *testing.T) {
	w := New(t, Options{Engine: func(c *agent.Config) { c.MaxSteps = 3 }})
	step := func(h Heard) (agent.Reply, error) {
		_, n := h.Last()
		return agent.Reply{Calls: []agent.ReplyCall{Call("read", fmt.Sprintf(`{"n":%d}`, n))}}, nil
	}
	w.Model.When("go", step, step, step, step)
	w.Say(w.Replicas[0], Ana, "go")
	has(w, "the message", w.Over(0), "This turn reached its limit of steps")
	equal(w, "requests", len(w.Model.Heard()), 3)
	equal(w, "runs", w.Tools.Count("read"), 3)
}

// What does not fit into the model's context is left out with a word to both.
func TestContextIsTrimmed(t *testing.T) {
	w := New(t, Options{Engine: func(c *agent.Config) { c.ContextTokens = 300 }})
	for i := range 4 {
		w.Say(w.Replicas[0], Ana, fmt.Sprintf("message %d %0300d", i, 0))
		w.Over(i)
	}
	hasNot(w, "the first message", w.Text(0), "did not fit")
	has(w, "the last message", w.Text(3), "of this chat did not fit into what the model reads.")
	h := w.Model.Latest()
	has(w, "the note", h.Notes(), "are left out here")
	for i, u := range h.Talk {
		hasNot(w, "the talk", u.Text, "message 0")
		if i == 1 {
			equal(w, "the first utterance kept", u.Role, turn.RoleUser)
		}
	}
}

// A server that is down is reported to both, and the others go on (R126).
// R126
func TestServerDown(t *testing.T) {
	w := New(t, Options{})
	w.Tools.Put(Tool{Server: "wiki", Name: "lookup"})
	w.Tools.Down("wiki", "The server wiki does not answer.")
	w.Model.When("go", Calls(Call("read", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	has(w, "the message", w.Over(0), "The server wiki does not answer.")
	has(w, "the note", w.Model.Latest().Notes(), "The server wiki does not answer.", "What is missing is not offered now")
	for _, x := range w.Model.Latest().Tools {
		if x.Tool.Server == "wiki" {
			t.Error("a tool of a dead server is offered")
		}
	}
	equal(w, "ran", w.Tools.Ran(), "read")
}

// A tool's own error is a result, and so is one that certainly did not run.
func TestToolErrors(t *testing.T) {
	w := New(t, Options{})
	w.Tools.Put(Tool{Server: "files", Name: "read", Run: func(Invocation) (turn.Result, error) {
		return turn.Result{Text: "no such file", IsError: true}, nil
	}})
	w.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(Invocation) (turn.Result, error) {
		return turn.Result{}, fmt.Errorf("%w: the server is gone", agent.ErrNotRun)
	}})
	w.Model.When("go", Calls(Call("read", `{}`), Call("touch", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	has(w, "the message", w.Over(0), "no such file", "the server is gone")
	r := w.Model.Latest().Results()
	if len(r) != 2 || !r[0].IsError || !r[1].IsError {
		t.Fatalf("results: %+v", r)
	}
}
