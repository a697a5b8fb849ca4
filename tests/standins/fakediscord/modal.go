package fakediscord

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Modal is a form that a person has open.
type Modal struct {
	ID     string // custom_id
	Title  string
	Texts  []string // shown between the inputs
	Inputs []Input

	user, channel string
	source        *Message
	from          *interaction // submitted and not answered yet: the interaction
}

// Input is a text input of a form, or a select.
type Input struct {
	ID, Label, Description, Value, Placeholder string
	Long, Required                             bool
	Min, Max                                   int

	label  bool // in a label, not in a row
	kind   int
	number int
	holder int
}

// open opens a form. s.mu is held.
func (s *Server) open(in *interaction, data obj) *refusal {
	c := &checker{ids: map[string]bool{}}
	c.in("data", func() { c.modal(data) })
	if bad := c.refusal(); bad != nil {
		return bad
	}
	m := &Modal{ID: str(data, "custom_id"), Title: str(data, "title"), user: in.user, channel: in.channel, source: in.source}
	rows, _ := data["components"].([]any)
	for i, e := range settle(rows) {
		row := e.(obj)
		inner, _ := row["components"].([]any)
		if e, ok := row["component"]; ok {
			inner = settle([]any{e})
		}
		if integer(row["type"]) == kindText {
			m.Texts = append(m.Texts, str(row, "content"))
		}
		for _, e := range inner {
			o := e.(obj)
			in := Input{ID: str(o, "custom_id"), Label: cmp.Or(str(o, "label"), str(row, "label")), Description: str(row, "description"), Value: str(o, "value"), Placeholder: str(o, "placeholder"),
				Long: integer(o["style"]) == 2, Required: o["required"] != false, Min: integer(o["min_length"]), Max: cmp.Or(integer(o["max_length"]), MaxInput),
				label: integer(row["type"]) == kindLabel, kind: integer(o["type"]), number: 2*i + 2, holder: 2*i + 1}
			m.Inputs = append(m.Inputs, in)
		}
	}
	s.modals[in.user] = append(s.modals[in.user], m)
	return nil
}

// Modals are the forms a person has open, the visible one last.
func (s *Server) Modals(user string) []Modal {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Modal
	for _, m := range s.modals[user] {
		out = append(out, *m)
	}
	return out
}

// Dismiss closes the visible form of a person; the program learns nothing of it.
func (s *Server) Dismiss(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.modals[user]); n > 0 {
		s.modals[user] = s.modals[user][:n-1]
	}
	s.Fire()
}

// Submit sends the visible form of a person with these values by custom_id; an input that is not among them keeps what it had.
// It stays open until the program has answered.
func (s *Server) Submit(user string, values map[string]string) (*Delivery, error) {
	s.mu.Lock()
	open := s.modals[user]
	if len(open) == 0 {
		s.mu.Unlock()
		return nil, errors.New("fakediscord: " + user + " has no form open")
	}
	m := open[len(open)-1]
	rows := []any{}
	for i := range m.Inputs {
		in := &m.Inputs[i]
		if v, ok := values[in.ID]; ok {
			in.Value = v
		}
		n := utf8.RuneCountInString(in.Value)
		if in.Required && n == 0 || n > in.Max || n > 0 && n < in.Min {
			s.mu.Unlock()
			return nil, fmt.Errorf("fakediscord: the form does not let %d characters into %q", n, in.Label)
		}
		field := obj{"type": in.kind, "id": in.number, "custom_id": in.ID, "value": in.Value}
		if in.kind == kindSelect {
			field = obj{"type": in.kind, "id": in.number, "custom_id": in.ID, "values": []any{in.Value}}
		}
		row := obj{"type": kindRow, "id": in.holder, "components": []any{field}}
		if in.label {
			row = obj{"type": kindLabel, "id": in.holder, "component": field}
		}
		rows = append(rows, row)
	}
	for id := range values {
		if !slices.ContainsFunc(m.Inputs, func(in Input) bool { return in.ID == id }) {
			s.mu.Unlock()
			return nil, fmt.Errorf("fakediscord: the form %q has no input %q", m.Title, id)
		}
	}
	in := &interaction{kind: kindModal, user: user, channel: m.channel, source: m.source}
	m.from = in
	return s.interact(in, obj{"custom_id": m.ID, "components": rows}), nil
}

// closeModal closes the form whose submission was answered. s.mu is held.
func (s *Server) closeModal(in *interaction) {
	if in.kind == kindModal {
		s.modals[in.user] = slices.DeleteFunc(s.modals[in.user], func(m *Modal) bool { return m.from == in })
	}
}
