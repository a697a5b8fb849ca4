package web

import (
	"context"
	"time"

	"github.com/nodhq/nod/adapters/web/frames"
	"github.com/nodhq/nod/adapters/web/inbox"
	"github.com/nodhq/nod/adapters/web/push"
	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Engine takes what people say and click.
type Engine interface {
	// Accept records an inbound. A nil error means durable; any other means that nothing was recorded.
	Accept(context.Context, chat.Inbound) error
	// Decide records an answer and returns one outcome for each ask, or a [*decision.Refusal] of one that is not taken. Any other error
	// leaves it open whether it was.
	Decide(context.Context, chat.Clicked) ([]decision.Outcome, error)
	// Refuses is why a choice would certainly not be taken of this person now; nil: it would be, or that is not known.
	Refuses(context.Context, chat.Clicked) *decision.Refusal
	// Sees tells what somebody may be shown of what waits, away from its chat, in all chats of the envelope's workspace.
	Sees(context.Context, chat.Envelope) (func(turn.Session, turn.ToolCall) bool, error)
}

// Linker is an optional extra of another surface: where a message of its opens in a browser. Empty: that cannot be said.
type Linker interface {
	LinkTo(render.ChatLink) string
}

// Log is what the surface reads of [agent.Log]. It never writes.
type Log interface {
	History(context.Context, chat.ID) ([]turn.Entry, error)
	Tail(ctx context.Context, id chat.ID, known agent.Head) ([]turn.Entry, agent.Head, error)
	inbox.Log
	agent.Watcher
	agent.Finder
}

// Shelf keeps what belongs to this surface alone. Safe for concurrent use.
type Shelf interface {
	frames.Shelf
	session.Shelf
	push.Shelf
	// PutChat stores or replaces one line of a person's list of chats.
	PutChat(ctx context.Context, userKey, chatKey, title string, at time.Time) error
	// DropChats takes lines off that list.
	DropChats(ctx context.Context, userKey string, chatKeys ...string) error
	// Chats returns that list in any order.
	Chats(ctx context.Context, userKey string) ([]chat.Listed, error)
}
