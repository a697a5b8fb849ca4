package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/talk"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// maxFolds is how many chats are kept folded. One that is needed again is folded again.
const maxFolds = 128

// sessionCache keeps the folds of the chats that were looked at last.
type sessionCache struct {
	log   Log
	mu    sync.Mutex // so that a chat has one fold
	folds *lru.Cache[chat.ID, *fold]
}

func newSessionCache(log Log) *sessionCache {
	folds, _ := lru.New[chat.ID, *fold](maxFolds) // it fails for a size of 0 alone
	return &sessionCache{log: log, folds: folds}
}

// get returns the chat's fold as the log stands now.
func (c *sessionCache) get(ctx context.Context, id chat.ID) (view, error) {
	c.mu.Lock()
	f, ok := c.folds.Get(id)
	if !ok {
		f = newFold(id)
		c.folds.Add(id, f)
	}
	c.mu.Unlock()

	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.catchUp(ctx, c.log); err != nil {
		return view{}, err
	}
	return f.view(), nil
}

// fold is one chat as this surface shows it: the session, every message, and every event of a stream. All of it
// follows from the log.
type fold struct {
	id chat.ID

	mu     sync.Mutex
	loaded bool
	head   agent.Head
	at     time.Time // of the last entry
	s      turn.Session
	items  []*item
	turns  map[turn.TurnID]*item
	saids  map[chat.Delivery]*item
	events []event
}

// item is one message and the place in the log that changed it last.
type item struct {
	rev  uint64
	form messageForm
	json []byte // of form, to see changes

	turn    *turn.Turn   // of the bot's messages, until they can no longer change
	session turn.Session // the one that turn belongs to
	said    *turn.Said
}

// event is one named event of a stream.
type event struct {
	seq  uint64
	name string
	data json.RawMessage
}

// view is a fold at one moment, safe to keep: what it points to is never changed.
type view struct {
	head     agent.Head
	session  turn.Session
	messages []placed
	events   []event
}

type placed struct {
	rev  uint64
	form messageForm
}

func newFold(id chat.ID) *fold {
	return &fold{id: id, s: turn.New(id), turns: map[turn.TurnID]*item{}, saids: map[chat.Delivery]*item{}}
}

func (f *fold) view() view {
	v := view{head: f.head, session: f.s, messages: make([]placed, len(f.items)), events: f.events[:len(f.events):len(f.events)]}
	for i, it := range f.items {
		v.messages[i] = placed{it.rev, it.form}
	}
	return v
}

// catchUp folds what is new. After a failover the log may be another history: then everything is folded again.
func (f *fold) catchUp(ctx context.Context, log Log) error {
	if f.loaded {
		entries, head, err := log.Tail(ctx, f.id, f.head)
		if err == nil {
			f.take(entries)
			f.head = head
			return nil
		}
		if !errors.Is(err, agent.ErrRewound) {
			return err
		}
	}
	entries, err := log.History(ctx, f.id)
	if err != nil {
		return err
	}
	fresh := newFold(f.id)
	fresh.take(entries)
	f.loaded, f.at, f.s, f.items, f.turns, f.saids, f.events = true, fresh.at, fresh.s, fresh.items, fresh.turns, fresh.saids, fresh.events
	f.head = agent.Head{}
	if n := len(entries); n > 0 {
		f.head = agent.Head{Seq: entries[n-1].Seq, Tip: agent.OpID(entries[n-1].Op)}
	}
	return nil
}

// take folds entries and draws once whatever they touched.
func (f *fold) take(entries []turn.Entry) {
	for _, e := range entries {
		before := f.s
		f.s = turn.Apply(before, e)
		f.at = e.At
		f.hear(e)
		f.follow(e, before)
		f.events = append(f.events, eventsOf(f.id, before, f.s, e)...)
	}
	if len(entries) == 0 {
		return
	}
	// Grants, the queue and notes can change how the newest messages look without touching their turns.
	for _, t := range f.s.Turns() {
		if it := f.turns[t.ID]; it != nil {
			it.turn, it.session = t, f.s
			f.draw(it, entries[len(entries)-1].Seq)
		}
	}
	f.settleSaids(entries[len(entries)-1].Seq)
}

// hear makes a message of each thing said that the session took. It looks at the session, not at the entry:
// what the fold ignored was never said, and "Ask again" queues words that no entry carries.
func (f *fold) hear(e turn.Entry) {
	said := f.s.Waiting
	if t := f.s.Turn; t != nil && f.turns[t.ID] == nil {
		said = append(append([]turn.Said(nil), t.Said...), said...)
	}
	for i := range said {
		x := said[i]
		if f.saids[x.Delivery] != nil {
			continue
		}
		it := &item{said: &x, rev: e.Seq, form: messageForm{ID: fmt.Sprintf("m%d-%d", e.Seq, i), Chat: f.id.Key, Number: len(f.items), Role: "user",
			At: e.At.UTC(), User: userForm(x.By), Name: x.Name, Text: talk.Said(x)}}
		f.saids[x.Delivery] = it
		f.items = append(f.items, it)
	}
}

// follow keeps each turn's message with the newest state of its turn.
func (f *fold) follow(e turn.Entry, before turn.Session) {
	// A turn that the session lets go of is drawn for good, as it stood when it was still there.
	for _, old := range before.Turns() {
		if holds(f.s.Last, old.ID) || holds(f.s.Turn, old.ID) {
			continue
		}
		if it := f.turns[old.ID]; it != nil && it.turn != nil {
			it.turn, it.session = old, before
			f.draw(it, it.rev)
			it.turn, it.session = nil, turn.Session{}
		}
	}
	for _, t := range f.s.Turns() {
		it := f.turns[t.ID]
		if it == nil {
			it = &item{form: messageForm{ID: string(t.ID), Chat: f.id.Key, Number: len(f.items), Role: "assistant", Turn: string(t.ID), At: t.At.UTC()}}
			f.turns[t.ID] = it
			f.items = append(f.items, it)
			for _, x := range t.Said {
				if s := f.saids[x.Delivery]; s != nil {
					s.form.Turn = string(t.ID)
				}
			}
		}
		if it.turn != t {
			it.turn, it.session, it.rev = t, f.s, e.Seq
		}
	}
}

func holds(t *turn.Turn, id turn.TurnID) bool { return t != nil && t.ID == id }

// draw renders an item's turn. seq is the place that gets the blame if nothing else did.
func (f *fold) draw(it *item, seq uint64) {
	m := it.form
	m.State, m.Blocks, m.Choices = draw(card.View(it.session, it.turn, card.Live{}))
	m.ToolCalls, m.Permissions = drawCalls(it.turn)
	m.End = nil
	if it.turn.End != "" {
		m.End = &endForm{string(it.turn.End), it.turn.EndSay, it.turn.EndAt.UTC()}
	}
	b, err := json.Marshal(m)
	if err != nil { // a stored RawMessage that is not JSON: show what does not depend on it
		m.ToolCalls, m.Permissions = nil, nil
		b, _ = json.Marshal(m)
	}
	if bytes.Equal(b, it.json) {
		return
	}
	if it.json != nil && it.rev < seq {
		it.rev = seq
	}
	it.form, it.json = m, b
}

// settleSaids shows which words still wait, and which were taken back before anybody read them.
func (f *fold) settleSaids(seq uint64) {
	waiting := map[chat.Delivery]turn.Said{}
	for _, w := range f.s.Waiting {
		waiting[w.Delivery] = w
	}
	for d, it := range f.saids {
		if it.said == nil {
			continue
		}
		w, queued := waiting[d]
		m := it.form
		m.Queued = queued
		if queued {
			m.Text = talk.Said(w)
		} else {
			m.Taken = m.Turn == ""
			it.said = nil // nothing changes it any more
		}
		if m.Queued != it.form.Queued || m.Taken != it.form.Taken || m.Text != it.form.Text {
			it.rev = seq
		}
		it.form = m
	}
}
