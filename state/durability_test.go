package state

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/nodhq/nod/core/agent"
)

func TestNotConfirmedIsNotDurable(t *testing.T) {
	s, _ := mini(t, Options{Durability: "replicas=1"}) // miniredis confirms nothing, ever
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	write := agent.Write{Chat: room, Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{started("w1")}}
	for i := range 2 {
		got, err := s.Append(t.Context(), write)
		if !errors.Is(err, agent.ErrNotDurable) || got.Head.Seq != 2 || got.Repeated != (i == 1) {
			t.Errorf("time %d: %+v, %v", i, got, err)
		}
	}
	for _, bad := range []string{"replicas=0", "replicas=x", "replicas", "sync"} {
		if _, err := Open(t.Context(), Options{Durability: bad}); err == nil || !strings.Contains(err.Error(), "redis.durability") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// WAIT and WAITAOF are for the writes that came before on their connection. A repeat may come on another one, so
// it has to write something of its own.
func TestARepeatWritesSomethingToConfirm(t *testing.T) {
	t.Parallel()
	url := startRedis(t)
	s := openStore(t, Options{URL: url})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	writes := func() string {
		t.Helper()
		info, err := s.rdb.Info(t.Context(), "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(info, "cmdstat_hset:")
		line, _, _ := strings.Cut(rest, ",")
		return line
	}
	start := agent.Write{Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{started("w1")}}
	mustAppend(t, s, start)
	before := writes()
	if again := mustAppend(t, s, start); !again.Repeated {
		t.Fatal("no repeat")
	}
	if writes() == before {
		t.Error("it wrote nothing")
	}
}

func TestFsync(t *testing.T) {
	m := miniredis.RunT(t)
	url := "redis://" + m.Addr()
	if _, err := Open(t.Context(), Options{URL: url, Durability: "fsync", Log: discard}); err == nil || !strings.Contains(err.Error(), "Redis 7.2") {
		t.Fatalf("a server without WAITAOF: %v", err)
	}
	var synced atomic.Int32
	if err := m.Server().Register("WAITAOF", func(c *server.Peer, _ string, _ []string) {
		c.WriteLen(2)
		c.WriteInt(int(synced.Load()))
		c.WriteInt(0)
	}); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, Options{URL: url, Durability: "fsync"})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	write := agent.Write{Chat: room, Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{started("w1")}}
	if _, err := s.Append(t.Context(), write); !errors.Is(err, agent.ErrNotDurable) {
		t.Errorf("not on disk: %v", err)
	}
	synced.Store(1)
	if err := s.rdb.ScriptFlush(t.Context()).Err(); err != nil { // as after a restart of the server
		t.Fatal(err)
	}
	if w, err := s.Append(t.Context(), write); err != nil || !w.Repeated {
		t.Errorf("on disk: %+v, %v", w, err)
	}
}
