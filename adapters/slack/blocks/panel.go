package blocks

import (
	"cmp"
	"slices"
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
	panelRoom   = 30_000 // characters
)

// encodePanelPage draws page f.Page of a panel, which becomes the nearest that there is. notice is what came of the last act.
func encodePanelPage(p render.Panel, f *PanelForm, notice string, link func(render.ChatLink) string) []slack.Block {
	s := &encoder{link: link}
	s.addHeader(surface.Within(surface.OneLine(p.Title), maxHeader))
	s.addPlain(text.Prose(notice))
	for _, l := range p.Banner {
		s.addLine(l)
	}
	tabs := slices.Clone(p.Tabs)
	for i, t := range tabs {
		if t.Current { // a colour would be the only other difference
			tabs[i].Label = sayOpenTab(t.Label)
		}
	}
	s.addActs(tabs, "")
	room := max(panelBlocks-len(s.blocks), panelBlocks/2)
	var all [][]group // by page
	blocks, size := 0, 0
	for _, g := range s.encodeGroups(p) {
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
			s.addTitle(sayGoesOn(surface.OneLine(first.of)))
		}
		for _, g := range all[f.Page] {
			s.blocks = append(s.blocks, g.blocks...)
		}
	}
	s.addPages(f.Page, len(all), func(string) string { return PanelPrefix + VerbPage + ":" + s.number() })
	if len(s.blocks) == 0 {
		s.addSection(surface.SayNothing)
	}
	setBlockIDs(s.blocks)
	return s.blocks
}

func (s *encoder) addTitle(title string) {
	s.add(slack.NewDividerBlock())
	s.addHeader(surface.Within(surface.OneLine(title), maxHeader))
}

// group is what no page tears apart: a row with what can be done about it, the first one with its section's heading.
type group struct {
	blocks []slack.Block
	of     string // its section
	begins bool   // with the heading
}

func (s *encoder) encodeGroups(p render.Panel) (all []group) {
	from := len(s.blocks)
	for _, x := range p.Sections {
		for i := range max(len(x.Rows), 1) {
			if i == 0 {
				s.addTitle(x.Title)
				s.addQuiet(x.Note)
			}
			if len(x.Rows) > 0 {
				s.addRow(x.Rows[i])
			} else {
				s.addQuiet(x.Empty)
			}
			if len(s.blocks) > from {
				all = append(all, group{slices.Clone(s.blocks[from:]), x.Title, i == 0})
			}
			s.blocks = s.blocks[:from]
		}
	}
	return all
}

func (s *encoder) addLine(l render.Line) {
	if rich := richLine(l); len(rich) > 0 {
		s.add(slack.NewRichTextBlock("", slack.NewRichTextSection(rich...)))
	}
}

func (s *encoder) addRow(r render.PanelRow) {
	s.addLine(r.Line)
	var quiet []slack.MixedElement
	for i, l := range r.Details {
		if i > 0 && len(quiet) > 0 {
			quiet = append(quiet, plainText("·"))
		}
		quiet = append(quiet, contextLine(l)...)
	}
	s.addContext(quiet)
	s.addActs(r.Acts, surface.OneLine(render.PlainLine(r.Line)))
}

// addActs adds what can be done about what of names.
func (s *encoder) addActs(acts []render.Act, of string) {
	var buttons []slack.BlockElement
	for _, act := range acts {
		if act.Kind == render.ActPick {
			s.addPick(act)
		} else if b := s.encodeAct(act, of); b != nil {
			buttons = append(buttons, b)
		}
	}
	s.addButtons(buttons)
}

// encodeAct draws an act as a button; nil for what cannot be one here.
func (s *encoder) encodeAct(act render.Act, of string) slack.BlockElement {
	label := surface.Label(act.Label, maxLabel, "…")
	verb, value, to, readable := VerbDo, act.Token, "", actForm.MatchString(act.Token)
	switch act.Kind {
	case render.ActDo:
	case render.ActGo:
		verb, value, readable = VerbGo, act.View, act.View == "" || viewForm.MatchString(act.View)
	case render.ActFill:
		verb = VerbFill
	case render.ActLink:
		to = s.link(act.Link)
		verb, value, readable = VerbLink, "", to != "" && len(to) <= maxURL
	case render.ActPick:
		readable = false
	}
	if !readable { // what is clicked could not be read back
		return nil
	}
	b := slack.NewButtonBlockElement(PanelPrefix+verb+":"+s.number(), value, plainText(label))
	b.URL = to
	if act.Style == render.Danger {
		b.Style = slack.StyleDanger
	}
	if hint := hintOf(act.Hint, label, of); hint != label {
		b.AccessibilityLabel = hint
	}
	if act.Kind == render.ActDo { // a form says it itself
		b.Confirm = s.addConfirm(act)
	}
	return b
}

// addConfirm makes an act's confirmation; nil where there is nothing to confirm. Of what is longer than a dialog takes, all stands above the act.
func (s *encoder) addConfirm(act render.Act) *slack.ConfirmationBlockObject {
	d := confirmDialog(act.Confirm, act.Label)
	if d == nil && strings.TrimSpace(act.Confirm) != "" {
		d = confirmDialog(surface.AtMost(surface.OneLine(act.Confirm), maxConfirm), act.Label)
		s.addPlain(text.Prose(act.Confirm))
	}
	return d
}

// addPick adds a select beside its label, since a placeholder goes when something is chosen; one for each hundred options.
func (s *encoder) addPick(act render.Act) {
	label := surface.Label(act.Label, maxHolder, sayChoose)
	options := slices.DeleteFunc(slices.Clone(act.Options), func(o render.Option) bool { return !actForm.MatchString(o.Token) })
	for part := range slices.Chunk(options, maxSelect) {
		var list []*slack.OptionBlockObject
		var current *slack.OptionBlockObject
		for _, o := range part {
			option := slack.NewOptionBlockObject(o.Token, plainText(surface.Label(o.Label, maxLabel, "…")), nil)
			list = append(list, option)
			if o.Current && current == nil {
				current = option
			}
		}
		e := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plainText(label), PanelPrefix+VerbPick+":"+s.number(), list...)
		e.InitialOption, e.Confirm = current, s.addConfirm(act)
		s.add(slack.NewSectionBlock(plainText(label), nil, slack.NewAccessory(e)))
	}
}

func sizeOf(blocks []slack.Block) (n int) {
	for _, b := range blocks {
		n += surface.Width(string(rawJSON(b)))
	}
	return n
}

// EncodePanel draws a panel as a modal, EncodeHome as the Home tab: the page that f names, or the nearest. notice is what came of the last act,
// link the address of a message; empty: none. Nothing is read as markup.
func EncodePanel(p render.Panel, f PanelForm, notice string, link func(render.ChatLink) string) slack.ModalViewRequest {
	title := cmp.Or(strings.TrimSpace(surface.OneLine(p.Title)), SaySettings)
	if surface.Width(title) <= maxViewTitle {
		p.Title = "" // once is enough
	}
	blocks := encodePanelPage(p, &f, notice, link)
	return newView(surface.AtMost(title, maxViewTitle), "", callbackPanel, f.Metadata(), blocks)
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
	most := min(cmp.Or(max(act.Max, 0), maxInput), maxInput)
	if surface.Width(act.Value) > most {
		return slack.ModalViewRequest{}, false
	}
	label := cmp.Or(strings.TrimSuffix(strings.TrimSpace(surface.OneLine(act.Label)), "…"), SaySettings)
	f.Token = act.Token
	s := &encoder{}
	s.addPlain(text.Prose(act.Confirm))
	in := slack.NewPlainTextInputBlockElement(hintText(act.Like, maxHolder), blockFill)
	in.MaxLength, in.InitialValue, in.FocusOnLoad = most, act.Value, true
	in.Multiline = most > 200 || strings.Contains(act.Value, "\n")
	s.add(slack.NewInputBlock(blockFill, plainText(surface.AtMost(label, maxHeader)), hintText(act.Hint, maxInputLabel), in).WithOptional(true))
	return newView(surface.AtMost(label, maxViewTitle), saySave, CallbackFill, f.Metadata(), s.blocks), true
}
