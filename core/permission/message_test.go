package permission

import (
	"encoding/json"
	"testing"
)

// R34 and R92.
// R34 R92
func TestMessage(t *testing.T) {
	const args = `{"target":"X","n":9007199254740993,"b":true,"z":null,"e":"","t":"{{.args.n}}","m":{"to":"a@b.c","cc":["d","<e>"]},"html":"<b>&\"\n"}`
	for template, want := range map[string]string{
		"": "",
		"Execute my_tool on target: {{.args.target}}?":   "Execute my_tool on target: X?",
		"On {{.args.nowhere}}?":                          "On unknown?",
		"{{ .args.target }}{{.args.target}}":             "XX",
		"{{.args.n}} {{.args.b}} {{.args.z}}":            "9007199254740993 true null",
		"Send to {{.args.e}}?":                           `Send to ""?`,
		"{{.args.m.to}} {{.args.m.cc.1}} {{.args.m}}":    `a@b.c <e> {"to":"a@b.c","cc":["d","<e>"]}`,
		"{{.args.m.cc.7}} {{.args.m.to.x}}":              "unknown unknown",
		"{{.args.t}}":                                    "{{.args.n}}", // values are never expanded again
		"{{.args.html}}":                                 "<b>&\"\n",
		"{{.tool}} {{.args}} {{.args.}} {{}} {{target}}": "unknown unknown unknown unknown unknown",
		"half {{.args.target":                            "half {{.args.target",
	} {
		if got := Message(template, json.RawMessage(args)); got != want {
			t.Errorf("%s: got %q, want %q", template, got, want)
		}
	}
	if got := Message("a {{.args.x}}", nil); got != "a unknown" {
		t.Errorf("no arguments: %q", got)
	}
	for template, ok := range map[string]bool{"": true, "x": true, "{{.args.a}} {{ .args.b.0 }}": true, "{{.args.a": false, "{{args.a}}": false, "{{.args.a..b}}": false, "{{.args}}": false} {
		if err := CheckMessage(template); (err == nil) != ok {
			t.Errorf("%s: %v", template, err)
		}
	}
}
