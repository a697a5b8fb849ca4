package blocks

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

func TestLinesAreBounded(t *testing.T) {
	for _, lines := range [][]string{nil, {""}, {rep(50_000)}, {strings.Repeat("<&>\"\\\u202e", 9000), "x"}, slices.Repeat([]string{rep(90)}, 500), slices.Repeat([]string{"😀 <!channel> \\ \" &"}, 900)} {
		p := EncodeLines(lines, nil)
		if err := check(p); err != nil {
			t.Errorf("%d lines: %v", len(lines), err)
		}
		if strings.Contains(p.Text, "<!") {
			t.Errorf("%q", p.Text)
		}
	}
	p := EncodeLines(slices.Repeat([]string{rep(90)}, 500), nil)
	if raw := string(rawJSON(p.Blocks)); !strings.Contains(raw, "more lines: open the settings") {
		t.Error("what is left out is not said")
	}
	looks.Golden(t, "note_lines.json", pretty(t, EncodeLines([]string{"files · write_file asks (server default).", "Nothing else *is* <!channel> known."}, nil)))
}
