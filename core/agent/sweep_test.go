package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// dueLog has chats that are due and cannot be read, and remembers when it was asked for them.
type dueLog struct {
	Log
	Index
	Model
	Tools
	due, claimed int
	vain         int // claims while nothing was due
	looks        []time.Time
	slow         bool // a look takes until it is called off
	wakes        chan chat.ID
	deaf         error
	logged       bytes.Buffer
}

func (l *dueLog) ClaimDue(_ context.Context, owner string, n int) (out []Lease, _ error) {
	if l.due == l.claimed {
		l.vain++
	}
	for n = min(n, l.due-l.claimed); n > 0; n-- {
		l.claimed++
		out = append(out, Lease{Chat: chat.ID{Platform: here.Platform, Key: strconv.Itoa(l.claimed)}, Owner: owner, Token: 1, Until: time.Now().Add(time.Minute)})
	}
	return out, nil
}

func (l *dueLog) NextDue(ctx context.Context) (time.Duration, error) {
	if l.slow {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	l.looks = append(l.looks, time.Now())
	if l.due > l.claimed {
		return 0, nil
	}
	return Never, nil
}

func (l *dueLog) Renew(_ context.Context, of Lease) (Lease, Head, error) {
	of.Until = time.Now().Add(time.Minute)
	return of, Head{}, nil
}

func (l *dueLog) Wakes(context.Context, string) (<-chan chat.ID, error) { return l.wakes, l.deaf }

func (l *dueLog) Load(ctx context.Context, id chat.ID) (Snapshot, []turn.Entry, Head, error) {
	if id == SettingsChat {
		return Snapshot{}, nil, Head{}, nil
	}
	<-ctx.Done()
	return Snapshot{}, nil, Head{}, ctx.Err()
}

// during runs a replica for that long, and returns once it has stopped.
func (l *dueLog) during(t *testing.T, long time.Duration) error {
	t.Helper()
	e, err := New(Config{
		Log: l, Index: l, Leases: l, Model: l, Tools: l, Policies: ruledBy{}, Platforms: map[string]Platform{here.Platform: mute{}},
		Sweep: 10 * time.Second, Lease: time.Minute, Logger: slog.New(slog.NewTextHandler(&l.logged, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	return e.Run(ctx)
}

// A replica takes over at once what others left, as much as it can drive and not more: the rest is for others, or for later.
func TestHowMuchIsTakenOver(t *testing.T) {
	for due, want := range map[int]int{300: 300, 5000: maxDriving} {
		synctest.Test(t, func(t *testing.T) {
			l := &dueLog{due: due}
			if err := l.during(t, leastLook/2); err != nil || l.claimed != want {
				t.Errorf("of %d chats that are due it takes over %d, not %d: %v", due, l.claimed, want, err)
			}
		})
	}
}

// Replicas that were started together do not look together for ever, and look so without wakes, too.
func TestLooksAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &dueLog{wakes: make(chan chat.ID)}
		close(l.wakes)
		if err := l.during(t, time.Hour); err != nil {
			t.Fatal(err)
		}
		least, most := time.Hour, time.Duration(0)
		for i, at := range l.looks[1:] {
			gap := at.Sub(l.looks[i])
			least, most = min(least, gap), max(most, gap)
		}
		if l.vain > 0 {
			t.Errorf("it asks %d times for what is due where nothing is: one question is enough", l.vain)
		}
		if least < 5*time.Second || most > 15*time.Second || most-least < 5*time.Second {
			t.Errorf("%d looks within an hour, from %v to %v apart", len(l.looks), least, most)
		}
	})
}

// A replica that nobody could wake does not run, and one that stops does not complain of the look that it broke off.
func TestHowLookingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := errors.New("no such channel")
		if err := (&dueLog{deaf: deaf}).during(t, time.Hour); !errors.Is(err, deaf) {
			t.Errorf("it ran: %v", err)
		}
		l := &dueLog{slow: true}
		if err := l.during(t, time.Second); err != nil || strings.Contains(l.logged.String(), "sweep") {
			t.Errorf("%v; it says: %s", err, l.logged.String())
		}
	})
}
