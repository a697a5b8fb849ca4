package state

import (
	"context"
	"testing"

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
