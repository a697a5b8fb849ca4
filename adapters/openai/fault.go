package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// kind is what went wrong, as far as the client does something else about it.
type kind uint8

const (
	refused     kind = iota // an error status, or an error in place of an answer
	unreachable             // no answer at all
	silent                  // no answer, though the service took the request
	empty                   // an answer that ended in order, with nothing in it
	broken                  // a stream that ended before it said anything whole
	garbled                 // not JSON where JSON belongs
	page                    // a web page: not a model's service
	filtered                // stopped by the service before it said anything
	exhausted               // the model used up what it may write before it said anything
	idle                    // nothing came for too long
	unsendable              // the request could not be written: ours to fix
)

// fault is a failed attempt. It holds strings only: no request and no header, so no key can be in it (said is redacted where it is made an error).
type fault struct {
	kind   kind
	status int
	code   string
	said   string        // the service's own words: untrusted, may quote the request
	after  time.Duration // how long the service wants to be left alone
	wait   bool          // after was given
}

func (f *fault) Error() string {
	s := [...]string{"refused", "unreachable", "no answer", "empty answer", "answer broken off", "garbled answer", "a web page instead of an answer", "stopped by the service", "stopped at its limit", "no answer in time", "the request could not be written"}[f.kind]
	if f.status != 0 {
		s += " (" + strconv.Itoa(f.status) + ")"
	}
	if f.code != "" {
		s += " " + f.code
	}
	if f.said != "" {
		s += ": " + f.said
	}
	return s
}

// again reports whether another attempt may help after so many.
func (f *fault) again(tries int) bool {
	switch f.kind {
	case unreachable, silent, broken, garbled:
		return true
	case idle:
		return tries == 0 // each takes minutes
	case empty:
		return tries < 2 // some models say nothing now and then; one that does so three times means it
	case refused:
		if f.code == "tool_use_failed" {
			return true // Groq: the model wrote a call that could not be read
		}
		if strings.Contains(f.code, "quota") || strings.Contains(f.code, "billing") {
			return false // waiting does not pay the bill
		}
		switch f.status {
		case 0, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
			return true
		}
		return f.status >= 500 && f.status != http.StatusNotImplemented
	}
	return false
}

// refusal reads an error from a body: {"error": {...}}, {"error": "..."}, {"message"}, {"detail"}, or plain text.
func refusal(body []byte, status int) *fault {
	f := &fault{status: status}
	root := gjson.ParseBytes(body)
	if !gjson.ValidBytes(body) || !root.IsObject() {
		if !looksLikePage(body) {
			f.said = clip(strings.TrimSpace(string(body)), 500)
		}
		return f
	}
	e := root.Get("error")
	if !e.IsObject() {
		if e.Type == gjson.String {
			f.said = e.Str
		}
		e = root
	}
	for _, name := range []string{"message", "detail", "msg", "errors"} {
		if v := e.Get(name); f.said == "" && v.Exists() {
			f.said = v.String()
		}
	}
	if p := e.Get("param"); p.Type == gjson.String && !strings.Contains(f.said, p.Str) {
		f.said += " (" + p.Str + ")"
	}
	if f.said == "" {
		f.said = string(body)
	}
	f.said = clip(f.said, 500)
	for _, name := range []string{"code", "status", "type"} {
		v := e.Get(name)
		if n, err := strconv.Atoi(v.String()); err == nil {
			if status == 0 && n >= 400 && n < 600 {
				f.status = n
			}
		} else if f.code == "" && v.Type == gjson.String {
			f.code = clip(v.Str, 60)
		}
	}
	return f
}

func looksLikePage(b []byte) bool {
	return strings.HasPrefix(strings.TrimSpace(string(b[:min(len(b), 200)])), "<")
}

// retryAfter reads how long the service wants to be left alone.
func (f *fault) retryAfter(h http.Header, now time.Time) {
	set := func(d time.Duration) { f.after, f.wait = max(d, 0), true }
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < math.MaxInt32 {
		set(time.Duration(ms * float64(time.Millisecond)))
	} else if s, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64); err == nil && s >= 0 && s < math.MaxInt32 {
		set(time.Duration(s * float64(time.Second)))
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		set(at.Sub(now))
	}
}

// plainly says what happened, for people.
func (f *fault) plainly() string {
	switch f.kind {
	case unreachable:
		return "The model's service could not be reached."
	case silent, empty:
		return "The model's service sent an empty answer."
	case broken:
		return "The model's service broke its answer off."
	case garbled:
		return "The model's service sent something unreadable."
	case page:
		return "The address of the model's service answers with a web page, not like a model's service."
	case filtered:
		return "The model's service stopped the answer before it began (" + f.code + ")."
	case exhausted:
		return "The model reached its output limit before it said anything (" + f.code + ")."
	case idle:
		return "The model's service went silent."
	case unsendable:
		return "The request to the model could not be written."
	}
	if f.status >= 500 {
		return fmt.Sprintf("The model's service failed (%d).", f.status)
	}
	if f.status == 0 {
		return "The model's service reported an error."
	}
	return fmt.Sprintf("The model's service refused the request (%d).", f.status)
}

const certain = " No tool was run in this step."

// sentence is plainly, with what is certain and what to do. model is the configured name.
func (f *fault) sentence(model string) string {
	said := ""
	if f.said != "" {
		said = " It said: “" + clip(strings.Join(strings.Fields(f.said), " "), 200) + "”"
	}
	low := strings.ToLower(f.code + " " + f.said)
	switch {
	case f.kind == page:
		return f.plainly() + certain + " Check model.base_url (OPENAI_BASE_URL): it usually ends in /v1."
	case f.kind == unreachable:
		return f.plainly() + certain + " Check that it runs and that model.base_url (OPENAI_BASE_URL) is right."
	case f.kind == filtered:
		return f.plainly() + certain + " Say it in other words, or begin a new chat."
	case f.kind == exhausted:
		return f.plainly() + certain + " Ask for less at once, or let whoever runs the model's service raise the limit."
	case f.kind != refused:
		return f.plainly() + certain + " Send your message again to retry."
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		return fmt.Sprintf("The model's service did not accept the API key (%d).%s Check model.api_key (OPENAI_API_KEY).", f.status, certain)
	case strings.Contains(low, "quota") || strings.Contains(low, "billing") || f.status == http.StatusPaymentRequired:
		return f.plainly() + certain + " The account's quota is used up; whoever runs this bot must look at it." + said
	case f.tooLong():
		return fmt.Sprintf("The conversation is too long for the model %s (%d).%s Begin a new chat, or set model.context_tokens so that older messages are left out.", model, f.status, certain)
	case f.status == http.StatusNotFound:
		return fmt.Sprintf("The model's service does not know the model %s, or not at this address (404).%s Check model.name (OPENAI_MODEL) and model.base_url (OPENAI_BASE_URL).%s", model, certain, said)
	case f.again(0):
		return f.plainly() + certain + " Send your message again later." + said
	}
	return f.plainly() + certain + said
}

// tooLong reports whether the talk is more than the model takes.
func (f *fault) tooLong() bool {
	if f.kind != refused {
		return false
	}
	if f.status == http.StatusRequestEntityTooLarge {
		return true
	}
	low := strings.ToLower(f.code + " " + f.said)
	for _, s := range []string{
		"context_length", "context length", "maximum context", "context window", "context size", "prompt is too long", "too many tokens",
		"maximum number of tokens", "input token count",
	} {
		if strings.Contains(low, s) {
			return true
		}
	}
	return false
}

var keyShaped = regexp.MustCompile(`(?i)\b(?:sk|pk|rk|gsk|xai|hf|key|api|bearer|aiza)[-_ :=][A-Za-z0-9*._~+/=-]{6,}|\bAIza[A-Za-z0-9_-]{10,}|\beyJ[A-Za-z0-9_.-]{20,}`)

// redact takes the keys we know, and whatever looks like one, out of words that came from outside.
func redact(s string, secrets ...string) string {
	for _, k := range secrets {
		if k == "" {
			continue
		}
		s = strings.ReplaceAll(s, k, "[redacted]")
		if b, err := json.Marshal(k); err == nil {
			s = strings.ReplaceAll(s, strings.Trim(string(b), `"`), "[redacted]")
		}
	}
	return keyShaped.ReplaceAllString(s, "[redacted]")
}
