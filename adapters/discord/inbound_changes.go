package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// What happens to messages, channels and servers after they are there. None of it comes twice or can be fetched: what cannot be
// recorded is tried again by whoever catches up in its room.

// changed takes an edit. Discord sends the same event when a link gets its preview, and for each of our own edits.
func (a *Adapter) changed(m *message) {
	if !isSnowflake(string(m.Channel)) || !isSnowflake(string(m.ID)) || m.Edited == "" || !m.byPerson(a.self.User) {
		return
	}
	a.afterwards(string(m.Channel), string(m.ID), func(ctx context.Context) error { return a.corrected(ctx, m) })
}

// corrected passes an edit on. The engine honours it while the message waits, and says in the chat that it came too late.
func (a *Adapter) corrected(ctx context.Context, m *message) error {
	s := spoken{m: m, guild: string(m.Guild), direct: m.Guild == "", called: true}
	if ok, err := a.locate(ctx, &s); !ok || err != nil {
		return err
	}
	if known, err := a.Engine.Knows(ctx, s.at.id()); err != nil || !known {
		return err
	}
	text := surface.WithFiles(a.wording(m), m.enclosed())
	err := a.Engine.Accept(ctx, chat.Edited{
		Envelope: a.envelope(s.at, chat.Delivery("e:"+string(m.ID)+":"+string(m.Edited)), m.author(s.guild), chat.ReplyHandle{}),
		Message:  chat.MessageRef(m.ID), Text: text,
	})
	if surface.Hopeless(err) {
		a.Logger.Info("discord: an edit was not taken", "chat", s.at.id(), "err", err)
		return nil
	}
	return err
}

// deleted takes deletions, of our own messages too: what people cannot see they cannot answer.
func (a *Adapter) deleted(r *removal) {
	if !isSnowflake(string(r.Channel)) {
		return
	}
	for _, id := range append(r.IDs, r.ID) {
		if isSnowflake(string(id)) {
			a.afterwards(string(r.Channel), string(id), func(ctx context.Context) error {
				return a.takenBack(ctx, string(r.Channel), string(r.Guild), string(id))
			})
		}
	}
}

// takenBack passes a deletion on, to each chat that the message may belong to. Discord does not say who deleted.
func (a *Adapter) takenBack(ctx context.Context, room, guild, id string) error {
	at := []place{{"", room, ""}}
	if guild != "" {
		c, err := a.channelOf(ctx, room)
		switch {
		case hopelessThere(err):
			return nil
		case err != nil:
			return err
		case c.thread():
			at = []place{{guild, c.Parent, c.ID}}
		default:
			at = []place{{guild, room, id}, {guild, room, ""}}
		}
	}
	for _, p := range at {
		known, err := a.Engine.Knows(ctx, p.id())
		if err == nil && known {
			err = a.Engine.Accept(ctx, chat.Deleted{
				Envelope: a.envelope(p, chat.Delivery("d:"+id), somebody{}, chat.ReplyHandle{}), Message: chat.MessageRef(id),
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// afterwards has something done about a message in its room's order. Where the room is behind, and that message is not yet recorded,
// nothing needs to be done: it will be fetched as it is then.
func (a *Adapter) afterwards(room, message string, do func(context.Context) error) {
	taken := a.in.messages.Put(roomLane(room), func() {
		if a.in.rooms.later(room, message, do) {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), recordWithin)
		defer cancel()
		if err := do(ctx); err != nil {
			a.Logger.Error("discord: a change was not recorded; it is tried until it is", "room", room, "err", err)
			a.in.rooms.redo(room, do)
		}
	})
	if !taken && a.isOpen() {
		a.in.rooms.redo(room, do)
	}
}

// joined learns a server's channels, threads and roles: it comes for each one after a connection was made.
func (a *Adapter) joined(g *guildData) {
	guild := string(cmp.Or(g.Guild, g.ID))
	for _, list := range [][]channelData{g.Channels, g.Threads} {
		for i := range list {
			a.in.channels.put(list[i].channel(guild))
		}
		a.newest(guild, list)
	}
	for _, r := range g.Roles {
		a.in.channels.role(guild, r, a.self.User)
	}
}

// roleChanged learns a role.
func (a *Adapter) roleChanged(e *struct {
	Guild loose    `json:"guild_id"`
	Role  roleData `json:"role"`
}) {
	a.in.channels.role(string(e.Guild), e.Role, a.self.User)
}

// left: the bot was removed from a server. One that is unavailable comes back.
func (a *Adapter) left(g *guildData) {
	guild := string(g.ID)
	if g.Unavailable || !isSnowflake(guild) {
		return
	}
	a.in.channels.leave(guild)
	// No name: the bot can be removed from a server more than once.
	a.shut("g:"+guild, "", func(p place) bool { return p.Guild == guild })
}

// channelChanged learns a channel or thread. A thread that is archived opens again with the next message; locked as well, it does not.
func (a *Adapter) channelChanged(d *channelData) {
	c := d.channel("")
	was, _ := a.in.channels.get(c.ID, a.now())
	a.in.channels.put(c)
	if c.thread() && c.gone() && !was.gone() && isSnowflake(c.ID) {
		a.shut(c.ID, chat.Delivery("g:"+c.ID+":"+string(d.Metadata.At)), func(p place) bool { return p.Thread == c.ID })
	}
}

// channelDeleted: a channel or a thread is no more.
func (a *Adapter) channelDeleted(d *channelData) {
	id := string(d.ID)
	if !isSnowflake(id) {
		return
	}
	a.in.channels.forget(id)
	a.shut(id, chat.Delivery("g:"+id), func(p place) bool { return p.Channel == id || p.Thread == id })
	if a.Marks != nil {
		a.afterwards(id, "", func(ctx context.Context) error { return a.unmark(ctx, id) })
	}
}

// shut ends every open ask of places that nobody can answer in any more: else their turns would wait for their deadlines, or for ever.
func (a *Adapter) shut(room string, d chat.Delivery, match func(place) bool) {
	a.afterwards(room, "", func(ctx context.Context) error {
		asking, err := a.asking(ctx, match)
		if err != nil {
			return err
		}
		var all []error
		for _, id := range asking {
			a.Logger.Info("discord: a place is gone while something waits there", "chat", id)
			all = append(all, a.Engine.Accept(ctx, chat.Deleted{Envelope: chat.Envelope{Delivery: d, Chat: id}, All: true}))
		}
		return errors.Join(all...)
	})
}

// asking are the chats in which something waits for a person.
func (a *Adapter) asking(ctx context.Context, match func(place) bool) ([]chat.ID, error) {
	ids, err := a.Asks.Asking(ctx, func(id chat.ID) bool {
		p, ok := placeOf(id)
		return ok && match(p)
	})
	if err != nil {
		return nil, fmt.Errorf("what waits for an answer: %w", err)
	}
	return ids, nil
}
