// Package inbox knows what waits for people in all chats, of whatever surface, as one process sees it: read when somebody looks,
// and kept up to date, as long as somebody does, by what the replicas tell each other. It is one list for everybody who looks here: whom a call may be shown is asked of
// the engine, once for a person and a state of its chat ([Look]).
//
// It stores nothing, and knows no form: what is drawn of it is package web's.
package inbox

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// Log is what is read.
type Log interface {
	Load(context.Context, chat.ID) (agent.Snapshot, []turn.Entry, agent.Head, error)
	Asking(ctx context.Context, match func(chat.ID) bool) ([]chat.ID, error)
}

const (
	// MaxChats is how many chats are kept. A chat that is over it is in its own place, as ever.
	MaxChats = 20_000
	reading  = 16          // chats at once
	lookAll  = time.Minute // between two looks at everything: what replicas tell each other may be lost
)

// Wanted is for how long a replica tells which chats move after another said that it keeps a list: nobody is told what nobody looks at.
const Wanted = 2 * lookAll

// Replicas are how they tell each other.
type Replicas struct {
	Hear func(context.Context) (<-chan []byte, error) // which chats moved
	Want func(context.Context) error                  // has them tell that, for [Wanted]
}

// List is what waits. Make it with [New]; it is safe for concurrent use.
type List struct {
	log    Log
	logger *slog.Logger
	most   int        // chats
	once   sync.Mutex // one begins at a time

	mu     sync.Mutex
	kept   bool
	used   bool // since the last look at everything
	chats  map[chat.ID]*Chat
	change map[chan struct{}]bool
}

// Chat is one in which something waits, as it stood when it was read. Its past is left out.
type Chat struct {
	turn.Session
	seq uint64
}

// New makes a list that is empty until [List.Keep].
func New(log Log, logger *slog.Logger) *List {
	return &List{log: log, logger: logger, most: MaxChats, chats: map[chat.ID]*Chat{}, change: map[chan struct{}]bool{}}
}

// Kept reports whether the list is kept.
func (l *List) Kept() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept
}

// Keep reads all that waits, unless it is kept already, and keeps it up to date until life ends or nobody looks any more. start begins what
// runs on.
func (l *List) Keep(ctx, life context.Context, r Replicas, start func(func()) bool) error {
	l.once.Lock()
	defer l.once.Unlock()
	if l.use() {
		return nil
	}
	ends, end := context.WithCancel(life)
	moved, err := r.Hear(ends) // before the first look, so that nothing falls between
	if err == nil {
		err = r.Want(ctx)
	}
	if err == nil {
		err = l.readAll(ctx)
	}
	l.keeps(err == nil)
	if err == nil && !start(func() { defer end(); l.keep(ends, moved, r.Want) }) {
		err = context.Canceled
	}
	if err != nil {
		l.keeps(false)
		end()
	}
	return err
}

// use notes that somebody looks, and reports whether the list is kept.
func (l *List) use() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = true
	return l.kept
}

func (l *List) keeps(is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = is
}

// idle reports whether nobody looked since it was asked last, and lets go of the list then.
func (l *List) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	idle := !l.used && len(l.change) == 0
	if l.used = false; idle {
		l.kept = false
		clear(l.chats)
	}
	return idle
}

func (l *List) keep(ctx context.Context, moved <-chan []byte, want func(context.Context) error) {
	tick := time.NewTicker(lookAll)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case b, ok := <-moved:
			if !ok { // whoever looks next begins anew
				l.keeps(false)
				return
			}
			if id, e := chat.ParseID(string(b)); e == nil { // else another replica wants to know
				err = l.read(ctx, id)
			}
		case <-tick.C:
			if l.idle() {
				return
			}
			err = errors.Join(want(ctx), l.readAll(ctx))
		}
		if err != nil && ctx.Err() == nil {
			l.logger.Warn("what waits for people could not be read; trying again", "err", err)
		}
	}
}

// readAll reads what the index names, and again what is listed.
func (l *List) readAll(ctx context.Context) error {
	ids, err := l.log.Asking(ctx, nil)
	if err != nil {
		return err
	}
	if len(ids) > l.most {
		l.logger.Warn("more chats wait for people than the inbox shows", "chats", len(ids), "shown", l.most)
		ids = ids[:l.most]
	}
	named := make(map[chat.ID]bool, len(ids))
	for _, id := range ids {
		named[id] = true
	}
	l.mu.Lock()
	for id := range l.chats {
		if !named[id] {
			ids = append(ids, id)
		}
	}
	l.mu.Unlock()
	ctx, stop := context.WithCancel(ctx) // after the first error the rest fails at once
	defer stop()
	todo := make(chan chat.ID)
	var wg sync.WaitGroup
	var first sync.Once
	for range min(reading, len(ids)) {
		wg.Go(func() {
			for id := range todo {
				if e := l.read(ctx, id); e != nil {
					first.Do(func() { err = e; stop() })
				}
			}
		})
	}
	for _, id := range ids {
		todo <- id
	}
	close(todo)
	wg.Wait()
	return err
}

// read reads one chat anew. One that only a newer release can read is left out.
func (l *List) read(ctx context.Context, id chat.ID) error {
	snap, entries, head, err := l.log.Load(ctx, id)
	if errors.Is(err, agent.ErrVersion) {
		return nil
	}
	if err != nil {
		return err
	}
	s := snap.Session
	if snap.Head.Seq == 0 {
		s = turn.New(id)
	}
	s = turn.Fold(s, entries)
	waits := s.Turn != nil && s.Turn.Stopped == nil && len(turn.Waits(s)) > 0
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.chats[id]
	switch {
	case was != nil && was.seq == head.Seq, was == nil && (!waits || len(l.chats) >= l.most):
		return nil
	case waits:
		s.Transcript, s.Last, s.Waiting, s.Recent, s.Clicks, s.Notes, s.Lapsed = nil, nil, nil, nil, nil, nil, nil
		l.chats[id] = &Chat{s, head.Seq}
	default:
		delete(l.chats, id)
	}
	for c := range l.change {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return nil
}

// Watch tells of every change until ctx ends, several of them perhaps once.
func (l *List) Watch(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.change[c] = true
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.change, c)
	})
	return c
}

// Ask is a call that waits for the person who looks, and what is drawn of it as long as its chat stands so.
type Ask[Drawn any] struct {
	Chat  *Chat
	Call  turn.ToolCall
	Wait  turn.Wait
	Drawn *Drawn
}

// Look is one person's: what may be shown to them is asked once for each state of a chat. It is for one goroutine.
type Look[Drawn any] struct {
	list *List
	sees func(context.Context, chat.ID) (func(turn.Session, turn.ToolCall) bool, error)
	seen map[*Chat][]*Ask[Drawn]
}

// NewLook makes one. sees is asked for each chat what of it they may see.
func NewLook[Drawn any](l *List, sees func(context.Context, chat.ID) (func(turn.Session, turn.ToolCall) bool, error)) *Look[Drawn] {
	return &Look[Drawn]{l, sees, nil}
}

// Asks are those that wait for the person now, the oldest deadline first.
func (k *Look[Drawn]) Asks(ctx context.Context) (all []*Ask[Drawn], err error) {
	k.list.mu.Lock()
	k.list.used = true
	chats := make([]*Chat, 0, len(k.list.chats))
	for _, c := range k.list.chats {
		chats = append(chats, c)
	}
	k.list.mu.Unlock()
	seen := make(map[*Chat][]*Ask[Drawn], len(chats))
	for _, c := range chats {
		asks, known := k.seen[c]
		if !known {
			sees, err := k.sees(ctx, c.Session.Chat)
			if err != nil {
				return nil, err
			}
			for _, call := range c.Turn.Calls {
				if w := call.Wait(); w.Ask != "" && sees(c.Session, call) {
					asks = append(asks, &Ask[Drawn]{Chat: c, Call: call, Wait: w})
				}
			}
		}
		seen[c] = asks
		all = append(all, asks...)
	}
	k.seen = seen
	slices.SortFunc(all, func(a, b *Ask[Drawn]) int {
		parked := func(x *Ask[Drawn]) int { // what can be answered for ever comes last
			if x.Wait.Deadline.IsZero() {
				return 1
			}
			return 0
		}
		return cmp.Or(parked(a)-parked(b), a.Wait.Deadline.Compare(b.Wait.Deadline), a.Wait.Asked.Compare(b.Wait.Asked), cmp.Compare(a.Wait.Ask, b.Wait.Ask))
	})
	return all, nil
}
