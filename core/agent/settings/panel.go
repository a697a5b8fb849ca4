package settings

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
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
		return render.Panel{View: viewHome, Title: text.PanelTitle, Sections: []render.Section{{Empty: text.WhoAreYou}}}, nil
	}
	q, err := s.newRequest(ctx, env)
	if err != nil {
		return render.Panel{}, err
	}
	p, _, err := q.draw(ctx, view)
	return p, err
}

// Act does what a person chose in a panel: token is that of an act or option which the view offers them now, entered what they filled in. It
// returns a [*decision.Refusal] for what is not offered (any more), not theirs, or not taken.
func (s *Settings) Act(ctx context.Context, env chat.Envelope, view, token, entered string) (Done, error) {
	switch {
	case env.User.IsZero():
		return Done{}, &decision.Refusal{Code: decision.RefusedNotYours, Say: text.WhoAreYou}
	case !utf8.ValidString(entered) || utf8.RuneCountInString(entered) > MaxFill:
		return Done{}, &decision.Refusal{Code: decision.RefusedArguments, Say: text.TooLongFill(MaxFill)}
	}
	q, err := s.newRequest(ctx, env)
	if err != nil {
		return Done{}, err
	}
	p, offers, err := q.draw(ctx, view)
	if err != nil {
		return Done{}, err
	}
	if a, offered := offers[token]; offered {
		return q.do(ctx, a, entered)
	}
	if done, err := q.delivered(ctx); done || err != nil {
		return Done{View: p.View}, err // the same delivery again: it was done then
	}
	return Done{}, &decision.Refusal{Code: decision.RefusedUnknown, Say: text.NotInPanel}
}

// delivered reports whether what this delivery brought is on record, in the settings or in the chat.
func (q *request) delivered(ctx context.Context) (bool, error) {
	log, err := q.Engine.Session(ctx, agent.SettingsChat)
	return agent.Delivered(log, q.env) || agent.Delivered(q.here, q.env), err
}

// Views of the panel. Those that end in a colon go on with what they show.
const (
	viewHome      = "home"
	viewGrants    = "grants"
	viewServers   = "servers"
	viewServer    = "server:"
	viewTool      = "tool:"
	viewInstall   = "install:"
	viewMine      = "mine"
	viewTemplates = "templates"
	viewTemplate  = "template:"
	viewHistory   = "history"
	viewStats     = "stats"
)

// views draw each view. Those with a label have a tab, the others stand under one. What is drawn without a section is not there, or not for
// this person.
var views = []struct {
	name, tab, label string
	draw             func(*page, context.Context) render.Panel
}{
	{viewHome, viewHome, text.TabHome, (*page).homeView},
	{viewGrants, viewGrants, text.TabGrants, (*page).grantsView},
	{viewServers, viewServers, text.TabServers, (*page).serversView},
	{viewServer, viewServers, "", (*page).serverView},
	{viewTool, viewServers, "", (*page).toolView},
	{viewInstall, viewServers, "", (*page).installView},
	{viewMine, viewMine, text.TabMine, (*page).mineView},
	{viewTemplates, viewTemplates, text.TabTemplates, (*page).templatesView},
	{viewTemplate, viewTemplates, "", (*page).templateView},
	{viewHistory, viewHistory, text.TabHistory, (*page).historyView},
	{viewHistory + ":", viewHistory, "", (*page).historyView},
	{viewStats, viewStats, text.TabStats, (*page).statsView},
}

// page is a view in the making, and what it offers. Nothing else changes when it is drawn.
type page struct {
	*request
	view   string
	review render.Section    // for admins: the servers with tools that nobody reviewed
	offers map[string]action // by token
}

// draw makes a view, or the first one where there is no such view, and says what it offers.
func (q *request) draw(ctx context.Context, view string) (render.Panel, map[string]action, error) {
	p := page{request: q, view: cmp.Or(view, viewHome), offers: map[string]action{}}
	news := 0
	if q.admin {
		p.review, news = q.toReview(ctx)
	}
	drawn, tab := render.Panel{}, ""
	for _, v := range views {
		if p.view == v.name || strings.HasSuffix(v.name, ":") && strings.HasPrefix(p.view, v.name) {
			drawn, tab = v.draw(&p, ctx), v.tab
		}
	}
	switch {
	case q.err != nil:
		return render.Panel{}, nil, q.err
	case len(drawn.Sections) == 0:
		return q.draw(ctx, viewHome)
	}
	drawn.View, drawn.Banner, drawn.News = p.view, q.banner(), news
	for _, v := range views {
		if v.name == viewServers {
			v.label = text.ServersTab(news)
		}
		if v.label != "" {
			drawn.Tabs = append(drawn.Tabs, render.Act{Kind: render.ActGo, Label: v.label, View: v.name, Current: v.name == tab})
		}
	}
	return drawn, p.offers, nil
}

// banner is what everybody should see first.
func (q *request) banner() []render.Line {
	halted := ""
	if h := q.settings.Halted; h != nil {
		halted = text.HaltedBy(sanitize(h.Name))
	}
	asks := map[permission.Mode]string{permission.ModeAlways: text.AlwaysAsks, permission.ModeNever: text.NeverAsks}
	return linesOf(halted, asks[q.here.Mode])
}

// offer gives the button for an action. Its token is the same for the same action on what stands so (rev), on every replica. It has no
// authority: what it stands for is looked up among what the view offers to whoever clicks, when they click.
func (p *page) offer(label, rev string, a action) render.Act {
	token := digestOf(p.view, a.id(), rev)
	p.offers[token] = a
	return render.Act{Kind: render.ActDo, Token: token, Label: label}
}

// offerDangerous is [page.offer] of what has to be confirmed.
func (p *page) offerDangerous(label, confirm, rev string, a action) render.Act {
	act := p.offer(label, rev, a)
	act.Confirm, act.Style = confirm, render.Danger
	return act
}

// option is one thing that can be picked. One with a confirm that is not current becomes a button of its own.
type option struct {
	label, confirm string
	current        bool
	action         action
}

// pick offers options: a select for those that are safe, a button for each that has to be confirmed.
func (p *page) pick(label, rev string, options []option) []render.Act {
	sel := render.Act{Kind: render.ActPick, Label: label}
	tokens := []string{p.view, label}
	var apart []render.Act
	for _, o := range options {
		if o.confirm != "" && !o.current {
			a := p.offerDangerous(o.label, o.confirm, rev, o.action)
			a.Hint = label + ": " + o.label
			apart = append(apart, a)
			continue
		}
		a := p.offer(o.label, rev, o.action)
		tokens = append(tokens, a.Token)
		sel.Options = append(sel.Options, render.Option{Token: a.Token, Label: o.label, Current: o.current})
	}
	if len(sel.Options) == 0 {
		return apart
	}
	sel.Token = digestOf(tokens...)
	return append([]render.Act{sel}, apart...)
}

func goTo(label, view string) render.Act {
	return render.Act{Kind: render.ActGo, Label: label, View: view}
}

// drawing is a panel of those sections that there are.
func drawing(title string, sections ...render.Section) render.Panel {
	sections = slices.DeleteFunc(sections, func(s render.Section) bool { return s.Title+s.Note+s.Empty == "" && len(s.Rows) == 0 })
	return render.Panel{Title: title, Sections: sections}
}

func plainLine(s string) render.Line { return render.Line{render.Plain(s)} }

// linesOf are those lines that there are.
func linesOf(lines ...string) (out []render.Line) {
	for _, l := range lines {
		if l != "" {
			out = append(out, plainLine(l))
		}
	}
	return out
}

// titled is a row about something that has a name.
func titled(name, says string, details ...string) render.PanelRow {
	return render.PanelRow{Line: render.Line{render.Strong(sanitize(name)), render.Plain(" · " + says)}, Details: linesOf(details...)}
}

// row is one line with what can be done about it.
func row(s string, acts ...render.Act) render.PanelRow {
	return render.PanelRow{Line: plainLine(s), Acts: acts}
}

func rowsOf(lines ...string) []render.PanelRow {
	return rowsFor(linesOf(lines...), func(l render.Line) render.PanelRow { return render.PanelRow{Line: l} })
}

// rowsFor draws a row for the first of many, and says how many more there are.
func rowsFor[T any](all []T, draw func(T) render.PanelRow) (rows []render.PanelRow) {
	for i, x := range all {
		if i == maxPanelRows {
			return append(rows, row(text.AndMore(len(all)-i)))
		}
		rows = append(rows, draw(x))
	}
	return rows
}

// notLookedAt says how many chats were left out, if any were.
func notLookedAt(left int) []string {
	if left == 0 {
		return nil
	}
	return []string{text.ChatsNotLookedAt(left)}
}
