package attacks

import (
	"strings"
	"testing"
)

const secretWord = "only-for-this-chat"

// handles is row 26: what a chat's message carries opens nothing in another chat.
func handles() (out []attack) {
	out = append(out, everywhere(26, "details-of-another-chat", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(call("box", "write", args(idOf(t), "text", secretWord))))
		s := k.asking(1)
		other := elsewhere(t, w, surface, k.name+"-other", wants(call("box", "write", args(k.name, "n", "2"))))
		at := other.asking(1)
		var b button
		for _, label := range []string{"View details", "Show arguments"} {
			if all := s.labelled(label); len(all) > 0 {
				b = all[0]
			}
		}
		other.press(t, ben, at, b)
		other.refused(ben, at, other.one(at, "Allow once"), "") // by now the other click is served, too
		for _, x := range append(other.payloads(), other.opened(ben)...) {
			if strings.Contains(x, secretWord) {
				t.Errorf("Ben reads what is another chat's: %s", clip(x, 1000))
			}
		}
		other.end()
		k.end()
	})...)
	out = append(out, everywhere(26, "revoke-of-another-chat", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		k.allow("Allow for this chat")
		revoke := k.one(k.last(), "Revoke")
		other := elsewhere(t, w, surface, k.name+"-other")
		at := other.over(1)
		other.refused(ana, at, revoke, "")
		k.again(ana, k.name+"-2", wants(write(k.name)))
		k.over(2)
		k.times(2) // the grant stands
	})...)
	// Turns are counted in each chat by itself: at most the chat in which somebody presses is stopped, which they may.
	out = append(out, everywhere(26, "stop-of-another-chat", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		stop := k.one(s, "Stop")
		other := elsewhere(t, w, surface, k.name+"-other", wants(call("box", "write", args(k.name, "n", "2"))))
		at := other.asking(1)
		other.press(t, ana, at, stop)
		k.still(1)
		other.end()
		k.end()
	})...)
	out = append(out, everywhere(26, "all-of-another-chat", func(t *testing.T, w *world, surface string) {
		name := idOf(t)
		two := wants(write(name), call("box", "write", args(name, "n", "2")))
		k := begin(t, w, surface, two)
		s := k.asking(2)
		other := elsewhere(t, w, surface, name+"-other", two)
		at := other.asking(2)
		other.refused(ana, at, k.one(s, "Approve all (2)…"), "")
		k.still(2)
		other.still(2)
		other.end()
		k.end()
	})...)
	out = append(out, everywhere(26, "edit-of-another-chat", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		other := elsewhere(t, w, surface, k.name+"-other")
		at := other.over(1)
		b := k.one(s, "Edit arguments…")
		b.choice = "edit"
		other.refused(ben, at, b, "")
		if now := k.last(); now.asks != 1 || !strings.Contains(now.text, k.name) {
			t.Errorf("the call changed: %s", now.text)
		}
		k.still(1)
		k.end()
	})...)
	return out
}

// opened is what somebody has open in forms.
func (k *talk) opened(who person) (out []string) {
	if th, ok := k.place.(*thread); ok {
		for _, v := range th.w.slack.Views(inSlack[who]) {
			if strings.Contains(v.PrivateMetadata, th.root) {
				out = append(out, string(v.Blocks))
			}
		}
	}
	return out
}
