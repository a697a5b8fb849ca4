package turn

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Reveal is that somebody looked at what a card masks. What they saw is in no record.
type Reveal struct {
	Ask  AskID     `json:"ask"`
	By   chat.User `json:"by"`
	Name string    `json:"name,omitempty"`
	At   time.Time `json:"at"`
}

// Masked reports whether the card masks part of the call's arguments. A ruling from before this was recorded does not say.
func Masked(c ToolCall) bool { return c.Ruling.Masked || render.MaskedJSON(c.Args) != nil }

// Masked reports whether the card of what a tool's server wants masks part of it.
func (w Want) Masked() bool { return w.Kind == WantSample && render.MaskedJSON(w.Prompt) != nil }

// Saw reports whether somebody looked at what the card of an asking masks.
func (c ToolCall) Saw(ask AskID, u chat.User) bool {
	return slices.ContainsFunc(c.Revealed, func(r Reveal) bool { return r.Ask == ask && r.By == u })
}

func (s Session) revealed(e Entry, ev Revealed) Session {
	i := s.Turn.Asking(ev.Ask)
	if i >= 0 && s.Turn.Calls[i].Status != Awaiting {
		i = -1
	}
	if i < 0 && s.Turn != nil {
		i = s.Turn.Wanting(ev.Ask)
	}
	if i < 0 || ev.By.IsZero() || s.Turn.Calls[i].Saw(ev.Ask, ev.By) {
		return s
	}
	return s.recordParticipant(ev.By, ev.Name).edit(func(t *Turn) {
		t.Calls[i].Revealed = add(t.Calls[i].Revealed, Reveal{Ask: ev.Ask, By: ev.By, Name: ev.Name, At: e.At})
	})
}
