package slack_test

import (
	"context"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// sayDirect writes to the bot in a conversation with it alone, where nobody has to be mentioned.
func (w *workspace) sayDirect(by conformance.Who, in chat.ID, text string) *conformance.Delivered {
	user := conformPeople[by]
	channel, thread := w.DM(user), ""
	if !in.IsZero() {
		if channel, thread = w.where(in); channel != w.DM(user) {
			w.t.Errorf("%v is not where %s and the bot talk", in, user)
		}
	}
	return w.delivered(func() string { return w.Say(user, channel, thread, typed(text)) })
}

// details presses, and reads what this person sees then: a modal, with all of its pages, or a private answer.
func (w *workspace) details(ctx context.Context, by conformance.Who, in chat.ID, ref chat.MessageRef, b conformance.Button) (conformance.Shown, error) {
	user := conformPeople[by]
	told, open := len(w.Ephemerals(user)), len(w.Views(user))
	for {
		w.press(by, in, ref, b)
		if err := w.Wait(ctx, func() bool { return len(w.Views(user)) > open || len(w.Ephemerals(user)) > told }); err != nil {
			return conformance.Shown{}, err
		}
		all := w.Ephemerals(user)
		if len(all) == told {
			break
		}
		told = len(all)
		if s := w.read(all[told-1].Version, false).Shown; !again(s.Text) {
			return s, nil
		}
	}
	var out conformance.Shown
	for view := w.Views(user)[open]; ; {
		page := w.read(fakeslack.Version{Blocks: view.Blocks}, false)
		out.Text += page.Text
		out.Mentions, out.Links, out.Images = append(out.Mentions, page.Mentions...), append(out.Links, page.Links...), append(out.Images, page.Images...)
		next := slices.IndexFunc(w.ViewButtons(view.ID), func(b fakeslack.Button) bool { return strings.HasSuffix(b.ActionID, ":next") })
		if next < 0 {
			w.CloseView(user, view.ID)
			return out, nil
		}
		turned := view
		for turned.Hash == view.Hash {
			if _, err := w.ClickInView(user, view.ID, w.ViewButtons(view.ID)[next].Text); err != nil {
				return out, err
			}
			if err := w.Wait(ctx, func() bool {
				for _, v := range w.Views(user) {
					if v.ID == view.ID {
						turned = v
					}
				}
				return turned.Hash != view.Hash || len(w.Ephemerals(user)) > told
			}); err != nil {
				return out, err
			}
			told = len(w.Ephemerals(user))
		}
		view = turned
	}
}

// again reports whether somebody is told to click again: on a busy machine a form can take longer than Slack waits.
func again(text string) bool {
	return strings.Contains(text, "Click again.")
}
