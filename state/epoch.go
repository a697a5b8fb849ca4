package state

import (
	"context"
	"strconv"
	"strings"
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

// Epoch is the number of cold starts so far, this one included: it goes up exactly when no other replica is
// alive. Ask once at boot, then let Run keep the heartbeat.
func (s *Store) Epoch(ctx context.Context) (uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if s.disk != nil { // one process only: opening it was the cold start
		return s.disk.epoch, nil
	}
	return s.beatScript(ctx, beatLife, true)
}

func (s *Store) beat(ctx context.Context) error {
	if s.disk != nil {
		return nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.beatScript(ctx, beatLife, false)
	return err
}

// leave says that this replica ends, so that its own restart is a cold start.
func (s *Store) leave() {
	if s.disk != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), beatEvery)
	defer cancel()
	_, _ = s.beatScript(ctx, 0, false) // else the heartbeat lapses by itself
}

func (s *Store) beatScript(ctx context.Context, life time.Duration, starting bool) (uint64, error) {
	res, err := s.write(ctx, call{
		script: beatScript,
		keys:   []string{runReplicas, runEpoch},
		args:   []string{s.opt.Replica, strconv.FormatInt(life.Milliseconds(), 10), flag(starting)},
		// The first try may have counted this start already; then we are among the living, and the only one.
	})
	return number(res), err
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
	_, id, _ := strings.Cut(info, "run_id:")
	id, _, _ = strings.Cut(id, "\r\n")
	m.mu.Lock()
	known := id == "" || m.runs[id]
	m.mu.Unlock()
	if known {
		return nil
	}
	// The moment is the same for every process that can ask the server for it.
	at := int64(0)
	if !m.cluster {
		since, err := c.Eval(ctx, anewScript.source, []string{runServer}, id).Result()
		if err == nil {
			at = int64(number(since)) //nolint:gosec // a stamp
		}
	}
	if at == 0 {
		now, err := c.Time(ctx).Result()
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		at = now.UnixMilli()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.cluster {
		clear(m.runs)
	}
	m.runs[id] = true
	if t := time.UnixMilli(at).UTC(); t.After(m.at) {
		m.at = t
	}
	return nil
}

// Restarted is when the server behind the store last became another one than before, by its own clock: what was written before may
// be older than what was acknowledged. Zero: it cannot be told, or a Started and a Decided survive it.
func (s *Store) Restarted() time.Time {
	if s.met == nil {
		return time.Time{}
	}
	s.met.mu.Lock()
	defer s.met.mu.Unlock()
	return s.met.at
}
