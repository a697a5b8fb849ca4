package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// What is imported of what was said before the bot was called.
const (
	historyWithin = 1500 * time.Millisecond
)

// before is what others said before, as far as the message leans on it: what a thread says that the bot has not taken, the message that
// is replied to, one that is forwarded. All of it is untrusted text of its authors. It is asked for once; without it the message
// goes in all the same.
func (a *Adapter) before(ctx context.Context, s spoken) []chat.Quote {
	var all []chat.Quote
	left := 0
	if s.at.Thread != "" && !s.begins && (!s.known || s.since != "" && older(s.since, string(s.m.ID))) {
		all, left = a.history(ctx, s)
	}
	if r := s.m.Referenced; r != nil && (!s.known || !a.wrote(r)) {
		r.Guild = loose(s.guild)
		if q, ok := a.quote(r); ok && !slices.Contains(all, q) {
			all = append(all, q)
		}
	}
	for _, snap := range s.m.Snapshots {
		if snap.Message == nil {
			continue
		}
		snap.Message.Guild = loose(s.guild)
		if text := readable(snap.Message.words(), a.namesIn(snap.Message)); text != "" {
			all = append(all, chat.Quote{Name: "a forwarded message", Text: text})
		}
	}
	return surface.FitQuotes(all, left)
}

// history is what was said in a thread since s.since, or from its beginning: its first message, which says what it is about, and the
// newest of the others, in their order.
// left is negative where some were left out between: nobody knows how many.
func (a *Adapter) history(ctx context.Context, s spoken) (all []chat.Quote, left int) {
	ctx, cancel := context.WithTimeout(ctx, historyWithin)
	defer cancel()
	page, full, err := a.fetch(ctx, s.at.Thread, url.Values{"before": {string(s.m.ID)}, "limit": {strconv.Itoa(surface.MaxQuotes)}})
	if err != nil {
		a.Logger.Warn("discord: a thread is answered without what was said in it before", "chat", s.at.id(), "err", err)
		return nil, 0
	}
	if full >= surface.MaxQuotes && len(page) > 0 && older(s.since, string(page[0].ID)) {
		left = -1 // nobody knows how many
	}
	if s.since != "" {
		page = slices.DeleteFunc(page, func(m *message) bool { return !older(s.since, string(m.ID)) })
	} else if start := a.starter(ctx, s.at, page); start != nil {
		page = append([]*message{start}, page...)
	}
	for _, m := range page {
		m.Guild = loose(s.guild)
		if a.wrote(m) {
			continue
		}
		if q, ok := a.quote(m); ok {
			all = append(all, q)
		}
	}
	return all, left
}

// starter is the message that a thread hangs on, which stands in the channel. The thread's own first message points at it.
func (a *Adapter) starter(ctx context.Context, p place, page []*message) *message {
	for _, m := range page {
		if m.Type == typeStarter && m.Referenced != nil {
			return m.Referenced
		}
		if string(m.ID) == p.Thread { // a forum's: it stands in the thread
			return nil
		}
	}
	var raw json.RawMessage
	m := new(message)
	err := a.rest(ctx, http.MethodGet, discordgo.EndpointChannelMessage(p.Channel, p.Thread), nil, &raw)
	if err == nil {
		err = decode(raw, m)
	}
	if err != nil { // a thread may hang on nothing, and its message may be gone
		a.Logger.Debug("discord: what a thread is about is not known", "chat", p.id(), "err", err)
		return nil
	}
	return m
}

// wrote reports whether the bot itself did.
func (a *Adapter) wrote(m *message) bool {
	return m.Author != nil && string(m.Author.ID) == a.self.User
}

// quote is a message as text of its author.
func (a *Adapter) quote(m *message) (q chat.Quote, ok bool) {
	switch m.Type {
	case typeDefault, typeReply, 20, 23: // 20 and 23 are answers of programs to commands
	default:
		return chat.Quote{}, false
	}
	q.Text = readable(m.words(), a.namesIn(m))
	if m.Author == nil || q.Text == "" {
		return q, q.Text != ""
	}
	q.Name = calledIn(m.Author, m.Member)
	if !m.Author.Bot && m.Webhook == "" {
		q.By = person(string(m.Guild), string(m.Author.ID))
	}
	q.Name = cmp.Or(q.Name, "a bot")
	return q, true
}
