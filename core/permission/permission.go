// Package permission answers two questions, purely: may this tool call run ([Evaluate]), and may this person
// decide about it ([MayDecide]).
//
// Its words. A [Policy] is what operators and people have set. A [Request] is one tool call as it stands. A
// [Ruling] is the answer, with every rule that was consulted. A [Grant] is a standing click: it covers a later call exactly
// where its granter's click would be accepted now ([Covers]). access, risk and approval are three independent fields
// (REQUIREMENTS C5); [Effective] is what they come to for one tool.
//
// The order of the rules (REQUIREMENTS C4), the first answer wins:
//
//	no policy → Forbid · halted → Forbid · disabled → Forbid · remembered deny → Forbid · RequireAuth → Ask an admin, final ·
//	AllowAll → Allow · changed definition · session mode · tool setting (the admin's always, the requester's own, the admin's) ·
//	server setting · approval setting · named table · source default
//
// The rules from "changed definition" on say only whether permission is required. If it is, a grant, or what the requester
// remembered, may satisfy it; else a person is asked; else, where nobody can be asked, the call is forbidden.
//
// What runs is what was shown: canonical.Arguments gives the one form of a call's arguments, [CallDigest] binds it to
// server, tool, definition and chat, and [MayRepeat] says when the same bytes may run again after an interruption.
//
// What people set from a chat is [Settings]: the fold of a log of its own, laid over the operator's policy ([Settings.Over]).
//
// The files: evaluate.go (the order) · effective.go, named.go (access, risk, approval) · grant.go, pin.go · decide.go (who) ·
// settings.go, setting.go (what people set), remembered.go, definition.go (what servers' tools were), template.go, exchange.go (export
// and import) · explain.go · message.go · digest.go · repeat.go · validate.go · words.go (the words of
// configuration and storage) · say.go (every sentence for people). Stored here: [Ruling] and [Grant], inside the events of the chat's
// log, and [Change] in those of the settings'. Left out: everything that waits or can fail.
//
// Invariants. The zero value of every type is the careful one: the zero Verdict asks, the zero Level is a
// person's, the zero Approval confirms, an unknown tool asks, an unknown user decides nothing. Annotations of a server are
// hints: they add caution from any server and remove it only from one the operator marked trusted.
//
// The package does no I/O and reads no clock: time comes in as a value.
package permission

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// Digest is a lower-case hexadecimal SHA-256.
type Digest string

// Tool is one tool of one server in one definition. A changed definition (name, description, schemas,
// annotations) is another tool.
type Tool struct {
	Server     string `json:"server"`
	Name       string `json:"name"`
	Definition Digest `json:"def,omitempty"`
}

// Verdict is the answer of [Evaluate]. Zero asks.
type Verdict uint8

// The verdicts.
const (
	Ask Verdict = iota
	Allow
	Forbid
)

// Level says whose click an ask needs. Zero: one of the policy's approvers; admins always may.
type Level uint8

// The levels.
const (
	LevelUser Level = iota
	LevelAdmin
)

// Access is what a tool does to the world. Zero is unclassified and counts as write.
type Access uint8

// The access types. All exists only for grants (R38).
const (
	Unclassified Access = iota
	Read
	Write
	All
)

// Risk is how bad it can be. Zero is moderate.
type Risk uint8

// The risks.
const (
	Moderate Risk = iota
	Safe
	Dangerous
)

// Approval is the level a tool needs. Zero confirms.
type Approval uint8

// The approvals of R27–R29.
const (
	RequireConfirmation Approval = iota
	AutoApprove
	RequireAuth
)

// Prompt is a setting of R3 and R4: whether policy requires asking. Zero inherits.
type Prompt uint8

// The prompts. AlwaysAsk and NeverAsk are what configuration calls always and never.
const (
	Inherit Prompt = iota
	AlwaysAsk
	NeverAsk
)

// Mode is the session's setting of R2. Zero uses each tool's setting.
type Mode uint8

// The modes.
const (
	ModeTool Mode = iota
	ModeAlways
	ModeNever
)

// Source says where a tool comes from, for the source default. Zero is a stranger's MCP server.
type Source uint8

// The sources.
const (
	SourceMCP Source = iota
	SourceWorkbench
)

// Hints are a tool's own annotations. nil means the server said nothing, which the MCP specification
// reads pessimistically (destructive, open world, not idempotent, not read-only).
type Hints struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// Metadata is what a tool of ours declares about itself (R20–R26). For MCP tools it is empty; where it is not, it only
// raises caution. The zero Metadata is none at all (R23): a workbench tool then runs unasked (R15), unless its
// annotations say that it writes.
type Metadata struct {
	Access   Access   `json:"access,omitempty"`
	Risk     Risk     `json:"risk,omitempty"`
	Approval Approval `json:"approval,omitempty"`
	Impact   string   `json:"impact,omitempty"`
	Category string   `json:"category,omitempty"`
	Message  string   `json:"message,omitempty"` // confirmation message template
}

// Repeat is the operator's word on running a call again by itself after an interruption (SAFETY 1). Zero is auto.
type Repeat uint8

// The repeats.
const (
	RepeatAuto Repeat = iota
	RepeatAlways
	RepeatNever
)

// Approvers says who may decide at LevelUser. Zero is the person whose message started the turn.
type Approvers struct {
	Rule  ApproverRule `json:"rule,omitempty"`
	Users []chat.User  `json:"users,omitempty"` // for ApproversListed
}

// ApproverRule is the kind of Approvers.
type ApproverRule uint8

// The approver rules.
const (
	ApproversRequester ApproverRule = iota
	ApproversParticipants
	ApproversAnyone
	ApproversListed
)

// Rights says who decides, where something else is set than above it. nil means "not set".
type Rights struct {
	Approvers           *Approvers
	MinApprovals        *People // different people who must allow a call; not set, and less than 2: one
	RequesterMayApprove *bool   // not set: they may, where the approvers mean them
}

// Posture says which sources ask by default. Zero: MCP servers only.
type Posture uint8

// The postures.
const (
	PostureMCP Posture = iota
	PostureAll         // the workbench asks too
)

// ToolSettings is one tool's entry in the policy. Pointers and zero values mean "not set".
type ToolSettings struct {
	Ask       Prompt
	Disabled  bool
	Access    *Access
	Risk      *Risk
	Approval  *Approval
	Message   string
	Impact    string
	Category  string
	Timeout   *time.Duration // 0 parks: no expiry
	Repeat    Repeat
	ChatGrant *bool // false withholds "Allow for this chat", also from grants that exist
	Rights    Rights
	// Accepted is the definition that counts: the one that somebody accepted, or that was seen first. Empty: not recorded. A tool
	// that differs from it asks, whatever never-ask setting there is (C3), and its server's annotations are not believed.
	Accepted Digest
	// Advice is what a model thinks of the tool in its present definition. It only raises caution, and counts where nothing is set (R160).
	Advice *Analysis
	// New says that nobody looked at the tool yet: its server's annotations are not believed for it.
	New bool
}

// ServerSettings is one server's entry in the policy.
type ServerSettings struct {
	Ask         Prompt
	Disabled    bool
	Trusted     bool
	Description string
	Icon        string
	Timeout     *time.Duration
	Rights      Rights
	Tools       map[string]ToolSettings
}

// Policy is everything that was set, as one immutable value. The zero Policy denies everything: nobody is
// there to approve. A binary installs one; only a library user may choose AllowAll.
type Policy struct {
	Installed bool // false: no policy at all, every call is forbidden
	AllowAll  bool // R62: compatible auto-approval for library users; the product never sets it
	Mode      Mode // the default of new sessions
	Posture   Posture
	Servers   map[string]ServerSettings
	Approvers Approvers
	Rights    Rights // its Approvers do not count here
	Admins    []chat.User
	Timeout   time.Duration // default for asks; 0 parks
	Strict    bool          // nothing can be allowed for a chat that always asks (C2)
	// Remembered are people's own choices, for what they ask themselves.
	Remembered []Remembered
	// Halted, if not nil, forbids everything until an admin resumes.
	Halted *Halt
	// SurviveRestart false voids grants of earlier run epochs (C13).
	SurviveRestart bool
	Epoch          uint64 // the current run epoch
	Revision       string // names this policy in audit entries
	// Members are the groups that people belong to, as their platform says now: see [Policy.Knowing]. It is no setting.
	Members map[chat.User][]chat.User
}

// Knowing is the policy with what a platform says of a person's groups now, so that settings which name a group mean that person.
// A group of another platform or workspace than the person's is not believed.
func (p Policy) Knowing(u chat.User, groups []chat.User) Policy {
	var of []chat.User
	for _, g := range groups {
		if g.IsGroup() && g.Platform == u.Platform && g.Workspace == u.Workspace {
			of = append(of, g)
		}
	}
	p.Members = maps.Clone(p.Members)
	if p.Members == nil {
		p.Members = map[chat.User][]chat.User{}
	}
	p.Members[u] = of
	return p
}

// NamesGroups reports whether anybody may decide because of a group they belong to on a platform.
func (p Policy) NamesGroups(platform string) bool {
	is := func(u chat.User) bool { return u.Platform == platform && u.IsGroup() }
	lists := func(a *Approvers) bool {
		return a != nil && a.Rule == ApproversListed && slices.ContainsFunc(a.Users, is)
	}
	if slices.ContainsFunc(p.Admins, is) || lists(&p.Approvers) {
		return true
	}
	for _, s := range p.Servers {
		if lists(s.Rights.Approvers) {
			return true
		}
		for _, t := range s.Tools {
			if lists(t.Rights.Approvers) {
				return true
			}
		}
	}
	return false
}

// GrantID names a grant within its chat.
type GrantID string

// Scope is how much of a server a grant covers. Zero is one tool.
type Scope uint8

// The scopes. The wider ones never cover RequireAuth, dangerous tools, tools added later or changed
// definitions (C6).
const (
	ScopeTool Scope = iota
	ScopeReads
	ScopeWrites
	ScopeServer
)

// Grant is a standing click.
type Grant struct {
	ID    GrantID   `json:"id"`
	Chat  chat.ID   `json:"chat"`
	Scope Scope     `json:"scope,omitempty"`
	Tool  Tool      `json:"tool"`
	Pins  []Pin     `json:"pins,omitempty"`
	By    chat.User `json:"by"`
	Name  string    `json:"name,omitempty"` // display name of By when it was given
	At    time.Time `json:"at"`
	Until time.Time `json:"until,omitzero"` // zero: as long as the chat
	Uses  int       `json:"uses,omitempty"` // calls left; 0 with Counted false: unlimited
	// Counted says that Uses limits the grant.
	Counted bool   `json:"counted,omitempty"`
	Of      int    `json:"of,omitempty"` // how many calls it was given for, where that was kept
	Epoch   uint64 `json:"epoch,omitempty"`
	// Tools are the server's tools as they were when a wider scope was granted: what was added or changed later is
	// not covered (C6). Unused by ScopeTool.
	Tools []Tool `json:"tools,omitempty"`
}

// Request is one tool call as it stands when it is ruled, decided or about to run.
type Request struct {
	Chat       chat.ID
	Requester  chat.User
	Present    []chat.User // participants of the chat, for ApproversParticipants
	Mode       Mode
	ModeAt     time.Time // when the session's mode was set: under Always only later grants count (C2)
	Tool       Tool
	Source     Source
	Hints      Hints
	Metadata   Metadata
	Args       json.RawMessage // [Written]
	Masked     json.RawMessage // Args as the card shows them, where part of them is masked: no standing permission of a person covers those
	Unattended bool            // nobody can be asked
	Standing   chat.Standing   // what the requester is here
}

// Reason is one rule that was consulted.
type Reason struct {
	Rule string `json:"rule"`           // stable name: "disabled", "require_auth", "mode", "tool", "server", "named", "source", "grant": see the Rule constants
	Text string `json:"text"`           // a sentence for people
	Won  bool   `json:"won,omitempty"`  // it gave the answer
	Ref  string `json:"ref,omitempty"`  // the grant or setting it names
	Said string `json:"said,omitempty"` // what it said: "ask", "allow", "forbid", "required", "not required", "no opinion"
}

// Ruling is the answer.
type Ruling struct {
	Verdict   Verdict       `json:"verdict"`
	Level     Level         `json:"level,omitempty"`
	Grant     GrantID       `json:"grant,omitempty"` // the grant that satisfied it
	Access    Access        `json:"access,omitempty"`
	Risk      Risk          `json:"risk,omitempty"`
	Approval  Approval      `json:"approval,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"` // 0 parks
	Message   string        `json:"message,omitempty"` // the confirmation message, filled in
	Impact    string        `json:"impact,omitempty"`
	Category  string        `json:"category,omitempty"`
	ChatGrant bool          `json:"chat_grant,omitempty"` // "Allow for this chat" may be offered
	Scopes    []Scope       `json:"scopes,omitempty"`     // wider grants that may be offered, because they would cover this call
	Approvals int           `json:"approvals,omitempty"`  // different people who must allow it, where it is more than one
	Remember  bool          `json:"remember,omitempty"`   // "Remember this choice" may be offered
	Masked    bool          `json:"masked,omitempty"`     // part of the arguments is masked: whoever allows it has to have seen it
	Changed   bool          `json:"changed,omitempty"`    // the tool is not as it was when it was accepted, or first seen
	New       bool          `json:"new,omitempty"`        // nobody looked at the tool yet
	Trusted   bool          `json:"trusted,omitempty"`
	Reasons   []Reason      `json:"reasons,omitempty"`
}

// Why is the winning reason's sentence, or "".
func (r Ruling) Why() string { return r.WonBy().Text }

// Winner is the name of the rule that gave the answer, or "".
func (r Ruling) Winner() string { return r.WonBy().Rule }

// WonBy is the reason that gave the answer, or none.
func (r Ruling) WonBy() Reason {
	for _, x := range r.Reasons {
		if x.Won {
			return x
		}
	}
	return Reason{}
}
