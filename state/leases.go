package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// ClaimDue claims up to n chats that are due and free, the longest due first over all buckets. Two round trips
// when nothing is due, one more for what is. An error may come with leases that were claimed before it.
func (s *Store) ClaimDue(ctx context.Context, owner string, n int) ([]agent.Lease, error) {
	if owner == "" || n <= 0 {
		return nil, errors.New("claim: needs an owner and a number of chats")
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	names, err := s.dueNow(ctx, n)
	if err != nil {
		return nil, err
	}
	var out []agent.Lease
	for len(names) > 0 && len(out) < n {
		some := names[:min(n-len(out), len(names))]
		names = names[len(some):]
		calls := make([]call, len(some))
		for i, name := range some {
			k := keysNamed(name)
			calls[i] = call{
				script: claimScript,
				keys:   []string{k.head, k.due},
				args:   []string{name, owner, millis(s.opt.Lease), "0"},
				again:  func(a []string) []string { return append(slices.Clone(a[:3]), "1") },
			}
		}
		before := time.Now()
		tokens, err := s.w.write(ctx, calls...)
		for i, t := range tokens {
			if token, barren := given(t); token > 0 {
				id, bad := chat.ParseID(some[i])
				if bad != nil { // nobody can drive it; its lease runs out and it stays in sight
					s.opt.Log.Warn("state: a due chat has an unreadable name", "name", some[i])
					continue
				}
				out = append(out, agent.Lease{Chat: id, Owner: owner, Token: token, Until: before.Add(s.opt.Lease), Barren: barren})
			}
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// dueNow names the chats that look due, oldest first, at most a few more than n. It is a hint: claim decides.
func (s *Store) dueNow(ctx context.Context, n int) ([]string, error) {
	now, err := s.redisTime(ctx)
	if err != nil {
		return nil, err
	}
	// A Cluster's nodes may differ a little in time; the script compares with its own node's.
	by := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(now+1000, 10), Count: int64(n)}
	found, err := read(ctx, func() ([]redis.Z, error) {
		cmds := make([]*redis.ZSliceCmd, buckets)
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for b := range cmds {
				cmds[b] = p.ZRangeByScoreWithScores(ctx, dueKey(b), by)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		var all []redis.Z
		for _, c := range cmds {
			all = append(all, c.Val()...)
		}
		return all, nil
	})
	if err != nil {
		return nil, err
	}
	// Replicas that sweep together should not fight over equal ones in the same order.
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	slices.SortStableFunc(found, func(a, b redis.Z) int { return cmp.Compare(a.Score, b.Score) })
	names := make([]string, 0, len(found))
	for _, z := range found {
		if name, ok := z.Member.(string); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

func (s *Store) redisTime(ctx context.Context) (int64, error) {
	if s.disk != nil {
		return s.disk.Tick().UnixMilli(), nil
	}
	t, err := read(ctx, func() (time.Time, error) { return s.rdb.Time(ctx).Result() })
	return t.UnixMilli(), err
}

// Renew prolongs a lease in one round trip and returns the head's Seq and Tip.
func (s *Store) Renew(ctx context.Context, l agent.Lease) (agent.Lease, agent.Head, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	k := keysOf(l.Chat)
	before := time.Now()
	res, err := s.write(ctx, call{
		script: renewScript,
		keys:   []string{k.head, k.due},
		args:   []string{l.Chat.String(), l.Owner, utoa(l.Token), millis(s.opt.Lease)},
	})
	if err != nil {
		return agent.Lease{}, agent.Head{}, err
	}
	r, ok := res.([]any)
	if !ok {
		return agent.Lease{}, agent.Head{}, unexpected("renew", res)
	}
	if len(r) != 2 {
		return agent.Lease{}, agent.Head{}, fmt.Errorf("chat %s: %w", l.Chat, agent.ErrFenced)
	}
	l.Until = before.Add(s.opt.Lease)
	return l, agent.Head{Seq: number(r[0]), Tip: agent.OpID(unescape(text(r[1])))}, nil
}

// Wakes delivers chats that somebody wrote to while owner held them. The channel is closed when ctx ends.
func (s *Store) Wakes(ctx context.Context, owner string) (<-chan chat.ID, error) {
	out := make(chan chat.ID, 1024)
	err := s.hub.listen(ctx, wakePrefix+owner, listener{
		take: func(msg string) {
			id, err := chat.ParseID(msg)
			if err != nil {
				return
			}
			select {
			case out <- id:
			default: // Renew is the backstop
			}
		},
		end: func() { close(out) },
	})
	return out, err
}

// Watch signals that the chat's log moved. The channel is closed when ctx ends. The subscription is in force when
// Watch returns: whoever loads the chat afterwards misses nothing.
func (s *Store) Watch(ctx context.Context, id chat.ID) (<-chan struct{}, error) {
	out := make(chan struct{}, 1)
	signal := func(string) {
		select {
		case out <- struct{}{}:
		default:
		}
	}
	err := s.hub.listen(ctx, watchChannel(id), listener{take: signal, lost: func() { signal("") }, end: func() { close(out) }})
	return out, err
}

// given reads what a claim got: token:barren.
func given(v any) (token uint64, barren int) {
	t, b, _ := strings.Cut(text(v), ":")
	return number(t), int(number(b))
}
