package agent

import (
	"context"
	"sync"

	"github.com/nodhq/nod/core/chat"
)

// replies bounds how many replies the model writes at once for one person in this process: who asks for more waits for their own, and nobody
// else does. The zero value is ready.
type replies struct {
	mu sync.Mutex
	of map[chat.User]*queue
}

type queue struct {
	slots  chan struct{} // one for each that is written
	inside int           // these, and those that wait
}

// enter waits until one more may be written for somebody, and says first, through wait, where that takes a while. Call leave at its end.
func (r *replies) enter(ctx context.Context, who chat.User, most int, wait func()) (leave func(), err error) {
	r.mu.Lock()
	q := r.of[who]
	if q == nil {
		if r.of == nil {
			r.of = map[chat.User]*queue{}
		}
		q = &queue{slots: make(chan struct{}, most)}
		r.of[who] = q
	}
	q.inside++
	full := q.inside > most
	r.mu.Unlock()
	out := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if q.inside--; q.inside == 0 {
			delete(r.of, who)
		}
	}
	if full {
		wait()
	}
	select {
	case q.slots <- struct{}{}:
		return func() { <-q.slots; out() }, nil
	case <-ctx.Done():
		out()
		return func() {}, ctx.Err()
	}
}
