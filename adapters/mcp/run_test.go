package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/tests/standins/mcpserver"
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
		people := map[string]*person{"Ana": newPerson(), "Ben": newPerson(), "Cleo": newPerson()}
		calls := map[string]<-chan outcome{}
		for who, p := range people { // each waits while the others are asked
			calls[who] = runFor(t, m, p, "elicit", form(who))
			if w := receive(t, "question", p.asked); w.Message != "For "+who {
				t.Errorf("%s was asked %q", who, w.Message)
			}
		}
		for who, p := range people {
			p.answer <- accept(fmt.Sprintf(`{"branch":%q}`, who))
			if got := receive(t, "outcome", calls[who]); got.Text != fmt.Sprintf(`accept {"branch":%q}`, who) {
				t.Errorf("%s: %+v", who, got)
			}
		}
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
	c.abandoned = c.abandoned.Add(-abandonedFor)
	c.mu.Unlock()
	p.answer <- accept(`{"branch":"main"}`)
	if got := receive(t, "outcome", runFor(t, m, p, "elicit", branchForm)); !strings.HasPrefix(got.Text, "accept") {
		t.Errorf("%+v", got)
	}
}

// request is what a server of an older protocol sends.
func request(method string) transport.JSONRPCRequest {
	var params any
	_ = json.Unmarshal([]byte(`{"message":"m","requestedSchema":{"type":"object"}}`), &params)
	return transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(int64(7)), Method: method, Params: params}
}

// A request on the stream of a call that is over is not about the call that happens to run.
func TestAQuestionOfACallThatIsOverIsNobodyElses(t *testing.T) {
	log, l := &logged{}, ledger(t)
	m := legacyStart(t, log, map[string]Server{"files": stdio(l)})
	p := newPerson()
	slow := runFor(t, m, p, "slow", `{}`)
	waitFor(t, func() bool { return l.Count("slow", "began") == 1 })
	over, stop := context.WithCancel(t.Context())
	stop()
	got := connOf(m).asked(withRun(t.Context(), &run{ctx: over}), request("elicitation/create"))
	if string(got.Result) != `{"action":"cancel"}` || len(p.asked) > 0 {
		t.Errorf("%s after %d questions", got.Result, len(p.asked))
	}
	if len(slow) > 0 {
		t.Error("slow ended")
	}
}

// What was not offered is refused, whoever asks how: requests where servers ask in their answers only, and anything where mcp-go
// would not hear it.
func TestWhatWasNotOfferedIsRefused(t *testing.T) {
	l := ledger(t)
	s := mcpserver.New("x", l)
	for kind, cfg := range map[string]Server{"modern": {InProcess: s.InProcess}, kindSSE: {URL: s.ServeSSE(t).URL, Transport: kindSSE}} {
		m := start(t, map[string]Server{"files": cfg})
		list(t, m)
		c := connOf(m)
		for _, method := range []string{"elicitation/create", "sampling/createMessage", "roots/list"} {
			if got := c.asked(t.Context(), request(method)); got.Error == nil || got.Error.Code != mcp.METHOD_NOT_FOUND {
				t.Errorf("%s: %s: %+v", kind, method, got)
			}
		}
		if (len(c.offered()) > 0) != (kind == "modern") {
			t.Errorf("%s: %d things are offered", kind, len(c.offered()))
		}
	}
}

// What belongs to no call is put to nobody.
func TestWithoutACallThereIsNobody(t *testing.T) {
	m := start(t, map[string]Server{"files": {InProcess: mcpserver.New("x", ledger(t)).InProcess}})
	list(t, m)
	c := connOf(m)
	got, err := c.Elicit(t.Context(), mcp.ElicitationRequest{})
	if err != nil || got.Action != mcp.ElicitationResponseActionCancel {
		t.Errorf("%+v, %v", got, err)
	}
}
