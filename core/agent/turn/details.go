package turn

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// Details is everything that the session knows of what token names, with nothing cut: a call by its CallID or by an asking of
// it, or a whole turn by its TurnID. found is false for what the session does not hold any more.
func Details(s Session, token string) (d render.Details, found bool) {
	for _, t := range []*Turn{s.Turn, s.Last} {
		if t == nil {
			continue
		}
		if string(t.ID) == token {
			return t.details(), true
		}
		for _, c := range t.Calls {
			if string(c.ID) == token || slices.Contains(c.Asks, AskID(token)) || c.Want != nil && c.Want.Ask == AskID(token) {
				return render.Details{Title: render.RunLine(seen(c.Tool.Name), seen(c.Tool.Server)), Parts: c.details()}, true
			}
		}
	}
	for _, l := range s.Lapsed {
		if c := l.Call; string(c.ID) == token || slices.Contains(c.Asks, AskID(token)) {
			return render.Details{Title: render.RunLine(seen(c.Tool.Name), seen(c.Tool.Server)), Parts: c.details()}, true
		}
	}
	return d, false
}

func (t *Turn) details() render.Details {
	d := render.Details{Title: render.LabelViewDetails}
	part := func(p render.Part) { d.Parts = append(d.Parts, p) }
	for step, r := range t.Replies {
		if r.Text != "" {
			part(render.Part{Name: render.PartAnswer, Text: r.Text, Form: render.FormMarkdown})
		}
		for _, c := range t.Calls {
			if c.Step == step {
				part(render.Part{Name: render.Mark(stepState(c)) + " " + render.RunLine(seen(c.Tool.Name), seen(c.Tool.Server)), Text: render.MarkWord(stepState(c))})
				d.Parts = append(d.Parts, c.details()...)
			}
		}
	}
	if t.EndSay != "" {
		part(render.Part{Text: plainly(t.EndSay)})
	}
	return d
}

func (c ToolCall) details() []render.Part {
	var parts []render.Part
	add := func(name, text string, form render.Form) {
		if text != "" {
			parts = append(parts, render.Part{Name: name, Text: text, Form: form})
		}
	}
	name := render.PartArguments
	if c.Settled() {
		name = render.PartRan
		if c.StartedAt.IsZero() {
			name = render.PartWrote
		}
	}
	add(name, argsText(c.Args), render.FormCode)
	if c.edited() {
		add(render.PartWrote, argsText(c.Wrote), render.FormCode)
		by := make([]string, 0, len(c.Edits))
		for _, e := range c.Edits {
			by = append(by, seen(e.Name)+", "+render.Clock(e.At))
		}
		add("", render.EditedBy(strings.Join(by, "; ")), render.FormPlain)
	}
	if c.Digest != "" {
		add(render.PartDigest, string(c.Digest), render.FormCode)
		add("", render.DigestMeans, render.FormPlain)
	}
	if c.Choice != "" {
		say := render.Decided(c.Choice) + " by " + seen(nameFor(c.By, c.Name)) + " " + render.Clock(c.DecidedAt)
		if c.Reason != "" {
			say += " · “" + seen(c.Reason) + "”"
		}
		add(render.PartDecision, say, render.FormPlain)
	}
	for _, x := range c.Card.Changes {
		add(render.PartChanged(seen(x.Part)), plainly(render.DifferenceLine(x.Part, x.Was, x.Now)), render.FormCode)
	}
	if w := c.Want; w != nil {
		add(render.PartWants, plainly(w.Want.Message), render.FormPlain)
		add("", argsText(w.Want.Prompt), render.FormCode)
		if w.Fill != nil {
			add("", render.WantSettled(w.Fill.Action, seen(nameFor(w.By, w.Name))), render.FormPlain)
		}
	}
	add(render.PartWhy, whyLines(c.Ruling), render.FormPlain)
	add(render.PartTool, plainly(c.Card.Describes), render.FormPlain)
	add(render.PartServer, serverLines(c), render.FormPlain)
	if c.Result != nil {
		add(render.PartResult, plainly(c.Result.Text), render.FormCode)
		add(render.PartStructure, argsText(c.Result.Structured), render.FormCode)
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
		lines = append(lines, mark+seen(why.Text))
	}
	return strings.Join(lines, "\n")
}

func serverLines(c ToolCall) string {
	say := seen(c.Tool.Server)
	if c.Card.Server != "" {
		say += ": " + plainly(c.Card.Server)
	}
	if c.Ruling.Trusted {
		return say + "\n" + render.ServerTrusted
	}
	return say + "\n" + render.ServerUntrusted
}

// plainly is text of several lines with nothing hidden in it.
func plainly(s string) string {
	s, _ = render.Visible(s)
	return s
}
