package web

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
)

// The shapes that other programs were promised: no field more, none less, and what may stand in each.
const (
	blockSchema = `{
	"type": "object", "additionalProperties": false,
	"required": ["type", "content", "status", "timestamp", "tool_call", "extra", "request_id"],
	"properties": {
		"type": {"const": "tool_call_permission"},
		"content": {"type": "string", "minLength": 1},
		"status": {"enum": ["pending", "granted", "denied"]},
		"timestamp": {"type": "number", "minimum": 1},
		"request_id": {"type": "string", "minLength": 1},
		"reason": {"type": "string", "minLength": 1},
		"tool_call": {
			"type": "object", "additionalProperties": false,
			"required": ["id", "name", "params", "server_name", "server_icons", "server_description"],
			"properties": {
				"id": {"type": "string", "minLength": 1}, "name": {"type": "string", "minLength": 1}, "params": {"type": "string", "contentMediaType": "application/json", "minLength": 2},
				"server_name": {"type": "string", "minLength": 1}, "server_icons": {"type": "string"}, "server_description": {"type": "string"}
			}
		},
		"extra": {
			"type": "object", "additionalProperties": false,
			"required": ["permissionType", "serverName", "toolName", "needsUserAction"],
			"properties": {
				"permissionType": {"enum": ["read", "write", "all"]}, "serverName": {"type": "string", "minLength": 1}, "toolName": {"type": "string", "minLength": 1},
				"needsUserAction": {"type": "boolean"}, "grantedPermissions": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"enum": ["read", "write", "all"]}}
			}
		}
	},
	"if": {"properties": {"status": {"const": "denied"}}}, "then": {"required": ["reason"]}, "else": {"not": {"required": ["reason"]}},
	"allOf": [
		{"if": {"properties": {"status": {"const": "granted"}}}, "then": {"properties": {"extra": {"required": ["grantedPermissions"]}}}, "else": {"properties": {"extra": {"not": {"required": ["grantedPermissions"]}}}}},
		{"if": {"properties": {"status": {"enum": ["granted", "denied"]}}}, "then": {"properties": {"extra": {"properties": {"needsUserAction": {"const": false}}}}}}
	]}`

	requiredSchema = `{
	"type": "object", "additionalProperties": false,
	"required": ["toolCallId", "content", "isError", "requiresPermission", "permissionRequest"],
	"properties": {
		"toolCallId": {"type": "string", "minLength": 1}, "content": {"type": "string", "minLength": 1}, "isError": {"const": false}, "requiresPermission": {"const": true},
		"permissionRequest": {
			"type": "object", "additionalProperties": false,
			"required": ["toolName", "serverName", "permissionType", "description"],
			"properties": {
				"toolName": {"type": "string", "minLength": 1}, "serverName": {"type": "string", "minLength": 1},
				"permissionType": {"enum": ["read", "write", "all"]}, "description": {"type": "string", "minLength": 1}
			}
		}
	}}`
)

func schema(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///schema", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, v any) error {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// The permission block, and the answer "permission required", of a call in every status and with every access, with
// and without what is optional.
// R49 R95 R108 R133 R134 R135 R136 R137
func TestPermissionBlockSchema(t *testing.T) {
	block, required := schema(t, blockSchema), schema(t, requiredSchema)
	statuses := []turn.Status{turn.Proposed, turn.Awaiting, turn.Allowed, turn.Running, turn.Done, turn.Failed, turn.Unknown, turn.Denied, turn.Lapsed, turn.Cancelled, "something new"}
	for _, status := range statuses {
		for access, want := range map[permission.Access]string{permission.Unclassified: "write", permission.Read: "read", permission.Write: "write", permission.All: "all", 9: "write"} {
			for _, message := range []string{"", "Write it?"} {
				c := turn.ToolCall{ID: "c1", Asking: turn.Asking{Asked: true, Ask: "a1", AskedAt: time.UnixMilli(1773496924000), Ruling: permission.Ruling{Access: access, Message: message}}, Status: status, Tool: permission.Tool{Server: "files", Name: "write_file"}}
				_, blocks := drawCalls(&turn.Turn{Calls: []turn.ToolCall{c}})
				if len(blocks) != 1 {
					t.Fatalf("%s: a call that asked has no block", status)
				}
				p := blocks[0]
				if err := validate(t, block, p); err != nil {
					t.Errorf("%s, %v: %v", status, access, err)
				}
				if p.Extra.PermissionType != want || p.Timestamp != 1773496924000 || p.Extra.NeedsUserAction != (status == turn.Awaiting) {
					t.Errorf("%s, %v: %+v", status, access, p)
				}
				if status == turn.Awaiting {
					if err := validate(t, required, drawCall(c).Result); err != nil {
						t.Errorf("%v: %v", access, err)
					}
				}
			}
		}
	}
	// The test of the test: each of these is none.
	good := drawPermission(turn.ToolCall{ID: "c1", Asking: turn.Asking{Asked: true, Ask: "a1", AskedAt: epoch}, Status: turn.Done, Tool: permission.Tool{Server: "files", Name: "write_file"}})
	for name, change := range map[string]func(*permissionForm){
		"type":          func(p *permissionForm) { p.Type = "permission" },
		"content":       func(p *permissionForm) { p.Content = "" },
		"status":        func(p *permissionForm) { p.Status = "expired" },
		"a reason":      func(p *permissionForm) { p.Reason = "denied" },
		"no reason":     func(p *permissionForm) { p.Status, p.Extra.GrantedPermissions = "denied", nil },
		"nothing given": func(p *permissionForm) { p.Extra.GrantedPermissions = nil },
		"one given":     func(p *permissionForm) { p.Extra.GrantedPermissions = []string{""} },
		"given":         func(p *permissionForm) { p.Status, p.Reason = "denied", "denied" },
		"still needed":  func(p *permissionForm) { p.Extra.NeedsUserAction = true },
		"the access":    func(p *permissionForm) { p.Extra.PermissionType = "execute" },
	} {
		p := good
		change(&p)
		if validate(t, block, p) == nil {
			t.Errorf("%s is not looked at", name)
		}
	}
}
