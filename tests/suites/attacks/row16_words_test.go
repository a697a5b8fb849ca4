package attacks

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// words is row 16 where a choice meant more than its words, or less.
func words() (out []attack) {
	narrow := map[string]struct {
		choice      chat.Choice
		first, next string // paths
	}{
		"values":    {chat.AllowExact, "/srv/a/x.txt", "/etc/passwd"},
		"directory": {chat.AllowPath, "/srv/a/x.txt", "/etc/passwd"},
	}
	for name, c := range narrow {
		for kind, path := range map[string]string{"": c.next, "control-": c.first} {
			out = append(out, everywhere(16, kind+"remembered-with-"+name, func(t *testing.T, w *world, surface string) {
				name := "c" + w.room()
				tool := "narrow-" + surface + "-" + string(c.choice) // one for each case: a person has one remembered choice about a tool
				if kind != "" {
					tool += "-control"
				}
				at := func(path string) reply {
					return wants(call("mix", tool, fmt.Sprintf(`{"case":%q,"path":%q}`, name, path)))
				}
				k := begin(t, w, surface, says("Hello."))
				k.over(1)
				k.name = name
				w.accepts(t, "mix", tool)
				k.again(ana, name+"-1", at(c.first))
				b := k.one(k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 }), "Allow once")
				for _, choice := range []chat.Choice{chat.Remember, c.choice} {
					if err := k.decide(ana, b, choice); err != nil {
						t.Fatalf("%s: %v", choice, err)
					}
				}
				k.over(2)
				other := elsewhere(t, w, surface, name+"-other", at(path))
				other.name = name
				if path == c.first {
					other.over(1)
					k.times(2)
					return
				}
				other.asking(1)
				other.denyAll()
				other.over(1)
				k.times(1)
			})...)
		}
	}
	out = append(out, everywhere(16, "remembered-with-uses", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, says("Hello."))
		k.over(1)
		w.accepts(t, "mix", "narrow-"+surface+"-uses")
		k.again(ana, k.name+"-2", wants(call("mix", "narrow-"+surface+"-uses", `{"path":"`+k.name+`"}`)))
		b := k.one(k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 }), "Allow once")
		if err := k.decide(ana, b, chat.Remember); err != nil {
			t.Fatal(err)
		}
		var no *decision.Refusal
		if err := k.decide(ana, b, chat.AllowUses); !errors.As(err, &no) || no.Say == "" {
			t.Fatalf("a number of calls was remembered: %v", err)
		}
		k.end()
	})...)
	// What is below a directory that a call lists is not what is beside it.
	for kind, next := range map[string]string{"": "/srv/archive", "control-": "/srv/docs/sub"} {
		out = append(out, everywhere(16, kind+"below-a-directory-that-is-listed", func(t *testing.T, w *world, surface string) {
			name := "c" + w.room()
			list := func(path string) reply {
				return wants(call("mix", "list_directory", fmt.Sprintf(`{"case":%q,"path":%q}`, name, path)))
			}
			k := begin(t, w, surface, list("/srv/docs"))
			k.name = name
			k.grants(ana, chat.AllowPath)
			k.again(ana, name+"-2", list(next))
			if kind != "" {
				k.over(2)
				k.times(2)
				return
			}
			k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
			k.denyAll()
			k.over(2)
			k.times(1)
		})...)
	}
	// A grant answers what waits that it covers, and nothing else of it.
	for kind, choice := range map[string]chat.Choice{"chat": chat.AllowChat, "hour": chat.AllowHour, "server": chat.AllowServer} {
		out = append(out, everywhere(16, "pending-answered-for-the-"+kind, func(t *testing.T, w *world, surface string) {
			name := "c" + w.room()
			one := func(tool string, n int) agent.ReplyCall {
				return call("mix", tool, fmt.Sprintf(`{"case":%q,"n":%d}`, name, n))
			}
			k := begin(t, w, surface, wants(one("put", 1), one("put", 2), one("put", 3), one("pair", 4), one("boom", 5)))
			k.name = name
			k.waiting(5)
			s := k.until("it can be allowed", func(s shot) bool { return len(s.labelled("Allow once")) > 0 })
			if err := k.decide(ana, s.labelled("Allow once")[0], choice); err != nil {
				t.Fatal(err)
			}
			k.waiting(2) // what it is not for
			k.denyAll()
			k.over(1)
			k.times(3)
		})...)
	}
	return out
}

// waiting waits until n calls wait for a person, whether or not the message has room for all their cards.
func (k *talk) waiting(n int) {
	k.t.Helper()
	until(k.t, fmt.Sprint(n, " calls wait"), func() bool {
		s, err := k.engine.Session(k.t.Context(), k.id())
		return err == nil && len(turn.OpenAsks(s)) == n
	})
}
