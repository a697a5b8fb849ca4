package slack

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

func (a *Adapter) openPanel(ctx context.Context, in inbound.Interaction, f blocks.PanelForm, env chat.Envelope) (say string) {
	if a.Settings == nil {
		return sayNoPanel
	}
	p, ok := a.readPanel(ctx, &f, env)
	if !ok {
		return sayNoPanel
	}
	return a.openView(ctx, in, blocks.EncodePanel(p, f, "", a.LinkTo))
}

func (a *Adapter) readPanel(ctx context.Context, f *blocks.PanelForm, env chat.Envelope) (render.Panel, bool) {
	env.Chat = f.Chat()
	p, err := a.Settings.Panel(ctx, env, f.View)
	if err != nil {
		a.Logger.Warn("slack: a view of the settings could not be read", "err", err)
		return render.Panel{}, false
	}
	f.View = p.View
	return p, true
}

// LinkTo is the address of a message or a thread of this workspace; empty for any other.
func (a *Adapter) LinkTo(l render.ChatLink) string {
	id, _ := chat.ParseID(l.Chat)
	p, _ := blocks.PlaceOf(id)
	to := cmp.Or(l.Message, p.Thread)
	if a = a.known(p.Team); a == nil || !isClosed(a.introduced) || p.Team != a.self.Team || !blocks.IsTimestamp(to) || !strings.HasPrefix(a.self.URL, "http") {
		return ""
	}
	return a.permalink(p, chat.MessageRef(to))
}

func (a *Adapter) readPanelForm(s string) (f blocks.PanelForm, ok bool) {
	f, ok = blocks.ParsePanelForm(s)
	return f, ok && (f.Team == "" || f.Team == a.self.Team)
}

func (a *Adapter) clickInPanel(ctx context.Context, in inbound.Interaction, act *slack.BlockAction) receipt {
	verb, value, ok := blocks.ParsePanelAction(act)
	if !ok || a.Settings == nil {
		return receipt{}
	}
	meta := string(in.View.Metadata)
	if verb == blocks.VerbShow {
		meta = value
	}
	f, ok := a.readPanelForm(meta)
	if !ok {
		a.Logger.Warn("slack: a click in a panel that is not nod's is left alone")
		return receipt{}
	}
	by, no := a.identifyDecider(ctx, string(in.User), "")
	reply, at := a.whoClicked(in), panelAt(in)
	if in.View.Type != "" {
		reply = a.privately("", f.Channel, f.Thread, string(in.User))
	}
	env := chat.Envelope{Delivery: in.PanelDelivery(act), Chat: f.Chat(), User: by.User, Name: by.Name, Reply: reply}
	switch {
	case no != "" && in.View.Type == "":
		return a.answerPrivately(reply, no)
	case no != "":
		return receipt{after: func(ctx context.Context) { a.drawRefused(ctx, at, reply, no) }}
	case verb == blocks.VerbShow:
		return a.later(reply, func(ctx context.Context) string { return a.openPanel(ctx, in, f, env) })
	}
	say := ""
	switch verb {
	case blocks.VerbFill:
		return receipt{after: func(ctx context.Context) {
			if say := a.openFill(ctx, in, f, env, value); say != "" {
				a.redraw(ctx, at, f, env, say)
			}
		}}
	case blocks.VerbGo:
		f.View, f.Page = value, 0
	case blocks.VerbPage:
		f.Page, _ = strconv.Atoi(value)
	case blocks.VerbDo, blocks.VerbPick:
		f, say, _ = a.act(ctx, f, env, value, "")
	default:
		return receipt{}
	}
	return receipt{after: func(ctx context.Context) { a.redraw(ctx, at, f, env, say) }}
}

// act does one thing, and says what came of it and which view to show then. ok is false where it was not done.
func (a *Adapter) act(ctx context.Context, f blocks.PanelForm, env chat.Envelope, token, text string) (after blocks.PanelForm, say string, ok bool) {
	done, err := a.Settings.Act(ctx, env, f.View, token, text)
	if no := surface.Refusal(err); no != nil {
		return f, no.Say, false
	}
	if err != nil {
		a.Logger.Error("slack: an act in the settings was not recorded", "err", err)
		return f, sayNotSaved, false
	}
	return f.After(done.View), done.Say, true
}

// panelPlace is where a panel stands: somebody's Home tab, or a modal. What stands there is only drawn over while its hash is that; empty:
// anyway.
type panelPlace struct {
	home             bool
	user, view, hash string
}

func panelAt(in inbound.Interaction) panelPlace {
	return panelPlace{in.View.Type == inbound.HomeView, string(in.User), string(in.View.ID), string(in.View.Hash)}
}

// redraw shows the panel as it is now, made anew for whoever acts. What was stale, because somebody drew the view meanwhile, is read and
// drawn once more, without a hash.
func (a *Adapter) redraw(ctx context.Context, at panelPlace, f blocks.PanelForm, env chat.Envelope, say string) {
	for {
		p, ok := a.readPanel(ctx, &f, env)
		if !ok {
			p = render.Panel{View: f.View, Title: blocks.SaySettings, Tabs: []render.Act{{Kind: render.ActGo, View: f.View, Label: sayTryAgain}}}
			say = strings.TrimSpace(strings.TrimSuffix(say, sayNoPanel) + "\n" + sayNoPanel) // once, also where no form was to be had
		}
		err := a.drawOnce(ctx, at, p, f, say)
		if at.hash == "" || !isRedrawn(err) {
			a.tellUndrawn(env.Reply, at, err, say)
			return
		}
		at.hash = ""
	}
}

func (a *Adapter) drawRefused(ctx context.Context, at panelPlace, reply chat.ReplyHandle, no string) {
	at.hash = ""
	err := a.drawOnce(ctx, at, render.Panel{Title: blocks.SaySettings}, blocks.PanelForm{}, no)
	a.tellUndrawn(reply, at, err, no)
}

func (a *Adapter) drawOnce(ctx context.Context, at panelPlace, p render.Panel, f blocks.PanelForm, say string) error {
	if !at.home {
		_, err := a.api.UpdateViewContext(ctx, blocks.EncodePanel(p, f, say, a.LinkTo), "", at.hash, at.view)
		return err
	}
	req := slack.PublishViewContextRequest{UserID: at.user, View: blocks.EncodeHome(p, f, say, a.LinkTo)}
	if at.hash != "" {
		req.Hash = &at.hash
	}
	_, err := a.api.PublishViewContext(ctx, req)
	return err
}

// tellUndrawn tells somebody beside a panel what could not be drawn in it. Beside a Home tab there is no place for it.
func (a *Adapter) tellUndrawn(reply chat.ReplyHandle, at panelPlace, err error, say string) {
	if at.home && err != nil {
		a.Logger.Warn("slack: a Home tab was not drawn", "err", calls.FaultOf(err))
	} else if undrawn := a.sayDrawn(err); undrawn != "" {
		a.tellLate(reply, cmp.Or(say, undrawn))
	}
}

func (a *Adapter) openFill(ctx context.Context, in inbound.Interaction, f blocks.PanelForm, env chat.Envelope, token string) (say string) {
	p, ok := a.readPanel(ctx, &f, env)
	if !ok {
		return sayNoPanel
	}
	for act := range surface.Acts(p) {
		if act.Token != token {
			continue
		}
		v, ok := blocks.EncodeFillForm(act, f)
		if !ok {
			return sayFillTooLong
		}
		return a.openView(ctx, in, v)
	}
	return sayWasChanged
}

// submitFill does what a form of a panel says. A refusal is said in the form; else it closes, and the panel below says what was done.
func (a *Adapter) submitFill(ctx context.Context, in inbound.Interaction) receipt {
	block := blocks.InputOfForm(blocks.CallbackFill)
	f, ok := a.readPanelForm(string(in.View.Metadata))
	if !ok || a.Settings == nil {
		return receipt{body: formError(block, sayWasChanged)}
	}
	by, no := a.identifyDecider(ctx, string(in.User), "")
	if no != "" {
		return receipt{body: formError(block, no)}
	}
	text := strings.TrimSpace(string(in.Input(block).Value))
	env := chat.Envelope{Delivery: in.Submission(text), Chat: f.Chat(), User: by.User, Name: by.Name, Reply: a.privately("", f.Channel, f.Thread, string(in.User))}
	f, say, ok := a.act(ctx, f, env, f.Token, text)
	if !ok {
		return receipt{body: formError(block, say)}
	}
	at := panelPlace{home: in.View.Previous == "", user: string(in.User), view: string(in.View.Previous)}
	return receipt{after: func(ctx context.Context) { a.redraw(ctx, at, f, env, say) }} // an empty acknowledgement closes this one form
}

func (a *Adapter) drawHome(ctx context.Context, m inbound.HomeOpened) {
	if a.Settings == nil {
		return
	}
	at := panelPlace{home: true, user: m.User, hash: m.Hash}
	by, no := a.identifyDecider(ctx, m.User, "")
	if no != "" {
		a.drawRefused(ctx, at, chat.ReplyHandle{}, no)
		return
	}
	f, _ := blocks.ParsePanelForm(m.Metadata) // none the first time, or of an older version
	f.Place, f.Token = blocks.Place{}, ""
	a.redraw(ctx, at, f, chat.Envelope{Delivery: chat.Delivery("h:" + m.User + ":" + m.Stamp), User: by.User, Name: by.Name}, "")
}
