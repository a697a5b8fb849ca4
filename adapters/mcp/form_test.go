package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// Every kind of field that the protocol has, as servers write them.
func TestEveryKindOfField(t *testing.T) {
	num := func(x float64) *float64 { return &x }
	colours, names := []string{"#f00", "#0f0"}, []string{"Red", "Green"}
	cases := []struct {
		schema string
		want   turn.FormField
	}{
		{`{"type":"string"}`, turn.FormField{Type: "string"}},
		{`{"type":"string","title":"Your  name","description":"As on\nthe badge","minLength":2,"maxLength":50,"default":"Ana","pattern":"^A"}`,
			turn.FormField{Type: "string", Title: "Your name", Description: "As on the badge", Min: num(2), Max: num(50), Default: "Ana"}},
		{`{"type":"string","default":"gpj.\u202eexe"}`, turn.FormField{Type: "string"}},
		{`{"type":"string","format":"email","default":"nobody"}`, turn.FormField{Type: "string", Format: "email"}},
		{`{"type":"string","format":"uri"}`, turn.FormField{Type: "string", Format: "uri"}},
		{`{"type":"string","format":"date","default":"2026-11-21"}`, turn.FormField{Type: "string", Format: "date", Default: "2026-11-21"}},
		{`{"type":"string","format":"date-time"}`, turn.FormField{Type: "string", Format: "date-time"}},
		{`{"type":"number","minimum":-1.5,"maximum":2,"default":0.5}`, turn.FormField{Type: "number", Min: num(-1.5), Max: num(2), Default: "0.5"}},
		{`{"type":"integer","minimum":1,"default":7}`, turn.FormField{Type: "integer", Min: num(1), Default: "7"}},
		{`{"type":"integer","default":"many"}`, turn.FormField{Type: "integer"}},
		{`{"type":"integer","maximum":3,"default":7}`, turn.FormField{Type: "integer", Max: num(3)}},
		{`{"type":"boolean","default":true}`, turn.FormField{Type: "boolean", Default: "true"}},
		{`{"type":"boolean","default":null}`, turn.FormField{Type: "boolean"}},
		{`{"type":"string","enum":["#f00","#0f0"],"default":"#0f0"}`, turn.FormField{Type: "string", Options: colours, Default: "#0f0"}},
		{`{"type":"string","enum":["#f00","#0f0"],"enumNames":["Red","Green"],"default":"blue"}`, turn.FormField{Type: "string", Options: colours, Labels: names}},
		{`{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]}`, turn.FormField{Type: "string", Options: colours, Labels: names}},
		{`{"type":"string","oneOf":[{"const":"#f00"},{"const":"#0f0","title":"Green"}]}`, turn.FormField{Type: "string", Options: colours, Labels: []string{"#f00", "Green"}}},
		{`{"type":"array","minItems":0,"items":{"type":"string","enum":["#f00","#0f0"]},"uniqueItems":true,"default":["#f00","#0f0"]}`,
			turn.FormField{Type: "string", Many: true, Options: colours, Default: "#f00\n#0f0"}},
		{`{"type":"array","minItems":1,"maxItems":2,"description":"Which?","items":{"anyOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]}}`,
			turn.FormField{Type: "string", Many: true, Options: colours, Labels: names, Description: "Which? Choose 1 to 2."}},
		{`{"type":"array","items":{"oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]}}`, turn.FormField{Type: "string", Many: true, Options: colours, Labels: names}},
		{`{"type":"array","minItems":1,"items":{"type":"string","enum":["#f00","#0f0"]},"default":["blue"]}`,
			turn.FormField{Type: "string", Many: true, Options: colours, Description: "Choose at least 1."}},
		{`{"type":"array","minItems":0,"maxItems":1,"items":{"type":"string","enum":["#f00","#0f0"]},"default":"#f00"}`,
			turn.FormField{Type: "string", Many: true, Options: colours, Description: "Choose at most 1."}},
		{`{"anyOf":[{"type":"integer","maximum":3},{"type":"null"}],"default":null,"title":"Days"}`, turn.FormField{Type: "integer", Max: num(3), Title: "Days"}},
	}
	m := start(t, map[string]Server{"files": {InProcess: mcpserver.New("x", ledger(t)).InProcess}})
	for _, c := range cases {
		p := newPerson()
		p.answer <- turn.Fill{Action: turn.FillDecline}
		args := `{"params":{"message":"m","requestedSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"it":` + c.schema + `},"additionalProperties":false}}}`
		if got := receive(t, "outcome", runFor(t, m, p, "elicit", args)); got.Text != "decline null" || len(p.asked) != 1 {
			t.Errorf("%s: %+v", c.schema, got)
			continue
		}
		c.want.Name = "it"
		if got := (<-p.asked).Fields; len(got) != 1 || !reflect.DeepEqual(got[0], c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.schema, got, c.want)
		}
	}
}

// Words are cut, and required fields stand first, in the server's order.
func TestTheWordsOfAForm(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	raw, err := json.Marshal(map[string]any{"message": "Line one\nline two " + long, "requestedSchema": map[string]any{
		"required": []string{"z", "b"}, "properties": map[string]any{
			"a": map[string]string{"type": "string", "title": long, "description": "\u202e" + long, "default": long},
			"b": map[string]string{"type": "string"}, "z": map[string]string{"type": "string"}, "c": map[string]string{"type": "string"}}}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := readElicitation(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(w.Message, "Line one\nline two ä") || len([]rune(w.Message)) != maxSay {
		t.Errorf("%d runes: %.40q", len([]rune(w.Message)), w.Message)
	}
	var order string
	for _, f := range w.Fields {
		order += f.Name
		if _, hidden := text.Visible(f.Title + f.Description); hidden > 0 || len([]rune(f.Title)) > maxTitle || len([]rune(f.Description)) > maxHelp || f.Default != "" {
			t.Errorf("%+v", f)
		}
	}
	if order != "zbac" {
		t.Errorf("order %s", order)
	}
}

func FuzzWant(f *testing.F) {
	f.Add([]byte(`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]}}},"required":["a"]}}`))
	f.Add([]byte(`{"mode":"url","url":"https://example.com/%2f?q#f"}`))
	f.Add([]byte(`{"requestedSchema":{"properties":{"n":{"type":"integer","minimum":1e400,"default":{}}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		w, err := readElicitation(raw)
		if err != nil {
			return
		}
		if len(w.Fields) > maxFields || len([]rune(w.Message)) > maxSay {
			t.Fatalf("%+v", w)
		}
		for _, f := range w.Fields {
			if _, hidden := text.Visible(f.Name + f.Title + f.Description + strings.Join(f.Options, "") + strings.Join(f.Labels, "")); hidden > 0 || f.Name == "" {
				t.Fatalf("%+v hides something", f)
			}
			if len(f.Labels) > 0 && len(f.Labels) != len(f.Options) {
				t.Fatalf("%+v", f)
			}
		}
		if w.Kind == turn.ElicitationURL && !strings.HasPrefix(strings.ToLower(w.URL), "http") {
			t.Fatalf("%q", w.URL)
		}
	})
}
