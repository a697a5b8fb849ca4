package discord

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

var _ attach.Fetcher = (*Adapter)(nil)

// cdnHosts are where Discord keeps files. https://discord.com/developers/docs/reference#signed-attachment-cdn-urls
var cdnHosts = []string{"cdn.discordapp.com", "media.discordapp.net"}

// Fetch implements [attach.Fetcher]. The handle names the message: its files' addresses are signed anew whenever it is asked for, for those
// of an event are good for about a day only.
func (a *Adapter) Fetch(ctx context.Context, _ chat.ID, f chat.File, most int) ([]byte, error) {
	channel, message, attachment, ok := ids.FileOf(f.Handle)
	if !ok {
		return nil, &attach.Error{Why: turn.UnreadGone}
	}
	var m inbound.Message
	if err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointChannelMessage(channel, message), nil, &m); err != nil {
		pe, _ := errors.AsType[*agent.PlatformError](err)
		switch {
		case !pe.Refuses():
			return nil, err
		case pe.Kind == agent.FaultGone:
			return nil, &attach.Error{Why: turn.UnreadGone, Cause: err}
		}
		return nil, &attach.Error{Why: turn.UnreadForbidden, Cause: err}
	}
	i := slices.IndexFunc(m.Attachments, func(x inbound.Attachment) bool { return string(x.ID) == attachment })
	if i < 0 {
		return nil, &attach.Error{Why: turn.UnreadGone}
	}
	// The bot's token is for the API: the address is all that lets anybody have a file.
	data, _, err := surface.Download(ctx, a.cdn, string(m.Attachments[i].URL), "", surface.Hosts{Names: cdnHosts, Standin: a.APIURL}, most)
	return data, err
}
