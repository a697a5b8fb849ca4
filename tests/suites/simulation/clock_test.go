package simulation

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// What waits for a platform or a lease is told in a bubble, too, but without a seed: by a real clock a busy machine would decide it.

// alone tells of one replica to which nothing happens but what the test does.
func alone(t *testing.T, o Options, tell func(*World)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRedis(rand.New(rand.NewPCG(1, 1)), 0, t.Logf) //nolint:gosec // nothing is drawn from it
		t.Cleanup(r.mini.Close)
		o.Parallel, o.Bubble, o.Backend = true, true, r.backend()
		tell(New(t, o))
	})
}

// A busy platform names its wait; nothing is lost for it, not even what is longer than a lease.
func TestRetryAfter(t *testing.T) {
	const wait = 900 * time.Millisecond
	alone(t, Options{Lease: 300 * time.Millisecond}, func(w *World) {
		var mu sync.Mutex
		var refused time.Time
		w.Platform.Trouble(func(op Op) Trouble {
			mu.Lock()
			defer mu.Unlock()
			if op.Post || !strings.Contains(render.PlainText(op.View), "The end.") {
				return Trouble{}
			}
			if refused.IsZero() {
				refused = time.Now()
				return Busy(wait)
			}
			if early := wait - time.Since(refused); early > 0 {
				w.Errorf("an edit came %v too early", early)
			}
			return Trouble{}
		})
		w.Model.When("go", func(h Heard) (agent.Reply, error) {
			w.Until("the message stands", func() bool { return len(w.Platform.Messages(Room)) > 0 })
			return Says("The end.")(h)
		})
		w.Say(w.Replicas[0], Ana, "go")
		says(w, w.Over(0), "The end.")
	})
}

// The card of an ask is drawn although the platform was busy longer than a lease, and its answer counts.
func TestRetryAfterOnACard(t *testing.T) {
	alone(t, Options{Lease: 300 * time.Millisecond}, func(w *World) {
		var once sync.Once
		w.Platform.Trouble(func(op Op) (trouble Trouble) {
			if !op.Post && strings.Contains(render.PlainText(op.View), "[Deny]") {
				once.Do(func() { trouble = Busy(900 * time.Millisecond) })
			}
			return trouble
		})
		shown := w.Latch()
		w.Model.When("go", func(h Heard) (agent.Reply, error) {
			h.Stream(agent.Delta{Text: "Let me see."})
			<-shown.C()
			return Calls(Call("write", `{}`))(h)
		})
		w.Say(w.Replicas[0], Ana, "go")
		w.Shows(0, "Let me see.")
		shown.Open()
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
		w.Over(0)
		if ran := w.Tools.Ran(); ran != "write" {
			t.Errorf("ran %q", ran)
		}
	})
}

func says(w *World, got, want string) {
	w.Helper()
	if !strings.Contains(got, want) {
		w.Errorf("the message does not say %q:\n%s", want, got)
	}
}
