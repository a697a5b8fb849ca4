package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Fate is what became of a mutant.
type Fate string

// The fates. Untried is one for whose turn there was no time.
const (
	Killed   Fate = "KILLED"
	Survived Fate = "SURVIVED"
	Accepted Fate = "ACCEPTED"
	Untried  Fate = "UNTRIED"
)

// trial is how the mutants of one job are put to its tests.
type trial struct {
	job
	timeout  time.Duration // of one test
	patience time.Duration // for one mutant; 0: until all were run
	ok       accepted
	out      io.Writer
	until    time.Time // no mutant is begun later; zero: no such time

	dir     string
	bins    []binary
	noticed map[string][]string // by function: the tests that noticed something there, the latest first
}

// all tries every mutant, one after the other, and says what became of it.
func (t *trial) all(ctx context.Context, list []Mutant, y *Tally) (err error) {
	if len(list) == 0 {
		return nil
	}
	if t.dir, err = os.MkdirTemp("", "mutate"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(t.dir) }()
	t.noticed = map[string][]string{}
	script := strings.HasSuffix(list[0].File, ".lua")
	if err := t.compile(ctx, list); err != nil {
		return err
	}
	for i := range t.bins {
		if err := t.bins[i].measure(ctx, t.dir, t.run, !script, t.timeout, t.ways(true)[0]); err != nil {
			return err
		}
	}
	if t.together {
		list = list[:1]
	}
	for i, m := range list {
		if !t.until.IsZero() && time.Now().After(t.until) {
			y.add(m, Untried)
			continue
		}
		number := i + 1
		for i := range t.bins {
			if !script {
				break
			}
			if err := t.bins[i].patch(m); err != nil {
				return err
			}
		}
		why, accepted := t.ok.reason(m)
		if t.together {
			number, accepted = everyone, false
		}
		test, err := t.tries(ctx, m, number, accepted)
		if err != nil {
			return err
		}
		fate := Killed
		switch {
		case test == "" && accepted:
			fate = Accepted
			fmt.Fprintf(t.out, "%-8s %s: %s\n", fate, m, why)
		case test == "":
			fate = Survived
			fmt.Fprintf(t.out, "%-8s %s\n", fate, m)
		case accepted:
			fmt.Fprintf(t.out, "%-8s %s (%s; accepted.txt has a line for it)\n", fate, m, test)
		default:
			fmt.Fprintf(t.out, "%-8s %s (%s)\n", fate, m, test)
		}
		y.add(m, fate)
	}
	return nil
}

// compile builds the tests with the mutants in.
func (t *trial) compile(ctx context.Context, list []Mutant) error {
	over, err := overlay(t.dir, list)
	if err != nil {
		return err
	}
	for i, pkg := range t.tests {
		b, err := compile(ctx, t.dir, pkg, over, i)
		if err != nil {
			return err
		}
		t.bins = append(t.bins, b)
	}
	return nil
}

// tries wakes one mutant and returns the test that noticed, or "". First come the tests that noticed others of its function and the
// quickest ones, then the rest of those that come by it, and then, where there is a quick way, all of them without it.
func (t *trial) tries(ctx context.Context, m Mutant, number int, accepted bool) (string, error) {
	begun := time.Now()
	for _, args := range t.ways(accepted) {
		for i := range t.bins {
			b := &t.bins[i]
			for _, batch := range b.batches(number, t.noticed[m.File+m.Func]) {
				if t.patience > 0 && time.Since(begun) > t.patience {
					return "", nil
				}
				test, err := t.fails(ctx, b, batch, number, args)
				if err != nil {
					return "", err
				}
				if test != "" {
					known := slices.DeleteFunc(t.noticed[m.File+m.Func], func(n string) bool { return n == test })
					t.noticed[m.File+m.Func] = append([]string{test}, known...)
					return test, nil
				}
			}
		}
	}
	return "", nil
}

// ways are the arguments to try: quick ones first.
func (t *trial) ways(accepted bool) [][]string {
	var always []string
	if t.skip != "" {
		always = append(always, "-test.skip="+t.skip)
	}
	always = append(always, t.args...)
	ways := [][]string{slices.Concat(always, t.quick)}
	if len(t.quick) > 0 && !accepted {
		ways = append(ways, always)
	}
	return ways
}

// fails runs some tests with a mutant awake and returns the one that fails: twice, for once may be chance.
func (t *trial) fails(ctx context.Context, b *binary, names []string, number int, args []string) (string, error) {
	v, err := b.run(ctx, names, number, "", t.timeout, args)
	if err != nil || !v.failed {
		return "", err
	}
	again := names
	if slices.Contains(names, v.test) {
		again = []string{v.test}
	}
	sure, err := b.run(ctx, again, number, "", t.timeout, args)
	switch {
	case err != nil:
		return "", err
	case sure.failed:
		return v.test, nil
	case len(names) == 1:
		return "", nil
	}
	// That one does not always. Perhaps another does.
	rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == v.test })
	if len(rest) == len(names) {
		return "", nil
	}
	return t.fails(ctx, b, rest, number, args)
}

// batches are the tests that come by a mutant, those first which are likely to notice soon.
func (b *binary) batches(number int, likely []string) [][]string {
	var first, rest []string
	for _, t := range b.tests {
		switch {
		case t.reached != nil && number != everyone && !t.reached[number]:
		case slices.Contains(likely[:min(3, len(likely))], t.name):
			first = append(first, t.name)
		default:
			rest = append(rest, t.name)
		}
	}
	var out [][]string
	if len(first) > 0 {
		out = append(out, first)
	}
	for n := 6; len(rest) > 0; n = min(2*n, 12) {
		out = append(out, rest[:min(n, len(rest))])
		rest = rest[min(n, len(rest)):]
	}
	return out
}

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
	fmt.Fprintln(w, "\nfile\tmutants\tkilled\tsurvived\taccepted\tuntried")
	for _, name := range append(slices.Clone(y.files), "") {
		n := y.count[name]
		all := n[Killed] + n[Survived] + n[Accepted] + n[Untried]
		if name == "" {
			name = "all"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", name, all, n[Killed], n[Survived], n[Accepted], n[Untried])
	}
	_ = w.Flush()
}

// code is the exit code: what was not tried is not known to be tested.
func (y *Tally) code() int {
	switch n := y.count[""]; {
	case len(n) == 0:
		return 2
	case n[Survived]+n[Untried] > 0:
		return 1
	}
	return 0
}
