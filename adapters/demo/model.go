package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/demo/phrase"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/text"
)

// Pace is a pleasant delay between streamed words.
const Pace = 15 * time.Millisecond

// Model is the scripted model. The zero value works, and streams without delay.
type Model struct {
	Delay time.Duration // between words; see [Pace]
}

var _ agent.Model = Model{}

// Name says what it is wherever a model is named.
func (Model) Name() string { return "scripted demo" }

// Reply answers the last person's message: first with the tool calls it asks for, then, when those have their
// results, with what came of them.
func (m Model) Reply(ctx context.Context, talk []turn.Utterance, offered []agent.ToolSpec, stream func(agent.Delta)) (agent.Reply, error) {
	said, calls := current(talk)
	reply := propose(said, offered)
	if len(calls) > 0 {
		reply = agent.Reply{Text: summary(calls)}
	}
	return m.speak(ctx, reply, stream)
}

// current is the current turn: the last person's words, and the calls made since with their results.
func current(talk []turn.Utterance) (said string, calls []turn.TalkCall) {
	for _, u := range talk {
		switch u.Role {
		case turn.RoleUser:
			said, calls = u.Text, nil
		case turn.RoleAssistant:
			calls = append(calls, u.Calls...)
		}
	}
	return said, calls
}

// speak streams the text word by word. When the context ends first, what was said stands as a cut reply, without calls.
func (m Model) speak(ctx context.Context, r agent.Reply, stream func(agent.Delta)) (agent.Reply, error) {
	said := 0
	for _, word := range strings.SplitAfter(r.Text, " ") {
		if err := m.pause(ctx); err != nil {
			return agent.Reply{Text: r.Text[:said], Cut: true}, err
		}
		if word != "" && stream != nil {
			stream(agent.Delta{Text: word})
		}
		said += len(word)
	}
	return r, nil
}

func (m Model) pause(ctx context.Context) error {
	if m.Delay > 0 {
		_ = backoff.Wait(ctx, m.Delay)
	}
	return context.Cause(ctx)
}

const (
	phrases = "`what time is it`, `calculate 2+2*3`, `list files` (or `list files in docs`), `read notes.txt`, `write hello to notes.txt`, `create directory docs`, `delete notes.txt`. Several at once work too: `read notes.txt and write bye to b.txt and list files`."
	who     = "I am a scripted demo, not a language model, so I understand only a few phrases: "
	connect = "To connect a real model, set OPENAI_API_KEY (and OPENAI_BASE_URL and OPENAI_MODEL where needed), or `model:` in bot.yaml, and start me again."
)

// propose is the first reply of a turn.
func propose(said string, offered []agent.ToolSpec) agent.Reply {
	commands := phrase.Parse(said)
	if slices.ContainsFunc(commands, func(c phrase.Command) bool { return c.Verb == phrase.Help }) {
		return agent.Reply{Text: who + phrases + "\n\n" + connect}
	}
	var plans []string
	var calls []agent.ReplyCall
	for _, c := range commands {
		if c.Verb == phrase.Unknown {
			if len(commands) > 1 {
				return agent.Reply{Text: fmt.Sprintf("I did nothing, because I did not understand “%s”. %s%s\n\n%s", brief(c.Text), who, phrases, connect)}
			}
			return agent.Reply{Text: who + phrases + "\n\n" + connect}
		}
		a := acts[c.Verb]
		if !slices.ContainsFunc(offered, func(t agent.ToolSpec) bool { return t.Tool.Server == Server && t.Tool.Name == a.tool }) {
			return agent.Reply{Text: fmt.Sprintf("I would need the tool %s of %s for that, but it is not offered to me now.", a.tool, Server)}
		}
		args, err := json.Marshal(a.args(c))
		if err != nil {
			return agent.Reply{Text: "I could not put “" + brief(c.Text+c.Path) + "” into a tool call."}
		}
		plans = append(plans, a.plan(c))
		calls = append(calls, agent.ReplyCall{ModelID: fmt.Sprintf("demo_%d", len(calls)+1), Server: Server, Name: a.tool, Args: args})
	}
	return agent.Reply{Text: "I'll " + enumerate(plans) + ".", Calls: calls}
}

// An act is how the model does one verb.
type act struct {
	tool string
	args func(phrase.Command) map[string]any
	plan func(phrase.Command) string
}

func path(c phrase.Command) map[string]any { return map[string]any{"path": c.Path} }

var acts = map[phrase.Verb]act{
	phrase.Time: {"datetime", func(phrase.Command) map[string]any { return map[string]any{} },
		func(phrase.Command) string { return "look at the clock" }},
	phrase.Calculate: {"calculator", func(c phrase.Command) map[string]any { return map[string]any{"expression": c.Text} },
		func(c phrase.Command) string { return "calculate " + code(c.Text) }},
	phrase.List: {"list_directory", func(c phrase.Command) map[string]any {
		if c.Path == "" {
			return map[string]any{}
		}
		return path(c)
	}, func(c phrase.Command) string {
		if c.Path == "" {
			return "list the files"
		}
		return "list the files in " + code(c.Path)
	}},
	phrase.Read: {"read_file", path, func(c phrase.Command) string { return "read " + code(c.Path) }},
	phrase.Write: {"write_file", func(c phrase.Command) map[string]any {
		return map[string]any{"path": c.Path, "content": c.Text}
	}, func(c phrase.Command) string { return "write to " + code(c.Path) }},
	phrase.Create: {"create_directory", path, func(c phrase.Command) string { return "create the directory " + code(c.Path) }},
	phrase.Delete: {"delete_file", path, func(c phrase.Command) string { return "delete " + code(c.Path) }},
}

// enumerate joins like people do: "a", "a and b", "a, b and c".
func enumerate(s []string) string {
	if len(s) < 2 {
		return strings.Join(s, "")
	}
	return strings.Join(s[:len(s)-1], ", ") + " and " + s[len(s)-1]
}

// code is a short piece of somebody's text as inline code.
func code(s string) string { return "`" + strings.ReplaceAll(brief(s), "`", "ˋ") + "`" }

// brief is the beginning of somebody's text on one line.
func brief(s string) string {
	const most = 80
	return text.Head(strings.Join(strings.Fields(s), " "), most)
}
