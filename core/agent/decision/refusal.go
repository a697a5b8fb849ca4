package decision

import (
	"errors"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

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

// notOpen says why an ask takes no decision any more.
func notOpen(c turn.ToolCall) *Refusal {
	switch {
	case c.Status == turn.Lapsed:
		return &Refusal{Code: RefusedExpired, Say: text.AskExpired(text.Clock(c.EndedAt)), At: c.EndedAt}
	case c.Choice != "":
		return &Refusal{Code: RefusedDecided, Say: text.AlreadyDecided(c.Chosen(), c.Name, text.Clock(c.DecidedAt)), By: c.By, Name: c.Name, Choice: c.Chosen(), At: c.DecidedAt}
	case c.Status == turn.Cancelled:
		return &Refusal{Code: RefusedStopped, Say: text.WasCancelled}
	}
	return notOffered()
}

func tooLate(c turn.ToolCall) *Refusal {
	if !c.StartedAt.IsZero() {
		return &Refusal{Code: RefusedTooLate, Say: text.TooLate(text.ClockSeconds(c.StartedAt)), At: c.StartedAt}
	}
	return &Refusal{Code: RefusedTooLate, Say: text.TooLateToUndo}
}

// overtaken says why a choice that was written has no effect: the deadline came first, or somebody else.
func overtaken(c turn.ToolCall) *Refusal {
	if c.Status == turn.Awaiting || (c.Status == turn.Unknown && !c.Settled()) {
		return &Refusal{Code: RefusedExpired, Say: text.AskExpired(text.Clock(c.Deadline)), At: c.Deadline}
	}
	return notOpen(c)
}

// OnlyForAdmins refuses somebody who is no admin, in these words; where there are no admins, it says so.
func OnlyForAdmins(say string, p permission.Policy) *Refusal {
	if len(p.Admins) == 0 {
		say += " " + permission.NoAdminsNotice
	}
	return refuse(RefusedNotYours, say)
}

// Unsure adds to a refusal of somebody that it may be wrong, while that is not known: they may belong to a group that may.
func Unsure(err error, unsure bool) error {
	if no, ok := errors.AsType[*Refusal](err); unsure && ok && no.Code == RefusedNotYours {
		return refuse(no.Code, no.Say+" "+text.GroupsUnknown)
	}
	return err
}

func refuse(code RefusalCode, say string) *Refusal { return &Refusal{Code: code, Say: say} }

func notOffered() *Refusal { return refuse(RefusedNotOffered, text.NotOffered) }
func unknownAsk() *Refusal { return refuse(RefusedUnknown, text.UnknownAsk) }

// elsewhere reports whether a click came from the button of another message than a turn's. While a card was not seen as far as is on record,
// it may have been posted anew a moment ago: whoever clicks on it then was faster than the log.
func elsewhere(t *turn.Turn, in chat.Clicked) bool {
	return in.Message != "" && t != nil && t.Shown != "" && t.Shown != in.Message && !t.Unseen()
}
