package state

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/nodhq/nod/core/agent"
)

// testBudget is a store whose time a test holds.
type testBudget struct {
	*Store
	t     testing.TB
	at    time.Time
	start time.Time
	set   func(time.Time)
	drop  func() // expires what ran out
}

func (p *testBudget) pass(d time.Duration) { p.to(p.at.Add(d)) }

func (p *testBudget) to(at time.Time) {
	p.at = at
	p.set(at)
}

func (p *testBudget) spend(sp Spend) time.Duration {
	p.t.Helper()
	if sp.Pool == "" {
		sp.Pool = "slack/T1/chat.update"
	}
	switch sp.Limit {
	case 0:
		sp.Limit = 50
	case none:
		sp.Limit = 0
	default:
	}
	if sp.Per == 0 {
		sp.Per = time.Minute
	}
	wait, err := p.Spend(context.Background(), sp)
	if err != nil {
		p.t.Fatal(err)
	}
	if wait != 0 && wait < 20*time.Millisecond {
		p.t.Fatalf("told to come back in %s", wait)
	}
	return wait
}

func (p *testBudget) must(sp Spend) {
	p.t.Helper()
	if w := p.spend(sp); w != 0 {
		p.t.Fatalf("%+v has to wait %s", sp, w)
	}
}

func (p *testBudget) mustNot(sp Spend) time.Duration {
	p.t.Helper()
	w := p.spend(sp)
	if w == 0 {
		p.t.Fatalf("%+v was taken", sp)
	}
	return w
}

// none is the limit of what only says that a message ended.
const none = -1

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func miniBudget(t *testing.T) *testBudget {
	m := miniredis.RunT(t)
	m.SetTime(noon)
	p := &testBudget{Store: openStore(t, Options{URL: "redis://" + m.Addr()}), t: t, at: noon, start: noon, set: m.SetTime}
	dropped := noon
	p.drop = func() { m.FastForward(p.at.Sub(dropped)); dropped = p.at }
	return p
}

// budgets runs a test on a Redis's client and on the embedded store.
func budgets(t *testing.T, test func(t *testing.T, p *testBudget)) {
	t.Run("Redis", func(t *testing.T) { test(t, miniBudget(t)) })
	t.Run("embedded", func(t *testing.T) {
		at := noon
		p := &testBudget{t: t, at: at, start: at, set: func(x time.Time) { at = x }}
		p.Store = openEmbedded(t, t.TempDir(), Options{now: func() time.Time { return at }})
		p.drop = func() {
			if err := p.disk.Sweep(); err != nil {
				t.Fatal(err)
			}
		}
		test(t, p)
	})
}

const (
	decision = agent.Decision
	final    = agent.Final
)

func TestAPlainPoolIsASlidingWindow(t *testing.T) {
	budgets(t, func(t *testing.T, p *testBudget) {
		plain := Spend{Pool: "slack/T1/chat.postMessage/C1", Limit: 3, Per: 6 * time.Second} // and a margin of 100 ms
		p.must(plain)
		p.pass(time.Second)
		p.must(plain)
		p.must(Spend{Pool: plain.Pool, Limit: 3, Per: plain.Per, Lane: decision})
		if w := p.mustNot(plain); w != 5100*time.Millisecond {
			t.Errorf("told to wait %s", w)
		}
		p.must(Spend{Pool: "slack/T1/chat.postMessage/C2", Limit: 3, Per: 6 * time.Second})
		p.pass(5099 * time.Millisecond)
		p.mustNot(plain)
		p.pass(time.Millisecond)
		p.must(plain)
		p.mustNot(plain)
	})
}

func TestOneASecond(t *testing.T) {
	p := miniBudget(t)
	one := Spend{Pool: "p", Limit: 1, Per: time.Second}
	p.must(one)
	p.pass(p.mustNot(one))
	p.must(one)
	if d := p.at.Sub(p.start); d != 1100*time.Millisecond {
		t.Errorf("the second after %s", d)
	}
}

// A short burst, then one after another; what was not used is there again, never more than a burst of it.
func TestABurstThatComesBackEvenly(t *testing.T) {
	budgets(t, func(t *testing.T, p *testBudget) {
		plain := Spend{Pool: "p", Limit: 3, Per: 2900 * time.Millisecond, Evenly: true, Lane: final} // and a margin of 100 ms
		for range 3 {
			p.must(plain)
		}
		for range 4 {
			if w := p.mustNot(plain); w != time.Second {
				t.Fatalf("told to wait %s", w)
			}
			p.pass(999 * time.Millisecond)
			p.mustNot(plain)
			p.pass(time.Millisecond)
			p.must(plain)
		}
		p.pass(2 * time.Second)
		p.must(plain)
		p.must(plain)
		p.mustNot(plain)
		p.pass(time.Hour)
		for range 3 {
			p.must(plain)
		}
		p.mustNot(plain)
	})
}

// A decision goes before a final, a final before progress, and who asked first before who asked later.
func TestLanes(t *testing.T) {
	budgets(t, func(t *testing.T, p *testBudget) {
		ask := func(lane agent.Urgency, message string) Spend {
			return Spend{Limit: 2, Per: time.Minute, Lane: lane, Message: message, Ends: lane == final}
		}
		p.must(ask(final, "a"))
		p.pass(300 * time.Millisecond)
		p.must(ask(final, "b"))
		p.pass(59*time.Second + 700*time.Millisecond) // a's slot comes back in a second, b's after that
		p.mustNot(ask(0, "streams"))
		if w := p.mustNot(ask(final, "f1")); w != time.Second {
			t.Errorf("the first final is told %s", w)
		}
		p.pass(10 * time.Millisecond)
		p.mustNot(ask(final, "f2"))
		p.pass(10 * time.Millisecond)
		if w := p.mustNot(ask(decision, "d")); w != 980*time.Millisecond {
			t.Errorf("the decision is told %s, and no slot comes back before 980ms", w)
		}
		if w := p.mustNot(ask(final, "f1")); w != 1280*time.Millisecond {
			t.Errorf("the first final is told %s: a decision goes before it", w)
		}
		p.pass(980 * time.Millisecond)
		p.mustNot(ask(0, "streams"))
		p.mustNot(ask(final, "f2"))
		p.mustNot(ask(final, "f1"))
		p.pass(time.Millisecond)
		p.must(ask(decision, "d"))
		p.pass(300 * time.Millisecond)
		p.mustNot(ask(final, "f2"))
		p.mustNot(Spend{Limit: 2, Message: ""})
		p.pass(time.Millisecond)
		p.must(ask(final, "f1"))
	})
}

// A slot that came back while somebody urgent was told to wait for it is theirs.
func TestProgressWaitsBehindWhoWaits(t *testing.T) {
	p := miniBudget(t)
	for range 6 {
		p.must(Spend{Limit: 6})
		p.pass(10 * time.Millisecond)
	}
	p.pass(60*time.Second + 910*time.Millisecond)
	p.mustNot(Spend{Limit: 6, Lane: final, Message: "a", Ends: true})
	p.mustNot(Spend{Limit: 6, Lane: decision, Message: "b"})
	p.pass(p.mustNot(Spend{Limit: 6})) // told when the third comes back
	p.must(Spend{Limit: 6})
	p.mustNot(Spend{Limit: 6})
	p.must(Spend{Limit: 6, Lane: final, Message: "a", Ends: true})
	p.must(Spend{Limit: 6, Lane: decision, Message: "b"})
}

// A final does not join a long queue, for each that waits there makes asking dearer: it comes again later, and not all come at once.
func TestALongQueueIsNotJoined(t *testing.T) {
	budgets(t, func(t *testing.T, p *testBudget) {
		name := func(i int) string { return fmt.Sprint("m", i) }
		for i := range 5 {
			p.must(Spend{Limit: 5, Lane: final, Message: name(i), Ends: true})
		}
		for i := range 20 {
			if wait := p.mustNot(Spend{Limit: 5, Lane: final, Message: name(i), Ends: true}); wait > 2*time.Second {
				t.Fatalf("the %d. of the queue is told to wait %s", i+1, wait)
			}
		}
		least, most := time.Hour, time.Duration(0)
		for i := range 50 {
			wait := p.mustNot(Spend{Limit: 5, Lane: final, Message: name(100 + i), Ends: true})
			least, most = min(least, wait), max(most, wait)
		}
		if least < 30*time.Second || most > 61*time.Second || most-least < 10*time.Second {
			t.Errorf("who finds a long queue is told to wait from %s to %s", least, most)
		}
		if n := len(p.grown()); n != 20 {
			t.Errorf("%d are in the queue", n)
		}
		if wait := p.mustNot(Spend{Limit: 5, Lane: final, Message: name(0), Ends: true}); wait > 2*time.Second {
			t.Errorf("who is in the queue already is told to wait %s", wait)
		}
		p.must(Spend{Limit: 5, Hard: 6, Lane: decision, Message: "d"})
	})
}

func TestWhoDoesNotComeBackIsNotWaitedFor(t *testing.T) {
	p := miniBudget(t)
	p.must(Spend{Limit: 1, Lane: final, Ends: true, Message: "a"})
	p.pass(60 * time.Second)
	w := p.mustNot(Spend{Limit: 1, Lane: decision, Message: "crashed"})
	p.mustNot(Spend{Limit: 1, Lane: final, Message: "b"})
	p.pass(w)
	p.mustNot(Spend{Limit: 1, Lane: final, Message: "b"})
	p.pass(2001 * time.Millisecond)
	p.must(Spend{Limit: 1, Lane: final, Message: "b"})
}

// Whatever progress does, finals find their slots, and a decision goes beyond them where the platform bears it.
func TestReserves(t *testing.T) {
	budgets(t, func(t *testing.T, p *testBudget) {
		const n = 5
		name := func(i int) string { return fmt.Sprint("m", i) }
		for range 150 { // a minute of asking
			for i := range n {
				p.spend(Spend{Limit: 20, Message: name(i), Rate: 300})
			}
			p.spend(Spend{Limit: 20}) // an edit of no live message leaves them alone, too
			p.pass(400 * time.Millisecond)
		}
		if left := 20 - p.held("slack/T1/chat.update"); left < n {
			t.Fatalf("%d slots are left for %d finals", left, n)
		}
		for i := range n {
			p.must(Spend{Limit: 20, Lane: final, Message: name(i), Ends: true})
		}
		p.must(Spend{Limit: 20, Hard: 30, Lane: decision, Message: name(0)})
	})
}

func (p *testBudget) held(pool string) int {
	p.t.Helper()
	z, err := p.rdb.ZCard(p.t.Context(), poolKeys(pool).spent).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	return int(z)
}

// A message whose replica died gives its reserve back, and so does one that ended by other means.
func TestReservesLapse(t *testing.T) {
	for _, how := range []string{"lapses", "ended", "ended elsewhere"} {
		t.Run(how, func(t *testing.T) {
			p := miniBudget(t)
			for i := range 8 {
				p.mustNot(Spend{Limit: 10, Message: fmt.Sprint("m", i)}) // new, so it waits for its pace: but it is live
			}
			for range 5 {
				p.must(Spend{Limit: 10}) // at most half of the limit is reserved
			}
			p.mustNot(Spend{Limit: 10})
			switch how {
			case "lapses":
				p.pass(30 * time.Second)
				p.mustNot(Spend{Limit: 10})
				p.pass(1001 * time.Millisecond)
			case "ended":
				for i := range 5 {
					p.must(Spend{Limit: 10, Lane: final, Message: fmt.Sprint("m", i), Ends: true})
				}
				p.mustNot(Spend{Limit: 10})
				p.pass(40 * time.Second) // and the rest lapse, while all ten are still counted
				p.mustNot(Spend{Limit: 10})
				p.pass(21 * time.Second)
			default:
				for i := range 8 {
					p.must(Spend{Message: fmt.Sprint("m", i), Ends: true, Limit: none})
				}
				if _, err := p.beat(t.Context(), time.Minute, false); err != nil { // which they travel with
					t.Fatal(err)
				}
			}
			for range 5 {
				p.must(Spend{Limit: 10})
			}
			if left := p.grown(); how != "ended elsewhere" && len(left) != 0 {
				t.Errorf("the pool still knows of %v", left)
			}
		})
	}
}

// grown is what the pool knows of each live message: born, last, back, rate, till, want, since.
func (p *testBudget) grown() map[string][]float64 {
	p.t.Helper()
	h, err := p.rdb.HGetAll(p.t.Context(), poolKeys("slack/T1/chat.update").live).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string][]float64{}
	for m, line := range h {
		for _, f := range strings.Fields(line) {
			x, err := strconv.ParseFloat(f, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			out[m] = append(out[m], (x-float64(p.start.UnixMilli()))/1000)
		}
	}
	return out
}

// A message that waited for a person grows anew when it goes on; one that was away for long is a new one.
func TestAMessageThatWasQuiet(t *testing.T) {
	p := miniBudget(t)
	p.mustNot(Spend{Message: "m", Rate: 300})
	p.pass(time.Second)
	p.must(Spend{Message: "m", Rate: 300}) // it is expected back within 3 s
	p.pass(7900 * time.Millisecond)
	p.must(Spend{Message: "m", Rate: 300})
	if m := p.grown()["m"]; m[0] != 0 {
		t.Errorf("born at %g", m[0])
	}
	p.pass(8100 * time.Millisecond)
	p.must(Spend{Message: "m", Rate: 300}) // what is new after such a silence is shown at once
	if m := p.grown()["m"]; m[0] != 17 {
		t.Errorf("born at %g", m[0])
	}
	p.pass(40 * time.Second)
	p.mustNot(Spend{Message: "m", Rate: 300})
	if m := p.grown()["m"]; m[0] != 57 || m[1] != 57 {
		t.Errorf("born at %g, last edited at %g", m[0], m[1])
	}
}

func TestManyLiveMessagesStillShowProgress(t *testing.T) {
	p := miniBudget(t)
	shown := 0
	for range 20 {
		for i := range 60 {
			if p.spend(Spend{Message: fmt.Sprint("m", i), Rate: 300}) == 0 {
				shown++
			}
		}
		p.pass(4500 * time.Millisecond)
	}
	if shown < 15 {
		t.Errorf("%d edits for 60 messages in 90 s", shown)
	}
}

func TestCoolOff(t *testing.T) {
	budgets(t, func(t *testing.T, p *testBudget) {
		const pool = "slack/T1/chat.update"
		ctx := t.Context()
		cool := func(d time.Duration) {
			t.Helper()
			if err := p.CoolOff(ctx, pool, d); err != nil {
				t.Fatal(err)
			}
		}
		p.must(Spend{Limit: 3, Lane: decision, Message: "m"})
		cool(7 * time.Second)
		cool(5 * time.Second) // a second call that was on its way: the longest counts, and it is no second piece of news
		for _, lane := range []agent.Urgency{0, final, decision} {
			for _, m := range []string{"", "m", "new"} {
				if w := p.mustNot(Spend{Limit: 3, Lane: lane, Message: m}); w != 7*time.Second {
					t.Errorf("lane %d, message %q: told to wait %s", lane, m, w)
				}
			}
		}
		p.must(Spend{Pool: "slack/T2/chat.update", Limit: 3, Lane: decision})
		p.pass(7 * time.Second)
		p.must(Spend{Limit: 3, Lane: decision})
		p.mustNot(Spend{Limit: 3, Lane: decision}) // one of three is freeAfterCoolOff now
		p.pass(61 * time.Second)
		cool(time.Second)
		p.pass(time.Second)
		p.must(Spend{Limit: 3, Lane: decision})
		p.mustNot(Spend{Limit: 3, Lane: decision}) // two are
		p.pass(freeAfterCoolOff + 61*time.Second)
		for range 3 {
			p.must(Spend{Limit: 3, Lane: decision})
		}
		p.mustNot(Spend{Limit: 3, Lane: decision})
		for range 9 {
			p.pass(2 * time.Minute)
			cool(time.Second)
		}
		p.pass(2 * time.Minute)
		p.must(Spend{Limit: 3, Lane: decision}) // a pool is never closed for good
	})
}

func TestBudgetKeysExpire(t *testing.T) {
	budgets(t, func(t *testing.T, p *testBudget) {
		before := p.keys()
		p.must(Spend{Message: "never heard of", Ends: true, Limit: none})
		if len(p.keys()) != len(before) {
			t.Fatalf("the keys are %v", p.keys())
		}
		p.must(Spend{Lane: decision, Message: "crashed"})
		p.must(Spend{Lane: final, Message: "b", Ends: true})
		p.mustNot(Spend{Message: "c"})
		if err := p.CoolOff(t.Context(), "slack/T1/chat.update", time.Hour); err != nil {
			t.Fatal(err)
		}
		if len(p.keys()) != len(before)+4 {
			t.Fatalf("the keys are %v", p.keys())
		}
		p.must(Spend{Pool: "learns", Lane: decision, Message: "b"})
		p.must(Spend{Pool: "learns", Lane: final, Message: "b", Ends: true})
		p.pass(25 * time.Hour)
		p.drop()
		if got := p.keys(); len(got) != len(before) {
			t.Errorf("%v are left", got)
		}
	})
}

func (p *testBudget) keys() []string {
	p.t.Helper()
	k, err := p.rdb.Keys(p.t.Context(), "*").Result()
	if err != nil {
		p.t.Fatal(err)
	}
	return k
}

func TestSpendRefusesWhatMakesNoSense(t *testing.T) {
	p := miniBudget(t)
	for _, sp := range []Spend{
		{Limit: 1, Per: time.Second}, {Pool: "p", Per: time.Second}, {Pool: "p", Limit: 1}, {Pool: "p", Limit: -1, Per: time.Second, Ends: true},
	} {
		if _, err := p.Spend(t.Context(), sp); err == nil {
			t.Errorf("%+v was taken", sp)
		}
	}
	if err := p.CoolOff(t.Context(), "p", 0); err == nil {
		t.Error("a cool-off of no time")
	}
	if err := p.CoolOff(t.Context(), "", time.Second); err == nil {
		t.Error("a cool-off of no pool")
	}
	for _, rate := range []float64{-1, 0, 1e300, zero / zero, 1 / zero} {
		p.spend(Spend{Message: fmt.Sprint(rate), Rate: rate})
		p.pass(time.Second)
		p.spend(Spend{Message: fmt.Sprint(rate), Rate: rate})
	}
}

var zero float64

func TestPoolsAreApart(t *testing.T) {
	p := miniBudget(t)
	for _, pool := range []string{"a", "a}b", "a}:spent", "{a}", "a:pool", "a b/é\x00"} {
		p.must(Spend{Pool: pool, Limit: 1})
		p.mustNot(Spend{Pool: pool, Limit: 1})
		k := poolKeys(pool)
		for _, key := range []string{k.live, k.came, k.pool} {
			if slot(key) != slot(k.spent) {
				t.Errorf("%q: two slots", pool)
			}
		}
	}
}

// The real server computes the pace as miniredis does.
func TestPaceOnARealServer(t *testing.T) {
	t.Parallel()
	s := openStore(t, Options{URL: startRedis(t)})
	for _, m := range []string{"a", "b"} {
		for _, lane := range []agent.Urgency{decision, 0} {
			w, err := s.Spend(t.Context(), Spend{Pool: "p", Limit: 50, Per: time.Minute, Lane: lane, Message: m, Rate: 300})
			if err != nil || (w == 0) != (lane == decision) {
				t.Errorf("%s, lane %d: %s, %v", m, lane, w, err)
			}
		}
	}
	b, err := s.rdb.HGetAll(t.Context(), poolKeys("p").live).Result()
	if err != nil || len(b) != 2 || len(strings.Fields(b["a"])) != 7 {
		t.Errorf("%v, %v", b, err)
	}
}
