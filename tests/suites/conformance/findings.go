package conformance

import (
	"iter"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
)

// Findings are a doctor's findings by what was looked at. Each says what it found and, where that is wrong, what to do, and none shows a secret
// (SENTINEL in what a test configures) or what a terminal should not get.
func Findings(t *testing.T, found iter.Seq[surface.Finding]) map[string]surface.Finding {
	t.Helper()
	out := map[string]surface.Finding{}
	for f := range found {
		if f.What == "" || f.Found == "" {
			t.Errorf("an empty finding: %+v", f)
		}
		if f.Mark == surface.Wrong && f.Do == "" {
			t.Errorf("%s: it does not say what to do", f.What)
		}
		if text := f.What + f.Found + f.Do; strings.Contains(text, "SENTINEL") || strings.ContainsAny(text, "\n\x1b") {
			t.Errorf("a secret, or what a terminal should not get: %+v", f)
		}
		if _, twice := out[f.What]; twice {
			t.Errorf("%s is said twice", f.What)
		}
		out[f.What] = f
	}
	return out
}

// WantFinding compares one finding: its mark, and words that must be in it.
func WantFinding(t *testing.T, all map[string]surface.Finding, what string, mark surface.Mark, words ...string) {
	t.Helper()
	f, ok := all[what]
	if !ok || f.Mark != mark {
		t.Errorf("%s: want %q, got %+v (there: %v)", what, mark, f, ok)
		return
	}
	for _, w := range words {
		if !strings.Contains(f.Found+" → "+f.Do, w) {
			t.Errorf("%s: no %q in %q → %q", what, w, f.Found, f.Do)
		}
	}
}
