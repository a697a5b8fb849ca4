package blocks

import (
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// A page of the details. Slack takes 100 blocks; how many characters it takes of a modal is documented nowhere.
const (
	pageRoom   = 9000
	pageBlocks = 90
	pieceRoom  = 2800
)

// maxReason is how long a reason may be.
const maxReason = 500

func newModal(title, end string) slack.ModalViewRequest {
	return slack.ModalViewRequest{Type: slack.VTModal, Title: plainText(title), Close: plainText(end)}
}

// fitView returns a view, or where Slack would refuse it as a whole (https://docs.slack.dev/reference/methods/views.open#errors) one that says so: a
// click must not be answered by nothing. Each part keeps its own limits where it is drawn; how much there is of it does not depend on us.
func fitView(v slack.ModalViewRequest) slack.ModalViewRequest {
	if viewFits(v, v.Blocks.BlockSet) {
		return v
	}
	simple := newModal(SaySettings, sayClose)
	simple.Blocks.BlockSet = notDrawn()
	if v.CallbackID == callbackPanel { // its buttons are gone; what it is stays known
		simple.CallbackID, simple.PrivateMetadata = v.CallbackID, v.PrivateMetadata
	}
	return simple
}

func viewFits(view any, blocks []slack.Block) bool {
	return len(blocks) <= maxViewBlocks && surface.Width(string(rawJSON(view))) <= maxViewSize
}

func notDrawn() []slack.Block {
	return []slack.Block{slack.NewSectionBlock(plainText(sayNotDrawn), nil, nil)}
}

// EncodeDetails draws one page of everything about a call or a turn; f.Page says which, the nearest that there is. Nothing in it is
// read as markup.
func EncodeDetails(d render.Details, f Form) slack.ModalViewRequest {
	all := splitDetails(d)
	f.Page = min(max(f.Page, 0), len(all)-1)
	v := newModal(surface.SayDetails, sayClose)
	v.PrivateMetadata = f.Metadata()
	s := &encoder{}
	if f.Page == 0 {
		s.addHeader(surface.Within(surface.OneLine(d.Title), maxHeader))
	}
	for _, p := range all[f.Page] {
		if p.name != "" {
			s.add(slack.NewSectionBlock(mrkdwnText(p.name), nil, nil))
		}
		if p.code {
			s.add(slack.NewRichTextBlock("", &slack.RichTextPreformatted{
				Type: slack.RTEPreformatted, Elements: []slack.RichTextSectionElement{slack.NewRichTextSectionTextElement(p.text, nil)},
			}))
		} else {
			s.add(slack.NewSectionBlock(plainText(p.text), nil, nil))
		}
	}
	if len(s.blocks) == 0 {
		s.addSection(surface.SayNothing)
	}
	s.addPages(f.Page, len(all), func(way string) string { return ActionPage + ":" + way })
	setBlockIDs(s.blocks)
	v.Blocks.BlockSet = s.blocks
	return fitView(v)
}

// addPages adds which page this is, and the buttons to the others. id names a button: "prev" or "next".
func (s *encoder) addPages(page, of int, id func(way string) string) {
	if of < 2 {
		return
	}
	s.addQuiet(sayPage(page+1, of))
	var row []slack.BlockElement
	turn := func(way, label string, to int) {
		row = append(row, slack.NewButtonBlockElement(id(way), strconv.Itoa(to), plainText(label)))
	}
	if page > 0 {
		turn("prev", sayPrevious, page-1)
	}
	if page < of-1 {
		turn("next", sayNext, page+1)
	}
	s.add(slack.NewActionBlock("", row...))
}

// piece is what fits one block of a page.
type piece struct {
	name, text string
	code       bool
}

// splitDetails splits the details into pages. There is always one; the digest of a call stands on the first.
func splitDetails(d render.Details) [][]piece {
	out := [][]piece{nil}
	room, blocks := pageRoom, pageBlocks
	for _, part := range surface.DigestFirst(d.Parts) {
		name := bold(part.Name)
		for text := surface.VisiblePart(part); text != ""; {
			n := pieceEnd(text)
			p := piece{name, text[:n], part.Form == render.FormCode}
			text = text[n:]
			if strings.TrimSpace(p.text) == "" { // Slack takes no block of spaces
				continue
			}
			if size := surface.Width(p.name) + surface.Width(p.text); size > room || blocks < 2 {
				out = append(out, nil)
				room, blocks = pageRoom, pageBlocks
			}
			room -= surface.Width(p.name) + surface.Width(p.text)
			blocks -= 2
			out[len(out)-1] = append(out[len(out)-1], p)
			name = ""
			if part.Name != "" {
				name = bold(sayGoesOn(part.Name))
			}
		}
	}
	return out
}

// pieceEnd is how many bytes of text make the next piece: whole lines where that costs little.
func pieceEnd(text string) int {
	end := bytesIn(text, pieceRoom)
	if i := strings.LastIndexByte(text[:end], '\n'); end < len(text) && i > end/2 {
		return i + 1
	}
	return end
}

// bytesIn is how many bytes of text have at most room characters.
func bytesIn(text string, room int) int {
	for i, r := range text {
		if room -= surface.Units(r); room < 0 {
			return i
		}
	}
	return len(text)
}

// EncodeDenyForm draws the form that asks for a reason. An empty one denies as well.
func EncodeDenyForm(f Form, what string) slack.ModalViewRequest {
	v := newModal(surface.SayDenyCall, surface.SayCancel)
	v.Submit, v.CallbackID, v.PrivateMetadata = plainText(sayDeny), CallbackDeny, f.Metadata()
	s := &encoder{}
	s.addSection(what)
	in := slack.NewPlainTextInputBlockElement(plainText(surface.SayReasonEmpty), blockReason)
	in.Multiline, in.MaxLength, in.FocusOnLoad = true, maxReason, true
	s.add(slack.NewInputBlock(blockReason, plainText(surface.SayReason), plainText(sayReasonHint), in).WithOptional(true))
	v.Blocks.BlockSet = s.blocks
	return fitView(v)
}

// EncodeEditForm draws the form that offers the arguments for a change. ok is false where they are longer than an input takes. Hidden characters stand in
// it as JSON's own escapes, so that nobody sends on what they cannot see.
func EncodeEditForm(f Form, what, args string) (v slack.ModalViewRequest, ok bool) {
	args = surface.Editable(args, maxInput)
	if surface.Width(args) > maxInput || strings.TrimSpace(args) == "" {
		return slack.ModalViewRequest{}, false
	}
	v = newModal(surface.SayEditCall, surface.SayCancel)
	v.Submit, v.CallbackID, v.PrivateMetadata = plainText(sayAskAnew), CallbackEdit, f.Metadata()
	s := &encoder{}
	s.addSection(what)
	in := slack.NewPlainTextInputBlockElement(nil, blockArgs)
	in.Multiline, in.MaxLength, in.InitialValue = true, maxInput, args
	s.add(slack.NewInputBlock(blockArgs, plainText(surface.SayArgs), plainText(sayArgsHint), in))
	s.addSection(surface.SayEditedIsNew)
	v.Blocks.BlockSet = s.blocks
	return fitView(v), true
}
