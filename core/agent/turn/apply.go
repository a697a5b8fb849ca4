package turn

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Bounds of what a session keeps. They are applied by the fold, so every replica forgets the same.
const (
	maxRecent     = 256     // deliveries remembered against repeats; the log's op keys remember all of the last 24 h
	maxPeople     = 200     //
	maxAskedOf    = 64      // servers of which it is known what was asked
	maxLapsed     = 8       // expired calls that can still be asked for again
	maxTranscript = 400     // utterances
	maxTalkBytes  = 4 << 20 // of the transcript
	maxNotes      = 16      //
	maxClicks     = 32      //
	maxRepeats    = 2       // automatic repetitions of one approval, where the recovery rule allows any
)

// New is the session of a chat in which nothing happened yet.
func New(id chat.ID) Session { return Session{Chat: id} }

// Apply folds one entry. It is total: an event that no longer fits changes nothing. It never changes s.
func Apply(s Session, e Entry) Session {
	if e.Event == nil {
		return s
	}
	s = s.named(e.Event)
	next := e.Event.apply(s.expireIdle(e), e)
	if e.Op != "" && ClassOf(e.Event) == Choice && next.DiffersFrom(s) {
		next.Clicks = last(add(next.Clicks, e.Op), maxClicks)
	}
	return next
}

// named gives the open turn the name that its log has for it. Until 23 November 2026 that was its place alone, which entries with an operation
// are not named by any more (see turnID): what such a log says of a turn would change nothing, and a call that ran would be asked for anew.
func (s Session) named(ev Event) Session {
	var id TurnID
	switch ev := ev.(type) { // one of these is the first that is said of a turn
	case Shown:
		id = ev.Turn
	case Replied:
		id = ev.Turn
	case StopAsked:
		id = ev.Turn
	case Ended:
		id = ev.Turn
	default:
	}
	if t := s.Turn; t == nil || id == t.ID || id != TurnID(fmt.Sprintf("t%d", t.Seq())) {
		return s
	}
	return s.edit(func(t *Turn) { t.ID = id })
}

// Fold applies entries in order.
func Fold(s Session, entries []Entry) Session {
	for _, e := range entries {
		s = Apply(s, e)
	}
	return s
}

// DiffersFrom reports whether a choice had an effect. Every one has it on the turn, which is then another, or on one of these. (What lapsed
// and is asked for again begins a turn, or waits for one.)
func (s Session) DiffersFrom(from Session) bool {
	return s.Turn != from.Turn || s.ModeRev != from.ModeRev || s.ResetRev != from.ResetRev || len(s.Grants) != len(from.Grants) ||
		len(s.Waiting) != len(from.Waiting) || s.Settings != from.Settings
}

// Silence is after how long what is said begins a new conversation, where whoever recorded it says nothing else. The log of the old one
// stays, for the audit.
const Silence = 30 * 24 * time.Hour

// expireIdle forgets what was said and allowed before a long silence.
func (s Session) expireIdle(e Entry) Session {
	if ev, spoke := e.Event.(Said); !spoke || s.Turn != nil || s.At.IsZero() || e.At.Sub(s.At) < cmp.Or(ev.Forget, Silence) {
		return s
	}
	s = s.forget()
	s.Last = nil
	return s
}

// forget drops what was said and allowed, and the mode.
func (s Session) forget() Session {
	s.Transcript, s.Dropped, s.Grants, s.Lapsed, s.Notes = nil, 0, nil, nil, nil
	s.Mode, s.ModeAt = permission.ModeTool, time.Time{}
	return s
}

// add appends without ever writing into a backing array that another session may share.
func add[T any](list []T, x ...T) []T { return append(slices.Clip(list), x...) }

// last keeps the newest n.
func last[T any](list []T, n int) []T {
	if len(list) > n {
		return slices.Clone(list[len(list)-n:])
	}
	return list
}

// edit replaces the open turn by a copy that f may change.
func (s Session) edit(f func(*Turn)) Session { return s.editTurn(s.Turn.ID, f) }

// editTurn replaces the turn of that ID by a copy that f may change, where the session still holds it.
func (s Session) editTurn(id TurnID, f func(*Turn)) Session {
	for _, held := range []**Turn{&s.Turn, &s.Last} {
		if *held != nil && (*held).ID == id {
			t := **held
			t.Calls, t.Beside = slices.Clone(t.Calls), slices.Clone(t.Beside)
			f(&t)
			*held = &t
			break
		}
	}
	return s
}

// editCall replaces a call of the open turn by a copy that f may change.
func (s Session) editCall(id CallID, f func(*ToolCall)) Session {
	return s.edit(func(t *Turn) { f(&t.Calls[t.Find(id)]) })
}

// seenDelivery remembers a delivery; ok is false for one that was folded before.
func (s Session) seenDelivery(d chat.Delivery) (Session, bool) {
	if d == "" || slices.Contains(s.Recent, d) {
		return s, false
	}
	s.Recent = last(add(s.Recent, d), maxRecent)
	return s, true
}

func (s Session) recordParticipant(u chat.User, name string) Session {
	if u.IsZero() {
		return s
	}
	i := slices.IndexFunc(s.People, func(p Person) bool { return p.User == u })
	switch {
	case i < 0:
		s.People = last(add(s.People, Person{u, name}), maxPeople)
	case name != "" && s.People[i].Name != name:
		s.People = slices.Clone(s.People)
		s.People[i].Name = name
	}
	return s
}

// note tells the model something with its next request.
func (s Session) note(n Note) Session {
	if s.Turn != nil {
		return s.edit(func(t *Turn) { t.Notes = last(add(t.Notes, n), maxNotes) })
	}
	s.Notes = last(add(s.Notes, n), maxNotes)
	return s
}

func (ev Replied) apply(s Session, e Entry) Session {
	t := s.Turn
	if t == nil || t.ID != ev.Turn || t.Step != ev.Step || !t.wantsReply() {
		return s
	}
	if t.Stopped != nil && len(ev.Calls) > 0 {
		return s // a stopped turn starts nothing new
	}
	s.Usage = s.Usage.plus(ev.Usage)
	if ev.More > 0 {
		s = s.note(Note{Kind: NoteMoreCalls, More: ev.More, Taken: len(ev.Calls)})
	}
	return s.edit(func(t *Turn) {
		t.Step++
		t.Usage = t.Usage.plus(ev.Usage)
		t.Replies = add(t.Replies, Reply{Text: ev.Text, Cut: ev.Cut, Left: ev.Left, More: ev.More, Faults: ev.Faults, Model: ev.Model, Extra: ev.Extra})
		for _, p := range ev.Calls {
			if p.ID == "" || t.Find(p.ID) >= 0 {
				continue
			}
			c := ToolCall{ID: p.ID, ModelID: p.ModelID, Step: ev.Step, Tool: p.Tool, Args: p.Args, Digest: p.Digest, Extra: p.Extra, Unchecked: p.Unchecked, Status: Proposed}
			if p.Problem != "" {
				c.settle(Failed, e.At, Result{Text: p.Problem, IsError: true})
			}
			t.Calls = append(t.Calls, c)
		}
	})
}

func (ev ModeSet) apply(s Session, e Entry) Session {
	if ev.Rev != s.ModeRev+1 {
		return s
	}
	s = s.recordParticipant(ev.By, ev.Name)
	s.Mode, s.ModeAt, s.ModeRev = ev.Mode, e.At, ev.Rev
	if ev.Mode == permission.ModeAlways {
		s.Grants = nil
	}
	return s.repropose(func(c ToolCall) bool { return !(c.Asked && c.Choice == chat.AllowOnce) })
}

func (ev Reset) apply(s Session, e Entry) Session {
	if ev.Rev != s.ResetRev+1 {
		return s
	}
	s = s.recordParticipant(ev.By, ev.Name).forget()
	s.ResetRev, s.Waiting = ev.Rev, nil
	if s.Turn != nil {
		s = s.stop(e, Person{ev.By, ev.Name})
		s = s.edit(func(t *Turn) { t.Forget = true })
	}
	return s
}

func (ev StopAsked) apply(s Session, e Entry) Session {
	if s.Turn == nil || s.Turn.ID != ev.Turn || s.Turn.Stopped != nil {
		return s
	}
	return s.recordParticipant(ev.By, ev.Name).stop(e, Person{ev.By, ev.Name})
}

// stop cancels what has not started. What runs stays Running until Finished or Abandoned, and asks for nothing more. A person's stop takes the waiting
// messages along; where only the turn's message is gone (nobody stopped it), they have their turns.
func (s Session) stop(e Entry, by Person) Session {
	n := 0
	if !by.User.IsZero() {
		n, s.Waiting = len(s.Waiting), nil
	}
	return s.edit(func(t *Turn) {
		t.Stopped, t.Cancelled = &by, n
		t.cancel(e.At)
		for i := range t.Calls {
			if c := &t.Calls[i]; c.Elicitation.Open() {
				c.Elicitation = c.Elicitation.unanswered()
			}
		}
	})
}

func (ev Ended) apply(s Session, e Entry) Session {
	if s.Turn == nil || s.Turn.ID != ev.Turn || s.Turn.live() != nil {
		return s
	}
	s = s.edit(func(t *Turn) {
		t.cancel(e.At)
		t.End, t.EndSay, t.EndAt = ev.Why, ev.Say, e.At
		if s.Last != nil { // nobody else knows then that they stand there
			t.Beside = add(t.Beside, slices.DeleteFunc(slices.Clone(s.Last.Beside), func(b Beside) bool { return !b.goes() })...)
		}
	})
	t := s.Turn
	s.Turn, s.Last, s.At = nil, t, e.At
	if t.Forget {
		return s.open(e)
	}
	s.Transcript = add(s.Transcript, t.utterances()...)
	s = s.trim()
	for _, c := range t.Calls {
		if c.Status == Lapsed && !c.Reasked {
			s.Lapsed = last(add(s.Lapsed, LapsedCall{c, t.Requester}), maxLapsed)
		}
	}
	return s.open(e)
}

// Effect is one change of settings that had an effect: the settings before and after it.
type Effect struct {
	Change   permission.Change
	Was, Now permission.Settings
}

// Effects are the changes of an event that change something; from are the settings before it, nil where there are none.
func (ev Changed) Effects(from *permission.Settings, at time.Time) (out []Effect) {
	var now permission.Settings
	if from != nil {
		now = *from
	}
	for _, c := range ev.Changes {
		if next, changed := now.Apply(c, ev.By, ev.Name, at); changed {
			out = append(out, Effect{c, now, next})
			now = next
		}
	}
	return out
}

func (ev Changed) apply(s Session, e Entry) Session {
	if effects := ev.Effects(s.Settings, e.At); len(effects) > 0 {
		s.Settings = &effects[len(effects)-1].Now
	}
	return s
}
