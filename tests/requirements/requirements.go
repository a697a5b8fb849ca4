// Package requirements holds docs/requirements.md to what it says: every requirement of the project, R1 to R175, has a row there, and
// every row names tests that exist and run.
//
// The document is for people first: tables, grouped as the requirements are, with a requirement's number, what it asks, where the code
// meets it and the tests that show it. The readings C1 to C19, where the sources disagree, have a table of their own.
//
// Its words. A [Row] is one line of such a table. A [Ref] is a test as a row names it: the package's directory within the module, a dot,
// the test, and sub-tests behind slashes, in code marks: `core/permission.TestCovers`, `tests/replicas.TestPolicyTightened/forbids`.
// "pending: words" in the last cell says what is not there yet; the row is not met then, whatever tests it names besides.
// Other code marks that look like a path name a file or directory of the repository.
//
// What is checked ([Document.Problems]): no number is missing, doubled or of nowhere; each has a test or says what is pending; a named test
// is a top-level Test function of a package that go test ./... runs, in a file that this platform builds, and is not skipped always or empty;
// go test -run with a sub-test's name as it is written, every level of it, finds one (names that are made at run time cannot be looked
// up, and so cannot be named); a named file is there. Pending numbers fail too, in one list ([Document.Pending]).
//
// The files: requirements.go (the document) · repository.go (the tests there are) · subtests.go (the sub-tests they have). What it leaves out: whether a test shows what
// its row claims. That is for whoever reads both.
package requirements

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// How many there are of each. The lists are closed.
const (
	lastRequirement = 175
	lastReading     = 19
)

// Document is docs/requirements.md, read.
type Document struct {
	Rows []Row
}

// Row is one requirement or reading.
type Row struct {
	Number  string   // "R17", "C4"
	Line    int      // in the document, from 1
	Asks    string   // what it asks, or how it is read
	Where   string   // where it is met
	Tests   []Ref    // that show it
	Files   []string // that the row names
	Pending string   // what is not there yet; empty if nothing
}

// Ref is a test as a row names it.
type Ref struct {
	Package string // directory within the module
	Test    string
	Subs    []string // names of sub-tests, outermost first
}

func (r Ref) String() string {
	return strings.Join(append([]string{r.Package + "." + r.Test}, r.Subs...), "/")
}

var (
	rowForm     = regexp.MustCompile(`^\|\s*([RC]\d+)\s*\|(.*)\|\s*$`)
	codeForm    = regexp.MustCompile("`([^`]+)`")
	refForm     = regexp.MustCompile(`^([a-z][a-z0-9/]*)\.(Test\w+)((?:/[^/]+)*)$`)
	fileForm    = regexp.MustCompile(`^(?:core|adapters|state|cmd|tests|docs|deploy)(?:/[\w.-]+)*$`)
	pendingForm = regexp.MustCompile(`pending: *([^|]*)$`)
)

// Read reads the document. A line that begins like a row and is none is a problem of the document, so that a slip of the pen hides nothing.
func Read(text string) (d Document, problems []string) {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \r")
		m := rowForm.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "| R") || strings.HasPrefix(line, "| C") {
				problems = append(problems, fmt.Sprintf("line %d is no row: %s", i+1, line))
			}
			continue
		}
		cells := strings.Split(m[2], "|")
		if len(cells) != 3 {
			problems = append(problems, fmt.Sprintf("line %d: %s has %d cells behind its number, want three: what it asks, where it is met, what shows it", i+1, m[1], len(cells)))
			continue
		}
		r := Row{Number: m[1], Line: i + 1, Asks: strings.TrimSpace(cells[0]), Where: strings.TrimSpace(cells[1])}
		shows := strings.TrimSpace(cells[2])
		if p := pendingForm.FindStringSubmatch(shows); p != nil {
			r.Pending = strings.TrimSpace(p[1])
			if r.Pending == "" {
				problems = append(problems, fmt.Sprintf("line %d: %s does not say what is pending", i+1, r.Number))
			}
			shows = strings.TrimSuffix(shows, p[0])
		}
		if r.Asks == "" || r.Where == "" && r.Pending == "" {
			problems = append(problems, fmt.Sprintf("line %d: %s has an empty cell", i+1, r.Number))
		}
		for _, c := range codeForm.FindAllStringSubmatch(shows, -1) {
			ref, ok := ParseRef(c[1])
			if !ok {
				problems = append(problems, fmt.Sprintf("line %d: %s names `%s`, which is no test: want `package.TestName` or `package.TestName/sub-test`", i+1, r.Number, c[1]))
				continue
			}
			r.Tests = append(r.Tests, ref)
		}
		for _, c := range codeForm.FindAllStringSubmatch(r.Where, -1) {
			if fileForm.MatchString(c[1]) {
				r.Files = append(r.Files, c[1])
			}
		}
		d.Rows = append(d.Rows, r)
	}
	return d, problems
}

// ParseRef reads a test's name.
func ParseRef(s string) (Ref, bool) {
	m := refForm.FindStringSubmatch(s)
	if m == nil {
		return Ref{}, false
	}
	r := Ref{Package: m[1], Test: m[2]}
	if m[3] != "" {
		r.Subs = strings.Split(m[3][1:], "/")
	}
	return r, true
}

// Problems are what is wrong with the document, given the repository. Pending numbers are not among them.
func (d Document) Problems(repo *Repository) (out []string) {
	seen := map[string]int{}
	for _, r := range d.Rows {
		say := func(format string, args ...any) {
			out = append(out, fmt.Sprintf("line %d: %s ", r.Line, r.Number)+fmt.Sprintf(format, args...))
		}
		if at, twice := seen[r.Number]; twice {
			say("stands already in line %d", at)
		}
		seen[r.Number] = r.Line
		if !numbered(r.Number) {
			say("is no number of the list")
		}
		if len(r.Tests) == 0 && r.Pending == "" && r.Number[0] == 'R' {
			say("has no test")
		}
		for _, ref := range r.Tests {
			if why := repo.Missing(ref); why != "" {
				say("names `%s`: %s", ref, why)
			}
		}
		for _, f := range r.Files {
			if !repo.Has(f) {
				say("names `%s`, which is not there", f)
			}
		}
	}
	for _, want := range numbers() {
		if seen[want] == 0 {
			out = append(out, want+" is missing")
		}
	}
	return out
}

// Pending is every row that is not met, as "R8: what is missing", in the order of the document.
func (d Document) Pending() (out []string) {
	for _, r := range d.Rows {
		if r.Pending != "" {
			out = append(out, r.Number+": "+r.Pending)
		}
	}
	return out
}

// numbers are all there are to be.
func numbers() (out []string) {
	for _, list := range []struct {
		letter string
		last   int
	}{{"R", lastRequirement}, {"C", lastReading}} {
		for n := 1; n <= list.last; n++ {
			out = append(out, list.letter+strconv.Itoa(n))
		}
	}
	return out
}

func numbered(s string) bool { return slices.Contains(numbers(), s) }
