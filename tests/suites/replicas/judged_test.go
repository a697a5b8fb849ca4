package replicas

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

// A replica judges by the settings that it knows. Another one changes them at the worst moment: after that, and before the log takes what
// came of it. Then the log does not take it, and it is judged anew.
func TestSettingsChangeBetweenJudgingAndRecording(t *testing.T) {
	for name, c := range map[string]struct {
		at        string // the log's call before which write is made another tool
		field, to string
		record    string // of write
		asked     bool   // and then waits for a person
	}{
		"a ruling that asks nobody": {"replied+ruled", "ask", "always", "ruled ask", true},
		"a click":                   {"decided", "approvers", "slack:T1:nobody", "ruled ask", true},
		"a start":                   {"started", "enabled", "false", "ruled ask, allow_once by ana, ruled forbid", false},
	} {
		t.Run(name, func(t *testing.T) {
			var w *World
			var once sync.Once
			ready := make(chan struct{})
			w = New(t, Options{Replicas: 2, Faults: func(_ int, what string) Fault {
				select {
				case <-ready:
					if strings.HasPrefix(what, "append ") && strings.Contains(what, c.at) {
						once.Do(func() { sets(w, "files", "write", c.field, c.to) })
					}
				default:
				}
				return None
			}})
			w.Until("the tools are known", func() bool { return len(settingsOf(w).Pins) == 5 })
			vouched(w)
			if c.at == "replied+ruled" {
				sets(w, "files", "write", "ask", "never")
			}
			w.Model.When("go", Calls(Call("write", `{}`)))
			close(ready)
			w.Say(w.Replicas[0], Ana, "go")
			if c.at != "replied+ruled" {
				told := w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
				equal(t, "told", told != "", c.at == "decided")
			}
			if c.asked {
				w.Until("it is asked for", func() bool { return w.Asked() == "write" })
			} else {
				w.Over(0)
			}
			equal(t, "ran", w.Tools.Ran(), "")
			equal(t, "the record of write", records(w)["write"], c.record)
		})
	}
}

// unheard is a replica's log that tells nothing of the settings by itself.
type unheard struct{ *Gate }

func (u unheard) Watch(ctx context.Context, id chat.ID) (<-chan struct{}, error) {
	if id == agent.SettingsChat {
		return nil, nil
	}
	return u.Gate.Watch(ctx, id)
}

// Nobody is refused by settings that are over: before a replica says no, it looks.
func TestNobodyIsRefusedByOlderSettings(t *testing.T) {
	w := New(t, Options{Replicas: 2, Engine: func(c *agent.Config) { c.Log = unheard{c.Log.(*Gate)} }})
	w.Until("the tools are known", func() bool { return len(settingsOf(w).Pins) == 5 })
	sets(w, "files", "write", "approvers", "slack:T1:nobody")
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	seen(w)
	idle(w)
	sets(w, "files", "write", "approvers", "anyone")
	equal(t, "told", w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write"), "")
	w.Over(0)
	equal(t, "ran", w.Tools.Ran(), "write")
}
