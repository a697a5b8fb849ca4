package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/adapters/mcp/schema"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// tool is one tool as its server defined it.
type tool struct {
	spec   agent.ToolSpec
	schema *schema.Schema
}

// bind ties a definition to where the operator said its server is: the same words from another program or address are another tool, so a
// grant ends when an entry's command or url changes.
func (s Server) bind(d permission.Digest) permission.Digest {
	where, _ := json.Marshal([]any{d, s.Command, s.Dir, s.URL}) // strings always marshal
	sum := sha256.Sum256(where)
	return permission.Digest(hex.EncodeToString(sum[:]))
}

// badTool is a tool that cannot be offered.
type badTool struct{ name, why string }

// nameIn is the name in a definition, for people.
func nameIn(raw json.RawMessage) string {
	var m struct {
		Name json.RawMessage `json:"name"`
	}
	_ = json.Unmarshal(raw, &m) // no name is "?"
	return cmp.Or(oneline.Brief(stringOf(m.Name), 60), "?")
}

// readTool reads one member of tools/list: names exactly, and nonsense in optional fields as their absence, which is the careful reading.
func readTool(server string, cfg Server, raw json.RawMessage, q *schema.Quota) (*tool, *badTool) {
	var m object
	_ = json.Unmarshal(raw, &m) // what is no object has no name
	name := stringOf(m["name"])
	bad := func(format string, a ...any) (*tool, *badTool) {
		return nil, &badTool{oneline.Brief(name, 60), fmt.Sprintf(format, a...)}
	}
	switch {
	case name == "":
		return nil, &badTool{"?", "it has no name"}
	case len(name) > maxToolName:
		return bad("its name has %s bytes", text.Number(len(name)))
	case oneline.Printable(name) != name:
		return bad("its name holds characters that cannot be seen")
	}
	var execution object
	if json.Unmarshal(m["execution"], &execution) == nil && stringOf(execution["taskSupport"]) == string(mcp.TaskSupportRequired) {
		return bad("it can only be called as a task, and nod calls no tool that way")
	}
	input := m["inputSchema"]
	if absent(input) {
		input = json.RawMessage(`{"type":"object"}`)
	}
	checked, err := q.Compile(input)
	if err != nil {
		return bad("its input schema is not valid JSON Schema: %v", err)
	}
	title, description := stringOf(m["title"]), stringOf(m["description"])
	hints, hinted := readHints(m["annotations"])
	// The digest is over what the server said, before anything is cut or filled in.
	digest := cfg.bind(permission.DefinitionDigest(name, title, description, m["inputSchema"], m["outputSchema"], m["annotations"]))
	title = cmp.Or(title, hinted)
	return &tool{schema: checked, spec: agent.ToolSpec{
		Tool:        permission.Tool{Server: server, Name: name, Definition: digest},
		Title:       oneline.Brief(title, 100),
		Description: cut(description, maxDescription),
		InputSchema: input,
		Source:      cfg.Source,
		Hints:       hints,
		Metadata:    cfg.Metadata[name],
		Preview:     cfg.Preview[name],
		Definition: permission.Definition{
			Title: title, Description: description, Input: m["inputSchema"], Output: m["outputSchema"], Annotations: m["annotations"],
		},
	}}, nil
}

// badHeaders is a tool whose arguments are to be sent as HTTP headers too, in a way that MCP forbids: it must not be offered.
func badHeaders(t *tool) *badTool {
	name := t.spec.Tool.Name
	as := mcp.NewToolWithRawSchema(name, "", t.spec.InputSchema)
	if err := mcp.ValidateParamHeaderAnnotations(&as); err != nil {
		return &badTool{oneline.Brief(name, 60), "its x-mcp-header is not valid: " + oneline.Brief(err.Error(), 200)}
	}
	return nil
}

// readHints reads annotations hint by hint; the title among them is for people.
func readHints(raw json.RawMessage) (h permission.Hints, title string) {
	var m object
	if json.Unmarshal(raw, &m) != nil {
		return h, ""
	}
	hint := func(name string) *bool {
		var b *bool
		if json.Unmarshal(m[name], &b) != nil {
			return nil
		}
		return b
	}
	return permission.Hints{
		ReadOnly: hint("readOnlyHint"), Destructive: hint("destructiveHint"),
		Idempotent: hint("idempotentHint"), OpenWorld: hint("openWorldHint"),
	}, stringOf(m["title"])
}

// readPage reads one page of tools/list.
func readPage(raw json.RawMessage) (tools []json.RawMessage, next string, err error) {
	var m object
	_ = json.Unmarshal(raw, &m) // what is no object has no list
	if err := json.Unmarshal(m["tools"], &tools); err != nil {
		return nil, "", errors.New("its list of tools is not a list")
	}
	return tools, stringOf(m["nextCursor"]), nil
}

// complaint is the sentence about tools that are not offered, or "".
func complaint(server string, bad []badTool) string {
	const most = 3
	var say []string
	for _, b := range bad[:min(len(bad), most)] {
		say = append(say, fmt.Sprintf("The tool %s of the server %s is not offered: %s.", b.name, server, strings.TrimSuffix(b.why, ".")))
	}
	if len(bad) > most {
		say = append(say, fmt.Sprintf("%d more tools of %s are not offered either.", len(bad)-most, server))
	}
	return strings.Join(say, " ")
}

// stringOf is a JSON string's value, or "" for anything else.
func stringOf(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func absent(raw json.RawMessage) bool {
	return len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null"
}

// cut shortens s to at most n bytes at a character's end.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return text.HeadBytes(s, n) + "…"
}
