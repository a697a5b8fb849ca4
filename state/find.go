package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

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

// forget drops the ids of chats that faded from one bucket's index. A hash field has no expiry of its own on
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
