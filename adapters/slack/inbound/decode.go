// Package inbound reads what Slack sends: events, interactions (clicks and forms) and slash commands. It is pure: bytes in, values out; no
// clock, no network, no engine. It may import core/chat, adapters/surface, adapters/slack/blocks (for a thread's Place) and slack-go (for
// an action).
//
// This file turns a payload into a Delivery, with structs of our own: a field of another type than expected is empty instead of an error.
// MeaningOf in events.go says what an event means to this bot, as one of a closed set, or nil; interaction.go has what people do by hand,
// content.go makes Slack's markup readable, and quotes what stands in a message beside its text. A new event is a case in MeaningOf, a type
// in its set, and a payload with its meaning in events_test.go; what is done about it stands in receive.go of adapters/slack.
//
//   - Who did something is the user of the signed envelope; no field that a sender could fill in says it.
//   - The bot's own messages and those of other programs mean nothing; an edit is never a new message.
//   - A delivery has the same key each time that Slack sends it, and no error quotes a message.
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

var ErrUnknownKind = errors.New("a delivery of an unknown kind") // a delivery of a kind that did not exist when this was written

// DecodeDelivery reads a payload. kind is as Socket Mode names it: https://docs.slack.dev/apis/events-api/using-socket-mode/#events
func DecodeDelivery(kind string, payload json.RawMessage) (Delivery, error) {
	switch kind {
	case "events_api":
		return DecodeEvent(payload)
	case "interactive":
		return DecodeInteraction(payload)
	case "slash_commands":
		return decode[SlashCommand](payload)
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownKind, surface.Shortened(kind, 64))
}

// Homes are the workspaces, then the organisations, that a delivery may be of: where the app is installed that it came to first.
func Homes(d Delivery) (out []string) {
	var all []LooseString
	switch d := d.(type) {
	case Event: // Slack names one installation of those that see it
		for _, i := range d.Installed {
			all = append(all, i.Team)
		}
		all = append(all, d.Team)
		for _, i := range d.Installed {
			all = append(all, i.Enterprise)
		}
		all = append(all, d.Enterprise)
	case Interaction:
		all = []LooseString{d.View.Installed, d.Team.ID, d.Team.Enterprise, d.Enterprise}
	case SlashCommand:
		all = []LooseString{d.Team, d.Enterprise}
	}
	for _, home := range all {
		if home != "" {
			out = append(out, string(home))
		}
	}
	return out
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

// LooseString is a string where Slack sometimes has a number, or an object with an id (a channel in channel_rename).
type LooseString = surface.LooseString

// decode reads a JSON object. Its error quotes nothing of it: messages do not belong in a log.
func decode[T any](payload []byte) (v T, err error) {
	if b := bytes.TrimSpace(payload); len(b) == 0 || b[0] != '{' {
		return v, errors.New("the payload is not a JSON object")
	}
	var read T
	err = json.Unmarshal(payload, &read)
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return read, nil
	case errors.As(err, &kind):
		err = fmt.Errorf("the payload's %s is a %s", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		err = fmt.Errorf("the payload is not JSON from byte %d on", syntax.Offset)
	}
	return v, err
}

// Self is who the bot is: what auth.test, and for App bots.info, say of the bot. One app token, and one signing secret, bring what happens
// in every workspace that the app is installed in; what is of another one counts for nothing.
// https://docs.slack.dev/reference/methods/auth.test
type Self struct {
	Team       string // workspace ID
	Enterprise string // of an Enterprise Grid; else empty
	User       string // the bot's user ID, as others mention it
	Bot        string // the bot ID, as its messages carry it
	App        string // the app's ID; empty: not known
	URL        string // of the workspace, ending in "/"
}

// sameWorkspace also takes what is of the bot token's organisation: on Enterprise Grid a channel can be in several workspaces of one.
func (me Self) sameWorkspace(team, enterprise LooseString) bool {
	return string(team) == me.Team || me.Enterprise != "" && string(enterprise) == me.Enterprise
}

// Concerned reports whether what names an app, a workspace and an organisation is of this app, where the bot token is of.
func (me Self) Concerned(app, team, enterprise LooseString) bool {
	return (app == "" || me.App == "" || string(app) == me.App) && me.sameWorkspace(team, enterprise)
}
