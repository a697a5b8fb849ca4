package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// walk goes through jobs.
type walk struct {
	options
	root   string
	jobs   []job
	ok     accepted
	listed guards
	out    io.Writer

	files   []string
	mutants []Mutant       // of all jobs
	of      []int          // the job of each
	noticed map[int]string // by the place in mutants
}

// through tries what has to be tried, job by job, and writes down what came of it.
func (w *walk) through(ctx context.Context) (code int, err error) {
	w.noticed = map[int]string{}
	for i, j := range w.jobs {
		files, ms, err := j.load(w.root)
		if err != nil {
			return 2, err
		}
		w.files, w.mutants = append(w.files, files...), append(w.mutants, ms...)
		for range ms {
			w.of = append(w.of, i)
		}
	}
	known := map[int]bool{} // what is listed
	for i, m := range w.mutants {
		w.noticed[i], known[i] = w.listed.take(m)
		if _, accepted := w.ok.reason(m); accepted {
			known[i] = true
		} else if w.noticed[i] == nobody {
			known[i] = false
		}
	}
	var y Tally
	begun := time.Now()
	for i, j := range w.jobs {
		var list []Mutant
		var at []int
		for k, m := range w.mutants {
			if w.of[k] == i && w.only.MatchString(m.String()) && !(w.fresh && known[k]) {
				list, at = append(list, m), append(at, k)
			}
		}
		if w.list {
			for _, m := range list {
				fmt.Fprintln(w.out, m)
			}
			continue
		}
		t := trial{job: j, timeout: w.timeout, patience: w.patience, ok: w.ok, out: w.out}
		if w.within > 0 {
			t.until = begun.Add(w.within)
		}
		noticed, err := t.all(ctx, list, &y)
		for k, test := range noticed {
			w.noticed[at[k]] = test
		}
		for k, lived := range t.lived {
			if lived && w.noticed[at[k]] != nobody {
				w.noticed[at[k]] = ""
			}
		}
		if werr := w.write(); err == nil {
			err = werr
		}
		if err != nil {
			return 2, err
		}
	}
	if w.list {
		return 0, nil
	}
	if y.count == nil && w.fresh {
		fmt.Fprintln(w.out, "every guard is listed")
		return w.nameless(), nil
	}
	y.print(w.out)
	return max(y.code(), w.nameless()), nil
}

// write writes guards.txt, with -all.
func (w *walk) write() error {
	if !w.all {
		return nil
	}
	return writeGuards(w.guardsFile(), w.mutants, w.noticed)
}

func (w *walk) guardsFile() string { return filepath.Join(w.root, "tests", "mutate", "guards.txt") }

// nameless tells of lines in accepted.txt that name no guard any more.
func (w *walk) nameless() (code int) {
	if w.only.String() != "" {
		return 0
	}
	for _, line := range w.ok.nameless(w.files, w.mutants) {
		fmt.Fprintf(w.out, "accepted.txt: %s names no guard: take the line out\n", line)
		code = 1
	}
	return code
}
