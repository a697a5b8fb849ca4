package agent

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// sessionCache keeps the newest fold of the chats used last. It is only ever a guess: exact appends check it by its head.
type sessionCache struct {
	*lru.Cache[chat.ID, fold]
	putting sync.Mutex
	noticed func(turn.Session) // of other things that wait for a person than before; nil: nobody
}

// newRecent remembers a value for each of the last size keys that were added.
func newRecent[K comparable, V any](size int) *lru.Cache[K, V] {
	c, _ := lru.New[K, V](size) // it fails for a size of 0 alone
	return c
}

// put remembers f unless a newer fold is there.
func (k *sessionCache) put(id chat.ID, f fold) {
	k.putting.Lock()
	defer k.putting.Unlock()
	old, _ := k.Get(id)
	snap := max(f.snap, old.snap)
	if old.head.Seq > f.head.Seq {
		f = old
	}
	f.snap = snap
	k.Add(id, f)
	if k.noticed != nil && old.s.Turn != f.s.Turn && len(turn.Waits(old.s))+len(turn.Waits(f.s)) > 0 {
		k.noticed(f.s)
	}
}

// open are the chats with an open turn.
func (k *sessionCache) open() (ids []chat.ID) {
	for _, id := range k.Keys() {
		if f, _ := k.Peek(id); f.s.Turn != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// advance folds what a write brought onto the fold that the write followed on.
func (k *sessionCache) advance(id chat.ID, known Head, got Written) {
	f, ok := k.Get(id)
	if !ok && known.Seq == 0 {
		f, ok = fold{s: turn.New(id)}, true // the answer held the whole log
	}
	if ok && !got.Missing && f.head == known { // else somebody else keeps it current, or the next reader loads it
		k.put(id, f.apply(got.Entries, got.Head))
	}
}
