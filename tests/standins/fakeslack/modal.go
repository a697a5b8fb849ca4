package fakeslack

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxViews is how many modals one stack holds. https://docs.slack.dev/surfaces/modals#view_stack
const MaxViews = 3

// View is a modal, or a Home tab.
type View struct {
	ID, Root, Previous     string
	Type                   string // modal or home
	User                   string
	CallbackID, ExternalID string
	PrivateMetadata, Hash  string
	Title, Submit, Close   string
	NotifyOnClose          bool
	ClearOnClose           bool
	Blocks                 json.RawMessage   // as they were sent
	Errors                 map[string]string // block_id → what the app said against it

	version int
}

// Views are the modals that this person has open, the visible one last.
func (s *Server) Views(user string) []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []View
	for _, v := range s.modals[user] {
		out = append(out, *v)
	}
	return out
}

// Home is what is on this person's Home tab.
func (s *Server) Home(user string) (View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.homes[user]; v != nil {
		return *v, true
	}
	return View{}, false
}

func (v *View) rewritten() []any { return rewrite(v.ID, Version{Blocks: v.Blocks}) }

// view finds one that is open. s.mu is held.
func (s *Server) view(id string) *View {
	for _, stack := range s.modals {
		for _, v := range stack {
			if v.ID == id {
				return v
			}
		}
	}
	for _, v := range s.homes {
		if v.ID == id {
			return v
		}
	}
	return nil
}

// ViewButtons are what can be pressed in a view.
func (s *Server) ViewButtons(viewID string) []Button {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view(viewID)
	if v == nil {
		return nil
	}
	return pressable(v.rewritten())
}

// input is an input of a modal with what is filled in.
type input struct {
	block, action, kind string
	optional            bool
	element             map[string]any
	value               string
}

// inputs are the modal's inputs, filled in with values by block_id.
func (v *View) inputs(filled map[string]string) ([]input, error) {
	var out []input
	left := map[string]bool{}
	for k := range filled {
		left[k] = true
	}
	for _, b := range v.rewritten() {
		b, _ := b.(map[string]any)
		if b["type"] != "input" {
			continue
		}
		in := input{element: map[string]any{}}
		in.block, _ = b["block_id"].(string)
		in.optional, _ = b["optional"].(bool)
		in.element, _ = b["element"].(map[string]any)
		in.kind, _ = in.element["type"].(string)
		in.action, _ = in.element["action_id"].(string)
		in.value = in.first()
		if x, ok := filled[in.block]; ok {
			in.value = x
			delete(left, in.block)
		}
		if err := in.allowed(); err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	for k := range left {
		return nil, errors.New("fakeslack: the modal has no input block " + k)
	}
	return out, nil
}

// first is what an input holds when its view opens; of several options, one a line.
func (in input) first() string {
	for _, k := range []string{"initial_value", "initial_date", "initial_time"} {
		if v, ok := in.element[k].(string); ok {
			return v
		}
	}
	if n, ok := in.element["initial_date_time"].(float64); ok {
		return strconv.FormatInt(int64(n), 10)
	}
	return strings.Join(initial(in.element), "\n")
}

// entry is what a client lets somebody enter into an input of a kind. https://docs.slack.dev/reference/block-kit/block-elements
var entry = map[string]*regexp.Regexp{
	"number_input": regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`), "email_text_input": regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`),
	"url_text_input": regexp.MustCompile(`^[a-z]+://\S+$`), "datepicker": regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`), "datetimepicker": regexp.MustCompile(`^[0-9]{10}$`),
}

// allowed is what Slack's client checks before it submits.
func (in input) allowed() error {
	if form := entry[in.kind]; form != nil && in.value != "" && !form.MatchString(in.value) {
		return fmt.Errorf("fakeslack: input %s is a %s and takes no %q", in.block, in.kind, in.value)
	}
	if in.kind == "number_input" && in.value != "" {
		if err := in.within(); err != nil {
			return err
		}
	}
	n := utf8.RuneCountInString(in.value)
	if n == 0 && !in.optional {
		return errors.New("fakeslack: input " + in.block + " is required")
	}
	limit := float64(maxInput)
	if x, ok := in.element["max_length"].(float64); ok {
		limit = x
	}
	if in.kind == "plain_text_input" && float64(n) > limit {
		return fmt.Errorf("fakeslack: input %s takes %v characters, not %d", in.block, limit, n)
	}
	if least, ok := in.element["min_length"].(float64); ok && n > 0 && float64(n) < least {
		return fmt.Errorf("fakeslack: input %s wants %v characters, not %d", in.block, least, n)
	}
	return nil
}

// within is what a number input checks.
func (in input) within() error {
	n, _ := strconv.ParseFloat(in.value, 64)
	bound := func(k string) (float64, bool) {
		s, _ := in.element[k].(string)
		v, err := strconv.ParseFloat(s, 64)
		return v, err == nil
	}
	if least, ok := bound("min_value"); ok && n < least {
		return fmt.Errorf("fakeslack: input %s wants at least %v", in.block, least)
	}
	if most, ok := bound("max_value"); ok && n > most {
		return fmt.Errorf("fakeslack: input %s takes at most %v", in.block, most)
	}
	if whole := in.element["is_decimal_allowed"] != true; whole && n != math.Trunc(n) {
		return fmt.Errorf("fakeslack: input %s takes whole numbers", in.block)
	}
	return nil
}

func (in input) state() map[string]any {
	out := map[string]any{"type": in.kind}
	options, choice := in.element["options"].([]any)
	chosen := []any{}
	for _, o := range options {
		if v, _ := o.(map[string]any)["value"].(string); slices.Contains(strings.Split(in.value, "\n"), v) {
			chosen = append(chosen, o)
		}
	}
	switch {
	case in.kind == "checkboxes" || in.kind == "multi_static_select":
		out["selected_options"] = chosen
	case choice && len(chosen) == 0:
		out["selected_option"] = nil
	case choice:
		out["selected_option"] = chosen[0]
	case in.kind == "datepicker":
		out["selected_date"] = nil
		if in.value != "" {
			out["selected_date"] = in.value
		}
	case in.kind == "datetimepicker":
		out["selected_date_time"] = nil
		if n, err := strconv.ParseInt(in.value, 10, 64); err == nil {
			out["selected_date_time"] = n
		}
	case in.value == "":
		out["value"] = nil
	default:
		out["value"] = in.value
	}
	return out
}

// SubmitView fills in a modal and submits it. values go by block_id, options by their values, several of them one a line; inputs that
// are not named keep their initial values.
// It fails where Slack's client would not let a person submit. The view closes when the answer to the delivery says so.
func (s *Server) SubmitView(user, viewID string, values map[string]string) (*Delivery, error) {
	s.mu.Lock()
	v, u := s.view(viewID), s.users[user]
	if v == nil || u == nil || v.User != user {
		s.mu.Unlock()
		return nil, errors.New("fakeslack: " + user + " has no view " + viewID + " open")
	}
	filled, err := v.inputs(values)
	if err == nil && len(filled) > 0 && v.Submit == "" {
		err = errors.New("fakeslack: the modal has inputs but no submit button")
	}
	if err != nil || v.Submit == "" {
		s.mu.Unlock()
		return nil, errors.Join(err, errors.New("fakeslack: the modal cannot be submitted"))
	}
	v.Errors = nil
	body := s.interaction("view_submission", u)
	wire := s.wireView(v)
	state := map[string]any{}
	for _, in := range filled {
		state[in.block] = map[string]any{in.action: in.state()}
	}
	wire["state"] = map[string]any{"values": state}
	body["view"], body["trigger_id"], body["response_urls"], body["hash"] = wire, s.trigger(user, viewID), []any{}, v.Hash
	s.mu.Unlock()
	return s.interact(body, func(answer json.RawMessage) { s.submitted(viewID, answer) }), nil
}

// submitted does what the app answered to a submission.
func (s *Server) submitted(viewID string, answer json.RawMessage) {
	var a struct {
		Action string            `json:"response_action"`
		View   json.RawMessage   `json:"view"`
		Errors map[string]string `json:"errors"`
	}
	_ = json.Unmarshal(answer, &a) // empty: close it
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.Fire()
	v := s.view(viewID)
	if v == nil {
		return
	}
	stack := s.modals[v.User]
	at := slices.Index(stack, v)
	switch a.Action {
	case "":
		s.modals[v.User] = slices.Delete(slices.Clone(stack), at, at+1)
	case "clear":
		s.modals[v.User] = nil
	case "errors":
		v.Errors = map[string]string{}
		for block, say := range a.Errors {
			if !v.hasInput(block) { // Slack shows a generic failure for a block that is no input
				block, say = "", "We had some trouble connecting. Try again?"
			}
			v.Errors[block] = say
		}
	case "update", "push":
		next, bad := parseView(a.View, "modal")
		if bad == nil && a.Action == "push" && len(stack) >= MaxViews {
			bad = &refusal{Error: "push_limit_reached"}
		}
		if bad != nil {
			v.Errors = map[string]string{"": "We had some trouble connecting. Try again? (" + bad.Error + ")"}
			return
		}
		if a.Action == "push" {
			s.show(v.User, next, v)
		} else {
			s.replace(v, next)
		}
	default:
		v.Errors = map[string]string{"": "We had some trouble connecting. Try again?"}
	}
}

func (v *View) hasInput(block string) bool {
	for _, b := range v.rewritten() {
		if b, ok := b.(map[string]any); ok && b["type"] == "input" && b["block_id"] == block {
			return true
		}
	}
	return false
}

// ClickInView presses something in a view; see [Server.Click].
func (s *Server) ClickInView(user, viewID, what string) (*Delivery, error) {
	s.mu.Lock()
	v, u := s.view(viewID), s.users[user]
	if v == nil || u == nil || v.User != user {
		s.mu.Unlock()
		return nil, errors.New("fakeslack: " + user + " has no view " + viewID + " open")
	}
	b, err := find(pressable(v.rewritten()), what)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	body := s.interaction("block_actions", u)
	body["container"] = map[string]any{"type": "view", "view_id": v.ID}
	body["view"], body["trigger_id"], body["actions"] = s.wireView(v), s.trigger(user, viewID), []any{s.action(b)}
	s.mu.Unlock()
	return s.interact(body, nil), nil
}

// CloseView closes a modal. The app is told only if it asked for that, else the delivery is nil.
func (s *Server) CloseView(user, viewID string) *Delivery {
	s.mu.Lock()
	v := s.view(viewID)
	if v == nil {
		s.mu.Unlock()
		return nil
	}
	stack := s.modals[user]
	at := slices.Index(stack, v)
	if v.ClearOnClose {
		s.modals[user] = nil
	} else {
		s.modals[user] = slices.Delete(slices.Clone(stack), at, at+1)
	}
	body := s.interaction("view_closed", s.users[user])
	body["view"], body["is_cleared"] = s.wireView(v), v.ClearOnClose
	s.Fire()
	s.mu.Unlock()
	if !v.NotifyOnClose {
		return nil
	}
	return s.interact(body, nil)
}
