package attacks

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The threats of docs/security.md are the rows of this suite, each once.
func TestThreatsAreTold(t *testing.T) {
	page, err := os.ReadFile("../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []int
	for _, m := range regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|`).FindAllStringSubmatch(string(page), -1) {
		for _, n := range strings.Split(m[1], ", ") {
			row, err := strconv.Atoi(n)
			if err != nil || rows[row].slug == "" {
				t.Errorf("%q is no row", n)
			}
			told = append(told, row)
		}
	}
	slices.Sort(told)
	if len(told) != len(rows) || len(slices.Compact(told)) != len(rows) {
		t.Errorf("told of are %v, of %d rows", told, len(rows))
	}
}
