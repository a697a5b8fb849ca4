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

// After everything was lost, a lease is still newer than those handed out before: a process that holds one must not take it for old.
func TestALeaseIsNewerThanThoseBeforeALoss(t *testing.T) {
	s, m := mini(t, Options{})
	for _, claim := range []func() agent.Lease{
		func() agent.Lease {
			return mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}}).Lease
		},
		func() agent.Lease {
			mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d1")}})
			got, err := s.ClaimDue(t.Context(), "me", 1)
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			return got[0]
		},
	} {
		m.FlushAll()
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		m.SetTime(now)
		before := claim()
		m.FlushAll()
		m.SetTime(now.Add(time.Millisecond))
		if after := claim(); after.Token <= before.Token {
			t.Errorf("the lease after the loss has token %d, the one before it %d", after.Token, before.Token)
		}
	}
}

func TestALostReplyIsNoSecondWrite(t *testing.T) {
	t.Parallel()
	s, _ := mini(t, Options{})
	f := &faults{}
	s.rdb.AddHook(f)
	// Load every script first: one that the server does not know is not executed at all.
	mustAppend(t, s, agent.Write{Chat: chat.ID{Platform: "test", Key: "warm"}, Events: []agent.Keyed{said("d1")}})
	warm, err := s.ClaimDue(t.Context(), "warm", 1)
	if err != nil || len(warm) != 1 {
		t.Fatal(warm, err)
	}
	if _, _, err := s.Renew(t.Context(), warm[0]); err != nil {
		t.Fatal(err)
	}
	for _, lose := range []*atomic.Int32{&f.after, &f.before} {
		id := chat.ID{Platform: "test", Key: t.Name()}
		if lose == &f.before {
			id.Key += "2"
		}
		lose.Store(2)
		w := mustAppend(t, s, agent.Write{Chat: id, Claim: "me", Events: []agent.Keyed{said("d1")}})
		if w.Repeated || w.Head.Seq != 1 || len(w.Entries) != 1 || w.Lease.Token == 0 {
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
	_, err = s.Append(t.Context(), agent.Write{Chat: room, Events: []agent.Keyed{said("d1")}})
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

// The due set is only a hint, whatever it says; claim looks again.
func TestClaimLooksAgain(t *testing.T) {
	s, m := mini(t, Options{})
	ctx, k := t.Context(), keysOf(room)
	l := mustAppend(t, s, agent.Write{Claim: "me"}).Lease
	due := func() (at float64) {
		t.Helper()
		at, err := m.ZScore(k.due, room.String())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	first := due()
	m.SetTime(time.Now().Add(3 * time.Second))
	if _, _, err := s.Renew(ctx, l); err != nil || due() <= first {
		t.Errorf("a renewed lease is due at %v after %v: everybody would look at it, %v", due(), first, err)
	}
	if _, err := m.ZAdd(k.due, 1, room.String()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.ClaimDue(ctx, "you", 1); err != nil || len(got) != 0 {
		t.Errorf("held, and claimed: %+v, %v", got, err)
	}
	mustAppend(t, s, agent.Write{Lease: l, Release: true, Wake: time.Now().Add(time.Hour)})
	res, err := s.write(ctx, claimScript.on([]string{k.head, k.due}, room.String(), "you", "1000", "0"))
	if err != nil || number(res) != 0 {
		t.Errorf("due in an hour, and claimed: %v, %v", res, err)
	}
}

// The library must not repeat anything by itself: it would not say so.
func TestTheLibraryRepeatsNothing(t *testing.T) {
	t.Parallel()
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
	rdb, err := dial(t.Context(), Options{URL: "redis://" + l.Addr().String()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close() //nolint:errcheck // a test's client
	r := &remote{rdb: rdb}
	if _, err := r.write(t.Context(), putScript.on([]string{"k"}, "a", "b")); err == nil {
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

// Also where nobody may ask CONFIG, as with all managed services; and many of them drop keys unless told otherwise.
func TestAServerThatDropsKeysIsRefused(t *testing.T) {
	t.Parallel()
	for policy, args := range map[string][]string{"allkeys-lru": nil, "volatile-lru": {"--rename-command", "CONFIG", ""}} {
		url := startRedis(t, append(args, "--maxmemory-policy", policy)...)
		if _, err := Open(t.Context(), Options{URL: url, Log: discard}); err == nil || !strings.Contains(err.Error(), policy) || !strings.Contains(err.Error(), "noeviction") {
			t.Errorf("%s: error %v", policy, err)
		}
	}
}

func TestAServerThatDoesNotTellGetsAWarning(t *testing.T) {
	var out bytes.Buffer
	mini(t, Options{Log: slog.New(slog.NewTextHandler(&out, nil))}) // nor does miniredis
	if !strings.Contains(out.String(), "noeviction") {
		t.Errorf("log: %s", out.String())
	}
}

func TestErrorsKeepThePassword(t *testing.T) {
	t.Parallel()
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

// Which part of an address is wrong is said, without its password, and without the server.
func TestWhatIsWrongWithTheAddressOfARedis(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://u:s3cret@h:6379/0?read_timeout=3s": "", "rediss://h:26379/0?master_name=m&addr=h2:26379": "", "redis://h:6379?addr=h2:6379&addr=h3:6379": "", "unix:///run/redis.sock": "",
		"redis://u:s3cret@h:6379/0?foo=1": "parameters", "redis://h:6379/0?read_timeout=s3cret": "parameters", "redis://u:pa?s3cret@h:6379": "percent-encoded",
		"redis://h/x?foo=1": "want redis://,", "http://h": "want redis://,", "redis://h:6379/x?master_name=m": "Sentinel URL", "redis://h:1?master_name=m&foo=1": "parameters",
		"redis://h:6379?addr=h2:6379&foo=1": "parameters", "http://h:6379?addr=h2:6379": "URL of a Cluster",
	} {
		if err := CheckURL(url); (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestASilentChatFadesAsAWhole(t *testing.T) {
	t.Parallel()
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

func TestForgetsAsksOfChatsThatExpired(t *testing.T) {
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
	kept := keysOf(here)
	if _, err := s.write(t.Context(), forgetScript.on([]string{kept.asks, kept.head}, "kept")); err != nil {
		t.Fatal(err) // the chat spoke again between the look and the script
	}
	if _, found, _ := s.Find(t.Context(), "gone"); found {
		t.Error("still found")
	}
	if id, found, _ := s.Find(t.Context(), "kept"); !found || id != here {
		t.Error("forgot an ask of a chat that is there")
	}
}

func itoa(n int) string { return utoa(uint64(n)) } //nolint:gosec // a test's small numbers
