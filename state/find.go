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

// Find asks all buckets at once, in one round trip, where an ask or an asked call lives.
func (s *Store) Find(ctx context.Context, askOrCall string) (chat.ID, bool, error) {
	if askOrCall == "" {
		return chat.ID{}, false, nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	name, err := read(ctx, func() (string, error) {
		cmds := make([]*redis.StringCmd, buckets)
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for b := range cmds {
				cmds[b] = p.HGet(ctx, asksKey(b), askOrCall)
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return "", err
		}
		for _, c := range cmds {
			if name, err := c.Result(); err == nil {
				return name, nil
			} else if !errors.Is(err, redis.Nil) {
				return "", err
			}
		}
		return "", redis.Nil
	})
	if errors.Is(err, redis.Nil) {
		return chat.ID{}, false, nil
	}
	if err != nil {
		return chat.ID{}, false, err
	}
	id, err := chat.ParseID(name)
	if err != nil {
		return chat.ID{}, false, fmt.Errorf("index: %w: %w", ErrBroken, err)
	}
	return id, true, nil
}

// Asking tells which chats have something open that waits for a person and that match accepts, each once, in no order; nil accepts
// all. The index also keeps what is settled, until the chat fades, so only chats that are due count: a pending turn always is. A
// chat may be among them whose asks are settled already and which is being worked on. It reads both indexes whole, a page of every
// bucket in one round trip: for rare events only.
func (s *Store) Asking(ctx context.Context, match func(chat.ID) bool) ([]chat.ID, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	due, broken := map[string]chat.ID{}, error(nil)
	err := s.scan(ctx, func(p redis.Pipeliner, bucket int, cursor uint64) *redis.ScanCmd {
		return p.ZScan(ctx, dueKey(bucket), cursor, "", scanned)
	}, func(name, _ string) {
		id, err := chat.ParseID(name)
		if err != nil {
			broken = fmt.Errorf("index: %w: %w", ErrBroken, err)
		} else if match == nil || match(id) {
			due[name] = id
		}
	})
	if err = errors.Join(err, broken); err != nil || len(due) == 0 {
		return nil, err
	}
	var out []chat.ID
	err = s.scan(ctx, func(p redis.Pipeliner, bucket int, cursor uint64) *redis.ScanCmd {
		return p.HScan(ctx, asksKey(bucket), cursor, "", scanned)
	}, func(_, name string) {
		if id, ok := due[name]; ok {
			delete(due, name)
			out = append(out, id)
		}
	})
	return out, err
}

// scanned is how many entries of a bucket one step reads.
const scanned = 1000

// scan walks one collection of every bucket, all at the same pace, and gives each pair that it holds, some of them twice.
func (s *Store) scan(ctx context.Context, page func(p redis.Pipeliner, bucket int, cursor uint64) *redis.ScanCmd, take func(key, value string)) error {
	cursors := map[int]uint64{}
	for b := range buckets {
		cursors[b] = 0
	}
	for len(cursors) > 0 {
		cmds, err := read(ctx, func() (map[int]*redis.ScanCmd, error) {
			cmds := map[int]*redis.ScanCmd{}
			_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
				for b, cursor := range cursors {
					cmds[b] = page(p, b, cursor)
				}
				return nil
			})
			return cmds, err
		})
		if err != nil {
			return err
		}
		for b, c := range cmds {
			flat, next := c.Val()
			for i := 0; i+1 < len(flat); i += 2 {
				take(flat[i], flat[i+1])
			}
			if cursors[b] = next; next == 0 {
				delete(cursors, b)
			}
		}
	}
	return nil
}

// forget drops the ids of chats that expired from one bucket's index. A hash field has no expiry of its own on
// Redis before 7.4, and a key per ask would cost more than the ask.
func (s *Store) forget(ctx context.Context, bucket int) error {
	asks := asksKey(bucket)
	var cursor uint64
	for {
		var page []string
		_, err := read(ctx, func() (_ bool, err error) {
			page, cursor, err = s.rdb.HScan(ctx, asks, cursor, "", 256).Result()
			return true, err
		})
		if err != nil {
			return err
		}
		of := map[string][]string{}
		for i := 0; i+1 < len(page); i += 2 {
			of[page[i+1]] = append(of[page[i+1]], page[i])
		}
		var calls []call
		for name, ids := range of {
			head := keysNamed(name).head
			n, err := read(ctx, func() (int64, error) { return s.rdb.Exists(ctx, head).Result() })
			if err != nil {
				return err
			}
			if n == 0 { // the script looks again
				calls = append(calls, call{script: forgetScript, keys: []string{asks, head}, args: ids})
			}
		}
		if len(calls) > 0 {
			if _, err := s.w.write(ctx, calls...); err != nil {
				return err
			}
		}
		if cursor == 0 {
			return nil
		}
	}
}

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
