package permission

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/permission/canonical"
	"github.com/nodhq/nod/core/permission/pin"
)

// Texts at the edges of the grammar, each of which one condition of the reader refuses, or takes.
func TestEdgesOfJSON(t *testing.T) {
	for text, want := range map[string]string{
		`-.5`:            "",
		`-e5`:            "",
		`1.e5`:           "",
		`1.`:             "",
		`1.5e5`:          `1.5e5`,
		"\"\ufffd\"":     "\"\ufffd\"",
		`"\ue000"`:       "\"\ue000\"",
		`"\ufffd"`:       "\"\ufffd\"",
		`"\ud83d\ude00"`: "\"\U0001F600\"",
		`"\ud800xudc00"`: "",
		`"\ud800\xdc00"`: "",
		`"\ud800\ue000"`: "",
		`"\ud800\udbff"`: "",
		`"\ud800`:        "",
		`"\ud800\`:       "",
		`"\u00/0"`:       "",
		`"\u00!0"`:       "",
		`"\u00:0"`:       "",
		`"\u00@0"`:       "",
		`"\u004A"`:       `"J"`,
		"\"\xc3\"":       "",
	} {
		end := "}"
		if strings.Count(text, `"`)%2 == 1 {
			end = "" // the string is cut off, and so is what is around it
		}
		got, err := canonical.Arguments([]byte(`{"a":` + text + end))
		if w := `{"a":` + want + `}`; want == "" && err == nil || want != "" && (err != nil || string(got) != w) {
			t.Errorf("%s: %s, %v; want %q", text, got, err, want)
		}
	}
}

// A key of a message is bare where it is a plain word, and quoted where not.
func TestKeysInMessages(t *testing.T) {
	for key, want := range map[string]string{"a-1_Z": "$.a-1_Z", "a b": `$."a b"`, "0": "$.0", "": `$.""`} {
		quoted, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = canonical.Arguments([]byte(`{` + string(quoted) + `:x}`))
		var a *canonical.Error
		if !errors.As(err, &a) || a.Path != want {
			t.Errorf("%q: %v, want %s", key, err, want)
		}
	}
}

func TestMessageOfListPositions(t *testing.T) {
	for template, want := range map[string]string{
		"{{.args.a.0}}": "x", "{{.args.a.1}}": "unknown", "{{.args.a.-1}}": "unknown", "{{.args.a.first}}": "unknown",
		"{{.args.b}}": "null", "{{.args.c}}": `""`,
	} {
		if got := Message(template, json.RawMessage(`{"a":["x"],"b":null,"c":""}`)); got != want {
			t.Errorf("%s: %q, want %q", template, got, want)
		}
	}
}

// What goes to a log of a change holds no argument and nothing that somebody put into words.
func TestBrief(t *testing.T) {
	tool := Tool{Server: "files", Name: "write"}
	pins := []pin.Pin{{Path: "$.path", Value: json.RawMessage(`"/hidden"`)}}
	for want, c := range map[string]Change{
		"files/write: message = …":                    Setting{Server: "files", Tool: "write", Field: "message", Value: "hidden"},
		"files/write: impact = …":                     Setting{Server: "files", Tool: "write", Field: "impact", Value: "hidden"},
		"files/write: category = (not set)":           Setting{Server: "files", Tool: "write", Field: "category"},
		"files/write: ask = always":                   Setting{Server: "files", Tool: "write", Field: "ask", Value: "always"},
		"a hold on slack:T1:U9: …":                    Holding{What: "slack:T1:U9", Why: "hidden"},
		"remembered: allow write of files …":          Remembered{Tool: tool, Choice: StandAllow, Pins: pins},
		"remembered: always ask about write of files": Remembered{Tool: tool, Choice: StandAsk},
		"halted": Halting(true),
	} {
		if got := Brief(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
