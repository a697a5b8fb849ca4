package backfill

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodhq/nod/adapters/discord/rest"
)

// allMarks remembers every mark, and says err of whatever it did.
type allMarks struct {
	mu  sync.Mutex
	at  map[string]string
	err error
}

func (m *allMarks) Mark(_ context.Context, place, message string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at[place] = message
	return m.err
}

func (m *allMarks) Marks(context.Context, time.Duration) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.at), m.err
}

func (m *allMarks) Unmark(_ context.Context, place string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.at, place)
	return m.err
}

// What each room's messages do to what is fetched next, to its mark and to what was to be done there.
func TestWhatBecomesOfARoomThatIsBehind(t *testing.T) {
	down := errors.New("down")
	for what, x := range map[string]struct {
		without bool             // a store of marks
		first   error            // of the first call
		take    map[string]error // of messages, the first time
		noise   bool             // its messages are not for the bot
		n       int              // messages there are
		taken   int              // how many are taken, each once
		fetched int              // calls
		mark    string           // of the room, after it
		task    bool             // what was to be done there was done
	}{
		"its messages are taken":            {n: 3, taken: 3, fetched: 1, mark: "1002", task: true},
		"without a store of marks":          {without: true, n: 3, taken: 3, fetched: 1, task: true},
		"they are more than a page":         {n: PageSize + 1, taken: PageSize + 1, fetched: 2, mark: "1100", task: true},
		"they are not for the bot":          {n: 3, noise: true, taken: 3, fetched: 1, task: true},
		"Discord cannot be asked at first":  {first: down, n: 3, taken: 3, fetched: 2, mark: "1002", task: true},
		"one is not recorded at first":      {take: map[string]error{"1001": down}, n: 3, taken: 3, fetched: 2, mark: "1002", task: true},
		"it is no more":                     {first: rest.Gone("Unknown Channel"), n: 3, fetched: 1, task: true},
		"it is no more, and without a mark": {without: true, first: rest.Forbidden(errors.New("Missing Access")), n: 3, fetched: 1, task: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			marks, fetched, did := &allMarks{at: map[string]string{}}, 0, 0
			var taken []string
			failed := maps.Clone(x.take)
			c := Config{Marks: marks, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Wait: Wait, Shards: func() int { return 1 }}
			if x.without {
				c.Marks = nil
			}
			c.Fetch = func(_ context.Context, _, after string) (page []Message, got int, err error) {
				if fetched++; fetched == 1 && x.first != nil {
					return nil, 0, x.first
				}
				for i := range x.n {
					id := strconv.Itoa(1000 + i)
					if after, _ := strconv.Atoi(after); 1000+i <= after || len(page) == PageSize {
						continue
					}
					page = append(page, Message{ID: id, Take: func(context.Context) (bool, error) {
						if err := failed[id]; err != nil {
							delete(failed, id)
							return false, err
						}
						taken = append(taken, id)
						return !x.noise, nil
					}})
				}
				return page, len(page), nil
			}
			b := New(c)
			b.Add("7", "1000")
			b.Retry("7", func(context.Context) error {
				if did++; did == 1 {
					return down
				}
				return nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); b.Run(ctx) }()
			time.Sleep(10 * longestWait)
			synctest.Wait()
			cancel()
			<-done
			if s := b.Status(); s.Behind != 0 || s.Working != 0 {
				t.Errorf("%s: %+v", what, s)
			}
			if !slices.IsSorted(taken) || len(slices.Compact(taken)) != x.taken || len(taken) != x.taken {
				t.Errorf("%s: taken %q", what, taken)
			}
			if fetched < x.fetched || marks.at["7"] != x.mark || (did == 2) != x.task {
				t.Errorf("%s: %d calls, mark %q, tried %d times", what, fetched, marks.at["7"], did)
			}
		})
	}
}

// Marks are of what was taken, and a room that cannot be forgotten is said.
func TestMarks(t *testing.T) {
	t.Parallel()
	marks := &allMarks{at: map[string]string{}}
	b := New(Config{Marks: marks, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Shards: func() int { return 1 }})
	without := New(Config{Logger: slog.New(slog.DiscardHandler), Now: time.Now, Shards: func() int { return 1 }})
	without.Mark("7", "50", true)
	without.KeepPlace("7", "50")
	without.Newest("1", map[string]string{"7": "60"})
	if err := without.Unmark(t.Context(), "7"); err != nil || without.Status() != (Status{}) {
		t.Errorf("%v, %+v", err, without.Status())
	}
	b.KeepPlace("7", "50")
	b.Mark("7", "60", true)
	b.KeepPlace("7", "90") // it has a mark
	b.Mark("8", "60", false)
	if want := map[string]string{"7": "60"}; !maps.Equal(marks.at, want) {
		t.Errorf("%v", marks.at)
	}
	b.SessionBegan()
	b.Mark("7", "70", true)
	if marks.at["7"] != "60" {
		t.Error("a mark moves over what was missed")
	}
	marks.err = errors.New("down")
	if err := b.Unmark(t.Context(), "7"); !errors.Is(err, marks.err) || b.Marked("7") {
		t.Errorf("%v", err)
	}
}
