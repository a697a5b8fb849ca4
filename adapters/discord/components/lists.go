package components

import (
	"cmp"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// maxShown is how much of a question its command's answer repeats, in characters with what escapes them.
const maxShown = 2000

// Question is a question as everybody sees it: quoted, with nothing in it that does anything.
func Question(name, text string) Payload {
	head := lineStart(literalWords(surface.OneLine(surface.Shortened(cmp.Or(name, saySomebody), 100)))+sayAsks) + "\n"
	r := []rune(text)
	for cut := len(r); ; cut = cut * 3 / 4 {
		part := string(r[:cut])
		if cut < len(r) {
			part += " …"
		}
		var b strings.Builder
		b.WriteString(head)
		for line := range strings.Lines(part) {
			b.WriteString("> " + literal(strings.TrimRight(line, "\n")) + "\n")
		}
		if b.Len() <= maxShown || cut == 0 {
			return textPayload(strings.TrimRight(b.String(), "\n"))
		}
	}
}

// textPayload is a message of one text, which is written as markup.
func textPayload(markup string) Payload {
	return Payload{Components: []discordgo.MessageComponent{discordgo.TextDisplay{Content: markup}}}
}

// Lines is a message of plain text.
func Lines(say ...string) Payload {
	plain := make([]string, len(say))
	for i, line := range say {
		plain[i] = literal(line)
	}
	return textPayload(strings.Join(plain, "\n"))
}

// maxList is how long a list is, in bytes: far below what one text may have.
const maxList = 3000

// PendingList is a list of what waits for a person, chat by chat.
type PendingList struct{ markup string }

// Add adds a line for each open ask of a chat. It reports whether there was room for them.
func (l *PendingList) Add(p ids.Place, s turn.Session) bool {
	lines := pendingLines(p, s)
	if len(l.markup)+len(lines) > maxList {
		return false
	}
	l.markup += lines
	return true
}

// LeaveOut says how many chats are left out.
func (l *PendingList) LeaveOut(n int) { l.markup += literal(sayMoreChats(n)) + "\n" }

// Payload is the list; ok is false where nothing waits.
func (l *PendingList) Payload() (p Payload, ok bool) {
	return textPayload(literal(surface.SayPendingHere) + "\n" + strings.TrimRight(l.markup, "\n")), l.markup != ""
}

func pendingLines(p ids.Place, s turn.Session) string {
	to := cmp.Or(s.Turn.Shown, chat.MessageRef(p.Thread))
	var b strings.Builder
	for _, call := range turn.OpenAsks(s) {
		what := literalWords(surface.OneLine(surface.AskLine(call)))
		if to != "" {
			what = "[" + what + "](" + p.LinkTo(string(to)) + ")"
		}
		line := "- " + what
		if !call.Deadline.IsZero() {
			line += text.ExpiresAt + moment(render.Time{At: call.Deadline, Until: true})
		}
		line += "\n"
		if b.Len()+len(line) > maxList/2 {
			b.WriteString("- …\n")
			break
		}
		b.WriteString(line)
	}
	return b.String()
}
