package render

import (
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// NewChoice is a choice as its line of the table says. What the card says further is the caller's to add.
func NewChoice(c chat.Choice, token string) Choice {
	k, _ := text.KindOf(c)
	out := Choice{Choice: c, Token: token, Label: k.Label}
	if k.Refuses && c != chat.DenyReason { // that one stands behind ⋯, where nothing stands out
		out.Style = Danger
	}
	return out
}

// StandsOut reports whether a button is drawn as dangerous: only where it refuses. Allow is never the button that stands out.
func StandsOut(c Choice) bool {
	k, _ := text.KindOf(c.Choice)
	return c.Style == Danger && k.Refuses
}
