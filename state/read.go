package state

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// historyPage is how many entries of a history travel at once.
const historyPage = 512

// Load returns the latest snapshot, every entry after it, and the head, in one round trip. They have to agree, else it is [ErrBroken].
func (s *Store) Load(ctx context.Context, id chat.ID) (agent.Snapshot, []turn.Entry, agent.Head, error) {
	k := keysOf(id)
	var none agent.Snapshot
	res, err := s.ask(ctx, loadScript, []string{k.head, k.log, k.snap})
	if err != nil {
		return none, nil, agent.Head{}, err
	}
	r, ok := res.([]any)
	if !ok || len(r) != 3 {
		return none, nil, agent.Head{}, unexpected("load", res)
	}
	seq, stored := number(r[0]), strs(r[2])
	snap, from, err := parseSnapshot(id, text(r[1]))
	if err != nil {
		return none, nil, agent.Head{}, err
	}
	// The chain is taken up where the snapshot's writer stood; the entries up to the snapshot only prove it.
	c := chainFrom(id, from)
	for c.head.Seq < snap.Head.Seq {
		if len(stored) == 0 {
			return none, nil, agent.Head{}, c.broken(c.head.Seq+1, "it is missing")
		}
		if _, err := c.next([]byte(stored[0])); err != nil {
			return none, nil, agent.Head{}, err
		}
		stored = stored[1:]
	}
	if c.head.Tip != snap.Head.Tip {
		return none, nil, agent.Head{}, c.broken(c.head.Seq, "the snapshot was folded from another history")
	}
	snap.Head = c.head
	entries, err := c.entries(stored)
	if err != nil {
		return none, nil, agent.Head{}, err
	}
	if c.head.Seq != seq {
		return none, nil, agent.Head{}, c.broken(c.head.Seq+1, "it is missing")
	}
	return snap, entries, c.head, nil
}

// History returns every entry of the log, checked from the first.
func (s *Store) History(ctx context.Context, id chat.ID) ([]turn.Entry, error) {
	k := keysOf(id)
	seq, err := read(ctx, func(ctx context.Context) (string, error) { return s.rdb.HGet(ctx, k.head, "seq").Result() })
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := chainFrom(id, agent.Head{})
	var out []turn.Entry
	err = s.eachEntry(ctx, k.log, &c, math.MaxInt64, func(_ row, e turn.Entry) error {
		out = append(out, e)
		return nil
	})
	if err == nil && c.head.Seq < number(seq) {
		err = c.broken(c.head.Seq+1, "it is missing")
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Tail returns every entry after known, and the head, in one round trip. The known entry travels too, as the proof of its history.
func (s *Store) Tail(ctx context.Context, id chat.ID, known agent.Head) ([]turn.Entry, agent.Head, error) {
	log, from := keysOf(id).log, max(int64(known.Seq)-1, 0)
	stored, err := read(ctx, func(ctx context.Context) ([]string, error) { return s.rdb.LRange(ctx, log, from, -1).Result() })
	if err != nil {
		return nil, agent.Head{}, err
	}
	if known.Seq == 0 && known.Tip != "" || known.Seq > 0 && len(stored) == 0 {
		return nil, agent.Head{}, agent.ErrRewound
	}
	if known.Seq > 0 {
		r, err := parseRow([]byte(stored[0]))
		if err != nil {
			return nil, agent.Head{}, fmt.Errorf("chat %s: entry %d: %w: %w", id, known.Seq, ErrBroken, err)
		}
		if r.seq != known.Seq || unescape(r.op) != string(known.Tip) {
			return nil, agent.Head{}, agent.ErrRewound
		}
		stored = stored[1:]
	}
	c := chainFrom(id, known)
	entries, err := c.entries(stored)
	if err != nil {
		return nil, agent.Head{}, err
	}
	return entries, c.head, nil
}

// parseSnapshot reads what snapshotOf wrote. from is where its writer stood.
func parseSnapshot(id chat.ID, stored string) (snap agent.Snapshot, from agent.Head, err error) {
	if stored == "" {
		return snap, from, nil
	}
	line, body, _ := strings.Cut(stored, "\n")
	f := strings.Split(line, " ")
	if len(f) != 4 {
		return snap, from, fmt.Errorf("chat %s: snapshot: %w: it has no readable first line", id, ErrBroken)
	}
	if snap.Session, err = turn.DecodeSession([]byte(body)); err != nil {
		return snap, from, fmt.Errorf("chat %s: snapshot: %w: %w", id, unreadable(err), err)
	}
	snap.Head = agent.Head{Seq: number(f[0]), Tip: agent.OpID(unescape(f[3]))}
	from = agent.Head{Seq: number(f[1]), Roll: rollOf(f[2])}
	if from.Seq == snap.Head.Seq { // no entry follows that would tell
		from.Tip = snap.Head.Tip
	}
	return snap, from, nil
}

// unreadable is why stored bytes cannot be read: of a newer version, or broken.
func unreadable(err error) error {
	if errors.Is(err, turn.ErrVersion) {
		return agent.ErrVersion
	}
	return ErrBroken
}

// text, number and strs read replies: what the embedded store and go-redis give differs in integer types only.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case int:
		return strconv.Itoa(v)
	}
	return ""
}

func number(v any) uint64 {
	n, _ := strconv.ParseUint(text(v), 10, 64)
	return n
}

func strs(v any) []string {
	a, _ := v.([]any)
	out := make([]string, len(a))
	for i := range a {
		out[i] = text(a[i])
	}
	return out
}
