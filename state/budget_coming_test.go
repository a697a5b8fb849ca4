package state

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"
)

// stream is a message that shows a card at once, has so many seconds of text, and ends.
type stream struct {
	at, long  float64
	elsewhere bool // its end is drawn by other means
}

// play lets streams come and tells how often an urgent call had to wait, and how much progress was shown.
func play(p *testBudget, streams []stream, card bool) (waited, shown int) {
	type job struct {
		name string
		at   float64
		sp   Spend
	}
	var jobs []job
	for i, s := range streams {
		name := fmt.Sprint("m", i)
		if card {
			jobs = append(jobs, job{name, s.at, Spend{Lane: decision}})
		}
		for at := s.at + 0.2; at < s.at+s.long; at += 0.5 {
			jobs = append(jobs, job{name, at, Spend{Rate: 300}})
		}
		jobs = append(jobs, job{name, s.at + s.long, Spend{Lane: final, Ends: true, Limit: map[bool]int{true: none}[s.elsewhere]}})
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(a.at, b.at) })
	for _, j := range jobs {
		p.to(p.start.Add(time.Duration(j.at * float64(time.Second))))
		j.sp.Message = j.name
		switch w := p.spend(j.sp); {
		case w > 0 && j.sp.Lane > 0:
			waited++
		case w == 0 && j.sp.Lane == 0:
			shown++
		default:
		}
	}
	return waited, shown
}

func every(gap, long float64, n int, elsewhere bool) []stream {
	var out []stream
	for i := range n {
		out = append(out, stream{float64(i) * gap, long, elsewhere})
	}
	return out
}

// New messages need their slots more than old ones their progress, and the pool knows before they come.
func TestProgressLeavesRoomForWhatIsComing(t *testing.T) {
	for name, s := range map[string][]stream{
		"P1: one a second, ends by other means": every(1, 3.3, 40, true),
		"both calls count":                      every(2.8, 6, 60, false),
	} {
		t.Run(name, func(t *testing.T) {
			if waited, shown := play(miniBudget(t), s, true); waited > 0 {
				t.Errorf("%d urgent calls had to wait; progress was shown %d times", waited, shown)
			}
		})
	}
}

// What is coming may come and need nothing: progress always has a share.
func TestWhatIsComingIsNoVeto(t *testing.T) {
	streams := append(every(0.9, 2, 230, true), stream{70, 130, false}) // which begins when the pool knows how they come
	if _, shown := play(miniBudget(t), streams, false); shown < 3 {
		t.Errorf("progress was shown %d times in two minutes", shown)
	}
}

// A message that waits for a person takes its final's slot, and no part in the pace.
func TestTheSilentTakeNoPace(t *testing.T) {
	p := miniBudget(t)
	for i := range 8 {
		p.mustNot(Spend{Message: fmt.Sprint("silent", i), Rate: 1000})
	}
	if _, shown := play(p, []stream{{0, 20, false}}, false); shown < 15 {
		t.Errorf("progress was shown %d times in 20 s", shown)
	}
}
