package permissions

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/permission"
)

var digestA = strings.Repeat("a", 64)

// Every mistake is told with its line and its field, all at once.
func TestImportMistakes(t *testing.T) {
	const mine = "\n- {id: a, by: \"web::a\", server: s, "
	for text, says := range map[string]string{
		"":                              "is empty",
		"version: 1\n---\nversion: 1\n": "a second document",
		"a: b: c":                       "this is not YAML",
		"- version: 1":                  ":1: want a mapping",
		"settings: []":                  ": version: is missing; this program reads 1",
		"version: 2":                    ":1: version: 2 is not known here; this program reads 1",
		"version: 1\nversion: 1":        ":2: version: stands twice",
		"version: 1\nsetings: []":       ":2: setings: there is no such field",
		"version: 1\nsettings: 5":       ":2: settings: want a list",
		"version: 1\nsettings:\n- 5":    ":3: settings[1]: want a mapping",
		"version: 1\nsettings:\n- {field: mode, vlaue: always}":                                                         ":3: settings[1].vlaue: there is no such field",
		"version: 1\nsettings:\n- {field: mode, value: [always]}":                                                       ":3: settings[1].value: want text, got a list",
		"version: 1\nsettings:\n- {field: mode}":                                                                        ":3: settings[1]: mode has no value",
		"version: 1\nsettings:\n- {field: colour, value: red}":                                                          ":3: settings[1]: everything: there is no \"colour\"",
		"version: 1\nsettings:\n- {field: mode, value: tool}\n- {field: mode, value: always}":                           ":4: settings[2]: is about the same as line 3",
		"version: 1\nsettings:\n- {tool: x, field: ask, value: never}":                                                  ":3: settings[1]: the tool x has no server",
		"version: 1\nremembered:\n- {id: a, by: nobody, server: s, tool: t, choice: deny}":                              ":3: remembered[1]: by: ",
		"version: 1\nremembered:\n- {id: a, by: \"web::a\", server: s, tool: t, choice: allow}":                         ":3: remembered[1]: definition: ",
		"version: 1\nremembered:\n- {id: a, by: \"web::a\", server: s, tool: t, choice: allow, pins: x}":                ":3: remembered[1].pins: want a list",
		"version: 1\nremembered:\n- {id: a, pins: [\n{path: a},\n{pat: b}]}":                                            ":5: remembered[1].pins[2].pat: there is no such field",
		"version: 1\nremembered:\n- {id: a, pins: [x]}":                                                                 ":3: remembered[1].pins[1]: want a mapping",
		"version: 1\nremembered:" + mine + "tool: t, choice: deny}" + mine + "tool: t, choice: ask}":                    ":4: remembered[2]: is about the same as line 3",
		"version: 1\nremembered:" + mine + "tool: t, scope: reads}" + mine + "tool: u, scope: reads}":                   ":4: remembered[2]: is about the same as line 3",
		"version: 1\ntools:\n- {server: s, tool: t, counts: abc}":                                                       ":3: tools[1]: counts: ",
		"version: 1\ntools:\n- {server: s, tool: t, counts: " + digestA + ", accepted: maybe}":                          ":3: tools[1].accepted: want true or false",
		"version: 1\nadvice:\n- {server: s, tool: t, definition: " + digestA + ", access: read, risk: huge}":            ":3: advice[1]: ",
		"version: 1\nsettings:\n- {field: mode, value: x}\n- {field: x, value: y}\nmore: 1":                             ":5: more: there is no such field",
		"version: 1\nsettings:\n- {field: mode, value: x}\n- {field: nope, value: y}":                                   ":4: settings[2]: ",
		"version: 1\nsettings:\n- {field: mode, value: \"\\e[2J\"}":                                                     `"\x1b[2J" is not one of`,
		`{"version":1,"settings":[{"field":"mode","value":"always"},` + "\n" + `{"field":"mode","value":"sometimes"}]}`: ":2: settings[2]: ",
	} {
		_, err := parseExchange("f.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: %v, want %q in it", text, err, says)
		}
	}
	for text, want := range map[string]int{"version: x": 1, "- version: 1": 1, "version: 2\nmore: 1": 2, "version: 1\nsettings:\n- {field: mode, vlaue: always}": 1} {
		if _, err := parseExchange("f.yaml", []byte(text)); err == nil || strings.Count(err.Error(), "\n") != want-1 {
			t.Errorf("%q: %v, want %d lines", text, err, want)
		}
	}
	good := "version: 1\nsettings:\n- {field: timeout, value: 30m}\n- {field: min_approvals, value: 2}\n- {field: strict, value: true}\nremembered: ~\n"
	if x, err := parseExchange("f.yaml", []byte(good)); err != nil || len(x.Settings) != 3 || x.Settings[1].Value != "2" || x.Settings[2].Value != "true" {
		t.Errorf("%+v, %v", x, err)
	}
}

// What is exported is imported as it was, an allowance with its limits too (R8).
func TestWhatIsExportedIsImported(t *testing.T) {
	want := permission.Exchange{
		Version:  permission.ExchangeVersion,
		Settings: []permission.Setting{{Server: "files", Field: "ask", Value: "always"}},
		Remembered: []permission.RememberedEntry{{
			ID: "a", By: "web::ana", Name: "Ana", Server: "files", Tool: "write", Definition: permission.Digest(digestA), Choice: "allow",
			Pins:  []permission.PinEntry{{Path: "/path", Value: `"docs"`, Under: true}, {Path: "/mode", Value: `"w"`}},
			Until: "2026-01-31T15:04:05Z",
		}},
		Tools:  []permission.ToolEntry{{Server: "files", Tool: "write", Counts: permission.Digest(digestA), Accepted: true}},
		Advice: []permission.AdviceEntry{{Server: "files", Tool: "write", Definition: permission.Digest(digestA), Access: "write", Risk: "dangerous", Admin: true}},
	}
	for _, asJSON := range []bool{false, true} {
		file := encode(want, asJSON)
		if got, err := parseExchange("f", []byte(file)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v\n%s\ngave %+v", err, file, got)
		}
	}
}
