package card

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Live is what streams and is not recorded. It never holds anything that a person decides on.
type Live struct {
	Text     string
	Note     string // about a wait: "Trying again in 20 s."
	Progress map[turn.CallID]turn.Progress
	// Now and Drawn are for cards that nobody has seen yet: what they say of their end, from the moment they are drawn, or as they
	// were drawn.
	Now   time.Time
	Drawn map[turn.AskID]time.Time
}

// expires is until when a card says that it can be answered.
func (v viewer) expires(w turn.Wait) time.Time {
	drawn, ok := v.live.Drawn[w.Ask]
	switch {
	case w.Seen != nil && !w.Seen.Says.IsZero():
		return w.Seen.Says
	case w.Seen != nil || w.Deadline.IsZero():
		return w.Deadline
	case ok:
		return drawn
	case v.live.Now.IsZero():
		return w.Deadline
	}
	return v.live.Now.Add(w.Deadline.Sub(w.Asked))
}

// View is how the one message of turn t (the open one or the one that ended last) should look now. It is
// total. What waits for a person stands last.
func View(s turn.Session, t *turn.Turn, live Live) render.Message {
	v := viewer{s: s, t: t, live: live}
	m := render.Message{State: v.state(), Token: string(t.ID)}
	for step, r := range t.Replies {
		if r.Text != "" {
			m.Blocks = append(m.Blocks, render.Text{Markdown: r.Text, Cut: r.Cut})
		}
		for _, c := range t.Calls {
			if c.Step == step && !c.Waits() {
				m.Blocks = append(m.Blocks, v.step(c))
			}
		}
	}
	if t.End == "" && live.Text != "" {
		m.Blocks = append(m.Blocks, render.Text{Markdown: live.Text})
	}
	m.Blocks = append(m.Blocks, v.notes()...)
	m.Blocks = append(m.Blocks, v.asks()...)
	if len(m.Blocks) == 0 {
		say := text.Thinking
		if !v.open() {
			say = text.NoAnswer
		}
		m.Blocks = []render.Block{note(say)}
	}
	m.Choices = v.choices()
	m.Hosts = brought(s, m)
	return m
}

// brought are the hosts of addresses that people wrote in this chat, where the message has an address at all. What was quoted from
// before the chat does not count: anybody may have written that.
func brought(s turn.Session, m render.Message) []string {
	linked := func(b render.Block) bool { t, _ := b.(render.Text); return strings.Contains(t.Markdown, "//") }
	if !slices.ContainsFunc(m.Blocks, linked) {
		return nil
	}
	var said []string
	for _, u := range s.Transcript {
		if u.Role == turn.RoleUser && strings.Contains(u.Text, "//") {
			said = append(said, u.Text)
		}
	}
	return render.Hosts(strings.Join(said, "\n"))
}

// Blank reports whether a message says nothing but that somebody is at work.
func Blank(m render.Message) bool {
	return !slices.ContainsFunc(m.Blocks, func(b render.Block) bool { _, ok := b.(render.Note); return !ok })
}

type viewer struct {
	s    turn.Session
	t    *turn.Turn
	live Live
}

func note(s string) render.Note { return render.Note{Line: render.Line{render.Plain(s)}} }

func (v viewer) open() bool { return v.t.End == "" }

func (v viewer) state() render.State {
	switch v.t.End {
	case "":
		for _, c := range v.t.Calls {
			if c.Waits() || c.Want.Open() {
				return render.Waiting
			}
		}
		return render.Working
	case turn.Answered:
		return render.Done
	case turn.WasStopped, turn.TooManySteps, turn.TooManyDenials:
		return render.Stopped
	}
	return render.Failed
}

func (v viewer) step(c turn.ToolCall) render.Step {
	st := render.Step{Call: string(c.ID), Title: text.Inline(c.Tool.Name), Server: text.Inline(c.Tool.Server), State: stepState(c)}
	var d detail
	switch c.Status {
	case turn.Running:
		d.text("started ").time(c.StartedAt, false)
		if p, ok := v.live.Progress[c.ID]; ok {
			if p.Total > 0 {
				d.sep().text(fmt.Sprintf("%d %%", int(100*min(max(p.Done/p.Total, 0), 1))))
			}
			if p.Message != "" {
				d.sep().text(text.Clip(p.Message, 80))
			}
		}
	case turn.Allowed:
		v.allowedBy(&d, c)
		if v.open() {
			d.sep()
			if len(turn.Waits(v.s)) > 0 && !v.t.Runnable(v.t.Find(c.ID)) {
				d.text(text.StartsLater)
			} else {
				d.text(text.ComesNext)
			}
		}
	case turn.Proposed:
	case turn.Done, turn.Failed:
		if c.StartedAt.IsZero() { // refused before anybody was asked
			d.text(text.Clip(firstLine(resultText(c)), 160))
			break
		}
		d.text(text.Took(c.EndedAt.Sub(c.StartedAt)))
		d.sep()
		v.allowedBy(&d, c)
		if why := text.Clip(firstLine(resultText(c)), 160); c.Status == turn.Failed && why != "" {
			d.sep().text(why)
		}
	case turn.Denied:
		if c.Choice == "" {
			d.text(text.DeniedByPolicy + text.Clip(c.Ruling.Why(), 160))
			break
		}
		d.text("denied by ").person(c.By, c.Name).text(" ").time(c.DecidedAt, false)
		if c.Reason != "" {
			d.sep().text("“" + text.Clip(c.Reason, 200) + "”")
		}
		if turn.Remembers(c, c.By) {
			d.sep().text(text.RememberedDenial)
		} else {
			d.sep().text(text.AllowByAsking)
		}
		if c.MayHaveRun() {
			d.sep().text(text.NotRunAgain)
		}
	case turn.Lapsed:
		d.text(text.NobodyAnswered(c.Waited(), c.MayHaveRun()))
	case turn.Cancelled:
		d.text("cancelled").sep().text(notRun(c))
	case turn.Unknown:
		d.text(lostWords(c, text.Interrupted, text.RanNoAnswer))
		switch c.Choice {
		case chat.Happened:
			d.sep().text(text.OutcomeHappened).person(c.By, c.Name)
		case chat.Leave:
			d.sep().text(text.OutcomeLeft).person(c.By, c.Name)
		}
	}
	if c.Late {
		d.sep().text("a result came late")
	}
	if c.Edited() {
		d.sep().text(text.EditedBy(text.Clip(c.Edits[len(c.Edits)-1].Name, 80)))
	}
	st.Detail = d.line
	switch {
	case c.Status == turn.Lapsed && !c.Reasked && v.t.Stopped == nil && v.canReask(c):
		st.Choices = []render.Choice{render.NewChoice(chat.AskAgain, string(c.Ask))}
	case v.open() && turn.CanUndo(v.s, c):
		st.Choices = []render.Choice{render.NewChoice(chat.Undo, string(c.Ask))}
	}
	return st
}

func notRun(c turn.ToolCall) string {
	if c.MayHaveRun() {
		return text.NotRunAgain
	}
	return text.NotRun
}

// unaskedByMode: the mode, of this chat or of the configuration, is why nobody was asked.
func unaskedByMode(c turn.ToolCall) bool {
	return c.Ruling.Verdict == permission.Allow && c.Ruling.Winner() == permission.RuleMode
}

// canReask: the open turn's calls, and those of ended turns that the session still remembers.
func (v viewer) canReask(c turn.ToolCall) bool {
	return v.open() || v.s.HoldsLapsed(c.ID)
}

func (v viewer) allowedBy(d *detail, c turn.ToolCall) {
	switch {
	case c.Asked && c.Choice == chat.AllowOnce && len(c.Votes) > 1:
		d.text(text.Decided(c.Choice) + " by ")
		for i, x := range c.Votes {
			if i > 0 {
				d.text(", ")
			}
			d.person(x.By, x.Name)
		}
		d.text(" ").time(c.DecidedAt, false)
	case c.Asked && c.Choice != "":
		d.text(text.Decided(c.Choice)+" by ").person(c.By, c.Name).text(" ").time(c.DecidedAt, false)
		if turn.Remembers(c, c.By) {
			d.sep().text(rememberedWith(c.Choice))
		}
	case c.Grant != "":
		v.grantedBy(d, c)
	case c.Ruling.Winner() == permission.RuleRemembered:
		d.text(text.ByRemembered)
	default:
		d.text(text.ByPolicy)
	}
}

func stepState(c turn.ToolCall) render.StepState {
	switch c.Status {
	case turn.Proposed, turn.Allowed:
		return render.StepPending
	case turn.Awaiting:
		return render.StepWaiting
	case turn.Running:
		return render.StepRunning
	case turn.Done:
		return render.StepDone
	case turn.Failed:
		return render.StepFailed
	case turn.Denied:
		return render.StepDenied
	case turn.Lapsed:
		return render.StepExpired
	case turn.Cancelled:
		return render.StepCancelled
	}
	return render.StepUnknown
}

func (v viewer) notes() []render.Block {
	var out []render.Block
	say := func(s string) { out = append(out, note(s)) }
	t := v.t
	if v.open() && v.live.Note != "" {
		say(text.Clip(v.live.Note, 300))
	}
	var faults []string
	left, more := 0, 0
	for _, r := range t.Replies {
		more += r.More
		if len(r.Faults) > 0 {
			faults = r.Faults
		}
		left = max(left, r.Left)
	}
	for _, f := range faults {
		say(text.Clip(f, 300))
	}
	if more > 0 {
		say(text.MoreCalls(more))
	}
	if left > 0 {
		say(text.LeftOut(left))
	}
	if t.Ignored > 0 {
		say(text.EditIgnored(t.Ignored))
	}
	switch {
	case t.Stopped != nil && v.open():
		say(text.Stopping)
	case t.Stopped != nil && t.End != turn.MessageGone:
		say(text.StoppedBy(text.Clip(t.Stopped.Name, 80), t.Cancelled))
	}
	switch {
	case t.EndSay != "":
		say(text.Clip(t.EndSay, 500))
	case t.End == turn.TooManySteps:
		say(text.EndSteps())
	case t.End == turn.TooManyDenials:
		say(text.EndDenials())
	case t.End == turn.ModelFailed:
		say(text.EndModel())
	case t.End == turn.NoProgress, t.End == turn.Broken:
		say(text.EndProgress())
	case t.End == turn.MessageGone:
		say(text.EndGone())
	}
	if n := len(v.s.Waiting); v.s.Turn == t && n > 0 {
		say(text.MoreWaiting(n))
	}
	newest := v.s.Turn == t || v.s.Turn == nil && v.s.Last == t
	switch {
	case newest && v.s.Mode == permission.ModeNever: // as long as it holds, somebody has to see it, and be able to end it (C3)
		out = append(out, render.Note{Line: render.Line{render.Plain(text.NeverAsks)},
			Choices: []render.Choice{render.NewChoice(chat.AskFor, string(t.ID))}})
	case v.s.Turn != t:
	case v.s.Mode == permission.ModeAlways:
		say(text.AlwaysAsks)
	case slices.ContainsFunc(t.Calls, func(c turn.ToolCall) bool { return unaskedByMode(c) && c.Ruling.WonBy().Ref == "" }):
		say(text.NeverAsks) // the mode of the configuration
	case slices.ContainsFunc(t.Calls, unaskedByMode):
		say(text.RanUnasked)
	}
	for _, c := range t.Calls {
		if !turn.Grants(c.Choice) {
			continue
		}
		if g := v.s.Grant(c.Grant); g != nil {
			var d detail
			d.text(text.GrantLine(text.Clip(GrantWhat(*g), 200), nameFor(g.By, g.Name)))
			limits(&d, *g)
			out = append(out, render.Note{Line: d.line, Choices: []render.Choice{render.NewChoice(chat.Revoke, string(g.ID))}})
		}
	}
	if n := len(v.awaiting()); n > 1 {
		out = append(out, note(text.BatchHeader(n, len(t.Batch()))))
	}
	return out
}

func (v viewer) awaiting() []turn.ToolCall {
	var list []turn.ToolCall
	if v.open() {
		for _, c := range v.t.Calls {
			if c.Status == turn.Awaiting {
				list = append(list, c)
			}
		}
	}
	return list
}

func (v viewer) choices() []render.Choice {
	if !v.open() || v.s.Turn != v.t {
		return nil
	}
	var out []render.Choice
	if open := v.awaiting(); len(open) > 1 {
		token := turn.BatchToken(v.s)
		all := true
		var calls []string // how often each tool, in the order of the cards
		count := map[string]int{}
		for _, c := range open {
			all = all && turn.Showable(c)
			name := text.Inline(c.Tool.Name) + " of " + text.Inline(c.Tool.Server)
			if count[name]++; count[name] == 1 {
				calls = append(calls, name)
			}
		}
		for i, name := range calls {
			calls[i] = text.Number(count[name]) + " × " + text.Clip(name, 60)
		}
		if all {
			out = append(out, render.Choice{Choice: chat.ApproveAll, Token: token, Label: text.LabelApproveAll(len(open)), Confirm: text.ConfirmAll(calls)})
		}
		out = append(out, render.Choice{Choice: chat.DenyAll, Token: token, Label: text.LabelDenyAll(len(open)), Style: render.Danger})
	}
	if v.t.Stopped == nil {
		out = append(out, render.NewChoice(chat.Stop, string(v.t.ID)))
	}
	return out
}
