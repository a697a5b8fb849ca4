package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

func readPage(t *testing.T) (Document, []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return Read(string(text))
}

// Each of R1–R175 and C1–C19 stands in the document once, and what it names is there and runs.
func TestEveryRequirementNamesItsTests(t *testing.T) {
	repo, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	d, problems := readPage(t)
	for _, p := range append(problems, d.Problems(repo)...) {
		t.Errorf("%s: %s", page, p)
	}
}

// Nothing is pending. While this fails it says, in one list, what the product does not do yet.
func TestNothingIsPending(t *testing.T) {
	d, _ := readPage(t) // what is no row is told above
	if open := d.Pending(); len(open) > 0 {
		t.Errorf("%s: %d of %d requirements and readings are pending:\n  %s", page, len(open), lastRequirement+lastReading, strings.Join(open, "\n  "))
	}
}

// The test of the test: each page has one mistake, which is told; the first has none.
func TestMistakesAreTold(t *testing.T) {
	row := func(n string) string { return "| " + n + " | It asks. | `core/thing/thing.go` |" }
	good := func(number, instead string) string {
		var b strings.Builder
		b.WriteString("# Title\n\n| | Asks | Met |\n|---|---|---|\n")
		for _, n := range numbers() {
			line := row(n)
			if n == number {
				line = instead
			}
			b.WriteString(line + "\n")
		}
		return b.String()
	}
	all := ""
	for _, n := range numbers() {
		all += " " + n
	}
	for _, x := range []struct{ name, row, test, want string }{
		{"as it should be", row("R7"), "", ""},
		{"a sub-test", row("R7"), "// R7/by_name\nfunc TestMarked(t *testing.T) { t.Run(`by name`, func(t *testing.T) {}) }", ""},
		{"a sub-test of a sub-test", row("R7"), "// R7/by_name/raw\n" + named("Marked"), ""},
		{"a sub-test that is a file", row("R7"), "// R7/a_story\n" + files, ""},
		{"a test that is skipped sometimes", row("R7"), "// R7\nfunc TestMarked(t *testing.T) { if testing.Short() { t.Skip(`short`) } }", ""},
		{"words and marks", row("R7"), "// It does.\n// R7 C4\n" + named("Marked"), ""},
		{"a sub-test of a helper", row("R7"), "// R7/over_HTTP/first\n" + tables, ""},
		{"a row of a table", row("R7"), "// R7/third\n" + rows, ""},
		{"words that begin with a number", row("R7"), "// R900 is none of them\n" + named("Marked"), ""},
		{"pending, and named as such", "| R7 | It asks. | pending: the wheel and `its hub` |", "", ""},

		{"missing", "", "", "R7 is missing"},
		{"doubled", row("R7") + "\n" + row("R7"), "", "R7 stands already in line"},
		{"of nowhere", row("R7") + "\n" + row("R176"), "", "R176 is no number"},
		{"a mark of nowhere", row("R7"), "// R176\n" + named("Marked"), "TestMarked is marked with R176"},
		{"no such sub-test", row("R7"), "// R7/by_chance\n" + named("Marked"), "has no tests to run"},
		{"no such sub-test of a sub-test", row("R7"), "// R7/by_name/by_chance\n" + named("Marked"), "has no tests to run"},
		{"a level is left out", row("R7"), "// R7/raw\n" + named("Marked"), "has no tests to run"},
		{"a level of a helper is left out", row("R7"), "// R7/first\n" + tables, "has no tests to run"},
		{"a sub-test of another test", row("R7"), "// R7/by_name\n" + tables, "has no tests to run"},
		{"a level too many", row("R7"), "// R7/over_HTTP/first/raw\n" + tables, "has no tests to run"},
		{"what a row's function says", row("R7"), "// R7/words\n" + rows, "has no tests to run"},
		{"skipped", row("R7"), "// R7\nfunc TestMarked(t *testing.T) { t.Log(); t.Skip(`later`) }", "skipped always"},
		{"skipped in a block", row("R7"), "// R7\nfunc TestMarked(t *testing.T) { { t.SkipNow() } }", "skipped always"},
		{"empty", row("R7"), "// R7\nfunc TestMarked(t *testing.T) {}", "is empty"},
		{"a file that is gone", "| R7 | It asks. | `core/thing/gone.go` |", "", "`core/thing/gone.go`, which is not there"},
		{"too few cells", "| R7 | It asks. |", "", "R7 has 1 cells"},
		{"an empty cell", "| R7 | | Here. |", "", "R7 has an empty cell"},
		{"no row", "| R7, R8 | It asks. | Here. |", "", "is no row"},
		{"pending, without words", "| R7 | It asks. | pending: |", "", "does not say what is pending"},
	} {
		t.Run(x.name, func(t *testing.T) {
			d, problems := Read(good("R7", x.row))
			problems = append(problems, d.Problems(module(t, all, x.test))...)
			found := slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, x.want) })
			if x.want == "" && len(problems) > 0 || x.want != "" && !found {
				t.Errorf("want %q, got %q", x.want, problems)
			}
		})
	}
	whole := module(t, all, "")
	if d, _ := Read(good("C19", "")); !slices.Contains(d.Problems(whole), "C19 is missing") {
		t.Error("a reading is missing, and nothing is said")
	}
	for name, repo := range map[string]*Repository{
		"another mark": module(t, strings.Replace(all, " R7 ", " ", 1), ""),
		"a test that does not run": module(t, strings.Replace(all, " R7 ", " ", 1), "// R7\nfunc TestHelper(t *testing.T, n int) { t.Log(n) }\n\n"+
			"// R7\nfunc TestBench(b *testing.B) { b.Log() }\n\ntype kind struct{}\n\n// R7\nfunc (kind) TestMethod(t *testing.T) { t.Log() }"),
	} {
		if d, _ := Read(good("", "")); !slices.Contains(d.Problems(repo), "line 11: R7 has no test") {
			t.Errorf("%s: a requirement without a test: %q", name, d.Problems(repo))
		}
	}
	if d, _ := Read(good("", "")); len(d.Problems(module(t, strings.Replace(all, " C3 ", " ", 1), ""))) > 0 {
		t.Error("a reading without a test is told")
	}
	d, _ := Read(good("R7", "| R7 | It asks. | Here; pending: the wheel |"))
	if got := d.Pending(); len(got) != 1 || got[0] != "R7: the wheel" {
		t.Errorf("pending: %q", got)
	}
}

// named is a test with a sub-test of a sub-test.
func named(test string) string {
	return "func Test" + test + "(t *testing.T) { t.Run(`by name`, func(t *testing.T) { t.Run(`raw`, func(t *testing.T) { t.Log() }) }) }"
}

const (
	files = `func TestMarked(t *testing.T) {
	files, _ := filepath.Glob("testdata/stories/*.txt")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { t.Log() })
	}
}
`
	tables = `func TestMarked(t *testing.T) {
	for _, w := range []way{overHTTP} {
		t.Run(string(w), func(t *testing.T) { tell(t, map[string]func(*testing.T){"first": nil}) })
	}
}
type way string

const overHTTP way = "over HTTP"

func tell(t *testing.T, all map[string]func(*testing.T)) {
	for name, f := range all {
		t.Run(name, f)
	}
}
`
	rows = `func TestMarked(t *testing.T) {
	for _, x := range rows {
		t.Run(x.name, x.do)
	}
}
var rows = []struct {
	name string
	do   func(*testing.T)
}{{"third", func(t *testing.T) { t.Log("words") }}}
`
)

// module makes a module with a test that is marked with all, another one, and tests that do not run.
func module(t *testing.T, all, test string) *Repository {
	t.Helper()
	dir := t.TempDir()
	const elsewhere = "import \"testing\"\n\n// R176\nfunc TestThing(t *testing.T) { t.Log() }\n"
	for name, text := range map[string]string{
		"go.mod":                                  "module example.com/m\n\ngo 1.26\n",
		"core/thing/thing.go":                     "package thing\n",
		"core/thing/thing_test.go":                "package thing\n\nimport (\n\t\"path/filepath\"\n\t\"testing\"\n)\n\nvar _ = filepath.Glob\n\n" + test,
		"core/thing/outside_test.go":              "package thing_test\n\nimport \"testing\"\n\n// TestOutside shows everything.\n//" + all + "\nfunc TestOutside(t *testing.T) { t.Log() }\n",
		"core/thing/elsewhere_test.go":            "//go:build never\n\npackage thing\n\n" + elsewhere,
		"core/thing/testdata/stories/a_story.txt": "once upon a time\n",
		"core/thing/testdata/inner/inner_test.go": "package inner\n\n" + elsewhere,
		"other/go.mod":                            "module example.com/other\n\ngo 1.26\n",
		"other/other_test.go":                     "package other\n\n" + elsewhere,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	repo, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}
