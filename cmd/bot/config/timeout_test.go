package config

import (
	"fmt"
	"testing"
	"time"

	"github.com/nodhq/nod/core/permission"
)

// How long an ask stays open, for everything, for a server and for a tool, the narrower first; written there or taken from a variable.
// R116
func TestTimeouts(t *testing.T) {
	for _, x := range []struct {
		yaml string
		env  []string
		want time.Duration
		from permission.Origin
	}{
		{"", nil, permission.TimeoutUnset, permission.FromDefault},
		{"approvals: {timeout: 120s}", nil, 120 * time.Second, permission.FromDefault},
		{"approvals: {timeout: 2m}", nil, 120 * time.Second, permission.FromDefault},
		{"approvals: {timeout: '${APPROVAL_TIMEOUT}'}", []string{"APPROVAL_TIMEOUT", "120s"}, 120 * time.Second, permission.FromDefault},
		{"approvals: {timeout: '${APPROVAL_TIMEOUT}s'}", []string{"APPROVAL_TIMEOUT", "120"}, 120 * time.Second, permission.FromDefault},
		{"approvals: {timeout: 2m}\npermissions: {servers: {workbench: {timeout: 3m}}}", nil, 3 * time.Minute, permission.FromServer},
		{"approvals: {timeout: 2m}\npermissions: {servers: {workbench: {timeout: 3m, tools: {write_file: {timeout: 4m}}}}}", nil, 4 * time.Minute, permission.FromTool},
		{"approvals: {timeout: 2m}\npermissions: {servers: {workbench: {timeout: 3m, tools: {write_file: {timeout: park}}}}}", nil, 0, permission.FromTool},
		{"approvals: {timeout: 2m}\npermissions: {servers: {workbench: {tools: {delete_file: {timeout: 4m}}}}}", nil, 2 * time.Minute, permission.FromDefault},
	} {
		p := mustParse(t, x.yaml, env(x.env...)).Policy()
		is := p.Get(permission.Tool{Server: "workbench", Name: "write_file"}, permission.SourceWorkbench, permission.Hints{}, permission.Metadata{})
		if is.Timeout != x.want || is.TimeoutFrom != x.from {
			t.Errorf("%q: %v from %v, want %v from %v", x.yaml, is.Timeout, is.TimeoutFrom, x.want, x.from)
		}
	}
	for _, bad := range []string{"0s", "-5s", "soon", "''", "120", "9999999999h"} {
		text := fmt.Sprintf("approvals: {timeout: %s}", bad)
		if _, err := Parse("nod.yaml", []byte(text), env()); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
