package surface

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWordsOfMarkdown(t *testing.T) {
	t.Parallel()
	for md, want := range map[string]string{
		"Done.\n\n- `checkout` runs **2026.11.21-7**\n  again\n- ~~no~~ [page](https://a.example)": "Done. · checkout runs 2026.11.21-7 again · no page",
		"| Version | State |\n|---|---|\n| 7 | *up* |":                                             "Version · State · 7 · up",
		"# A title\n\n> quoted &amp; \\*plain\\*\n\n1. one\n2. two":                                "A title · quoted & *plain* · one · two",
		"```go\nx := 1\n\ny := 2\n```\nafter":                                                      "x := 1 · y := 2 · after",
		"see <https://a.example/x> and https://b.example":                                          "see https://a.example/x and https://b.example",
		"<b>bold</b> and a_b_c, 2 * 3 * 4":                                                         "bold and a_b_c, 2 * 3 * 4",
		"":                                                                                         "",
	} {
		if got := Words(md, 200); got != want {
			t.Errorf("%q: %q, not %q", md, got, want)
		}
	}
	for _, md := range []string{strings.Repeat("é", 5000), strings.Repeat("> ", 50_000), strings.Repeat("[", 50_000), "\xff\xfe"} {
		if got := Words(md, 100); Width(got) > 100 || !utf8.ValidString(strings.ToValidUTF8(got, "")) {
			t.Errorf("%d characters of %.20q", Width(got), md)
		}
	}
}
