package blocks

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// maxFields is how many inputs a form may have: Slack takes 100 blocks, and some are ours.
const maxFields = 90

// FieldBlock names the input of the n-th field. A field's own name is the server's, and may be anything.
func FieldBlock(n int) string { return "field" + strconv.Itoa(n) }

// EncodeElicitation draws what a server asks its requester for as a form, with an input for each field. ok is false where Slack does not take as many.
func EncodeElicitation(f Form, c turn.ToolCall) (v slack.ModalViewRequest, ok bool) {
	want := c.Want.Want
	if len(want.Fields) > maxFields {
		return slack.ModalViewRequest{}, false
	}
	v = newModal(sayAnswer, surface.SayCancel)
	v.Submit, v.CallbackID, v.PrivateMetadata = plainText(saySend), CallbackAnswer, f.Metadata()
	s := &encoder{}
	server := text.Inline(c.Tool.Server)
	s.addSection(text.WantHeader(server))
	s.addQuiet(surface.CallLine(c))
	s.addSection(text.WantWarning(server))
	if say := strings.TrimSpace(text.Inline(want.Message)); say != "" {
		s.addSection(text.ServerSays + say)
	}
	for i, x := range want.Fields {
		s.add(encodeInput(i, x))
	}
	v.Blocks.BlockSet = s.blocks
	return fitView(v), true
}

// encodeInput draws a field's input, of the kind that fits it best. An optional one may stay empty.
func encodeInput(n int, x turn.FormField) *slack.InputBlock {
	label := surface.Within(strings.TrimSpace(surface.OneLine(text.Inline(x.Title))), maxHeader)
	if label == "" {
		label = surface.Within(strings.TrimSpace(surface.OneLine(text.Inline(x.Name))), maxHeader)
	}
	if label == "" {
		label = "…"
	}
	var hint *slack.TextBlockObject
	if say := strings.TrimSpace(text.Inline(x.Description)); say != "" {
		hint = plainText(surface.Within(text.Prose(say), maxInputLabel))
	}
	id := FieldBlock(n)
	return slack.NewInputBlock(id, plainText(label), hint, encodeField(id, x)).WithOptional(!x.Required)
}

func encodeField(id string, x turn.FormField) slack.BlockElement {
	switch {
	case x.Type == "boolean":
		return encodeSingleChoice(id, []string{"true", "false"}, []string{sayYes, sayNo}, x.Default, x.Required)
	case len(x.Options) > 0 && len(x.Options) <= maxSelect && x.Many:
		return encodeMultiChoice(id, x.Options, x.Labels, strings.Split(x.Default, "\n"))
	case len(x.Options) > 0 && len(x.Options) <= maxSelect:
		return encodeSingleChoice(id, x.Options, x.Labels, x.Default, x.Required)
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

// encodeSingleChoice draws options of which one is chosen: a radio button cannot be let go again, so it stands only where something has to be chosen. The values are counted, because
// the options' own are the server's.
func encodeSingleChoice(id string, options, labels []string, chosen string, required bool) slack.BlockElement {
	list := encodeOptionList(options, labels)
	var first *slack.OptionBlockObject
	if i := slices.Index(options, chosen); i >= 0 {
		first = list[i]
	}
	if required && len(list) <= maxBoxes {
		e := slack.NewRadioButtonsBlockElement(id, list...)
		e.InitialOption = first
		return e
	}
	e := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, plainText(sayChoose), id, list...)
	e.InitialOption = first
	return e
}

func encodeMultiChoice(id string, options, labels, chosen []string) slack.BlockElement {
	list := encodeOptionList(options, labels)
	var first []*slack.OptionBlockObject
	for i, o := range options {
		if slices.Contains(chosen, o) {
			first = append(first, list[i])
		}
	}
	if len(list) <= maxBoxes {
		e := slack.NewCheckboxGroupsBlockElement(id, list...)
		e.InitialOptions = first
		return e
	}
	e := slack.NewOptionsMultiSelectBlockElement(slack.MultiOptTypeStatic, plainText(sayChoose), id, list...)
	e.InitialOptions = first
	return e
}

func encodeOptionList(options, labels []string) (list []*slack.OptionBlockObject) {
	for i, o := range options {
		label := o
		if i < len(labels) && strings.TrimSpace(labels[i]) != "" {
			label = labels[i]
		}
		if label = strings.TrimSpace(surface.OneLine(text.Inline(label))); label == "" {
			label = "“" + surface.OneLine(text.Inline(o)) + "”"
		}
		list = append(list, slack.NewOptionBlockObject(strconv.Itoa(i), plainText(surface.AtMost(label, maxLabel)), nil))
	}
	return list
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
