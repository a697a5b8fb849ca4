package attacks

import (
	"testing"

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
	out = append(out, inWorld("listed", everywhere(20, "requester-turns-prompts-off", func(t *testing.T, w *world, surface string) {
		// Whoever a chat belongs to may turn prompts off in it (C3), but that is no way around those who decide.
		k := begin(t, w, surface, wants(call("box", "guarded", `{"path":"`+idOf(t)+`"}`)))
		k.asking(1)
		k.end()
		k.command(ana, "mode", "never")
		k.again(ana, k.name+"-2", wants(call("box", "guarded", `{"path":"`+k.name+`"}`)))
		k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
		k.end()
	}))...)
	// In a world that asks for nothing, what only an admin may decide is still asked for.
	out = append(out, inWorld("never", everywhere(20, "admin-only-under-mode-never", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(call("box", "guarded", `{"path":"`+idOf(t)+`"}`)))
		s := k.asking(1)
		k.refused(ana, s, k.one(s, "Allow once"), "admin")
		k.end()
	}))...)
	return out
}
