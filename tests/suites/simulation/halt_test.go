package simulation

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// halt is one time in which everything is halted.
type halt struct {
	taken   time.Time // when it was certainly on record; zero: that is not known
	resumed time.Time // of the first attempt to resume
	over    time.Time // when that was certainly on record
	stood   []Message // what asked people as it was taken, and nobody had answered
}

// known is how long after a resume every replica knows of it, where nothing breaks.
const known = time.Second

// halt has the admin halt everything, and resume after a while, or only once nothing breaks any more.
func (s *story) halt() {
	h := &halt{}
	s.mu.Lock()
	n := len(s.halts)
	again := n > 0 && s.halts[n-1].over.IsZero()
	if !again {
		s.halts = append(s.halts, h)
	}
	s.mu.Unlock()
	last, wait := s.rng.IntN(3) == 0, time.Duration(s.rng.IntN(int(lease)))
	if again {
		return
	}
	s.aside(func(rng *rand.Rand) {
		s.halting(rng, true)
		s.mu.Lock()
		h.taken, h.stood = time.Now(), s.unanswered()
		s.mu.Unlock()
		if !last {
			<-time.After(wait)
			s.resume(rng, h)
		}
	})
	for range 3 { // at the same moment
		s.click()
	}
}

// halting has the admin halt everything, or resume.
func (s *story) halting(rng *rand.Rand, halt bool) {
	env := s.Envelope(Room, Root)
	s.tell("root sets that everything is halted: %v", halt)
	s.attempt(rng, changes(env, permission.Halting(halt)), env)
	s.tell("it is taken that everything is halted: %v", halt)
}

func (s *story) resume(rng *rand.Rand, h *halt) {
	s.mu.Lock()
	h.resumed = time.Now()
	s.mu.Unlock()
	s.halting(rng, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	h.over = time.Now()
}

// unanswered are the messages that ask something, for not so long that it may be over, and in whose chats nobody pressed anything since they are there.
func (s *story) unanswered() (out []Message) {
	for _, id := range chats {
		for _, m := range s.World.Platform.Messages(id) {
			asks := slices.ContainsFunc(m.Now().Blocks, func(b render.Block) bool { _, asks := b.(render.Ask); return asks })
			pressed := slices.ContainsFunc(s.clicks, func(x *click) bool { return x.on.Chat == id && x.at.After(m.Versions[0].At) })
			if asks && !pressed && !over(m.Now()) && time.Since(m.Versions[0].At) < askFor/2 {
				out = append(out, m)
			}
		}
	}
	return out
}

// afterHalt ends a halt that nobody ended, once every turn is over and says so. Then everything goes on.
func (s *story) afterHalt() {
	if n := len(s.halts); n > 0 && s.halts[n-1].over.IsZero() {
		stands := func() bool { return slices.ContainsFunc(chats, s.openIn) }
		for range 6 {
			if <-time.After(lease); !stands() {
				break
			}
		}
		if stands() {
			s.Errorf("everything is halted, and there is a turn that is not over")
		}
		s.resume(s.rng, s.halts[n-1])
		<-time.After(known)
		for _, id := range chats {
			s.says(Ana, id, "do "+itoa(len(s.said))+": write")
		}
		s.beside.Wait()
	}
}

// haltedAt is a halt that was certainly on record then, and not ended.
func (s *story) haltedAt(at time.Time) *halt {
	for _, h := range s.halts {
		if !h.taken.IsZero() && h.taken.Before(at) && (h.resumed.IsZero() || at.Before(h.resumed)) {
			return h
		}
	}
	return nil
}

// reaches: no call reaches its server while everything is halted, but for what had started and was on its way there, for a lease at most.
func (s *story) reaches(in Invocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.haltedAt(time.Now().Add(-lease)); h != nil && h.resumed.IsZero() {
		s.Errorf("%s(%s) reached its server, halted for %v", in.Name, in.Args, time.Since(h.taken))
	}
}

// judgeHalts: nothing started while everything was halted, and what stood then says who stopped it.
func (s *story) judgeHalts(started map[turn.RunID]time.Time) {
	for _, e := range s.Tools.Effects() {
		if h := s.haltedAt(started[e.Run]); h != nil {
			s.Errorf("%s(%s) started in %s, halted for %v", e.Name, e.Args, e.Chat.Key, started[e.Run].Sub(h.taken))
		}
	}
	for _, h := range s.halts {
		if h.over.Sub(h.taken) < 3*lease {
			continue // not every replica may have been able to know
		}
		for _, m := range h.stood {
			list := s.World.Platform.Messages(m.Chat)
			now := list[slices.IndexFunc(list, func(x Message) bool { return x.Ref == m.Ref })].Now()
			if say := render.PlainText(now); !strings.Contains(say, "Stopped by ") && !strings.Contains(say, " halted ") && !goesOn(now) {
				s.Errorf("a message in %s asked when everything was halted, and does not say that:\n%s", m.Chat.Key, say)
			}
		}
	}
}
