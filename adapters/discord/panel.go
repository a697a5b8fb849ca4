package discord

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// The panel of settings is one message that only one person sees. Every click on it is answered by the same message, drawn anew.

// viewsLife is how long views are known whose names are too long for a button, by a short one that is the same on every replica. Where one is
// not known, whoever clicked opens the panel again.
const viewsLife = time.Hour

// viewRequest is a page of a view, and for whom.
type viewRequest struct {
	components.PanelPage
	env     chat.Envelope
	redraws bool // the panel that was clicked becomes this
}

// remember keeps the names of views that stand on buttons in short.
func (a *Adapter) remember(views components.LongViews) {
	for name, view := range views {
		a.views.Put(name, view, a.now())
	}
}

// viewOf is the view that a button or an option names.
func (a *Adapter) viewOf(ref string) (view string, ok bool) {
	view, name, ok := components.ReadView(ref)
	if name != "" { // a short one
		return a.views.Get(name, a.now())
	}
	return view, ok
}

// here is the chat that "here" means in a place, for its settings: none in a channel whose chats are threads.
func (a *Adapter) here(ctx context.Context, at ids.Place, c inbound.Channel) chat.ID {
	if a.beginsThread(c) {
		if known, _ := a.Engine.Knows(ctx, at.Chat()); !known { // it may have been otherwise before
			return chat.ID{}
		}
	}
	return at.Chat()
}

// viewFor is a view for whoever clicked.
func (a *Adapter) viewFor(ctx context.Context, c interaction, guild, view string) viewRequest {
	env := c.envelope()
	env.Chat = chat.ID{}
	if guild == "" {
		env.Chat = a.here(ctx, c.at, c.channel)
	}
	return viewRequest{env: env, PanelPage: components.PanelPage{Guild: guild, View: view}}
}

// panel draws a view for one person.
func (a *Adapter) panel(ctx context.Context, at viewRequest) *reply {
	if a.Settings == nil {
		return say(sayNoSettings)
	}
	p, err := a.Settings.Panel(ctx, at.env, at.View)
	if no := surface.Refusal(err); no != nil {
		return say(joinSay(at.Say, no.Say))
	}
	if err != nil {
		a.Logger.Warn("discord: settings could not be read", "err", err)
		return say(joinSay(at.Say, surface.SayNotRead))
	}
	drawn, views := components.Panel(p, at.PanelPage)
	a.remember(views)
	r := show(drawn).orSay(joinSay(at.Say, surface.SayNotOpened), "discord: settings could not be shown")
	r.inPlace = at.redraws
	return r
}

func joinSay(done, say string) string { return strings.TrimSpace(done + " " + say) }

// panelClicked does what a button or a select of a panel says.
func (a *Adapter) panelClicked(ctx context.Context, c interaction, d components.PanelAction) *reply {
	at, no := a.panelOf(ctx, c, d)
	if no != nil {
		return no
	}
	switch values := c.in.Values(); d.What {
	case components.PanelTurn:
		return a.panel(ctx, at)
	case components.PanelGo:
		at.Page = 0
		return a.panel(ctx, at)
	case components.PanelTab:
		ok := len(values) == 1
		if ok {
			at.View, ok = a.viewOf(components.OptionValue(values[0]))
		}
		if !ok {
			return become(components.Lines(sayOldPanel))
		}
		at.Page = 0
		return a.panel(ctx, at)
	case components.PanelPick:
		if len(values) == 1 {
			return a.act(ctx, at, components.OptionValue(values[0]), false)
		}
	case components.PanelDo, components.PanelSure:
		return a.act(ctx, at, d.Token, d.What == components.PanelSure)
	case components.PanelFill, components.PanelFillSure:
		return a.openFill(ctx, at, d.Token, d.What == components.PanelFillSure)
	}
	return say(sayOtherVersion)
}

// panelOf is the request that a click on a panel makes, for whoever clicked. A panel stands on a message that one person sees: it is
// drawn in the place of no other.
func (a *Adapter) panelOf(ctx context.Context, c interaction, d components.PanelAction) (at viewRequest, no *reply) {
	if !c.in.Message.IsPrivate() {
		return at, say(sayOtherVersion)
	}
	if a.Settings == nil {
		return at, say(sayNoSettings)
	}
	if no := a.asMember(ctx, &c, d.Guild); no != nil {
		return at, no
	}
	view, ok := a.viewOf(d.View)
	if !ok {
		return at, become(components.Lines(sayOldPanel))
	}
	at = a.viewFor(ctx, c, d.Guild, view)
	at.Page, at.redraws = d.Page, true
	return at, nil
}

// act does an act, after the person confirmed it where the view wants that.
func (a *Adapter) act(ctx context.Context, at viewRequest, token string, confirmed bool) *reply {
	if !confirmed {
		act, err := a.actOf(ctx, at, token)
		if err != nil {
			return say(surface.SayNotRead)
		}
		if act.Confirm != "" {
			question, views := components.ConfirmAct(at.PanelPage, act, token)
			a.remember(views)
			return become(question)
		}
	}
	return a.actConfirmed(ctx, at, token, "")
}

// actConfirmed does an act, and shows what came of it above the view.
func (a *Adapter) actConfirmed(ctx context.Context, at viewRequest, token, text string) *reply {
	done, err := a.Settings.Act(ctx, at.env, at.View, token, text)
	if no := surface.Refusal(err); no != nil {
		at.Say = no.Say
		return a.panel(ctx, at)
	}
	if err != nil {
		a.Logger.Error("discord: a change of the settings is not known to be recorded", "err", err)
		return say(sayNotSet)
	}
	if done.View != at.View {
		at.View, at.Page = done.View, 0
	}
	at.Say = done.Say
	return a.panel(ctx, at)
}

// actOf is what a view offers under a token now: an act, or an option of one, which then has its label. Nothing: the zero act.
func (a *Adapter) actOf(ctx context.Context, at viewRequest, token string) (act render.Act, err error) {
	p, err := a.Settings.Panel(ctx, at.env, at.View)
	if err != nil && surface.Refusal(err) == nil {
		a.Logger.Warn("discord: settings could not be read", "err", err)
		return act, err
	}
	for x := range surface.Acts(p) {
		if x.Token == token {
			return x, nil
		}
		if i := slices.IndexFunc(x.Options, func(o render.Option) bool { return o.Token == token }); i >= 0 {
			x.Label = x.Options[i].Label
			return x, nil
		}
	}
	return act, nil
}

// openFill opens the form of an act.
func (a *Adapter) openFill(ctx context.Context, at viewRequest, token string, confirmed bool) *reply {
	act, err := a.actOf(ctx, at, token)
	switch {
	case err != nil:
		return say(surface.SayNotRead)
	case act.Kind != render.ActFill:
		at.Say = sayActGone
		return a.panel(ctx, at)
	case act.Confirm != "" && !confirmed:
		question, views := components.ConfirmFill(at.PanelPage, act, token)
		a.remember(views)
		return become(question)
	}
	form, views := components.FillModal(at.PanelPage, act)
	a.remember(views)
	return open(form)
}

// panelFilled does an act with what somebody typed.
func (a *Adapter) panelFilled(ctx context.Context, c interaction, d components.PanelAction) *reply {
	if d.What != components.PanelForm {
		return say(sayOtherVersion)
	}
	at, no := a.panelOf(ctx, c, d)
	if no != nil {
		return no
	}
	return a.actConfirmed(ctx, at, d.Token, strings.TrimSpace(inbound.InputValue(c.in.Data.Components, components.FieldFill)))
}
