// Package live is what people see of a turn that its log does not have yet: a reply as it streams, how far a call is, and which cards stand
// there already. Nothing of it is stored, and it ends with the process.
//
// It may import core's pure packages. A driver writes it, and so does whatever works or posts for it, at the same time: hence the lock.
package live

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/render"
)

// State is of one chat. Make it with [New].
type State struct {
	mu       sync.Mutex
	text     string
	note     string
	progress map[turn.CallID]turn.Progress
	drawn    map[turn.AskID]time.Time // asks whose cards stand there, and until when they say
	told     time.Time                // when progress was last worth a look
}

// New is that nothing is seen.
func New() *State {
	return &State{progress: map[turn.CallID]turn.Progress{}, drawn: map[turn.AskID]time.Time{}}
}

// Say is the reply so far, and a note about the wait.
func (l *State) Say(text, note string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text, l.note = text, note
}

// Note is a note about the wait beside what the reply said so far.
func (l *State) Note(note string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note = note
}

// together is how long progress is looked at in one.
const together = 50 * time.Millisecond

// Progress is how far a call is. It reports whether that is worth a look already.
func (l *State) Progress(c turn.CallID, p turn.Progress) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress[c] = p
	now := time.Now()
	if now.Sub(l.told) <= together {
		return false
	}
	l.told = now
	return true
}

// Over is that a call makes no progress any more.
func (l *State) Over(c turn.CallID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.progress, c)
}

// Seen is all of it, for a card.
func (l *State) Seen(now time.Time) card.Live {
	l.mu.Lock()
	defer l.mu.Unlock()
	return card.Live{Text: l.text, Note: l.note, Progress: maps.Clone(l.progress), Now: now, Drawn: maps.Clone(l.drawn)}
}

// Drew says that a message stands as it is here.
func (l *State) Drew(m render.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range m.Blocks {
		if a, ok := b.(render.Ask); ok {
			l.drawn[turn.AskID(a.Token)] = a.Expires
		}
	}
}

// Appeared are the asks whose cards stand there without the log's knowing.
func (l *State) Appeared(s turn.Session) (out []turn.Appeared) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range turn.Waits(s) {
		if until, ok := l.drawn[w.Ask]; ok && w.Seen == nil {
			out = append(out, turn.Appeared{Ask: w.Ask, Until: until})
		}
	}
	return out
}

// Unseen is the first ask in m that nobody can see yet, or empty.
func (l *State) Unseen(s turn.Session, m render.Message) turn.AskID {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range m.Blocks {
		a, ok := b.(render.Ask)
		if _, drawn := l.drawn[turn.AskID(a.Token)]; ok && !drawn && unseen(s, turn.AskID(a.Token)) {
			return turn.AskID(a.Token)
		}
	}
	return ""
}

// Forget lets go of the cards that the log knows of, or that are over.
func (l *State) Forget(s turn.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.drawn, func(id turn.AskID, _ time.Time) bool { return !unseen(s, id) })
}

func unseen(s turn.Session, id turn.AskID) bool {
	return slices.ContainsFunc(turn.Waits(s), func(w turn.Wait) bool { return w.Ask == id && w.Seen == nil })
}
