// Package frames carries what people see of a turn between two entries of its log from the replica that drives it to the pages that show it.
//
// A frame is a whole message, and an answer has hundreds of them, so what is sent grows with the square of its length. Pages of the same replica get
// each frame as it is, within the process. The others get it through Redis, for which it is cut down: to what changed since the frame before, and to
// few of them unless a replica said that it shows the chat. A frame may be lost: whoever misses one asks for a whole one, and the log's next entry
// says all of it anyway.
package frames

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nodhq/nod/core/chat"
)

// Shelf carries bytes between replicas. It may lose some.
type Shelf interface {
	// PublishLive hands them to every Live channel of the chat, on whatever replica.
	PublishLive(context.Context, chat.ID, []byte) error
	// Live delivers them until ctx ends. A reader that does not keep up loses some; it never blocks a publisher.
	Live(context.Context, chat.ID) (<-chan []byte, error)
}

const (
	wanted   = 15 * time.Second       // how long a replica that said that it shows a chat is told each change
	often    = 250 * time.Millisecond // how far apart these are
	seldom   = 2 * time.Second        // and where nobody said so: who loses what they said is found by it
	askAgain = 5 * time.Second        // how often a reader has it say that, of a chat in which something moves
	askWhole = time.Second            // and where it misses a frame
	most     = 256                    // chats of which the last frame is kept

	anybody = "*" // may answer a reader that does not know yet who draws
)

// Frames is one process's part. Make it with [New]; it is safe for concurrent use.
type Frames struct {
	shelf Shelf
	by    string  // this process
	wants chat.ID // where replicas say what they show. It has no log

	mu      sync.Mutex
	drawn   *lru.Cache[chat.ID, *drawn]
	readers map[chat.ID]map[*Reader]bool
}

// drawn is a chat's message as this process drew it last.
type drawn struct {
	last    []byte
	sent    []byte // to the other replicas
	n       uint64 // frames that were sent since the last whole one, that included; 0: the next is whole
	at      time.Time
	until   time.Time // some replica shows it
	waiting bool      // what was drawn last is sent when its time comes
}

// New makes a process's part. Replicas tell each other in wants what they show.
func New(shelf Shelf, wants chat.ID) *Frames {
	kept, _ := lru.New[chat.ID, *drawn](most) // it fails for no size only
	return &Frames{shelf: shelf, by: rand.Text()[:6], wants: wants, drawn: kept, readers: map[chat.ID]map[*Reader]bool{}}
}

// Run takes in what other replicas say in wants until ctx ends. Without it they see little of what this one draws.
func (f *Frames) Run(ctx context.Context, said <-chan []byte) {
	for {
		select {
		case <-ctx.Done():
			return
		case b, ok := <-said:
			if !ok {
				return
			}
			f.hear(ctx, string(b))
		}
	}
}

// hear takes in what a replica says that it shows: who says it, to whom, which frame was the last that it has, and where.
func (f *Frames) hear(ctx context.Context, said string) {
	var from, to, where string
	var has uint64
	if _, err := fmt.Sscanf(said, "%s %s %d %s", &from, &to, &has, &where); err != nil || from == f.by || to != f.by && to != anybody {
		return
	}
	if id, err := chat.ParseID(where); err == nil {
		_ = f.want(ctx, id, has > 0) // it asks again
	}
}

// want has another replica told what this one draws in a chat, for a while; inStep it has all frames so far.
func (f *Frames) want(ctx context.Context, id chat.ID, inStep bool) error {
	return f.send(ctx, id, func() []byte {
		d, ok := f.drawn.Get(id)
		if !ok {
			return nil
		}
		d.until = time.Now().Add(wanted)
		if inStep {
			return nil
		}
		d.n = 0
		return f.next(d)
	})
}

// send sends what there is to be sent, if there is something. next has the lock.
func (f *Frames) send(ctx context.Context, id chat.ID, next func() []byte) error {
	f.mu.Lock()
	msg := next()
	f.mu.Unlock()
	if msg == nil {
		return nil
	}
	return f.shelf.PublishLive(ctx, id, msg)
}

// Show shows a frame to whoever follows the chat, on whatever replica.
func (f *Frames) Show(ctx context.Context, id chat.ID, frame []byte) error {
	return f.send(ctx, id, func() []byte {
		for r := range f.readers[id] {
			r.show(frame)
		}
		d, ok := f.drawn.Get(id)
		if !ok {
			d = &drawn{}
			f.drawn.Add(id, d)
		}
		d.last = frame
		now, pace := time.Now(), seldom
		if now.Before(d.until) {
			pace = often
		}
		wait := pace - now.Sub(d.at)
		if d.n == 0 || wait <= 0 {
			return f.next(d)
		}
		if !d.waiting {
			d.waiting = true
			time.AfterFunc(wait, func() { f.catchUp(context.WithoutCancel(ctx), id, d) })
		}
		return nil
	})
}

// Forget lets go of what was drawn last in a chat: the log says all of it.
func (f *Frames) Forget(id chat.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drawn.Remove(id)
}

// catchUp sends what was drawn too soon after the frame before, unless it was sent meanwhile.
func (f *Frames) catchUp(ctx context.Context, id chat.ID, d *drawn) {
	_ = f.send(ctx, id, func() []byte { // whoever misses it asks
		if !d.waiting {
			return nil
		}
		return f.next(d)
	})
}

// next is the last frame as it is sent, after who sends it, its number, and how many bytes of the frame before stand before and after it.
func (f *Frames) next(d *drawn) []byte {
	d.n, d.at, d.waiting = d.n+1, time.Now(), false
	head, tail := 0, 0
	if d.n > 1 {
		head, tail = Same(d.sent, d.last)
	}
	d.sent = d.last
	return append(fmt.Appendf(nil, "%s %d %d %d\n", f.by, d.n, head, tail), d.last[head:len(d.last)-tail]...)
}

// Same is how many bytes two texts have in common at their beginning and, of what is left, at their end. It parts no character.
func Same(a, b []byte) (head, tail int) {
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for head > 0 && inside(a, head) {
		head--
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && inside(a, len(a)-tail) {
		tail--
	}
	return head, tail
}

// inside reports whether a character of UTF-8 goes on at i.
func inside(b []byte, i int) bool { return i < len(b) && b[i]&0xc0 == 0x80 }

// Reader is one who follows a chat. It is for one goroutine.
type Reader struct {
	// Own are the frames that this process draws, the newest only, and Heard is what others sent, which [Reader.Read] reads.
	Own, Heard <-chan []byte

	f     *Frames
	id    chat.ID
	own   chan []byte
	by    string // who draws, where that is another process; or anybody
	n     uint64 // the last that arrived of it; 0: a whole one is needed
	frame []byte
	asked time.Time // that this one reads
}

// Follow follows a chat until ctx ends. The frame that stands comes at once, wherever it was drawn.
func (f *Frames) Follow(ctx context.Context, id chat.ID) (*Reader, error) {
	heard, err := f.shelf.Live(ctx, id)
	if err != nil {
		return nil, err
	}
	own := make(chan []byte, 1)
	r := &Reader{Own: own, Heard: heard, f: f, id: id, own: own, by: anybody}
	f.mu.Lock()
	d, here := f.drawn.Get(id)
	if here {
		r.show(d.last)
	}
	if f.readers[id] == nil {
		f.readers[id] = map[*Reader]bool{}
	}
	f.readers[id][r] = true
	f.mu.Unlock()
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if delete(f.readers[id], r); len(f.readers[id]) == 0 {
			delete(f.readers, id)
		}
	})
	r.ask(ctx, askWhole)
	return r, nil
}

// show leaves a frame for the reader, instead of one that it has not taken. The caller holds the lock.
func (r *Reader) show(frame []byte) {
	select {
	case <-r.own:
	default:
	}
	r.own <- frame
}

// Read is the frame that something heard makes, or nil.
func (r *Reader) Read(ctx context.Context, msg []byte) []byte {
	var by string
	var n uint64
	var head, tail int
	line, part, _ := bytes.Cut(msg, []byte("\n"))
	if _, err := fmt.Sscanf(string(line), "%s %d %d %d", &by, &n, &head, &tail); err != nil || by == r.f.by || head < 0 || tail < 0 {
		return nil
	}
	if by != r.by { // from now on only they are asked: whoever drew it before would say how it was
		r.by, r.n = by, 0
	}
	switch {
	case n == 1: // they may not know that this one reads
		head, tail, r.asked = 0, 0, time.Time{}
	case n != r.n+1 || head > len(r.frame) || tail > len(r.frame)-head:
		r.n = 0
		r.ask(ctx, askWhole)
		return nil
	}
	r.frame = slices.Concat(r.frame[:head], part, r.frame[len(r.frame)-tail:])
	r.n = n
	r.ask(ctx, askAgain)
	return r.frame
}

// ask says that this replica shows the chat, unless it did a moment ago.
func (r *Reader) ask(ctx context.Context, every time.Duration) {
	if now := time.Now(); now.Sub(r.asked) >= every {
		r.asked = now
		_ = r.f.shelf.PublishLive(ctx, r.f.wants, fmt.Appendf(nil, "%s %s %d %s", r.f.by, r.by, r.n, r.id)) // it asks again
	}
}
