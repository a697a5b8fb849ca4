package permission

import "time"

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
	FromAnalysis    Origin = "a model's analysis"
	FromDefault     Origin = "default"
)

// Effective is what policy, names, metadata and annotations come to for one tool: the entry of a registry
// (R12–R14, R20–R23).
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

	AccessFrom, RiskFrom, ApprovalFrom, TimeoutFrom, ApproversFrom Origin
}

// ConfirmationRequired says whether the tool asks by what it is (C5: approval is not AutoApprove). Settings of the
// session, server and tool may still say otherwise for one call: that is Evaluate's answer.
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
		Tool: t, Source: src,
		Trusted:   (src == SourceWorkbench || server.Trusted && !set.New) && !changed,
		Changed:   changed,
		New:       set.New,
		Repeat:    set.Repeat,
		ChatGrant: set.ChatGrant == nil || *set.ChatGrant,
		Message:   first(set.Message, m.Message),
		Impact:    first(set.Impact, m.Impact),
		Category:  first(set.Category, m.Category),
	}
	if m != (Metadata{}) {
		e.Metadata = &m
	}
	switch {
	case server.Disabled:
		e.Disabled = FromServer
	case set.Disabled:
		e.Disabled = FromTool
	}
	e.Timeout, e.TimeoutFrom = p.Timeout, FromDefault
	if server.Timeout != nil {
		e.Timeout, e.TimeoutFrom = *server.Timeout, FromServer
	}
	if set.Timeout != nil {
		e.Timeout, e.TimeoutFrom = *set.Timeout, FromTool
	}
	e.decides(p, server.Rights, set.Rights)
	name := lookupName(t, src)
	e.classify(set, name, h)
	e.weigh(set, name, h)
	e.level(set, name, h, p.Posture)
	return e
}

// decides sets who may decide: each of the three from the nearest place that says it.
func (e *Effective) decides(p Policy, server, tool Rights) {
	e.Approvers, e.ApproversFrom, e.Approvals = p.Approvers, FromDefault, 1
	take := func(r Rights, from Origin) {
		if r.Approvers != nil {
			e.Approvers, e.ApproversFrom = *r.Approvers, from
		}
		if r.MinApprovals != nil {
			e.Approvals = max(int(*r.MinApprovals), 1)
		}
		if r.RequesterMayApprove != nil {
			e.OthersOnly = !*r.RequesterMayApprove
		}
	}
	p.Rights.Approvers = nil // the policy's own stand in Approvers
	take(p.Rights, FromDefault)
	take(server, FromServer)
	take(tool, FromTool)
}

// classify sets access: setting, then for the workbench name, metadata, annotations; for an MCP server what its
// trusted annotations say, which name and metadata may only raise.
func (e *Effective) classify(set ToolSettings, n named, h Hints) {
	a, from := Unclassified, FromDefault
	if e.Trusted {
		if x := h.access(); x != Unclassified {
			a, from = x, FromAnnotations
		}
	}
	offer := func(x Access, o Origin) {
		if x != Unclassified && (e.Source == SourceWorkbench || caution(x) > caution(a)) {
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
	if e.believedToRead(set, h) && !is(h.OpenWorld, true) {
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
	if n.hasRisk {
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
	case e.believedToRead(set, h) && !is(h.OpenWorld, true): // what it sends out into the world, a read may carry away
		a, from = AutoApprove, FromAnnotations // R16, C4
	}
	offer := func(x Approval, o Origin) {
		switch {
		case e.Source == SourceWorkbench && a.rank() < RequireAuth.rank(), x.rank() >= a.rank() && x != AutoApprove:
			a, from = x, o
		}
	}
	if e.Metadata != nil {
		offer(e.Metadata.Approval, FromMetadata) // RequireAuth stays: no name lowers what our own tool demands
	}
	if n.hasApproval {
		offer(n.approval, FromNamed)
	}
	if a == AutoApprove && e.Source == SourceWorkbench && posture != PostureMCP {
		a, from = RequireConfirmation, FromPosture
	}
	if a == AutoApprove && set.Risk != nil && e.Risk == Dangerous {
		a, from = RequireConfirmation, FromTool // the operator called it dangerous: C5's default for that
	}
	if x := set.Advice; x != nil {
		switch {
		case x.Level && a.rank() < RequireAuth.rank():
			a, from = RequireAuth, FromAnalysis
		case a == AutoApprove && (x.Access != Read || x.Risk.rank() == Dangerous.rank()):
			a, from = RequireConfirmation, FromAnalysis
		}
	}
	if set.Approval != nil {
		a, from = *set.Approval, FromTool
	}
	if a == AutoApprove && e.Changed {
		a, from = RequireConfirmation, FromDefault // what was said, was said of another definition
	}
	if a.rank() == RequireAuth.rank() {
		a = RequireAuth // also what is no approval at all
	}
	e.Approval, e.ApprovalFrom = a, from
}

// believedToRead says that an MCP tool's read-only annotation counts: its server is trusted, it does not contradict itself,
// and the operator did not say otherwise.
func (e *Effective) believedToRead(set ToolSettings, h Hints) bool {
	return e.Source == SourceMCP && e.Trusted && h.reads() && (set.Access == nil || *set.Access == Read)
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

// reads says that the annotations claim read-only and do not contradict themselves. destructiveHint counts here
// only where it was said: its absence means destructive for a tool that writes, and nothing for one that reads.
func (h Hints) reads() bool { return is(h.ReadOnly, true) && !is(h.Destructive, true) }

// IsReadOnly reads readOnlyHint as the MCP specification does: absent means false.
func (h Hints) IsReadOnly() bool { return is(h.ReadOnly, true) }

// IsDestructive reads destructiveHint as the MCP specification does: absent means true, unless the tool claims to
// be read-only, where only the word itself counts.
func (h Hints) IsDestructive() bool {
	if h.Destructive != nil {
		return *h.Destructive
	}
	return !h.IsReadOnly()
}

// IsIdempotent reads idempotentHint as the MCP specification does: absent means false.
func (h Hints) IsIdempotent() bool { return is(h.Idempotent, true) }

// IsOpenWorld reads openWorldHint as the MCP specification does: absent means true.
func (h Hints) IsOpenWorld() bool { return h.OpenWorld == nil || *h.OpenWorld }

func is(b *bool, want bool) bool { return b != nil && *b == want }

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// caution orders access types by the care they call for: an unknown one calls for most.
func caution(a Access) int {
	switch a {
	case Read:
		return 0
	case Write:
		return 1
	}
	return 2
}

func (r Risk) rank() int {
	switch r {
	case Safe:
		return 0
	case Moderate:
		return 1
	}
	return 2
}

func (a Approval) rank() int {
	switch a {
	case AutoApprove:
		return 0
	case RequireConfirmation:
		return 1
	}
	return 2
}
