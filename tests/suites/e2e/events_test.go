package e2e

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestStreamResumes(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	s := r.events("")
	r.say("write hello to notes.txt")
	ask := decode[pendingForm](t, s.named("approval_required").Data)
	place := s.lastID()
	if place == "" {
		t.Fatal("the stream told no place")
	}
	s.close()
	r.mustClick(ask.RequestID, "allow_once")
	r.idle()
	s = r.events(place)
	first := s.next("an event", func(sse) bool { return true })
	if m := decode[messageForm](t, first.Data); first.Name != "message" || m.State != "done" {
		t.Errorf("a resumed stream begins with %s, %s", first.Name, m.State)
	}
	granted := decode[map[string]any](t, s.named("permission_granted").Data)
	if granted["request_id"] != ask.RequestID || granted["scope"] != "once" || granted["name"] != "Ana" {
		t.Errorf("%v", granted)
	}
	s.named("turn_done")
	if slices.Contains(s.names(), "approval_required") {
		t.Error("what came before the place was told again")
	}
	// One that comes fresh hears what already waits.
	r.ask("write again to notes.txt")
	fresh := r.events("")
	fresh.named("approval_required")
	// Live text has no place, so a reader that loses it comes back to where the log is.
	r.call("POST", r.path("/stop"), nil, nil)
	r.idle()
	r.say("help")
	live := fresh.next("live text", func(e sse) bool { return e.Name == "message" && decode[messageForm](t, e.Data).Live })
	if live.ID != "" {
		t.Errorf("a live frame has the place %s", live.ID)
	}
}

// Programs read these names.
// R48 R59 R127 R128 R130
func TestApprovalRequiredFields(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	s := r.events("")
	r.say("write hello to notes.txt")
	raw := s.named("approval_required").Data
	fields := decode[map[string]json.RawMessage](t, raw)
	var names []string
	for k := range fields {
		names = append(names, k)
	}
	slices.Sort(names)
	want := []string{"access", "arguments", "expires_at", "message", "permission", "request_id", "risk", "scopes", "server_name", "tool_call_id", "tool_name", "type"}
	if !slices.Equal(names, want) {
		t.Errorf("fields %v, want %v", names, want)
	}
	for k, v := range map[string]string{"type": `"approval_required"`, "tool_name": `"write_file"`, "server_name": `"workbench"`, "permission": `"RequireConfirmation"`,
		"access": `"write"`, "risk": `"moderate"`, "arguments": `{"path":"notes.txt","content":"hello"}`} {
		if string(fields[k]) != v {
			t.Errorf("%s is %s, want %s", k, fields[k], v)
		}
	}
	if string(fields["message"]) == `""` {
		t.Error("the message is empty")
	}
}
