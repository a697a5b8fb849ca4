package surface

import (
	"fmt"
	"iter"
	"slices"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/render"
)

// A message that a platform refuses is drawn again, simpler: a card must never lose its buttons because some part of it is not as the
// platform wants it. The levels:
const (
	LevelFull  = iota // as it should look
	LevelHalf         // the same with half the room
	LevelPlain        // the least room that there can be, as plain text with the buttons below
	LevelText         // the text alone, where nothing is asked
)

// Renditions gives a message's rendition of a level. ok is false where there is none.
type Renditions[R any] func(level int) (r R, ok bool)

// Encoder is a platform's part of the renditions: P is a message as it was drawn, R is what is sent.
type Encoder[P, R any] struct {
	Limits render.Limits
	Draw   func(render.Message) P
	Plain  func(m render.Message, drawn P) P // m as text without any markup, and the buttons of drawn
	Text   func(m render.Message, drawn P) P // the text alone
	Write  func(level int, p P) R
}

// Renditions are those of a message.
func (e Encoder[P, R]) Renditions(m render.Message) Renditions[R] {
	return func(level int) (r R, ok bool) {
		least := func(as func(render.Message, P) P) R {
			small := render.Fit(m, render.Floor)
			return e.Write(level, as(small, e.Draw(small)))
		}
		switch level {
		case LevelFull:
			return e.Write(level, e.Draw(m)), true
		case LevelHalf:
			return e.Write(level, e.Draw(render.Fit(m, halve(e.Limits)))), true
		case LevelPlain:
			return least(e.Plain), true
		case LevelText:
			if CountAsks(m) == 0 {
				return least(e.Text), true
			}
		}
		return r, false
	}
}

// Kept is the same, and keeps the last one: it is compared with what stands there, and then sent.
func (of Renditions[R]) Kept() Renditions[R] {
	var last R
	at, ok := -1, false
	return func(level int) (R, bool) {
		if level != at {
			last, ok = of(level)
			at = level
		}
		return last, ok
	}
}

// Send sends a message in the first rendition that the platform takes, from a level on. refused reports whether an error is about how it
// looks.
func (of Renditions[R]) Send(level int, send func(R) error, refused func(R, error) bool) (R, error) {
	var last error
	for ; ; level++ {
		r, ok := of(level)
		if !ok {
			return r, &agent.PlatformError{Kind: agent.FaultForbidden, Cause: fmt.Errorf("no shape of the message is taken: %w", last)}
		}
		if last = send(r); !refused(r, last) {
			return r, last
		}
	}
}

func halve(l render.Limits) render.Limits {
	half := func(n *int, floor int) {
		if *n > 0 {
			*n = max(*n/2, floor)
		}
	}
	half(&l.Chars, render.Floor.Chars)
	half(&l.Bytes, render.Floor.Bytes)
	half(&l.Blocks, render.Floor.Blocks)
	half(&l.Text, render.Floor.Text)
	half(&l.Args, render.Floor.Args)
	return l
}

// Quietly is a message with names in place of mentions. A mention in a new message notifies people, and one in an edit does not, so a message that is
// about to be posted names them only.
func Quietly(m render.Message) render.Message {
	m.Blocks = slices.Clone(m.Blocks)
	for i, b := range m.Blocks {
		switch b := b.(type) {
		case render.Step:
			b.Detail = withoutMentions(b.Detail)
			m.Blocks[i] = b
		case render.Note:
			b.Line = withoutMentions(b.Line)
			m.Blocks[i] = b
		case render.Ask:
			b.Facts, b.Footer = withoutMentions(b.Facts), withoutMentions(b.Footer)
			m.Blocks[i] = b
		default: // nobody is named in it
		}
	}
	return m
}

func withoutMentions(l render.Line) render.Line {
	out := slices.Clone(l)
	for i, s := range out {
		if p, _ := s.(render.Person); p.Name != "" { // of who has none only their platform knows one; a card names so who has to answer it
			out[i] = render.Plain(p.Name)
		}
	}
	return out
}

// Ends reports whether a message needs nothing after it is drawn so.
func Ends(m render.Message) bool {
	return m.State == render.Done || m.State == render.Failed || m.State == render.Stopped
}

// CountAsks is how many calls a message asks about.
func CountAsks(m render.Message) (n int) {
	for _, b := range m.Blocks {
		if _, ok := b.(render.Ask); ok {
			n++
		}
	}
	return n
}

// StepsAt is the run of steps that blocks begin with.
func StepsAt(blocks []render.Block) (run []render.Step) {
	for _, b := range blocks {
		step, ok := b.(render.Step)
		if !ok {
			break
		}
		run = append(run, step)
	}
	return run
}

// Acts are what can be done in a panel.
func Acts(p render.Panel) iter.Seq[render.Act] {
	var all []render.Act
	for _, s := range p.Sections {
		for _, r := range s.Rows {
			all = append(all, r.Acts...)
		}
	}
	return slices.Values(all)
}
