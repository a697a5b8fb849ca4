package permission

import (
	"testing"

	"github.com/nodhq/nod/core/chat"
)

// On the page people who sign in by a platform are at home; those of another are not.
func TestPeopleOfAPlatformAreAtHomeOnThePage(t *testing.T) {
	ana := chat.User{Platform: "slack", Workspace: "T1", Key: "U1"}
	req := Request{Chat: chat.ID{Platform: "web", Key: "c"}, Requester: chat.User{Platform: "slack", Workspace: "T1", Key: "U2"}, Present: []chat.User{ana}}
	for of, want := range map[string]bool{"slack": true, "discord": false, "": false} {
		for _, rule := range []ApproverRule{ApproversAnyone, ApproversParticipants} {
			p := Policy{Installed: true, PageOf: []string{"elsewhere", of}, Approvers: Approvers{Rule: rule}}
			if err := MayDecide(p, req, LevelUser, ana); (err == nil) != want {
				t.Errorf("with people of %q, %v: %v", of, rule, err)
			}
			if err := MayDecide(p, Request{Chat: chat.ID{Platform: "discord", Key: "1"}, Present: []chat.User{ana}}, LevelUser, ana); err == nil {
				t.Errorf("%v lets her decide on Discord", rule)
			}
		}
	}
}
