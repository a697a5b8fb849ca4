package replicas

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

// hearing is a Tracer of all replicas.
type hearing struct {
	mu    sync.Mutex
	heard []string // kinds of events
	did   []agent.Action
}

func (h *hearing) Recorded(_, _ turn.Session, entries []turn.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range entries {
		h.heard = append(h.heard, x.Event.Kind())
	}
}

func (h *hearing) Did(what agent.Action, _ chat.ID, _ turn.TurnID, _ time.Time, _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.did = append(h.did, what)
}

// interposed has something happen right before the result of a call is recorded.
type interposed struct {
	agent.Log
	before func()
}

func (l interposed) Append(ctx context.Context, w agent.Write) (agent.Written, error) {
	if slices.ContainsFunc(w.Events, func(k agent.Keyed) bool { _, ends := k.Event.(turn.Finished); return ends }) {
		l.before()
	}
	return l.Log.Append(ctx, w)
}

// A tracer hears of each event from whoever recorded it, also where another replica's came into the same answer of the log, and of what is in no log.
func TestTraced(t *testing.T) {
	h := &hearing{}
	var w *World
	between := sync.OnceFunc(func() { equal(w, "whisper", w.Deliver(w.Replicas[1], command(w, Ana, "mode", "always")), "") })
	w = New(t, Options{Replicas: 2, Engine: func(c *agent.Config) {
		c.Tracer, c.Log = h, interposed{c.Log, between}
	}})
	w.Model.When("go", Calls(Call("write", `{"path":"a.txt"}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Over(0)
	for _, did := range []agent.Action{agent.ActionTake, agent.ActionPost, agent.ActionEdit} {
		w.Until(string(did)+" is told", func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return slices.Contains(h.did, did)
		})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, kind := range []string{"replied", "ruled", "decided", "started", "mode", "finished", "ended"} {
		times := 0
		for _, k := range h.heard {
			if strings.HasPrefix(k, kind) {
				times++
			}
		}
		if want := map[string]int{"replied": 2}[kind]; times != max(want, 1) {
			t.Errorf("%s was heard %d times: %s", kind, times, h.heard)
		}
	}
}
