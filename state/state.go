// Package state keeps chats in Redis: logs, leases, due times, and a small shelf for the web surface. It implements [agent.Log],
// [agent.Index], [agent.Leases] and the extras of a Log.
//
// A chat is a log: a List of entries. An entry is one line of ours ("seq stamp op link", see entry.go) and the event's own bytes, which no
// script looks into, in the form of package packed. The head is a Hash: seq and tip of the last entry, its stamp, and the lease (owner, token, until). The due set holds,
// for every chat that somebody must look at, when. A chat hashes to one of 64 buckets and all its keys carry the bucket's tag, so that one
// script changes all of them at once, on a Cluster too. A hold is the right to do, by name, what one process should do at a time; a mark
// is how far a surface has taken what was said in a place.
//
//   - Nothing in a log is ever rewritten. Stamps come from Redis and never decrease.
//   - Every write names its operation and is taken once. Only this package repeats a write whose reply was lost,
//     with the same operation; the client library never does.
//   - An exact write is taken only on the very head that its writer folded, work only under the current lease.
//   - A chat that is due, leased or waiting never expires; a silent one expires as a whole.
//   - Entries form a chain: an exact write carries the SHA-256 over all entries that its writer folded. Whoever
//     reads checks it. A mismatch is [ErrBroken] and names the entry.
//   - Signals (watch, wake, live) may be lost. Facts never travel by them.
//
// [Open] uses a Redis (7.0 or later), a Valkey or a Cluster; [OpenEmbedded] keeps everything in this process and in a journal on disk
// (package embedded), for one replica. The log is the audit: [Store.Walk] reads it, [Store.Verify] checks it from the first entry,
// [OpenToRead] opens a store for that and nothing else.
//
// [Store.Backup] writes all of it to one file, and [Store.Restore] takes that into an empty store of either kind.
//
// Start reading at [Store.Append]. A new transition is a script in lua/, its keys in keys.go and one method.
package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/state/embedded"
)

var (
	_ agent.Log       = (*Store)(nil)
	_ agent.Index     = (*Store)(nil)
	_ agent.Leases    = (*Store)(nil)
	_ agent.Watcher   = (*Store)(nil)
	_ agent.Finder    = (*Store)(nil)
	_ agent.Forgetful = (*Store)(nil)
	_ agent.Confirmer = (*Store)(nil)
	_ agent.Checker   = (*Store)(nil)
)

// Errors of this package, beyond those of [agent].
var (
	// ErrBroken: a stored log does not agree with itself. Something other than this package wrote to it.
	ErrBroken = errors.New("the stored log does not agree with itself")
	// ErrClosed, ErrReadOnly, ErrInUse and ErrNothing are those of package embedded.
	ErrClosed, ErrReadOnly, ErrInUse, ErrNothing = embedded.ErrClosed, embedded.ErrReadOnly, embedded.ErrInUse, embedded.ErrNothing
)

// Options configure a store. The zero value of each field is a sound default.
type Options struct {
	// URL is redis://, rediss:// or unix://, with user, password and database where needed. A Cluster is
	// recognised by asking; ?master_name= makes it a Sentinel's URL. [Open] only.
	URL string
	// Dialer reaches the one server of URL; nil: over the network. A Cluster and Sentinel do without.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
	// Durability is what a Started or a Decided must survive before it counts: "local" (the default: the primary
	// has it), "replicas=N" (N replicas have it too), "fsync" (it is on the primary's disk; needs Redis 7.2 and
	// appendonly yes). The embedded store always syncs these to disk.
	Durability string
	// Lease is how long a claim lasts without renewal; 10 s when zero. Shorter: faster takeover after a crash, and more renewals.
	Lease time.Duration
	// Keep is how long the log of a silent chat stays, for the audit; [DefaultKeep] when zero, for ever when negative. The conversation
	// itself is forgotten earlier, by the fold. What is silent already keeps the time that it was given until somebody speaks there.
	Keep time.Duration
	// Files is how long the files and pictures of a chat stay after its last one, and never longer than its log; 30 days when zero.
	Files time.Duration
	// Replica names this replica for the cold-start epoch: the same over restarts, another for each; the host name when empty.
	Replica string
	// ByCall says of which chats a call can be found by its own ID, too, and not only by what asks about it; nil: of all.
	ByCall func(chat.ID) bool
	// Audit signs what is written, and is what Verify checks with.
	Audit AuditKey
	// Log gets warnings; slog.Default() when nil. It never sees a secret or a person's words.
	Log *slog.Logger

	confirm     time.Duration                          // how long WAIT and WAITAOF may take; 2 s when zero
	silence     time.Duration                          // after which the connection that hears signals is given up; 6 s when zero
	now         func() time.Time                       // embedded: the clock
	openJournal func(string) (embedded.Segment, error) // embedded: a failing disk
	journalMax  int64                                  // embedded: bytes after which a snapshot is due
}

const (
	opTTL      = 24 * time.Hour   // a platform redelivers for minutes; this is small, so be generous
	opDeadline = 10 * time.Second // for callers that bring no deadline
	attempts   = 4
)

func (o Options) withDefaults() (Options, error) {
	if o.Lease < 0 {
		return o, errors.New("lease: must be a positive duration")
	}
	o.Lease, o.confirm, o.silence = cmp.Or(o.Lease, 10*time.Second), cmp.Or(o.confirm, 2*time.Second), cmp.Or(o.silence, 6*time.Second)
	o.Keep, o.Files, o.journalMax, o.Log = retention(o.Keep), cmp.Or(o.Files, 30*24*time.Hour), cmp.Or(o.journalMax, 16<<20), cmp.Or(o.Log, slog.Default())
	if o.Replica == "" {
		o.Replica, _ = os.Hostname()
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.openJournal == nil {
		o.openJournal = embedded.OpenSegment
	}
	return o, nil
}

// writer runs scripts that write, and gives a result for each. Calls of one batch are not atomic together; each is.
type writer interface {
	write(ctx context.Context, calls ...call) ([]any, error)
}

// Store is the state of all chats. All methods are safe for concurrent use.
type Store struct {
	opt  Options
	rdb  redis.UniversalClient // reads and signals
	w    writer
	hub  *hub
	disk *disk // nil unless embedded
	met  *met  // nil where a restart loses nothing that counts
	// restored is when a backup was put into the store: what is in it is older than what was done.
	restored time.Time
	// slots: a script's keys have to be in one slot, so none can look at the settings beside a chat.
	slots  bool
	shares shares

	closing sync.Once
	closed  error
}

// Open connects to a Redis and checks that it can keep what we promise: reachable, no eviction, and the
// durability that is asked for. Its errors never hold the URL, which may carry a password.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	logging.Disable() // the library writes every failed dial to stderr, several times
	dur, err := parseDurability(o.Durability)
	if err != nil {
		return nil, err
	}
	m := &met{runs: map[string]bool{}}
	rdb, err := dial(ctx, o, m)
	if err != nil {
		return nil, err
	}
	if err := check(ctx, rdb, dur, o.Log); err != nil {
		_ = rdb.Close()
		return nil, err
	}
	s := &Store{opt: o, rdb: rdb, w: &remote{rdb: rdb, dur: dur, confirm: o.confirm, riders: riders{within: min(rideWithin, o.Lease/8)}}, hub: newHub(rdb.Subscribe(context.WithoutCancel(ctx)), o.silence)}
	s.slots = !s.oneServer(ctx)
	if err := s.learnRestored(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !dur.asks() { // else a Started and a Decided count only once they survive
		s.met = m
	} else if err := s.Confirms(ctx); err != nil {
		o.Log.Error("redis: decisions and starts of tools wait until this is mended", "redis.durability", dur.String(), "error", err)
	}
	return s, nil
}

// Ping says whether the store takes writes, as durably as it was asked to, for readiness.
func (s *Store) Ping(ctx context.Context) error {
	if s.disk != nil {
		return s.disk.Ready()
	}
	return s.probe(ctx)
}

// ErrNotConfirmed: a write is taken, and not as durable as redis.durability asks. Decisions and starts wait until it is.
var ErrNotConfirmed = errors.New("a write is not confirmed as redis.durability asks for: too few replicas have it, or it is not on disk")

// probe writes, as durably as a start is written: a server that is full, cannot write its disk or became a replica answers a PING.
func (s *Store) probe(ctx context.Context) error {
	c := putScript.on([]string{runProbe}, "at", "1")
	c.Sure = true
	_, err := s.write(ctx, c)
	if errors.Is(err, agent.ErrNotDurable) {
		return ErrNotConfirmed
	}
	return err
}

// Confirms reports whether what must survive does now: asked before a decision or a start is written, so that none is spent in vain.
func (s *Store) Confirms(ctx context.Context) error {
	if s.met != nil || s.disk != nil { // local: taking it is all there is
		return nil
	}
	return s.probe(ctx)
}

// Run does the work in the background until ctx ends: the heartbeat behind [Store.Epoch], forgetting asks of chats that expired, and in
// the embedded store the expiry of keys and the shortening of the journal. Call it once.
func (s *Store) Run(ctx context.Context) error {
	beat, sweep, forget := time.Tick(beatEvery), time.Tick(time.Minute), time.Tick(24*time.Hour/buckets)
	bucket := 0
	for {
		var what string
		var err error
		select {
		case <-ctx.Done():
			s.leave()
			return ctx.Err()
		case <-beat:
			what = "heartbeat"
			s.look()
			_, err = s.beat(ctx, beatLife, false)
		case <-sweep:
			if s.disk != nil {
				what, err = "journal", s.disk.Sweep()
			}
		case <-forget:
			what, err = "index", s.forget(ctx, bucket)
			bucket = (bucket + 1) % buckets
		}
		if err != nil && ctx.Err() == nil {
			s.opt.Log.Warn("state: background work failed, it is tried again", "what", what, "error", err)
		}
	}
}

// Close stops everything that the store started and waits for it. Writes after it fail with [ErrClosed].
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.hub.close()
		if r, remote := s.w.(*remote); remote {
			r.riders.close()
		}
		if s.disk == nil {
			s.closed = s.rdb.Close()
		} else {
			s.closed = errors.Join(s.disk.Close(), s.rdb.Close(), s.disk.Release())
		}
	})
	return s.closed
}

// write runs one script.
func (s *Store) write(ctx context.Context, c call) (any, error) {
	res, err := s.w.write(ctx, c)
	return res[0], err
}

// bounded gives every operation a deadline: go-redis bounds a socket only by that.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, opDeadline)
}

// unexpected is for whoever changed a script and not its reader. It never repeats the reply, which holds what people said.
func unexpected(name string, res any) error {
	return fmt.Errorf("redis: script %s answered with an unexpected %T", name, res)
}

// DefaultKeep is how long the log of a silent chat stays where Options.Keep says nothing: a year of audit, and some weeks to look at it.
const DefaultKeep = 400 * 24 * time.Hour

// retention is Options.Keep as scripts take it, where 0 means for ever.
func retention(keep time.Duration) time.Duration {
	if keep == 0 {
		return DefaultKeep
	}
	return max(keep, 0)
}

// retentionOf is how long one log stays once it is silent. That of the settings says what is disabled, accepted and halted: it never fades.
func (s *Store) retentionOf(id chat.ID) time.Duration {
	if id.Platform == agent.Own {
		return 0
	}
	return s.opt.Keep
}
