package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// Granting tells in which chats a grant was ever given, each once, ordered by name; chats that are gone are left out. Whether one
// still stands is for the fold of its log to say. It pages through the index of asks, a page of every bucket in one round trip, and
// then asks once for some hundred chats whether they are there: for a page that a person opens, not for a turn.
func (s *Store) Granting(ctx context.Context) ([]chat.ID, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	names := map[string]bool{}
	err := s.scan(ctx, func(p redis.Pipeliner, bucket int, cursor uint64) *redis.ScanCmd {
		return p.HScan(ctx, asksKey(bucket), cursor, turn.GrantIndex+"*", scanned)
	}, func(_, name string) { names[name] = true })
	if err != nil {
		return nil, err
	}
	var out []chat.ID
	var broken []error
	for some := range slices.Chunk(slices.Sorted(maps.Keys(names)), 256) {
		there, err := s.there(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, name := range there {
			id, err := chat.ParseID(name)
			if err != nil {
				broken = append(broken, fmt.Errorf("index: %w: %w", ErrBroken, err))
				continue
			}
			out = append(out, id)
		}
	}
	return out, errors.Join(broken...)
}

// there are those of the named chats that have a head.
func (s *Store) there(ctx context.Context, names []string) ([]string, error) {
	return read(ctx, func() ([]string, error) {
		cmds := make([]*redis.IntCmd, len(names))
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, name := range names {
				cmds[i] = p.Exists(ctx, keysNamed(name).head)
			}
			return nil
		})
		var out []string
		for i, c := range cmds {
			if c.Val() > 0 {
				out = append(out, names[i])
			}
		}
		return out, err
	})
}
