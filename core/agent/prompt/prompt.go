// Package prompt bounds what a model is asked: how many replies it writes at once for one person, what one person may ask of it in an hour and a
// day, and how much of a chat it is given. The words are package talk's.
package prompt

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/nodhq/nod/core/agent/talk"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// Limits are those of one process.
type Limits struct {
	Replying int // how many replies are written at once for one person: who asks for more waits for their own, and nobody else does
	Tokens   int // about how much of a chat the model takes, as the operator says; 0: all that is kept
	Person   Person
	Logger   *slog.Logger

	mu      sync.Mutex
	of      map[chat.User]*queue
	learned int // tokens that the model takes, where its service refused more; 0: nothing is known
}

type queue struct {
	slots  chan struct{} // one for each that is written
	inside int           // these, and those that wait
}

// Enter waits until one more may be written for somebody, and says first, through wait, where that takes a while. Call leave at its end.
func (l *Limits) Enter(ctx context.Context, who chat.User, wait func()) (leave func(), err error) {
	l.mu.Lock()
	q := l.of[who]
	if q == nil {
		if l.of == nil {
			l.of = map[chat.User]*queue{}
		}
		q = &queue{slots: make(chan struct{}, l.Replying)}
		l.of[who] = q
	}
	q.inside++
	free := false // taken before others can look: who is told nothing must not find somebody there who was told to wait
	select {
	case q.slots <- struct{}{}:
		free = true
	default:
	}
	l.mu.Unlock()
	out := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if q.inside--; q.inside == 0 {
			delete(l.of, who)
		}
	}
	done := func() { <-q.slots; out() }
	if free {
		return done, nil
	}
	wait()
	select {
	case q.slots <- struct{}{}:
		return done, nil
	case <-ctx.Done():
		out()
		return func() {}, ctx.Err()
	}
}

// maxShorter is how often a talk that was too long for the model is halved. What is left after that is a sixteenth.
const maxShorter = 4

// Ask asks with as much of a chat as the model takes, and with less where that was too long and can be less. left says how many utterances it
// was not given.
func (l *Limits) Ask(s turn.Session, notes []turn.Utterance, ask func([]turn.Utterance) (tooLong bool)) (left int) {
	for try, was := 0, -1; ; try++ {
		said, trimmed := talk.Trim(talk.Of(s), l.room())
		size := talk.Tokens(said)
		if size == was {
			return left
		}
		was = size
		said = talk.BeforeQuestion(said, notes)
		if left = trimmed + s.Dropped; left > 0 {
			said = slices.Concat([]turn.Utterance{{Role: turn.RoleNote, Text: text.NoteLeftOut(left)}}, said)
		}
		if !ask(said) || try == maxShorter || !l.tooLong(size) {
			return left
		}
	}
}

// room is about how many tokens of a chat the model takes, as the operator says or its service refused since we began; 0: all that is kept.
func (l *Limits) room() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.learned > 0 && (l.Tokens <= 0 || l.learned < l.Tokens) {
		return l.learned
	}
	return l.Tokens
}

// tooLong remembers that a talk of so many tokens was refused, and reports whether a shorter one is worth trying.
func (l *Limits) tooLong(tokens int) bool {
	const least = 500
	half := tokens / 2
	l.mu.Lock()
	defer l.mu.Unlock()
	if half >= least && (l.learned == 0 || l.learned > half) { // else somebody else found less
		l.learned = half
	}
	return half >= least
}
