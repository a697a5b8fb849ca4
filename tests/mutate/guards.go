package main

import (
	"fmt"
	"os"
	"strings"
)

// guards are the lines of guards.txt, without the last word: a guard, and the tests that noticed when it was gone, one for each guard
// of that text in its function.
type guards map[string][]string

const guardsHead = `# Every guard of table.txt, and a test that failed without it: file:function: kind: source: test
# Written by make mutate. A guard that stands neither here nor in accepted.txt fails the tests of this directory:
# go run ./tests/mutate -all -new tries what is not listed yet, and writes it here.
# A - in the place of a test is a hole: nothing noticed yet, or nobody tried. Such a line is never written by the program, only kept.
`

// nobody stands for the test where none noticed yet.
const nobody = "-"

func parseGuards(text string) (guards, error) {
	g := guards{}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line, ": ")
		if strings.Count(line, ": ") < 3 {
			return nil, fmt.Errorf("guards.txt:%d: want file:function: kind: source: test", i+1)
		}
		g[line[:at]] = append(g[line[:at]], line[at+2:])
	}
	return g, nil
}

// take removes one line of m and returns its test.
func (g guards) take(m Mutant) (test string, ok bool) {
	have := g[m.entry()]
	if len(have) == 0 {
		return "", false
	}
	if g[m.entry()] = have[1:]; len(have) == 1 {
		delete(g, m.entry())
	}
	return have[0], true
}

// unlisted are those of list that stand neither in g nor in ok. What is left in g then names no guard.
func (g guards) unlisted(list []Mutant, ok accepted) (missing []Mutant) {
	for _, m := range list {
		if _, listed := g.take(m); listed {
			continue
		}
		if _, why := ok.reason(m); !why {
			missing = append(missing, m)
		}
	}
	return missing
}

// writeGuards writes guards.txt: of every mutant the test that noticed it now, or what the list says where it was not tried.
func writeGuards(name string, list []Mutant, noticed map[int]string) error {
	var b strings.Builder
	b.WriteString(guardsHead)
	for i, m := range list {
		if noticed[i] != "" {
			fmt.Fprintf(&b, "%s: %s\n", m.entry(), noticed[i])
		}
	}
	return os.WriteFile(name, []byte(b.String()), 0o644) //nolint:gosec // a list for people
}
