package surface

import (
	"iter"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nodhq/nod/core/render"
)

const (
	maxSent = 4096
	// Believed is how long this process takes what it sent last for what the message looks like. Later another replica may have drawn
	// the message; as long as a lease lasts, none has.
	Believed = 10 * time.Second
)

// Drawn is what was sent last for a message.
type Drawn struct {
	Sum   [32]byte // of its bytes; zero: not known
	Chars int
	At    time.Time
	Level int // of the rendition that the platform took
}

// Sent remembers what was sent last for each message, as the platform's adapter names messages. The zero value is ready; it holds
// the 4,096 messages that were sent last.
type Sent struct {
	made sync.Once
	last *lru.Cache[string, Drawn]
}

func (s *Sent) cache() *lru.Cache[string, Drawn] {
	s.made.Do(func() { s.last, _ = lru.New[string, Drawn](maxSent) }) // it fails for a size below one only
	return s.last
}

// Put remembers d as what stands there.
func (s *Sent) Put(ref string, d Drawn) { s.cache().Add(ref, d) }

// Get is what was put last. It does not keep the message longer.
func (s *Sent) Get(ref string) (Drawn, bool) { return s.cache().Peek(ref) }

// Level is that of the first rendition to be tried: the platform has refused those before it.
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
func HasAsk(m render.Message) bool { return CountAsks(m) > 0 }

// CountAsks is how many calls a message asks about.
func CountAsks(m render.Message) (n int) {
	for _, b := range m.Blocks {
		if _, ok := b.(render.Ask); ok {
			n++
		}
	}
	return n
}

// StepsAt is the run of steps that blocks begin with.
func StepsAt(blocks []render.Block) (run []render.Step) {
	for _, b := range blocks {
		step, ok := b.(render.Step)
		if !ok {
			break
		}
		run = append(run, step)
	}
	return run
}

// Acts are what can be done in a panel.
func Acts(p render.Panel) iter.Seq[render.Act] {
	return func(yield func(render.Act) bool) {
		for _, s := range p.Sections {
			for _, r := range s.Rows {
				for _, act := range r.Acts {
					if !yield(act) {
						return
					}
				}
			}
		}
	}
}
