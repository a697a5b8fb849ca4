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

// Buttons. A button's custom_id is "<form>:<choice>:<token>". A select's is "nod:more:<name>", and the value of its options
// "<choice> <token>", with a "?" before a choice that is confirmed first. After either there may stand a space and a number, because
// Discord wants them different from each other; it says nothing. The forms:
//
//	nod                 the choice itself
//	ask                 the same, which a person has to confirm first (confirm.go)
//	sure:<message>:…    the same on a private message about a card: the card's own message stands in it
//	in:<server>:…       the same in direct messages, of somebody in that server, where they are looked up before it counts (tell.go)
//
// Nothing of it has any authority: a choice counts where the engine offers it, for whoever clicked.
const (
	actionMore   = "more"
	actionCancel = "cancel" // takes a question for confirmation away
	confirmFirst = "?"
)

// choices are those that a button may carry. Another one is none: it is not taken for a denial either.
var choices = map[chat.Choice]bool{
	chat.Deny: true, chat.AllowOnce: true, chat.AllowChat: true, chat.Undo: true, chat.Extend: true, chat.AskAgain: true,
	chat.Happened: true, chat.RunAgain: true, chat.Leave: true, chat.ViewDetail: true, chat.DenyReason: true, chat.Edit: true,
	chat.Stop: true, chat.Revoke: true, chat.ApproveAll: true, chat.DenyAll: true,
	chat.AllowExact: true, chat.AllowPath: true, chat.AllowHour: true, chat.AllowUses: true, chat.AllowReads: true, chat.AllowWrites: true,
	chat.AllowServer: true, chat.AllowSession: true, chat.AskFor: true, chat.Remember: true, chat.Why: true, chat.Reveal: true,
	chat.Answer: true, chat.Decline: true, chat.Accept: true, chat.Open: true,
}

var (
	tokenForm  = regexp.MustCompile(`^[!-~]{1,64}$`)
	buttonForm = regexp.MustCompile(`^(nod|ask|sure:([1-9][0-9]{0,19})?|in:([1-9][0-9]{0,19})):([a-z_]{1,16}):([!-~]{1,64})(?: [0-9]{1,14})?$`)
	optionForm = regexp.MustCompile(`^(\?)?([a-z_]{1,16}) ([!-~]{1,64})(?: [0-9]{1,14})?$`)
)

// pressed is what a click on a button, or on a line of a select, carries.
type pressed struct {
	choice  chat.Choice
	token   string
	ask     bool   // it is to be confirmed first
	sure    bool   // it stands on a private message about a card, and is meant for
	message string // that card's message; empty where it had no room
	guild   string // the clicker means themselves as a member of this server
}

// parsePressed reads a custom_id. ok is false for anything that encode does not write.
func parsePressed(customID string, values []string) (p pressed, ok bool) {
	m := buttonForm.FindStringSubmatch(customID)
	if m == nil {
		return pressed{}, false
	}
	p = pressed{ask: m[1] == "ask", sure: strings.HasPrefix(m[1], "sure"), message: m[2], guild: m[3], token: m[5]}
	choice := m[4]
	switch {
	case m[1] == "nod" && choice == actionMore:
		if len(values) != 1 {
			return pressed{}, false
		}
		if m = optionForm.FindStringSubmatch(values[0]); m == nil {
			return pressed{}, false
		}
		p.ask, choice, p.token = m[1] == confirmFirst, m[2], m[3]
	case len(values) > 0:
		return pressed{}, false
	}
	if p.choice = chat.Choice(choice); !choices[p.choice] {
		return pressed{}, false
	}
	return p, true
}

// parseCustomID is the choice and the token of [parsePressed].
func parseCustomID(customID string, values []string) (choice chat.Choice, token string, ok bool) {
	p, ok := parsePressed(customID, values)
	return p.choice, p.token, ok
}

// sureID is the custom_id of a button that stands on a private message and is meant for a card's: of its choice. A card's message
// for which there is no room is left out; the engine then looks at the token alone.
func sureID(choice chat.Choice, token, message string) string {
	id := "sure:" + message + ":" + string(choice) + ":" + token
	if len(id) > maxCustomID || !isSnowflake(message) {
		id = "sure::" + string(choice) + ":" + token
	}
	return id
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
	form := "nod:"
	switch {
	case s.guild != "":
		form = "in:" + s.guild + ":"
	case c.Confirm != "":
		form = "ask:"
	}
	b := discordgo.Button{Label: labelOf(c, maxLabel), Style: discordgo.SecondaryButton, CustomID: s.ids.unique(form+string(c.Choice)+":"+c.Token, "")}
	// Allow is never the button that stands out.
	if c.Style == render.Danger && denies(c.Choice) {
		b.Style = discordgo.DangerButton
	}
	return b
}

func denies(c chat.Choice) bool {
	return c == chat.Deny || c == chat.DenyAll || c == chat.DenyReason || c == chat.Decline
}

// menu puts choices into selects. salt is another one whenever the select is to forget what was picked in it: a client keeps that as
// long as the custom_id is the same, and does not let the same line be picked again.
func (s *sheet) menu(cs []render.Choice, placeholder, name, salt string) {
	for cs = clickable(cs); len(cs) > 0; {
		n := min(len(cs), maxOptions)
		var options []discordgo.SelectMenuOption
		values := names{}
		for _, c := range cs[:n] {
			value := string(c.Choice) + " " + c.Token
			if c.Confirm != "" {
				value = confirmFirst + value
			}
			o := discordgo.SelectMenuOption{Label: labelOf(c, maxOption), Value: values.unique(value, "")}
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

// The marks of a checkbox, which Discord has none of outside forms.
var boxes = map[render.Toggle]string{render.ToggleOff: "☐ ", render.ToggleOn: "☑ "}

// labelOf is never empty: Discord refuses a button without words. Labels are plain text.
func labelOf(c render.Choice, n int) string {
	if label := strings.TrimSpace(surface.AtMost(boxes[c.Toggle]+oneLine(c.Label), n)); label != "" {
		return label
	}
	return strings.ReplaceAll(string(c.Choice), "_", " ")
}
