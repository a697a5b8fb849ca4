// Package replicas tests the engine as a person, a model and a tool server see it: several replicas over one store, which are
// stopped, killed and cut off at every moment. tests/harness is the world they live in.
package replicas

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/harness"
	"github.com/nodhq/nod/tests/harness/machine"
)

// atOnce is how many worlds run at once, unless -parallel says otherwise: most of the time they wait for the lease of one that was killed.
const atOnce = 8

func TestMain(m *testing.M) {
	machine.AtOnce(atOnce)
	goleak.VerifyTestMain(m)
}

// both runs a test over each backend, beside others where the options say so.
func both(t *testing.T, o harness.Options, test func(w *harness.World)) {
	if o.Parallel {
		t.Parallel()
	}
	for _, b := range harness.Backends() {
		t.Run(b.Name, func(t *testing.T) {
			if o.Parallel {
				t.Parallel()
			}
			o := o
			o.Backend = b
			test(harness.New(t, o))
		})
	}
}

func has(t testing.TB, what, text string, words ...string) {
	t.Helper()
	for _, x := range words {
		if !strings.Contains(text, x) {
			t.Errorf("%s does not say %q:\n%s", what, x, text)
		}
	}
}

func hasNot(t testing.TB, what, text string, words ...string) {
	t.Helper()
	for _, x := range words {
		if strings.Contains(text, x) {
			t.Errorf("%s says %q:\n%s", what, x, text)
		}
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

type tools = map[string]permission.ToolSettings

// idle waits until nobody drives, draws or stops a chat.
func idle(w *harness.World) {
	w.Helper()
	gone(w, func(g string) bool {
		return strings.Contains(g, "core/agent.(*driver)") || strings.Contains(g, "core/agent.(*editor)") || strings.Contains(g, "core/agent.(*Engine).stopAll")
	})
}

// seen waits until it is on record that people can see the cards which wait for them: their clocks run from then.
func seen(w *harness.World) {
	w.Helper()
	w.Until("the cards were seen", func() bool {
		waits := turn.Waits(session(w))
		return len(waits) > 0 && !slices.ContainsFunc(waits, func(x turn.Wait) bool { return x.Seen == nil })
	})
}

// looked waits until every replica's own look at the tools is over.
func looked(w *harness.World) {
	w.Helper()
	gone(w, func(g string) bool {
		head, rest, _ := strings.Cut(g, "\n")
		waits := strings.Contains(head, "[select") && strings.HasPrefix(rest, "github.com/nodhq/nod/core/agent.(*Engine).watchTools(")
		return strings.Contains(g, "core/agent.(*Engine).watchTools(") && !waits
	})
}

// gone waits until no goroutine is left that matches.
func gone(w *harness.World, match func(stack string) bool) {
	w.Helper()
	over := time.Now().Add(2 * time.Minute)
	look := time.NewTicker(time.Millisecond) // each look stops the world
	defer look.Stop()
	for busy := goroutines(match); len(busy) > 0; busy = goroutines(match) {
		if time.Now().After(over) {
			w.Fatalf("still at work:\n%s", strings.Join(busy, "\n\n"))
		}
		<-look.C
	}
}

// goroutines are the stacks that match.
func goroutines(match func(stack string) bool) (out []string) {
	buf := make([]byte, 1<<20)
	for n := runtime.Stack(buf, true); ; n = runtime.Stack(buf, true) {
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	for g := range strings.SplitSeq(string(buf), "\n\n") {
		if match(g) {
			out = append(out, g)
		}
	}
	return out
}

// vouched lets the operator stand for the server of files, so that its tools count as accepted: what nobody accepted asks whatever a
// person chose before.
func vouched(w *harness.World) {
	w.SetPolicy(func(p *permission.Policy, _ map[string]permission.ToolSettings) {
		s := p.Servers["files"]
		s.Trusted = true
		p.Servers["files"] = s
	})
}
