package card

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent/talk"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Details is everything that the session knows of what token names, with nothing cut: a call by its CallID or by an asking of
// it, those that are asked about as one by the first one's asking, or a whole turn by its TurnID. found is false for what the session does not hold any more.
func Details(s turn.Session, token string) (d render.Details, found bool) {
	if t := s.TurnOf(turn.TurnID(token)); t != nil {
		return turnDetails(t), true
	}
	c, _, found := s.Find(func(c turn.ToolCall) bool {
		return string(c.ID) == token || slices.Contains(c.Asks, turn.AskID(token)) || c.Elicitation != nil && c.Elicitation.Ask == turn.AskID(token)
	})
	if !found {
		return d, false
	}
	d.Title = runLine(c)
	for _, asks := range turn.Together(s) {
		if len(asks) > 1 && string(asks[0].Ask) == token {
			for i, one := range asks {
				d.Parts = append(append(d.Parts, render.Part{Name: text.Number(i+1) + ": " + What(one), Text: render.MarkWord(stepState(one))}), callParts(one)...)
			}
			return d, true
		}
	}
	d.Parts = callParts(c)
	return d, true
}

func turnDetails(t *turn.Turn) render.Details {
	d := render.Details{Title: text.LabelViewDetails}
	part := func(p render.Part) { d.Parts = append(d.Parts, p) }
	for step, r := range t.Replies {
		if r.Text != "" {
			part(render.Part{Name: text.PartAnswer, Text: r.Text, Form: render.FormMarkdown})
		}
		for _, c := range t.Calls {
			if c.Step == step {
				part(render.Part{Name: render.Mark(stepState(c)) + " " + runLine(c), Text: render.MarkWord(stepState(c))})
				d.Parts = append(d.Parts, callParts(c)...)
			}
		}
	}
	if t.EndSay != "" {
		part(render.Part{Text: plainly(t.EndSay)})
	}
	return d
}

func callParts(c turn.ToolCall) []render.Part {
	var parts []render.Part
	add := func(name, text string, form render.Form) {
		if text != "" {
			parts = append(parts, render.Part{Name: name, Text: text, Form: form})
		}
	}
	name := text.PartArguments
	if c.Settled() {
		name = text.PartRan
		if c.StartedAt.IsZero() {
			name = text.PartWrote
		}
	}
	if a := argsOf(c); a.Diff != "" {
		add(text.PartDiff, a.Diff, render.FormCode)
		add("", text.Capital(a.Against)+".", render.FormPlain)
	}
	add(name, argsText(c.Args), render.FormCode)
	if c.Edited() {
		add(text.PartWrote, argsText(c.Wrote), render.FormCode)
		by := make([]string, 0, len(c.Edits))
		for _, e := range c.Edits {
			by = append(by, text.Inline(e.Name)+", "+text.Clock(e.At))
		}
		add("", text.EditedBy(strings.Join(by, "; ")), render.FormPlain)
	}
	if c.Digest != "" {
		add(text.PartDigest, string(c.Digest), render.FormCode)
		add("", text.DigestMeans, render.FormPlain)
	}
	if c.Choice != "" {
		say := text.Decided(c.Chosen()) + " by " + text.Inline(nameFor(c.By, c.Name)) + " " + text.Clock(c.DecidedAt)
		if c.Reason != "" {
			say += " · “" + text.Inline(c.Reason) + "”"
		}
		add(text.PartDecision, say, render.FormPlain)
	}
	for _, x := range c.Card.Changes {
		add(text.PartChanged(text.Inline(x.Part)), plainly(text.DifferenceLine(x.Part, x.Was, x.Now)), render.FormCode)
	}
	if w := c.Elicitation; w != nil {
		add(text.PartElicitation, plainly(w.Request.Message), render.FormPlain)
		add("", argsText(w.Request.Prompt), render.FormCode)
		if w.Fill != nil {
			add("", text.ElicitationSettled(w.Fill.Action, text.Inline(nameFor(w.By, w.Name))), render.FormPlain)
		}
	}
	add(text.LabelWhy, whyLines(c.Ruling), render.FormPlain)
	add(text.PartTool, plainly(c.Card.Describes), render.FormPlain)
	add(text.PartServer, serverLines(c), render.FormPlain)
	if c.Result != nil {
		r := talk.Result(*c.Result)
		add(text.PartResult, plainly(r.Text), render.FormCode)
		add(text.PartStructure, argsText(r.Structured), render.FormCode)
	}
	return parts
}

// argsText is JSON to be read: indented, hidden characters made visible, secrets masked.
func argsText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	return render.ArgsOf(raw, "").JSON
}

func whyLines(r permission.Ruling) string {
	var lines []string
	for _, why := range r.Reasons {
		mark := "  "
		if why.Won {
			mark = "→ "
		}
		lines = append(lines, mark+text.Inline(why.Text))
	}
	return strings.Join(lines, "\n")
}

func serverLines(c turn.ToolCall) string {
	say := text.Inline(c.Tool.Server)
	if c.Card.Server != "" {
		say += ": " + plainly(c.Card.Server)
	}
	if c.Ruling.Trusted {
		return say + "\n" + text.ServerTrusted
	}
	return say + "\n" + text.ServerUntrusted
}

// plainly is text of several lines with nothing hidden in it.
func plainly(s string) string {
	s, _ = text.Visible(s)
	return s
}

// Hidden is what the card of an asking masks, with nothing masked: for somebody who decides, and only after that is recorded.
func Hidden(c turn.ToolCall) render.Details {
	return render.Details{Title: runLine(c), Parts: []render.Part{
		{Text: text.OnlyYouSee},
		{Name: text.PartArguments, Text: render.Revealed(c.Args).JSON, Form: render.FormCode},
	}}
}
