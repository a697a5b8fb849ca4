package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// hub shares one subscription connection among everybody who listens in this process.
type hub struct {
	feed feed

	// change makes subscribing and unsubscribing one at a time, so that the last to leave a channel and the next
	// to enter it cannot overtake each other. It is never needed to take a message in: whoever publishes may
	// wait for that.
	change sync.Mutex

	mu        sync.Mutex
	audiences map[string]*audience
	closed    bool
	done      sync.WaitGroup
}

// feed is where messages come from.
type feed interface {
	// Start calls take for every message and joined for every channel that got (re)subscribed, until stop.
	Start(done *sync.WaitGroup, take func(channel, msg string), joined func(channel string))
	// Subscribe asks for a channel. Where that fails it is asked again with the next connection.
	Subscribe(ctx context.Context, channel string)
	Unsubscribe(channel string)
	Stop()
}

type audience struct {
	here   map[*listener]struct{}
	joined chan struct{} // closed when the subscription is in force
	isOpen bool
}

// listener hears one channel. Its functions must not block.
type listener struct {
	take func(msg string)
	lost func() // messages may have been lost; nil: does not matter
	end  func() // called once, after the last take
}

func newHub(f feed) *hub {
	h := &hub{feed: f, audiences: map[string]*audience{}}
	f.Start(&h.done, h.take, h.joined)
	return h
}

// listen enters l into a channel until ctx ends. It returns when the subscription is in force.
func (h *hub) listen(ctx context.Context, channel string, l listener) error {
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
		h.feed.Subscribe(ctx, channel)
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
		h.feed.Unsubscribe(channel)
	}
}

func (h *hub) take(channel, msg string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.audiences[channel]; r != nil {
		for l := range r.here {
			l.take(msg)
		}
	}
}

// joined opens an audience. A second time means that the connection was lost in between.
func (h *hub) joined(channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.audiences[channel]
	switch {
	case r == nil:
	case !r.isOpen:
		r.isOpen = true
		close(r.joined)
	default:
		for l := range r.here {
			if l.lost != nil {
				l.lost()
			}
		}
	}
}

func (h *hub) close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	h.mu.Unlock()
	h.feed.Stop()
	h.done.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range slices.Collect(maps.Values(h.audiences)) {
		for l := range r.here {
			delete(r.here, l)
			l.end()
		}
	}
}

// redisFeed is one pub/sub connection. The library reconnects it and subscribes again.
type redisFeed struct {
	sub *redis.PubSub
}

func (f *redisFeed) Start(done *sync.WaitGroup, take func(channel, msg string), joined func(string)) {
	// Bigger than the default, because one slow second of ours must not hold back the server.
	msgs := f.sub.ChannelWithSubscriptions(redis.WithChannelSize(1024), redis.WithChannelHealthCheckInterval(3*time.Second))
	done.Go(func() {
		for m := range msgs {
			switch m := m.(type) {
			case *redis.Message:
				take(m.Channel, m.Payload)
			case *redis.Subscription:
				if m.Kind == "subscribe" {
					joined(m.Channel)
				}
			}
		}
	})
}

func (f *redisFeed) Subscribe(ctx context.Context, channel string) {
	_ = f.sub.Subscribe(context.WithoutCancel(ctx), channel) // remembered by the library even when it fails
}

func (f *redisFeed) Unsubscribe(channel string) {
	ctx, cancel := context.WithTimeout(context.Background(), opDeadline)
	defer cancel()
	_ = f.sub.Unsubscribe(ctx, channel) // a channel too many is only noise
}

func (f *redisFeed) Stop() { _ = f.sub.Close() }
