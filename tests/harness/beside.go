package harness

import (
	"context"
	"fmt"
	"slices"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Note is a message beside a turn's one.
type Note struct {
	Ref, Beside chat.MessageRef
	View        render.Message
	Link        bool
	Gone        bool
	File        agent.File
}

// Notes are all messages beside turns' messages, oldest first.
func (p *Platform) Notes() []Note {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Note(nil), p.notes...)
}

// beside is the platform with everything that is optional.
type beside struct{ surface }

var (
	_ agent.Annotator = beside{}
	_ agent.Seeker    = beside{}
)

func (b beside) Annotate(ctx context.Context, id chat.ID, at chat.MessageRef, key chat.PostKey, m render.Message, link bool) (chat.MessageRef, error) {
	if b.gate.isDead() {
		return "", errDead
	}
	t := b.befall(ctx, Op{Chat: id, Post: true, Note: true, View: m})
	if t.Err != nil && !t.Commit {
		return "", t.Err
	}
	b.mu.Lock()
	ref := chat.MessageRef(fmt.Sprintf("n%d", len(b.notes)+1))
	b.keys[id.String()+"/"+string(key)] = ref
	b.notes = append(b.notes, Note{Ref: ref, Beside: at, View: m, Link: link})
	b.mu.Unlock()
	b.sig.Fire()
	return ref, t.Err
}

func (b beside) Remove(ctx context.Context, id chat.ID, ref chat.MessageRef) error {
	if b.gate.isDead() {
		return errDead
	}
	t := b.befall(ctx, Op{Chat: id, Ref: ref, Note: true, View: render.Message{Blocks: []render.Block{render.Note{}}}})
	if t.Err != nil && !t.Commit {
		return t.Err
	}
	b.mu.Lock()
	for i := range b.notes {
		if b.notes[i].Ref == ref {
			b.notes[i].Gone = true
		}
	}
	b.order = slices.DeleteFunc(b.order, func(m *Message) bool { return m.Ref == ref && m.Chat == id })
	b.mu.Unlock()
	b.sig.Fire()
	return t.Err
}

func (b beside) Seek(_ context.Context, id chat.ID, key chat.PostKey) (chat.MessageRef, bool, error) {
	if b.gate.isDead() {
		return "", false, errDead
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seeks++
	ref, found := b.keys[id.String()+"/"+string(key)]
	return ref, found, nil
}

// Seeks counts how often somebody looked for an earlier post.
func (p *Platform) Seeks() int { p.mu.Lock(); defer p.mu.Unlock(); return p.seeks }
