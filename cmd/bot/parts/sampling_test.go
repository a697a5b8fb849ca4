package parts

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

// echo is a model that streams a text and then replies with it, or fails.
type echo struct {
	deltas []string
	reply  agent.Reply
	err    error
	talk   []turn.Utterance
	tools  int
	ended  bool
}

func (e *echo) Name() string { return "echo-1" }

func (e *echo) Reply(ctx context.Context, talk []turn.Utterance, tools []agent.ToolSpec, stream func(agent.Delta)) (agent.Reply, error) {
	e.talk, e.tools = talk, len(tools)
	for _, d := range e.deltas {
		if stream(agent.Delta{Text: d}); ctx.Err() != nil {
			e.ended = true
			return agent.Reply{}, ctx.Err()
		}
	}
	return e.reply, e.err
}

func TestSamplingAsksTheModelOnce(t *testing.T) {
	q := mcp.Sampling{System: "Be brief", Messages: []mcp.SamplingMessage{{Text: "Sum it up"}, {Assistant: true, Text: "What?"}}, MaxTokens: 5}
	for name, c := range map[string]struct {
		model echo
		want  mcp.Sampled
		err   string
	}{
		"an answer":      {echo{deltas: []string{"do", "ne"}, reply: agent.Reply{Text: "done"}}, mcp.Sampled{Text: "done", Model: "echo-1"}, ""},
		"too long":       {echo{deltas: []string{strings.Repeat("a", 19), "éé", "never"}}, mcp.Sampled{Text: strings.Repeat("a", 19), Model: "echo-1", Cut: true}, ""},
		"long at once":   {echo{reply: agent.Reply{Text: strings.Repeat("a", 19) + "é"}}, mcp.Sampled{Text: strings.Repeat("a", 19), Model: "echo-1", Cut: true}, ""},
		"a failure":      {echo{err: errors.New("overloaded")}, mcp.Sampled{}, "overloaded"},
		"half an answer": {echo{reply: agent.Reply{Text: "do", Cut: true}}, mcp.Sampled{}, "broke off"},
		"only calls":     {echo{reply: agent.Reply{Text: " ", Calls: []agent.ReplyCall{{Name: "x"}}}}, mcp.Sampled{}, "no text"},
	} {
		got, err := sampling(&c.model)(t.Context(), q)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		want := []turn.Utterance{{Role: turn.RoleUser, Text: "Instructions for your answer:\nBe brief"}, {Role: turn.RoleUser, Text: "Sum it up"}, {Role: turn.RoleAssistant, Text: "What?"}}
		if !reflect.DeepEqual(c.model.talk, want) || c.model.tools != 0 {
			t.Errorf("%s: the model read %+v with %d tools", name, c.model.talk, c.model.tools)
		}
		if c.model.ended != (name == "too long") {
			t.Errorf("%s: the reply was ended: %v", name, c.model.ended)
		}
	}
}

func TestSamplingOnlyWhereConfigured(t *testing.T) {
	var c config.Config
	c.MCP.Servers = map[string]config.Server{"a": {}}
	log := slog.New(slog.DiscardHandler)
	if f, err := openSampling(c, log); f != nil || err != nil {
		t.Errorf("a model for nobody: %v", err)
	}
	c.MCP.Servers["b"] = config.Server{Sampling: true}
	if f, err := openSampling(c, log); f == nil || err != nil {
		t.Errorf("no model: %v", err)
	}
}
