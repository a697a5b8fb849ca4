package state

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// Faded reports whether a chat that was anchored so may be gone by itself when logs of silent chats are kept for so long (as
// Options.Keep).
func (a Anchor) Faded(keep time.Duration, now time.Time) bool {
	keep = kept(keep)
	return keep > 0 && now.Sub(a.Last) >= keep
}

// Anchor verifies a chat and gives the anchor of where it holds. Nothing kept gives the zero Anchor.
func (s *Store) Anchor(ctx context.Context, id chat.ID, now time.Time) (Anchor, error) {
	var last time.Time
	head, err := s.VerifyEach(ctx, id, func(e turn.Entry, _ agent.Head) { last = e.At })
	if err != nil || head.Seq == 0 {
		return Anchor{}, err
	}
	return Anchor{Chat: id.String(), Seq: head.Seq, Roll: head.Roll, Last: last, At: now.UTC().Truncate(time.Second)}, nil
}

// VerifyAnchored is [Store.Verify] that also wants the log to go through every anchor.
func (s *Store) VerifyAnchored(ctx context.Context, id chat.ID, anchors []Anchor) (agent.Head, error) {
	want := map[uint64]string{}
	far := Anchor{}
	for _, a := range anchors {
		if roll, twice := want[a.Seq]; twice && roll != a.Roll {
			return agent.Head{}, fmt.Errorf("chat %s: entry %d: the anchors do not agree with each other: the log was rewritten between them, or they are of different stores", id, a.Seq)
		}
		want[a.Seq] = a.Roll
		if a.Seq > far.Seq {
			far = a
		}
	}
	var first error
	head, err := s.VerifyEach(ctx, id, func(_ turn.Entry, h agent.Head) {
		if roll, ok := want[h.Seq]; ok && roll != h.Roll && first == nil {
			first = fmt.Errorf("chat %s: entry %d: %w: it, or one before it, is not what was anchored", id, h.Seq, ErrBroken)
		}
	})
	switch {
	case first != nil:
		return head, first
	case err != nil:
		return head, err
	case head.Seq == 0 && far.Seq > 0:
		return head, fmt.Errorf("chat %s: entry 1: %w: it was anchored at entry %d on %s, and nothing of it is kept", id, ErrBroken, far.Seq, far.At.Format(time.DateOnly))
	case far.Seq > head.Seq:
		return head, fmt.Errorf("chat %s: entry %d: %w: it was anchored at entry %d on %s, and the log ends before that", id, head.Seq+1, ErrBroken, far.Seq, far.At.Format(time.DateOnly))
	}
	return head, nil
}

// ReadAnchors reads anchor files: JSON lines, in any order, several for a chat. The error names the line.
func ReadAnchors(r io.Reader) ([]Anchor, error) {
	var out []Anchor
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var a Anchor
			if jsonErr := json.Unmarshal(line, &a); jsonErr != nil || a.Chat == "" || a.Seq == 0 || a.Roll == "" {
				return nil, fmt.Errorf("line %d is no anchor: want {\"chat\":…,\"seq\":…,\"roll\":…}", n)
			}
			out = append(out, a)
		}
		if err != nil {
			return out, nil
		}
	}
}
