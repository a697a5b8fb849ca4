package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// The audit reads what the engine wrote, and nothing else: it has no store of its own that could disagree with the log.

// chatKeyPattern matches the heads and the logs of all chats, and no other key of this package (see keys.go).
const chatKeyPattern = prefix + "{b[0-9][0-9]}:[hl]*"

// chatOfKey gives back the chat's name when key is its head or its log.
func chatOfKey(key string) (name string, ok bool) {
	if name, ok = chatOfHead(key); ok {
		return name, true
	}
	_, name, ok = strings.Cut(key, ":log:")
	return name, ok && keysNamed(name).log == key
}

// EachChat gives every chat of which anything is kept, once each, in the order of their names, until take returns an error. It walks all
// keys of the server, a page at a time: for the audit. A name that is no chat's is told with the error at the end, which is [ErrBroken].
func (s *Store) EachChat(ctx context.Context, take func(chat.ID) error) error {
	var mu sync.Mutex
	names := map[string]bool{}
	err := s.eachKey(ctx, chatKeyPattern, func(key string) {
		if name, ok := chatOfKey(key); ok {
			mu.Lock()
			defer mu.Unlock()
			names[name] = true
		}
	})
	if err != nil {
		return err
	}
	var broken []error
	for _, name := range slices.Sorted(maps.Keys(names)) {
		id, err := chat.ParseID(name)
		if err != nil {
			broken = append(broken, fmt.Errorf("a key with the name %q: %w: %w", name, ErrBroken, err))
			continue
		}
		if err := take(id); err != nil {
			return err
		}
	}
	return errors.Join(broken...)
}

// eachKey gives every key that matches, some of them twice, on a Cluster from several nodes at once.
func (s *Store) eachKey(ctx context.Context, pattern string, take func(string)) error {
	if c, ok := s.rdb.(*redis.ClusterClient); ok {
		return c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return eachKeyOf(ctx, node, pattern, take) })
	}
	return eachKeyOf(ctx, s.rdb, pattern, take)
}

func eachKeyOf(ctx context.Context, node redis.Cmdable, pattern string, take func(string)) error {
	for cursor := uint64(0); ; {
		var next uint64
		keys, err := read(ctx, func(ctx context.Context) (keys []string, err error) {
			keys, next, err = node.Scan(ctx, cursor, pattern, scanned).Result()
			return keys, err
		})
		if err != nil {
			return err
		}
		for _, k := range keys {
			take(k)
		}
		if cursor = next; cursor == 0 {
			return ctx.Err()
		}
	}
}

// Stand is how far a chat's log goes.
type Stand struct {
	Chat chat.ID
	Seq  uint64
	At   time.Time // of the last entry
}

// Stands gives where every chat stands, the one that moved last first. It costs what [Store.EachChat] costs, and a little more.
func (s *Store) Stands(ctx context.Context) ([]Stand, error) {
	var all []Stand
	broken := s.EachChat(ctx, func(id chat.ID) error {
		all = append(all, Stand{Chat: id})
		return nil
	})
	if broken != nil && !errors.Is(broken, ErrBroken) {
		return nil, broken
	}
	for chats := range slices.Chunk(all, 256) {
		cmds, err := each(ctx, s, len(chats), func(p redis.Pipeliner, i int) *redis.SliceCmd {
			return p.HMGet(ctx, keysOf(chats[i].Chat).head, "seq", "stamp")
		})
		if err != nil && !isOtherType(err) {
			return nil, err
		}
		for i, c := range cmds {
			if c.Err() != nil {
				broken = errors.Join(broken, ofChat(chats[i].Chat, c.Err()))
				continue
			}
			f := c.Val()
			chats[i].Seq, chats[i].At = number(f[0]), time.UnixMilli(int64(number(f[1]))).UTC() //nolint:gosec // a stamp
		}
	}
	slices.SortStableFunc(all, func(a, b Stand) int { return cmp.Compare(b.At.UnixMilli(), a.At.UnixMilli()) })
	return all, broken
}

// Walk gives every entry of a chat's log with the head after it, checked from the first entry, and against what the chat's head says of it.
// It returns the last head that holds; zero where nothing is kept. [ErrBroken] names the first entry that does not hold; an error of take
// ends the walk.
func (s *Store) Walk(ctx context.Context, id chat.ID, take func(turn.Entry, agent.Head) error) (agent.Head, error) {
	k := keysOf(id)
	says, length, err := s.ends(ctx, k)
	if err != nil {
		return agent.Head{}, ofChat(id, err)
	}
	c := chainFrom(id, agent.Head{})
	stamp, signs := int64(0), s.opt.Audit.follow(id, says.sealed)
	var holds agent.Head // up to where everything is as it should be
	err = s.eachEntry(ctx, k.log, &c, min(says.Seq, length), func(r row, e turn.Entry) error {
		if r.stamp < stamp {
			return c.broken(r.seq, "it is older than the entry before it")
		}
		if wrong := signs.next(r, e.Event, c.head); wrong != "" {
			return c.broken(r.seq, wrong)
		}
		stamp, holds = r.stamp, c.head
		return take(e, c.head)
	})
	if err != nil {
		return holds, err
	}
	switch {
	case c.head.Seq < says.Seq:
		return c.head, c.broken(c.head.Seq+1, "it is missing")
	case length > says.Seq:
		return c.head, c.broken(says.Seq+1, "the chat's head says that the log ends before it")
	case c.head.Tip != says.Tip:
		return c.head, c.broken(c.head.Seq, "the chat's head names another one as the last")
	case stamp != says.stamp:
		return c.head, c.broken(c.head.Seq, "the chat's head gives another time for it")
	}
	if wrong := signs.end(c.head); wrong != "" {
		return c.head, c.broken(c.head.Seq, wrong)
	}
	return c.head, nil
}

// ofChat says of which chat something could not be read, and whether that is because another program put something else under one of its names.
func ofChat(id chat.ID, err error) error {
	if isOtherType(err) {
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return fmt.Errorf("chat %s: %w", id, err)
}

func isOtherType(err error) bool { return redis.HasErrorPrefix(err, "WRONGTYPE") }

// ending is what a chat's head says of its log.
type ending struct {
	agent.Head
	stamp  int64
	sealed string
}

// ends reads the head and the length of the log at one moment.
func (s *Store) ends(ctx context.Context, k chatKeys) (says ending, length uint64, err error) {
	_, err = read(ctx, func(ctx context.Context) (_ []redis.Cmder, err error) {
		var head *redis.SliceCmd
		var n *redis.IntCmd
		cmds, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			head, n = p.HMGet(ctx, k.head, "seq", "tip", "stamp", "sealed"), p.LLen(ctx, k.log)
			return nil
		})
		if f := strs(head.Val()); err == nil {
			says = ending{agent.Head{Seq: number(f[0]), Tip: agent.OpID(unescape(f[1]))}, int64(number(f[2])), f[3]} //nolint:gosec // a stamp
			length = uint64(n.Val())                                                                                 //nolint:gosec // a length
		}
		return cmds, err
	})
	return says, length, err
}

// eachEntry gives the entries after where the chain stands, up to the one numbered to or the last, until take fails.
func (s *Store) eachEntry(ctx context.Context, log string, c *chain, to uint64, take func(row, turn.Entry) error) error {
	for full := true; full && c.head.Seq < to; {
		from, until := c.head.Seq, min(c.head.Seq+historyPage, to)
		page, err := read(ctx, func(ctx context.Context) ([]string, error) {
			return s.rdb.LRange(ctx, log, int64(from), int64(until)-1).Result() //nolint:gosec // places in a list
		})
		if err != nil {
			return err
		}
		if err := c.each(page, take); err != nil {
			return err
		}
		full = len(page) == historyPage
	}
	return nil
}
