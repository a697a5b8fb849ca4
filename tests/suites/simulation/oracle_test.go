package simulation

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// judge compares what the tool server, the platform and the model saw with what people did. nod is asked nothing.
func (s *story) judge() {
	started := map[turn.RunID]time.Time{}
	s.redis.locked(func() { maps.Copy(started, s.redis.started) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.judgeRuns(started)
	s.judgeHalts(started)
	s.judgeElicitations()
	s.judgeAccounts()
	s.judgePages()
	s.judgeInstalls()
	s.judgeMessages()
	s.judgeWords()
	s.judgeContexts()
}

// judgeRuns: nothing ran twice, or without an approval that stood.
func (s *story) judgeRuns(started map[turn.RunID]time.Time) {
	runs, same := map[turn.CallID]int{}, map[string]int{}
	for _, e := range s.Tools.Effects() {
		runs[e.Call]++
		same[e.Chat.Key+e.Name+e.Args]++
		if n := 1 + s.tokens(func(x *click) bool { return x.on.call == e.Call && x.choice == chat.RunAgain }); runs[e.Call] > n {
			s.Errorf("call %s of %s(%s) ran %d times", e.Call, e.Name, e.Args, runs[e.Call])
		}
		again := s.tokens(func(x *click) bool {
			return x.on.Of == e.Name && x.on.Chat == e.Chat && (x.choice == chat.RunAgain || x.choice == chat.AskAgain)
		})
		if n := 1 + again; same[e.Chat.Key+e.Name+e.Args] > n && !strings.Contains(e.Args, "edited") {
			s.Errorf("%s(%s) ran %d times in %s", e.Name, e.Args, same[e.Chat.Key+e.Name+e.Args], e.Chat.Key)
		}
		start, recorded := started[e.Run]
		if !recorded {
			s.Errorf("%s(%s) ran, and its start was not recorded", e.Name, e.Args)
			continue
		}
		if s.asks(e, start) && !s.allowed(e, start) {
			s.Errorf("%s(%s), call %s, ran in %s and nobody allowed it", e.Name, e.Args, e.Call, e.Chat.Key)
		}
	}
}

// tokens counts the askings that clicks answered.
func (s *story) tokens(match func(*click) bool) int {
	seen := map[string]bool{}
	for _, x := range s.clicks {
		if match(x) {
			seen[x.on.Token] = true
		}
	}
	return len(seen)
}

// asks reports whether a call certainly needed somebody's approval when it started.
func (s *story) asks(e Effect, start time.Time) bool {
	since := time.Time{} // it asks at least from here
	asks := e.Name != "read" && e.Name != "touch"
	for _, x := range s.settings {
		if x.tool == e.Name && x.ask == "always" && !x.taken.IsZero() && x.taken.Before(start) {
			asks, since = true, later(since, x.at)
		}
	}
	if s.changed(s.versionOf(e), start) {
		return true
	}
	return asks && !slices.ContainsFunc(s.settings, func(y *setting) bool { // perhaps: it may still have been on its way
		return y.tool == e.Name && y.ask == "never" && !y.at.After(start) && (y.taken.IsZero() || !y.taken.Before(since))
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// allowed reports whether somebody who may had allowed it, or given leave for all such calls, and it stood when the call started.
func (s *story) allowed(e Effect, start time.Time) bool {
	return slices.ContainsFunc(s.clicks, func(x *click) bool {
		if x.at.After(start) || x.by == eve || x.on.Chat != e.Chat {
			return false
		}
		if v := s.versionOf(e); v != nil && x.at.Before(v.at) && !(v.isAccepted(start) && slices.Contains(wide, x.choice)) { // it was allowed as it was before
			return false
		}
		switch x.choice {
		case chat.AllowOnce:
			return x.on.call == e.Call && s.stands(x, start) && compact(x.on.args) == compact(e.Args)
		case chat.ApproveAll:
			return true
		case chat.AllowChat, chat.AllowExact, chat.AllowHour, chat.AllowUses, chat.AllowSession, chat.AllowPath, chat.AllowReads, chat.AllowWrites, chat.AllowServer:
			return s.stands(x, start) && !slices.ContainsFunc(s.clicks, func(y *click) bool {
				return y.choice == chat.Revoke && y.on.Chat == e.Chat && !y.taken.IsZero() && y.at.After(x.at) && y.taken.Before(start) && y.on.Token == "" // which one it ends is not seen
			})
		default:
			return false
		}
	})
}

// stands reports whether nobody is known to have denied the asking before that click, or to have undone it afterwards.
func (s *story) stands(x *click, start time.Time) bool {
	return !slices.ContainsFunc(s.clicks, func(y *click) bool {
		if y.on.Token != x.on.Token || y.taken.IsZero() {
			return false
		}
		return y.choice == chat.Deny && y.taken.Before(x.at) || y.choice == chat.Undo && y.taken.Before(start)
	})
}

// alive are choices that must not stand on what is over.
var alive = []chat.Choice{
	chat.AllowOnce, chat.AllowChat, chat.Deny, chat.Stop, chat.Leave, chat.Happened, chat.RunAgain, chat.ApproveAll, chat.DenyAll, chat.Undo, chat.Edit, chat.Extend, chat.Answer, chat.Decline,
}

// judgeMessages: every message is final and asks nothing.
func (s *story) judgeMessages() {
	for _, id := range chats {
		for _, m := range s.World.Platform.Messages(id) {
			if !over(m.Now()) {
				s.Errorf("a message in %s is still %s:\n%s", id.Key, m.Now().State, render.PlainText(m.Now()))
				continue
			}
			for _, b := range buttonsOf(m, m.Now()) {
				if slices.Contains(alive, b.Choice) {
					s.Errorf("a message in %s is over and offers %s:\n%s", id.Key, b.Choice, render.PlainText(m.Now()))
				}
			}
		}
	}
}

// judgeWords: the model heard everything that was said and taken, once, unless a stop may have taken it along.
func (s *story) judgeWords() {
	for _, x := range s.said {
		heard := 0
		for _, h := range s.Model.Heard() {
			n := 0
			for _, u := range h.Talk {
				if u.Role == turn.RoleUser && strings.Contains(u.Text, "do "+itoa(x.n)+": ") {
					n++
				}
			}
			heard = max(heard, n)
		}
		switch {
		case heard > 1:
			s.Errorf("message %d was heard %d times in one talk", x.n, heard)
		case heard == 0 && x.delivered && !s.excused(x):
			s.Errorf("message %d of %s in %s was taken, and the model never heard it", x.n, x.by.Key, x.chat.Key)
		}
	}
}

// judgeContexts: what the model is asked about came with what was said before it, and nothing else, or with a word that this cannot be read.
func (s *story) judgeContexts() {
	for _, h := range s.Model.Heard() {
		i := -1
		for j, u := range h.Talk { // the open turn's newest
			if u.Role == turn.RoleUser {
				i = j
			}
		}
		u := h.Talk[i]
		for _, x := range s.said {
			if !strings.HasPrefix(u.Text, "do "+itoa(x.n)+": ") {
				continue
			}
			var want []string
			if x.leans() {
				want = []string{told(x.message), text.EarlierUnread}
			}
			if x.leans() != (len(u.Context) == 1) || len(u.Context) == 1 && !slices.Contains(want, u.Context[0].Text) {
				s.Errorf("the model was asked about message %d with %+v said before it", x.n, u.Context)
			}
		}
	}
}

func (s *story) excused(x *said) bool {
	return s.halted || slices.ContainsFunc(s.halts, func(h *halt) bool { return h.over.IsZero() || h.over.Add(known).After(x.at) }) || slices.ContainsFunc(s.stops, func(y *stopped) bool {
		return y.chat == x.chat && (y.ended.IsZero() || y.ended.After(x.at))
	})
}
