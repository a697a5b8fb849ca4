package web

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/text"
)

// Docs/api.md has every event, scope, choice and refusal; routes and fields stand in docs/openapi.yaml (TestOpenAPI).
// R167
func TestTheAPIIsDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	names := []string{"approval_required", "permission_granted", "permission_denied", "permission_expired", "permission_cancelled", "turn_done", "message"}
	for _, c := range text.ChoicesOf(text.APIAsk) {
		names = append(names, string(c))
	}
	for _, s := range scopes {
		names = append(names, s.name)
	}
	for _, c := range []decision.RefusalCode{decision.RefusedUnknown, decision.RefusedNotYours, decision.RefusedDecided, decision.RefusedExpired} {
		names = append(names, string(c))
	}
	for _, name := range names {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%q is not told of", name)
		}
	}
}

// What docs/web.md says of how fast chats are begun is what bounds them.
func TestBoundsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/web.md")
	if want := fmt.Sprintf(" and %d chats a second can be opened, 500 and %s at once;", beginRate, text.Number(beginBurst)); err != nil || !strings.Contains(string(b), want) {
		t.Errorf("%v; it does not say %q", err, want)
	}
}
