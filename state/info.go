package state

import (
	"context"
	"fmt"
	"strings"
)

// Server is what the Redis says of itself that an operator wants to know: redis_version, role, aof_enabled and
// loading, by the names of its own INFO. The embedded store has none.
func (s *Store) Server(ctx context.Context) (map[string]string, error) {
	if s.disk != nil {
		return map[string]string{}, nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	text, err := read(ctx, func() (string, error) { return s.rdb.Info(ctx).Result() })
	if err != nil {
		return nil, fmt.Errorf("redis: INFO: %w", err)
	}
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "redis_version", "valkey_version", "role", "aof_enabled", "loading":
			if ok {
				out[name] = value
			}
		}
	}
	return out, nil
}
