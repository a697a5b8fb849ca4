package agent

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// driver does what one chat is owed, while it holds the chat's lease. One goroutine (run) owns the fold; model
// calls, tool runs and posts are activities of their own goroutines that report back to it.
//
// Its step is always the same: plan (what Next says, decided purely, several events at a time) → record (one
// append) → act (start what was recorded).
type driver struct {
	e  *Engine
	id chat.ID

	ctx    context.Context // ends when the lease is lost or the engine is cut
	cancel context.CancelFunc
	pokes  chan struct{} // the log may have moved
	lease  atomic.Pointer[Lease]
	lost   atomic.Bool

	since   time.Time            // what was decided before may have been used without the log's knowing: see doubt
	fresh   map[turn.CallID]bool // calls that this driver ruled
	worked  bool                 // this driver has got something done, so the chat is not deadly
	at      Head                 // where the log stood when the lease was given
	own     uint64               // turns opened by entries from this one on were posted by nobody but this driver
	f       fold
	session atomic.Pointer[turn.Session] // the same, for the editors

	nextMu  sync.Mutex
	next    *Lease // handed over while this driver ran
	nextOwn uint64

	// inputs to the next plan, each until it is recorded or no longer fits
	reply   *replyInput
	results []turn.Event
	shown   []turn.Event

	replies chan replyInput
	ran     chan turn.Event
	posted  chan postResult
	noted   chan noteResult
	goneCh  chan goneMessage
	wants   chan wantInput
	locks   sync.Map                 // run → its lock
	waiting map[turn.AskID]wantInput // what servers want of people, until it is answered

	model   *modelRun
	running *toolRun
	posting turn.TurnID
	noting  bool
	started turn.TurnID // the turn of which the platform was told that it begins
	signed  bool        // and which people see of it
	blank   turn.TurnID // the turn whose message was posted without words
	refused turn.TurnID // the turn whose message the platform does not take
	freed   uint64      // token of the lease that was given back last

	live    liveState
	dirty   chan struct{}
	drawn   chan struct{} // an editor owes nothing any more
	editors map[turn.TurnID]*editor
}

// liveState is what streams: shown, never stored.
type liveState struct {
	mu       sync.Mutex
	text     string
	note     string
	progress map[turn.CallID]turn.Progress
	kept     map[turn.TurnID]turn.Session // the last session that knew a turn whose editor still owes something
	drawn    map[turn.AskID]time.Time     // asks whose cards stand there, and until when they say; the log does not know yet
	moved    turn.Shown                   // a message that was posted anew, likewise
}

func (l *liveState) get(now time.Time) turn.Live {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := map[turn.CallID]turn.Progress{}
	for k, v := range l.progress {
		p[k] = v
	}
	return turn.Live{Text: l.text, Note: l.note, Progress: p, Now: now, Drawn: maps.Clone(l.drawn)}
}

// drew says that a message stands as it is here.
func (d *driver) drew(m render.Message) {
	d.live.mu.Lock()
	for _, b := range m.Blocks {
		if a, ok := b.(render.Ask); ok {
			if d.live.drawn == nil {
				d.live.drawn = map[turn.AskID]time.Time{}
			}
			d.live.drawn[turn.AskID(a.Token)] = a.Expires
		}
	}
	d.live.mu.Unlock()
	d.sayDrawn()
}

// showing is what stands there for people to see without its being on record: the cards of asks, a message that was posted anew.
func (d *driver) showing(s turn.Session) (ev turn.Shown, news bool) {
	d.live.mu.Lock()
	defer d.live.mu.Unlock()
	ev.Turn = turnID(s)
	if m := d.live.moved; s.Turn != nil && m.Turn == ev.Turn && m.From == s.Turn.Shown {
		ev = m
	}
	for _, w := range turn.Waits(s) {
		if until, ok := d.live.drawn[w.Ask]; ok && w.Seen == nil {
			ev.Asks = append(ev.Asks, turn.Appeared{Ask: w.Ask, Until: until})
		}
	}
	return ev, ev.Message != "" || len(ev.Asks) > 0
}

// unseen is the first ask in m that nobody can see yet, or empty.
func (d *driver) unseen(m render.Message) turn.AskID {
	waits := turn.Waits(*d.session.Load())
	d.live.mu.Lock()
	defer d.live.mu.Unlock()
	for _, b := range m.Blocks {
		a, ok := b.(render.Ask)
		if _, drawn := d.live.drawn[turn.AskID(a.Token)]; ok && !drawn && slices.ContainsFunc(waits, func(w turn.Wait) bool { return string(w.Ask) == a.Token && w.Seen == nil }) {
			return turn.AskID(a.Token)
		}
	}
	return ""
}

// anew posts the message of a turn once more, below: to edit a question into the one that stands would take too long.
func (d *driver) anew(ctx context.Context, id turn.TurnID, from chat.MessageRef, m render.Message) (chat.MessageRef, error) {
	p := d.e.Platforms[d.id.Platform]
	const seek = true // an earlier driver may have died on it
	ref, err := postOnce(ctx, p, d.id, postKey(d.id, string(id)+"/anew-"+string(d.unseen(m))), seek, func(ctx context.Context, key chat.PostKey) (chat.MessageRef, error) {
		return p.Post(ctx, d.id, key, m)
	})
	if err == nil {
		d.live.mu.Lock()
		d.live.moved = turn.Shown{Turn: id, Message: ref, From: from}
		d.live.mu.Unlock()
	}
	return ref, err
}

func newDriver(e *Engine, l Lease, at Head, own uint64) *driver {
	d := &driver{
		e: e, id: l.Chat, at: at, own: own, pokes: make(chan struct{}, 1), dirty: make(chan struct{}, 1), drawn: make(chan struct{}, 1),
		replies: make(chan replyInput, 1), ran: make(chan turn.Event, 1), posted: make(chan postResult, 1), goneCh: make(chan goneMessage, 8), wants: make(chan wantInput), waiting: map[turn.AskID]wantInput{}, noted: make(chan noteResult, 1),
		editors: map[turn.TurnID]*editor{}, fresh: map[turn.CallID]bool{},
	}
	d.ctx, d.cancel = context.WithCancel(e.work)
	d.lease.Store(&l)
	return d
}

// poke says that the log may have moved.
func (d *driver) poke() {
	select {
	case d.pokes <- struct{}{}:
	default:
	}
}

// again hands over a lease that was claimed while this driver still runs. Replies may overtake each other: the newest lease counts.
func (d *driver) again(l Lease, own uint64) {
	d.nextMu.Lock()
	if d.next == nil || l.Token >= d.next.Token {
		d.next, d.nextOwn = &l, own
	}
	d.nextMu.Unlock()
	d.poke()
}

func (d *driver) takeNext() (Lease, bool) {
	d.nextMu.Lock()
	defer d.nextMu.Unlock()
	l := d.next
	d.next = nil
	if l == nil {
		return Lease{}, false
	}
	return *l, true
}

// held reports by this process's monotonic clock whether the lease still holds.
func (d *driver) held() bool { return !d.lost.Load() && time.Now().Before(d.lease.Load().Until) }

func (d *driver) run() {
	for {
		wake := d.drive()
		d.stopActivities()
		next, again := d.e.retire(d, wake)
		if !again {
			return
		}
		d.lost.Store(false)
		if next.Token != d.lease.Load().Token { // the same lease: nobody else drove in between
			d.nextMu.Lock()
			d.own = d.nextOwn
			d.nextMu.Unlock()
		}
		d.lease.Store(&next)
		d.ctx, d.cancel = context.WithCancel(d.e.work)
	}
}

// drive holds the lease until the chat owes nothing, and returns when it is due again.
func (d *driver) drive() (wake time.Time) {
	defer d.cancel()
	defer func() {
		if r := recover(); r != nil { // the lease lapses; after some lapses the turn is ended
			d.e.Logger.Error("driving a chat panicked", "chat", d.id, "panic", r, "stack", string(debug.Stack()))
			wake = time.Time{}
		}
	}()
	renewed := make(chan struct{})
	go func() { defer close(renewed); d.renew() }()
	defer func() { d.cancel(); <-renewed }()

	// Who holds the lease all the while knows everything that was begun; who takes it up after a restart of the store may not.
	d.since = d.e.restarted()
	f, known := d.e.folds.get(d.id)
	var err error
	if !known || d.at.Seq == 0 || f.head != d.at {
		f, err = d.e.refresh(d.ctx, d.id)
	}
	d.at = Head{}
	if d.own == 0 {
		d.own = f.head.Seq + 1
	}
	if err != nil {
		d.complain(err)
		return time.Time{}
	}
	d.take(f)
	d.paint(Decision) // a new holder repaints first
	failures := 0
	for d.ctx.Err() == nil && d.held() {
		moved, err := d.step()
		if err != nil {
			if errors.Is(err, ErrFenced) {
				d.lose()
				return time.Time{}
			}
			if errors.Is(err, ErrVersion) {
				d.complain(err)
				return time.Time{}
			}
			failures++
			d.e.Logger.Warn("a step of a chat failed; trying again", "chat", d.id, "err", err)
			if !d.sleep(min(time.Duration(failures)*200*time.Millisecond, 2*time.Second)) {
				return time.Time{}
			}
			continue
		}
		failures = 0
		if moved {
			continue
		}
		if d.busy() || d.drawing() {
			d.wait()
			continue
		}
		select {
		case g := <-d.goneCh:
			d.tookGone(g)
			continue
		default:
		}
		if wake, done := d.release(); done {
			return wake
		}
	}
	return time.Time{}
}

func (d *driver) complain(err error) {
	d.e.Logger.Error("this replica cannot drive the chat", "chat", d.id, "err", err)
}

func (d *driver) take(f fold) {
	before := d.f.s
	d.f = f
	s := f.s
	d.live.mu.Lock()
	for id := range d.editors { // a message whose last edit still waits outlives its turn in the session
		if !holds(s, id) && holds(before, id) {
			if d.live.kept == nil {
				d.live.kept = map[turn.TurnID]turn.Session{}
			}
			d.live.kept[id] = before
		}
	}
	maps.DeleteFunc(d.live.drawn, func(id turn.AskID, _ time.Time) bool {
		return !slices.ContainsFunc(turn.Waits(s), func(w turn.Wait) bool { return w.Ask == id && w.Seen == nil })
	})
	d.live.mu.Unlock()
	d.session.Store(&s)
	d.answerWants(s)
	if turnID(before) != turnID(s) || step(before) != step(s) {
		d.live.mu.Lock()
		d.live.text, d.live.note = "", ""
		d.live.mu.Unlock()
	}
	if s.Turn != nil && s.Turn.Stopped != nil {
		if d.model != nil {
			d.model.cancel()
		}
	}
}

func turnID(s turn.Session) turn.TurnID {
	if s.Turn == nil {
		return ""
	}
	return s.Turn.ID
}

func step(s turn.Session) int {
	if s.Turn == nil {
		return 0
	}
	return s.Turn.Step
}

func (d *driver) busy() bool {
	return d.model != nil || d.running != nil || d.posting != "" || d.noting || d.holding()
}

// wait sleeps until something happened.
func (d *driver) wait() {
	var deadline <-chan time.Time
	at := turn.WakeAt(d.f.s, d.e.now(), d.env())
	if d.holding() {
		if held := d.f.s.Turn.At.Add(d.e.Hold); at.IsZero() || held.Before(at) {
			at = held
		}
	}
	if !at.IsZero() {
		t := time.NewTimer(at.Sub(d.e.now()) + time.Millisecond)
		defer t.Stop()
		deadline = t.C
	}
	select {
	case <-d.ctx.Done():
	case <-deadline:
	case <-d.pokes:
		d.catchUp()
	case <-d.dirty:
		if ed := d.editors[turnID(d.f.s)]; ed != nil {
			ed.offer(Progress)
		}
	case r := <-d.replies:
		d.model = nil
		d.reply = &r
	case ev := <-d.ran:
		d.running = nil
		d.results = append(d.results, ev)
	case <-d.drawn:
	case p := <-d.posted:
		d.posting = ""
		d.tookPost(p)
	case n := <-d.noted:
		d.tookNote(n)
	case g := <-d.goneCh:
		d.tookGone(g)
	case w := <-d.wants:
		d.tookWant(w)
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
	before := d.f.s
	d.take(f)
	u := Progress
	if answered(before, f.s) {
		u = Decision
	}
	d.paint(u)
}

// answered reports whether what people may or did decide is another than before: that is what they look at.
func answered(before, now turn.Session) bool {
	if before.Turn == nil || now.Turn == nil || before.Turn.ID != now.Turn.ID {
		return true
	}
	if (before.Turn.Stopped == nil) != (now.Turn.Stopped == nil) || len(before.Turn.Calls) != len(now.Turn.Calls) || len(before.Grants) != len(now.Grants) {
		return true
	}
	for i, c := range now.Turn.Calls {
		if b := before.Turn.Calls[i]; b.Ask != c.Ask || b.Status != c.Status || b.Choice != c.Choice || !b.Deadline.Equal(c.Deadline) ||
			len(b.Votes) != len(c.Votes) || (b.Ticked == nil) != (c.Ticked == nil) || b.Want != c.Want {
			return true
		}
	}
	return false
}

func (d *driver) sleep(wait time.Duration) bool { return pause(d.ctx, wait) }

// step plans, records and acts once. moved is false when nothing is owed beyond what is already in flight.
func (d *driver) step() (moved bool, err error) {
	select {
	case <-d.pokes:
		d.catchUp()
	default:
	}
	p, err := d.plan()
	if err != nil || p.canWait && !d.busy() && !d.owes() {
		return false, err
	}
	if len(p.events) > 0 {
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
	if err := d.e.confirms(d.ctx, p.events); err != nil {
		return false, err
	}
	w := Write{Chat: d.id, Known: d.f.head, Events: p.events, Lease: *d.lease.Load()}
	for try := 0; ; try++ {
		began := time.Now()
		got, err := d.e.Log.Append(d.ctx, w)
		switch {
		case err == nil || errors.Is(err, ErrNotDurable):
			p.done(d)
			d.worked = true
			d.e.stamped(began, w, got)
			f, lerr := d.folded(got)
			if lerr != nil {
				return false, lerr
			}
			ended := d.f.s.Turn
			d.take(f)
			d.paint(p.urgency())
			if ended != nil && (f.s.Turn == nil || f.s.Turn.ID != ended.ID) {
				d.paintLast()
			}
			if err != nil { // written, but not sure to survive: nothing may start on it
				d.undurable(p)
				return false, nil
			}
			return true, nil
		case errors.Is(err, ErrStale):
			f, lerr := d.folded(got)
			if lerr != nil {
				return false, lerr
			}
			d.take(f)
			d.paint(Decision)
			return false, nil
		case errors.Is(err, ErrRewound):
			f, lerr := d.e.reload(d.ctx, d.id)
			if lerr != nil {
				return false, lerr
			}
			d.take(f)
			return false, nil
		case errors.Is(err, ErrFenced), errors.Is(err, ErrVersion), d.ctx.Err() != nil:
			return false, err
		}
		// Nobody knows whether it was written: the same operations again, or not at all.
		if try >= 20 || !d.held() || !d.sleep(min(time.Duration(try+1)*100*time.Millisecond, time.Second)) {
			return false, err
		}
	}
}

func (d *driver) folded(got Written) (fold, error) { return d.e.after(d.ctx, d.id, d.f, got) }

// release gives the chat back. done is false when the log moved meanwhile.
func (d *driver) release() (wake time.Time, done bool) {
	w := Write{Chat: d.id, Known: d.f.head, Lease: *d.lease.Load(), Release: true}
	now, s := d.e.now(), d.f.s
	if ev, news := d.showing(s); news {
		w.Events = []Keyed{{OpID("w:" + mint()), ev}}
		s = turn.Apply(s, turn.Entry{Seq: d.f.head.Seq + 1, At: now, Event: w.Events[0].Event})
	}
	unseen := func(w turn.Wait) bool { return w.Seen == nil }
	switch wake = turn.WakeAt(s, now, d.env()); {
	case d.e.isStopping() && (len(turn.Next(s, now, d.env())) > 0 || slices.ContainsFunc(turn.Waits(s), unseen)):
		wake = now // another replica goes on at once
	case wake.IsZero() && s.Turn != nil:
		wake = now.Add(parkedFor) // parked: a pending turn never fades like a silent chat
	}
	w.Wake = wake
	if d.snapshotDue() {
		w.Snapshot = &Snapshot{d.f.head, d.f.s}
	}
	began := time.Now()
	got, err := d.e.Log.Append(d.ctx, w)
	switch {
	case err == nil && got.Released:
		if len(w.Events) > 0 { // for whoever comes next
			d.e.stamped(began, w, got)
			f, lerr := d.folded(got)
			if lerr != nil {
				d.complain(lerr)
				f = fold{head: d.f.head, s: s, at: d.f.at}
			}
			d.take(f)
		}
		if w.Snapshot != nil {
			d.e.folds.snapped(d.id, d.f.head.Seq)
		}
		d.freed = w.Lease.Token
		return wake, true
	case err == nil || errors.Is(err, ErrStale):
		if f, lerr := d.folded(got); lerr == nil {
			d.take(f)
			d.paint(Decision)
		}
		return time.Time{}, false
	case errors.Is(err, ErrRewound):
		if f, lerr := d.e.reload(d.ctx, d.id); lerr == nil {
			d.take(f)
		}
		return time.Time{}, false
	case errors.Is(err, ErrFenced):
		d.lose()
		return time.Time{}, true
	default:
		d.e.Logger.Warn("could not give the chat back; its lease runs out instead", "chat", d.id, "err", err)
		d.sleep(200 * time.Millisecond)
		return time.Time{}, d.ctx.Err() != nil
	}
}

// parkedFor is how often a chat is looked at whose asks have no deadline.
const parkedFor = 7 * 24 * time.Hour

// snapshotEvery is how many entries a cold replica reads at most beyond a snapshot.
const snapshotEvery = 256

func (d *driver) snapshotDue() bool {
	return d.f.s.Turn == nil && d.f.head.Seq >= d.e.folds.snapshotAt(d.id)+snapshotEvery
}

// renew keeps the lease and notices what a lost wake-up would have told.
func (d *driver) renew() {
	t := time.NewTicker(d.e.Lease / 3)
	defer t.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-t.C:
		}
		ctx, cancel := context.WithTimeout(d.ctx, d.e.Lease/3)
		l, head, err := d.e.Leases.Renew(ctx, *d.lease.Load())
		cancel()
		switch {
		case err == nil:
			d.lease.Store(&l)
			if f, ok := d.e.folds.get(d.id); !ok || f.head.Seq != head.Seq || f.head.Tip != head.Tip {
				d.poke()
			}
		case errors.Is(err, ErrFenced), !d.held():
			d.lose()
			return
		}
	}
}

// lose stops everything: somebody else may hold the chat now.
func (d *driver) lose() {
	if !d.lost.Swap(true) && d.e.work.Err() == nil {
		d.e.Logger.Warn("lost the lease of a chat; its work here is stopped", "chat", d.id)
	}
	d.cancel()
}

// stopActivities waits for every goroutine the driver started.
func (d *driver) stopActivities() {
	d.cancel()
	if d.model != nil {
		<-d.replies
		d.model = nil
	}
	if d.running != nil {
		d.results = append(d.results, <-d.ran) // where it is not Finished, whoever drives next recovers the run
		d.running = nil
	}
	if d.posting != "" {
		if p := <-d.posted; p.err == nil {
			d.tookPost(p)
		}
		d.posting = ""
	}
	if d.noting {
		d.tookNote(<-d.noted)
	}
	for id, ed := range d.editors {
		ed.close()
		delete(d.editors, id)
	}
	if ev, news := d.showing(d.f.s); news {
		d.shown = append(d.shown, ev)
	}
	d.e.late(d.id, d.f.head, slices.Concat(d.shown, d.results))
	d.reply, d.results, d.shown = nil, nil, nil
}

func (d *driver) env() turn.Env {
	env := turn.Env{MaxSteps: d.e.MaxSteps, MaxDenials: d.e.MaxDenials, Sequential: d.e.Sequential}
	if p := d.e.Platforms[d.id.Platform]; p != nil {
		if _, can := p.(Annotator); can {
			env.Nudge, env.Room = d.e.Nudge, p.Limits().Text/2
		}
	}
	if d.running != nil {
		env.Live = d.running.run
	}
	return env
}

// paint offers the view of the open turn, or of the last one where none is open.
func (d *driver) paint(u Urgency) {
	t := d.f.s.Turn
	if t == nil {
		t = d.f.s.Last
	}
	d.edit(t, u)
}

func (d *driver) paintLast() { d.edit(d.f.s.Last, Final) }

func (d *driver) edit(t *turn.Turn, u Urgency) {
	if t == nil || t.Shown == "" {
		return
	}
	ed := d.editors[t.ID]
	if ed == nil {
		platform := d.e.Platforms[d.id.Platform]
		if platform == nil {
			return
		}
		id := t.ID
		ed = newEditor(platform, d.id, t.Shown, func() render.Message { return d.viewOf(id) }, d.e.Lease/2, d.held, func(err error) { d.sayGone(goneMessage{id, err}) }, d.drew, d.sayDrawn)
		if _, can := platform.(Annotator); can { // else nothing could point from the old message to the new one
			ed.unseen = func(m render.Message) bool { return d.unseen(m) != "" }
			ed.anew = func(ctx context.Context, from chat.MessageRef, m render.Message) (chat.MessageRef, error) {
				return d.anew(ctx, id, from, m)
			}
		}
		ed.blank = d.blank == t.ID
		go ed.run(d.ctx)
		d.editors[t.ID] = ed
		// What became of the turn while its post was under way was offered to nobody: it must not wait like progress.
		switch {
		case t.End != "":
			u = max(u, Final)
		case len(turn.Waits(d.f.s)) > 0:
			u = max(u, Decision)
		}
	}
	ed.offer(u)
}

// holds reports whether a session still knows a turn.
func holds(s turn.Session, id turn.TurnID) bool {
	return (s.Turn != nil && s.Turn.ID == id) || (s.Last != nil && s.Last.ID == id)
}

// turnOf is a turn that the session holds: the open one, or the one that ended last.
func turnOf(s turn.Session, id turn.TurnID) *turn.Turn {
	if s.Turn != nil && s.Turn.ID == id {
		return s.Turn
	}
	return s.Last
}

// viewOf is how a turn's message should look; without a block where the turn is forgotten.
func (d *driver) viewOf(id turn.TurnID) render.Message {
	s := *d.session.Load()
	if !holds(s, id) {
		d.live.mu.Lock()
		old, ok := d.live.kept[id]
		d.live.mu.Unlock()
		if !ok {
			return render.Message{}
		}
		s = old
	}
	t := turnOf(s, id)
	var live turn.Live
	if t == s.Turn {
		live = d.live.get(d.e.now().UTC().Truncate(time.Millisecond))
	}
	return turn.View(s, t, live)
}

// drawing reports whether a message is not yet as it should be: the platform may have named a wait that is longer than
// a lease. While the engine stops, the next holder repaints instead.
func (d *driver) drawing() bool {
	owes := false
	for id, ed := range d.editors {
		if d.e.isStopping() {
			ctx, cancel := context.WithTimeout(d.ctx, d.e.Lease/4)
			ed.flush(ctx)
			cancel()
		} else if ed.owes() {
			owes = true
			continue
		}
		if id != turnID(d.f.s) {
			ed.close()
			delete(d.editors, id)
			d.live.mu.Lock()
			delete(d.live.kept, id)
			d.live.mu.Unlock()
		}
	}
	return owes
}

// owes reports whether an editor has something to draw yet.
func (d *driver) owes() bool {
	for _, ed := range d.editors {
		if ed.owes() {
			return true
		}
	}
	return false
}

func (d *driver) sayDrawn() {
	select {
	case d.drawn <- struct{}{}:
	default:
	}
}

// goneMessage is a turn whose message cannot be edited, or posted, any more.
type goneMessage struct {
	turn turn.TurnID
	err  error
}

func (d *driver) sayGone(g goneMessage) {
	select {
	case d.goneCh <- g:
	default: // there are never so many editors
	}
}

// tookGone ends a turn whose message people cannot see any more: what they cannot see they cannot answer. The message of a turn that
// is over takes no other along.
func (d *driver) tookGone(g goneMessage) {
	say := "a turn's message is gone; the turn ends, if it has not"
	if pe, ok := errors.AsType[*PlatformError](g.err); ok && pe.Kind == FaultForbidden {
		say = "a turn's message may not be posted or edited; the turn ends, if it has not"
	}
	d.e.Logger.Warn(say, "chat", d.id, "turn", g.turn, "err", g.err)
	if t := d.f.s.Turn; t != nil && t.ID == g.turn && t.Stopped == nil {
		d.results = append(d.results, turn.StopAsked{Turn: t.ID, Name: render.ByNod()})
	}
}
