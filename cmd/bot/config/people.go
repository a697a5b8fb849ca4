package config

import (
	"maps"
	"slices"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// checkRuled wants rules to be of a server that there is: a misspelt name protects nothing.
func (c *Config) checkRuled(r *report, name string) {
	field := join("permissions.servers", name)
	switch _, ok := c.MCP.Servers[name]; {
	case !serverName.MatchString(name):
		r.add(field, "want a server's name: letters, digits, _ . and -, at most 64")
	case !ok && name != Workbench && !r.has("mcp"):
		known := append(slices.Sorted(maps.Keys(c.MCP.Servers)), Workbench)
		r.add(field, "there is no such server under mcp.servers, so these rules would protect nothing%s", Meant(name, known))
	}
}

// checkPeople refuses rules that nobody could ever satisfy, in each place where one may stand.
func (c *Config) checkPeople(r *report) {
	general := who{c.Approvals.Approvers, c.Approvals.MinApprovals, c.Approvals.RequesterMayApprove}
	c.checkWho(r, "approvals", general)
	for name, s := range sorted(c.Permissions.Servers) {
		field := join("permissions.servers", name)
		w := general.under(s.Approvers, s.MinApprovals, s.RequesterMayApprove)
		if w.differs(general) {
			c.checkWho(r, field, w)
		}
		for tool, t := range sorted(s.Tools) {
			if of := w.under(t.Approvers, t.MinApprovals, t.RequesterMayApprove); of.differs(w) {
				c.checkWho(r, join(field+".tools", tool), of)
			}
		}
	}
}

// who is who may decide in one place.
type who struct {
	approvers permission.Approvers
	min       int
	requester bool
}

// under is who may decide where a narrower place says something of its own.
func (w who) under(a *permission.Approvers, n *int, requester *bool) who {
	if a != nil {
		w.approvers = *a
	}
	if n != nil {
		w.min = *n
	}
	if requester != nil {
		w.requester = *requester
	}
	return w
}

func (w who) differs(other who) bool {
	return w.min != other.min || w.requester != other.requester || w.approvers.Rule != other.approvers.Rule ||
		!slices.Equal(w.approvers.Users, other.approvers.Users)
}

// checkWho counts the people who could decide. Groups, participants and anyone are as many as they turn out to be.
func (c *Config) checkWho(r *report, field string, w who) {
	if r.has(field+".approvers") || r.has(field+".min_approvals") || r.has("admins") {
		return
	}
	named := append(slices.Clone(c.Admins), w.approvers.Users...)
	people := map[chat.User]bool{}
	for _, u := range named {
		if u.IsGroup() {
			return
		}
		people[u] = true
	}
	n := len(people) + len(c.AdminSessionKeys)
	switch w.approvers.Rule {
	case permission.ApproversParticipants, permission.ApproversAnyone:
		return
	case permission.ApproversRequester:
		if w.requester {
			n++
		}
	case permission.ApproversListed:
	}
	switch {
	case n == 0:
		r.add(field+".requester_may_approve", "nobody could ever allow anything: approvers is requester, who may not, and there is no admin; set approvers to participants, anyone or a list of people, or name admins")
	case n < w.min:
		r.add(field+".min_approvals", "nothing could ever be allowed: %d people must allow, and only %d could; widen approvers, or name admins", w.min, n)
	}
}
