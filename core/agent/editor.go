package agent

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// editor keeps one posted message as its view says. Level-triggered: it looks at the view only when it is
// about to edit, so whatever happened meanwhile is in that edit; one edit is in flight at a time; an edit equal to the last is dropped.
type editor struct {
	message
	blank bool // what was posted says nothing yet, so that the first words wait for nothing; set before run begins

	kick chan struct{} // something was offered; offer writes, run reads, close closes it
	over chan struct{} // closed by close
	done chan struct{} // closed when run returned

	mu     sync.Mutex    // of what follows, which the driver's goroutine and run write and read
	want   Urgency       // of the most urgent offer since the last edit
	dirty  bool          // something was offered since the last edit
	idle   chan struct{} // closed while nothing is owed
	closed bool
	dead   bool // the message cannot be edited any more

	last  render.Message // as it was drawn last; run's alone
	drawn bool
}

// message is what an editor keeps, and how. It never changes, but for ref when the message is posted anew.
type message struct {
	platform Platform
	chat     chat.ID
	ref      chat.MessageRef
	timeout  time.Duration // of one edit; shorter than the lease

	// Called from the editor's goroutine. None may block for long.
	view   func() render.Message
	held   func() bool          // is the lease still held: only its holder edits
	gone   func(error)          // the message cannot be edited any more
	drew   func(render.Message) // it stands like this now
	rested func()               // nothing is owed any more
	// Both nil, or: is there a question in the message that nobody has seen, and the message posted once more, with which it goes on.
	unseen func(render.Message) bool
	repost func(ctx context.Context, from chat.MessageRef, m render.Message) (chat.MessageRef, error)
}

func newEditor(m message) *editor {
	ed := &editor{message: m, kick: make(chan struct{}, 1), over: make(chan struct{}), idle: make(chan struct{}), done: make(chan struct{})}
	close(ed.idle)
	return ed
}

// offer says that the view changed. The most urgent offer since the last edit counts.
func (ed *editor) offer(u Urgency) {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	if ed.closed || ed.dead {
		return
	}
	if !ed.dirty {
		ed.dirty, ed.want = true, u
		ed.idle = make(chan struct{})
	} else {
		ed.want = max(ed.want, u)
	}
	signal(ed.kick)
}

// flush waits until what was offered is drawn, or ctx ends.
func (ed *editor) flush(ctx context.Context) {
	ed.mu.Lock()
	idle := ed.idle
	ed.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	case <-ed.done:
	}
}

// owes reports whether something that was offered is not drawn yet.
func (ed *editor) owes() bool {
	ed.mu.Lock()
	idle := ed.idle
	ed.mu.Unlock()
	select {
	case <-idle:
		return false
	case <-ed.done:
		return false
	default:
		return true
	}
}

// close ends the editor; an edit in flight finishes first.
func (ed *editor) close() {
	ed.mu.Lock()
	if !ed.closed {
		ed.closed = true
		close(ed.over)
		close(ed.kick)
	}
	ed.mu.Unlock()
	<-ed.done
}

func (ed *editor) run(ctx context.Context) {
	defer close(ed.done)
	next := time.Now() // before it only urgent edits go out
	if !ed.blank {
		next = ed.next(next)
	}
	backoff := 250 * time.Millisecond
	for range ed.kick {
		for {
			ed.mu.Lock()
			owed, want, over := ed.dirty, ed.want, ed.closed
			ed.mu.Unlock()
			if !owed || over || ctx.Err() != nil {
				break
			}
			if wait := time.Until(next); wait > 0 && want == Progress {
				if !ed.pause(ctx, wait, true) {
					break
				}
				continue
			}
			ed.mu.Lock()
			ed.dirty = false
			ed.mu.Unlock()
			from := time.Now()
			err := ed.draw(ctx, want)
			if err == nil {
				next = ed.next(from)
			}
			var pe *PlatformError
			switch {
			case err == nil:
				backoff = 250 * time.Millisecond
				ed.rest()
			case errors.As(err, &pe) && pe.Refuses():
				ed.mu.Lock()
				ed.dead = true
				ed.mu.Unlock()
				ed.rest()
				ed.gone(err)
			default:
				ed.mu.Lock()
				ed.dirty, ed.want = true, max(ed.want, want)
				ed.mu.Unlock()
				wait, early := backoff, pe != nil && pe.Kind == FaultLater
				if pe != nil && (early || pe.Kind == FaultBusy) && pe.RetryAfter > 0 {
					wait = pe.RetryAfter
				} else {
					backoff = min(2*backoff, 8*time.Second)
				}
				ed.pause(ctx, wait, early)
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// next is when progress may be drawn again after an edit that began then. A post counts as an edit: it is drawn just as well.
func (ed *editor) next(began time.Time) time.Time {
	if p, ok := ed.platform.(Pacer); ok {
		return began.Add(p.Pace())
	}
	return began
}

// rest tells those who flush that nothing is owed, if that is so.
func (ed *editor) rest() {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	if !ed.dirty {
		select {
		case <-ed.idle:
		default:
			close(ed.idle)
			ed.rested()
		}
	}
}

// pause waits; with early, an urgent offer ends it.
func (ed *editor) pause(ctx context.Context, d time.Duration, early bool) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		kick := ed.kick
		if !early {
			kick = nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-ed.over:
			return false
		case <-t.C:
			return true
		case _, open := <-kick:
			ed.mu.Lock()
			urgent := ed.want > Progress
			ed.mu.Unlock()
			if urgent || !open {
				return open
			}
		}
	}
}

func (ed *editor) draw(ctx context.Context, u Urgency) error {
	if !ed.held() {
		return nil // a new holder repaints
	}
	v := ed.view()
	if len(v.Blocks) == 0 {
		return nil // nothing is known of the turn any more: what stands there stands
	}
	m := render.Fit(v, ed.platform.Limits())
	if ed.drawn && reflect.DeepEqual(m, ed.last) {
		return nil
	}
	if ed.unseen != nil && ed.unseen(m) {
		u = Question
	}
	ectx, cancel := context.WithTimeout(ctx, ed.timeout)
	err := ed.platform.Edit(ectx, ed.chat, ed.ref, m, u)
	cancel()
	var pe *PlatformError
	if u == Question && errors.As(err, &pe) && pe.Kind == FaultBusy {
		actx, cancel := context.WithTimeout(ctx, ed.timeout)
		if ref, aerr := ed.repost(actx, ed.ref, m); aerr == nil {
			ed.ref, err = ref, nil
		}
		cancel()
	}
	if err != nil {
		return err
	}
	ed.last, ed.drawn = m, true
	ed.drew(m)
	return nil
}
