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

// ClaimDue claims up to n chats that are due and free, the longest due first over all buckets. Two round trips, and one more for what is due:
// whether anything is, [Store.NextDue] says in one. An error may come with leases that were claimed before it.
func (s *Store) ClaimDue(ctx context.Context, owner string, n int) ([]agent.Lease, error) {
	if owner == "" || n <= 0 {
		return nil, errors.New("claim: needs an owner and a number of chats")
	}
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
			calls[i] = claimScript.on([]string{k.head, k.due}, name, owner, millis(s.opt.Lease), "0")
			calls[i].again = func(a []string) []string { return append(slices.Clone(a[:3]), "1") }
		}
		before := time.Now()
		tokens, err := s.w.write(ctx, calls...)
		for i, t := range tokens {
			if token, barren, _ := given(t); token > 0 {
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
	cmds, err := each(ctx, s, buckets, func(p redis.Pipeliner, b int) *redis.ZSliceCmd {
		return p.ZRangeByScoreWithScores(ctx, dueKey(b), by)
	})
	if err != nil {
		return nil, err
	}
	var found []redis.Z
	for _, c := range cmds {
		found = append(found, c.Val()...)
	}
	// Replicas that sweep together should not fight over equal ones in the same order.
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	slices.SortStableFunc(found, func(a, b redis.Z) int { return cmp.Compare(a.Score, b.Score) })
	names := make([]string, len(found))
	for i, z := range found {
		names[i] = text(z.Member)
	}
	return names, nil
}

// NextDue is how long until the next chat falls due: one round trip, whose cost does not grow with the chats that sleep.
func (s *Store) NextDue(ctx context.Context) (time.Duration, error) {
	var clock *redis.TimeCmd
	cmds, err := each(ctx, s, buckets, func(p redis.Pipeliner, b int) *redis.ZSliceCmd {
		if b == 0 {
			clock = p.Time(ctx)
		}
		return p.ZRangeWithScores(ctx, dueKey(b), 0, 0)
	})
	if err = cmp.Or(err, clock.Err()); err != nil {
		return 0, err
	}
	now := clock.Val().UnixMilli()
	if s.disk != nil {
		now = s.disk.Tick().UnixMilli()
	}
	next := agent.Never
	for _, c := range cmds {
		for _, z := range c.Val() {
			next = min(next, time.Duration(int64(z.Score)-now)*time.Millisecond)
		}
	}
	return max(next, 0), nil
}

func (s *Store) redisTime(ctx context.Context) (int64, error) {
	if s.disk != nil {
		return s.disk.Tick().UnixMilli(), nil
	}
	t, err := read(ctx, func(ctx context.Context) (time.Time, error) { return s.rdb.Time(ctx).Result() })
	return t.UnixMilli(), err
}

// Renew prolongs a lease in one round trip and returns the head's Seq and Tip.
func (s *Store) Renew(ctx context.Context, l agent.Lease) (agent.Lease, agent.Head, error) {
	k := keysOf(l.Chat)
	before := time.Now()
	res, err := s.write(ctx, renewScript.on([]string{k.head, k.due}, l.Chat.String(), l.Owner, utoa(l.Token), millis(s.opt.Lease)))
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
	return listen(ctx, s.hub, wakePrefix+owner, 1024, func(msg string, _ bool) (chat.ID, bool) {
		id, err := chat.ParseID(msg)
		return id, err == nil
	})
}

// Watch signals that the chat's log moved. The channel is closed when ctx ends. Whoever loads the chat afterwards misses nothing.
func (s *Store) Watch(ctx context.Context, id chat.ID) (<-chan struct{}, error) {
	return listen(ctx, s.hub, watchChannel(id), 1, func(string, bool) (struct{}, bool) { return struct{}{}, true })
}

// given reads what a claim got: token:barren, or token:barren:owed.
func given(v any) (token uint64, barren int, owed bool) {
	t, b, _ := strings.Cut(text(v), ":")
	b, o, _ := strings.Cut(b, ":")
	return number(t), int(number(b)), o == "1"
}
