package agent

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// editor keeps the posted message of a turn as its view says. Level-triggered: it looks at the view only when it is about to edit, so that
// whatever happened meanwhile is in that edit; one edit is in flight at a time; an edit equal to the last is dropped.
type editor struct {
	turn     turn.TurnID
	ref      chat.MessageRef
	dirty    bool            // something was offered since the last edit began
	urgency  Urgency         // of the most urgent offer since then
	inFlight bool            // an edit is under way
	late     bool            // one came back when the chat was not ours any more: it may have undone what whoever has it drew
	dead     bool            // the message cannot be edited any more
	last     *render.Message // as it was drawn last
	failures int             // in a row
	perhaps  []string        // what it may have been posted as, below: nobody answered whether it was, or who would know died
	outlived *turn.Session   // the last session that knew the turn, where it is forgotten

	notBefore [Question]time.Time // before which nothing so urgent is drawn
}

func (ed *editor) owes() bool { return (ed.dirty || ed.inFlight) && !ed.dead }

// due is when what is owed may be drawn.
func (ed *editor) due() time.Time { return ed.notBefore[ed.urgency] }

// pace is when progress may be drawn again after an edit that began then. A post counts as an edit: it is drawn just as well.
func (d *driver) pace(began time.Time) time.Time {
	if p, ok := d.platform().(Pacer); ok {
		return began.Add(p.Pace())
	}
	return began
}

// offer says that the view of a message changed. The most urgent offer since the last edit counts.
func (d *driver) offer(ed *editor, u Urgency) {
	if ed.dirty {
		u = max(ed.urgency, u)
	}
	ed.dirty, ed.urgency = true, u
	if !d.takingUp {
		d.draw(ed)
	}
}

// draw begins an edit where one is owed and due.
func (d *driver) draw(ed *editor) {
	began := time.Now()
	if !ed.dirty || ed.inFlight || ed.dead || d.ctx.Err() != nil || began.Before(ed.due()) {
		return
	}
	ed.dirty, ed.inFlight = false, true // what is offered from now on needs another edit
	ctx, from := d.ctx, *ed
	d.begin(func() func() {
		e := d.edited(ctx, from)
		if e.m != nil {
			d.e.did(ActionEdit, d.id, from.turn, began, e.err)
		}
		return func() {
			ed.inFlight, ed.late = false, ed.late || e.m != nil && !d.held()
			d.tookEdit(ed, e, began)
			d.draw(ed)
		}
	})
}

// edit is what came of one attempt. Without a message nothing had to be drawn.
type edit struct {
	m       *render.Message
	moved   chat.MessageRef // where the message goes on
	perhaps string          // what it may have been posted as
	offered Urgency
	err     error
}

// edited edits a message, or posts it once more, below, where an edit would show its unseen question too late. The view is made at the last
// moment: another replica may have the chat soon after, and what it draws must not be undone.
func (d *driver) edited(ctx context.Context, ed editor) (e edit) {
	e.offered = ed.urgency
	s := *d.session.Load()
	if ed.outlived != nil && s.TurnOf(ed.turn) == nil {
		s = *ed.outlived
	}
	view := d.viewOf(s, ed.turn)
	if len(view.Blocks) == 0 { // of what nothing is known any more, what stands there stands
		return e
	}
	if !d.held() { // a new holder repaints; where a renewal under way says that it is ours after all, we do
		e.err = ErrFenced
		return e
	}
	m := render.Fit(view, d.platform().Limits())
	if ed.last != nil && reflect.DeepEqual(m, *ed.last) {
		return e
	}
	e.m = &m
	u, unseen := ed.urgency, turn.AskID("")
	if _, can := d.platform().(Annotator); can { // else nothing could point from the old message to the new one
		if unseen = d.live.Unseen(*d.session.Load(), m); unseen != "" {
			u = Question
		}
	}
	ectx, cancel := context.WithTimeout(ctx, d.e.Lease/2)
	e.err = d.platform().Edit(ectx, d.id, ed.ref, m, u)
	cancel()
	if pe, _ := errors.AsType[*PlatformError](e.err); u == Question && pe != nil && pe.Kind == FaultBusy && d.live.Unseen(*d.session.Load(), m) == unseen { // nobody has answered meanwhile
		pctx, cancel := context.WithTimeout(ctx, d.e.Lease/2)
		defer cancel()
		seek := true // an earlier driver may have died on it
		key := anewKey(ed.turn, unseen)
		moved, err := d.postOnce(pctx, key, &seek, func(ctx context.Context, key chat.PostKey) (chat.MessageRef, error) {
			return d.platform().Post(ctx, d.id, key, m)
		})
		if pe, _ := errors.AsType[*PlatformError](err); err == nil {
			e.moved, e.err = moved, nil
		} else if pe == nil || pe.Kind == FaultTransient {
			e.perhaps = key
		}
	}
	return e
}

func anewKey(t turn.TurnID, ask turn.AskID) string { return string(t) + "/anew-" + string(ask) }

// redraw draws a message as the log has it now. It is for an edit that was under way as the chat was lost: nothing keeps that from coming
// after those of whoever drives the chat now.
func (d *driver) redraw(of turn.TurnID, ref chat.MessageRef) {
	for try := 1; try <= maxRedraws && d.e.work.Err() == nil; try++ {
		ctx, cancel := context.WithTimeout(d.e.work, d.e.Lease/2)
		f, err := d.e.refresh(ctx, d.id)
		s := f.s
		if err == nil && s.TurnOf(of) == nil { // others have come and gone since
			s, err = d.e.whenKnown(ctx, d.id, of, "")
		}
		if t := s.TurnOf(of); err == nil && t != nil {
			m := card.View(s, t, card.Live{})
			if t.Shown != ref { // it was posted anew meanwhile
				m = card.Below(m.State)
			}
			err = d.platform().Edit(ctx, d.id, ref, render.Fit(m, d.platform().Limits()), Final)
		}
		now, rerr := d.e.refresh(ctx, d.id)
		cancel()
		pe, _ := errors.AsType[*PlatformError](err)
		if pe.Refuses() || errors.Is(rerr, ErrFenced) || err == nil && rerr == nil && now.head == f.head { // else what was drawn may be old already
			return
		}
		if backoff.Wait(d.e.work, sendAgain.Base(try)) != nil {
			return
		}
	}
}

const maxRedraws = 10

func (d *driver) tookEdit(ed *editor, e edit, began time.Time) {
	pe, _ := errors.AsType[*PlatformError](e.err)
	switch {
	case e.err == nil:
		ed.failures = 0
		ed.notBefore[Progress] = d.pace(began)
		switch {
		case e.moved == "":
			if len(ed.perhaps) > 0 {
				d.takeBack("", ed.ref, ed.perhaps...)
				ed.perhaps = nil
			}
		case turnID(d.f.s) == ed.turn:
			d.reposted = turn.Shown{Turn: ed.turn, Message: e.moved, From: ed.ref}
			ed.ref, ed.perhaps = e.moved, nil
		default: // the turn has ended meanwhile: what came of it stands where people saw it
			d.takeBack(e.moved, ed.ref)
			ed.dirty, e.m = true, nil
		}
		if e.m != nil {
			if ed.last = e.m; d.last.turn == ed.turn {
				d.last.sure = false
			}
			d.live.Drew(*e.m)
		}
	case pe.Refuses():
		ed.dead = true
		d.tookGone(ed.turn, e.err)
	default:
		tried := e.offered
		if e.perhaps != "" && !slices.Contains(ed.perhaps, e.perhaps) {
			ed.perhaps = append(ed.perhaps, e.perhaps)
		}
		if ed.dirty {
			e.offered = max(ed.urgency, e.offered)
		}
		ed.dirty, ed.urgency = true, e.offered
		wait := sendAgain.Base(ed.failures)
		if pe != nil && (pe.Kind == FaultLater || pe.Kind == FaultBusy) && pe.RetryAfter > 0 {
			wait = pe.RetryAfter
		} else {
			ed.failures++
			ed.last = nil // it may have landed all the same
		}
		if pe == nil || pe.Kind != FaultLater { // else what is more urgent need not wait, also where it came while this was refused
			tried = Decision
		}
		for u := range tried + 1 {
			ed.notBefore[u] = time.Now().Add(wait)
		}
	}
}
