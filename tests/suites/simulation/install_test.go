package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// version is one definition of post, the only tool of a server that comes while the story is told.
type version struct {
	tool     permission.Tool
	at       time.Time // before which no server had it
	accepted time.Time // of the first attempt of the admin at that; zero: there was none
}

// card names the set of tools that an admin accepts with a click.
func (v version) card() string {
	return "i-" + string(permission.ServerDigest([]permission.Tool{v.tool}))[:32]
}

// isAccepted reports whether it may have been accepted then.
func (v version) isAccepted(at time.Time) bool { return !v.accepted.IsZero() && !v.accepted.After(at) }

// wide are choices that also cover what is accepted later.
var wide = []chat.Choice{chat.AllowSession, chat.AllowReads, chat.AllowWrites, chat.AllowServer}

// installs reports whether a server comes in this story.
func (s *story) installs() bool { return s.seed%3 == 1 }

// install has the server come, say something else of its tool, or be accepted by the admin.
func (s *story) install() {
	s.mu.Lock()
	n := len(s.versions)
	s.mu.Unlock()
	switch s.rng.IntN(5) {
	case 0, 1:
		if n > 0 {
			s.accept(n - 1)
			return
		}
	case 2:
		s.sets("post", pick(s.rng, []string{"always", "never", "never"}))
		return
	}
	post := Tool{Server: "mail", Name: "post", Version: n, Run: s.work}
	s.mu.Lock()
	s.versions = append(s.versions, &version{tool: post.Spec().Tool, at: time.Now()})
	s.mu.Unlock()
	s.tell("mail has post in version %d", n)
	s.Tools.Put(post)
}

// tells is what befalls a message to the admin: half of those who send one die over it.
func (s *story) tells(op Op) Trouble {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calm || s.troubled["platform"].IntN(2) == 0 {
		return Trouble{}
	}
	s.doomed = op.Replica
	t := Transient(false)
	t.Until = after(lease)
	return t
}

// dooms kills who is about to tell the admin.
func (s *story) dooms() {
	s.mu.Lock()
	i := slices.IndexFunc(s.alive, func(r *Replica) bool { return r.Name == s.doomed })
	s.doomed = ""
	s.mu.Unlock()
	if i >= 0 {
		s.killed(s.alive[i])
	}
}

// accept has the admin accept a version, or what was there before it has come to be known.
func (s *story) accept(n int) {
	s.mu.Lock()
	v := s.versions[n]
	if v.accepted.IsZero() {
		v.accepted = time.Now()
	}
	s.mu.Unlock()
	s.tell("root accepts version %d", n)
	in := chat.Clicked{Envelope: s.Envelope(DM(Root), Root), Token: v.card(), Choice: chat.Accept}
	s.aside(func(rng *rand.Rand) { s.deliver(rng, in) })
}

// versionOf is the version of post that ran.
func (s *story) versionOf(e Effect) *version {
	i := slices.IndexFunc(s.versions, func(v *version) bool { return permission.CallDigest(e.Chat, v.tool, []byte(e.Args)) == e.Digest })
	if i < 0 {
		return nil
	}
	return s.versions[i]
}

// changed reports whether a version is certainly another one than what counted then: the admin was told of one before it, and had not begun to
// accept it. Such a tool asks, whatever was set.
func (s *story) changed(v *version, at time.Time) bool {
	if v == nil || v.isAccepted(at) {
		return false
	}
	return slices.ContainsFunc(s.World.Platform.Tellings(Root), func(t Telling) bool {
		return t.At.Before(v.at) && slices.ContainsFunc(s.versions, func(u *version) bool { return u.card() == t.View.Token })
	})
}

func (s *story) tellings(v *version) (n int) {
	for _, t := range s.World.Platform.Tellings(Root) {
		if t.View.Token == v.card() {
			n++
		}
	}
	return n
}

// hears waits until the admin was told of what the server has in the end, where they did nothing about it themselves: who died over that leaves
// it to another replica, which tries some minutes later.
func (s *story) hears() {
	n := len(s.versions)
	if n == 0 || s.seed%2 == 0 || !s.versions[n-1].accepted.IsZero() {
		return
	}
	for range 40 {
		if s.tellings(s.versions[n-1]) > 0 {
			return
		}
		<-time.After(time.Minute)
	}
	s.Errorf("the admin was never told of the last of %d versions", n)
}

// judgeInstalls: the admin was told of each set of tools once.
func (s *story) judgeInstalls() {
	for i, v := range s.versions {
		if n := s.tellings(v); n > 1 {
			s.Errorf("the admin was told %d times of version %d", n, i)
		}
	}
}
