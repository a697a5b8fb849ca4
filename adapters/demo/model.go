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
		if m.Delay > 0 {
			_ = backoff.Wait(ctx, m.Delay)
		}
		if err := context.Cause(ctx); err != nil {
			return agent.Reply{Text: r.Text[:said], Cut: true}, err
		}
		if word != "" && stream != nil {
			stream(agent.Delta{Text: word})
		}
		said += len(word)
	}
	return r, nil
}

const (
	phrases = "`what time is it`, `calculate 2+2*3`, `list files` (or `list files in docs`), `read notes.txt`, `write hello to notes.txt`, `create directory docs`, `delete notes.txt`. Several at once work too: `read notes.txt and write bye to b.txt and list files`."
	who     = "I am a scripted demo, not a language model, so I understand only a few phrases: "
	connect = "To connect a real model, set OPENAI_API_KEY and OPENAI_MODEL (and OPENAI_BASE_URL for another server), or `model:` in nod.yaml, and start me again."
)

// An act is how the model does one verb, and its own words for it. In them {of} is what it is done to, {result} is the tool's result and {block}
// the same as a block of code.
type act struct {
	tool        string
	plan, doing string
	did         string
	kept        string // what is certain when it was not run
}

var acts = map[phrase.Verb]act{
	phrase.Time:      {"datetime", "look at the clock", "look at the clock", "It is {result}.", "I cannot tell the time"},
	phrase.Calculate: {"calculator", "calculate {of}", "calculate {of}", "**{result}**", "there is no answer"},
	phrase.List:      {"list_directory", "list the files in {of}", "list the files in {of}", "In {of}:\n{block}", "I cannot say what is in {of}"},
	phrase.Read:      {"read_file", "read {of}", "read {of}", "{of} says:\n{block}", "I did not look into it"},
	phrase.Write:     {"write_file", "write to {of}", "write to {of}", "Done: {result}", "{of} was left as it is"},
	phrase.Create:    {"create_directory", "create the directory {of}", "create {of}", "Done: {result}", "nothing was created"},
	phrase.Delete:    {"delete_file", "delete {of}", "delete {of}", "Done: {result}", "{of} was left as it is"},
}

// argumentsOf are the arguments of a command's tool, and what the command is done to.
func argumentsOf(c phrase.Command) (args map[string]any, of string) {
	switch {
	case c.Verb == phrase.Calculate:
		return map[string]any{"expression": c.Text}, code(c.Text)
	case c.Verb == phrase.Write:
		return map[string]any{"path": c.Path, "content": c.Text}, code(c.Path)
	case c.Verb == phrase.Time, c.Verb == phrase.List && c.Path == "":
		return map[string]any{}, ""
	}
	return map[string]any{"path": c.Path}, code(c.Path)
}

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
		args, of := argumentsOf(c)
		raw, err := json.Marshal(args)
		if err != nil {
			return agent.Reply{Text: "I could not put “" + brief(c.Text+c.Path) + "” into a tool call."}
		}
		plan := strings.ReplaceAll(a.plan, "{of}", of)
		plans = append(plans, strings.TrimSuffix(plan, " in ")) // of no directory
		calls = append(calls, agent.ReplyCall{ModelID: fmt.Sprintf("demo_%d", len(calls)+1), Server: Server, Name: a.tool, Args: raw})
	}
	return agent.Reply{Text: "I'll " + text.AllOf(plans) + ".", Calls: calls}
}

// code is a short piece of somebody's text as inline code.
func code(s string) string { return "`" + strings.ReplaceAll(brief(s), "`", "ˋ") + "`" }

// brief is the beginning of somebody's text on one line.
func brief(s string) string { return text.Head(strings.Join(strings.Fields(s), " "), 80) }
