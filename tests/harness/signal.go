package harness

import (
	"sync"
	"time"
)

// deadline bounds every wait. It is only reached by a test that fails.
const deadline = 2 * time.Minute

// Signal tells everybody who waits that something changed.
type Signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// C is closed by the next Fire.
func (s *Signal) C() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Fire wakes everybody.
func (s *Signal) Fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// Latch is a door that opens once.
type Latch struct {
	once sync.Once
	ch   chan struct{}
}

// NewLatch makes a closed door.
func NewLatch() *Latch { return &Latch{ch: make(chan struct{})} }

// Open lets everybody through, now and later.
func (l *Latch) Open() { l.once.Do(func() { close(l.ch) }) }

// C is closed when the door is open.
func (l *Latch) C() <-chan struct{} { return l.ch }
