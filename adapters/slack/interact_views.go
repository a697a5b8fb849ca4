package slack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Opening a modal takes a trigger, which lives for three seconds: these run right after the acknowledgement.

// showDetails opens all of what a button stands for.
func (a *Adapter) showDetails(ctx context.Context, in interaction, f form, reply chat.ReplyHandle) {
	s, err := a.Engine.Session(ctx, f.Place.id())
	if err != nil {
		a.Logger.Warn("slack: details could not be read", "chat", f.Place.id(), "err", err)
		a.let(ctx, reply, surface.SayNotRead)
		return
	}
	d, ok := turn.Details(s, f.Token)
	if !ok {
		a.let(ctx, reply, surface.SayNoDetails)
		return
	}
	a.open(ctx, in, detailsView(d, f), reply)
}

// showWhy opens the answer to "Why am I asked?", which is that of one person. Without settings it is what the details say of it.
func (a *Adapter) showWhy(ctx context.Context, in interaction, f form, env chat.Envelope) {
	if a.Settings == nil {
		a.showDetails(ctx, in, f, env.Reply)
		return
	}
	d, err := a.Settings.Why(ctx, env, f.Token)
	if no := surface.Refusal(err); no != nil {
		a.let(ctx, env.Reply, no.Say)
		return
	}
	if err != nil {
		a.Logger.Warn("slack: why somebody is asked could not be read", "chat", f.Place.id(), "err", err)
		a.let(ctx, env.Reply, surface.SayNotRead)
		return
	}
	a.open(ctx, in, detailsView(d, f), env.Reply)
}

// reveal opens what a card masks, for one person. It is on record before they see it.
func (a *Adapter) reveal(ctx context.Context, in interaction, f form, env chat.Envelope) {
	d, err := a.revealed(ctx, f, env)
	if no := surface.Refusal(err); no != nil {
		a.let(ctx, env.Reply, no.Say)
		return
	}
	if err != nil {
		a.Logger.Error("slack: a click was not recorded", "chat", env.Chat, "choice", f.Choice, "err", err)
		a.let(ctx, env.Reply, surface.SayNotRecorded)
		return
	}
	a.open(ctx, in, detailsView(d, f), env.Reply)
}

func (a *Adapter) revealed(ctx context.Context, f form, env chat.Envelope) (render.Details, error) {
	out, err := a.Engine.Decide(ctx, chat.Clicked{Envelope: env, Token: f.Token, Choice: chat.Reveal, Message: f.Message})
	return surface.Hidden(out), err
}

// openForm opens the form for a reason, or for other arguments.
func (a *Adapter) openForm(ctx context.Context, in interaction, f form, reply chat.ReplyHandle) {
	s, err := a.Engine.Session(ctx, f.Place.id())
	if err != nil {
		a.Logger.Warn("slack: a form could not be filled in", "chat", f.Place.id(), "err", err)
		a.let(ctx, reply, surface.SayNotRead)
		return
	}
	call, ok := askedFor(s, f.Token)
	if !ok {
		a.let(ctx, reply, surface.SayNotOpen)
		return
	}
	if f.Choice == chat.DenyReason {
		a.open(ctx, in, denyView(f, surface.CallLine(call)), reply)
		return
	}
	if !turn.CanEdit(call) { // a masked secret would stand in the form
		a.let(ctx, reply, render.NotEditable())
		return
	}
	view, ok := editView(f, surface.CallLine(call), string(call.Args))
	if !ok {
		a.let(ctx, reply, sayTooLongToEdit)
		return
	}
	a.open(ctx, in, view, reply)
}

// takable is the view, or where Slack would refuse it one that says so: a click must not be answered by nothing.
func (a *Adapter) takable(v slack.ModalViewRequest) slack.ModalViewRequest {
	err := checkView(v)
	if err == nil {
		return v
	}
	a.Logger.Error("slack: a view breaks a rule of Slack's; showing that it cannot be shown", "err", err)
	simple := modal(saySettings, sayClose)
	simple.Blocks.BlockSet = []slack.Block{slack.NewSectionBlock(plainText(sayNotDrawn), nil, nil)}
	if v.CallbackID == callbackPanel { // its buttons are gone; what it is stays known
		simple.CallbackID, simple.PrivateMetadata = v.CallbackID, v.PrivateMetadata
	}
	return simple
}

func askedFor(s turn.Session, ask string) (turn.ToolCall, bool) {
	for _, c := range turn.OpenAsks(s) {
		if ask != "" && string(c.Ask) == ask {
			return c, true
		}
	}
	return turn.ToolCall{}, false
}

func (a *Adapter) open(ctx context.Context, in interaction, view slack.ModalViewRequest, reply chat.ReplyHandle) {
	a.openWith(ctx, string(in.Trigger), view, reply)
}

func (a *Adapter) openWith(ctx context.Context, trigger string, view slack.ModalViewRequest, reply chat.ReplyHandle) {
	_, err := a.api.OpenViewContext(ctx, trigger, a.takable(view))
	switch {
	case err == nil:
	case tooOld(err):
		a.let(ctx, reply, sayWindowClosed)
	default:
		a.Logger.Error("slack: a form could not be opened", "err", faultOf(err))
		a.let(ctx, reply, surface.SayNotOpened)
	}
}

// turnPage shows another page of the details that are open.
func (a *Adapter) turnPage(ctx context.Context, in interaction, act slack.BlockAction) {
	f, err := parseForm(string(in.View.Metadata))
	if err != nil || f.Place.Team != a.self.Team {
		return
	}
	if f.Page, err = strconv.Atoi(act.Value); err != nil {
		return
	}
	d, ok := a.pageOf(ctx, in, f)
	if !ok {
		return
	}
	// The hash makes an update that comes after a later one fail, instead of turning back.
	_, err = a.api.UpdateViewContext(ctx, detailsView(d, f), "", string(in.View.Hash), string(in.View.ID))
	if err != nil {
		a.Logger.Info("slack: a page was not turned", "err", faultOf(err))
	}
}

// pageOf reads again what a modal shows.
func (a *Adapter) pageOf(ctx context.Context, in interaction, f form) (d render.Details, ok bool) {
	if f.Choice == chat.Why && a.Settings != nil {
		by, no := a.decider(ctx, string(in.User), chat.Why)
		if no != "" {
			return d, false
		}
		d, err := a.Settings.Why(ctx, a.envelope(f.Place, "", by, chat.ReplyHandle{}), f.Token)
		return d, err == nil
	}
	if f.Choice == chat.Reveal {
		by, no := a.decider(ctx, string(in.User), chat.Reveal)
		if no != "" {
			return d, false
		}
		d, err := a.revealed(ctx, f, a.envelope(f.Place, in.submission(f.Token), by, chat.ReplyHandle{}))
		return d, err == nil
	}
	s, err := a.Engine.Session(ctx, f.Place.id())
	if err != nil {
		a.Logger.Warn("slack: details could not be read", "chat", f.Place.id(), "err", err)
		return d, false
	}
	return turn.Details(s, f.Token)
}

// shortSum names a text, without repeating it.
func shortSum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:6])
}
