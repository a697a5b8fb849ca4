package permission

import "testing"

// SAFETY 1, points 2 and 3.
func TestMayRepeat(t *testing.T) {
	trusted := with(installed(), "files", ServerSettings{Trusted: true})
	set := func(x ToolSettings) Policy {
		return with(installed(), "files", ServerSettings{Trusted: true, Tools: tools("move_thing", x)})
	}
	for _, c := range []struct {
		name    string
		p       Policy
		src     Source
		h       Hints
		current Digest
		rule    string
		ok      bool
	}{
		{"read-only", trusted, SourceMCP, Hints{ReadOnly: yes}, "d1", "read-only", true},
		{"read-only, not destructive", trusted, SourceMCP, Hints{ReadOnly: yes, Destructive: no}, "d1", "read-only", true},
		{"idempotent write", trusted, SourceMCP, Hints{ReadOnly: no, Idempotent: yes, Destructive: yes}, "d1", "idempotent", true},
		{"idempotent, absent means write", trusted, SourceMCP, Hints{Idempotent: yes}, "d1", "idempotent", true},
		{"read-only, destructive, idempotent", trusted, SourceMCP, Hints{ReadOnly: yes, Destructive: yes, Idempotent: yes}, "d1", "idempotent", true},
		{"contradiction", trusted, SourceMCP, Hints{ReadOnly: yes, Destructive: yes}, "d1", "the tool's annotations contradict each other", false},
		{"contradiction, not idempotent", trusted, SourceMCP, Hints{ReadOnly: yes, Destructive: yes, Idempotent: no}, "d1", "the tool's annotations contradict each other", false},
		{"silent", trusted, SourceMCP, Hints{}, "d1", "nothing says that running it twice does no harm", false},
		{"write", trusted, SourceMCP, Hints{ReadOnly: no}, "d1", "nothing says that running it twice does no harm", false},
		{"untrusted", installed(), SourceMCP, Hints{ReadOnly: yes, Idempotent: yes}, "d1", "the server is not marked trusted", false},
		{"workbench", installed(), SourceWorkbench, Hints{Idempotent: yes}, "d1", "idempotent", true},
		{"workbench, silent", installed(), SourceWorkbench, Hints{}, "d1", "nothing says that running it twice does no harm", false},
		{"changed", trusted, SourceMCP, Hints{ReadOnly: yes}, "d2", "the tool is not as it was when it was approved", false},
		{"gone", trusted, SourceMCP, Hints{ReadOnly: yes}, "", "the tool is not as it was when it was approved", false},
		{"repeat: always", set(ToolSettings{Repeat: RepeatAlways}), SourceMCP, Hints{}, "d1", "repeat: always", true},
		{"repeat: always, changed", set(ToolSettings{Repeat: RepeatAlways}), SourceMCP, Hints{}, "d2", "the tool is not as it was when it was approved", false},
		{"repeat: always, not the accepted one", set(ToolSettings{Repeat: RepeatAlways, Accepted: "d0"}), SourceMCP, Hints{}, "d1", "the tool is not as it was when it was approved", false},
		{"repeat: never", set(ToolSettings{Repeat: RepeatNever}), SourceMCP, Hints{ReadOnly: yes}, "d1", "repeat: never", false},
		{"no repeat at all", set(ToolSettings{Repeat: 9}), SourceMCP, Hints{ReadOnly: yes}, "d1", "repeat: never", false},
		{"disabled", set(ToolSettings{Repeat: RepeatAlways, Disabled: true}), SourceMCP, Hints{}, "d1", "move_thing of files is disabled (tool setting).", false},
		{"no policy", Policy{}, SourceWorkbench, Hints{ReadOnly: yes}, "d1", sayNoPolicy, false},
	} {
		req := call(files)
		req.Source, req.Hints = c.src, c.h
		if rule, ok := MayRepeat(c.p, req, c.current); rule != c.rule || ok != c.ok {
			t.Errorf("%s: %q %v", c.name, rule, ok)
		}
	}
}
