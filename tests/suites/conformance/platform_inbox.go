package conformance

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// Inbox is an engine that remembers what reached it, and that can be told to fail or to take its time. It has what adapters
// ask of an engine and of a finder of open asks.
type Inbox struct {
	mu       sync.Mutex
	all      []Taking
	refuse   error
	hold     chan struct{}
	sessions map[chat.ID]turn.Session
	changed  chan struct{}
}

// Taking is one call of Accept or Decide.
type Taking struct {
	Inbound chat.Inbound
	Left    time.Duration // until the deadline of the call's context, when it came; zero: it had none
	Done    bool          // it has returned
	Err     error         // what it returned
}

func newInbox() *Inbox {
	return &Inbox{sessions: map[chat.ID]turn.Session{}, changed: make(chan struct{})}
}

// Accept records an inbound, or fails as it was told.
func (n *Inbox) Accept(ctx context.Context, in chat.Inbound) error {
	t := Taking{Inbound: in}
	if at, ok := ctx.Deadline(); ok {
		t.Left = time.Until(at)
	}
	n.mu.Lock()
	i := len(n.all)
	n.all = append(n.all, t)
	hold := n.hold
	n.signal()
	n.mu.Unlock()
	var err error
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil {
		err = n.refuse
	}
	n.all[i].Done, n.all[i].Err = true, err
	n.signal()
	return err
}

// Decide is Accept for a click.
func (n *Inbox) Decide(ctx context.Context, c chat.Clicked) ([]decision.Outcome, error) {
	if err := n.Accept(ctx, c); err != nil {
		return nil, err
	}
	return []decision.Outcome{{Chat: c.Chat, Ask: turn.AskID(c.Token), Choice: c.Choice, By: c.User, Name: c.Name}}, nil
}

// Refuses knows nobody whom it would refuse.
func (n *Inbox) Refuses(context.Context, chat.Clicked) *decision.Refusal { return nil }

// Session is what [Inbox.Put] gave, or an empty one.
func (n *Inbox) Session(_ context.Context, id chat.ID) (turn.Session, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.sessions[id]
	s.Chat = id
	return s, nil
}

// Knows reports whether anything of the chat was recorded.
func (n *Inbox) Knows(_ context.Context, id chat.ID) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.all, func(t Taking) bool { return t.Done && t.Err == nil && t.Inbound.From().Chat == id }), nil
}

// Asking finds chats whose session has an open ask.
func (n *Inbox) Asking(_ context.Context, match func(chat.ID) bool) ([]chat.ID, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []chat.ID
	for id, s := range n.sessions {
		if len(turn.OpenAsks(s)) > 0 && match(id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// Put sets a chat's session.
func (n *Inbox) Put(s turn.Session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sessions[s.Chat] = s
}

// Refuse lets calls fail with err, until it is called with nil.
func (n *Inbox) Refuse(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuse = err
}

// Hold lets calls wait until the channel is closed or their context ends; nil lets none wait any more.
func (n *Inbox) Hold(until chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hold = until
}

// All are the calls so far.
func (n *Inbox) All() []Taking {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

func (n *Inbox) signal() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// wait returns true when is holds, or false when ctx ends.
func (n *Inbox) wait(ctx context.Context, is func([]Taking) bool) bool {
	for {
		n.mu.Lock()
		next := n.changed
		n.mu.Unlock()
		if is(n.All()) {
			return true
		}
		select {
		case <-next:
		case <-ctx.Done():
			return false
		}
	}
}

// logbook is a log that is kept, with everything that a line holds.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
	bad  []string // lines from Error on
}

// Enabled: of everything, also of what would not be logged: it might be tomorrow.
func (b *logbook) Enabled(context.Context, slog.Level) bool { return true }

func (b *logbook) Handle(ctx context.Context, r slog.Record) error { return b.with(nil).Handle(ctx, r) }

func (b *logbook) with(attrs []slog.Attr) slog.Handler {
	return page{b, attrs}
}

func (b *logbook) WithAttrs(a []slog.Attr) slog.Handler { return b.with(a) }

func (b *logbook) WithGroup(string) slog.Handler { return b }

func (b *logbook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logbook) errors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.bad)
}

// page is a logbook with attributes that stand on every line.
type page struct {
	*logbook
	attrs []slog.Attr
}

func (g page) Handle(ctx context.Context, r slog.Record) error {
	var line bytes.Buffer
	// As text: it prints errors and structs through, as a real handler would.
	err := slog.NewTextHandler(&line, &slog.HandlerOptions{Level: slog.LevelDebug - 4}).WithAttrs(g.attrs).Handle(ctx, r)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.text.Write(line.Bytes())
	if r.Level >= slog.LevelError {
		g.bad = append(g.bad, line.String())
	}
	return err
}

func (g page) WithAttrs(a []slog.Attr) slog.Handler {
	return page{g.logbook, slices.Concat(g.attrs, a)}
}
