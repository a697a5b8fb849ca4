package mcp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/tests/mcpserver"
)

// On a connection, nothing says whose call a request is about. With two of them, nobody is asked; over HTTP, where the
// request comes on the call's own stream, and in answers, each person gets theirs.
func TestTwoCallsAtOnceAreNeverCrossed(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, _ *mcpserver.Ledger, log *logged) {
		form := func(who string) string { return strings.Replace(branchForm, "Which branch?", "For "+who, 1) }
		if strings.HasSuffix(t.Name(), "stdio_legacy") {
			idle, ana := newPerson(), newPerson()
			slow := runFor(t, m, idle, "slow", `{}`)
			waitFor(t, func() bool { return strings.Contains(effects(t, m), "slow") })
			if got := receive(t, "outcome", runFor(t, m, ana, "elicit", form("Ana"))); got.Text != "cancel null" {
				t.Errorf("%+v", got)
			}
			if len(idle.asked)+len(ana.asked) > 0 || !strings.Contains(log.String(), "several calls run on this connection") {
				t.Errorf("somebody was asked: %d, %d", len(idle.asked), len(ana.asked))
			}
			select {
			case got := <-slow:
				t.Errorf("slow ended: %+v", got)
			default:
			}
			return
		}
		var group sync.WaitGroup
		for _, who := range []string{"Ana", "Ben", "Cleo"} {
			p := newPerson()
			done := runFor(t, m, p, "elicit", form(who))
			group.Go(func() {
				if w := receive(t, "question", p.asked); w.Message != "For "+who {
					t.Errorf("%s was asked %q", who, w.Message)
				}
				p.answer <- accept(fmt.Sprintf(`{"branch":%q}`, who))
				if got := receive(t, "outcome", done); got.Text != fmt.Sprintf(`accept {"branch":%q}`, who) {
					t.Errorf("%s: %+v", who, got)
				}
			})
		}
		group.Wait()
	})
}

// effects is the ledger of a server that was started with [stdio].
func effects(t *testing.T, m *Servers) string {
	t.Helper()
	b, err := mcpserver.OpenLedger(m.byName["files"].cfg.Env["NOD_TEST_LEDGER"]).Effects()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(b)
}

// A call that was given up may still run where cancellation is ignored: what is asked then may be its question.
func TestAGivenUpCallBarsGuessing(t *testing.T) {
	log, l := &logged{}, ledger(t)
	m := legacyStart(t, log, map[string]Server{"files": stdio(l)})
	ctx, stop := context.WithCancel(within(t))
	p := newPerson()
	slow := runIn(ctx, t, m, p, "slow", `{}`)
	waitFor(t, func() bool { return l.Count("slow", "began") == 1 })
	stop()
	unknown(t, receive(t, "outcome", slow).err, "cancelled")
	if got := receive(t, "outcome", runFor(t, m, p, "elicit", branchForm)); got.Text != "cancel null" || len(p.asked) > 0 {
		t.Errorf("%+v after %d questions", got, len(p.asked))
	}
	if !strings.Contains(log.String(), "a call that was given up may still run") {
		t.Error(log)
	}
	// It does not last for ever.
	c := connOf(m)
	c.mu.Lock()
	c.strayed = c.strayed.Add(-strayFor)
	c.mu.Unlock()
	p.answer <- accept(`{"branch":"main"}`)
	if got := receive(t, "outcome", runFor(t, m, p, "elicit", branchForm)); !strings.HasPrefix(got.Text, "accept") {
		t.Errorf("%+v", got)
	}
}
