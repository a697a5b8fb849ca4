package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Config is what an engine is made of.
type Config struct {
	Log       Log
	Index     Index
	Leases    Leases
	Model     Model
	Tools     Tools
	Policies  Policies
	Platforms map[string]Platform // by chat.ID.Platform

	// Owner names this process incarnation in leases. Empty: minted.
	Owner string
	// Lease is the leases' time to live, as the store has it. Edits and calls check against it.
	Lease time.Duration
	// MaxSteps ends a turn after so many replies. 0: 16.
	MaxSteps int
	// MaxDenials stops a turn to ask the person once so many replies had a call denied. 0: 3.
	MaxDenials int
	// ContextTokens is about how much of a chat the model is given. 0: all that is kept.
	ContextTokens int
	// Sequential asks for one call at a time.
	Sequential bool
	// Nudge is how long a card that an edit brought stands before it is announced beside the message, where the platform can. Whom nobody
	// told of one is told at once. 0: never, both.
	Nudge time.Duration
	// Hold is how long a turn's message is held back where something else says that the turn is under way: what comes by then, text or a
	// question, is posted instead of words that say nothing.
	Hold time.Duration
	// Sweep is how often due chats are looked for; it is only the backstop of local timers and wakes. 0: 5 s.
	Sweep time.Duration
	// Drain is how long a stop waits for work in flight. 0: 10 s.
	Drain time.Duration
	// Known is how many chats' folds are kept in memory. 0: 1,000.
	Known  int
	Logger *slog.Logger
}

func (c *Config) validate() error {
	var missing []error
	need := func(ok bool, what string) {
		if !ok {
			missing = append(missing, fmt.Errorf("agent: Config.%s is missing", what))
		}
	}
	need(c.Log != nil, "Log")
	need(c.Index != nil, "Index")
	need(c.Leases != nil, "Leases")
	need(c.Model != nil, "Model")
	need(c.Tools != nil, "Tools")
	need(c.Policies != nil, "Policies")
	need(len(c.Platforms) > 0, "Platforms")
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&c.Lease, 10*time.Second)
	def(&c.Sweep, 5*time.Second)
	def(&c.Drain, 10*time.Second)
	if c.MaxSteps == 0 {
		c.MaxSteps = 16
	}
	if c.MaxDenials == 0 {
		c.MaxDenials = 3
	}
	if c.Known <= 0 {
		c.Known = 1000
	}
	if c.Owner == "" {
		c.Owner = rand.Text()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return errors.Join(missing...)
}

// Engine drives chats. All methods are safe for concurrent use.
type Engine struct {
	Config
	sessions *sessionCache
	ran      *lru.Cache[turn.CallID, turn.RunID] // the last run of each call that this process began
	rewound  *lru.Cache[chat.ID, time.Time]      // when a chat's log was last found older than it was

	mu      sync.Mutex
	drivers map[chat.ID]*driver
	timers  map[chat.ID]*time.Timer
	closed  bool // nothing enters any more
	wg      sync.WaitGroup

	// skew is how far Redis's clock is ahead of ours, at least: the log's stamps decide, ours only guess when to look.
	skew   time.Duration
	skewAt time.Time  // when that was learned
	skewMu sync.Mutex // of both

	merged  mergedPolicy
	learned atomic.Int64                    // tokens of a chat that the model takes, where its service refused more; 0: nothing is known
	seen    atomic.Pointer[[]ToolSpec]      // the tools as they were listed last
	halted  atomic.Pointer[permission.Halt] // as last read
	haltCh  chan struct{}
	newsCh  chan struct{} // something new about the tools is recorded

	work     context.Context // ends after the drain: work in flight is cut
	cut      context.CancelFunc
	stopping chan struct{} // closed by a soft stop: nothing new is begun
	stopOnce sync.Once
}

// New makes an engine. [Engine.Run] makes it work; Accept and Decide may be called before.
func New(c Config) (*Engine, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	work, cut := context.WithCancel(context.Background())
	return &Engine{
		Config: c, sessions: newSessionCache(c.Known), ran: newRecent[turn.CallID, turn.RunID](ranKept), rewound: newRecent[chat.ID, time.Time](ranKept), work: work, cut: cut, stopping: make(chan struct{}),
		drivers: map[chat.ID]*driver{}, timers: map[chat.ID]*time.Timer{}, haltCh: make(chan struct{}, 1), newsCh: make(chan struct{}, 1),
	}, nil
}

// Run claims due chats and hears wakes until ctx ends; then it stops softly: what is in flight may finish
// within Drain, nothing new begins, and every chat is given back. It returns when all of that is over.
func (e *Engine) Run(ctx context.Context) error {
	wakes, err := e.Leases.Wakes(ctx, e.Owner)
	if err != nil {
		e.shutdown()
		return fmt.Errorf("listen for wakes: %w", err)
	}
	watching, stopWatching := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { e.watchSettings(watching) })
	defer watcher.Wait()
	defer stopWatching()
	sweep := time.NewTimer(0) // at once: what a crashed replica left is due
	defer sweep.Stop()
	restarted := e.restarted()
	for {
		select {
		case <-ctx.Done():
			e.shutdown()
			return nil
		case id, ok := <-wakes:
			if !ok {
				wakes = nil // the sweep and renewals remain
				continue
			}
			e.wake(id)
		case <-sweep.C:
			restarted = e.recheck(restarted)
			e.sweep(ctx)
			sweep.Reset(e.Sweep/2 + mrand.N(e.Sweep))
		}
	}
}

func (e *Engine) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, e.Lease)
	defer cancel()
	leases, err := e.Leases.ClaimDue(ctx, e.Owner, 64)
	if err != nil && ctx.Err() == nil {
		e.Logger.Warn("sweep for due chats failed", "err", err)
	}
	for _, l := range leases {
		e.drive(l, Head{}, 0)
	}
}

// shutdown is the soft stop, then the cut.
func (e *Engine) shutdown() {
	e.stopOnce.Do(func() { close(e.stopping) })
	e.mu.Lock()
	e.closed = true
	for id, t := range e.timers {
		t.Stop()
		delete(e.timers, id)
	}
	for _, d := range e.drivers {
		d.notify()
	}
	e.mu.Unlock()
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	drain := time.NewTimer(e.Drain)
	defer drain.Stop()
	select {
	case <-done:
	case <-drain.C:
		e.Logger.Warn("the drain time is over; work in flight is cut", "drain", e.Drain)
	}
	e.cut()
	<-done
}

// enter is where a write that may claim a chat begins; leave is its end. Until then the stop waits, so that whatever was
// claimed is driven or given back. claim is empty once the engine stops: another replica claims at once.
func (e *Engine) enter() (claim string, leave func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return "", func() {}
	}
	e.wg.Add(1)
	return e.Owner, e.wg.Done
}

func (e *Engine) isStopping() bool {
	select {
	case <-e.stopping:
		return true
	default:
		return false
	}
}

// drive hands a lease to the chat's driver, or starts one. The caller has entered, or is Run itself: while the engine
// stops, a driver gives its chat back. at is where the log stood when the lease was given, zero if
// that is not known: a fold that is there already need not be read again. own is the sequence number of the first entry that the claiming
// write brought, zero if it brought none: a turn that it opened cannot have been posted by anybody else.
func (e *Engine) drive(l Lease, at Head, own uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.timers[l.Chat]; t != nil {
		t.Stop()
		delete(e.timers, l.Chat)
	}
	if d := e.drivers[l.Chat]; d != nil {
		d.handOver(l, own)
		return
	}
	d := newDriver(e, l, at, own)
	e.drivers[l.Chat] = d
	e.wg.Go(d.run)
}

// retire takes a driver out of the registry, unless a lease was handed to it in the meantime.
func (e *Engine) retire(d *driver, wake time.Time) (next Lease, again bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l, ok := d.takeNext(); ok && l.Token > d.releasedToken && e.work.Err() == nil { // one that was given back meanwhile is void
		return l, true
	}
	delete(e.drivers, d.id)
	if !wake.IsZero() && !e.closed {
		e.timers[d.id] = time.AfterFunc(max(wake.Sub(e.Now()), 0)+time.Millisecond, func() { e.touch(d.id) })
	}
	return Lease{}, false
}

// touch claims a chat whose deadline has come.
func (e *Engine) touch(id chat.ID) {
	e.mu.Lock()
	delete(e.timers, id)
	e.mu.Unlock()
	claim, leave := e.enter()
	defer leave()
	if claim == "" {
		return
	}
	ctx, cancel := context.WithTimeout(e.work, e.Lease)
	defer cancel()
	if _, err := e.append(ctx, Write{Chat: id, Claim: claim}); err != nil {
		e.Logger.Warn("claim at a deadline failed; the sweep tries again", "chat", id, "err", err)
	}
}

func (e *Engine) wake(id chat.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.drivers[id]; d != nil {
		d.notify()
	} else if !e.closed { // ours by the store's word, and driven by nobody
		go e.touch(id)
	}
}

// append writes, keeps the known fold up to date and drives the chat if the write claimed it.
func (e *Engine) append(ctx context.Context, w Write) (Written, error) {
	began := time.Now()
	got, err := e.Log.Append(ctx, w)
	if err == nil || errors.Is(err, ErrStale) {
		e.sessions.advance(w.Chat, w.Known, got)
	}
	if err == nil && got.Lease.Token != 0 {
		e.drive(got.Lease, got.Head, firstOf(w, got))
	}
	e.stamped(began, w, got)
	return got, err
}

// firstOf is the sequence number of the first entry that a write brought itself, or zero.
func firstOf(w Write, got Written) uint64 {
	if len(w.Events) == 0 || got.Repeated {
		return 0
	}
	return entryOf(got.Entries, w.Events[0].Op).Seq
}

// recordLate records, without a lease, what a driver that is over still knows for certain: facts append blind. A result that
// comes late settles a call of unknown outcome, or is told to the model.
func (e *Engine) recordLate(id chat.ID, known Head, events []turn.Event) {
	w := Write{Chat: id, Known: known}
	op := OpID("w:" + mint())
	for _, ev := range events {
		if ev.Class() == turn.Fact {
			w.Events = append(w.Events, Keyed{opPart(op, len(w.Events)), ev})
		}
	}
	if len(w.Events) == 0 {
		return
	}
	e.wg.Go(func() {
		for try := 1; ; try++ { // what is known is kept while the process lives
			ctx, cancel := context.WithTimeout(context.WithoutCancel(e.work), e.Lease)
			_, err := e.append(ctx, w)
			cancel()
			if err == nil || errors.Is(err, ErrFenced) || errors.Is(err, ErrVersion) {
				return
			}
			e.Logger.Warn("could not record what came late", "chat", id, "err", err)
			if !pause(e.work, min(time.Duration(try)*200*time.Millisecond, 5*time.Second)) {
				return
			}
		}
	})
}

// stamped learns how Redis's clock stands to ours from entries just written. It errs on the late side: a
// deadline looked at too early would only be looked at again. An answer to what was asked before the last one came does not take that back:
// a failover may have set the clock ahead in between.
func (e *Engine) stamped(began time.Time, w Write, got Written) {
	if len(w.Events) == 0 || got.Repeated {
		return
	}
	at := entryOf(got.Entries, w.Events[0].Op).At
	if at.IsZero() {
		return
	}
	e.skewMu.Lock()
	defer e.skewMu.Unlock()
	if now := time.Now(); at.Sub(now) > e.skew || began.After(e.skewAt) {
		e.skew, e.skewAt = at.Sub(now), now
	}
}

// Now is about what the log would stamp, never later.
func (e *Engine) Now() time.Time {
	e.skewMu.Lock()
	defer e.skewMu.Unlock()
	return time.Now().Add(e.skew)
}

// fold is a session and the head it was folded to.
type fold struct {
	head Head
	s    turn.Session
	at   time.Time // of the last entry that was folded one by one
}

func (f fold) apply(entries []turn.Entry, head Head) fold {
	at := f.at
	if n := len(entries); n > 0 {
		at = entries[n-1].At
	}
	return fold{head, turn.Fold(f.s, entries), at}
}

// applyWritten gives f with what a write brought, read anew where that was too much for the answer.
func (e *Engine) applyWritten(ctx context.Context, id chat.ID, f fold, got Written) (fold, error) {
	if got.Missing && f.head.Seq > 0 { // too much, or another history
		f, err := e.readOn(ctx, id, f)
		if errors.Is(err, ErrRewound) {
			return e.reload(ctx, id)
		}
		return f, err
	}
	if got.Missing {
		return e.load(ctx, id)
	}
	f = f.apply(got.Entries, got.Head)
	e.sessions.put(id, f)
	return f, nil
}

// load reads a chat from the log.
func (e *Engine) load(ctx context.Context, id chat.ID) (fold, error) {
	snap, entries, head, err := e.Log.Load(ctx, id)
	if err != nil {
		return fold{}, err
	}
	s := snap.Session
	if snap.Head.Seq == 0 {
		s = turn.New(id)
	}
	f := fold{head: snap.Head, s: s}.apply(entries, head)
	if f.head.Seq > 0 { // a surface asks about many chats that are none: they must not crowd out those that are
		e.sessions.put(id, f)
		e.sessions.snapped(id, snap.Head.Seq)
	}
	return f, nil
}

// reload reads a chat anew whose log turned out to be another history than the one known.
func (e *Engine) reload(ctx context.Context, id chat.ID) (fold, error) {
	e.sessions.drop(id)
	f, err := e.load(ctx, id)
	if err == nil {
		e.markRewound(id, f)
	}
	return f, err
}

// cached gives the fold as this replica last saw it, read from the log if it never did.
func (e *Engine) cached(ctx context.Context, id chat.ID) (fold, error) {
	if f, ok := e.sessions.get(id); ok {
		return f, nil
	}
	return e.load(ctx, id)
}

// refresh is the fold as the log stands now.
func (e *Engine) refresh(ctx context.Context, id chat.ID) (fold, error) {
	f, ok := e.sessions.get(id)
	if !ok || f.head.Seq == 0 {
		return e.load(ctx, id)
	}
	f, err := e.readOn(ctx, id, f)
	if errors.Is(err, ErrRewound) {
		return e.reload(ctx, id)
	}
	return f, err
}

// Session is the chat as the log stands now, for surfaces that show it.
func (e *Engine) Session(ctx context.Context, id chat.ID) (turn.Session, error) {
	f, err := e.refresh(ctx, id)
	return f.s, err
}

func mint() string { return rand.Text() }

// Knows reports whether anything was ever recorded of a chat, for surfaces that overhear more than is meant for them.
func (e *Engine) Knows(ctx context.Context, id chat.ID) (bool, error) {
	if f, ok := e.sessions.get(id); ok && f.head.Seq > 0 {
		return true, nil
	}
	f, err := e.load(ctx, id)
	return f.head.Seq > 0, err
}
