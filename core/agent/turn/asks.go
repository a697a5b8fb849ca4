package turn

import "github.com/nodhq/nod/core/permission"

// Indexed returns the identifiers that an event makes findable without knowing their chat: every new asking,
// and the call it is about where the event names it.
func Indexed(e Event) []string {
	switch e := e.(type) {
	case Ruled:
		if e.Ruling.Verdict == permission.Ask {
			return []string{string(e.Ask), string(e.Call)}
		}
	case Abandoned:
		return []string{string(e.Ask)}
	case Withdrawn:
		return []string{string(e.Next)}
	case Reopened:
		return []string{string(e.Next)}
	case Resolved:
		return []string{string(e.Next)}
	case Wanted:
		return []string{string(e.Ask)}
	default: // no new asking
	}
	return nil
}
