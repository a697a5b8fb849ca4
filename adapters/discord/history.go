package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/backfill"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

var _ attach.Historian = (*Adapter)(nil)

// wording is what a person wrote, as they see it, without the mention it begins with.
func (a *Adapter) wording(m *inbound.Message) string {
	own := a.in.channels.ownRole(string(m.Guild))
	return inbound.PlainText(inbound.WithoutMention(string(m.Content), a.self.User, own), a.namesIn(m))
}

// namesIn are the names that a message brings, and those of roles and channels that are known anyway. Nobody is asked.
func (a *Adapter) namesIn(m *inbound.Message) inbound.Names {
	return inbound.Names{
		User: func(id string) string {
			if id == a.self.User {
				return text.Product
			}
			for i := range m.Mentions {
				if u := &m.Mentions[i]; string(u.ID) == id {
					return inbound.DisplayName(&u.Account, u.Member)
				}
			}
			return ""
		},
		Role: a.in.channels.roleName,
		Channel: func(id string) string {
			k, _ := a.in.channels.get(id, a.now())
			return k.Name
		},
	}
}

// beside is what a message shows of others: the message that it replies to, one that it forwards, what stands below it. All of it is
// untrusted text of its authors.
func (a *Adapter) beside(s userMessage) (all []chat.Quote) {
	if r := s.m.Referenced; r != nil && (!s.hasLog || !r.WrittenBy(a.self.User)) {
		if q, ok := r.Quote(s.at.Guild, a.namesIn(r)); ok {
			all = append(all, q)
		}
	}
	quote := func(name, words string, of *inbound.Message) {
		if text := inbound.PlainText(words, a.namesIn(of)); text != "" {
			all = append(all, chat.Quote{Name: name, Text: text})
		}
	}
	for _, snap := range s.m.Snapshots {
		if snap.Message != nil {
			quote("a forwarded message", snap.Message.Words(), snap.Message)
		}
	}
	quote("an attachment of this message", strings.Join(s.m.Beside(), "\n"), s.m)
	return surface.FitQuotes(all, 0)
}

// Earlier implements [attach.Historian]: a thread's first message, which says what it is about, and the newest of the others, in their order.
func (a *Adapter) Earlier(ctx context.Context, id chat.ID, before chat.MessageRef, e chat.Earlier) (all []chat.Quote, err error) {
	p, _ := ids.PlaceOf(id)
	page, full, err := a.fetch(ctx, p.Thread, url.Values{"before": {string(before)}, "limit": {strconv.Itoa(surface.MaxQuotes)}})
	if err != nil {
		return nil, err
	}
	since, left := string(e.Since), 0
	if full >= surface.MaxQuotes && len(page) > 0 && ids.Older(since, string(page[0].ID)) {
		left = -1 // nobody knows how many
	}
	if since != "" {
		page = slices.DeleteFunc(page, func(m *inbound.Message) bool { return !ids.Older(since, string(m.ID)) })
	} else if start := a.starter(ctx, p, page); start != nil {
		page = append([]*inbound.Message{start}, page...)
	}
	for _, m := range page {
		if m.WrittenBy(a.self.User) {
			continue
		}
		if q, ok := m.Quote(p.Guild, a.namesIn(m)); ok {
			all = append(all, q)
		}
	}
	return surface.FitQuotes(all, left), nil
}

// starter is the message that a thread hangs on, which stands in the channel. The thread's own first message points at it.
func (a *Adapter) starter(ctx context.Context, p ids.Place, page []*inbound.Message) *inbound.Message {
	for _, m := range page {
		if m.Type == discordgo.MessageTypeThreadStarterMessage && m.Referenced != nil {
			return m.Referenced
		}
		if string(m.ID) == p.Thread { // a forum's: it stands in the thread
			return nil
		}
	}
	var raw json.RawMessage
	m := new(inbound.Message)
	err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointChannelMessage(p.Channel, p.Thread), nil, &raw)
	if err == nil {
		err = inbound.Decode(raw, m)
	}
	if err != nil { // a thread may hang on nothing, and its message may be gone
		a.Logger.Debug("discord: what a thread is about is not known", "chat", p.Chat(), "err", err)
		return nil
	}
	return m
}

// fetch gets messages of a room, the oldest first. n is how many Discord gave, those that cannot be read too.
func (a *Adapter) fetch(ctx context.Context, room string, query url.Values) (out []*inbound.Message, n int, err error) {
	var raw []json.RawMessage
	if err := a.api.Call(ctx, http.MethodGet, discordgo.EndpointChannelMessages(room)+"?"+query.Encode(), nil, &raw); err != nil {
		return nil, 0, err
	}
	for _, r := range raw {
		m := new(inbound.Message)
		if inbound.Decode(r, m) == nil && ids.IsSnowflake(string(m.ID)) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(x, y *inbound.Message) int { return ids.Compare(string(x.ID), string(y.ID)) })
	return out, len(raw), nil
}

// fetchMissed gets a page of what was said in a room after a message, to be taken as if it came now.
func (a *Adapter) fetchMissed(ctx context.Context, room, after string) (page []backfill.Message, got int, err error) {
	c, err := a.channelOf(ctx, room)
	if err != nil {
		return nil, 0, err
	}
	all, got, err := a.fetch(ctx, room, url.Values{"after": {after}, "limit": {strconv.Itoa(backfill.PageSize)}})
	for _, m := range all {
		m.Channel, m.Guild = inbound.LooseString(room), inbound.LooseString(c.Guild) // what was fetched does not say
		page = append(page, backfill.Message{ID: string(m.ID), Take: func(ctx context.Context) (bool, error) {
			ctx, cancel := context.WithTimeout(ctx, recordWithin)
			defer cancel()
			return a.hear(ctx, m)
		}})
	}
	return page, got, err
}
