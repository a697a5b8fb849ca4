package replicas

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/prompt"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

func perPerson(turns, tokens int) func(*agent.Config) {
	return func(c *agent.Config) {
		c.Person = prompt.Person{Meter: c.Log.(prompt.Meter), TurnsPerHour: turns, TokensPerDay: tokens}
	}
}

// Over a limit, on whatever replica, the model is not asked. What was said stays, and nobody else is touched.
func TestTurnsOfOnePerson(t *testing.T) {
	both(t, Options{Replicas: 2, Engine: perPerson(2, 0)}, func(w *World) {
		w.Say(w.Replicas[0], Ana, "one")
		has(w, "the first answer", w.Over(0), "All done.")
		w.Say(w.Replicas[1], Ana, "two")
		has(w, "the second answer", w.Over(1), "All done.")
		w.Say(w.Replicas[0], Ana, "three")
		has(w, "the third answer", w.Over(2), "The model was not asked: one person may begin 2 turns an hour, and that is used up. Write again at ",
			"UTC, or ask whoever runs nod for more.")
		equal(w, "its state", w.Platform.Messages(Room)[2].Now().State, render.Stopped)
		equal(w, "requests", len(w.Model.Heard()), 2)
		w.Say(w.Replicas[1], Ben, "four")
		has(w, "another person's answer", w.Over(3), "All done.")
		said := ""
		for _, u := range w.Model.Latest().Talk {
			said += u.Text + "\n"
		}
		has(w, "what the model reads", said, "three", "four")
	})
}

// A turn that has begun goes on to its end, whatever it uses; the next one is refused.
func TestTokensOfOnePerson(t *testing.T) {
	used := turn.Usage{Input: 70, Output: 30}
	t.Run("in the middle of a turn", func(t *testing.T) {
		w := New(t, Options{Replicas: 2, Engine: perPerson(0, 100)})
		w.Model.When("go", func(Heard) (agent.Reply, error) {
			return agent.Reply{Calls: []agent.ReplyCall{Call("write", `{}`)}, Usage: used}, nil
		})
		w.Say(w.Replicas[0], Ana, "go")
		w.Press(w.Replicas[1], Ana, chat.AllowOnce, "write")
		has(w, "the answer", w.Over(0), "All done.")
		equal(w, "ran", w.Tools.Ran(), "write")
		w.Say(w.Replicas[1], Ana, "more")
		has(w, "the next answer", w.Over(1), "one person may use 100 tokens of the model a day")
		equal(w, "requests", len(w.Model.Heard()), 2)
	})
	t.Run("of a reply that nobody waits for any more", func(t *testing.T) {
		w := New(t, Options{Engine: perPerson(0, 100)})
		w.Model.When("go", func(h Heard) (agent.Reply, error) {
			h.Stream(agent.Delta{Text: "Half of an answer"})
			<-h.Ctx.Done()
			return agent.Reply{Usage: used}, h.Ctx.Err()
		})
		w.Say(w.Replicas[0], Ana, "go")
		w.Shows(0, "Half of an answer")
		w.Press(w.Replicas[0], Ana, chat.Stop, "")
		w.Over(0)
		w.Say(w.Replicas[0], Ana, "more")
		has(w, "the next answer", w.Over(1), "one person may use 100 tokens of the model a day")
	})
}

// What has no limit costs no look at the store, nor does a program, or a reply whose service tells of no tokens.
func TestNothingIsCountedForNothing(t *testing.T) {
	for _, c := range []struct {
		name          string
		turns, tokens int
		by            chat.User
		used          turn.Usage
		counted       string
	}{
		{"no limit", 0, 0, Ana, turn.Usage{Input: 1}, ""},
		{"turns", 1, 0, Ana, turn.Usage{Input: 1}, "count turn"},
		{"tokens", 0, 9, Ana, turn.Usage{Input: 1}, "count turn, count tokens"},
		{"no usage", 0, 9, Ana, turn.Usage{}, "count turn"},
		{"a program", 1, 9, chat.User{}, turn.Usage{Input: 1}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := New(t, Options{Engine: perPerson(c.turns, c.tokens)})
			w.Model.When("go", func(Heard) (agent.Reply, error) { return agent.Reply{Text: "Well.", Usage: c.used}, nil })
			said := w.SaidBy(Ana, "go")
			said.User = c.by
			w.Deliver(w.Replicas[0], said)
			has(w, "the answer", w.Over(0), "Well.")
			counted := slices.DeleteFunc(w.Replicas[0].Gate.Calls(), func(what string) bool { return !strings.HasPrefix(what, "count ") })
			equal(w, "counted", strings.Join(counted, ", "), c.counted)
		})
	}
}

// While nobody can count, nobody is refused, and the log says it.
func TestNobodyCounts(t *testing.T) {
	w := New(t, Options{Engine: perPerson(1, 1), Faults: func(_ int, what string) Fault {
		if what == "count turn" || what == "count tokens" {
			return Refused
		}
		return None
	}})
	for i := range 2 {
		w.Say(w.Replicas[0], Ana, "hello")
		has(w, "the answer", w.Over(i), "All done.")
	}
	if !w.Logged("a turn of a person could not be counted") || !w.Logged("tokens of a person could not be counted") {
		t.Error("the log says nothing")
	}
}

func TestALimitNeedsAMeter(t *testing.T) {
	for _, p := range []prompt.Person{{TurnsPerHour: 1}, {TokensPerDay: 1}} {
		if _, err := agent.New(agent.Config{Person: p}); err == nil || !strings.Contains(err.Error(), "Config.Person.Meter is missing") {
			t.Error(err)
		}
	}
}
