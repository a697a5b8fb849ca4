package slack

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/core/chat"
)

// What is imported of a thread in which the bot is mentioned for the first time.
const (
	historyWithin = 1500 * time.Millisecond
	historyPage   = 999 // the most that one call gives, the earliest first. https://docs.slack.dev/reference/methods/conversations.replies
	namesAtOnce   = 8
)

// readHistory reads what others said in the thread before a message, and after since: untrusted text of its authors. left is how many of them are
// left out after the first, negative where nobody knows. Without it the message goes in all the same.
func (a *Adapter) readHistory(ctx context.Context, s inbound.MessagePosted, since string) (all []chat.Quote, left int) {
	ctx, cancel := context.WithTimeout(ctx, historyWithin)
	defer cancel()
	var page struct {
		Messages inbound.LooseList[inbound.Message] `json:"messages"`
		More     bool                               `json:"has_more"`
	}
	v := url.Values{"channel": {s.Thread.Channel}, "ts": {s.Thread.Thread}, "latest": {s.TS}, "limit": {strconv.Itoa(historyPage)}}
	if since != "" {
		v.Set("oldest", since)
	}
	err := a.form(ctx, methodReplies, v, &page)
	if err != nil {
		a.Logger.Warn("slack: a thread is answered without what was said in it before", "chat", s.Thread.Chat(), "err", faultOf(a.doubt(err)))
		return nil, 0
	}
	if page.More {
		a.Logger.Info("slack: a thread is too long for one call; its latest messages are not known", "chat", s.Thread.Chat())
	}
	kept, left := inbound.WorthQuoting(page.Messages, a.self, since, s.TS)
	a.lookUpAuthors(ctx, kept)
	for _, m := range kept {
		if text := m.AllText(a.nameOf); text != "" {
			all = append(all, a.quote(ctx, m, text))
		}
	}
	return all, left
}

// lookUpAuthors looks up the authors, as far as there is time.
func (a *Adapter) lookUpAuthors(ctx context.Context, msgs []inbound.Message) {
	var asking sync.WaitGroup
	room := make(chan struct{}, namesAtOnce)
	met := map[string]bool{}
	for _, m := range msgs {
		user := string(m.User)
		if user == "" || met[user] {
			continue
		}
		met[user] = true
		room <- struct{}{}
		asking.Go(func() {
			defer func() { <-room }()
			_, _ = a.lookUp(ctx, user)
		})
	}
	asking.Wait()
}

func (a *Adapter) quote(ctx context.Context, m inbound.Message, text string) chat.Quote {
	q := chat.Quote{Name: string(m.Name), Text: text}
	if m.User == "" || m.Bot != "" {
		q.Name = cmp.Or(q.Name, a.nameOf(string(m.User)), "a bot")
		return q
	}
	if name := a.nameOf(string(m.User)); name != "" {
		if by, err := a.lookUp(ctx, string(m.User)); err == nil { // remembered
			q.By, q.Name = by.User, name
			return q
		}
	}
	home := string(m.Team)
	if home == "" || home == a.self.Team {
		home = cmp.Or(a.self.Enterprise, a.self.Team)
	}
	q.By = userOf(home, string(m.User))
	return q
}
