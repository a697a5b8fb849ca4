package matrix

import (
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// lately is how long a brief ask waits: it is over when anybody looks.
const lately = 5 * time.Millisecond

// policies are a rule's policy while asks are made, and when they are answered.
func policies(w town, r rule) (before, now permission.Policy) {
	before = permission.Policy{
		Installed: true, Timeout: time.Hour, SurviveRestart: true,
		Admins:  []chat.User{w.one("root"), w.group("admins"), w.one("fay")},
		Servers: map[string]permission.ServerSettings{"box": {Trusted: true, Tools: toolSettings(false)}}, // accepted, so that choices may be remembered
	}
	before.Approvers = approversOf(r)
	if r == byOthers {
		no := false
		before.Rights.RequesterMayApprove = &no
	}
	now = before
	now.Admins = []chat.User{w.one("root"), w.group("admins")}
	switch r {
	case byListed:
		now.Approvers.Users = []chat.User{w.one("lena"), w.other("lara"), w.group("approvers")}
		before.Approvers.Users = append([]chat.User{w.one("finn")}, now.Approvers.Users...)
	case raised:
		now.Servers = map[string]permission.ServerSettings{"box": {Trusted: true, Tools: toolSettings(true)}}
	case lowered:
		now.Servers = map[string]permission.ServerSettings{"box": {Trusted: true}}
	case noAdmins:
		now.Admins = nil
	case uninstalled:
		now = permission.Policy{}
	case byRequester, byParticipants, byAnyone, byOthers:
	}
	return before, now
}

func approversOf(r rule) permission.Approvers {
	switch r {
	case byParticipants:
		return permission.Approvers{Rule: permission.ApproversParticipants}
	case byAnyone, byOthers, lowered:
		return permission.Approvers{Rule: permission.ApproversAnyone}
	case byListed:
		return permission.Approvers{Rule: permission.ApproversListed}
	case byRequester, raised, noAdmins, uninstalled:
	}
	return permission.Approvers{}
}

// toolSettings are the tools'. all raises every one of them to admins.
func toolSettings(all bool) map[string]permission.ToolSettings {
	out := map[string]permission.ToolSettings{}
	auth, brief, never, no := permission.RequireAuth, lately, time.Duration(0), false
	for _, name := range tools {
		s := permission.ToolSettings{}
		switch name {
		case "brief":
			s.Timeout = &brief
		case "parked":
			s.Timeout = &never
		case "single":
			s.ChatGrant = &no
		}
		if all {
			s.Approval = &auth
		}
		out[name] = s
		s.Approval = &auth
		out[adminTool+name] = s
	}
	return out
}

// deciderOf is somebody who may decide under a rule's policy while asks are made.
func deciderOf(w town, r rule, l level) chat.User {
	switch {
	case l == admin, r == byOthers:
		return w.one("root")
	case r == byListed:
		return w.one("lena")
	}
	return w.one("ana")
}
