package surface

import (
	"sync"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// Heeds reports whether a message in a thread that the bot follows is for the bot although it does not mention it: it has to be by whoever
// began the chat, and to name nobody else. In every other one people talk to each other.
func Heeds(s turn.Session, by chat.User, namesOthers bool) bool {
	return !namesOthers && !by.IsZero() && by == s.Began
}

// LastHeard is the newest message that a chat has taken, in the order that newer says; empty where its session does not hold one.
func LastHeard(s turn.Session, newer func(a, b chat.MessageRef) bool) (last chat.MessageRef) {
	all := s.Waiting
	for _, t := range s.Turns() {
		all = append(all[:len(all):len(all)], t.Said...)
	}
	for _, m := range all {
		if m.Message != "" && (last == "" || newer(m.Message, last)) {
			last = m.Message
		}
	}
	return last
}

// Once knows what was seen lately: the last thousand at least. The zero value is ready.
type Once struct {
	mu       sync.Mutex
	new, old map[string]bool
}

const onceKept = 1024

// Again reports whether key was seen before. No key is never seen.
func (o *Once) Again(key string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if key == "" || o.new[key] || o.old[key] {
		return key != ""
	}
	if o.new == nil || len(o.new) >= onceKept {
		o.old, o.new = o.new, make(map[string]bool, onceKept)
	}
	o.new[key] = true
	return false
}
