package state

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

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
