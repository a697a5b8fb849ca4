package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

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
	p.reconnect = backoff.Exponential{First: time.Hour} // one attempt
	p.await = 4 * patience                              // so much JSON takes a raced program on a busy machine long
	m := startWith(t, p, nil, map[string]Server{"wiki": {URL: raw.URL}})
	ctx, stop := context.WithTimeout(t.Context(), p.await)
	defer stop()
	specs, faults, err := m.List(ctx)
	if err != nil || len(specs) != 0 || len(faults) != 1 || !strings.Contains(faults[0].Say, "its tools have more than 16,777,216 bytes of definitions") || pages != 3 {
		t.Errorf("%d pages, %d tools, %v, %v", pages, len(specs), faults, err)
	}
}

// numbered is n members, each with its number in place of #.
func numbered(n int, member string) string {
	var list []string
	for i := range n {
		list = append(list, strings.ReplaceAll(member, "#", fmt.Sprint(i)))
	}
	return strings.Join(list, ",")
}
