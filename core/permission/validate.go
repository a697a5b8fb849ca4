package permission

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
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
	known := func(field string, v encoding.TextMarshaler) {
		_, err := v.MarshalText()
		bad(field, err)
	}
	people := func(field string, users []chat.User) {
		for _, u := range users {
			if u.Platform == "" || u.Key == "" {
				bad(field, errors.New("an entry is empty"))
			}
		}
	}
	timeout := func(field string, d *time.Duration) {
		if d != nil && *d < 0 {
			bad(field, errors.New("a timeout is a duration, or park"))
		}
	}
	known("permissions.mode", p.Mode)
	known("permissions.posture", p.Posture)
	known("grants.remember", p.RememberUpTo)
	timeout("grants.channel_for", &p.ChannelFor)
	known("approvals.approvers", p.Approvers.Rule)
	if p.Approvers.Rule == ApproversListed && len(p.Approvers.Users) == 0 {
		bad("approvals.approvers", errors.New("listed names nobody"))
	}
	people("approvals.approvers", p.Approvers.Users)
	people("admins", p.Admins)
	if p.Timeout != TimeoutUnset {
		timeout("approvals.timeout", &p.Timeout)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Servers)) {
		s, field := p.Servers[name], "permissions.servers."+name
		known(field+".ask", s.Ask)
		timeout(field+".timeout", s.Timeout)
		for _, tool := range slices.Sorted(maps.Keys(s.Tools)) {
			t, field := s.Tools[tool], field+".tools."+tool
			known(field+".ask", t.Ask)
			known(field+".repeat", t.Repeat)
			for i, r := range t.Rules {
				at, err := r.Check()
				bad(fmt.Sprintf("%s.rules[%d].%s", field, i, at), err)
			}
			if t.Access != nil && *t.Access != Read && *t.Access != Write {
				bad(field+".access", &ParseError{Field: "access", Got: t.Access.String(), Want: accesses.words[1:3]})
			}
			if t.Risk != nil {
				known(field+".risk", *t.Risk)
			}
			if t.Approval != nil {
				known(field+".approval", *t.Approval)
			}
			timeout(field+".timeout", t.Timeout)
			bad(field, CheckMessage(t.Message))
		}
	}
	for i, l := range p.Locals {
		for _, x := range l.Set {
			bad(fmt.Sprintf("permissions.channels[%d]", i), x.Check())
		}
	}
	return errors.Join(all...)
}
