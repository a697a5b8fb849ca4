package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// The panel of settings is one message that only one person sees. Every click on it is answered by the same message, drawn anew.
//
// A deed is what a button of it does: "nodp:<what>:<page>:<server> <token> <view>". The server stands there only in direct messages
// (tell.go), the view is "=<view>", or "#<name>" of one that is too long for a custom_id. After it there may stand a number, as in
// action.go. Nothing of it has any authority: it is done as whoever clicked, and only what the engine offers them.

// What a deed does.
const (
	deedDo     = "d" // an act
	deedSure   = "y" // the same, after the person confirmed it
	deedPick   = "p" // an option of an act; which one is the select's value
	deedFill   = "f" // opens the form of an act
	deedFillIn = "k" // the same, after the person confirmed it
	deedForm   = "m" // that form
	deedGo     = "g" // opens another view
	deedTab    = "t" // opens the view that is the select's value
	deedPage   = "n" // shows a page
)

// deed is what a button of a panel does.
type deed struct {
	what, token string
	view        string // as it stands in a custom_id
	page        int
	guild       string
}

var deedPattern = regexp.MustCompile(`^nodp:([dypfkmgtn]):([0-9]{1,3}):([1-9][0-9]{0,19})? ([!-~]{1,40}) ([=#][!-~]{0,80})(?: [0-9]{1,14})?$`)

func parseDeed(customID string) (d deed, ok bool) {
	m := deedPattern.FindStringSubmatch(customID)
	if m == nil {
		return deed{}, false
	}
	page, err := strconv.Atoi(m[2])
	return deed{what: m[1], page: page, guild: m[3], token: m[4], view: m[5]}, err == nil
}

// Views whose names are too long for a button, by a short one that is the same on every replica. Where it is not known, whoever clicked
// opens the panel again.
const (
	maxViews  = 4096
	viewsLife = time.Hour
)

var (
	actToken  = regexp.MustCompile(`^[!-~]{1,40}$`)
	inlineRef = regexp.MustCompile(`^=[!-~]{0,80}$`)
)

// noToken stands in a deed that has none.
const noToken = "-"

// pane is what is drawn for whom.
type pane struct {
	env   chat.Envelope
	guild string // of direct messages about a server
	view  string
	page  int
	say   string // what came of the last click
}

// deedID is the custom_id of a deed on a pane.
func (a *Adapter) deedID(at pane, what, token, view string) string {
	head := "nodp:" + what + ":" + strconv.Itoa(at.page) + ":" + at.guild + " " + token + " "
	if ref := "=" + view; inlineRef.MatchString(ref) && len(head)+len(ref) <= maxCustomID-len(" 99") {
		return head + ref
	}
	return head + a.viewRef(view)
}

// viewRef is a short name of a view.
func (a *Adapter) viewRef(view string) string {
	sum := sha256.Sum256([]byte(view))
	name := hex.EncodeToString(sum[:8])
	a.views.put(name, view, a.now())
	return "#" + name
}

func (a *Adapter) viewOf(ref string) (view string, ok bool) {
	if name, short := strings.CutPrefix(ref, "#"); short {
		return a.views.get(name, a.now())
	}
	return strings.CutPrefix(ref, "=")
}

// here is the chat that "here" means in a place, for its settings: none in a channel whose chats are threads.
func (a *Adapter) here(ctx context.Context, at place, c channel) chat.ID {
	if at.Thread == "" && at.Guild != "" && c.hangs() && a.conversation(c.ID) != InChannel {
		if known, err := a.Engine.Knows(ctx, at.id()); err != nil || !known { // it may have been otherwise before
			return chat.ID{}
		}
	}
	return at.id()
}

// paneOf is a view for whoever clicked.
func (a *Adapter) paneOf(ctx context.Context, c click, guild, view string) pane {
	env := a.envelope(c.at, c.in.delivery(), c.by, c.w.handle())
	env.Chat = chat.ID{}
	if guild == "" {
		env.Chat = a.here(ctx, c.at, c.channel)
	}
	return pane{env: env, guild: guild, view: view}
}

// openPanel shows a view in a new message.
func (a *Adapter) openPanel(ctx context.Context, w *answer, at pane) {
	a.showPanel(ctx, w, at, w.show)
}

// showPanel draws a view for one person, and gives it to show.
func (a *Adapter) showPanel(ctx context.Context, w *answer, at pane, show func(context.Context, payload) error) {
	if a.Settings == nil {
		a.tell(ctx, w, sayNoSettings)
		return
	}
	p, err := a.Settings.Panel(ctx, at.env, at.view)
	if no := surface.Refusal(err); no != nil {
		a.tell(ctx, w, joinSay(at.say, no.Say))
		return
	}
	if err != nil {
		a.Logger.Warn("discord: settings could not be read", "err", err)
		a.tell(ctx, w, joinSay(at.say, surface.SayNotRead))
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := show(ctx, a.panelPayload(p, at)); err != nil {
		a.Logger.Warn("discord: settings could not be shown", "err", err)
		a.tell(ctx, w, joinSay(at.say, surface.SayNotOpened))
	}
}

func joinSay(done, say string) string { return strings.TrimSpace(done + " " + say) }

// panelClicked does what a button or a select of a panel says.
func (a *Adapter) panelClicked(ctx context.Context, c click, d deed) {
	at, ok := a.entered(ctx, &c, d)
	if !ok {
		return
	}
	values := c.in.values()
	switch d.what {
	case deedPage:
		a.showPanel(ctx, c.w, at, c.w.update)
	case deedGo:
		at.page = 0
		a.showPanel(ctx, c.w, at, c.w.update)
	case deedTab:
		if len(values) == 1 {
			if at.view, ok = a.viewOf(withoutNumber(values[0])); ok {
				at.page = 0
				a.showPanel(ctx, c.w, at, c.w.update)
				return
			}
		}
		a.become(ctx, c.w, textPayload(literal(sayOldPanel)))
	case deedPick:
		if len(values) != 1 {
			a.tell(ctx, c.w, sayOtherVersion)
			return
		}
		a.does(ctx, c, at, withoutNumber(values[0]), false)
	case deedDo, deedSure:
		a.does(ctx, c, at, d.token, d.what == deedSure)
	case deedFill, deedFillIn:
		a.openFill(ctx, c, at, d.token, d.what == deedFillIn)
	default:
		a.tell(ctx, c.w, sayOtherVersion)
	}
}

// withoutNumber is a select's value without what makes it different from the others.
func withoutNumber(v string) string {
	v, _, _ = strings.Cut(v, " ")
	return v
}

// entered is the pane that a deed belongs to, for whoever clicked. A panel stands on a message that one person sees: it is drawn in
// the place of no other.
func (a *Adapter) entered(ctx context.Context, c *click, d deed) (at pane, ok bool) {
	if c.in.Message == nil || !c.in.Message.isPrivate() {
		a.tell(ctx, c.w, sayOtherVersion)
		return at, false
	}
	if a.Settings == nil {
		a.tell(ctx, c.w, sayNoSettings)
		return at, false
	}
	if d.guild != "" {
		if c.by, ok = a.memberOfGuild(ctx, *c, d.guild); !ok {
			return at, false
		}
	}
	view, ok := a.viewOf(d.view)
	if !ok {
		a.become(ctx, c.w, textPayload(literal(sayOldPanel)))
		return at, false
	}
	at = a.paneOf(ctx, *c, d.guild, view)
	at.page = d.page
	return at, true
}

// does does an act, after the person confirmed it where the view wants that.
func (a *Adapter) does(ctx context.Context, c click, at pane, token string, sure bool) {
	if !sure {
		act, ok, err := a.actOf(ctx, at, token)
		if err != nil {
			a.tell(ctx, c.w, surface.SayNotRead)
			return
		}
		if ok && act.Confirm != "" {
			yes := discordgo.Button{Label: actLabel(act.Label), Style: discordgo.SecondaryButton, CustomID: a.deedID(at, deedSure, token, at.view)}
			if act.Style == render.Danger {
				yes.Style = discordgo.DangerButton
			}
			a.become(ctx, c.w, question(act.Confirm, yes, a.deedID(at, deedPage, noToken, at.view)))
			return
		}
	}
	a.acts(ctx, c, at, token, "")
}

// acts does an act, and shows what came of it above the view.
func (a *Adapter) acts(ctx context.Context, c click, at pane, token, text string) {
	done, err := a.Settings.Act(ctx, at.env, at.view, token, text)
	if no := surface.Refusal(err); no != nil {
		at.say = no.Say
		a.showPanel(ctx, c.w, at, c.w.update)
		return
	}
	if err != nil {
		a.Logger.Error("discord: a change of the settings is not known to be recorded", "err", err)
		a.tell(ctx, c.w, sayNotSet)
		return
	}
	if done.View != at.view {
		at.view, at.page = done.View, 0
	}
	at.say = done.Say
	a.showPanel(ctx, c.w, at, c.w.update)
}

// actOf is what a view offers under a token now: an act, or an option of one, which then has its label.
func (a *Adapter) actOf(ctx context.Context, at pane, token string) (act render.Act, ok bool, err error) {
	p, err := a.Settings.Panel(ctx, at.env, at.view)
	if err != nil && surface.Refusal(err) == nil {
		a.Logger.Warn("discord: settings could not be read", "err", err)
		return act, false, err
	}
	for _, s := range p.Sections {
		for _, r := range s.Rows {
			for _, x := range r.Acts {
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
		}
	}
	return act, false, nil
}

// fieldFill is the custom_id of the input in an act's form.
const fieldFill = "text"

// openFill opens the form of an act. It has to be the first answer, so nothing else was said before.
func (a *Adapter) openFill(ctx context.Context, c click, at pane, token string, sure bool) {
	act, ok, err := a.actOf(ctx, at, token)
	switch {
	case err != nil:
		a.tell(ctx, c.w, surface.SayNotRead)
		return
	case !ok || act.Kind != render.ActFill:
		at.say = sayActGone
		a.showPanel(ctx, c.w, at, c.w.update)
		return
	case act.Confirm != "" && !sure:
		yes := discordgo.Button{Label: sayContinue, Style: discordgo.SecondaryButton, CustomID: a.deedID(at, deedFillIn, token, at.view)}
		a.become(ctx, c.w, question(act.Confirm, yes, a.deedID(at, deedPage, noToken, at.view)))
		return
	}
	if err := c.w.open(ctx, a.fillModal(at, act)); err != nil {
		a.Logger.Warn("discord: a form could not be opened", "err", err)
		a.tell(ctx, c.w, surface.SayNotOpened)
	}
}

func (a *Adapter) fillModal(at pane, act render.Act) *discordgo.InteractionResponseData {
	label := actLabel(act.Label)
	in := discordgo.TextInput{
		CustomID: fieldFill, Label: surface.AtMost(label, maxInputLabel), Placeholder: surface.AtMost(oneLine(act.Like), maxInputHint),
		Style: discordgo.TextInputShort, MaxLength: maxInput,
	}
	if act.Max > 0 {
		in.MaxLength = min(act.Max, maxInput)
	}
	if in.MaxLength > longText {
		in.Style = discordgo.TextInputParagraph
	}
	if v := visible(act.Value); surface.Width(v) <= in.MaxLength {
		in.Value = v
	}
	return &discordgo.InteractionResponseData{
		CustomID: a.deedID(at, deedForm, act.Token, at.view), Title: surface.AtMost(label, maxModalTitle),
		Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{in}}},
	}
}

// panelFilled does an act with what somebody typed.
func (a *Adapter) panelFilled(ctx context.Context, c click, d deed) {
	if d.what != deedForm {
		a.tell(ctx, c.w, sayOtherVersion)
		return
	}
	if at, ok := a.entered(ctx, &c, d); ok {
		a.acts(ctx, c, at, d.token, strings.TrimSpace(valueOf(c.in.Data.Components, fieldFill)))
	}
}
