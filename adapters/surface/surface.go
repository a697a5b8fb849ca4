// Package surface is what the chat surfaces of nod have in common and no platform's name belongs to: the order in which deliveries
// are worked on ([Lanes]), how a shared budget is asked before a platform is called ([Purse]), what is known of the messages that
// stand there ([Sent]), the commands that people type ([ParseCommand]), and the sentences that read the same everywhere (words.go).
//
// It knows no platform. What differs between two of them stands in their own rooms.
package surface

import (
	"context"
	"errors"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Engine takes what people say and click, and knows how chats stand.
type Engine interface {
	// Accept records an inbound. A nil error means durable: acknowledge. Any other means that nothing is known to be recorded.
	Accept(context.Context, chat.Inbound) error
	// Decide records an answer. It returns an [*agent.Refusal] for one that is not taken; any other error leaves it open
	// whether it was.
	Decide(context.Context, chat.Clicked) ([]agent.Outcome, error)
	// Session is a chat as the log stands now.
	Session(context.Context, chat.ID) (turn.Session, error)
	// Knows reports whether anything was ever recorded of a chat.
	Knows(context.Context, chat.ID) (bool, error)
}

// Settings are what people manage: the private panel and the commands around it.
type Settings interface {
	// Panel is a view of the settings for one person; an empty view is the first one.
	Panel(ctx context.Context, env chat.Envelope, view string) (render.Panel, error)
	// Act does what a person chose in a panel. It returns an [*agent.Refusal] for what is not taken.
	Act(ctx context.Context, env chat.Envelope, view, token, text string) (agent.Done, error)
	// Permissions does one command and returns lines of plain text for that person, which may hold untrusted words.
	Permissions(ctx context.Context, env chat.Envelope, words []string) ([]string, error)
	// Why is the answer to "Why am I asked?".
	Why(ctx context.Context, env chat.Envelope, ask string) (render.Details, error)
}

// Asks finds chats in which something waits for a person, whichever replica recorded it. It reads every open ask: for rare
// events only.
type Asks interface {
	Asking(ctx context.Context, match func(chat.ID) bool) ([]chat.ID, error)
}

// Follow is which messages of a thread the bot listens to once it was mentioned there.
type Follow string

// The ways to follow. The zero value is FollowThread.
const (
	FollowThread  Follow = "thread"  // every message of the thread
	FollowMention Follow = "mention" // only those that mention it
)

// Pause waits. An error is the context's.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Hopeless: nothing was recorded, and nothing would be if it came again.
func Hopeless(err error) bool {
	return errors.Is(err, agent.ErrTooLong) || errors.Is(err, agent.ErrNotText) || errors.Is(err, agent.ErrEmpty) || errors.Is(err, agent.ErrFull)
}

// Hidden is what [chat.Reveal] shows to whoever clicked.
func Hidden(out []agent.Outcome) (d render.Details) {
	for _, o := range out {
		if o.Hidden != nil {
			d = *o.Hidden
		}
	}
	return d
}

// Refusal is what [Engine.Decide] says of an answer that is not taken; nil for any other error.
func Refusal(err error) *agent.Refusal {
	no, _ := errors.AsType[*agent.Refusal](err)
	return no
}
