package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/gopher-lua/parse"
)

// TestAcceptedAreGuards runs no mutant. It fails where a line of accepted.txt names no guard any more.
func TestAcceptedAreGuards(t *testing.T) {
	jobs, err := parseTable(tableText)
	if err != nil || len(jobs) == 0 {
		t.Fatal(jobs, err)
	}
	ok, err := parseAccepted(acceptedText)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	var list []Mutant
	for _, j := range jobs {
		f, ms := loaded(t, j)
		files, list = append(files, f...), append(list, ms...)
	}
	for _, line := range ok.nameless(files, list) {
		t.Errorf("accepted.txt: %s names no guard", line)
	}
}

// TestBreaksAreGuards: what make breaks takes out for a row of tests/suites/attacks is there to be taken out.
func TestBreaksAreGuards(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "suites", "attacks", "breaks.txt"))
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
