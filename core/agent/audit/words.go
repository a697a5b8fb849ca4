package audit

import (
	"strings"
	"time"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// Every sentence of the audit that a person reads stands here.

const noteGone = "the turn's message, or its place, was deleted"

func noteUntil(t time.Time) string { return "until " + t.UTC().Format(time.RFC3339) }

func noteWas(value string) string { return "it was " + value }

// noteGrant is what a grant is limited to, beyond its tool.
func noteGrant(g permission.Grant) string {
	var say []string
	if g.Scope != permission.ScopeTool {
		say = append(say, permission.GrantedWhat(g))
	}
	if label := permission.PinsLabel(g.Pins); label != "" {
		say = append(say, redacted(label))
	}
	if !g.Until.IsZero() {
		say = append(say, noteUntil(g.Until))
	}
	if g.Counted {
		say = append(say, text.Count(g.Uses, "use")+" left")
	}
	return strings.Join(say, "; ")
}

func joined(notes ...string) string {
	var say []string
	for _, n := range notes {
		if n != "" {
			say = append(say, n)
		}
	}
	return strings.Join(say, "; ")
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
