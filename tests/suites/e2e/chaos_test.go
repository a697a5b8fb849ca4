package e2e

import (
	"cmp"
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
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/mcpserver"
	"github.com/nodhq/nod/tests/standins/stand"
)

var chaos = struct {
	lasts  *time.Duration
	on     *string
	bots   *int
	people *int
	seed   *uint64
}{
	flag.Duration("chaos", 6*time.Second, "how long TestChaos does harm, on each store"),
	flag.String("chaos.on", "one,forgetful", "the stores it does it on: names of chaosStores with commas between, or all"),
	flag.Int("chaos.bots", 3, "how many bots it does it to"),
	flag.Int("chaos.people", 4, "how many people ask and answer meanwhile, each in one chat after the other"),
	flag.Uint64("chaos.seed", 1, "what decides what happens when"),
}

const chaosLease = 3 * time.Second

// TestChaos is the experiment behind "no event lost, no approved call run twice, no chat stuck": several bots as processes, a real Redis
// with an append-only file, people who ask and answer at whichever bot is up, and somebody who does harm all the time. The tool server's
// own ledger says what really happened. `make chaos` runs it for longer, on each of chaosStores, and prints the tables.
func TestChaos(t *testing.T) {
	t.Parallel()
	for _, store := range chaosStores {
		if *chaos.on != "all" && !slices.Contains(strings.Split(*chaos.on, ","), store.name) {
			continue
		}
		t.Run(store.name, func(t *testing.T) {
			c := openChaos(t, store)
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
		})
	}
}

// disorder is everything of the experiment.
type disorder struct {
	t      *testing.T
	store  chaosStore
	redis  *redisServer
	spare  *redisServer // follows redis; nil: none does
	line   *wire
	bots   []*bot
	doors  []*bot // the same, by their addresses alone: those never change, and people know nothing else of a bot
	ledger *mcpserver.Ledger
	harms  []harm

	mu     sync.Mutex
	ana    *person
	counts map[string]int
	waits  []time.Duration // from each word and click of a person until the bot did what follows
}

func openChaos(t *testing.T, store chaosStore) *disorder {
	c := &disorder{t: t, store: store, counts: map[string]int{}}
	url := store.open(c)
	box, ledger := toolbox(t)
	c.ledger = ledger
	env, dir := startLLM(t).env(), filepath.Join(t.TempDir(), "data")
	env["REDIS_URL"] = url
	yaml := box + "approvals: {timeout: 1h}\nlease: " + chaosLease.String() + "\nredis: {durability: " + cmp.Or(store.durability, "local") + "}\n"
	for n := range *chaos.bots {
		env["NOD_LISTEN"] = fmt.Sprintf("127.0.0.1:%d", stand.FreePort(t))
		b := start(t, settings{name: fmt.Sprintf("bot %d", n), yaml: yaml, dir: dir, env: maps.Clone(env)})
		c.bots, c.doors = append(c.bots, b), append(c.doors, &bot{t: t, addr: b.addr})
	}
	c.ana = c.doors[0].session("Ana")
	return c
}

// who is the person who asks and answers: another one where the store forgot the one before.
func (c *disorder) who() *person {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ana
}

// forgotten opens a session anew, unless somebody did meanwhile.
func (c *disorder) forgotten(r *rand.Rand, was *person) {
	if c.who() != was {
		return
	}
	p := &person{t: c.t, b: c.doors[r.IntN(len(c.doors))]}
	var out struct{ Key, User string }
	if status, _ := p.call("POST", "/api/v1/sessions", map[string]string{"name": "Ana"}, &out); status == http.StatusCreated {
		p.key, p.user = out.Key, out.User
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ana = p
	}
}

func (c *disorder) count(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what] += n
}

// insist makes one request of a chat at one bot after the other, until one of them gives an answer that counts.
func (c *disorder) insist(r *rand.Rand, what, method, path string, body, out any) (status int, no problem) {
	for over := time.Now().Add(patience); time.Now().Before(over); {
		ana := c.who()
		status, no := ana.at(c.doors[r.IntN(len(c.doors))]).call(method, path, body, out)
		switch {
		case c.store.forgets && status == http.StatusUnauthorized:
			c.forgotten(r, ana)
		case status != 0 && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			return status, no
		}
		c.count("answers that say: try again", 1)
		<-time.After(50 * time.Millisecond)
	}
	c.t.Errorf("stuck: %s was not taken within %v", what, patience)
	return 0, problem{}
}

// until looks at a chat until it is so, and records how long that took. It is stuck otherwise. again is done each second: where the store
// forgets what it was told, people tell it again.
func (c *disorder) until(r *rand.Rand, id, what string, yes func(chatForm) bool, again func()) (now chatForm, ok bool) {
	began := time.Now()
	for told := began; time.Since(began) < patience; {
		now = chatForm{}
		status, _ := c.insist(r, "a look", "GET", "/api/v1/chats/"+id, nil, &now)
		switch {
		case status == http.StatusOK && yes(now):
			c.mu.Lock()
			c.waits = append(c.waits, time.Since(began))
			c.mu.Unlock()
			return now, true
		case c.store.forgets && status >= 400:
			c.count("chats that Redis forgot", 1)
			return now, false
		case c.store.forgets && time.Since(told) > time.Second:
			told = time.Now()
			again()
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
	say := func() int {
		status, _ := c.insist(r, "a message", "POST", "/api/v1/chats/"+id+"/messages", map[string]string{"text": order, "delivery": name}, nil)
		return status
	}
	if status := say(); status != http.StatusAccepted && !c.store.forgets {
		c.t.Errorf("a message: %d", status)
		return
	}
	c.count("messages", 1)
	choice := []string{"allow_once", "allow_once", "allow_once", "deny"}[r.IntN(4)]
	over := func(x chatForm) bool { return x.State == "idle" && x.Queued == 0 && x.last().End != nil }
	approvals, asked, said := 0, "", "nothing"
	for {
		open := func(x chatForm) string {
			if ask := x.last().block("ask", ""); ask.Kind == "outcome" {
				return ask.RequestID
			}
			if len(x.Pending) == 1 {
				return x.Pending[0].RequestID
			}
			return ""
		}
		now, ok := c.until(r, id, "it asks, or the turn is over, after "+said, func(x chatForm) bool {
			return over(x) || open(x) != "" && open(x) != asked
		}, func() { say(); asked = "" })
		switch {
		case !ok:
			c.ranAtMost(name, approvals)
			return
		case over(now):
			c.judge(now, name, order, choice, approvals)
			return
		case now.last().block("ask", "").Kind == "outcome":
			c.count("calls of which nobody knows: a person was asked", 1)
			asked = open(now)
			said = c.click(r, asked, "leave")
			continue
		case approvals > 0 || asked != "": // Redis was away, so what had been decided does not count
			c.count("calls that were asked about anew", 1)
		}
		if asked = open(now); choice != "deny" {
			approvals++
		}
		said = c.click(r, asked, choice)
	}
}

// click answers, and says what came of it.
func (c *disorder) click(r *rand.Rand, request, choice string) string {
	// Refused as answered already: the first try counted, and its reply was lost.
	status, no := c.insist(r, "a click", "POST", "/api/v1/asks/"+request, map[string]string{"choice": choice}, nil)
	if status != http.StatusOK && status != http.StatusConflict && status != http.StatusGone && !c.store.forgets {
		c.t.Errorf("a click: %d %+v", status, no)
	}
	c.count("clicks", 1)
	return fmt.Sprintf("%s on %s was answered %d %s", choice, request, status, no.Code)
}

// ran is how often the ledger has a call.
func (c *disorder) ran(name string) (n int) {
	effects, err := c.ledger.Effects()
	if err != nil {
		c.t.Error(err)
	}
	for _, e := range effects {
		var args struct{ Path string }
		if json.Unmarshal(e.Args, &args) == nil && args.Path == name {
			n++
		}
	}
	return n
}

// ranAtMost holds the ledger against what people allowed: a call runs at most once for each time.
func (c *disorder) ranAtMost(name string, approvals int) (n int) {
	if n = c.ran(name); n > approvals {
		c.count("calls that ran without an approval of their own", 1)
		c.t.Errorf("%s ran %d times, and was allowed %d times", name, n, approvals)
	}
	return n
}

// judge holds what the chat says against the ledger.
func (c *disorder) judge(now chatForm, name, order, choice string, approvals int) {
	ran := c.ranAtMost(name, approvals)
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
	case ran > 1 && !c.store.forgets:
		c.count("calls that ran twice", 1)
		c.t.Errorf("%s ran %d times\n%s", name, ran, now)
	case choice == "deny" && (ran != 0 || status != "denied"), status == "done" && ran == 0, status == "failed" && ran != 0 && !c.store.forgets,
		!slices.Contains([]string{"denied", "done", "failed", "unknown"}, status):
		c.count("calls that are not as the chat says", 1)
		c.t.Errorf("%s, %s: it is %q, and ran %d times\n%s", name, choice, status, ran, now)
	}
}

// harm does one thing after the other until it ends; then everything runs again.
func (c *disorder) harm(r *rand.Rand, ends time.Time) {
	for time.Now().Before(ends) && !c.t.Failed() {
		<-time.After(time.Duration(100+r.IntN(700)) * time.Millisecond)
		c.harms[r.IntN(len(c.harms))](c, r)
	}
}

// report prints the table.
func (c *disorder) report() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, zero := range []string{"calls that ran twice", "calls that ran without an approval of their own", "messages lost or doubled", "chats that are stuck", "calls that are not as the chat says"} {
		c.counts[zero] += 0
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d bots, %d people, %v, seed %d\n", c.store.name, *chaos.bots, *chaos.people, *chaos.lasts, *chaos.seed)
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
	if c.counts["messages"] == 0 {
		c.t.Error("nothing happened")
	}
}
