package state

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A replica counts as alive for beatLife after its last heartbeat. A process that is killed and started again
// under the same Options.Replica is not mistaken for a living other; one under a new name may be, for that long.
const (
	beatEvery = time.Second
	beatLife  = 5 * time.Second
)

// Epoch is the number of cold starts so far, this one included: of starts when no other replica was alive. Ask once at boot.
func (s *Store) Epoch(ctx context.Context) (uint64, error) { return s.beat(ctx, beatLife, true) }

// Begin says that a nod of this version begins to write here, and signs with this key, for [Store.Version] and [Store.OtherKey].
func (s *Store) Begin(ctx context.Context, version string) error {
	_, err := s.write(ctx, putScript.on([]string{runServer}, "nod", version, "key", s.opt.Audit.code("key")))
	return err
}

// OtherKey reports whether the nod that began to write here last signs the audit with another key than this one has.
func (s *Store) OtherKey(ctx context.Context) (bool, error) {
	is, err := s.ran(ctx, "key")
	mine := s.opt.Audit.code("key")
	return is != "" && mine != "" && is != mine, err
}

// Version is the version of the nod that began to write here last; empty: it did not say.
func (s *Store) Version(ctx context.Context) (string, error) { return s.ran(ctx, "nod") }

// ran is what was put down here of how the server runs; empty: nothing.
func (s *Store) ran(ctx context.Context, field string) (string, error) {
	v, err := read(ctx, func(ctx context.Context) (string, error) { return s.rdb.HGet(ctx, runServer, field).Result() })
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return v, err
}

// beat says that this replica lives, for so long, and returns the epoch. In an embedded store opening it was the cold start.
func (s *Store) beat(ctx context.Context, life time.Duration, starting bool) (uint64, error) {
	if s.disk != nil {
		return s.disk.epoch, nil
	}
	// A lost reply may have counted this start already; then we are among the living when it is repeated, and the only one.
	res, err := s.write(ctx, beatScript.on([]string{runReplicas, runEpoch}, s.opt.Replica, millis(life), flag(starting)))
	r, _ := res.([]any)
	if err != nil || len(r) != 2 {
		return 0, cmp.Or(err, unexpected(beatScript.Name, res))
	}
	s.shares.alive.Store(int64(number(r[1]))) //nolint:gosec // a count
	return number(r[0]), nil
}

// leave says that this replica ends, so that its own restart is a cold start.
func (s *Store) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), beatEvery)
	defer cancel()
	_, _ = s.beat(ctx, 0, false) // else the heartbeat lapses by itself
}

// met is which servers this process has met, and when it last met another one than before. A Redis that restarts, or a replica that is
// promoted, may have forgotten what its predecessor acknowledged; it has another run_id, and every connection to it is a new one. So each
// connection asks before anything else goes over it. A server that does not say (INFO is not allowed; miniredis) is never another one.
type met struct {
	cluster bool

	mu   sync.Mutex
	runs map[string]bool // the run_id of the server, of a Cluster's nodes
	at   time.Time
}

// hello is for go-redis's OnConnect. It fails no connection: what is wrong with one, its first command tells.
func (m *met) hello(ctx context.Context, c *redis.Conn) error {
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	id := infoField(info, "run_id")
	m.mu.Lock()
	metBefore := id == "" || m.runs[id]
	m.mu.Unlock()
	if metBefore {
		return nil
	}
	// The moment is the same for every process that can ask the server for it.
	var since any
	if !m.cluster {
		since, _ = c.Eval(ctx, anewScript.Source, []string{runServer}, id).Result()
	}
	at := time.UnixMilli(int64(number(since))).UTC() //nolint:gosec // a stamp
	if number(since) == 0 {
		if at, err = c.Time(ctx).Result(); err != nil {
			return nil //nolint:nilerr // see above
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.cluster {
		clear(m.runs)
	}
	m.runs[id] = true
	if at = at.UTC().Truncate(time.Millisecond); at.After(m.at) {
		m.at = at
	}
	return nil
}

// Restarted is when the server last became another one than before, or a backup was restored, by its own clock. Zero: it cannot be told, or
// does not matter.
func (s *Store) Restarted() time.Time {
	if s.met == nil {
		return s.restored
	}
	s.met.mu.Lock()
	defer s.met.mu.Unlock()
	if s.restored.After(s.met.at) {
		return s.restored
	}
	return s.met.at
}

// learnRestored reads when a backup was restored. That is done on an empty store on which no bot runs, so once is enough.
func (s *Store) learnRestored(ctx context.Context) error {
	at, err := s.ran(ctx, "restored")
	if n := number(at); err == nil && n > 0 {
		s.restored = time.UnixMilli(int64(n)).UTC() //nolint:gosec // a stamp
	}
	return err
}
