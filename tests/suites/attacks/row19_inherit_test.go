package attacks

import (
	"testing"

	"github.com/nodhq/nod/core/chat"
)

// inheritance is row 19: a grant is one chat's, for the requests of whoever gave it, and ends with what it was given for.
func inheritance() (out []attack) {
	granted := func(t *testing.T, w *world, surface string) *talk {
		k := begin(t, w, surface)
		k.allow("Allow for this chat")
		k.times(1)
		return k
	}
	asksAgain := func(k *talk, who person, turns int) {
		k.again(who, k.name+"-again", wants(write(k.name)))
		k.until("it asks again", func(s shot) bool { return s.asks == 1 && len(k.shots()) == turns })
		k.denyAll()
		k.over(turns)
		k.times(1)
	}
	out = append(out, everywhere(19, "another-chat", func(t *testing.T, w *world, surface string) {
		k := granted(t, w, surface)
		other := elsewhere(t, w, surface, k.name+"-other", wants(write(k.name)))
		other.asking(1)
		other.denyAll()
		other.over(1)
		k.times(1)
	})...)
	out = append(out, everywhere(19, "another-person", func(t *testing.T, w *world, surface string) { asksAgain(granted(t, w, surface), ben, 2) })...)
	out = append(out, everywhere(19, "after-reset", func(t *testing.T, w *world, surface string) {
		k := granted(t, w, surface)
		k.command(ana, "reset")
		asksAgain(k, ana, 2)
	})...)
	out = append(out, everywhere(19, "after-mode-always", func(t *testing.T, w *world, surface string) {
		k := granted(t, w, surface)
		k.command(ana, "mode", "always")
		asksAgain(k, ana, 2)
	})...)
	out = append(out, everywhere(19, "after-revoke", func(t *testing.T, w *world, surface string) {
		k := granted(t, w, surface)
		s := k.last()
		k.click(ana, s, "Revoke")
		asksAgain(k, ana, 2)
	})...)
	out = append(out, everywhere(19, "mode-never-of-a-stranger", func(t *testing.T, w *world, surface string) {
		k := granted(t, w, surface)
		k.command(ben, "mode", "never", "yes") // a stranger's word that prompts be turned off
		asksAgain(k, ben, 2)
	})...)
	return out
}

// command gives a command as the surface's adapter would, through the engine's one way in.
func (k *talk) command(who person, verb string, args ...string) {
	k.t.Helper()
	if err := k.engine.Accept(k.t.Context(), chat.Commanded{Envelope: chat.Envelope{Chat: k.id(), User: k.user(who), Name: string(who)}, Verb: verb, Args: args}); err != nil {
		k.t.Fatal(err)
	}
}

// user is a person as the chat's surface vouches for them.
func (k *talk) user(who person) chat.User {
	switch k.surface() {
	case "slack":
		return k.slackUser(who)
	case "discord":
		return k.discordUser(who)
	}
	if who == ada {
		return webAdmin()
	}
	u, err := chat.ParseUser(k.sessions[who].user)
	if err != nil {
		k.t.Fatal(err)
	}
	return u
}
