package config

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// decidersAt is what one place of the configuration says of who decides, and what counts there.
type decidersAt struct {
	field   string
	own     permission.Rights // what stands in this place
	all     permission.Rights // that, and what the places around it say
	timeout *Timeout
	differs bool // from what the places around it say
	onPage  bool // it counts for chats of the page
}

// deciders are all places that may say who decides: approvals, then each server's entry with those of its tools.
func (c *Config) deciders() []decidersAt {
	a := &c.Approvals
	general := permission.Rights{Approvers: &a.Approvers, MinApprovals: &a.MinApprovals, RequesterMayApprove: &a.RequesterMayApprove}
	out, onPage := []decidersAt{{"approvals", general, general, a.Timeout, true, true}}, true
	below := func(field string, own, around permission.Rights, timeout *Timeout) permission.Rights {
		all := over(own, around)
		out = append(out, decidersAt{field, own, all, timeout, !reflect.DeepEqual(all, around), onPage})
		return all
	}
	servers := func(part string, of, elsewhere map[string]ServerPolicy, around permission.Rights) {
		for name, s := range sorted(of) {
			field, there := join(part+".servers", name), elsewhere[name]
			all := below(field, s.Rights, over(there.Rights, around), s.Timeout)
			for tool, t := range sorted(s.Tools) {
				below(join(field+".tools", tool), t.Rights, over(there.Tools[tool].Rights, all), t.Timeout)
			}
		}
	}
	servers("permissions", c.Permissions.Servers, nil, general)
	for i, l := range c.Permissions.Channels {
		part := fmt.Sprintf("permissions.channels[%d]", i)
		onPage = slices.ContainsFunc(l.In, func(at permission.Place) bool { return at.Platform == "web" })
		servers(part, l.Servers, c.Permissions.Servers, below(part, l.Rights, general, l.Timeout))
	}
	onPage = false // nobody has applied it yet
	for name, t := range sorted(c.Permissions.Templates) {
		part := join("permissions.templates", name)
		servers(part, t.Servers, c.Permissions.Servers, below(part, t.Rights, general, t.Timeout))
	}
	return out
}

// over are the rights of a place with those around it.
func over(own, around permission.Rights) permission.Rights {
	return permission.Rights{
		Approvers:           cmp.Or(own.Approvers, around.Approvers),
		MinApprovals:        cmp.Or(own.MinApprovals, around.MinApprovals),
		RequesterMayApprove: cmp.Or(own.RequesterMayApprove, around.RequesterMayApprove),
	}
}

// people are all people and groups that the configuration names.
func (c *Config) people() []chat.User {
	out := slices.Concat(c.Admins, c.Approvals.Escalate.To)
	for _, d := range c.deciders() {
		if d.own.Approvers != nil {
			out = append(out, d.own.Approvers.Users...)
		}
	}
	return out
}

// needsPeople names the first field that wants people who are different from each other, or "".
func (c *Config) needsPeople() string {
	for _, d := range c.deciders() {
		switch {
		case !d.onPage:
		case d.own.MinApprovals != nil && *d.own.MinApprovals > 1:
			return d.field + ".min_approvals"
		case d.own.RequesterMayApprove != nil && !*d.own.RequesterMayApprove:
			return d.field + ".requester_may_approve"
		}
	}
	return ""
}

// checkDeciders refuses rules that nobody could ever satisfy, in each place where one may stand.
func (c *Config) checkDeciders(r *File) {
	e := c.Approvals.Escalate
	r.refuse(e.After != 0 && e.After < time.Second, "approvals.escalate.after", "want a second or more, such as 10m")
	r.refuse(e.After > 0 && len(e.To) == 0, "approvals.escalate.to", "to whom? List people or groups, as in [\"slack:T1:&S1\"]")
	r.refuse(e.After == 0 && len(e.To) > 0, "approvals.escalate.after", "when? Set how long a question stands unanswered before they may answer it, such as 10m")
	ends := Timeout(permission.TimeoutOnPage)
	if c.Slack.Enabled() || c.Discord.Enabled() {
		ends = Timeout(permission.TimeoutNotified)
	}
	ends = *cmp.Or(c.Approvals.Timeout, &ends)
	for _, d := range c.deciders() {
		if d.timeout != nil && ends != 0 && (*d.timeout == 0 || *d.timeout > ends) {
			ends = *d.timeout
		}
		n, who := d.own.MinApprovals, d.own.Approvers
		r.refuse(n != nil && (*n < 1 || *n > 20), d.field+".min_approvals", "want a number of people from 1 to 20")
		r.refuse(who != nil && who.Rule == permission.ApproversListed && len(who.Users) == 0 && !r.Has(d.field+".approvers"), d.field+".approvers",
			"the list is empty, so nobody but an admin could decide; %v", errApprovers)
	}
	if ends != 0 && e.After >= time.Duration(ends) {
		never := r.problemOf("approvals.escalate.after", "never comes: after %s a question is over; set approvals.timeout to more", ends)
		if c.Approvals.Timeout == nil { // admins may have set one from a chat
			r.notes = append(r.notes, never)
		} else {
			r.found = append(r.found, never)
		}
	}
	for _, d := range c.deciders() {
		if d.differs && !r.Has(d.field+".approvers") && !r.Has(d.field+".min_approvals") && !r.Has("admins") {
			c.checkEnough(r, d.field, d.all)
		}
	}
}

// checkEnough counts the people who could decide. Groups, participants and anyone are as many as they turn out to be.
func (c *Config) checkEnough(r *File, field string, d permission.Rights) {
	people := map[chat.User]bool{}
	for _, u := range slices.Concat(c.Admins, d.Approvers.Users) {
		if u.IsGroup() {
			return
		}
		people[u] = true
	}
	n := permission.People(len(people) + len(c.AdminSessionKeys))
	switch d.Approvers.Rule {
	case permission.ApproversParticipants, permission.ApproversAnyone:
		return
	case permission.ApproversRequester:
		if *d.RequesterMayApprove {
			n++
		}
	case permission.ApproversListed:
	}
	switch {
	case n == 0:
		r.Add(field+".requester_may_approve", "nobody could ever allow anything: approvers is requester, who may not, and there is no admin; set approvers to participants, anyone or a list of people, or name admins")
	case n < *d.MinApprovals:
		r.Add(field+".min_approvals", "nothing could ever be allowed: %d people must allow, and only %d could; widen approvers, or name admins", *d.MinApprovals, n)
	}
}

var slackPerson = regexp.MustCompile(`^[TE][A-Z0-9]*:[UW][A-Z0-9]*$`) // https://docs.slack.dev/reference/objects/user-object

// impossible says why somebody cannot be: people of Slack and Discord have IDs for names, and who is written otherwise would be silently left
// out. In Discord's direct messages there is no server.
func impossible(u chat.User) string {
	switch {
	case u.Platform == "slack" && !u.IsGroup() && !slackPerson.MatchString(u.Workspace+":"+u.Key):
		return "Slack's IDs are as in slack:T0123ABC456:U0123ABC456 (workspace and person)"
	case u.Platform == "discord" && (!snowflake.MatchString(strings.TrimPrefix(u.Key, chat.GroupPrefix)) || u.Workspace != "" && !snowflake.MatchString(u.Workspace)):
		return "Discord's IDs are numbers, as in discord:123456789012345678:234567890123456789 (server and person)"
	}
	return ""
}
