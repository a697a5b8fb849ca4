package fakeslack

import (
	"slices"
	"sync"
	"time"
)

// Clock is where the server takes its time from.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once after d, in a goroutine of its own or in that of [Manual.Advance]. stop prevents it if it is not too late.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// SignedAt is the time that stands with a signature: that of the clock, unless it has a method Signed that says another. Who checks a
// signature compares it with their own clock, so a clock that stands or goes slowly may want to sign with the real time.
func SignedAt(c Clock) time.Time {
	if s, own := c.(interface{ Signed() time.Time }); own {
		return s.Signed()
	}
	return c.Now()
}

// Wall is the real time.
type Wall struct{}

// Now is the time.
func (Wall) Now() time.Time { return time.Now() }

// AfterFunc is [time.AfterFunc].
func (Wall) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// Manual is a clock that stands until it is advanced. Make one with [NewManual].
type Manual struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
}

type timer struct {
	at time.Time
	f  func()
}

// NewManual makes a clock that stands at the time of its making, so that what is signed by it is fresh.
func NewManual() *Manual { return &Manual{now: time.Now().UTC().Truncate(time.Second)} }

// Now is the time it stands at.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// AfterFunc calls f within the [Manual.Advance] that passes now+d; one that is already due, within the next.
func (m *Manual) AfterFunc(d time.Duration, f func()) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &timer{m.now.Add(d), f}
	m.timers = append(m.timers, t)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.remove(t)
	}
}

func (m *Manual) remove(t *timer) {
	m.timers = slices.DeleteFunc(m.timers, func(x *timer) bool { return x == t })
}

// Advance moves the time on by d, stopping at each moment that something waits for. It returns when all of that has run.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	end := m.now.Add(d)
	for {
		var next *timer
		for _, t := range m.timers {
			if !t.at.After(end) && (next == nil || t.at.Before(next.at)) {
				next = t
			}
		}
		if next == nil {
			break
		}
		m.remove(next)
		if next.at.After(m.now) {
			m.now = next.at
		}
		m.mu.Unlock()
		next.f()
		m.mu.Lock()
	}
	if end.After(m.now) {
		m.now = end
	}
	m.mu.Unlock()
}
