package components

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Buttons. A button's custom_id is "<form>:<choice>:<token>". A select's is "nod:more:<name>", and the value of its options
// "<choice> <token>", with a "?" before a choice that is confirmed first. After either there may stand a space and a number, because
// Discord wants them different from each other; it says nothing. The forms:
//
//	nod                 the choice itself
//	ask                 the same, which a person has to confirm first (forms.go)
//	sure:<message>:…    the same on a private message about a card: the card's own message stands in it
//	in:<server>:…       the same in direct messages, of somebody in that server, where they are looked up before it counts
//
// Nothing of it has any authority: a choice counts where the engine offers it, for whoever clicked.
const (
	actionMore   = "more"
	actionCancel = "cancel" // takes a question for confirmation away
	confirmFirst = "?"
)

var (
	tokenForm  = regexp.MustCompile(`^[!-~]{1,64}$`)
	buttonForm = regexp.MustCompile(`^(nod|ask|sure:([1-9][0-9]{0,19})?|in:([1-9][0-9]{0,19})):([a-z_]{1,16}):([!-~]{1,64})(?: [0-9]{1,14})?$`)
	optionForm = regexp.MustCompile(`^(\?)?([a-z_]{1,16}) ([!-~]{1,64})(?: [0-9]{1,14})?$`)
)

// Action is what a click on a button, or on a line of a select, carries.
type Action struct {
	Choice  chat.Choice
	Token   string
	Ask     bool   // it is to be confirmed first
	Sure    bool   // it stands on a private message about a card, and is meant for
	Message string // that card's message; empty where it had no room
	Guild   string // the clicker means themselves as a member of this server
}

// ParseAction reads a custom_id. ok is false for anything that encode does not write.
func ParseAction(customID string, values []string) (p Action, ok bool) {
	m := buttonForm.FindStringSubmatch(customID)
	if m == nil {
		return Action{}, false
	}
	p = Action{Ask: m[1] == "ask", Sure: strings.HasPrefix(m[1], "sure"), Message: m[2], Guild: m[3], Choice: chat.Choice(m[4]), Token: m[5]}
	if m[1] == "nod" && m[4] == actionMore {
		if len(values) == 1 {
			m = optionForm.FindStringSubmatch(values[0])
		}
		if len(values) != 1 || m == nil {
			return Action{}, false
		}
		p.Ask, p.Choice, p.Token, values = m[1] == confirmFirst, chat.Choice(m[2]), m[3], nil
	}
	if len(values) > 0 || !text.IsChoice(p.Choice) {
		return Action{}, false
	}
	return p, true
}

// sureID is the custom_id of a button that stands on a private message and is meant for a card's: of its choice. A card's message
// for which there is no room is left out; the engine then looks at the token alone.
func sureID(choice chat.Choice, token, message string) string {
	id := "sure:" + message + ":" + string(choice) + ":" + token
	if len(id) > maxCustomID || !ids.IsSnowflake(message) {
		id = "sure::" + string(choice) + ":" + token
	}
	return id
}

// clickable leaves those that say something when they are clicked.
func clickable(cs []render.Choice) []render.Choice {
	return slices.DeleteFunc(slices.Clone(cs), func(c render.Choice) bool { return !text.IsChoice(c.Choice) || !tokenForm.MatchString(c.Token) })
}

// names gives out custom_ids, or values of options, each once.
type names map[string]bool

// unique is s, with a number where it is taken. salt, if not empty, stands there in any case: digits.
func (n names) unique(s, salt string) string {
	id := s
	if salt != "" {
		id += " " + salt
	}
	for i := 2; n[id]; i++ {
		id = s + " " + salt + strconv.Itoa(i)
	}
	n[id] = true
	return id
}

// button is one of the usual kind.
func button(label, id string) discordgo.Button {
	return discordgo.Button{Label: label, Style: discordgo.SecondaryButton, CustomID: id}
}

// addRow adds buttons, or one select.
func (s *encoder) addRow(parts ...discordgo.MessageComponent) {
	s.add(discordgo.ActionsRow{Components: parts}, 1+len(parts))
}

// addButtons puts choices into rows of buttons.
func (s *encoder) addButtons(cs []render.Choice) {
	for part := range slices.Chunk(clickable(cs), maxRow) {
		var row []discordgo.MessageComponent
		for _, c := range part {
			row = append(row, s.encodeButton(c))
		}
		s.addRow(row...)
	}
}

func (s *encoder) encodeButton(c render.Choice) discordgo.Button {
	form := "nod:"
	switch {
	case s.guild != "":
		form = "in:" + s.guild + ":"
	case c.Confirm != "":
		form = "ask:"
	}
	b := button(labelOf(c, maxLabel), s.ids.unique(form+string(c.Choice)+":"+c.Token, ""))
	if render.StandsOut(c) {
		b.Style = discordgo.DangerButton
	}
	return b
}

// addSelects puts choices into selects. salt is another one whenever the select is to forget what was picked in it: a client keeps that as
// long as the custom_id is the same, and does not let the same line be picked again.
func (s *encoder) addSelects(cs []render.Choice, placeholder, name, salt string) {
	for part := range slices.Chunk(clickable(cs), maxOptions) {
		var options []discordgo.SelectMenuOption
		values := names{}
		for _, c := range part {
			value := string(c.Choice) + " " + c.Token
			if c.Confirm != "" {
				value = confirmFirst + value
			}
			o := discordgo.SelectMenuOption{Label: labelOf(c, maxOption), Value: values.unique(value, "")}
			if hint := strings.TrimSpace(surface.OneLine(c.Hint)); hint != "" && hint != o.Label {
				o.Description = surface.AtMost(hint, maxOption)
			}
			options = append(options, o)
		}
		s.addRow(discordgo.SelectMenu{CustomID: s.ids.unique("nod:"+actionMore+":"+name, salt), Placeholder: placeholder, Options: options})
	}
}

// addChoices adds choices that stand beside what the message is about: a row where they are few and there is room, else one select.
func (s *encoder) addChoices(cs []render.Choice) {
	if cs = clickable(cs); len(cs) > maxRow || s.cramped && len(cs) > 1 {
		s.addSelects(cs, sayMore, "steps", "")
		return
	}
	s.addButtons(cs)
}
