package state

import (
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// DefaultKeep is how long the log of a silent chat stays where Options.Keep says nothing: a year of audit, and the weeks in which
// somebody gets round to looking at it. The log outlives the conversation, which package turn forgets much earlier.
const DefaultKeep = 400 * 24 * time.Hour

// kept is Options.Keep as scripts take it, where 0 means for ever.
func kept(keep time.Duration) time.Duration {
	if keep == 0 {
		return DefaultKeep
	}
	return max(keep, 0)
}

// keeps is how long one log stays once it is silent. That of the settings says what is disabled, accepted and halted: it never fades.
func (s *Store) keeps(id chat.ID) time.Duration {
	if id.Platform == agent.Own {
		return 0
	}
	return s.opt.Keep
}
