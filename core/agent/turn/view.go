package turn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// Live is what streams and is not recorded. It never holds anything that a person decides on.
type Live struct {
	Text     string
	Note     string // about a wait: "Trying again in 20 s."
	Progress map[CallID]Progress
	// Now and Drawn are for cards that nobody has seen yet: what they say of their end, from the moment they are drawn, or as they
	// were drawn.
	Now   time.Time
	Drawn map[AskID]time.Time
}

// expires is until when a card says that it can be answered.
func (v viewer) expires(w Wait) time.Time {
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
func View(s Session, t *Turn, live Live) render.Message {
	v := viewer{s: s, t: t, live: live}
	m := render.Message{State: v.state(), Token: string(t.ID)}
	for step, r := range t.Replies {
		if r.Text != "" {
			m.Blocks = append(m.Blocks, render.Text{Markdown: r.Text, Cut: r.Cut})
		}
		for _, c := range t.Calls {
			if c.Step == step && !c.waits() {
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
		say := render.Thinking
		if !v.open() {
			say = render.NoAnswer
		}
		m.Blocks = []render.Block{note(say)}
	}
	m.Choices = v.choices()
	m.Hosts = brought(s, m)
	return m
}

// brought are the hosts of addresses that people wrote in this chat, where the message has an address at all. What was quoted from
// before the chat does not count: anybody may have written that.
func brought(s Session, m render.Message) []string {
	linked := func(b render.Block) bool { t, _ := b.(render.Text); return strings.Contains(t.Markdown, "//") }
	if !slices.ContainsFunc(m.Blocks, linked) {
		return nil
	}
	var said []string
	for _, u := range s.Transcript {
		if u.Role == RoleUser && strings.Contains(u.Text, "//") {
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
	s    Session
	t    *Turn
	live Live
}

func note(s string) render.Note { return render.Note{Line: render.Line{render.Plain(s)}} }

func (v viewer) open() bool { return v.t.End == "" }

func (v viewer) state() render.State {
	switch v.t.End {
	case "":
		for _, c := range v.t.Calls {
			if c.waits() || c.Want.Open() {
				return render.Waiting
			}
		}
		return render.Working
	case Answered:
		return render.Done
	case WasStopped, TooManySteps, TooManyDenials:
		return render.Stopped
	}
	return render.Failed
}

func (v viewer) step(c ToolCall) render.Step {
	st := render.Step{Call: string(c.ID), Title: seen(c.Tool.Name), Server: seen(c.Tool.Server), State: stepState(c)}
	var d detail
	switch c.Status {
	case Running:
		d.text("started ").time(c.StartedAt, false)
		if p, ok := v.live.Progress[c.ID]; ok {
			if p.Total > 0 {
				d.sep().text(fmt.Sprintf("%d %%", int(100*min(max(p.Done/p.Total, 0), 1))))
			}
			if p.Message != "" {
				d.sep().text(clip(p.Message, 80))
			}
		}
	case Allowed:
		v.allowedBy(&d, c)
		if v.open() {
			d.sep()
			if len(Waits(v.s)) > 0 && !v.t.runnable(v.t.find(c.ID)) {
				d.text(render.StartsLater)
			} else {
				d.text(render.ComesNext)
			}
		}
	case Proposed:
	case Done, Failed:
		if c.StartedAt.IsZero() { // refused before anybody was asked
			d.text(clip(firstLine(resultText(c)), 160))
			break
		}
		d.text(render.Took(c.EndedAt.Sub(c.StartedAt)))
		d.sep()
		v.allowedBy(&d, c)
		if why := clip(firstLine(resultText(c)), 160); c.Status == Failed && why != "" {
			d.sep().text(why)
		}
	case Denied:
		if c.Choice == "" {
			d.text(render.DeniedByPolicy + clip(c.Ruling.Why(), 160))
			break
		}
		d.text("denied by ").person(c.By, c.Name).text(" ").time(c.DecidedAt, false)
		if c.Reason != "" {
			d.sep().text("“" + clip(c.Reason, 200) + "”")
		}
		if Remembers(c, c.By) {
			d.sep().text(render.RememberedDenial)
		} else {
			d.sep().text(render.AllowByAsking)
		}
		if c.mayHaveRun() {
			d.sep().text(render.NotRunAgain)
		}
	case Lapsed:
		d.text(render.NobodyAnswered(c.waited(), c.mayHaveRun()))
	case Cancelled:
		d.text("cancelled").sep().text(notRun(c))
	case Unknown:
		d.text(c.lostWords(render.Interrupted, render.RanNoAnswer))
		switch c.Choice {
		case chat.Happened:
			d.sep().text(render.OutcomeHappened).person(c.By, c.Name)
		case chat.Leave:
			d.sep().text(render.OutcomeLeft).person(c.By, c.Name)
		}
	}
	if c.Late {
		d.sep().text("a result came late")
	}
	if c.edited() {
		d.sep().text(render.EditedBy(clip(c.Edits[len(c.Edits)-1].Name, 80)))
	}
	st.Detail = d.line
	switch {
	case c.Status == Lapsed && !c.Reasked && v.t.Stopped == nil && v.canReask(c):
		st.Choices = []render.Choice{{Choice: chat.AskAgain, Token: string(c.Ask), Label: render.LabelAskAgain}}
	case v.open() && CanUndo(v.s, c):
		st.Choices = []render.Choice{{Choice: chat.Undo, Token: string(c.Ask), Label: render.LabelUndo}}
	}
	return st
}

func notRun(c ToolCall) string {
	if c.mayHaveRun() {
		return render.NotRunAgain
	}
	return render.NotRun
}

// unaskedByMode: the mode, of this chat or of the configuration, is why nobody was asked.
func unaskedByMode(c ToolCall) bool {
	return c.Ruling.Verdict == permission.Allow && c.Ruling.Winner() == permission.RuleMode
}

// canReask: the open turn's calls, and those of ended turns that the session still remembers.
func (v viewer) canReask(c ToolCall) bool {
	if v.open() {
		return true
	}
	for _, l := range v.s.Lapsed {
		if l.Call.ID == c.ID {
			return true
		}
	}
	return false
}

func (v viewer) allowedBy(d *detail, c ToolCall) {
	switch {
	case c.Asked && c.Choice == chat.AllowOnce && len(c.Votes) > 1:
		d.text(render.Decided(c.Choice) + " by ")
		for i, x := range c.Votes {
			if i > 0 {
				d.text(", ")
			}
			d.person(x.By, x.Name)
		}
		d.text(" ").time(c.DecidedAt, false)
	case c.Asked && c.Choice != "":
		d.text(render.Decided(c.Choice)+" by ").person(c.By, c.Name).text(" ").time(c.DecidedAt, false)
		if Remembers(c, c.By) {
			d.sep().text(rememberedWith(c.Choice))
		}
	case c.Grant != "":
		v.grantedBy(d, c)
	case c.Ruling.Winner() == permission.RuleRemembered:
		d.text(render.ByRemembered)
	default:
		d.text(render.ByPolicy)
	}
}

func stepState(c ToolCall) render.StepState {
	switch c.Status {
	case Proposed, Allowed:
		return render.StepPending
	case Awaiting:
		return render.StepWaiting
	case Running:
		return render.StepRunning
	case Done:
		return render.StepDone
	case Failed:
		return render.StepFailed
	case Denied:
		return render.StepDenied
	case Lapsed:
		return render.StepExpired
	case Cancelled:
		return render.StepCancelled
	}
	return render.StepUnknown
}

func (v viewer) notes() []render.Block {
	var out []render.Block
	say := func(s string) { out = append(out, note(s)) }
	t := v.t
	if v.open() && v.live.Note != "" {
		say(clip(v.live.Note, 300))
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
		say(clip(f, 300))
	}
	if more > 0 {
		say(render.MoreCalls(more))
	}
	if left > 0 {
		say(render.LeftOut(left))
	}
	if t.Ignored > 0 {
		say(render.EditIgnored(t.Ignored))
	}
	switch {
	case t.Stopped != nil && v.open():
		say(render.Stopping)
	case t.Stopped != nil && t.End != MessageGone:
		say(render.StoppedBy(clip(t.Stopped.Name, 80), t.Cancelled))
	}
	switch {
	case t.EndSay != "":
		say(clip(t.EndSay, 500))
	case t.End == TooManySteps:
		say(render.EndSteps())
	case t.End == TooManyDenials:
		say(render.EndDenials())
	case t.End == ModelFailed:
		say(render.EndModel())
	case t.End == NoProgress, t.End == Broken:
		say(render.EndProgress())
	case t.End == MessageGone:
		say(render.EndGone())
	}
	if n := len(v.s.Waiting); v.s.Turn == t && n > 0 {
		say(render.MoreWaiting(n))
	}
	newest := v.s.Turn == t || v.s.Turn == nil && v.s.Last == t
	switch {
	case newest && v.s.Mode == permission.ModeNever: // as long as it holds, somebody has to see it, and be able to end it (C3)
		out = append(out, render.Note{Line: render.Line{render.Plain(render.NeverAsks)},
			Choices: []render.Choice{{Choice: chat.AskFor, Token: string(t.ID), Label: render.LabelAskMore}}})
	case v.s.Turn != t:
	case v.s.Mode == permission.ModeAlways:
		say(render.AlwaysAsks)
	case slices.ContainsFunc(t.Calls, func(c ToolCall) bool { return unaskedByMode(c) && c.Ruling.WonBy().Ref == "" }):
		say(render.NeverAsks) // the mode of the configuration
	case slices.ContainsFunc(t.Calls, unaskedByMode):
		say(render.RanUnasked)
	}
	for _, c := range t.Calls {
		if !Grants(c.Choice) {
			continue
		}
		if g := v.s.grant(c.Grant); g != nil {
			var d detail
			d.text(render.GrantLine(clip(GrantWhat(*g), 200), nameFor(g.By, g.Name)))
			limits(&d, *g)
			out = append(out, render.Note{Line: d.line, Choices: []render.Choice{{Choice: chat.Revoke, Token: string(g.ID), Label: render.LabelRevoke}}})
		}
	}
	if n := len(v.awaiting()); n > 1 {
		out = append(out, note(render.BatchHeader(n, len(t.batch()))))
	}
	return out
}

func (v viewer) awaiting() []ToolCall {
	var list []ToolCall
	if v.open() {
		for _, c := range v.t.Calls {
			if c.Status == Awaiting {
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
		token := BatchToken(v.s)
		all := true
		var calls []string // how often each tool, in the order of the cards
		count := map[string]int{}
		for _, c := range open {
			all = all && Showable(c)
			name := seen(c.Tool.Name) + " of " + seen(c.Tool.Server)
			if count[name]++; count[name] == 1 {
				calls = append(calls, name)
			}
		}
		for i, name := range calls {
			calls[i] = render.Number(count[name]) + " × " + clip(name, 60)
		}
		if all {
			out = append(out, render.Choice{Choice: chat.ApproveAll, Token: token, Label: render.LabelApproveAll(len(open)), Confirm: render.ConfirmAll(calls)})
		}
		out = append(out, render.Choice{Choice: chat.DenyAll, Token: token, Label: render.LabelDenyAll(len(open)), Style: render.Danger})
	}
	if v.t.Stopped == nil {
		out = append(out, render.Choice{Choice: chat.Stop, Token: string(v.t.ID), Label: render.LabelStop})
	}
	return out
}

func (v viewer) asks() []render.Block {
	if !v.open() {
		return nil
	}
	var out []render.Block
	first := true
	for _, c := range v.t.Calls {
		switch {
		case c.Status == Awaiting:
			a := v.ask(c)
			if first {
				a.Warning, a.Review = render.Warning(render.Product), render.Review
				first = false
			}
			out = append(out, a)
		case c.waits():
			out = append(out, v.outcome(c))
		case c.Want.Open():
			out = append(out, v.want(c))
		}
	}
	return out
}

// ask is the card. Nothing on it was written by the model but the arguments, which stand in their own place.
func (v viewer) ask(c ToolCall) render.Ask {
	a := v.card(c)
	a.Kind = render.AskPermission
	if CanEdit(c) {
		a.Args.Edit = render.Editable(c.Args)
	}
	a.Header, a.Run = render.AllowHeader(seen(c.Tool.Server)), render.RunLine(seen(c.Tool.Name), seen(c.Tool.Server))
	a.Facts = Facts(c.Ruling)
	a.Question, a.Impact = clip(c.Ruling.Message, 300), clip(c.Ruling.Impact, 300)
	a.Describes = clip(c.Card.Describes, 400)
	var why detail
	why.text(seen(c.Ruling.Why()))
	if i := slices.IndexFunc(c.Ruling.Reasons, func(x permission.Reason) bool { return x.Said == permission.SaidTooLittle }); i >= 0 {
		why.text(" " + seen(c.Ruling.Reasons[i].Text)) // else whoever allowed all reads would wonder why it asks
	}
	switch {
	case c.Late:
		why.strong(render.LateOnCard(c.LateFailed))
	case c.mayHaveRun():
		why.strong(render.AgainOnCard())
	}
	if c.edited() {
		why.strong(render.EditedBy(clip(c.Edits[len(c.Edits)-1].Name, 80)) + ".")
	}
	if c.Unchecked {
		why.strong(render.Unchecked)
	}
	masked := Masked(c)
	if masked {
		why.strong(render.HiddenOnCard)
	}
	v.changes(&why, c)
	for _, warning := range render.Lookalikes(c.Args) { // letters of another alphabet look like those that people know
		why.strong(warning)
	}
	a.Because = why.line
	token := string(c.Ask)
	a.More = v.more(c, a.More)
	if masked && Showable(c) {
		a.Choices = append(a.Choices, render.Choice{Choice: chat.Reveal, Token: token, Label: render.LabelReveal})
	}
	if OffersGrant(c) {
		a.Choices = append(a.Choices, render.Choice{Choice: chat.AllowChat, Token: token, Label: render.LabelAllowChat, Hint: render.HintAllowChat, Confirm: alsoRemembered(c, chat.AllowChat, "")})
	}
	if Showable(c) {
		a.Choices = append(a.Choices, render.Choice{Choice: chat.AllowOnce, Token: token, Label: render.LabelAllowOnce, Confirm: alsoRemembered(c, chat.AllowOnce, "")})
	}
	a.Choices = append(a.Choices, render.Choice{Choice: chat.Deny, Token: token, Label: render.LabelDeny, Style: render.Danger})
	var d detail
	if c.Ruling.Approvals > 1 {
		d.text(render.VotesLine(len(c.Votes), c.Ruling.Approvals))
		for i, x := range c.Votes {
			if i == 0 {
				d.text(": ")
			} else {
				d.text(", ")
			}
			d.person(x.By, x.Name)
		}
		d.sep()
	}
	v.who(&d, c)
	v.expiry(&d, c)
	if c.Card.Notice != "" {
		d.sep().text(clip(c.Card.Notice, 300))
	}
	a.Footer = d.line
	return a
}

// outcome is the card of a run that nobody knows the end of.
func (v viewer) outcome(c ToolCall) render.Ask {
	a := v.card(c)
	a.Kind = render.AskOutcome
	a.Header, a.Run = c.lostWords(render.OutcomeHeader, render.OutcomeNoAnswer), render.RunLine(seen(c.Tool.Name), seen(c.Tool.Server))
	if c.Lost != "" {
		a.Because = render.Line{render.Plain(clip(c.Lost, 300))}
	}
	token := string(c.Ask)
	a.Choices = []render.Choice{
		{Choice: chat.Happened, Token: token, Label: render.LabelHappened},
		{Choice: chat.RunAgain, Token: token, Label: render.LabelRunAgain},
		{Choice: chat.Leave, Token: token, Label: render.LabelLeave},
	}
	var d detail
	d.text(render.OutcomeFooter).sep()
	v.who(&d, c)
	v.expiry(&d, c)
	a.Footer = d.line
	return a
}

func (v viewer) card(c ToolCall) render.Ask {
	a := render.Ask{
		Call: string(c.ID), Token: string(c.Ask), Tool: seen(c.Tool.Name), Expires: v.expires(c.wait()),
		Server: render.Server{Name: seen(c.Tool.Server), Description: clip(c.Card.Server, 300), Icon: clip(c.Card.Icon, 300), Trusted: c.Ruling.Trusted},
		Args:   render.ArgsOf(c.Args, string(c.Digest)),
	}
	a.More = append(a.More, render.Choice{Choice: chat.ViewDetail, Token: string(c.Ask), Label: render.LabelViewDetails})
	if !c.Deadline.IsZero() {
		a.More = append(a.More, render.Choice{Choice: chat.Extend, Token: string(c.Ask), Label: render.LabelExtend})
	}
	return a
}

func (v viewer) who(d *detail, c ToolCall) {
	switch {
	case len(c.Card.Who) > 0:
		d.text(seen(render.OneOf(c.Card.Who)))
	case c.Ruling.Level == permission.LevelAdmin:
		d.text(render.AnAdmin)
	default:
		d.person(v.t.Requester, v.requesterName())
	}
	d.text(render.CanAnswer)
}

func (v viewer) expiry(d *detail, c ToolCall) {
	if at := v.expires(c.wait()); !at.IsZero() {
		d.sep().text("expires ").time(at, true)
	}
}

func (v viewer) requesterName() string {
	for _, p := range v.s.People {
		if p.User == v.t.Requester {
			return nameFor(p.User, p.Name)
		}
	}
	return nameFor(v.t.Requester, "")
}

// Facts are a ruling's chips: access, risk, level.
func Facts(r permission.Ruling) []render.Fact {
	access := render.Fact{Kind: "access", Symbol: "✎", Label: render.ChipWrite}
	switch r.Access {
	case permission.Read:
		access.Symbol, access.Label = "◉", render.ChipRead
	case permission.All:
		access.Symbol, access.Label = "∗", render.ChipFull
	}
	risk := render.Fact{Kind: "risk", Symbol: "◑", Label: render.ChipModerate}
	switch r.Risk {
	case permission.Safe:
		risk.Symbol, risk.Label = "○", render.ChipSafe
	case permission.Dangerous:
		risk.Symbol, risk.Label = "●", render.ChipDangerous
	}
	level := render.Fact{Kind: "level", Symbol: render.SymbolConfirm, Label: render.ChipConfirm}
	switch {
	case r.Level == permission.LevelAdmin || r.Approval == permission.RequireAuth:
		level.Symbol, level.Label = render.SymbolAdmin, render.ChipAdmin
	case r.Approval == permission.AutoApprove:
		level.Symbol, level.Label = render.SymbolAuto, render.ChipAuto
	}
	return []render.Fact{access, risk, level}
}

// detail builds a line.
type detail struct{ line render.Line }

func (d *detail) text(s string) *detail {
	if s == "" {
		return d
	}
	if n := len(d.line); n > 0 {
		if p, ok := d.line[n-1].(render.Plain); ok {
			d.line[n-1] = p + render.Plain(s)
			return d
		}
	}
	d.line = append(d.line, render.Plain(s))
	return d
}

func (d *detail) sep() *detail {
	if len(d.line) == 0 {
		return d
	}
	return d.text(" · ")
}

func (d *detail) person(u chat.User, name string) *detail {
	d.line = append(d.line, render.Person{User: u, Name: nameFor(u, name)})
	return d
}

func (d *detail) strong(s string) *detail {
	if len(d.line) > 0 {
		d.text(" ")
	}
	d.line = append(d.line, render.Strong(s))
	return d
}

func (d *detail) time(at time.Time, until bool) *detail {
	d.line = append(d.line, render.Time{At: at, Until: until})
	return d
}

func nameFor(u chat.User, name string) string {
	if name = clip(name, 80); name != "" {
		return name
	}
	return clip(u.Key, 80)
}

func resultText(c ToolCall) string {
	if c.Result == nil {
		return ""
	}
	return c.Result.Text
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// seen is a stranger's words on one line, with nothing hidden in them.
func seen(s string) string {
	s, _ = render.Visible(s)
	return strings.NewReplacer("\n", " ⏎ ", "\t", " ").Replace(strings.TrimSpace(s))
}

// Seen is a stranger's words on one line, with nothing hidden in them.
func Seen(s string) string { return seen(s) }

// clip shortens a stranger's words to n characters, saying so, with nothing hidden in them.
func clip(s string, n int) string {
	r := []rune(seen(s))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}
