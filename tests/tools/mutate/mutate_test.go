package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// report runs the program and returns its lines and exit code.
func report(t *testing.T, accepted string, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), args, accepted, &out)
	return out.String(), code
}

const tiny = "tests/tools/mutate/testdata/tiny/tiny.go"

func want(t *testing.T, out string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(out, l) {
			t.Errorf("%q is missing in:\n%s", l, out)
		}
	}
}

func TestKilledAndSurvived(t *testing.T) {
	out, code := report(t, "", "-pkg", "./tests/tools/mutate/testdata/tiny", "-only", "Grade|Shy|Mark")
	want(t, out,
		"KILLED   "+tiny+":6: Grade: guard: n <= 0 (TestGrade)\n",
		"KILLED   "+tiny+":10: Grade: case: n > 9 (TestGrade)\n",
		"SURVIVED "+tiny+":18: Shy: guard: len(name) == 0\n",
		"SURVIVED "+tiny+":29: Loud.Mark: guard: l\n",
		"file                                      mutants  killed  survived  accepted  untried\n",
		"all                                       4        2       2         0         0\n",
	)
	if code != 1 {
		t.Errorf("exit code %d with a survivor", code)
	}
}

func TestAccepted(t *testing.T) {
	const shy = tiny + ":Shy: len(name) == 0: nobody is shown anyway\n"
	out, code := report(t, "# why\n\n"+shy, "-pkg", "./tests/tools/mutate/testdata/tiny", "-only", "Shy")
	want(t, out, "ACCEPTED "+tiny+":18: Shy: guard: len(name) == 0: nobody is shown anyway\n")
	if code != 0 {
		t.Errorf("exit code %d with an accepted survivor", code)
	}

	ok, err := parseAccepted(shy + tiny + ":Shy: len(name) == 1: it is gone\nother.go:F: a: not of this package\n")
	if err != nil {
		t.Fatal(err)
	}
	files, list := loaded(t, job{files: []part{{pattern: tiny}}})
	if got := ok.nameless(files, list); len(got) != 1 || !strings.Contains(got[0], "it is gone") {
		t.Errorf("lines without a guard: %q", got)
	}
	for _, bad := range []string{"a.go:F: x > 0", "a.go", tiny + ":Shy"} {
		if _, err := parseAccepted("# fine\n" + bad); err == nil || !strings.Contains(err.Error(), "accepted.txt:2") {
			t.Errorf("a line without a reason, %q, gave %v", bad, err)
		}
	}
}

// Without the look at 0 the first run lets the guard live; the second one has to be made, and kills it.
func TestQuickSurvivorsAreTriedAgain(t *testing.T) {
	out, code := report(t, "", "-pkg", "./tests/tools/mutate/testdata/tiny", "-only", "n <= 0", "-quick", "-full=false")
	want(t, out, "KILLED   "+tiny)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	out, code = report(t, "", "-pkg", "./tests/tools/mutate/testdata/tiny", "-only", "n <= 0", "-args", "-full=false")
	want(t, out, "SURVIVED "+tiny)
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// A run that proves nothing must not look like one that proves something.
func TestNothingLearned(t *testing.T) {
	for name, args := range map[string][]string{
		"no test of that name": {"-pkg", "./tests/tools/mutate/testdata/tiny", "-only", "Shy", "-run", "TestNobody"},
		"tests that fail":      {"-pkg", "./tests/tools/mutate/testdata/tiny", "-only", "Shy", "-args", "-surprise"},
		"no such package":      {"-pkg", "./tests/tools/mutate/testdata/none"},
		"no such file":         {"-pkg", "./tests/tools/mutate/testdata/tiny", "-files", "big.go"},
		"a broken regexp":      {"-pkg", "./tests/tools/mutate/testdata/tiny", "-only", "("},
		"an unknown flag":      {"-surprise"},
	} {
		if out, code := report(t, "", args...); code != 2 {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
	}
	if out, code := report(t, "", "-pkg", "./tests/tools/mutate/testdata/tiny", "-list", "-only", "nothing like it"); out != "" || code != 0 {
		t.Errorf("a list of nothing: %d %q", code, out)
	}
	y := Tally{}
	if y.code() != 2 {
		t.Error("a run of no mutants looks like a success")
	}
	y.add(Mutant{File: "a.go"}, Killed)
	y.add(Mutant{File: "a.go"}, Untried)
	if y.code() != 1 {
		t.Error("a mutant that was not tried looks like a success")
	}
	out, code := report(t, "", "-pkg", "./tests/tools/mutate/testdata/tiny", "-only", "Grade", "-within", "1ns")
	want(t, out, "all                                       2        0       0         0         2")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// Mutants that do not compile are our fault and are no kills.
func TestBrokenMutant(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	_, list := loaded(t, job{files: []part{{pattern: tiny}}})
	list[0].before = "(nobody(%d) && ("
	tr := trial{job: job{tests: []string{"./tests/tools/mutate/testdata/tiny"}}, timeout: time.Minute, out: io.Discard}
	var y Tally
	if err := tr.all(t.Context(), list, &y); err == nil || !strings.Contains(err.Error(), "do not compile") || y.code() != 2 {
		t.Errorf("%v, code %d", err, y.code())
	}
}

// loaded are a job's files and guards.
func loaded(t *testing.T, j job) ([]string, []Mutant) {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	files, list, err := j.load(root)
	if err != nil {
		t.Fatal(err)
	}
	return files, list
}

// Without its guard Wait never ends: the test binary's timeout is a kill.
func TestHanging(t *testing.T) {
	out, code := report(t, "", "-pkg", "./tests/tools/mutate/testdata/tiny", "-only", "n > 0", "-timeout", "1s")
	want(t, out, "KILLED   "+tiny)
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestMutants(t *testing.T) {
	const src = `package p

type T[K any] struct{}

func (t *T[K]) f(a, b, c bool) bool {
	if x := a; x &&
		b && (a || c) {
		return true
	}
	if c {
		println()
	}
	for a {
		if b {
			continue
		} else if c {
			break
		}
	}
	switch {
	case a, !(b || c):
		return a && b
	default:
	}
	switch a {
	case b:
	}
	return false
}

const d = true && false

var v = func(a, b bool) bool { return a || b }
`
	ms, err := mutants("p.go", "/p.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range ms {
		got = append(got, m.String())
	}
	text := string(woven([]byte(src), ms, func(i int) int { return i + 1 }))
	if _, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution); err != nil {
		t.Error(err)
	}
	if strings.Count(text, "\n") != strings.Count(src, "\n") {
		t.Error("the lines moved")
	}
	want := []string{
		"p.go:6: T.f: guard: x && b && (a || c)",
		"p.go:6: T.f: operand: x",
		"p.go:7: T.f: operand: b",
		"p.go:7: T.f: operand: (a || c)",
		"p.go:7: T.f: operand: a",
		"p.go:7: T.f: operand: c",
		"p.go:14: T.f: guard: b",
		"p.go:16: T.f: guard: c",
		"p.go:21: T.f: case: a",
		"p.go:21: T.f: case: !(b || c)",
		"p.go:21: T.f: operand: b",
		"p.go:21: T.f: operand: c",
		"p.go:22: T.f: operand: a",
		"p.go:22: T.f: operand: b",
		"p.go:33: var: operand: a",
		"p.go:33: var: operand: b",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, part := range []string{
		"if x := a; (!nodMutant(1) && bool((nodMutant(2) || bool(x)) &&\n\t\t(nodMutant(3) || bool(b)) && (nodMutant(4) || bool(((!nodMutant(5) && bool(a)) || (!nodMutant(6) && bool(c))))))) {",
		"case (!nodMutant(9) && bool(a)), (!nodMutant(10) && bool(!((!nodMutant(11) && bool(b)) || (!nodMutant(12) && bool(c)))))",
		"const d = true && false",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}

// With -since only what stands on a line that changed is tried.
func TestOnlyWhatChanged(t *testing.T) {
	changed := parseDiff("diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -3 +4,2 @@ func F\n-x\n+y\n+z\n@@ -9,2 +10,0 @@\n-a\n-b\n" +
		"--- a/b.go\n+++ b/b.go\n@@ -1,2 +7 @@\n")
	for line, want := range map[int]bool{3: false, 4: true, 5: true, 6: false, 10: false} {
		if got := changed.has(Mutant{File: "a.go", Line: line}); got != want {
			t.Errorf("a.go:%d: %v", line, got)
		}
	}
	if !changed.has(Mutant{File: "b.go", Line: 7}) || changed.has(Mutant{File: "c.go", Line: 7}) {
		t.Errorf("%v", changed)
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	_, list := loaded(t, job{files: []part{{pattern: tiny}}})
	line := 0
	for _, m := range list {
		if m.entry() == tiny+":Grade: guard: n <= 0" {
			line = m.Line
		}
	}
	var out bytes.Buffer
	w := &walk{
		options: options{since: "then", only: regexp.MustCompile(""), timeout: time.Minute}, root: root, out: &out, changed: lines{tiny: {{line, line}}},
		jobs: []job{{files: []part{{pattern: tiny}}, tests: []string{"./tests/tools/mutate/testdata/tiny"}}},
	}
	if code, err := w.through(t.Context()); err != nil || code != 0 || strings.Count(out.String(), string(Killed)) != 1 || strings.Contains(out.String(), "Shy") {
		t.Errorf("%v, exit code %d of\n%s", err, code, out.String())
	}
	out.Reset()
	w.changed = nil
	if code, err := w.through(t.Context()); err != nil || code != 0 || !strings.Contains(out.String(), "no guard of the table has changed since then") {
		t.Errorf("%v, exit code %d of\n%s", err, code, out.String())
	}
}

// A script's mutants are written over it in the binary, each in its place, and never twice.
func TestPatch(t *testing.T) {
	dir := t.TempDir()
	lua, bin := filepath.Join(dir, "s.lua"), filepath.Join(dir, "s.test")
	const src = "if a then return 1 end\n"
	write := func(name string, b []byte) {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(lua, []byte(src))
	whole := append(append([]byte("before"), padded([]byte(src), scriptRoom)...), "after"...)
	write(bin, whole)
	b := binary{file: bin}
	for _, m := range luaMutants("s.lua", lua, src) {
		if err := b.patch(m); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(bin)
		if err != nil {
			t.Fatal(err)
		}
		if want := "before" + string(woven([]byte(src), []Mutant{m}, func(int) int { return 0 })); len(got) != len(whole) || !strings.HasPrefix(string(got), want) || !strings.HasSuffix(string(got), "\nafter") {
			t.Errorf("%s: %q", m, got)
		}
	}
	m := luaMutants("s.lua", lua, src)[0]
	for what, b := range map[string]*binary{
		"no script": {file: bin, whole: []byte("nothing")}, "two": {file: bin, whole: append(whole, whole...)},
	} {
		if b.patch(m) == nil {
			t.Errorf("%s was patched", what)
		}
	}
	m.before = strings.Repeat("x", scriptRoom+1)
	if b.patch(m) == nil {
		t.Error("a mutant that is longer than its room was patched")
	}
}
