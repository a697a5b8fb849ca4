package e2e

import (
	"strings"
	"testing"
)

// TestServicesDiffer: what one model's service does not take costs that, and neither the chat nor any other.
func TestServicesDiffer(t *testing.T) {
	t.Parallel()
	yaml, _ := toolbox(t)
	yaml += "permissions: {servers: {box: {ask: never}}}\n"
	with := func(t *testing.T, args ...string) (*llm, *room, *stream) {
		t.Helper()
		llm := startLLM(t, args...)
		r := start(t, settings{yaml: yaml, env: llm.env()}).session("Ana").room()
		return llm, r, r.events("")
	}
	say := func(t *testing.T, r *room, s *stream, words string) messageForm {
		t.Helper()
		r.say(words)
		s.named("turn_done")
		return r.get().last()
	}

	t.Run("a tool it dislikes", func(t *testing.T) {
		_, r, s := with(t, "-dislikes", "box__write")
		m := say(t, r, s, `call box__echo {"text":"still here"}`)
		if m.statuses() != "echo done" || !strings.Contains(m.text(), "still here") || !strings.Contains(m.notes(), "refuses the definition of box__write") {
			t.Errorf("%s: %q, notes %q", m.statuses(), m.text(), m.notes())
		}
	})
	t.Run("fewer tools", func(t *testing.T) {
		_, r, s := with(t, "-max-tools", "5")
		if m := say(t, r, s, "say hello"); m.text() != "hello" || !strings.Contains(m.notes(), "takes 5 tools at most") {
			t.Errorf("%q, notes %q", m.text(), m.notes())
		}
	})
	t.Run("ids of nine characters", func(t *testing.T) {
		_, r, s := with(t, "-nine-ids")
		if m := say(t, r, s, `call box__echo {"text":"one"}`); m.statuses() != "echo done" || !strings.Contains(m.text(), "one") {
			t.Errorf("%s: %q, notes %q", m.statuses(), m.text(), m.notes())
		}
	})
	t.Run("a conversation that is too long", func(t *testing.T) {
		_, r, s := with(t, "-context", "20000") // 80,000 bytes
		for range 3 {
			if m := say(t, r, s, `call box__big {"n":60000} and call box__big {"n":60000}`); m.statuses() != "big done, big done" || !strings.Contains(m.text(), "gave") {
				t.Fatalf("%s: %q, notes %q", m.statuses(), m.text(), m.notes())
			}
		}
		if m := say(t, r, s, "say still alive"); m.text() != "still alive" {
			t.Errorf("%q, notes %q", m.text(), m.notes())
		}
	})
	t.Run("an empty answer", func(t *testing.T) {
		llm, r, s := with(t)
		empty := "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"fake\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
		llm.queue(empty, empty, empty)
		if m := say(t, r, s, "say hello"); m.State != "failed" || !strings.Contains(m.notes(), "sent an empty answer") || strings.Contains(m.notes(), "Working on it") {
			t.Errorf("%s: %q, notes %q", m.State, m.text(), m.notes())
		}
		if m := say(t, r, s, "say hello again"); !strings.HasPrefix(m.text(), "hello") {
			t.Errorf("afterwards: %q, notes %q", m.text(), m.notes())
		}
	})
}
