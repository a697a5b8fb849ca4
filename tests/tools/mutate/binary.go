package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// binary is the tests of one package, compiled with the mutants in what they test.
type binary struct {
	file, dir string
	tests     []tested
	whole     []byte // its bytes, once scripts are patched in it
}

// tested is one test and how it went while every mutant slept.
type tested struct {
	name    string
	took    time.Duration
	reached map[int]bool // mutants that it came by, by their number; nil: not known, any
}

// compile builds the tests of a package; overlay may be "".
func compile(ctx context.Context, dir, pkg, overlay string, n int) (binary, error) {
	b := binary{file: filepath.Join(dir, fmt.Sprintf("%d.test", n))}
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", b.file}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	if out, err := exec.CommandContext(ctx, "go", append(args, pkg)...).CombinedOutput(); err != nil {
		return b, fmt.Errorf("the tests of %s with the mutants in do not compile: %w\n%s", pkg, err, out)
	}
	where, err := exec.CommandContext(ctx, "go", "list", "-find", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return b, fmt.Errorf("go list %s: %w", pkg, err)
	}
	b.dir = strings.TrimSpace(string(where))
	if _, err := os.Stat(b.file); err != nil {
		return b, fmt.Errorf("%s has no tests", pkg)
	}
	return b, nil
}

// list are the names of the tests that match.
func (b binary) list(ctx context.Context, match string) ([]string, error) {
	cmd := exec.CommandContext(ctx, b.file, "-test.list", cmp.Or(match, "."))
	cmd.Dir = b.dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests in %s: %w", b.dir, err)
	}
	names := strings.Fields(string(out))
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "Benchmark") }), nil
}

// verdict is what came of running some tests.
type verdict struct {
	failed bool
	test   string // the first that failed, as far as the output tells
	out    string
}

var (
	failLine = regexp.MustCompile(`(?m)^\s*--- FAIL: ([^/\s]+)`)
	running  = regexp.MustCompile(`running tests:\s+(\w+)`)
)

// run runs tests of b once, with one mutant awake (0: none). They stop at the first that fails, or when time is up, which is a failure.
func (b binary) run(ctx context.Context, names []string, mutant int, reach string, timeout time.Duration, args []string) (verdict, error) {
	all := append([]string{
		"-test.short", "-test.failfast", "-test.paniconexit0", "-test.timeout=" + timeout.String(),
		"-test.run=^(" + strings.Join(names, "|") + ")$",
	}, args...)
	limited, cancel := context.WithTimeout(ctx, timeout+30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(limited, b.file, all...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), envMutant+"="+strconv.Itoa(mutant), envReach+"="+reach)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return verdict{}, ctx.Err()
	case err == nil && bytes.Contains(out, []byte("no tests to run")):
		return verdict{}, fmt.Errorf("no test of %s in %s", strings.Join(names, ", "), b.dir)
	case err == nil:
		return verdict{out: string(out)}, nil
	case limited.Err() == nil && !errors.As(err, &exit):
		return verdict{}, err
	case limited.Err() == nil && !exit.Exited():
		return verdict{}, fmt.Errorf("the tests in %s were ended by the system: %w", b.dir, err)
	}
	v := verdict{failed: true, test: "TestMain", out: string(out)}
	if m := failLine.FindSubmatch(out); m != nil {
		v.test = string(m[1])
	} else if m := running.FindSubmatch(out); m != nil {
		v.test = string(m[1])
	} else if len(names) == 1 {
		v.test = names[0]
	}
	return v, nil
}

// measure runs each test by itself with every mutant asleep: it has to pass, and tells which mutants it comes by.
func (b *binary) measure(ctx context.Context, dir, match string, reaches bool, timeout time.Duration, args []string) error {
	names, err := b.list(ctx, match)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no test in %s matches %q", b.dir, match)
	}
	for _, name := range names {
		reach := filepath.Join(dir, "reach")
		t := tested{name: name}
		for try := 0; ; try++ {
			if err := os.RemoveAll(reach); err != nil {
				return err
			}
			from := time.Now()
			v, err := b.run(ctx, []string{name}, 0, reach, timeout, args)
			if err != nil {
				return err
			}
			if t.took = time.Since(from); !v.failed {
				break
			}
			if try > 0 {
				return fmt.Errorf("the tests have to pass before anything is taken out: %s\n%s", name, v.out)
			}
		}
		if reaches {
			t.reached = map[int]bool{}
			text, err := os.ReadFile(reach)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			for _, n := range strings.Fields(string(text)) {
				i, err := strconv.Atoi(n)
				if err != nil {
					return err
				}
				t.reached[i] = true
			}
		}
		b.tests = append(b.tests, t)
	}
	slices.SortStableFunc(b.tests, func(x, y tested) int { return cmp.Compare(x.took, y.took) })
	return nil
}
