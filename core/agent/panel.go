package agent

import (
	"context"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Done is what came of something that a person did in a panel.
type Done struct {
	Say  string // a sentence for them; may be empty
	View string // the view to show then
}

// Panel is a view of the settings for one person: env says who looks, with their groups, and env.Chat is the chat that "here" means
// (zero: none). An empty view is the first one. A view that is not there, or not for them, gives the first one.
func (e *Engine) Panel(ctx context.Context, env chat.Envelope, view string) (render.Panel, error) {
	return render.Panel{}, nil
}

// Act does what a person chose in a panel: token is that of an act or option which the view offers them now, text what they filled in. It
// returns a [*Refusal] for what is not offered (any more), not theirs, or not taken.
func (e *Engine) Act(ctx context.Context, env chat.Envelope, view, token, text string) (Done, error) {
	return Done{}, &Refusal{Code: RefusedUnknown, Say: render.NotOffered()}
}

// Permissions does one "/nod permissions …" (or halt, resume, why, whoami, tools) and returns what to tell the person, in lines of plain
// text that may hold untrusted words. No words is an overview.
func (e *Engine) Permissions(ctx context.Context, env chat.Envelope, words []string) ([]string, error) {
	return nil, nil
}

// Why is the answer to "Why am I asked?" about an ask of a chat, for one person: every rule that was consulted, with the winner.
func (e *Engine) Why(ctx context.Context, env chat.Envelope, ask string) (render.Details, error) {
	return render.Details{}, nil
}
