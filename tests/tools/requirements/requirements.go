// Command requirements prints docs/requirements.md with one more column: the tests that show each requirement. Its own tests hold the
// document and the tests' marks to what they say, every requirement of the project, R1 to R175.
//
//	go run ./tests/tools/requirements
//
// The document is for people first: tables, grouped as the requirements are, with a requirement's number, what it asks and where the
// code meets it. The readings C1 to C19, where the sources disagree, have a table of their own.
//
// Which tests show a requirement stands with the tests: a [Mark] is a line of a test's comment that holds nothing but numbers, with
// sub-tests behind slashes as go test -run takes them:
//
//	// A click counts once, whatever is pressed afterwards.
//	// R64 R139 R30/redis/twice C4
//	func TestOneClickCounts(t *testing.T) {
//
// Code marks of the document that look like a path name a file or directory of the repository. "pending: words" in the last cell says
// what is not there yet.
//
// What is checked ([Document.Problems]): no number is missing, doubled or of nowhere; each has a test or says what is pending; a marked
// test is a top-level Test function of a package that go test ./... runs, in a file that this platform builds, and is not skipped always
// or empty; go test -run with a sub-test's name as it is marked, every level of it, finds one; a named file is there. Pending numbers
// fail too, in one list ([Document.Pending]).
//
// The files: requirements.go (the document) · repository.go (the tests there are, and their marks) · subtests.go (the sub-tests they
// have) · main.go. What it leaves out: whether a test shows what its mark claims. That is for whoever reads both.
package main

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
	Files   []string // that the row names
	Pending string   // what is not there yet; empty if nothing
}

// Mark says that a test shows a requirement.
type Mark struct {
	Number  string
	Package string // directory within the module
	Test    string
	Subs    []string // names of sub-tests, outermost first
}

// String is the test as the printed document names it.
func (m Mark) String() string {
	return strings.Join(append([]string{m.Package + "." + m.Test}, m.Subs...), "/")
}

// parseMarks reads one line of a test's comment, without the slashes: all of it is marks, or none.
func parseMarks(line string) (marks []Mark) {
	for _, word := range strings.Fields(line) {
		number, subs, sub := strings.Cut(word, "/")
		if !markForm.MatchString(number) {
			return nil
		}
		m := Mark{Number: number}
		if sub {
			m.Subs = strings.Split(subs, "/")
		}
		marks = append(marks, m)
	}
	return marks
}

var (
	rowForm     = regexp.MustCompile(`^\|\s*([RC]\d+)\s*\|(.*)\|\s*$`)
	codeForm    = regexp.MustCompile("`([^`]+)`")
	markForm    = regexp.MustCompile(`^[RC]\d+$`)
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
		if len(cells) != 2 {
			problems = append(problems, fmt.Sprintf("line %d: %s has %d cells behind its number, want two: what it asks, where it is met", i+1, m[1], len(cells)))
			continue
		}
		r := Row{Number: m[1], Line: i + 1, Asks: strings.TrimSpace(cells[0]), Where: strings.TrimSpace(cells[1])}
		if p := pendingForm.FindStringSubmatch(r.Where); p != nil {
			r.Pending = strings.TrimSpace(p[1])
			if r.Pending == "" {
				problems = append(problems, fmt.Sprintf("line %d: %s does not say what is pending", i+1, r.Number))
			}
		}
		if r.Asks == "" || r.Where == "" {
			problems = append(problems, fmt.Sprintf("line %d: %s has an empty cell", i+1, r.Number))
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

// Problems are what is wrong with the document and the marks of the repository's tests. Pending numbers are not among them.
func (d Document) Problems(repo *Repository) (out []string) {
	marks, err := repo.Marks()
	if err != nil {
		return []string{err.Error()}
	}
	for number, shown := range marks {
		for _, m := range shown {
			if why := repo.missing(m); why != "" {
				out = append(out, fmt.Sprintf("%s is marked with %s: %s", m, number, why))
			}
		}
		if !numbered(number) {
			out = append(out, fmt.Sprintf("%s is marked with %s, which is no number of the list", shown[0], number))
		}
	}
	slices.Sort(out)
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
		if len(marks[r.Number]) == 0 && r.Pending == "" && r.Number[0] == 'R' {
			say("has no test")
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
