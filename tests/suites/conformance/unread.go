package conformance

import (
	"errors"

	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
)

// WhyUnread is why a file is not read, as an adapter says; empty for any other error.
func WhyUnread(err error) turn.WhyUnread {
	if no, ok := errors.AsType[*attach.Error](err); ok {
		return no.Why
	}
	return ""
}
