package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nodhq/nod/core/text"
)

// Limits of one request. A message of maxText bytes, every byte written as a \u escape, still fits maxBody.
const (
	maxText   = 64 << 10
	maxBody   = 6*maxText + 4<<10
	maxDrain  = 8 << 20 // of a body that is too large: read and dropped, so that the sender hears why
	maxReason = 500     // bytes of a reason for a denial
	maxName   = 80      // characters of a display name
	maxChats  = 1000    // lines of a person's list of chats

	// Each process counts for itself.
	beginRate, beginBurst = 50, 5000 // chats, of which each person has so many at most
)

// policyCSP: everything comes from us, nothing is inline, nobody frames us, and no script turns a string into markup (Trusted Types). The one
// policy, of assets/bell.js, makes the address of the worker.
const policyCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types worker"

var securityHeaders = map[string]string{
	"Content-Security-Policy":      policyCSP,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "same-origin", // not no-referrer: that would make browsers send "Origin: null" with our own forms
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), microphone=(), geolocation=()",
}

// guard stands before everything: whose name the request came under, and from which page.
func (s *Server) guard(next http.Handler) (http.Handler, error) {
	cross := http.NewCrossOriginProtection()
	for _, host := range s.Hosts { // where a proxy does not keep the name, the browser's is another than the request's
		if host = strings.TrimSpace(host); strings.Contains(host, ":") { // IPv6
			host = "[" + host + "]"
		}
		for _, scheme := range []string{"https://", "http://"} {
			if err := cross.AddTrustedOrigin(scheme + host); err != nil {
				return nil, fmt.Errorf("web: Config.Hosts: %w", err)
			}
		}
	}
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeProblem(w, badOrigin) }))
	next = cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range securityHeaders {
			h.Set(name, value)
		}
		if !s.ourHost(r.Host) {
			writeProblem(w, problem{Status: http.StatusForbidden, Code: "host_not_allowed",
				Message: "This host name is not one of the bot's. Open it under the address it listens on, or list the name under web.hosts in its configuration."})
			return
		}
		if !s.sessions.NeedsKey() && proxied(r) {
			writeProblem(w, problem{Status: http.StatusForbidden, Code: "proxy_needs_keys",
				Message: "This request came through a proxy, and without keys everybody whom it lets through could sign in. Set web.session_keys (and web.hosts) in the bot's configuration."})
			return
		}
		// CrossOriginProtection looks at what changes something. A read that names another page is refused too: nothing of ours sends one.
		if origin := r.Header.Get("Origin"); origin != "" && !s.ourOrigin(origin, r.Host) {
			writeProblem(w, badOrigin)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}

var badOrigin = problem{Status: http.StatusForbidden, Code: "origin_not_allowed", Message: "Another site sent this request. Use the bot's own page."}

func (s *Server) ourHost(hostport string) bool {
	host := hostOf(hostport)
	if s.loopback { // also with Hosts: a proxy that does not keep the name says ours
		return s.listedHost(host) || slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, host)
	}
	return s.listedHost(host) || len(s.Hosts) == 0
}

func (s *Server) listedHost(host string) bool {
	return slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), host) })
}

// ourOrigin reports whether a page of ours sent a request: one under the same name, or under one of Hosts where a proxy did not keep it.
func (s *Server) ourOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && (strings.EqualFold(u.Host, host) || s.listedHost(u.Hostname()))
}

// proxied reports whether a proxy passed a request on. nginx adds no header by itself, but speaks HTTP/1.0, which no browser does.
func proxied(r *http.Request) bool {
	for name := range r.Header {
		if slices.Contains([]string{"Forwarded", "Via", "X-Real-Ip"}, name) || strings.HasPrefix(name, "X-Forwarded-") {
			return true
		}
	}
	return !r.ProtoAtLeast(1, 1)
}

// readJSON reads a body into v. An empty body leaves v as it is, as an empty object would.
func readJSON(r *http.Request, v any) error {
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return tooSlow
	}
	if err != nil {
		return badRequest("The request broke off before its end.")
	}
	if len(b) > maxBody {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return tooLarge
	}
	if len(b) == 0 {
		return nil
	}
	// encoding/json would silently put U+FFFD for each broken byte: what is stored would not be what was sent.
	if !utf8.Valid(b) {
		return problem{Status: http.StatusBadRequest, Code: "invalid_utf8", Message: "The text is not valid UTF-8."}
	}
	err = json.Unmarshal(b, v)
	if err == nil {
		return nil
	}
	if own, ok := errors.AsType[problem](err); ok { // a form of ours that reads itself says it better
		return own
	}
	say := "The body is not the JSON object that is expected here."
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		say = fmt.Sprintf("The body is not valid JSON (at byte %d).", syntax.Offset)
	} else if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && kind.Field != "" {
		say = fmt.Sprintf("%q should not be a JSON %s.", kind.Field, kind.Value)
	}
	return badRequest(say)
}

var tooSlow = problem{Status: http.StatusRequestTimeout, Code: "too_slow", Message: "The body of this request did not arrive in time."}

var tooLarge = problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large",
	Message: "This message is too long: the bot takes up to 64 KiB (65,536 bytes) of text at once. Shorten it, or put it in a file that a tool can read."}

func badRequest(say string) error {
	return problem{Status: http.StatusBadRequest, Code: "bad_request", Message: say}
}

// cut shortens s to at most n bytes on a rune's border and drops control characters: for names and titles only.
func cut(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.TrimSpace(s))
	if len(s) <= n {
		return s
	}
	return strings.TrimSpace(text.HeadBytes(s, n-len("…"))) + "…"
}
