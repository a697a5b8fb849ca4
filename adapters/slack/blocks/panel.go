package blocks

import (
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// What can be clicked in a panel has action_ids of its own: "nodp:<verb>:<n>".
const (
	PanelPrefix = "nodp:"
	VerbDo      = "do"   // value: the act's token
	VerbGo      = "go"   // value: the view
	VerbPick    = "pick" // option's value: its token
	VerbFill    = "fill" // value: the act's token
	VerbLink    = "link" // opens by itself
	VerbPage    = "page" // value: the page
	VerbShow    = "show" // value: a PanelForm; on messages, not in panels
)

// Room of one page of a panel: a view takes 100 blocks, and 250,000 characters of JSON at most. https://docs.slack.dev/reference/methods/views.open#errors
const (
	panelBlocks = 80
	panelRoom   = 30_000
	panelText   = 2800 // characters of one span
)

// panelEncoder draws a panel, row by row.
type panelEncoder struct {
	encoder
	link func(render.ChatLink) string // the address of a message; empty: none
}

// encodePanelPage draws one page of a panel; f.Page says which, the nearest that there is, and becomes that. Nothing of it is read as markup.
// notice is what came of the last act. The button that was chosen, the tab that is open and the option that holds are said in words or by Slack.
func encodePanelPage(p render.Panel, f *PanelForm, notice string, link func(render.ChatLink) string) []slack.Block {
	s := &panelEncoder{link: link}
	s.addHeader(surface.Within(surface.OneLine(p.Title), maxHeader))
	if strings.TrimSpace(notice) != "" {
		s.addPlain(text.Prose(notice))
	}
	for _, l := range p.Banner {
		s.addLine(l)
	}
	s.addTabs(p.Tabs)
	head := len(s.blocks)
	groups := s.encodeGroups(p)
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
			s.addHeader(surface.Within(sayGoesOn(surface.OneLine(first.of)), maxHeader))
		}
		for _, g := range all[f.Page] {
			s.blocks = append(s.blocks, g.blocks...)
		}
	}
	s.addPages(f.Page, len(all), func(string) string { return s.nextActionID(VerbPage) })
	if len(s.blocks) == 0 {
		s.addSection(surface.SayNothing)
	}
	setBlockIDs(s.blocks)
	return s.blocks
}

// group is what no page tears apart: a row with what can be done about it, the first one with its section's heading.
type group struct {
	blocks []slack.Block
	of     string // its section
	begins bool   // with the heading
}

func (s *panelEncoder) encodeGroups(p render.Panel) (all []group) {
	for _, x := range p.Sections {
		draw := func(begins bool, do func(*panelEncoder)) {
			in := &panelEncoder{link: s.link}
			in.actions = s.actions
			if begins {
				in.add(slack.NewDividerBlock())
				in.addHeader(surface.Within(surface.OneLine(x.Title), maxHeader))
				in.addQuiet(x.Note)
			}
			do(in)
			s.actions = in.actions
			if len(in.blocks) > 0 {
				all = append(all, group{in.blocks, x.Title, begins})
			}
		}
		if len(x.Rows) == 0 {
			draw(true, func(in *panelEncoder) { in.addQuiet(x.Empty) })
		}
		for i, r := range x.Rows {
			draw(i == 0, func(in *panelEncoder) { in.addRow(r) })
		}
	}
	return all
}

func (s *panelEncoder) addLine(l render.Line) {
	if rich := richLine(shortenSpans(l)); len(rich) > 0 {
		s.add(slack.NewRichTextBlock("", slack.NewRichTextSection(rich...)))
	}
}

// shortenSpans cuts spans that are longer than anything we say; how much is missing is said.
func shortenSpans(l render.Line) render.Line {
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

// addRow adds a line, the quieter ones below it, and what can be done. A select has a label of its own: its placeholder goes when something is picked.
func (s *panelEncoder) addRow(r render.PanelRow) {
	s.addLine(r.Line)
	var quiet []slack.MixedElement
	for i, l := range r.Details {
		if i > 0 && len(quiet) > 0 {
			quiet = append(quiet, plainText("·"))
		}
		quiet = append(quiet, contextLine(shortenSpans(l))...)
	}
	s.addContext(quiet)
	of := surface.OneLine(render.PlainLine(r.Line))
	var buttons []slack.BlockElement
	for _, act := range r.Acts {
		if act.Kind == render.ActPick {
			s.addPick(act)
		} else if b := s.encodeAct(act, of); b != nil {
			buttons = append(buttons, b)
		}
	}
	s.addButtons(buttons)
}

// addTabs adds the tabs: the one that is open has a mark, since a colour would be the only other difference.
func (s *panelEncoder) addTabs(tabs []render.Act) {
	var row []slack.BlockElement
	for _, t := range tabs {
		if t.Current {
			t.Label = sayOpenTab(t.Label)
		}
		if b := s.encodeAct(t, ""); b != nil {
			row = append(row, b)
		}
	}
	s.addButtons(row)
}

// encodeAct draws an act as a button; nil for what cannot be one here.
func (s *panelEncoder) encodeAct(act render.Act, of string) slack.BlockElement {
	label := surface.Label(act.Label, maxLabel, "…")
	verb, value, to := VerbDo, act.Token, ""
	switch act.Kind {
	case render.ActDo:
	case render.ActGo:
		verb, value = VerbGo, act.View
	case render.ActFill:
		verb = VerbFill
	case render.ActLink:
		verb, value = VerbLink, ""
		if to = s.link(act.Link); to == "" || len(to) > maxURL {
			return nil
		}
	case render.ActPick:
		return nil
	}
	if verb == VerbGo && value != "" && !viewForm.MatchString(value) || (verb == VerbDo || verb == VerbFill) && !actForm.MatchString(value) {
		return nil // what is clicked could not be read back
	}
	b := slack.NewButtonBlockElement(s.nextActionID(verb), value, plainText(label))
	b.URL = to
	if act.Style == render.Danger {
		b.Style = slack.StyleDanger
	}
	hint := strings.TrimSpace(surface.OneLine(act.Hint))
	if hint == "" && of != "" {
		hint = label + ": " + of
	}
	if hint = surface.AtMost(hint, maxLabel); hint != "" && hint != label {
		b.AccessibilityLabel = hint
	}
	if act.Kind == render.ActDo { // a form says it itself
		b.Confirm = s.addConfirm(act)
	}
	return b
}

// addConfirm makes an act's confirmation; nil where there is nothing to confirm. Of what is longer than a dialog takes, all stands above the act.
func (s *panelEncoder) addConfirm(act render.Act) *slack.ConfirmationBlockObject {
	d := confirmDialog(act.Confirm, act.Label)
	if d == nil && strings.TrimSpace(act.Confirm) != "" {
		d = confirmDialog(surface.AtMost(surface.OneLine(act.Confirm), maxConfirm), act.Label)
		s.addPlain(text.Prose(act.Confirm))
	}
	return d
}

func (s *panelEncoder) nextActionID(verb string) string {
	s.actions++
	return PanelPrefix + verb + ":" + strconv.Itoa(s.actions)
}

// addPick adds a select beside its label; one for each hundred options.
func (s *panelEncoder) addPick(act render.Act) {
	label := surface.Label(act.Label, maxHolder, sayChoose)
	var list []*slack.OptionBlockObject
	var current *slack.OptionBlockObject
	flush := func() {
		if len(list) == 0 {
			return
		}
		e := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plainText(label), s.nextActionID(VerbPick), list...)
		e.InitialOption, e.Confirm = current, s.addConfirm(act)
		s.add(slack.NewSectionBlock(plainText(label), nil, slack.NewAccessory(e)))
		list, current = nil, nil
	}
	for _, o := range act.Options {
		if !actForm.MatchString(o.Token) {
			continue
		}
		option := slack.NewOptionBlockObject(o.Token, plainText(surface.Label(o.Label, maxLabel, "…")), nil)
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

func sizeOf(blocks []slack.Block) (n int) {
	for _, b := range blocks {
		n += surface.Width(string(rawJSON(b)))
	}
	return n
}

// EncodePanel draws a panel as a modal, EncodeHome as the Home tab: the page that f names, or the nearest. notice is what came of the last act,
// link the address of a message; empty: none.
func EncodePanel(p render.Panel, f PanelForm, notice string, link func(render.ChatLink) string) slack.ModalViewRequest {
	title := strings.TrimSpace(surface.OneLine(p.Title))
	if title == "" {
		title = SaySettings
	}
	v := newModal(surface.AtMost(title, maxViewTitle), sayClose)
	if surface.Width(title) <= maxViewTitle {
		p.Title = "" // once is enough
	}
	v.CallbackID, v.Blocks.BlockSet = callbackPanel, encodePanelPage(p, &f, notice, link)
	v.PrivateMetadata = f.Metadata()
	return fitView(v)
}

func EncodeHome(p render.Panel, f PanelForm, notice string, link func(render.ChatLink) string) slack.HomeTabViewRequest {
	v := slack.HomeTabViewRequest{Type: slack.VTHomeTab, CallbackID: callbackPanel}
	v.Blocks.BlockSet = encodePanelPage(p, &f, notice, link)
	v.PrivateMetadata = f.Metadata()
	if !viewFits(v, v.Blocks.BlockSet) {
		v.Blocks.BlockSet = notDrawn()
	}
	return v
}

// EncodeFillForm draws the form of an act that takes a text. Sending it is the confirmation, so what is to be confirmed stands in it. ok is false
// where what stands there now is longer than an input takes: nobody would know what they send.
func EncodeFillForm(act render.Act, f PanelForm) (v slack.ModalViewRequest, ok bool) {
	most := maxInput
	if act.Max > 0 && act.Max < most {
		most = act.Max
	}
	if surface.Width(act.Value) > most {
		return slack.ModalViewRequest{}, false
	}
	label := strings.TrimSpace(surface.OneLine(act.Label))
	if label == "" || label == "…" {
		label = SaySettings
	}
	f.Token = act.Token
	v = newModal(surface.AtMost(strings.TrimSuffix(label, "…"), maxViewTitle), surface.SayCancel)
	v.Submit, v.CallbackID, v.PrivateMetadata = plainText(saySave), CallbackFill, f.Metadata()
	s := &encoder{}
	if strings.TrimSpace(act.Confirm) != "" {
		s.addPlain(text.Prose(act.Confirm))
	}
	in := slack.NewPlainTextInputBlockElement(hintText(act.Like, maxHolder), blockFill)
	in.MaxLength, in.InitialValue, in.FocusOnLoad = most, act.Value, true
	in.Multiline = most > 200 || strings.Contains(act.Value, "\n")
	s.add(slack.NewInputBlock(blockFill, plainText(surface.AtMost(strings.TrimSuffix(label, "…"), maxHeader)), hintText(act.Hint, maxInputLabel), in).WithOptional(true))
	v.Blocks.BlockSet = s.blocks
	return fitView(v), true
}
