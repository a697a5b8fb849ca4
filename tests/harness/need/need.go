// Package need says what becomes of a test whose programs are not installed: it is skipped, and fails where NOD_REQUIRE, names with commas
// between them, has what it needs.
package need

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Missing ends a test for want of something. What says what is not there, and perhaps how to get it.
func Missing(t testing.TB, name, what string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("NOD_REQUIRE"), ","), name) {
		t.Fatalf("NOD_REQUIRE asks for %s, and %s", name, what)
	}
	t.Skipf("%s (set NOD_REQUIRE=%s to make this a failure)", what, name)
}

// Program is where the first of these programs is that is installed.
func Program(t testing.TB, name string, programs ...string) string {
	t.Helper()
	for _, p := range programs {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	Missing(t, name, "there is no "+strings.Join(programs, " or ")+" in PATH")
	return ""
}
