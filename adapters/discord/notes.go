package discord

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

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
	of := turnShapes(surface.Quietly(m), a.alive)
	if isBrief(m) {
		var to string
		if link {
			to = a.refer(p, beside)
		}
		of = noteShapes(m, to)
	}
	_, ref, err := a.post(ctx, me, p, key, of, agent.Final)
	return ref, err
}

// isBrief reports whether a message is but a line or two.
func isBrief(m render.Message) bool {
	return !slices.ContainsFunc(m.Blocks, func(b render.Block) bool { _, ok := b.(render.Note); return !ok })
}

// refer is the address of a message, as Discord's own "Copy Message Link" writes it.
func (a *Adapter) refer(p place, m chat.MessageRef) string {
	return linkTo(p) + "/" + string(m)
}

// linkTo is the address of a place.
func linkTo(p place) string {
	guild := p.Guild
	if guild == "" {
		guild = "@me"
	}
	return "https://discord.com/channels/" + strings.Join([]string{guild, p.room()}, "/")
}

// Remove takes away a message that Annotate made. One that is not there is no error.
func (a *Adapter) Remove(ctx context.Context, id chat.ID, ref chat.MessageRef) error {
	p, me, err := a.where(ctx, id)
	if err != nil {
		return err
	}
	if !isSnowflake(string(ref)) {
		return gone("the message is none of Discord's")
	}
	c := spending{verb: verbDelete, app: me.Application, channel: p.room(), lane: agent.Final}
	err = a.inRoom(ctx, me, p, func() error {
		return a.spent(ctx, c, func(ctx context.Context) error {
			return a.rest(ctx, http.MethodDelete, discordgo.EndpointChannelMessage(p.room(), string(ref)), nil, nil)
		})
	})
	switch codeOf(err) {
	case codeUnknownMessage, codeUnknownChannel:
		return nil
	}
	return err
}
