package slack

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

func modal(title, end string) slack.ModalViewRequest {
	return slack.ModalViewRequest{Type: slack.VTModal, Title: plainText(title), Close: plainText(end)}
}

// detailsView is one page of everything about a call or a turn; f.Page says which, the nearest that there is. Nothing in it is
// read as markup.
func detailsView(d render.Details, f form) slack.ModalViewRequest {
	all := pages(d)
	f.Page = min(max(f.Page, 0), len(all)-1)
	v := modal(surface.SayDetails, sayClose)
	v.PrivateMetadata = f.meta()
	s := &sheet{}
	if f.Page == 0 {
		s.header(surface.Within(oneLine(d.Title), maxHeader))
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
		s.section(surface.SayNothing)
	}
	if n := len(all); n > 1 {
		s.quiet(sayPage(f.Page+1, n))
		var row []slack.BlockElement
		turn := func(way, label string, to int) {
			row = append(row, slack.NewButtonBlockElement(actionPage+":"+way, strconv.Itoa(to), plainText(label)))
		}
		if f.Page > 0 {
			turn("prev", sayPrevious, f.Page-1)
		}
		if f.Page < n-1 {
			turn("next", sayNext, f.Page+1)
		}
		s.add(slack.NewActionBlock("", row...))
	}
	number(s.blocks)
	v.Blocks.BlockSet = s.blocks
	return v
}

// piece is what fits one block of a page.
type piece struct {
	name, text string
	code       bool
}

// pages splits the details. There is always one; the digest of a call stands on the first.
func pages(d render.Details) [][]piece {
	out := [][]piece{nil}
	room, blocks := pageRoom, pageBlocks
	for _, part := range surface.DigestFirst(d.Parts) {
		name := bold(part.Name)
		for text := strings.Trim(shownPart(part), "\n"); text != ""; {
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

func shownPart(p render.Part) string {
	s, _ := render.Visible(p.Text)
	return s
}

// pieceEnd is how many bytes of text make the next piece: whole lines where that costs little.
func pieceEnd(text string) int {
	room, end := pieceRoom, len(text)
	for i, r := range text {
		if room -= surface.Units(r); room < 0 {
			end = i
			break
		}
	}
	if i := strings.LastIndexByte(text[:end], '\n'); end < len(text) && i > end/2 {
		return i + 1
	}
	return end
}

// denyView asks for a reason. An empty one denies as well.
func denyView(f form, what string) slack.ModalViewRequest {
	v := modal(surface.SayDenyCall, sayCancel)
	v.Submit, v.CallbackID, v.PrivateMetadata = plainText(sayDeny), callbackDeny, f.meta()
	s := &sheet{}
	s.section(what)
	in := slack.NewPlainTextInputBlockElement(plainText(surface.SayReasonEmpty), blockReason)
	in.Multiline, in.MaxLength, in.FocusOnLoad = true, maxReason, true
	s.add(slack.NewInputBlock(blockReason, plainText(surface.SayReason), plainText(sayReasonHint), in).WithOptional(true))
	v.Blocks.BlockSet = s.blocks
	return v
}

// editView offers the arguments for a change. ok is false where they are longer than an input takes. Hidden characters stand in
// it as JSON's own escapes, so that nobody sends on what they cannot see.
func editView(f form, what, args string) (v slack.ModalViewRequest, ok bool) {
	args = surface.Editable(args, maxInput)
	if surface.Width(args) > maxInput || strings.TrimSpace(args) == "" {
		return slack.ModalViewRequest{}, false
	}
	v = modal(surface.SayEditCall, sayCancel)
	v.Submit, v.CallbackID, v.PrivateMetadata = plainText(sayAskAnew), callbackEdit, f.meta()
	s := &sheet{}
	s.section(what)
	in := slack.NewPlainTextInputBlockElement(nil, blockArgs)
	in.Multiline, in.MaxLength, in.InitialValue = true, maxInput, args
	s.add(slack.NewInputBlock(blockArgs, plainText(surface.SayArgs), plainText(sayArgsHint), in))
	s.section(surface.SayEditedIsNew)
	v.Blocks.BlockSet = s.blocks
	return v, true
}
