// Command mutate takes the guards out of the code that decides, one at a time, and asks the tests whether they notice. A guard that
// nobody misses is not there: either a test is missing, or the guard is.
//
//	go run ./tests/tools/mutate -all
//	go run ./tests/tools/mutate -all -since main
//	go run ./tests/tools/mutate -all -only 'decide.go:.*answerAll'
//	go run ./tests/tools/mutate -pkg ./core/agent/turn -files next.go -quick "-sim.seeds=400"
//	go run ./tests/tools/mutate -entry 'core/agent/plan.go:stillAllowed: guard: !ok' -test ./tests/suites/attacks
//
// # What is taken out
//
// A mutant is the program with one guard without its effect. In Go:
//
//   - guard: an if whose body ends in return, continue or break never happens;
//   - operand: one side of && is always true, one side of || always false;
//   - case: one condition of a switch without a tag is never true.
//
// In a script of Redis: the same guards and operands, conditions that always hold, and statements that write and are not there.
//
// All mutants of some Go files are compiled in at once, asleep, as in (!nodMutant(7) && (c)), and an environment variable wakes one.
// Every name in a condition is still used, and lines stay where they are. A script's mutants are written into the binary instead. The checkout is never written to: go reads the mutated files
// through -overlay. Each test is run by itself first, which has to pass, and tells which mutants it comes by: only such tests are put
// to a mutant. A kill has to happen twice, so that a test which fails now and then does not count.
//
// # What is written down
//
// table.txt says which files' guards have to be missed, and by which tests; accepted.txt names those that no test can miss, with the
// reason. TestAcceptedAreGuards, a test of this package that runs nothing, fails where a line of it names none. -all goes through the
// table; with -since only the guards on lines that changed since a revision of git, which is what to run before a commit.
//
// # What comes out
//
// A mutant is KILLED when tests fail or hang, SURVIVED when they pass or none comes by it, ACCEPTED when that is meant, UNTRIED when
// -within was over before its turn. The exit code is 0 when all are killed or accepted, 1 when not, or when a line of accepted.txt
// names a guard that is no more, 2 when nothing could be learned: the tests fail without any mutant, or do not compile with them.
//
// It tells nothing about wrong values, missing code or what happens between goroutines.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

//go:embed accepted.txt
var acceptedText string

//go:embed table.txt
var tableText string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], acceptedText, os.Stdout)
	stop()
	os.Exit(code)
}

// options are what the command line says.
type options struct {
	all, list       bool
	since           string // a revision of git
	only            *regexp.Regexp
	timeout, within time.Duration
	patience        time.Duration
	job             job // without all
}

func optionsOf(args []string, out io.Writer) (o options, err error) {
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.SetOutput(out)
	f.BoolVar(&o.all, "all", false, "the jobs of table.txt")
	f.StringVar(&o.since, "since", "", "only guards on lines that changed since this `revision` of git")
	pkg := f.String("pkg", "./core/agent/turn", "the `directory` of the package whose guards are taken out, from the module's root")
	files := f.String("files", "*.go", "only these files of it: `a.go,b.go`")
	only := f.String("only", "", "only mutants whose line in the report matches this `regexp`")
	entry := f.String("entry", "", "only this guard: `file:function: kind: source`; instead of -pkg, -files and -only. Several with \" + \" between them are taken out at once")
	tests := f.String("test", "", "the `packages` whose tests have to notice, separated by commas (default: the package itself)")
	f.StringVar(&o.job.run, "run", "", "only the tests that match this `regexp`, as in go test -run")
	args1 := f.String("args", "", "`arguments` for the test binary, separated by spaces")
	quick := f.String("quick", "", "further `arguments` for a first, faster run; what survives it is run again without them")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "tests of one run that take longer have noticed")
	f.DurationVar(&o.within, "within", 0, "begin no mutant after this `time` (0: there is no such time)")
	f.DurationVar(&o.patience, "patience", 0, "give a mutant no further tests after this `time`: survivors may be none then (0: all that come by it)")
	f.BoolVar(&o.list, "list", false, "print the mutants and run nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	for _, name := range fields(*files, ",") {
		o.job.files = append(o.job.files, part{pattern: path.Join(filepath.ToSlash(*pkg), name)})
	}
	if *entry != "" {
		var one []string
		o.job.files = nil
		for _, e := range strings.Split(*entry, " + ") {
			file, rest, _ := strings.Cut(e, ":")
			one = append(one, regexp.QuoteMeta(file)+`:\d+: `+regexp.QuoteMeta(rest))
			if *pkg = "./" + path.Dir(file); !slices.ContainsFunc(o.job.files, func(p part) bool { return p.pattern == file }) {
				o.job.files = append(o.job.files, part{pattern: file})
			}
		}
		o.only, o.job.together = regexp.MustCompile("^("+strings.Join(one, "|")+")$"), len(one) > 1
	}
	o.job.tests, o.job.args, o.job.quick = fields(*tests, ","), fields(*args1, " "), fields(*quick, " ")
	if len(o.job.tests) == 0 {
		o.job.tests = []string{*pkg}
	}
	return o, nil
}

// run returns the exit code.
func run(ctx context.Context, args []string, acceptedLines string, out io.Writer) int {
	fail := func(err error) int {
		fmt.Fprintln(out, "mutate:", err)
		return 2
	}
	o, err := optionsOf(args, out)
	if err != nil {
		return fail(err)
	}
	root, err := moduleRoot()
	if err != nil {
		return fail(err)
	}
	if err := os.Chdir(root); err != nil {
		return fail(err)
	}
	ok, err := parseAccepted(acceptedLines)
	if err != nil {
		return fail(err)
	}
	w := walk{options: o, root: root, ok: ok, out: out, jobs: []job{o.job}}
	if o.all {
		if w.jobs, err = parseTable(tableText); err != nil {
			return fail(err)
		}
	}
	if o.since != "" {
		if w.changed, err = changedSince(ctx, o.since); err != nil {
			return fail(err)
		}
	}
	code, err := w.through(ctx)
	if err != nil {
		return fail(err)
	}
	return code
}

func fields(s, sep string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(sep, r) })
}
