package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/mcpserver"
)

func TestWhatCannotBeShownIsCancelledUnseen(t *testing.T) {
	log := &logged{}
	m := startWith(t, quick, log, map[string]Server{"files": {InProcess: mcpserver.New("x", ledger(t)).InProcess}})
	field := func(schema string) string {
		return `{"params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":` + schema + `}}}}`
	}
	address := func(u string) string {
		b, _ := json.Marshal(map[string]any{"params": map[string]string{"mode": "url", "message": "m", "elicitationId": "e", "url": u}})
		return string(b)
	}
	many := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ",")
	}
	for name, args := range map[string]string{
		"nested":               field(`{"type":"object","properties":{"b":{"type":"string"}}}`),
		"list of objects":      field(`{"type":"array","items":{"type":"object"}}`),
		"list of texts":        field(`{"type":"array","items":{"type":"string"}}`),
		"list with a pattern":  field(`{"type":"array","items":{"type":"string","enum":["a"],"pattern":"b"}}`),
		"list of numbers":      field(`{"type":"array","items":{"type":"integer","enum":["1"]}}`),
		"two lists in a list":  field(`{"type":"array","items":{"anyOf":[{"const":"a"}],"oneOf":[{"const":"b"}]}}`),
		"list of anything":     field(`{"type":"array"}`),
		"no type":              field(`{}`),
		"null":                 field(`null`),
		"two types":            field(`{"type":["string","null"]}`),
		"unknown type":         field(`{"type":"file"}`),
		"reference":            field(`{"$ref":"file:///etc/passwd"}`),
		"alternatives":         field(`{"type":"string","anyOf":[{"const":"a"},{"type":"integer"}]}`),
		"one of one":           field(`{"anyOf":[{"type":"string"}]}`),
		"one of two":           field(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`),
		"one of two, or none":  field(`{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`),
		"not null":             field(`{"anyOf":[{"type":"string"},{"type":"null","const":7}]}`),
		"null or nothing":      field(`{"anyOf":[null,{"type":"null"}]}`),
		"named twice":          field(`{"anyOf":[{"type":"string","title":"a"},{"type":"null"}],"title":"b"}`),
		"constant":             field(`{"type":"string","const":"yes"}`),
		"secret format":        field(`{"type":"string","format":"password"}`),
		"format no text":       field(`{"type":"string","format":7}`),
		"bound no number":      field(`{"type":"number","minimum":"1"}`),
		"crossed bounds":       field(`{"type":"integer","minimum":3,"maximum":2}`),
		"crossed lengths":      field(`{"type":"string","minLength":3,"maxLength":2}`),
		"crossed items":        field(`{"type":"array","minItems":3,"maxItems":2,"items":{"type":"string","enum":["a"]}}`),
		"no options":           field(`{"type":"string","enum":[]}`),
		"numbers to choose":    field(`{"type":"string","enum":[1,2]}`),
		"option twice":         field(`{"type":"string","enum":["a","a"]}`),
		"empty option":         field(`{"type":"string","enum":["a",""]}`),
		"option of two lines":  field(`{"type":"string","enum":["a\nb"]}`),
		"hidden in an option":  field(`{"type":"string","enum":["a\u200bb"]}`),
		"names missing":        field(`{"type":"string","enum":["a","b"],"enumNames":["A"]}`),
		"names alike":          field(`{"type":"string","enum":["keep","drop"],"enumNames":["Keep it","Keep it"]}`),
		"names for nothing":    field(`{"type":"string","enumNames":["A"]}`),
		"both lists":           field(`{"type":"string","enum":["a"],"oneOf":[{"const":"b","title":"B"}]}`),
		"choice with a schema": field(`{"type":"string","oneOf":[{"const":"a","type":"string"}]}`),
		"101 options":          field(`{"type":"string","enum":[` + many(101, `"o%d"`) + `]}`),
		"21 fields":            `{"params":{"message":"m","requestedSchema":{"type":"object","properties":{` + many(21, `"f%d":{"type":"string"}`) + `}}}}`,
		"hidden in a name":     `{"params":{"message":"m","requestedSchema":{"type":"object","properties":{"a\u202eb":{"type":"string"}}}}}`,
		"nameless":             `{"params":{"message":"m","requestedSchema":{"type":"object","properties":{"":{"type":"string"}}}}}`,
		"long name":            `{"params":{"message":"m","requestedSchema":{"type":"object","properties":{"` + strings.Repeat("n", 101) + `":{"type":"string"}}}}}`,
		"requires another":     `{"params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}}}`,
		"requires no list":     `{"params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":"a"}}}`,
		"not an object":        `{"params":{"message":"m","requestedSchema":{"type":"array"}}}`,
		"conditions":           `{"params":{"message":"m","requestedSchema":{"type":"object","properties":{},"if":{},"then":{}}}}`,
		"properties listed":    `{"params":{"message":"m","requestedSchema":{"type":"object","properties":[]}}}`,
		"true":                 `{"params":{"message":"m","requestedSchema":true}}`,
		"no schema":            `{"params":{"message":"m"}}`,
		"unknown mode":         `{"params":{"mode":"voice","message":"m"}}`,
		"javascript":           address("javascript:alert(1)"),
		"data":                 address("data:text/html,x"),
		"file":                 address("file:///etc/passwd"),
		"no host":              address("https:///path"),
		"opaque":               address("https:evil.example"),
		"relative":             address("//evil.example/x"),
		"user":                 address("https://good.example@evil.example/"),
		"password":             address("https://u:p@evil.example/"),
		"backslash":            address(`https://good.example\@evil.example/`),
		"backslash later":      address(`https://good.example/\evil.example`),
		"hidden":               address("https://good\u200b.example/"),
		"right to left":        address("https://good.example/\u202egnp.exe"),
		"line":                 address("https://good.example/\nx"),
		"space":                address("https://good.example/ x"),
		"disguised host":       address("https://%D0%B0pple.com/"),
		"bad port":             address("https://good.example:evil/"),
		"too long":             address("https://good.example/" + strings.Repeat("a", maxAddress)),
		"empty address":        address(""),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson()
			p.answer <- accept(`{"a":"yes"}`)
			if got := receive(t, "outcome", runFor(t, m, p, "elicit", args)); got.err != nil || got.Text != "cancel null" {
				t.Errorf("%+v", got)
			}
			if len(p.asked) > 0 {
				t.Errorf("asked %+v", <-p.asked)
			}
		})
	}
	if !strings.Contains(log.String(), "what the server asks for was cancelled") {
		t.Error("nothing is logged")
	}
}

// A server that echoes our own secret where it is quoted does not get it into the log.
func TestARefusedQuestionTellsNoSecret(t *testing.T) {
	log := &logged{}
	s := mcpserver.New("x", ledger(t))
	m := startWith(t, quick, log, map[string]Server{"files": {URL: s.ServeHTTP(t).URL, Headers: map[string]string{"X-Api-Key": "sekret-key"}}})
	p := newPerson()
	args := `{"params":{"message":"m","requestedSchema":{"type":"object","properties":{"sekret-key":{"type":"file"}}}}}`
	if got := receive(t, "outcome", runFor(t, m, p, "elicit", args)); got.Text != "cancel null" {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(log.String(), "[secret]") || strings.Contains(log.String(), "sekret-key") {
		t.Error(log)
	}
}
