package main

import (
	"fmt"
	"slices"
	"strings"
)

// accepted are the lines of accepted.txt: file:function: source: reason.
type accepted []string

func parseAccepted(text string) (accepted, error) {
	var a accepted
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.Count(line, ": ") < 2 {
			return nil, fmt.Errorf("accepted.txt:%d: want file:function: source: reason", i+1)
		}
		a = append(a, line)
	}
	return a, nil
}

// reason is why a mutant may live. A source may hold a colon itself, so a line is compared from its beginning.
func (a accepted) reason(m Mutant) (string, bool) {
	for _, line := range a {
		if why, ok := strings.CutPrefix(line, m.key()+": "); ok {
			return why, true
		}
	}
	return "", false
}

// nameless are the lines about the files that name none of their guards.
func (a accepted) nameless(files []string, list []Mutant) []string {
	var lines []string
	for _, line := range a {
		file, _, _ := strings.Cut(line, ":")
		known := slices.ContainsFunc(list, func(m Mutant) bool { return strings.HasPrefix(line, m.key()+": ") })
		if slices.Contains(files, file) && !known {
			lines = append(lines, line)
		}
	}
	return lines
}
