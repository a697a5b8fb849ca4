package state

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// durability is what a Started or a Decided must survive. The zero value is local: the primary has it.
type durability struct {
	replicas int
	fsync    bool
}

func parseDurability(s string) (durability, error) {
	switch s {
	case "", "local":
		return durability{}, nil
	case "fsync":
		return durability{fsync: true}, nil
	}
	if n, ok := strings.CutPrefix(s, "replicas="); ok {
		if n, err := strconv.Atoi(n); err == nil && n > 0 && n < 100 {
			return durability{replicas: n}, nil
		}
	}
	return durability{}, fmt.Errorf("redis.durability: %q is none of local, replicas=N (N at least 1), fsync", s)
}

func (d durability) String() string {
	switch {
	case d.fsync:
		return "fsync"
	case d.replicas > 0:
		return "replicas=" + strconv.Itoa(d.replicas)
	}
	return "local"
}

// asks reports whether a write has to be confirmed at all.
func (d durability) asks() bool { return d.fsync || d.replicas > 0 }

// command asks whether everything this connection wrote so far is durable. It blocks inside Redis, so it never
// goes into a script, where it would answer at once.
func (d durability) command(within time.Duration) []any {
	if d.fsync {
		return []any{"WAITAOF", 1, 0, within.Milliseconds()}
	}
	return []any{"WAIT", d.replicas, within.Milliseconds()}
}

func (d durability) confirmed(answer any) bool {
	if d.fsync {
		a, _ := answer.([]any)
		return len(a) == 2 && number(a[0]) >= 1
	}
	return number(answer) >= uint64(d.replicas) //nolint:gosec // 1 to 99
}

func (d durability) check(ctx context.Context, rdb redis.UniversalClient) error {
	if !d.fsync {
		return nil
	}
	if err := rdb.Do(ctx, d.command(time.Millisecond)...).Err(); err != nil {
		return fmt.Errorf("redis.durability: fsync needs WAITAOF, which came with Redis 7.2, and appendonly yes; this server says: %w", err)
	}
	return nil
}
