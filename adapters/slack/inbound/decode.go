package inbound

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nodhq/nod/adapters/surface"
)

// Delivery is one thing that Slack sent, decoded: an event, an interaction or a slash command.
type Delivery interface {
	// Lane is what it has to keep its order in.
	Lane() string
}

// The kinds of deliveries, as Socket Mode names them. https://docs.slack.dev/apis/events-api/using-socket-mode/#events
const (
	kindEvent       = "events_api"
	kindInteraction = "interactive"
	kindCommand     = "slash_commands"
)

// ErrUnknownKind: a delivery of a kind that did not exist when this was written.
var ErrUnknownKind = errors.New("a delivery of an unknown kind")

// DecodeDelivery reads a payload of one of the kinds.
func DecodeDelivery(kind string, payload json.RawMessage) (Delivery, error) {
	switch kind {
	case kindEvent:
		return DecodeEvent(payload)
	case kindInteraction:
		return DecodeInteraction(payload)
	case kindCommand:
		return decode[SlashCommand](payload)
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownKind, surface.Shortened(kind, 64))
}

// LooseList is a list whose odd items are read as far as they can be, and that is empty where there is no list. Decoding it never fails.
type LooseList[T any] []T

func (l *LooseList[T]) UnmarshalJSON(b []byte) error {
	var raw []json.RawMessage
	_ = json.Unmarshal(b, &raw)
	*l = make([]T, len(raw))
	for i, r := range raw {
		_ = json.Unmarshal(r, &(*l)[i])
	}
	return nil
}

// LooseString is a string where Slack sometimes has another type: a number, or an object with an id (a channel in channel_rename).
// Decoding it never fails.
type LooseString string

func (l *LooseString) UnmarshalJSON(b []byte) error {
	*l = ""
	switch b[0] {
	case '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*l = LooseString(s)
	case '{':
		var o struct {
			ID LooseString `json:"id"`
		}
		if json.Unmarshal(b, &o) == nil {
			*l = o.ID
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		*l = LooseString(b)
	}
	return nil
}

var errNotObject = errors.New("the payload is not a JSON object")

// decode reads a JSON object. Its error quotes nothing of it: messages do not belong in a log.
func decode[T any](payload []byte) (v T, err error) {
	var none T
	if b := bytes.TrimSpace(payload); len(b) == 0 || b[0] != '{' {
		return none, errNotObject
	}
	err = json.Unmarshal(payload, &v)
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return v, nil
	case errors.As(err, &kind):
		return none, fmt.Errorf("the payload's %s is a %s", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		return none, fmt.Errorf("the payload is not JSON from byte %d on", syntax.Offset)
	}
	return none, err
}
