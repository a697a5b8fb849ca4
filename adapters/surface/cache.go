package surface

import (
	lists "container/list"
	"sync"
	"time"
)

// Cache remembers the newest of something by name: never more than most, and each no longer than life. The zero value remembers
// nothing until its limits are set.
type Cache[V any] struct {
	Most int
	Life time.Duration

	mu    sync.Mutex
	byKey map[string]*lists.Element
	order lists.List // of cached[V], oldest first: all live equally long
}

type cached[V any] struct {
	key   string
	v     V
	until time.Time
}

// Put remembers v, as the newest.
func (k *Cache[V]) Put(key string, v V, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set(key, v, now)
}

func (k *Cache[V]) set(key string, v V, now time.Time) {
	k.expire(now)
	k.forget(k.byKey[key])
	if k.order.Len() >= k.Most {
		k.forget(k.order.Front())
	}
	if k.byKey == nil {
		k.byKey = map[string]*lists.Element{}
	}
	k.byKey[key] = k.order.PushBack(cached[V]{key, v, now.Add(k.Life)})
}

// Get is what is remembered.
func (k *Cache[V]) Get(key string, now time.Time) (v V, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire(now)
	if e := k.byKey[key]; e != nil {
		return e.Value.(cached[V]).v, true
	}
	return v, false
}

// Add is what is remembered, or else v, which then is.
func (k *Cache[V]) Add(key string, v V, now time.Time) (was V, isNew bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire(now)
	if e := k.byKey[key]; e != nil {
		return e.Value.(cached[V]).v, false
	}
	k.set(key, v, now)
	return v, true
}

// Drop forgets one.
func (k *Cache[V]) Drop(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(k.byKey[key])
}

// Len is how many are remembered.
func (k *Cache[V]) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.order.Len()
}

func (k *Cache[V]) expire(now time.Time) {
	for e := k.order.Front(); e != nil && !now.Before(e.Value.(cached[V]).until); e = k.order.Front() {
		k.forget(e)
	}
}

func (k *Cache[V]) forget(e *lists.Element) {
	if e != nil {
		delete(k.byKey, k.order.Remove(e).(cached[V]).key)
	}
}
