package agent

import "sync"

// latest remembers a value for each of the last max keys that were put.
type latest[K comparable, V any] struct {
	mu    sync.Mutex
	max   int
	byKey map[K]V
	order []K // a ring, once it is full
	next  int
}

func newLatest[K comparable, V any](max int) *latest[K, V] {
	return &latest[K, V]{max: max, byKey: map[K]V{}}
}

func (l *latest[K, V]) put(k K, v V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.byKey[k]
	l.byKey[k] = v
	switch {
	case known:
	case len(l.order) < l.max:
		l.order = append(l.order, k)
	default:
		delete(l.byKey, l.order[l.next])
		l.order[l.next] = k
		l.next = (l.next + 1) % l.max
	}
}

func (l *latest[K, V]) get(k K) V {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byKey[k]
}
