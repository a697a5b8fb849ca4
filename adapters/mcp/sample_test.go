package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// parrot is a model that says what it was asked.
func parrot(_ context.Context, q Sampling) (Sampled, error) {
	said := q.System
	for _, m := range q.Messages {
		said += "|" + m.Text
		if m.Text == "break" {
			return Sampled{}, errors.New("the model's own secret trouble")
		}
	}
	return Sampled{Text: said, Model: "parrot-1", Cut: q.MaxTokens == maxTokens}, nil
}

const samplePrompt = `{"params":{"messages":[{"role":"user","content":{"type":"text","text":"Sum it up"}},{"role":"assistant","content":[{"type":"text","text":"What?"}]}],"systemPrompt":"Be brief","maxTokens":100,"temperature":0.5}}`

func TestAServerAsksTheModelOnceAPersonAllowsIt(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, l *mcpserver.Ledger, _ *logged) {
		p := newPerson()
		p.answer <- accept("")
		got := receive(t, "outcome", runFor(t, m, p, "sample", samplePrompt))
		if got.err != nil || !strings.Contains(got.Text, "parrot-1: ") || !strings.Contains(got.Text, "Be brief|Sum it up|What?") || !strings.Contains(got.Text, "endTurn") {
			t.Errorf("%+v", got)
		}
		w := receive(t, "question", p.asked)
		const whole = `{"maxTokens":100,"messages":[{"content":{"text":"Sum it up","type":"text"},"role":"user"},{"content":[{"text":"What?","type":"text"}],"role":"assistant"}],"systemPrompt":"Be brief","temperature":0.5}`
		if w.Kind != turn.WantSample || string(w.Prompt) != whole {
			t.Errorf("asked %s %s, want the whole of it", w.Kind, w.Prompt)
		}
		// What asks for too much gets the most there is.
		p.answer <- accept("")
		if got := receive(t, "outcome", runFor(t, m, p, "sample", strings.Replace(samplePrompt, "100", "1000000", 1))); got.err != nil || !strings.Contains(got.Text, "maxTokens") {
			t.Errorf("%+v", got)
		}
	})
}

func TestARejectedQuestionIsNotPutToTheModel(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, l *mcpserver.Ledger, _ *logged) {
		for _, f := range []turn.Fill{{Action: turn.FillDecline}, {Action: turn.FillCancel}, {}} {
			p := newPerson()
			p.answer <- f
			got := receive(t, "outcome", runFor(t, m, p, "sample", samplePrompt))
			if got.err != nil || !got.IsError || strings.Contains(got.Text, "parrot") || !strings.Contains(got.Text, "the user rejected the sampling request") {
				t.Errorf("%+v: %+v", f, got)
			}
		}
		if n := l.Count("sample", "did"); n != 0 {
			t.Errorf("the server was answered %d times", n)
		}
	})
}

func TestWhatTheModelIsNotAsked(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, _ *mcpserver.Ledger, log *logged) {
		with := func(old, new string) string { return strings.Replace(samplePrompt, old, new, 1) }
		for name, args := range map[string]string{
			"picture":     with(`{"type":"text","text":"Sum it up"}`, `{"type":"image","data":"aGk=","mimeType":"image/png"}`),
			"mixed":       with(`[{"type":"text","text":"What?"}]`, `[{"type":"text","text":"What?"},{"type":"audio","data":"aGk=","mimeType":"audio/wav"}]`),
			"tools":       with(`"systemPrompt"`, `"tools":[{"name":"x","inputSchema":{"type":"object"}}],"systemPrompt"`),
			"context":     with(`"systemPrompt"`, `"includeContext":"allServers","systemPrompt"`),
			"no messages": with(`{"role":"user","content":{"type":"text","text":"Sum it up"}},{"role":"assistant","content":[{"type":"text","text":"What?"}]}`, ``),
			"another":     with(`"role":"user"`, `"role":"system"`),
			"empty":       with("Sum it up", " "),
			"no tokens":   with(`"maxTokens":100`, `"maxTokens":0`),
			"too long":    with("Sum it up", strings.Repeat("a", maxPrompt)),
		} {
			p := newPerson()
			p.answer <- accept("")
			got := receive(t, "outcome", runFor(t, m, p, "sample", args))
			if got.err != nil || !got.IsError || len(p.asked) > 0 {
				t.Errorf("%s: %+v after %d questions", name, got, len(p.asked))
			}
		}
		p := newPerson()
		p.answer <- accept("")
		got := receive(t, "outcome", runFor(t, m, p, "sample", with("Sum it up", "break")))
		if got.err != nil || !got.IsError || strings.Contains(got.Text, "secret trouble") || !strings.Contains(log.String(), "secret trouble") {
			t.Errorf("a model that fails: %+v", got)
		}
	})
}

// Without the operator's word the server learns that there is no such thing, and nobody is bothered.
func TestSamplingIsRefusedUnlessConfigured(t *testing.T) {
	for kind, opts := range map[string]func(*testing.T, *mcpserver.Server) Server{
		"http":        func(t *testing.T, s *mcpserver.Server) Server { return Server{URL: s.ServeHTTP(t).URL} },
		"http legacy": func(t *testing.T, s *mcpserver.Server) Server { return Server{URL: s.ServeHTTP(t, stateful...).URL} },
	} {
		t.Run(kind, func(t *testing.T) {
			l := ledger(t)
			m, err := newServers(Config{Servers: map[string]Server{"files": opts(t, mcpserver.New("x", l))}, Sample: parrot}, quick)
			if err != nil {
				t.Fatal(err)
			}
			m.Start()
			t.Cleanup(func() { _ = m.Close() })
			p := newPerson()
			p.answer <- accept("")
			got := receive(t, "outcome", runFor(t, m, p, "sample", samplePrompt))
			if got.err != nil || !got.IsError || len(p.asked) > 0 || l.Count("sample", "did") != 0 {
				t.Errorf("%+v after %d questions", got, len(p.asked))
			}
		})
	}
	_, err := New(Config{Servers: map[string]Server{"a": {URL: "http://x", Sampling: true}}})
	if err == nil || !strings.Contains(err.Error(), "mcp.servers.a.sampling") {
		t.Errorf("sampling without a model: %v", err)
	}
}
