package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// walk goes through jobs.
type walk struct {
	options
	root    string
	jobs    []job
	ok      accepted
	changed lines // with -since
	out     io.Writer

	files   []string
	mutants []Mutant // of all jobs
}

// through tries what has to be tried, job by job.
func (w *walk) through(ctx context.Context) (code int, err error) {
	var y Tally
	begun := time.Now()
	for _, j := range w.jobs {
		files, all, err := j.load(w.root)
		if err != nil {
			return 2, err
		}
		w.files, w.mutants = append(w.files, files...), append(w.mutants, all...)
		var list []Mutant
		for _, m := range all {
			if w.only.MatchString(m.String()) && (w.since == "" || w.changed.has(m)) {
				list = append(list, m)
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
		if err := t.all(ctx, list, &y); err != nil {
			return 2, err
		}
	}
	if w.list {
		return 0, nil
	}
	if y.count == nil && w.since != "" {
		fmt.Fprintln(w.out, "no guard of the table has changed since", w.since)
		return w.nameless(), nil
	}
	y.print(w.out)
	return max(y.code(), w.nameless()), nil
}

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
