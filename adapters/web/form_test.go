package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a value's indented JSON with testdata/name.
func golden(t *testing.T, name string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, '\n')
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, want) {
		t.Errorf("%s differs: these names are read by other programs.\ngot:\n%s", file, b)
	}
}

// asked is a chat with one open ask, always the same.
func asked(t *testing.T) view {
	t.Helper()
	b := newBot()
	id := webChat("c-golden")
	b.append(id, turn.Said{Delivery: "d1", By: session.AdminUser(""), Name: "Ana", Text: "write hello to notes.txt"})
	b.drive(id)
	v, err := newSessionCache(b).get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// R13 R127
func TestGoldenApprovalRequired(t *testing.T) {
	golden(t, "approval_required.json", pending(asked(t))[0])
}

// R49 R81 R133 R135 R136
func TestGoldenPermissionBlock(t *testing.T) {
	m := asked(t).messages[1].form
	golden(t, "permission_block.json", m.Permissions[0])
	golden(t, "tool_call_waiting.json", m.ToolCalls[0])
}

// R65 R95 R108 R134 R137 C11
func TestPermissionBlockProjectsEveryStatus(t *testing.T) {
	for status, want := range map[turn.Status][2]string{
		turn.Proposed: {"pending", ""}, turn.Awaiting: {"pending", ""},
		turn.Allowed: {"granted", ""}, turn.Running: {"granted", ""}, turn.Done: {"granted", ""}, turn.Failed: {"granted", ""}, turn.Unknown: {"granted", ""},
		turn.Denied: {"denied", "denied"}, turn.Lapsed: {"denied", "expired"}, turn.Cancelled: {"denied", "cancelled"},
		"something new": {"denied", "something new"},
	} {
		p := drawPermission(turn.ToolCall{Asking: turn.Asking{Asked: true}, Status: status, Tool: permission.Tool{Server: "s", Name: "t"}})
		if p.Status != want[0] || p.Reason != want[1] {
			t.Errorf("%s: %+v", status, p)
		}
		if p.Extra.NeedsUserAction != (status == turn.Awaiting) || (p.Extra.GrantedPermissions != nil) != (want[0] == "granted") || p.Content == "" {
			t.Errorf("%s: %+v", status, p)
		}
	}
	if p := drawPermission(turn.ToolCall{Asking: turn.Asking{Asked: true}, Decision: turn.Decision{Choice: chat.AllowServer}, Status: turn.Done}); len(p.Extra.GrantedPermissions) != 3 {
		t.Errorf("a grant of the whole server gave %v", p.Extra.GrantedPermissions)
	}
	if _, p := drawCalls(&turn.Turn{Calls: []turn.ToolCall{{Status: turn.Done}}}); len(p) > 0 {
		t.Error("a call that never asked has a permission block")
	}
}

// The careful reading of what nobody said.
// R128
func TestZeroIsCareful(t *testing.T) {
	if accessName(permission.Unclassified) != "write" || riskName(0) != "moderate" || levelName(permission.Ruling{}) != "RequireConfirmation" {
		t.Error("a zero value reads as harmless")
	}
	if got := string(arguments(turn.ToolCall{Args: json.RawMessage(`{"a":`)})); got != "{}" {
		t.Errorf("broken arguments are told as %s", got)
	}
	if got := string(arguments(turn.ToolCall{Args: json.RawMessage(`{"password":"hunter2-hunter2"}`)})); strings.Contains(got, "hunter2") || !strings.Contains(got, "password") {
		t.Errorf("what cards mask is told as %s", got)
	}
	for _, r := range []permission.Ruling{{Level: permission.LevelAdmin}, {Approval: permission.RequireAuth}} {
		if levelName(r) != "RequireAuth" {
			t.Errorf("%+v is not an admin's", r)
		}
	}
	if userForm(chat.User{}) != "" {
		t.Error("nobody has an identity")
	}
}

func TestMessagesInTheLog(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "three things")
	ana.say(id, "and hello")
	f := ana.look(id)
	if len(f.Messages) != 3 || f.State != "waiting" || f.Queued != 1 {
		t.Fatalf("%d messages, %s, %d queued", len(f.Messages), f.State, f.Queued)
	}
	if m := f.Messages[2]; m.Role != "user" || !m.Queued || m.Text != "and hello" {
		t.Errorf("the waiting message: %+v", m)
	}
	m := f.Messages[1]
	if len(m.ToolCalls) != 3 || len(m.Permissions) != 2 || m.ToolCalls[0].Status != "proposed" && m.ToolCalls[0].Status != "allowed" && m.ToolCalls[0].Status != "done" {
		t.Errorf("%d calls, %d permissions, first %s", len(m.ToolCalls), len(m.Permissions), m.ToolCalls[0].Status)
	}
	ana.ok(http.StatusOK, "POST", "/api/v1/chats/"+id+"/asks", map[string]string{"choice": "deny"})
	f = ana.look(id)
	if r, _ := f.Messages[1].ToolCalls[0].Result.(map[string]any); r["content"] != "done: read_file" {
		t.Errorf("what was read is told as %v", r)
	}
	if len(f.Messages) != 4 || f.Messages[2].Queued || f.Messages[2].Turn == f.Messages[1].Turn || f.Messages[3].State != "done" {
		t.Fatalf("after the turn: %+v", f.Messages)
	}
	for i, m := range f.Messages {
		if m.Number != i {
			t.Errorf("message %d is numbered %d", i, m.Number)
		}
	}
	// A fold that grew with the chat and one that reads it whole agree.
	whole, err := newSessionCache(b).get(t.Context(), webChat(id))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range whole.messages {
		a, _ := json.Marshal(m.form)
		again, _ := json.Marshal(f.Messages[i])
		if !sameJSON(a, again) {
			t.Errorf("message %d differs:\n%s\n%s", i, a, again)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

func TestAFoldFollowsAnotherHistory(t *testing.T) {
	b, s, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "one")
	ana.look(id)
	// A failover: the same length, another history.
	other := newBot()
	other.append(webChat(id), turn.Said{Delivery: "x", By: session.AdminUser(masterKey), Text: "another"})
	other.drive(webChat(id))
	b.mu.Lock()
	b.logs[webChat(id)] = other.logs[webChat(id)]
	for i := range b.logs[webChat(id)] {
		b.logs[webChat(id)][i].Op = "other" + b.logs[webChat(id)][i].Op
	}
	b.mu.Unlock()
	if got := ana.look(id).Messages[0].Text; got != "another" {
		t.Errorf("the chat still shows %q", got)
	}
	for i := range maxFolds + 5 {
		if _, err := s.chats.get(t.Context(), webChat("c"+string(rune('a'+i)))); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.chats.folds.Len(); n > maxFolds {
		t.Errorf("%d folds are kept", n)
	}
}

func TestLongResultsAreShortenedOnlyInStreams(t *testing.T) {
	long := resultForm{Content: strings.Repeat("é", maxStreamed)}
	m := messageForm{ToolCalls: []callForm{{Result: long}, {Result: resultForm{Content: "short", Structured: json.RawMessage(`{}`)}}, {}}}
	r := m.brief().ToolCalls[0].Result.(resultForm)
	if len(r.Content) > maxStreamed || r.Omitted != len(long.Content)-len(r.Content) || r.Omitted == 0 {
		t.Errorf("%d bytes, %d omitted", len(r.Content), r.Omitted)
	}
	if m.ToolCalls[0].Result.(resultForm).Omitted != 0 || string(m.brief().ToolCalls[1].Result.(resultForm).Structured) != "{}" || m.brief().ToolCalls[2].Result != nil {
		t.Error("brief changed what it should not")
	}
}

// R86 R132
func TestWhatAnAskedCallTells(t *testing.T) {
	call := func(asked bool, status turn.Status, ask string) turn.ToolCall {
		return turn.ToolCall{Asking: turn.Asking{Asked: asked, Ask: turn.AskID(ask)}, Status: status}
	}
	for _, x := range []struct {
		was, is turn.ToolCall
		want    string
	}{
		{turn.ToolCall{}, call(false, turn.Proposed, ""), ""},
		{call(false, turn.Proposed, ""), call(true, turn.Awaiting, "a"), "approval_required"},
		{call(true, turn.Awaiting, "a"), call(true, turn.Awaiting, "a"), ""},
		{call(true, turn.Awaiting, "a"), call(true, turn.Awaiting, "b"), "approval_required"},
		{call(true, turn.Allowed, "a"), call(true, turn.Awaiting, "b"), "approval_required"}, // undone
		{call(true, turn.Lapsed, "a"), call(true, turn.Awaiting, "b"), "approval_required"},  // asked again
		{call(true, turn.Awaiting, "a"), call(true, turn.Allowed, "a"), "permission_granted"},
		{call(true, turn.Allowed, "a"), call(true, turn.Allowed, "a"), ""}, // told once
		{call(true, turn.Awaiting, "a"), call(true, turn.Denied, "a"), "permission_denied"},
		{call(true, turn.Awaiting, "a"), call(true, turn.Lapsed, "a"), "permission_expired"},
		{call(true, turn.Awaiting, "a"), call(true, turn.Cancelled, "a"), "permission_cancelled"},
		{call(true, turn.Allowed, "a"), call(true, turn.Cancelled, "a"), "permission_cancelled"},
		{call(true, turn.Allowed, "a"), call(true, turn.Running, "a"), ""},
		{call(true, turn.Running, "a"), call(true, turn.Cancelled, "a"), ""},   // the permission was used
		{call(false, turn.Allowed, "a"), call(false, turn.Cancelled, "a"), ""}, // nobody was asked
		{call(false, turn.Proposed, ""), call(false, turn.Denied, "a"), ""},    // by policy
	} {
		if got := change(x.was, x.is); got != x.want {
			t.Errorf("%v → %v: %q, want %q", x.was.Status, x.is.Status, got, x.want)
		}
	}
}

// A name or a title cannot turn the words around it.
func TestNamesHideNothing(t *testing.T) {
	b, _, c := serve(t, nil)
	eve := c.as("Eve\u202e\u200b")
	id := eve.chat()
	eve.say(id, "tit\u202ele")
	list := eve.ok(http.StatusOK, "GET", "/api/v1/chats", nil)["chats"].([]any)
	if got := list[0].(map[string]any)["title"].(string); got != `tit\u{202E}le` {
		t.Errorf("title %q", got)
	}
	for _, s := range b.sessions {
		if keptOf(s).Name != `Eve\u{202E}\u{200B}` {
			t.Errorf("name %q", keptOf(s).Name)
		}
	}
	line := drawLine(render.Line{render.Person{Name: "Eve\u202e"}, render.Person{User: session.AdminUser(masterKey)}})
	if line[0].Person != `Eve\u{202E}` || line[1].Person == "" {
		t.Errorf("%+v", line)
	}
}
