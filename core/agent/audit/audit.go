// Package audit tells what happened about permissions in a chat, derived from its log: who was asked, who answered what, what ran and
// how it ended. Nothing of it is stored, so a record can never say anything else than the log does.
//
// It imports turn for the log and its fold, permission for rulings and grants, and render for the redaction that cards have. It is
// pure, and the fold knows nothing of it.
//
// Where to start: an [Auditor] takes a chat's log entry by entry and gives a [Record] for each thing that had an effect (audit.go,
// derive.go; change.go for settings). [Filter] picks records, [StatsOf] counts them and says what the numbers speak for.
//
// Where a new line goes: a new kind of event into [Auditor.about], with a kind or an outcome in audit.go and a line in docs/audit.md; a
// number into stats.go; a sentence into words.go. Fields of [Record] are only ever added, for others parse them.
package audit

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Record is one line of the audit: something that happened about a permission, as whoever reviews it reads it. Records are derived
// from the log and never stored, so they can never say anything else than it does. An entry that changed nothing (the second click,
// a stale ruling) gives none.
//
// The JSON form is stable: fields are only ever added, and docs/audit.md explains each. No raw argument is in it: arguments and
// people's words go through the same redaction as cards.
type Record struct {
	Chat    string    `json:"chat"` // [chat.ID.String]
	Seq     uint64    `json:"seq"`  // of the entry in the chat's log; several records of one entry share it
	At      time.Time `json:"at"`   // stamped by the store, never by a replica
	Kind    string    `json:"kind"`
	Outcome string    `json:"outcome"`

	By        chat.User `json:"by,omitzero"`       // zero: nod itself
	Name      string    `json:"name"`              // display name of By as it was then: untrusted text
	Surface   string    `json:"surface,omitempty"` // where By acted: "slack", "web", ...
	Requester chat.User `json:"requester,omitzero"`

	Turn turn.TurnID `json:"turn,omitempty"`
	Call turn.CallID `json:"call,omitempty"`
	Ask  turn.AskID  `json:"ask,omitempty"` // joins a decision with the request it answers and the start it allowed
	Run  turn.RunID  `json:"run,omitempty"` // joins a start with its end

	Server     string            `json:"server,omitempty"`
	Tool       string            `json:"tool,omitempty"`
	Definition permission.Digest `json:"def,omitempty"` // of the tool as it was then
	Access     string            `json:"access,omitempty"`
	Risk       string            `json:"risk,omitempty"`
	Level      string            `json:"level,omitempty"` // whose click it needed: user or admin

	Choice string             `json:"choice,omitempty"` // what was clicked
	Rule   string             `json:"rule,omitempty"`   // the rule that decided, see the Rule constants of package permission
	Why    string             `json:"why,omitempty"`    // its sentence
	Grant  permission.GrantID `json:"grant,omitempty"`  // the grant that was given, used or ended

	Digest   permission.Digest `json:"digest,omitempty"`   // of the exact call, over the arguments as they are
	Args     string            `json:"args,omitempty"`     // as on the card: secrets masked, hidden characters visible
	Redacted int               `json:"redacted,omitempty"` // secrets masked in Args
	MS       int64             `json:"ms,omitempty"`       // milliseconds from the asking to the answer, or from the start to the end
	Note     string            `json:"note,omitempty"`     // a person's reason, what a grant is limited to
}

// Kinds of records.
const (
	Request     = "request"  // a call was put to policy: asked, allowed, forbidden or invalid
	Decision    = "decision" // a person answered: approved, denied, or voted where more votes are needed
	Undo        = "undo"     // a person took an answer back
	Edit        = "edit"     // a person changed the arguments
	Reveal      = "reveal"   // a person looked at what the card masks: what it is stands in no record
	Extend      = "extend"   // a person moved the deadline
	Reopen      = "reopen"   // a person asked again for a call that had expired
	Resolve     = "resolve"  // a person said how an unknown run ended: happened, run_again or leave
	Preview     = "preview"  // a read looked at what a call replaces, before people were asked: begun (auto or granted), then ok or failed
	Start       = "start"    // a tool was about to be called: auto (a rule), granted (a grant), approved (a click)
	Finish      = "finish"   // it answered: ok or failed
	Unknown     = "unknown"  // nobody knows how the run ended: unknown, or repeated where the recovery rule allows it
	Late        = "late"     // the answer of a run that was given up came after all: ok or failed
	Expire      = "expire"   // nobody answered in time
	Stop        = "stop"     // a turn was stopped
	Cancel      = "cancel"   // a call ended with its turn, undecided or not started
	Grant       = "grant"    // a grant was given other than by a decision
	Revoke      = "revoke"   // a grant was revoked, or ended with something else
	Mode        = "mode"     // the session's mode was set
	Reset       = "reset"    // the chat began anew
	Setting     = "setting"  // a setting was changed: set, remembered, forgot, seen, accepted, told, halted, resumed, analysed, held, released or erased
	Elicitation = "want"     // while it ran, a tool's server wanted something of the requester
	Feedback    = "feedback" // a person said of a turn that is over whether it was of use: good or bad
	Fill        = "fill"     // that was answered: accept or decline, or cancel when nobody did
)

// Outcomes of records. Approved, denied and timeout are three things (R117).
const (
	Asked     = "asked"
	Allowed   = "allowed"   // by a rule or a grant, nobody was asked
	Forbidden = "forbidden" // by a rule, nobody was asked
	Invalid   = "invalid"   // no such tool, or arguments that do not fit it: policy was not asked
	Approved  = "approved"
	Denied    = "denied"
	Voted     = "voted"
	Timeout   = "timeout"
	Auto      = "auto"
	Granted   = "granted"
	OK        = "ok"
	Failed    = "failed"
	Lost      = "unknown"
	Repeated  = "repeated"
	Cancelled = "cancelled"
	Stopped   = "stopped"
	Undone    = "undone"
	Edited    = "edited"
	Revealed  = "revealed"
	Extended  = "extended"
	Revoked   = "revoked"
	Ended     = "ended" // not by Revoke: with an undo, a mode, a reset
	Given     = "given"
	Set       = "set"

	Remembered = "remembered"
	Forgot     = "forgot"
	Seen       = "seen" // a server says something new about a tool
	Accepted   = "accepted"
	Told       = "told"
	Halted     = "halted"
	Resumed    = "resumed"
	Analysed   = "analysed"
	Held       = "held"
	Released   = "released"
	Erased     = "erased"

	Good = "good"
	Bad  = "bad"
)

// Records gives the records of a whole log, in its order.
func Records(id chat.ID, entries []turn.Entry) []Record {
	a := NewAuditor(id)
	var out []Record
	for _, e := range entries {
		out = append(out, a.Take(e)...)
	}
	return out
}

// Auditor gives the records of one chat's log, entry by entry from the first. It is not safe for concurrent use.
type Auditor struct {
	s      turn.Session
	drawn  map[string]render.Args      // arguments of the open turn, drawn once
	lapsed map[turn.CallID]turn.TurnID // the turns of calls that expired and may be asked for again
}

// NewAuditor stands before the first entry.
func NewAuditor(id chat.ID) *Auditor {
	return &Auditor{s: turn.New(id), drawn: map[string]render.Args{}, lapsed: map[turn.CallID]turn.TurnID{}}
}

// Session is the fold of what it took.
func (a *Auditor) Session() turn.Session { return a.s }

// Take gives the records of the next entry; none when it changed nothing.
func (a *Auditor) Take(e turn.Entry) []Record {
	before := a.s
	a.s = turn.Apply(before, e)
	var out []Record
	switch ev := e.Event.(type) {
	case turn.Said, turn.Edited, turn.Shown, turn.Posted, turn.Removed, turn.FilesRead, turn.EarlierRead: // what people say and where it is drawn: beside them a grant may still end
	default:
		if rated, ok := ev.(turn.Rated); ok {
			return a.rated(before, e, rated)
		}
		if !a.s.DiffersFrom(before) && a.s.Last == before.Last {
			return nil
		}
		out = a.itself(before, e)
		if _, ends := ev.(turn.Ended); ends {
			a.turnOver()
		}
	}
	out = append(out, a.cancelled(before, e, out)...)
	out = append(out, a.grants(before, e, out)...)
	return append(a.elicitations(before, e), out...)
}

// turnOver forgets what was needed for the turn that ended.
func (a *Auditor) turnOver() {
	clear(a.drawn)
	for _, c := range a.s.Last.Calls {
		a.lapsed[c.ID] = a.s.Last.ID
	}
	maps.DeleteFunc(a.lapsed, func(id turn.CallID, _ turn.TurnID) bool { return !a.s.HoldsLapsed(id) })
}

// redacted is a text of people or tools without what has the form of a secret.
func redacted(s string) string {
	if s == "" {
		return ""
	}
	s, _ = render.OneLine(json.RawMessage(s))
	return text.Shorten(s, render.MaxArgs)
}

// since is the time from then to now in ms, 0 when then is not known.
func since(then, now time.Time) int64 {
	if then.IsZero() {
		return 0
	}
	return now.Sub(then).Milliseconds()
}
