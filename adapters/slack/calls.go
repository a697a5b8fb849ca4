package slack

import (
	"cmp"
	"context"
	"errors"
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

// faultOf says what a failed call of Slack means to a caller; nil stays nil. Nothing secret is in it: neither a token nor a response_url.
func faultOf(err error) *agent.PlatformError {
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
		return codeFault(no)
	case errors.As(err, &status) && status.Code == http.StatusTooManyRequests:
		return busy(0)
	case errors.Is(err, context.Canceled):
		return transient(context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return transient(context.DeadlineExceeded)
	case errors.As(err, &at): // without the address: that of a response_url is a secret
		err = at.Err
	}
	return transient(errors.New(Scrub(err.Error())))
}

func busy(wait time.Duration) *agent.PlatformError {
	return &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: max(wait, surface.BusyForUnknown), Cause: errors.New("Slack says to slow down (429)")}
}

func transient(cause error) *agent.PlatformError {
	return &agent.PlatformError{Kind: agent.FaultTransient, Cause: cause}
}

func gone(why string) *agent.PlatformError {
	return &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New(why)}
}

func codeFault(no slack.SlackErrorResponse) *agent.PlatformError {
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

// refusedShape reports whether a fault refuses the payload rather than the call, and where Slack sees what is wrong.
func refusedShape(err error) (code string, at []string, ok bool) {
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

type rate struct {
	limit  int
	per    time.Duration
	evenly bool // short bursts are borne, see [surface.Spend]
}

// The tiers are floors that Slack promises, per method, workspace and app: https://docs.slack.dev/apis/web-api/rate-limits
var (
	tier2 = rate{limit: 20, per: time.Minute}
	tier3 = rate{limit: 50, per: time.Minute}
	tier4 = rate{limit: 100, per: time.Minute}
	// "special": one message a second in a channel, "short bursts >1 allowed", without a number: people who ask at once see an answer at once.
	// A little slower than that, because it counts when a call arrives.
	perChannel = rate{limit: 6, per: 6500 * time.Millisecond, evenly: true}
)

// The methods that this adapter calls by itself, each with the tier on its page, https://docs.slack.dev/reference/methods/<method>.
const (
	methodPost     = "chat.postMessage"
	methodUpdate   = "chat.update"
	methodDelete   = "chat.delete"
	methodWhisper  = "chat.postEphemeral"
	methodReplies  = "conversations.replies"
	methodHistory  = "conversations.history"
	methodConverse = "conversations.open"
	methodStatus   = "agents.sessions.setStatus"
	methodRename   = "agents.sessions.rename"
	methodFile     = "files.info"
	methodSuggest  = "assistant.threads.setSuggestedPrompts"
)

// Of replies and history, commercially distributed apps outside the Marketplace get 1 a minute; a bot of one's own is exempt.
var rates = map[string]rate{
	methodPost: perChannel, methodWhisper: tier4, methodSuggest: tier4, methodFile: tier4,
	methodUpdate: tier3, methodDelete: tier3, methodReplies: tier3, methodHistory: tier3, methodConverse: tier3, methodStatus: tier3, methodRename: tier3,
}

type call struct {
	method string
	surface.Spend
}

// newCall is one in a workspace; channel matters for what is counted by channel.
func newCall(method, team, channel string, urgency agent.Urgency) call {
	r, pool := cmp.Or(rates[method], tier2), team+"/"+method
	if r == perChannel {
		pool += "/" + channel
	}
	// Decisions may go beyond a tier: "Sporadic bursts are welcome", says the page on rate limits, and a 429 says when they are not. A
	// question that waits for the next minute is no question; it may go somewhat beyond, for it can be posted anew.
	hard := r.limit + r.limit/2
	if urgency == agent.Decision {
		hard = surface.Overdraw
	}
	return call{method, surface.Spend{Pool: pool, Limit: r.limit, Hard: hard, Per: r.per, Evenly: r.evenly, Lane: urgency}}
}

// makeCall makes a call when the budget has room for it. All replicas learn of a 429.
func (a *Adapter) makeCall(ctx context.Context, c call, do func() error) error {
	if err := a.limiter.Acquire(ctx, c.method, c.Spend); err != nil {
		return err
	}
	if err := do(); err != nil {
		return a.limiter.Failed(ctx, c.method, c.Pool, faultOf(a.doubt(err)))
	}
	return nil
}
