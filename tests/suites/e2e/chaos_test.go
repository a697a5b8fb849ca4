package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/mcpserver"
)

var chaos = struct {
	lasts  *time.Duration
	bots   *int
	people *int
	seed   *uint64
}{
	flag.Duration("chaos", 15*time.Second, "how long TestChaos does harm"),
	flag.Int("chaos.bots", 3, "how many bots it does it to"),
	flag.Int("chaos.people", 4, "how many people ask and answer meanwhile, each in one chat after the other"),
	flag.Uint64("chaos.seed", 1, "what decides what happens when"),
}

const chaosLease = 3 * time.Second

// TestChaos is the experiment behind "no event lost, no approved call run twice, no chat stuck": several bots as processes, a real Redis
// with an append-only file, people who ask and answer at whichever bot is up, and somebody who does harm all the time. The tool server's
// own ledger says what really happened. `make chaos` runs it for longer, and prints the table.
func TestChaos(t *testing.T) {
	t.Parallel()
	c := openChaos(t)
	ends := time.Now().Add(*chaos.lasts)
	var people sync.WaitGroup
	for n := range *chaos.people {
		r := rand.New(rand.NewPCG(*chaos.seed, uint64(n)))
		people.Go(func() {
			for i := 0; time.Now().Before(ends) && !t.Failed(); i++ {
				c.talk(r, fmt.Sprintf("%d-%d", n, i))
			}
		})
	}
	c.harm(rand.New(rand.NewPCG(*chaos.seed, 1<<32)), ends)
	people.Wait()
	c.report()
}

// disorder is everything of the experiment.
type disorder struct {
	t      *testing.T
	redis  *redisServer
	line   *wire
	bots   []*bot
	doors  []*bot // the same, by their addresses alone: those never change, and people know nothing else of a bot
	ledger *mcpserver.Ledger
	ana    *person

	mu     sync.Mutex
	counts map[string]int
	waits  []time.Duration // from each word and click of a person until the bot did what follows
}

func openChaos(t *testing.T) *disorder {
	c := &disorder{t: t, redis: startRedis(t), counts: map[string]int{}}
	c.line = openWire(t, c.redis)
	box, ledger := toolbox(t)
	c.ledger = ledger
	env, dir := startLLM(t).env(), filepath.Join(t.TempDir(), "data")
	env["REDIS_URL"] = c.line.url
	for n := range *chaos.bots {
		env["NOD_LISTEN"] = fmt.Sprintf("127.0.0.1:%d", freePort(t))
		b := start(t, settings{name: fmt.Sprintf("bot %d", n), yaml: box + "approvals: {timeout: 1h}\nlease: " + chaosLease.String() + "\n", dir: dir, env: maps.Clone(env)})
		c.bots, c.doors = append(c.bots, b), append(c.doors, &bot{t: t, addr: b.addr})
	}
	c.ana = c.doors[0].session("Ana")
	return c
}

func (c *disorder) count(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what] += n
}

// insist makes one request of a chat at one bot after the other, until one of them gives an answer that counts.
func (c *disorder) insist(r *rand.Rand, what, method, path string, body, out any) (status int, no problem) {
	for over := time.Now().Add(patience); time.Now().Before(over); {
		status, no := c.ana.at(c.doors[r.IntN(len(c.doors))]).call(method, path, body, out)
		if status != 0 && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests {
			return status, no
		}
		c.count("answers that say: try again", 1)
		<-time.After(50 * time.Millisecond)
	}
	c.t.Errorf("stuck: %s was not taken within %v", what, patience)
	return 0, problem{}
}

// until looks at a chat until it is so, and records how long that took. It is stuck otherwise.
func (c *disorder) until(r *rand.Rand, id, what string, yes func(chatForm) bool) (now chatForm, ok bool) {
	began := time.Now()
	for time.Since(began) < patience {
		now = chatForm{}
		if status, _ := c.insist(r, "a look", "GET", "/api/v1/chats/"+id, nil, &now); status == http.StatusOK && yes(now) {
			c.mu.Lock()
			c.waits = append(c.waits, time.Since(began))
			c.mu.Unlock()
			return now, true
		}
		<-time.After(20 * time.Millisecond)
	}
	c.count("chats that are stuck", 1)
	c.t.Errorf("stuck: it never came that %s\n%s", what, now)
	return now, false
}

// talk is one chat with one call, from its first word to its end.
func (c *disorder) talk(r *rand.Rand, name string) {
	var made struct {
		ChatID string `json:"chat_id"`
	}
	if status, _ := c.insist(r, "a chat", "POST", "/api/v1/chats", nil, &made); status != http.StatusCreated {
		c.t.Errorf("a chat: %d", status)
		return
	}
	id, order := made.ChatID, fmt.Sprintf(`call box__write {"path":%q}`, name)
	if status, _ := c.insist(r, "a message", "POST", "/api/v1/chats/"+id+"/messages", map[string]string{"text": order, "delivery": name}, nil); status != http.StatusAccepted {
		c.t.Errorf("a message: %d", status)
		return
	}
	c.count("messages", 1)
	now, ok := c.until(r, id, "it asks", func(x chatForm) bool { return len(x.Pending) == 1 })
	if !ok {
		return
	}
	choice := []string{"allow_once", "allow_once", "allow_once", "deny"}[r.IntN(4)]
	over := func(x chatForm) bool { return x.State == "idle" && x.Queued == 0 && x.last().End != nil }
	for asked := ""; len(now.Pending) == 1; {
		if asked != "" { // Redis was away, so what had been decided does not count
			c.count("calls that were asked about anew", 1)
		}
		asked = now.Pending[0].RequestID
		said := c.click(r, asked, choice)
		if now, ok = c.until(r, id, "the turn is over, or it asks anew, or what happened, after "+said, func(x chatForm) bool {
			return over(x) || x.last().block("ask", "").Kind == "outcome" || len(x.Pending) == 1 && x.Pending[0].RequestID != asked
		}); !ok {
			return
		}
	}
	if ask := now.last().block("ask", ""); ask.Kind == "outcome" {
		c.count("calls of which nobody knows: a person was asked", 1)
		c.click(r, ask.RequestID, "leave")
		if now, ok = c.until(r, id, "the turn is over", over); !ok {
			return
		}
	}
	c.judge(now, name, order, choice)
}

// click answers, and says what came of it.
func (c *disorder) click(r *rand.Rand, request, choice string) string {
	// Refused as answered already: the first try counted, and its reply was lost.
	status, no := c.insist(r, "a click", "POST", "/api/v1/asks/"+request, map[string]string{"choice": choice}, nil)
	if status != http.StatusOK && status != http.StatusConflict && status != http.StatusGone {
		c.t.Errorf("a click: %d %+v", status, no)
	}
	c.count("clicks", 1)
	return fmt.Sprintf("%s on %s was answered %d %s", choice, request, status, no.Code)
}

// judge holds what the chat says against the ledger.
func (c *disorder) judge(now chatForm, name, order, choice string) {
	effects, err := c.ledger.Effects()
	if err != nil {
		c.t.Error(err)
	}
	ran := 0
	for _, e := range effects {
		var args struct{ Path string }
		if json.Unmarshal(e.Args, &args) == nil && args.Path == name {
			ran++
		}
	}
	said := 0
	for _, m := range now.Messages {
		if m.Text == order {
			said++
		}
	}
	status := strings.TrimPrefix(now.last().statuses(), "write ") // failed: it was certainly not sent, which the chat says
	c.count(choice+": "+status, 1)
	switch {
	case said != 1:
		c.count("messages lost or doubled", 1)
		c.t.Errorf("%s: the message stands %d times\n%s", name, said, now)
	case ran > 1:
		c.count("calls that ran twice", 1)
		c.t.Errorf("%s ran %d times\n%s", name, ran, now)
	case choice == "deny" && (ran != 0 || status != "denied"), status == "done" && ran != 1, status == "failed" && ran != 0,
		!slices.Contains([]string{"denied", "done", "failed", "unknown"}, status):
		c.count("calls that are not as the chat says", 1)
		c.t.Errorf("%s, %s: it is %q, and ran %d times\n%s", name, choice, status, ran, now)
	}
}

// harm does one thing after the other until it ends; then everything runs again.
func (c *disorder) harm(r *rand.Rand, ends time.Time) {
	for time.Now().Before(ends) && !c.t.Failed() {
		<-time.After(time.Duration(100+r.IntN(700)) * time.Millisecond)
		b := c.bots[r.IntN(len(c.bots))]
		switch n := r.IntN(12); {
		case n < 4:
			c.count("bots killed", 1)
			b.kill()
			<-time.After(time.Duration(r.IntN(2000)) * time.Millisecond)
			b.start()
		case n == 4:
			c.count("bots stopped for longer than a lease, then let go on", 1)
			c.signal(b, syscall.SIGSTOP)
			<-time.After(chaosLease + time.Second)
			c.signal(b, syscall.SIGCONT)
		case n == 5:
			c.count("Redis killed", 1)
			c.redis.kill()
			c.redis.start(c.t)
		case n == 6:
			c.count("Redis unreachable for a while", 1)
			c.line.pause(time.Duration(500+r.IntN(1500)) * time.Millisecond)
		case n < 9:
			k := 1 + r.IntN(4)
			c.count("replies of Redis cut in half", k)
			c.line.harm(k, "")
		case n == 9:
			c.count("all connections to Redis cut", 1)
			c.line.cut()
		default:
			k := 1 + r.IntN(4)
			c.count("commands that Redis refused", k)
			c.line.harm(k, wrong[r.IntN(len(wrong))])
		}
	}
}

func (c *disorder) signal(b *bot, s syscall.Signal) {
	if err := b.cmd.Process.Signal(s); err != nil {
		c.t.Error(err)
	}
}

// report prints the table.
func (c *disorder) report() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, zero := range []string{"calls that ran twice", "messages lost or doubled", "chats that are stuck", "calls that are not as the chat says"} {
		c.counts[zero] += 0
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d bots, %d people, %v, seed %d\n", *chaos.bots, *chaos.people, *chaos.lasts, *chaos.seed)
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		fmt.Fprintf(&b, "| %-62s | %6d |\n", what, c.counts[what])
	}
	slices.Sort(c.waits)
	if n := len(c.waits); n > 0 {
		fmt.Fprintf(&b, "| %-62s | %6s |\n", "after a word or a click the bot did what follows within, p50", c.waits[n/2].Round(time.Millisecond))
		fmt.Fprintf(&b, "| %-62s | %6s |\n", "p99", c.waits[n*99/100].Round(time.Millisecond))
		fmt.Fprintf(&b, "| %-62s | %6s |\n", "at most", c.waits[n-1].Round(time.Millisecond))
	}
	c.t.Log(b.String())
	if c.counts["messages"] == 0 || c.counts["bots killed"] == 0 {
		c.t.Error("nothing happened")
	}
}
