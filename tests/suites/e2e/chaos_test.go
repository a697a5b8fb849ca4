package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/mcpserver"
)

func TestKillAtRandomMoments(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	b := start(t, settings{yaml: box, env: startLLM(t).env()})
	killAtRandom(t, []*bot{b}, 15, 250*time.Millisecond, ledger)
}

// Two replicas are killed in turns, each while somebody works at it.
// R139
func TestKillReplicasAtRandomMoments(t *testing.T) {
	t.Parallel()
	llm := startLLM(t)
	box, ledger := toolbox(t)
	_, a, b := replicas(t, box, "1s", llm.env())
	killAtRandom(t, []*bot{a, b}, 8, 1500*time.Millisecond, ledger)
}

// killAtRandom has somebody ask for writes, one after another, while bots are killed and started again. Whatever the moment of a
// kill -9: what was acknowledged is there, once, and nothing ran more often than somebody allowed it.
func killAtRandom(t *testing.T, bots []*bot, rounds int, spread time.Duration, ledger *mcpserver.Ledger) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	ana := bots[0].session("Ana")
	r := ana.room()
	approved := map[string]bool{} // calls that somebody said yes to; whether the answer arrived is another thing
	// settle does what a person does with what stands in the chat. Answers of a process that is being killed are lost or not, as they are.
	settle := func(r *room, c chatForm) {
		for _, p := range c.Pending {
			choice := "allow_once"
			if strings.HasSuffix(string(p.Arguments), `0"}`) {
				choice = "deny"
			}
			approved[string(p.Arguments)] = choice == "allow_once"
			r.click(p.RequestID, choice)
		}
		if card := c.last().block("ask", ""); card.Kind == "outcome" {
			r.click(card.RequestID, "leave")
		}
	}
	args := func(n int) string { return fmt.Sprintf(`{"path":"p%d"}`, n) }
	n, said := 0, false // the message that is on its way, and whether it was acknowledged
	for i := range rounds {
		victim := bots[i%len(bots)]
		// They work at the one that is about to die, so that it is the one that drives, and watch at the other, if there is one.
		here, there := r.as(ana.at(victim)), r.as(ana.at(bots[(i+1)%len(bots)]))
		dead := make(chan struct{})
		moment := time.AfterFunc(time.Duration(random.Int64N(int64(spread))), func() { defer close(dead); victim.kill() })
		t.Cleanup(func() { moment.Stop() })
		for alive := true; alive; {
			if !said {
				// One that is sent again keeps its name: it is one message, however often it arrives.
				status, _ := here.call("POST", r.path("/messages"), map[string]string{"text": "call box__write " + args(n), "delivery": args(n)}, nil)
				said = status == http.StatusAccepted
			} else if c, status, _ := there.look(); status == http.StatusOK {
				settle(here, c)
				if c.State == "idle" && c.Queued == 0 {
					n, said = n+1, false
				}
			}
			select {
			case <-dead:
				alive = false
			default:
			}
		}
		victim.start()
	}
	// Two more that nobody kills: where starting takes longer than the kills leave time for, they alone get through.
	over := func() chatForm {
		return r.until("every turn is over", func(c chatForm) bool {
			settle(r, c)
			return c.State == "idle" && c.Queued == 0
		})
	}
	c := over()
	for _, call := range []string{args(100), args(101)} {
		r.until(call+" is taken", func(chatForm) bool {
			status, _ := r.call("POST", r.path("/messages"), map[string]string{"text": "call box__write " + call, "delivery": call}, nil)
			return status == http.StatusAccepted
		})
		c = over()
	}
	heard, ran, outcomes := map[string]int{}, map[string]int{}, map[string]int{}
	for _, m := range c.Messages {
		if m.Role == "user" {
			heard[m.Text]++
		}
	}
	effects, err := ledger.Effects()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range effects {
		ran[string(e.Args)]++
	}
	for i := range n {
		if got := heard["call box__write "+args(i)]; got != 1 {
			t.Errorf("message %d was acknowledged and stands %d times in the chat", i, got)
		}
		if got := ran[args(i)]; got > 1 {
			t.Errorf("call %d ran %d times on one approval", i, got)
		}
	}
	for _, m := range c.bots() {
		for _, call := range m.ToolCalls {
			outcomes[call.Status]++
			got := ran[string(call.Arguments)]
			wrong := got > 0 // true unless somebody said yes
			if m.State == "failed" && call.Status == "cancelled" {
				// Three processes that die one after another before they get a step further end the turn, and that is said.
			} else if approved[string(call.Arguments)] {
				wrong = call.Status == "done" && got != 1 || call.Status != "done" && call.Status != "unknown"
			} else if call.Status != "denied" {
				wrong = true
			}
			if wrong {
				t.Errorf("%s is %s, ran %d times, approved %v", call.Arguments, call.Status, got, approved[string(call.Arguments)])
			}
		}
	}
	if outcomes["done"] == 0 || outcomes["denied"] == 0 {
		t.Error("no call was ever done, or none denied")
	}
	t.Logf("seed %d, %d messages, outcomes %v", seed, n, outcomes)
	if t.Failed() {
		t.Log(c)
	}
}
