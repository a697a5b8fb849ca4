// Package replicas tests the engine as a person, a model and a tool server see it: several replicas over one store, which are
// stopped, killed and cut off at every moment. tests/harness is the world they live in.
package replicas

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// both runs a test over each backend.
func both(t *testing.T, o harness.Options, test func(w *harness.World)) {
	for _, b := range harness.Backends() {
		t.Run(b.Name, func(t *testing.T) {
			o.Backend = b
			test(harness.New(t, o))
		})
	}
}

func has(t testing.TB, what, text string, words ...string) {
	t.Helper()
	for _, x := range words {
		if !strings.Contains(text, x) {
			t.Errorf("%s does not say %q:\n%s", what, x, text)
		}
	}
}

func hasNot(t testing.TB, what, text string, words ...string) {
	t.Helper()
	for _, x := range words {
		if strings.Contains(text, x) {
			t.Errorf("%s says %q:\n%s", what, x, text)
		}
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

type tools = map[string]permission.ToolSettings
