// Command brief reads the output of go test -json and prints what a person wants of it: everything that failing tests and
// packages printed, nothing of those that passed, and a closing line "N passed, N failed".
//
//	go test -json ./... | go run ./tests/tools/brief [-again]
//
// It exits with 1 when anything failed, and when nothing was tested at all: a run of no tests proves nothing. Where all that failed was flaky
// it exits with 75: go test, too, has told then that something failed, and whoever asks both knows that it is no more than this.
//
// With -again up to [most] tests that failed are run once more, alone. One that passes then is told from one that is broken: it counts as
// passed, and its output and its name, as flaky, stay in what is printed, because each is a bug of the test or of nod. A data race, a
// process that died and a package that does not build are never tried again: they prove what they show.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// most is how many tests may be flaky in one run: more at once have one cause, which is no accident.
const most = 3

func main() {
	again := flag.Bool("again", false, "run tests that failed once more, alone")
	flag.Parse()
	var alone func(name) bool
	if *again {
		alone = passesAlone
	}
	os.Exit(brief(os.Stdin, os.Stdout, alone))
}

// passesAlone runs a test three times: twice with the race detector and, because some suites have fewer cases with it, once without.
func passesAlone(n name) bool {
	for _, how := range [][]string{{"CGO_ENABLED=1", "-race", "-count=2"}, {"CGO_ENABLED=0", "-count=1"}} {
		cmd := exec.Command("go", append([]string{"test", "-vet=off", "-timeout=15m", "-run", "^" + n.test + "$", n.pkg}, how[1:]...)...)
		cmd.Env = append(os.Environ(), how[0])
		if cmd.Run() != nil {
			return false
		}
	}
	return true
}

// event is what go doc cmd/test2json describes, with the build events of go help buildjson.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
	Elapsed                                                float64
}

type name struct{ pkg, test string }

// brief returns the exit code. alone, if not nil, says whether a test that failed passes by itself.
func brief(in io.Reader, out io.Writer, alone func(name) bool) int {
	said := map[name][]string{}
	var passed, failed, skipped, packages, broken int
	red := map[string][]string{} // tests that failed, without their parts, of each package that failed
	proof := false               // something failed that no second run could take back
	var flaky []string
	var skips []string
	var times []timing
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(out, line) // not an event: somebody's own words, which are not ours to hide
				continue
			}
			n := name{e.Package, e.Test}
			if e.Package == "" {
				n.pkg = e.ImportPath
			}
			switch e.Action {
			case "output", "build-output":
				said[n] = append(said[n], e.Output)
				proof = proof || strings.HasPrefix(e.Output, "WARNING: DATA RACE") || strings.HasPrefix(e.Output, "panic: ")
			case "pass":
				times = append(times, timing{e.Package, e.Test, e.Elapsed})
				if e.Test != "" {
					passed++
				} else {
					packages++
				}
				delete(said, n)
			case "skip":
				if e.Test != "" {
					skipped++
					skips = append(skips, "skipped: "+e.Package+" "+e.Test+reason(said[n]))
				}
				delete(said, n)
			case "fail":
				if e.Test != "" {
					failed++
					if !strings.Contains(e.Test, "/") {
						red[e.Package] = append(red[e.Package], e.Test)
					}
				} else {
					packages++
					broken++
					proof = proof || len(red[e.Package]) == 0
					flush(out, said, name{e.FailedBuild, ""})
				}
				flush(out, said, n)
			}
		}
		if err != nil {
			break
		}
	}
	// What is left began and never ended: the test binary died in it.
	left := make([]name, 0, len(said))
	for n := range said {
		left = append(left, n)
	}
	slices.SortFunc(left, func(a, b name) int { return strings.Compare(a.pkg+a.test, b.pkg+b.test) })
	for _, n := range left {
		flush(out, said, n)
	}
	for _, s := range skips {
		fmt.Fprintln(out, s)
	}
	if alone != nil && !proof && len(left) == 0 {
		if flaky = flakes(red, alone); flaky != nil {
			fmt.Fprintf(out, "flaky, failed beside the others (above) and passed three times alone; mend it: %s\n", strings.Join(flaky, ", "))
			passed, failed, broken = passed+failed, 0, 0
		}
	}
	fmt.Fprint(out, slowest(times))
	fmt.Fprintf(out, "%d packages, %d of them failed; %d tests skipped\n", packages, broken, skipped)
	// A package that fails without a failing test (it does not build, or its process died) counts as one failure.
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, max(failed, broken))
	if failed+broken > 0 || passed == 0 {
		return 1
	}
	if flaky != nil {
		return 75 // EX_TEMPFAIL of sysexits.h
	}
	return 0
}

// flakes names the tests that failed if they are few and each of them passes alone, and else returns nil.
func flakes(red map[string][]string, alone func(name) bool) []string {
	var all []name
	for pkg, tests := range red {
		for _, t := range tests {
			all = append(all, name{pkg, t})
		}
	}
	if len(all) > most {
		return nil
	}
	slices.SortFunc(all, func(a, b name) int { return strings.Compare(a.pkg+a.test, b.pkg+b.test) })
	var names []string
	for _, n := range all {
		if !alone(n) {
			return nil
		}
		names = append(names, n.pkg+" "+n.test)
	}
	return names
}

// timing is how long a package (without a test) or a test took, in seconds.
type timing struct {
	pkg, test string
	seconds   float64
}

// slowest names the packages that took longest, and the tests: where minutes are to be won.
func slowest(times []timing) string {
	slices.SortFunc(times, func(a, b timing) int { return cmp.Compare(b.seconds, a.seconds) })
	var packages, tests []string
	for _, x := range times {
		pkg := x.pkg[strings.LastIndex(x.pkg, "/")+1:]
		switch {
		case x.seconds < 1 || strings.Contains(x.test, "/"):
		case x.test == "" && len(packages) < 8:
			packages = append(packages, fmt.Sprintf("%s %.0f s", pkg, x.seconds))
		case x.test != "" && len(tests) < 8:
			tests = append(tests, fmt.Sprintf("%s.%s %.0f s", pkg, x.test, x.seconds))
		}
	}
	if len(packages) == 0 {
		return ""
	}
	return "slowest: " + strings.Join(packages, ", ") + "\nslowest: " + strings.Join(tests, ", ") + "\n"
}

func flush(out io.Writer, said map[name][]string, n name) {
	for _, s := range said[n] {
		if !strings.HasPrefix(s, "=== ") {
			fmt.Fprint(out, s)
		}
	}
	delete(said, n)
}

// reason is what a skipped test said, on one line.
func reason(said []string) string {
	var b strings.Builder
	for _, s := range said {
		if s = strings.TrimSpace(s); s != "" && !strings.HasPrefix(s, "=== ") && !strings.HasPrefix(s, "--- SKIP") {
			b.WriteString(": " + s)
		}
	}
	return b.String()
}
