package state

import (
	"errors"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// What was judged by other settings than there are is refused before anything is written; what was taken is not judged again.
func TestJudgedByOtherSettings(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *Store{
		"Redis":    func(t *testing.T) *Store { return openStore(t, Options{URL: startRedis(t)}) },
		"mini":     func(t *testing.T) *Store { s, _ := mini(t, Options{}); return s },
		"embedded": func(t *testing.T) *Store { return openEmbedded(t, t.TempDir(), Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			stop := func(op string) []agent.Keyed {
				return []agent.Keyed{{Op: agent.OpID(op), Event: turn.StopAsked{By: chat.User{Platform: "test", Key: "ana"}}}}
			}
			change := func(op string) *agent.Head {
				w := agent.Write{Chat: agent.SettingsChat, Events: []agent.Keyed{said(op)}}
				h := mustAppend(t, s, w).Head
				return &agent.Head{Seq: h.Seq, Tip: h.Tip}
			}
			refused := func(what string, w agent.Write, now agent.Head) {
				t.Helper()
				w.Chat = room
				got, err := s.Append(t.Context(), w)
				if !errors.Is(err, agent.ErrRules) || got.Settings == nil || got.Settings.Seq != now.Seq || got.Settings.Tip != now.Tip || got.Head != w.Known {
					t.Errorf("%s: %+v, %v", what, got, err)
				}
			}
			if !s.ChecksSettings() {
				t.Fatal("the settings are not checked")
			}
			none := &agent.Head{}
			w := mustAppend(t, s, agent.Write{Claim: "me", Judged: none, Events: []agent.Keyed{said("d 1")}})
			if w.Settings == nil || *w.Settings != *none {
				t.Errorf("without any: %+v", w.Settings)
			}
			w = mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Judged: none, Events: []agent.Keyed{started("w1")}})
			lease := mustAppend(t, s, agent.Write{Known: w.Head, Claim: "me"}).Lease
			first := change("an op")
			refused("a choice by none", agent.Write{Known: w.Head, Judged: none, Events: stop("c1")}, *first)
			refused("work by none", agent.Write{Known: w.Head, Lease: lease, Judged: none, Events: []agent.Keyed{started("w2")}}, *first)
			refused("a choice by another history", agent.Write{Known: w.Head, Judged: &agent.Head{Seq: 1, Tip: "x"}, Events: stop("c1")}, *first)
			choice := agent.Write{Known: w.Head, Judged: first, Events: stop("c1")}
			c := mustAppend(t, s, choice)
			work := agent.Write{Known: c.Head, Lease: lease, Judged: first, Events: []agent.Keyed{started("w2")}}
			w = mustAppend(t, s, work)
			second := change("d3")
			for what, x := range map[string]agent.Write{"choice": choice, "work": work} {
				if got := mustAppend(t, s, x); !got.Repeated || *got.Settings != *second {
					t.Errorf("the same %s again: %+v", what, got)
				}
			}
			mustAppend(t, s, agent.Write{Known: w.Head, Events: stop("c2")}) // not judged
		})
	}
}

// On a Cluster no script can look at the settings beside a chat: that is found out, and the caller has to read them.
func TestSettingsInAnotherSlot(t *testing.T) {
	t.Parallel()
	if near, far := keysOf(agent.SettingsChat), keysNamed(""); slot(near.head) == slot(far.log) {
		t.Fatal("one slot: nothing is found out")
	}
	s := openStore(t, Options{URL: cluster(t)})
	w := mustAppend(t, s, agent.Write{Judged: &agent.Head{Seq: 7}, Events: []agent.Keyed{said("d1")}})
	if s.ChecksSettings() || w.Settings != nil {
		t.Errorf("checked: %+v", w.Settings)
	}
}
