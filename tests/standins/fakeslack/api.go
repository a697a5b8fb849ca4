package fakeslack

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack/spec"
)

// values are the members of a request: of a form, or of a JSON object with what is not a string as JSON text.
type values = url.Values

// refusal is why a method says no.
type refusal struct {
	Error    string
	Messages []string       // response_metadata.messages
	Errors   []any          // errors
	More     map[string]any // further members of the answer
	faults   []fault        // the same as Messages, in pieces
	wait     time.Duration  // 429, and Retry-After
	status   int            // of HTTP, where it is not 200
}

func no(code string) (map[string]any, *refusal) { return nil, &refusal{Error: code} }

// method is one method of the Web API.
type method struct {
	scope string // that the token must have; several with "|": any of them
	app   bool   // it takes the app token, not the bot's
	run   func(*Server, values) (map[string]any, *refusal)
}

// maxBody is what a request may have. Slack states no limit; this is far above what the block limits allow.
const maxBody = 8 << 20

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", s.serveMethod)
	mux.HandleFunc("/link/", s.serveSocket)
	mux.HandleFunc("/actions/{id}/{secret}", s.serveResponse)
	mux.HandleFunc("/upload/{id}", s.serveUpload)
	mux.HandleFunc("/files-pri/{id}/{name}", s.serveFile)
	mux.HandleFunc("/files-pri/{id}/download/{name}", s.serveFile)
	mux.HandleFunc("GET /oauth/v2/authorize", s.serveAuthorize)
	s.openID(mux)
	return mux
}

func owned(path string) bool {
	for _, p := range []string{"/api/", "/link/", "/actions/", "/upload/", "/files-pri/", "/openid/", "/oauth/", "/.well-known/"} {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

func (s *Server) serveMethod(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("method")
	v, size, err := readValues(w, r)
	token := bearer(r, v)
	v.Del("token")
	s = s.owner(token)
	call := Call{Method: name, Bytes: size, Values: v}
	s.serve(w, call, func() (map[string]any, *refusal) {
		if err != nil {
			return no(err.Error())
		}
		m, ok := methods[name]
		if !ok {
			return nil, &refusal{Error: "unknown_method", More: map[string]any{"req_method": name}}
		}
		if scopes := s.scopes(token); scopes != nil { // https://docs.slack.dev/authentication/installing-with-oauth: with each answer
			w.Header().Set("X-OAuth-Scopes", strings.Join(scopes, ","))
		}
		if r := s.authorize(m, token); r != nil {
			return nil, r
		}
		if wait := s.limited(name, v.Get("channel")); wait > 0 {
			return nil, &refusal{Error: "ratelimited", wait: wait}
		}
		return m.run(s, v)
	})
}

// serve answers a call: its latency and its faults, what run says, and the journal.
func (s *Server) serve(w http.ResponseWriter, call Call, run func() (map[string]any, *refusal)) {
	if s.opt.Latency != nil {
		s.sleep(s.opt.Latency(call.Method))
	}
	f := s.FaultOf(call.Method, call)
	if f != nil && f.Hold != nil {
		select {
		case <-f.Hold:
		case <-s.ctx.Done():
		}
	}
	if f != nil && f.answers() {
		f.answer(s, w, call)
		return
	}
	answer, bad := run()
	call.Done = bad == nil
	s.flush()
	if f != nil && f.CutAfter {
		s.record(call)
		panic(http.ErrAbortHandler)
	}
	call.Status, call.Error = http.StatusOK, ""
	if bad != nil {
		call.Error = bad.Error
		call.Status = cmp.Or(bad.status, call.Status)
		if bad.wait > 0 {
			call.Status = http.StatusTooManyRequests
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(bad.wait.Seconds()))))
		}
		answer = bad.body()
	} else {
		answer["ok"] = true
	}
	s.record(call) // before the answer: who has it finds the call in the journal
	if s.opt.Undescribed != nil && bad == nil && call.Method != "upload" {
		cmp.Or(s.home, s).work.Go(func() { // beside: who waits for an answer would wait for schemas, too, for seconds on a busy machine
			for _, fault := range spec.Faults(call.Method, call.Values) {
				s.opt.Undescribed(fault)
			}
		})
	}
	respond(w, call.Status, answer)
}

// flush sends the events of what a call did.
func (s *Server) flush() {
	s.mu.Lock()
	events := s.outbox
	s.outbox = nil
	s.mu.Unlock()
	s.emit(events...)
}

func respond(w http.ResponseWriter, status int, answer map[string]any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(answer) // maps of plain values
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may have gone
}

func (r *refusal) body() map[string]any {
	out := map[string]any{"ok": false, "error": r.Error}
	for k, v := range r.More {
		out[k] = v
	}
	if len(r.Messages) > 0 {
		out["response_metadata"] = map[string]any{"messages": r.Messages}
	}
	if len(r.Errors) > 0 {
		out["errors"] = r.Errors
	}
	return out
}

// sleep waits by the server's clock.
func (s *Server) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	done := make(chan struct{})
	stop := s.clock.AfterFunc(d, func() { close(done) })
	defer stop()
	select {
	case <-done:
	case <-s.ctx.Done():
	}
}

func bearer(r *http.Request, v values) string {
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return t
	}
	return v.Get("token")
}

func (s *Server) authorize(m method, token string) *refusal {
	switch {
	case m.run == nil || m.scope == "none":
		return nil
	case token == "":
		return &refusal{Error: "not_authed"}
	case s.revoked(token) != "":
		return &refusal{Error: s.revoked(token)}
	case token != s.BotToken() && token != s.opt.AppToken:
		return &refusal{Error: "invalid_auth"}
	case m.app != (token == s.opt.AppToken):
		return &refusal{Error: "not_allowed_token_type"}
	}
	have := s.opt.Scopes
	if m.app {
		have = s.opt.AppScopes
	}
	if have == nil || m.scope == "" {
		return nil
	}
	for one := range strings.SplitSeq(m.scope, "|") {
		if slices.Contains(have, one) {
			return nil
		}
	}
	needed, _, _ := strings.Cut(m.scope, "|")
	return &refusal{Error: "missing_scope", More: map[string]any{"needed": needed, "provided": strings.Join(have, ",")}}
}

// scopes are what a token may do, where the options say so.
func (s *Server) scopes(token string) []string {
	switch token {
	case s.BotToken():
		return s.opt.Scopes
	case s.opt.AppToken:
		return s.opt.AppScopes
	}
	return nil
}

// readValues reads a form or a JSON object. The error is the code that Slack answers.
func readValues(w http.ResponseWriter, r *http.Request) (values, int, error) {
	v := r.URL.Query()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return v, len(body), errors.New("request_timeout")
	}
	if r.Method == http.MethodGet || len(body) == 0 {
		return v, len(body), nil
	}
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		var obj map[string]json.RawMessage
		if json.Unmarshal(body, &obj) != nil {
			return v, len(body), errors.New("invalid_json")
		}
		for k, raw := range obj {
			v.Set(k, plain(raw))
		}
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return v, len(body), errors.New("invalid_form_data")
		}
		for k, x := range form {
			v[k] = x
		}
	case "multipart/form-data":
		return v, len(body), readMultipart(v, body, params["boundary"])
	default:
		return v, len(body), errors.New("invalid_post_type")
	}
	return v, len(body), nil
}

// plain is a JSON string's value, any other JSON as its text, and nothing for null.
func plain(raw json.RawMessage) string {
	var str string
	if json.Unmarshal(raw, &str) == nil { // null leaves it empty
		return str
	}
	return string(raw)
}
