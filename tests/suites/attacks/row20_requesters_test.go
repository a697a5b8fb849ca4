package attacks

import (
	"errors"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// onlyListed is a policy under which those who ask do not decide: Ben does.
func onlyListed(w *world, p *permission.Policy) {
	p.Approvers = permission.Approvers{Rule: permission.ApproversListed, Users: append(p.Approvers.Users, w.slackUser(ben), w.discordUser(ben))}
}

// neverAsks is a policy whose sessions ask for nothing, but for what only an admin may decide.
func neverAsks(_ *world, p *permission.Policy) { p.Mode = permission.ModeNever }

// requesters is row 20: where others decide, who asked does not.
func requesters() (out []attack) {
	for name, label := range map[string]string{"allow-once": "Allow once", "allow-for-chat": "Allow for this chat", "deny": "Deny", "extend": "+5 min"} {
		out = append(out, inWorld("listed", everywhere(20, "requester-"+name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface)
			s := k.asking(1)
			k.refused(ana, s, k.one(s, label), "can decide this")
			k.still(1)
			k.end()
		}))...)
	}
	out = append(out, inWorld("listed", everywhere(20, "requester-edits", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		k.edits(ana, s)
		k.still(1)
		k.end()
	}))...)
	// Whoever a chat belongs to may turn its questions off (C3). That is no way around other people, an admin's word, or a first look.
	for name, x := range map[string]struct {
		in, server, tool string
		accepted         bool
	}{
		"listed-people":    {"listed", "box", "write", true},
		"an-admins-always": {"", "box", "always", true},
		"several-people":   {"", "mix", "pair", true},
		"somebody-else":    {"", "mix", "others", true},
		"nobody-looked-at": {"", "box", "write", false},
	} {
		for by, off := range map[string]func(*talk){
			"":             func(k *talk) { k.command(ana, "mode", "never", "yes") },
			"-by-settings": func(k *talk) { k.commands(ana, "mode", "never", "yes") },
			"-by-an-admin": func(k *talk) { k.command(ada, "mode", "never", "yes") },
		} {
			out = append(out, inWorld(x.in, everywhere(20, "prompts-off"+by+"-"+name, func(t *testing.T, w *world, surface string) {
				k := begin(t, w, surface, says("Hello."))
				k.over(1)
				if x.accepted {
					w.accepts(t, x.server, x.tool)
				}
				off(k)
				k.again(ana, k.name+"-2", wants(call(x.server, x.tool, `{"path":"`+k.name+`"}`)))
				k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
				k.end()
			}))...)
		}
	}
	out = append(out, everywhere(20, "control-prompts-off", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, says("Hello."))
		k.over(1)
		w.accepts(t, "mix", "put")
		k.command(ana, "mode", "never", "yes")
		k.again(ana, k.name+"-2", wants(call("mix", "put", `{"path":"`+k.name+`"}`)))
		k.over(2)
		k.times(1)
	})...)
	// In a world that asks for nothing, what only an admin may decide is still asked for.
	out = append(out, inWorld("never", everywhere(20, "admin-only-under-mode-never", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(call("box", "guarded", `{"path":"`+idOf(t)+`"}`)))
		s := k.asking(1)
		k.refused(ana, s, k.one(s, "Allow once"), "admin")
		k.end()
	}))...)
	// Whoever may decide nothing gets nothing unasked either, and is not named as who can answer.
	for _, who := range []person{guest, ultra, xena, odd} {
		out = append(out, on(20, "slack", "visitor-asks-for-what-runs-unasked-"+string(who), func(t *testing.T, w *world) {
			k := begin(t, w, "slack", says("Hello."))
			k.over(1)
			k.again(who, k.name+"-2", wants(call("box", "free", `{"path":"`+k.name+`"}`)))
			s := k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
			if !strings.Contains(s.text, "An admin can answer") {
				t.Errorf("who can answer: %s", s.text)
			}
			k.never()
			k.click(ada, s, "Allow once")
			k.over(2)
			k.times(1)
		}))
	}
	return append(out, on(20, "slack", "control-member-asks-for-what-runs-unasked", func(t *testing.T, w *world) {
		k := begin(t, w, "slack", says("Hello."))
		k.over(1)
		k.again(ben, k.name+"-2", wants(call("box", "free", `{"path":"`+k.name+`"}`)))
		k.over(2)
		k.times(1)
	}))
}

// accepts has Ada accept a tool as it is now.
func (w *world) accepts(t *testing.T, server, name string) {
	t.Helper()
	set := must(w.engine.Settings(t.Context()))(t)
	pin, known := set.Pin(permission.Tool{Server: server, Name: name})
	if !known {
		t.Fatalf("nothing is known of %s of %s", name, server)
	}
	by := chat.Envelope{User: webAdmin(), Name: string(ada), Delivery: chat.Delivery("accept" + w.room())}
	if _, err := w.engine.ChangeAsAdmin(t.Context(), by, "", permission.Accept(pin.Tool)); err != nil && !errors.Is(err, agent.ErrUnchanged) {
		t.Fatal(err)
	}
}

// commands gives a command of the settings, as a slash command or the settings page would.
func (k *talk) commands(who person, words ...string) {
	k.t.Helper()
	if _, err := k.settings.Permissions(k.t.Context(), k.envelope(who), words); err != nil {
		k.t.Fatal(err)
	}
}
