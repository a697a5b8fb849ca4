package fakediscord

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/tests/standins/fakediscord/spec"
)

// Sizes of uploads. https://docs.discord.com/developers/reference#uploading-files
const (
	MaxFile    = 10 << 20
	MaxRequest = 25 << 20
)

// refusal is why a request is not granted. https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
type refusal struct {
	status  int
	code    int
	message string
	errors  obj
	wait    time.Duration // 429
	global  bool
	html    bool // of Cloudflare
	headers map[string]string
}

func no(status, code int, message string) (int, any, *refusal) {
	return 0, nil, &refusal{status: status, code: code, message: message}
}

// Errors that several methods give.
var (
	unknownChannel = refusal{status: 404, code: 10003, message: "Unknown Channel"}
	unknownMessage = refusal{status: 404, code: 10008, message: "Unknown Message"}
	missingAccess  = refusal{status: 403, code: 50001, message: "Missing Access"}
	notAllowed     = refusal{status: 403, code: 50013, message: "Missing Permissions"}
	archived       = refusal{status: 400, code: 50083, message: "Thread is archived"}
	locked         = refusal{status: 403, code: 160005, message: "Thread is locked"}
	unauthorized   = refusal{status: 401, message: "401: Unauthorized"}
)

func (r refusal) answer() (int, any, *refusal) { return 0, nil, &r }

// request is one call with its body read.
type request struct {
	http  *http.Request
	raw   []byte // the JSON that was sent
	v     any
	files map[string]upload // by field, files[n]
	size  int
	bad   *refusal
	call  *Call
}

type upload struct {
	name, kind string
	data       []byte
}

func (q *request) path(name string) string { return q.http.PathValue(name) }

func (q *request) body() obj {
	o, _ := q.v.(obj)
	return o
}

// read reads the body: JSON, or multipart with payload_json and files[n].
func (q *request) read(w http.ResponseWriter) {
	r := q.http
	body := http.MaxBytesReader(w, r.Body, MaxRequest)
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var err error
	switch kind {
	case "multipart/form-data":
		err = q.parts(multipart.NewReader(body, params["boundary"]))
	case "application/json":
		q.raw, err = io.ReadAll(body)
		q.size = len(q.raw)
	default: // https://docs.discord.com/developers/reference#http-api: the type must be set where there is a body
		if q.raw, err = io.ReadAll(body); err == nil && len(q.raw) > 0 {
			q.bad = &refusal{status: 400, code: 50035, message: "Invalid Form Body", errors: leaf("CONTENT_TYPE_INVALID", "Expected \"Content-Type\" header to be one of {'application/json'}.")}
			return
		}
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		q.bad = &refusal{status: 413, code: 40005, message: "Request entity too large"}
		return
	case err != nil:
		q.bad = &refusal{status: 400, code: 50109, message: "The request body contains invalid JSON."}
		return
	}
	for _, f := range q.files {
		if len(f.data) > MaxFile {
			q.bad = &refusal{status: 413, code: 40005, message: "Request entity too large"}
		}
	}
	if len(bytes.TrimSpace(q.raw)) == 0 {
		q.v = obj{}
		return
	}
	d := json.NewDecoder(bytes.NewReader(q.raw))
	d.UseNumber()
	if d.Decode(&q.v) != nil || d.More() {
		q.bad = &refusal{status: 400, code: 50109, message: "The request body contains invalid JSON."}
	}
}

func (q *request) parts(r *multipart.Reader) error {
	q.files = map[string]upload{}
	for {
		p, err := r.NextPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return err
		}
		q.size += len(data)
		switch name := p.FormName(); {
		case name == "payload_json":
			q.raw = data
		case strings.HasPrefix(name, "files["):
			q.files[name] = upload{p.FileName(), cmp.Or(p.Header.Get("Content-Type"), "application/octet-stream"), data}
			q.call.Files = append(q.call.Files, p.FileName())
		}
	}
}

// serve answers a call: its latency and its faults, whether it is let in, what its handler says, and the journal.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, method string, rt route) {
	call := Call{Method: method, Path: r.URL.Path, Channel: r.PathValue("channel"), Message: r.PathValue("message")}
	q := &request{http: r, call: &call}
	q.read(w)
	call.Bytes, call.Body = q.size, q.body()
	if s.opt.Latency != nil {
		s.sleep(s.opt.Latency(method))
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
	s.mu.Lock()
	h := http.Header{}
	status, answer, bad := s.admit(q, rt, h)
	if bad == nil {
		status, answer, bad = s.run(q, rt)
	}
	call.Done = bad == nil
	if bad != nil {
		status, answer = bad.status, bad.body()
		call.Code, call.Error = bad.code, bad.message
		bad.fill(h)
		s.invalid(bad)
	}
	call.Status = status
	if f != nil && f.CutAfter {
		call.Status = 0
	}
	s.record(call, bad) // before the answer: who has it finds the call in the journal
	s.mu.Unlock()
	if f != nil && f.CutAfter {
		cut(w, f.Reset)
	}
	if bad != nil && bad.html {
		page(w, status, h)
		return
	}
	s.compare(q, status, answer)
	respond(w, status, answer, h)
}

// compare tells [Options.Undescribed] what is not as Discord describes it.
func (s *Server) compare(q *request, status int, answer any) {
	if s.opt.Undescribed == nil || q.call.Method == "" {
		return
	}
	c := spec.Call{Method: q.http.Method, Path: q.http.URL.Path, Status: status}
	if json.Valid(q.raw) {
		c.Request = q.raw
	}
	if status != http.StatusNoContent {
		c.Answer, _ = json.Marshal(answer)
	}
	s.work.Go(func() { // beside: who waits for an answer would wait for schemas, too, for seconds on a busy machine
		described, err := spec.Discord()
		if err != nil {
			panic("fakediscord: Discord's description: " + err.Error())
		}
		for _, fault := range described.Faults(c) {
			s.opt.Undescribed(fault)
		}
	})
}

func (s *Server) run(q *request, rt route) (int, any, *refusal) {
	if q.bad != nil {
		return 0, nil, q.bad
	}
	if _, ok := q.v.(obj); rt.json && !ok && q.http.Method != http.MethodPut {
		return 0, nil, &refusal{status: 400, code: 50035, message: "Invalid Form Body", errors: leaf("DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")}
	}
	return rt.run(s, q)
}

// admit is what comes before the handler: bans, the token, rate limits. s.mu is held.
func (s *Server) admit(q *request, rt route, h http.Header) (int, any, *refusal) {
	if wait := s.banned(); wait > 0 {
		return 0, nil, &refusal{status: 429, message: "banned", html: true, wait: wait}
	}
	if !rt.open && (q.http.Header.Get("Authorization") != "Bot "+s.opt.Token || s.reset) {
		return unauthorized.answer()
	}
	if bad := s.limited(q, rt, h); bad != nil {
		return 0, nil, bad
	}
	return 0, nil, nil
}

func (r *refusal) body() obj {
	if r.status == http.StatusTooManyRequests {
		out := obj{"message": r.message, "retry_after": seconds(r.wait), "global": r.global}
		if r.code != 0 {
			out["code"] = r.code
		}
		return out
	}
	out := obj{"message": r.message, "code": r.code}
	if r.errors != nil {
		out["errors"] = r.errors
	}
	return out
}

func (r *refusal) fill(h http.Header) {
	for k, v := range r.headers {
		h.Set(k, v)
	}
	if r.wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int((r.wait+time.Second-1)/time.Second)))
	}
}

func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

func respond(w http.ResponseWriter, status int, answer any, h http.Header) {
	for k, v := range h {
		w.Header()[k] = v
	}
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // plain values
}

// page is what Cloudflare answers in front of the API.
func page(w http.ResponseWriter, status int, h http.Header) {
	for k, v := range h {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!DOCTYPE html>\n<html><head><title>Access denied | discord.com used Cloudflare to restrict access</title></head><body><h1>Error 1015</h1><p>You are being rate limited</p></body></html>\n")
}
