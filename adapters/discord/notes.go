package discord

import (
	"context"
	"net/http"
	"slices"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Annotate posts a message beside the turn's. The persons that a short one names are notified; the rest of a long answer names nobody.
func (a *Adapter) Annotate(ctx context.Context, id chat.ID, beside chat.MessageRef, key chat.PostKey, m render.Message, link bool) (chat.MessageRef, error) {
	p, me, err := a.where(ctx, id)
	if err != nil {
		return "", err
	}
	of := components.Turn(surface.Quietly(m), a.alive)
	if isBrief(m) {
		var to string
		if link {
			to = p.LinkTo(string(beside))
		}
		of = components.Note(m, to)
	}
	_, ref, err := a.post(ctx, me, p, key, of, agent.Final)
	return ref, err
}

// isBrief reports whether a message is but a line or two.
func isBrief(m render.Message) bool {
	return !slices.ContainsFunc(m.Blocks, func(b render.Block) bool { _, ok := b.(render.Note); return !ok })
}

// Remove takes away a message that Annotate made. One that is not there is no error.
func (a *Adapter) Remove(ctx context.Context, id chat.ID, ref chat.MessageRef) error {
	p, me, err := a.where(ctx, id)
	if err != nil {
		return err
	}
	if !ids.IsSnowflake(string(ref)) {
		return rest.Gone("the message is none of Discord's")
	}
	c := rest.Spending{Verb: rest.Delete, Channel: p.Room(), Lane: agent.Final}
	err = a.inRoom(ctx, me, p, func() error {
		return a.api.Spent(ctx, c, func(ctx context.Context) error {
			return a.api.Call(ctx, http.MethodDelete, discordgo.EndpointChannelMessage(p.Room(), string(ref)), nil, nil)
		})
	})
	switch rest.CodeOf(err) {
	case rest.CodeUnknownMessage, rest.CodeUnknownChannel:
		return nil
	}
	return err
}

// Attach posts a file beside the turn's message, with a note above it that names nobody: for an answer so long that it would be many
// messages. What a file does not hold (10 MiB) is left out at its end. The same key posts at most once for some minutes.
// https://discord.com/developers/docs/components/reference#file
func (a *Adapter) Attach(ctx context.Context, id chat.ID, _ chat.MessageRef, key chat.PostKey, note render.Message, f agent.File) (chat.MessageRef, error) {
	p, me, err := a.where(ctx, id)
	if err != nil {
		return "", err
	}
	out := components.Attachment(surface.Quietly(note), components.File{Name: f.Name, Type: f.Type, Data: f.Data})
	_, ref, err := a.post(ctx, me, p, key, components.Only(out), agent.Final)
	return ref, err
}
