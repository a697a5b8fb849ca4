package permission

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Validate says everything that is wrong with a policy, each with the name of its field as configuration spells it. Rulings
// are careful with a policy that was not validated; a binary refuses to start with one.
func (p Policy) Validate() error {
	var all []error
	bad := func(field string, err error) {
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", field, err))
		}
	}
	known := func(field string, v interface{ MarshalText() ([]byte, error) }) {
		_, err := v.MarshalText()
		bad(field, err)
	}
	known("permissions.mode", p.Mode)
	known("permissions.posture", p.Posture)
	known("approvals.approvers", p.Approvers.Rule)
	if p.Approvers.Rule == ApproversListed && len(p.Approvers.Users) == 0 {
		bad("approvals.approvers", errors.New("listed names nobody"))
	}
	for _, u := range p.Approvers.Users {
		if u.Platform == "" || u.Key == "" {
			bad("approvals.approvers", errors.New("an entry is empty"))
		}
	}
	for _, u := range p.Admins {
		if u.Platform == "" || u.Key == "" {
			bad("admins", errors.New("an entry is empty"))
		}
	}
	if p.Timeout < 0 {
		bad("approvals.timeout", errNegative)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Servers)) {
		s, field := p.Servers[name], "permissions.servers."+name
		known(field+".ask", s.Ask)
		if s.Timeout != nil && *s.Timeout < 0 {
			bad(field+".timeout", errNegative)
		}
		for _, tool := range slices.Sorted(maps.Keys(s.Tools)) {
			t, field := s.Tools[tool], field+".tools."+tool
			known(field+".ask", t.Ask)
			known(field+".repeat", t.Repeat)
			if t.Access != nil && *t.Access != Read && *t.Access != Write {
				bad(field+".access", &ParseError{Field: "access", Got: t.Access.String(), Want: []string{"read", "write"}})
			}
			if t.Risk != nil {
				known(field+".risk", *t.Risk)
			}
			if t.Approval != nil {
				known(field+".approval", *t.Approval)
			}
			if t.Timeout != nil && *t.Timeout < 0 {
				bad(field+".timeout", errNegative)
			}
			bad(field, CheckMessage(t.Message))
		}
	}
	return errors.Join(all...)
}

var errNegative = errors.New("a timeout is a duration, or park")
