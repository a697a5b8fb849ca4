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

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// driver does what one chat is owed, while it holds the chat's lease. One goroutine (run) owns the fold; model
// calls, tool runs and posts are activities of their own goroutines that report back to it.
//
// Its step is always the same: plan (what Next says, decided purely, several events at a time) → record (one
// append) → act (start what was recorded).
type driver struct {
	e    *Engine // never changes, nor does id
	id   chat.ID
	live liveState

	chatLease
	progress
	inputs
	activities
	reports

	editors map[turn.TurnID]*editor // by the turn whose message each keeps; run's alone
}

// chatLease is the right to drive the chat. Whoever renews, edits or runs a tool reads it.
type chatLease struct {
	ctx           context.Context // ends when the lease is lost or the engine is cut; run makes a new one with each lease
	cancel        context.CancelFunc
	lease         atomic.Pointer[Lease] // written by run and by renew
	lost          atomic.Bool           // written by whoever notices it
	releasedToken uint64                // token of the lease that run gave back last; read by Engine.retire, from run

	nextMu       sync.Mutex
	next         *Lease // written by Engine.drive while this driver runs, taken by run
	nextFirstOwn uint64
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

	started turn.TurnID // the turn of which the platform was told that it begins
	signed  bool        // and which people see of it
	blank   turn.TurnID // the turn whose message was posted without words
	refused turn.TurnID // the turn whose message the platform does not take
}

// inputs are what the next plan brings into the log, each until it is recorded or no longer fits. run writes and reads them.
type inputs struct {
	reply   *replyInput
	results []turn.Event
	shown   []turn.Event
	waiting map[turn.AskID]wantInput // what servers want of people, until it is answered
}

// activities are what is under way, each in a goroutine of its own that reports once. run writes and reads them.
type activities struct {
	model       *modelRun
	running     *toolRun
	posting     turn.TurnID
	postingNote bool
	locks       sync.Map // run → its lock, which the run's own goroutines take
}

// reports are what activities, editors and the engine tell run. Only run reads them. One that has room for one is never waited for: there
// is one activity of its kind.
type reports struct {
	logMoved chan struct{} // the log may have moved
	dirty    chan struct{} // something streamed
	drawn    chan struct{} // an editor owes nothing any more
	replies  chan replyInput
	ran      chan turn.Event
	posted   chan postResult
	noted    chan noteResult
	goneCh   chan goneMessage
	wants    chan wantInput // without room: whoever wants something waits until it is taken
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

func (l *liveState) get(now time.Time) card.Live {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := map[turn.CallID]turn.Progress{}
	for k, v := range l.progress {
		p[k] = v
	}
	return card.Live{Text: l.text, Note: l.note, Progress: p, Now: now, Drawn: maps.Clone(l.drawn)}
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
	d.signalDrawn()
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

// repost posts the message of a turn once more, below: to edit a question into the one that stands would take too long.
func (d *driver) repost(ctx context.Context, id turn.TurnID, from chat.MessageRef, m render.Message) (chat.MessageRef, error) {
	p := d.e.Platforms[d.id.Platform]
	const seek = true // an earlier driver may have died on it
	ref, err := postOnce(ctx, p, d.id, PostKey(d.id, string(id)+"/anew-"+string(d.unseen(m))), seek, func(ctx context.Context, key chat.PostKey) (chat.MessageRef, error) {
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
		e: e, id: l.Chat, editors: map[turn.TurnID]*editor{},
		progress: progress{at: at, firstOwn: own, fresh: map[turn.CallID]bool{}}, inputs: inputs{waiting: map[turn.AskID]wantInput{}},
		reports: reports{
			logMoved: make(chan struct{}, 1), dirty: make(chan struct{}, 1), drawn: make(chan struct{}, 1),
			replies: make(chan replyInput, 1), ran: make(chan turn.Event, 1), posted: make(chan postResult, 1), noted: make(chan noteResult, 1),
			goneCh: make(chan goneMessage, 8), wants: make(chan wantInput),
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

// notify tells the driver that the log may have moved.
func (d *driver) notify() {
	signal(d.logMoved)
}

// handOver gives the driver a lease that was claimed while this driver still runs. Replies may overtake each other: the newest lease counts.
func (d *driver) handOver(l Lease, own uint64) {
	d.nextMu.Lock()
	if d.next == nil || l.Token >= d.next.Token {
		d.next, d.nextFirstOwn = &l, own
	}
	d.nextMu.Unlock()
	d.notify()
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
			d.firstOwn = d.nextFirstOwn
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
	f, known := d.e.sessions.get(d.id)
	var err error
	if !known || d.at.Seq == 0 || f.head != d.at {
		f, err = d.e.refresh(d.ctx, d.id)
	}
	d.at = Head{}
	if d.firstOwn == 0 {
		d.firstOwn = f.head.Seq + 1
	}
	if err != nil {
		d.complain(err)
		return time.Time{}
	}
	d.setFold(f)
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
			if !pause(d.ctx, min(time.Duration(failures)*200*time.Millisecond, 2*time.Second)) {
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

func (d *driver) setFold(f fold) {
	before := d.f.s
	d.f = f
	s := f.s
	d.live.mu.Lock()
	for id := range d.editors { // a message whose last edit still waits outlives its turn in the session
		if s.TurnOf(id) == nil && before.TurnOf(id) != nil {
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
	if s.Turn != nil && s.Turn.Stopped != nil && d.model != nil {
		d.model.cancel()
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
	return d.model != nil || d.running != nil || d.posting != "" || d.postingNote || d.holding()
}

// wait sleeps until something happened.
func (d *driver) wait() {
	var deadline <-chan time.Time
	at := turn.WakeAt(d.f.s, d.e.Now(), d.env())
	if d.holding() {
		if held := d.f.s.Turn.At.Add(d.e.Hold); at.IsZero() || held.Before(at) {
			at = held
		}
	}
	if !at.IsZero() {
		t := time.NewTimer(at.Sub(d.e.Now()) + time.Millisecond)
		defer t.Stop()
		deadline = t.C
	}
	select {
	case <-d.ctx.Done():
	case <-deadline:
	case <-d.logMoved:
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
	d.setFold(f)
	u := Progress
	if turn.AsksDiffer(before, f.s) {
		u = Decision
	}
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
	if err := d.e.checkDurable(d.ctx, p.events); err != nil {
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
			d.setFold(f)
			d.paint(p.urgency())
			if ended != nil && (f.s.Turn == nil || f.s.Turn.ID != ended.ID) {
				d.edit(d.f.s.Last, Final)
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
			d.setFold(f)
			d.paint(Decision)
			return false, nil
		case errors.Is(err, ErrRewound):
			f, lerr := d.e.reload(d.ctx, d.id)
			if lerr != nil {
				return false, lerr
			}
			d.setFold(f)
			return false, nil
		case errors.Is(err, ErrFenced), errors.Is(err, ErrVersion), d.ctx.Err() != nil:
			return false, err
		}
		// Nobody knows whether it was written: the same operations again, or not at all.
		if try >= 20 || !d.held() || !pause(d.ctx, min(time.Duration(try+1)*100*time.Millisecond, time.Second)) {
			return false, err
		}
	}
}

func (d *driver) folded(got Written) (fold, error) { return d.e.applyWritten(d.ctx, d.id, d.f, got) }

// release gives the chat back. done is false when the log moved meanwhile.
func (d *driver) release() (wake time.Time, done bool) {
	w := Write{Chat: d.id, Known: d.f.head, Lease: *d.lease.Load(), Release: true}
	now, s := d.e.Now(), d.f.s
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
			d.setFold(f)
		}
		if w.Snapshot != nil {
			d.e.sessions.snapped(d.id, d.f.head.Seq)
		}
		d.releasedToken = w.Lease.Token
		return wake, true
	case err == nil || errors.Is(err, ErrStale):
		if f, lerr := d.folded(got); lerr == nil {
			d.setFold(f)
			d.paint(Decision)
		}
		return time.Time{}, false
	case errors.Is(err, ErrRewound):
		if f, lerr := d.e.reload(d.ctx, d.id); lerr == nil {
			d.setFold(f)
		}
		return time.Time{}, false
	case errors.Is(err, ErrFenced):
		d.lose()
		return time.Time{}, true
	default:
		d.e.Logger.Warn("could not give the chat back; its lease runs out instead", "chat", d.id, "err", err)
		pause(d.ctx, 200*time.Millisecond)
		return time.Time{}, d.ctx.Err() != nil
	}
}

// parkedFor is how often a chat is looked at whose asks have no deadline.
const parkedFor = 7 * 24 * time.Hour

// snapshotEvery is how many entries a cold replica reads at most beyond a snapshot.
const snapshotEvery = 256

func (d *driver) snapshotDue() bool {
	return d.f.s.Turn == nil && d.f.head.Seq >= d.e.sessions.snapshotAt(d.id)+snapshotEvery
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
			if f, ok := d.e.sessions.get(d.id); !ok || f.head.Seq != head.Seq || f.head.Tip != head.Tip {
				d.notify()
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
	if d.postingNote {
		d.tookNote(<-d.noted)
	}
	for id, ed := range d.editors {
		ed.close()
		delete(d.editors, id)
	}
	if ev, news := d.showing(d.f.s); news {
		d.shown = append(d.shown, ev)
	}
	d.e.recordLate(d.id, d.f.head, slices.Concat(d.shown, d.results))
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
		m := message{
			platform: platform, chat: d.id, ref: t.Shown, timeout: d.e.Lease / 2, held: d.held, drew: d.drew, rested: d.signalDrawn,
			view: func() render.Message { return d.viewOf(id) },
			gone: func(err error) { d.reportGone(goneMessage{id, err}) },
		}
		if _, can := platform.(Annotator); can { // else nothing could point from the old message to the new one
			m.unseen = func(m render.Message) bool { return d.unseen(m) != "" }
			m.repost = func(ctx context.Context, from chat.MessageRef, m render.Message) (chat.MessageRef, error) {
				return d.repost(ctx, id, from, m)
			}
		}
		ed = newEditor(m)
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

// viewOf is how a turn's message should look; without a block where the turn is forgotten.
func (d *driver) viewOf(id turn.TurnID) render.Message {
	s := *d.session.Load()
	if s.TurnOf(id) == nil {
		d.live.mu.Lock()
		old, ok := d.live.kept[id]
		d.live.mu.Unlock()
		if !ok {
			return render.Message{}
		}
		s = old
	}
	t := s.TurnOf(id)
	var live card.Live
	if t == s.Turn {
		live = d.live.get(d.e.Now().UTC().Truncate(time.Millisecond))
	}
	return card.View(s, t, live)
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

func (d *driver) signalDrawn() {
	signal(d.drawn)
}

// goneMessage is a turn whose message cannot be edited, or posted, any more.
type goneMessage struct {
	turn turn.TurnID
	err  error
}

func (d *driver) reportGone(g goneMessage) {
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
		d.results = append(d.results, turn.StopAsked{Turn: t.ID, Name: text.ByNod()})
	}
}
