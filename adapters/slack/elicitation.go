package slack

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// What a server's tool wants of its requester while it runs: a form, that an address is opened, or leave to ask the model. Everything in it
// is the server's, and only the requester gets to see it.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation

// findElicitation finds what an ask wants, for its requester. say is a sentence for anybody else, and where nothing is wanted any more.
func findElicitation(s turn.Session, ask string, by chat.User) (c turn.ToolCall, say string) {
	c, ok := s.FindElicitation(turn.AskID(ask))
	switch {
	case !ok:
		return c, surface.SayNotOpen
	case s.Turn.Requester != by:
		return turn.ToolCall{}, text.OnlyRequesterFills(s.NameOf(s.Turn.Requester))
	}
	return c, ""
}

// openElicitation opens what an answer takes; where that is but a yes, the button is the answer.
func (a *Adapter) openElicitation(ctx context.Context, in inbound.Interaction, f blocks.Form, env chat.Envelope) (say string) {
	s, say := a.readSession(ctx, f, "what a server wants could not be read")
	if say != "" {
		return say
	}
	call, say := findElicitation(s, f.Token, env.User)
	if say != "" {
		return say
	}
	switch w := call.Elicitation.Request; {
	case w.Kind == turn.ElicitationForm && len(w.Fields) == 0:
		return a.recordClick(ctx, f, env)
	case w.Kind == turn.ElicitationForm:
		v, ok := blocks.EncodeElicitation(f, call)
		if !ok {
			return sayFormTooLong
		}
		return a.openView(ctx, in, v)
	case w.Kind == turn.ElicitationURL:
		p, ok := blocks.EncodeAddress(f, text.Inline(call.Tool.Server), w.URL)
		if !ok {
			return sayNoAddress
		}
		a.whisperBlocks(ctx, env.Reply, p)
		return ""
	}
	return surface.SayNotOpen // of a later version
}

// inputToBlame finds the input beside which a refusal is shown: that of the field which it names, by the longest name that it has, else
// first.
func inputToBlame(first string, fields []turn.FormField, say string) string {
	longest := 0
	for i, x := range fields {
		for _, name := range []string{x.Title, x.Name} {
			if name = surface.OneLine(name); len(name) > longest && strings.Contains(say, name) {
				first, longest = blocks.FieldBlock(i), len(name)
			}
		}
	}
	return first
}

// readFields reads what was filled in. all is the same in one text.
func readFields(fields []turn.FormField, in inbound.Interaction) (values map[string]string, all string) {
	values = map[string]string{}
	var lines []string
	for i, x := range fields {
		if v := readField(x, in.Input(blocks.FieldBlock(i))); v != "" {
			values[x.Name] = v
			lines = append(lines, x.Name+"\x00"+v)
		}
	}
	slices.Sort(lines)
	return values, strings.Join(lines, "\x01")
}

// readField returns what was filled in, as the engine reads it: an option by what the server called it, several of them in lines of their own.
func readField(x turn.FormField, e inbound.InputState) string {
	chosen := e.Options
	if e.Option.Value != "" {
		chosen = []inbound.OptionState{e.Option}
	}
	switch {
	case len(chosen) > 0:
		options := x.Options
		if x.Type == "boolean" {
			options = []string{"true", "false"}
		}
		var all []string
		for _, o := range chosen {
			if i, err := strconv.Atoi(string(o.Value)); err == nil && i >= 0 && i < len(options) {
				all = append(all, options[i])
			}
		}
		return strings.Join(all, "\n")
	case e.Date != "":
		return string(e.Date)
	case e.DateTime != "":
		n, err := strconv.ParseInt(string(e.DateTime), 10, 64)
		if err != nil {
			return ""
		}
		return time.Unix(n, 0).UTC().Format(time.RFC3339)
	}
	return string(e.Value)
}
