package turn

import (
	"time"
)

// What the tests of this package look at from outside: they tell their stories with tests/script, which imports this package, and so
// cannot stand in it themselves.
const (
	MaxClicks     = maxClicks
	MaxLapsed     = maxLapsed
	MaxPeople     = maxPeople
	MaxRecent     = maxRecent
	MaxRepeats    = maxRepeats
	MaxTalkBytes  = maxTalkBytes
	MaxTranscript = maxTranscript
	MaxUses       = maxUses
)

// Decoders are the kinds of events that can be read.
var Decoders = decoders

func (t *Turn) AllSettled() bool              { return t.settled() }
func (c ToolCall) Overdue(now time.Time) bool { return c.overdue(now) }
