package slack

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

func ptr(f float64) *float64 { return &f }

// wantedFields has a field of every kind.
func wantedFields() []turn.FormField {
	many := make([]string, 12)
	for i := range many {
		many[i] = "opt" + strconv.Itoa(i)
	}
	return []turn.FormField{
		{Name: "branch", Title: "Branch", Description: "Where to write to.", Type: "string", Required: true, Default: "main", Min: ptr(2), Max: ptr(40)},
		{Name: "notes", Type: "string"},
		{Name: "mail", Title: "Your address", Type: "string", Format: "email"},
		{Name: "page", Type: "string", Format: "uri"},
		{Name: "day", Type: "string", Format: "date", Default: "2026-11-21"},
		{Name: "when", Type: "string", Format: "date-time", Default: "2026-11-21T14:02:00Z"},
		{Name: "count", Type: "integer", Min: ptr(1), Max: ptr(9), Default: "3", Required: true},
		{Name: "ratio", Type: "number"},
		{Name: "force", Title: "Force?", Type: "boolean", Required: true, Default: "false"},
		{Name: "dry", Type: "boolean"},
		{Name: "colour", Type: "string", Options: []string{"#f00", "#0f0"}, Labels: []string{"Red", "Green"}, Required: true, Default: "#0f0"},
		{Name: "size", Type: "string", Options: many},
		{Name: "tags", Many: true, Type: "string", Options: []string{"a", "b", "c"}, Default: "a\nc"},
		{Name: "more", Many: true, Type: "string", Options: many},
	}
}

func wantOf(w turn.Want) turn.ToolCall {
	c := turn.ToolCall{ID: "c1", Status: turn.Running, Want: &turn.Wanting{Ask: "WANT1", Want: w}}
	c.Tool.Server, c.Tool.Name = "files", "write_file"
	return c
}

func TestWantViews(t *testing.T) {
	f := form{Place: place{"T1", "C1", "1795269720.000100"}, Message: "1795269721.000200", Token: "WANT1", Choice: chat.Answer}
	v, ok := wantView(f, wantOf(turn.Want{Kind: turn.WantForm, Message: "Where should it go?", Fields: wantedFields()}))
	if !ok {
		t.Fatal("no form")
	}
	if err := checkView(v); err != nil {
		t.Error(err)
	}
	golden(t, "view_answer.json", pretty(t, v))
	golden(t, "view_answer.txt", []byte(dump(payload{Blocks: v.Blocks.BlockSet})))
	if got, err := parseForm(v.PrivateMetadata); err != nil || got != f {
		t.Errorf("%+v, %v", got, err)
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
		w := turn.Want{Kind: turn.WantForm, Message: anyWords(t, "message"), Fields: rapid.SliceOfN(field, 1, 12).Draw(t, "fields")}
		v, ok := wantView(aForm, wantOf(w))
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
	if _, ok := wantView(aForm, wantOf(turn.Want{Kind: turn.WantForm, Fields: make([]turn.FormField, maxFields+1)})); ok {
		t.Error("it is one")
	}
	if v, ok := wantView(aForm, wantOf(turn.Want{Kind: turn.WantForm, Fields: make([]turn.FormField, maxFields)})); !ok || checkView(v) != nil {
		t.Error("the longest is none")
	}
}

func TestFieldText(t *testing.T) {
	fields := map[string]turn.FormField{}
	for _, x := range wantedFields() {
		fields[x.Name] = x
	}
	for _, c := range []struct{ field, entered, want string }{
		{"branch", `{"value":"dev"}`, "dev"}, {"count", `{"type":"number_input","value":"3"}`, "3"}, {"force", `{"selected_option":{"value":"0"}}`, "true"}, {"force", `{"selected_option":{"value":"1"}}`, "false"},
		{"force", `{"selected_option":null}`, ""}, {"colour", `{"selected_option":{"value":"1"}}`, "#0f0"}, {"colour", `{"selected_option":{"value":"2"}}`, ""}, {"colour", `{"selected_option":{"value":"-1"}}`, ""},
		{"colour", `{"selected_option":{"value":"#0f0"}}`, ""}, {"tags", `{"selected_options":[{"value":"0"},{"value":"2"},{"value":"9"}]}`, "a\nc"}, {"tags", `{"selected_options":[]}`, ""},
		{"day", `{"selected_date":"2026-11-22"}`, "2026-11-22"}, {"when", `{"selected_date_time":1795269720}`, "2026-11-21T14:02:00Z"}, {"when", `{"selected_date_time":null}`, ""}, {"notes", `{"value":null}`, ""},
	} {
		var e entered
		if err := json.Unmarshal([]byte(c.entered), &e); err != nil {
			t.Fatal(err)
		}
		if got := fieldText(fields[c.field], e); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.field, c.entered, got, c.want)
		}
	}
}

func TestWhichFieldIsToBlame(t *testing.T) {
	fields := wantedFields()
	for say, want := range map[string]string{
		"Branch must be one that exists.": "field0", "Your address is none.": "field2", "count has to be at most 9": "field6", "Nothing fits.": "field0", "tags: too many": "field12",
	} {
		if got := blameOf(fields, say); got != want {
			t.Errorf("%q: %s, want %s", say, got, want)
		}
	}
}

// An address is text until somebody presses the button that names it; what could mislead is said, and what hides something is no address.
func TestAddresses(t *testing.T) {
	const long = "https://accounts.example.com/authorize?client=nod&scope=read%20write&state=abc"
	p, ok := addressOf(aForm, "files", long)
	if !ok || check(p) != nil {
		t.Fatalf("%v", check(p))
	}
	golden(t, "note_address.json", pretty(t, p))
	for address, want := range map[string]string{
		"https://xn--pple-43d.com/login": "xn--pple-43d.com", "https://bank.example@evil.example/x": "evil.example", "http://plain.example/": sayUnencrypted, "https://аpple.com/": "Careful",
	} {
		p, ok := addressOf(aForm, "files", address)
		raw := string(rawJSON(p.Blocks))
		if !ok || check(p) != nil || !strings.Contains(raw, want) || !strings.Contains(raw, `"url":"`+address+`"`) || strings.Contains(raw, `"mrkdwn"`) || strings.Contains(raw, `"type":"link"`) {
			t.Errorf("%s: %v %s", address, check(p), raw)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(map[string]bool{"": true, "javascript:alert(1)": true, "slack://open": true, "https://": true, "https:///x": true, "file:///etc/passwd": true, "https://a.example/\u202eb": true, "https://a.example/a b": true,
		"https://a.example/" + rep(3000): true, "//a.example": true, "https://a.example/\nb": true, "https://a.example/\"b": true})) {
		if _, ok := addressOf(aForm, "files", address); ok {
			t.Errorf("%q is an address", address)
		}
	}
}
