package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// trial is how mutants are put to the tests.
type trial struct {
	tests       []string // packages
	run         string
	args, quick []string
	timeout     time.Duration
}

// Fate is what became of a mutant.
type Fate string

// The fates. Broken is no answer: the mutant does not compile, or go test itself failed.
const (
	Killed   Fate = "KILLED"
	Survived Fate = "SURVIVED"
	Accepted Fate = "ACCEPTED"
	Broken   Fate = "BROKEN"
)

// all tries every mutant, one after the other, and says what became of it.
func (t trial) all(ctx context.Context, list []Mutant, ok accepted, out io.Writer) (Tally, error) {
	var y Tally
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return y, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay := filepath.Join(dir, "overlay.json")
	if fate, said, err := t.test(ctx, "", nil); err != nil || fate != Survived {
		return y, fmt.Errorf("the tests have to pass before anything is taken out: %w\n%s", errors.Join(err, errors.New(string(fate))), said)
	}
	for _, m := range list {
		mutated := filepath.Join(dir, filepath.Base(m.path))
		replace, err := json.Marshal(map[string]map[string]string{"Replace": {m.path: mutated}})
		if err != nil {
			return y, err
		}
		if err := errors.Join(os.WriteFile(mutated, m.text, 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
			return y, err
		}
		why, accepted := ok.reason(m)
		fate, said, err := t.test(ctx, overlay, t.quick)
		if err == nil && fate == Survived && len(t.quick) > 0 && !accepted {
			fate, said, err = t.test(ctx, overlay, nil)
		}
		if err != nil {
			return y, err
		}
		switch {
		case fate == Survived && accepted:
			fate = Accepted
			fmt.Fprintf(out, "%-8s %s: %s\n", fate, m, why)
		case fate == Killed && accepted:
			fmt.Fprintf(out, "%-8s %s (its line in accepted.txt can go)\n", fate, m)
		case fate == Broken:
			fmt.Fprintf(out, "%-8s %s\n%s\n", fate, m, said)
		default:
			fmt.Fprintf(out, "%-8s %s\n", fate, m)
		}
		y.add(m, fate)
	}
	return y, nil
}

// test runs the tests once; without an overlay, on the package as it is.
func (t trial) test(ctx context.Context, overlay string, quick []string) (Fate, string, error) {
	args := []string{"test", "-short", "-vet=off", "-count=1", "-failfast", "-p=1", "-ldflags=-s -w", "-timeout=" + t.timeout.String()}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	if t.run != "" {
		args = append(args, "-run="+t.run)
	}
	args = append(args, t.tests...)
	if rest := slices.Concat(t.args, quick); len(rest) > 0 {
		args = append(append(args, "-args"), rest...)
	}
	// go test ends its own tests by -timeout; what is added is for compiling.
	limited, cancel := context.WithTimeout(ctx, t.timeout*time.Duration(len(t.tests))+5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(limited, "go", args...)
	cmd.WaitDelay = 5 * time.Second
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err == nil && bytes.Contains(b, []byte("[no tests to run]")), err == nil && bytes.Contains(b, []byte("[no test files]")):
		return "", "", fmt.Errorf("no test was run:\n%s", b)
	case err == nil:
		return Survived, string(b), nil
	case limited.Err() != nil:
		return "", "", fmt.Errorf("go %s does not end", strings.Join(args, " "))
	case !errors.As(err, &exit):
		return "", "", err
	case !failed.Match(b), bytes.Contains(b, []byte("signal: killed")):
		// Not built, or ended by the system: only a test binary that ran and failed is a kill.
		return Broken, string(b), nil
	}
	return Killed, string(b), nil
}

// failed is what go test says of a package whose tests ran and failed; of one that was not built it says FAIL path [build failed].
var failed = regexp.MustCompile(`(?m)^FAIL\t\S+\t[0-9.]+s$`)

// Tally counts fates, file by file.
type Tally struct {
	files []string
	count map[string]map[Fate]int
}

func (y *Tally) add(m Mutant, f Fate) {
	if y.count == nil {
		y.count = map[string]map[Fate]int{}
	}
	for _, name := range []string{m.File, ""} { // "" is the sum
		if y.count[name] == nil {
			y.count[name] = map[Fate]int{}
			if name != "" {
				y.files = append(y.files, name)
			}
		}
		y.count[name][f]++
	}
}

func (y *Tally) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nfile\tmutants\tkilled\tsurvived\taccepted\tbroken")
	for _, name := range append(slices.Clone(y.files), "") {
		n := y.count[name]
		all := n[Killed] + n[Survived] + n[Accepted] + n[Broken]
		if name == "" {
			name = "all"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", name, all, n[Killed], n[Survived], n[Accepted], n[Broken])
	}
	_ = w.Flush()
}

func (y *Tally) code() int {
	switch n := y.count[""]; {
	case n[Broken] > 0 || len(n) == 0:
		return 2
	case n[Survived] > 0:
		return 1
	}
	return 0
}
