package agent

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// Replies may overtake each other: of two leases that are handed over, the newer one counts.
func TestTheNewerLeaseIsDriven(t *testing.T) {
	for _, tokens := range [][]uint64{{2, 3}, {3, 2}} {
		d := &driver{reports: reports{logMoved: make(chan struct{}, 1)}}
		e := &Engine{work: context.Background(), drivers: map[chat.ID]*driver{{}: d}}
		for _, token := range tokens {
			e.drive(Lease{Token: token}, Head{}, token)
		}
		if next := e.retire(d, time.Time{}); next == nil || next.Token != 3 || next.first != 3 {
			t.Errorf("handed over %v: the driver takes %+v", tokens, next)
		}
		if next := e.retire(d, time.Time{}); next != nil {
			t.Errorf("handed over %v: it takes %+v as well", tokens, next)
		}
	}
}

// What is not drawn because the lease seems to be over is owed yet: a renewal that was under way may say that it is not, and then nobody else comes
// to draw it.
func TestAnEditBetweenLeaseAndRenewal(t *testing.T) {
	d := newDriver(&Engine{work: t.Context(), Config: Config{Logger: slog.New(slog.DiscardHandler)}}, Lease{Chat: here, Until: time.Now()}, Head{}, 1)
	s := turn.New(here)
	for i, ev := range []turn.Event{turn.Said{Delivery: "d", Text: "go"}, turn.Shown{Turn: "t1", Message: "m"}} {
		s = turn.Apply(s, turn.Entry{Seq: uint64(i) + 1, Event: ev})
	}
	d.session.Store(&s)
	ed := &editor{turn: "t1", ref: "m"}
	d.offer(ed, Final)
	(<-d.came)()
	if !ed.owes() {
		t.Error("nobody draws it any more")
	}
}

// breaks is a platform that has every file, and a reader that breaks over one of them.
type breaks struct{ Platform }

func (breaks) Fetch(context.Context, chat.ID, chat.File, int) ([]byte, error) {
	return []byte("x"), nil
}

func (breaks) Read(_ context.Context, f chat.File, _ []byte) (attach.Document, error) {
	if f.Name == "bad" {
		panic("a file of the devil")
	}
	return attach.Document{Text: "well"}, nil
}

// A reader that panics takes only its file along.
func TestAReaderThatPanics(t *testing.T) {
	d := &driver{id: here, e: &Engine{Config: Config{Platforms: map[string]Platform{here.Platform: breaks{}}, Reader: breaks{}, Logger: slog.New(slog.DiscardHandler)}}}
	got := d.files().Read(t.Context(), []chat.File{{Name: "bad"}, {Name: "good"}})
	if len(got) != 2 || got[0].Why != turn.UnreadBroken || got[1].Text != "well" {
		t.Errorf("%+v", got)
	}
}
