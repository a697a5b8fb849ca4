package decision

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
)

// Doubt is what is not believed of a log that may have forgotten something: what was decided before may have been used already.
type Doubt struct {
	Before time.Time            // zero: nothing is in doubt
	Fresh  map[turn.CallID]bool // the calls that were ruled since
}

// Grants are those that count for the open turn: one that was given before the doubt does not, in a turn that is older, too: the model may
// propose again what it had run.
func (d Doubt) Grants(s turn.Session) []permission.Grant {
	if s.Turn == nil || !s.Turn.At.Before(d.Before) {
		return s.Grants
	}
	return slices.DeleteFunc(slices.Clone(s.Grants), func(g permission.Grant) bool { return g.At.Before(d.Before) })
}

// Of reports whether what allowed a call of the open turn is from before the doubt.
func (d Doubt) Of(s turn.Session, c turn.ToolCall) bool {
	switch {
	case !s.Turn.At.Before(d.Before):
		return false
	case c.Asked:
		return c.DecidedAt.Before(d.Before)
	}
	return !d.Fresh[c.ID] // by a grant that counts, or by the policy
}
