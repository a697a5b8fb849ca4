package spec_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack/spec"
)

func TestFaults(t *testing.T) {
	const at = "channel=C1&ts=1.2&"
	for _, x := range []struct{ method, values, want string }{
		{"chat.update", at + "text=12", ""},
		{"chat.update", at + "text=x&blocks=" + url.QueryEscape(`[{"type":"divider"},{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Go"}}]}]`), ""},
		{"conversations.replies", at + "include_all_metadata=1&inclusive=0&limit=15", ""},
		{"response_url", "replace_original=true&text=x", ""},
		{"chat.update", "channel=C1&text=x", "missing property 'ts'"},
		{"chat.update", at + "text=x&colour=red", "additional properties 'colour'"},
		{"chat.update", at + "text=x&blocks=" + url.QueryEscape(`[{"type":"actions","elements":[{"type":"button","text":"Go"}]}]`), "blocks/0/elements/0/text: got string, want object"},
		{"chat.update", at + "text=x&blocks=" + url.QueryEscape(`[{"type":"actions"}]`), "missing property 'elements'"},
		{"conversations.replies", at + "limit=many", "limit: got string, want number"},
		{"conversations.replies", at + "inclusive=often", "inclusive: got string, want boolean"},
		{"chat.shout", at, "chat.shout"},
	} {
		values, err := url.ParseQuery(x.values)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(spec.Faults(x.method, values), "; "); (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s %s: %q, want %q", x.method, x.values, got, x.want)
		}
	}
}
