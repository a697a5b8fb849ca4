package turn

import (
	"encoding/json"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Identifiers. All but TurnID are minted by the engine from crypto/rand and are unguessable; TurnID is derived from the
// sequence number and the operation of the entry that opened the turn, so that every replica derives the same one.
type (
	TurnID string
	CallID string // one proposed call; the tool_call_id that people and models see
	AskID  string // one asking: minted with a ruling, answered at most once
	RunID  string // one attempt to run
)

// Entry is one event in its place. At is stamped by Redis, never by a replica, and never decreases along a log.
type Entry struct {
	Seq   uint64
	Op    string // the operation that brought it; several entries of one write share a prefix
	At    time.Time
	Event Event
}

// Class says what a log checks before it takes an event.
type Class uint8

// The classes. A fact is taken blind; a choice only if the writer folded the whole log; work only if the
// writer also holds the chat's lease.
const (
	Fact Class = iota + 1
	Choice
	Work
)

// ClassOf is the class of an event. One that is in no list is work: it needs the most.
func ClassOf(e Event) Class {
	switch e.(type) {
	case Said, Edited, Deleted, Shown, Finished, Posted, Removed, Elicited, FilesRead, EarlierRead, Previewed:
		return Fact
	case Decided, Withdrawn, Amended, Ticked, Revealed, Filled, Changed, Extended, Expired, Reopened, Resolved, Revoked, ModeSet, Reset, StopAsked, Rated:
		return Choice
	default: // Replied, Ruled, Started, PreviewStarted, Abandoned, Ended
		return Work
	}
}

// MustSurvive reports whether losing an event in a failover could run something twice.
func MustSurvive(e Event) bool {
	switch e.(type) {
	case Started, Decided:
		return true
	default:
		return false
	}
}

// Event is one thing that happened. The set is closed. Each type is also the stored form: fields are only ever
// added, with a zero value that means what their absence meant.
//
//sumtype:decl
type Event interface {
	// Kind is the stored name of the type.
	Kind() string
	// apply folds the event, in its place e. What no longer fits changes nothing, and s stays as it was.
	apply(s Session, e Entry) Session
}

type (
	// Said: a person wrote. It opens a turn, or waits for one.
	Said struct {
		Delivery   chat.Delivery   `json:"delivery"` // unique; a repeat changes nothing
		Message    chat.MessageRef `json:"message,omitempty"`
		By         chat.User       `json:"by,omitzero"`
		Name       string          `json:"name,omitempty"`
		Text       string          `json:"text"`
		Context    []chat.Quote    `json:"context,omitempty"`
		Earlier    *chat.Earlier   `json:"earlier,omitempty"` // since version 3; to be read before the model is asked: see [EarlierRead]
		Unattended bool            `json:"unattended,omitempty"`
		Standing   chat.Standing   `json:"standing,omitempty"` // what By is here
		Channel    chat.Channel    `json:"channel,omitempty"`  // that the chat stands in
		Files      []chat.File     `json:"files,omitempty"`    // read before the model is asked: see [FilesRead]
		// Forget is after how long a silence this begins a new conversation, where that is not [Silence].
		Forget time.Duration `json:"forget,omitempty"` // since version 2
		// Replay is set on a queued "Ask again": the same bytes as a new call.
		Replay *Replay `json:"replay,omitempty"`
	}
	// Edited: a person changed a message that may still wait.
	Edited struct {
		Delivery chat.Delivery   `json:"delivery"`
		Message  chat.MessageRef `json:"message"`
		By       chat.User       `json:"by,omitzero"`
		Text     string          `json:"text"`
	}
	// Deleted: a message is no more: one that a person took back and that may still wait, or the turn's own, which nobody can
	// answer any more.
	Deleted struct {
		Delivery chat.Delivery   `json:"delivery"`
		Message  chat.MessageRef `json:"message"`
		By       chat.User       `json:"by,omitzero"`
		All      bool            `json:"all,omitempty"` // the whole place is gone
	}
	// Shown: the turn's one message is posted, or Asks appeared in it. With From it is posted anew in place of that message, which
	// would have been edited too late.
	Shown struct {
		Turn    TurnID          `json:"turn"`
		Message chat.MessageRef `json:"message"`
		From    chat.MessageRef `json:"from,omitempty"`
		Asks    []Appeared      `json:"asks,omitempty"`
	}
	// Replied: the model answered step Step of the turn.
	Replied struct {
		Turn   TurnID          `json:"turn"`
		Step   int             `json:"step,omitempty"`
		Text   string          `json:"text,omitempty"`
		Calls  []Proposal      `json:"calls,omitempty"`
		Usage  Usage           `json:"usage,omitzero"`
		Model  string          `json:"model,omitempty"`
		Cut    bool            `json:"cut,omitempty"`    // the stream ended early
		Faults []string        `json:"faults,omitempty"` // servers whose tools could not be offered, for people
		Left   int             `json:"left,omitempty"`   // utterances that did not fit into the model's context
		More   int             `json:"more,omitempty"`   // calls over [MaxCalls], which were not taken
		Extra  json.RawMessage `json:"extra,omitempty"`
	}
	// Ruled: policy answered for one call. An Allowed call may be ruled again before it starts, only to tighten.
	Ruled struct {
		Call   CallID            `json:"call"`
		Ask    AskID             `json:"ask"` // always minted; answers an asking, or names this ruling
		Ruling permission.Ruling `json:"ruling"`
		Card   Card              `json:"card,omitzero"`
		// Say is the result the model reads when the verdict is Forbid.
		Say string `json:"say,omitempty"`
	}
	// Decided: a person answered an ask. The first one before its deadline counts.
	Decided struct {
		Ask     AskID             `json:"ask"`
		Digest  permission.Digest `json:"digest"`
		Choice  chat.Choice       `json:"choice"` // AllowOnce, or one that [Grants]; anything else denies
		By      chat.User         `json:"by,omitzero"`
		Name    string            `json:"name,omitempty"`
		Surface string            `json:"surface,omitempty"` // where it was clicked: "slack", "web", ...
		Reason  string            `json:"reason,omitempty"`
		Grant   *permission.Grant `json:"grant,omitempty"` // with a choice that grants
		// Under is the grant that this click gave for another call, and which covers this one too: it then stands as if it had
		// never asked.
		Under permission.GrantID `json:"under,omitempty"`
		// Channel is the one for all chats of which By allowed the tool, besides this call, which they allow once.
		Channel chat.Channel `json:"channel,omitempty"`
	}
	// Withdrawn: a decision is taken back before its call started.
	Withdrawn struct {
		Ask  AskID     `json:"ask"`
		By   chat.User `json:"by,omitzero"`
		Name string    `json:"name,omitempty"`
		Next AskID     `json:"next"` // the new asking
	}
	// Amended: a person changed the arguments of a call that is asked for. It is another call then, with a digest of its
	// own: it is ruled and asked for anew, and nothing is allowed by it.
	Amended struct {
		Ask    AskID             `json:"ask"`
		By     chat.User         `json:"by,omitzero"`
		Name   string            `json:"name,omitempty"`
		Args   json.RawMessage   `json:"args"` // canonical
		Digest permission.Digest `json:"digest"`

		Unchecked bool `json:"unchecked,omitempty"` // as of a Proposal
	}
	// Ticked: a person ticked, or unticked, "Remember this choice" of an ask. It decides nothing.
	Ticked struct {
		Ask  AskID     `json:"ask"`
		On   bool      `json:"on,omitempty"`
		By   chat.User `json:"by,omitzero"`
		Name string    `json:"name,omitempty"`
	}
	// Revealed: a person looked at what the card of an ask masks. It decides nothing.
	Revealed struct {
		Ask  AskID     `json:"ask"`
		By   chat.User `json:"by,omitzero"`
		Name string    `json:"name,omitempty"`
	}
	// Rated: a person said whether a turn that is over was of use. Of several by one person the last counts.
	Rated struct {
		Turn TurnID    `json:"turn"`
		Good bool      `json:"good,omitempty"`
		By   chat.User `json:"by,omitzero"`
		Name string    `json:"name,omitempty"`
	}
	// Extended: an ask's deadline moves.
	Extended struct {
		Ask   AskID     `json:"ask"`
		By    chat.User `json:"by,omitzero"`
		Name  string    `json:"name,omitempty"`
		Until time.Time `json:"until"`
	}
	// Expired: nobody answered in time.
	Expired struct {
		Ask AskID `json:"ask"`
	}
	// Reopened: a person asks again for a call that expired. Before its batch settled it is the same call under
	// Next; afterwards it queues a turn with the same bytes as call NextCall.
	Reopened struct {
		Ask      AskID     `json:"ask"`
		By       chat.User `json:"by,omitzero"`
		Name     string    `json:"name,omitempty"`
		Next     AskID     `json:"next"`
		NextCall CallID    `json:"next_call"`
	}
	// Started: the call is about to run. It is durable before the tool hears of it.
	Started struct {
		Call   CallID             `json:"call"`
		Run    RunID              `json:"run"`
		Ask    AskID              `json:"ask"` // the ruling or asking that allowed it
		Digest permission.Digest  `json:"digest"`
		Grant  permission.GrantID `json:"grant,omitempty"` // the grant it used
		Token  uint64             `json:"token"`           // of the driver's lease
	}
	// PreviewStarted: before people are asked about a call, a read of its server is about to look at what the call replaces. It is durable
	// before the tool hears of it.
	PreviewStarted struct {
		Call  CallID             `json:"call"`
		Run   RunID              `json:"run"`
		Of    permission.Digest  `json:"of"` // of the call
		Tool  permission.Tool    `json:"tool"`
		Args  json.RawMessage    `json:"args"`
		Grant permission.GrantID `json:"grant,omitempty"` // the grant that it used
		Token uint64             `json:"token"`           // of the driver's lease
	}
	// Previewed: what came of that look: what would go and come, a line for each, or why that is not known. It proves itself by the RunID.
	// A line of Diff begins with "-", "+" or " "; "@" and a number stand for so many lines that stay, and "\" says that
	// the line before it ends the text, without a line break.
	Previewed struct {
		Call CallID    `json:"call"`
		Run  RunID     `json:"run"`
		Diff string    `json:"diff,omitempty"`
		Why  WhyNoDiff `json:"why,omitempty"`
	}
	// Finished: the run has a known outcome. It proves itself by its RunID.
	Finished struct {
		Call   CallID `json:"call"`
		Run    RunID  `json:"run"`
		Result Result `json:"result"`
	}
	// Wanted: while a call runs, its server wants something of the requester. It proves itself by the RunID.
	Elicited struct {
		Call    CallID        `json:"call"`
		Run     RunID         `json:"run"`
		Ask     AskID         `json:"ask"`
		Request Elicitation   `json:"want"`
		Wait    time.Duration `json:"wait,omitempty"` // until it counts as declined; 0: as long as the run
	}
	// Filled: a person answered that.
	Filled struct {
		Ask  AskID     `json:"ask"`
		Fill Fill      `json:"fill"`
		By   chat.User `json:"by,omitzero"`
		Name string    `json:"name,omitempty"`
	}
	// Abandoned: nobody can say how the run ended. Either a later driver found it running (a larger token), or
	// the driver itself lost sight of it (Own, its own token: a timeout, a dead server).
	Abandoned struct {
		Call  CallID        `json:"call"`
		Run   RunID         `json:"run"`
		Token uint64        `json:"token"`
		Own   bool          `json:"own,omitempty"`
		Say   string        `json:"say,omitempty"` // what is known of it, for people
		Ask   AskID         `json:"ask"`           // the asking: happened, run again, leave
		Wait  time.Duration `json:"wait,omitempty"`
		// Forgotten: the log does not know the run, because the store came back older than it was; the driver does.
		Forgotten bool `json:"forgotten,omitempty"`
		// Repeat: the recovery rule allows the same bytes again under the same approval.
		Repeat string `json:"repeat,omitempty"` // the rule that allows it, or ""
	}
	// Resolved: a person said how an unknown run ended.
	Resolved struct {
		Ask    AskID       `json:"ask"`
		Answer chat.Choice `json:"answer"` // Happened, RunAgain, Leave
		By     chat.User   `json:"by,omitzero"`
		Name   string      `json:"name,omitempty"`
		Next   AskID       `json:"next"` // the new asking, for RunAgain
	}
	// Revoked: grants end.
	Revoked struct {
		Grants []permission.GrantID `json:"grants"`
		By     chat.User            `json:"by,omitzero"`
		Name   string               `json:"name,omitempty"`
	}
	// ModeSet: the session's mode changes. Rev is one more than the session's, so that a repeat changes nothing.
	ModeSet struct {
		Mode permission.Mode `json:"mode"`
		Rev  int             `json:"rev"`
		By   chat.User       `json:"by,omitzero"`
		Name string          `json:"name,omitempty"`
	}
	// Changed: somebody changed settings. It stands in the settings' own log, never in that of a conversation.
	Changed struct {
		Changes permission.Changes `json:"changes"`
		By      chat.User          `json:"by,omitzero"` // nobody: nod itself, about what servers say
		Name    string             `json:"name,omitempty"`
		Surface string             `json:"surface,omitempty"` // "slack", "web", "cli", ...
		Note    string             `json:"note,omitempty"`    // what it was part of: a template, an import
	}
	// Reset: the chat starts over: the turn is stopped, the transcript and the grants end. Rev as in ModeSet.
	Reset struct {
		Rev  int       `json:"rev"`
		By   chat.User `json:"by,omitzero"`
		Name string    `json:"name,omitempty"`
	}
	// StopAsked: a person ends the turn. (The log calls it "stopped".)
	StopAsked struct {
		Turn TurnID    `json:"turn"`
		By   chat.User `json:"by,omitzero"`
		Name string    `json:"name,omitempty"`
	}
	// Posted: a short message stands beside the turn's one message. Slot says what for; an empty Message says that there is
	// none and none will be tried.
	Posted struct {
		Turn    TurnID          `json:"turn"`
		Slot    string          `json:"slot"`
		Message chat.MessageRef `json:"message,omitempty"`
		Who     []string        `json:"who,omitempty"` // who may answer an ask from now on, too, where that is what it says; as [Card.Who]
	}
	// Removed: that message is taken away again.
	Removed struct {
		Turn TurnID `json:"turn"`
		Slot string `json:"slot"`
	}
	// FilesRead: what came of the files that people attached to the turn's messages, all of them in their order. The first one counts.
	FilesRead struct {
		Turn  TurnID     `json:"turn"`
		Files []FileRead `json:"files"`
	}
	// EarlierRead: what people said before those of the turn's messages that have [Said.Earlier], in their order. The first one counts.
	EarlierRead struct {
		Turn   TurnID         `json:"turn"`
		Quotes [][]chat.Quote `json:"quotes"`
		Unread bool           `json:"unread,omitempty"` // some of it could not be read
	}
	// Ended: the turn is over.
	Ended struct {
		Turn TurnID `json:"turn"`
		Why  Why    `json:"why"`
		Say  string `json:"say,omitempty"` // a sentence for people where Why alone does not tell
	}
)

// Appeared is an ask whose card people can see from here on.
type Appeared struct {
	Ask   AskID     `json:"ask"`
	Until time.Time `json:"until,omitzero"` // until when the card says that it can be answered
}

// Proposal is a call as the model wrote it, checked and canonical. A Problem settles it at once: nobody is asked and nothing runs.
type Proposal struct {
	ID      CallID            `json:"id"`
	ModelID string            `json:"model_id,omitempty"`
	Tool    permission.Tool   `json:"tool"`
	Args    json.RawMessage   `json:"args,omitempty"` // canonical; as written (as a JSON string) when Problem is set
	Digest  permission.Digest `json:"digest,omitempty"`
	Problem string            `json:"problem,omitempty"`
	Extra   json.RawMessage   `json:"extra,omitempty"`

	Unchecked bool `json:"unchecked,omitempty"` // nobody knows whether Args fit the tool's input schema
}

// Replay is an expired call to be asked for again in a turn of its own.
type Replay struct {
	Call   CallID            `json:"call"`
	Tool   permission.Tool   `json:"tool"`
	Args   json.RawMessage   `json:"args"`
	Digest permission.Digest `json:"digest"`

	Unchecked bool `json:"unchecked,omitempty"` // as of a Proposal
}

// Card is what the ask shows beyond the ruling: facts recorded with it, so that a card never shows anything else.
type Card struct {
	Title     string   `json:"title,omitempty"`
	Describes string   `json:"describes,omitempty"` // the tool's own description: untrusted
	Server    string   `json:"server,omitempty"`    // the server's description
	Icon      string   `json:"icon,omitempty"`
	Who       []string `json:"who,omitempty"`    // who can answer, in words, or as [chat.User] writes people whom nobody named yet; empty: the requester
	Notice    string   `json:"notice,omitempty"` // e.g. that no admin is configured (R111)
	Others    bool     `json:"others,omitempty"` // the requester's word alone does not do: others have to be told
	// Changes tell what changed in the tool's definition since it was accepted, or first seen: untrusted.
	Changes []permission.Difference `json:"changes,omitempty"`
	// First says that this is the first card of the chat about a tool of its server that no admin accepted: the one that tells people so.
	First bool `json:"first,omitempty"`
	// Reads says that reads of this server were asked about often enough here ([AskedReads]): [chat.AllowReads] belongs in front.
	Reads bool `json:"reads,omitempty"`
}

// Usage is what a reply cost. Zero fields were not reported.
type Usage struct {
	Input  int `json:"in,omitempty"`  // tokens
	Output int `json:"out,omitempty"` // tokens
	Cached int `json:"cached,omitempty"`
}

// Result is a call's one result. Where a tool or an event gave it, it is Text. Where it follows from the log it has a Kind: the fold
// keeps no sentences, so that every release folds a log to the same session. Package talk puts kinds into words.
type Result struct {
	Text       string          `json:"text,omitempty"`       // what the model reads
	Structured json.RawMessage `json:"structured,omitempty"` // structured content, where the tool gave it
	IsError    bool            `json:"error,omitempty"`
	Omitted    int             `json:"omitted,omitempty"` // bytes of the tool's answer left out of Text
	// Pictures are those that are kept. Text names each of them as well: a release before this field reads past it and loses nothing else,
	// and a log without it has none.
	Pictures []*Picture `json:"pictures,omitempty"`

	Kind   ResultKind    `json:"kind,omitempty"`
	Reason string        `json:"reason,omitempty"` // what the person who denied it gave, or what is known of a run that was lost
	By     string        `json:"by,omitempty"`     // the name of who denied it
	Waited time.Duration `json:"waited,omitempty"` // how long nobody answered
	// Reran says that the call was to be run again and was not: whether its earlier run happened, nobody knows.
	Reran bool `json:"reran,omitempty"`
}

// ResultKind is what settled a call without an answer of its tool; empty where the result is text.
type ResultKind string

// The kinds of results. ResultPending is none: the call is not settled.
const (
	ResultPending   ResultKind = "pending"
	ResultDenied    ResultKind = "denied"
	ResultTimedOut  ResultKind = "timed_out"
	ResultCancelled ResultKind = "cancelled"
	ResultUnknown   ResultKind = "unknown"
	ResultHappened  ResultKind = "happened"
)

// unknownResult is of a run that nobody knows the end of; lost is what is known of it.
func unknownResult(lost string) Result {
	return Result{Kind: ResultUnknown, Reason: lost, IsError: true}
}

// Size is about how many bytes the result takes, without the words of its kind.
func (r Result) Size() int { return len(r.Text) + len(r.Structured) + len(r.Reason) }

// Progress is how far a running call says it is.
type Progress struct {
	Done, Total float64 // Total 0: unknown
	Message     string
}

// Why is how a turn ended.
type Why string

// The ends.
const (
	Answered       Why = "answered"
	WasStopped     Why = "stopped"
	TooManySteps   Why = "steps"
	TooManyDenials Why = "denials"
	ModelFailed    Why = "model"
	NoProgress     Why = "progress" // its drivers died without a step forward
	MessageGone    Why = "gone"     // the turn's message or its chat is no more
	IsHalted       Why = "halted"   // an admin halted everything
	OverLimit      Why = "limit"    // whoever asked had asked as much of the model as one person may
	Broken         Why = "broken"
)

// GrantIndex begins what [Indexed] calls a grant. No asking and no call is called so.
const GrantIndex = "grant:"

// Answers is the asking that a person answers, or does something about, with an event; empty where they do not.
func Answers(e Event) AskID {
	switch e := e.(type) {
	case Decided:
		return e.Ask
	case Amended:
		return e.Ask
	case Ticked:
		return e.Ask
	case Extended:
		return e.Ask
	case Resolved:
		return e.Ask
	case Filled:
		return e.Ask
	default:
		return ""
	}
}

// Indexed returns the identifiers that an event makes findable without knowing their chat: every new asking,
// and with byCall the call it is about where the event names it; and every grant that is given.
func Indexed(e Event, byCall bool) []string {
	switch e := e.(type) {
	case Ruled:
		switch {
		case e.Ruling.Verdict == permission.Ask && byCall:
			return []string{string(e.Ask), string(e.Call)}
		case e.Ruling.Verdict == permission.Ask:
			return []string{string(e.Ask)}
		}
	case Decided:
		if e.Grant != nil && e.Grant.ID != "" {
			return []string{GrantIndex + string(e.Grant.ID)}
		}
	case Abandoned:
		return []string{string(e.Ask)}
	case Withdrawn:
		return []string{string(e.Next)}
	case Reopened:
		return []string{string(e.Next)}
	case Resolved:
		return []string{string(e.Next)}
	case Elicited:
		return []string{string(e.Ask)}
	default: // no new asking
	}
	return nil
}

// Doer is the person whose decision or demand an event is; nobody where it is none.
func Doer(e Event) Person {
	if by, ok := e.(interface{ doer() Person }); ok {
		return by.doer()
	}
	return Person{}
}

// By is who an event is from: who spoke, or did something; nobody where nod did it itself.
func By(e Event) Person {
	switch e := e.(type) {
	case Said:
		return Person{e.By, e.Name}
	case Edited:
		return Person{User: e.By}
	case Deleted:
		return Person{User: e.By}
	case Ticked:
		return Person{e.By, e.Name}
	default:
		return Doer(e)
	}
}

func (ev Decided) doer() Person   { return Person{ev.By, ev.Name} }
func (ev Withdrawn) doer() Person { return Person{ev.By, ev.Name} }
func (ev Amended) doer() Person   { return Person{ev.By, ev.Name} }
func (ev Revealed) doer() Person  { return Person{ev.By, ev.Name} }
func (ev Rated) doer() Person     { return Person{ev.By, ev.Name} }
func (ev Extended) doer() Person  { return Person{ev.By, ev.Name} }
func (ev Reopened) doer() Person  { return Person{ev.By, ev.Name} }
func (ev Resolved) doer() Person  { return Person{ev.By, ev.Name} }
func (ev Filled) doer() Person    { return Person{ev.By, ev.Name} }
func (ev Changed) doer() Person   { return Person{ev.By, ev.Name} }
func (ev StopAsked) doer() Person { return Person{ev.By, ev.Name} }
func (ev Reset) doer() Person     { return Person{ev.By, ev.Name} }
func (ev ModeSet) doer() Person   { return Person{ev.By, ev.Name} }
func (ev Revoked) doer() Person   { return Person{ev.By, ev.Name} }

func (Said) Kind() string        { return "said" }
func (Edited) Kind() string      { return "edited" }
func (Deleted) Kind() string     { return "deleted" }
func (Shown) Kind() string       { return "shown" }
func (Finished) Kind() string    { return "finished" }
func (Decided) Kind() string     { return "decided" }
func (Withdrawn) Kind() string   { return "withdrawn" }
func (Amended) Kind() string     { return "amended" }
func (Ticked) Kind() string      { return "ticked" }
func (Revealed) Kind() string    { return "revealed" }
func (Rated) Kind() string       { return "rated" }
func (Elicited) Kind() string    { return "wanted" }
func (Filled) Kind() string      { return "filled" }
func (Changed) Kind() string     { return "changed" }
func (Extended) Kind() string    { return "extended" }
func (Expired) Kind() string     { return "expired" }
func (Reopened) Kind() string    { return "reopened" }
func (Resolved) Kind() string    { return "resolved" }
func (Revoked) Kind() string     { return "revoked" }
func (ModeSet) Kind() string     { return "mode_set" }
func (Reset) Kind() string       { return "reset" }
func (StopAsked) Kind() string   { return "stopped" }
func (Replied) Kind() string     { return "replied" }
func (Ruled) Kind() string       { return "ruled" }
func (Started) Kind() string     { return "started" }
func (Abandoned) Kind() string   { return "abandoned" }
func (Ended) Kind() string       { return "ended" }
func (Posted) Kind() string      { return "posted" }
func (Removed) Kind() string     { return "removed" }
func (FilesRead) Kind() string   { return "files_read" }
func (EarlierRead) Kind() string { return "earlier_read" }

func (PreviewStarted) Kind() string { return "preview_started" }
func (Previewed) Kind() string      { return "previewed" }
