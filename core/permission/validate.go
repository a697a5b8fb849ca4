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
	var f faults
	f.known("permissions.mode", p.Mode)
	f.known("permissions.posture", p.Posture)
	f.known("grants.remember", p.RememberUpTo)
	f.timeout("grants.channel_for", &p.ChannelFor)
	f.known("approvals.approvers", p.Approvers.Rule)
	if p.Approvers.Rule == ApproversListed && len(p.Approvers.Users) == 0 {
		f.bad("approvals.approvers", errors.New("listed names nobody"))
	}
	f.people("approvals.approvers", p.Approvers.Users)
	f.people("admins", p.Admins)
	if p.Timeout != TimeoutUnset {
		f.timeout("approvals.timeout", &p.Timeout)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Servers)) {
		s, field := p.Servers[name], "permissions.servers."+name
		f.known(field+".ask", s.Ask)
		f.timeout(field+".timeout", s.Timeout)
		for _, tool := range slices.Sorted(maps.Keys(s.Tools)) {
			f.tool(field+".tools."+tool, s.Tools[tool])
		}
	}
	for i, l := range p.Locals {
		for _, x := range l.Set {
			f.bad(fmt.Sprintf("permissions.channels[%d]", i), x.Check())
		}
	}
	return errors.Join(f...)
}

// faults are what is wrong, each with its field.
type faults []error

func (f *faults) bad(field string, err error) {
	if err != nil {
		*f = append(*f, fmt.Errorf("%s: %w", field, err))
	}
}

func (f *faults) known(field string, v encoding.TextMarshaler) {
	_, err := v.MarshalText()
	f.bad(field, err)
}

func (f *faults) people(field string, users []chat.User) {
	for _, u := range users {
		if u.Platform == "" || u.Key == "" {
			f.bad(field, errors.New("an entry is empty"))
		}
	}
}

func (f *faults) timeout(field string, d *time.Duration) {
	if d != nil && *d < 0 {
		f.bad(field, errors.New("a timeout is a duration, or park"))
	}
}

func (f *faults) tool(field string, t ToolSettings) {
	f.known(field+".ask", t.Ask)
	f.known(field+".repeat", t.Repeat)
	for i, r := range t.Rules {
		at, err := r.Check()
		f.bad(fmt.Sprintf("%s.rules[%d].%s", field, i, at), err)
	}
	if t.Access != nil && *t.Access != Read && *t.Access != Write {
		f.bad(field+".access", &ParseError{Field: "access", Got: t.Access.String(), Want: accesses.words[1:3]})
	}
	if t.Risk != nil {
		f.known(field+".risk", *t.Risk)
	}
	if t.Approval != nil {
		f.known(field+".approval", *t.Approval)
	}
	f.timeout(field+".timeout", t.Timeout)
	f.bad(field, CheckMessage(t.Message))
}
