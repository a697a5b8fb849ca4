package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// outcome waits for the card that asks what happened.
func (r *room) outcome() (chatForm, blockForm) {
	r.t.Helper()
	c := r.until("the card of the unknown outcome stands", func(c chatForm) bool { return c.last().block("ask", "").Kind == "outcome" })
	return c, c.last().block("ask", "")
}

// insist says something again and again until it asks.
func (r *room) insist(text string) chatForm {
	r.t.Helper()
	return r.until("it asks for "+text, func(c chatForm) bool {
		if c.State == "idle" && c.Queued == 0 {
			r.say(text)
		}
		return len(c.Pending) == 1
	})
}

// A server that dies in the middle of a call: nobody knows what it did, the person is asked, and it is not called again by itself.
func TestServerDiesDuringCall(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	llm := startLLM(t)
	b := start(t, settings{yaml: box, env: llm.env()})
	r := b.session("Ana").room()
	r.mustClick(r.ask(`call box__crash {}`).RequestID, "allow_once")
	_, card := r.outcome()
	r.mustClick(card.RequestID, "leave")
	r.idle()
	// It is connected again, and the same chat goes on with it.
	c := r.insist(`call box__write {"path":"after"}`)
	r.mustClick(c.Pending[0].RequestID, "allow_once")
	r.idle()
	if crashes, writes := ledger.Count("crash", "did"), ledger.Count("write", "did"); crashes != 1 || writes != 1 {
		t.Errorf("crash ran %d times, write %d times", crashes, writes)
	}
	llm.healthy()
}

// A call that takes longer than its server's timeout is given up, which is not the same as not done.
func TestCallTimesOut(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	b := start(t, settings{yaml: entry(box, "timeout: 300ms"), env: startLLM(t).env()})
	r := b.session("Ana").room()
	r.mustClick(r.ask(`call box__slow {}`).RequestID, "allow_once")
	_, card := r.outcome()
	if card.Run != "Run slow from box" {
		t.Errorf("the card: %+v", card)
	}
	r.mustClick(card.RequestID, "happened")
	c := r.idle()
	if n := ledger.Count("slow", "began"); n != 1 || !strings.Contains(c.last().text(), "says that it happened") {
		t.Errorf("it ran %d times: %s", n, c)
	}
}

// Stop reaches a call that runs: its server is told to cancel it.
func TestStopDuringCall(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	b := start(t, settings{yaml: box, env: startLLM(t).env()})
	r := b.session("Ana").room()
	r.mustClick(r.ask(`call box__slow {}`).RequestID, "allow_once")
	until(t, "the tool has begun", func() bool { return ledger.Count("slow", "began") == 1 })
	if status, no := r.call("POST", r.path("/stop"), nil, nil); status != http.StatusAccepted {
		t.Fatalf("stop: %d %+v", status, no)
	}
	until(t, "the server has cancelled it", func() bool { return ledger.Count("slow", "cancelled") == 1 })
	if c := r.idle(); c.last().State != "stopped" || c.last().statuses() == "slow done" {
		t.Errorf("%s", c)
	}
	r.say("say still here")
	if c := r.idle(); !strings.Contains(c.last().text(), "still here") {
		t.Errorf("%s", c)
	}
}

// A changed tool is another tool: yesterday's grant does not cover it.
func TestChangedToolAsksAgain(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	b := start(t, settings{yaml: box, env: startLLM(t).env()})
	r := b.session("Ana").room()
	r.mustClick(r.ask(`call box__mutable {}`).RequestID, "allow_chat")
	r.idle()
	r.say(`call box__mutable {}`)
	r.idle()
	if n := ledger.Count("mutable", "did"); n != 2 {
		t.Fatalf("with its grant it ran %d times", n)
	}
	r.mustClick(r.ask(`call box__change {}`).RequestID, "allow_once")
	r.idle()
	// Until the bot has looked at the new definition, a call is refused; from then on it asks.
	c := r.insist(`call box__mutable {}`)
	if n := ledger.Count("mutable", "did"); n != 2 || c.Pending[0].ToolName != "mutable" {
		t.Errorf("changed, and it ran %d times: %s", n, c)
	}
}

// Nothing can be allowed that cannot be shown.
// R96
func TestArgumentsThatCannotBeShown(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	llm := startLLM(t)
	b := start(t, settings{yaml: box, env: llm.env()})
	r := b.session("Ana").room()
	llm.queue(callsTool("box__write", `{"path":"a","text":"`+strings.Repeat("all work and no play ", 20_000)+`"}`))
	r.say("write a lot")
	c := r.until("it asks, or is over", func(c chatForm) bool { return c.State != "working" && c.Queued == 0 && c.last().ID != "" })
	if len(c.Pending) > 0 {
		if got := labels(c.last().block("ask", "").Choices); got != "Deny" {
			t.Errorf("its buttons: %s", got)
		}
		for _, choice := range []string{"allow_once", "allow_chat"} {
			if _, status, no := r.click(c.Pending[0].RequestID, choice); status < 400 {
				t.Errorf("%s: %d %+v", choice, status, no)
			}
		}
		if status, no := r.call("POST", "/api/v1/tools/approve", map[string]any{"tool_call_id": c.Pending[0].ToolCallID, "approved": true}, nil); status < 400 {
			t.Errorf("approve: %d %+v", status, no)
		}
		r.mustClick(c.Pending[0].RequestID, "deny")
	}
	if c = r.idle(); ledger.Count("write", "did") != 0 || !c.last().ToolCalls[0].Result.IsError {
		t.Errorf("%s", c)
	}
	// What hides or reverses text is made visible.
	ask := r.ask("call box__write {\"path\":\"gpj.\u202Eexe\"}")
	if card := string(ask.Arguments); !strings.Contains(card, "202") && !strings.Contains(card, "\u202E") {
		t.Errorf("the arguments: %s", card)
	}
	var raw struct {
		Messages []struct {
			Blocks []struct {
				Type      string `json:"type"`
				Arguments struct {
					JSON    string `json:"json"`
					Escaped int    `json:"escaped"`
				} `json:"arguments"`
			} `json:"blocks"`
		} `json:"messages"`
	}
	r.call("GET", r.path(""), nil, &raw)
	blocks := raw.Messages[len(raw.Messages)-1].Blocks
	if args := blocks[len(blocks)-1].Arguments; args.Escaped != 1 || strings.Contains(args.JSON, "\u202E") {
		t.Errorf("the card draws %+v", args)
	}
	llm.healthy()
}

// The session's setting beats everything, in both directions.
// R5
func TestModes(t *testing.T) {
	t.Parallel()
	always := start(t, settings{name: "always", yaml: "permissions: {mode: always}\n"}).session("Ana").room()
	if ask := always.ask("what time is it"); ask.ToolName != "datetime" {
		t.Errorf("%+v", ask)
	}
	b := start(t, settings{name: "never", yaml: "permissions: {mode: never}\n"})
	r := b.session("Ana").room()
	s := r.events("")
	r.say("write hello to notes.txt")
	s.named("turn_done")
	if b.content("notes.txt") != "hello" || strings.Contains(strings.Join(s.names(), " "), "approval_required") {
		t.Errorf("the file says %q after %v", b.content("notes.txt"), s.names())
	}
}
