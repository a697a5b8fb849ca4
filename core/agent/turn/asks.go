package turn

import "github.com/nodhq/nod/core/permission"

// GrantIndex begins what [Indexed] calls a grant. No asking and no call is called so.
const GrantIndex = "grant:"

// Answers is the asking that a person answers, or does something about, with an event; empty where they do not.
func Answers(e Event) AskID {
	switch e := e.(type) {
	case Decided:
		return e.Ask
	case Amended:
		return e.Ask
	case Ticked:
		return e.Ask
	case Extended:
		return e.Ask
	case Resolved:
		return e.Ask
	case Filled:
		return e.Ask
	default:
		return ""
	}
}

// Indexed returns the identifiers that an event makes findable without knowing their chat: every new asking,
// and the call it is about where the event names it; and every grant that is given.
func Indexed(e Event) []string {
	switch e := e.(type) {
	case Ruled:
		if e.Ruling.Verdict == permission.Ask {
			return []string{string(e.Ask), string(e.Call)}
		}
	case Decided:
		if e.Grant != nil && e.Grant.ID != "" {
			return []string{GrantIndex + string(e.Grant.ID)}
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
