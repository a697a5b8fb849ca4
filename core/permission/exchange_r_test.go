package permission

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// R8: written out, wiped and read in again, the settings give identical decisions, for every tool, person, mode and definition that they speak
// of; and what is written then is the same again.
func TestExportGivesTheSameDecisions(t *testing.T) {
	d1, d2 := Digest(strings.Repeat("1", 64)), Digest(strings.Repeat("2", 64))
	tool := func(name string, d Digest) Tool { return Tool{Server: "files", Name: name, Definition: d} }
	set := func(server, name, field, value string) Change {
		return Change{Set: &Setting{Server: server, Tool: name, Field: field, Value: value}}
	}
	see := func(name string) Change { x := Seen{Tool: tool(name, d1)}; return Change{Seen: &x} }
	accept := func(name string) Change { x := tool(name, d1); return Change{Accept: &x} }
	var s Settings
	for _, c := range []Change{
		see("one"), see("two"), see("three"), see("four"), see("five"), accept("one"), accept("two"),
		set("files", "", "ask", "never"), set("files", "one", "ask", "always"), set("files", "two", "approval", "RequireAuth"),
		set("files", "three", "enabled", "false"), set("files", "", "trusted", "true"), set("", "", "timeout", "90s"),
		{Remember: &Remembered{ID: "r1", By: ana, Name: "Ana", Tool: tool("four", d1), Choice: StandAllow}},
		{Remember: &Remembered{ID: "r2", By: ana, Name: "Ana", Tool: tool("five", d1), Choice: StandDeny}},
		{Remember: &Remembered{ID: "r3", By: ben, Name: "Ben", Tool: tool("four", d1), Choice: StandAsk}},
		{Analysis: &Analysis{Tool: tool("one", d1), Risk: Dangerous, Reason: "it says so"}},
	} {
		next, moved := s.Apply(c, boss, "Boss", noon)
		if !moved {
			t.Fatalf("%v changes nothing", c)
		}
		s = next
	}
	written, err := json.Marshal(s.Exchange())
	if err != nil {
		t.Fatal(err)
	}
	var x Exchange
	if err := json.Unmarshal(written, &x); err != nil {
		t.Fatal(err)
	}
	var empty Settings
	changes, err := x.Changes(empty)
	if err != nil {
		t.Fatal(err)
	}
	again := empty
	for _, c := range changes {
		again, _ = again.Apply(c, ben, "Ben", noon)
	}
	differ := 0
	for _, name := range []string{"one", "two", "three", "four", "five", "six"} {
		for _, d := range []Digest{d1, d2} {
			for _, mode := range []Mode{ModeTool, ModeAlways, ModeNever} {
				req := call(tool(name, d))
				req.Mode, req.Hints = mode, Hints{ReadOnly: yes}
				for _, who := range []Request{req, func() Request { r := req; r.Requester = ben; return r }()} {
					was, is := Evaluate(s.Over(installed()), nil, who, noon), Evaluate(again.Over(installed()), nil, who, noon)
					if !reflect.DeepEqual(was, is) {
						t.Errorf("%s %.2s %v for %v: was %+v, is %+v", name, d, mode, who.Requester, was, is)
					}
					if bare := Evaluate(installed(), nil, who, noon); bare.Verdict != was.Verdict || bare.Level != was.Level {
						differ++
					}
				}
			}
		}
	}
	if differ < 10 {
		t.Errorf("only %d decisions are others than without any setting: the test says nothing", differ)
	}
	if rewritten, err := json.Marshal(again.Exchange()); err != nil || string(rewritten) != string(written) {
		t.Errorf("written again it is\n%s\nand was\n%s (%v)", rewritten, written, err)
	}
	if more, err := x.Changes(s); err != nil || len(more) != 0 {
		t.Errorf("read in where it already holds, it changes %v (%v)", more, err)
	}
}
