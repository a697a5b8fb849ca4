// Package fakellm is an OpenAI-compatible service for tests: Chat Completions, streamed or not, with parallel tool calls.
//
// It is strict where real services are: [Check] refuses a request in which a call lacks its one result, a name is not a
// name, or a field is unknown. It answers a script: the last person's words, in the scripted demo's phrases or as
// "call NAME {...}", become calls of the tools the request offers, and their results become words. [Server.Queue] puts raw
// answers (recorded bytes, error statuses) before the script.
//
// A [Server] is an [http.Handler] for httptest; cmd/fakellm runs it as a process of its own, with the same queue at POST /_fake/queue and the
// requests it saw at GET /_fake/requests.
package fakellm

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Raw is an answer given as it stands, in place of the script's.
type Raw struct {
	Status int               `json:"status,omitempty"` // 0 is 200
	Header map[string]string `json:"header,omitempty"` // the content type is text/event-stream unless given
	Body   string            `json:"body,omitempty"`
	// Cut drops the connection after Body.
	Cut bool `json:"cut,omitempty"`
	// Hang keeps the connection open after Body until the client goes away.
	Hang bool `json:"hang,omitempty"`
	// Unchecked skips Check for this request.
	Unchecked bool `json:"unchecked,omitempty"`
}

// Request is a request as it came.
type Request struct {
	Authorized bool            `json:"authorized"` // it carried the configured key
	Query      string          `json:"query,omitempty"`
	Body       json.RawMessage `json:"body"`
	Refused    string          `json:"refused,omitempty"` // why Check refused it
}

// Config is what a server needs; the zero value is a quick service without a key.
type Config struct {
	Key    string        // the bearer token required; empty: none is
	Delay  time.Duration // before each streamed piece
	Allow  []string      // unknown message and tool-call fields to take, for services with extras of their own
	Report bool          // report usage even when it is not asked for
	Strict Strict        // what it refuses beyond what every service does
}

// Server is the service. It is safe for concurrent use.
type Server struct {
	cfg Config

	mu    sync.Mutex
	queue []Raw
	seen  []Request
	calls int
}

// New makes a server.
func New(cfg Config) *Server { return &Server{cfg: cfg} }

// Queue puts raw answers before the script, one for each coming request.
func (s *Server) Queue(raw ...Raw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, raw...)
}

// Requests are the completions asked for so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// ServeHTTP serves any address that ends like the real ones.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == "/_fake/queue" && r.Method == http.MethodPost:
		var raw []Raw
		if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
			fail(w, http.StatusBadRequest, err.Error(), "")
			return
		}
		s.Queue(raw...)
		w.WriteHeader(http.StatusNoContent)
	case path == "/_fake/requests" && r.Method == http.MethodGet:
		write(w, s.Requests())
	case strings.HasSuffix(path, "/models") && r.Method == http.MethodGet:
		write(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": "fake", "object": "model", "created": 0, "owned_by": "tests"}}})
	case strings.HasSuffix(path, "/chat/completions") && r.Method == http.MethodPost:
		s.complete(w, r)
	default:
		fail(w, http.StatusNotFound, "Unknown request URL: "+r.Method+" "+path, "")
	}
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, err.Error(), "")
		return
	}
	seen := Request{Query: r.URL.RawQuery, Body: body, Authorized: s.cfg.Key == "" || r.Header.Get("Authorization") == "Bearer "+s.cfg.Key}
	if !json.Valid(body) {
		seen.Body = nil
	}
	req, refused := Check(body, s.cfg.Allow...)
	if refused == nil {
		refused = s.cfg.Strict.check(req)
	}
	if refused != nil {
		seen.Refused = refused.Error()
	}
	s.mu.Lock()
	s.seen = append(s.seen, seen)
	var raw *Raw
	if len(s.queue) > 0 {
		raw, s.queue = &s.queue[0], s.queue[1:]
	}
	s.mu.Unlock()

	switch {
	case !seen.Authorized:
		fail(w, http.StatusUnauthorized, "Incorrect API key provided: "+r.Header.Get("Authorization"), "")
	case refused != nil && (raw == nil || !raw.Unchecked):
		fail(w, http.StatusBadRequest, refused.Message, refused.Param)
	case raw != nil:
		replay(w, r, *raw)
	default:
		s.answer(w, r, req, answer(req))
	}
}

func replay(w http.ResponseWriter, r *http.Request, raw Raw) {
	w.Header().Set("Content-Type", "text/event-stream")
	for k, v := range raw.Header {
		w.Header().Set(k, v)
	}
	if raw.Status == 0 {
		raw.Status = http.StatusOK
	}
	w.WriteHeader(raw.Status)
	_, _ = io.WriteString(w, raw.Body) // the client may have gone
	_ = http.NewResponseController(w).Flush()
	if raw.Hang {
		<-r.Context().Done()
	}
	if raw.Cut {
		panic(http.ErrAbortHandler)
	}
}

// answer sends a reply in the form that was asked for.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, req Body, a reply) {
	s.mu.Lock()
	for i := range a.calls {
		s.calls++
		a.calls[i].ID, a.calls[i].Type = fmt.Sprintf("call_%04d", s.calls), "function"
	}
	s.mu.Unlock()
	finish := "stop"
	if len(a.calls) > 0 {
		finish = "tool_calls"
	}
	used := map[string]any{"prompt_tokens": len(req.raw)/4 + 1, "completion_tokens": len(a.text)/4 + 1, "total_tokens": len(req.raw)/4 + len(a.text)/4 + 2}
	base := map[string]any{"id": "chatcmpl-fake", "created": 1, "model": req.Model}
	with := func(more map[string]any) map[string]any {
		m := map[string]any{}
		for k, v := range base {
			m[k] = v
		}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	if !req.Stream {
		m := map[string]any{"role": "assistant", "content": a.text}
		if len(a.calls) > 0 {
			m["tool_calls"] = a.calls
		}
		write(w, with(map[string]any{"object": "chat.completion", "usage": used,
			"choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": finish}}}))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(v any) bool {
		if s.cfg.Delay > 0 {
			select {
			case <-time.After(s.cfg.Delay):
			case <-r.Context().Done():
				return false
			}
		}
		b, err := json.Marshal(v)
		if err != nil {
			return false
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", b); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	delta := func(d map[string]any, finish any) bool {
		return send(with(map[string]any{"object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}}))
	}
	if !delta(map[string]any{"role": "assistant", "content": ""}, nil) {
		return
	}
	for _, word := range strings.SplitAfter(a.text, " ") {
		if word != "" && !delta(map[string]any{"content": word}, nil) {
			return
		}
	}
	for i, c := range a.calls {
		first := map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Function.Name, "arguments": ""}}
		if !delta(map[string]any{"tool_calls": []any{first}}, nil) {
			return
		}
		for args := range slices.Chunk([]rune(c.Function.Arguments), 12) {
			if !delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": string(args)}}}}, nil) {
				return
			}
		}
	}
	if !delta(map[string]any{}, finish) {
		return
	}
	if s.cfg.Report || req.StreamOptions != nil && req.StreamOptions.IncludeUsage {
		if !send(with(map[string]any{"object": "chat.completion.chunk", "choices": []any{}, "usage": used})) {
			return
		}
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n") // the client may have gone
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

func fail(w http.ResponseWriter, status int, message, param string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	var p any
	if param != "" {
		p = param
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": p, "code": nil}})
}
