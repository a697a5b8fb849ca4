// Package permission answers two questions, purely: may this tool call run ([Evaluate]), and may this person decide about it
// ([MayDecide]). It imports core/chat, core/text, core/permission/canonical and core/permission/pin, does no I/O, and time comes in as a value.
//
// A [Policy] is what operators and people have set, a [Request] one tool call as it stands, and a [Ruling] the answer, with every rule
// that was consulted. A [Grant] is a standing click: it covers a later call exactly where its granter's click would be accepted now
// ([Covers]). access, risk and approval are independent (C5); [Effective] is what they come to for one tool. What people set from a chat
// is [Settings]: the fold of a log of its own, laid over the operator's policy ([Settings.Over]).
//
// The order of the rules (C4), the first answer wins:
//
//	no policy → Forbid · halted → Forbid · disabled, also by a rule on the arguments → Forbid · remembered deny → Forbid · RequireAuth → Ask an admin, final ·
//	AllowAll → Allow · changed definition · a rule that asks · session mode · tool setting (the admin's always, the requester's own, the admin's) ·
//	server setting · approval setting · named table · source default
//
// The rules from "changed definition" on say only whether permission is required. If it is, a grant, or what the requester
// remembered, may satisfy it; else a person is asked; else, where nobody can be asked, the call is forbidden.
//
// Start in evaluate.go: a new rule goes there, its sentence into say.go. A new value that can be set goes into [ToolSettings],
// [ServerSettings] or [Policy], into the table of its fields in setting.go, and into effective.go, which says what it comes to. What a
// grant can be narrowed to is package pin. A new word of configuration or storage is a constant here and a word in words.go.
//
// The zero value of every type is the careful one: the zero Verdict asks, the zero Level is a person's, the zero Approval confirms, an
// unknown tool asks, an unknown user decides nothing. Annotations of a server are hints: they add caution from any server and remove it
// only from one the operator marked trusted, or, for one definition that claims to read, once an admin accepted it as a read ([AcceptReads]).
//
// What is stored ([Ruling], [Grant] and [Difference] in the events of chats' logs, [Change] in those of the settings' log, [Settings] in
// its snapshots, and what they hold) is never rewritten: a field's JSON name and meaning stay, the zero value of a new field means what
// its absence meant, and what is written no more is still read.
package permission

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/pin"
)

// Digest is a lower-case hexadecimal SHA-256.
type Digest string

// Tool is one tool of one server in one definition: with a changed name, description, schema or annotation it is another tool.
type Tool struct {
	Server     string `json:"server"`
	Name       string `json:"name"`
	Definition Digest `json:"def,omitempty"`
}

// Verdict is the answer of [Evaluate]. Zero asks.
type Verdict uint8

const (
	Ask Verdict = iota
	Allow
	Forbid
)

// Level says whose click an ask needs. Zero: one of the policy's approvers; admins always may.
type Level uint8

const (
	LevelUser Level = iota
	LevelAdmin
)

// Access is what a tool does to the world. Zero is unclassified and counts as write.
type Access uint8

const (
	Unclassified Access = iota
	Read
	Write
	All // only for grants (R38)
)

// Risk is how bad it can be. Zero is moderate.
type Risk uint8

const (
	Moderate Risk = iota
	Safe
	Dangerous
)

// Approval is the level a tool needs (R27–R29). Zero confirms.
type Approval uint8

const (
	RequireConfirmation Approval = iota
	AutoApprove
	RequireAuth
)

// Prompt is a setting of R3 and R4: whether policy requires asking. Zero inherits. Configuration says always and never.
type Prompt uint8

const (
	Inherit Prompt = iota
	AlwaysAsk
	NeverAsk
)

// Mode is the session's setting of R2. Zero uses each tool's setting.
type Mode uint8

const (
	ModeTool Mode = iota
	ModeAlways
	ModeNever
)

// Source says where a tool comes from, for the source default. Zero is a stranger's MCP server.
type Source uint8

const (
	SourceMCP Source = iota
	SourceWorkbench
)

// Hints are a tool's own annotations. nil means that the server said nothing.
type Hints struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// Metadata is what a tool of ours declares about itself (R20–R26); of any other it could only raise caution. The zero Metadata is none at
// all (R23): a workbench tool then runs unasked (R15), unless its annotations say that it writes.
type Metadata struct {
	Access   Access   `json:"access,omitempty"`
	Risk     Risk     `json:"risk,omitempty"`
	Approval Approval `json:"approval,omitempty"`
	Impact   string   `json:"impact,omitempty"`
	Category string   `json:"category,omitempty"`
	Message  string   `json:"message,omitempty"` // confirmation message template
}

// Repeat is the operator's word on running a call again by itself after an interruption. Zero is auto.
type Repeat uint8

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

const (
	ApproversRequester ApproverRule = iota
	ApproversParticipants
	ApproversAnyone
	ApproversListed
)

// Rights says who decides, where something else is set than above it. nil means "not set".
type Rights struct {
	Approvers           *Approvers `yaml:"approvers,omitempty"`
	MinApprovals        *People    `yaml:"min_approvals,omitempty"`         // different people who must allow a call; not set, and less than 2: one
	RequesterMayApprove *bool      `yaml:"requester_may_approve,omitempty"` // not set: they may, where the approvers mean them
}

// Posture says which sources ask by default. Zero: MCP servers only.
type Posture uint8

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
	Rules     []Rule // about calls with certain arguments: the operator's alone
	// Accepted is the definition that counts: the one that somebody accepted, or that was seen first. Empty: not recorded. A tool
	// that differs from it asks, whatever never-ask setting there is (C3), and its server's annotations are not believed.
	Accepted Digest
	Reads    bool      // an admin accepted this very definition as a read
	Advice   *Analysis // of the present definition: it only raises caution, and counts where nothing is set (R160)
	New      bool      // nobody looked at the tool yet: its server's annotations are not believed for it
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

// Policy is everything that was set, as one immutable value. The zero Policy denies everything: nobody is there to approve.
type Policy struct {
	Installed bool // false: no policy at all, every call is forbidden
	AllowAll  bool // R62: auto-approval, for library users only
	Mode      Mode // the default of new sessions
	Posture   Posture
	Servers   map[string]ServerSettings
	Approvers Approvers
	Rights    Rights // its Approvers do not count here
	Admins    []chat.User
	Templates []Template    // the operator's own
	Escalate  []chat.User   // who may decide at LevelUser, too, once a request is Escalated
	PageOf    []string      // platforms whose people sign in on the page
	Timeout   time.Duration // default for asks; 0 parks, [TimeoutUnset] depends on where people are asked
	Strict    bool          // nothing can be allowed for a chat that always asks (C2)
	ReadsOnly bool          // what does not surely read is disabled
	Locals    []Local       // what is different in some places: see [Policy.In]

	ChannelGrants bool          // people can allow a tool for all chats of a channel
	ChannelFor    time.Duration // how long that then holds; 0: [ChannelGrantFor]
	RememberUpTo  Scope         // how much of a server a person can remember to allow for themselves (R44)

	Remembered     []Remembered // people's own choices, for what they ask themselves
	Halted         *Halt        // forbids everything until an admin resumes
	SurviveRestart bool         // false voids grants of earlier run epochs (C13)
	Epoch          uint64       // the current run epoch
	Revision       string       // names this policy in audit entries
	// Members are the groups that people belong to, as their platform says now: see [Policy.Knowing]. It is no setting.
	Members  map[chat.User][]chat.User
	ByAdmins []Set    // what people set, once [Settings.Over] laid it over the operator's
	Here     []string // the places whose entries [Policy.In] laid over it
}

// TimeoutUnset is the timeout of a policy in which nobody set one: how long an ask stays open depends on where it is put. A place whose asks
// reach people by a notification gives them time to come; who is asked on a page looks at it.
const (
	TimeoutUnset    time.Duration = -1
	TimeoutNotified               = 30 * time.Minute
	TimeoutOnPage                 = time.Minute
)

// ChannelGrantFor is how long what was allowed for a channel holds where nobody set it.
const ChannelGrantFor = 30 * 24 * time.Hour

// AskingWhere is the policy of one place: notified says that asks there reach people by a notification.
func (p Policy) AskingWhere(notified bool) Policy {
	switch {
	case p.Timeout != TimeoutUnset:
	case notified:
		p.Timeout = TimeoutNotified
	default:
		p.Timeout = TimeoutOnPage
	}
	return p
}

// Knowing is the policy with what a platform says of a person's groups now, so that settings which name a group mean that person.
// A group of another platform or workspace than the person's is not believed.
func (p Policy) Knowing(u chat.User, groups []chat.User) Policy {
	p.Members = maps.Clone(p.Members)
	if p.Members == nil {
		p.Members = map[chat.User][]chat.User{}
	}
	p.Members[u] = slices.DeleteFunc(slices.Clone(groups), func(g chat.User) bool {
		return !g.IsGroup() || g.Platform != u.Platform || g.Workspace != u.Workspace
	})
	return p
}

// NamesGroups reports whether anybody may decide because of a group they belong to on a platform.
func (p Policy) NamesGroups(platform string) bool {
	lists := []*Approvers{{Rule: ApproversListed, Users: slices.Concat(p.Admins, p.Escalate)}, &p.Approvers}
	for _, s := range p.Servers {
		lists = append(lists, s.Rights.Approvers)
		for _, t := range s.Tools {
			lists = append(lists, t.Rights.Approvers)
		}
	}
	for _, l := range p.Locals {
		for _, x := range l.Set {
			if x.Field == approversField.Name {
				a, _ := parseApprovers(x.Value) // nobody, where it is none
				lists = append(lists, &a)
			}
		}
	}
	return slices.ContainsFunc(lists, func(a *Approvers) bool {
		return a != nil && a.Rule == ApproversListed &&
			slices.ContainsFunc(a.Users, func(u chat.User) bool { return u.Platform == platform && u.IsGroup() })
	})
}

// GrantID names a grant within its chat.
type GrantID string

// Scope is how much of a server a grant covers. Zero is one tool; a wider one covers no tool added or changed later (C6).
type Scope uint8

const (
	ScopeTool Scope = iota
	ScopeReads
	ScopeWrites
	ScopeServer
)

// Grant is a standing click. It is stored: see the package comment.
type Grant struct {
	ID    GrantID   `json:"id"`
	Chat  chat.ID   `json:"chat"`
	Scope Scope     `json:"scope,omitempty"`
	Tool  Tool      `json:"tool"`
	Pins  []pin.Pin `json:"pins,omitempty"`
	By    chat.User `json:"by"`
	Name  string    `json:"name,omitempty"` // display name of By when it was given
	At    time.Time `json:"at"`
	Until time.Time `json:"until,omitzero"` // zero: as long as the chat
	Uses  int       `json:"uses,omitempty"` // calls left; 0 with Counted false: unlimited

	Counted bool   `json:"counted,omitempty"` // Uses limits the grant
	Of      int    `json:"of,omitempty"`      // how many calls it was given for, where that was kept
	Epoch   uint64 `json:"epoch,omitempty"`
	Tools   []Tool `json:"tools,omitempty"` // for a wider scope: the server's tools as they were when it was granted
}

// Request is one tool call as it stands when it is ruled, decided or about to run.
type Request struct {
	Chat       chat.ID
	Channel    chat.Channel
	Requester  chat.User
	Present    []chat.User // participants of the chat, for ApproversParticipants
	Escalated  bool        // nobody answered in time, so that those of [Policy.Escalate] may, for this call alone
	Mode       Mode
	ModeAt     time.Time // when the session's mode was set: under Always only later grants count (C2)
	Tool       Tool
	Source     Source
	Hints      Hints
	Metadata   Metadata
	Args       json.RawMessage // as canonical.Written gives them
	Masked     json.RawMessage // Args as the card shows them, where part of them is masked: no standing permission of a person covers those
	Unattended bool            // nobody can be asked
	Unwritten  bool            // there is no call yet: what its arguments will be is open, and no rule about them counts
	Standing   chat.Standing   // what the requester is here
}

// Reason is one rule that was consulted.
type Reason struct {
	Rule string `json:"rule"`           // one of the Rule constants
	Text string `json:"text"`           // a sentence for people
	Won  bool   `json:"won,omitempty"`  // it gave the answer
	Ref  string `json:"ref,omitempty"`  // the grant or setting it names
	Said string `json:"said,omitempty"` // a verdict's word, or one of the Said constants
}

// Ruling is the answer. It is stored: see the package comment.
type Ruling struct {
	Verdict   Verdict       `json:"verdict"`
	Level     Level         `json:"level,omitempty"`
	Grant     GrantID       `json:"grant,omitempty"` // the grant that satisfied it
	Access    Access        `json:"access,omitempty"`
	Risk      Risk          `json:"risk,omitempty"`
	Unrated   bool          `json:"unrated,omitempty"`    // nobody said how risky the tool is
	SaysReads bool          `json:"says_reads,omitempty"` // its server says that it only reads, and is not believed
	Approval  Approval      `json:"approval,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"` // 0 parks
	Message   string        `json:"message,omitempty"` // the confirmation message, filled in
	Impact    string        `json:"impact,omitempty"`
	Category  string        `json:"category,omitempty"`
	ChatGrant bool          `json:"chat_grant,omitempty"` // "Allow for this chat" may be offered
	Scopes    []Scope       `json:"scopes,omitempty"`     // wider grants that may be offered, because they would cover this call
	Approvals int           `json:"approvals,omitempty"`  // different people who must allow it, where it is more than one
	Remember  bool          `json:"remember,omitempty"`   // "Remember this choice" may be offered
	Keeps     Scope         `json:"keeps,omitempty"`      // and may be as wide as that
	Channel   time.Duration `json:"channel,omitempty"`    // "Allow in this channel" may be offered, and holds for so long
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
