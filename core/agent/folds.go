package agent

import (
	"container/list"
	"sync"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// folds remembers the newest fold of the chats used last, so that a later turn reads only what is new.
// A fold is only ever a guess: exact appends check it by its head.
type folds struct {
	mu    sync.Mutex
	max   int
	order *list.List // front: used last
	byID  map[chat.ID]*list.Element
}

type remembered struct {
	id   chat.ID
	f    fold
	snap uint64 // Seq of the newest snapshot known
}

func newFolds(max int) *folds {
	return &folds{max: max, order: list.New(), byID: map[chat.ID]*list.Element{}}
}

func (k *folds) get(id chat.ID) (fold, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	el, ok := k.byID[id]
	if !ok {
		return fold{}, false
	}
	k.order.MoveToFront(el)
	return el.Value.(*remembered).f, true
}

// put remembers f unless a newer fold is there.
func (k *folds) put(id chat.ID, f fold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if el, ok := k.byID[id]; ok {
		k.order.MoveToFront(el)
		if r := el.Value.(*remembered); r.f.head.Seq <= f.head.Seq {
			r.f = f
		}
		return
	}
	k.byID[id] = k.order.PushFront(&remembered{id: id, f: f})
	for k.order.Len() > k.max {
		el := k.order.Back()
		delete(k.byID, el.Value.(*remembered).id)
		k.order.Remove(el)
	}
}

func (k *folds) drop(id chat.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if el, ok := k.byID[id]; ok {
		delete(k.byID, id)
		k.order.Remove(el)
	}
}

// open are the chats with an open turn.
func (k *folds) open() (ids []chat.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, el := range k.byID {
		if el.Value.(*remembered).f.s.Turn != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// advance folds what a write brought onto the fold that the write knew.
func (k *folds) advance(id chat.ID, known Head, got Written) {
	f, ok := k.get(id)
	if !ok && known.Seq == 0 {
		f, ok = fold{s: turn.New(id)}, true // the answer held the whole log
	}
	switch {
	case got.Missing || !ok || f.head != known:
		return // somebody else keeps it current, or the next reader loads it
	default:
		k.put(id, f.over(got.Entries, got.Head))
	}
}

// snapped remembers that a snapshot up to seq exists.
func (k *folds) snapped(id chat.ID, seq uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if el, ok := k.byID[id]; ok {
		r := el.Value.(*remembered)
		r.snap = max(r.snap, seq)
	}
}

func (k *folds) snapshotAt(id chat.ID) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if el, ok := k.byID[id]; ok {
		return el.Value.(*remembered).snap
	}
	return 0
}
