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

// chatNamed reads the name of a chat as the index holds it.
func chatNamed(name string) (chat.ID, error) {
	id, err := chat.ParseID(name)
	if err != nil {
		return chat.ID{}, fmt.Errorf("index: %w: %w", ErrBroken, err)
	}
	return id, nil
}

// Find asks all buckets at once, in one round trip, where an ask or an asked call lives.
func (s *Store) Find(ctx context.Context, askOrCall string) (chat.ID, bool, error) {
	if askOrCall == "" {
		return chat.ID{}, false, nil
	}
	cmds, err := each(ctx, s, buckets, func(p redis.Pipeliner, b int) *redis.StringCmd { return p.HGet(ctx, asksKey(b), askOrCall) })
	if err != nil {
		return chat.ID{}, false, err
	}
	for _, c := range cmds {
		if name, err := c.Result(); err == nil {
			id, err := chatNamed(name)
			return id, err == nil, err
		}
	}
	return chat.ID{}, false, nil
}

// Asking tells which chats have something open that waits for a person and that match accepts, each once, in no order; nil accepts all.
// The index also keeps what is settled, so only chats that are due count: a pending turn always is. It reads both indexes whole, a page of
// every bucket in one round trip: for rare events only.
func (s *Store) Asking(ctx context.Context, match func(chat.ID) bool) ([]chat.ID, error) {
	due, broken := map[string]chat.ID{}, error(nil)
	err := s.scan(ctx, redis.Pipeliner.ZScan, dueKey, "", func(name, _ string) {
		id, err := chatNamed(name)
		if err != nil {
			broken = err
		} else if match == nil || match(id) {
			due[name] = id
		}
	})
	if err = errors.Join(err, broken); err != nil || len(due) == 0 {
		return nil, err
	}
	var out []chat.ID
	err = s.scan(ctx, redis.Pipeliner.HScan, asksKey, "", func(_, name string) {
		if id, ok := due[name]; ok {
			delete(due, name)
			out = append(out, id)
		}
	})
	return out, err
}

// scanned is how many entries of a bucket one step reads.
const scanned = 1000

// scanner is ZSCAN or HSCAN.
type scanner func(p redis.Pipeliner, ctx context.Context, key string, cursor uint64, match string, count int64) *redis.ScanCmd

// scan walks one collection of these buckets, or of all, at the same pace, and gives each pair that it holds, some of them twice.
func (s *Store) scan(ctx context.Context, page scanner, key func(bucket int) string, match string, take func(key, value string), left ...int) error {
	for b := 0; b < buckets && len(left) == b; b++ { // none is named: all
		left = append(left, b)
	}
	var cursors [buckets]uint64
	for len(left) > 0 {
		cmds, err := each(ctx, s, len(left), func(p redis.Pipeliner, i int) *redis.ScanCmd {
			return page(p, ctx, key(left[i]), cursors[left[i]], match, scanned)
		})
		if err != nil {
			return err
		}
		for i, c := range cmds {
			var flat []string
			flat, cursors[left[i]] = c.Val()
			for pair := range slices.Chunk(flat, 2) {
				take(pair[0], pair[1])
			}
		}
		left = slices.DeleteFunc(left, func(b int) bool { return cursors[b] == 0 })
	}
	return nil
}

// forget drops the ids of chats that expired from one bucket's index: before Redis 7.4 a hash field has no expiry of its own.
func (s *Store) forget(ctx context.Context, bucket int) error {
	of := map[string][]string{}
	err := s.scan(ctx, redis.Pipeliner.HScan, asksKey, "", func(id, name string) { of[name] = append(of[name], id) }, bucket)
	if err != nil {
		return err
	}
	for names := range slices.Chunk(slices.Collect(maps.Keys(of)), 256) {
		there, err := s.there(ctx, names)
		if err != nil {
			return err
		}
		for _, name := range names {
			if slices.Contains(there, name) {
				continue
			}
			if _, err := s.write(ctx, forgetScript.on([]string{asksKey(bucket), keysNamed(name).head}, of[name]...)); err != nil { // it looks again
				return err
			}
		}
	}
	return nil
}

// Granting tells in which chats a grant was ever given, each once, ordered by name; chats that are gone are left out. Whether one still
// stands is for the fold of its log to say. For a page that a person opens, not for a turn.
func (s *Store) Granting(ctx context.Context) ([]chat.ID, error) {
	names := map[string]bool{}
	if err := s.scan(ctx, redis.Pipeliner.HScan, asksKey, turn.GrantIndex+"*", func(_, name string) { names[name] = true }); err != nil {
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
			if id, err := chatNamed(name); err != nil {
				broken = append(broken, err)
			} else {
				out = append(out, id)
			}
		}
	}
	return out, errors.Join(broken...)
}

// there are those of the named chats that have a head.
func (s *Store) there(ctx context.Context, names []string) (out []string, err error) {
	cmds, err := each(ctx, s, len(names), func(p redis.Pipeliner, i int) *redis.IntCmd { return p.Exists(ctx, keysNamed(names[i]).head) })
	for i, c := range cmds {
		if c.Val() > 0 {
			out = append(out, names[i])
		}
	}
	return out, err
}
