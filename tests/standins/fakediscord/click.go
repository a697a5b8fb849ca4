package fakediscord

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Button is something on a message that can be pressed: a button, or one option of a select.
type Button struct {
	ID       string // custom_id
	Label    string
	Style    int    // of a button
	URL      string // of a link button, which makes no interaction
	Disabled bool
	Value    string // of an option
	Select   string // placeholder of the select that an option is of
	Number   int    // the component's id
	kind     int
}

// Option reports whether it is an option of a select.
func (b Button) Option() bool { return b.kind == kindSelect }

// Buttons are what can be pressed on a version, in the order they stand.
func (v Version) Buttons() []Button {
	var out []Button
	walk(v.Components, func(c obj) {
		b := Button{ID: str(c, "custom_id"), Label: str(c, "label"), Style: integer(c["style"]), URL: str(c, "url"), Disabled: c["disabled"] == true, kind: integer(c["type"]), Number: integer(c["id"])}
		switch b.kind {
		case kindButton:
			out = append(out, b)
		case kindSelect:
			b.Select = str(c, "placeholder")
			options, _ := c["options"].([]any)
			for _, e := range options {
				o, _ := e.(obj)
				b.Label, b.Value = str(o, "label"), str(o, "value")
				out = append(out, b)
			}
		}
	})
	return out
}

// Buttons are what can be pressed on a message as it is now.
func (s *Server) Buttons(channel, id string) []Button {
	m, ok := s.Message(channel, id)
	if !ok || m.Deleted {
		return nil
	}
	return m.Buttons()
}

// find is the one button that what means: by its label, its custom_id, an option's value or label.
func find(buttons []Button, what string) (Button, error) {
	var found []Button
	var names []string
	for _, b := range buttons {
		if what != "" && (b.Label == what || b.Value == what || b.ID == what && !b.Option()) {
			found = append(found, b)
		}
		names = append(names, fmt.Sprintf("%q (%s %s)", b.Label, b.ID, b.Value))
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return Button{}, fmt.Errorf("fakediscord: %d buttons answer to %q; there are: %s", len(found), what, strings.Join(names, ", "))
}

// Click presses what exactly one button or option answers to, by its label, custom_id or value, on the message as it is now; one
// that only this person sees is found too.
func (s *Server) Click(user, channel, id, what string) (*Delivery, error) {
	return s.ClickStale(user, channel, id, -1, what)
}

// ClickStale presses on an earlier version of the message, which the person still had on screen. version counts from 0; -1 is
// the present one.
func (s *Server) ClickStale(user, channel, id string, version int, what string) (*Delivery, error) {
	m, ok := s.Message(channel, id)
	switch {
	case !ok || m.Deleted && version < 0:
		return nil, errors.New("fakediscord: no message " + id + " in " + channel)
	case version >= len(m.Versions):
		return nil, fmt.Errorf("fakediscord: the message has %d versions", len(m.Versions))
	case version >= 0:
		m.Version = m.Versions[version]
	}
	b, err := find(m.Buttons(), what)
	if err != nil {
		return nil, err
	}
	return s.Press(user, channel, id, b)
}

// Choose picks options of a select, by value or label.
func (s *Server) Choose(user, channel, id string, what ...string) (*Delivery, error) {
	m, ok := s.Message(channel, id)
	if !ok {
		return nil, errors.New("fakediscord: no message " + id + " in " + channel)
	}
	var first Button
	var values []string
	for _, w := range what {
		b, err := find(slices.DeleteFunc(m.Buttons(), func(b Button) bool { return !b.Option() }), w)
		if err != nil {
			return nil, err
		}
		if first.ID != "" && first.ID != b.ID {
			return nil, errors.New("fakediscord: those options are of several selects")
		}
		first = b
		values = append(values, b.Value)
	}
	return s.press(user, channel, id, first, values)
}

// ClickSeen presses on the newest ephemeral message of a person that has it.
func (s *Server) ClickSeen(user, channel, what string) (*Delivery, error) {
	err := errors.New("fakediscord: nothing that only " + user + " sees")
	for _, m := range slices.Backward(s.Seen(user, channel)) {
		var b Button
		if b, err = find(m.Buttons(), what); err == nil {
			return s.Press(user, channel, m.ID, b)
		}
	}
	return nil, err
}

// Press presses any button on a message, whether it is there or not: a forged click, where it is not.
func (s *Server) Press(user, channel, id string, b Button) (*Delivery, error) {
	var values []string
	if b.Option() || b.Value != "" {
		values = []string{b.Value}
	}
	return s.press(user, channel, id, b, values)
}

func (s *Server) press(user, channel, id string, b Button, values []string) (*Delivery, error) {
	if b.URL != "" || b.Disabled {
		return nil, fmt.Errorf("fakediscord: %q makes no interaction", b.Label)
	}
	s.mu.Lock()
	m := s.any(channel, id)
	if err := s.person(user, channel); err != nil || m == nil || m.Ephemeral != "" && m.Ephemeral != user {
		s.mu.Unlock()
		return nil, errors.Join(err, errors.New("fakediscord: "+user+" sees no message "+id+" in "+channel))
	}
	data := obj{"custom_id": b.ID, "component_type": cmp.Or(b.kind, kindButton), "id": b.Number}
	if values != nil {
		data["component_type"], data["values"] = kindSelect, list(values)
	}
	return s.interact(&interaction{kind: kindComponent, user: user, channel: channel, source: m}, data), nil
}

// any is a message, also a deleted or ephemeral one. s.mu is held.
func (s *Server) any(channel, id string) *Message {
	for _, m := range s.hidden {
		if m.ID == id && m.Channel == channel {
			return m
		}
	}
	if c := s.channels[channel]; c != nil {
		for _, m := range c.messages {
			if m.ID == id {
				return m
			}
		}
	}
	return nil
}

// person reports who cannot do anything in a channel: s.mu is held.
func (s *Server) person(user, channel string) error {
	c := s.channels[channel]
	switch {
	case c == nil || c.deleted:
		return errors.New("fakediscord: no channel " + channel)
	case s.users[user] == nil:
		return errors.New("fakediscord: no person " + user)
	case c.Kind == DM && c.With != user:
		return errors.New("fakediscord: " + channel + " is somebody else's DM")
	case c.Kind != DM && s.guilds[c.Guild] == nil, c.Kind != DM && s.guilds[c.Guild].members[user] == nil:
		return errors.New("fakediscord: " + user + " is no member there")
	}
	return nil
}
