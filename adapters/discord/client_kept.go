package discord

import (
	lists "container/list"
	"sync"
	"time"
)

// kept remembers the newest of something by name: never more than most, and each no longer than life. The zero value remembers
// nothing until its limits are set.
type kept[V any] struct {
	most int
	life time.Duration

	mu    sync.Mutex
	byKey map[string]*lists.Element
	order lists.List // of keptAs[V], oldest first: all live equally long
}

type keptAs[V any] struct {
	key   string
	v     V
	until time.Time
}

// put remembers v, as the newest.
func (k *kept[V]) put(key string, v V, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set(key, v, now)
}

func (k *kept[V]) set(key string, v V, now time.Time) {
	k.expire(now)
	k.forget(k.byKey[key])
	if k.order.Len() >= k.most {
		k.forget(k.order.Front())
	}
	if k.byKey == nil {
		k.byKey = map[string]*lists.Element{}
	}
	k.byKey[key] = k.order.PushBack(keptAs[V]{key, v, now.Add(k.life)})
}

// get is what is remembered.
func (k *kept[V]) get(key string, now time.Time) (v V, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire(now)
	if e := k.byKey[key]; e != nil {
		return e.Value.(keptAs[V]).v, true
	}
	return v, false
}

// add is what is remembered, or else v, which then is.
func (k *kept[V]) add(key string, v V, now time.Time) (was V, isNew bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire(now)
	if e := k.byKey[key]; e != nil {
		return e.Value.(keptAs[V]).v, false
	}
	k.set(key, v, now)
	return v, true
}

// drop forgets one.
func (k *kept[V]) drop(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(k.byKey[key])
}

func (k *kept[V]) len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.order.Len()
}

func (k *kept[V]) expire(now time.Time) {
	for e := k.order.Front(); e != nil && !now.Before(e.Value.(keptAs[V]).until); e = k.order.Front() {
		k.forget(e)
	}
}

func (k *kept[V]) forget(e *lists.Element) {
	if e != nil {
		delete(k.byKey, k.order.Remove(e).(keptAs[V]).key)
	}
}
