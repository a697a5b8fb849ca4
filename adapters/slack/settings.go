package slack

import (
	"context"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Settings in words: "/nod permissions …", and the same in a thread after a mention.

// slashSettings are what a slash command about settings begins with.
var slashSettings = []string{"permissions", "tools", "halt", "resume", "why", "whoami", "history", "stats"}

// settingsOf reads a slash command about settings: the words for [surface.Settings.Permissions].
func (c slash) settingsOf() (words []string, ok bool) {
	words = strings.Fields(string(c.Text))
	if len(words) == 0 || !slices.Contains(slashSettings, strings.ToLower(words[0])) {
		return nil, false
	}
	if strings.EqualFold(words[0], "permissions") {
		words = words[1:]
	}
	return words, true
}

// settled does a slash command about settings. "permissions" alone opens the panel, in which "here" is nothing: a slash command names no thread.
func (a *Adapter) settled(ctx context.Context, c slash, words []string) receipt {
	reply := privately(string(c.ResponseURL), string(c.Channel), "", string(c.User))
	by, no := a.decider(ctx, string(c.User), "")
	if no != "" {
		return a.answering(reply, no)
	}
	env := chat.Envelope{Delivery: chat.Delivery("c:" + string(c.Trigger)), User: by.User, Name: by.Name, Reply: reply}
	if len(words) == 0 {
		return receipt{after: func(ctx context.Context) { a.openPanel(ctx, string(c.Trigger), panelForm{}, env) }}
	}
	lines, err := a.inWords(ctx, env, words)
	if err != nil {
		a.Logger.Warn("slack: a slash command failed", "command", surface.Shortened(string(c.Text), 40), "err", err)
		lines = []string{sayCommandFailed}
	}
	return receipt{after: func(ctx context.Context) { a.show(ctx, reply, linesOf(lines, nil)) }}
}

// arranged does a command about settings in a thread, for which "here" is that thread. The panel needs a click: what is typed has no trigger.
func (a *Adapter) arranged(ctx context.Context, s spoken, words []string) (receipt, error) {
	by, no := a.decider(ctx, s.user, "")
	if no != "" {
		return a.answer(s, no), nil
	}
	reply := privately("", s.at.Channel, s.private(), s.user)
	lines, err := a.inWords(ctx, a.envelope(s.at, s.delivery(), by, reply), words)
	if err != nil {
		return receipt{}, err // Slack sends it again, and the engine takes it once
	}
	var open slack.BlockElement
	if len(words) == 0 {
		open = slack.NewButtonBlockElement(panelPrefix+verbShow+":1", panelForm{At: s.at}.meta(), plainText(sayOpenPanel))
	}
	return receipt{after: func(ctx context.Context) { a.show(ctx, reply, linesOf(lines, open)) }}, nil
}

func (a *Adapter) inWords(ctx context.Context, env chat.Envelope, words []string) ([]string, error) {
	lines, err := a.Settings.Permissions(ctx, env, words)
	if no := surface.Refusal(err); no != nil {
		return []string{no.Say}, nil
	}
	return lines, err
}

// linesRoom is what a private answer holds, in characters of JSON: a message takes 13,000, with what wraps the text.
const linesRoom = 9000

// linesOf is lines for one person, in which nothing is read as markup, with a button below.
func linesOf(lines []string, below slack.BlockElement) payload {
	room, kept := linesRoom, 0
	var all []string
	for _, l := range lines {
		l = strings.TrimRight(oneLine(l), " ")
		n := surface.Width(string(rawJSON(l)))
		if n > room {
			if kept > 0 {
				break
			}
			l = surface.Within(l, panelText)
			n = surface.Width(string(rawJSON(l)))
		}
		room -= n
		kept++
		all = append(all, l)
	}
	if left := len(lines) - kept; left > 0 {
		all = append(all, sayMoreLines(left))
	}
	text := strings.Join(all, "\n")
	if strings.TrimSpace(text) == "" {
		text = sayNoWords
	}
	s := &sheet{}
	s.plain(text)
	if below != nil {
		s.add(slack.NewActionBlock("", below))
	}
	number(s.blocks)
	return payload{s.blocks, mrkdwnSafe(surface.AtMost(render.Prose(text), fallbackRoom))}
}
