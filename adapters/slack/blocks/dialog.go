package blocks

import (
	"cmp"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// The action_ids of buttons in private messages.
const (
	ActionSure   = "nod:sure:1" // its value is a form: the click that it stands for
	ActionCancel = "nod:cancel:2"
	actionVisit  = "nod:visit:3" // a link, which opens by itself
)

// confirmDialog makes Slack's own confirmation; nil where there is nothing to confirm, or too much. Its button is no invitation: without a style
// it would be green. https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object
func confirmDialog(said, label string) *slack.ConfirmationBlockObject {
	said = strings.TrimSpace(text.Prose(said))
	if said == "" || surface.Width(said) > maxConfirm {
		return nil
	}
	label = strings.TrimSpace(surface.OneLine(label))
	if strings.TrimSuffix(label, "…") == "" {
		label = sayConfirm
	}
	d := slack.NewConfirmationBlockObject(plainText(surface.AtMost(label, maxConfTitle)), plainText(said),
		plainText(surface.AtMost(strings.TrimSuffix(label, "…"), maxConfButton)), plainText(surface.SayCancel))
	d.Style = slack.StyleDanger
	return d
}

// EncodeConfirmation draws the message that asks. All of what is to be confirmed stands in it, as plain text.
func EncodeConfirmation(c render.Choice, f Form) Message {
	s := &encoder{}
	text := text.Prose(c.Confirm)
	if strings.TrimSpace(text) == "" {
		text = buttonLabel(c) + "?"
	}
	s.addPlain(text)
	yes := slack.NewButtonBlockElement(ActionSure, f.Metadata(), plainText(cmp.Or(strings.TrimSuffix(buttonLabel(c), "…"), sayConfirm)))
	yes.Style = slack.StyleDanger
	s.add(slack.NewActionBlock("", yes, slack.NewButtonBlockElement(ActionCancel, "-", plainText(surface.SayCancel))))
	setBlockIDs(s.blocks)
	return Message{s.blocks, Escape(surface.AtMost(surface.OneLine(text), fallbackRoom))}
}
