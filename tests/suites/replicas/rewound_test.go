package replicas

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
	. "github.com/nodhq/nod/tests/harness"
)

// A Redis that comes back older than it was: these tests save, go on, and kill the server, which then starts with what was saved.

// An answer is never drawn over the message of another turn, also where Redis counts from the start again.
func TestAnotherTurnsMessageIsLeftAlone(t *testing.T) {
	r := StartRedis(t)
	w := New(t, Options{Backend: r.Backend(), Beside: true})
	w.Model.When("one", Says("The first answer."))
	w.Model.When("two", Says("The second answer."))
	w.Say(w.Replicas[0], Ana, "one")
	w.Over(0)
	idle(w)
	r.Flush()
	w.Say(w.Replicas[0], Ana, "two")
	has(t, "the second message", w.Over(1), "The second answer.")
	has(t, "the first message", w.Text(0), "The first answer.")
}

// A setting that was lost is lost for everybody: no replica goes on by it because another change bears its number.
func TestALostSettingIsInForceNowhere(t *testing.T) {
	r := StartRedis(t)
	w := New(t, Options{Backend: r.Backend(), Replicas: 2})
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Revision = "1" })
	w.Until("the tools are known", func() bool { return len(settingsOf(w).Pins) == 5 })
	for _, x := range w.Replicas {
		looked(w)
		if _, err := x.Engine.Settings(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	r.Save()
	sets(w, "files", "write", "ask", "never")
	if p, err := w.Replicas[1].Engine.Policy(context.Background()); err != nil || p.Servers["files"].Tools["write"].Ask != permission.NeverAsk {
		t.Fatal("the other replica does not know the setting", err)
	}
	r.Restart()
	w.Until("the setting is gone", func() bool {
		s, err := w.Replicas[0].Engine.Settings(context.Background())
		return err == nil && len(s.Set) == 0
	})
	sets(w, "files", "write", "ask", "always")
	w.Model.When("go", Calls(Call("write", `{}`)), Says("I see."))
	w.Say(w.Replicas[1], Ana, "go")
	w.Asks("write")
	equal(t, "runs unasked", w.Tools.Count("write"), 0)
}

// A replica that holds a chat by the store's word, and has nobody who drives it, takes it up when it is woken.
func TestAWakeIsHeardWithoutADriver(t *testing.T) {
	both(t, Options{Lease: time.Hour}, func(w *World) {
		w.Model.When("go", Says("Here."))
		s, err := state.Open(context.Background(), state.Options{URL: w.URL, Lease: time.Hour, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // a test's store
		in := func(owner string) {
			n := w.SaidBy(Ana, "go")
			ev := turn.Said{Delivery: n.Delivery, Message: n.Message, By: Ana, Name: "Ana", Text: "go"}
			if _, err := s.Append(context.Background(), agent.Write{Chat: Room, Claim: owner, Events: []agent.Keyed{{Op: agent.OpID(n.Delivery), Event: ev}}}); err != nil {
				t.Fatal(err)
			}
		}
		in(w.Replicas[0].Name) // as if its reply had been lost
		in("")
		w.Over(0)
	})
}
