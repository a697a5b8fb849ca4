package blocks

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack/samples"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

func TestWantViews(t *testing.T) {
	f := Form{Place: Place{"T1", "C1", "1795269720.000100"}, Message: "1795269721.000200", Token: "WANT1", Choice: chat.Answer}
	v, ok := EncodeElicitation(f, samples.Wanting(turn.Elicitation{Kind: turn.ElicitationForm, Message: "Where should it go?", Fields: samples.FormFields()}))
	if !ok {
		t.Fatal("no form")
	}
	if err := checkView(v); err != nil {
		t.Error(err)
	}
	looks.Golden(t, "view_answer.json", pretty(t, v))
	looks.Golden(t, "view_answer.txt", []byte(dump(Message{Blocks: v.Blocks.BlockSet})))
	if got, ok := ParseForm(v.PrivateMetadata); !ok || got != f {
		t.Errorf("%+v, %v", got, ok)
	}
}

// Whatever a server wants to be filled in, it is a form that Slack takes, and nothing of it is markup.
func TestEveryWantIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.Custom(func(t *rapid.T) turn.FormField {
			x := turn.FormField{Name: anyWords(t, "name"), Title: anyWords(t, "title"), Description: anyWords(t, "description"), Type: rapid.SampledFrom([]string{"string", "number", "integer", "boolean", "", "odd"}).Draw(t, "type"),
				Many: rapid.Bool().Draw(t, "many"), Required: rapid.Bool().Draw(t, "required"), Default: rapid.SampledFrom([]string{"", "x", "1", "true", "0", "9\n8", rep(3001), "2026-11-21", "a\u202eb", "1e400", "-5"}).Draw(t, "default"),
				Format: rapid.SampledFrom([]string{"", "email", "uri", "date", "date-time", "odd"}).Draw(t, "format")}
			if rapid.Bool().Draw(t, "bounded") {
				lo, hi := rapid.Float64Range(-10, 5000).Draw(t, "min"), rapid.Float64Range(-10, 5000).Draw(t, "max")
				x.Min, x.Max = &lo, &hi
			}
			for i := range rapid.IntRange(0, 130).Draw(t, "options") {
				x.Options = append(x.Options, strconv.Itoa(i))
				x.Labels = append(x.Labels, rapid.SampledFrom([]string{"", "x", rep(90), "<!here>", "\u200b"}).Draw(t, "label"))
			}
			return x
		})
		w := turn.Elicitation{Kind: turn.ElicitationForm, Message: anyWords(t, "message"), Fields: rapid.SliceOfN(field, 1, 12).Draw(t, "fields")}
		v, ok := EncodeElicitation(aForm, samples.Wanting(w))
		if !ok {
			t.Fatal("no form")
		}
		if err := checkView(v); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(rawJSON(v)), `"mrkdwn"`) {
			t.Fatal("markup in a server's form")
		}
	})
}

func TestATooLongFormIsNone(t *testing.T) {
	if _, ok := EncodeElicitation(aForm, samples.Wanting(turn.Elicitation{Kind: turn.ElicitationForm, Fields: make([]turn.FormField, maxFields+1)})); ok {
		t.Error("it is one")
	}
	if v, ok := EncodeElicitation(aForm, samples.Wanting(turn.Elicitation{Kind: turn.ElicitationForm, Fields: make([]turn.FormField, maxFields)})); !ok || checkView(v) != nil {
		t.Error("the longest is none")
	}
}

// An address is text until somebody presses the button that names it; what could mislead is said, and what hides something is no address.
func TestAddresses(t *testing.T) {
	const long = "https://accounts.example.com/authorize?client=nod&scope=read%20write&state=abc"
	p, ok := EncodeAddress(aForm, "files", long)
	if !ok || check(p) != nil {
		t.Fatalf("%v", check(p))
	}
	looks.Golden(t, "note_address.json", pretty(t, p))
	for address, want := range map[string]string{
		"https://xn--pple-43d.com/login": "xn--pple-43d.com", "https://bank.example@evil.example/x": "evil.example", "http://plain.example/": sayUnencrypted, "https://аpple.com/": "Careful",
	} {
		p, ok := EncodeAddress(aForm, "files", address)
		raw := string(rawJSON(p.Blocks))
		if !ok || check(p) != nil || !strings.Contains(raw, want) || !strings.Contains(raw, `"url":"`+address+`"`) || strings.Contains(raw, `"mrkdwn"`) || strings.Contains(raw, `"type":"link"`) {
			t.Errorf("%s: %v %s", address, check(p), raw)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(map[string]bool{"": true, "javascript:alert(1)": true, "slack://open": true, "https://": true, "https:///x": true, "file:///etc/passwd": true, "https://a.example/\u202eb": true, "https://a.example/a b": true,
		"https://a.example/" + rep(3000): true, "//a.example": true, "https://a.example/\nb": true, "https://a.example/\"b": true})) {
		if _, ok := EncodeAddress(aForm, "files", address); ok {
			t.Errorf("%q is an address", address)
		}
	}
}

// However much a server wants to know: where that is more than a view holds, the view says that it cannot be shown.
func TestAFormThatIsTooLargeSaysSo(t *testing.T) {
	x := turn.FormField{Name: "n", Type: "string"}
	for range maxSelect {
		x.Options, x.Labels = append(x.Options, rep(90)), append(x.Labels, rep(90))
	}
	v, ok := EncodeElicitation(aForm, samples.Wanting(turn.Elicitation{Kind: turn.ElicitationForm, Fields: slices.Repeat([]turn.FormField{x}, maxFields)}))
	if err := checkView(v); err != nil || !ok {
		t.Errorf("%v %v", ok, err)
	}
	if raw := string(rawJSON(v)); !strings.Contains(raw, sayNotDrawn) || v.Submit != nil {
		t.Errorf("%s", raw)
	}
}
