package permission

import (
	"fmt"
	"testing"
)

// careOf orders rulings: what runs, what a person may let run, what only an admin may, what does not run.
func careOf(r Ruling) int {
	switch {
	case r.Verdict == Allow:
		return 0
	case r.Verdict == Ask && r.Level == LevelUser:
		return 1
	case r.Verdict == Ask:
		return 2
	}
	return 3
}

// What a model thinks of a tool may only add caution. Over every server and tool setting, trust, annotation and standing permission there
// is, no analysis lets a call run, or lets a person decide it, that was not so before; and one of another definition does nothing.
// R160
func TestAnalysisOnlyAddsCaution(t *testing.T) {
	accesses := []*Access{nil, new(Read), new(Write)}
	risks := []*Risk{nil, new(Safe), new(Dangerous)}
	approvals := []*Approval{nil, new(AutoApprove), new(RequireConfirmation), new(RequireAuth)}
	hints := []Hints{{}, {ReadOnly: yes}, {ReadOnly: no, Destructive: no}}
	names := []string{"move_thing", "read_file"}
	var grants [][]Grant
	for _, scope := range []Scope{ScopeTool, ScopeReads, ScopeWrites, ScopeServer} {
		grants = append(grants, []Grant{{ID: "g1", Chat: here, Scope: scope, By: ana, Name: "Ana", At: noon}})
	}
	grants = append(grants, nil)
	cells, raised := 0, 0
	for _, name := range names {
		tool := Tool{Server: "files", Name: name, Definition: "d1"}
		for _, source := range []Source{SourceMCP, SourceWorkbench} {
			for _, trusted := range []bool{false, true} {
				for _, h := range hints {
					for _, set := range product(accesses, risks, approvals) {
						p := with(installed(), "files", ServerSettings{Trusted: trusted, Tools: tools(name, set)})
						req := call(tool)
						req.Source, req.Hints = source, h
						for _, held := range grants {
							var g []Grant
							for _, x := range held {
								x.Tool, x.Tools = tool, []Tool{tool}
								g = append(g, x)
							}
							base := careOf(Evaluate(p, g, req, noon))
							for _, a := range []Access{Unclassified, Read, Write} {
								for _, r := range []Risk{Moderate, Safe, Dangerous} {
									for _, admin := range []bool{false, true} {
										cells++
										x := Analysis{Tool: tool, Access: a, Risk: r, Level: admin}
										if got := careOf(Evaluate(Settings{Analyses: []Analysis{x}}.Over(p), g, req, noon)); got < base {
											t.Fatalf("%s: caution %d, and %d with the analysis %v %v %v", fmt.Sprint(name, source, trusted, h, set, held), base, got, a, r, admin)
										} else if got > base {
											raised++
										}
									}
								}
							}
							other := Analysis{Tool: Tool{Server: "files", Name: name, Definition: "d0"}, Access: Write, Risk: Dangerous, Level: true}
							pinned := with(p, "files", ServerSettings{Trusted: trusted, Tools: tools(name, func() ToolSettings { s := set; s.Accepted = "d1"; return s }())})
							if was, is := careOf(Evaluate(pinned, g, req, noon)), careOf(Evaluate(Settings{Analyses: []Analysis{other}}.Over(pinned), g, req, noon)); was != is {
								t.Fatalf("an analysis of another definition changed %d to %d", was, is)
							}
						}
					}
				}
			}
		}
	}
	if cells < 10_000 || raised == 0 {
		t.Errorf("%d cells, %d of them more careful: the test says nothing", cells, raised)
	}
}

// product is every combination of settings.
func product(accesses []*Access, risks []*Risk, approvals []*Approval) (out []ToolSettings) {
	for _, a := range accesses {
		for _, r := range risks {
			for _, ap := range approvals {
				out = append(out, ToolSettings{Access: a, Risk: r, Approval: ap})
			}
		}
	}
	return out
}
