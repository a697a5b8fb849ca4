package permission

import (
	"strings"
	"testing"
)

// That a tool is new is news only where somebody can accept it.
func TestNewsOfATool(t *testing.T) {
	for _, c := range []struct {
		name        string
		fresh, boss bool
		want        bool
	}{
		{"a new tool", true, true, true},
		{"a new tool, and no admin", true, false, false},
		{"a tool that is known", false, true, false},
	} {
		p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{New: c.fresh})})
		if !c.boss {
			p.Admins = nil
		}
		if r := Evaluate(p, nil, call(files), noon); r.New != c.want {
			t.Errorf("%s: new %v", c.name, r.New)
		}
	}
}

// A chat that never asks still asks where others have to look, and says which it is: a chat that asks says what it asks for.
func TestAChatThatNeverAsksWhereOthersLook(t *testing.T) {
	for name, c := range map[string]struct {
		rights Rights
		mode   Mode
		want   string // in the reason of the mode; "" where another rule decides
	}{
		"others, never":          {Rights{RequesterMayApprove: new(false)}, ModeNever, "somebody else"},
		"several people, never":  {Rights{MinApprovals: new(People(2))}, ModeNever, "several people"},
		"others, always":         {Rights{RequesterMayApprove: new(false)}, ModeAlways, "before every call"},
		"several people, always": {Rights{MinApprovals: new(People(2))}, ModeAlways, "before every call"},
		"others, as set":         {Rights{RequesterMayApprove: new(false)}, ModeTool, ""},
		"several people, as set": {Rights{MinApprovals: new(People(2))}, ModeTool, ""},
	} {
		p := with(installed(), "files", ServerSettings{Rights: c.rights})
		req := call(files)
		req.Mode = c.mode
		r := Evaluate(p, nil, req, noon)
		if r.Verdict != Ask || (r.Winner() == RuleMode) != (c.want != "") {
			t.Errorf("%s: %v by %s", name, r.Verdict, r.Winner())
		}
		for _, x := range r.Reasons {
			if x.Won && (!strings.Contains(x.Text, c.want) || strings.Contains(x.Text, "never asks") != (c.mode == ModeNever)) {
				t.Errorf("%s: %q", name, x.Text)
			}
		}
	}
}
