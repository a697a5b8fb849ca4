package discord

import (
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// panelPayload draws a view of the settings. What does not fit into one message stands on further pages: nothing is left out. The same
// view gives the same pages.
func (a *Adapter) panelPayload(p render.Panel, at pane) payload {
	at.view = p.View // what the engine shows may be another one than was asked for
	d := panelDrawing{a: a, p: p, at: at, rows: rowsOf(p)}
	pages := d.pages()
	d.at.page = min(max(at.page, 0), len(pages)-1)
	s := d.draw(pages[d.at.page], len(pages))
	accent := accents[render.Done]
	if len(p.Banner) > 0 {
		accent = accents[render.Waiting]
	}
	return payload{Components: []discordgo.MessageComponent{discordgo.Container{AccentColor: &accent, Components: s.parts}}}
}

// panelDrawing is a panel being drawn.
type panelDrawing struct {
	a    *Adapter
	p    render.Panel
	at   pane
	rows []panelRow
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
		switch x.Kind {
		case render.ActPick:
			x.Options = slices.DeleteFunc(slices.Clone(x.Options), func(o render.Option) bool { return !actToken.MatchString(o.Token) })
			for part := range slices.Chunk(x.Options, rowActs*maxOptions) {
				y := x
				y.Options = part
				out = append(out, y)
			}
			continue
		case render.ActDo, render.ActFill:
			if !actToken.MatchString(x.Token) {
				continue
			}
		case render.ActLink:
			if addressOf(x.Link) == "" {
				continue
			}
		case render.ActGo:
		default:
			continue
		}
		out = append(out, x)
	}
	return out
}

// pages are the rows of each page: as many as there is room for.
func (d *panelDrawing) pages() (all [][]panelRow) {
	rest := d.rows
	for len(rest) > 0 {
		n := 1
		for n < len(rest) && d.holds(rest[:n+1]) {
			n++
		}
		all, rest = append(all, rest[:n]), rest[n:]
	}
	if all == nil {
		all = [][]panelRow{nil}
	}
	return all
}

// holds reports whether so many rows fit on a page, below the longest that may have come of the last click: else the pages would be
// others before and after it.
func (d *panelDrawing) holds(rows []panelRow) bool {
	like := *d
	like.at.say = "."
	s := like.draw(rows, 2)
	s.chars += 2*maxSay + len("> ****\n")
	s.bytes += 4*maxSay + len("> ****\n")
	return s.roomy()
}

// draw draws one of so many pages.
func (d *panelDrawing) draw(rows []panelRow, pages int) *sheet {
	s := &sheet{ids: names{}, count: 1}
	if say := strong(surface.Within(oneLine(d.at.say), maxSay)); say != "" {
		s.say("> " + say)
	}
	if title := strings.TrimSpace(oneLine(d.p.Title)); title != "" {
		s.say("## " + literal(surface.AtMost(title, maxTitle)))
	}
	for _, l := range d.p.Banner[:min(len(d.p.Banner), maxBanners)] {
		if l := lineOf(l, nil); l != "" {
			s.say("> " + surface.Within(l, maxBanner))
		}
	}
	d.tabs(s)
	section := -1
	for _, r := range rows {
		if r.section != section {
			section = r.section
			d.heading(s, d.p.Sections[section], r)
		}
		d.row(s, r)
	}
	if len(d.p.Sections) == 0 {
		s.say(subtext(literal(sayNothingHere)))
	}
	if pages > 1 {
		d.turning(s, rows, pages)
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

func (d *panelDrawing) heading(s *sheet, of render.Section, first panelRow) {
	s.flush()
	if title := strings.TrimSpace(oneLine(of.Title)); title != "" {
		s.say("### " + literal(surface.AtMost(title, maxTitle)))
	}
	if d.begins(first) {
		s.say(subtext(literal(surface.Within(of.Note, maxNote))))
	}
}

// begins reports whether a row is the first of its section.
func (d *panelDrawing) begins(r panelRow) bool {
	i := slices.IndexFunc(d.rows, func(x panelRow) bool { return x.section == r.section })
	return d.rows[i].row == r.row
}

// tabs lead to the other views: a row of buttons where they are few, else a select.
func (d *panelDrawing) tabs(s *sheet) {
	tabs := d.p.Tabs[:min(len(d.p.Tabs), maxOptions)]
	if len(tabs) == 0 {
		return
	}
	if len(tabs) <= maxRow {
		var row []discordgo.MessageComponent
		for _, t := range tabs {
			b := d.button(s, t)
			b.Disabled = t.Current
			row = append(row, b)
		}
		s.add(discordgo.ActionsRow{Components: row}, 1+len(row))
		return
	}
	var options []discordgo.SelectMenuOption
	values := names{}
	for _, t := range tabs {
		ref := "=" + t.View
		if !inlineRef.MatchString(ref) {
			ref = d.a.viewRef(t.View)
		}
		options = append(options, discordgo.SelectMenuOption{Label: optionLabel(t.Label), Value: values.unique(ref, ""), Default: t.Current})
	}
	d.selection(s, d.id(s, deedTab, noToken), sayViews, options)
}

func (d *panelDrawing) id(s *sheet, what, token string) string {
	return s.ids.unique(d.a.deedID(d.at, what, token, d.at.view), "")
}

func (d *panelDrawing) selection(s *sheet, id, placeholder string, options []discordgo.SelectMenuOption) {
	one := false // Discord takes one default
	for i := range options {
		options[i].Default = options[i].Default && !one
		one = one || options[i].Default
	}
	s.add(discordgo.ActionsRow{Components: []discordgo.MessageComponent{discordgo.SelectMenu{
		CustomID: id, Placeholder: surface.AtMost(oneLine(placeholder), maxPlaceholder), Options: options,
	}}}, 2)
}

// row draws a row: beside its one button, or above its buttons and selects.
func (d *panelDrawing) row(s *sheet, r panelRow) {
	if len(r.acts) == 1 && r.acts[0].Kind != render.ActPick && len(r.lines) > 0 {
		s.flush()
		text := strings.Join(r.lines, "\n")
		s.add(discordgo.Section{Components: []discordgo.MessageComponent{discordgo.TextDisplay{Content: text}}, Accessory: d.button(s, r.acts[0])}, 3)
		s.chars += surface.Width(text)
		s.bytes += len(text) + textOverhead
		return
	}
	s.say(r.lines...)
	var row []discordgo.MessageComponent
	flush := func() {
		if len(row) > 0 {
			s.add(discordgo.ActionsRow{Components: row}, 1+len(row))
			row = nil
		}
	}
	for _, act := range r.acts {
		if act.Kind == render.ActPick {
			flush()
			d.picks(s, act)
			continue
		}
		if row = append(row, d.button(s, act)); len(row) == maxRow {
			flush()
		}
	}
	flush()
}

// picks draws the options of an act, in as many selects as they need.
func (d *panelDrawing) picks(s *sheet, act render.Act) {
	from := 1
	for part := range slices.Chunk(act.Options, maxOptions) {
		placeholder := actLabel(act.Label)
		if len(act.Options) > maxOptions {
			placeholder += " · " + sayRows(from, from+len(part)-1, len(act.Options))
		}
		var options []discordgo.SelectMenuOption
		values := names{}
		for _, o := range part {
			options = append(options, discordgo.SelectMenuOption{Label: optionLabel(o.Label), Value: values.unique(o.Token, ""), Default: o.Current})
		}
		token := act.Token
		if !actToken.MatchString(token) {
			token = noToken
		}
		d.selection(s, d.id(s, deedPick, token), placeholder, options)
		from += len(part)
	}
}

// button draws an act that is no select.
func (d *panelDrawing) button(s *sheet, act render.Act) discordgo.Button {
	b := discordgo.Button{Label: actLabel(act.Label), Style: discordgo.SecondaryButton}
	if act.Style == render.Danger {
		b.Style = discordgo.DangerButton
	}
	switch act.Kind {
	case render.ActGo:
		b.CustomID = s.ids.unique(d.a.deedID(d.at, deedGo, noToken, act.View), "")
	case render.ActFill:
		b.CustomID = d.id(s, deedFill, act.Token)
	case render.ActLink:
		b.Style, b.URL = discordgo.LinkButton, addressOf(act.Link)
	default:
		b.CustomID = d.id(s, deedDo, act.Token)
	}
	return b
}

// turning stands below a panel of several pages.
func (d *panelDrawing) turning(s *sheet, rows []panelRow, pages int) {
	from, to := spanOf(rows)
	_, all := spanOf(d.rows)
	if from > 0 {
		s.say(subtext(literal(sayRows(from, to, all))))
	}
	to1 := func(page int) pane { at := d.at; at.page = page; return at }
	s.add(discordgo.ActionsRow{Components: []discordgo.MessageComponent{
		discordgo.Button{Label: sayPrevious, Style: discordgo.SecondaryButton, Disabled: d.at.page == 0,
			CustomID: s.ids.unique(d.a.deedID(to1(max(d.at.page-1, 0)), deedPage, noToken, d.at.view), "")},
		discordgo.Button{Label: sayNext, Style: discordgo.SecondaryButton, Disabled: d.at.page >= pages-1,
			CustomID: s.ids.unique(d.a.deedID(to1(d.at.page+1), deedPage, noToken, d.at.view), "")},
	}}, 3)
}

// spanOf is the first and the last row among some; 0: there is none.
func spanOf(rows []panelRow) (from, to int) {
	for _, r := range rows {
		if from == 0 {
			from = r.row
		}
		to = max(to, r.row)
	}
	return from, to
}

// addressOf is where a link of a panel leads: to a message of this platform, or to its chat.
func addressOf(l render.ChatLink) string {
	id, err := chat.ParseID(l.Chat)
	p, ok := placeOf(id)
	if err != nil || !ok {
		return ""
	}
	to := linkTo(p)
	if isSnowflake(l.Message) {
		to += "/" + l.Message
	}
	return to
}

// actLabel and optionLabel are never empty: Discord refuses what has no words. Labels are plain text.
func actLabel(s string) string { return wordsOr(surface.AtMost(oneLine(s), maxLabel)) }

func optionLabel(s string) string { return wordsOr(surface.AtMost(oneLine(s), maxOption)) }

func wordsOr(s string) string {
	if s = strings.TrimSpace(s); s != "" {
		return s
	}
	return "…"
}
