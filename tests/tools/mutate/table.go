package main

import (
	"fmt"
	"strings"
)

// job is what is compiled and tried together: guards, and the tests that have to notice that one is gone.
type job struct {
	files []part
	tests []string // packages
	run   string   // only the tests of these names, as in go test -run
	skip  string   // none of these, as in go test -skip
	args  []string // for the test binary
	quick []string // further ones for a first, faster run

	together bool // all mutants wake at once, as one
}

// part is some files, or some functions in them.
type part struct {
	pattern string   // from the module's root
	funcs   []string // none: all
}

// parseTable reads file[:functions] packages [run=names] [skip=names] [args=arguments] [quick=arguments] from each line. Lines that follow one another
// and say the same of the tests are one job.
func parseTable(text string) ([]job, error) {
	var jobs []job
	var last string
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) < 2 {
			return nil, fmt.Errorf("table.txt:%d: want a file and packages", i+1)
		}
		pattern, funcs, _ := strings.Cut(words[0], ":")
		p := part{pattern, fields(funcs, ",")}
		if how := strings.Join(words[1:], " "); how == last {
			j := &jobs[len(jobs)-1]
			j.files = append(j.files, p)
			continue
		} else {
			last = how
		}
		j := job{files: []part{p}, tests: fields(words[1], ",")}
		for _, w := range words[2:] {
			switch name, value, _ := strings.Cut(w, "="); name {
			case "run":
				j.run = value
			case "skip":
				j.skip = value
			case "args":
				j.args = fields(value, ",")
			case "quick":
				j.quick = fields(value, ",")
			default:
				return nil, fmt.Errorf("table.txt:%d: %s is none of run=, skip=, args= and quick=", i+1, w)
			}
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}
