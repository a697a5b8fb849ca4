// Package card makes what people see of a session: it turns the fold of a chat's log into the neutral shapes of package render. It is
// pure: the same session gives the same message, and drawing changes nothing.
//
// It imports turn for the session, permission for rulings and grants, render for the shapes and text for every sentence. It knows no
// platform: the adapters fit and encode what it gives.
//
// Where to start: [View] (view.go) is the one message of a turn, from its replies, steps and notes. ask.go has the cards that wait for
// a person: a permission, an unknown outcome, and what a tool's server wants. menu.go is what stands behind ⋯ of one, and beside.go has the
// short messages beside a turn's one. [Details]
// (details.go) tells everything with nothing cut, and [Hidden] what a card masks; line.go builds one line.
//
// Where a new line goes: a fact on a card into ask.go, a choice into menu.go, a note about the turn into [viewer.notes]. Whether a choice
// may be offered is no question of drawing: package turn answers it, so that the fold refuses what was never offered. A sentence goes
// into package text. What comes from models, tools and people passes [text.Inline] or [text.Clip], here and once.
package card
