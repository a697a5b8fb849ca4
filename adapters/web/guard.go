package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of one request. A message of maxText bytes, every byte written as a \u escape, still fits maxBody.
const (
	maxText   = 64 << 10
	maxBody   = 6*maxText + 4<<10
	maxDrain  = 8 << 20 // of a body that is too large: read and dropped, so that the sender hears why
	maxReason = 500     // bytes of a reason for a denial
	maxName   = 80      // bytes of a display name
)

// policyCSP: everything comes from us, nothing is inline, nobody frames us, and no script can turn a string into
// markup (Trusted Types), so a mistake in our own script cannot either.
const policyCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard stands before everything: whose name the request came under, and from which page.
func (s *Server) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeProblem(w, badOrigin) }))
	next = cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policyCSP)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		// Not no-referrer: that would make browsers send "Origin: null" with our own forms.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		if !s.ourHost(r.Host) {
			writeProblem(w, problem{Status: http.StatusForbidden, Code: "host_not_allowed",
				Message: "This host name is not one of the bot's. Open it under the address it listens on."})
			return
		}
		// CrossOriginProtection looks at requests that change something. A stream or a read that names another page is
		// refused too: nothing of ours ever sends one.
		if origin := r.Header.Get("Origin"); origin != "" && !sameOrigin(origin, r.Host) {
			writeProblem(w, badOrigin)
			return
		}
		next.ServeHTTP(w, r)
	})
}

var badOrigin = problem{Status: http.StatusForbidden, Code: "origin_not_allowed", Message: "Another site sent this request. Use the bot's own page."}

func (s *Server) ourHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	host = strings.ToLower(host)
	if slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), host) }) {
		return host != ""
	}
	if s.loopback {
		return host == "localhost" || host == "127.0.0.1" || host == "::1"
	}
	return len(s.Hosts) == 0
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}

// readJSON reads a body into v. An empty body leaves v as it is if optional.
func readJSON(r *http.Request, v any, optional bool) error {
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return problem{Status: http.StatusBadRequest, Code: "bad_request", Message: "The request broke off before its end."}
	}
	if len(b) > maxBody {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return tooLarge
	}
	if len(b) == 0 && optional {
		return nil
	}
	// encoding/json would silently put U+FFFD for each broken byte: what is stored would not be what was sent.
	if !utf8.Valid(b) {
		return problem{Status: http.StatusBadRequest, Code: "invalid_utf8", Message: "The text is not valid UTF-8."}
	}
	if err := json.Unmarshal(b, v); err != nil {
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		var own problem
		say := "The body is not the JSON object that is expected here."
		switch {
		case errors.As(err, &own): // a form of ours that reads itself says it better
			return own
		case errors.As(err, &syntax):
			say = fmt.Sprintf("The body is not valid JSON (at byte %d).", syntax.Offset)
		case errors.As(err, &kind) && kind.Field != "":
			say = fmt.Sprintf("%q should not be a JSON %s.", kind.Field, kind.Value)
		}
		return problem{Status: http.StatusBadRequest, Code: "bad_request", Message: say}
	}
	return nil
}

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
	s = s[:n-len("…")]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return strings.TrimSpace(s) + "…"
}
