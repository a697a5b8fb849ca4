package state

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// answer is a message that grows from a moment for so many seconds, by so many characters a second.
type answer struct{ start, long, rate float64 }

// shown is how an answer came to its reader.
type shown struct {
	lag   float64   // mean age of its characters when they were shown
	late  float64   // from its end to its last edit
	edits []float64 // when
}

// show streams answers through a pool of 50 a minute, each asking as an adapter does, on a clock of their own.
func show(p *testBudget, answers []answer) []shown {
	type state struct {
		next, last float64
		done       bool
	}
	out, st := make([]shown, len(answers)), make([]state, len(answers))
	for i, a := range answers {
		st[i] = state{next: a.start, last: a.start}
	}
	for {
		i := -1
		for j := range st {
			if !st[j].done && (i < 0 || st[j].next < st[i].next) {
				i = j
			}
		}
		if i < 0 {
			return out
		}
		a, s, o := answers[i], &st[i], &out[i]
		now, end := s.next, a.start+a.long
		p.to(p.start.Add(time.Duration(now * float64(time.Second))))
		sp := Spend{Message: fmt.Sprint("m", i), Rate: a.rate}
		if now >= end {
			sp.Lane, sp.Ends = final, true
		}
		if wait := p.spend(sp); wait > 0 {
			if s.next = now + wait.Seconds(); now < end {
				s.next = min(s.next, end)
			}
			continue
		}
		to := min(now, end)
		o.lag += ((to-s.last)*(to-s.last)/2 + (to-s.last)*(now-to)) / a.long
		o.edits = append(o.edits, now)
		if s.done = now >= end; s.done {
			o.late = now - end
		}
		s.last, s.next = now, min(now+0.1, max(end, now))
	}
}

// sum weighs lags by what was written.
func sum(answers []answer, got []shown) (lag, late float64, calls int) {
	var all float64
	for i, a := range answers {
		w := a.long * a.rate
		lag, all, late, calls = lag+got[i].lag*w, all+w, max(late, got[i].late), calls+len(got[i].edits)
	}
	return lag / all, late, calls
}

func together(n int, long float64) []answer {
	out := make([]answer, n)
	for i := range out {
		out[i] = answer{float64(i) * 0.02, long, 320}
	}
	return out
}

// TestPaceTable: mean lag in seconds of n answers of T seconds that begin together in a fresh pool of 50 a minute, whose lengths
// nobody knows, network left out. What was compared, offline, with the same askers (R is what an answer still has before it):
//
//	n x T                                 1x25  2x25  2x60   8x10  8x25   8x60  8x180  20x25  20x60
//	T known (no better is possible)       0.48  0.51  1.22   0.82  2.04   4.90   4.98   5.10  12.24
//	R = a minute: as many as come back    0.64  1.28  1.31   5.00  6.17   6.21   6.16  12.50  24.16
//	R = 25 s, always                      0.48  0.84  1.65   2.34  3.19   7.59   7.10   6.41  15.62
//	R = max(25 - age, age/4)              0.48  0.56  8.42   1.73  2.13  14.14  11.37   5.58  20.04
//	R = max(25 - age, age/2)              0.48  0.66  3.85   1.73  2.40  12.23   9.18   5.59  20.09
//	R = max(25 - age, age)                0.48  0.81  2.12   1.73  2.82   9.42   7.45   6.85  20.33
//	R = max(25 - age, 0) + age/2          0.48  0.68  2.54   1.94  2.53   9.36   8.09   5.67  18.04
//	R = max(25 - age, 0) + 0.35 age       0.48  0.63  4.03   1.86  2.33  11.31   9.20   5.51  18.72
//
// The last is what lua/spend.lua does: near the optimum where answers are as long as usual, and for longer ones milder than the rules
// that bet all on the usual length. Long answers would be better served by more patience, at the cost of the usual ones: after short ones eight
// of 60 s lag 11 s, where evenly spaced edits would lag 4.6 s, and 6.4 s once the pool has learned. Were what is learned not bounded,
// eight of 25 s would lag 7.8 s after answers of 1 s, and 6 s after answers of 180 s; as it is, 2.3 s and 3.2 s.
func TestPaceTable(t *testing.T) {
	for _, c := range []struct {
		n, long int
		most    float64
		calls   int // at most; what one reader can use, or the limit
	}{{1, 10, 0.55, 11}, {1, 25, 0.55, 26}, {2, 25, 0.8, 50}, {2, 60, 4.2, 50}, {8, 10, 2.1, 50}, {8, 25, 2.4, 50}, {8, 60, 11.9, 50}, {20, 25, 5.8, 50}} {
		t.Run(fmt.Sprintf("%dx%d", c.n, c.long), func(t *testing.T) {
			answers := together(c.n, float64(c.long))
			got := show(miniBudget(t), answers)
			lag, late, calls := sum(answers, got)
			t.Logf("lag %.2f s, finals late by %.2f s, %d calls", lag, late, calls)
			if lag > c.most || late > 0.001 || calls > c.calls {
				t.Errorf("lag %.2f s, want %.2f; finals late by %.2f s; %d calls, want %d", lag, c.most, late, calls, c.calls)
			}
		})
	}
}

// What one round teaches the pool, the next has.
func TestPaceLearns(t *testing.T) {
	p := miniBudget(t)
	answers := together(8, 60)
	first, _, _ := sum(answers, show(p, answers))
	p.start = p.start.Add(10 * time.Minute)
	second, _, _ := sum(answers, show(p, answers))
	if second > 0.75*first {
		t.Errorf("lag %.2f s, and %.2f s when the length was known", first, second)
	}
}

// evenly is the mean lag of n answers that are edited in turn, as often as the minute allows, and at their ends.
func evenly(n int, long float64) (lag float64) {
	every := float64(n) * 60 / 50
	for i := range n {
		last := 0.0
		for at := every * float64(i+1) / float64(n); last < long; at += every {
			at = min(at, long)
			lag += (at - last) * (at - last) / 2 / long / float64(n)
			last = at
		}
	}
	return lag
}

// Whatever answers came before, usual ones are shown about as well as evenly spaced edits would show them, or better.
func TestPaceAfterAnyHistory(t *testing.T) {
	for _, before := range []float64{0.5, 180} {
		for _, long := range []float64{25, 40} {
			p := miniBudget(t)
			for range 4 {
				show(p, []answer{{0, before, 320}})
				p.start = p.start.Add(5 * time.Minute)
			}
			answers := together(8, long)
			lag, late, _ := sum(answers, show(p, answers))
			t.Logf("8 answers of %g s after answers of %g s: lag %.2f s, evenly %.2f", long, before, lag, evenly(8, long))
			if lag > 1.1*evenly(8, long) || late > 0.001 {
				t.Errorf("8 answers of %g s after answers of %g s: lag %.2f s, evenly %.2f; finals late by %.2f s", long, before, lag, evenly(8, long), late)
			}
		}
	}
}

// Answers keep coming for ten minutes: none of their ends waits, and the budget is used.
func TestPaceOfASteadyStream(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's sequence
	var answers []answer
	for at := 0.0; at < 600; at += r.ExpFloat64() / 0.1 {
		answers = append(answers, answer{at, 25 * math.Exp(0.8*r.NormFloat64()-0.32), 320})
	}
	lag, late, calls := sum(answers, show(miniBudget(t), answers))
	t.Logf("%d answers: lag %.2f s, finals late by %.2f s, %d calls of %d", len(answers), lag, late, calls, 600*50/61)
	if late > 0.001 || lag > 4 || calls < 600*50/61*7/10 {
		t.Errorf("lag %.2f s, finals late by %.2f s, %d calls", lag, late, calls)
	}
}

// Slower answers are edited less often, by the square root, and nobody is forgotten.
func TestPaceIsFair(t *testing.T) {
	answers := together(8, 60)
	for i := range answers {
		answers[i].rate = []float64{20, 80, 320, 1280}[i%4]
	}
	every := map[float64][]float64{}
	for i, o := range show(miniBudget(t), answers) {
		last := answers[i].start
		for _, at := range o.edits {
			if at < 18 { // while there is plenty: what is left then goes out at the same pace for all, but in whole edits
				every[answers[i].rate] = append(every[answers[i].rate], at-last)
				last = at
			}
		}
	}
	norm := map[float64]float64{}
	for rate, gaps := range every {
		norm[rate] = slices.Max(gaps) * math.Sqrt(rate)
	}
	if len(norm) < 3 {
		t.Fatalf("only %v were shown", every)
	}
	for a, x := range norm {
		for b, y := range norm {
			if x > 2*y {
				t.Errorf("at %g a second every %.1f s, at %g every %.1f s", a, every[a], b, every[b])
			}
		}
	}
}
