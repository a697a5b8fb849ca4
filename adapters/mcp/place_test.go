package mcp

import (
	"encoding/json"
	"testing"

	"github.com/nodhq/nod/adapters/mcp/schema"
	"github.com/nodhq/nod/core/permission"
)

// A grant ends when the operator points a server's name at another program: the definition's digest says where it is from.
func TestDefinitionNamesItsPlace(t *testing.T) {
	raw := json.RawMessage(`{"name":"write","inputSchema":{"type":"object"}}`)
	of := func(s Server) permission.Digest {
		tl, bad := readTool("files", s, raw, schema.NewQuota(nil))
		if bad != nil {
			t.Fatal(bad.why)
		}
		return tl.spec.Tool.Definition
	}
	a := of(Server{Command: []string{"files", "/srv/a"}})
	for name, s := range map[string]Server{
		"another argument": {Command: []string{"files", "/srv/b"}}, "another split": {Command: []string{"files /srv/a"}},
		"another address": {URL: "http://127.0.0.1:1/mcp"}, "another directory": {Command: []string{"files", "/srv/a"}, Dir: "/srv"},
	} {
		if of(s) == a {
			t.Errorf("%s: the same digest", name)
		}
	}
	if of(Server{Command: []string{"files", "/srv/a"}, Timeout: 1, Env: map[string]string{"TOKEN": "new"}}) != a {
		t.Error("a new timeout or secret changed the digest")
	}
}
