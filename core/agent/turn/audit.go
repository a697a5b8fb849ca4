package turn

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
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

	Turn TurnID `json:"turn,omitempty"`
	Call CallID `json:"call,omitempty"`
	Ask  AskID  `json:"ask,omitempty"` // joins a decision with the request it answers and the start it allowed
	Run  RunID  `json:"run,omitempty"` // joins a start with its end

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
	AuditRequest  = "request"  // a call was put to policy: asked, allowed, forbidden or invalid
	AuditDecision = "decision" // a person answered: approved, denied, or voted where more votes are needed
	AuditUndo     = "undo"     // a person took an answer back
	AuditEdit     = "edit"     // a person changed the arguments
	AuditReveal   = "reveal"   // a person looked at what the card masks: what it is stands in no record
	AuditExtend   = "extend"   // a person moved the deadline
	AuditReopen   = "reopen"   // a person asked again for a call that had expired
	AuditResolve  = "resolve"  // a person said how an unknown run ended: happened, run_again or leave
	AuditStart    = "start"    // a tool was about to be called: auto (a rule), granted (a grant), approved (a click)
	AuditFinish   = "finish"   // it answered: ok or failed
	AuditUnknown  = "unknown"  // nobody knows how the run ended: unknown, or repeated where the recovery rule allows it
	AuditLate     = "late"     // the answer of a run that was given up came after all: ok or failed
	AuditExpire   = "expire"   // nobody answered in time
	AuditStop     = "stop"     // a turn was stopped
	AuditCancel   = "cancel"   // a call ended with its turn, undecided or not started
	AuditGrant    = "grant"    // a grant was given other than by a decision
	AuditRevoke   = "revoke"   // a grant was revoked, or ended with something else
	AuditMode     = "mode"     // the session's mode was set
	AuditReset    = "reset"    // the chat began anew
	AuditSetting  = "setting"  // a setting was changed: set, remembered, forgot, seen, accepted, told, halted, resumed or analysed
	AuditWant     = "want"     // while it ran, a tool's server wanted something of the requester
	AuditFill     = "fill"     // that was answered: accept or decline, or cancel when nobody did
)

// Outcomes of records. Approved, denied and timeout are three things (R117).
const (
	AuditAsked     = "asked"
	AuditAllowed   = "allowed"   // by a rule or a grant, nobody was asked
	AuditForbidden = "forbidden" // by a rule, nobody was asked
	AuditInvalid   = "invalid"   // no such tool, or arguments that do not fit it: policy was not asked
	AuditApproved  = "approved"
	AuditDenied    = "denied"
	AuditVoted     = "voted"
	AuditTimeout   = "timeout"
	AuditAuto      = "auto"
	AuditGranted   = "granted"
	AuditOK        = "ok"
	AuditFailed    = "failed"
	AuditLost      = "unknown"
	AuditRepeated  = "repeated"
	AuditCancelled = "cancelled"
	AuditStopped   = "stopped"
	AuditUndone    = "undone"
	AuditEdited    = "edited"
	AuditRevealed  = "revealed"
	AuditExtended  = "extended"
	AuditRevoked   = "revoked"
	AuditEnded     = "ended" // not by Revoke: with an undo, a mode, a reset
	AuditGiven     = "given"
	AuditSet       = "set"

	AuditRemembered = "remembered"
	AuditForgot     = "forgot"
	AuditSeen       = "seen" // a server says something new about a tool
	AuditAccepted   = "accepted"
	AuditTold       = "told"
	AuditHalted     = "halted"
	AuditResumed    = "resumed"
	AuditAnalysed   = "analysed"
)

// Audit gives the records of a whole log, in its order.
func Audit(id chat.ID, entries []Entry) []Record {
	a := NewAuditor(id)
	var out []Record
	for _, e := range entries {
		out = append(out, a.Take(e)...)
	}
	return out
}

// Auditor gives the records of one chat's log, entry by entry from the first. It is not safe for concurrent use.
type Auditor struct {
	s      Session
	drawn  map[string]render.Args // arguments of the open turn, drawn once
	lapsed map[CallID]TurnID      // the turns of calls that expired and may be asked for again
}

// NewAuditor stands before the first entry.
func NewAuditor(id chat.ID) *Auditor {
	return &Auditor{s: New(id), drawn: map[string]render.Args{}, lapsed: map[CallID]TurnID{}}
}

// Session is the fold so far.
func (a *Auditor) Session() Session { return a.s }

// Take gives the records of the next entry; none when it changed nothing.
func (a *Auditor) Take(e Entry) []Record {
	before := a.s
	a.s = Apply(before, e)
	var out []Record
	switch ev := e.Event.(type) {
	case Said, Edited, Shown, Posted, Removed: // what people say and where it is drawn: beside them a grant may still end
	default:
		if !a.s.moved(before) && a.s.Last == before.Last {
			return nil
		}
		out = a.main(before, e)
		if _, ends := ev.(Ended); ends {
			a.turnOver()
		}
	}
	out = append(out, a.cancelled(before, e, out)...)
	out = append(out, a.grants(before, e, out)...)
	return append(a.unanswered(before, e), out...)
}

// turnOver forgets what was needed for the turn that ended.
func (a *Auditor) turnOver() {
	clear(a.drawn)
	kept := map[CallID]TurnID{}
	for _, l := range a.s.Lapsed {
		if t, ok := a.lapsed[l.Call.ID]; ok {
			kept[l.Call.ID] = t
		} else if a.s.Last.find(l.Call.ID) >= 0 {
			kept[l.Call.ID] = a.s.Last.ID
		}
	}
	a.lapsed = kept
}

// record begins a record by whoever did it.
func (a *Auditor) record(e Entry, kind, outcome string, by Person) Record {
	r := Record{Chat: a.s.Chat.String(), Seq: e.Seq, At: e.At, Kind: kind, Outcome: outcome, By: by.User, Name: by.Name, Surface: by.User.Platform}
	switch {
	case by.User.IsZero():
		r.Name = render.Product
	case by.Name == "":
		if i := slices.IndexFunc(a.s.People, func(p Person) bool { return p.User == by.User }); i >= 0 {
			r.Name = a.s.People[i].Name
		}
	}
	return r
}

// about adds what is known of a call.
func (a *Auditor) about(r Record, t TurnID, requester chat.User, c ToolCall) Record {
	r.Turn, r.Call, r.Requester, r.Ask = t, c.ID, requester, c.Ask
	r.Server, r.Tool, r.Definition, r.Digest = c.Tool.Server, c.Tool.Name, c.Tool.Definition, c.Digest
	if c.Ask != "" { // else it was never ruled
		r.Access, r.Risk, r.Level = c.Ruling.Access.String(), c.Ruling.Risk.String(), c.Ruling.Level.String()
		for _, x := range c.Ruling.Reasons {
			if x.Won {
				r.Rule, r.Why = x.Rule, redacted(x.Text)
			}
		}
		if r.Grant = c.Grant; r.Grant == "" {
			r.Grant = c.Ruling.Grant
		}
	}
	d, known := a.drawn[string(c.Args)]
	if !known {
		d.JSON, d.Redacted = render.OneLine(c.Args)
		d.JSON = shortened(d.JSON)
		a.drawn[string(c.Args)] = d
	}
	r.Args, r.Redacted = d.JSON, d.Redacted
	return r
}

// shortened keeps what a card could hold: the digest names the rest.
func shortened(s string) string {
	if rs := []rune(s); len(rs) > render.MaxArgs {
		return string(rs[:render.MaxArgs]) + render.MoreCharacters(len(rs)-render.MaxArgs)
	}
	return s
}

// redacted is a text of people or tools without what has the form of a secret.
func redacted(text string) string {
	if text == "" {
		return ""
	}
	text, _ = render.OneLine(json.RawMessage(text))
	return shortened(text)
}

// since is the time from then to now in ms, 0 when then is not known.
func since(then, now time.Time) int64 {
	if then.IsZero() {
		return 0
	}
	return now.Sub(then).Milliseconds()
}
