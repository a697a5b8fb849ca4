package fakeslack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// TriggerFor is how long a trigger_id may be used, once. https://docs.slack.dev/surfaces/modals#triggers
	TriggerFor = 3 * time.Second
	// ResponseFor and ResponseUses bound a response_url. https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
	ResponseFor  = 30 * time.Minute
	ResponseUses = 5
)

// Button is something that can be pressed: a button, or one option of an overflow menu, a select or checkboxes.
type Button struct {
	BlockID, ActionID string
	Type              string // of the element: button, overflow, checkboxes, …
	Text, Value       string // as a person sees it, without entities
	Style, URL        string
	Confirm           bool   // a dialog asks first
	Asks              string // what it says
	Chosen            bool   // an option that is chosen at first
	Menu              int    // which of the elements on the message it belongs to; options of one menu share it

	element map[string]any
	option  map[string]any
}

// Buttons are what can be pressed on a message as it is now, in the order they stand.
func (s *Server) Buttons(channel, ts string) []Button {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c == nil || c.byTS[ts] == nil || c.byTS[ts].Deleted {
		return nil
	}
	return pressable(rewrite(ts, c.byTS[ts].Version))
}

// pressable finds the elements in rewritten blocks.
func pressable(blocks any) []Button {
	var out []Button
	menu := 0
	var walk func(block string, v any)
	walk = func(block string, v any) {
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				walk(block, e)
			}
		case map[string]any:
			if id, ok := x["block_id"].(string); ok {
				block = id
			}
			kind, _ := x["type"].(string)
			if interactive[kind] {
				out = append(out, pressOf(block, kind, x, menu)...)
				menu++
				return
			}
			for _, k := range []string{"tasks", "elements", "element", "accessory", "child_blocks", "actions", "columns", "blocks"} {
				walk(block, x[k])
			}
		}
	}
	walk("", blocks)
	return out
}

func pressOf(block, kind string, x map[string]any, menu int) []Button {
	b := Button{BlockID: block, Type: kind, Menu: menu, element: x}
	b.ActionID, _ = x["action_id"].(string)
	b.Value, _ = x["value"].(string)
	b.Style, _ = x["style"].(string)
	b.URL, _ = x["url"].(string)
	b.Text = textOf(x["text"])
	dialog, _ := x["confirm"].(map[string]any)
	b.Confirm, b.Asks = dialog != nil, textOf(dialog["text"])
	if kind == "feedback_buttons" {
		var out []Button
		for _, k := range []string{"positive_button", "negative_button"} {
			if o, ok := x[k].(map[string]any); ok {
				b.option, b.Text = o, textOf(o["text"])
				b.Value, _ = o["value"].(string)
				out = append(out, b)
			}
		}
		return out
	}
	options, ok := x["options"].([]any)
	if !ok {
		return []Button{b}
	}
	chosen := initial(x)
	var out []Button
	for _, o := range options {
		if o, ok := o.(map[string]any); ok {
			b.option, b.Text = o, textOf(o["text"])
			b.Value, _ = o["value"].(string)
			b.Chosen = slices.Contains(chosen, b.Value)
			out = append(out, b)
		}
	}
	return out
}

// initial are the values of the options chosen at first.
func initial(x map[string]any) []string {
	var out []string
	list, _ := x["initial_options"].([]any)
	for _, o := range append(list, x["initial_option"]) {
		if o, ok := o.(map[string]any); ok {
			v, _ := o["value"].(string)
			out = append(out, v)
		}
	}
	return out
}

func textOf(v any) string {
	o, _ := v.(map[string]any)
	t, _ := o["text"].(string)
	return unescape(t)
}

// find is the one button that what means: its text, value, action_id, "action_id=value" or, where those are several, "block_id/" before any.
func find(buttons []Button, what string) (Button, error) {
	var found []Button
	for _, b := range buttons {
		for _, name := range []string{b.Text, b.Value, b.ActionID, b.ActionID + "=" + b.Value} {
			if name != "" && (name == what || b.BlockID+"/"+name == what) {
				found = append(found, b)
				break
			}
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var names []string
	for _, b := range buttons {
		names = append(names, fmt.Sprintf("%q (%s=%s in %s)", b.Text, b.ActionID, b.Value, b.BlockID))
	}
	return Button{}, fmt.Errorf("fakeslack: %d buttons answer to %q; there are: %s", len(found), what, strings.Join(names, ", "))
}

// Click presses what exactly one button or option answers to: by its text, its value, its action_id or "action_id=value", and
// with "block_id/" before any of these where that is needed. It fails if there is none, or several, on the message as it is now.
func (s *Server) Click(user, channel, ts, what string) (*Delivery, error) {
	return s.ClickStale(user, channel, ts, -1, what)
}

// ClickStale presses on an earlier version of the message, which the person still had on screen. version counts from 0; -1 is
// the present one.
func (s *Server) ClickStale(user, channel, ts string, version int, what string) (*Delivery, error) {
	m, ok := s.Message(channel, ts)
	switch {
	case !ok || m.Deleted && version < 0:
		return nil, errors.New("fakeslack: no message " + ts + " in " + channel)
	case version >= len(m.Versions):
		return nil, fmt.Errorf("fakeslack: the message has %d versions", len(m.Versions))
	case version >= 0:
		m.Version = m.Versions[version]
	}
	b, err := find(pressable(rewrite(ts, m.Version)), what)
	if err != nil {
		return nil, err
	}
	return s.press(user, m, b)
}

// Press presses any button on a message, whether it is there or not.
func (s *Server) Press(user, channel, ts string, b Button) (*Delivery, error) {
	m, ok := s.Message(channel, ts)
	if !ok {
		return nil, errors.New("fakeslack: no message " + ts + " in " + channel)
	}
	return s.press(user, m, b)
}

// PressMoved presses a button of a message that another workspace shows, as a person of this one, where a channel has the same ID.
func (s *Server) PressMoved(user string, m Message, b Button) (*Delivery, error) {
	return s.press(user, m, b)
}

func (s *Server) press(user string, m Message, b Button) (*Delivery, error) {
	s.mu.Lock()
	c, u := s.channels[m.Channel], s.users[user]
	if u == nil || c == nil {
		s.mu.Unlock()
		return nil, errors.New("fakeslack: no person " + user)
	}
	body := s.interaction("block_actions", u)
	container := map[string]any{"type": "message", "message_ts": m.TS, "channel_id": c.ID, "is_ephemeral": false}
	if m.Thread != "" {
		container["thread_ts"] = m.Thread
	}
	body["container"], body["channel"], body["message"] = container, map[string]any{"id": c.ID, "name": c.Name}, s.wire(&m, m.Version)
	body["response_url"] = s.link(&responseLink{channel: c.ID, user: user, ts: m.TS, thread: m.Thread})
	body["trigger_id"] = s.trigger(user, "")
	body["actions"], body["state"] = []any{s.action(b)}, stateOf(pressable(rewrite(m.TS, m.Version)), b)
	s.mu.Unlock()
	return s.interact(body, nil), nil
}

// ClickEphemeral presses on the newest private message to this person that has it.
func (s *Server) ClickEphemeral(user, what string) (*Delivery, error) {
	err := errors.New("fakeslack: no private message to " + user)
	seen := s.Ephemerals(user)
	for _, e := range slices.Backward(seen) {
		if e.Blocks == nil {
			continue
		}
		var b Button
		if b, err = find(pressable(rewrite(e.TS, e.Version)), what); err != nil {
			continue
		}
		s.mu.Lock()
		body := s.interaction("block_actions", s.users[user])
		container := map[string]any{"type": "message", "message_ts": e.TS, "channel_id": e.Channel, "is_ephemeral": true}
		if e.Thread != "" {
			container["thread_ts"] = e.Thread
		}
		body["container"], body["channel"] = container, map[string]any{"id": e.Channel, "name": s.channels[e.Channel].Name}
		body["response_url"] = s.link(&responseLink{channel: e.Channel, user: user, ephemeral: e.TS, thread: e.Thread})
		body["trigger_id"] = s.trigger(user, "")
		body["actions"], body["state"] = []any{s.action(b)}, map[string]any{"values": map[string]any{}}
		s.mu.Unlock()
		return s.interact(body, nil), nil
	}
	return nil, err
}

// interaction is what all interaction payloads have. s.mu is held.
func (s *Server) interaction(kind string, u *User) map[string]any {
	team := map[string]any{"id": s.opt.Team, "domain": strings.ToLower(s.opt.TeamName)}
	var enterprise any
	if s.opt.Enterprise != "" {
		enterprise = map[string]any{"id": s.opt.Enterprise, "name": s.opt.Enterprise}
		team["enterprise_id"], team["enterprise_name"] = s.opt.Enterprise, s.opt.Enterprise
	}
	return map[string]any{"type": kind, "api_app_id": s.opt.AppID, "token": "verification", "team": team, "enterprise": enterprise, "is_enterprise_install": false,
		"user": map[string]any{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": u.Team}}
}

// action is what an interaction says of the element used. s.mu is held.
func (s *Server) action(b Button) map[string]any {
	a := map[string]any{"action_id": b.ActionID, "block_id": b.BlockID, "type": cmp.Or(b.Type, "button"), "action_ts": s.stamp()}
	switch a["type"] {
	case "button":
		a["text"] = map[string]any{"type": "plain_text", "text": escape(b.Text), "emoji": true}
		if b.Value != "" {
			a["value"] = b.Value
		}
		if b.Style != "" {
			a["style"] = b.Style
		}
	case "feedback_buttons", "icon_button":
		a["value"] = b.Value
		a["text"] = map[string]any{"type": "plain_text", "text": escape(b.Text), "emoji": true}
	case "checkboxes", "multi_static_select":
		a["selected_options"] = toggled(b)
	default:
		a["selected_option"] = orElse(b.option, map[string]any{"text": map[string]any{"type": "plain_text", "text": escape(b.Text), "emoji": true}, "value": b.Value})
	}
	return a
}

func orElse(v, other map[string]any) map[string]any {
	if v == nil {
		return other
	}
	return v
}

// toggled are the options chosen after this one was pressed.
func toggled(b Button) []any {
	out := []any{}
	options, _ := b.element["options"].([]any)
	chosen := initial(b.element)
	for _, o := range options {
		v, _ := o.(map[string]any)["value"].(string)
		if slices.Contains(chosen, v) != (v == b.Value) {
			out = append(out, o)
		}
	}
	return out
}

// stateOf is the state of what holds one on a message: checkboxes and selects, with the one just used.
func stateOf(all []Button, used Button) map[string]any {
	out := map[string]any{}
	for _, b := range all {
		if b.option == nil || b.Type == "overflow" || b.Type == "feedback_buttons" {
			continue
		}
		if b.BlockID == used.BlockID && b.ActionID == used.ActionID {
			b = used
		} else if !b.Chosen {
			continue
		}
		entry := map[string]any{"type": b.Type, "selected_option": b.option}
		if b.Type == "checkboxes" || b.Type == "multi_static_select" {
			entry = map[string]any{"type": b.Type, "selected_options": chosenOf(b, used)}
		}
		of, _ := out[b.BlockID].(map[string]any)
		if of == nil {
			of = map[string]any{}
			out[b.BlockID] = of
		}
		of[b.ActionID] = entry
	}
	return map[string]any{"values": out}
}

func chosenOf(b, used Button) []any {
	if b.BlockID == used.BlockID && b.ActionID == used.ActionID {
		return toggled(used)
	}
	list, _ := b.element["initial_options"].([]any)
	return list
}

// interact sends an interaction.
func (s *Server) interact(body map[string]any, onAck func(json.RawMessage)) *Delivery {
	raw, err := json.Marshal(body)
	if err != nil {
		panic("fakeslack: " + err.Error())
	}
	kind, _ := body["type"].(string)
	return s.deliver(&Delivery{Type: "interactive", Event: kind, Payload: raw, onAck: onAck})
}
