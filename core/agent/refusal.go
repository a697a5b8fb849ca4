package agent

import (
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Outcome is one decision (or undo, extension, answer) that is recorded.
type Outcome struct {
	// Hidden is, with [chat.Reveal], what the card masks: for whoever clicked, and for nobody else.
	Hidden *render.Details
	Chat   chat.ID
	Ask    turn.AskID
	Call   turn.CallID
	Choice chat.Choice
	By     chat.User
	Name   string
	At     time.Time
}

// RefusalCode is why a click was not taken, as far as a surface answers differently.
type RefusalCode string

// The refusals. The HTTP API answers 404, 400, 403, 409, 410, 409, 409, 409 and 422.
const (
	RefusedUnknown    RefusalCode = "unknown"     // no such ask here (also: of another chat, workspace or message)
	RefusedNotOffered RefusalCode = "not_offered" // this ask does not offer that choice
	RefusedNotYours   RefusalCode = "not_yours"   // this person may not decide; the card stays live
	RefusedDecided    RefusalCode = "decided"     // somebody already did: By, Choice, At
	RefusedExpired    RefusalCode = "expired"     // the deadline passed
	RefusedTooLate    RefusalCode = "too_late"    // the call has started; nothing to undo
	RefusedStopped    RefusalCode = "stopped"     // the turn is over
	RefusedHidden     RefusalCode = "hidden"      // part of the call is masked, and this person has not looked at it
	RefusedArguments  RefusalCode = "arguments"   // the edited arguments are not JSON, not the tool's, or the same
)

// Refusal is a click that was not taken. Say is a sentence for the person who clicked.
type Refusal struct {
	Code   RefusalCode
	Say    string
	By     chat.User
	Name   string
	Choice chat.Choice
	At     time.Time
}

func (r *Refusal) Error() string { return r.Say }
