// Package backfill catches up on what nobody took. Discord sends a message once: what a gap in the connection swallowed, and what could not be
// recorded, is fetched. It may import adapters/discord/ids and rest, core/agent for its errors, and nothing that reads a message: what it fetches
// comes with what takes it.
//
// # How it works
//
// Each room where somebody spoke with the bot has a mark: the newest message that was taken there. What is after it was not. When a new session of
// the gateway begins, all marks are read, and every marked room is fetched from its mark on. A room that is behind takes nothing as it comes, so that
// its messages keep their order; what happens to its messages meanwhile (edits, deletions) waits as a task.
//
// A first mention in a room without a mark would be lost in a gap. So each shard notes up to which moment it heard everything, and when a session
// begins, each server says which of its rooms have newer messages: those are fetched from that moment on. Discord tells nothing like it for
// direct messages: there only rooms with a mark are fetched.
//
// # Where to start
//
// Backfill.Run, then catchUpIn. queue.go decides, under one lock, which room goes next and whether a message may be taken as it comes; backfill.go
// fetches and writes marks. A new rule about order goes to queue.go, a new call to backfill.go.
//
// # Invariant
//
// A mark moves over a message only once that was taken, or was rightly not for us, and never while something older waits.
package backfill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/backoff"
)

const (
	missedWithin = 24 * time.Hour // how long a room is looked after
	roomsAtOnce  = 4
	pagesAtOnce  = 5 // before another room has its turn
	longestWait  = time.Minute
	markWithin   = time.Second

	// PageSize is the most messages that one call gives. https://discord.com/developers/docs/resources/message#get-channel-messages
	PageSize = 100

	momentPlace  = "gateway/"       // and the shard: no room is called so
	momentsApart = 10 * time.Second // between two writes of a shard's moment
	momentMargin = 5 * time.Second  // what clocks may differ, and events may be late
	momentsCount = 2 * time.Minute  // for so long after a session began its servers say what is new
)

// Marks remember, per place, the newest message that was taken.
type Marks interface {
	// Mark moves a place's mark forward, never back.
	Mark(ctx context.Context, place, message string) error
	// Marks are those of places that were marked lately.
	Marks(ctx context.Context, within time.Duration) (map[string]string, error)
	// Unmark forgets a place that is no more.
	Unmark(ctx context.Context, place string) error
}

// Message is one that was fetched.
type Message struct {
	ID string
	// Take does with it what is done with a message that comes live. taken: it was for us. An error means that nothing is known to be recorded.
	Take func(context.Context) (taken bool, err error)
}

// Config is what catching up needs.
type Config struct {
	Marks Marks // nil: only what was not recorded is fetched, and not what a gap swallows
	// Fetch gets up to [PageSize] messages of a room after one, the oldest first. got is how many Discord gave, those that cannot be read too.
	// Its errors are of type [*agent.PlatformError].
	Fetch  func(ctx context.Context, room, after string) (page []Message, got int, err error)
	Shards func() int // how many the gateway has
	Logger *slog.Logger
	Now    func() time.Time
	Pause  func(context.Context, time.Duration) error // waits; an error is the context's
	Wait   func(try int) time.Duration                // before the next attempt, after so many
}

// Backfill catches up. Its methods are safe for concurrent use.
type Backfill struct {
	Config
	*queue
}

// New makes one that knows of nothing missed.
func New(c Config) *Backfill { return &Backfill{c, newQueue()} }

// Wait is how long to wait after so many attempts, where nothing else is said.
func Wait(try int) time.Duration {
	return backoff.Exponential{First: time.Second, Most: longestWait}.Base(try)
}

// Run catches up until ctx ends. Rooms that are behind then are left so: their marks say from where on.
func (b *Backfill) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range roomsAtOnce {
		workers.Go(func() { b.catchUp(ctx) })
	}
	if b.Marks != nil {
		workers.Go(func() { b.readMarks(ctx) })
	}
	workers.Wait()
}

// SessionBegan says that a new session of the gateway began: whatever was sent since the last one is missed.
func (b *Backfill) SessionBegan() {
	if b.Marks != nil {
		b.suspend()
	}
}

// momentOf is the place of a shard's moment.
func (b *Backfill) momentOf(shard int) string {
	return fmt.Sprintf("%s%d/%d", momentPlace, shard, b.Shards())
}

// NoteMoments notes how far a shard was heard until ctx ends. A connection that is dead but not yet closed moves nothing.
func (b *Backfill) NoteMoments(ctx context.Context, shard int, silentFor func() (time.Duration, bool)) {
	tick := time.NewTicker(momentsApart)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if silent, ok := silentFor(); ok {
			b.writeMark(ctx, b.momentOf(shard), ids.FirstAt(b.Now().Add(-silent-momentMargin)))
		}
	}
}

// Newest tells which rooms of a server have messages, and which is each one's newest.
func (b *Backfill) Newest(guild string, rooms map[string]string) {
	n, _ := strconv.ParseUint(guild, 10, 64)
	moment := b.momentOf(int((n >> 22) % uint64(b.Shards()))) // https://discord.com/developers/docs/events/gateway#sharding
	var told []newest
	for room, last := range rooms {
		if ids.IsSnowflake(room) && ids.IsSnowflake(last) {
			told = append(told, newest{room, last, moment})
		}
	}
	b.noteNewest(told, b.Now())
}

// Mark moves a room's mark to a message that was taken, or was rightly not for us. It is withheld while something older is not.
func (b *Backfill) Mark(room, id string, taken bool) {
	if b.Marks != nil && b.advance(room, id, taken, b.Now()) {
		b.writeMark(context.Background(), room, id)
	}
}

// writeMark gives up after a second: without the mark some messages are fetched once more, which changes nothing.
func (b *Backfill) writeMark(ctx context.Context, room, id string) {
	ctx, cancel := context.WithTimeout(ctx, markWithin)
	defer cancel()
	if err := b.Marks.Mark(ctx, room, id); err != nil {
		b.Logger.Info("discord: could not remember how far a room was read", "room", room, "err", err)
	}
}

// KeepPlace marks a room without a mark right before a message that was not recorded, so that whoever follows this process fetches it.
func (b *Backfill) KeepPlace(room, id string) {
	if b.Marks != nil && !b.Marked(room) {
		b.writeMark(context.Background(), room, ids.Before(id))
	}
}

// Unmark forgets a room that is no more.
func (b *Backfill) Unmark(ctx context.Context, room string) error {
	b.forget(room)
	if b.Marks == nil {
		return nil
	}
	if err := b.Marks.Unmark(ctx, room); err != nil {
		return fmt.Errorf("forget how far a room was read: %w", err)
	}
	return nil
}

// readMarks reads all marks after each new session of the gateway. Until that is done nothing is taken as it comes: a later message
// would move its room's mark over those that were missed.
func (b *Backfill) readMarks(ctx context.Context) {
	for try := 0; ; {
		asked, ok := b.awaitSuspension(ctx)
		if !ok {
			return
		}
		marks, err := b.Marks.Marks(ctx, missedWithin)
		if err == nil {
			b.resume(asked, marks, ids.FirstAt(b.Now().Add(-missedWithin)), b.Now())
			try = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		b.Logger.Error("discord: what was missed cannot be looked up; messages wait until it can", "err", err)
		if b.Pause(ctx, b.Wait(try)) != nil {
			return
		}
		try++
	}
}

// catchUp works on rooms that are behind until ctx ends.
func (b *Backfill) catchUp(ctx context.Context) {
	for l, ok := b.next(ctx, b.Now); ok; l, ok = b.next(ctx, b.Now) {
		err := b.catchUpIn(ctx, l)
		var wait time.Duration
		if err != nil && !errors.Is(err, errMore) {
			wait = b.Wait(l.try)
			if pe := new(agent.PlatformError); errors.As(err, &pe) {
				wait = max(wait, pe.RetryAfter)
			}
			if ctx.Err() == nil {
				b.Logger.Warn("discord: a room is behind; trying again", "room", l.room, "in", wait, "err", err)
			}
		}
		b.putBack(l, errors.Is(err, errMore), b.Now().Add(wait))
	}
}

// errMore: the room has had its turn, and there is more to fetch.
var errMore = errors.New("there is more")

// catchUpIn takes what is after a room's mark, in its order, then what happened to what was recorded before.
func (b *Backfill) catchUpIn(ctx context.Context, l *backlog) error {
	for range pagesAtOnce {
		after, version, tasks := b.look(l)
		if after != "" {
			full, err := b.fetchAfter(ctx, l, after)
			if err = b.orLetGo(ctx, l, after, err); err != nil {
				return err
			}
			if full {
				continue
			}
		}
		for _, do := range tasks {
			if err := do(ctx); err != nil {
				return err
			}
			b.dropTask(l)
		}
		if b.finish(l, version) {
			return nil
		}
	}
	return errMore
}

// orLetGo lets go of a room that is no more, or not visible any more: what was missed there stays unread. Any other error it returns.
func (b *Backfill) orLetGo(ctx context.Context, l *backlog, after string, err error) error {
	if !rest.IsUnreachable(err) {
		return err
	}
	b.giveUp(l)
	if after == l.room || b.Marks == nil { // a thread that may not be made yet, on the message of that ID
		return nil
	}
	b.Logger.Info("discord: a room is no more, or not visible any more: what was missed there stays unread", "room", l.room, "err", err)
	if err := b.Marks.Unmark(ctx, l.room); err != nil {
		b.Logger.Info("discord: could not forget a room", "room", l.room, "err", err)
	}
	return nil
}

// fetchAfter takes one page of messages. full: there may be more.
func (b *Backfill) fetchAfter(ctx context.Context, l *backlog, after string) (full bool, err error) {
	page, got, err := b.Fetch(ctx, l.room, after)
	if err != nil {
		return false, err
	}
	first, keep := after, b.Marked(l.room)
	defer func() {
		if after != first && keep && b.Marks != nil {
			b.writeMark(context.WithoutCancel(ctx), l.room, after)
		}
	}()
	for _, m := range page {
		taken, err := m.Take(ctx)
		if err != nil {
			return false, err
		}
		keep = keep || taken
		if !b.advanceTo(l, after, m.ID, taken) {
			return false, errMore
		}
		after = m.ID
	}
	return got == PageSize && after != first, nil
}
