package requirements

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	root = "../.."
	page = "docs/requirements.md"
)

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
	repo := module(t)
	good := func(change func(number, row string) string) string {
		var b strings.Builder
		b.WriteString("# Title\n\n| | Asks | Met | Shown by |\n|---|---|---|---|\n")
		for _, n := range numbers() {
			b.WriteString(change(n, "| "+n+" | It asks. | `core/thing/thing.go` | `core/thing.TestThing` |") + "\n")
		}
		return b.String()
	}
	instead := func(number, row string) func(string, string) string {
		return func(n, was string) string {
			if n == number {
				return row
			}
			return was
		}
	}
	shown := func(by string) string { return "| R7 | It asks. | Here. | " + by + " |" }
	for _, x := range []struct{ name, row, want string }{
		{"as it should be", shown("`core/thing.TestThing`"), ""},
		{"a sub-test", shown("`core/thing.TestThing/by name`"), ""},
		{"a sub-test of a sub-test", shown("`core/thing.TestThing/by name/raw`"), ""},
		{"a sub-test that is a file", shown("`core/thing.TestFiles/a_story`"), ""},
		{"a test outside the package", shown("`core/thing.TestOutside`"), ""},
		{"a test that is skipped sometimes", shown("`core/thing.TestSometimes`"), ""},
		{"words beside the test", shown("`core/thing.TestThing` (both ways)"), ""},
		{"pending, and named as such", shown("pending: the wheel and `its hub`"), ""},
		{"pending, and met nowhere", "| R7 | It asks. | | pending: the wheel |", ""},

		{"missing", "", "R7 is missing"},
		{"doubled", shown("`core/thing.TestThing`") + "\n" + shown("`core/thing.TestThing`"), "R7 stands already in line"},
		{"of nowhere", shown("`core/thing.TestThing`") + "\n| R176 | It asks. | Here. | `core/thing.TestThing` |", "R176 is no number"},
		{"no test", shown("by the way it is"), "R7 has no test"},
		{"no such test", shown("`core/thing.TestOther`"), "has no such test"},
		{"a helper", shown("`core/thing.TestHelper`"), "has no such test"},
		{"a method", shown("`core/thing.TestMethod`"), "has no such test"},
		{"a benchmark's argument", shown("`core/thing.TestBench`"), "has no such test"},
		{"a test of another platform", shown("`core/thing.TestElsewhere`"), "has no such test"},
		{"no such sub-test", shown("`core/thing.TestThing/by chance`"), "has no tests to run"},
		{"no such sub-test of a sub-test", shown("`core/thing.TestThing/by name/by chance`"), "has no tests to run"},
		{"a level is left out", shown("`core/thing.TestThing/raw`"), "has no tests to run"},
		{"a sub-test of a helper", shown("`core/thing.TestTables/over HTTP/first`"), ""},
		{"a level of a helper is left out", shown("`core/thing.TestTables/first`"), "has no tests to run"},
		{"a sub-test of another test", shown("`core/thing.TestTables/by name`"), "has no tests to run"},
		{"a level too many", shown("`core/thing.TestTables/over HTTP/first/raw`"), "has no tests to run"},
		{"a row of a table", shown("`core/thing.TestRows/third`"), ""},
		{"what a row's function says", shown("`core/thing.TestRows/words`"), "has no tests to run"},
		{"skipped", shown("`core/thing.TestSkipped`"), "skipped always"},
		{"skipped in a block", shown("`core/thing.TestSkippedInside`"), "skipped always"},
		{"empty", shown("`core/thing.TestEmpty`"), "is empty"},
		{"another module", shown("`other.TestThing`"), "runs no such package"},
		{"testdata", shown("`core/thing/testdata/inner.TestThing`"), "runs no such package"},
		{"a file that cannot be read", shown("`core/broken.TestThing`"), "cannot be read"},
		{"no name of a test", shown("`core/thing.Thing`"), "which is no test"},
		{"a file that is gone", "| R7 | It asks. | `core/thing/gone.go` | `core/thing.TestThing` |", "`core/thing/gone.go`, which is not there"},
		{"too few cells", "| R7 | It asks. | `core/thing.TestThing` |", "R7 has 2 cells"},
		{"an empty cell", "| R7 | | Here. | `core/thing.TestThing` |", "R7 has an empty cell"},
		{"no row", "| R7, R8 | It asks. | Here. | `core/thing.TestThing` |", "is no row"},
		{"pending, without words", shown("pending:"), "does not say what is pending"},
	} {
		t.Run(x.name, func(t *testing.T) {
			d, problems := Read(good(instead("R7", x.row)))
			problems = append(problems, d.Problems(repo)...)
			found := slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, x.want) })
			if x.want == "" && len(problems) > 0 || x.want != "" && !found {
				t.Errorf("want %q, got %q", x.want, problems)
			}
		})
	}
	if d, _ := Read(good(instead("C19", ""))); !slices.Contains(d.Problems(repo), "C19 is missing") {
		t.Error("a reading is missing, and nothing is said")
	}
	if d, _ := Read(good(instead("C3", "| C3 | It reads. | Here. | |"))); len(d.Problems(repo)) > 0 {
		t.Errorf("a reading without a test: %q", d.Problems(repo))
	}
	d, _ := Read(good(instead("R7", shown("`core/thing.TestThing`; pending: the wheel"))))
	if got := d.Pending(); len(got) != 1 || got[0] != "R7: the wheel" {
		t.Errorf("pending: %q", got)
	}
}

// module makes a module with tests of every kind.
func module(t *testing.T) *Repository {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":              "module example.com/m\n\ngo 1.26\n",
		"core/thing/thing.go": "package thing\n",
		"core/thing/thing_test.go": `package thing

import (
	"path/filepath"
	"testing"
)

type kind struct{}

func (kind) TestMethod(t *testing.T) { t.Log() }
func TestHelper(t *testing.T, n int) { t.Log(n) }
func TestBench(b *testing.B)         { b.Log() }
func TestEmpty(t *testing.T)         {}
func TestSkipped(t *testing.T)       { t.Log(); t.Skip("later") }
func TestSkippedInside(t *testing.T) { { t.SkipNow() } }
func TestSometimes(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
}
func TestThing(t *testing.T) {
	t.Run("by name", func(t *testing.T) { t.Run(` + "`raw`" + `, func(t *testing.T) { t.Log() }) })
}
func TestFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/stories/*.txt")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { t.Log() })
	}
}

type way string

const overHTTP way = "over HTTP"

func TestTables(t *testing.T) {
	for _, w := range []way{overHTTP} {
		t.Run(string(w), func(t *testing.T) { tell(t, map[string]func(*testing.T){"first": nil}) })
	}
}
func tell(t *testing.T, all map[string]func(*testing.T)) {
	for name, f := range all {
		t.Run(name, f)
	}
}
func TestRows(t *testing.T) {
	for _, x := range rows {
		t.Run(x.name, x.do)
	}
}

var rows = []struct {
	name string
	do   func(*testing.T)
}{{"third", func(t *testing.T) { t.Log("words") }}}
`,
		"core/thing/outside_test.go":              "package thing_test\n\nimport \"testing\"\n\nfunc TestOutside(t *testing.T) { t.Log() }\n",
		"core/thing/elsewhere_test.go":            "//go:build never\n\npackage thing\n\nimport \"testing\"\n\nfunc TestElsewhere(t *testing.T) { t.Log() }\n",
		"core/thing/testdata/stories/a_story.txt": "once upon a time\n",
		"core/thing/testdata/inner/inner_test.go": "package inner\n\nimport \"testing\"\n\nfunc TestThing(t *testing.T) { t.Log() }\n",
		"core/broken/broken.go":                   "package broken\n",
		"core/broken/broken_test.go":              "package broken\n\nimport \"testing\"\n\nfunc TestThing(t *testing.T) {\n",
		"other/go.mod":                            "module example.com/other\n\ngo 1.26\n",
		"other/other_test.go":                     "package other\n\nimport \"testing\"\n\nfunc TestThing(t *testing.T) { t.Log() }\n",
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
