package attacks

import (
	"strings"
	"testing"
)

// onceIsOnce is row 16: a yes covers what it was said to, and nothing wider.
func onceIsOnce() (out []attack) {
	for name, next := range map[string]func(name string) reply{
		"the-same-call":   func(name string) reply { return wants(write(name)) },
		"other-arguments": func(name string) reply { return wants(call("box", "write", args(name, "n", "2"))) },
		"another-tool":    func(name string) reply { return wants(call("box", "always", `{"path":"`+name+`"}`)) },
		"another-server":  func(name string) reply { return wants(call("evil", "write", `{"path":"`+name+`"}`)) },
	} {
		out = append(out, everywhere(16, "once-then-"+name+"-in-the-same-turn", func(t *testing.T, w *world, surface string) {
			name := idOf(t)
			k := begin(t, w, surface, wants(write(name)), next(name))
			k.click(ana, k.asking(1), "Allow once")
			k.until("it asks again", func(s shot) bool { return s.asks == 1 && k.ran() == 1 })
			k.denyAll()
			k.over(1)
			k.times(1)
		})...)
		out = append(out, everywhere(16, "once-then-"+name+"-in-the-next-turn", func(t *testing.T, w *world, surface string) {
			name := idOf(t)
			k := begin(t, w, surface)
			k.allow("Allow once")
			k.again(ana, name+"-2", next(name))
			k.until("it asks again", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
			k.denyAll()
			k.over(2)
			k.times(1)
		})...)
		if name == "the-same-call" || name == "other-arguments" {
			continue // a grant for the chat is for the tool
		}
		out = append(out, everywhere(16, "chat-then-"+name, func(t *testing.T, w *world, surface string) {
			name := idOf(t)
			k := begin(t, w, surface)
			k.allow("Allow for this chat")
			k.again(ana, name+"-2", next(name))
			k.until("it asks again", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
			k.denyAll()
			k.over(2)
			k.times(1)
		})...)
	}
	out = append(out, everywhere(16, "approve-all-is-once", func(t *testing.T, w *world, surface string) {
		name := idOf(t)
		k := begin(t, w, surface, wants(write(name), call("box", "write", args(name, "n", "2"))))
		s := k.asking(2)
		k.sure(ana, s, k.one(s, "Approve all (2)…"))
		k.over(1)
		k.times(2)
		k.again(ana, name+"-2", wants(write(name)))
		k.until("it asks again", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
		k.denyAll()
		k.over(2)
		k.times(2)
	})...)
	// One press is not yet a yes to all: Discord's bot asks back, and Slack's client does because the button says so. The page asks by itself.
	for _, surface := range []string{"slack", "discord"} {
		out = append(out, on(16, surface, "approve-all-unconfirmed", func(t *testing.T, w *world) {
			name := idOf(t)
			k := begin(t, w, surface, wants(write(name), call("box", "write", args(name, "n", "2"))))
			s := k.asking(2)
			all := k.one(s, "Approve all (2)…")
			if surface == "slack" {
				if n := strings.Count(s.raw, `"confirm"`); n == 0 || !strings.Contains(s.raw[strings.Index(s.raw, all.slack.Value):], `"confirm"`) {
					t.Errorf("%d buttons ask back, and this one does not: %s", n, clip(s.raw, 2000))
				}
			} else {
				k.press(t, ana, s, all)
			}
			k.still(2)
			k.end()
		}))
	}
	// Where the operator withholds it, and where only an admin may decide, the wider yes is not offered, and a made-up one not taken.
	for _, tool := range []string{"nograntable", "guarded"} {
		out = append(out, everywhere(16, "no-chat-grant-for-"+tool, func(t *testing.T, w *world, surface string) {
			name := idOf(t)
			k := begin(t, w, surface, wants(call("box", tool, `{"path":"`+name+`"}`)))
			s := k.asking(1)
			if n := len(s.labelled("Allow for this chat")); n > 0 {
				t.Fatalf("it is offered: %q", s.labels())
			}
			k.refused(ada, s, wider(k.one(s, "Allow once")), "")
			k.still(1)
			k.end()
			k.again(ana, name+"-2", wants(call("box", tool, `{"path":"`+name+`"}`)))
			k.until("it asks again", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
			k.end()
		})...)
	}
	out = append(out, everywhere(16, "admin-only-is-not-the-requesters", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(call("box", "guarded", `{"path":"`+idOf(t)+`"}`)))
		s := k.asking(1)
		k.refused(ana, s, k.one(s, "Allow once"), "admin")
		k.still(1)
		k.end()
	})...)
	return out
}

// wider is the same button with the wider choice.
func wider(b button) button {
	b.choice = "allow_chat"
	b.slack.ActionID = "nod:allow_chat:1"
	b.discord.ID = "nod:allow_chat:" + b.ticket()
	return b
}
