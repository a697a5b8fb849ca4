package card

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/talk"
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
	asks := v.asks()
	m.Blocks = append(m.Blocks, asks...)
	if len(m.Blocks) == 0 {
		say := text.Thinking
		if !v.open() {
			say = text.NoAnswer
		}
		m.Blocks = []render.Block{note(say)}
	}
	if say := talk.Files(t.Files); say != "" {
		m.Blocks = slices.Insert(m.Blocks, 0, render.Block(note(say)))
	}
	m.Choices = v.choices()
	if len(asks) == 1 && len(m.Choices) == 1 { // Stop: beside one question's answers it would be one button too many
		a := asks[0].(render.Ask)
		stop := m.Choices[0]
		stop.Token = a.Token // a menu has one token
		a.More = append(a.More, stop)
		m.Blocks[len(m.Blocks)-1], m.Choices = a, nil
	}
	m.Hosts = mentionedHosts(s, m)
	return m
}

// Find is a choice that one of a session's messages offers, Offered are all that the card of one ask does but to look at its details.
func Find(s turn.Session, choice chat.Choice, token string) (c render.Choice, ok bool) {
	for _, t := range slices.Backward(s.Turns()) {
		if c, ok = View(s, t, Live{}).Find(choice, token); ok {
			break
		}
	}
	return c, ok
}

func Offered(s turn.Session, ask string) (out []render.Choice) {
	for _, t := range s.Turns() {
		for _, b := range View(s, t, Live{}).Blocks {
			if a, _ := b.(render.Ask); a.Token == ask {
				out = slices.DeleteFunc(slices.Concat(a.Choices, a.More), a.Opens)
			}
		}
	}
	return out
}

// mentionedHosts are the hosts of addresses that people wrote in this chat, where the message has an address at all. What was quoted from
// before the chat does not count: anybody may have written that.
func mentionedHosts(s turn.Session, m render.Message) []string {
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
			if c.Waits() || c.Elicitation.Open() {
				return render.Waiting
			}
		}
		return render.Working
	case turn.Answered:
		return render.Done
	case turn.WasStopped, turn.TooManySteps, turn.TooManyDenials, turn.OverLimit:
		return render.Stopped
	}
	return render.Failed
}

func (v viewer) step(c turn.ToolCall) render.Step {
	st := render.Step{Call: string(c.ID), Title: What(c), Tool: text.Inline(c.Tool.Name), Server: text.Inline(c.Tool.Server), State: stepState(c)}
	var d line
	v.status(&d, c)
	if c.Late {
		d.sep().text("a result came late")
	}
	if c.Edited() {
		d.sep().text(lastEdit(c))
	}
	st.Detail = d.Line
	switch {
	case c.Status == turn.Lapsed && !c.Reasked && v.t.Stopped == nil && (v.open() || v.s.HoldsLapsed(c.ID)):
		st.Choices = []render.Choice{render.NewChoice(chat.AskAgain, string(c.Ask))}
	case v.open() && turn.CanUndo(v.s, c):
		st.Choices = []render.Choice{render.NewChoice(chat.Undo, string(c.Ask))}
	}
	return st
}

// status says how a call stands, and by whom or what.
func (v viewer) status(d *line, c turn.ToolCall) {
	switch c.Status {
	case turn.Running:
		v.progress(d.text("started ").time(c.StartedAt, false), c)
	case turn.Allowed:
		v.allowedBy(d, c)
		if len(turn.Waits(v.s)) > 0 && !v.t.Runnable(v.t.Find(c.ID)) {
			d.sep().text(text.StartsLater)
		} else {
			d.sep().text(text.ComesNext)
		}
	case turn.Proposed:
	case turn.Done, turn.Failed:
		why := resultLine(c)
		if c.StartedAt.IsZero() { // refused before anybody was asked
			d.text(why)
			break
		}
		v.allowedBy(d.text(text.Took(c.EndedAt.Sub(c.StartedAt))).sep(), c)
		if c.Status == turn.Failed && why != "" {
			d.sep().text(why)
		}
	case turn.Denied:
		v.denied(d, c)
	case turn.Lapsed:
		d.text(text.NobodyAnswered(c.Waited(), c.MayHaveRun()))
	case turn.Cancelled:
		d.text("cancelled · ")
		if c.MayHaveRun() {
			d.text(text.NotRunAgain)
		} else {
			d.text(text.NotRun)
		}
	case turn.Unknown:
		d.text(lostWords(c, text.Interrupted, text.RanNoAnswer))
		switch c.Choice {
		case chat.Happened:
			d.sep().text(text.OutcomeHappened).person(c.By, c.Name)
		case chat.Leave:
			d.sep().text(text.OutcomeLeft).person(c.By, c.Name)
		}
	}
}

func (v viewer) progress(d *line, c turn.ToolCall) {
	p := v.live.Progress[c.ID]
	if p.Total > 0 {
		d.sep().text(fmt.Sprintf("%d %%", int(100*min(max(p.Done/p.Total, 0), 1))))
	}
	if p.Message != "" {
		d.sep().text(text.Clip(p.Message, 80))
	}
}

func (v viewer) allowedBy(d *line, c turn.ToolCall) {
	switch {
	case c.Asked && c.Choice == chat.AllowOnce && len(c.Votes) > 1:
		d.text(text.Decided(c.Choice)+" by ").voters(c).text(" ").time(c.DecidedAt, false)
	case c.Asked && c.Choice != "":
		d.text(text.Decided(c.Chosen())+" by ").person(c.By, c.Name).text(" ").time(c.DecidedAt, false)
		if turn.Remembers(c, c.By) {
			d.sep().text(rememberedWith(c, c.Choice))
		}
	case c.Grant != "":
		v.grantedBy(d, c)
	case c.Ruling.Winner() == permission.RuleRemembered:
		d.text(text.ByRemembered)
	case c.Ruling.Winner() == permission.RuleChannel:
		d.text(text.Clip(c.Ruling.Why(), 160))
	default:
		d.text(text.ByPolicy)
	}
}

func (v viewer) denied(d *line, c turn.ToolCall) {
	if c.Choice == "" {
		d.text(text.DeniedByPolicy + text.Clip(c.Ruling.Why(), 160))
		return
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
}

var stepStates = map[turn.Status]render.StepState{
	turn.Proposed: render.StepPending, turn.Allowed: render.StepPending, turn.Awaiting: render.StepWaiting, turn.Running: render.StepRunning,
	turn.Done: render.StepDone, turn.Failed: render.StepFailed, turn.Denied: render.StepDenied, turn.Lapsed: render.StepExpired,
	turn.Cancelled: render.StepCancelled,
}

func stepState(c turn.ToolCall) render.StepState {
	return cmp.Or(stepStates[c.Status], render.StepUnknown)
}

// ends is why a turn ended that has no answer; EndSay is more than that where it is there.
var ends = map[turn.Why]string{
	turn.TooManySteps: text.EndSteps, turn.TooManyDenials: text.EndDenials, turn.ModelFailed: text.EndModel, turn.NoProgress: text.EndProgress,
	turn.Broken: text.EndProgress, turn.MessageGone: text.EndGone,
}

func (v viewer) notes() []render.Block {
	var out []render.Block
	say := func(s string) {
		if s != "" {
			out = append(out, note(s))
		}
	}
	t := v.t
	if v.open() {
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
	if t.Unheard {
		say(text.Unheard)
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
	say(cmp.Or(text.Clip(t.EndSay, 500), ends[t.End]))
	if n := len(v.s.Waiting); v.s.Turn == t && n > 0 {
		say(text.MoreWaiting(n))
	}
	out = append(append(out, v.mode()...), v.grants()...)
	if n := len(v.awaiting()); n > 1 {
		say(text.BatchHeader(n, len(t.Batch())))
	}
	return out
}

// mode says that the chat always or never asks, or that calls ran unasked by its mode or that of the configuration.
func (v viewer) mode() []render.Block {
	unasked := func(c turn.ToolCall) bool {
		return c.Ruling.Verdict == permission.Allow && c.Ruling.Winner() == permission.RuleMode
	}
	newest := v.s.Turn == v.t || v.s.Turn == nil && v.s.Last == v.t
	switch {
	case newest && v.s.Mode == permission.ModeNever: // as long as it holds, somebody has to see it, and be able to end it (C3)
		return []render.Block{render.Note{Line: render.Line{render.Plain(text.NeverAsks)},
			Choices: []render.Choice{render.NewChoice(chat.AskFor, string(v.t.ID))}}}
	case v.s.Turn != v.t:
	case v.s.Mode == permission.ModeAlways:
		return []render.Block{note(text.AlwaysAsks)}
	case slices.ContainsFunc(v.t.Calls, func(c turn.ToolCall) bool { return unasked(c) && c.Ruling.WonBy().Ref == "" }):
		return []render.Block{note(text.NeverAsks)} // the mode of the configuration
	case slices.ContainsFunc(v.t.Calls, unasked):
		return []render.Block{note(text.RanUnasked)}
	}
	return nil
}

// grants are the standing permissions that the turn's calls were answered with, while they hold.
func (v viewer) grants() (out []render.Block) {
	for _, c := range v.t.Calls {
		g := v.s.Grant(c.Grant)
		if g == nil || !turn.Grants(c.Choice) {
			continue
		}
		var d line
		d.text(text.GrantLine(text.Clip(GrantWhat(*g), 200), nameFor(g.By, g.Name)))
		if g.Counted {
			d.text(text.UsesLeft(g.Uses))
		}
		d.until(*g)
		out = append(out, render.Note{Line: d.Line, Choices: []render.Choice{render.NewChoice(chat.Revoke, string(g.ID))}})
	}
	return out
}

func (v viewer) awaiting() []turn.ToolCall {
	if !v.open() {
		return nil
	}
	return turn.OpenAsks(v.s)
}

func (v viewer) choices() []render.Choice {
	if !v.open() || v.s.Turn != v.t {
		return nil
	}
	var out []render.Choice
	if open := v.awaiting(); len(turn.Together(v.s)) > 1 {
		token := turn.BatchToken(open)
		if !slices.ContainsFunc(open, func(c turn.ToolCall) bool { return !turn.Showable(c) }) {
			out = append(out, render.Choice{Choice: chat.ApproveAll, Token: token, Label: text.LabelApproveAll(len(open)), Confirm: text.ConfirmAll(tally(open))})
		}
		out = append(out, render.Choice{Choice: chat.DenyAll, Token: token, Label: text.LabelDenyAll(len(open)), Style: render.Danger})
	}
	if v.t.Stopped == nil {
		out = append(out, render.NewChoice(chat.Stop, string(v.t.ID)))
	}
	return out
}

// tally says what each call does, in the order of the cards, and how often.
func tally(calls []turn.ToolCall) []string {
	var names []string
	count := map[string]int{}
	for _, c := range calls {
		name := What(c) + " (" + text.Inline(c.Tool.Server) + ")"
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if names[i] = text.Clip(name, 100); count[name] > 1 {
			names[i] = text.Number(count[name]) + " × " + names[i]
		}
	}
	return names
}
