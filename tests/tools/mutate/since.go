package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// lines are the lines of files that changed, from one to another.
type lines map[string][][2]int

// has reports whether a mutant stands on a line that changed. A condition over several lines counts by its first.
func (l lines) has(m Mutant) bool {
	for _, r := range l[m.File] {
		if m.Line >= r[0] && m.Line <= r[1] {
			return true
		}
	}
	return false
}

// changedSince asks git what the checkout has that a revision has not: committed or not.
func changedSince(ctx context.Context, revision string) (lines, error) {
	cmd := exec.CommandContext(ctx, "git", "diff", "--unified=0", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", revision, "--")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git diff %s: %w: %s", revision, err, strings.TrimSpace(stderr.String()))
	}
	return parseDiff(string(out)), nil
}

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// parseDiff reads a unified diff without context.
func parseDiff(text string) lines {
	l := lines{}
	file := ""
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			file = strings.TrimSpace(name)
		}
		m := hunk.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		first, _ := strconv.Atoi(m[1])
		count := 1
		if m[2] != "" {
			count, _ = strconv.Atoi(m[2])
		}
		if count > 0 {
			l[file] = append(l[file], [2]int{first, first + count - 1})
		}
	}
	return l
}
