package slack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/core/chat"
)

// What is imported of a thread in which the bot is mentioned for the first time.
const (
	historyWithin = 1500 * time.Millisecond
	historyPage   = 999 // the most that one call gives, the earliest first. https://docs.slack.dev/reference/methods/conversations.replies
	maxQuotes     = 50
	maxQuoted     = 16 << 10 // bytes of text over all quotes
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
	return fitted(all, left)
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
	if len(kept) > maxQuotes {
		left = len(kept) - maxQuotes
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

// fitted keeps the first quote and the newest ones that there is room for, and says where how many are left out.
func fitted(all []chat.Quote, left int) []chat.Quote {
	if len(all) == 0 {
		return nil
	}
	first, rest := all[0], all[1:]
	if len(rest) > 0 {
		first.Text = cutText(first.Text, maxQuoted/2)
	} else {
		first.Text = cutText(first.Text, maxQuoted)
	}
	room := maxQuoted - len(first.Text)
	from := len(rest)
	for ; from > 0; from-- {
		q := &rest[from-1]
		if from == len(rest) { // the newest is there in any case
			q.Text = cutText(q.Text, room)
		}
		if len(q.Text) > room {
			break
		}
		room -= len(q.Text)
	}
	out := []chat.Quote{first}
	if left += from; left > 0 {
		out = append(out, chat.Quote{Name: botName, Text: fmt.Sprintf("[%d messages of this thread are left out here]", left)})
	}
	return append(out, rest[from:]...)
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

// cutText is s, or what of it fits into n bytes and how much more there is.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const words = 48 // room to say so
	n = max(n-words, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s [… %d more bytes left out]", s[:n], len(s)-n)
}

func olderThan(ts, than string) bool { return compareTimestamps(ts, than) < 0 }

// compareTimestamps orders message timestamps: seconds, a dot, six digits.
func compareTimestamps(a, b string) int {
	as, af, _ := strings.Cut(a, ".")
	bs, bf, _ := strings.Cut(b, ".")
	return cmp.Or(cmp.Compare(len(as), len(bs)), cmp.Compare(as, bs), cmp.Compare(af, bf))
}
