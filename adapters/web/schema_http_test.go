package web

import (
	"net/http"
	"reflect"
	"testing"
)

// What a program reads over HTTP of a call that asked: while it waits the answer "permission required", and
// the block, whose form and words are the documents' in every end.
// R49 R86 R95 R108 R133 R134 R135 R136 R137 C11
func TestPermissionBlockOverHTTP(t *testing.T) {
	block, required := schema(t, blockSchema), schema(t, requiredSchema)
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	for name, x := range map[string]struct {
		end            func(id, ask string)
		status, reason string
		granted        any
	}{
		"pending": {func(string, string) {}, "pending", "", nil},
		"granted": {func(_, ask string) {
			ana.ok(http.StatusOK, "POST", "/api/v1/asks/"+ask, map[string]string{"choice": "allow_once"})
		}, "granted", "", []any{"write"}},
		"denied": {func(_, ask string) {
			ana.ok(http.StatusOK, "POST", "/api/v1/asks/"+ask, map[string]string{"choice": "deny"})
		}, "denied", "denied", nil},
		"expired":   {func(id, _ string) { b.expire(webChat(id)) }, "denied", "expired", nil},
		"cancelled": {func(id, _ string) { ana.ok(http.StatusAccepted, "POST", "/api/v1/chats/"+id+"/stop", nil) }, "denied", "cancelled", nil},
	} {
		t.Run(name, func(t *testing.T) {
			id := ana.chat()
			ana.say(id, "write hello")
			ask := ana.ask(id)
			x.end(id, ask.RequestID)
			messages, _ := ana.ok(http.StatusOK, "GET", "/api/v1/chats/"+id, nil)["messages"].([]any)
			last, _ := messages[len(messages)-1].(map[string]any)
			blocks, _ := last["permissions"].([]any)
			calls, _ := last["tool_calls"].([]any)
			if len(blocks) != 1 || len(calls) != 1 {
				t.Fatalf("%v", last)
			}
			if err := validate(t, block, blocks[0]); err != nil {
				t.Errorf("%v: %v", err, blocks[0])
			}
			is, _ := blocks[0].(map[string]any)
			reason, _ := is["reason"].(string)
			extra, _ := is["extra"].(map[string]any)
			call, _ := is["tool_call"].(map[string]any)
			if is["status"] != x.status || reason != x.reason || extra["needsUserAction"] != (name == "pending") || !reflect.DeepEqual(extra["grantedPermissions"], x.granted) {
				t.Errorf("%v", is)
			}
			if call["id"] != ask.ToolCallID || call["name"] != "write_file" || call["server_name"] != "files" || call["params"] != `{"content":"hello","path":"notes.txt"}` {
				t.Errorf("its call: %v", call)
			}
			result, _ := calls[0].(map[string]any)
			if err := validate(t, required, result["result"]); (err == nil) != (name == "pending") {
				t.Errorf("%v: %v", result["result"], err)
			}
			if asked, _ := result["result"].(map[string]any); name == "pending" && asked["toolCallId"] != ask.ToolCallID {
				t.Errorf("it is about another call: %v", asked)
			}
		})
	}
}
