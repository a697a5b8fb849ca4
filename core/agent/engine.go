package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/prompt"
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
	Reader    attach.Reader       // of what people attach; nil: it is named only
	Blobs     attach.Blobs        // nil: no picture is kept
	ModelSees bool                // the model is given pictures
	Platforms map[string]Platform // by chat.ID.Platform

	Owner         string        // names this process incarnation in leases; empty: minted
	Lease         time.Duration // the leases' time to live, as the store has it; edits and calls check against it
	MaxSteps      int           // ends a turn after so many replies; 0: 16
	MaxDenials    int           // stops a turn to ask the person once so many replies had a call denied; 0: 3
	ContextTokens int           // about how much of a chat the model is given; 0: all that is kept
	Sequential    bool          // asks for one call at a time
	Replying      int           // how many replies the model writes at once for one person; 0: 16
	Person        prompt.Person // what one person may ask of the model; zero: as much as they like
	// Nudge is how long a card that an edit brought stands before it is announced beside the message, where the platform can. Whom nobody
	// told of one is told at once. 0: never, both.
	Nudge time.Duration
	// Escalate is how long a question is seen and not answered before those of [permission.Policy.Escalate] may answer it, too, and are told.
	// 0: never.
	Escalate time.Duration
	// Long is how long a turn took, the end of which is announced beside its message to whoever asked, unless they have just clicked or had a
	// post. 0: never.
	Long time.Duration
	// Forget is after how long a silence a message begins a new conversation; 0: [turn.Silence].
	Forget time.Duration
	// Hold is how long a turn's message is held back, for text or a question, where something else says that the turn is under way.
	Hold time.Duration
	// Sweep is about how often it is looked which chat falls due next; half of Lease or less, so that a lease which others took is known
	// of before it ends. 0: 5 s, or half of Lease where that is less.
	Sweep  time.Duration
	Drain  time.Duration // how long a stop waits for work in flight; 0: 10 s
	Known  int           // how many chats' folds are kept in memory; 0: 1,000
	Logger *slog.Logger
	Tracer Tracer // nil: nobody follows turns
}

func (c *Config) validate() error {
	var missing []error
	for _, part := range []struct {
		name  string
		given bool
	}{
		{"Log", c.Log != nil}, {"Index", c.Index != nil}, {"Leases", c.Leases != nil}, {"Model", c.Model != nil}, {"Tools", c.Tools != nil},
		{"Policies", c.Policies != nil}, {"Platforms", len(c.Platforms) > 0},
		{"Person.Meter", c.Person.Meter != nil || c.Person.TurnsPerHour+c.Person.TokensPerDay == 0},
	} {
		if !part.given {
			missing = append(missing, fmt.Errorf("agent: Config.%s is missing", part.name))
		}
	}
	c.Lease, c.Drain = cmp.Or(max(c.Lease, 0), 10*time.Second), cmp.Or(max(c.Drain, 0), 10*time.Second)
	c.Sweep = cmp.Or(max(c.Sweep, 0), min(c.Lease/2, 5*time.Second))
	c.MaxSteps, c.MaxDenials, c.Known = cmp.Or(c.MaxSteps, 16), cmp.Or(c.MaxDenials, 3), cmp.Or(max(c.Known, 0), 1000)
	c.Replying = cmp.Or(max(c.Replying, 0), 16)
	if c.Forget == turn.Silence { // what all releases do needs no word in the log
		c.Forget = 0
	}
	c.Owner, c.Logger = cmp.Or(c.Owner, rand.Text()), cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return errors.Join(missing...)
}

// Engine drives chats. All methods are safe for concurrent use.
type Engine struct {
	Config
	sessions *sessionCache
	ran      *lru.Cache[turn.CallID, turn.RunID] // the last run of each call that this process began
	rewound  *lru.Cache[chat.ID, time.Time]      // when a chat's log was last found older than it was
	taken    *lru.Cache[delivered, time.Time]    // when this process recorded what was delivered last
	retained *lru.Cache[chat.ID, bool]           // chats that were marked as held
	beyond   *lru.Cache[chat.ID, int]            // how often a chat was given back because only a newer release can read it

	prompts *prompt.Limits

	mu         sync.Mutex
	drivers    map[chat.ID]*driver
	lookAt     time.Time     // when Run looks for due chats next
	lookSooner chan struct{} // lookAt moved
	closed     bool          // nothing enters any more
	wg         sync.WaitGroup

	// skew is how far Redis's clock is ahead of ours, at least: the log's stamps decide, ours only guess when to look.
	skew   time.Duration
	skewAt time.Time  // when that was learned
	skewMu sync.Mutex // of both

	merged  atomic.Pointer[mergedPolicy]
	settled atomic.Pointer[fold]              // the settings as last read; nil: to be read
	listed  atomic.Pointer[[]ToolSpec]        // the tools as they were listed last
	halted  atomic.Pointer[permission.Halt]   // as last read
	holds   atomic.Pointer[[]permission.Hold] // as last read
	haltCh  chan struct{}
	newsCh  chan struct{} // something new about the tools is recorded

	work     context.Context // ends after the drain: work in flight is cut
	cut      context.CancelFunc
	stopping context.Context // ends with a soft stop: nothing new is begun
	stop     context.CancelFunc
}

// New makes an engine. [Engine.Run] makes it work; Accept and Decide may be called before.
func New(c Config) (*Engine, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	e := &Engine{
		Config: c, sessions: &sessionCache{Cache: newRecent[chat.ID, fold](c.Known)}, ran: newRecent[turn.CallID, turn.RunID](ranKept), rewound: newRecent[chat.ID, time.Time](ranKept),
		taken: newRecent[delivered, time.Time](takenKept), beyond: newRecent[chat.ID, int](takenKept), retained: newRecent[chat.ID, bool](takenKept),
		prompts: &prompt.Limits{Replying: c.Replying, Tokens: c.ContextTokens, Person: c.Person, Logger: c.Logger},
		drivers: map[chat.ID]*driver{}, lookSooner: make(chan struct{}, 1), haltCh: make(chan struct{}, 1), newsCh: make(chan struct{}, 1),
	}
	e.sessions.noticed = func(s turn.Session) {
		for _, p := range e.Platforms {
			if n, can := p.(Noticer); can {
				n.Noticed(s)
			}
		}
	}
	e.listed.Store(new([]ToolSpec))
	e.work, e.cut = context.WithCancel(context.Background())
	e.stopping, e.stop = context.WithCancel(context.Background())
	return e, nil
}

// Run claims due chats and hears wakes until ctx ends. Then nothing new begins, and it returns when work is done, or after Drain is cut.
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
	look := time.NewTimer(0) // at once: what a crashed replica left is due
	defer look.Stop()
	restarted, failed := e.restarted(), false
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
		case <-e.lookSooner:
			look.Reset(e.untilLook())
		case <-look.C:
			restarted = e.recheck(restarted)
			e.lookIn(e.Sweep/2+mrand.N(e.Sweep), true)
			failed = e.sweep(ctx, failed)
			look.Reset(e.untilLook())
		}
	}
}

const (
	maxDriving = 512                    // chats that one replica drives before it takes over more: each has a loop of its own
	claimBatch = 64                     // chats that one round trip claims
	leastLook  = 100 * time.Millisecond // between two looks
	lookAgain  = time.Second            // after one that failed, or took too long
)

// sweep takes over what is due, and has Run look again when the next chat falls due: so a chat whose holder
// died goes on when its lease ends, which [Config.Sweep] is short enough to know of before. It reports whether it failed, as the one before may have.
func (e *Engine) sweep(ctx context.Context, again bool) (failed bool) {
	within, cancel := context.WithTimeout(ctx, e.Lease)
	defer cancel()
	next, err := e.Leases.NextDue(within)
	if err == nil && next == 0 {
		next, err = e.takeOver(within)
	}
	if err != nil {
		if next = lookAgain; ctx.Err() == nil && !again {
			e.Logger.Warn("sweep for due chats failed; trying again", "err", err)
		}
	}
	e.lookIn(max(next, leastLook), false)
	return err != nil
}

// takeOver drives all that is due, a batch at a time, as long as this replica may drive more. It returns when the next chat falls due.
func (e *Engine) takeOver(ctx context.Context) (next time.Duration, err error) {
	for more := true; more; {
		e.mu.Lock()
		driving := len(e.drivers)
		e.mu.Unlock()
		if driving >= maxDriving {
			return 0, nil
		}
		leases, err := e.Leases.ClaimDue(ctx, e.Owner, claimBatch)
		for _, l := range leases {
			e.drive(l, Head{}, 0)
		}
		if err != nil {
			return 0, err
		}
		more = len(leases) == claimBatch
	}
	return e.Leases.NextDue(ctx)
}

// lookIn has Run look for due chats after that time, by our own clock, unless it looks sooner; anew, whenever it meant to look before.
func (e *Engine) lookIn(wait time.Duration, anew bool) {
	at := time.Now().Add(wait)
	e.mu.Lock()
	defer e.mu.Unlock()
	if anew || at.Before(e.lookAt) {
		e.lookAt = at
		signal(e.lookSooner)
	}
}

func (e *Engine) untilLook() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(time.Until(e.lookAt), 0)
}

// shutdown is the soft stop, then the cut.
func (e *Engine) shutdown() {
	e.stop()
	e.mu.Lock()
	e.closed = true
	for _, d := range e.drivers {
		signal(d.logMoved)
	}
	e.mu.Unlock()
	drain := time.AfterFunc(e.Drain, func() {
		e.Logger.Warn("the drain time is over; work in flight is cut", "drain", e.Drain)
		e.cut()
	})
	e.wg.Wait()
	drain.Stop()
	e.cut()
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

func (e *Engine) isStopping() bool { return e.stopping.Err() != nil }

// drive hands a lease to the chat's driver, or starts one. The caller has entered, or is Run itself. at is where the log stood when the
// lease was given, if that is known: a fold that is there already need not be read again. first is as of [claimed].
func (e *Engine) drive(l Lease, at Head, first uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.drivers[l.Chat]; d != nil {
		if d.next == nil || l.Token >= d.next.Token { // replies may overtake each other: the newest lease counts
			d.next = &claimed{l, first}
		}
		signal(d.logMoved)
		return
	}
	d := newDriver(e, l, at, first)
	e.drivers[l.Chat] = d
	e.wg.Go(d.run)
}

// retire takes a driver out of the registry, unless a lease was claimed in the meantime. wake is when its chat falls due, if it does.
func (e *Engine) retire(d *driver, wake time.Time) *claimed {
	if !wake.IsZero() {
		defer e.lookIn(wake.Add(time.Millisecond).Sub(e.Now()), false)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	next := d.next
	d.next = nil
	if next != nil && next.Token > d.releasedToken && e.work.Err() == nil { // one that was given back meanwhile is void
		return next
	}
	delete(e.drivers, d.id)
	return nil
}

// touch claims a chat.
func (e *Engine) touch(id chat.ID) {
	claim, leave := e.enter()
	defer leave()
	if claim == "" {
		return
	}
	ctx, cancel := context.WithTimeout(e.work, e.Lease)
	defer cancel()
	if _, err := e.append(ctx, Write{Chat: id, Claim: claim}); err != nil {
		e.Logger.Warn("could not claim a chat; the sweep tries again", "chat", id, "err", err)
	}
}

func (e *Engine) wake(id chat.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.drivers[id]; d != nil {
		signal(d.logMoved)
	} else if !e.closed { // ours by the store's word, and driven by nobody
		go e.touch(id)
	}
}

// append writes, keeps the known fold up to date and drives the chat if the write claimed it.
func (e *Engine) append(ctx context.Context, w Write) (Written, error) {
	got, err := e.write(ctx, w)
	if err == nil || errors.Is(err, ErrStale) {
		e.sessions.advance(w.Chat, w.Known, got)
	}
	if err == nil && got.Lease.Token != 0 {
		e.drive(got.Lease, got.Head, brought(w, got).Seq)
	}
	return got, err
}

// write writes, and learns how Redis's clock stands to ours from what it brought. That errs on the late side: a deadline looked at too
// early would only be looked at again. An answer that was asked for before the last one came takes nothing back: the clock may have been
// set ahead since.
func (e *Engine) write(ctx context.Context, w Write) (Written, error) {
	began := time.Now()
	got, err := e.Log.Append(ctx, w)
	if err == nil {
		e.retain(ctx, w)
	}
	if w.Chat != SettingsChat {
		e.toldOfSettings(got.Settings)
	}
	if err == nil {
		e.removeOvertaken(w, got)
	}
	if at := brought(w, got).At; !at.IsZero() {
		e.skewMu.Lock()
		defer e.skewMu.Unlock()
		if now := time.Now(); at.Sub(now) > e.skew || began.After(e.skewAt) {
			e.skew, e.skewAt = at.Sub(now), now
		}
	}
	return got, err
}

// traced tells of the events of a write that took a chat from one session to another.
func (e *Engine) traced(from, to turn.Session, events []Keyed, got Written) {
	if e.Tracer == nil {
		return
	}
	ours := slices.DeleteFunc(slices.Clone(got.Entries), func(x turn.Entry) bool { // what is appended blind may have others before it
		return !slices.ContainsFunc(events, func(k Keyed) bool { return string(k.Op) == x.Op })
	})
	e.Tracer.Recorded(from, to, ours)
}

func (e *Engine) did(what Action, id chat.ID, of turn.TurnID, began time.Time, err error) {
	if e.Tracer != nil {
		e.Tracer.Did(what, id, of, began, err)
	}
}

// brought is the first entry that a write brought itself; the zero entry where it brought none.
func brought(w Write, got Written) turn.Entry {
	if len(w.Events) == 0 || got.Repeated {
		return turn.Entry{}
	}
	return entryOf(got.Entries, w.Events[0].Op)
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
	snap uint64    // Seq of the newest snapshot known
}

func (f fold) apply(entries []turn.Entry, head Head) fold {
	if n := len(entries); n > 0 {
		f.at = entries[n-1].At
	}
	f.head, f.s = head, turn.Fold(f.s, entries)
	return f
}

// applyWritten gives f with what a write brought, or with what was there before it where it was refused for that.
func (e *Engine) applyWritten(ctx context.Context, id chat.ID, f fold, got Written, refused error) (fold, error) {
	if errors.Is(refused, ErrRewound) {
		return e.reload(ctx, id)
	}
	if got.Missing { // too much for the answer, or another history
		return e.readOn(ctx, id, f)
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
	f := fold{head: snap.Head, s: snap.Session, snap: snap.Head.Seq}
	if snap.Head.Seq == 0 {
		f.s = turn.New(id)
	}
	f = f.apply(entries, head)
	if f.head.Seq > 0 { // a surface asks about many chats that are none: they must not crowd out those that are
		e.sessions.put(id, f)
	}
	return f, nil
}

// reload reads a chat anew whose log turned out to be another history than the one known.
func (e *Engine) reload(ctx context.Context, id chat.ID) (fold, error) {
	e.sessions.Remove(id)
	f, err := e.load(ctx, id)
	if err == nil {
		e.rewound.Add(id, slices.MaxFunc([]time.Time{e.Now(), f.at}, time.Time.Compare).Add(time.Millisecond))
		e.Logger.Error("the store came back older than it was: what was decided in this chat before, and has not started by its log, is asked anew; what ran and is forgotten is shown as of unknown outcome", "chat", id, "entries", f.head.Seq)
	}
	return f, err
}

// readOn gives a fold, brought up to where the log stands now.
func (e *Engine) readOn(ctx context.Context, id chat.ID, f fold) (fold, error) {
	if f.head.Seq == 0 {
		return e.load(ctx, id)
	}
	entries, head, err := e.Log.Tail(ctx, id, f.head)
	if errors.Is(err, ErrRewound) {
		return e.reload(ctx, id)
	}
	if err != nil {
		return fold{}, err
	}
	f = f.apply(entries, head)
	e.sessions.put(id, f)
	return f, nil
}

// cached gives the fold as this replica last saw it, read from the log if it never did.
func (e *Engine) cached(ctx context.Context, id chat.ID) (fold, error) {
	if f, ok := e.sessions.Get(id); ok {
		return f, nil
	}
	return e.load(ctx, id)
}

// refresh is the fold as the log stands now.
func (e *Engine) refresh(ctx context.Context, id chat.ID) (fold, error) {
	f, _ := e.sessions.Get(id)
	return e.readOn(ctx, id, f)
}

// Session is the chat as the log stands now, for surfaces that show it.
func (e *Engine) Session(ctx context.Context, id chat.ID) (turn.Session, error) {
	f, err := e.refresh(ctx, id)
	return f.s, err
}

// mint makes an identifier that nobody can guess: 100 bits. Each stands in a log, in an index and on a button, several times.
func mint() string { return rand.Text()[:20] }

// Knows reports whether anything was ever recorded of a chat, for surfaces that overhear more than is meant for them.
func (e *Engine) Knows(ctx context.Context, id chat.ID) (bool, error) {
	f, err := e.cached(ctx, id)
	return f.head.Seq > 0, err
}
