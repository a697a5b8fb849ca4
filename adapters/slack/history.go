package slack

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// What is imported of a thread in which the bot is mentioned for the first time.
const (
	historyWithin = 1500 * time.Millisecond
	historyPage   = 999 // the most that one call gives, the earliest first. https://docs.slack.dev/reference/methods/conversations.replies
	namesAtOnce   = 8
)

// before is what others said in the thread before a message, and after since: untrusted text of its authors. left is how many of them are
// left out after the first, negative where nobody knows. Without it the message goes in all the same.
func (a *Adapter) before(ctx context.Context, s spoken, since string) (all []chat.Quote, left int) {
	ctx, cancel := context.WithTimeout(ctx, historyWithin)
	defer cancel()
	var page struct {
		Messages lax[said] `json:"messages"`
		More     bool      `json:"has_more"`
	}
	v := url.Values{"channel": {s.at.Channel}, "ts": {s.at.Thread}, "latest": {s.ts}, "limit": {strconv.Itoa(historyPage)}}
	if since != "" {
		v.Set("oldest", since)
	}
	err := a.form(ctx, methodReplies, v, &page)
	if err != nil {
		a.Logger.Warn("slack: a thread is answered without what was said in it before", "chat", s.at.id(), "err", faultOf(a.doubt(err)))
		return nil, 0
	}
	if page.More {
		a.Logger.Info("slack: a thread is too long for one call; its latest messages are not known", "chat", s.at.id())
	}
	kept, left := worthQuoting(page.Messages, a.self, since, s.ts)
	a.meetAll(ctx, kept)
	for _, m := range kept {
		if text := m.whole(a.nameOf); text != "" {
			all = append(all, a.quote(ctx, m, text))
		}
	}
	return all, left
}

// worthQuoting picks what is quoted: the thread's first message, which says what it is about, and the newest of the others, all in
// their order. left is how many were left out between.
func worthQuoting(msgs []said, me self, since, before string) (kept []said, left int) {
	for _, m := range msgs {
		speech := (m.human() || m.Subtype == "bot_message") && !m.bySlack()
		if !m.ours(me) && speech && olderThan(since, string(m.TS)) && olderThan(string(m.TS), before) {
			kept = append(kept, m)
		}
	}
	slices.SortStableFunc(kept, func(x, y said) int { return compareTimestamps(string(x.TS), string(y.TS)) })
	if len(kept) > surface.MaxQuotes {
		left = len(kept) - surface.MaxQuotes
		kept = slices.Concat(kept[:1], kept[left+1:])
	}
	return kept, left
}

// meetAll looks up the authors, as far as there is time.
func (a *Adapter) meetAll(ctx context.Context, msgs []said) {
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
			_, _ = a.who(ctx, user)
		})
	}
	asking.Wait()
}

func (a *Adapter) quote(ctx context.Context, m said, text string) chat.Quote {
	q := chat.Quote{Name: string(m.Name), Text: text}
	if m.User == "" || m.Bot != "" {
		q.Name = cmp.Or(q.Name, a.nameOf(string(m.User)), "a bot")
		return q
	}
	if name := a.nameOf(string(m.User)); name != "" {
		if by, err := a.who(ctx, string(m.User)); err == nil { // remembered
			q.By, q.Name = by.User, name
			return q
		}
	}
	home := string(m.Team)
	if home == "" || home == a.self.Team {
		home = cmp.Or(a.self.Enterprise, a.self.Team)
	}
	q.By = person(home, string(m.User))
	return q
}

func olderThan(ts, than string) bool { return compareTimestamps(ts, than) < 0 }

// compareTimestamps orders message timestamps: seconds, a dot, six digits.
func compareTimestamps(a, b string) int {
	as, af, _ := strings.Cut(a, ".")
	bs, bf, _ := strings.Cut(b, ".")
	return cmp.Or(cmp.Compare(len(as), len(bs)), cmp.Compare(as, bs), cmp.Compare(af, bf))
}
