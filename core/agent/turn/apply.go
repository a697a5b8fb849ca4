package turn

import (
	"crypto/sha256"
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
	next := s.expireIdle(e).apply(e)
	if e.Op != "" && e.Event != nil && e.Event.Class() == Choice && next.DiffersFrom(s) {
		next.Clicks = last(add(next.Clicks, e.Op), maxClicks)
	}
	return next
}

// DiffersFrom reports whether a choice had an effect. Every one has it on the turn, which is then another, or on one of these. (What lapsed
// and is asked for again begins a turn, or waits for one.)
func (s Session) DiffersFrom(from Session) bool {
	return s.Turn != from.Turn || s.ModeRev != from.ModeRev || s.ResetRev != from.ResetRev || len(s.Grants) != len(from.Grants) ||
		len(s.Waiting) != len(from.Waiting) || s.Settings != from.Settings
}

func (s Session) apply(e Entry) Session {
	switch ev := e.Event.(type) {
	case Said:
		return s.said(e, ev)
	case Edited:
		return s.edited(ev)
	case Deleted:
		return s.deleted(e, ev)
	case Shown:
		return s.shown(e, ev)
	case Replied:
		return s.replied(e, ev)
	case Ruled:
		return s.ruled(e, ev)
	case Decided:
		return s.decided(e, ev)
	case Withdrawn:
		return s.withdrawn(e, ev)
	case Amended:
		return s.amended(e, ev)
	case Ticked:
		return s.ticked(ev)
	case Revealed:
		return s.revealed(e, ev)
	case Wanted:
		return s.wanted(e, ev)
	case Filled:
		return s.filled(e, ev)
	case Changed:
		return s.changed(e, ev)
	case Posted:
		return s.posted(e, ev)
	case Removed:
		return s.removed(ev)
	case Extended:
		return s.extended(e, ev)
	case Expired:
		return s.expired(e, ev)
	case Reopened:
		return s.reopened(e, ev)
	case Started:
		return s.started(e, ev)
	case Finished:
		return s.finished(e, ev)
	case Abandoned:
		return s.abandoned(e, ev)
	case Resolved:
		return s.resolved(e, ev)
	case Revoked:
		return s.revoked(ev)
	case ModeSet:
		return s.modeSet(e, ev)
	case Reset:
		return s.reset(e, ev)
	case StopAsked:
		return s.stopAsked(e, ev)
	case Ended:
		return s.ended(e, ev)
	}
	return s
}

// Fold applies entries in order.
func Fold(s Session, entries []Entry) Session {
	for _, e := range entries {
		s = Apply(s, e)
	}
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
func (s Session) edit(f func(*Turn)) Session {
	t := *s.Turn
	t.Calls = slices.Clone(t.Calls)
	f(&t)
	s.Turn = &t
	return s
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

func (s Session) said(e Entry, ev Said) Session {
	s, ok := s.seenDelivery(ev.Delivery)
	if !ok {
		return s
	}
	s.At = e.At
	if s.Began.IsZero() {
		s.Began = ev.By
	}
	return s.recordParticipant(ev.By, ev.Name).queue(e, ev)
}

func (s Session) queue(e Entry, ev Said) Session {
	s.Waiting = add(s.Waiting, ev)
	if s.Turn == nil {
		s = s.open(e)
	}
	return s
}

// open begins the next turn with the first waiting message and those that follow it from the same person.
func (s Session) open(e Entry) Session {
	if len(s.Waiting) == 0 {
		return s
	}
	n := 1
	first := s.Waiting[0]
	for first.Replay == nil && n < len(s.Waiting) {
		w := s.Waiting[n]
		if w.By != first.By || w.Replay != nil || w.Unattended != first.Unattended || w.Standing != first.Standing {
			break
		}
		n++
	}
	t := &Turn{
		ID: turnID(e), At: e.At, Requester: first.By, Unattended: first.Unattended, Standing: first.Standing,
		Said: slices.Clone(s.Waiting[:n]), Notes: s.Notes,
	}
	if r := first.Replay; r != nil {
		t.Step, t.Replies = 1, []Reply{{}}
		t.Calls = []ToolCall{{ID: r.Call, Tool: r.Tool, Args: r.Args, Digest: r.Digest, Unchecked: r.Unchecked, Status: Proposed}}
	}
	s.Waiting = slices.Clone(s.Waiting[n:])
	s.Notes = nil
	s.Turn = t
	return s
}

// turnID names the turn that an entry opened. Its place alone would not do: a log that was lost counts from the start again, and an
// answer would be drawn over the message of another turn.
func turnID(e Entry) TurnID {
	if e.Op == "" {
		return TurnID(fmt.Sprintf("t%d", e.Seq))
	}
	h := sha256.Sum256([]byte(e.Op))
	return TurnID(fmt.Sprintf("t%d-%x", e.Seq, h[:5]))
}

func (s Session) edited(ev Edited) Session {
	s, ok := s.seenDelivery(ev.Delivery)
	if !ok || ev.Message == "" {
		return s
	}
	for i, w := range s.Waiting {
		if w.Message == ev.Message && w.By == ev.By {
			s.Waiting = slices.Clone(s.Waiting)
			s.Waiting[i].Text = ev.Text
			return s
		}
	}
	return s.ignore(ev.Message, ev.By)
}

func (s Session) deleted(e Entry, ev Deleted) Session {
	s, ok := s.seenDelivery(ev.Delivery)
	if !ok {
		return s
	}
	if s.Turn != nil && (ev.All || (ev.Message != "" && ev.Message == s.Turn.Shown)) { // what people cannot see they cannot answer
		if ev.All {
			s.Waiting = nil
		}
		if s.Turn.Stopped == nil {
			s = s.stop(e, Person{})
		}
		return s
	}
	if ev.Message == "" {
		return s
	}
	for i, w := range s.Waiting {
		if w.Message == ev.Message { // whoever may delete on the platform may: moderators do
			s.Waiting = slices.Delete(slices.Clone(s.Waiting), i, i+1)
			return s
		}
	}
	return s.ignore(ev.Message, chat.User{})
}

// ignore counts a change to a message that its turn has already read.
func (s Session) ignore(m chat.MessageRef, by chat.User) Session {
	if s.Turn == nil || !slices.ContainsFunc(s.Turn.Said, func(x Said) bool { return x.Message == m && (by.IsZero() || x.By == by) }) {
		return s
	}
	return s.edit(func(t *Turn) { t.Ignored++ })
}

func (s Session) shown(e Entry, ev Shown) Session {
	if s.Turn != nil && s.Turn.ID == ev.Turn {
		return s.appeared(e, ev)
	}
	if ev.Message != "" && s.Last != nil && s.Last.ID == ev.Turn && s.Last.Shown == "" {
		t := *s.Last
		t.Shown, t.ShownAt = ev.Message, e.At
		s.Last = &t
	}
	return s
}

// appeared is what the open turn's message is, and which cards stand in it. The clock of an ask starts with its card.
func (s Session) appeared(e Entry, ev Shown) Session {
	first := ev.Message != "" && s.Turn.Shown == ""
	moved := ev.Message != "" && s.Turn.Shown == ev.From && ev.Message != ev.From && !first
	var news []Wait
	for _, w := range Waits(s) {
		if w.Seen == nil && slices.ContainsFunc(ev.Asks, func(a Appeared) bool { return a.Ask == w.Ask }) {
			news = append(news, w)
		}
	}
	if !first && !moved && len(news) == 0 {
		return s
	}
	return s.edit(func(t *Turn) {
		switch {
		case first:
			t.Shown, t.ShownAt = ev.Message, e.At
		case moved:
			t.Shown = ev.Message
			t.Beside = add(t.Beside, Beside{Slot: leftSlot + string(ev.From), Message: ev.From, At: e.At})
		}
		for _, w := range news {
			seen := &Showing{At: e.At, Silent: !first && !moved}
			if wait := w.Deadline.Sub(w.Asked); !w.Deadline.IsZero() {
				w.Deadline = e.At.Add(wait)
				for _, a := range ev.Asks {
					if early := w.Deadline.Sub(a.Until); a.Ask == w.Ask && early >= 0 && early <= wait/4 {
						seen.Says = a.Until
					}
				}
			}
			c := &t.Calls[t.Find(w.Call)]
			if !c.Want.Open() {
				c.Seen, c.Deadline = seen, w.Deadline
				continue
			}
			want := *c.Want
			want.Seen, want.Deadline = seen, w.Deadline
			c.Want = &want
		}
	})
}

// unsaid is the same without what the card said of its end: that is another now.
func (s *Showing) unsaid() *Showing {
	if s == nil {
		return nil
	}
	return &Showing{At: s.At, Silent: s.Silent}
}

func (s Session) replied(e Entry, ev Replied) Session {
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

func (s Session) ruled(e Entry, ev Ruled) Session {
	i := s.Turn.Find(ev.Call)
	if i < 0 || s.Turn.Stopped != nil || ev.Ask == "" {
		return s
	}
	c := s.Turn.Calls[i]
	if slices.Contains(c.Asks, ev.Ask) {
		return s
	}
	switch {
	case c.Status == Proposed:
	case c.Status == Allowed && ev.Ruling.Verdict != permission.Allow: // before the start a ruling may only tighten
	default:
		return s
	}
	return s.edit(func(t *Turn) {
		c := &t.Calls[i]
		c.ask(ev.Ask)
		c.Ruling, c.Card = ev.Ruling, ev.Card
		c.Decision = Decision{}
		c.Votes, c.Ticked = nil, nil
		switch ev.Ruling.Verdict {
		case permission.Allow:
			c.Status, c.Asked, c.Grant, c.Cover = Allowed, false, ev.Ruling.Grant, s.Grant(ev.Ruling.Grant)
		case permission.Forbid:
			c.Asked = false
			c.settle(Denied, e.At, Result{Text: ev.Say, IsError: true})
		default:
			c.await(e.At, ev.Ruling.Timeout)
		}
	})
}

func (s Session) decided(e Entry, ev Decided) Session {
	i := s.Turn.Asking(ev.Ask)
	if i < 0 || s.Turn.Calls[i].Status != Awaiting || ev.By.IsZero() {
		return s
	}
	c := s.Turn.Calls[i]
	if c.Digest != ev.Digest || c.overdue(e.At) {
		return s
	}
	if ev.Under != "" {
		return s.covered(i, ev)
	}
	g := ev.Grant
	switch {
	case Grants(ev.Choice):
		if g = s.granted(c, ev, e.At); g == nil {
			return s
		}
	case ev.Choice == chat.AllowOnce && !Showable(c): // what nobody could read nobody can allow
		return s
	case ev.Choice == chat.AllowOnce && c.Ruling.Masked && !c.Saw(ev.Ask, ev.By):
		return s
	case ev.Choice == chat.AllowOnce && c.voted(ev.By): // two clicks are not two people
		return s
	}
	s = s.recordParticipant(ev.By, ev.Name)
	if ev.Choice == chat.AllowOnce && len(c.Votes)+1 < c.Ruling.Approvals {
		return s.edit(func(t *Turn) { t.Calls[i].Votes = add(t.Calls[i].Votes, Vote{ev.By, ev.Name, ev.Surface, e.At}) })
	}
	s = s.edit(func(t *Turn) {
		c := &t.Calls[i]
		c.Decision = Decision{Choice: ev.Choice, By: ev.By, Name: ev.Name, Surface: ev.Surface, Reason: ev.Reason, DecidedAt: e.At}
		c.Deadline = time.Time{}
		switch {
		case ev.Choice == chat.AllowOnce:
			c.Status = Allowed
			if c.Ruling.Approvals > 1 {
				c.Votes = add(c.Votes, Vote{ev.By, ev.Name, ev.Surface, e.At})
			}
		case Grants(ev.Choice):
			c.Status, c.Grant = Allowed, g.ID
		default:
			c.Choice = chat.Deny
			c.settle(Denied, e.At, Result{Kind: ResultDenied, Reason: ev.Reason, By: ev.Name, IsError: true})
		}
	})
	if Grants(ev.Choice) {
		s.Grants = add(s.Grants, *g)
	}
	return s
}

func (s Session) withdrawn(e Entry, ev Withdrawn) Session {
	i := s.Turn.Asking(ev.Ask)
	if i < 0 || ev.By.IsZero() || ev.Next == "" || !CanUndo(s, s.Turn.Calls[i]) || slices.Contains(s.Turn.Calls[i].Asks, ev.Next) {
		return s
	}
	c := s.Turn.Calls[i]
	if Grants(c.Choice) {
		s = s.dropGrants([]permission.GrantID{c.Grant})
	}
	return s.recordParticipant(ev.By, ev.Name).edit(func(t *Turn) {
		c := &t.Calls[i]
		c.ask(ev.Next)
		c.Decision = Decision{}
		c.Votes = nil
		c.Result = nil
		c.await(e.At, c.Ruling.Timeout)
	})
}

func (s Session) extended(e Entry, ev Extended) Session {
	i := s.Turn.Asking(ev.Ask)
	if i < 0 || ev.By.IsZero() || !s.Turn.Calls[i].Waits() {
		return s
	}
	c := s.Turn.Calls[i]
	if c.Deadline.IsZero() || c.overdue(e.At) || !ev.Until.After(c.Deadline) {
		return s
	}
	return s.edit(func(t *Turn) {
		c := &t.Calls[i]
		c.Deadline, c.Seen = ev.Until, c.Seen.unsaid()
	})
}

func (s Session) expired(e Entry, ev Expired) Session {
	if s.Turn != nil {
		if at := s.Turn.Wanting(ev.Ask); at >= 0 {
			return s.unfilled(e, at)
		}
	}
	i := s.Turn.Asking(ev.Ask)
	if i < 0 || !s.Turn.Calls[i].Waits() || !s.Turn.Calls[i].overdue(e.At) {
		return s
	}
	return s.edit(func(t *Turn) {
		c := &t.Calls[i]
		if c.Status == Unknown {
			c.settle(Unknown, e.At, unknownResult(c.Lost))
			return
		}
		c.settle(Lapsed, e.At, Result{Kind: ResultTimedOut, Waited: c.Waited(), IsError: true})
	})
}

func (s Session) reopened(e Entry, ev Reopened) Session {
	if ev.By.IsZero() || ev.Next == "" || ev.NextCall == "" {
		return s
	}
	if i := s.Turn.Asking(ev.Ask); i >= 0 {
		c := s.Turn.Calls[i]
		if c.Status != Lapsed || c.Reasked || s.Turn.Stopped != nil || slices.Contains(c.Asks, ev.Next) {
			return s
		}
		if c.Step == s.Turn.Step-1 && !s.Turn.settled() {
			return s.recordParticipant(ev.By, ev.Name).edit(func(t *Turn) {
				c := &t.Calls[i]
				c.ask(ev.Next)
				c.Decision = Decision{}
				c.Votes, c.Ticked, c.Result = nil, nil, nil
				c.await(e.At, c.Ruling.Timeout)
			})
		}
		s = s.edit(func(t *Turn) { t.Calls[i].Reasked = true })
		return s.recordParticipant(ev.By, ev.Name).replay(e, ev, c, s.Turn.Requester)
	}
	if l, ok := s.FindLapsed(ev.Ask); ok {
		s.Lapsed = slices.DeleteFunc(slices.Clone(s.Lapsed), func(x LapsedCall) bool { return x.Call.Ask == ev.Ask })
		if i := s.Last.Find(l.Call.ID); i >= 0 {
			t := *s.Last
			t.Calls = slices.Clone(t.Calls)
			t.Calls[i].Reasked = true
			s.Last = &t
		}
		return s.recordParticipant(ev.By, ev.Name).replay(e, ev, l.Call, l.Requester)
	}
	return s
}

// replay queues a turn for the same requester with the same bytes as a new call.
func (s Session) replay(e Entry, ev Reopened, c ToolCall, requester chat.User) Session {
	name := ""
	for _, p := range s.People {
		if p.User == requester {
			name = p.Name
		}
	}
	return s.queue(e, Said{
		Delivery: chat.Delivery("again:" + string(ev.Next)), By: requester, Name: name,
		Replay: &Replay{Call: ev.NextCall, Tool: c.Tool, Args: c.Args, Digest: c.Digest, Unchecked: c.Unchecked},
	})
}

func (s Session) started(e Entry, ev Started) Session {
	i := s.Turn.Find(ev.Call)
	if i < 0 || ev.Run == "" {
		return s
	}
	c := s.Turn.Calls[i]
	if !s.Turn.Runnable(i) || c.Ask != ev.Ask || c.Digest != ev.Digest || slices.Contains(c.Runs, ev.Run) {
		return s
	}
	if ev.Grant != "" {
		g := slices.IndexFunc(s.Grants, func(g permission.Grant) bool { return g.ID == ev.Grant })
		if g < 0 || (s.Grants[g].Counted && s.Grants[g].Uses < 1) {
			return s // its cover is gone: it has to be ruled again
		}
		if s.Grants[g].Counted {
			s.Grants = slices.Clone(s.Grants)
			s.Grants[g].Uses--
		}
	}
	return s.edit(func(t *Turn) {
		c := &t.Calls[i]
		c.begin(ev.Run, ev.Token)
		c.Status, c.StartedAt = Running, e.At
		if ev.Grant != "" {
			c.Grant, c.Cover = ev.Grant, s.Grant(ev.Grant)
		}
	})
}

func (s Session) finished(e Entry, ev Finished) Session {
	if i := s.Turn.Find(ev.Call); i >= 0 {
		c := s.Turn.Calls[i]
		if !slices.Contains(c.Runs, ev.Run) || slices.Contains(c.Heard, ev.Run) {
			return s
		}
		if c.Run == ev.Run && (c.Status == Running || (c.Status == Unknown && !c.Settled())) {
			return s.edit(func(t *Turn) {
				c := &t.Calls[i]
				c.Heard = add(c.Heard, ev.Run)
				status := Done
				if ev.Result.IsError {
					status = Failed
				}
				c.settle(status, e.At, ev.Result)
			})
		}
		s = s.edit(func(t *Turn) { t.Calls[i].late(ev.Run, ev.Result.IsError) })
		return s.note(Note{Kind: NoteLate, Tool: c.Tool.Name, Server: c.Tool.Server, Text: ev.Result.Text, Failed: ev.Result.IsError})
	}
	if i := s.Last.Find(ev.Call); i >= 0 {
		c := s.Last.Calls[i]
		if !slices.Contains(c.Runs, ev.Run) || slices.Contains(c.Heard, ev.Run) {
			return s
		}
		t := *s.Last
		t.Calls = slices.Clone(t.Calls)
		t.Calls[i].late(ev.Run, ev.Result.IsError)
		s.Last = &t
		return s.note(Note{Kind: NoteLate, Tool: c.Tool.Name, Server: c.Tool.Server, Text: ev.Result.Text, Failed: ev.Result.IsError})
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

func (s Session) abandoned(e Entry, ev Abandoned) Session {
	i := s.Turn.Find(ev.Call)
	if i < 0 || ev.Ask == "" {
		return s
	}
	c := s.Turn.Calls[i]
	if ev.Forgotten && (c.Status == Proposed || c.Status == Awaiting || c.Status == Allowed) && !slices.Contains(c.Runs, ev.Run) {
		return s.edit(func(t *Turn) {
			c := &t.Calls[i]
			c.begin(ev.Run, ev.Token)
			c.Status = Running
		}).abandoned(e, ev)
	}
	if c.Status != Running || c.Run != ev.Run || slices.Contains(c.Asks, ev.Ask) {
		return s
	}
	if !(ev.Token > c.Token || (ev.Own && ev.Token == c.Token)) {
		return s // an earlier driver has no say over a later one's run
	}
	return s.edit(func(t *Turn) {
		c := &t.Calls[i]
		c.Lost, c.Want = ev.Say, nil
		if ev.Repeat != "" && c.Repeats < maxRepeats && t.Stopped == nil {
			c.Repeats++
			c.Status = Allowed
			return
		}
		c.Status = Unknown
		c.ask(ev.Ask)
		c.AskedAt, c.Deadline = e.At, time.Time{}
		if ev.Wait > 0 {
			c.Deadline = e.At.Add(ev.Wait)
		}
		if t.Stopped != nil || t.Unattended {
			c.settle(Unknown, e.At, unknownResult(c.Lost))
		}
	})
}

func (s Session) resolved(e Entry, ev Resolved) Session {
	i := s.Turn.Asking(ev.Ask)
	if i < 0 || ev.By.IsZero() {
		return s
	}
	c := s.Turn.Calls[i]
	if c.Status != Unknown || c.Settled() || c.overdue(e.At) {
		return s
	}
	switch ev.Answer {
	case chat.Happened, chat.Leave:
		return s.recordParticipant(ev.By, ev.Name).edit(func(t *Turn) {
			c := &t.Calls[i]
			c.Choice, c.By, c.Name, c.DecidedAt = ev.Answer, ev.By, ev.Name, e.At
			r := unknownResult(c.Lost)
			if ev.Answer == chat.Happened {
				r = Result{Kind: ResultHappened, IsError: true}
			}
			c.settle(Unknown, e.At, r)
		})
	case chat.RunAgain:
		if ev.Next == "" || slices.Contains(c.Asks, ev.Next) {
			return s
		}
		return s.recordParticipant(ev.By, ev.Name).edit(func(t *Turn) {
			c := &t.Calls[i]
			c.ask(ev.Next)
			c.Decision = Decision{}
			c.Votes, c.Ticked = nil, nil
			c.await(e.At, c.Ruling.Timeout)
		})
	}
	return s
}

func (s Session) revoked(ev Revoked) Session {
	if ev.By.IsZero() || !slices.ContainsFunc(s.Grants, func(g permission.Grant) bool { return slices.Contains(ev.Grants, g.ID) }) {
		return s
	}
	return s.recordParticipant(ev.By, ev.Name).dropGrants(ev.Grants)
}

// dropGrants ends grants; calls that they covered and that have not started go back to be ruled again.
func (s Session) dropGrants(ids []permission.GrantID) Session {
	gone := func(g permission.GrantID) bool { return g != "" && slices.Contains(ids, g) }
	s.Grants = slices.DeleteFunc(slices.Clone(s.Grants), func(g permission.Grant) bool { return gone(g.ID) })
	if s.Turn == nil || !slices.ContainsFunc(s.Turn.Calls, func(c ToolCall) bool { return c.Status == Allowed && gone(c.Grant) }) {
		return s
	}
	return s.edit(func(t *Turn) {
		for i := range t.Calls {
			if c := &t.Calls[i]; c.Status == Allowed && gone(c.Grant) {
				c.propose()
			}
		}
	})
}

func (s Session) modeSet(e Entry, ev ModeSet) Session {
	if ev.Rev != s.ModeRev+1 {
		return s
	}
	s = s.recordParticipant(ev.By, ev.Name)
	s.Mode, s.ModeAt, s.ModeRev = ev.Mode, e.At, ev.Rev
	if ev.Mode == permission.ModeAlways {
		s.Grants = nil
	}
	if s.Turn == nil {
		return s
	}
	return s.edit(func(t *Turn) {
		for i := range t.Calls {
			if c := &t.Calls[i]; c.Status == Allowed && !(c.Asked && c.Choice == chat.AllowOnce) {
				c.propose()
			}
		}
	})
}

func (s Session) reset(e Entry, ev Reset) Session {
	if ev.Rev != s.ResetRev+1 {
		return s
	}
	s = s.recordParticipant(ev.By, ev.Name)
	s.ResetRev = ev.Rev
	s.Transcript, s.Dropped, s.Grants, s.Lapsed, s.Waiting, s.Notes = nil, 0, nil, nil, nil, nil
	s.Mode, s.ModeAt = permission.ModeTool, time.Time{}
	if s.Turn != nil {
		s = s.stop(e, Person{ev.By, ev.Name})
		s = s.edit(func(t *Turn) { t.Forget = true })
	}
	return s
}

func (s Session) stopAsked(e Entry, ev StopAsked) Session {
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
		t.cancelElicitations()
	})
}

func (s Session) ended(e Entry, ev Ended) Session {
	if s.Turn == nil || s.Turn.ID != ev.Turn || s.Turn.live() != nil {
		return s
	}
	s = s.edit(func(t *Turn) {
		t.cancel(e.At)
		t.End, t.EndSay, t.EndAt = ev.Why, ev.Say, e.At
	})
	t := s.Turn
	s.Turn, s.Last, s.At = nil, t, e.At
	if !t.Forget {
		s.Transcript = add(s.Transcript, t.utterances()...)
		s = s.trim()
	}
	for _, c := range t.Calls {
		if c.Status == Lapsed && !c.Reasked && !t.Forget {
			s.Lapsed = last(add(s.Lapsed, LapsedCall{c, t.Requester}), maxLapsed)
		}
	}
	return s.open(e)
}
