package conformance

import (
	"errors"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

// WhyUnread is why a file is not read, as an adapter says; empty for any other error.
func WhyUnread(err error) turn.WhyUnread {
	if no, ok := errors.AsType[*agent.FileError](err); ok {
		return no.Why
	}
	return ""
}
