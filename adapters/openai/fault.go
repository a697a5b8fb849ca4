package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
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

const (
	always    = math.MaxInt
	sendAgain = "Send your message again to retry."
)

// kinds says of each kind what the log calls it, what people read (CODE is the fault's) and can do, and how many attempts may help.
var kinds = [...]struct {
	log, say, do string
	tries        int
}{
	refused: {log: "refused"},
	unreachable: {"unreachable", "The model's service could not be reached.",
		"Check that it runs and that model.base_url (OPENAI_BASE_URL) is right.", always},
	silent:  {"no answer", "The model's service sent an empty answer.", sendAgain, always},
	empty:   {"empty answer", "The model's service sent an empty answer.", sendAgain, 2}, // some models say nothing now and then
	broken:  {"answer broken off", "The model's service broke its answer off.", sendAgain, always},
	garbled: {"garbled answer", "The model's service sent something unreadable.", sendAgain, always},
	page: {"a web page instead of an answer", "The address of the model's service answers with a web page, not like a model's service.",
		"Check model.base_url (OPENAI_BASE_URL): it usually ends in /v1.", 0},
	filtered: {"stopped by the service", "The model's service stopped the answer before it began (CODE).",
		"Say it in other words, or begin a new chat.", 0},
	exhausted: {"stopped at its limit", "The model reached its output limit before it said anything (CODE).",
		"Ask for less at once, or let whoever runs the model's service raise the limit.", 0},
	idle:       {"no answer in time", "The model's service went silent.", sendAgain, 1}, // each takes minutes
	unsendable: {"the request could not be written", "The request to the model could not be written.", sendAgain, 0},
}

// fault is a failed attempt. It holds no request and no header, so no key but in said, which is redacted where it is made an error.
type fault struct {
	kind   kind
	status int
	code   string
	said   string        // the service's own words: untrusted, may quote the request
	after  time.Duration // how long the service wants to be left alone
	wait   bool          // after was given
}

func (f *fault) Error() string {
	s := kinds[f.kind].log
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
	switch {
	case f.kind != refused:
		return tries < kinds[f.kind].tries
	case f.code == "tool_use_failed": // Groq: the model wrote a call that could not be read
		return true
	case holdsAny(f.code, "quota", "billing"): // waiting does not pay the bill
		return false
	case slices.Contains([]int{0, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}, f.status):
		return true
	}
	return f.status >= 500 && f.status != http.StatusNotImplemented
}

// holdsAny reports whether s holds one of the words.
func holdsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// refusal reads an error from a body: {"error": {...}}, {"error": "..."}, {"message"}, {"detail"}, one of these in a list (Gemini), or plain text.
func refusal(body []byte, status int) *fault {
	f := &fault{status: status}
	root := gjson.ParseBytes(body)
	if root.IsArray() {
		root = root.Get("0")
	}
	e := root.Get("error")
	if !e.IsObject() {
		if e.Type == gjson.String {
			f.said = e.Str
		}
		e = root
	}
	for _, name := range []string{"message", "detail", "msg", "errors"} {
		f.said = cmp.Or(f.said, e.Get(name).String())
	}
	if p := e.Get("param").Str; !strings.Contains(f.said, p) {
		f.said += " (" + p + ")"
	}
	if s := strings.TrimSpace(string(body)); f.said == "" && !strings.HasPrefix(s, "<") { // no page
		f.said = s
	}
	f.said = clip(f.said, 500)
	for _, name := range []string{"code", "status", "type"} {
		v := e.Get(name)
		if n, err := strconv.Atoi(v.String()); err == nil {
			if status == 0 && n >= 400 && n < 600 {
				f.status = n
			}
		} else {
			f.code = cmp.Or(f.code, clip(v.Str, 60))
		}
	}
	return f
}

// retryAfter reads how long the service wants to be left alone.
func (f *fault) retryAfter(h http.Header, now time.Time) {
	set := func(d time.Duration) { f.after, f.wait = max(d, 0), true }
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms < math.MaxInt32 {
		set(time.Duration(ms * float64(time.Millisecond)))
	} else if s, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64); err == nil && s < math.MaxInt32 {
		set(time.Duration(s * float64(time.Second)))
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		set(at.Sub(now))
	}
}

// plainly says what happened, for people.
func (f *fault) plainly() string {
	switch {
	case f.kind != refused:
		return strings.Replace(kinds[f.kind].say, "CODE", f.code, 1)
	case f.status >= 500:
		return fmt.Sprintf("The model's service failed (%d).", f.status)
	case f.status == 0:
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
	switch {
	case f.kind != refused:
		return f.plainly() + certain + " " + kinds[f.kind].do
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		return fmt.Sprintf("The model's service did not accept the API key (%d).%s Check model.api_key (OPENAI_API_KEY).", f.status, certain)
	case f.mentions("quota", "billing") || f.status == http.StatusPaymentRequired:
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

func (f *fault) mentions(words ...string) bool {
	return holdsAny(strings.ToLower(f.code+" "+f.said), words...)
}

// tooLong reports whether the talk is more than the model takes.
func (f *fault) tooLong() bool {
	return f.kind == refused && (f.status == http.StatusRequestEntityTooLarge || f.mentions(
		"context_length", "context length", "maximum context", "context window", "context size", "prompt is too long", "too many tokens",
		"maximum number of tokens", "input token count"))
}

var keyShaped = regexp.MustCompile(`(?i)\b(?:sk|pk|rk|gsk|xai|hf|key|api|bearer|aiza)[-_ :=][A-Za-z0-9*._~+/=-]{6,}|\bAIza[A-Za-z0-9_-]{10,}|\beyJ[A-Za-z0-9_.-]{20,}`)

// redact takes the keys we know, and whatever looks like one, out of words that came from outside.
func redact(s string, secrets ...string) string {
	for _, k := range secrets {
		if k == "" {
			continue
		}
		inJSON, _ := json.Marshal(k) // a string always encodes
		s = strings.ReplaceAll(strings.ReplaceAll(s, k, "[redacted]"), strings.Trim(string(inJSON), `"`), "[redacted]")
	}
	return keyShaped.ReplaceAllString(s, "[redacted]")
}
