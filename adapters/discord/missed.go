package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/core/agent"
)

// Discord sends a message once. What a gap in the connection swallowed, and what could not be recorded, is fetched: each room where
// somebody spoke with the bot has a mark, the newest message that was taken there, and what is after it is not.
const (
	missedWithin = 24 * time.Hour // how long a room is looked after
	roomsAtOnce  = 4
	pageOf       = 100 // the most that one call gives. https://discord.com/developers/docs/resources/message#get-channel-messages
	pagesAtOnce  = 5   // before another room has its turn
	longestWait  = time.Minute

	momentPlace  = "gateway/"       // and the shard: no room is called so
	momentsApart = 10 * time.Second // between two writes of a shard's moment
	momentMargin = 5 * time.Second  // what clocks may differ, and events may be late
	momentsCount = 2 * time.Minute  // for so long after a session began its servers say what is new
)

// A first mention in a room without a mark would be lost in a gap. So each shard notes up to which moment it heard everything, and when
// a session begins, each server says which of its rooms have newer messages: those are fetched from that moment on. Discord tells
// nothing like it for direct messages: there only rooms with a mark are fetched.

// momentOf is the place of a shard's moment.
func (a *Adapter) momentOf(shard int) string {
	a.gate.mu.Lock()
	defer a.gate.mu.Unlock()
	return fmt.Sprintf("%s%d/%d", momentPlace, shard, max(len(a.gate.shards), 1))
}

// noteMoments notes how far a shard was heard until ctx ends. A connection that is dead but not yet closed moves nothing.
func (a *Adapter) noteMoments(ctx context.Context, sh *shard) {
	tick := time.NewTicker(momentsApart)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if heard := sh.heard.Load(); heard != 0 && sh.deafFor() == 0 {
			one, cancel := context.WithTimeout(ctx, markWithin)
			a.writeMark(one, a.momentOf(sh.id), firstAt(a.now().Add(-time.Since(time.Unix(0, heard))-momentMargin)))
			cancel()
		}
	}
}

// newest tells which rooms of a server have messages, and which is each one's newest.
func (a *Adapter) newest(guild string, rooms []channelData) {
	n, err := strconv.ParseUint(guild, 10, 64)
	if a.Marks == nil || err != nil {
		return
	}
	a.gate.mu.Lock()
	of := max(len(a.gate.shards), 1)
	a.gate.mu.Unlock()
	place := a.momentOf(int((n >> 22) % uint64(of))) // https://discord.com/developers/docs/events/gateway#sharding
	var told []moved
	for i := range rooms {
		if room, last := string(rooms[i].ID), string(rooms[i].Last); isSnowflake(room) && isSnowflake(last) {
			told = append(told, moved{room, last, place})
		}
	}
	a.in.rooms.tell(told, a.now())
}

// mark moves a room's mark to a message that was taken, or was rightly not for us. It is withheld while something older is not.
func (a *Adapter) mark(room, id string, taken bool) {
	if a.Marks == nil || !a.in.rooms.advance(room, id, taken, a.now()) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), markWithin)
	defer cancel()
	a.writeMark(ctx, room, id)
}

// writeMark: without it some messages are fetched once more, which changes nothing.
func (a *Adapter) writeMark(ctx context.Context, room, id string) {
	if err := a.Marks.Mark(ctx, room, id); err != nil {
		a.Logger.Info("discord: could not remember how far a room was read", "room", room, "err", err)
	}
}

// keepPlace marks a room without a mark right before a message that was not recorded, so that whoever follows this process fetches it.
func (a *Adapter) keepPlace(room, id string) {
	if a.Marks == nil || a.in.rooms.marked(room) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), markWithin)
	defer cancel()
	a.writeMark(ctx, room, justBefore(id))
}

func (a *Adapter) unmark(ctx context.Context, room string) error {
	a.in.rooms.forget(room)
	if a.Marks == nil {
		return nil
	}
	if err := a.Marks.Unmark(ctx, room); err != nil {
		return fmt.Errorf("forget how far a room was read: %w", err)
	}
	return nil
}

// readMarks reads all marks after each new session of the gateway. Until that is done nothing is taken as it comes: a later message
// would move its room's mark over those that were missed.
func (a *Adapter) readMarks(ctx context.Context) {
	for try := 0; ; {
		asked, ok := a.in.rooms.awaitFreeze(ctx)
		if !ok {
			return
		}
		marks, err := a.Marks.Marks(ctx, missedWithin)
		if err == nil {
			a.in.rooms.thaw(asked, marks, firstAt(a.now().Add(-missedWithin)), a.now())
			try = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		a.Logger.Error("discord: what was missed cannot be looked up; messages wait until it can", "err", err)
		if a.pause(ctx, a.backOff(try)) != nil {
			return
		}
		try++
	}
}

// backOff is how long to wait after so many attempts.
func (a *Adapter) backOff(try int) time.Duration {
	if a.in.wait != nil {
		return a.in.wait(try)
	}
	return min(time.Second<<min(try, 10), longestWait)
}

// catchUp works on rooms that are behind until ctx ends.
func (a *Adapter) catchUp(ctx context.Context) {
	for {
		l, ok := a.in.rooms.next(ctx, a.now)
		if !ok {
			return
		}
		err := a.catchUpIn(ctx, l)
		var wait time.Duration
		if err != nil && !errors.Is(err, errMore) {
			wait = a.backOff(l.try)
			if pe := new(agent.PlatformError); errors.As(err, &pe) {
				wait = max(wait, pe.RetryAfter)
			}
			if ctx.Err() == nil {
				a.Logger.Warn("discord: a room is behind; trying again", "room", l.room, "in", wait, "err", err)
			}
		}
		a.in.rooms.back(l, err == nil, errors.Is(err, errMore), a.now().Add(wait))
	}
}

// errMore: the room has had its turn, and there is more to fetch.
var errMore = errors.New("there is more")

// catchUpIn takes what is after a room's mark, in its order, then what happened to what was recorded before.
func (a *Adapter) catchUpIn(ctx context.Context, l *lagging) error {
	for range pagesAtOnce {
		after, seen, todo := a.in.rooms.work(l)
		if after != "" {
			full, err := a.fetchAfter(ctx, l, after)
			if err = a.orLetGo(ctx, l, after, err); err != nil {
				return err
			}
			if full {
				continue
			}
		}
		for _, do := range todo {
			ctx, cancel := context.WithTimeout(ctx, recordWithin)
			err := do(ctx)
			cancel()
			if err != nil {
				return err
			}
			a.in.rooms.did(l)
		}
		if a.in.rooms.done(l, seen) {
			return nil
		}
	}
	return errMore
}

// orLetGo lets go of a room that is no more, or not visible any more: what was missed there stays unread. Any other error it returns.
func (a *Adapter) orLetGo(ctx context.Context, l *lagging, after string, err error) error {
	if !hopelessThere(err) {
		return err
	}
	a.in.rooms.unread(l)
	if after == l.room || a.Marks == nil { // a thread that may not be made yet, on the message of that ID
		return nil
	}
	a.Logger.Info("discord: a room is no more, or not visible any more: what was missed there stays unread", "room", l.room, "err", err)
	if err := a.Marks.Unmark(ctx, l.room); err != nil {
		a.Logger.Info("discord: could not forget a room", "room", l.room, "err", err)
	}
	return nil
}

// fetchAfter takes one page of messages. full: there may be more.
func (a *Adapter) fetchAfter(ctx context.Context, l *lagging, after string) (full bool, err error) {
	c, err := a.channelOf(ctx, l.room)
	if err != nil {
		return false, err
	}
	page, got, err := a.fetch(ctx, l.room, url.Values{"after": {after}, "limit": {strconv.Itoa(pageOf)}})
	if err != nil {
		return false, err
	}
	first, keep := after, a.in.rooms.marked(l.room)
	defer func() {
		if after != first && keep && a.Marks != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markWithin)
			defer cancel()
			a.writeMark(ctx, l.room, after)
		}
	}()
	for _, m := range page {
		one, cancel := context.WithTimeout(ctx, recordWithin)
		m.Channel = loose(l.room)
		taken, err := a.hear(one, m, c.Guild)
		cancel()
		if err != nil {
			return false, err
		}
		keep = keep || taken
		if !a.in.rooms.took(l, after, string(m.ID), taken) {
			return false, errMore
		}
		after = string(m.ID)
	}
	return got == pageOf && after != first, nil
}

// fetch gets messages of a room, the oldest first. n is how many Discord gave, those that cannot be read too.
func (a *Adapter) fetch(ctx context.Context, room string, query url.Values) (out []*message, n int, err error) {
	var raw []json.RawMessage
	if err := a.rest(ctx, http.MethodGet, discordgo.EndpointChannelMessages(room)+"?"+query.Encode(), nil, &raw); err != nil {
		return nil, 0, err
	}
	for _, r := range raw {
		m := new(message)
		if decode(r, m) == nil && isSnowflake(string(m.ID)) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(x, y *message) int { return compareIDs(string(x.ID), string(y.ID)) })
	return out, len(raw), nil
}
