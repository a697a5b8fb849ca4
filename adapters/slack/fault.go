package slack

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/text"
)

// faultOf says what a failed call of Slack means to a caller, as an [*agent.PlatformError]; nil stays nil. Nothing secret is in it:
// neither a token nor a response_url.
func faultOf(err error) error {
	var pe *agent.PlatformError
	var busy *slack.RateLimitedError
	var no slack.SlackErrorResponse
	var status slack.StatusCodeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pe):
		return pe
	case errors.As(err, &busy):
		return &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: max(busy.RetryAfter, surface.BusyForUnknown), Cause: errors.New("Slack says to slow down (429)")}
	case errors.As(err, &no):
		return codeFault(no)
	case errors.As(err, &status) && status.Code == http.StatusTooManyRequests:
		return &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: surface.BusyForUnknown, Cause: errors.New("Slack says to slow down (429)")}
	case errors.Is(err, context.Canceled):
		return transient(context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return transient(context.DeadlineExceeded)
	}
	// The address is left out: that of a response_url is a secret.
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return transient(errors.New(Scrub(err.Error())))
}

func transient(cause error) *agent.PlatformError {
	return &agent.PlatformError{Kind: agent.FaultTransient, Cause: cause}
}

func codeFault(no slack.SlackErrorResponse) *agent.PlatformError {
	kind, known := faults[no.Err]
	if !known {
		kind = agent.FaultForbidden // Slack answered, and the answer is no: asking again changes nothing
	}
	clean := slack.SlackErrorResponse{Err: Scrub(no.Err), Needed: Scrub(no.Needed), Provided: Scrub(no.Provided)}
	for _, m := range no.ResponseMetadata.Messages {
		clean.ResponseMetadata.Messages = append(clean.ResponseMetadata.Messages, Scrub(m))
	}
	for _, e := range no.Errors {
		if e.Message != nil {
			clean.ResponseMetadata.Messages = append(clean.ResponseMetadata.Messages, Scrub(*e.Message))
		}
	}
	pe := &agent.PlatformError{Kind: kind, Cause: clean, Advice: placeAdvice[no.Err]}
	if kind == agent.FaultBusy {
		pe.RetryAfter = surface.BusyForUnknown
	}
	return pe
}

// faults are the errors of https://docs.slack.dev/reference/methods/chat.postMessage, chat.update, chat.delete and
// chat.postEphemeral that are not simply a no.
var faults = map[string]agent.PlatformFault{
	"message_not_found": agent.FaultGone,
	"channel_not_found": agent.FaultGone,
	"thread_not_found":  agent.FaultGone,

	"ratelimited":            agent.FaultBusy,
	"rate_limited":           agent.FaultBusy,
	"message_limit_exceeded": agent.FaultBusy, // members of this workspace send too many messages

	"internal_error":           agent.FaultTransient,
	"fatal_error":              agent.FaultTransient,
	"service_unavailable":      agent.FaultTransient,
	"request_timeout":          agent.FaultTransient,
	"team_added_to_org":        agent.FaultTransient, // being moved; "should resolve itself"
	"update_failed":            agent.FaultTransient,
	"streaming_state_conflict": agent.FaultTransient, // it is being streamed to, and can be edited after that

	// Listed though they are what an unknown code is, because a test and a reader look for them.
	"is_archived":            agent.FaultForbidden,
	"not_in_channel":         agent.FaultForbidden,
	"cant_update_message":    agent.FaultForbidden,
	"cant_delete_message":    agent.FaultForbidden,
	"edit_window_closed":     agent.FaultForbidden,
	"restricted_action":      agent.FaultForbidden,
	"missing_scope":          agent.FaultForbidden,
	"not_allowed_token_type": agent.FaultForbidden,
	"invalid_auth":           agent.FaultForbidden,
	"account_inactive":       agent.FaultForbidden,
	"token_revoked":          agent.FaultForbidden,
	"not_authed":             agent.FaultForbidden,
}

// shapeless are the refusals of a payload, which another shape of the same message may escape.
var shapeless = map[string]bool{
	"invalid_blocks":        true,
	"invalid_blocks_format": true,
	"msg_too_long":          true,
	"msg_blocks_too_long":   true,
	"block_mismatch":        true,
}

// refusedShape reports whether a fault refuses the payload rather than the call, and where Slack sees what is wrong.
func refusedShape(err error) (code string, at []string, ok bool) {
	var no slack.SlackErrorResponse
	if !errors.As(err, &no) || !shapeless[no.Err] {
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
