package agent

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/elicit"
	"github.com/nodhq/nod/core/agent/live"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// driver does what one chat is owed, while it holds the chat's lease. One goroutine (run) owns the fold; model calls, tool runs and posts
// are activities that report back to it. Its step is always the same: plan (what Next says, several events at a time) → record (one append)
// → act (start what was recorded).
type driver struct {
	e    *Engine // never changes, nor does id
	id   chat.ID
	live *live.State

	chatLease
	progress
	inputs
	activities
	reports

	editors  map[turn.TurnID]*editor // by the turn whose message each keeps; run's alone
	reposted turn.Shown              // a message that was posted anew, until the log knows; run's alone
	flushBy  time.Time               // while the engine stops: how long edits are waited for
}

// chatLease is the right to drive the chat. Whoever renews, edits or runs a tool reads it.
type chatLease struct {
	ctx           context.Context // ends when the lease is lost or the engine is cut; run makes a new one with each lease
	cancel        context.CancelFunc
	lease         atomic.Pointer[Lease] // written by run and by renew
	releasedToken uint64                // token of the lease that run gave back last; read by Engine.retire, from run
	next          *claimed              // while this driver runs, until it takes that over; under Engine.mu
}

// claimed is a lease, and the first entry that the claiming write brought, if any: a turn that it opened was posted by nobody else.
type claimed struct {
	Lease
	first uint64
}

// progress is how far the chat is. run writes and reads it.
type progress struct {
	f       fold
	session atomic.Pointer[turn.Session] // that of f, written by run for editors and posts to read

	since    time.Time            // what was decided before may have been used without the log's knowing: see doubt
	fresh    map[turn.CallID]bool // calls that this driver ruled
	worked   bool                 // this driver has got something done, so the chat is not deadly
	at       Head                 // where the log stood when the lease was given
	firstOwn uint64               // turns opened by entries from this one on were posted by nobody but this driver
	ended    turn.TurnID          // the turn that this driver ended last
	takingUp bool                 // what is owed is still to be decided, and nobody waits for what stands there now: it is drawn after that

	indicatedTurn turn.TurnID // the turn of which the platform was told that it begins
	indicated     bool        // and which people see of it
	last          postResult  // the message that this driver posted last
	refused       turn.TurnID // the turn whose message the platform does not take
}

// inputs are what the next plan brings into the log, each until it is recorded or no longer fits. run writes and reads them.
type inputs struct {
	reply   *replyInput
	results []turn.Event
	shown   []turn.Event
	waiting elicit.Open // what servers ask people for, until it is answered
}

// activities are what is under way, each in a goroutine of its own that reports once. run writes and reads them.
type activities struct {
	underWay    int                // how many there are
	model       context.CancelFunc // ends the reply that is being written; nil: none is
	running     *toolRun
	posting     turn.TurnID
	postingNote bool
	takingBack  int // messages that are being taken away: nobody else knows of them
}

// reports are what activities and the engine tell run. Only run reads them.
type reports struct {
	logMoved chan struct{} // the log may have moved
	dirty    chan struct{} // something streamed
	came     chan func()   // what is to be done with what came of an activity; without room: whoever sends waits until it is taken
}

// begin starts an activity. What it returns is done by run, once.
func (d *driver) begin(activity func() (report func())) {
	d.underWay++
	go func() {
		report := activity()
		d.came <- func() {
			d.underWay--
			report()
		}
	}()
}

// showing is what stands there for people to see without its being on record: the cards of asks, a message that was posted anew.
func (d *driver) showing(s turn.Session) (ev turn.Shown, news bool) {
	ev.Turn, ev.Asks = turnID(s), d.live.Appeared(s)
	if m := d.reposted; s.Turn != nil && m.Turn == ev.Turn && m.From == s.Turn.Shown {
		ev.Message, ev.From = m.Message, m.From
	}
	return ev, ev.Message != "" || len(ev.Asks) > 0
}

// platform is the chat's; nil where this replica does not serve it.
func (d *driver) platform() Platform { return d.e.Platforms[d.id.Platform] }

func newDriver(e *Engine, l Lease, at Head, first uint64) *driver {
	d := &driver{
		e: e, id: l.Chat, editors: map[turn.TurnID]*editor{},
		live:     live.New(),
		progress: progress{at: at, firstOwn: first, fresh: map[turn.CallID]bool{}}, inputs: inputs{waiting: elicit.Open{}},
		reports: reports{
			logMoved: make(chan struct{}, 1), dirty: make(chan struct{}, 1), came: make(chan func()),
		},
	}
	d.ctx, d.cancel = context.WithCancel(e.work)
	d.lease.Store(&l)
	return d
}

// signal tells whoever reads ch that there is something; it says so once, however often.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// held reports by this process's monotonic clock whether the lease still holds.
func (d *driver) held() bool { return d.ctx.Err() == nil && time.Now().Before(d.lease.Load().Until) }

func (d *driver) run() {
	for {
		wake := d.drive()
		d.stopActivities()
		next := d.e.retire(d, wake)
		if next == nil {
			return
		}
		if next.Token != d.lease.Load().Token { // the same lease: nobody else drove in between
			d.firstOwn, d.ended = next.first, ""
		}
		d.lease.Store(&next.Lease)
		d.ctx, d.cancel = context.WithCancel(d.e.work)
	}
}

// drive holds the lease until the chat owes nothing, and returns when it is due again.
func (d *driver) drive() (wake time.Time) {
	defer d.survive("driving a chat", func() { wake = time.Time{} }) // the lease lapses; after some lapses the turn is ended
	renewed := make(chan struct{})
	go func() { defer close(renewed); d.renew() }()
	defer func() { d.cancel(); <-renewed }()

	if err := d.takeUp(); err != nil {
		d.passOn(err)
		return time.Time{}
	}
	for failures := 0; d.held(); {
		moved, err := d.step()
		d.takingUp = false
		switch {
		case err == nil:
			failures = 0
		case errors.Is(err, ErrFenced):
			d.lose()
			return time.Time{}
		case errors.Is(err, ErrVersion):
			d.passOn(err)
			return time.Time{}
		default:
			failures++
			d.e.Logger.Warn("a step of a chat failed; trying again", "chat", d.id, "err", err)
			if backoff.Wait(d.ctx, min(time.Duration(failures)*200*time.Millisecond, 2*time.Second)) != nil {
				return time.Time{}
			}
			continue
		}
		if moved {
			d.flushBy = time.Time{}
			continue
		}
		d.drawDue()
		if d.busy() || d.drawing() {
			d.wait()
			continue
		}
		if wake, done := d.release(); done {
			return wake
		}
	}
	d.lose() // by our own clock, before renewing noticed
	return time.Time{}
}

// takeUp reads the chat, where it is not known already, and repaints what another holder may have left.
func (d *driver) takeUp() error {
	// Who holds the lease all the while knows everything that was begun; who takes it up after a restart of the store may not.
	began := time.Now()
	d.since = d.e.restarted()
	f, cached := d.e.sessions.Get(d.id)
	if !cached || d.at.Seq == 0 || f.head != d.at {
		var err error
		if f, err = d.e.refresh(d.ctx, d.id); err != nil {
			return err
		}
	}
	d.at = Head{}
	l := d.lease.Load()
	u, left := Decision, d.firstOwn == 0 || l.Barren > 0 || l.Owed && f.s.Turn != nil && f.s.Turn.Seq() >= d.firstOwn
	if d.firstOwn == 0 { // nobody's click brought us here
		d.firstOwn, u, d.takingUp = f.head.Seq+1, Final, true
	}
	if t := f.s.Turn; t != nil && t.Seq() < d.firstOwn {
		d.e.did(ActionTakeOver, d.id, t.ID, began, nil)
	}
	d.setFold(f)
	d.paint(u)
	if left && f.s.Turn != nil { // whoever drove before may have died between the end of a turn and its last edit, or put that off
		d.edit(f.s.Last, Final)
	}
	return nil
}

// passOn says that this replica cannot drive the chat, and gives back what only a newer release can read, for one of its replicas to take: a
// lease that runs out instead would count as one on which its holder died. Where there is none it is looked at more rarely. What is under way
// here keeps the lease to its end.
func (d *driver) passOn(err error) {
	d.complain(err)
	if !errors.Is(err, ErrVersion) || d.underWay > 0 {
		return
	}
	l := *d.lease.Load()
	before, _ := d.e.beyond.Get(d.id)
	d.e.beyond.Add(d.id, before+1)
	again := backoff.Exponential{First: min(d.e.Sweep, time.Second), Most: 8 * time.Second}
	_, head, err := d.e.Leases.Renew(d.ctx, l)
	if err == nil {
		_, err = d.e.write(d.ctx, Write{Chat: d.id, Known: head, Lease: l, Release: true, Wake: d.e.Now().Add(again.Base(before))})
	}
	if err == nil {
		d.releasedToken = l.Token
	}
}

func (d *driver) complain(err error) {
	d.e.Logger.Error("this replica cannot drive the chat", "chat", d.id, "err", err)
}

func (d *driver) setFold(f fold) {
	before := d.f.s
	d.f = f
	s := f.s
	for id, ed := range d.editors { // a message whose last edit still waits outlives its turn in the session
		if s.TurnOf(id) == nil && before.TurnOf(id) != nil {
			ed.outlived = &before
		}
	}
	d.live.Forget(s)
	d.session.Store(&s)
	d.withdraw()
	d.waiting.Answer(s)
	if turnID(before) != turnID(s) || s.Turn != nil && before.Turn != nil && before.Turn.Step != s.Turn.Step {
		d.live.Say("", "")
	}
	if s.Turn != nil && s.Turn.Stopped != nil && d.model != nil {
		d.model()
	}
	l, was := s.Last, before.Last
	told := l != nil && was != nil && l.ID == was.ID && l.Shown != was.Shown // late, by who posted it
	if s.Turn != nil && (told || l.Reasked() > was.Reasked()) {
		d.edit(l, Final)
	}
}

func turnID(s turn.Session) turn.TurnID {
	if s.Turn == nil {
		return ""
	}
	return s.Turn.ID
}

func (d *driver) busy() bool {
	return d.model != nil || d.running != nil || d.posting != "" || d.postingNote || d.takingBack > 0 || d.holding()
}

// wait sleeps until something happened.
func (d *driver) wait() {
	rest := time.Duration(math.MaxInt64)
	until := func(at, now time.Time) {
		if !at.IsZero() {
			rest = min(rest, at.Sub(now)+time.Millisecond)
		}
	}
	now := d.e.Now()
	until(turn.WakeAt(d.f.s, now, d.env()), now)
	if d.holding() {
		until(d.f.s.Turn.At.Add(d.e.Hold), now)
	}
	if time.Now().Before(d.flushBy) {
		until(d.flushBy, time.Now())
	}
	for _, ed := range d.editors {
		if ed.dirty && !ed.inFlight && !ed.dead {
			until(ed.due(), time.Now())
		}
	}
	select {
	case <-d.ctx.Done():
	case <-time.After(rest):
	case <-d.logMoved:
		d.catchUp()
	case <-d.dirty:
		if ed := d.editors[turnID(d.f.s)]; ed != nil {
			d.offer(ed, Progress)
		}
	case report := <-d.came:
		report()
	}
}

func (d *driver) catchUp() {
	f, err := d.e.refresh(d.ctx, d.id)
	if err != nil {
		if d.ctx.Err() == nil {
			d.e.Logger.Warn("could not read the chat's log; the next renewal tries again", "chat", d.id, "err", err)
		}
		return
	}
	u := Progress
	if turn.AsksDiffer(d.f.s, f.s) {
		u = Decision
	}
	d.setFold(f)
	d.paint(u)
}

// step plans, records and acts once. moved is false when nothing is owed beyond what is already in flight.
func (d *driver) step() (moved bool, err error) {
	select {
	case <-d.logMoved:
		d.catchUp()
	default:
	}
	p, err := d.plan()
	if err != nil || p.canWait && !d.busy() && !d.owes() {
		return false, err
	}
	if len(p.events) > 0 && !p.carried {
		ok, err := d.recordPlan(p)
		if err != nil || !ok {
			return true, err
		}
		moved = true
	}
	return d.act(p) || moved, nil
}

// recordPlan appends the plan. ok is false when the log moved on and the plan has to be made again.
func (d *driver) recordPlan(p plan) (ok bool, err error) {
	if err := d.e.checkDurable(d.ctx, p.events); err != nil {
		return false, err
	}
	w := Write{Chat: d.id, Known: d.f.head, Judged: p.judged, Events: p.events, Lease: *d.lease.Load()}
	for try := 1; ; try++ {
		got, err := d.e.write(d.ctx, w)
		switch {
		case err == nil || errors.Is(err, ErrNotDurable):
			return err == nil, d.recorded(p, got, err != nil)
		case errors.Is(err, ErrStale), errors.Is(err, ErrRewound):
			return false, d.follow(got, err)
		case errors.Is(err, ErrRules): // judged anew
			return false, nil
		case errors.Is(err, ErrFenced), errors.Is(err, ErrVersion), d.ctx.Err() != nil:
			return false, err
		}
		// Nobody knows whether it was written: the same operations again, or not at all.
		if try > 20 || !d.held() || backoff.Wait(d.ctx, min(time.Duration(try)*100*time.Millisecond, time.Second)) != nil {
			return false, err
		}
	}
}

// recorded goes on from a plan that the log took. unsure: it may not survive, so nothing may start on it.
func (d *driver) recorded(p plan, got Written, unsure bool) error {
	d.worked = true
	if p.reply {
		d.reply = nil
	}
	d.results, d.shown = nil, nil // they are in the plan
	f, err := d.e.applyWritten(d.ctx, d.id, d.f, got, nil)
	if err != nil {
		return err
	}
	d.e.traced(d.f.s, f.s, p.events, got)
	ended := d.f.s.Turn
	d.setFold(f)
	d.paint(p.urgency())
	if ended != nil && turnID(f.s) != ended.ID {
		d.ended = ended.ID
		d.edit(d.f.s.Last, Final)
	}
	for _, k := range p.events {
		if ev, ok := k.Event.(turn.Started); ok && unsure { // it certainly did not run
			d.results = append(d.results, turn.Finished{Call: ev.Call, Run: ev.Run, Result: turn.Result{Text: text.ResultNotDurable, IsError: true}})
		}
	}
	return nil
}

// follow takes up the log where it moved on, or is another history, which is what refused a write.
func (d *driver) follow(got Written, refused error) error {
	f, err := d.e.applyWritten(d.ctx, d.id, d.f, got, refused)
	if err != nil {
		return err
	}
	d.setFold(f)
	if !errors.Is(refused, ErrRewound) {
		d.paint(Decision)
	}
	return nil
}

// parting is the write that gives the chat back, with what people see that is not on record, and the session after it.
func (d *driver) parting() (w Write, s turn.Session) {
	w = Write{Chat: d.id, Known: d.f.head, Lease: *d.lease.Load(), Release: true}
	now, op := d.e.Now(), OpID("w:"+mint())
	s = d.f.s
	record := func(ev turn.Event) {
		w.Events = append(w.Events, Keyed{opPart(op, len(w.Events)), ev})
		s = turn.Apply(s, turn.Entry{Seq: d.f.head.Seq + uint64(len(w.Events)), At: now, Event: ev})
	}
	for _, ev := range d.shown {
		record(ev)
	}
	if ev, news := d.showing(s); news {
		record(ev)
	}
	unseen := func(w turn.Wait) bool { return w.Seen == nil }
	switch w.Wake = turn.WakeAt(s, now, d.env()); {
	case d.e.isStopping() && (len(turn.Next(s, now, d.env())) > 0 || slices.ContainsFunc(turn.Waits(s), unseen)):
		w.Wake = now // another replica goes on at once
	case w.Wake.IsZero() && s.Turn != nil:
		w.Wake = now.Add(parkedFor) // parked: a pending turn never fades like a silent chat
	case s.Turn == nil:
		for _, ed := range d.editors {
			if ed.owes() { // to whoever takes it up
				w.Wake = now.Add(max(0, time.Until(ed.due())))
			}
		}
	}
	if d.f.s.Turn == nil && d.f.head.Seq >= d.f.snap+snapshotEvery {
		w.Snapshot = &Snapshot{d.f.head, d.f.s}
	}
	// Nobody waits for what is over. Until it is given back whatever comes wakes this driver, and is not kept waiting.
	w.Patient = len(w.Events) == 0 && !d.e.isStopping() && (w.Wake.IsZero() || w.Wake.Sub(now) > time.Minute)
	return w, s
}

// release gives the chat back. done is false when the log moved meanwhile.
func (d *driver) release() (wake time.Time, done bool) {
	w, s := d.parting()
	ctx, awake := d.ctx, func() {}
	if w.Patient {
		ctx, awake = d.untilMoved()
	}
	got, err := d.e.write(ctx, w)
	awake()
	if err == nil {
		d.shown = nil
		if w.Snapshot != nil { // it is kept, also where the log has moved on and the chat is not given back
			d.f.snap = d.f.head.Seq
		}
	}
	switch {
	case w.Patient && errors.Is(err, context.Canceled) && d.ctx.Err() == nil:
		return time.Time{}, false
	case err == nil && got.Released:
		if len(w.Events) > 0 { // for whoever comes next
			f, ferr := d.e.applyWritten(d.ctx, d.id, d.f, got, nil)
			if ferr != nil {
				d.complain(ferr)
				f = d.f
				f.s = s
			}
			d.setFold(f)
		}
		if w.Snapshot != nil {
			d.e.sessions.put(d.id, d.f)
		}
		d.releasedToken = w.Lease.Token
		return w.Wake, true
	case err == nil || errors.Is(err, ErrStale) || errors.Is(err, ErrRewound):
		_ = d.follow(got, err) // what cannot be read now is read with the next step
		return time.Time{}, false
	case errors.Is(err, ErrFenced):
		d.lose()
		return time.Time{}, true
	default:
		d.e.Logger.Warn("could not give the chat back; its lease runs out instead", "chat", d.id, "err", err)
		_ = backoff.Wait(d.ctx, 200*time.Millisecond)
		return time.Time{}, d.ctx.Err() != nil
	}
}

// untilMoved ends with the driver's context, or once the log may have moved: that is then still to be read. Call end when it is needed no more.
func (d *driver) untilMoved() (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(d.ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-d.logMoved:
			signal(d.logMoved)
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-over }
}

// parkedFor is how often a chat is looked at whose asks have no deadline.
const parkedFor = 7 * 24 * time.Hour

// snapshotEvery is how many entries a cold replica reads at most beyond a snapshot.
const snapshotEvery = 256

// renew keeps the lease and notices what a lost wake-up would have told.
func (d *driver) renew() {
	for tick := time.Tick(d.e.Lease / 3); ; {
		select {
		case <-d.ctx.Done():
			return
		case <-tick:
		}
		ctx, cancel := context.WithTimeout(d.ctx, d.e.Lease/3)
		l, head, err := d.e.Leases.Renew(ctx, *d.lease.Load())
		cancel()
		switch {
		case err == nil:
			d.lease.Store(&l)
			if f, ok := d.e.sessions.Get(d.id); !ok || f.head.Seq != head.Seq || f.head.Tip != head.Tip {
				signal(d.logMoved)
			}
		case errors.Is(err, ErrFenced), !d.held():
			d.lose()
			return
		}
	}
}

// lose stops everything: somebody else may hold the chat now.
func (d *driver) lose() {
	if d.ctx.Err() == nil {
		d.e.Logger.Warn("lost the lease of a chat; its work here is stopped", "chat", d.id)
	}
	d.cancel()
}

// stopActivities waits for every goroutine the driver started.
func (d *driver) stopActivities() {
	d.cancel()
	for _, ed := range d.editors {
		if ed.inFlight || ed.late {
			defer d.redraw(ed.turn, ed.ref)
		}
	}
	for d.underWay > 0 { // a run that is not Finished is recovered by whoever drives next
		(<-d.came)()
	}
	ev, news := d.showing(d.f.s)
	anew := stray{of: ev.Turn, ref: ev.Message} // whoever drives next may have taken it away already: it must not go on record
	if ed := d.editors[ev.Turn]; ed != nil {
		anew.keys = ed.perhaps
	}
	if news && anew.none() {
		d.shown = append(d.shown, ev)
	}
	clear(d.editors)
	d.last.sure = false // from now on somebody else may draw
	d.e.recordLate(d.id, d.f.head, slices.Concat(d.shown, d.results), anew)
	d.reply, d.results, d.shown = nil, nil, nil
}

func (d *driver) env() turn.Env {
	env := turn.Env{MaxSteps: d.e.MaxSteps, MaxDenials: d.e.MaxDenials, Sequential: d.e.Sequential, Escalate: d.e.Escalate}
	if _, can := d.platform().(Annotator); can {
		env.Nudge, env.Long, env.Room = d.e.Nudge, d.e.Long, d.platform().Limits().Text/2
	}
	if d.running != nil {
		env.Live = d.running.run
	}
	return env
}

// paint offers the view of the open turn, or of the last one where none is open.
func (d *driver) paint(u Urgency) { d.edit(cmp.Or(d.f.s.Turn, d.f.s.Last), u) }

func (d *driver) edit(t *turn.Turn, u Urgency) {
	if t == nil || t.Shown == "" || d.platform() == nil {
		return
	}
	ed := d.editors[t.ID]
	if ed == nil {
		ed = &editor{turn: t.ID, ref: t.Shown}
		ours := d.last.turn == t.ID
		if ours && d.last.sure && d.last.ref == t.Shown {
			ed.last = new(d.last.view)
		}
		if !ours || !card.Blank(d.last.view) { // a post counts as an edit, unless it says nothing yet: then the first words wait for nothing
			ed.notBefore[Progress] = d.pace(time.Now())
		}
		d.editors[t.ID] = ed
		for _, c := range t.Calls {
			if d.lease.Load().Barren == 0 || c.Settled() {
				continue
			}
			if c.Ask != "" { // who died may have posted the question anew
				ed.perhaps = append(ed.perhaps, anewKey(t.ID, c.Ask))
			}
			if c.Elicitation != nil { // or what its server asks
				ed.perhaps = append(ed.perhaps, anewKey(t.ID, c.Elicitation.Ask))
			}
		}
		// What became of the turn while its post was under way was offered to nobody: it must not wait like progress.
		if t.End != "" {
			u = max(u, Final)
		}
		if ours && turn.AsksDiffer(d.last.of, d.f.s) {
			u = max(u, Decision)
		}
	}
	d.offer(ed, u)
}

// viewOf is how a turn's message should look; without a block where the session does not know the turn.
func (d *driver) viewOf(s turn.Session, id turn.TurnID) render.Message {
	t := s.TurnOf(id)
	if t == nil {
		return render.Message{}
	}
	var seen card.Live
	if t == s.Turn {
		seen = d.live.Seen(d.e.Now().UTC().Truncate(time.Millisecond))
	}
	return card.View(s, t, seen)
}

// drawDue draws what is due, and lets go of the messages of turns that are over.
func (d *driver) drawDue() {
	for id, ed := range d.editors {
		if d.draw(ed); id != turnID(d.f.s) && !ed.owes() {
			delete(d.editors, id)
		}
	}
}

// drawing reports whether a message is not yet as it should be, and that is waited for: while the engine stops for a little, for the next
// holder repaints.
func (d *driver) drawing() bool {
	if d.e.isStopping() && d.flushBy.IsZero() {
		d.flushBy = time.Now().Add(d.e.Lease / 4)
	}
	for _, ed := range d.editors {
		if ed.owes() && !d.putOff(ed) {
			return d.flushBy.IsZero() || time.Now().Before(d.flushBy)
		}
	}
	return false
}

// putOff reports whether all that is left to do is an edit that the platform puts off for long: many turns that end at once must not keep each
// other from being driven. The chat is given back until then, and whoever takes it up repaints.
func (d *driver) putOff(ed *editor) bool {
	last := d.f.s.Turn == nil && d.f.s.Last != nil && ed.turn == d.f.s.Last.ID
	return last && !ed.inFlight && len(ed.perhaps) == 0 && time.Until(ed.due()) > sendAgain.Most
}

// owes reports whether an editor has something to draw yet.
func (d *driver) owes() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(d.editors)), (*editor).owes)
}

// owesFormer reports whether the message of a turn before the open one has its last edit to come soon. Whoever drives next could not make it:
// the session keeps only the turn that ended last. What the platform puts off for long is not waited for.
func (d *driver) owesFormer() bool {
	for id, ed := range d.editors {
		if id != turnID(d.f.s) && ed.owes() && (ed.inFlight || time.Until(ed.due()) < d.e.Lease/2) {
			return true
		}
	}
	return false
}

// tookGone ends the open turn where its message is gone: what people cannot see they cannot answer.
func (d *driver) tookGone(id turn.TurnID, err error) {
	say := "a turn's message is gone; the turn ends, if it has not"
	if pe, ok := errors.AsType[*PlatformError](err); ok && pe.Kind == FaultForbidden {
		say = "a turn's message may not be posted or edited; the turn ends, if it has not"
	}
	d.e.Logger.Warn(say, "chat", d.id, "turn", id, "err", err)
	if t := d.f.s.Turn; t != nil && t.ID == id && t.Stopped == nil {
		d.results = append(d.results, turn.StopAsked{Turn: t.ID, Name: text.Product})
	}
}
