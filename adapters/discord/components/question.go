package components

import (
	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// Confirm is the question.
func Confirm(c render.Choice, message string) Payload {
	sure := discordgo.Button{Label: labelOf(c, maxLabel), Style: discordgo.DangerButton, CustomID: sureID(c.Choice, c.Token, message)}
	return question(c.Confirm, sure, CancelID)
}

// question is a private question: all of what is to be confirmed, and two buttons.
func question(say string, yes discordgo.Button, cancel string) Payload {
	s := &encoder{ids: names{}}
	s.say(noteLines(render.Line{render.Plain(surface.Within(say, maxConfirm))}, nil)...)
	s.add(discordgo.ActionsRow{Components: []discordgo.MessageComponent{
		yes, discordgo.Button{Label: surface.SayCancel, Style: discordgo.SecondaryButton, CustomID: cancel},
	}}, 3)
	return Payload{Components: s.parts}
}

// maxConfirm is how long a question may be, which escaping may make twice as long.
const maxConfirm = 1800

// CancelID is the custom_id of the button that takes a question away.
const CancelID = "nod:" + actionCancel + ":x"
