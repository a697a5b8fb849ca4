// Package agent is the engine. It accepts what platforms deliver, claims chats, does what [turn.Next] says is owed, and keeps the one
// message of each turn up to date. The settings that people make are a log as any chat's (settings.go); how people manage them is package
// settings, which the engine does not know.
//
// It may import core alone: what it needs of the world it declares as ports, all in ports.go. What a [Log] or [Platform] may have beside is
// called an optional extra there, and state and the adapters say at compile time which they have.
// Rooms below have the ports that are theirs: attach reads what people attach, groups asks who belongs to what, prompt bounds what a model is
// asked, and standing writes into the settings what a click leaves there. live is what people see before the log has it, and elicit how a
// server's question waits for its answer. They know no log and no lease.
//
// Start with [Engine] and its Run (engine.go). What comes in goes through [Engine.Accept] (accept.go); a person's choice enters the log
// through [Engine.Decide] alone (decide.go). A chat that owes something has a driver (drive.go): it plans (plan.go), records, and acts
// (act.go); an editor keeps the turn's message (editor.go), and follow-up messages stand beside it (beside.go). What servers say about
// their tools is recorded in observe.go, an emergency halt reaches every turn in halt.go, late.go is for what a driver
// leaves behind that lost its chat, and forgot.go for a store that came back older than it was.
//
// Where a line goes: what can be decided from values alone is turn's, permission's or decision's; what waits, calls a port or can fail is
// here. The engine's tests over several replicas stand in tests/suites/replicas.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// Inbox takes what platforms deliver. nil means durable: the adapter may acknowledge. An error means not recorded: deliver again.
type Inbox interface {
	Accept(context.Context, chat.Inbound) error
}

// Platform is one chat surface. Calls for one message come one at a time, from the holder of the chat's lease.
type Platform interface {
	// Limits are what [render.Fit] brings every message within before Post and Edit see it.
	Limits() render.Limits
	// Post makes the turn's one message: at most once for a key, where the platform can do that.
	Post(context.Context, chat.ID, chat.PostKey, render.Message) (chat.MessageRef, error)
	// Edit replaces that message. It returns a [*PlatformError] where the caller can choose differently.
	Edit(context.Context, chat.ID, chat.MessageRef, render.Message, Urgency) error
}

// Starter is an optional extra of a Platform on which a status or a typing indicator says that a turn is under way.
type Starter interface {
	// Starts says so, without waiting. false: not here, so that the turn's message has to.
	Starts(chat.ID) bool
}

// Whisperer is an optional extra of a Platform: an answer that only one person sees.
type Whisperer interface {
	Whisper(context.Context, chat.ReplyHandle, render.Message) error
}

// Annotator is an optional extra of a Platform: short messages beside a turn's one message.
type Annotator interface {
	// Annotate posts a message beside the turn's, with a link to it. Unlike with Post and Edit, the persons it names are notified.
	Annotate(ctx context.Context, id chat.ID, beside chat.MessageRef, key chat.PostKey, m render.Message, link bool) (chat.MessageRef, error)
	// Remove takes such a message away. One that is not there is no error.
	Remove(context.Context, chat.ID, chat.MessageRef) error
}

// Attacher is an optional extra of an Annotator: a message beside the turn's one with a file on it. It names nobody.
type Attacher interface {
	Attach(ctx context.Context, id chat.ID, beside chat.MessageRef, key chat.PostKey, m render.Message, f File) (chat.MessageRef, error)
}

// File is something to download.
type File struct {
	Name, Type string // "answer.md", "text/markdown"
	Data       []byte
}

// Seeker is an optional extra of a Platform that cannot post at most once by itself: it looks for what an earlier attempt may have made.
type Seeker interface {
	Seek(context.Context, chat.ID, chat.PostKey) (ref chat.MessageRef, found bool, err error)
}

// Teller is an optional extra of a Platform that can write to one person alone. Key and error are as with Post.
type Teller interface {
	Tell(ctx context.Context, to chat.User, key chat.PostKey, m render.Message) (chat.MessageRef, error)
}

// TellWithin bounds how long one message by a Teller may take.
const TellWithin = 10 * time.Second

// Noticer is an optional extra of a Platform that shows what waits in the chats of all of them.
type Noticer interface {
	// Noticed hears of a chat in which other things wait for a person than this process knew, some of it twice. It holds nobody up.
	Noticed(turn.Session)
}

// Pacer is an optional extra of a Platform: how long apart edits of one message that only show progress are at least.
type Pacer interface{ Pace() time.Duration }

// Urgency is the lane of an edit. Zero is progress.
type Urgency uint8

// The lanes: a decision goes before a final, and that before progress. A question that nobody has seen yet goes as a decision; where it
// cannot be shown within [QuestionWithin] it comes back as [FaultBusy], and is posted anew.
const (
	Progress Urgency = iota
	Final
	Decision
	Question
)

// QuestionWithin is how long a question waits for the edit that shows it.
const QuestionWithin = 2 * time.Second

// PlatformError is a failed Post or Edit that the caller can act on.
type PlatformError struct {
	Kind       PlatformFault
	RetryAfter time.Duration // for FaultBusy and FaultLater
	Advice     string        // of a place that may not be written to: a sentence for whoever asked there; empty: the platform told them, or cannot
	Cause      error
}

func (e *PlatformError) Error() string { return string(e.Kind) + ": " + e.Cause.Error() }
func (e *PlatformError) Unwrap() error { return e.Cause }

// Later implements [attach.Later].
func (e *PlatformError) Later() time.Duration { return e.RetryAfter }

// Refuses reports whether trying again is of no use. A nil error refuses nothing.
func (e *PlatformError) Refuses() bool {
	return e != nil && (e.Kind == FaultGone || e.Kind == FaultForbidden)
}

// PlatformFault is what went wrong, as far as a caller chooses differently.
type PlatformFault string

// The faults.
const (
	FaultBusy      PlatformFault = "rate limited" // try again after RetryAfter
	FaultLater     PlatformFault = "not yet"      // what is as urgent has no room before RetryAfter; what is more urgent may have
	FaultTransient PlatformFault = "unavailable"  // try again soon; it may have happened
	FaultGone      PlatformFault = "gone"         // the message or chat is no more: stop
	FaultForbidden PlatformFault = "forbidden"    // not allowed there: stop
)

// OpID names one intended write. The log takes each once: a repeat answers as the first did.
type OpID string

// Head is where a chat's log stands.
type Head struct {
	Seq  uint64 `json:"seq"`
	Tip  OpID   `json:"tip,omitempty"`  // the op of the last entry: after a failover an equal Seq may be another history
	Roll string `json:"roll,omitempty"` // SHA-256 over all entries so far, computed by whoever reads them
}

// Keyed is an event under the operation that brings it.
type Keyed struct {
	Op    OpID
	Event turn.Event
}

// Lease is the right to drive one chat until Until, by this process's monotonic clock. A later lease of the chat has a larger Token.
type Lease struct {
	Chat   chat.ID
	Owner  string
	Token  uint64
	Until  time.Time
	Barren int  // leases of this chat in a row that ended without being given back and without work in the log: its drivers die on it
	Owed   bool // it was given back to be looked at again, and a write claimed it before
}

// Snapshot is a fold up to Head.
type Snapshot struct {
	Head    Head
	Session turn.Session
}

// Write is one atomic step of a chat's log.
type Write struct {
	Chat chat.ID
	// Known is the head that the caller folded. Facts append blind, choices only if Known is the head, work only if Lease is held, too.
	Known Head
	// Judged is where the settings' log stood by which the events were judged; nil: they are not of that kind. See [Checker].
	Judged *Head
	Events []Keyed
	Lease  Lease // required for work; zero otherwise
	// Claim, an owner, also claims the chat if nobody holds it. If another owner does, that owner is woken.
	Claim string
	// Release gives Lease back after the append, if Known (or what was just appended) is still the head; Wake is when the chat is due again, zero for never.
	Release bool
	Wake    time.Time
	// Patient says that nobody waits for it: it may be written up to a second later, in the round trip of another write. Where ctx ends before
	// that, it is not written.
	Patient bool
	// Snapshot moves the chat's snapshot forward to the head after this write.
	Snapshot *Snapshot
}

// Written is what came of a Write.
type Written struct {
	// Entries are all entries after Known, ours included. Missing says that there were too many: Load.
	Entries []turn.Entry
	Missing bool
	Head    Head // after Entries
	// Repeated: the first op was already in the log; nothing was written now.
	Repeated bool
	// Lease is set when Claim was given and the chat is now ours.
	Lease Lease
	// Holder is who holds the lease when it is not us.
	Holder string
	// Released is true when Release was asked and done.
	Released bool
	// Settings is where the settings' log stands (Seq and Tip only); nil where the log does not check it.
	Settings *Head
}

// Errors of the log. After ErrStale, Written carries the tail to fold before trying again.
var (
	ErrStale   = errors.New("the log moved on")
	ErrFenced  = errors.New("the lease is no longer held")
	ErrRewound = errors.New("the log is another history than the one known") // reload from the start
	ErrRules   = errors.New("the settings are others than this was judged by")
	ErrVersion = errors.New("the log holds an entry of a newer version") // neither drive nor decide this chat
	// ErrNotDurable: written, but the durability that was asked for was not confirmed. Do not act on it.
	ErrNotDurable = errors.New("the write was not confirmed durable")
)

// Log is the durable, totally ordered log of every chat. After an error that is none of the above, repeat a write with the same op.
type Log interface {
	// Load returns the latest snapshot (zero if none), every entry after it, and the head after those.
	Load(context.Context, chat.ID) (Snapshot, []turn.Entry, Head, error)
	// History returns every entry that is kept, from the first, whatever snapshots there are.
	History(context.Context, chat.ID) ([]turn.Entry, error)
	// Tail returns every entry after known, and the head. ErrRewound if known is not part of this history.
	Tail(ctx context.Context, id chat.ID, known Head) ([]turn.Entry, Head, error)
	// Append performs one Write.
	Append(context.Context, Write) (Written, error)
}

// Retainer is an optional extra of a Log that drops what has been silent for long.
type Retainer interface {
	// Retain keeps a chat with its files until it is called again with false, whoever writes to it meanwhile. Then its time begins anew.
	// A chat that is not there is no error.
	Retain(ctx context.Context, id chat.ID, on bool) error
}

// Index finds chats by what stands open in them, whichever replica recorded it. It may name one in which it is over since: read the chat.
type Index interface {
	// Asking are the chats in which something waits for a person, of those that match; nil matches all.
	Asking(ctx context.Context, match func(chat.ID) bool) ([]chat.ID, error)
	// Granting are the chats that hold standing permissions.
	Granting(context.Context) ([]chat.ID, error)
	// EachChat gives every chat of which anything is kept, until take errs, and returns that error.
	EachChat(ctx context.Context, take func(chat.ID) error) error
}

// Forgetful is an optional extra of a Log that may come back older than it was: when last, by the log's own clock; zero: never.
type Forgetful interface {
	Restarted() time.Time
}

// Confirmer is an optional extra of a Log: while what has to survive is not confirmed, no decision is taken and no start is recorded.
type Confirmer interface {
	Confirms(context.Context) error
}

// Checker is an optional extra of a Log that can look at the settings' log in the same step: it refuses a choice or work with [ErrRules] that
// was judged by other settings than there are, and says with every write which there are. With any other Log the settings are read each time.
type Checker interface {
	ChecksSettings() bool
}

// Leases hand out the right to drive chats.
type Leases interface {
	// ClaimDue claims up to n chats that are due and free, over all buckets.
	ClaimDue(ctx context.Context, owner string, n int) ([]Lease, error)
	// NextDue is how long until the next chat falls due by the store's clock: 0 where one is, [Never] where none will.
	NextDue(ctx context.Context) (time.Duration, error)
	// Renew prolongs a lease and returns the chat's head (Seq and Tip only). ErrFenced if it is lost.
	Renew(context.Context, Lease) (Lease, Head, error)
	// Wakes delivers chats that somebody wrote to while owner held them, until ctx ends. It may lose some.
	Wakes(ctx context.Context, owner string) (<-chan chat.ID, error)
}

// Never is when nothing falls due.
const Never = 24 * 365 * time.Hour

// Watcher tells that a chat's log moved, on whatever replica, until ctx ends. It may lose or repeat signals.
type Watcher interface {
	Watch(context.Context, chat.ID) (<-chan struct{}, error)
}

// Delta is a piece of a reply as it streams. It is shown, never stored.
type Delta struct {
	Text string
	Note string // about the wait ("retrying in 20 s"); it replaces the last one
}

// Model writes replies. Reply blocks until the reply is whole. It may retry before the first delta, never after. A stream that ends early
// returns what there is with Cut set, and no calls. A [*ModelError] carries a sentence for people.
type Model interface {
	Reply(ctx context.Context, talk []turn.Utterance, tools []ToolSpec, stream func(Delta)) (Reply, error)
	// Name is what messages and usage records call the model.
	Name() string
}

// Reply is a model's whole answer to one step.
type Reply struct {
	Text   string
	Calls  []ReplyCall
	Usage  turn.Usage
	Cut    bool            // the stream ended early
	Extra  json.RawMessage // opaque provider fields to replay with this utterance
	Faults []string        // sentences for people about what the service did not take, such as tools that were left out
}

// ReplyCall is a tool call as the model wrote it, its name mapped back to (server, tool) where the tool is known.
type ReplyCall struct {
	ModelID string
	Server  string // empty: no tool of that name was offered
	Name    string
	Args    []byte // as written: may be empty, malformed or not UTF-8
	Extra   json.RawMessage
}

// ToolSpec is one tool that can be offered.
type ToolSpec struct {
	Tool        permission.Tool
	Title       string
	Description string          // untrusted
	InputSchema json.RawMessage // as the server gave it
	Source      permission.Source
	Hints       permission.Hints
	Metadata    permission.Metadata
	Definition  permission.Definition // what Tool.Definition is the digest of, to tell what changed
	Server      render.Server
	// Preview is the tool of the same server that reads the text which a call of this one replaces, where the operator names one: both call
	// it path, and this one what it becomes content.
	Preview string
}

// Tools lists and runs the tools of all servers.
type Tools interface {
	// List returns the tools of every server that answers, ordered by server and name, and one fault for each server that does not.
	List(context.Context) ([]ToolSpec, []ServerFault, error)
	// Check validates canonical arguments against the tool's input schema. The error is for the model; [ErrUnchecked]: it takes too long.
	Check(ctx context.Context, tool permission.Tool, args json.RawMessage) error
	// Call runs one call that was started in the log: token proves it. It returns a known outcome (also a tool's
	// own error, with Result.IsError) with a nil error. An error of [ErrNotRun] means certainly not run; any other error means that nobody knows.
	Call(ctx context.Context, token RunToken, progress func(turn.Progress)) (turn.Result, error)
}

// ErrUnchecked says that nobody knows whether arguments fit the tool's input schema. People are asked then.
var ErrUnchecked = errors.New("the arguments were not checked")

// ErrNotRun marks a tool call that certainly did not reach its server.
var ErrNotRun = errors.New("not run")

// ServerFault is a server whose tools cannot be offered now.
type ServerFault struct {
	Server string
	Say    string // for the model and for people
}

// RunToken is a consumed decision, and the only way to a tool: only the engine makes one, after its own Started is durable.
type RunToken struct {
	chat   chat.ID
	call   turn.ToolCall
	ok     bool
	elicit func(context.Context, turn.Elicitation) (turn.Fill, error)
}

// ErrNobody says that what a server wants cannot be put to anybody here.
var ErrNobody = errors.New("nobody can be asked")

// Ask puts what the call's server wants to the requester, and waits for their answer, or until nobody gave one, the call is stopped, or ctx
// ends. A second one waits for the first. It returns [ErrNobody] where there is nobody to ask.
func (t RunToken) Ask(ctx context.Context, w turn.Elicitation) (turn.Fill, error) {
	if t.elicit == nil || !t.ok {
		return turn.Fill{}, ErrNobody
	}
	return t.elicit(ctx, w)
}

// Call is the call to run. ok is false for a token that the engine did not make.
func (t RunToken) Call() (call turn.ToolCall, ok bool) { return t.call, t.ok }

// Chat is the chat that the call belongs to.
func (t RunToken) Chat() chat.ID { return t.chat }

// Policies gives the policy in force now. It is asked at every ruling, decision and start.
type Policies interface {
	Policy(context.Context) (permission.Policy, error)
}

// consumePreview makes the token for a look at what a call replaces, which the session shows as begun.
func consumePreview(s turn.Session, c turn.ToolCall) RunToken {
	p := c.Preview
	return RunToken{chat: s.Chat, ok: true, call: turn.ToolCall{
		ID: c.ID, Step: c.Step, Tool: p.Tool, Args: p.Args, Digest: permission.CallDigest(s.Chat, p.Tool, p.Args), Status: turn.Running,
		Execution: turn.Execution{Run: p.Run, Token: p.Token},
	}}
}

// ErrNoRun says that a session does not hold the run a token was asked for.
var ErrNoRun = errors.New("the session holds no such running call")

// Consume makes the token for a run that the session shows as started, the only proof that a tool adapter takes.
func Consume(s turn.Session, call turn.CallID, run turn.RunID) (RunToken, error) {
	c := s.Turn.Call(call)
	if c.ID == "" || c.Status != turn.Running || c.Run != run {
		return RunToken{}, ErrNoRun
	}
	return RunToken{chat: s.Chat, call: c, ok: true}, nil
}

// ModelError is a failed Reply with a sentence for people.
type ModelError struct {
	Say   string // what happened, what is certain, what to do
	Cause error
	// TooLong says that the talk does not fit the model. Nothing was streamed: a shorter one can be tried.
	TooLong bool
	Why     turn.Why // how the turn ends; "": [turn.ModelFailed]
}

func (e *ModelError) Error() string { return e.Say }
func (e *ModelError) Unwrap() error { return e.Cause }

// Tracer hears what this process does for turns. It holds nobody up. Who lies around [Model] or [Tools] learns by [TurnOf] which turn a call is for.
type Tracer interface {
	// Recorded: entries of this process are in the log. from and to are their chat before and after them.
	Recorded(from, to turn.Session, entries []turn.Entry)
	// Did: something that no log holds was begun for a turn then, and is over now.
	Did(what Action, id chat.ID, of turn.TurnID, began time.Time, err error)
}

// Action is what a [Tracer] hears of beside what is recorded.
type Action string

// The actions.
const (
	ActionTake     Action = "take message" // that opened the turn
	ActionPost     Action = "post message"
	ActionEdit     Action = "edit message"
	ActionTakeOver Action = "take over" // a turn that was open before; perhaps this process has it all the while
)

// Finder tells in which chat an ask lives, or an asked call where calls are kept to be found, whichever replica recorded it.
type Finder interface {
	Find(ctx context.Context, askOrCall string) (id chat.ID, found bool, err error)
}
