package surface

import (
	"fmt"

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
			if !HasAsk(m) {
				return least(e.Text), true
			}
		}
		return r, false
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
