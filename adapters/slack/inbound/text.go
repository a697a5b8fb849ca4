package inbound

import (
	"cmp"
	"strings"
)

// entities are the only three that Slack escapes. https://docs.slack.dev/messaging/formatting-message-text/#escaping
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// PlainText is a message's text as a person sees it: mentions, channels and links written out, entities decoded. name is what
// a user is called, or "".
// https://docs.slack.dev/messaging/formatting-message-text/#advanced
func PlainText(text string, name func(user string) string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(text, '<')
		if open < 0 {
			break
		}
		end := strings.IndexByte(text[open:], '>')
		if end < 0 {
			break
		}
		b.WriteString(entities.Replace(text[:open]))
		b.WriteString(spelled(text[open+1:open+end], name))
		text = text[open+end+1:]
	}
	b.WriteString(entities.Replace(text))
	return strings.TrimSpace(b.String())
}

// spelled is what stands between < and >.
func spelled(s string, name func(string) string) string {
	what, label, _ := strings.Cut(s, "|")
	what, label = entities.Replace(what), entities.Replace(label)
	switch {
	case strings.HasPrefix(what, "@"):
		return "@" + strings.TrimPrefix(cmp.Or(name(what[1:]), label, what[1:]), "@")
	case strings.HasPrefix(what, "#"):
		return "#" + cmp.Or(label, what[1:])
	case strings.HasPrefix(what, "!subteam^"):
		return "@" + strings.TrimPrefix(cmp.Or(label, what[len("!subteam^"):]), "@")
	case strings.HasPrefix(what, "!date^"):
		return label
	case strings.HasPrefix(what, "!"):
		return "@" + what[1:]
	case "mailto:"+label == what || "tel:"+label == what:
		return label
	case label == "" || label == what || "http://"+label == what || "https://"+label == what: // written without the scheme
		return what
	}
	return label + " (" + what + ")"
}

// WithoutMention is the text without the mention of user that it begins with, as "@nod: do this" does.
func WithoutMention(text, user string) string {
	for {
		rest, ok := strings.CutPrefix(strings.TrimSpace(text), "<@"+user)
		if !ok || rest == "" || (rest[0] != '>' && rest[0] != '|') {
			return text
		}
		end := strings.IndexByte(rest, '>')
		if end < 0 {
			return text
		}
		text = strings.TrimLeft(rest[end+1:], " ,:")
	}
}
