package config

import (
	"cmp"
	"fmt"
	"math"
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
	at := p.File
	if p.Line > 0 {
		at += ":" + strconv.Itoa(p.Line)
	}
	if p.Field != "" {
		at += ": " + p.Field
	}
	return at + ": " + p.Say
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

// File is a YAML file that is read: a configuration, or one of another kind. It goes on after a mistake, so that all are found at once.
type File struct {
	file     string
	env      Getenv
	verbatim bool               // texts stand as they are written, variables and numbers too
	first    int                // what the entries of a list are counted from
	set      map[string]Problem // File and Line of where each field was set
	found    Problems
	notes    Problems // what is no mistake and does nothing
}

// At says where a field was set, or failing that the nearest thing around it.
func (r *File) At(field string) Problem {
	for around := field; around != ""; around = around[:max(0, strings.LastIndexAny(around, ".["))] {
		if p, ok := r.set[around]; ok {
			return p
		}
	}
	return Problem{File: r.file}
}

// Add records a problem of a field that has been set, or left to its default.
func (r *File) Add(field, format string, args ...any) {
	r.found = append(r.found, r.problemOf(field, format, args...))
}

func (r *File) problemOf(field, format string, args ...any) Problem {
	p := r.At(field)
	p.Field, p.Say = field, fmt.Sprintf(format, args...)
	return p
}

// refuse records a problem of a field where wrong holds.
func (r *File) refuse(wrong bool, field, format string, args ...any) {
	if wrong {
		r.Add(field, format, args...)
	}
}

// Has reports whether a field, or something in it, is already known to be wrong: what follows from that need not be said.
func (r *File) Has(field string) bool {
	return slices.ContainsFunc(r.found, func(p Problem) bool {
		rest, ok := strings.CutPrefix(p.Field, field)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// Err returns the problems found, or nil. The sort is by line, stable, with the environment's last.
func (r *File) Err() error {
	if len(r.found) == 0 {
		return nil
	}
	place := func(p Problem) int {
		if p.File != r.file {
			return math.MaxInt
		}
		return p.Line
	}
	slices.SortStableFunc(r.found, func(a, b Problem) int { return cmp.Compare(place(a), place(b)) })
	return r.found
}
