package calls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/text"
)

// FaultOf says what a failed call of Slack means to a caller; nil stays nil. Nothing secret is in it: neither a token nor a response_url.
func FaultOf(err error) *agent.PlatformError {
	var pe *agent.PlatformError
	var limited *slack.RateLimitedError
	var no slack.SlackErrorResponse
	var status slack.StatusCodeError
	var at *url.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pe):
		return pe
	case errors.As(err, &limited):
		return busy(limited.RetryAfter)
	case errors.As(err, &no):
		return CodeFault(no)
	case errors.As(err, &status) && status.Code == http.StatusTooManyRequests:
		return busy(0)
	case errors.Is(err, context.Canceled):
		return Transient(context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return Transient(context.DeadlineExceeded)
	case errors.As(err, &at): // without the address: that of a response_url is a secret
		err = at.Err
	}
	return Transient(errors.New(Scrub(err.Error())))
}

func busy(wait time.Duration) *agent.PlatformError {
	return &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: max(wait, surface.BusyForUnknown), Cause: errors.New("Slack says to slow down (429)")}
}

// Transient is a fault after which it may have happened: try again soon.
func Transient(cause error) *agent.PlatformError {
	return &agent.PlatformError{Kind: agent.FaultTransient, Cause: cause}
}

// Gone is a fault of what is no more, or never was.
func Gone(why string) *agent.PlatformError {
	return &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New(why)}
}

// CodeFault is what a refusal means, without a secret in it.
func CodeFault(no slack.SlackErrorResponse) *agent.PlatformError {
	clean := slack.SlackErrorResponse{Err: Scrub(no.Err), Needed: Scrub(no.Needed), Provided: Scrub(no.Provided)}
	for _, m := range no.ResponseMetadata.Messages {
		clean.ResponseMetadata.Messages = append(clean.ResponseMetadata.Messages, Scrub(m))
	}
	for _, e := range no.Errors {
		if e.Message != nil {
			clean.ResponseMetadata.Messages = append(clean.ResponseMetadata.Messages, Scrub(*e.Message))
		}
	}
	// Slack answered: where the code is no other fault, the answer is no, and asking again changes nothing.
	pe := &agent.PlatformError{Kind: cmp.Or(faults[no.Err], agent.FaultForbidden), Cause: clean, Advice: placeAdvice[no.Err]}
	if pe.Kind == agent.FaultBusy {
		pe.RetryAfter = surface.BusyForUnknown
	}
	return pe
}

// faults are the errors of https://docs.slack.dev/reference/methods/chat.postMessage, chat.update, chat.delete and
// chat.postEphemeral that are not simply a no.
var faults = map[string]agent.PlatformFault{
	"message_not_found":        agent.FaultGone,
	"channel_not_found":        agent.FaultGone,
	"thread_not_found":         agent.FaultGone,
	"ratelimited":              agent.FaultBusy,
	"rate_limited":             agent.FaultBusy,
	"message_limit_exceeded":   agent.FaultBusy, // members of this workspace send too many messages
	"internal_error":           agent.FaultTransient,
	"fatal_error":              agent.FaultTransient,
	"service_unavailable":      agent.FaultTransient,
	"request_timeout":          agent.FaultTransient,
	"team_added_to_org":        agent.FaultTransient, // being moved; "should resolve itself"
	"update_failed":            agent.FaultTransient,
	"streaming_state_conflict": agent.FaultTransient, // it is being streamed to, and can be edited after that
}

// shapeless are the refusals of a payload, which another shape of the same message may escape.
var shapeless = []string{"invalid_blocks", "invalid_blocks_format", "msg_too_long", "msg_blocks_too_long", "block_mismatch"}

// RefusedShape reports whether a fault refuses the payload rather than the call, and where Slack sees what is wrong.
func RefusedShape(err error) (code string, at []string, ok bool) {
	no, _ := errors.AsType[slack.SlackErrorResponse](err)
	if !slices.Contains(shapeless, no.Err) {
		return "", nil, false
	}
	for _, m := range no.ResponseMetadata.Messages {
		at = append(at, text.Head(m, 300))
	}
	return no.Err, at, true
}

// secrets are Slack's tokens (xoxb-, xoxe.xoxp-, xapp-, …), the address of a socket with its ticket, and that of a response_url
// or a webhook.
var secrets = regexp.MustCompile(`(?i)\b(xox[a-z](?:\.xox[a-z])?|xapp)-[0-9A-Za-z-]+|wss?://[^\s"]+|https?://[^\s"]*/(?:actions|commands|services|app)/[^\s"]*`)

// Scrub takes secrets out of words that came from outside.
func Scrub(s string) string { return secrets.ReplaceAllString(s, "[secret]") }

// FatalAuth is a sentence for an error that no waiting mends, or nil. It never holds a token.
func FatalAuth(err error) error {
	if code, ok := errors.AsType[slack.StatusCodeError](err); ok && code.Code == http.StatusNotFound {
		return errors.New("there is no Slack API at the address of SLACK_API_URL (HTTP 404 from auth.test); leave it empty for Slack's own")
	}
	code := CodeOf(err)
	if do, ok := TokenAdvice[code]; ok {
		return fmt.Errorf("the token is refused (%s): %s", code, do)
	}
	return nil
}

// Removed reports whether an error says that the app was removed from the workspace, which no waiting mends.
// https://docs.slack.dev/reference/methods/auth.test#errors
func Removed(err error) bool {
	code := CodeOf(err)
	return code == "token_revoked" || code == "account_inactive"
}

// CodeOf is the code of a refusal of Slack's, or "".
func CodeOf(err error) string {
	no, _ := errors.AsType[slack.SlackErrorResponse](err)
	return no.Err
}
