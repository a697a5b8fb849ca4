package discord

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Buttons. A button's custom_id is "nod:<choice>:<token>". A select's is "nod:more:<name>", and the value of its options
// "<choice> <token>". After either there may stand a space and a number, because Discord wants them different from each other; it
// says nothing.
const actionMore = "more"

// choices are those that a button may carry. Another one is none: it is not taken for a denial either.
var choices = map[chat.Choice]bool{
	chat.Deny: true, chat.AllowOnce: true, chat.AllowChat: true, chat.Undo: true, chat.Extend: true, chat.AskAgain: true,
	chat.Happened: true, chat.RunAgain: true, chat.Leave: true, chat.ViewDetail: true, chat.DenyReason: true, chat.Edit: true,
	chat.Stop: true, chat.Revoke: true, chat.ApproveAll: true, chat.DenyAll: true,
}

var (
	tokenForm  = regexp.MustCompile(`^[!-~]{1,64}$`)
	buttonForm = regexp.MustCompile(`^nod:([a-z_]{1,16}):([!-~]{1,64})(?: [0-9]{1,14})?$`)
	optionForm = regexp.MustCompile(`^([a-z_]{1,16}) ([!-~]{1,64})(?: [0-9]{1,14})?$`)
)

// parseCustomID reads what a click on a button, or on a line of a select, carries. ok is false for anything that encode does not
// write. Neither choice nor token has any authority: the engine looks for an open ask that offers it.
func parseCustomID(customID string, values []string) (choice chat.Choice, token string, ok bool) {
	m := buttonForm.FindStringSubmatch(customID)
	if m == nil {
		return "", "", false
	}
	if m[1] == actionMore {
		if len(values) != 1 {
			return "", "", false
		}
		if m = optionForm.FindStringSubmatch(values[0]); m == nil {
			return "", "", false
		}
	} else if len(values) > 0 {
		return "", "", false
	}
	if choice = chat.Choice(m[1]); !choices[choice] {
		return "", "", false
	}
	return choice, m[2], true
}

// clickable leaves those that say something when they are clicked.
func clickable(cs []render.Choice) []render.Choice {
	return slices.DeleteFunc(slices.Clone(cs), func(c render.Choice) bool { return !choices[c.Choice] || !tokenForm.MatchString(c.Token) })
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

// rows puts choices into rows of buttons.
func (s *sheet) rows(cs []render.Choice) {
	for cs = clickable(cs); len(cs) > 0; {
		n := min(len(cs), maxRow)
		var row []discordgo.MessageComponent
		for _, c := range cs[:n] {
			row = append(row, s.button(c))
		}
		s.add(discordgo.ActionsRow{Components: row}, 1+n)
		cs = cs[n:]
	}
}

func (s *sheet) button(c render.Choice) discordgo.Button {
	b := discordgo.Button{Label: labelOf(c, maxLabel), Style: discordgo.SecondaryButton, CustomID: s.ids.unique("nod:"+string(c.Choice)+":"+c.Token, "")}
	// Allow is never the button that stands out.
	if c.Style == render.Danger && (c.Choice == chat.Deny || c.Choice == chat.DenyAll || c.Choice == chat.DenyReason) {
		b.Style = discordgo.DangerButton
	}
	return b
}

// menu puts choices into selects. salt is another one whenever the select is to forget what was picked in it: a client keeps that as
// long as the custom_id is the same, and does not let the same line be picked again.
func (s *sheet) menu(cs []render.Choice, placeholder, name, salt string) {
	for cs = clickable(cs); len(cs) > 0; {
		n := min(len(cs), maxOptions)
		var options []discordgo.SelectMenuOption
		values := names{}
		for _, c := range cs[:n] {
			o := discordgo.SelectMenuOption{Label: labelOf(c, maxOption), Value: values.unique(string(c.Choice)+" "+c.Token, "")}
			if hint := strings.TrimSpace(oneLine(c.Hint)); hint != "" && hint != o.Label && !s.bare {
				o.Description = surface.AtMost(hint, maxOption)
			}
			options = append(options, o)
		}
		s.add(discordgo.ActionsRow{Components: []discordgo.MessageComponent{discordgo.SelectMenu{
			CustomID: s.ids.unique("nod:"+actionMore+":"+name, salt), Placeholder: placeholder, Options: options,
		}}}, 2)
		cs = cs[n:]
	}
}

// besides are choices that stand beside what the message is about: a row where they are few and there is room, else one select.
func (s *sheet) besides(cs []render.Choice) {
	if cs = clickable(cs); len(cs) > maxRow || s.cramped && len(cs) > 1 {
		s.menu(cs, sayMore, "steps", "")
		return
	}
	s.rows(cs)
}

// labelOf is never empty: Discord refuses a button without words. Labels are plain text.
func labelOf(c render.Choice, n int) string {
	if label := strings.TrimSpace(surface.AtMost(oneLine(c.Label), n)); label != "" {
		return label
	}
	return strings.ReplaceAll(string(c.Choice), "_", " ")
}
