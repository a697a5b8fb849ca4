package state

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// mini is a store on a miniredis.
func mini(t *testing.T, o Options) (*Store, *miniredis.Miniredis) {
	t.Helper()
	m := miniredis.RunT(t)
	o.URL = "redis://" + m.Addr()
	return openStore(t, o), m
}

// faults is a hook that lets a command run and then loses its reply, or loses it on its way there.
type faults struct {
	after, before atomic.Int32
	seen          func(cmds ...redis.Cmder)
}

func (f *faults) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *faults) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return f.fail(func() error { return next(ctx, cmd) }, cmd)
	}
}

func (f *faults) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return f.fail(func() error { return next(ctx, cmds) }, cmds...)
	}
}

func (f *faults) fail(run func() error, cmds ...redis.Cmder) error {
	if f.seen != nil {
		f.seen(cmds...)
	}
	if !strings.HasPrefix(cmds[0].Name(), "eval") {
		return run()
	}
	lost := func() error {
		for _, c := range cmds {
			c.SetErr(io.ErrUnexpectedEOF)
		}
		return io.ErrUnexpectedEOF
	}
	if f.before.Add(-1) >= 0 {
		return lost()
	}
	err := run()
	if f.after.Add(-1) >= 0 {
		return lost()
	}
	return err
}

func TestALostReplyIsNoSecondWrite(t *testing.T) {
	s, _ := mini(t, Options{})
	f := &faults{}
	s.rdb.AddHook(f)
	mustAppend(t, s, agent.Write{Chat: chat.ID{Platform: "test", Key: "warm"}, Events: []agent.Keyed{said("load the script")}})
	for _, lose := range []*atomic.Int32{&f.after, &f.before} {
		id := chat.ID{Platform: "test", Key: t.Name()}
		if lose == &f.before {
			id.Key += "2"
		}
		lose.Store(2)
		w := mustAppend(t, s, agent.Write{Chat: id, Claim: "me", Events: []agent.Keyed{said("d1")}})
		if w.Repeated || w.Head.Seq != 1 || len(w.Entries) != 1 || w.Lease.Token != 1 {
			t.Errorf("the answer of the repeat: %+v", w)
		}
		lose.Store(1)
		w = mustAppend(t, s, agent.Write{Chat: id, Known: w.Head, Lease: w.Lease, Release: true, Events: []agent.Keyed{started("w1")}})
		if w.Repeated || !w.Released || w.Head.Seq != 2 {
			t.Errorf("the answer of the repeat: %+v", w)
		}
		lose.Store(1)
		mustAppend(t, s, agent.Write{Chat: id})
		lose.Store(1)
		got, err := s.ClaimDue(t.Context(), "you", 5)
		if err != nil || len(got) == 0 {
			t.Fatalf("a claim whose reply was lost: %+v, %v", got, err)
		}
		lose.Store(1)
		if _, _, err := s.Renew(t.Context(), got[0]); err != nil {
			t.Error(err)
		}
	}
	f.after.Store(100)
	_, err := s.Append(t.Context(), agent.Write{Chat: room, Events: []agent.Keyed{said("d1")}})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("when no reply ever comes: %v", err)
	}
	if left := f.after.Load(); left != 100-attempts {
		t.Errorf("%d attempts, want %d", 100-left, attempts)
	}
	f.after.Store(0)
	if n := len(history(t, s)); n != 1 {
		t.Errorf("%d entries", n)
	}
}

// The library must not repeat anything by itself: it would not say so.
func TestTheLibraryRepeatsNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 1<<16)
			for {
				n, err := c.Read(b)
				if err != nil {
					break
				}
				if bytes.Contains(bytes.ToLower(b[:n]), []byte("evalsha")) {
					calls.Add(1)
					break
				}
				_, _ = c.Write([]byte("-ERR unknown command\r\n")) // whatever it greets with
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	rdb, err := dial(t.Context(), "redis://"+l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close() //nolint:errcheck // a test's client
	r := &remote{rdb: rdb}
	if _, err := r.write(t.Context(), call{script: putScript, keys: []string{"k"}, args: []string{"a", "b"}}); err == nil {
		t.Fatal("no error")
	}
	if got := calls.Load(); got != attempts {
		t.Errorf("the server saw %d, we sent %d", got, attempts)
	}
}

func TestAForgottenScriptIsLoadedAgain(t *testing.T) {
	s, m := mini(t, Options{})
	flush := func() {
		t.Helper()
		if err := s.rdb.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	_ = m
	for i := range 3 {
		flush()
		mustAppend(t, s, agent.Write{Chat: chat.ID{Platform: "test", Key: string(rune('a' + i))}, Events: []agent.Keyed{said("d1")}})
	}
	flush()
	if got, err := s.ClaimDue(t.Context(), "me", 10); err != nil || len(got) != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	flush()
	if _, _, head, err := s.Load(t.Context(), chat.ID{Platform: "test", Key: "a"}); err != nil || head.Seq != 1 {
		t.Errorf("%+v, %v", head, err)
	}
}

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
	if w, err := s.Append(t.Context(), write); err != nil || !w.Repeated {
		t.Errorf("on disk: %+v, %v", w, err)
	}
}

// WAIT counts from the last write of its connection. A repeat that writes nothing would be confirmed by nobody
// having anything to confirm.
func TestARepeatIsOnlyDurableWhenItIs(t *testing.T) {
	primary := startRedis(t)
	sock := strings.TrimPrefix(primary, "unix://")
	port := freePort(t)
	admin := redis.NewClient(&redis.Options{Network: "unix", Addr: sock})
	defer admin.Close() //nolint:errcheck // a test's client
	if err := admin.ConfigSet(t.Context(), "port", itoa(port)).Err(); err != nil {
		t.Fatal(err)
	}
	replica := startRedis(t, "--replicaof", "127.0.0.1 "+itoa(port))
	await(t, replica, func(ctx context.Context, c *redis.Client) error {
		info, err := c.Info(ctx, "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			return errors.New(info)
		}
		return err
	})
	s := openStore(t, Options{URL: primary, Durability: "replicas=1"})
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	lease := w.Lease
	w = mustAppend(t, s, agent.Write{Known: w.Head, Lease: lease, Events: []agent.Keyed{started("w1")}}) // confirmed
	stop := redis.NewClient(&redis.Options{Network: "unix", Addr: strings.TrimPrefix(replica, "unix://")})
	_ = stop.ShutdownNoSave(t.Context()).Err()
	_ = stop.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // how long WAIT may wait follows from it
	defer cancel()
	write := agent.Write{Chat: room, Known: w.Head, Lease: lease, Events: []agent.Keyed{started("w2")}}
	for i := range 2 {
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		w, err := s.Append(ctx, write)
		cancel()
		if !errors.Is(err, agent.ErrNotDurable) || w.Head.Seq != 3 {
			t.Errorf("time %d: %+v, %v", i, w, err)
		}
	}
}

func TestAServerThatDropsKeysIsRefused(t *testing.T) {
	url := startRedis(t, "--maxmemory-policy", "allkeys-lru")
	if _, err := Open(t.Context(), Options{URL: url, Log: discard}); err == nil || !strings.Contains(err.Error(), "noeviction") {
		t.Errorf("error %v", err)
	}
}

func TestAServerThatDoesNotTellGetsAWarning(t *testing.T) {
	var out bytes.Buffer
	mini(t, Options{Log: slog.New(slog.NewTextHandler(&out, nil))}) // miniredis has no CONFIG
	if !strings.Contains(out.String(), "noeviction") {
		t.Errorf("log: %s", out.String())
	}
}

func TestErrorsKeepThePassword(t *testing.T) {
	const secret = "hunter2secret"
	for _, url := range []string{
		"redis://user:" + secret + "/1@127.0.0.1:1/0", "redis://:" + secret + "#x@127.0.0.1:1", "redis://u:%zz" + secret + "@h:1",
		"http://u:" + secret + "@127.0.0.1:1", "redis://u:" + secret + "@127.0.0.1:1/notanumber", "redis://u:" + secret + "@127.0.0.1:1",
		"redis://u:" + secret + "@127.0.0.1:1?dial_timeout=" + secret, "redis://u:" + secret + "@127.0.0.1:1?master_name=m&db=" + secret,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := Open(ctx, Options{URL: url, Log: discard})
		cancel()
		if err == nil || !strings.Contains(err.Error(), "redis.url") {
			t.Errorf("error %v", err)
		} else if strings.Contains(err.Error(), secret) {
			t.Error("the error tells the password")
		}
	}
}

func TestASilentChatFadesAsAWhole(t *testing.T) {
	for name, url := range servers(t) {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{URL: url(t), Keep: time.Hour})
			ttl := func(want bool) {
				t.Helper()
				k := keysOf(room)
				for _, key := range []string{k.head, k.log, k.snap} {
					d, err := s.rdb.PTTL(t.Context(), key).Result()
					if err != nil || (d > 0) != want || d == -2 {
						t.Errorf("%s fades in %v (%v), want that: %v", key, d, err, want)
					}
				}
			}
			w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}, Snapshot: &agent.Snapshot{}})
			ttl(false)
			mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Release: true})
			ttl(true)
			w = mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{said("d2")}})
			ttl(false)
			l := mustAppend(t, s, agent.Write{Claim: "me"}).Lease
			mustAppend(t, s, agent.Write{Known: w.Head, Lease: l, Release: true, Wake: time.Now().Add(time.Hour)})
			ttl(false)
			l = mustAppend(t, s, agent.Write{Claim: "me"}).Lease
			mustAppend(t, s, agent.Write{Known: w.Head, Lease: l, Release: true})
			ttl(true)
			mustAppend(t, s, agent.Write{Known: w.Head, Snapshot: &agent.Snapshot{Head: w.Head}}) // replaces a key, and it still fades
			ttl(true)
			mustAppend(t, s, agent.Write{}) // a touch
			ttl(false)
		})
	}
}

// servers are a miniredis and, where there is one, a real Redis.
func servers(t *testing.T) map[string]func(*testing.T) string {
	return map[string]func(*testing.T) string{
		"miniredis": func(t *testing.T) string { return "redis://" + miniredis.RunT(t).Addr() },
		"redis":     func(t *testing.T) string { return startRedis(t) },
	}
}

func TestForgetsAsksOfChatsThatFaded(t *testing.T) {
	s, m := mini(t, Options{})
	m.HSet(keysOf(room).asks, "gone", room.String())
	here := chat.ID{Platform: "test", Key: "here"}
	mustAppend(t, s, agent.Write{Chat: here, Events: []agent.Keyed{said("d1")}})
	m.HSet(keysOf(here).asks, "kept", here.String())
	for b := range buckets {
		if err := s.forget(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if _, found, _ := s.Find(t.Context(), "gone"); found {
		t.Error("still found")
	}
	if id, found, _ := s.Find(t.Context(), "kept"); !found || id != here {
		t.Error("forgot an ask of a chat that is there")
	}
}

func TestEpochCountsColdStarts(t *testing.T) {
	for name, url := range servers(t) {
		t.Run(name, func(t *testing.T) {
			at := url(t)
			replica := func(name string, want uint64) *Store {
				t.Helper()
				s := openStore(t, Options{URL: at, Replica: name})
				if got, err := s.Epoch(t.Context()); err != nil || got != want {
					t.Errorf("%s: epoch %d, %v, want %d", name, got, err, want)
				}
				return s
			}
			a := replica("a", 1)
			b := replica("b", 1) // a is alive: a rolling update
			replica("a", 1)      // a is killed and comes back while b is alive
			b.leave()
			replica("a", 2) // alone: its own old heartbeat is nobody else's
			a.leave()
			c := replica("c", 3)
			if err := c.beat(t.Context()); err != nil {
				t.Error(err)
			}
			replica("d", 3)
		})
	}
}

func TestRunBeatsAndLeaves(t *testing.T) {
	s, m := mini(t, Options{Replica: "a"})
	if _, err := s.Epoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if m.Exists(runReplicas) {
		t.Error("it still counts as alive")
	}
}

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

func TestShelf(t *testing.T) {
	embedded := func(t *testing.T) *Store { return openEmbedded(t, t.TempDir(), Options{}) }
	redis := func(t *testing.T) *Store { s, _ := mini(t, Options{}); return s }
	for name, open := range map[string]func(*testing.T) *Store{"embedded": embedded, "redis": redis} {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), open(t)
			if _, _, ok, err := s.Session(ctx, "none"); ok || err != nil {
				t.Error(ok, err)
			}
			if err := s.PutSession(ctx, "hash", "u1", "Ana"); err != nil {
				t.Fatal(err)
			}
			if u, n, ok, err := s.Session(ctx, "hash"); u != "u1" || n != "Ana" || !ok || err != nil {
				t.Error(u, n, ok, err)
			}
			at := time.UnixMilli(1_800_000_000_000).UTC()
			for _, p := range []ChatEntry{{"a", "first: a", at}, {"b", "", at.Add(time.Minute)}, {"a", "", at.Add(time.Hour)}} {
				if err := s.PutChat(ctx, "u1", p.Key, p.Title, p.At); err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Chats(ctx, "u1")
			if err != nil || len(got) != 2 || got[0] != (ChatEntry{"a", "first: a", at.Add(time.Hour)}) || got[1].Key != "b" {
				t.Error(got, err)
			}
			if got, err := s.Chats(ctx, "u2"); err != nil || len(got) != 0 {
				t.Error(got, err)
			}
			live, err := s.Live(ctx, room)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.PublishLive(ctx, room, []byte("\x00frame")); err != nil {
				t.Fatal(err)
			}
			if got := <-live; string(got) != "\x00frame" {
				t.Errorf("%q", got)
			}
			if err := s.Ping(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestASlowReaderLosesTheOldestFrames(t *testing.T) {
	s := openEmbedded(t, t.TempDir(), Options{})
	live, err := s.Live(t.Context(), room)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Live(t.Context(), chat.ID{Platform: "test", Key: "marker"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := s.PublishLive(t.Context(), room, []byte(itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PublishLive(t.Context(), chat.ID{Platform: "test", Key: "marker"}, nil); err != nil {
		t.Fatal(err)
	}
	<-other
	var last string
	for range len(live) {
		last = string(<-live)
	}
	if last != "199" {
		t.Errorf("the newest frame read is %q", last)
	}
}

func itoa(n int) string { return utoa(uint64(n)) } //nolint:gosec // a test's small numbers
