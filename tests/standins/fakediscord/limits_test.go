package fakediscord_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func limited(t *testing.T, l fakediscord.Limits) (*room, *fakediscord.Manual) {
	t.Helper()
	clock := fakediscord.NewManual()
	return start(t, fakediscord.Options{Clock: clock, Limits: l}), clock
}

func TestBucketsOfAChannel(t *testing.T) {
	r, clock := limited(t, fakediscord.Documented())
	id := r.post(obj{"content": "x"}).id(t)
	for range 4 {
		r.post(obj{"content": "x"}).is(t, 200, 0)
	}
	a := r.post(obj{"content": "x"})
	equal(t, "status", a.status, 429)
	for k, want := range map[string]string{"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "5.000", "Retry-After": "5", "X-RateLimit-Scope": "user", "X-RateLimit-Global": ""} {
		equal(t, k, a.head.Get(k), want)
	}
	equal(t, "retry_after", a.obj["retry_after"], 5)
	edit := r.call("PATCH", r.messages()+"/"+id, obj{"content": "y"}) // counted apart
	edit.is(t, 200, 0)
	equal(t, "same bucket", edit.head.Get("X-RateLimit-Bucket"), a.head.Get("X-RateLimit-Bucket"))
	equal(t, "remaining", edit.head.Get("X-RateLimit-Remaining"), "4")
	other := r.AddChannel(fakediscord.Channel{Name: "other"})
	r.call("POST", "/channels/"+other+"/messages", obj{"content": "x"}).is(t, 200, 0)
	clock.Advance(5 * time.Second)
	r.post(obj{"content": "x"}).is(t, 200, 0)
}

func TestEditsOfOldMessages(t *testing.T) {
	r, clock := limited(t, fakediscord.Documented())
	id := r.post(obj{"content": "x"}).id(t)
	clock.Advance(time.Hour)
	edit := func() reply { return r.call("PATCH", r.messages()+"/"+id, obj{"content": "y"}) }
	for range 5 {
		edit().is(t, 200, 0) // exactly an hour is not older
	}
	clock.Advance(5 * time.Second)
	for range 3 {
		edit().is(t, 200, 0)
	}
	a := edit()
	a.is(t, 429, 30046)
	equal(t, "Retry-After", a.head.Get("Retry-After"), "6")
	clock.Advance(6 * time.Second)
	edit().is(t, 200, 0)
}

func TestTheGlobalLimit(t *testing.T) {
	r, clock := limited(t, fakediscord.Limits{Global: fakediscord.Documented().Global, Create: fakediscord.Rate{N: 100, Per: time.Second}})
	id := r.post(asking()).id(t)
	d, err := r.Click(r.ana, r.general, id, "Deny")
	if err != nil {
		t.Fatal(err)
	}
	for range 49 {
		r.call("GET", "/users/@me", nil).is(t, 200, 0)
	}
	a := r.post(obj{"content": "x"})
	equal(t, "status", a.status, 429)
	equal(t, "global", a.obj["global"], true)
	equal(t, "header", a.head.Get("X-RateLimit-Global"), "true")
	equal(t, "no Reset-After", a.head.Get("X-RateLimit-Reset-After"), "")
	r.call("POST", "/interactions/"+d.ID+"/"+d.Token()+"/callback", obj{"type": 6}).is(t, 204, 0) // not bound to it
	clock.Advance(time.Second)
	r.post(obj{"content": "x"}).is(t, 200, 0)
}

func TestTooManyInvalidRequests(t *testing.T) {
	r, clock := limited(t, fakediscord.Limits{Invalid: fakediscord.Rate{N: 3, Per: 10 * time.Minute}})
	r.Fail("", 1, fakediscord.Fault{RetryAfter: time.Second, Shared: true})
	equal(t, "shared", r.call("GET", "/users/@me", nil).status, 429)
	r.callWith("GET", "/users/@me", nil, "Bot x").is(t, 401, 0)
	r.call("GET", "/channels/1", nil).is(t, 404, 10003) // this is not held against anybody
	equal(t, "counted", r.Invalid(), 1)
	r.SetPermissions(r.general, fakediscord.ViewChannel)
	r.post(obj{"content": "x"}).is(t, 403, 50001)
	r.post(obj{"content": "x"}).is(t, 403, 50001)
	a := r.call("GET", "/gateway", nil)
	if a.status != 429 || !strings.Contains(a.raw, "<html>") || a.head.Get("Retry-After") != "600" {
		t.Errorf("%d %s", a.status, a.raw)
	}
	clock.Advance(10 * time.Minute)
	r.call("GET", "/gateway", nil).is(t, 200, 0)
}

func TestFaults(t *testing.T) {
	r := start(t, fakediscord.Options{})
	send := func() reply { return r.post(obj{"content": "x"}) }
	there := func() int { return len(r.Messages(r.general)) }
	for _, status := range []int{500, 502, 503} {
		r.Fail(fakediscord.CreateMessage, 1, fakediscord.Fault{Status: status})
		equal(t, "status", send().status, status)
	}
	r.Fail("", 1, fakediscord.Fault{Status: 502, HTML: true})
	if a := send(); !strings.Contains(a.raw, "<html>") {
		t.Error(a.raw)
	}
	r.Fail(fakediscord.CreateMessage, 1, fakediscord.Fault{RetryAfter: 1500 * time.Millisecond, Global: true})
	if a := send(); a.status != 429 || a.head.Get("Retry-After") != "2" || a.obj["retry_after"] != 1.5 || a.head.Get("X-RateLimit-Global") != "true" {
		t.Errorf("%d %v", a.status, a.head)
	}
	r.Fail(fakediscord.CreateMessage, 1, fakediscord.Fault{Status: 403, Code: 50013})
	send().is(t, 403, 50013)
	r.Fail(fakediscord.CreateMessage, 1, fakediscord.Fault{Cut: true, Reset: true})
	equal(t, "cut", send().status, 0)
	equal(t, "nothing was done", there(), 0)
	r.Fail(fakediscord.CreateMessage, 1, fakediscord.Fault{CutAfter: true})
	equal(t, "cut", send().status, 0)
	equal(t, "it was done", there(), 1)
	equal(t, "and is noted", r.Calls(fakediscord.CreateMessage)[len(r.Calls(fakediscord.CreateMessage))-1].Done, true)
	hold := make(chan struct{})
	r.Fail(fakediscord.CreateMessage, 1, fakediscord.Fault{Hold: hold})
	done := make(chan reply)
	go func() { done <- send() }()
	select {
	case a := <-done:
		t.Errorf("it was not held: %v", a)
	default:
	}
	close(hold)
	if a := <-done; a.status != 200 {
		t.Errorf("%d", a.status)
	}
	r.FailWhen("", func(c fakediscord.Call) *fakediscord.Fault {
		if c.Channel == r.general && c.Body["content"] == "poison" {
			return &fakediscord.Fault{Status: 500}
		}
		return nil
	})
	send().is(t, 200, 0)
	equal(t, "status", r.post(obj{"content": "poison"}).status, 500)
	r.FailWhen("", nil)
	equal(t, "refusals are Discord's own", len(r.Refusals()), 0)
}
