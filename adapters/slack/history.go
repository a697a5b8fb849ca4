package slack

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// What is imported of a thread in which the bot is mentioned for the first time.
const (
	historyWithin = 1500 * time.Millisecond
	historyPage   = 999 // the most that one call gives, the earliest first. https://docs.slack.dev/reference/methods/conversations.replies
	namesAtOnce   = 8
)

// before is what others said in the thread before the bot was mentioned in it: untrusted text of its authors. It is asked for
// once; without it the message goes in all the same.
func (a *Adapter) before(ctx context.Context, s spoken) []chat.Quote {
	ctx, cancel := context.WithTimeout(ctx, historyWithin)
	defer cancel()
	msgs, more, _, err := a.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
		ChannelID: s.at.Channel, Timestamp: s.at.Thread, Latest: s.ts, Limit: historyPage,
	})
	if err != nil {
		a.Logger.Warn("slack: a thread is answered without what was said in it before", "chat", s.at.id(), "err", faultOf(err))
		return nil
	}
	if more {
		a.Logger.Info("slack: a thread is too long for one call; its latest messages are not known", "chat", s.at.id())
	}
	kept, left := worthQuoting(msgs, a.self, s.ts)
	a.meetAll(ctx, kept)
	all := make([]chat.Quote, len(kept))
	for i, m := range kept {
		all[i] = a.quote(ctx, m)
	}
	return surface.FitQuotes(all, left)
}

// worthQuoting picks what is quoted: the thread's first message, which says what it is about, and the newest of the others, all in
// their order. left is how many were left out between.
func worthQuoting(msgs []slack.Message, me self, before string) (kept []slack.Message, left int) {
	for _, m := range msgs {
		own := m.User == me.User || (m.BotID != "" && m.BotID == me.Bot)
		speech := m.SubType == "" || m.SubType == "file_share" || m.SubType == "thread_broadcast" || m.SubType == "bot_message"
		if !own && speech && m.Text != "" && olderThan(m.Timestamp, before) {
			kept = append(kept, m)
		}
	}
	slices.SortStableFunc(kept, func(x, y slack.Message) int { return compareTimestamps(x.Timestamp, y.Timestamp) })
	if len(kept) > surface.MaxQuotes {
		left = len(kept) - surface.MaxQuotes
		kept = slices.Concat(kept[:1], kept[left+1:])
	}
	return kept, left
}

// meetAll looks up the authors, as far as there is time.
func (a *Adapter) meetAll(ctx context.Context, msgs []slack.Message) {
	var asking sync.WaitGroup
	room := make(chan struct{}, namesAtOnce)
	met := map[string]bool{}
	for _, m := range msgs {
		if m.User == "" || met[m.User] {
			continue
		}
		met[m.User] = true
		room <- struct{}{}
		asking.Go(func() {
			defer func() { <-room }()
			_, _ = a.who(ctx, m.User)
		})
	}
	asking.Wait()
}

func (a *Adapter) quote(ctx context.Context, m slack.Message) chat.Quote {
	q := chat.Quote{Name: m.Username, Text: readable(m.Text, a.nameOf)}
	if m.User == "" || m.BotID != "" {
		q.Name = cmp.Or(q.Name, a.nameOf(m.User), "a bot")
		return q
	}
	if name := a.nameOf(m.User); name != "" {
		if by, err := a.who(ctx, m.User); err == nil { // remembered
			q.By, q.Name = by.User, name
			return q
		}
	}
	home := m.Team
	if home == "" || home == a.self.Team {
		home = cmp.Or(a.self.Enterprise, a.self.Team)
	}
	q.By = person(home, m.User)
	return q
}

func olderThan(ts, than string) bool { return compareTimestamps(ts, than) < 0 }

// compareTimestamps orders message timestamps: seconds, a dot, six digits.
func compareTimestamps(a, b string) int {
	as, af, _ := strings.Cut(a, ".")
	bs, bf, _ := strings.Cut(b, ".")
	return cmp.Or(cmp.Compare(len(as), len(bs)), cmp.Compare(as, bs), cmp.Compare(af, bf))
}
