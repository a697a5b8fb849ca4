package embedded

import (
	"context"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// Feed hears what the server publishes, without a connection: miniredis publishes under its lock and
// straight into the subscriber's socket, and a pipe has no room, so a client that is busy sending would stop it all.
type Feed struct {
	sub    *miniredis.Subscriber
	prefix string
	ended  chan struct{}
	joined func(string)
}

// Feed makes one that hears every channel whose name begins so.
func (d *Server) Feed(prefix string) *Feed {
	f := &Feed{sub: d.mem.NewSubscriber(), prefix: prefix, ended: make(chan struct{})}
	f.sub.Psubscribe(prefix + "*")
	return f
}

// Start gives every message to take, until Stop.
func (f *Feed) Start(done *sync.WaitGroup, take func(channel, msg string), joined func(string)) {
	f.joined = joined
	done.Go(func() {
		for {
			select {
			case m := <-f.sub.Pmessages():
				take(m.Channel, m.Message)
			case <-f.ended:
				return
			}
		}
	})
}

// Subscribe is in force at once: it hears everything.
func (f *Feed) Subscribe(_ context.Context, channel string) { f.joined(channel) }

// Unsubscribe does nothing.
func (f *Feed) Unsubscribe(string) {}

// Stop leaves first and reads on until it has left: a message nobody takes would hold the server's lock.
func (f *Feed) Stop() {
	f.sub.Punsubscribe(f.prefix + "*")
	close(f.ended)
}
