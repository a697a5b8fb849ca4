package attacks

import (
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// quorums is row 20 where several have to agree, or somebody else than who asked.
func quorums() (out []attack) {
	pair := func(name string) agent.ReplyCall { return call("mix", "pair", `{"path":"`+name+`"}`) }
	for name, again := range map[string]func(k *talk, s shot, b button){
		"by-another-click": func(k *talk, _ shot, b button) { k.press(k.t, ana, k.last(), b) },
		"by-the-engine":    func(k *talk, _ shot, b button) { _ = k.decide(ana, b, chat.AllowOnce) },
		"by-a-stale-card":  func(k *talk, s shot, b button) { k.press(k.t, ana, s, b) },
		"by-another-choice": func(k *talk, s shot, b button) {
			k.press(k.t, ana, k.last(), as(b, chat.AllowChat))
			_ = k.decide(ana, b, chat.AllowChat)
		},
		"for-the-server": func(k *talk, s shot, b button) { _ = k.decide(ana, b, chat.AllowServer) },
		"for-an-hour":    func(k *talk, s shot, b button) { _ = k.decide(ana, b, chat.AllowHour) },
		"all-at-once": func(k *talk, s shot, b button) {
			for range 20 {
				_ = k.decide(ana, b, chat.AllowOnce)
			}
		},
		"with-groups-of-hers": func(k *talk, s shot, b button) {
			env := k.envelope(ana)
			env.Name, env.Groups = "Ada", []chat.User{k.user(ada)}
			_, _ = k.engine.Decide(k.t.Context(), chat.Clicked{Envelope: env, Token: b.ticket(), Choice: chat.AllowOnce})
		},
	} {
		out = append(out, everywhere(20, "the-same-person-twice-"+name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(pair(idOf(t))))
			s := k.asking(1)
			b := k.one(s, "Allow once")
			if err := k.decide(ana, b, chat.AllowOnce); err != nil {
				t.Fatalf("her first yes: %v", err)
			}
			again(k, s, b)
			k.still(1)
			k.end()
		})...)
	}
	out = append(out, everywhere(20, "control-two-people", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(pair(idOf(t))))
		b := k.one(k.asking(1), "Allow once")
		for _, p := range []person{ana, ada} {
			if err := k.decide(p, b, chat.AllowOnce); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
		}
		k.over(1)
		k.times(1)
	})...)
	for _, choice := range append([]chat.Choice{chat.AllowOnce}, wide...) {
		for _, who := range []person{ana, ada} { // whoever asked, an admin too
			surfacesOf := surfaces
			if who == ada {
				surfacesOf = surfaces[:2] // on the web a chat is one person's: Ana's
			}
			for _, on := range surfacesOf {
				out = append(out, attack{row: 20, surface: on.name, name: "requester-may-not-" + string(choice) + "-as-" + slug(string(who)), run: func(t *testing.T, w *world) {
					name := idOf(t)
					k := begin(t, w, on.name, says("Hello."))
					k.over(1)
					k.again(who, name+"-2", wants(call("mix", "others", `{"path":"`+name+`"}`)))
					s := k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
					k.denied(who, s, k.one(s, "Allow once"), choice)
					k.still(1)
					k.stops(who)
				}})
			}
		}
	}
	return out
}

// stops ends the turn where nobody who is here may decide.
func (k *talk) stops(who person) {
	k.t.Helper()
	s := k.last()
	k.press(k.t, who, s, k.one(s, "Stop"))
	k.over(len(k.shots()))
	k.never()
}
