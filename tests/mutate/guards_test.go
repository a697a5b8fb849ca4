package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/gopher-lua/parse"
)

// TestGuardsAreListed runs no mutant. It fails where a guard came, or was changed, without having been taken out once, so that nobody
// knows whether a test would miss it: go run ./tests/mutate -all -new tries those, and writes them down.
func TestGuardsAreListed(t *testing.T) {
	jobs, err := parseTable(tableText)
	if err != nil || len(jobs) == 0 {
		t.Fatal(jobs, err)
	}
	text, err := os.ReadFile("guards.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed, err := parseGuards(string(text))
	if err != nil {
		t.Fatal(err)
	}
	ok, err := parseAccepted(acceptedText)
	if err != nil {
		t.Fatal(err)
	}
	holes := 0
	for _, tests := range listed {
		for _, test := range tests {
			if test == nobody {
				holes++
			}
		}
	}
	t.Logf("%d guards are known that no test is known to miss", holes)
	var files []string
	var list []Mutant
	for _, j := range jobs {
		f, ms := loaded(t, j)
		files, list = append(files, f...), append(list, ms...)
	}
	for _, m := range listed.unlisted(list, ok) {
		t.Errorf("nobody tried whether a test misses %s", m)
	}
	for entry, tests := range listed {
		t.Errorf("guards.txt: %s (%s) names no guard", entry, strings.Join(tests, ", "))
	}
	for _, line := range ok.nameless(files, list) {
		t.Errorf("accepted.txt: %s names no guard", line)
	}
}

// TestBreaksAreGuards: what make breaks takes out for a row of tests/attacks is there to be taken out.
func TestBreaksAreGuards(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "attacks", "breaks.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		_, entry, _ := strings.Cut(line, " ")
		if strings.HasPrefix(entry, "- ") {
			continue
		}
		for _, one := range strings.Split(entry, " + ") {
			file, _, _ := strings.Cut(one, ":")
			_, list := loaded(t, job{files: []part{{pattern: file}}})
			if !slices.ContainsFunc(list, func(m Mutant) bool { return m.entry() == one }) {
				t.Errorf("breaks.txt: %s names no guard", one)
			}
		}
	}
}

func TestUnlisted(t *testing.T) {
	m := Mutant{File: "a.go", Func: "F", Kind: "guard", Source: "x > 0"}
	operand := m
	operand.Kind = "operand"
	for name, c := range map[string]struct {
		listed, accepted string
		list             []Mutant
		missing, left    int
	}{
		"listed":                 {listed: "a.go:F: guard: x > 0: TestF\n", list: []Mutant{m}},
		"accepted":               {accepted: "a.go:F: x > 0: it cannot be", list: []Mutant{m}},
		"neither":                {list: []Mutant{m}, missing: 1},
		"of another kind":        {listed: "a.go:F: operand: x > 0: TestF\n", list: []Mutant{m}, missing: 1, left: 1},
		"of another function":    {listed: "a.go:G: guard: x > 0: TestF\n", list: []Mutant{m}, missing: 1, left: 1},
		"one listed of two":      {listed: "# why\na.go:F: guard: x > 0: TestF\n", list: []Mutant{m, m}, missing: 1},
		"two listed of two":      {listed: "a.go:F: guard: x > 0: TestF\na.go:F: guard: x > 0: TestG\n", list: []Mutant{m, m}},
		"two listed of one":      {listed: "a.go:F: guard: x > 0: TestF\na.go:F: guard: x > 0: TestG\n", list: []Mutant{m}, left: 1},
		"both kinds":             {listed: "a.go:F: guard: x > 0: TestF\na.go:F: operand: x > 0: TestF\n", list: []Mutant{m, operand}},
		"one of two is accepted": {listed: "a.go:F: guard: x > 0: TestF\n", accepted: "a.go:F: x > 0: the second is the first", list: []Mutant{m, m}},
	} {
		g, err := parseGuards(c.listed)
		if err != nil {
			t.Fatal(err)
		}
		ok, err := parseAccepted(c.accepted)
		if err != nil {
			t.Fatal(err)
		}
		if missing := g.unlisted(c.list, ok); len(missing) != c.missing || len(g) != c.left {
			t.Errorf("%s: missing %v, left %v", name, missing, g)
		}
	}
	if _, err := parseGuards("# fine\na.go:F: guard: x > 0\n"); err == nil || !strings.Contains(err.Error(), "guards.txt:2") {
		t.Errorf("a line without a test gave %v", err)
	}
}

func TestWriteGuards(t *testing.T) {
	name := filepath.Join(t.TempDir(), "guards.txt")
	list := []Mutant{{File: "a.go", Func: "F", Kind: "guard", Source: "x"}, {File: "a.go", Func: "F", Kind: "case", Source: `m == "a: b"`}, {File: "b.go", Func: "G", Kind: "guard", Source: "y"}}
	if err := writeGuards(name, list, map[int]string{0: "TestF", 1: "TestG"}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	g, err := parseGuards(string(b))
	if err != nil {
		t.Fatal(err)
	}
	if missing := g.unlisted(list, nil); len(missing) != 1 || missing[0].File != "b.go" || len(g) != 0 {
		t.Errorf("missing %v, left %v, of\n%s", missing, g, b)
	}
}

func TestTable(t *testing.T) {
	jobs, err := parseTable("# why\n\na/*.go ./a\nb.go:F,T.G ./a\nc.go ./a,./b run=^(X|Y)$ skip=/^redis$ quick=-n=1,-v # also why\n")
	if err != nil || len(jobs) != 2 {
		t.Fatal(jobs, err)
	}
	if j := jobs[0]; len(j.files) != 2 || len(j.files[0].funcs) != 0 || strings.Join(j.files[1].funcs, " ") != "F T.G" || len(j.tests) != 1 {
		t.Errorf("%+v", j)
	}
	if j := jobs[1]; len(j.tests) != 2 || j.run != "^(X|Y)$" || j.skip != "/^redis$" || strings.Join(j.quick, " ") != "-n=1 -v" {
		t.Errorf("%+v", j)
	}
	for _, bad := range []string{"a.go", "a.go ./a fast=1"} {
		if _, err := parseTable(bad); err == nil || !strings.Contains(err.Error(), "table.txt:1") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, bad := range []part{{pattern: "no/such/*.go"}, {pattern: tiny, funcs: []string{"Nobody"}}} {
		root, err := moduleRoot()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := (job{files: []part{bad}}).load(root); err == nil {
			t.Errorf("%+v was found", bad)
		}
	}
	_, all := loaded(t, job{files: []part{{pattern: tiny}}})
	if _, few := loaded(t, job{files: []part{{pattern: tiny, funcs: []string{"Shy"}}}}); len(few) != 1 || len(all) < 5 {
		t.Errorf("%v of %v", few, all)
	}
}

const script = `local a, b = ARGV[1], tonumber(ARGV[2] or 0) -- if never then
local held = a ~= '' and b > 0
local function f(x) return x end
local function g()
  if held and (a == 'and' or not b) then return '' end
  return a
end
if a == 'x' then
  redis.call('SET', KEYS[1], g(f(a)), 'PX', 1)
elseif b then redis.call('GET', KEYS[1]) end
return {a, (held and b) or f(a)}
`

func TestScripts(t *testing.T) {
	ms := luaMutants("s.lua", "/s.lua", script)
	var got []string
	for _, m := range ms {
		got = append(got, m.String())
		text := string(woven([]byte(script), []Mutant{m}, func(int) int { return 1 }))
		if _, err := parse.Parse(strings.NewReader(text), "s.lua"); err != nil {
			t.Errorf("%s: %v in\n%s", m, err, text)
		}
	}
	want := []string{
		"s.lua:5: g: guard: held and (a == 'and' or not b)", "s.lua:5: g: always: held and (a == 'and' or not b)",
		"s.lua:8: main: guard: a == 'x'", "s.lua:8: main: always: a == 'x'", "s.lua:10: main: guard: b", "s.lua:10: main: always: b",
		"s.lua:2: main: operand: a ~= ''", "s.lua:2: main: operand: b > 0",
		"s.lua:5: g: operand: a == 'and'", "s.lua:5: g: operand: not b", "s.lua:5: g: operand: held", "s.lua:5: g: operand: (a == 'and' or not b)",
		"s.lua:11: main: operand: held", "s.lua:11: main: operand: b", "s.lua:11: main: operand: (held and b)", "s.lua:11: main: operand: f(a)",
		"s.lua:9: main: line: redis.call('SET', KEYS[1], g(f(a)), 'PX', 1)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A script that does not parse fails every test, and would look like a kill.
func TestEveryMutantOfTheScriptsParses(t *testing.T) {
	jobs, err := parseTable(tableText)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, j := range jobs {
		_, list := loaded(t, j)
		for _, m := range list {
			if !strings.HasSuffix(m.File, ".lua") {
				continue
			}
			src, err := os.ReadFile(m.path)
			if err != nil {
				t.Fatal(err)
			}
			text := string(woven(src, []Mutant{m}, func(int) int { return 1 }))
			if _, err := parse.Parse(strings.NewReader(text), m.File); err != nil {
				t.Errorf("%s: %v", m, err)
			}
			n++
		}
	}
	if n == 0 {
		t.Error("the table names no script")
	}
}
