package state

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// Anchor is where a chat's log stood at some moment, to be kept where whoever can write to the store cannot. A later log that does
// not go through it was cut, rewritten or deleted since. Its JSON is one line of an anchor file.
type Anchor struct {
	Chat string    `json:"chat"` // [chat.ID.String]
	Seq  uint64    `json:"seq"`
	Roll string    `json:"roll"` // SHA-256 over all entries up to Seq, in hexadecimal
	Last time.Time `json:"last"` // when the entry Seq was written
	At   time.Time `json:"at"`   // when this was noted
}

// Expired reports whether a chat that was anchored so may be gone by itself, where logs are kept for so long (as Options.Keep).
func (a Anchor) Expired(keep time.Duration, now time.Time) bool {
	keep = retention(keep)
	return keep > 0 && now.Sub(a.Last) >= keep
}

// Anchor verifies a chat as [Store.Verify] does and gives the anchor of where it stands; the zero one where nothing is kept.
func (s *Store) Anchor(ctx context.Context, id chat.ID, anchors []Anchor, now time.Time) (Anchor, error) {
	head, last, err := s.through(ctx, id, anchors)
	if err != nil || head.Seq == 0 {
		return Anchor{}, err
	}
	return Anchor{Chat: id.String(), Seq: head.Seq, Roll: head.Roll, Last: last, At: now.UTC().Truncate(time.Second)}, nil
}

// through also tells when the last entry was written.
func (s *Store) through(ctx context.Context, id chat.ID, anchors []Anchor) (head agent.Head, last time.Time, err error) {
	rolls, far := map[uint64]string{}, Anchor{}
	for _, a := range anchors {
		if roll, twice := rolls[a.Seq]; twice && roll != a.Roll {
			return head, last, fmt.Errorf("chat %s: entry %d: %w: the anchors differ: it was rewritten between them, or they are of different stores", id, a.Seq, ErrBroken)
		}
		if rolls[a.Seq] = a.Roll; a.Seq > far.Seq {
			far = a
		}
	}
	var first error
	head, err = s.verify(ctx, id, func(e turn.Entry, h agent.Head) {
		last = e.At
		if roll, ok := rolls[h.Seq]; ok && roll != h.Roll && first == nil {
			first = fmt.Errorf("chat %s: entry %d: %w: it, or one before it, is not what was anchored", id, h.Seq, ErrBroken)
		}
	})
	switch on := far.At.Format(time.DateOnly); {
	case first != nil:
		err = first
	case err != nil:
	case head.Seq == 0 && far.Seq > 0:
		err = fmt.Errorf("chat %s: entry 1: %w: it was anchored at entry %d on %s, and nothing of it is kept", id, ErrBroken, far.Seq, on)
	case far.Seq > head.Seq:
		err = fmt.Errorf("chat %s: entry %d: %w: it was anchored at entry %d on %s, and the log ends before that", id, head.Seq+1, ErrBroken, far.Seq, on)
	}
	return head, last, err
}

// ReadAnchors reads anchor files: JSON lines, in any order, several for a chat. The error names the line.
func ReadAnchors(r io.Reader) ([]Anchor, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var out []Anchor
	n := 0
	for line := range bytes.Lines(b) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var a Anchor
		if err := json.Unmarshal(line, &a); err != nil || a.Chat == "" || a.Seq == 0 || a.Roll == "" {
			return nil, fmt.Errorf("line %d is no anchor: want {\"chat\":…,\"seq\":…,\"roll\":…}", n)
		}
		out = append(out, a)
	}
	return out, nil
}
