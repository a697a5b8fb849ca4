package replicas

import (
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// here has the operator say something for everything in the workspace of the room.
func here(w *World, field, value string) {
	w.SetPolicy(func(p *permission.Policy, _ tools) {
		p.Locals = append(p.Locals, permission.Local{
			In:  []permission.Place{{Platform: Room.Platform, Workspace: Room.Workspace}},
			Set: []permission.Setting{{Field: field, Value: value}},
		})
	})
}

// What the operator says of a place counts there also where no call is ruled: for who is told of a question, for what is offered where a chat always
// asks, and for how long people have to say what came of a run.
func TestAPlacesPolicyBesideTheRulings(t *testing.T) {
	t.Run("who is told", func(t *testing.T) {
		w := New(t, Options{Beside: true, Engine: func(c *agent.Config) { c.Nudge = time.Hour }})
		here(w, "approvers", Ben.String())
		lately(w, Call("write", `{}`))
		w.Say(w.Replicas[0], Ana, "go")
		w.Until("a nudge", func() bool { return len(w.Platform.Notes()) == 1 })
		has(w, "the nudge", noteText(w.Platform.Notes()[0]), "ben, a tool call waits")
	})
	t.Run("strict", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		equal(w, "whisper", w.Deliver(w.Replicas[0], command(w, Ana, "mode", permission.ModeAlways.String())), "")
		twoAsks(w)
		b := w.Await(chat.AllowOnce, "write")
		b.Choice = chat.AllowSession
		here(w, "strict", "true")
		refused(w, w.Click(Ana, b), decision.RefusedNotOffered)
	})
	t.Run("an unknown outcome", func(t *testing.T) {
		w := New(t, Options{Replicas: 2, Lease: brief})
		here(w, "timeout", "2h")
		interrupted(w)
		w.Until("people have as long as here", func() bool {
			s, err := w.Replicas[1].Engine.Session(t.Context(), Room)
			waits := turn.Waits(s)
			return err == nil && len(waits) == 1 && waits[0].Deadline.Sub(waits[0].Asked) >= 2*time.Hour
		})
	})
}
