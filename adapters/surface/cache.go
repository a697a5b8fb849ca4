package surface

import (
	"cmp"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Kept is how much a cache remembers where it does not say.
const Kept = 4096

// Cache remembers the newest of something by name: never more than most, and each no longer than life. The zero value is ready.
type Cache[V any] struct {
	Most int           // 0: Kept
	Life time.Duration // 0: as long as there is room

	mu   sync.Mutex
	kept *simplelru.LRU[string, cached[V]] // the oldest goes first: all live equally long, and looking at one changes nothing
}

type cached[V any] struct {
	v     V
	until time.Time
}

// open locks the cache for one use, until done, without what is too old. Of no time nothing is.
func (k *Cache[V]) open(now time.Time) (kept *simplelru.LRU[string, cached[V]], done func()) {
	k.mu.Lock()
	if k.kept == nil {
		k.kept, _ = simplelru.NewLRU[string, cached[V]](cmp.Or(max(k.Most, 0), Kept), nil) // it fails for a size below one only
	}
	for _, c, ok := k.kept.GetOldest(); ok && k.Life > 0 && !now.Before(c.until); _, c, ok = k.kept.GetOldest() {
		k.kept.RemoveOldest()
	}
	return k.kept, k.mu.Unlock
}

// Put remembers v, as the newest.
func (k *Cache[V]) Put(key string, v V, now time.Time) {
	kept, done := k.open(now)
	defer done()
	kept.Add(key, cached[V]{v, now.Add(k.Life)})
}

// Get is what is remembered.
func (k *Cache[V]) Get(key string, now time.Time) (v V, ok bool) {
	kept, done := k.open(now)
	defer done()
	c, ok := kept.Peek(key)
	return c.v, ok
}

// Add is what is remembered, or else v, which then is.
func (k *Cache[V]) Add(key string, v V, now time.Time) (was V, isNew bool) {
	kept, done := k.open(now)
	defer done()
	if c, ok := kept.Peek(key); ok {
		return c.v, false
	}
	kept.Add(key, cached[V]{v, now.Add(k.Life)})
	return v, true
}

// Drop forgets one.
func (k *Cache[V]) Drop(key string) {
	kept, done := k.open(time.Time{})
	defer done()
	kept.Remove(key)
}

// Len is how many are remembered.
func (k *Cache[V]) Len() int {
	kept, done := k.open(time.Time{})
	defer done()
	return kept.Len()
}

// Once knows what was seen lately. The zero value is ready.
type Once struct{ seen Cache[struct{}] }

// Again reports whether key was seen before. No key is never seen.
func (o *Once) Again(key string) bool {
	if key == "" {
		return false
	}
	_, isNew := o.seen.Add(key, struct{}{}, time.Time{})
	return !isNew
}

// Believed is how long this process takes what it sent last for what the message looks like. Later another replica may have drawn the
// message; as long as a lease lasts, none has.
const Believed = 10 * time.Second

// Drawn is what was sent last for a message.
type Drawn struct {
	Sum   [32]byte // of its bytes; zero: not known
	Chars int
	At    time.Time
	Level int // of the rendition that the platform took
}

// Sent remembers what was sent last for each message, as the platform's adapter names messages. The zero value is ready.
type Sent struct{ last Cache[Drawn] }

// Put remembers d as what stands there.
func (s *Sent) Put(ref string, d Drawn) { s.last.Put(ref, d, time.Time{}) }

// Get is what was put last.
func (s *Sent) Get(ref string) (Drawn, bool) { return s.last.Get(ref, time.Time{}) }

// Level is that of the first rendition to be tried: the platform has refused those before it.
func (s *Sent) Level(ref string) int {
	d, _ := s.Get(ref)
	return d.Level
}

// Same reports whether exactly this stands there already.
func (s *Sent) Same(ref string, sum [32]byte, now time.Time) bool {
	d, _ := s.Get(ref) // of nothing, long ago
	return d.Sum == sum && now.Sub(d.At) < Believed
}

// Growth is how fast a message grew since it was last sent, in characters a second. What changed without growing counts as one:
// it must not wait for ever.
func (s *Sent) Growth(ref string, chars int, now time.Time) float64 {
	d, _ := s.Get(ref)
	return max(1, float64(chars-d.Chars)/max(now.Sub(d.At).Seconds(), 0.1))
}
