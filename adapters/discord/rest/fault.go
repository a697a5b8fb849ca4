package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

// Refusal is what Discord answered instead of doing it. Its words are cleaned of secrets, and short.
type Refusal struct {
	Status int
	Code   int    // 0: the answer had none
	Say    string // empty: the answer is not in Discord's form
}

func (r *Refusal) Error() string {
	if r.Code == 0 {
		return fmt.Sprintf("HTTP status %d", r.Status)
	}
	return fmt.Sprintf("%s (%d, HTTP status %d)", r.Say, r.Code, r.Status)
}

var (
	// ErrShutOut is a 429 that is not of Discord's API, but of what stands before it.
	ErrShutOut = errors.New("a 429 that is not of Discord's API: this network is shut out for a while")
	// ErrUnexpected is an answer that is a yes, and not the JSON that it should be.
	ErrUnexpected = errors.New("an answer is not the JSON that was expected")
)

// errSlow is a 429 of Discord's, and not a limit that we keep by ourselves.
var errSlow = errors.New("Discord says to slow down (429)")

// FaultOf says what a failed call means to a caller, as an [*agent.PlatformError]; nil stays nil. Nothing secret is in it: the
// address of an answer to an interaction holds its token, and so do discordgo's errors.
func FaultOf(err error) error {
	var pe *agent.PlatformError
	var busy *discordgo.RateLimitError
	var no *discordgo.RESTError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pe): // also from within a url.Error: the transport refuses by itself
		return pe
	case errors.As(err, &busy):
		return &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: max(busy.RetryAfter, surface.BusyForUnknown), Cause: errSlow}
	case errors.As(err, &no):
		return refusalFault(refusalOf(no))
	case errors.Is(err, context.Canceled):
		return Transient(context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return Transient(context.DeadlineExceeded)
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return Transient(errors.New(surface.Shortened(Scrub(err.Error()), 300)))
}

func Transient(cause error) *agent.PlatformError {
	return &agent.PlatformError{Kind: agent.FaultTransient, Cause: cause}
}

func Forbidden(cause error) *agent.PlatformError {
	return &agent.PlatformError{Kind: agent.FaultForbidden, Cause: cause}
}

func Gone(say string) *agent.PlatformError {
	return &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New(say)}
}

// refusalOf reads an answer of Discord's.
func refusalOf(no *discordgo.RESTError) *Refusal {
	var said struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Errors  json.RawMessage `json:"errors"`
	}
	_ = json.Unmarshal(no.ResponseBody, &said)
	say := surface.Shortened(Scrub(said.Message), 200)
	if at := wrongAt(said.Errors); at != "" {
		say += " at " + at
	}
	return &Refusal{no.Response.StatusCode, said.Code, say}
}

func refusalFault(r *Refusal) *agent.PlatformError {
	kind, known := faults[r.Code]
	switch {
	case known:
	case r.Status >= 500 || r.Status == http.StatusRequestTimeout:
		kind = agent.FaultTransient
	case r.Status == http.StatusTooManyRequests:
		return &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: surface.BusyForUnknown, Cause: errSlow}
	default:
		kind = agent.FaultForbidden // Discord answered, and the answer is no: asking again changes nothing
	}
	return &agent.PlatformError{Kind: kind, Cause: r}
}

// faults are the codes that are not simply a no.
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#json-json-error-codes
var faults = map[int]agent.PlatformFault{
	discordgo.ErrCodeUnknownChannel:                   agent.FaultGone,
	discordgo.ErrCodeUnknownGuild:                     agent.FaultGone,
	discordgo.ErrCodeUnknownMessage:                   agent.FaultGone,
	discordgo.ErrCodeUnknownWebhook:                   agent.FaultGone, // also a follow-up to an interaction that nobody answered
	discordgo.ErrCodeUnknownInteraction:               agent.FaultGone, // too late: it lives for three seconds
	discordgo.ErrCodeInvalidWebhookTokenProvided:      agent.FaultGone, // of an interaction that is over
	discordgo.ErrCodeAPIResourceIsCurrentlyOverloaded: agent.FaultTransient,
}

// RefusalIn is what Discord answered; the zero one for any other error.
func RefusalIn(err error) Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return *r
	}
	return Refusal{}
}

// CodeOf is the code of what Discord answered, 0 where it is another error.
func CodeOf(err error) int { return RefusalIn(err).Code }

// wrongAt names what a 50035 is about: "components.0.components.3: BASE_TYPE_MAX_LENGTH". Discord repeats no content there, and
// only codes are taken over. https://discord.com/developers/docs/reference#error-messages
func wrongAt(raw json.RawMessage) string {
	var out []string
	var walk func(raw json.RawMessage, at string, depth int)
	walk = func(raw json.RawMessage, at string, depth int) {
		var here map[string]json.RawMessage
		if depth > 20 || len(out) >= 5 || json.Unmarshal(raw, &here) != nil {
			return
		}
		for _, k := range slices.Sorted(maps.Keys(here)) {
			if k != "_errors" {
				walk(here[k], strings.TrimPrefix(at+"."+surface.Shortened(k, 40), "."), depth+1)
				continue
			}
			var errs []struct {
				Code string `json:"code"`
			}
			_ = json.Unmarshal(here[k], &errs)
			for _, e := range errs {
				out = append(out, at+": "+surface.Shortened(Scrub(e.Code), 60))
			}
		}
	}
	walk(raw, "", 0)
	return strings.Join(out, "; ")
}

// secrets are a bot's token, the token of an interaction or a webhook where an address holds it, and an Authorization header.
var secrets = regexp.MustCompile(`(?i)\bbot [\w.-]{20,}|[\w-]{18,}\.[\w-]{6,7}\.[\w-]{20,}|/(interactions|webhooks)/[0-9]*/[^/\s"?]+|aW50ZXJhY3Rpb246[\w=-]+`)

// Scrub takes secrets out of words that came from outside.
func Scrub(s string) string { return secrets.ReplaceAllString(s, "[secret]") }

// FatalAuth is a sentence for an error that no waiting mends, or nil. It never holds a token.
func FatalAuth(err error) error {
	switch RefusalIn(err).Status {
	case http.StatusUnauthorized:
		return errors.New("the token is refused (401): copy the token from the application's \"Bot\" page to DISCORD_TOKEN, without \"Bot \" before it; " +
			"\"Reset Token\" there makes a new one. Discord resets a token by itself when it was published, and when a bot connects too often")
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return errors.New("there is no Discord API at the address of DISCORD_API_URL (HTTP 404 from users/@me); leave it empty for Discord's own")
	}
	return nil
}

// IsUnreachable reports whether a call failed because the channel is no more, or the bot may not see it.
func IsUnreachable(err error) bool {
	pe, ok := errors.AsType[*agent.PlatformError](err)
	return ok && (pe.Kind == agent.FaultGone || pe.Kind == agent.FaultForbidden)
}
