package permission

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
)

var templateTools = []Known{
	{Tool: Tool{"built", "calculator", definitionNo(1)}, Source: SourceWorkbench},
	{Tool: Tool{"built", "write_file", definitionNo(1)}, Source: SourceWorkbench},
	{Tool: Tool{"a", "look", definitionNo(2)}, Hints: Hints{ReadOnly: ref(true)}},
	{Tool: Tool{"a", "drop", definitionNo(3)}, Hints: Hints{Destructive: ref(true)}},
	{Tool: Tool{"b", "look", definitionNo(4)}, Hints: Hints{ReadOnly: ref(true)}},
	{Tool: Tool{"b", "system_shutdown", definitionNo(5)}},
}

func ref[T any](v T) *T { return &v }

func templatePolicy() Policy {
	return Policy{Installed: true, SurviveRestart: true, Timeout: time.Minute, Admins: exchangePeople[1:], Servers: map[string]ServerSettings{
		"a": {Trusted: true, Ask: NeverAsk}, "b": {Tools: map[string]ToolSettings{"look": {Ask: NeverAsk}}},
	}}
}

func applied(t interface{ Fatal(...any) }, tmpl Template, s Settings, base Policy) Policy {
	for _, c := range tmpl.Changes(s.Over(base), templateTools) {
		next, moved := s.Apply(c, exchangePeople[1], "B", time.Unix(1, 0))
		if !moved {
			t.Fatal(tmpl.Name, "would change nothing by", c)
		}
		s = next
	}
	p := s.Over(base)
	if again := tmpl.Changes(p, templateTools); len(again) != 0 {
		t.Fatal(tmpl.Name, "a second time would change", again)
	}
	if err := p.Validate(); err != nil {
		t.Fatal(tmpl.Name, err)
	}
	return p
}

func ruledAfter(p Policy, k Known) Ruling {
	return Evaluate(p, nil, Request{
		Chat: chat.ID{Platform: "web", Key: "c"}, Requester: exchangePeople[0], Tool: k.Tool, Source: k.Source, Hints: k.Hints, Metadata: k.Metadata, Args: []byte(`{}`),
	}, time.Unix(9, 0))
}

// What each template promises holds for every tool that is known, also where another one was applied before, or the file has several people look.
func TestTemplatesDoWhatTheySay(t *testing.T) {
	several, two, no := templatePolicy(), People(2), false
	several.Rights.MinApprovals, several.Rights.RequesterMayApprove = &two, &no
	for _, base := range []Policy{templatePolicy(), several} {
		for _, first := range append(Templates(), Template{Name: "none"}) {
			s := Settings{}
			for _, c := range first.Changes(base, templateTools) {
				s, _ = s.Apply(c, exchangePeople[1], "B", time.Unix(1, 0))
			}
			for _, tmpl := range Templates() {
				p := applied(t, tmpl, s, base)
				for _, k := range templateTools {
					e, r, was := p.Get(k.Tool, k.Source, k.Hints, k.Metadata), ruledAfter(p, k), s.Over(base).Get(k.Tool, k.Source, k.Hints, k.Metadata)
					var ok bool
					switch tmpl.Name {
					case "careful":
						ok = r.Verdict == Ask && !r.ChatGrant && (e.Risk != Dangerous || e.Approvals == 2)
					case "read-only":
						reads := e.Access == Read && e.Classified
						ok = reads && r.Verdict == Allow || !reads && r.Verdict == Ask && r.Level == LevelAdmin
						ok = ok || was.Approval == RequireAuth && r.Level == LevelAdmin
					case "team":
						ok = e.Approvers.Rule == ApproversAnyone && e.Timeout == 30*time.Minute && (e.OthersOnly || e.Risk != Dangerous)
					case "solo":
						ok = e.Approvers.Rule == ApproversRequester && e.Timeout == 0 && !e.OthersOnly && e.Approvals == 1
					}
					if !ok {
						t.Errorf("%s after %s: %s/%s: %+v %+v", tmpl.Name, first.Name, k.Tool.Server, k.Tool.Name, e, r.Verdict)
					}
				}
			}
		}
	}
}

// What is somebody's own word about one tool stays where a template says nothing of it.
func TestTemplatesLeaveAlone(t *testing.T) {
	two, read := People(2), Read
	p := templatePolicy()
	p.Servers["b"] = ServerSettings{Tools: map[string]ToolSettings{
		"look":            {Ask: AlwaysAsk, Access: &read},                                                                           // its server is not trusted
		"system_shutdown": {Rights: Rights{Approvers: &Approvers{Rule: ApproversListed, Users: exchangePeople}, MinApprovals: &two}}, // two of a list
	}}
	for _, x := range Templates() {
		for _, c := range x.Changes(p, templateTools) {
			c := c.(Setting)
			if x.Name == "read-only" && c.Tool == "look" && c.Server == "b" || x.Name == "solo" && c.Tool == "system_shutdown" {
				t.Errorf("%s: %s", x.Name, c)
			}
		}
	}
}

// A template applied twice changes nothing the second time, takes no admin's level away, and does not depend on the order of the tools.
func TestTemplatesOverAnySettings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawPeoplesSettings(t)
		for _, tmpl := range Templates() {
			before := s.Over(templatePolicy())
			turned := slices.Clone(templateTools)
			slices.Reverse(turned)
			if a, b := tmpl.Changes(before, templateTools), tmpl.Changes(before, turned); !reflect.DeepEqual(a, b) {
				t.Fatalf("%s: the order of tools matters", tmpl.Name)
			}
			after := applied(t, tmpl, s, templatePolicy())
			for _, k := range templateTools {
				if was := before.Get(k.Tool, k.Source, k.Hints, k.Metadata); was.Approval == RequireAuth && after.Get(k.Tool, k.Source, k.Hints, k.Metadata).Approval != RequireAuth {
					t.Fatalf("%s: %s needed an admin before", tmpl.Name, k.Tool.Name)
				}
			}
		}
	})
}

func TestFindTemplate(t *testing.T) {
	for _, x := range Templates() {
		if got, ok := FindTemplate(x.Name); !ok || got.Title != x.Title || x.Says == "" {
			t.Errorf("%q is not found, or says nothing", x.Name)
		}
	}
	if _, ok := FindTemplate("Careful "); ok {
		t.Error("a name that is none is found")
	}
}
