package replicas

import (
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// A question that nobody answers goes to others: they are told where the platform can, the card names them, and their word is for that call
// alone. Another replica, and one that starts later, knows of it.
func TestEscalation(t *testing.T) {
	cleo := Ana
	cleo.Key = "UCLEO"
	for name, beside := range map[string]bool{"told": true, "nowhere to tell": false} {
		t.Run(name, func(t *testing.T) {
			both(t, Options{Replicas: 2, Beside: beside, Engine: func(c *agent.Config) { c.Escalate = time.Nanosecond }}, func(w *World) {
				w.SetPolicy(func(p *permission.Policy, _ map[string]permission.ToolSettings) { p.Escalate = []chat.User{Ben} })
				lately(w, Call("write", `{}`))
				w.Say(w.Replicas[0], Ana, "go")
				w.Shows(0, "Ana or ben can answer")
				if beside {
					w.Until("they are told", func() bool { return len(w.Platform.Notes()) == 1 })
					has(w, "the note", noteText(w.Platform.Notes()[0]), "a tool call waits for your answer: Run write from files. Nobody answered within", "so you may, too.")
				}
				once := w.Await(chat.AllowOnce, "write")
				for _, choice := range []chat.Choice{chat.AllowChat, chat.AllowServer, chat.AllowChannel, chat.Remember} {
					refused(w, api(w, Ben, choice, once.Token), decision.RefusedNotYours, "because nobody did in time")
				}
				refused(w, w.Click(cleo, once), decision.RefusedNotYours, "Only Ana (who asked), ", " or an admin can decide this.")
				w.Replicas[0].Stop()
				w.Press(w.Replicas[1], Ben, chat.AllowOnce, "write")
				w.Over(0)
				w.Ran("write")
				if beside {
					w.Until("what told them is gone", func() bool { return w.Platform.Notes()[0].Gone })
				}
			})
		})
	}
}

// Before its time a question is for those whom the rules name.
func TestEscalationHasItsTime(t *testing.T) {
	w := New(t, Options{Beside: true, Engine: func(c *agent.Config) { c.Escalate = time.Hour }})
	w.SetPolicy(func(p *permission.Policy, _ map[string]permission.ToolSettings) { p.Escalate = []chat.User{Ben} })
	lately(w, Call("write", `{}`))
	w.Say(w.Replicas[0], Ana, "go")
	refused(w, w.Click(Ben, w.Await(chat.AllowOnce, "write")), decision.RefusedNotYours, "Only Ana (who asked) or an admin can decide this.")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Over(0)
	equal(w, "notes", len(w.Platform.Notes()), 0)
}
