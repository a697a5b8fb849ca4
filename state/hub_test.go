package state

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

func TestWatchersShareAConnection(t *testing.T) {
	s, m := mini(t, Options{})
	before := m.TotalConnectionCount()
	const n = 500
	var all []<-chan struct{}
	for i := range n {
		c, err := s.Watch(t.Context(), chat.ID{Platform: "test", Key: itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if got := m.TotalConnectionCount() - before; got > 2 {
		t.Errorf("%d watchers opened %d connections", n, got)
	}
	for i := range n {
		mustAppend(t, s, agent.Write{Chat: chat.ID{Platform: "test", Key: itoa(i)}, Events: []agent.Keyed{said("d")}})
		<-all[i]
	}
}

func TestAWatcherIsToldAfterALostConnection(t *testing.T) {
	s, m := mini(t, Options{})
	c, err := s.Watch(t.Context(), room)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if err := m.Restart(); err != nil {
		t.Fatal(err)
	}
	<-c // nothing was written, but something may have been
}

// halfOpen is a connection whose other end is gone without a word once dead is true: what is written to it seems to arrive.
type halfOpen struct {
	net.Conn
	dead  *atomic.Bool
	pings *atomic.Int32
}

func (c halfOpen) Read(p []byte) (int, error) {
	for {
		if n, err := c.Conn.Read(p); err != nil || !c.dead.Load() {
			return n, err
		}
	}
}

func (c halfOpen) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("ping")) {
		c.pings.Add(1)
	}
	if c.dead.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func TestAWatcherIsToldAfterAConnectionWentSilent(t *testing.T) {
	t.Parallel()
	var dead atomic.Bool
	var pings, dials atomic.Int32
	s := openStore(t, Options{URL: startRedis(t), silence: time.Second, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil || dead.Load() {
			return c, err
		}
		return halfOpen{c, &dead, &pings}, nil
	}})
	c, err := s.Watch(t.Context(), room)
	if err != nil {
		t.Fatal(err)
	}
	for before, until := dials.Load(), pings.Load()+4; pings.Load() < until; { // longer than one may be silent
		select {
		case <-c:
		case <-time.After(10 * time.Millisecond):
		}
		if d := dials.Load(); d != before { // on a busy machine an answer may take longer than a connection may be silent, but not always
			before, until = d, pings.Load()+4
		}
	}
	dead.Store(true)
	<-c // nothing was written, but something may have been
}

func TestWhoeverLeavesLastUnsubscribes(t *testing.T) {
	s, m := mini(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	one, err := s.Watch(ctx, room)
	if err != nil {
		t.Fatal(err)
	}
	if m.PubSubNumSub(watchChannel(room))[watchChannel(room)] != 1 {
		t.Fatal("not subscribed")
	}
	cancel()
	for range one { //nolint:revive // until it is closed
	}
	// The next subscription goes over the same connection, after the one that ends this one.
	if _, err := s.Watch(t.Context(), chat.ID{Platform: "test", Key: "next"}); err != nil {
		t.Fatal(err)
	}
	if n := m.PubSubNumSub(watchChannel(room))[watchChannel(room)]; n != 0 {
		t.Errorf("%d still subscribed", n)
	}
}
