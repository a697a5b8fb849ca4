package agent

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Done is what came of something that a person did in a panel.
type Done struct {
	Say  string // a sentence for them; may be empty
	View string // the view to show then
}

// MaxFill is the longest text that a panel's form takes, in characters.
const MaxFill = 1000

// Panel is a view of the settings for one person: env says who looks, with their groups, and env.Chat is the chat that "here" means
// (zero: none). An empty view is the first one. A view that is not there, or not for them, gives the first one.
func (e *Engine) Panel(ctx context.Context, env chat.Envelope, view string) (render.Panel, error) {
	if env.User.IsZero() {
		return render.Panel{View: viewHome, Title: render.PanelTitle, Sections: []render.Section{{Empty: render.WhoAreYou()}}}, nil
	}
	l, err := e.look(ctx, env, view)
	if err != nil {
		return render.Panel{}, err
	}
	return l.panel(ctx)
}

// Act does what a person chose in a panel: token is that of an act or option which the view offers them now, text what they filled in. It
// returns a [*Refusal] for what is not offered (any more), not theirs, or not taken.
func (e *Engine) Act(ctx context.Context, env chat.Envelope, view, token, text string) (Done, error) {
	switch {
	case env.User.IsZero():
		return Done{}, &Refusal{Code: RefusedNotYours, Say: render.WhoAreYou()}
	case !utf8.ValidString(text) || utf8.RuneCountInString(text) > MaxFill:
		return Done{}, &Refusal{Code: RefusedArguments, Say: render.TooLongFill(MaxFill)}
	}
	l, err := e.look(ctx, env, view)
	if err != nil {
		return Done{}, err
	}
	if _, err := l.panel(ctx); err != nil {
		return Done{}, err
	}
	deed, offered := l.deeds[token]
	if !offered {
		if env.Delivery != "" && l.delivered() {
			return Done{View: l.view}, nil // the same delivery again: it was done then
		}
		return Done{}, &Refusal{Code: RefusedUnknown, Say: render.NotInPanel()}
	}
	done, err := deed(ctx, text)
	if err == nil && done.View == "" {
		done.View = l.view
	}
	return done, err
}

// delivered reports whether what this delivery brought is on record, in the settings or in the chat.
func (l *looking) delivered() bool {
	op := string(opOf(l.env))
	ours := func(click string) bool { return click == op || strings.HasPrefix(click, op+"#") }
	return slices.ContainsFunc(l.clicks, ours) || slices.ContainsFunc(l.here.Clicks, ours)
}
