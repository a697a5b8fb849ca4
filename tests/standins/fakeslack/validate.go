package fakeslack

import (
	"errors"
	"fmt"
)

// CheckMessage says what Slack would refuse of a message's blocks, nil if nothing: the verdict of chat.postMessage, for tests that draw and
// do not send.
func CheckMessage(blocks []byte) error { return checkMessage(blocks).err() }

// CheckView does the same for a view of a kind, "modal" or "home": the verdict of views.open and views.publish.
func CheckView(view []byte, kind string) error { return checkView(view, kind).err() }

func (r *refusal) err() error {
	if r == nil {
		return nil
	}
	return errors.New(r.Error + ": " + fmt.Sprint(r.Messages))
}
