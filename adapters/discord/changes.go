package discord

import (
	"cmp"
	"context"
	"fmt"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// What happens to messages, channels and servers after they are there. None of it comes twice or can be fetched: what cannot be
// recorded is tried again by whoever catches up in its room.

// changed takes an edit. Discord sends the same event when a link gets its preview, and for each of our own edits.
func (a *Adapter) changed(m *inbound.Message) {
	if m.Edited == "" || !m.ByPerson(a.self.User) {
		return
	}
	a.afterwards(string(m.Channel), string(m.ID), func(ctx context.Context) error { return a.corrected(ctx, m) })
}

// corrected passes an edit on. The engine honours it while the message waits, and says in the chat that it came too late.
func (a *Adapter) corrected(ctx context.Context, m *inbound.Message) error {
	s := userMessage{m: m, called: true}
	if ok, err := a.locate(ctx, &s); !ok {
		return err
	}
	if known, err := a.Engine.Knows(ctx, s.at.Chat()); !known {
		return err
	}
	text := surface.WithFiles(a.wording(m), m.Enclosed())
	err := a.Engine.Accept(ctx, chat.Edited{
		Envelope: envelopeOf(s.at, chat.Delivery("e:"+string(m.ID)+":"+string(m.Edited)), m.Sender(s.at.Guild), chat.ReplyHandle{}),
		Message:  chat.MessageRef(m.ID), Text: text,
	})
	if surface.Hopeless(err) {
		a.Logger.Info("discord: an edit was not taken", "chat", s.at.Chat(), "err", err)
		return nil
	}
	return err
}

// deleted takes deletions, of our own messages too: what people cannot see they cannot answer.
func (a *Adapter) deleted(r *inbound.Deletion) {
	for _, id := range append(r.IDs, r.ID) {
		if ids.IsSnowflake(string(id)) {
			a.afterwards(string(r.Channel), string(id), func(ctx context.Context) error {
				return a.takenBack(ctx, string(r.Channel), string(r.Guild), string(id))
			})
		}
	}
}

// takenBack passes a deletion on, to each chat that the message may belong to. Discord does not say who deleted.
func (a *Adapter) takenBack(ctx context.Context, room, guild, id string) error {
	at := []ids.Place{{Guild: "", Channel: room, Thread: ""}}
	if guild != "" {
		c, err := a.channelOf(ctx, room)
		switch {
		case rest.IsUnreachable(err):
			return nil
		case err != nil:
			return err
		case c.IsThread():
			at = []ids.Place{{Guild: guild, Channel: c.Parent, Thread: c.ID}}
		default:
			at = []ids.Place{{Guild: guild, Channel: room, Thread: id}, {Guild: guild, Channel: room, Thread: ""}}
		}
	}
	for _, p := range at {
		known, err := a.Engine.Knows(ctx, p.Chat())
		if known {
			err = a.Engine.Accept(ctx, chat.Deleted{
				Envelope: envelopeOf(p, chat.Delivery("d:"+id), inbound.Person{}, chat.ReplyHandle{}), Message: chat.MessageRef(id),
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
	inTime := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, recordWithin)
		defer cancel()
		return do(ctx)
	}
	taken := a.in.messages.Put(roomLane(room), func() {
		if a.missed.DeferTask(room, message, inTime) {
			return
		}
		if err := inTime(context.Background()); err != nil {
			a.Logger.Error("discord: a change was not recorded; it is tried until it is", "room", room, "err", err)
			a.missed.Retry(room, inTime)
		}
	})
	if !taken {
		a.missed.Retry(room, inTime)
	}
}

// joined learns a server's channels, threads and roles: it comes for each one after a connection was made.
func (a *Adapter) joined(g *inbound.GuildObject) {
	guild := string(cmp.Or(g.Guild, g.ID))
	for _, list := range [][]inbound.ChannelObject{g.Channels, g.Threads} {
		newest := map[string]string{}
		for i := range list {
			a.in.channels.put(list[i].Channel(guild))
			newest[string(list[i].ID)] = string(list[i].Last)
		}
		a.missed.Newest(guild, newest)
	}
	for _, r := range g.Roles {
		a.in.channels.role(guild, r, a.self.User)
	}
}

// roleChanged learns a role.
func (a *Adapter) roleChanged(e *struct {
	Guild inbound.LooseString `json:"guild_id"`
	Role  inbound.RoleObject  `json:"role"`
}) {
	a.in.channels.role(string(e.Guild), e.Role, a.self.User)
}

// left: the bot was removed from a server. One that is unavailable comes back.
func (a *Adapter) left(g *inbound.GuildObject) {
	guild := string(g.ID)
	if g.Unavailable || !ids.IsSnowflake(guild) {
		return
	}
	a.in.channels.leave(guild)
	// No name: the bot can be removed from a server more than once.
	a.shut("g:"+guild, "", func(p ids.Place) bool { return p.Guild == guild })
}

// channelChanged learns a channel or thread. A thread that is archived opens again with the next message; locked as well, it does not.
func (a *Adapter) channelChanged(d *inbound.ChannelObject) {
	c := d.Channel("")
	a.in.channels.put(c)
	if c.IsClosed() && ids.IsSnowflake(c.ID) {
		a.shut(c.ID, chat.Delivery("g:"+c.ID+":"+string(d.Metadata.At)), func(p ids.Place) bool { return p.Thread == c.ID })
	}
}

// channelDeleted: a channel or a thread is no more.
func (a *Adapter) channelDeleted(d *inbound.ChannelObject) {
	id := string(d.ID)
	if !ids.IsSnowflake(id) {
		return
	}
	a.in.channels.byID.Remove(id)
	a.shut(id, chat.Delivery("g:"+id), func(p ids.Place) bool { return p.Channel == id || p.Thread == id })
	if a.Marks != nil {
		a.afterwards(id, "", func(ctx context.Context) error { return a.missed.Unmark(ctx, id) })
	}
}

// shut ends every open ask of places that nobody can answer in any more: else their turns would wait for their deadlines, or for ever.
func (a *Adapter) shut(room string, d chat.Delivery, match func(ids.Place) bool) {
	a.afterwards(room, "", func(ctx context.Context) error {
		asking, err := a.asking(ctx, match)
		if err != nil {
			return err
		}
		return surface.EndAsks(ctx, a.Engine, asking, d, a.Logger)
	})
}

// LinkTo is the address of a message or a chat of Discord's; empty for any other.
func (a *Adapter) LinkTo(l render.ChatLink) string { return components.AddressOf(l) }

// asking are the chats in which something waits for a person.
func (a *Adapter) asking(ctx context.Context, match func(ids.Place) bool) ([]chat.ID, error) {
	chats, err := a.Asks.Asking(ctx, func(id chat.ID) bool {
		p, _ := ids.PlaceOf(id) // of another platform: nowhere
		return match(p)
	})
	if err != nil {
		return nil, fmt.Errorf("what waits for an answer: %w", err)
	}
	return chats, nil
}
