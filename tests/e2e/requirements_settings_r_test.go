package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// R44: what is remembered and set counts at the next call of the tool server that runs already: it is never started anew. Who remembers
// reads what and when; an admin reads who set what.
func TestSettingsRestartNoServer(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	env := startLLM(t).env()
	env["ADMIN_SESSION_KEYS"] = bossKey
	b := start(t, settings{yaml: box, env: env})
	ana := b.session("Ana")
	const order = `call box__write {"path":"a"}`
	first := ana.room()
	ask := first.ask(order)
	if status, no := first.call("POST", "/api/v1/tools/approve", map[string]any{"tool_call_id": ask.ToolCallID, "request_id": ask.RequestID, "approved": true, "remember": true}, nil); status != http.StatusOK {
		t.Fatalf("%d %+v", status, no)
	}
	first.idle()
	runs := func(r *room, n int) {
		t.Helper()
		r.say(order)
		if c := r.idle(); len(c.Pending) > 0 || ledger.Count("write", "did") != n {
			t.Fatalf("it ran %d times, want %d: %s", ledger.Count("write", "did"), n, c)
		}
	}
	runs(ana.room(), 2) // remembered
	boss(b).command("", "server", "box", "never")
	boss(b).command("", "tool", "box", "write", "timeout", "2m")
	runs(b.session("Ben").room(), 3) // set
	effects, err := ledger.Effects()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range effects {
		if e.PID != effects[0].PID {
			t.Errorf("the server was started anew: %d, then %d", effects[0].PID, e.PID)
		}
	}
	var mine struct {
		Sections []struct {
			Rows []struct {
				Line []struct {
					Text, Strong string
					Time         time.Time
				}
			}
		}
	}
	status, no := ana.call("GET", "/api/v1/settings?view=mine", nil, &mine)
	shown := false
	for _, s := range mine.Sections {
		for _, r := range s.Rows {
			line, dated := "", false
			for _, span := range r.Line {
				line += span.Text + span.Strong
				dated = dated || time.Since(span.Time).Abs() < time.Hour
			}
			shown = shown || dated && strings.Contains(line, "allow write of box")
		}
	}
	if !shown {
		t.Errorf("what Ana remembers, and since when, is not there: %d %+v %+v", status, no, mine)
	}
	if set := boss(b).command("", "history", "settings"); !strings.Contains(set, "box/write: timeout = 2m") || !strings.Contains(set, "box: ask = never") {
		t.Errorf("the settings' history:\n%s", set)
	}
}
