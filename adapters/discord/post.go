package discord

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Post makes the turn's message in its place, and before it the thread, where that is about to begin. The same key posts once for
// some minutes, because Discord enforces its nonce; after that Seek finds what was made.
func (a *Adapter) Post(ctx context.Context, id chat.ID, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	p, err := a.where(ctx, id)
	if err != nil {
		return "", err
	}
	if err := a.beginThread(ctx, p); err != nil {
		return "", err
	}
	drawn, ref, err := a.post(ctx, p, key, components.Turn(surface.Quietly(m), a.alive))
	if err != nil {
		return "", err
	}
	// The sum is left out: what stands there may be an earlier attempt, which the nonce found.
	a.sent.Put(sentName(p, ref), surface.Drawn{Chars: render.Measure(m).Chars, At: a.now(), Level: drawn.Level})
	return ref, nil
}

// sentName is a message's name in what is remembered of it.
func sentName(p ids.Place, ref chat.MessageRef) string { return p.Room() + "/" + string(ref) }

// where is the place of a chat, once it is known who we are.
func (a *Adapter) where(ctx context.Context, id chat.ID) (ids.Place, error) {
	p, ok := ids.PlaceOf(id)
	if !ok {
		return p, rest.Gone("the chat is not a place of Discord's")
	}
	_, err := a.me(ctx)
	return p, err
}

// hostIn reports whether a host is one of those; "*.example.com" stands for all that is below example.com.
func hostIn(of []string, host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(of, func(one string) bool {
		one = strings.ToLower(one)
		if below, ok := strings.CutPrefix(one, "*."); ok {
			return strings.HasSuffix(host, "."+below)
		}
		return one != "" && host == one
	})
}

// alive is which hosts the operator trusts; a message knows those that people brought. Looking at it makes Discord fetch what is alive.
func (a *Adapter) alive(host string) bool { return hostIn(a.LinkHosts, host) }

// post sends one message to a place, in the first rendition that Discord takes.
func (a *Adapter) post(ctx context.Context, p ids.Place, key chat.PostKey, of components.Renditions) (drawn components.Rendition, ref chat.MessageRef, err error) {
	drawn, err = a.try(components.Marked(of, stampOf(key)), surface.LevelFull, func(s components.Rendition) error {
		do := func() error {
			ref, err = a.create(ctx, p, key, s)
			return err
		}
		err := a.inRoom(ctx, p, do)
		if rest.CodeOf(err) == discordgo.ErrCodeUnknownChannel && p.Thread != "" {
			if err = a.rediscover(ctx, p); err == nil {
				err = a.inRoom(ctx, p, do)
			}
		}
		return err
	})
	if err != nil {
		return components.Rendition{}, "", err
	}
	a.stamps.Put(sentName(p, ref), stampOf(key), a.now())
	return drawn, ref, nil
}

// create makes one message. https://discord.com/developers/docs/resources/message#create-message
func (a *Adapter) create(ctx context.Context, p ids.Place, key chat.PostKey, s components.Rendition) (chat.MessageRef, error) {
	var made struct {
		ID string `json:"id"`
	}
	c := rest.Spending{Verb: rest.Post, Channel: p.Room(), Lane: agent.Final}
	body := s.OutNotifying(components.FlagsShown)
	body.Nonce, body.Enforce = nonceOf(p.Room(), key), true
	err := a.api.Paid(ctx, c, http.MethodPost, discordgo.EndpointChannelMessages(p.Room()), body, s.Uploads(), &made)
	if err == nil && !ids.IsSnowflake(made.ID) {
		err = rest.Transient(errors.New("post: the answer names no message"))
	}
	return chat.MessageRef(made.ID), err
}

// Edit replaces the turn's message: as the answer to a click on it, where one waits for that, which no limit counts; and otherwise
// by PATCH. Progress that there is no room for comes back at once as [agent.FaultLater].
func (a *Adapter) Edit(ctx context.Context, id chat.ID, ref chat.MessageRef, m render.Message, u agent.Urgency) error {
	p, err := a.where(ctx, id)
	if err != nil {
		return err
	}
	if !ids.IsSnowflake(string(ref)) {
		return rest.Gone("the message is none of Discord's")
	}
	name, chars := sentName(p, ref), render.Measure(m).Chars
	of, start := components.Turn(m, a.alive), a.sent.Level(name)
	if stamp, ok := a.stamps.Get(name, a.now()); ok {
		of = components.Marked(of, stamp)
	}
	of = of.Kept()
	if first, ok := of(start); ok && a.sent.Same(name, first.Sum(), a.now()) {
		return nil
	}
	c := rest.Spending{
		Verb: rest.Edit, Channel: p.Room(), Lane: u, Message: string(ref), Rate: a.sent.Growth(name, chars, a.now()), Ends: surface.Ends(m),
	}
	if rest.IsOld(string(ref), a.now()) { // those have a limit of their own
		c.Verb = rest.EditOld
	}
	s, err := a.try(of, start, func(s components.Rendition) error {
		answered, err := a.viaClick(ctx, string(ref), s)
		if err != nil {
			return err
		}
		if answered {
			a.api.Refund(ctx, c)
			return nil
		}
		if d, _ := a.sent.Get(name); c.Verb == rest.EditOld && c.Lane == agent.Progress { // progress that was drawn a moment ago
			if left := rest.PaceOld - a.now().Sub(d.At); left > 0 {
				return &agent.PlatformError{Kind: agent.FaultLater, RetryAfter: left, Cause: errors.New("edit: the message is older than an hour")}
			}
		}
		return a.inRoom(ctx, p, func() error {
			return a.api.Spent(ctx, c, func(ctx context.Context) error {
				a.sent.Put(name, surface.Drawn{Level: s.Level, Chars: chars, At: a.now()}) // what stands there is not known until the answer
				return a.api.CallFiles(ctx, http.MethodPatch, discordgo.EndpointChannelMessage(p.Room(), string(ref)), s.Out(components.FlagsShown), s.Uploads(), nil)
			})
		})
	})
	if err != nil {
		return err
	}
	a.sent.Put(name, surface.Drawn{Sum: s.Sum(), Chars: chars, At: a.now(), Level: s.Level})
	return nil
}

// hugeText is from how many bytes on a 500 is taken for a refusal of the payload: Discord answers so above 10,170 bytes of text, and
// nobody knows whether that number stays. https://github.com/discord/discord-api-docs/issues/8554
const hugeText = 5000

// refusedShape reports whether a fault refuses the payload rather than the call.
func refusedShape(err error, s components.Rendition) bool {
	return rest.CodeOf(err) == discordgo.ErrCodeInvalidFormBody || rest.RefusalIn(err).Status == http.StatusInternalServerError && s.Level == surface.LevelFull && len(s.Body) > hugeText
}

// try sends a message in its first rendition that Discord takes, from a level on.
func (a *Adapter) try(of components.Renditions, level int, do func(components.Rendition) error) (components.Rendition, error) {
	return of.Send(level, do, func(r components.Rendition, err error) bool {
		refused := refusedShape(err, r)
		if refused {
			a.Logger.Error("discord: a message was refused; sending a simpler one", "level", r.Level, "err", err)
		}
		return refused
	})
}

// How far Seek looks: an attempt whose answer was lost is seconds old, or as old as an outage was long.
const (
	seekWithin = 6 * time.Hour
	seekPages  = 3
	seekPage   = 100 // https://discord.com/developers/docs/resources/message#get-channel-messages
)

// Seek looks for a message of ours that an earlier attempt with the same key made. What cannot be read is not searched: then the
// nonce alone keeps the message single.
func (a *Adapter) Seek(ctx context.Context, id chat.ID, key chat.PostKey) (chat.MessageRef, bool, error) {
	p, err := a.where(ctx, id)
	if err != nil {
		return "", false, err
	}
	c := rest.Spending{Verb: rest.Read, Channel: p.Room(), Lane: agent.Final}
	stamp, oldest, before := strconv.Itoa(stampOf(key)), a.now().Add(-seekWithin), ""
	for range seekPages {
		var page []json.RawMessage
		at := fmt.Sprintf("%s?limit=%d", discordgo.EndpointChannelMessages(p.Room()), seekPage)
		if before != "" {
			at += "&before=" + before
		}
		err := a.api.Paid(ctx, c, http.MethodGet, at, nil, nil, &page)
		switch rest.CodeOf(err) {
		case discordgo.ErrCodeMissingAccess, discordgo.ErrCodeMissingPermissions, discordgo.ErrCodeUnknownChannel: // the thread may not be made yet; posting will say what is wrong
			return "", false, nil
		}
		if err != nil {
			return "", false, err
		}
		for _, raw := range page {
			var m struct {
				ID         string                         `json:"id"`
				Author     struct{ ID string }            `json:"author"`
				Components []struct{ ID json.RawMessage } `json:"components"`
			}
			_ = json.Unmarshal(raw, &m) // what somebody else's message holds must not keep ours from being found
			before = m.ID
			// Anybody's bot may give its components any ID, so whose message it is counts too.
			stamped := func(c struct{ ID json.RawMessage }) bool { return string(c.ID) == stamp }
			if m.Author.ID == a.self.User && slices.ContainsFunc(m.Components, stamped) {
				return chat.MessageRef(m.ID), true, nil
			}
		}
		if len(page) < seekPage || ids.Time(before).Before(oldest) {
			return "", false, nil
		}
	}
	return "", false, nil
}

// nonceOf is what Discord knows a post by for some minutes: the same is posted once. It takes 25 characters. Discord looks for it among
// all messages of the bot, wherever they stand, so the room is in it.
// https://discord.com/developers/docs/resources/message#create-message
func nonceOf(room string, key chat.PostKey) string {
	h := sha256.Sum256([]byte("nonce\x00" + room + "\x00" + string(key)))
	return hex.EncodeToString(h[:12])
}

// stampOf is what Seek knows a post by: the ID of its container, a positive 32-bit number.
// https://discord.com/developers/docs/components/reference#anatomy-of-a-component
func stampOf(key chat.PostKey) int {
	h := sha256.Sum256([]byte("stamp\x00" + string(key)))
	return max(int(binary.BigEndian.Uint32(h[:4])&0x7fffffff), 1)
}
