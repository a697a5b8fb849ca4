package e2e

import (
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// R52 R67 R138 R139
func TestKillWhilePending(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	b := start(t, settings{yaml: box, env: startLLM(t).env()})
	r := b.session("Ana").room()
	ask := r.ask(`call box__write {"path":"a"}`)
	before := r.get().last()
	b.restart()
	c := r.waiting(1)
	if got := c.Pending[0]; got.RequestID != ask.RequestID || got.ToolCallID != ask.ToolCallID || c.last().ID != before.ID || string(got.Arguments) != string(ask.Arguments) {
		t.Errorf("after the restart: %+v in %s; before: %+v in %s", got, c.last().ID, ask, before.ID)
	}
	if n := ledger.Count("write", "did"); n != 0 {
		t.Fatalf("it ran %d times before any click", n)
	}
	r.mustClick(ask.RequestID, "allow_once")
	c = r.idle()
	if n := ledger.Count("write", "did"); n != 1 || len(c.bots()) != 1 || c.last().ID != before.ID || c.last().statuses() != "write done" {
		t.Errorf("it ran %d times; the chat: %s", n, c)
	}
	// Nothing of it comes back.
	b.restart()
	if c = r.idle(); ledger.Count("write", "did") != 1 || len(c.bots()) != 1 {
		t.Errorf("after another restart: %s", c)
	}
}

// Between Started and the result nobody knows what happened: the turn waits for a person, and nothing repeats by itself.
func TestKillDuringRun(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	b := start(t, settings{yaml: box, env: startLLM(t).env()})
	r := b.session("Ana").room()
	for i, answer := range []struct{ choice, says string }{
		{"happened", "says that it happened"}, {"leave", "unknown outcome; I will not repeat it"}, {"run_again", "denied"},
	} {
		r.mustClick(r.ask(`call box__slow {}`).RequestID, "allow_once")
		until(t, "the tool has begun", func() bool { return ledger.Count("slow", "began") == i+1 })
		b.restart()
		c := r.until("the card of the unknown outcome stands", func(c chatForm) bool { return c.last().block("ask", "").Kind == "outcome" })
		card := c.last().block("ask", "")
		if labels(card.Choices) != "It happened|Run again|Leave it" || card.Question != "nod was interrupted while this ran. It may have happened." || card.Run != "Run slow from box" {
			t.Errorf("the card: %+v", card)
		}
		if status, _ := r.call("POST", "/api/v1/tools/approve", map[string]any{"tool_call_id": card.ToolCallID, "approved": true}, nil); status == http.StatusOK {
			t.Error("an approval answered the question whether it happened")
		}
		r.mustClick(card.RequestID, answer.choice)
		if answer.choice == "run_again" {
			ask := r.waiting(1).Pending[0]
			if ask.ToolCallID != card.ToolCallID || ask.RequestID == card.RequestID {
				t.Errorf("run again asked %+v for %+v", ask, card)
			}
			r.mustClick(ask.RequestID, "deny")
		}
		c = r.idle()
		if !strings.Contains(c.last().text(), answer.says) {
			t.Errorf("after %s the model says %q, without %q", answer.choice, c.last().text(), answer.says)
		}
		if n := ledger.Count("slow", "began"); n != i+1 {
			t.Errorf("after %s it has run %d times, with %d approvals", answer.choice, n, i+1)
		}
	}
}

func TestSIGTERM(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	b := start(t, settings{yaml: box + "drain: 500ms\n", env: startLLM(t).env()})
	ana := b.session("Ana")
	pending, running := ana.room(), ana.room()
	ask := pending.ask(`call box__write {"path":"a"}`)
	running.mustClick(running.ask(`call box__slow {}`).RequestID, "allow_once")
	until(t, "the tool has begun", func() bool { return ledger.Count("slow", "began") == 1 })
	open := pending.events("") // a page that stays open must not hold the process
	if code := b.terminate(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for range open.events { // ends with the process
	}
	if !strings.Contains(b.out.String(), "stopped") {
		t.Error("it does not say that it stopped")
	}
	b.start()
	pending.mustClick(ask.RequestID, "allow_once")
	pending.idle()
	c := running.until("the cut run is on its card", func(c chatForm) bool { return c.last().block("ask", "").Kind == "outcome" })
	running.mustClick(c.last().block("ask", "").RequestID, "leave")
	running.idle()
	if w, s := ledger.Count("write", "did"), ledger.Count("slow", "began"); w != 1 || s != 1 {
		t.Errorf("write ran %d times, slow %d times", w, s)
	}
}

// Who closes the terminal has what runs finished; nohup goes on without it.
func TestAClosedTerminal(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	kept := filepath.Join(t.TempDir(), "nohup")
	if err := os.WriteFile(kept, []byte("#!/bin/sh\ntrap '' HUP\nexec "+program("bot")+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP) // this run may be under nohup itself, which what it starts would inherit
	defer signal.Stop(heard)
	for _, program := range []string{"", kept} {
		b := start(t, settings{yaml: box, env: startLLM(t).env(), program: program})
		room := b.session("Ana").room()
		if err := b.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if program == "" {
			if code := b.wait(); code != 0 || !strings.Contains(b.out.String(), "stopped") {
				t.Errorf("exit code %d", code)
			}
			continue
		}
		room.mustClick(room.ask(`call box__write {"path":"a"}`).RequestID, "allow_once")
		room.idle()
		if code := b.terminate(); code != 0 || ledger.Count("write", "did") != 1 {
			t.Errorf("under nohup: exit code %d, write ran %d times", code, ledger.Count("write", "did"))
		}
	}
}

func TestSecondProcessOnOneDirectory(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	second := prepare(t, settings{name: "the second process", dir: b.dir})
	code, printed := second.run()
	if code != 1 || !strings.Contains(printed, b.dir) || !strings.Contains(printed, "another") {
		t.Errorf("exit code %d:\n%s", code, printed)
	}
	r := b.session("Ana").room() // the first goes on
	r.say("what time is it")
	r.idle()
}
