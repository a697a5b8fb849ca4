package web

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/text"
)

// Docs/api.md has every route, event, field, scope, choice and refusal of the API, and no route that there is not.
// R167
func TestTheAPIIsDocumented(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	page := read("../../docs/api.md")
	form := regexp.MustCompile("[\"`]((?:GET|POST|PUT|PATCH|DELETE) /api/v1/[^\"`]*)[\"`]")
	routes := func(text string) (out []string) {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	if there, told := routes(read("web.go")), routes(page); !slices.Equal(there, told) || len(there) < 16 {
		t.Errorf("the routes are\n%q, told of are\n%q", there, told)
	}
	var names []string
	for _, form := range []any{approvalRequired{}, permissionEnded{}, turnDone{}, usageForm{}} {
		for f := range reflect.TypeOf(form).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	for _, c := range text.ChoicesOf(text.APIAsk) {
		names = append(names, string(c))
	}
	for _, s := range scopes {
		names = append(names, s.name)
	}
	for _, c := range []decision.RefusalCode{decision.RefusedUnknown, decision.RefusedNotYours, decision.RefusedDecided, decision.RefusedExpired} {
		names = append(names, string(c))
	}
	names = append(names, "approval_required", "permission_granted", "permission_denied", "permission_expired", "permission_cancelled", "turn_done", "message")
	for _, name := range names {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%q is not told of", name)
		}
	}
}
