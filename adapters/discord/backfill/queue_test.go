package backfill

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodhq/nod/adapters/discord/ids"
)

func TestARoomThatIsBehindKeepsItsOrder(t *testing.T) {
	t.Parallel()
	q := newQueue()
	if q.Defer("1", "50") {
		t.Error("a room is behind from the start")
	}
	q.Add("1", "50")
	if !q.Defer("1", "51") || !q.Defer("1", "50") {
		t.Error("a room that is behind takes messages as they come")
	}
	if q.Defer("2", "51") {
		t.Error("another room is behind, too")
	}
	if !q.DeferTask("1", "51", nil) || len(q.behind["1"].tasks) != 0 {
		t.Error("a change of what is not fetched yet is kept")
	}
	if !q.DeferTask("1", "20", func(context.Context) error { return nil }) || len(q.behind["1"].tasks) != 1 {
		t.Error("a change of what was taken before is lost")
	}
	if q.advance("1", "99", true, time.Now()) {
		t.Error("the mark moves over what was not taken")
	}
	now := time.Now()
	if q.advance("2", "50", false, now) || !q.advance("2", "50", true, now) || q.advance("2", "40", true, now) || q.advance("2", "50", true, now) ||
		q.advance("2", "60", false, now) || !q.advance("2", "60", true, now) || !q.advance("2", "70", false, now.Add(marksApart)) {
		t.Error("marks")
	}
	l := q.behind["1"]
	after, version, _ := q.look(l)
	if after != "49" {
		t.Errorf("fetched after %s", after)
	}
	q.Add("1", "45") // while somebody works on it
	if q.advanceTo(l, after, "50", true) {
		t.Error("what was not recorded is passed over")
	}
	if q.finish(l, version) {
		t.Error("done, although something came")
	}
	if after, _, _ := q.look(l); after != "44" {
		t.Errorf("fetched after %s", after)
	}
}

// What servers tell before the marks are read counts as well as what they tell shortly afterwards, and nothing much later does.
func TestServersTellWhatIsNew(t *testing.T) {
	q := newQueue()
	now := time.Unix(1e9, 0)
	late := func() string {
		var all []string
		for room, l := range q.behind {
			all = append(all, room+" from "+l.after)
		}
		slices.Sort(all)
		return fmt.Sprint(all)
	}
	q.suspend()
	q.noteNewest([]newest{{"1", "300", "gateway/0/1"}, {"2", "99", "gateway/0/1"}, {"3", "300", "gateway/1/2"}, {"4", "300", "gateway/0/1"}}, now)
	q.resume(1, map[string]string{"4": "250", "gateway/0/1": "200", "gateway/1/2": "10"}, "100", now)
	if got := late(); got != "[1 from 200 4 from 250]" {
		t.Errorf("behind: %s", got)
	}
	q.noteNewest([]newest{{"5", "300", "gateway/0/1"}, {"6", "200", "gateway/0/1"}}, now.Add(momentsCount-1))
	q.noteNewest([]newest{{"7", "300", "gateway/0/1"}}, now.Add(momentsCount))
	if got := late(); got != "[1 from 200 4 from 250 5 from 200]" {
		t.Errorf("behind: %s", got)
	}
}

func TestRoomsAreBounded(t *testing.T) {
	t.Parallel()
	q := newQueue()
	for i := range maxBehind + 10 {
		q.Add(strconv.Itoa(i+1), "50")
	}
	if len(q.behind) != maxBehind {
		t.Errorf("%d rooms are remembered", len(q.behind))
	}
	for range 2 * maxTasks {
		q.Retry("1", func(context.Context) error { return nil })
	}
	if n := len(q.behind["1"].tasks); n != maxTasks {
		t.Errorf("%d things to do are remembered", n)
	}
}

func TestNewestRoomsGoFirst(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.suspend()
	if l, _ := q.pick(time.Now()); l != nil {
		t.Error("fetched before the marks are read")
	}
	q.Defer("7", "500")
	q.resume(1, map[string]string{"1": "100", "2": "300", "3": "200", "x": "1", "7": "400"}, "150", time.Time{})
	var order []string
	for range 4 {
		l, _ := q.pick(time.Now())
		l.working = true
		order = append(order, l.room+"@"+l.after)
	}
	if !slices.Equal(order, []string{"7@400", "2@300", "3@200", "1@150"}) {
		t.Errorf("%v", order)
	}
	if l, _ := q.pick(time.Now()); l != nil {
		t.Errorf("and %v", l)
	}
}

// What a shard's sessions may not have brought is after its moment: that moves while the gateway is heard, and not beyond.
func TestAShardNotesHowFarItHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		marks, start := &oneMark{}, time.Now()
		now := func() time.Time { return time.Now().AddDate(20, 0, 0) } // a bubble begins before Discord's first millisecond
		b := New(Config{Marks: marks, Shards: func() int { return 1 }, Logger: slog.New(slog.DiscardHandler), Now: now})
		began := now()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go b.NoteMoments(ctx, 0, func() (time.Duration, bool) { // the last word comes after a minute, and two later the session is over
			since := time.Since(start)
			return max(since-time.Minute, 0), since < 3*time.Minute
		})
		at := func() time.Duration { return ids.Time(marks.of("gateway/0/1")).Sub(began) }
		time.Sleep(55 * time.Second)
		synctest.Wait()
		if got := at(); got < 20*time.Second || got > 50*time.Second {
			t.Errorf("after 55 s it stands at %s", got)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := at(); got < 50*time.Second || got > 90*time.Second {
			t.Errorf("it stands at %s, though nothing was heard since a minute after the start", got)
		}
	})
}

// oneMark remembers the mark that was written last, if it is newer.
type oneMark struct {
	mu          sync.Mutex
	place, mark string
}

func (m *oneMark) Mark(_ context.Context, place, message string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ids.Older(m.mark, message) {
		m.place, m.mark = place, message
	}
	return nil
}

func (m *oneMark) of(place string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if place != m.place {
		return ""
	}
	return m.mark
}

func (m *oneMark) Marks(context.Context, time.Duration) (map[string]string, error) { return nil, nil }
func (m *oneMark) Unmark(context.Context, string) error                            { return nil }
