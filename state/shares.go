package state

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodhq/nod/core/agent"
)

// shares are what this replica may spend without asking first, of pools in which nothing has to go before something else: of what was free
// with the last heartbeat, one part more than there are replicas. Each spending is counted with the next write that goes out. So replicas
// together cannot spend more than there was, and a status waits for no round trip.
type shares struct {
	alive atomic.Int64 // replicas, this one included; 0: nobody has counted them

	mu sync.Mutex
	of map[string]*share
}

// share is that of one pool.
type share struct {
	spend  Spend     // as it was asked last
	used   time.Time // when it was
	left   int
	until  time.Time // what is left counts until then
	unsaid int       // spent and not yet counted
}

const (
	shareFor   = 2 * beatEvery   // one lost heartbeat ends no share
	shareKept  = 5 * time.Minute // about as long as a person thinks before they click
	sharesKept = 32              // pools that are looked at with each heartbeat
)

// fromShare takes one spending from this replica's share, if there is one.
func (s *Store) fromShare(sp Spend) bool {
	if s.disk != nil || sp.Lane != agent.Progress || sp.Message != "" || sp.Evenly {
		return false
	}
	h := &s.shares
	h.mu.Lock()
	now, p := time.Now(), h.of[sp.Pool]
	if p == nil && len(h.of) < sharesKept {
		if h.of == nil {
			h.of = map[string]*share{}
		}
		p = &share{}
		h.of[sp.Pool] = p
	}
	if p == nil {
		h.mu.Unlock()
		return false
	}
	p.spend, p.used = sp, now
	ok := p.left > 0 && now.Before(p.until)
	if ok {
		p.left--
		p.unsaid++
	}
	h.mu.Unlock()
	if ok {
		s.mention(sp.call("made"), func(res any, err error) { h.learned(sp.Pool, 1, res, err) })
	}
	return ok
}

// look asks, with the heartbeat, what is free of the pools that were used lately.
func (s *Store) look() {
	h := &s.shares
	var ask []Spend
	h.mu.Lock()
	for pool, p := range h.of {
		if time.Since(p.used) > shareKept {
			delete(h.of, pool)
		} else {
			ask = append(ask, p.spend)
		}
	}
	h.mu.Unlock()
	for _, sp := range ask {
		s.mention(sp.call("look"), func(res any, err error) { h.learned(sp.Pool, 0, res, err) })
	}
}

// learned takes up what the pool was told to have free, and that so many spendings are counted now.
func (h *shares) learned(pool string, counted int, res any, err error) {
	_, free, told := strings.Cut(text(res), " ")
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.of[pool]
	if p == nil {
		return
	}
	p.unsaid -= counted
	p.left = 0 // also where nobody may spend now
	if alive := int(h.alive.Load()); err == nil && told && alive > 0 {
		p.left, p.until = int(number(free))/(alive+1)-p.unsaid, time.Now().Add(shareFor) //nolint:gosec // a count
	}
}

// drop ends the share of a pool that the platform refused.
func (h *shares) drop(pool string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.of[pool]; p != nil {
		p.left = 0
	}
}
