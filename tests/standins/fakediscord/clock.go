package fakediscord

import (
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Clock is where the server takes its time from: the same contract as the stand-in Slack's, so that one clock can drive both.
type Clock = fakeslack.Clock

// Manual is a clock that stands until it is advanced. Make one with [NewManual].
type Manual = fakeslack.Manual

// NewManual makes a clock that stands at the time of its making.
func NewManual() *Manual { return fakeslack.NewManual() }
