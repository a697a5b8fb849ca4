package discord

import (
	"context"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// The panel of settings is one message that only one person sees. Every click on it is answered by the same message, drawn anew.

// Views whose names are too long for a button, by a short one that is the same on every replica. Where it is not known, whoever clicked
// opens the panel again.
const (
	maxViews  = 4096
	viewsLife = time.Hour
)

// viewRequest is a page of a view, and for whom.
type viewRequest struct {
	components.PanelPage
	env chat.Envelope
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
	if at.Thread == "" && at.Guild != "" && c.HasThreads() && a.conversation(c.ID) != InChannel {
		if known, err := a.Engine.Knows(ctx, at.Chat()); err != nil || !known { // it may have been otherwise before
			return chat.ID{}
		}
	}
	return at.Chat()
}

// viewFor is a view for whoever clicked.
func (a *Adapter) viewFor(ctx context.Context, c click, guild, view string) viewRequest {
	env := a.envelope(c.at, c.in.Delivery(), c.by, c.w.handle())
	env.Chat = chat.ID{}
	if guild == "" {
		env.Chat = a.here(ctx, c.at, c.channel)
	}
	return viewRequest{env: env, PanelPage: components.PanelPage{Guild: guild, View: view}}
}

// openPanel shows a view in a new message.
func (a *Adapter) openPanel(ctx context.Context, w *answer, at viewRequest) {
	a.showPanel(ctx, w, at, w.show)
}

// showPanel draws a view for one person, and gives it to show.
func (a *Adapter) showPanel(ctx context.Context, w *answer, at viewRequest, show func(context.Context, components.Payload) error) {
	if a.Settings == nil {
		a.tell(ctx, w, sayNoSettings)
		return
	}
	p, err := a.Settings.Panel(ctx, at.env, at.View)
	if no := surface.Refusal(err); no != nil {
		a.tell(ctx, w, joinSay(at.Say, no.Say))
		return
	}
	if err != nil {
		a.Logger.Warn("discord: settings could not be read", "err", err)
		a.tell(ctx, w, joinSay(at.Say, surface.SayNotRead))
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	drawn, views := components.Panel(p, at.PanelPage)
	a.remember(views)
	if err := show(ctx, drawn); err != nil {
		a.Logger.Warn("discord: settings could not be shown", "err", err)
		a.tell(ctx, w, joinSay(at.Say, surface.SayNotOpened))
	}
}

func joinSay(done, say string) string { return strings.TrimSpace(done + " " + say) }

// panelClicked does what a button or a select of a panel says.
func (a *Adapter) panelClicked(ctx context.Context, c click, d components.PanelAction) {
	at, ok := a.entered(ctx, &c, d)
	if !ok {
		return
	}
	values := c.in.Values()
	switch d.What {
	case components.PanelTurn:
		a.showPanel(ctx, c.w, at, c.w.update)
	case components.PanelGo:
		at.Page = 0
		a.showPanel(ctx, c.w, at, c.w.update)
	case components.PanelTab:
		if len(values) == 1 {
			if at.View, ok = a.viewOf(components.OptionValue(values[0])); ok {
				at.Page = 0
				a.showPanel(ctx, c.w, at, c.w.update)
				return
			}
		}
		a.become(ctx, c.w, components.Lines(sayOldPanel))
	case components.PanelPick:
		if len(values) != 1 {
			a.tell(ctx, c.w, sayOtherVersion)
			return
		}
		a.does(ctx, c, at, components.OptionValue(values[0]), false)
	case components.PanelDo, components.PanelSure:
		a.does(ctx, c, at, d.Token, d.What == components.PanelSure)
	case components.PanelFill, components.PanelFillSure:
		a.openFill(ctx, c, at, d.Token, d.What == components.PanelFillSure)
	default:
		a.tell(ctx, c.w, sayOtherVersion)
	}
}

// entered is the request that a click on a panel makes, for whoever clicked. A panel stands on a message that one person sees: it is drawn in
// the place of no other.
func (a *Adapter) entered(ctx context.Context, c *click, d components.PanelAction) (at viewRequest, ok bool) {
	if c.in.Message == nil || !c.in.Message.IsPrivate() {
		a.tell(ctx, c.w, sayOtherVersion)
		return at, false
	}
	if a.Settings == nil {
		a.tell(ctx, c.w, sayNoSettings)
		return at, false
	}
	if d.Guild != "" {
		if c.by, ok = a.memberOfGuild(ctx, *c, d.Guild); !ok {
			return at, false
		}
	}
	view, ok := a.viewOf(d.View)
	if !ok {
		a.become(ctx, c.w, components.Lines(sayOldPanel))
		return at, false
	}
	at = a.viewFor(ctx, *c, d.Guild, view)
	at.Page = d.Page
	return at, true
}

// does does an act, after the person confirmed it where the view wants that.
func (a *Adapter) does(ctx context.Context, c click, at viewRequest, token string, sure bool) {
	if !sure {
		act, ok, err := a.actOf(ctx, at, token)
		if err != nil {
			a.tell(ctx, c.w, surface.SayNotRead)
			return
		}
		if ok && act.Confirm != "" {
			question, views := components.ConfirmAct(at.PanelPage, act, token)
			a.remember(views)
			a.become(ctx, c.w, question)
			return
		}
	}
	a.acts(ctx, c, at, token, "")
}

// acts does an act, and shows what came of it above the view.
func (a *Adapter) acts(ctx context.Context, c click, at viewRequest, token, text string) {
	done, err := a.Settings.Act(ctx, at.env, at.View, token, text)
	if no := surface.Refusal(err); no != nil {
		at.Say = no.Say
		a.showPanel(ctx, c.w, at, c.w.update)
		return
	}
	if err != nil {
		a.Logger.Error("discord: a change of the settings is not known to be recorded", "err", err)
		a.tell(ctx, c.w, sayNotSet)
		return
	}
	if done.View != at.View {
		at.View, at.Page = done.View, 0
	}
	at.Say = done.Say
	a.showPanel(ctx, c.w, at, c.w.update)
}

// actOf is what a view offers under a token now: an act, or an option of one, which then has its label.
func (a *Adapter) actOf(ctx context.Context, at viewRequest, token string) (act render.Act, ok bool, err error) {
	p, err := a.Settings.Panel(ctx, at.env, at.View)
	if err != nil && surface.Refusal(err) == nil {
		a.Logger.Warn("discord: settings could not be read", "err", err)
		return act, false, err
	}
	for x := range surface.Acts(p) {
		if x.Token == token && x.Kind != render.ActPick {
			return x, true, nil
		}
		for _, o := range x.Options {
			if o.Token == token && x.Kind == render.ActPick {
				x.Label = o.Label
				return x, true, nil
			}
		}
	}
	return act, false, nil
}

// openFill opens the form of an act. It has to be the first answer, so nothing else was said before.
func (a *Adapter) openFill(ctx context.Context, c click, at viewRequest, token string, sure bool) {
	act, ok, err := a.actOf(ctx, at, token)
	switch {
	case err != nil:
		a.tell(ctx, c.w, surface.SayNotRead)
		return
	case !ok || act.Kind != render.ActFill:
		at.Say = sayActGone
		a.showPanel(ctx, c.w, at, c.w.update)
		return
	case act.Confirm != "" && !sure:
		question, views := components.ConfirmFill(at.PanelPage, act, token)
		a.remember(views)
		a.become(ctx, c.w, question)
		return
	}
	form, views := components.FillModal(at.PanelPage, act)
	a.remember(views)
	if err := c.w.open(ctx, form); err != nil {
		a.Logger.Warn("discord: a form could not be opened", "err", err)
		a.tell(ctx, c.w, surface.SayNotOpened)
	}
}

// panelFilled does an act with what somebody typed.
func (a *Adapter) panelFilled(ctx context.Context, c click, d components.PanelAction) {
	if d.What != components.PanelForm {
		a.tell(ctx, c.w, sayOtherVersion)
		return
	}
	if at, ok := a.entered(ctx, &c, d); ok {
		a.acts(ctx, c, at, d.Token, strings.TrimSpace(inbound.InputValue(c.in.Data.Components, components.FieldFill)))
	}
}
