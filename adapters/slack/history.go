package slack

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"sync"

	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/chat"
)

var _ attach.Historian = (*Adapter)(nil)

// What is read of a thread.
const (
	historyPage = 999 // the most that one call gives, the earliest first. https://docs.slack.dev/reference/methods/conversations.replies
	namesAtOnce = 8
)

// Earlier implements [attach.Historian].
func (a *Adapter) Earlier(ctx context.Context, id chat.ID, before chat.MessageRef, e chat.Earlier) (all []chat.Quote, err error) {
	a, p, err := a.locate(ctx, id)
	if err != nil {
		return nil, calls.FaultOf(err)
	}
	var page struct {
		Messages inbound.LooseList[inbound.Message] `json:"messages"`
		More     bool                               `json:"has_more"`
	}
	v := url.Values{"channel": {p.Channel}, "ts": {p.Thread}, "latest": {string(before)}, "limit": {strconv.Itoa(historyPage)}}
	if e.Since != "" {
		v.Set("oldest", string(e.Since))
	}
	if err = a.form(ctx, calls.Replies, v, &page); err != nil {
		return nil, calls.FaultOf(a.doubt(err))
	}
	if page.More {
		a.Logger.Info("slack: a thread is too long for one call; its latest messages are not known", "chat", id)
	}
	quoted, left := inbound.WorthQuoting(page.Messages, a.self, string(e.Since), string(before))
	a.lookUpAuthors(ctx, quoted)
	for _, m := range quoted {
		if text := m.AllText(a.nameOf); text != "" {
			all = append(all, a.quote(ctx, m, text))
		}
	}
	return surface.FitQuotes(all, left), nil
}

func (a *Adapter) lookUpAuthors(ctx context.Context, msgs []inbound.Message) {
	authors := map[string]bool{}
	for _, m := range msgs {
		authors[string(m.User)] = true
	}
	var lookups sync.WaitGroup
	room := make(chan struct{}, namesAtOnce)
	for user := range authors {
		room <- struct{}{}
		lookups.Go(func() {
			defer func() { <-room }()
			_, _ = a.lookUp(ctx, user)
		})
	}
	lookups.Wait()
}

func (a *Adapter) quote(ctx context.Context, m inbound.Message, text string) chat.Quote {
	user := string(m.User)
	name := a.nameOf(user)
	if user == "" || m.Bot != "" {
		return chat.Quote{Name: cmp.Or(string(m.Name), name, "a bot"), Text: text}
	}
	if name != "" {
		if by, err := a.lookUp(ctx, user); err == nil { // remembered
			return chat.Quote{By: by.User, Name: name, Text: text}
		}
	}
	return chat.Quote{By: a.userAt(string(m.Team), user), Name: string(m.Name), Text: text}
}
