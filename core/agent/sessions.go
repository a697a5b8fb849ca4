package agent

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// sessionCache keeps the newest fold of the chats used last, so that a later turn reads only what is new.
// A fold is only ever a guess: exact appends check it by its head.
type sessionCache struct {
	mu   sync.Mutex
	byID *simplelru.LRU[chat.ID, *remembered]
}

type remembered struct {
	f    fold
	snap uint64 // Seq of the newest snapshot known
}

func newSessionCache(max int) *sessionCache {
	byID, _ := simplelru.NewLRU[chat.ID, *remembered](max, nil) // it fails for a size of 0 alone
	return &sessionCache{byID: byID}
}

// newRecent remembers a value for each of the last size keys that were added.
func newRecent[K comparable, V any](size int) *lru.Cache[K, V] {
	c, _ := lru.New[K, V](size) // it fails for a size of 0 alone
	return c
}

func (k *sessionCache) get(id chat.ID) (fold, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.byID.Get(id)
	if !ok {
		return fold{}, false
	}
	return r.f, true
}

// put remembers f unless a newer fold is there.
func (k *sessionCache) put(id chat.ID, f fold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.byID.Get(id)
	switch {
	case !ok:
		k.byID.Add(id, &remembered{f: f})
	case r.f.head.Seq <= f.head.Seq:
		r.f = f
	}
}

func (k *sessionCache) drop(id chat.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byID.Remove(id)
}

// open are the chats with an open turn.
func (k *sessionCache) open() (ids []chat.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range k.byID.Keys() {
		if r, _ := k.byID.Peek(id); r.f.s.Turn != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// advance folds what a write brought onto the fold that the write knew.
func (k *sessionCache) advance(id chat.ID, known Head, got Written) {
	f, ok := k.get(id)
	if !ok && known.Seq == 0 {
		f, ok = fold{s: turn.New(id)}, true // the answer held the whole log
	}
	switch {
	case got.Missing || !ok || f.head != known:
		return // somebody else keeps it current, or the next reader loads it
	default:
		k.put(id, f.apply(got.Entries, got.Head))
	}
}

// snapped remembers that a snapshot up to seq exists.
func (k *sessionCache) snapped(id chat.ID, seq uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, ok := k.byID.Peek(id); ok {
		r.snap = max(r.snap, seq)
	}
}

func (k *sessionCache) snapshotAt(id chat.ID) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, ok := k.byID.Peek(id); ok {
		return r.snap
	}
	return 0
}
