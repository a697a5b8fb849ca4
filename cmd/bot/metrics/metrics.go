// Package metrics counts what this process does, and serves it to Prometheus with Go's own profiles beside it. What it counts of approvals, calls,
// turns and settings is also a line each in the process's log.
//
// [Metrics] lies around the ports of the engine: [Metrics.Store] around the log, [Metrics.Tools], [Metrics.Model], and [Metrics.Client] around
// the HTTP client of a chat platform. The engine knows nothing of it. What happened is read off the events that this process recorded, so
// several replicas together count each thing once, and one of them writes its line. No label holds a person, a chat, or anything that a model or a
// person wrote; a line names chat, tool and person by their ids, and holds nothing else of those: what was said and wanted stands in the audit.
//
// A new number is a line in one of those four, and in docs/metrics.md, which a test holds against what is served. It may import core and state.
package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"path"
	"strconv"
	"strings"
	"time"

	vm "github.com/VictoriaMetrics/metrics"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
)

// kept is how many questions and calls are remembered, to tell how long people took and what for.
const kept = 10_000

// Metrics are a process's numbers. All methods are safe for concurrent use.
type Metrics struct {
	set   *vm.Set
	asked *lru.Cache[turn.AskID, question]
	tools *lru.Cache[turn.CallID, string]
	store *state.Store
	log   *slog.Logger

	surfaces map[string]agent.Platform
}

// question is what is remembered of one, on whatever replica it was recorded.
type question struct {
	at   time.Time
	tool string // "" where the call is too old to be remembered
}

// New begins at zero. version is told with the numbers.
func New(version string, log *slog.Logger) *Metrics {
	asked, _ := lru.New[turn.AskID, question](kept) // it fails for no size only
	tools, _ := lru.New[turn.CallID, string](kept)
	vm.ExposeMetadata(true) // what has no type some collectors leave out
	m := &Metrics{set: vm.NewSet(), asked: asked, tools: tools, log: log}
	m.set.NewCounter("nod_unknown_total") // at zero: of one that appears with its first run Prometheus sees no increase
	m.set.NewGauge(name("nod_build_info", "version", version), func() float64 { return 1 })
	return m
}

// name is a metric with its labels, given in pairs.
func name(metric string, labels ...string) string {
	if len(labels) == 0 {
		return metric
	}
	var all []string
	for i := 0; i+1 < len(labels); i += 2 {
		all = append(all, labels[i]+"="+strconv.Quote(labels[i+1]))
	}
	return metric + "{" + strings.Join(all, ",") + "}"
}

func (m *Metrics) count(metric string, labels ...string) {
	m.set.GetOrCreateCounter(name(metric, labels...)).Inc()
}

func (m *Metrics) took(began time.Time, metric string, labels ...string) {
	m.observe(time.Since(began), metric, labels...)
}

// The bounds of histograms, in seconds: what a machine does, and what a person does.
var (
	machine = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	person  = []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600}
)

func (m *Metrics) observe(d time.Duration, metric string, labels ...string) {
	bounds := machine
	if metric == "nod_decide_seconds" {
		bounds = person
	}
	m.set.GetOrCreatePrometheusHistogramExt(name(metric, labels...), bounds).Update(d.Seconds())
}

// Store is the store, with its appends looked at.
type Store struct {
	*state.Store
	m *Metrics
}

// Store looks at what is recorded through it. How many chats wait for a person is asked of s whenever the numbers are, of
// each of the surfaces.
func (m *Metrics) Store(s *state.Store, surfaces map[string]agent.Platform) Store {
	m.store, m.surfaces = s, surfaces
	return Store{s, m}
}

// Append implements [agent.Log].
func (s Store) Append(ctx context.Context, w agent.Write) (agent.Written, error) {
	began := time.Now()
	got, err := s.Store.Append(ctx, w)
	s.m.took(began, "nod_append_seconds")
	switch {
	case errors.Is(err, agent.ErrStale):
		s.m.count("nod_append_failures_total", "why", "stale")
	case errors.Is(err, agent.ErrFenced):
		s.m.count("nod_append_failures_total", "why", "fenced")
	case errors.Is(err, agent.ErrNotDurable):
		s.m.count("nod_append_failures_total", "why", "not_durable")
	case err != nil:
		s.m.count("nod_append_failures_total", "why", "other")
	}
	for _, e := range got.Entries {
		switch ev := e.Event.(type) {
		case turn.Replied:
			for _, p := range ev.Calls {
				s.m.tools.Add(p.ID, named(p.Tool))
			}
		case turn.Ruled:
			tool, _ := s.m.tools.Get(ev.Call)
			s.m.asked.Add(ev.Ask, question{e.At, tool})
		default: // nothing that is asked about later
		}
	}
	if err == nil && !got.Repeated {
		for _, k := range w.Events {
			s.m.recorded(ctx, w.Chat, k.Event)
		}
	}
	return got, err
}

func named(t permission.Tool) string { return t.Server + "/" + t.Name }

// recorded counts and tells what an event says happened: what people decided and what it came to at Info, each step at Debug.
func (m *Metrics) recorded(ctx context.Context, id chat.ID, ev turn.Event) {
	tell := func(level slog.Level, what string, more ...any) {
		m.log.Log(ctx, level, what, append([]any{"chat", id.String()}, more...)...)
	}
	switch ev := ev.(type) {
	case turn.Said:
		m.count("nod_messages_total", "surface", id.Platform)
		tell(slog.LevelDebug, "message taken", "by", who(ev.By))
	case turn.Ended:
		m.count("nod_turns_total", "surface", id.Platform, "why", string(ev.Why))
		tell(slog.LevelInfo, "turn over", "why", string(ev.Why))
	case turn.Ruled:
		m.count("nod_rulings_total", "verdict", ev.Ruling.Verdict.String())
		q, _ := m.asked.Get(ev.Ask)
		level := slog.LevelInfo
		if ev.Ruling.Verdict == permission.Allow {
			level = slog.LevelDebug
		}
		tell(level, "call ruled", "verdict", ev.Ruling.Verdict.String(), "tool", q.tool, "rule", ev.Ruling.Winner())
	case turn.Decided:
		m.count("nod_decisions_total", "surface", ev.Surface, "choice", string(ev.Choice))
		q, known := m.asked.Get(ev.Ask)
		if known {
			m.observe(time.Since(q.at), "nod_decide_seconds", "surface", ev.Surface)
		}
		tell(slog.LevelInfo, "call decided", "choice", string(ev.Choice), "tool", q.tool, "by", who(ev.By), "surface", ev.Surface)
	case turn.Expired:
		m.count("nod_expired_total", "surface", id.Platform)
		q, _ := m.asked.Get(ev.Ask)
		tell(slog.LevelInfo, "question expired", "tool", q.tool)
	case turn.Abandoned:
		m.count("nod_unknown_total")
		tool, _ := m.tools.Get(ev.Call)
		tell(slog.LevelWarn, "nobody knows how a call ended", "tool", tool)
	case turn.Rated:
		m.count("nod_ratings_total", "good", strconv.FormatBool(ev.Good))
	case turn.StopAsked:
		tell(slog.LevelInfo, "turn stopped", "by", who(ev.By))
	case turn.ModeSet:
		tell(slog.LevelInfo, "mode set", "mode", ev.Mode.String(), "by", who(ev.By))
	case turn.Revoked:
		tell(slog.LevelInfo, "grants revoked", "grants", len(ev.Grants), "by", who(ev.By))
	case turn.Changed:
		for _, c := range ev.Changes {
			m.log.Info("setting changed", "change", permission.Brief(c), "by", who(ev.By), "surface", ev.Surface)
		}
	default: // a step between these
	}
}

// who is a person, or nod by itself.
func who(by chat.User) string {
	if by.IsZero() {
		return "nod"
	}
	return by.String()
}

// Tools looks at the calls of tools.
func (m *Metrics) Tools(next agent.Tools) agent.Tools { return tools{next, m} }

type tools struct {
	agent.Tools
	m *Metrics
}

// Call implements [agent.Tools].
func (t tools) Call(ctx context.Context, token agent.RunToken, progress func(turn.Progress)) (turn.Result, error) {
	began := time.Now()
	got, err := t.Tools.Call(ctx, token, progress)
	result := "ok"
	switch {
	case errors.Is(err, agent.ErrNotRun):
		result = "not_run"
	case err != nil:
		result = "unknown"
	case got.IsError:
		result = "error"
	}
	call, _ := token.Call()
	server := call.Tool.Server
	t.m.count("nod_tool_calls_total", "server", server, "result", result)
	t.m.took(began, "nod_tool_call_seconds", "server", server)
	t.m.log.Info("tool called", "chat", token.Chat().String(), "tool", named(call.Tool), "result", result, "took", time.Since(began).Round(time.Millisecond))
	return got, err
}

// Model looks at the replies of a model.
func (m *Metrics) Model(next agent.Model) agent.Model { return model{next, m} }

type model struct {
	agent.Model
	m *Metrics
}

// Reply implements [agent.Model].
func (l model) Reply(ctx context.Context, talk []turn.Utterance, specs []agent.ToolSpec, stream func(agent.Delta)) (agent.Reply, error) {
	began, first := time.Now(), false
	got, err := l.Model.Reply(ctx, talk, specs, func(d agent.Delta) {
		if !first && d.Text != "" {
			first = true
			l.m.took(began, "nod_model_first_text_seconds")
		}
		stream(d)
	})
	result := "ok"
	switch {
	case err != nil && ctx.Err() != nil:
		result = "stopped"
	case err != nil:
		result = "failed"
	case got.Cut:
		result = "cut"
	}
	l.m.count("nod_model_replies_total", "result", result)
	l.m.took(began, "nod_model_reply_seconds")
	l.m.log.Debug("the model answered", "result", result, "took", time.Since(began).Round(time.Millisecond))
	for direction, n := range map[string]int{"in": got.Usage.Input, "out": got.Usage.Output, "cached": got.Usage.Cached} {
		l.m.set.GetOrCreateCounter(name("nod_model_tokens_total", "direction", direction)).Add(n)
	}
	return got, err
}

// Client is the client with its requests counted: to is the platform's name. The method is the last part of Slack's paths; Discord's hold
// ids, so there it is HTTP's.
func (m *Metrics) Client(to string, c *http.Client) *http.Client {
	looked := *c
	next := cmp.Or(c.Transport, http.DefaultTransport)
	looked.Transport = transport{next, m, to}
	return &looked
}

type transport struct {
	http.RoundTripper
	m  *Metrics
	to string
}

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	method := r.Method
	if last := path.Base(r.URL.Path); t.to == "slack" && strings.Contains(last, ".") && strings.Contains(r.URL.Path, "/api/") {
		method = last
	}
	began := time.Now()
	res, err := t.RoundTripper.RoundTrip(r)
	t.m.took(began, "nod_platform_request_seconds", "platform", t.to)
	status := "none"
	if err == nil {
		status = strconv.Itoa(res.StatusCode)
	}
	t.m.count("nod_platform_requests_total", "platform", t.to, "method", method, "status", status)
	return res, err
}

// waitingWithin bounds the look at what waits.
const waitingWithin = 5 * time.Second

// Handler serves GET /metrics and, to this machine alone, Go's profiles.
func (m *Metrics) Handler(local bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.write(r.Context(), w)
	})
	if local {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	}
	return mux
}

func (m *Metrics) write(ctx context.Context, w io.Writer) {
	m.set.WritePrometheus(w)
	if m.store != nil {
		ctx, cancel := context.WithTimeout(ctx, waitingWithin)
		defer cancel()
		if waiting, err := m.store.Asking(ctx, nil); err == nil { // where Redis is down, the number is missing, not wrong
			byPlatform := map[string]int{}
			for p := range m.surfaces { // where nothing waits that is said, too
				byPlatform[p] = 0
			}
			for _, id := range waiting {
				byPlatform[id.Platform]++
			}
			vm.WriteMetadataIfNeeded(w, "nod_chats_waiting", "gauge")
			for p, n := range byPlatform {
				fmt.Fprintf(w, "%s %d\n", name("nod_chats_waiting", "surface", p), n)
			}
		}
	}
	vm.WriteProcessMetrics(w)
}
