package card

import (
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// grantedBy names the grant that let a call run: what it was for, whose it was, and its end.
func (v viewer) grantedBy(d *detail, c turn.ToolCall) {
	g := c.Cover
	if g == nil { // of a call that was recorded before this was kept
		g = v.s.Grant(c.Grant)
	}
	if g == nil {
		d.text(text.ByEarlierGrant)
		return
	}
	d.text(text.ByGrant(turn.ChoiceOf(*g))).person(g.By, g.Name)
	if !c.StartedAt.IsZero() && g.Of > 0 {
		d.text(text.UseOf(g.Of-g.Uses, g.Of))
	}
	if !g.Until.IsZero() {
		d.text(text.UntilAt).time(g.Until, true)
	}
}

// limits say what ends a grant before its chat does.
func limits(d *detail, g permission.Grant) {
	if g.Counted {
		d.text(text.UsesLeft(g.Uses))
	}
	if !g.Until.IsZero() {
		d.text(text.UntilAt).time(g.Until, true)
	}
}

// GrantWhat is what a grant allows, in words; the names inside are untrusted.
func GrantWhat(g permission.Grant) string {
	what := permission.GrantedWhat(g)
	if len(g.Pins) > 0 {
		what += " " + permission.PinsLabel(g.Pins)
	}
	return what
}
