package slack

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// The panel: what one person may see and change of the settings. It is a modal where somebody asked for it, and the Home tab. Nothing of it
// is kept: each act makes it anew, for whoever acts.

// openPanel opens the panel as a modal, with a trigger that lives for three seconds.
func (a *Adapter) openPanel(ctx context.Context, trigger string, f panelForm, env chat.Envelope) {
	if a.Settings == nil {
		a.let(ctx, env.Reply, sayNoPanel)
		return
	}
	p, ok := a.panel(ctx, &f, env)
	if !ok {
		a.let(ctx, env.Reply, sayNoPanel)
		return
	}
	a.openWith(ctx, trigger, panelModal(p, f, "", a.linkOf), env.Reply)
}

// panel reads a view; f becomes the one that came.
func (a *Adapter) panel(ctx context.Context, f *panelForm, env chat.Envelope) (render.Panel, bool) {
	env.Chat = f.chat()
	p, err := a.Settings.Panel(ctx, env, f.View)
	if err != nil {
		a.Logger.Warn("slack: a view of the settings could not be read", "err", err)
		return render.Panel{}, false
	}
	if viewForm.MatchString(p.View) {
		f.View = p.View
	}
	return p, true
}

// linkOf is the address of a message of this workspace.
func (a *Adapter) linkOf(l render.ChatLink) string {
	id, err := chat.ParseID(l.Chat)
	if err != nil {
		return ""
	}
	p, ok := placeOf(id)
	if !ok || p.Team != a.self.Team {
		return ""
	}
	to := l.Message
	if to == "" {
		to = p.Thread
	}
	if !timestamp.MatchString(to) || !strings.HasPrefix(a.self.URL, "http") {
		return ""
	}
	return a.permalink(p, chat.MessageRef(to))
}

// acted does what was clicked in a panel.
func (a *Adapter) acted(ctx context.Context, in interaction, act *slack.BlockAction) receipt {
	verb, n, _ := strings.Cut(strings.TrimPrefix(act.ActionID, panelPrefix), ":")
	if _, err := strconv.ParseUint(n, 10, 16); err != nil || a.Settings == nil || verb == verbLink {
		return receipt{}
	}
	meta := string(in.View.Metadata)
	if verb == verbShow {
		meta = act.Value
	}
	f, err := parsePanel(meta)
	if err != nil || f.At.Team != "" && f.At.Team != a.self.Team {
		a.Logger.Warn("slack: a click in a panel that is not nod's is left alone")
		return receipt{}
	}
	by, no := a.decider(ctx, string(in.User), "")
	reply := privately(string(in.ResponseURL), in.channel(), string(in.Container.Thread), string(in.User))
	env := chat.Envelope{Delivery: in.panelDelivery(act), Chat: f.chat(), User: by.User, Name: by.Name, Reply: reply}
	if no != "" {
		return receipt{after: func(ctx context.Context) { a.redrawRefused(ctx, in, no, reply) }}
	}
	say := ""
	switch verb {
	case verbShow:
		return receipt{after: func(ctx context.Context) { a.openPanel(ctx, string(in.Trigger), f, env) }}
	case verbFill:
		return receipt{after: func(ctx context.Context) { a.openFill(ctx, in, f, env, act.Value) }}
	case verbGo:
		f.View, f.Page = act.Value, 0
		if f.View != "" && !viewForm.MatchString(f.View) {
			return receipt{}
		}
	case verbPage:
		page, err := strconv.Atoi(act.Value)
		if err != nil || page < 0 || page > maxPage {
			return receipt{}
		}
		f.Page = page
	case verbDo, verbPick:
		token := act.Value
		if verb == verbPick {
			token = act.SelectedOption.Value
		}
		if !actForm.MatchString(token) {
			return receipt{}
		}
		f, say = a.act(ctx, f, env, token)
	default:
		return receipt{}
	}
	return receipt{after: func(ctx context.Context) { a.redraw(ctx, in, f, env, say) }}
}

// panelDelivery is the same for a click that Slack sends twice.
func (in interaction) panelDelivery(act *slack.BlockAction) chat.Delivery {
	return chat.Delivery("p:" + string(in.View.ID) + ":" + act.ActionTs + ":" + act.ActionID)
}

// act does one thing, and says what came of it and which view to show then.
func (a *Adapter) act(ctx context.Context, f panelForm, env chat.Envelope, token string) (panelForm, string) {
	done, err := a.Settings.Act(ctx, env, f.View, token, "")
	if no := surface.Refusal(err); no != nil {
		return f, no.Say
	}
	if err != nil {
		a.Logger.Error("slack: an act in the settings was not recorded", "err", err)
		return f, sayNotSaved
	}
	return f.after(done), done.Say
}

// after is where somebody stands when something is done: on the same page, if the view is still the same.
func (f panelForm) after(done agent.Done) panelForm {
	f.Token = ""
	if done.View != f.View {
		f.Page = 0
	}
	f.View = ""
	if viewForm.MatchString(done.View) {
		f.View = done.View
	}
	return f
}

// redraw shows the panel as it is now where it was clicked.
func (a *Adapter) redraw(ctx context.Context, in interaction, f panelForm, env chat.Envelope, say string) {
	if in.View.Type == slackHome {
		a.publish(ctx, string(in.User), string(in.View.Hash), f, env, say)
		return
	}
	a.updatePanel(ctx, string(in.View.ID), string(in.View.Hash), f, env, say)
}

// updatePanel draws a modal anew. The hash makes an update fail that comes after a later one, instead of turning back; what is drawn then is
// read once more, so that it is not older than that.
func (a *Adapter) updatePanel(ctx context.Context, view, hash string, f panelForm, env chat.Envelope, say string) {
	for {
		p, ok := a.panel(ctx, &f, env)
		if !ok {
			p, say = render.Panel{View: f.View, Title: saySettings, Tabs: []render.Act{{Kind: render.ActGo, View: f.View, Label: sayTryAgain}}}, joinedLines(say, sayNoPanel)
		}
		_, err := a.api.UpdateViewContext(ctx, a.takable(panelModal(p, f, say, a.linkOf)), "", hash, view)
		if err == nil {
			return
		}
		if hash == "" || !conflict(err) {
			a.Logger.Info("slack: a panel was not drawn anew", "err", faultOf(err))
			return
		}
		hash = ""
	}
}

func joinedLines(a, b string) string { return strings.TrimSpace(a + "\n" + b) }

// conflict: somebody drew the view since. https://docs.slack.dev/reference/methods/views.update#errors
func conflict(err error) bool {
	var no slack.SlackErrorResponse
	return errors.As(err, &no) && no.Err == "hash_conflict"
}

// redrawRefused shows somebody why nothing is theirs to see here.
func (a *Adapter) redrawRefused(ctx context.Context, in interaction, no string, reply chat.ReplyHandle) {
	p := render.Panel{Title: saySettings}
	switch in.View.Type {
	case slackHome:
		a.publishOnce(ctx, string(in.User), "", panelHome(p, panelForm{}, no, a.linkOf))
	case "":
		a.let(ctx, reply, no)
	default:
		_, err := a.api.UpdateViewContext(ctx, panelModal(p, panelForm{}, no, a.linkOf), "", "", string(in.View.ID))
		if err != nil {
			a.Logger.Info("slack: a panel was not drawn anew", "err", faultOf(err))
		}
	}
}

// openFill opens the form of an act that takes a text, as the panel offers it now.
func (a *Adapter) openFill(ctx context.Context, in interaction, f panelForm, env chat.Envelope, token string) {
	p, ok := a.panel(ctx, &f, env)
	if !ok {
		a.redraw(ctx, in, f, env, sayNoPanel)
		return
	}
	act, ok := fillOf(p, token)
	if !ok {
		a.redraw(ctx, in, f, env, sayWasChanged)
		return
	}
	v, ok := fillView(act, f)
	if !ok {
		a.redraw(ctx, in, f, env, sayFillTooLong)
		return
	}
	v = a.takable(v)
	var err error
	if in.View.Type == slackHome {
		_, err = a.api.OpenViewContext(ctx, string(in.Trigger), v)
	} else {
		_, err = a.api.PushViewContext(ctx, string(in.Trigger), v)
	}
	switch {
	case err == nil:
	case tooOld(err):
		a.redraw(ctx, in, f, env, sayWindowClosed)
	default:
		a.Logger.Error("slack: a form could not be opened", "err", faultOf(err))
		a.redraw(ctx, in, f, env, surface.SayNotOpened)
	}
}

// fillOf finds an act that takes a text.
func fillOf(p render.Panel, token string) (render.Act, bool) {
	for _, s := range p.Sections {
		for _, r := range s.Rows {
			for _, act := range r.Acts {
				if act.Kind == render.ActFill && act.Token == token && token != "" {
					return act, true
				}
			}
		}
	}
	return render.Act{}, false
}

// filled does what a form of a panel says. A refusal is said in the form; else it closes, and the panel below says what was done.
func (a *Adapter) filled(ctx context.Context, in interaction) receipt {
	wrong := func(say string) receipt {
		return receipt{body: slack.NewErrorsViewSubmissionResponse(map[string]string{blockFill: surface.Shortened(say, maxFormError)})}
	}
	f, err := parsePanel(string(in.View.Metadata))
	if err != nil || f.Token == "" || a.Settings == nil || f.At.Team != "" && f.At.Team != a.self.Team {
		return wrong(sayWasChanged)
	}
	by, no := a.decider(ctx, string(in.User), "")
	if no != "" {
		return wrong(no)
	}
	text := strings.TrimSpace(string(in.input(blockFill).Value))
	env := chat.Envelope{Delivery: in.submission(text), Chat: f.chat(), User: by.User, Name: by.Name, Reply: privately("", f.At.Channel, f.At.Thread, string(in.User))}
	done, err := a.Settings.Act(ctx, env, f.View, f.Token, text)
	if no := surface.Refusal(err); no != nil {
		return wrong(no.Say)
	}
	if err != nil {
		a.Logger.Error("slack: a form of the settings was not recorded", "err", err)
		return wrong(sayNotSaved)
	}
	f = f.after(done)
	return receipt{after: func(ctx context.Context) { // an empty acknowledgement closes this one form
		if in.View.Previous == "" {
			a.publish(ctx, string(in.User), "", f, env, done.Say)
			return
		}
		a.updatePanel(ctx, string(in.View.Previous), "", f, env, done.Say)
	}}
}
