package blocks

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// A page of the details. Slack takes 100 blocks; how many characters it takes of a modal is documented nowhere.
const (
	pageRoom   = 9000
	pageBlocks = 70 // the answers come below
	pieceRoom  = 2800
)

const maxReason = 500

// newView makes a modal, which can be sent where it says submit. Where Slack would refuse it as a whole it makes one that says so: a click
// must not be answered by nothing. https://docs.slack.dev/reference/methods/views.open#errors
func newView(title, submit, callback, metadata string, blocks []slack.Block) slack.ModalViewRequest {
	v := slack.ModalViewRequest{
		Type: slack.VTModal, Title: plainText(title), Close: plainText(sayClose), CallbackID: callback, PrivateMetadata: metadata,
		Blocks: slack.Blocks{BlockSet: blocks},
	}
	if submit != "" {
		v.Submit, v.Close = plainText(submit), plainText(surface.SayCancel)
	}
	if viewFits(v, blocks) {
		return v
	}
	if callback != callbackPanel { // its buttons are gone; what it is stays known
		v.CallbackID, v.PrivateMetadata = "", ""
	}
	v.Title, v.Submit, v.Close, v.Blocks.BlockSet = plainText(SaySettings), nil, plainText(sayClose), notDrawn()
	return v
}

func viewFits(view any, blocks []slack.Block) bool {
	return len(blocks) <= maxViewBlocks && surface.Width(string(rawJSON(view))) <= maxViewSize
}

func notDrawn() []slack.Block {
	return []slack.Block{slack.NewSectionBlock(plainText(sayNotDrawn), nil, nil)}
}

// EncodeDetails draws page f.Page, or the nearest, of everything about a call or a turn, and below it all the answers that its card offers.
// notice is what came of the last of them. Nothing in it is read as markup.
func EncodeDetails(d render.Details, f Form, answers []render.Choice, notice string) slack.ModalViewRequest {
	all := splitDetails(d)
	f.Page = min(max(f.Page, 0), len(all)-1)
	s := &encoder{view: true}
	s.addSection(notice)
	if f.Page == 0 {
		s.addHeader(surface.Within(surface.OneLine(d.Title), maxHeader))
	}
	s.blocks = append(s.blocks, all[f.Page]...)
	if len(s.blocks) == 0 {
		s.addSection(surface.SayNothing)
	}
	s.addAnswers(surface.Fillable(answers, maxInput))
	s.addPages(f.Page, len(all), func(way string) string { return ActionPage + ":" + way })
	setBlockIDs(s.blocks)
	return newView(surface.SayDetails, "", "", f.Metadata(), s.blocks)
}

// addAnswers draws answers as buttons. What one grants stands beside it where its label does not say it all.
func (s *encoder) addAnswers(answers []render.Choice) {
	var row []render.Choice
	for _, c := range answers {
		say := c.Hint
		if confirmDialog(c.Confirm, c.Label) == nil {
			say = cmp.Or(c.Confirm, say)
		}
		if strings.TrimSpace(say) == "" || !tokenFits(c.Token) {
			row = append(row, c)
			continue
		}
		s.add(slack.NewSectionBlock(plainText(surface.Within(surface.OneLine(say), maxSection)), nil, slack.NewAccessory(s.encodeButton(c, ""))))
	}
	s.addChoices(row, nil, "")
}

func preformatted(code string) slack.Block { return slack.NewRichTextBlock("", preformattedText(code)) }

func preformattedText(code string) *slack.RichTextPreformatted {
	return &slack.RichTextPreformatted{Type: slack.RTEPreformatted, Elements: []slack.RichTextSectionElement{slack.NewRichTextSectionTextElement(code, nil)}}
}

// addPages says which page this is, with buttons to the others. id names a button: "prev" or "next".
func (s *encoder) addPages(page, of int, id func(way string) string) {
	if of < 2 {
		return
	}
	s.addQuiet(sayPage(page+1, of))
	var row []slack.BlockElement
	if page > 0 {
		row = append(row, slack.NewButtonBlockElement(id("prev"), strconv.Itoa(page-1), plainText(sayPrevious)))
	}
	if page < of-1 {
		row = append(row, slack.NewButtonBlockElement(id("next"), strconv.Itoa(page+1), plainText(sayNext)))
	}
	s.add(slack.NewActionBlock("", row...))
}

// splitDetails splits the details into pages. There is always one; the digest of a call stands on the first.
func splitDetails(d render.Details) [][]slack.Block {
	out := [][]slack.Block{nil}
	room, blocks := pageRoom, pageBlocks
	for _, part := range surface.DigestFirst(d.Parts) {
		name := bold(part.Name)
		for text := surface.VisiblePart(part); text != ""; {
			n := pieceEnd(text)
			say := text[:n]
			text = text[n:]
			if strings.TrimSpace(say) == "" { // Slack takes no block of spaces
				continue
			}
			size := surface.Width(name) + surface.Width(say)
			if size > room || blocks < 2 {
				out = append(out, nil)
				room, blocks = pageRoom, pageBlocks
			}
			room, blocks = room-size, blocks-2
			page := &out[len(out)-1]
			if name != "" {
				*page = append(*page, slack.NewSectionBlock(mrkdwnText(name), nil, nil))
				name = bold(sayGoesOn(part.Name))
			}
			if part.Form == render.FormCode {
				*page = append(*page, preformatted(say))
			} else {
				*page = append(*page, slack.NewSectionBlock(plainText(say), nil, nil))
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
	s := &encoder{}
	s.addSection(what)
	in := slack.NewPlainTextInputBlockElement(plainText(surface.SayReasonEmpty), blockReason)
	in.Multiline, in.MaxLength, in.FocusOnLoad = true, maxReason, true
	s.add(slack.NewInputBlock(blockReason, plainText(surface.SayReason), plainText(sayReasonHint), in).WithOptional(true))
	return newView(surface.SayDenyCall, sayDeny, CallbackDeny, f.Metadata(), s.blocks)
}

// EncodeEditForm draws the form that offers the arguments for a change. ok is false where they are longer than an input takes. What hides
// in them is escaped as JSON has it, so that nobody sends on what they cannot see.
func EncodeEditForm(f Form, what, args string) (v slack.ModalViewRequest, ok bool) {
	args = surface.Editable(args, maxInput)
	if surface.Width(args) > maxInput || strings.TrimSpace(args) == "" {
		return slack.ModalViewRequest{}, false
	}
	s := &encoder{}
	s.addSection(what)
	in := slack.NewPlainTextInputBlockElement(nil, blockArgs)
	in.Multiline, in.MaxLength, in.InitialValue = true, maxInput, args
	s.add(slack.NewInputBlock(blockArgs, plainText(surface.SayArgs), plainText(sayArgsHint), in))
	s.addSection(surface.SayEditedIsNew)
	return newView(surface.SayEditCall, sayAskAnew, CallbackEdit, f.Metadata(), s.blocks), true
}

const maxFields = 90 // how many inputs a form may have: Slack takes 100 blocks, and some are ours

// FieldBlock names the input of the n-th field. A field's own name is the server's, and may be anything.
func FieldBlock(n int) string { return "field" + strconv.Itoa(n) }

// EncodeElicitation draws what a server asks its requester for as a form. ok is false where it has more inputs than Slack takes.
func EncodeElicitation(f Form, c turn.ToolCall) (v slack.ModalViewRequest, ok bool) {
	w := c.Elicitation.Request
	if len(w.Fields) > maxFields {
		return slack.ModalViewRequest{}, false
	}
	s := &encoder{}
	server := text.Inline(c.Tool.Server)
	s.addSection(text.ElicitationHeader(server))
	s.addQuiet(surface.CallLine(c))
	s.addSection(text.ElicitationWarning(server))
	if say := strings.TrimSpace(text.Inline(w.Message)); say != "" {
		s.addSection(text.ServerSays + say)
	}
	for i, x := range w.Fields {
		s.add(encodeInput(i, x))
	}
	return newView(sayAnswer, saySend, CallbackAnswer, f.Metadata(), s.blocks), true
}

func encodeInput(n int, x turn.FormField) *slack.InputBlock {
	name := func(s string) string {
		return surface.Within(strings.TrimSpace(surface.OneLine(text.Inline(s))), maxHeader)
	}
	var hint *slack.TextBlockObject
	if say := strings.TrimSpace(text.Inline(x.Description)); say != "" {
		hint = plainText(surface.Within(text.Prose(say), maxInputLabel))
	}
	id := FieldBlock(n)
	return slack.NewInputBlock(id, plainText(cmp.Or(name(x.Title), name(x.Name), "…")), hint, encodeField(id, x)).WithOptional(!x.Required)
}

func encodeField(id string, x turn.FormField) slack.BlockElement {
	switch {
	case x.Type == "boolean":
		x.Options, x.Labels, x.Many = []string{"true", "false"}, []string{sayYes, sayNo}, false
		return encodeOptionField(id, x)
	case len(x.Options) > 0 && len(x.Options) <= maxSelect:
		return encodeOptionField(id, x)
	case x.Type == "integer", x.Type == "number":
		return encodeNumberInput(id, x)
	case x.Format == "date":
		e := slack.NewDatePickerBlockElement(id)
		if _, err := time.Parse(time.DateOnly, x.Default); err == nil {
			e.InitialDate = x.Default
		}
		return e
	case x.Format == "date-time":
		e := slack.NewDateTimePickerBlockElement(id)
		if t, err := time.Parse(time.RFC3339, x.Default); err == nil {
			e.InitialDateTime = t.Unix()
		}
		return e
	case x.Format == "email":
		e := slack.NewEmailTextInputBlockElement(nil, id)
		e.InitialValue = fittingDefault(x)
		return e
	case x.Format == "uri":
		e := slack.NewURLTextInputBlockElement(nil, id)
		e.InitialValue = fittingDefault(x)
		return e
	}
	return encodeTextInput(id, x)
}

// encodeOptionField draws options, counted because their values are the server's. A radio button cannot be let go again: it is for what is
// required.
func encodeOptionField(id string, x turn.FormField) slack.BlockElement {
	defaults := []string{x.Default}
	if x.Many {
		defaults = strings.Split(x.Default, "\n")
	}
	var list, chosen []*slack.OptionBlockObject
	for i, o := range x.Options {
		label := o
		if i < len(x.Labels) && strings.TrimSpace(x.Labels[i]) != "" {
			label = x.Labels[i]
		}
		label = cmp.Or(strings.TrimSpace(surface.OneLine(text.Inline(label))), "“"+surface.OneLine(text.Inline(o))+"”")
		option := slack.NewOptionBlockObject(strconv.Itoa(i), plainText(surface.AtMost(label, maxLabel)), nil)
		list = append(list, option)
		if slices.Contains(defaults, o) {
			chosen = append(chosen, option)
		}
	}
	few := len(list) <= maxBoxes
	switch {
	case x.Many && few:
		e := slack.NewCheckboxGroupsBlockElement(id, list...)
		e.InitialOptions = chosen
		return e
	case x.Many:
		e := slack.NewOptionsMultiSelectBlockElement(slack.MultiOptTypeStatic, plainText(sayChoose), id, list...)
		e.InitialOptions = chosen
		return e
	}
	first := append(chosen, nil)[0]
	if x.Required && few {
		e := slack.NewRadioButtonsBlockElement(id, list...)
		e.InitialOption = first
		return e
	}
	e := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plainText(sayChoose), id, list...)
	e.InitialOption = first
	return e
}

func encodeNumberInput(id string, x turn.FormField) slack.BlockElement {
	e := slack.NewNumberInputBlockElement(nil, id, x.Type == "number")
	if _, err := strconv.ParseFloat(x.Default, 64); err == nil {
		e.InitialValue = x.Default
	}
	if x.Min != nil {
		e.MinValue = strconv.FormatFloat(*x.Min, 'f', -1, 64)
	}
	if x.Max != nil {
		e.MaxValue = strconv.FormatFloat(*x.Max, 'f', -1, 64)
	}
	return e
}

func encodeTextInput(id string, x turn.FormField) slack.BlockElement {
	e := slack.NewPlainTextInputBlockElement(nil, id)
	e.MaxLength = maxInput
	if x.Max != nil && *x.Max >= 1 && *x.Max < maxInput {
		e.MaxLength = int(*x.Max)
	}
	if x.Min != nil && *x.Min >= 1 && *x.Min <= float64(e.MaxLength) {
		e.MinLength = int(math.Ceil(*x.Min))
	}
	e.Multiline = x.Max == nil || *x.Max > 200
	if v := fittingDefault(x); surface.Width(v) <= e.MaxLength && (v == "" || surface.Width(v) >= e.MinLength) {
		e.InitialValue = v
	}
	return e
}

// fittingDefault is a default that Slack takes and that hides nothing.
func fittingDefault(x turn.FormField) string {
	if _, hidden := text.Visible(x.Default); hidden > 0 || surface.Width(x.Default) > maxInput {
		return ""
	}
	return x.Default
}
