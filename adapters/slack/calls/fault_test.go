package calls

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

func code(s string) error { return slack.SlackErrorResponse{Err: s} }

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		err   error
		kind  agent.PlatformFault
		after time.Duration
	}{
		{&slack.RateLimitedError{RetryAfter: 7 * time.Second}, agent.FaultBusy, 7 * time.Second},
		{&slack.RateLimitedError{}, agent.FaultBusy, time.Second},
		{slack.StatusCodeError{Code: 429}, agent.FaultBusy, time.Second},
		{code("ratelimited"), agent.FaultBusy, time.Second},
		{code("rate_limited"), agent.FaultBusy, time.Second},
		{code("message_limit_exceeded"), agent.FaultBusy, time.Second},
		{code("message_not_found"), agent.FaultGone, 0},
		{code("channel_not_found"), agent.FaultGone, 0},
		{code("thread_not_found"), agent.FaultGone, 0},
		{code("is_archived"), agent.FaultForbidden, 0},
		{code("not_in_channel"), agent.FaultForbidden, 0},
		{code("restricted_action"), agent.FaultForbidden, 0},
		{code("restricted_action_read_only_channel"), agent.FaultForbidden, 0},
		{code("cant_update_message"), agent.FaultForbidden, 0},
		{code("edit_window_closed"), agent.FaultForbidden, 0},
		{code("missing_scope"), agent.FaultForbidden, 0},
		{code("invalid_auth"), agent.FaultForbidden, 0},
		{code("something_new"), agent.FaultForbidden, 0}, // a no is a no: 47 repetitions do not change it
		{code("internal_error"), agent.FaultTransient, 0},
		{code("fatal_error"), agent.FaultTransient, 0},
		{code("service_unavailable"), agent.FaultTransient, 0},
		{code("request_timeout"), agent.FaultTransient, 0},
		{code("streaming_state_conflict"), agent.FaultTransient, 0},
		{slack.StatusCodeError{Code: 500}, agent.FaultTransient, 0},
		{slack.StatusCodeError{Code: 503}, agent.FaultTransient, 0},
		{slack.StatusCodeError{Code: 404}, agent.FaultTransient, 0}, // a proxy's answer says nothing about the message
		{context.DeadlineExceeded, agent.FaultTransient, 0},
		{context.Canceled, agent.FaultTransient, 0},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, agent.FaultTransient, 0},
		{errors.New("unexpected EOF"), agent.FaultTransient, 0},
		{&agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New("x")}, agent.FaultGone, 0},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			var pe *agent.PlatformError
			if !errors.As(FaultOf(err), &pe) {
				t.Errorf("%v: got %T", err, FaultOf(err))
				continue
			}
			if pe.Kind != c.kind || pe.RetryAfter != c.after {
				t.Errorf("%v: got %s after %s, want %s after %s", err, pe.Kind, pe.RetryAfter, c.kind, c.after)
			}
			if pe.Error() == "" {
				t.Errorf("%v: says nothing", err)
			}
		}
	}
	if err := FaultOf(nil); err != nil {
		t.Errorf("nil became %v", err)
	}
}

func TestFaultsKeepTheCode(t *testing.T) {
	var no slack.SlackErrorResponse
	if err := FaultOf(slack.SlackErrorResponse{Err: "missing_scope", Needed: "chat:write"}); !errors.As(err, &no) || no.Err != "missing_scope" || no.Needed != "chat:write" {
		t.Errorf("got %v: the doctor and the log name the scope", err)
	}
}

func TestFaultsHoldNoSecret(t *testing.T) {
	secrets := []string{"xoxb-1234-abcdEFGH", "xapp-1-A1-22-cafe", "xoxe.xoxp-1-Mi0yLTE", "xoxe-1-My0xLT"}
	hook := "https://hooks.slack.com/actions/T1/2/verySecret"
	for _, err := range []error{
		code("odd " + secrets[0]),
		slack.SlackErrorResponse{Err: "x", Needed: secrets[1], Provided: secrets[2]},
		slack.SlackErrorResponse{Err: "invalid_blocks", ResponseMetadata: slack.ResponseMetadata{Messages: []string{"at " + secrets[3]}}},
		&url.Error{Op: "Post", URL: "https://elsewhere.example/verySecret", Err: errors.New("connection refused")},
		errors.New("dialing wss://wss-primary.slack.com/link/?ticket=verySecret"),
		errors.New("posting to " + hook + " failed with " + strings.Join(secrets, ", ")),
	} {
		got := FaultOf(err)
		var no slack.SlackErrorResponse
		errors.As(got, &no)
		_, at, _ := RefusedShape(got)
		all := fmt.Sprintf("%v %+v %#v %v", got, got, no, at)
		for _, s := range append(secrets, "verySecret") {
			if strings.Contains(all, s) {
				t.Errorf("%q is in %s", s, all)
			}
		}
	}
}

func TestRefusedShape(t *testing.T) {
	where := "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
	err := FaultOf(slack.SlackErrorResponse{Err: "invalid_blocks", ResponseMetadata: slack.ResponseMetadata{Messages: []string{where}}, Errors: []slack.SlackResponseErrors{{Message: &where}}})
	got, at, ok := RefusedShape(err)
	if !ok || got != "invalid_blocks" || len(at) != 2 || at[0] != where || at[1] != where {
		t.Errorf("got %q, %q, %v", got, at, ok)
	}
	for _, c := range []string{"invalid_blocks", "msg_too_long", "msg_blocks_too_long"} {
		if _, _, ok := RefusedShape(code(c)); !ok {
			t.Errorf("%s is not about the shape", c)
		}
	}
	if _, _, ok := RefusedShape(code("is_archived")); ok {
		t.Error("is_archived is about the shape")
	}
}

func TestNoRedirectTakesTheToken(t *testing.T) {
	c := surface.HTTPClient(&http.Client{})
	if err := c.CheckRedirect(nil, nil); !errors.Is(err, http.ErrUseLastResponse) {
		t.Errorf("redirects: %v", err)
	}
	if c.Timeout <= 0 || surface.HTTPClient(nil).Timeout <= 0 {
		t.Error("no timeout")
	}
}
