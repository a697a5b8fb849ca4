package harness

import (
	"sync"
	"time"
)

// deadline bounds every wait. It is only reached by a test that fails.
const deadline = 2 * time.Minute

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
