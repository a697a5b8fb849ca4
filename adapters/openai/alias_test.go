package openai

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

var allowed = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

func TestAlias(t *testing.T) {
	for _, c := range []struct{ server, name, want string }{
		{"workbench", "write_file", "workbench__write_file"},
		{"files", "get-sum", "files__get-sum"},
		{"a", "b__c", "a__b__c"},
		{"a", "_c", "a___c"},
	} {
		if got := Alias(c.server, c.name); got != c.want {
			t.Errorf("Alias(%q, %q) = %q, want %q", c.server, c.name, got, c.want)
		}
	}
	// What cannot be read back in one way only gets a hash, and stays readable.
	for _, c := range []struct{ server, name, begins string }{
		{"a__b", "c", "a_b_c-"},
		{"a_", "c", "a_c-"},
		{"gitlab.example", "create issue", "gitlab_example_create_issue-"},
		{"s", "größe", "s_gr_e-"},
		{"1password", "get", "_1password_get-"},
		{"-", "x", "_-_x-"},
		{"", "x", "_x-"},
		{"", "", "_-"},
		{"s", strings.Repeat("n", 100), "s_nnnnnnnnnnnn"},
	} {
		got := Alias(c.server, c.name)
		if !strings.HasPrefix(got, c.begins) || !allowed.MatchString(got) || strings.Contains(got, "__") {
			t.Errorf("Alias(%q, %q) = %q, want it to begin %q", c.server, c.name, got, c.begins)
		}
	}
}

// R40
func TestNeighboursNeverCollide(t *testing.T) {
	seen := map[string][2]string{}
	for _, p := range [][2]string{
		{"a_b", "c"}, {"a", "b_c"}, {"x__", "y"}, {"x_", "_y"}, {"a__b", "c"}, {"a", "b__c"}, {"a_", "b"}, {"a", "_b"}, {"a", "__b"}, {"a__", "b"}, {"a___b", "c"}, {"a", "b___c"},
		{"a b", "c"}, {"a_b", " c"}, {"a.b", "c"}, {"ab", "c"}, {"a", "bc"}, {"A", "bc"}, {"", "abc"}, {"abc", ""}, {"a-b", "c"}, {"a", "b-c"},
	} {
		alias := Alias(p[0], p[1])
		if other, ok := seen[alias]; ok {
			t.Errorf("%q and %q are both %q", p, other, alias)
		}
		seen[alias] = p
	}
	// A tool named like the hashed alias of another one does not take its place.
	hashed := Alias("a__b", "c")
	for cut := 1; cut < len(hashed); cut++ {
		if got := Alias(hashed[:cut], hashed[cut:]); got == hashed {
			t.Errorf("the clean pair %q, %q became %q", hashed[:cut], hashed[cut:], got)
		}
	}
}

func TestAliasIsInjective(t *testing.T) {
	part := rapid.OneOf(rapid.StringMatching(`[ab_]{0,5}`), rapid.StringMatching(`[a-zA-Z0-9_.\- ]{0,70}`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		s1, n1, s2, n2 := part.Draw(t, "s1"), part.Draw(t, "n1"), part.Draw(t, "s2"), part.Draw(t, "n2")
		a, b := Alias(s1, n1), Alias(s2, n2)
		if !allowed.MatchString(a) {
			t.Fatalf("Alias(%q, %q) = %q", s1, n1, a)
		}
		if (a == b) != (s1 == s2 && n1 == n2) {
			t.Fatalf("(%q, %q) and (%q, %q) are %q and %q", s1, n1, s2, n2, a, b)
		}
	})
}

// TestNamesOfCallsThatWereNone: what a model invented goes back as it wrote it, if services take it.
func TestNamesOfCallsThatWereNone(t *testing.T) {
	for name, asWritten := range map[string]bool{"launch_rocket": true, "launch rocket": false, strings.Repeat("x", 65): false} {
		got := wire(t, []turn.Utterance{{Role: turn.RoleAssistant, Calls: []turn.TalkCall{{ID: "c", Name: name}}}}, nil, &shape{})
		if strings.Contains(got, `"`+name+`"`) != asWritten {
			t.Errorf("%s became %s", name, got)
		}
	}
}

func TestTableMapsBack(t *testing.T) {
	specs := []agent.ToolSpec{spec("a_b", "c", ""), spec("a", "b_c", ""), spec("a__b", "c", ""), spec("a", "b__c", ""), spec("a", "b_c", "")}
	names, kept := byAlias(specs)
	if len(kept) != 4 || len(names) != 4 {
		t.Fatalf("%d kept, %d names; want 4 (one was listed twice)", len(kept), len(names))
	}
	for _, s := range kept {
		if got := names[Alias(s.Tool.Server, s.Tool.Name)]; got != s.Tool {
			t.Errorf("%+v came back as %+v", s.Tool, got)
		}
	}
}
