package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Problem is one mistake in a configuration.
type Problem struct {
	File  string // the file's name as it was given, or the environment variable's
	Line  int    // 0 where there is none
	Field string // dotted path, empty where the whole file is meant
	Say   string // what is wrong and what would be right; never a value that could be a secret
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		b.WriteString(":" + strconv.Itoa(p.Line))
	}
	if p.Field != "" {
		b.WriteString(": " + p.Field)
	}
	b.WriteString(": " + p.Say)
	return b.String()
}

// Problems are all mistakes of one configuration, in the order of the file. As an error it has one line for each.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// origin is where a field's value came from.
type origin struct {
	file string
	line int
}

// report collects problems, and knows where each field was set.
type report struct {
	file  string
	set   map[string]origin
	found Problems
}

// at says where a field was set, or failing that the nearest thing around it.
func (r *report) at(field string) origin {
	for f := field; f != ""; {
		if o, ok := r.set[f]; ok {
			return o
		}
		i := strings.LastIndexAny(f, ".[")
		if i < 0 {
			break
		}
		f = f[:i]
	}
	return origin{file: r.file}
}

// add records a problem of a field that has been set, or left to its default.
func (r *report) add(field, format string, args ...any) {
	o := r.at(field)
	r.found = append(r.found, Problem{o.file, o.line, field, fmt.Sprintf(format, args...)})
}

// has reports whether a field, or something in it, is already known to be wrong: what follows from that need not be said.
func (r *report) has(field string) bool {
	return slices.ContainsFunc(r.found, func(p Problem) bool {
		rest, ok := strings.CutPrefix(p.Field, field)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// err returns the problems found, or nil. The sort is by line, stable, with the environment's last.
func (r *report) err() error {
	if len(r.found) == 0 {
		return nil
	}
	slices.SortStableFunc(r.found, func(a, b Problem) int {
		if x, y := a.File != r.file, b.File != r.file; x != y {
			if x {
				return 1
			}
			return -1
		}
		return a.Line - b.Line
	})
	return r.found
}
