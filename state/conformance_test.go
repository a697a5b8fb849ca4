package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/harness/machine"
	"github.com/nodhq/nod/tests/standins/stand"
	"github.com/nodhq/nod/tests/suites/conformance"
)

func TestMain(m *testing.M) {
	machine.AtOnce(6) // those that wait, for a server or for the store
	machine.SpendMemory()
	goleak.VerifyTestMain(tidy{m})
}

// tidy ends what outlived its test before anybody looks for leaks.
type tidy struct{ *testing.M }

func (m tidy) Run() int {
	code := m.M.Run()
	for _, f := range slices.Backward(atEnd) {
		f()
	}
	return code
}

func TestMiniredis(t *testing.T) {
	open := func(t *testing.T) conformance.State {
		m := miniredis.RunT(t)
		at := time.Now()
		m.SetTime(at)
		url := "redis://" + m.Addr()
		s := openState(t, url)
		s.Rewind = func(_ *testing.T, by time.Duration) { at = at.Add(-by); m.SetTime(at) }
		return s
	}
	t.Run("Log", func(t *testing.T) { conformance.Log(t, open) })
	t.Run("Leases", func(t *testing.T) { conformance.Leases(t, open) })
}

func TestEmbedded(t *testing.T) {
	open := func(t *testing.T) conformance.State {
		s := openEmbedded(t, t.TempDir(), Options{})
		return levers(s, s.rdb)
	}
	t.Run("Log", func(t *testing.T) { conformance.Log(t, open) })
	t.Run("Leases", func(t *testing.T) { conformance.Leases(t, open) })
}

// As the user of deploy/redis-users.acl, who may do what nod needs and nothing else.
func TestRealRedis(t *testing.T) {
	args, user, err := stand.RedisUser(filepath.Join("..", "deploy", "redis-users.acl"))
	if err != nil {
		t.Fatal(err)
	}
	url := startRedis(t, args...)
	open := func(t *testing.T) conformance.State {
		flush(t, url)
		its := strings.Replace(url, "//", "//"+user, 1)
		admin, err := dial(t.Context(), Options{URL: url}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Close() })
		return withReplicas(levers(openStore(t, Options{URL: its}), admin), its)
	}
	t.Run("Log", func(t *testing.T) { conformance.Log(t, open) })
	t.Run("Leases", func(t *testing.T) { conformance.Leases(t, open) })
}

func TestCluster(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) conformance.State { return openState(t, cluster(t)) }
	t.Run("Log", func(t *testing.T) { conformance.Log(t, open) })
	t.Run("Leases", func(t *testing.T) { conformance.Leases(t, open) })
	t.Run("Durability", func(t *testing.T) { // WAIT has to go to the node of the chat
		s := openStore(t, Options{URL: cluster(t), Durability: "replicas=1"})
		w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
		got, err := s.Append(t.Context(), agent.Write{Chat: room, Known: w.Head, Lease: w.Lease, Events: []agent.Keyed{started("w1")}})
		if !errors.Is(err, agent.ErrNotDurable) || got.Head.Seq != 2 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

var discard = slog.New(slog.NewTextHandler(io.Discard, nil))

// unhurried options have leases that end where a test says so, and not while a busy machine lets it wait.
func unhurried(o Options) Options {
	if o.Log == nil {
		o.Log = discard
	}
	o.Lease = cmp.Or(o.Lease, time.Hour)
	return o
}

func openStore(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), unhurried(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openEmbedded(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := OpenEmbedded(dir, unhurried(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func openState(t *testing.T, url string) conformance.State {
	s := openStore(t, Options{URL: url})
	return withReplicas(levers(s, s.rdb), url)
}

func withReplicas(s conformance.State, url string) conformance.State {
	s.Replica = func(t *testing.T) conformance.Store { return openStore(t, Options{URL: url}) }
	return s
}

// levers do behind the store's back what time, a failover or an intruder would.
func levers(s *Store, rdb redis.UniversalClient) conformance.State {
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	return conformance.State{
		Store: s,
		Expire: func(t *testing.T, id chat.ID) {
			ctx, k := t.Context(), keysOf(id)
			must(t, rdb.HSet(ctx, k.head, "until", 1).Err())
			must(t, rdb.ZAdd(ctx, k.due, redis.Z{Score: 1, Member: id.String()}).Err())
		},
		Tamper: func(t *testing.T, id chat.ID, seq uint64) {
			ctx, k := t.Context(), keysOf(id)
			b, err := rdb.LIndex(ctx, k.log, int64(seq)-1).Result()
			must(t, err)
			changed := strings.Replace(b, "hello", "jello", 1)
			if changed == b {
				t.Fatal("nothing to change")
			}
			must(t, rdb.LSet(ctx, k.log, int64(seq)-1, changed).Err())
		},
		Lose: func(t *testing.T, id chat.ID, n int) {
			ctx, k := t.Context(), keysOf(id)
			for range n {
				b, err := rdb.RPop(ctx, k.log).Result()
				must(t, err)
				r, err := parseRow([]byte(b))
				must(t, err)
				must(t, rdb.Del(ctx, k.op(agentOp(r.op))).Err())
			}
			b, err := rdb.LIndex(ctx, k.log, -1).Result()
			must(t, err)
			r, err := parseRow([]byte(b))
			must(t, err)
			must(t, rdb.HSet(ctx, k.head, "seq", r.seq, "tip", r.op).Err())
		},
		Newer: func(t *testing.T, id chat.ID) {
			ctx, k := t.Context(), keysOf(id)
			n, err := rdb.LLen(ctx, k.log).Result()
			must(t, err)
			e := fmt.Sprintf("%d %d newer -\n%s", n+1, time.Now().UnixMilli(), `{"v":9,"k":"said","e":{}}`)
			must(t, rdb.RPush(ctx, k.log, e).Err())
			must(t, rdb.HSet(ctx, k.head, "seq", n+1, "tip", "newer").Err())
		},
	}
}

func flush(t *testing.T, url string) {
	t.Helper()
	ctx := t.Context()
	rdb, err := dial(ctx, Options{URL: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close() //nolint:errcheck // a test's client
	if c, ok := rdb.(*redis.ClusterClient); ok {
		err = c.ForEachMaster(ctx, func(ctx context.Context, m *redis.Client) error { return m.FlushAll(ctx).Err() })
	} else {
		err = rdb.FlushAll(ctx).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}
