package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// person is whom a call's server may ask.
type person struct {
	asked  chan turn.Elicitation
	answer chan turn.Fill
}

func newPerson() *person { return &person{make(chan turn.Elicitation, 20), make(chan turn.Fill, 20)} }

// ask is what [agent.RunToken.Ask] is.
func (p *person) ask(ctx context.Context, w turn.Elicitation) (turn.Fill, error) {
	p.asked <- w
	select {
	case f := <-p.answer:
		return f, nil
	case <-ctx.Done():
		return turn.Fill{}, ctx.Err()
	}
}

func accept(content string) turn.Fill {
	return turn.Fill{Action: turn.FillAccept, Content: json.RawMessage(content)}
}

type outcome struct {
	turn.Result
	err error
}

// runFor calls a tool for a person, in the background.
func runFor(t *testing.T, m *Servers, p *person, name, args string) <-chan outcome {
	t.Helper()
	return runIn(within(t), t, m, p, name, args)
}

func runIn(ctx context.Context, t *testing.T, m *Servers, p *person, name, args string) <-chan outcome {
	t.Helper()
	tok := token(t, spec(t, m, "files", name).Tool, args)
	done := make(chan outcome, 1)
	go func() {
		r, err := m.run(ctx, tok, p.ask, nil)
		done <- outcome{r, err}
	}()
	return done
}

func receive[T any](t *testing.T, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-within(t).Done():
		t.Fatal("no " + what)
	}
	return v
}

// legacyStart is start with every server pinned to the handshake of the older protocol.
func legacyStart(t *testing.T, log *logged, servers map[string]Server) *Servers {
	t.Helper()
	m, err := newServers(Config{Servers: servers, Log: log.logger()}, quick)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range m.byName {
		s.legacy.Store(true)
	}
	m.Start()
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// connOf is the connection in force of the only server.
func connOf(m *Servers) *conn {
	s := m.byName["files"]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// everyGeneration runs a test over each way in which servers ask: in their answers, and on the connection.
func everyGeneration(t *testing.T, f func(t *testing.T, m *Servers, l *mcpserver.Ledger, log *logged)) {
	for _, kind := range []string{"stdio", "stdio legacy", "http legacy", "http", "in-process"} {
		t.Run(kind, func(t *testing.T) {
			l, log := ledger(t), &logged{}
			s := mcpserver.New("tools", l)
			cfg := stdio(l)
			switch kind {
			case "http legacy":
				cfg = Server{URL: s.ServeHTTP(t, stateful...).URL}
			case "http":
				cfg = Server{URL: s.ServeHTTP(t).URL}
			case "in-process":
				cfg = Server{InProcess: s.InProcess}
			}
			start := func(servers map[string]Server) *Servers {
				m, err := newServers(Config{Servers: servers, Log: log.logger()}, quick)
				if err != nil {
					t.Fatal(err)
				}
				m.Start()
				t.Cleanup(func() { _ = m.Close() })
				return m
			}
			if kind == "stdio legacy" {
				start = func(servers map[string]Server) *Servers { return legacyStart(t, log, servers) }
			}
			m := start(map[string]Server{"files": cfg})
			list(t, m)
			if v := connOf(m).client.ProtocolVersion(); (v == "2026-07-28") == strings.Contains(kind, "legacy") {
				t.Fatalf("%s is not the generation that this is about", v)
			}
			f(t, m, l, log)
			if t.Failed() {
				t.Logf("log:\n%s", log)
			}
		})
	}
}

const branchForm = `{"params":{"message":"Which branch?","requestedSchema":{"type":"object","properties":{"branch":{"type":"string","title":"Branch"},"force":{"type":"boolean"}},"required":["branch"]}}}`

func TestAFormReachesThePersonAndTheAnswerTheServer(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, l *mcpserver.Ledger, _ *logged) {
		p := newPerson()
		for _, c := range []struct {
			fill turn.Fill
			want string
		}{
			{accept(`{"branch":"main","n":9007199254740993}`), `accept {"branch":"main","n":`},
			{accept(``), `accept {}`},
			{turn.Fill{Action: turn.FillDecline, Content: json.RawMessage(`{"branch":"main"}`)}, "decline null"},
			{turn.Fill{Action: turn.FillCancel}, "cancel null"},
			{turn.Fill{}, "cancel null"},
			{turn.Fill{Action: "approve", Content: json.RawMessage(`{}`)}, "cancel null"},
		} {
			p.answer <- c.fill
			got := receive(t, "outcome", runFor(t, m, p, "elicit", branchForm))
			if got.err != nil || got.IsError || !strings.HasPrefix(got.Text, c.want) {
				t.Errorf("%+v: %+v, want %s", c.fill, got, c.want)
			}
			w := receive(t, "question", p.asked)
			if w.Kind != turn.ElicitationForm || w.Message != "Which branch?" || len(w.Fields) != 2 || w.Fields[0].Name != "branch" || !w.Fields[0].Required || w.Fields[1].Type != "boolean" {
				t.Errorf("asked %+v", w)
			}
		}
		if n := l.Count("elicit", "did"); n != 6 {
			t.Errorf("it was done %d times", n)
		}
	})
}

func TestAnAddressReachesThePersonAndIsNeverFetched(t *testing.T) {
	var fetched atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	defer site.Close()
	everyGeneration(t, func(t *testing.T, m *Servers, _ *mcpserver.Ledger, _ *logged) {
		p := newPerson()
		for _, address := range []string{site.URL + "/login?state=a%20b&u=ana#x", "https://xn--pple-43d.com/login", "https://аpple.com"} {
			args, err := json.Marshal(map[string]string{"url": address})
			if err != nil {
				t.Fatal(err)
			}
			p.answer <- accept(`{"a":1}`)
			if got := receive(t, "outcome", runFor(t, m, p, "elicit_url", string(args))); got.Text != "accept null" {
				t.Errorf("%+v: an address has no content", got)
			}
			if w := receive(t, "question", p.asked); w.Kind != turn.ElicitationURL || w.URL != address || w.Message != "Sign in" {
				t.Errorf("asked %+v, want exactly %s", w, address)
			}
		}
	})
	if fetched.Load() > 0 {
		t.Error("the address was fetched")
	}
}

// Who cannot be asked did not agree.
func TestNobodyToAskIsACancel(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, _ *mcpserver.Ledger, log *logged) {
		r := must(t, m, "files", "elicit", branchForm)
		if r.Text != "cancel null" || !strings.Contains(log.String(), "nobody can be asked") {
			t.Errorf("%+v", r)
		}
	})
	m := start(t, map[string]Server{"files": {InProcess: mcpserver.New("x", ledger(t)).InProcess}})
	tok := token(t, spec(t, m, "files", "elicit").Tool, branchForm)
	r, err := m.run(within(t), tok, func(context.Context, turn.Elicitation) (turn.Fill, error) {
		return accept(`{"branch":"main"}`), errors.New("it broke")
	}, nil)
	if err != nil || r.Text != "cancel null" {
		t.Errorf("%+v, %v", r, err)
	}
}

// One person is not asked without end.
func TestAServerThatKeepsAskingIsNotHeard(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, _ *mcpserver.Ledger, _ *logged) {
		p := newPerson()
		for range maxElicitations {
			p.answer <- accept(`{"branch":"x"}`)
		}
		args := strings.Replace(branchForm, `{"params"`, `{"rounds":3,"params"`, 1)
		if got := receive(t, "outcome", runFor(t, m, p, "elicit", args)); got.err != nil || got.IsError || len(p.asked) != 3 {
			t.Errorf("three rounds: %+v after %d questions", got, len(p.asked))
		}
		p = newPerson()
		for range 20 {
			p.answer <- accept(`{"branch":"x"}`)
		}
		args = strings.Replace(branchForm, `{"params"`, `{"rounds":100,"params"`, 1)
		if got := receive(t, "outcome", runFor(t, m, p, "elicit", args)); got.err == nil && !got.IsError || len(p.asked) != maxElicitations {
			t.Errorf("a hundred rounds: %+v after %d questions", got, len(p.asked))
		}
	})
}

// The end of the call is the end of the question, and the other way round nobody hears a late answer.
func TestTheWaitEndsWithTheCall(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, l *mcpserver.Ledger, _ *logged) {
		p, ended := newPerson(), make(chan struct{})
		ask := func(ctx context.Context, w turn.Elicitation) (turn.Fill, error) {
			defer close(ended)
			return p.ask(ctx, w)
		}
		ctx, stop := context.WithCancel(within(t))
		tok := token(t, spec(t, m, "files", "elicit").Tool, branchForm)
		done := make(chan outcome, 1)
		go func() { r, err := m.run(ctx, tok, ask, nil); done <- outcome{r, err} }()
		receive(t, "question", p.asked)
		stop()
		unfinished(t, receive(t, "outcome", done), "elicit was cancelled while it ran")
		receive(t, "end of the wait", ended)
		p.answer <- accept(`{"branch":"main"}`)
		all, err := l.Effects()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if string(e.Args) != "null" {
				t.Errorf("the server has an answer: %s", e.Args)
			}
		}
	})
}

// unfinished fails the test unless the call ended while a person was asked. A server that asks in its answers has then
// ended it; of one that asks on the connection nobody knows.
func unfinished(t *testing.T, got outcome, words string) {
	t.Helper()
	if strings.Contains(t.Name(), "legacy") {
		unknown(t, got.err, words, "not known")
	} else if got.err != nil || !got.IsError || got.Text != "The tool stopped to ask for a person's answer. It did not get it, and did not finish." {
		t.Errorf("%+v", got)
	}
}

func TestAClosedConnectionEndsTheWait(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, _ *mcpserver.Ledger, _ *logged) {
		p := newPerson()
		done := runFor(t, m, p, "elicit", branchForm)
		receive(t, "question", p.asked)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		got := receive(t, "outcome", done)
		if got.err == nil && got.Text == "cancel null" {
			return // its server heard in time that nobody answers, and went on
		}
		unfinished(t, got, "")
	})
}

// The server's time does not run while a person thinks; it runs before and after.
func TestAPersonTakesLongerThanTheServerMay(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, l *mcpserver.Ledger, _ *logged) {
		p := newPerson()
		clocks := make(chan *clock, 1)
		tok := token(t, spec(t, m, "files", "elicit").Tool, branchForm)
		done := make(chan outcome, 1)
		ctx := within(t)
		go func() {
			r, err := m.run(ctx, tok, func(ctx context.Context, w turn.Elicitation) (turn.Fill, error) {
				clocks <- clockOf(t, m)
				return p.ask(ctx, w)
			}, nil)
			done <- outcome{r, err}
		}()
		k := receive(t, "clock", clocks)
		k.mu.Lock()
		if k.pauses != 1 || k.timer.Stop() {
			t.Errorf("the clock runs while a person is asked (%d pauses)", k.pauses)
		}
		k.mu.Unlock()
		p.answer <- accept(`{"branch":"main"}`)
		if got := receive(t, "outcome", done); got.err != nil || got.IsError {
			t.Errorf("%+v", got)
		}
	})
}

// clockOf is the clock of the only call that runs.
func clockOf(t *testing.T, m *Servers) *clock {
	c := connOf(m)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.runs {
		return r.clock
	}
	t.Error("no call runs")
	return &clock{}
}

var _ askFunc = agent.RunToken{}.Ask

// A server that would ask the model learns that there is no such thing, and nobody is bothered.
func TestNoServerAsksTheModel(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, l *mcpserver.Ledger, _ *logged) {
		p := newPerson()
		p.answer <- accept("")
		got := receive(t, "outcome", runFor(t, m, p, "sample", `{"params":{"messages":[{"role":"user","content":{"type":"text","text":"Sum it up"}}],"maxTokens":100}}`))
		if got.err != nil || !got.IsError || len(p.asked) > 0 || l.Count("sample", "did") != 0 {
			t.Errorf("%+v after %d questions", got, len(p.asked))
		}
	})
}
