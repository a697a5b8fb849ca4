package discord

import (
	"context"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Attach posts a file beside the turn's message, with a note above it that names nobody: for an answer so long that it would be many
// messages. What a file does not hold (10 MiB) is left out at its end. The same key posts at most once for some minutes.
// https://discord.com/developers/docs/components/reference#file
func (a *Adapter) Attach(ctx context.Context, id chat.ID, _ chat.MessageRef, key chat.PostKey, note render.Message, f agent.File) (chat.MessageRef, error) {
	p, me, err := a.where(ctx, id)
	if err != nil {
		return "", err
	}
	out := encodeNote(surface.Quietly(note), "")
	out.Users, out.Roles = nil, nil
	out.Files = []file{{Name: f.Name, Type: f.Type, Data: whole(string(f.Data))}}
	out.Components = append(out.Components, discordgo.FileComponent{File: discordgo.UnfurledMediaItem{URL: uploaded + f.Name}})
	_, ref, err := a.post(ctx, me, p, key, onlyShape(out), agent.Final)
	return ref, err
}
