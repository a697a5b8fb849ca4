package discord

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/bwmarrin/discordgo"
)

// register makes the application's global commands ours, where they are not. There are few such writes a day.
// https://discord.com/developers/docs/interactions/application-commands#registering-a-command
func (a *Adapter) register(ctx context.Context) error {
	me, err := a.me(ctx)
	if err != nil {
		return err
	}
	at := discordgo.EndpointApplicationGlobalCommands(me.Application)
	var there []json.RawMessage
	if err := a.api.Call(ctx, http.MethodGet, at, nil, &there); err != nil {
		return err
	}
	if inbound.SameCommands(there, inbound.Commands()) {
		return nil
	}
	if err := a.api.Call(ctx, http.MethodPut, at, inbound.Commands(), nil); err != nil {
		return err
	}
	a.Logger.Info("discord: the slash commands are registered")
	return nil
}
