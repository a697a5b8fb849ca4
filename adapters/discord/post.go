package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Post makes the turn's message in its place, and before it the thread, where that is about to begin. The same key posts once for
// some minutes, because Discord enforces its nonce; after that Seek finds what was made.
func (a *Adapter) Post(ctx context.Context, id chat.ID, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	p, me, err := a.where(ctx, id)
	if err != nil {
		return "", err
	}
	if err := a.beginThread(ctx, me, p); err != nil {
		return "", err
	}
	drawn, ref, err := a.post(ctx, me, p, key, turnShapes(surface.Quietly(m), a.alive), agent.Final)
	if err != nil {
		return "", err
	}
	// The sum is left out: what stands there may be an earlier attempt, which the nonce found.
	a.sent.Put(sentName(p, ref), surface.Drawn{Chars: render.Measure(m).Chars, At: a.now(), Level: drawn.level})
	return ref, nil
}

// sentName is a message's name in what is remembered of it.
func sentName(p place, ref chat.MessageRef) string { return p.room() + "/" + string(ref) }

// where is the place of a chat, once it is known who we are.
func (a *Adapter) where(ctx context.Context, id chat.ID) (place, self, error) {
	p, ok := placeOf(id)
	if !ok {
		return place{}, self{}, gone("the chat is not a place of Discord's")
	}
	me, err := a.me(ctx)
	return p, me, err
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

// post sends one message to a place, in the first shape that Discord takes.
func (a *Adapter) post(ctx context.Context, me self, p place, key chat.PostKey, of shapes, lane agent.Urgency) (drawn sketch, ref chat.MessageRef, err error) {
	looked := false
	drawn, err = a.try(of.marked(stampOf(key)), levelFull, func(s sketch) error {
		do := func() error {
			ref, err = a.create(ctx, me, p, key, s, lane)
			return err
		}
		err := a.inRoom(ctx, me, p, do)
		if codeOf(err) == codeUnknownChannel && p.Thread != "" && !looked {
			looked = true
			if err = a.rediscover(ctx, me, p); err == nil {
				err = a.inRoom(ctx, me, p, do)
			}
		}
		return err
	})
	if err != nil {
		return sketch{}, "", err
	}
	a.stamps.put(sentName(p, ref), stampOf(key), a.now())
	return drawn, ref, nil
}

// create makes one message. https://discord.com/developers/docs/resources/message#create-message
func (a *Adapter) create(ctx context.Context, me self, p place, key chat.PostKey, s sketch, lane agent.Urgency) (chat.MessageRef, error) {
	var made struct {
		ID string `json:"id"`
	}
	c := spending{verb: verbPost, app: me.Application, channel: p.room(), lane: lane}
	err := a.spent(ctx, c, func(ctx context.Context) error {
		body := s.naming(flagsShown)
		body.Nonce, body.Enforce = nonceOf(p.room(), key), true
		return a.restFiles(ctx, http.MethodPost, discordgo.EndpointChannelMessages(p.room()), body, s.Files, &made)
	})
	if err == nil && !isSnowflake(made.ID) {
		err = transient(errors.New("post: the answer names no message"))
	}
	return chat.MessageRef(made.ID), err
}

// Edit replaces the turn's message: as the answer to a click on it, where one waits for that, which no limit counts; and otherwise
// by PATCH. Progress that there is no room for comes back at once as [agent.FaultLater].
func (a *Adapter) Edit(ctx context.Context, id chat.ID, ref chat.MessageRef, m render.Message, u agent.Urgency) error {
	p, me, err := a.where(ctx, id)
	if err != nil {
		return err
	}
	if !isSnowflake(string(ref)) {
		return gone("the message is none of Discord's")
	}
	name, chars := sentName(p, ref), render.Measure(m).Chars
	of, start := turnShapes(m, a.alive), a.sent.Level(name)
	if stamp, ok := a.stamps.get(name, a.now()); ok {
		of = of.marked(stamp)
	}
	if first, ok := of(start); ok && a.sent.Same(name, first.sum(), a.now()) {
		return nil
	}
	c := a.editing(me, p, ref, u)
	c.rate, c.ends = a.sent.Growth(name, chars, a.now()), surface.Ends(m)
	s, err := a.try(of, start, func(s sketch) error {
		answered, err := a.viaClick(ctx, string(ref), s)
		if err != nil {
			return err
		}
		if answered {
			a.purse.Spared(ctx, c.spend())
			return nil
		}
		if err := a.restless(c, name); err != nil {
			return err
		}
		return a.inRoom(ctx, me, p, func() error {
			return a.spent(ctx, c, func(ctx context.Context) error {
				a.sent.Put(name, surface.Drawn{Level: s.level, Chars: chars, At: a.now()}) // what stands there is not known until the answer
				return a.restFiles(ctx, http.MethodPatch, discordgo.EndpointChannelMessage(p.room(), string(ref)), s.out(flagsShown), s.Files, nil)
			})
		})
	})
	if err != nil {
		return err
	}
	a.sent.Put(name, surface.Drawn{Sum: s.sum(), Chars: chars, At: a.now(), Level: s.level})
	return nil
}

// editing is what an edit spends. Messages older than an hour have a limit of their own.
func (a *Adapter) editing(me self, p place, ref chat.MessageRef, u agent.Urgency) spending {
	c := spending{verb: verbEdit, app: me.Application, channel: p.room(), lane: u, message: string(ref)}
	if isOld(string(ref), a.now()) {
		c.verb = verbOld
	}
	return c
}

// restless refuses progress of an old message that was drawn a moment ago.
func (a *Adapter) restless(c spending, name string) error {
	if c.verb != verbOld || c.lane != agent.Progress {
		return nil
	}
	d, ok := a.sent.Get(name)
	if left := paceOld - a.now().Sub(d.At); ok && left > 0 {
		return &agent.PlatformError{Kind: agent.FaultLater, RetryAfter: left, Cause: errors.New("edit: the message is older than an hour")}
	}
	return nil
}

// hugeText is from how many bytes on a 500 is taken for a refusal of the payload: Discord answers so above 10,170 bytes of text, and
// nobody knows whether that number stays. https://github.com/discord/discord-api-docs/issues/8554
const hugeText = 5000

// refusedShape reports whether a fault refuses the payload rather than the call.
func refusedShape(err error, s sketch) bool {
	return codeOf(err) == codeBadForm || statusOf(err) == http.StatusInternalServerError && s.level == levelFull && len(s.body) > hugeText
}

// try sends a message in its first shape that Discord takes, from a level on.
func (a *Adapter) try(of shapes, level int, do func(sketch) error) (sketch, error) {
	var last error
	for ; ; level++ {
		s, ok := of(level)
		if !ok {
			break
		}
		if err := errors.Join(s.err, check(s.payload)); err != nil {
			a.Logger.Error("discord: a message breaks a rule of Discord's; sending a simpler one", "level", level, "err", err)
			last = err
			continue
		}
		err := do(s)
		if !refusedShape(err, s) {
			return s, err
		}
		a.Logger.Error("discord: a message was refused; sending a simpler one", "level", level, "err", err)
		last = err
	}
	return sketch{}, forbidden(fmt.Errorf("no shape of the message is taken: %w", last))
}

// How far Seek looks: an attempt whose answer was lost is seconds old, or as old as an outage was long.
const (
	seekWithin = 6 * time.Hour
	seekPages  = 3
	maxStamps  = 4096
	seekPage   = 100 // https://discord.com/developers/docs/resources/message#get-channel-messages
)

// Seek looks for a message of ours that an earlier attempt with the same key made. What cannot be read is not searched: then the
// nonce alone keeps the message single.
func (a *Adapter) Seek(ctx context.Context, id chat.ID, key chat.PostKey) (chat.MessageRef, bool, error) {
	p, me, err := a.where(ctx, id)
	if err != nil {
		return "", false, err
	}
	c := spending{verb: verbRead, app: me.Application, channel: p.room(), lane: agent.Final}
	stamp, oldest, before := stampOf(key), a.now().Add(-seekWithin), ""
	for range seekPages {
		var page []json.RawMessage
		err := a.spent(ctx, c, func(ctx context.Context) error {
			at := fmt.Sprintf("%s?limit=%d", discordgo.EndpointChannelMessages(p.room()), seekPage)
			if before != "" {
				at += "&before=" + before
			}
			return a.rest(ctx, http.MethodGet, at, nil, &page)
		})
		switch codeOf(err) {
		case codeNoAccess, codeNoPermission, codeUnknownChannel: // the thread may not be made yet; posting will say what is wrong
			return "", false, nil
		}
		if err != nil {
			return "", false, err
		}
		for _, raw := range page {
			var m seen
			_ = json.Unmarshal(raw, &m) // what somebody else's message holds must not keep ours from being found
			if before = m.ID; m.Author.ID == me.User && m.has(stamp) {
				return chat.MessageRef(m.ID), true, nil
			}
		}
		if len(page) < seekPage || !isSnowflake(before) {
			return "", false, nil
		}
		if at, err := discordgo.SnowflakeTimestamp(before); err != nil || at.Before(oldest) {
			return "", false, nil
		}
	}
	return "", false, nil
}

// seen is what Seek reads of a message.
type seen struct {
	ID     string `json:"id"`
	Author struct {
		ID string `json:"id"`
	} `json:"author"`
	Components []numbered `json:"components"`
}

type numbered struct {
	ID json.RawMessage `json:"id"`
}

// has: anybody's bot may give its components any ID, so whose message it is counts too.
func (m seen) has(stamp int) bool {
	return slices.ContainsFunc(m.Components, func(c numbered) bool { return string(c.ID) == strconv.Itoa(stamp) })
}
