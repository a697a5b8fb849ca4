package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// report runs the program and returns its lines and exit code.
func report(t *testing.T, accepted string, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), args, accepted, &out)
	return out.String(), code
}

const tiny = "tests/mutate/testdata/tiny/tiny.go"

func want(t *testing.T, out string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(out, l) {
			t.Errorf("%q is missing in:\n%s", l, out)
		}
	}
}

func TestKilledAndSurvived(t *testing.T) {
	out, code := report(t, "", "-pkg", "./testdata/tiny", "-only", "Grade|Shy")
	want(t, out,
		"KILLED   "+tiny+":6: Grade: guard: n <= 0\n",
		"KILLED   "+tiny+":10: Grade: case: n > 9\n",
		"SURVIVED "+tiny+":18: Shy: guard: len(name) == 0\n",
		"file                                mutants  killed  survived  accepted  broken\n",
		"all                                 3        2       1         0         0\n",
	)
	if code != 1 {
		t.Errorf("exit code %d with a survivor", code)
	}
}

func TestAccepted(t *testing.T) {
	const shy = tiny + ":Shy: len(name) == 0: nobody is shown anyway\n"
	out, code := report(t, "# why\n\n"+shy, "-pkg", "./testdata/tiny", "-only", "Shy")
	want(t, out, "ACCEPTED "+tiny+":18: Shy: guard: len(name) == 0: nobody is shown anyway\n")
	if code != 0 {
		t.Errorf("exit code %d with an accepted survivor", code)
	}

	ok, err := parseAccepted(shy + tiny + ":Shy: len(name) == 1: it is gone\nother.go:F: a: not of this package\n")
	if err != nil {
		t.Fatal(err)
	}
	p, err := load(t.Context(), "./testdata/tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := ok.nameless(p); len(got) != 1 || !strings.Contains(got[0], "it is gone") {
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
	out, code := report(t, "", "-pkg", "./testdata/tiny", "-only", "n <= 0", "-quick", "-full=false")
	want(t, out, "KILLED   "+tiny)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	out, code = report(t, "", "-pkg", "./testdata/tiny", "-only", "n <= 0", "-args", "-full=false")
	want(t, out, "SURVIVED "+tiny)
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// A run that proves nothing must not look like one that proves something.
func TestNothingLearned(t *testing.T) {
	for name, args := range map[string][]string{
		"no test of that name": {"-pkg", "./testdata/tiny", "-only", "Shy", "-run", "TestNobody"},
		"tests that fail":      {"-pkg", "./testdata/tiny", "-only", "Shy", "-args", "-surprise"},
		"no such package":      {"-pkg", "./testdata/none"},
		"no such file":         {"-pkg", "./testdata/tiny", "-files", "big.go"},
		"a broken regexp":      {"-pkg", "./testdata/tiny", "-only", "("},
		"an unknown flag":      {"-surprise"},
	} {
		if out, code := report(t, "", args...); code != 2 {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
	}
	if out, code := report(t, "", "-pkg", "./testdata/tiny", "-list", "-only", "nothing like it"); out != "" || code != 0 {
		t.Errorf("a list of nothing: %d %q", code, out)
	}
	y := Tally{}
	if y.code() != 2 {
		t.Error("a run of no mutants looks like a success")
	}
	y.add(Mutant{File: "a.go"}, Killed)
	y.add(Mutant{File: "a.go"}, Broken)
	if y.code() != 2 {
		t.Error("a mutant that does not compile looks like a success")
	}
}

// A mutant that does not compile is our fault and is no kill.
func TestBrokenMutant(t *testing.T) {
	p, err := load(t.Context(), "./testdata/tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := p.mutants[0]
	m.text = []byte("package tiny\nfunc Grade() {")
	var out bytes.Buffer
	y, err := trial{tests: []string{"./testdata/tiny"}, timeout: 1e11}.all(t.Context(), []Mutant{m}, nil, &out)
	if err != nil || y.code() != 2 || !strings.HasPrefix(out.String(), "BROKEN   ") {
		t.Errorf("%v, code %d: %s", err, y.code(), out.String())
	}
}

// Without its guard Wait never ends: the test binary's timeout is a kill.
func TestHanging(t *testing.T) {
	out, code := report(t, "", "-pkg", "./testdata/tiny", "-only", "n > 0", "-timeout", "1s")
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

var v = func(a, b bool) bool { return a || b }
`
	ms, err := mutants("p.go", "/p.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range ms {
		got = append(got, m.String())
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", m.text, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", m, err)
		}
		if strings.Count(string(m.text), "\n") != strings.Count(src, "\n") {
			t.Errorf("%s: the lines moved", m)
		}
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
		"p.go:31: var: operand: a",
		"p.go:31: var: operand: b",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, text := range map[int]string{
		0: "if x := a; (false && (x &&\n\t\tb && (a || c))) {",
		2: "\t\t(true || (b)) && (a || c) {",
		4: "((false && (a)) || c)",
		9: "case a, (false && (!(b || c))):",
	} {
		if !strings.Contains(string(ms[i].text), text) {
			t.Errorf("%s: %q is missing in\n%s", ms[i], text, ms[i].text)
		}
	}
}
