package components

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Panel draws a view of the settings. What does not fit into one message stands on further pages: nothing is left out. The same
// view gives the same pages.
func Panel(p render.Panel, at PanelPage) (Payload, LongViews) {
	at.View = p.View // what the engine shows may be another one than was asked for
	d := panelDrawing{p: p, at: at, rows: rowsOf(p)}
	pages := d.paginate()
	d.views = LongViews{} // of the page that is drawn
	d.at.Page = min(max(at.Page, 0), len(pages)-1)
	s := d.draw(pages[d.at.Page], len(pages))
	state := render.Done
	if len(p.Banner) > 0 {
		state = render.Waiting
	}
	return s.payload(state), d.views
}

// panelDrawing is a panel being drawn.
type panelDrawing struct {
	p     render.Panel
	at    PanelPage
	rows  []panelRow
	views LongViews
}

// panelRow is a row of a section, or as much of one as there is room for in a message.
type panelRow struct {
	section int
	row     int // counted over the whole panel, from 1; 0: the section has none
	lines   []string
	acts    []render.Act
}

// How much of one row stands together.
const (
	rowText = 1200 // characters, markup included
	rowActs = 8    // a select, or a button each; an act with many options counts as several
)

// rowsOf cuts a panel into what is never parted.
func rowsOf(p render.Panel) (out []panelRow) {
	n := 0
	for i, s := range p.Sections {
		if len(s.Rows) == 0 {
			out = append(out, panelRow{section: i, lines: []string{subtext(literal(s.Empty))}})
		}
		for _, r := range s.Rows {
			n++
			out = append(out, cutRow(panelRow{section: i, row: n}, r)...)
		}
	}
	return out
}

func cutRow(like panelRow, r render.PanelRow) []panelRow {
	var lines []string
	for _, l := range r.Details {
		if l := lineOf(l, nil); l != "" {
			lines = append(lines, subtext(l))
		}
	}
	if l := lineOf(r.Line, nil); l != "" {
		lines = append([]string{l}, lines...)
	}
	out := []panelRow{like}
	room := rowText
	for _, l := range lines {
		l = surface.Within(l, rowText)
		last := &out[len(out)-1]
		if room -= surface.Width(l) + 1; room < 0 && len(last.lines) > 0 {
			out, room = append(out, like), rowText-surface.Width(l)
			last = &out[len(out)-1]
		}
		last.lines = append(last.lines, l)
	}
	room = rowActs
	for _, act := range drawable(r.Acts) {
		last := &out[len(out)-1]
		if room -= 1 + len(act.Options)/maxOptions; room < 0 && len(last.acts) > 0 {
			out, room = append(out, like), rowActs-1
			last = &out[len(out)-1]
		}
		last.acts = append(last.acts, act)
	}
	return out
}

// drawable are acts that can be chosen here. Selects have at most so many options that they stand in one message.
func drawable(acts []render.Act) (out []render.Act) {
	for _, x := range acts {
		switch {
		case x.Kind == render.ActPick:
			options := slices.DeleteFunc(slices.Clone(x.Options), func(o render.Option) bool { return !actToken.MatchString(o.Token) })
			for x.Options = range slices.Chunk(options, rowActs*maxOptions) {
				out = append(out, x)
			}
		case x.Kind == render.ActGo,
			(x.Kind == render.ActDo || x.Kind == render.ActFill) && actToken.MatchString(x.Token),
			x.Kind == render.ActLink && AddressOf(x.Link) != "":
			out = append(out, x)
		}
	}
	return out
}

// paginate puts rows on pages, on each as many as there is room for.
func (d *panelDrawing) paginate() (all [][]panelRow) {
	rest := d.rows
	for len(rest) > 0 {
		n := 1
		for n < len(rest) && d.fits(rest[:n+1]) {
			n++
		}
		all, rest = append(all, rest[:n]), rest[n:]
	}
	if all == nil {
		all = [][]panelRow{nil}
	}
	return all
}

// fits reports whether so many rows fit on a page, below the longest that may have come of the last click: else the pages would be
// others before and after it.
func (d *panelDrawing) fits(rows []panelRow) bool {
	like := *d
	like.at.Say, like.views = ".", LongViews{}
	s := like.draw(rows, 2)
	s.chars += 2*maxSay + len("> ****\n")
	s.bytes += 4*maxSay + len("> ****\n")
	return s.fits()
}

// draw draws one of so many pages.
func (d *panelDrawing) draw(rows []panelRow, pages int) *encoder {
	s := &encoder{ids: names{}, count: 1}
	if say := strong(surface.Within(surface.OneLine(d.at.Say), maxSay)); say != "" {
		s.say("> " + say)
	}
	if title := strings.TrimSpace(surface.OneLine(d.p.Title)); title != "" {
		s.say("## " + literal(surface.AtMost(title, maxTitle)))
	}
	for _, l := range d.p.Banner[:min(len(d.p.Banner), maxBanners)] {
		if l := lineOf(l, nil); l != "" {
			s.say("> " + surface.Within(l, maxBanner))
		}
	}
	d.addTabs(s)
	section := -1
	for _, r := range rows {
		if r.section != section {
			section = r.section
			d.addHeading(s, d.p.Sections[section], r)
		}
		d.addPanelRow(s, r)
	}
	if len(d.p.Sections) == 0 {
		s.say(subtext(literal(sayNothingHere)))
	}
	if pages > 1 {
		d.addPages(s, rows, pages)
	}
	s.flush()
	return s
}

// What stands above the rows, in characters: together with the longest row it fits into one message, in any alphabet.
const (
	maxSay     = 300
	maxBanner  = 200
	maxBanners = 3
	maxTitle   = 100
	maxNote    = 200
)

// addHeading draws a section's title, and its note above its first row.
func (d *panelDrawing) addHeading(s *encoder, of render.Section, first panelRow) {
	s.flush()
	s.say(heading(surface.AtMost(surface.OneLine(of.Title), maxTitle)))
	i := slices.IndexFunc(d.rows, func(x panelRow) bool { return x.section == first.section })
	if d.rows[i].row == first.row {
		s.say(subtext(literal(surface.Within(of.Note, maxNote))))
	}
}

// addTabs adds what leads to the other views: a row of buttons where they are few, else a select.
func (d *panelDrawing) addTabs(s *encoder) {
	tabs := d.p.Tabs[:min(len(d.p.Tabs), maxOptions)]
	var row []discordgo.MessageComponent
	var options []discordgo.SelectMenuOption
	values := names{}
	for _, t := range tabs {
		if len(tabs) <= maxRow {
			b := d.encodeAct(s, t)
			b.Disabled = t.Current
			row = append(row, b)
			continue
		}
		ref := "=" + t.View
		if !inlineRef.MatchString(ref) {
			ref = d.views.ref(t.View)
		}
		options = append(options, discordgo.SelectMenuOption{Label: surface.Label(t.Label, maxOption, "…"), Value: values.unique(ref, ""), Default: t.Current})
	}
	switch {
	case len(row) > 0:
		s.addRow(row...)
	case len(options) > 0:
		d.addSelect(s, d.actionID(s, PanelTab, noToken), sayViews, options)
	}
}

func (d *panelDrawing) actionID(s *encoder, what, token string) string {
	return s.ids.unique(d.views.customID(d.at, what, token, d.at.View), "")
}

func (d *panelDrawing) addSelect(s *encoder, id, placeholder string, options []discordgo.SelectMenuOption) {
	one := false // Discord takes one default
	for i := range options {
		options[i].Default = options[i].Default && !one
		one = one || options[i].Default
	}
	s.addRow(discordgo.SelectMenu{CustomID: id, Placeholder: surface.AtMost(surface.OneLine(placeholder), maxPlaceholder), Options: options})
}

// addPanelRow draws a row: beside its one button, or above its buttons and selects.
func (d *panelDrawing) addPanelRow(s *encoder, r panelRow) {
	if len(r.acts) == 1 && r.acts[0].Kind != render.ActPick && len(r.lines) > 0 {
		text := strings.Join(r.lines, "\n")
		s.add(discordgo.Section{Components: []discordgo.MessageComponent{discordgo.TextDisplay{Content: text}}, Accessory: d.encodeAct(s, r.acts[0])}, 3)
		s.chars += surface.Width(text)
		s.bytes += len(text) + textOverhead
		return
	}
	s.say(r.lines...)
	var row []discordgo.MessageComponent
	for i, act := range r.acts {
		if act.Kind == render.ActPick {
			d.addPicks(s, act)
			continue
		}
		row = append(row, d.encodeAct(s, act))
		if len(row) == maxRow || i == len(r.acts)-1 || r.acts[i+1].Kind == render.ActPick {
			s.addRow(row...)
			row = nil
		}
	}
}

// addPicks draws the options of an act, in as many selects as they need.
func (d *panelDrawing) addPicks(s *encoder, act render.Act) {
	from := 1
	for part := range slices.Chunk(act.Options, maxOptions) {
		placeholder := surface.Label(act.Label, maxLabel, "…")
		if len(act.Options) > maxOptions {
			placeholder += " · " + sayRows(from, from+len(part)-1, len(act.Options))
		}
		var options []discordgo.SelectMenuOption
		values := names{}
		for _, o := range part {
			options = append(options, discordgo.SelectMenuOption{Label: surface.Label(o.Label, maxOption, "…"), Value: values.unique(o.Token, ""), Default: o.Current})
		}
		token := act.Token
		if !actToken.MatchString(token) {
			token = noToken
		}
		d.addSelect(s, d.actionID(s, PanelPick, token), placeholder, options)
		from += len(part)
	}
}

// encodeAct draws an act that is no select.
func (d *panelDrawing) encodeAct(s *encoder, act render.Act) discordgo.Button {
	b := actButton(act)
	switch act.Kind {
	case render.ActGo:
		b.CustomID = s.ids.unique(d.views.customID(d.at, PanelGo, noToken, act.View), "")
	case render.ActFill:
		b.CustomID = d.actionID(s, PanelFill, act.Token)
	case render.ActLink:
		b.Style, b.URL = discordgo.LinkButton, AddressOf(act.Link)
	default:
		b.CustomID = d.actionID(s, PanelDo, act.Token)
	}
	return b
}

// actButton is the button of an act that does nothing yet.
func actButton(act render.Act) discordgo.Button {
	b := button(surface.Label(act.Label, maxLabel, "…"), "")
	if act.Style == render.Danger {
		b.Style = discordgo.DangerButton
	}
	return b
}

// addPages adds what stands below a panel of several pages.
func (d *panelDrawing) addPages(s *encoder, rows []panelRow, pages int) {
	from, to := spanOf(rows)
	_, all := spanOf(d.rows)
	if from > 0 {
		s.say(subtext(literal(sayRows(from, to, all))))
	}
	turn := func(label string, page int) discordgo.Button {
		at := d.at
		at.Page = max(page, 0)
		b := button(label, s.ids.unique(d.views.customID(at, PanelTurn, noToken, at.View), ""))
		b.Disabled = page < 0 || page >= pages
		return b
	}
	s.addRow(turn(sayPrevious, d.at.Page-1), turn(sayNext, d.at.Page+1))
}

// spanOf is the first and the last row among some; 0: there is none.
func spanOf(rows []panelRow) (from, to int) {
	for _, r := range rows {
		from, to = cmp.Or(from, r.row), max(to, r.row)
	}
	return from, to
}

// AddressOf is where a link of a panel leads: to a message of this platform, or to its chat.
func AddressOf(l render.ChatLink) string {
	id, err := chat.ParseID(l.Chat)
	p, ok := ids.PlaceOf(id)
	if err != nil || !ok {
		return ""
	}
	if ids.IsSnowflake(l.Message) {
		return p.LinkTo(l.Message)
	}
	return p.Link()
}

// FieldFill is the custom_id of the input in an act's form.
const FieldFill = "text"

// FillModal is the form of an act.
func FillModal(at PanelPage, act render.Act) (*Modal, LongViews) {
	views := LongViews{}
	label := surface.Label(act.Label, maxLabel, "…")
	in := discordgo.TextInput{
		CustomID: FieldFill, Label: surface.AtMost(label, maxInputLabel), Placeholder: surface.AtMost(surface.OneLine(act.Like), maxInputHint),
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
	return modal(views.customID(at, PanelForm, act.Token, at.View), label, in), views
}

// ConfirmAct asks whether an act is meant. [ConfirmFill] asks the same before the form of one is opened.
func ConfirmAct(at PanelPage, act render.Act, token string) (Payload, LongViews) {
	return confirmOn(at, act.Confirm, actButton(act), PanelSure, token)
}

func ConfirmFill(at PanelPage, act render.Act, token string) (Payload, LongViews) {
	return confirmOn(at, act.Confirm, button(sayContinue, ""), PanelFillSure, token)
}

func confirmOn(at PanelPage, say string, yes discordgo.Button, what, token string) (Payload, LongViews) {
	views := LongViews{}
	yes.CustomID = views.customID(at, what, token, at.View)
	return question(say, yes, views.customID(at, PanelTurn, noToken, at.View)), views
}
