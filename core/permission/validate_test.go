package permission

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
)

func TestValidate(t *testing.T) {
	if err := installed().Validate(); err != nil {
		t.Error(err)
	}
	minute := time.Minute
	good := with(installed(), "files", ServerSettings{Timeout: &minute, Tools: map[string]ToolSettings{
		"bare": {}, "writes": {Access: new(Write)}, "full": {Access: new(Read), Risk: new(Safe), Approval: new(AutoApprove), Timeout: new(time.Duration(0)), Message: "{{.args.x}}?"},
	}})
	good = with(good, "bare", ServerSettings{})
	good.Approvers = Approvers{Rule: ApproversListed, Users: []chat.User{ana}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	good.Approvers.Users = append(good.Approvers.Users, chat.User{})
	if err := good.Validate(); err == nil || err.Error() != "approvals.approvers: an entry is empty" {
		t.Error(err)
	}
	neg := -time.Second
	p := with(Policy{
		Mode: 9, Posture: 9, Timeout: neg, Approvers: Approvers{Rule: ApproversListed}, Admins: []chat.User{{}},
	}, "files", ServerSettings{Ask: 9, Timeout: &neg, Tools: tools("x", ToolSettings{
		Ask: 9, Access: new(All), Risk: new(Risk(9)), Approval: new(Approval(9)), Timeout: &neg, Repeat: 9, Message: "{{x}}",
	})})
	err := p.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	var fields []string
	for _, l := range strings.Split(err.Error(), "\n") {
		fields = append(fields, l[:strings.Index(l, ":")])
	}
	want := []string{"permissions.mode", "permissions.posture", "approvals.approvers", "admins", "approvals.timeout",
		"permissions.servers.files.ask", "permissions.servers.files.timeout",
		"permissions.servers.files.tools.x.ask", "permissions.servers.files.tools.x.repeat", "permissions.servers.files.tools.x.access",
		"permissions.servers.files.tools.x.risk", "permissions.servers.files.tools.x.approval", "permissions.servers.files.tools.x.timeout", "permissions.servers.files.tools.x"}
	if !slices.Equal(fields, want) {
		t.Errorf("got %q\n%v", fields, err)
	}
}
