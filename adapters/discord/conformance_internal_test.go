package discord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// What the conformance tests, which look from outside, have to be told: what a button says to the adapter, how text reads, and when
// something that leaves no trace outside is over.

// MaxRequest is what one signed request may have.
const MaxRequest = maxRequest

// ReadButton is what the adapter reads in a button, or in an option of a select.
func ReadButton(customID string, values []string) (chat.Choice, string, bool) {
	p, ok := components.ParseAction(customID, values)
	return p.Choice, p.Token, ok
}

// DrawCard is how a message with one ask looks, as it is sent.
func DrawCard(a render.Ask) ([]byte, error) {
	s, _ := components.Turn(render.Message{State: render.Waiting, Blocks: []render.Block{a}}, func(string) bool { return false })(surface.LevelFull)
	return s.Body, nil
}

// Keep has an adapter live by a clock: what it waits for passes at once, and its next attempt at what was not recorded is when the
// clock says so.
func (a *Adapter) Keep(now func() time.Time, pass func(time.Duration), retry time.Duration) {
	a.now = now
	a.pause = func(ctx context.Context, d time.Duration) error {
		if ctx.Err() == nil {
			pass(d)
		}
		return ctx.Err()
	}
	a.wait = func(int) time.Duration { return retry }
}

// Caught waits until the marks are read that at least so many sessions of the gateway asked for. Before that nothing is taken live.
func (a *Adapter) Caught(ctx context.Context, sessions int) error {
	return until(ctx, "the marks are read", func() bool { s := a.missed.Status(); return s.Sessions >= sessions && !s.Waiting })
}

// CaughtUp lets time pass until no room is behind. An attempt may have begun before what it needs was there: its next one is later.
func (a *Adapter) CaughtUp(ctx context.Context, pass func()) error {
	turns := -1
	return until(ctx, "no room is behind", func() bool {
		s := a.missed.Status()
		if s.Behind > 0 && s.Working == 0 && s.Turns != turns {
			turns = s.Turns
			pass()
			a.missed.Recheck()
		}
		return s.Behind == 0
	})
}

// until looks every millisecond: memory signals nothing.
func until(ctx context.Context, what string, is func() bool) error {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("waited until %s: %w", what, ctx.Err())
		}
	}
	return nil
}

// Settled waits until what came in a room so far has had its turn.
func (a *Adapter) Settled(ctx context.Context, room string) error {
	done := make(chan struct{})
	if !a.in.messages.Put(roomLane(room), func() { close(done) }) {
		return errors.New("the inbox is closed")
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Closing waits until nothing is taken any more.
func (a *Adapter) Closing(ctx context.Context) error {
	return until(ctx, "nothing is taken", func() bool { return !a.isOpen() })
}

// ReasonForm is the custom_id of a form for a reason, and that of its input.
func ReasonForm(token string) (form, field string) {
	return components.DenyModal(token, "something").CustomID, components.FieldReason
}
