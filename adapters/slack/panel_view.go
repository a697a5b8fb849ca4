package slack

import (
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// What can be clicked in a panel has action_ids of its own: "nodp:<verb>:<n>".
const (
	panelPrefix = "nodp:"
	verbDo      = "do"   // value: the act's token
	verbGo      = "go"   // value: the view
	verbPick    = "pick" // option's value: its token
	verbFill    = "fill" // value: the act's token
	verbLink    = "link" // opens by itself
	verbPage    = "page" // value: the page
	verbShow    = "show" // value: a panelForm; on messages, not in panels
)

// Room of one page of a panel: a view takes 100 blocks, and 250,000 characters of JSON at most. https://docs.slack.dev/reference/methods/views.open#errors
const (
	panelBlocks = 80
	panelRoom   = 30_000
	panelText   = 2800 // characters of one span
)

// panelSheet is a panel being drawn.
type panelSheet struct {
	sheet
	link func(render.ChatLink) string // the address of a message; empty: none
}

// panelBlocksOf draws one page of a panel; f.Page says which, the nearest that there is, and becomes that. Nothing of it is read as markup.
// notice is what came of the last act. The button that was chosen, the tab that is open and the option that holds are said in words or by Slack.
func panelBlocksOf(p render.Panel, f *panelForm, notice string, link func(render.ChatLink) string) []slack.Block {
	s := &panelSheet{link: link}
	s.header(surface.Within(oneLine(p.Title), maxHeader))
	if strings.TrimSpace(notice) != "" {
		s.plain(render.Prose(notice))
	}
	for _, l := range p.Banner {
		s.line(l)
	}
	s.tabs(p.Tabs)
	head := len(s.blocks)
	groups := s.groups(p)
	room := max(panelBlocks-head, panelBlocks/2)
	var all [][]group // by page
	blocks, size := room, panelRoom
	for _, g := range groups {
		n, chars := len(g.blocks), sizeOf(g.blocks)
		if len(all) == 0 || blocks < n || size < chars {
			all = append(all, nil)
			blocks, size = room-2, panelRoom // a heading may come again
		}
		blocks, size = blocks-n, size-chars
		all[len(all)-1] = append(all[len(all)-1], g)
	}
	f.Page = min(max(f.Page, 0), max(len(all)-1, 0))
	if len(all) > 0 {
		if first := all[f.Page][0]; !first.begins {
			s.add(slack.NewDividerBlock())
			s.header(surface.Within(sayGoesOn(oneLine(first.of)), maxHeader))
		}
		for _, g := range all[f.Page] {
			s.blocks = append(s.blocks, g.blocks...)
		}
	}
	s.turning(f.Page, len(all))
	if len(s.blocks) == 0 {
		s.section(surface.SayNothing)
	}
	number(s.blocks)
	return s.blocks
}

// group is what no page tears apart: a row with what can be done about it, the first one with its section's heading.
type group struct {
	blocks []slack.Block
	of     string // its section
	begins bool   // with the heading
}

func (s *panelSheet) groups(p render.Panel) (all []group) {
	for _, x := range p.Sections {
		draw := func(begins bool, do func(*panelSheet)) {
			in := &panelSheet{link: s.link}
			in.actions = s.actions
			if begins {
				in.add(slack.NewDividerBlock())
				in.header(surface.Within(oneLine(x.Title), maxHeader))
				in.quiet(x.Note)
			}
			do(in)
			s.actions = in.actions
			if len(in.blocks) > 0 {
				all = append(all, group{in.blocks, x.Title, begins})
			}
		}
		if len(x.Rows) == 0 {
			draw(true, func(in *panelSheet) { in.quiet(x.Empty) })
		}
		for i, r := range x.Rows {
			draw(i == 0, func(in *panelSheet) { in.row(r) })
		}
	}
	return all
}

func (s *panelSheet) line(l render.Line) {
	if rich := richLine(shortened(l)); len(rich) > 0 {
		s.add(slack.NewRichTextBlock("", slack.NewRichTextSection(rich...)))
	}
}

// shortened cuts spans that are longer than anything we say; how much is missing is said.
func shortened(l render.Line) render.Line {
	out := make(render.Line, len(l))
	for i, x := range l {
		switch x := x.(type) {
		case render.Plain:
			out[i] = render.Plain(surface.Within(string(x), panelText))
		case render.Strong:
			out[i] = render.Strong(surface.Within(string(x), panelText))
		default:
			out[i] = x
		}
	}
	return out
}

// row is a line, the quieter ones below it, and what can be done. A select has a label of its own: its placeholder goes when something is picked.
func (s *panelSheet) row(r render.PanelRow) {
	s.line(r.Line)
	var quiet []slack.MixedElement
	for i, l := range r.Details {
		if i > 0 && len(quiet) > 0 {
			quiet = append(quiet, plainText("·"))
		}
		quiet = append(quiet, contextLine(shortened(l))...)
	}
	s.context(quiet)
	of := oneLine(render.PlainLine(r.Line))
	var buttons []slack.BlockElement
	for _, act := range r.Acts {
		if act.Kind == render.ActPick {
			s.pick(act)
		} else if b := s.act(act, of); b != nil {
			buttons = append(buttons, b)
		}
	}
	s.buttons(buttons)
}

func (s *panelSheet) buttons(row []slack.BlockElement) {
	for len(row) > 0 {
		n := min(len(row), maxActions)
		s.add(slack.NewActionBlock("", row[:n]...))
		row = row[n:]
	}
}

// tabs: the one that is open has a mark, since a colour would be the only other difference.
func (s *panelSheet) tabs(tabs []render.Act) {
	var row []slack.BlockElement
	for _, t := range tabs {
		if t.Current {
			t.Label = sayOpenTab(t.Label)
		}
		if b := s.act(t, ""); b != nil {
			row = append(row, b)
		}
	}
	s.buttons(row)
}

// act is a button; nil for what cannot be one here.
func (s *panelSheet) act(act render.Act, of string) slack.BlockElement {
	label := strings.TrimSpace(surface.AtMost(oneLine(act.Label), maxLabel))
	if label == "" {
		label = "…"
	}
	verb, value, to := verbDo, act.Token, ""
	switch act.Kind {
	case render.ActDo:
	case render.ActGo:
		verb, value = verbGo, act.View
	case render.ActFill:
		verb = verbFill
	case render.ActLink:
		verb, value = verbLink, ""
		if to = s.link(act.Link); to == "" || len(to) > maxURL {
			return nil
		}
	case render.ActPick:
		return nil
	}
	if verb == verbGo && value != "" && !viewForm.MatchString(value) || (verb == verbDo || verb == verbFill) && !actForm.MatchString(value) {
		return nil // what is clicked could not be read back
	}
	b := slack.NewButtonBlockElement(s.actionID(verb), value, plainText(label))
	b.URL = to
	if act.Style == render.Danger {
		b.Style = slack.StyleDanger
	}
	hint := strings.TrimSpace(oneLine(act.Hint))
	if hint == "" && of != "" {
		hint = label + ": " + of
	}
	if hint = surface.AtMost(hint, maxLabel); hint != "" && hint != label {
		b.AccessibilityLabel = hint
	}
	if act.Kind == render.ActDo { // a form says it itself
		b.Confirm = dialog(act.Confirm, act.Label)
		if b.Confirm == nil && strings.TrimSpace(act.Confirm) != "" {
			b.Confirm = longDialog(act.Confirm, act.Label)
			s.plain(render.Prose(act.Confirm)) // all of it, above the button
		}
	}
	return b
}

// longDialog asks about what is longer than a dialog takes, and stands in full beside it.
func longDialog(text, label string) *slack.ConfirmationBlockObject {
	return dialog(surface.AtMost(oneLine(text), maxConfirm), label)
}

func (s *panelSheet) actionID(verb string) string {
	s.actions++
	return panelPrefix + verb + ":" + strconv.Itoa(s.actions)
}

// pick is a select beside its label; one for each hundred options.
func (s *panelSheet) pick(act render.Act) {
	label := strings.TrimSpace(surface.AtMost(oneLine(act.Label), maxHolder))
	if label == "" {
		label = sayChoose
	}
	var list []*slack.OptionBlockObject
	var current *slack.OptionBlockObject
	flush := func() {
		if len(list) == 0 {
			return
		}
		e := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plainText(label), s.actionID(verbPick), list...)
		e.InitialOption = current
		if e.Confirm = dialog(act.Confirm, act.Label); e.Confirm == nil && strings.TrimSpace(act.Confirm) != "" {
			e.Confirm = longDialog(act.Confirm, act.Label)
			s.plain(render.Prose(act.Confirm))
		}
		s.add(slack.NewSectionBlock(plainText(label), nil, slack.NewAccessory(e)))
		list, current = nil, nil
	}
	for _, o := range act.Options {
		if !actForm.MatchString(o.Token) {
			continue
		}
		say := strings.TrimSpace(surface.AtMost(oneLine(o.Label), maxLabel))
		if say == "" {
			say = "…"
		}
		option := slack.NewOptionBlockObject(o.Token, plainText(say), nil)
		list = append(list, option)
		if o.Current && current == nil {
			current = option
		}
		if len(list) == maxSelect {
			flush()
		}
	}
	flush()
}

// turning are the buttons of a panel that has several pages.
func (s *panelSheet) turning(page, of int) {
	if of < 2 {
		return
	}
	s.quiet(sayPage(page+1, of))
	var row []slack.BlockElement
	to := func(label string, n int) {
		row = append(row, slack.NewButtonBlockElement(s.actionID(verbPage), strconv.Itoa(n), plainText(label)))
	}
	if page > 0 {
		to(sayPrevious, page-1)
	}
	if page < of-1 {
		to(sayNext, page+1)
	}
	s.buttons(row)
}

func sizeOf(blocks []slack.Block) (n int) {
	for _, b := range blocks {
		n += surface.Width(string(rawJSON(b)))
	}
	return n
}

// panelModal and panelHome are the two views that a panel can be.
func panelModal(p render.Panel, f panelForm, notice string, link func(render.ChatLink) string) slack.ModalViewRequest {
	title := strings.TrimSpace(oneLine(p.Title))
	if title == "" {
		title = saySettings
	}
	v := modal(surface.AtMost(title, maxViewTitle), sayClose)
	if surface.Width(title) <= maxViewTitle {
		p.Title = "" // once is enough
	}
	v.CallbackID, v.Blocks.BlockSet = callbackPanel, panelBlocksOf(p, &f, notice, link)
	v.PrivateMetadata = f.meta()
	return v
}

func panelHome(p render.Panel, f panelForm, notice string, link func(render.ChatLink) string) slack.HomeTabViewRequest {
	v := slack.HomeTabViewRequest{Type: slack.VTHomeTab, CallbackID: callbackPanel}
	v.Blocks.BlockSet = panelBlocksOf(p, &f, notice, link)
	v.PrivateMetadata = f.meta()
	return v
}

// fillView is the form of an act that takes a text. Sending it is the confirmation, so what is to be confirmed stands in it. ok is false
// where what stands there now is longer than an input takes: nobody would know what they send.
func fillView(act render.Act, f panelForm) (v slack.ModalViewRequest, ok bool) {
	most := maxInput
	if act.Max > 0 && act.Max < most {
		most = act.Max
	}
	if surface.Width(act.Value) > most {
		return slack.ModalViewRequest{}, false
	}
	label := strings.TrimSpace(oneLine(act.Label))
	if label == "" || label == "…" {
		label = saySettings
	}
	f.Token = act.Token
	v = modal(surface.AtMost(strings.TrimSuffix(label, "…"), maxViewTitle), sayCancel)
	v.Submit, v.CallbackID, v.PrivateMetadata = plainText(saySave), callbackFill, f.meta()
	s := &sheet{}
	if strings.TrimSpace(act.Confirm) != "" {
		s.plain(render.Prose(act.Confirm))
	}
	var like *slack.TextBlockObject
	if say := strings.TrimSpace(oneLine(act.Like)); say != "" {
		like = plainText(surface.AtMost(say, maxHolder))
	}
	var hint *slack.TextBlockObject
	if say := strings.TrimSpace(oneLine(act.Hint)); say != "" {
		hint = plainText(surface.AtMost(say, maxInputLabel))
	}
	in := slack.NewPlainTextInputBlockElement(like, blockFill)
	in.MaxLength, in.InitialValue, in.FocusOnLoad = most, act.Value, true
	in.Multiline = most > 200 || strings.Contains(act.Value, "\n")
	s.add(slack.NewInputBlock(blockFill, plainText(surface.AtMost(strings.TrimSuffix(label, "…"), maxHeader)), hint, in).WithOptional(true))
	v.Blocks.BlockSet = s.blocks
	return v, true
}
