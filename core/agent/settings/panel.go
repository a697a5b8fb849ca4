package settings

import (
	"context"
	"unicode/utf8"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Done is what came of something that a person did in a panel.
type Done struct {
	Say  string // a sentence for them; may be empty
	View string // the view to show then
}

// MaxFill is the longest text that a panel's form takes, in characters.
const MaxFill = 1000

// Panel is a view of the settings for one person: env says who it is, with their groups, and env.Chat is the chat that "here" means
// (zero: none). An empty view is the first one. A view that is not there, or not for them, gives the first one.
func (s *Settings) Panel(ctx context.Context, env chat.Envelope, view string) (render.Panel, error) {
	if env.User.IsZero() {
		return render.Panel{View: viewHome, Title: text.PanelTitle, Sections: []render.Section{{Empty: text.WhoAreYou()}}}, nil
	}
	q, err := s.newRequest(ctx, env, view)
	if err != nil {
		return render.Panel{}, err
	}
	return q.panel(ctx)
}

// Act does what a person chose in a panel: token is that of an act or option which the view offers them now, entered what they filled in. It
// returns a [*decision.Refusal] for what is not offered (any more), not theirs, or not taken.
func (s *Settings) Act(ctx context.Context, env chat.Envelope, view, token, entered string) (Done, error) {
	switch {
	case env.User.IsZero():
		return Done{}, &decision.Refusal{Code: decision.RefusedNotYours, Say: text.WhoAreYou()}
	case !utf8.ValidString(entered) || utf8.RuneCountInString(entered) > MaxFill:
		return Done{}, &decision.Refusal{Code: decision.RefusedArguments, Say: text.TooLongFill(MaxFill)}
	}
	q, err := s.newRequest(ctx, env, view)
	if err != nil {
		return Done{}, err
	}
	if _, err := q.panel(ctx); err != nil {
		return Done{}, err
	}
	chosen, offered := q.offers[token]
	if !offered {
		if done, err := q.delivered(ctx); done || err != nil {
			return Done{View: q.view}, err // the same delivery again: it was done then
		}
		return Done{}, &decision.Refusal{Code: decision.RefusedUnknown, Say: text.NotInPanel()}
	}
	done, err := chosen.do(ctx, q, entered)
	if err == nil && done.View == "" {
		done.View = q.view
	}
	return done, err
}

// delivered reports whether what this delivery brought is on record, in the settings or in the chat.
func (q *request) delivered(ctx context.Context) (bool, error) {
	if q.env.Delivery == "" {
		return false, nil
	}
	log, err := q.Engine.Session(ctx, agent.SettingsChat)
	return agent.Delivered(log, q.env) || agent.Delivered(q.here, q.env), err
}
