package permission

import (
	"errors"
	"testing"

	"github.com/nodhq/nod/core/chat"
)

// Those of Escalate may decide a call that nobody answered in time: themselves, or by a group; never what only an admin may, nor what
// they asked for where somebody else has to.
func TestEscalated(t *testing.T) {
	lead, group := chat.User{Platform: "slack", Workspace: "T1", Key: "ULEAD"}, chat.User{Platform: "slack", Workspace: "T1", Key: "&SLEADS"}
	member, stranger := chat.User{Platform: "slack", Workspace: "T1", Key: "UMEMBER"}, chat.User{Platform: "slack", Workspace: "T1", Key: "UX"}
	room := chat.ID{Platform: "slack", Workspace: "T1", Key: "C1"}
	for _, rule := range []ApproverRule{ApproversRequester, ApproversParticipants, ApproversListed} {
		p := Policy{Installed: true, Admins: []chat.User{boss}, Approvers: Approvers{Rule: rule, Users: []chat.User{ben}}, Escalate: []chat.User{lead, group},
			Members: map[chat.User][]chat.User{member: {group}}}
		for _, u := range []chat.User{lead, member} {
			for _, escalated := range []bool{false, true} {
				req := Request{Chat: room, Requester: ana, Escalated: escalated}
				if err := MayDecide(p, req, LevelUser, u); (err == nil) != escalated {
					t.Errorf("%v, escalated %v: %v: %v", rule, escalated, u, err)
				}
				if MaySee(p, req, LevelUser, u) != escalated {
					t.Errorf("%v, escalated %v: what %v sees", rule, escalated, u)
				}
				if err := MayDecide(p, req, LevelAdmin, u); err == nil {
					t.Errorf("%v, escalated %v: %v decides what only an admin may", rule, escalated, u)
				}
				if err := MayDecide(p, req, LevelUser, stranger); err == nil {
					t.Errorf("%v, escalated %v: a stranger decides", rule, escalated)
				}
			}
		}
		own := p
		others := false
		own.Rights.RequesterMayApprove = &others
		if err := MayDecide(own, Request{Chat: room, Requester: lead, Escalated: true}, LevelUser, lead); err == nil {
			t.Errorf("%v: who asked answers it, where somebody else has to", rule)
		}
	}
	p := Policy{Installed: true, Escalate: []chat.User{ben, group}}
	no, _ := errors.AsType[*NotAllowed](MayDecide(p, Request{Chat: room, Requester: ana, Escalated: true}, LevelUser, stranger))
	if got := no.Say(names); got != "Only Ana (who asked), Ben, slack:T1:&SLEADS or an admin can decide this." {
		t.Error(got)
	}
	if anyone := (Policy{Installed: true, Approvers: Approvers{Rule: ApproversAnyone}, Escalate: []chat.User{lead}}); MaySee(anyone, Request{Chat: room, Requester: ana}, LevelUser, lead) ||
		!MaySee(anyone, Request{Chat: room, Requester: ana, Escalated: true}, LevelUser, lead) {
		t.Error("where anyone may, only whom it came to sees it elsewhere")
	}
	if !p.NamesGroups("slack") || p.NamesGroups("discord") {
		t.Error("which groups count is not looked up")
	}
}
