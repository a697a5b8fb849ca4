package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/tests/mcpserver"
)

// doubling is n schemas of which each applies the next twice.
func doubling(n int, keyword, leaf string) string {
	var b strings.Builder
	b.WriteString(`{"allOf":[{"$ref":"#/$defs/a0"}],"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{%q:[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"a%d":%s}}`, n, leaf)
	return b.String()
}

// filters is a recursive union as honest tools have it: two shapes of an object, each with the same one inside.
const filters = `{"type":"object","properties":{"filter":{"$ref":"#/$defs/f"}},"$defs":{"f":{"anyOf":[
	{"type":"object","properties":{"and":{"$ref":"#/$defs/f"},"not":{"$ref":"#/$defs/f"}},"required":["and"]},
	{"type":"object","properties":{"and":{"$ref":"#/$defs/f"},"or":{"$ref":"#/$defs/f"}},"required":["and"]},
	{"type":"string"}]}}}`

func nested(n int, leaf string) string {
	return `{"filter":` + strings.Repeat(`{"and":`, n) + leaf + strings.Repeat("}", n) + "}"
}

// numbered is n members, each with its number in place of #.
func numbered(n int, member string) string {
	var list []string
	for i := range n {
		list = append(list, strings.ReplaceAll(member, "#", fmt.Sprint(i)))
	}
	return strings.Join(list, ",")
}

// Every check of arguments ends: with an answer, or by saying that there is none.
func TestAChecksStepsAreBounded(t *testing.T) {
	const fits, wrong, unchecked = "fits", "wrong", "unchecked"
	enum := `"enum":["` + strings.ReplaceAll(numbered(20000, "e#"), ",", `","`) + `"]`
	for name, c := range map[string]struct{ schema, args, want string }{
		"allOf doubling":            {doubling(40, "allOf", `{}`), `{}`, unchecked},
		"with a failing leaf":       {doubling(24, "anyOf", `{"required":["x"]}`), `{}`, unchecked},
		"oneOf":                     {doubling(40, "oneOf", `{"required":["x"]}`), `{}`, unchecked},
		"under not":                 {strings.Replace(doubling(40, "oneOf", `{"required":["x"]}`), `"allOf"`, `"else":{},"if":{"not":{"$ref":"#/$defs/a0"}},"allOf"`, 1), `{}`, unchecked},
		"in an older draft":         {`{"$schema":"http://json-schema.org/draft-07/schema#",` + doubling(40, "allOf", `{"required":["x"]}`)[1:], `{}`, unchecked},
		"in dependencies":           {`{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[{"$ref":"#/definitions/a0"}],"definitions":{` + numbered(30, `"a#":{"dependencies":{"p":{"$ref":"\u0023/definitions/b#"},"q":{"$ref":"\u0023/definitions/b#"}}},"b#":{"$ref":"\u0023/definitions/c#"}`) + `,` + links(30) + `}}`, `{"p":1,"q":1}`, unchecked},
		"in arguments":              {`{"additionalProperties":{"$ref":"#/$defs/a"},"$defs":{"a":{"anyOf":[{"additionalProperties":{"$ref":"#/$defs/a"},"minProperties":1},{"additionalProperties":{"$ref":"#/$defs/a"},"minProperties":1}],"type":"object"}}}`, nested(60, "1"), unchecked},
		"a filter, deep":            {filters, nested(60, "1"), unchecked},
		"a filter, deep and right":  {filters, nested(60, `"x"`), fits},
		"a filter, as people write": {filters, nested(8, "1"), wrong},
		"many patterns, many names": {`{"patternProperties":{` + numbered(1000, `"^p#":{}`) + `}}`, `{` + numbered(5000, `"x#":1`) + `}`, unchecked},
		"a long pattern":            {`{"properties":{"a":{"pattern":"` + strings.Repeat("(a|b)?", 3000) + `$"}}}`, `{"a":"` + strings.Repeat("a", 500_000) + `"}`, fits},
		"a heavy pattern":           {`{"properties":{"a":{"pattern":"(a|b|[cd]e){500}$"}}}`, `{"a":"` + strings.Repeat("a", 500_000) + `"}`, unchecked},
		"a pattern as people write": {`{"properties":{"a":{"pattern":"^[a-z0-9-]+$"}}}`, `{"a":"` + strings.Repeat("a", 60_000) + `!"}`, wrong},
		"a format":                  {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"date"},"b":{"format":"regex"}}}`, `{"a":"tomorrow"}`, wrong},
		"a pattern as an argument":  {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"b":{"format":"regex"}}}`, `{"b":"((a{1000}){1000}){1000}"}`, fits},
		"an enum in a list":         {`{"properties":{"a":{"items":{` + enum + `}}}}`, `{"a":["` + strings.Repeat(`x","`, 30_000) + `x"]}`, unchecked},
		"an enum":                   {`{"properties":{"a":{` + enum + `}}}`, `{"a":"e20000"}`, wrong},
		"many required":             {`{"properties":{"a":{"items":{"required":["` + strings.ReplaceAll(numbered(10000, "e#"), ",", `","`) + `"]}}}}`, `{"a":[` + strings.Repeat(`{},`, 10_000) + `{}]}`, unchecked},
		"unique lists in a list":    {doubling(20, "allOf", `{"properties":{"a":{"uniqueItems":true}}}`), `{"a":[` + numbered(5000, `[#]`) + `]}`, unchecked},
		"unique items":              {`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + numbered(3000, `#`) + `,7]}`, wrong},
		"a list of rows":            {`{"properties":{"a":{"items":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},"s":{"type":"string","maxLength":9}}}}}}`, `{"a":[` + numbered(2000, `{"n":#,"s":"x"}`) + `,{"n":"x"}]}`, wrong},
		"a default":                 {`{"required":["a","b"],"properties":{"a":{"default":1},"b":{"type":"string"}}}`, `{"b":"x"}`, fits},
		"no default":                {`{"required":["a","b"],"properties":{"a":{"default":1},"b":{"type":"string"}}}`, `{"a":2}`, wrong},
		"a circle":                  {`{"properties":{"a":{"allOf":[{"$ref":"#/$defs/a0"}]}},"$defs":{` + numbered(1000, `"a#":{"$ref":"\u0023/$defs/b#"}`) + `,` + chain(1000) + `}}`, `{"a":1}`, unchecked},
		"recursion is no circle":    {`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"properties":{"x":{"$ref":"#/$defs/a"},"l":{"prefixItems":[{"$ref":"#/$defs/a"}]}},"required":["y"]}}}`, `{"y":1,"l":[{"y":1}],"x":{"y":1,"x":{}}}`, wrong},
		"an older anchor":           {`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"}}}`, `{}`, unchecked},
		"a dynamic anchor":          {`{"$dynamicRef":"#x","$defs":{"a":{"$dynamicAnchor":"x"}}}`, `{}`, unchecked},
		"the meta-schema":           {`{"properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, `{"a":{"type":"strnig"}}`, wrong},
	} {
		t.Run(name, func(t *testing.T) {
			sc, err := newQuota(nil).compile(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the steps of one check are not the next one's
				got := fits
				switch err := sc.check(json.RawMessage(c.args)); {
				case errors.Is(err, agent.ErrUnchecked):
					got = unchecked
				case err != nil:
					got = wrong
				}
				if got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			}
		})
	}
}

// chain lets each b lead to the next a, and the last to the first, many times.
func chain(n int) string {
	var list []string
	for i := range n - 1 {
		list = append(list, fmt.Sprintf(`"b%d":{"$ref":"#/$defs/a%d"}`, i, i+1))
	}
	return strings.Join(list, ",") + fmt.Sprintf(`,"b%d":{"anyOf":[%s]}`, n-1, numbered(1000, `{"$ref":"\u0023/$defs/a0"}`))
}

// links lets each b lead to the next a, by way of c.
func links(n int) string {
	var list []string
	for i := range n {
		to := fmt.Sprintf(`{"$ref":"#/definitions/a%d"}`, i+1)
		if i == n-1 {
			to = `{"required":["x"]}`
		}
		list = append(list, fmt.Sprintf(`"c%d":%s`, i, to))
	}
	return strings.Join(list, ",")
}

// A definition that would take long to read, or much memory to keep, costs its own tool, and nothing else.
func TestADefinitionsCostIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 9000) + `{}` + strings.Repeat(`}`, 9000)
	patterns := `{"properties":{` + numbered(1000, `"p#":{"pattern":"[\\p{L}\\p{N}\\p{P}\\p{S}]{1000}#"}`) + `}}`
	def := func(name, schema, more string) string {
		return fmt.Sprintf(`{"name":%q,"inputSchema":%s%s}`, name, schema, more)
	}
	good := def("good", `{"type":"object","properties":{"n":{"type":"integer"}}}`, "")
	for name, c := range map[string]struct {
		tools   string
		offered int    // with the one that is good
		why     string // of those that are not
	}{
		"9,000 levels":               {def("bad", deep, ""), 1, "The tool bad of the server wiki is not offered: its input schema is not valid JSON Schema: it nests more than 64 levels deep."},
		"10,000 parts":               {def("bad", `{"properties":{`+numbered(10_000, `"#":{}`)+`}}`, ""), 1, "it has more than 5,000 parts"},
		"10 tools, 1,000 patterns":   {strings.TrimSuffix(strings.Repeat(`@,`, 10), ","), 11, ""},
		"a large output schema":      {def("bad", `{}`, `,"outputSchema":{"x":"`+strings.Repeat("x", 600_000)+`"}`), 1, "its definition has 600,0"},
		"large annotations":          {`{"annotations":{"x":"` + strings.Repeat("x", 600_000) + `"},"name":"b\u0061d"}`, 1, "The tool bad of the server wiki is not offered: its definition has"},
		"long names":                 {numbered(50, def("t#", `{"title":"#","properties":{"`+strings.Repeat("x", 100_000)+`":{"properties":{`+numbered(1000, `"p#":{}`)+`}}}}`, "")), 1, "it would take too long to read"},
		"1,000 schemas of 200 parts": {numbered(900, def("t#", `{"title":"#","properties":{`+strings.Repeat(`"a":{"items":{"items":{"items":{"items":{}}}}},`, 45)+`"b":{}}}`, "")), 901, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tools := c.tools
			for i := range 30 {
				tools = strings.Replace(tools, "@", def(fmt.Sprintf("p%d", i), patterns, ""), 1)
			}
			raw := mcpserver.Serve(t, &rawServer{tools: `{"tools":[` + tools + `,` + good + `]}`}, "/")
			other := mcpserver.New("x", ledger(t))
			m := start(t, map[string]Server{"wiki": {URL: raw.URL}, "files": {InProcess: other.InProcess}})
			specs, faults, err := m.List(within(t))
			if err != nil {
				t.Fatal(err)
			}
			n, said := 0, ""
			for _, s := range specs {
				if s.Tool.Server == "wiki" {
					n++
				}
			}
			for _, f := range faults {
				said += f.Say
			}
			if n != c.offered || !strings.Contains(said, c.why) || (said == "") != (c.why == "") {
				t.Errorf("%d tools of %d; %.300s", n, c.offered, said)
			}
			if err := m.Check(within(t), spec(t, m, "wiki", "good").Tool, json.RawMessage(`{"n":"x"}`)); err == nil || errors.Is(err, agent.ErrUnchecked) {
				t.Errorf("the good one is not checked: %v", err)
			}
			if r := must(t, m, "files", "echo", `{"text":"x"}`); r.IsError {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A list without end costs its own server, before much of it is kept.
func TestAListsSizeIsBounded(t *testing.T) {
	page := numbered(20, fmt.Sprintf(`{"name":"t#","inputSchema":{},"outputSchema":{"x":%q}}`, strings.Repeat("x", 300_000)))
	pages := 0 // only one request at a time
	raw := mcpserver.Serve(t, &rawServer{wrap: func(w http.ResponseWriter, r rawRequest) bool {
		if r.Method != "tools/list" {
			return false
		}
		pages++
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s],"nextCursor":"%d"}}`, r.ID, page, pages)
		return true
	}}, "/")
	p := quick
	p.backoffMin, p.backoffMax = time.Hour, time.Hour // one attempt
	m := startWith(t, p, nil, map[string]Server{"wiki": {URL: raw.URL}})
	specs, faults, err := m.List(within(t))
	if err != nil || len(specs) != 0 || len(faults) != 1 || !strings.Contains(faults[0].Say, "its tools have more than 16,777,216 bytes of definitions") || pages != 3 {
		t.Errorf("%d pages, %d tools, %v, %v", pages, len(specs), faults, err)
	}
}
