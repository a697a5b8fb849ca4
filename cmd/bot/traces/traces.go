// Package traces tells an OpenTelemetry collector what becomes of each turn: one trace, whichever replicas had a part in it.
//
// Nothing is stored for that. A trace's id, and that of the span which stands for the turn itself, follow from the chat and the turn, so whoever
// does something for a turn adds to the same trace; how the sampler judges follows from the id. The turn's own span comes from whoever ends it, and
// a person's wait from whoever records its end: both as the log has them. Calls of the model and of tools are watched around their ports, as
// package metrics does it, and what no log holds comes from the engine ([agent.Tracer]).
//
// No attribute holds a person, a chat, an argument or any text: a test looks for them. Off, there is no [Traces] and nothing lies around anything.
// export.go has the way to the collector. It may import core.
package traces

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// driven is how many turns are remembered that this process did something for.
const driven = 10_000

// Traces follow the turns of a process. All methods are safe for concurrent use.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	driven   *lru.Cache[trace.TraceID, struct{}]
}

var _ agent.Tracer = (*Traces)(nil)

// Close hands over what there is, until ctx ends.
func (t *Traces) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

type rootKey struct{}

// ids names a turn's own span as its context says, and every other one by chance.
type ids struct{}

func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	root, _ := ctx.Value(rootKey{}).(trace.SpanContext)
	return root.TraceID(), root.SpanID()
}

func (ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// root begins a turn's own span.
func (t *Traces) root(id chat.ID, of turn.TurnID, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	h := sha256.Sum256([]byte(id.String() + "\n" + string(of)))
	root := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(h[:16]), SpanID: trace.SpanID(h[16:24])})
	return t.tracer.Start(context.WithValue(context.Background(), rootKey{}, root), "turn", opts...)
}

// start begins a span of a turn. The turn's own is never ended here: it only says whether the trace is wanted.
func (t *Traces) start(ctx context.Context, id chat.ID, of turn.TurnID, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	_, root := t.root(id, of)
	return t.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, root.SpanContext()), name, opts...)
}

// ended ends a span; went, where it is not empty, is how it failed.
func ended(s trace.Span, went string, opts ...trace.SpanEndOption) {
	if went != "" {
		s.SetAttributes(attribute.String("error.type", went))
		s.SetStatus(codes.Error, "")
	}
	s.End(opts...)
}

// Recorded implements [agent.Tracer].
func (t *Traces) Recorded(from, to turn.Session, entries []turn.Entry) {
	for _, e := range entries {
		asked := func(ask turn.AskID, choice, surface string) {
			for _, w := range turn.Waits(from) {
				if w.Ask == ask {
					t.waited(from, w, e.At, choice, surface)
				}
			}
		}
		switch ev := e.Event.(type) {
		case turn.Decided:
			asked(ev.Ask, string(ev.Choice), ev.Surface)
		case turn.Resolved:
			asked(ev.Ask, string(ev.Answer), "")
		case turn.Amended:
			asked(ev.Ask, "edit", "")
		case turn.Filled:
			asked(ev.Ask, ev.Fill.Action, "")
		case turn.Expired:
			asked(ev.Ask, "expired", "")
		case turn.StopAsked:
			for _, w := range turn.Waits(from) {
				asked(w.Ask, "stop", "")
			}
		case turn.Abandoned:
			if c := from.Turn.Call(ev.Call); !ev.Own && !c.StartedAt.IsZero() { // whoever ran it is not there to tell
				_, s := t.called(context.Background(), from.Chat, from.Turn.ID, c, c.StartedAt)
				ended(s, "unknown", trace.WithTimestamp(e.At))
			}
		case turn.Ended:
			if of := to.TurnOf(ev.Turn); of != nil {
				_, s := t.root(to.Chat, of.ID, trace.WithTimestamp(of.At), trace.WithAttributes(
					attribute.String("nod.surface", to.Chat.Platform), attribute.String("nod.end", string(ev.Why)), attribute.Int("nod.steps", of.Step)))
				s.End(trace.WithTimestamp(e.At))
			}
		default: // a step between these
		}
	}
}

// waited tells of one wait for people, from when they saw what they are asked.
func (t *Traces) waited(s turn.Session, w turn.Wait, until time.Time, choice, surface string) {
	began := w.Asked
	if w.Seen != nil {
		began = w.Seen.At
	}
	c := s.Turn.Call(w.Call)
	_, span := t.start(context.Background(), s.Chat, s.Turn.ID, "ask", trace.WithTimestamp(began), tool(c),
		trace.WithAttributes(attribute.String("nod.choice", choice), attribute.Bool("nod.seen", w.Seen != nil)))
	if surface != "" {
		span.SetAttributes(attribute.String("nod.surface", surface))
	}
	span.End(trace.WithTimestamp(until))
}

// Did implements [agent.Tracer].
func (t *Traces) Did(what agent.Action, id chat.ID, of turn.TurnID, began time.Time, err error) {
	_, s := t.start(context.Background(), id, of, string(what), trace.WithTimestamp(began))
	if what != agent.ActionTake { // whoever records a message need not be who drives its chat
		if ours, _ := t.driven.ContainsOrAdd(s.SpanContext().TraceID(), struct{}{}); ours && what == agent.ActionTakeOver {
			return
		}
	}
	went := ""
	if pe, ok := errors.AsType[*agent.PlatformError](err); ok {
		went = string(pe.Kind)
	} else if err != nil {
		went = "other"
	}
	ended(s, went)
}

// Tools looks at the calls of tools.
func (t *Traces) Tools(next agent.Tools) agent.Tools { return tools{next, t} }

type tools struct {
	agent.Tools
	t *Traces
}

func tool(c turn.ToolCall) trace.SpanStartEventOption {
	return trace.WithAttributes(attribute.String("nod.server", c.Tool.Server), attribute.String("gen_ai.tool.name", c.Tool.Name))
}

// called begins the span of a call: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/#execute-tool-span, as which those of MCP count, too.
func (t *Traces) called(ctx context.Context, id chat.ID, of turn.TurnID, c turn.ToolCall, began time.Time) (context.Context, trace.Span) {
	return t.start(ctx, id, of, "execute_tool "+c.Tool.Name, trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindClient), tool(c),
		trace.WithAttributes(attribute.String("gen_ai.operation.name", "execute_tool")))
}

// Call implements [agent.Tools].
func (x tools) Call(ctx context.Context, token agent.RunToken, progress func(turn.Progress)) (turn.Result, error) {
	id, of, _ := agent.TurnOf(ctx)
	c, _ := token.Call()
	ctx, s := x.t.called(ctx, id, of, c, time.Now())
	got, err := x.Tools.Call(ctx, token, progress)
	went := ""
	switch {
	case errors.Is(err, agent.ErrNotRun):
		went = "not_run"
	case err != nil:
		went = "unknown"
	case got.IsError:
		went = "tool_error"
	}
	ended(s, went)
	return got, err
}

// Model looks at the replies of a model.
func (t *Traces) Model(next agent.Model) agent.Model { return model{next, t} }

type model struct {
	agent.Model
	t *Traces
}

// Reply implements [agent.Model]. Its span is of the conventions for generative AI: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
func (l model) Reply(ctx context.Context, talk []turn.Utterance, specs []agent.ToolSpec, stream func(agent.Delta)) (agent.Reply, error) {
	id, of, _ := agent.TurnOf(ctx)
	ctx, s := l.t.start(ctx, id, of, "chat "+l.Name(), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", "openai"), attribute.String("gen_ai.request.model", l.Name())))
	got, err := l.Model.Reply(ctx, talk, specs, stream)
	s.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", got.Usage.Input), attribute.Int("gen_ai.usage.output_tokens", got.Usage.Output),
		attribute.Int("gen_ai.usage.cache_read.input_tokens", got.Usage.Cached))
	went := ""
	switch {
	case err != nil && ctx.Err() != nil:
		went = "stopped"
	case err != nil:
		went = "failed"
	case got.Cut:
		went = "cut"
	}
	ended(s, went)
	return got, err
}

// Mark tells whoever gets a request which span it belongs to.
func Mark(ctx context.Context, h http.Header) {
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
}
