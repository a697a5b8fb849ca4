package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

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

// get returns the chat as its log stands now.
func (c *sessionCache) get(ctx context.Context, id chat.ID) (view, error) {
	c.mu.Lock()
	f, ok := c.folds.Get(id)
	if !ok {
		f = &fold{}
		c.folds.Add(id, f)
	}
	c.mu.Unlock()

	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.catchUp(ctx, c.log, id); err != nil {
		return view{}, err
	}
	v := f.view
	v.messages, v.events = slices.Clone(v.messages), slices.Clip(v.events)
	return v, nil
}

// view is one chat as this surface shows it, made of the log alone. What [sessionCache.get] returns is safe to keep.
type view struct {
	head     agent.Head
	session  turn.Session
	messages []message
	events   []event
}

// message is what somebody said, or a turn's one message, and the place in the log that changed it last.
type message struct {
	rev  uint64
	form messageForm
	json []byte     // of form, to see changes
	turn *turn.Turn // of the bot's messages: as it was drawn last
}

// event is one named event of a stream.
type event struct {
	seq  uint64
	name string
	data json.RawMessage
}

// fold is a view that goes on with its log.
type fold struct {
	mu sync.Mutex
	view
	turns   map[turn.TurnID]int   // the message of each turn
	saids   map[chat.Delivery]int // and of each thing said
	waiting map[chat.Delivery]int // those of them that may still change
}

// catchUp folds what is new. After a failover the log may be another history: then everything is folded again.
func (f *fold) catchUp(ctx context.Context, log Log, id chat.ID) error {
	if f.turns != nil {
		entries, head, err := log.Tail(ctx, id, f.head)
		if err == nil {
			f.take(entries)
			f.head = head
		}
		if !errors.Is(err, agent.ErrRewound) {
			return err
		}
	}
	entries, err := log.History(ctx, id)
	if err != nil {
		return err
	}
	f.view = view{session: turn.New(id)}
	f.turns, f.saids, f.waiting = map[turn.TurnID]int{}, map[chat.Delivery]int{}, map[chat.Delivery]int{}
	f.take(entries)
	if n := len(entries); n > 0 {
		f.head = agent.Head{Seq: entries[n-1].Seq, Tip: agent.OpID(entries[n-1].Op)}
	}
	return nil
}

// take folds entries and draws once whatever they touched.
func (f *fold) take(entries []turn.Entry) {
	if len(entries) == 0 {
		return
	}
	for _, e := range entries {
		before := f.session
		f.session = turn.Apply(before, e)
		f.addSaid(e)
		f.follow(e, before)
		f.events = append(f.events, eventsOf(f.session.Chat, before, f.session, e)...)
	}
	// Grants, the queue and notes can change how the newest messages look without touching their turns.
	last := entries[len(entries)-1].Seq
	for _, t := range f.session.Turns() {
		if i, ok := f.turns[t.ID]; ok {
			f.messages[i].draw(f.session, t, last)
		}
	}
	f.settleSaids(last)
}

// addSaid makes a message of each thing said that the session took. It looks at the session, not at the entry: what the fold ignored was
// never said, and "Ask again" queues words that no entry carries.
func (f *fold) addSaid(e turn.Entry) {
	said := f.session.Waiting
	if t := f.session.Turn; t != nil {
		if _, known := f.turns[t.ID]; !known {
			said = slices.Concat(t.Said, said)
		}
	}
	for i, x := range said {
		if _, known := f.saids[x.Delivery]; known {
			continue
		}
		n := len(f.messages)
		f.saids[x.Delivery], f.waiting[x.Delivery] = n, n
		f.messages = append(f.messages, message{rev: e.Seq, form: messageForm{ID: fmt.Sprintf("m%d-%d", e.Seq, i), Chat: f.session.Chat.Key,
			Number: n, Role: "user", At: e.At.UTC(), User: userForm(x.By), Name: x.Name, Text: talk.Said(x),
			Files: each(x.Files, func(f chat.File) fileForm { return fileForm{f.Handle, f.Name, f.Size} })}})
	}
}

// follow gives each turn its message, and draws for good a turn that the session lets go of, as it stood when it was still there.
func (f *fold) follow(e turn.Entry, before turn.Session) {
	for _, old := range before.Turns() {
		if m := &f.messages[f.turns[old.ID]]; f.session.TurnOf(old.ID) == nil {
			m.draw(before, old, m.rev)
		}
	}
	for _, t := range f.session.Turns() {
		i, known := f.turns[t.ID]
		if !known {
			if was := before.Turn; was != nil && was.Seq() == t.Seq() { // an older log's name for it
				i = f.turns[was.ID]
			} else {
				i = len(f.messages)
				f.messages = append(f.messages, message{form: messageForm{Chat: f.session.Chat.Key, Number: i, Role: "assistant", At: t.At.UTC()}})
			}
			f.turns[t.ID] = i
			f.messages[i].form.ID, f.messages[i].form.Turn = string(t.ID), string(t.ID)
			for _, x := range t.Said {
				if said, ok := f.saids[x.Delivery]; ok {
					f.messages[said].form.Turn = string(t.ID)
				}
			}
		}
		if m := &f.messages[i]; m.turn != t {
			m.turn, m.rev = t, e.Seq
		}
	}
}

// draw renders a turn. seq is the place that gets the blame if nothing else did.
func (m *message) draw(s turn.Session, t *turn.Turn, seq uint64) {
	form := m.form
	form.State, form.Blocks, form.Choices = draw(card.View(s, t, card.Live{}))
	form.ToolCalls, form.Permissions = drawCalls(t)
	if form.End = nil; t.End != "" {
		form.End = &endForm{string(t.End), t.EndSay, t.EndAt.UTC()}
	}
	b, err := json.Marshal(form)
	if err != nil { // a stored RawMessage that is not JSON: show what does not depend on it
		form.ToolCalls, form.Permissions = nil, nil
		b, _ = json.Marshal(form)
	}
	if bytes.Equal(b, m.json) {
		return
	}
	if m.json != nil {
		m.rev = max(m.rev, seq)
	}
	m.form, m.json = form, b
}

// settleSaids shows which words still wait, and which were taken back before anybody read them.
func (f *fold) settleSaids(seq uint64) {
	for d, i := range f.waiting {
		m := &f.messages[i]
		was := m.form
		at := slices.IndexFunc(f.session.Waiting, func(w turn.Said) bool { return w.Delivery == d })
		if m.form.Queued = at >= 0; m.form.Queued {
			m.form.Text = talk.Said(f.session.Waiting[at])
		} else {
			m.form.Taken = m.form.Turn == ""
			delete(f.waiting, d) // nothing changes it any more
		}
		if m.form.Queued != was.Queued || m.form.Text != was.Text {
			m.rev = seq
		}
	}
}
