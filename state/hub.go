package state

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/backoff"
)

// hub shares one subscription connection among everybody who listens in this process.
type hub struct {
	sub  *redis.PubSub // one connection; the library reconnects it and subscribes again
	stop context.CancelFunc

	// change makes subscribing and unsubscribing one at a time, so that the last to leave a channel and the next
	// to enter it cannot overtake each other. It is never needed to take a message in: whoever publishes may
	// wait for that.
	change sync.Mutex

	mu        sync.Mutex
	audiences map[string]*audience
	closed    bool
	done      sync.WaitGroup
}

type audience struct {
	here   map[*listener]struct{}
	joined chan struct{} // closed when the subscription is in force
}

// listener hears one channel. Its functions must not block.
type listener struct {
	take func(msg string, lost bool) // lost: no message, and some may have been missed
	end  func()                      // called once, after the last take
}

// newHub hears what comes in on sub. A connection that says nothing for silence is given up, and asked twice in that time: where a machine or
// a route to it vanished without a word, writing to it seems to go well for a quarter of an hour, and the library looks no further.
func newHub(sub *redis.PubSub, silence time.Duration) *hub {
	ctx, cancel := context.WithCancel(context.Background())
	h := &hub{sub: sub, stop: cancel, audiences: map[string]*audience{}}
	h.done.Go(func() {
		for backoff.Wait(ctx, silence/2) == nil {
			asked, cancel := context.WithTimeout(ctx, silence/2)
			_ = sub.Ping(asked)
			cancel()
		}
	})
	h.done.Go(func() {
		for ctx.Err() == nil {
			hearing, cancel := context.WithTimeout(ctx, silence)
			msg, err := sub.Receive(hearing) // one that ends by its time closes the connection; the next makes another
			cancel()
			switch m := msg.(type) {
			case *redis.Message:
				h.take(m.Channel, m.Payload)
			case *redis.Subscription:
				if m.Kind == "subscribe" {
					h.joined(m.Channel)
				}
			}
			if err != nil {
				_ = backoff.Wait(ctx, 100*time.Millisecond)
			}
		}
	})
	return h
}

// listen delivers what comes in on a channel, as read has it, until ctx ends; then the result is closed. Whoever is slow loses the oldest.
// Where some may have been missed, lost is true, and there is no message. The subscription is in force when listen returns.
func listen[T any](ctx context.Context, h *hub, channel string, room int, read func(msg string, lost bool) (T, bool)) (<-chan T, error) {
	out := make(chan T, room)
	take := func(msg string, lost bool) {
		v, ok := read(msg, lost)
		for ok {
			select {
			case out <- v:
				return
			default:
			}
			select {
			case <-out:
			default:
			}
		}
	}
	return out, h.enter(ctx, channel, listener{take, func() { close(out) }})
}

// enter puts l into a channel until ctx ends.
func (h *hub) enter(ctx context.Context, channel string, l listener) error {
	h.change.Lock()
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		h.change.Unlock()
		l.end()
		return ErrClosed
	}
	r := h.audiences[channel]
	fresh := r == nil
	if fresh {
		r = &audience{here: map[*listener]struct{}{}, joined: make(chan struct{})}
		h.audiences[channel] = r
	}
	r.here[&l] = struct{}{}
	h.mu.Unlock()
	if fresh {
		_ = h.sub.Subscribe(context.WithoutCancel(ctx), channel) // remembered by the library even when it fails
	}
	h.change.Unlock()
	wait, cancel := bounded(ctx)
	defer cancel()
	select {
	case <-r.joined:
	case <-wait.Done():
		h.leave(channel, r, &l)
		return fmt.Errorf("subscribe: %w", wait.Err())
	}
	context.AfterFunc(ctx, func() { h.leave(channel, r, &l) })
	return nil
}

func (h *hub) leave(channel string, r *audience, l *listener) {
	h.change.Lock()
	defer h.change.Unlock()
	h.mu.Lock()
	_, in := r.here[l]
	delete(r.here, l)
	if in {
		l.end() // under mu: no take can follow
	}
	last := in && len(r.here) == 0 && !h.closed
	if last {
		delete(h.audiences, channel)
	}
	h.mu.Unlock()
	if last {
		ctx, cancel := bounded(context.Background())
		defer cancel()
		_ = h.sub.Unsubscribe(ctx, channel) // a channel too many is only noise
	}
}

func (h *hub) take(channel, msg string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.audiences[channel]; r != nil {
		for l := range r.here {
			l.take(msg, false)
		}
	}
}

// joined opens an audience. A second time means that the connection was lost in between.
func (h *hub) joined(channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.audiences[channel]
	if r == nil {
		return
	}
	select {
	case <-r.joined:
		for l := range r.here {
			l.take("", true)
		}
	default:
		close(r.joined)
	}
}

func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	_ = h.sub.Close()
	h.done.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.audiences {
		for l := range r.here {
			delete(r.here, l)
			l.end()
		}
	}
}
