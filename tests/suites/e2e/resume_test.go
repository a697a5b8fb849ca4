package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The place in a stream is the log's, so it is good at the next process as well.
func TestStreamResumesAfterKill(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	s := r.events("")
	r.say("write hello to notes.txt")
	ask := decode[pendingForm](t, s.named("approval_required").Data)
	place := s.lastID()
	b.restart()
	s = r.events(place)
	r.mustClick(ask.RequestID, "allow_once")
	s.named("permission_granted")
	s.named("turn_done")
	if slices.Contains(s.names(), "approval_required") {
		t.Errorf("what was told before the kill is told again: %v", s.names())
	}
}

// A model's answer that a kill cut off is asked for again, and stands once.
func TestKillDuringReply(t *testing.T) {
	t.Parallel()
	b := start(t, settings{env: startLLM(t, "-delay", "20ms").env()})
	r := b.session("Ana").room()
	s := r.events("")
	long := strings.TrimSpace(strings.Repeat("word ", 40))
	r.say("say " + long)
	s.next("live text", func(e sse) bool {
		m := decode[messageForm](t, e.Data)
		return e.Name == "message" && m.Live && strings.Contains(m.text(), "word word")
	})
	b.restart()
	c := r.idle()
	if len(c.bots()) != 1 || c.last().text() != long {
		t.Errorf("%s", c)
	}
}

// An ask whose time ran out while nobody was there is expired when somebody is back.
// R114
func TestExpiryWhileDown(t *testing.T) {
	t.Parallel()
	b := start(t, settings{yaml: "approvals: {timeout: 1s}\n"})
	r := b.session("Ana").room()
	ask := r.ask("write hello to notes.txt")
	b.kill()
	b.start()
	c := r.until("it has expired", func(c chatForm) bool { return c.last().statuses() == "write_file expired" })
	if _, status, _ := r.click(ask.RequestID, "allow_once"); status != http.StatusGone || b.content("notes.txt") != "(missing)" {
		t.Errorf("a click: %d: %s", status, c)
	}
}

// Whether grants outlive a cold restart is the operator's choice.
// R103 R140 C13
func TestGrantsAndRestart(t *testing.T) {
	t.Parallel()
	for _, survive := range []bool{true, false} {
		b := start(t, settings{name: fmt.Sprint("survive ", survive), yaml: fmt.Sprintf("grants: {survive_restart: %v}\n", survive)})
		r := b.session("Ana").room()
		r.mustClick(r.ask("write one to a.txt").RequestID, "allow_chat")
		r.idle()
		r.say("write two to a.txt")
		r.idle()
		b.restart()
		r.say("write three to a.txt")
		r.until("it asks or is done", func(c chatForm) bool { return c.Queued == 0 && len(c.bots()) == 3 && c.State != "working" })
		if want := map[bool]string{true: "three", false: "two"}[survive]; b.content("a.txt") != want {
			t.Errorf("survive_restart %v: after the restart a.txt says %q, want %q", survive, b.content("a.txt"), want)
		}
	}
}

// What could not be recorded was not taken. Sent again under its name it stands once.
func TestMessageWithoutStore(t *testing.T) {
	t.Parallel()
	redis, a, b := replicas(t, "", "3s", nil)
	ana := a.session("Ana")
	r := ana.room()
	r.say("what time is it")
	r.idle()
	send := func(p *person) (int, problem) {
		return p.call("POST", r.path("/messages"), map[string]string{"text": "write hello to notes.txt", "delivery": "once"}, nil)
	}
	redis.kill()
	if status, no := send(ana); status != http.StatusServiceUnavailable || no.Message == "" {
		t.Errorf("without the store: %d %+v", status, no)
	}
	redis.start(t)
	for _, p := range []*person{ana, ana.at(b), ana} {
		until(t, "the message is taken", func() bool { status, _ := send(p); return status == http.StatusAccepted })
	}
	c := r.waiting(1)
	n := 0
	for _, m := range c.Messages {
		if m.Text == "write hello to notes.txt" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the message stands %d times: %s", n, c)
	}
}
