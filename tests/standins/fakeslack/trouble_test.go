package fakeslack_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func TestFaults(t *testing.T) {
	s := start(t, fakeslack.Options{})
	post := func() (map[string]any, *http.Response) {
		return call(t, s, "chat.postMessage", "channel", "C1", "text", "x")
	}
	s.Fail("chat.postMessage", 2, fakeslack.Fault{Error: "fatal_error"})
	s.Fail("chat.postMessage", 1, fakeslack.Fault{RetryAfter: 1500 * time.Millisecond})
	s.Fail("", 1, fakeslack.Fault{Status: 503})
	for range 2 {
		a, _ := post()
		refused(t, a, "fatal_error")
	}
	if a, res := post(); res.StatusCode != 429 || res.Header.Get("Retry-After") != "2" || a["error"] != "ratelimited" {
		t.Errorf("%v %v", res, a)
	}
	if _, res := post(); res.StatusCode != 503 {
		t.Errorf("%v", res)
	}
	s.Fail("chat.postMessage", 1, fakeslack.Fault{Cut: true})
	if _, res := post(); res != nil || len(s.Messages("C1", "")) != 0 {
		t.Errorf("%v", res)
	}
	s.Fail("chat.postMessage", 1, fakeslack.Fault{CutAfter: true})
	if _, res := post(); res != nil || len(s.Messages("C1", "")) != 1 {
		t.Errorf("%v", res)
	}
	calls := s.Calls("chat.postMessage")
	if len(calls) != 6 || calls[4].Done || !calls[5].Done || calls[5].Status != 0 || s.Count("chat.postMessage") != 0 || calls[2].Error != "ratelimited" {
		t.Errorf("%+v", calls)
	}
	s.FailWhen("chat.postMessage", func(c fakeslack.Call) *fakeslack.Fault {
		if c.Values.Get("text") == "x" {
			return &fakeslack.Fault{Error: "restricted_action"}
		}
		return nil
	})
	a, _ := post()
	refused(t, a, "restricted_action")
	said(t, s, "C1", "", "")
	s.FailWhen("chat.postMessage", nil)
	a, _ = post()
	ok(t, a, "")
	s.Forget()
	held := make(chan struct{})
	s.Fail("chat.postMessage", 1, fakeslack.Fault{Hold: held})
	done := make(chan struct{})
	before := len(s.Messages("C1", ""))
	go func() { defer close(done); post() }()
	if a, _ := call(t, s, "auth.test"); a["ok"] != true || len(s.Calls("chat.postMessage")) != 0 || len(s.Messages("C1", "")) != before {
		t.Error("the held call went through")
	}
	close(held)
	<-done
	if len(s.Messages("C1", "")) != before+1 {
		t.Error("the held call was lost")
	}
}

func TestTiers(t *testing.T) {
	clock := fakeslack.NewManual()
	s := start(t, fakeslack.Options{Clock: clock, Tiers: fakeslack.Floors(), PostsPerChannel: fakeslack.PostsPerChannelFloor})
	root := s.Say("U1", "C1", "", "hi")
	ts := said(t, s, "C1", root, "")
	limited := func(what string, seconds int, a map[string]any, res *http.Response) {
		t.Helper()
		if res.StatusCode != 429 || res.Header.Get("Retry-After") != fmt.Sprint(seconds) || a["error"] != "ratelimited" {
			t.Errorf("%s: %s %v %v", what, res.Status, res.Header.Get("Retry-After"), a)
		}
	}
	a, res := call(t, s, "chat.postMessage", "channel", "C1", "text", "x")
	limited("a second in one second", 1, a, res)
	a, _ = call(t, s, "chat.postMessage", "channel", "C2", "text", "x") // each channel has its own
	ok(t, a, "")
	clock.Advance(time.Second)
	said(t, s, "C1", root, "")
	for i := range fakeslack.Tier3 {
		if i == 10 {
			clock.Advance(20 * time.Second)
		}
		a, _ := call(t, s, "chat.update", "channel", "C1", "ts", ts, "text", fmt.Sprint(i))
		ok(t, a, "")
	}
	a, res = call(t, s, "chat.update", "channel", "C1", "ts", ts, "text", "x")
	limited("the 51st edit", 40, a, res)
	a, _ = call(t, s, "chat.delete", "channel", "C1", "ts", ts) // each method has its own
	ok(t, a, "")
	clock.Advance(39 * time.Second)
	a, res = call(t, s, "chat.update", "channel", "C1", "ts", ts, "text", "x")
	limited("still", 1, a, res)
	clock.Advance(time.Second) // the first ten are a minute old, the other forty are not
	for range 10 {
		_, res = call(t, s, "chat.update", "channel", "C1", "ts", ts, "text", "x")
		if res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	if _, res = call(t, s, "chat.update", "channel", "C1", "ts", ts, "text", "x"); res.StatusCode != 429 {
		t.Error(res.Status)
	}
	for method, want := range map[string]int{"chat.update": 50, "chat.appendStream": 100, "chat.startStream": 20, "chat.stopStream": 20, "users.info": 100, "conversations.replies": 50} {
		if got := fakeslack.Floors()[method]; got != want {
			t.Errorf("%s: %d", method, got)
		}
	}
}

func TestLatencyAndLean(t *testing.T) {
	clock := fakeslack.NewManual()
	began := make(chan struct{}, 1)
	s := start(t, fakeslack.Options{Clock: clock, Lean: true, Latency: func(method string) time.Duration {
		if method == "api.test" {
			began <- struct{}{}
			return time.Second
		}
		return 0
	}})
	ts := said(t, s, "C1", "", "")
	for range 3 {
		a, _ := call(t, s, "chat.update", "channel", "C1", "ts", ts, "text", "new")
		ok(t, a, "")
	}
	if m, _ := s.Message("C1", ts); len(m.Versions) != 1 || m.Versions[0].Text != "new" {
		t.Errorf("%+v", m)
	}
	if c := s.Calls("chat.update"); len(c) != 3 || c[0].Values != nil || c[0].Bytes == 0 || s.Count("chat.update") != 3 {
		t.Errorf("%+v", c)
	}
	done := make(chan struct{})
	go func() { defer close(done); call(t, s, "api.test") }()
	<-began
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
			clock.Advance(time.Second) // the call may be just about to set its timer
		}
	}
	if c := s.Calls("api.test"); len(c) != 1 || c[0].At.Sub(s.Calls("chat.update")[2].At) < time.Second {
		t.Errorf("%+v", c)
	}
}

func TestManualClock(t *testing.T) {
	c := fakeslack.NewManual()
	var got []string
	at := c.Now()
	note := func(s string) func() { return func() { got = append(got, fmt.Sprint(s, c.Now().Sub(at))) } }
	c.AfterFunc(2*time.Second, note("b"))
	c.AfterFunc(time.Second, func() { note("a")(); c.AfterFunc(500*time.Millisecond, note("c")) })
	c.AfterFunc(time.Second, note("never"))()
	c.AfterFunc(9*time.Second, note("late"))
	c.Advance(3 * time.Second)
	if want := "a1s c1.5s b2s"; strings.Join(got, " ") != want || c.Now().Sub(at) != 3*time.Second {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestRealLibrary goes through what an app does with the real client: Web API, Socket Mode, reconnects.
func TestRealLibrary(t *testing.T) {
	s := start(t, fakeslack.Options{})
	client := api(t, s)
	if a, err := client.AuthTestContext(t.Context()); err != nil || a.UserID != s.BotUser() {
		t.Fatal(a, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	sm := socketmode.New(client)
	got := make(chan socketmode.Event, 100)
	pumped, ran := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(pumped)
		for {
			select {
			case e := <-sm.Events:
				got <- e
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() { ran <- sm.RunContext(ctx) }()
	next := func(kind socketmode.EventType) socketmode.Event {
		t.Helper()
		for {
			select {
			case e := <-got:
				if e.Type == kind {
					return e
				}
			case <-within(t).Done():
				t.Fatalf("no %s came", kind)
			}
		}
	}
	wait(t, s, "the connection", func() bool { return s.Connections() == 1 })
	ts := s.Say("U1", "C1", "", "<@"+s.BotUser()+"> go")
	for range 2 {
		e := next(socketmode.EventTypeEventsAPI)
		outer := e.Data.(slackevents.EventsAPIEvent)
		switch in := outer.InnerEvent.Data.(type) {
		case *slackevents.MessageEvent:
			if in.TimeStamp != ts || in.User != "U1" || in.ChannelType != "channel" {
				t.Errorf("%+v", in)
			}
		case *slackevents.AppMentionEvent:
			if in.TimeStamp != ts || in.Channel != "C1" {
				t.Errorf("%+v", in)
			}
		default:
			t.Errorf("%T", in)
		}
		if err := sm.AckCtx(ctx, e.Request.EnvelopeID, nil); err != nil {
			t.Error(err)
		}
	}
	_, msg, err := client.PostMessageContext(ctx, "C1", slack.MsgOptionTS(ts), slack.MsgOptionText("fallback", false), slack.MsgOptionBlocks(
		slack.NewMarkdownBlock("", "**hello**"),
		slack.NewPlanBlock("Working").WithTasks(slack.NewTaskCardBlock("1", "read").WithStatus(slack.TaskCardStatusComplete)),
		slack.NewActionBlock("b", slack.NewButtonBlockElement("allow", "tok", slack.NewTextBlockObject(slack.PlainTextType, "Allow once", false, false)))))
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Click("U1", "C1", msg, "Allow once")
	if err != nil {
		t.Fatal(err)
	}
	e := next(socketmode.EventTypeInteractive)
	cb := e.Data.(slack.InteractionCallback)
	if cb.ActionCallback.BlockActions[0].Value != "tok" {
		t.Errorf("%+v", cb)
	}
	if err := sm.AckCtx(ctx, e.Request.EnvelopeID, nil); err != nil {
		t.Error(err)
	}
	if _, err := d.Wait(ctx); err != nil {
		t.Error(err)
	}
	if _, _, _, err := client.SendMessageContext(ctx, "C1", slack.MsgOptionReplaceOriginal(cb.ResponseURL), slack.MsgOptionText("done", false)); err != nil {
		t.Error(err)
	}
	if m, _ := s.Message("C1", msg); m.Text != "done" {
		t.Errorf("%+v", m)
	}
	view := slack.ModalViewRequest{Type: slack.VTModal, Title: slack.NewTextBlockObject(slack.PlainTextType, "T", false, false), Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewDividerBlock()}}}
	if v, err := client.OpenViewContext(ctx, cb.TriggerID, view); err != nil || v.ID != s.Views("U1")[0].ID {
		t.Error(v, err)
	}
	if _, err := client.GetUserInfoContext(ctx, "U1"); err != nil {
		t.Error(err)
	}
	if p, err := client.GetPermalinkContext(ctx, &slack.PermalinkParameters{Channel: "C1", Ts: msg}); err != nil || p == "" {
		t.Error(p, err)
	}
	if m, _, _, err := client.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{ChannelID: "C1", Timestamp: ts}); err != nil || len(m) != 2 {
		t.Error(m, err)
	}
	_, _, err = client.PostMessageContext(ctx, "C1", slack.MsgOptionText("x", false), slack.MsgOptionBlocks(slack.NewHeaderBlock(slack.NewTextBlockObject(slack.PlainTextType, long(151), false, false))))
	var bad slack.SlackErrorResponse
	if !errors.As(err, &bad) || bad.Err != "invalid_blocks" || !strings.Contains(bad.ResponseMetadata.Messages[0], "json-pointer:/blocks/0/text/text") || *bad.Errors[0].Message == "" {
		t.Errorf("%#v", err)
	}
	s.Fail("chat.update", 1, fakeslack.Fault{RetryAfter: time.Second})
	_, _, _, err = client.UpdateMessageContext(ctx, "C1", msg, slack.MsgOptionText("x", false))
	var slow *slack.RateLimitedError
	if !errors.As(err, &slow) || slow.RetryAfter != time.Second {
		t.Errorf("%v", err)
	}
	if err := s.Raw(`{"type":"novelty","envelope_id":"e1"}`); err != nil {
		t.Error(err)
	}
	next(socketmode.EventTypeErrorBadMessage)
	s.Disconnect("refresh_requested")
	next(socketmode.EventTypeHello) // of the next connection
	s.Say("U1", "C1", "", "still here?")
	next(socketmode.EventTypeEventsAPI)
	cancel()
	if err := <-ran; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-pumped
}

// TestCloseInTheMiddle ends a server that is doing everything at once.
func TestCloseInTheMiddle(t *testing.T) {
	s := start(t, fakeslack.Options{})
	dial(t, s)
	hang := make(chan struct{})
	defer close(hang)
	s.Fail("api.test", 1, fakeslack.Fault{Hold: hang})
	done := make(chan struct{})
	go func() { defer close(done); call(t, s, "api.test") }()
	for range 20 {
		s.Say("U1", "C1", "", "x")
	}
	s.Close()
	<-done
	if len(s.Deliveries()) != 20 {
		t.Error(len(s.Deliveries()))
	}
}
