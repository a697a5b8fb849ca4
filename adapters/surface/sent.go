package surface

import (
	"container/list"
	"sync"
	"time"

	"github.com/nodhq/nod/core/render"
)

const (
	maxSent = 4096
	// Believed is how long what this process sent last is taken for what stands there. Another replica may have drawn the
	// message since; within a lease's time it has not.
	Believed = 10 * time.Second
)

// Drawn is what was sent last for a message.
type Drawn struct {
	Sum   [32]byte // of its bytes; zero: not known
	Chars int
	At    time.Time
	Level int // the shape that the platform took: 0 as it should look, more where it refused that
}

// Sent remembers what was sent last for each message, as the platform's adapter names messages. The zero value is ready; it holds
// the 4,096 messages that were sent last.
type Sent struct {
	mu    sync.Mutex
	byRef map[string]*list.Element
	order list.List // of sentAs, least recently sent first
}

type sentAs struct {
	ref string
	Drawn
}

// Put remembers d as what stands there.
func (s *Sent) Put(ref string, d Drawn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byRef[ref]; e != nil {
		e.Value = sentAs{ref, d}
		s.order.MoveToBack(e)
		return
	}
	if s.byRef == nil {
		s.byRef = map[string]*list.Element{}
	}
	if s.order.Len() >= maxSent {
		delete(s.byRef, s.order.Remove(s.order.Front()).(sentAs).ref)
	}
	s.byRef[ref] = s.order.PushBack(sentAs{ref, d})
}

// Get is what was put last.
func (s *Sent) Get(ref string) (Drawn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byRef[ref]; e != nil {
		return e.Value.(sentAs).Drawn, true
	}
	return Drawn{}, false
}

// Level is the shape to begin with: the platform has refused those before it.
func (s *Sent) Level(ref string) int {
	d, _ := s.Get(ref)
	return d.Level
}

// Same reports whether exactly this stands there already.
func (s *Sent) Same(ref string, sum [32]byte, now time.Time) bool {
	d, ok := s.Get(ref)
	return ok && d.Sum == sum && now.Sub(d.At) < Believed
}

// Growth is how fast a message grew since it was last sent, in characters a second. What changed without growing counts as one:
// it must not wait for ever.
func (s *Sent) Growth(ref string, chars int, now time.Time) float64 {
	d, ok := s.Get(ref)
	if !ok {
		return 1
	}
	return max(1, float64(chars-d.Chars)/max(now.Sub(d.At).Seconds(), 0.1))
}

// Ends reports whether a message needs nothing after it is drawn so.
func Ends(m render.Message) bool {
	return m.State == render.Done || m.State == render.Failed || m.State == render.Stopped
}

// HasAsk reports whether a message asks somebody.
func HasAsk(m render.Message) bool {
	for _, b := range m.Blocks {
		if _, ok := b.(render.Ask); ok {
			return true
		}
	}
	return false
}
