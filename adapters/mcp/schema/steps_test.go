package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
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
		"a pattern of many bytes":   {`{"properties":{"a":{"pattern":"^` + strings.Repeat("(?:)", 1100) + `b$"}}}`, `{"a":"a"}`, fits},
		"a pattern of many parts":   {`{"properties":{"a":{"pattern":"(abcdefghij){1000}$"}}}`, `{"a":"a"}`, fits},
		"a pattern of fewer":        {`{"properties":{"a":{"pattern":"(abcdefghij){700}$"}}}`, `{"a":"a"}`, wrong},
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
			sc, err := NewQuota(nil).Compile(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the steps of one check are not the next one's
				got := fits
				switch err := sc.Check(json.RawMessage(c.args)); {
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

// TestPatternsOfAServer: those that are more than all of its tools may have match everything.
func TestPatternsOfAServer(t *testing.T) {
	q := NewQuota(nil)
	for tool, checked := range []int{30, 24, 0} { // of some 9,200 each, and 500,000
		sc, err := q.Compile(json.RawMessage(`{"properties":{` + numbered(30, `"a#":{"pattern":"(abcdefghij){700}#$"}`) + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range 30 {
			if sc.Check(json.RawMessage(fmt.Sprintf(`{"a%d":"x"}`, i))) != nil {
				n++
			}
		}
		if n != checked {
			t.Errorf("tool %d: %d patterns are checked, want %d", tool, n, checked)
		}
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
