package mcp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// offered lists the tools of one server, by name, and what is said about the others.
func offered(t *testing.T, m *Servers) (names []string, said string) {
	t.Helper()
	specs, faults, err := m.List(within(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specs {
		names = append(names, s.Tool.Name)
	}
	for _, f := range faults {
		said += f.Say
	}
	return names, said
}

// A tool whose arguments are to be sent as headers too, in a way that MCP forbids, must not be offered. Where they are not sent as
// headers, that does no harm.
func TestToolsWithBadHeadersAreNotOffered(t *testing.T) {
	tools := func(list ...string) string {
		out := []string{`{"name":"good","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"object","properties":{"c":{"type":"integer","x-mcp-header":"C"}}}}}}`}
		for i, properties := range list {
			out = append(out, fmt.Sprintf(`{"name":"bad%d","inputSchema":{"type":"object","properties":{%s}}}`, i, properties))
		}
		return strings.Join(out, ",")
	}(`"a":{"type":"string","x-mcp-header":""}`, `"a":{"type":"string","x-mcp-header":"A B"}`, `"a":{"type":"array","x-mcp-header":"A"}`, `"a":{"type":"string","x-mcp-header":7}`,
		`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}`, `"a":{"type":"string","x-mcp-header":"A\r\nB"}`)
	h := mcpserver.New("x", ledger(t)).ServeHTTP(t) // of the newest version, without sessions
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		body := bodyOf(r)
		id, ok := idOf(body, "tools/list")
		if ok {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[7,%s]}}`, id, tools)
		}
		return ok
	})
	names, said := offered(t, start(t, map[string]Server{"wiki": {URL: h.URL}}))
	if len(names) != 1 || names[0] != "good" || !strings.Contains(said, "The tool bad0 of the server wiki is not offered: its x-mcp-header is not valid") {
		t.Errorf("%q; %s", names, said)
	}
	if names, said := offered(t, start(t, map[string]Server{"wiki": rawStdio("marked")})); len(names) != 1 || said != "" {
		t.Errorf("of the newest version, without HTTP: %q; %s", names, said)
	}
	old := mcpserver.Serve(t, &rawServer{tools: `{"tools":[` + tools + `]}`}, "/")
	if names, said := offered(t, start(t, map[string]Server{"wiki": {URL: old.URL}})); len(names) != 7 || said != "" {
		t.Errorf("an older version: %q; %s", names, said)
	}
}

// bodyOf reads a request whose body is still read by whoever answers it.
func bodyOf(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// idOf is the id of a request of that method.
func idOf(body []byte, method string) (string, bool) {
	if !bytes.Contains(body, []byte(`"`+method+`"`)) {
		return "", false
	}
	_, rest, ok := bytes.Cut(body, []byte(`"id":`))
	id, _, _ := bytes.Cut(rest, []byte(","))
	return strings.TrimRight(string(id), "}"), ok
}

// A tool that runs as a task only would be asked about, allowed, and then refused by its server.
func TestToolsThatNeedTasksAreNotOffered(t *testing.T) {
	const tools = `{"tools":[{"name":"no","execution":{"taskSupport":"required"}},{"name":"may","execution":{"taskSupport":"optional"}},{"name":"odd","execution":7}]}`
	h := mcpserver.Serve(t, &rawServer{tools: tools}, "/")
	names, said := offered(t, start(t, map[string]Server{"wiki": {URL: h.URL}}))
	if strings.Join(names, " ") != "may odd" || said != "The tool no of the server wiki is not offered: it can only be called as a task, and nod calls no tool that way." {
		t.Errorf("%q; %s", names, said)
	}
}
