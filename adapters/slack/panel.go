package slack

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// The panel: what one person may see and change of the settings. It is a modal where somebody asked for it, and the Home tab. Nothing of it
// is kept: each act makes it anew, for whoever acts.

// openPanel opens the panel as a modal, with a trigger that lives for three seconds.
func (a *Adapter) openPanel(ctx context.Context, trigger inbound.LooseString, f blocks.PanelForm, env chat.Envelope) {
	if a.Settings == nil {
		a.tellOrLog(ctx, env.Reply, sayNoPanel)
		return
	}
	p, ok := a.readPanel(ctx, &f, env)
	if !ok {
		a.tellOrLog(ctx, env.Reply, sayNoPanel)
		return
	}
	a.openView(ctx, trigger, blocks.EncodePanel(p, f, "", a.linkOf), env.Reply)
}

// readPanel reads a view; f becomes the one that came.
func (a *Adapter) readPanel(ctx context.Context, f *blocks.PanelForm, env chat.Envelope) (render.Panel, bool) {
	env.Chat = f.Chat()
	p, err := a.Settings.Panel(ctx, env, f.View)
	if err != nil {
		a.Logger.Warn("slack: a view of the settings could not be read", "err", err)
		return render.Panel{}, false
	}
	if blocks.IsView(p.View) {
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
	p, ok := blocks.PlaceOf(id)
	if !ok || p.Team != a.self.Team {
		return ""
	}
	to := l.Message
	if to == "" {
		to = p.Thread
	}
	if !blocks.IsTimestamp(to) || !strings.HasPrefix(a.self.URL, "http") {
		return ""
	}
	return a.permalink(p, chat.MessageRef(to))
}

// clickInPanel does what was clicked in a panel.
func (a *Adapter) clickInPanel(ctx context.Context, in inbound.Interaction, act *slack.BlockAction) receipt {
	verb, value, ok := blocks.ParsePanelAction(act)
	if !ok || a.Settings == nil || verb == blocks.VerbLink {
		return receipt{}
	}
	meta := string(in.View.Metadata)
	if verb == blocks.VerbShow {
		meta = value
	}
	f, err := blocks.ParsePanelForm(meta)
	if err != nil || f.At.Team != "" && f.At.Team != a.self.Team {
		a.Logger.Warn("slack: a click in a panel that is not nod's is left alone")
		return receipt{}
	}
	by, no := a.identifyDecider(ctx, string(in.User), "")
	reply := privately(string(in.ResponseURL), in.ChannelID(), string(in.Container.Thread), string(in.User))
	env := chat.Envelope{Delivery: in.PanelDelivery(act), Chat: f.Chat(), User: by.User, Name: by.Name, Reply: reply}
	if no != "" {
		return receipt{after: func(ctx context.Context) { a.redrawRefused(ctx, in, no, reply) }}
	}
	say := ""
	switch verb {
	case blocks.VerbShow:
		return receipt{after: func(ctx context.Context) { a.openPanel(ctx, in.Trigger, f, env) }}
	case blocks.VerbFill:
		return receipt{after: func(ctx context.Context) { a.openFill(ctx, in, f, env, value) }}
	case blocks.VerbGo:
		f.View, f.Page = value, 0
	case blocks.VerbPage:
		f.Page, _ = strconv.Atoi(value)
	case blocks.VerbDo, blocks.VerbPick:
		f, say = a.act(ctx, f, env, value)
	default:
		return receipt{}
	}
	return receipt{after: func(ctx context.Context) { a.redraw(ctx, in, f, env, say) }}
}

// act does one thing, and says what came of it and which view to show then.
func (a *Adapter) act(ctx context.Context, f blocks.PanelForm, env chat.Envelope, token string) (blocks.PanelForm, string) {
	done, err := a.Settings.Act(ctx, env, f.View, token, "")
	if no := surface.Refusal(err); no != nil {
		return f, no.Say
	}
	if err != nil {
		a.Logger.Error("slack: an act in the settings was not recorded", "err", err)
		return f, sayNotSaved
	}
	return f.After(done.View), done.Say
}

// redraw shows the panel as it is now where it was clicked.
func (a *Adapter) redraw(ctx context.Context, in inbound.Interaction, f blocks.PanelForm, env chat.Envelope, say string) {
	if in.View.Type == inbound.HomeView {
		a.publish(ctx, string(in.User), string(in.View.Hash), f, env, say)
		return
	}
	a.updatePanel(ctx, string(in.View.ID), string(in.View.Hash), f, env, say)
}

// updatePanel draws a modal anew.
func (a *Adapter) updatePanel(ctx context.Context, view, hash string, f blocks.PanelForm, env chat.Envelope, say string) {
	a.drawPanel(ctx, f, env, say, func(p render.Panel, f blocks.PanelForm, say string) (stale bool) {
		stale = a.updateOnce(ctx, view, hash, blocks.EncodePanel(p, f, say, a.linkOf))
		hash = ""
		return stale
	})
}

// drawPanel reads a panel and has it drawn. What was stale, because somebody drew the view meanwhile, is read and drawn once more, without a
// hash, so that what stands there is not older than that.
func (a *Adapter) drawPanel(ctx context.Context, f blocks.PanelForm, env chat.Envelope, say string, draw func(render.Panel, blocks.PanelForm, string) (stale bool)) {
	for again := true; again; {
		p, ok := a.readPanel(ctx, &f, env)
		if !ok {
			p = render.Panel{View: f.View, Title: blocks.SaySettings, Tabs: []render.Act{{Kind: render.ActGo, View: f.View, Label: sayTryAgain}}}
			say = strings.TrimSpace(say + "\n" + sayNoPanel)
		}
		again = draw(p, f, say)
	}
}

// updateOnce draws a modal, unless it is not as it was when its hash was read: then it is stale.
func (a *Adapter) updateOnce(ctx context.Context, view, hash string, v slack.ModalViewRequest) (stale bool) {
	_, err := a.api.UpdateViewContext(ctx, v, "", hash, view)
	if stale = hash != "" && isConflict(err); err != nil && !stale {
		a.Logger.Info("slack: a panel was not drawn anew", "err", faultOf(err))
	}
	return stale
}

// isConflict: somebody drew the view since. https://docs.slack.dev/reference/methods/views.update#errors
func isConflict(err error) bool {
	var no slack.SlackErrorResponse
	return errors.As(err, &no) && no.Err == "hash_conflict"
}

// redrawRefused shows somebody why nothing is theirs to see here.
func (a *Adapter) redrawRefused(ctx context.Context, in inbound.Interaction, no string, reply chat.ReplyHandle) {
	p := render.Panel{Title: blocks.SaySettings}
	switch in.View.Type {
	case inbound.HomeView:
		a.publishOnce(ctx, string(in.User), "", blocks.EncodeHome(p, blocks.PanelForm{}, no, a.linkOf))
	case "":
		a.tellOrLog(ctx, reply, no)
	default:
		a.updateOnce(ctx, string(in.View.ID), "", blocks.EncodePanel(p, blocks.PanelForm{}, no, a.linkOf))
	}
}

// openFill opens the form of an act that takes a text, as the panel offers it now.
func (a *Adapter) openFill(ctx context.Context, in inbound.Interaction, f blocks.PanelForm, env chat.Envelope, token string) {
	p, ok := a.readPanel(ctx, &f, env)
	if !ok {
		a.redraw(ctx, in, f, env, sayNoPanel)
		return
	}
	act, ok := findFill(p, token)
	if !ok {
		a.redraw(ctx, in, f, env, sayWasChanged)
		return
	}
	v, ok := blocks.EncodeFillForm(act, f)
	if !ok {
		a.redraw(ctx, in, f, env, sayFillTooLong)
		return
	}
	var err error
	if in.View.Type == inbound.HomeView {
		_, err = a.api.OpenViewContext(ctx, string(in.Trigger), v)
	} else {
		_, err = a.api.PushViewContext(ctx, string(in.Trigger), v)
	}
	switch {
	case err == nil:
	case isTooOld(err):
		a.redraw(ctx, in, f, env, sayWindowClosed)
	default:
		a.Logger.Error("slack: a form could not be opened", "err", faultOf(err))
		a.redraw(ctx, in, f, env, surface.SayNotOpened)
	}
}

// findFill finds an act that takes a text.
func findFill(p render.Panel, token string) (render.Act, bool) {
	for act := range surface.Acts(p) {
		if act.Kind == render.ActFill && act.Token == token && token != "" {
			return act, true
		}
	}
	return render.Act{}, false
}

// submitFill does what a form of a panel says. A refusal is said in the form; else it closes, and the panel below says what was done.
func (a *Adapter) submitFill(ctx context.Context, in inbound.Interaction) receipt {
	wrong := func(say string) receipt {
		return receipt{body: slack.NewErrorsViewSubmissionResponse(map[string]string{blocks.InputOfForm(blocks.CallbackFill): surface.Shortened(say, maxFormError)})}
	}
	f, err := blocks.ParsePanelForm(string(in.View.Metadata))
	if err != nil || f.Token == "" || a.Settings == nil || f.At.Team != "" && f.At.Team != a.self.Team {
		return wrong(sayWasChanged)
	}
	by, no := a.identifyDecider(ctx, string(in.User), "")
	if no != "" {
		return wrong(no)
	}
	text := strings.TrimSpace(string(in.Input(blocks.InputOfForm(blocks.CallbackFill)).Value))
	env := chat.Envelope{Delivery: in.Submission(text), Chat: f.Chat(), User: by.User, Name: by.Name, Reply: privately("", f.At.Channel, f.At.Thread, string(in.User))}
	done, err := a.Settings.Act(ctx, env, f.View, f.Token, text)
	if no := surface.Refusal(err); no != nil {
		return wrong(no.Say)
	}
	if err != nil {
		a.Logger.Error("slack: a form of the settings was not recorded", "err", err)
		return wrong(sayNotSaved)
	}
	f = f.After(done.View)
	return receipt{after: func(ctx context.Context) { // an empty acknowledgement closes this one form
		if in.View.Previous == "" {
			a.publish(ctx, string(in.User), "", f, env, done.Say)
			return
		}
		a.updatePanel(ctx, string(in.View.Previous), "", f, env, done.Say)
	}}
}

// drawHome draws the Home tab for whoever opens it, where they were when they left it.
func (a *Adapter) drawHome(ctx context.Context, m inbound.HomeOpened) {
	if a.Settings == nil {
		return
	}
	by, no := a.identifyDecider(ctx, m.User, "")
	if no != "" {
		a.publishOnce(ctx, m.User, "", blocks.EncodeHome(render.Panel{Title: blocks.SaySettings}, blocks.PanelForm{}, no, a.linkOf))
		return
	}
	f, err := blocks.ParsePanelForm(m.Metadata)
	if err != nil { // the first time, or of an older version
		f = blocks.PanelForm{}
	}
	f.At, f.Token = blocks.Place{}, ""
	env := chat.Envelope{Delivery: chat.Delivery("h:" + m.User + ":" + m.Stamp), User: by.User, Name: by.Name}
	a.publish(ctx, m.User, m.Hash, f, env, "")
}

// publish draws somebody's Home tab.
func (a *Adapter) publish(ctx context.Context, user, hash string, f blocks.PanelForm, env chat.Envelope, say string) {
	a.drawPanel(ctx, f, env, say, func(p render.Panel, f blocks.PanelForm, say string) (stale bool) {
		stale = a.publishOnce(ctx, user, hash, blocks.EncodeHome(p, f, say, a.linkOf))
		hash = ""
		return stale
	})
}

// publishOnce draws a Home tab, unless it is not as it was when its hash was read: then it is stale.
func (a *Adapter) publishOnce(ctx context.Context, user, hash string, v slack.HomeTabViewRequest) (stale bool) {
	req := slack.PublishViewContextRequest{UserID: user, View: v}
	if hash != "" {
		req.Hash = &hash
	}
	_, err := a.api.PublishViewContext(ctx, req)
	if stale = hash != "" && isConflict(err); err != nil && !stale {
		a.Logger.Warn("slack: a Home tab was not drawn", "err", faultOf(err))
	}
	return stale
}
