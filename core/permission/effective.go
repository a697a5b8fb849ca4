package permission

import (
	"cmp"
	"time"
)

// Origin says where a value of [Effective] came from.
type Origin string

// The origins, in the words that Explain prints.
const (
	FromSession     Origin = "session setting"
	FromTool        Origin = "tool setting"
	FromServer      Origin = "server setting"
	FromNamed       Origin = "named table"
	FromMetadata    Origin = "the tool's metadata"
	FromAnnotations Origin = "the server's annotations"
	FromPosture     Origin = "posture"
	FromAccepted    Origin = "an admin's acceptance"
	FromAnalysis    Origin = "a model's analysis"
	FromReadsOnly   Origin = "reads only"
	FromDefault     Origin = "default"
)

// Effective is what policy, names, metadata and annotations come to for one tool (R12–R14, R20–R23).
type Effective struct {
	Tool   Tool
	Source Source
	// Access is Read or Write. Classified is false when nobody who is believed said which: such a tool counts as
	// Write, and only a grant for the tool itself or for the whole server covers it (C6).
	Access     Access
	Classified bool
	Risk       Risk
	Approval   Approval
	Trusted    bool // annotations are believed: the workbench, or a server that the operator marked
	Reads      bool // an admin accepted it as a read, which is believed: it is as it was then, and nothing says otherwise
	Disabled   Origin
	Changed    bool // the definition is not the accepted one, or the one that was seen first
	New        bool // nobody looked at it yet
	Approvers  Approvers
	Approvals  int  // different people who must allow a call: at least 1
	OthersOnly bool // whoever asks may not decide it
	Timeout    time.Duration
	Repeat     Repeat
	ChatGrant  bool // "Allow for this chat" is not withheld
	Message    string
	Impact     string
	Category   string
	Metadata   *Metadata // what the tool declares; nil: nothing (R23)

	AccessFrom, RiskFrom, ApprovalFrom, TimeoutFrom Origin
}

// ConfirmationRequired says whether the tool asks by what it is (C5); for one call settings may say otherwise, as Evaluate answers.
func (e Effective) ConfirmationRequired() bool { return e.Approval != AutoApprove }

// Get returns what holds for a tool now.
func (p Policy) Get(t Tool, src Source, h Hints, m Metadata) Effective {
	if src != SourceWorkbench {
		src = SourceMCP // what is not known to be ours is a stranger's
	}
	server := p.Servers[t.Server]
	set := server.Tools[t.Name]
	changed := set.Accepted != "" && set.Accepted != t.Definition
	e := Effective{
		Tool: t, Source: src, Timeout: p.Timeout, TimeoutFrom: FromDefault,
		Trusted:   (src == SourceWorkbench || server.Trusted && !set.New) && !changed,
		Changed:   changed,
		New:       set.New,
		Repeat:    set.Repeat,
		ChatGrant: set.ChatGrant == nil || *set.ChatGrant,
		Message:   cmp.Or(set.Message, m.Message),
		Impact:    cmp.Or(set.Impact, m.Impact),
		Category:  cmp.Or(set.Category, m.Category),
	}
	if m != (Metadata{}) {
		e.Metadata = &m
	}
	e.Reads = set.Reads && src == SourceMCP && !set.New && set.Accepted == t.Definition && t.Definition != "" && set.saysRead(h)
	switch {
	case server.Disabled:
		e.Disabled = FromServer
	case set.Disabled:
		e.Disabled = FromTool
	}
	switch {
	case set.Timeout != nil:
		e.Timeout, e.TimeoutFrom = *set.Timeout, FromTool
	case server.Timeout != nil:
		e.Timeout, e.TimeoutFrom = *server.Timeout, FromServer
	}
	e.decides(p, server.Rights, set.Rights)
	name := lookupName(t, src)
	if e.classify(set, name, h); e.Reads && e.Access != Read { // its name or its metadata says more: then it was accepted as a read for nothing
		e.Reads = false
		e.classify(set, name, h)
	}
	if p.ReadsOnly && e.Disabled == "" && e.Access != Read { // which is what nobody classified, too
		e.Disabled = FromReadsOnly
	}
	e.weigh(set, name, h)
	e.level(set, name, h, p.Posture)
	return e
}

// decides sets who may decide: each of the three from the nearest place that says it.
func (e *Effective) decides(p Policy, server, tool Rights) {
	e.Approvers, e.Approvals = p.Approvers, 1
	p.Rights.Approvers = nil // the policy's own stand in Approvers
	for _, r := range []Rights{p.Rights, server, tool} {
		if r.Approvers != nil {
			e.Approvers = *r.Approvers
		}
		if r.MinApprovals != nil {
			e.Approvals = max(int(*r.MinApprovals), 1)
		}
		if r.RequesterMayApprove != nil {
			e.OthersOnly = !*r.RequesterMayApprove
		}
	}
}

// classify sets access: setting, then for the workbench name, metadata, annotations; for an MCP server what its
// trusted annotations say, which name and metadata may only raise.
func (e *Effective) classify(set ToolSettings, n named, h Hints) {
	a, from := Unclassified, FromDefault
	if x := h.access(); (e.Trusted || e.Reads) && x != Unclassified {
		a, from = x, FromAnnotations
	}
	offer := func(x Access, o Origin) {
		if x != Unclassified && (e.Source == SourceWorkbench || x.rank() > a.rank()) {
			a, from = x, o
		}
	}
	if e.Metadata != nil {
		offer(e.Metadata.Access, FromMetadata)
	}
	offer(n.access, FromNamed)
	if set.Advice != nil && set.Advice.Access != Read && a == Read {
		a, from = Write, FromAnalysis // never from unclassified: a grant for writes would cover it then
	}
	if set.Access != nil {
		a, from = *set.Access, FromTool
	}
	e.Access, e.Classified, e.AccessFrom = a, true, from
	if a != Read && a != Write {
		e.Access, e.Classified = Write, false
	}
}

// weigh sets risk.
func (e *Effective) weigh(set ToolSettings, n named, h Hints) {
	r, from := Moderate, FromDefault
	if e.believedToRead(set, h) {
		r, from = Safe, FromAnnotations
	}
	if is(h.Destructive, true) { // said by anybody: it adds caution
		r, from = Dangerous, FromAnnotations
	}
	offer := func(x Risk, o Origin) {
		if e.Source == SourceWorkbench || x.rank() > r.rank() {
			r, from = x, o
		}
	}
	if e.Metadata != nil {
		offer(e.Metadata.Risk, FromMetadata)
	}
	if n.levels {
		offer(n.risk, FromNamed)
	}
	if set.Advice != nil && set.Advice.Risk.rank() > r.rank() {
		r, from = set.Advice.Risk, FromAnalysis
	}
	if set.Risk != nil {
		r, from = *set.Risk, FromTool
	}
	if r.rank() == Dangerous.rank() {
		r = Dangerous // also what is no risk at all
	}
	e.Risk, e.RiskFrom = r, from
}

// level sets approval.
func (e *Effective) level(set ToolSettings, n named, h Hints, posture Posture) {
	a, from := RequireConfirmation, FromDefault
	switch {
	case e.Source == SourceWorkbench:
		if e.Metadata == nil && !e.Changed && !is(h.ReadOnly, false) && !is(h.Destructive, true) {
			a = AutoApprove // R15: ours, and nothing says that it writes
		}
	case e.Reads:
		a, from = AutoApprove, FromAccepted
	case e.believedToRead(set, h):
		a, from = AutoApprove, FromAnnotations // R16, C4
	}
	offer := func(x Approval, o Origin) {
		if e.Source == SourceWorkbench && a.rank() < RequireAuth.rank() || x.rank() >= a.rank() && x != AutoApprove {
			a, from = x, o
		}
	}
	if e.Metadata != nil {
		offer(e.Metadata.Approval, FromMetadata) // RequireAuth stays: no name lowers what our own tool demands
	}
	if n.levels {
		offer(n.approval, FromNamed)
	}
	auto := func(but bool, o Origin) {
		if a == AutoApprove && but {
			a, from = RequireConfirmation, o
		}
	}
	auto(e.Source == SourceWorkbench && posture != PostureMCP, FromPosture)
	auto(set.Risk != nil && e.Risk == Dangerous, FromTool) // the operator called it dangerous: C5's default for that
	if x := set.Advice; x != nil && x.Level && a.rank() < RequireAuth.rank() {
		a, from = RequireAuth, FromAnalysis
	} else if x != nil {
		auto(x.Access != Read || x.Risk.rank() == Dangerous.rank(), FromAnalysis)
	}
	auto(e.Source == SourceMCP && (e.Access != Read || e.Risk.rank() == Dangerous.rank()), FromDefault) // by a claim nothing else runs unasked
	if set.Approval != nil {
		a, from = *set.Approval, FromTool
	}
	auto(e.Changed, FromDefault) // what was said, was said of another definition
	if a.rank() == RequireAuth.rank() {
		a = RequireAuth // also what is no approval at all
	}
	e.Approval, e.ApprovalFrom = a, from
}

// believedToRead says that an MCP tool counts as a read that stays inside: what it sends out into the world, a read may carry away. Its
// server is trusted, or an admin accepted the tool as a read, it does not contradict itself, and the operator did not say otherwise.
func (e *Effective) believedToRead(set ToolSettings, h Hints) bool {
	return e.Source == SourceMCP && (e.Reads || e.Trusted && h.reads() && set.saysRead(h))
}

// saysRead says that a tool would be a read that stays inside, were what its server says believed where the operator says nothing.
func (set ToolSettings) saysRead(h Hints) bool {
	reads := is(h.ReadOnly, true)
	if set.Access != nil {
		reads = *set.Access == Read
	}
	return reads && !is(h.ReadOnly, false) && !is(h.Destructive, true) && !is(h.OpenWorld, true)
}

// access is what the annotations claim, for a server that is believed.
func (h Hints) access() Access {
	switch {
	case h.reads():
		return Read
	case is(h.ReadOnly, false), is(h.Destructive, true) && !is(h.ReadOnly, true):
		return Write
	}
	return Unclassified // nothing said, or a contradiction
}

// reads says that the annotations claim read-only and do not contradict themselves: destructiveHint counts where it was said.
func (h Hints) reads() bool { return is(h.ReadOnly, true) && !is(h.Destructive, true) }

func is(b *bool, want bool) bool { return b != nil && *b == want }
