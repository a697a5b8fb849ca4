package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/stand"
)

// Message is one message of ours on the fake platform, with all it ever looked like.
type Message struct {
	Ref      chat.MessageRef
	Chat     chat.ID
	Versions []Version
}

// Now is how it looks.
func (m Message) Now() render.Message { return m.Versions[len(m.Versions)-1].View }

// Version is one post or edit.
type Version struct {
	View    render.Message
	Lane    agent.Urgency
	Replica string
	At      time.Time
}

// Op is one call of the platform before it takes effect.
type Op struct {
	Chat chat.ID
	Post bool
	Note bool // beside a turn's message
	Ref  chat.MessageRef
	View render.Message
	Lane agent.Urgency
	N    int // the n-th call of its sort on this platform, from 1

	Replica string // who tells somebody
}

// Trouble is what happens to an Op. The zero Trouble is none.
type Trouble struct {
	Err    error           // answered
	Commit bool            // it takes effect although Err is answered
	Until  <-chan struct{} // it waits for this (or its context) first
	Late   <-chan struct{} // what a post made is there, and its answer waits for this (or its context)
}

// Busy, Gone, Forbidden, Transient are a platform's failures.
func Busy(wait time.Duration) Trouble {
	return Trouble{Err: &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: wait, Cause: errors.New("injected")}}
}

// Gone: the message is no more.
func Gone() Trouble {
	return Trouble{Err: &agent.PlatformError{Kind: agent.FaultGone, Cause: errors.New("injected")}}
}

// Forbidden: not allowed there.
func Forbidden() Trouble {
	return Trouble{Err: &agent.PlatformError{Kind: agent.FaultForbidden, Cause: errors.New("injected")}}
}

// Transient: it did not happen, or (lost) it did and nobody was told.
func Transient(lost bool) Trouble {
	return Trouble{Err: &agent.PlatformError{Kind: agent.FaultTransient, Cause: errors.New("injected")}, Commit: lost}
}

// Platform is a fake chat platform with a history of its own.
type Platform struct {
	sig    *stand.Signal
	limits render.Limits

	mu       sync.Mutex
	pace     time.Duration
	trouble  func(Op) Trouble
	earlier  func(context.Context, chat.MessageRef, chat.Earlier) ([]chat.Quote, error)
	posts    int
	edits    int
	keys     map[string]chat.MessageRef
	order    []*Message
	whispers map[string][]render.Message
	// forgetful: a repeated post makes a second message. Only who looks before posting has one.
	forgetful bool
	seeks     int
	notes     []Note
	told      []Telling
	members   []chat.User // of Group
	hidden    bool
	flying    map[chat.MessageRef]string
	broken    []string
}

func newPlatform(sig *stand.Signal) *Platform {
	return &Platform{
		sig: sig, limits: render.Limits{Chars: 12000, Bytes: 40000, Blocks: 45, Text: 3000, Args: 2500, Label: 75, Asks: 10, Choices: 60},
		keys: map[string]chat.MessageRef{}, whispers: map[string][]render.Message{}, flying: map[chat.MessageRef]string{},
	}
}

// Earlier installs what the platform tells of what was said before a message; none: nothing.
func (p *Platform) Earlier(tell func(ctx context.Context, before chat.MessageRef, e chat.Earlier) ([]chat.Quote, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.earlier = tell
}

// Trouble installs what befalls later calls.
func (p *Platform) Trouble(f func(Op) Trouble) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trouble = f
}

// Pace sets how far apart progress edits are at least.
func (p *Platform) Pace(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace = d
}

// Messages are our messages in a chat, oldest first.
func (p *Platform) Messages(id chat.ID) []Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Message
	for _, m := range p.order {
		if m.Chat == id {
			c := *m
			c.Versions = append([]Version(nil), m.Versions...)
			out = append(out, c)
		}
	}
	return out
}

// Adopt puts a message of ours there that nothing here posted.
func (p *Platform) Adopt(id chat.ID, ref chat.MessageRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.order = append(p.order, &Message{Ref: ref, Chat: id, Versions: []Version{{At: time.Now()}}})
}

// Posts and Edits count calls, failed ones too.
func (p *Platform) Posts() int { p.mu.Lock(); defer p.mu.Unlock(); return p.posts }

// Edits counts calls of Edit.
func (p *Platform) Edits() int { p.mu.Lock(); defer p.mu.Unlock(); return p.edits }

// Whispered is what one person was told by one reply handle.
func (p *Platform) Whispered(key string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	say := ""
	for _, m := range p.whispers[key] {
		say += render.PlainText(m)
	}
	return say
}

func (p *Platform) broke(format string, a ...any) {
	p.broken = append(p.broken, fmt.Sprintf(format, a...))
}

func (p *Platform) befall(ctx context.Context, op Op) Trouble {
	p.mu.Lock()
	f := p.trouble
	if op.Post {
		p.posts++
		op.N = p.posts
	} else {
		p.edits++
		op.N = p.edits
	}
	if len(op.View.Blocks) == 0 {
		p.broke("an empty message was sent")
	}
	if !render.Within(op.View, p.limits) {
		p.broke("a message is over the platform's limits")
	}
	p.mu.Unlock()
	p.sig.Fire()
	if f == nil {
		return Trouble{}
	}
	t := f(op)
	if t.Until != nil {
		select {
		case <-t.Until:
		case <-ctx.Done():
			if t.Err == nil {
				t.Err = ctx.Err()
			}
		}
	}
	return t
}

func (p *Platform) post(ctx context.Context, who string, id chat.ID, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	t := p.befall(ctx, Op{Chat: id, Post: true, View: m})
	if t.Err != nil && !t.Commit {
		return "", t.Err
	}
	p.mu.Lock()
	k := id.String() + "/" + string(key)
	ref, there := p.keys[k]
	if !there || p.forgetful {
		ref = chat.MessageRef(fmt.Sprintf("m%d", len(p.order)+1))
		p.keys[k] = ref
		p.order = append(p.order, &Message{Ref: ref, Chat: id, Versions: []Version{{m, agent.Decision, who, time.Now()}}})
	}
	p.mu.Unlock()
	p.sig.Fire()
	if t.Late != nil {
		select {
		case <-t.Late:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return ref, t.Err
}

func (p *Platform) edit(ctx context.Context, who string, id chat.ID, ref chat.MessageRef, m render.Message, lane agent.Urgency) error {
	p.mu.Lock()
	if by, busy := p.flying[ref]; busy && by == who {
		p.broke("two edits of %s at once", ref)
	}
	p.flying[ref] = who
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.flying, ref)
		p.mu.Unlock()
	}()
	t := p.befall(ctx, Op{Chat: id, Ref: ref, View: m, Lane: lane})
	if t.Err != nil && !t.Commit {
		return t.Err
	}
	p.mu.Lock()
	found := false
	for _, x := range p.order {
		if x.Ref == ref && x.Chat == id {
			found = true
			x.Versions = append(x.Versions, Version{m, lane, who, time.Now()})
		}
	}
	for i, x := range p.told {
		if x.Ref == ref && DM(x.To) == id {
			found = true
			p.told[i].Now = m
		}
	}
	if !found {
		p.broke("an edit of %s, which is not there", ref)
	}
	p.mu.Unlock()
	p.sig.Fire()
	return t.Err
}

// surface is the platform as one replica reaches it.
type surface struct {
	*Platform
	who  string
	gate *Gate
}

func (s surface) Limits() render.Limits { return s.limits }

func (s surface) Earlier(ctx context.Context, _ chat.ID, before chat.MessageRef, e chat.Earlier) ([]chat.Quote, error) {
	s.mu.Lock()
	tell := s.earlier
	s.mu.Unlock()
	if s.gate.isDead() {
		return nil, errDead
	}
	if tell == nil {
		return nil, nil
	}
	return tell(ctx, before, e)
}

func (s surface) Pace() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pace
}

func (s surface) Post(ctx context.Context, id chat.ID, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	if s.gate.isDead() {
		return "", errDead
	}
	return s.post(ctx, s.who, id, key, m)
}

func (s surface) Edit(ctx context.Context, id chat.ID, ref chat.MessageRef, m render.Message, lane agent.Urgency) error {
	if s.gate.isDead() {
		return errDead
	}
	return s.edit(ctx, s.who, id, ref, m, lane)
}

func (s surface) Whisper(_ context.Context, to chat.ReplyHandle, m render.Message) error {
	if s.gate.isDead() {
		return errDead
	}
	s.mu.Lock()
	s.whispers[to.Key] = append(s.whispers[to.Key], m)
	s.mu.Unlock()
	s.sig.Fire()
	return nil
}
