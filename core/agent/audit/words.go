package audit

import (
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/permission/pin"
	"github.com/nodhq/nod/core/text"
)

// Every sentence of the audit that a person reads stands here.

const noteGone = "the turn's message, or its place, was deleted"

func noteUntil(t time.Time) string { return "until " + t.UTC().Format(time.RFC3339) }

// noteGrant is what a grant is limited to, beyond its tool.
func noteGrant(g permission.Grant) string {
	var scope, until, uses string
	if g.Scope != permission.ScopeTool {
		scope = permission.GrantedWhat(g)
	}
	if !g.Until.IsZero() {
		until = noteUntil(g.Until)
	}
	if g.Counted {
		uses = text.Count(g.Uses, "use") + " left"
	}
	return joined(scope, redacted(pin.Label(g.Pins)), until, uses)
}

// joined are notes that are not empty.
func joined(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
}

func sayAllow(approved int) string {
	return "denied 0 of " + text.Number(approved) + ": consider allowing it without asking"
}

func sayDisable(denied int) string {
	return "denied " + text.Number(denied) + " of " + text.Number(denied) + ": consider disabling it"
}

func sayReach(expired, asked int) string {
	return "nobody answered " + text.Number(expired) + " of " + text.Number(asked) + ": consider more approvers, or a longer timeout"
}
