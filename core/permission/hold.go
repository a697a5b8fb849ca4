package permission

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// Hold says that a chat, or all chats that a person takes part in, are neither dropped by time nor deleted, whatever else is set.
type Hold struct {
	What string    `json:"what"` // [chat.ID.String] or [chat.User.String]
	Why  string    `json:"why,omitempty"`
	By   chat.User `json:"by,omitzero"`
	Name string    `json:"name,omitempty"`
	At   time.Time `json:"at"`
}

type (
	// Holding puts a hold on, or with Off takes it off.
	Holding struct {
		What string `json:"what"`
		Why  string `json:"why,omitempty"`
		Off  bool   `json:"off,omitempty"`
	}
	// Erased records that what was kept of one person was deleted, and which chats went. It sets nothing.
	Erased struct {
		Chats []string `json:"chats,omitempty"` // [chat.ID.String]
	}
)

const maxHolds = 1000

// Held is the hold on a chat, or on one of these people.
func (s Settings) Held(id chat.ID, people ...chat.User) (Hold, bool) {
	i := slices.IndexFunc(s.Holds, func(h Hold) bool {
		return h.What == id.String() || slices.ContainsFunc(people, func(u chat.User) bool { return h.What == u.String() })
	})
	if i < 0 {
		return Hold{}, false
	}
	return s.Holds[i], true
}

func (c Holding) apply(s Settings, by chat.User, name string, at time.Time) (Settings, bool) {
	what, err := chat.ParseID(c.What)
	c.What = what.String() // as [Settings.Held] looks for it, however it was typed
	had := slices.ContainsFunc(s.Holds, func(h Hold) bool { return h.What == c.What })
	if err != nil || had != c.Off || !c.Off && len(s.Holds) >= maxHolds {
		return s, false
	}
	s.Holds = without(s.Holds, func(h Hold) bool { return h.What == c.What })
	if !c.Off {
		s.Holds = append(s.Holds, Hold{c.What, c.Why, by, name, at})
	}
	return s, true
}

func (c Erased) apply(s Settings, _ chat.User, _ string, _ time.Time) (Settings, bool) {
	return s, true
}

func (c Holding) String() string {
	if c.Off {
		return "no hold any more on " + c.What
	}
	return "a hold on " + c.What + ": " + cmp.Or(c.Why, "no reason given")
}

func (c Erased) String() string {
	return fmt.Sprintf("deleted what was kept of a person; chats that went: %d", len(c.Chats))
}

func (c Holding) stored() storedChange { return storedChange{Holding: &c} }
func (c Erased) stored() storedChange  { return storedChange{Erased: &c} }
