// Command mutate takes the guards out of a package, one at a time, and asks its tests whether they notice. A guard that nobody
// misses is not there: either a test is missing, or the guard is.
//
//	go run ./tests/mutate -pkg ./core/agent/turn -quick "-sim.seeds=150"
//	go run ./tests/mutate -pkg ./core/agent -files decide.go,accept.go -test ./tests/replicas
//	go run ./tests/mutate -pkg ./core/agent/turn -only 'apply.go:.*Session.decided'
//
// A mutant is one package with one guard without its effect:
//
//   - guard: an if whose body ends in return, continue or break never happens;
//   - operand: one side of && is always true, one side of || always false;
//   - case: one condition of a switch without a tag is never true.
//
// All are made by wrapping the source of a condition, as in (false && (c)), so that every name in it is still used and the
// package still compiles. The checkout is never written to: go test reads the mutated file through -overlay.
//
// A mutant is KILLED when the tests fail or hang, and SURVIVED when they pass. With -quick the tests are first run with those
// arguments, and only what survives is run again without them. Survivors that are meant to live stand in accepted.txt, each with
// its reason. The exit code is 0 when no other is left, 1 when one is (or when a line of accepted.txt names a guard that is no
// more), 2 when nothing could be learned: the tests fail without any mutant, or a mutant does not compile.
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
	"regexp"
	"strings"
	"time"
)

//go:embed accepted.txt
var acceptedText string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], acceptedText, os.Stdout)
	stop()
	os.Exit(code)
}

// run returns the exit code.
func run(ctx context.Context, args []string, accepted string, out io.Writer) int {
	t := trial{}
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.SetOutput(out)
	pkg := f.String("pkg", "./core/agent/turn", "the `package` whose guards are taken out")
	files := f.String("files", "", "only these files of it: `a.go,b.go`")
	only := f.String("only", "", "only mutants whose line in the report matches this `regexp`")
	tests := f.String("test", "", "the `packages` whose tests have to notice, separated by commas (default: the package itself)")
	f.StringVar(&t.run, "run", "", "only the tests that match this `regexp`, as in go test -run")
	args1 := f.String("args", "", "`arguments` for the test binary, separated by spaces")
	quick := f.String("quick", "", "further `arguments` for a first, faster run; what survives it is run again without them")
	f.DurationVar(&t.timeout, "timeout", 2*time.Minute, "a test binary that takes longer has noticed")
	list := f.Bool("list", false, "print the mutants and run nothing")
	if err := f.Parse(args); err != nil {
		return 2
	}
	fail := func(err error) int {
		fmt.Fprintln(out, "mutate:", err)
		return 2
	}
	ok, err := parseAccepted(accepted)
	if err != nil {
		return fail(err)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fail(fmt.Errorf("-only: %w", err))
	}
	p, err := load(ctx, *pkg, fields(*files, ","))
	if err != nil {
		return fail(err)
	}
	t.tests, t.args, t.quick = fields(*tests, ","), fields(*args1, " "), fields(*quick, " ")
	if len(t.tests) == 0 {
		t.tests = []string{*pkg}
	}
	var mutants []Mutant
	for _, m := range p.mutants {
		if match.MatchString(m.String()) {
			mutants = append(mutants, m)
		}
	}
	if *list {
		for _, m := range mutants {
			fmt.Fprintln(out, m)
		}
		return 0
	}
	tally, err := t.all(ctx, mutants, ok, out)
	if err != nil {
		return fail(err)
	}
	tally.print(out)
	code := tally.code()
	if *only == "" {
		for _, line := range ok.nameless(p) {
			fmt.Fprintf(out, "accepted.txt: %s names no guard: take the line out\n", line)
			code = max(code, 1)
		}
	}
	return code
}

func fields(s, sep string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(sep, r) })
}
