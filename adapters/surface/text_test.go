package surface

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

func TestWidthCountsWhatTakesTwoUnits(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{"": 0, "abc": 3, "é中": 2, "😀a": 3} {
		if got := Width(s); got != want {
			t.Errorf("%q: %d", s, got)
		}
	}
}

func TestWhatIsCutFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a😀", 100) // 300 units, 200 characters
	for n := 40; n <= 301; n++ {
		if got := AtMost(long, n); Width(got) > n || (n < 300) != strings.HasSuffix(got, "…") || !strings.HasPrefix(long, strings.TrimSuffix(got, "…")) {
			t.Fatalf("AtMost %d: %q", n, got)
		}
		got := Within(long, n)
		if Width(got) > n || (n < 300) != (got != long) {
			t.Fatalf("Within %d: %q", n, got)
		}
		if head, _, cut := strings.Cut(got, " … "); cut && !strings.HasPrefix(long, head) {
			t.Fatalf("Within %d: %q", n, got)
		}
	}
}

// What a person edits is the same JSON: not a value of it changes, and nothing in it hides.
func TestEditableIsTheSameJSON(t *testing.T) {
	t.Parallel()
	const args = `{"b":1.50,"a":"x` + "\u202e\U000E0041" + `y","n":12345678901234567890}`
	for most, indented := range map[int]bool{1000: true, 40: false} {
		got := Editable(args, most)
		var want, is any
		if json.Unmarshal([]byte(args), &want) != nil || json.Unmarshal([]byte(got), &is) != nil {
			t.Fatalf("%q is no JSON", got)
		}
		if a, b := mustJSON(t, want), mustJSON(t, is); a != b {
			t.Errorf("%s became %s", a, b)
		}
		if strings.ContainsAny(got, "\u202e\U000E0041") || !strings.Contains(got, "1.50") || !strings.Contains(got, "12345678901234567890") {
			t.Errorf("%q", got)
		}
		if strings.Contains(got, "\n") != indented {
			t.Errorf("within %d characters: %q", most, got)
		}
	}
	for _, odd := range []string{"", "{", "\xff", `"` + "\xff" + `"`, "{\u202e", "not json"} {
		if Editable(odd, 100) != odd {
			t.Errorf("%q was changed", odd)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheDigestComesFirst(t *testing.T) {
	t.Parallel()
	part := func(name string) render.Part { return render.Part{Name: name} }
	names := func(parts []render.Part) (out []string) {
		for _, p := range parts {
			out = append(out, p.Name)
		}
		return out
	}
	got := names(DigestFirst([]render.Part{part("a"), part(text.PartDigest), part(""), part("b")}))
	if !slices.Equal(got, []string{text.PartDigest, "", "a", "b"}) {
		t.Errorf("%q", got)
	}
	if got := names(DigestFirst([]render.Part{part("a"), part(text.PartDigest), part("")})); !slices.Equal(got, []string{text.PartDigest, "", "a"}) {
		t.Errorf("at the end: %q", got)
	}
	two := []render.Part{part("a"), part(text.PartDigest), part("b"), part(text.PartDigest)}
	if got := names(DigestFirst(two)); !slices.Equal(got, names(two)) {
		t.Errorf("of two calls: %q", got)
	}
}

func TestWordsOfMarkdown(t *testing.T) {
	t.Parallel()
	for md, want := range map[string]string{
		"Done.\n\n- `checkout` runs **2026.11.21-7**\n  again\n- ~~no~~ [page](https://a.example)": "Done. · checkout runs 2026.11.21-7 again · no page",
		"| Version | State |\n|---|---|\n| 7 | *up* |":                                             "Version · State · 7 · up",
		"# A title\n\n> quoted &amp; \\*plain\\*\n\n1. one\n2. two":                                "A title · quoted & *plain* · one · two",
		"这是**“重点”**内容":                                                                             "这是“重点”内容",
		"```go\nx := 1\n\ny := 2\n```\nafter":                                                      "x := 1 · y := 2 · after",
		"see <https://a.example/x> and https://b.example":                                          "see https://a.example/x and https://b.example",
		"<b>bold</b> and a_b_c, 2 * 3 * 4":                                                         "bold and a_b_c, 2 * 3 * 4",
		"サーバー**「本番」**です":                                                                           "サーバー「本番」です", "１**「a」**です": "１「a」です", "〆**「a」**です": "〆「a」です", "变数_名_です": "变数_名_です",
		"这是** 重点**内容": "这是** 重点**内容", "这是**重点 **内容": "这是**重点 **内容",
		"f*(x)*": "f*(x)*", "*(x)*f": "*(x)*f", "Ꜣ*(x)*": "Ꜣ*(x)*", "𝐀*(x)*": "𝐀*(x)*", "a ~~~~ b": "a ~~~~ b", "one\\\ntwo": "one two", "": "",
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

func TestWhatAPlatformSaysIsTame(t *testing.T) {
	t.Parallel()
	if got, want := Tame("no\x1b[31m\n\u202eway\u061c\U000e0041"+strings.Repeat("é", 200)), `no\u{001B}[31m ⏎ \u{202E}way\u{061C}\u{E0041}`; !strings.HasPrefix(got, want) || utf8.RuneCountInString(got) != 160 {
		t.Errorf("%q", got)
	}
}

func TestThePublicAddress(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "bot.example.com", "http://bot.example.com", "https://", "https://me@bot.example.com", "https://bot.example.com?a=b", "https://bot.example.com#a", "https://bot.example.com/%zz"} {
		if got, err := PublicBase(bad); err == nil {
			t.Errorf("%q is %q", bad, got)
		}
	}
	if got, err := PublicBase("https://bot.example.com/nod/"); err != nil || got != "https://bot.example.com/nod" {
		t.Errorf("%q, %v", got, err)
	}
}

// Whose word an address is by: the bot's token goes to it.
func TestWhereFilesAreTakenFrom(t *testing.T) {
	t.Parallel()
	h := Hosts{Names: []string{"files.slack.com", ".discordapp.net"}, Standin: "http://127.0.0.1:1"}
	for address, want := range map[string]bool{
		"https://files.slack.com/a": true, "https://FILES.slack.com/a": true, "https://media.discordapp.net/a": true, "http://127.0.0.1:1/a": true,
		"http://files.slack.com/a": false, "https://files.slack.com:8443/a": false, "https://me@files.slack.com/a": false,
		"https://evil.files.slack.com/a": false, "https://files.slack.com.evil.test/a": false, "https://evildiscordapp.net/a": false, "https://discordapp.net/a": false,
		"https://127.0.0.1:1/a": false, "http://127.0.0.1:2/a": false, "https:///a": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Take(u); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if (Hosts{}).Take(&url.URL{Path: "/a"}) || (Hosts{Standin: "http://%zz"}).Take(&url.URL{Path: "/a"}) {
		t.Error("without a stand-in, an address without a host is its")
	}
}

func TestLooseStrings(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]LooseString{
		`"a"`: "a", `17`: "17", `-1.5`: "-1.5", `0`: "0", `9`: "9", `{"id":"T1","name":"x"}`: "T1", `{"id":{"id":7}}`: "7", `{}`: "", `null`: "", `true`: "", `["a"]`: "",
	} {
		got := LooseString("before")
		if err := json.Unmarshal([]byte(raw), &got); err != nil || got != want && raw != "null" {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}
}
