package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A newcomer's first minute: the ask, Allow once, and the same message finishes.
// R10 R28 R49 R55 R56 R69 R70 R72 R74 R82 R84 R91 R98 R141
func TestDemoAllowOnce(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	ask := r.ask("write hello to notes.txt")
	if got := b.content("notes.txt"); got != "(missing)" {
		t.Fatalf("before any click the file says %q", got)
	}
	before := r.get()
	card := before.last().block("ask", ask.ToolCallID)
	if card.Header != "Allow tool call from workbench?" || card.Run != "Run write_file from workbench" ||
		card.Warning != "Malicious MCP Servers or conversation content could potentially trick nod into attempting harmful actions through your installed tools." ||
		card.Review != "Review each action carefully before approving" || labels(card.Choices) != "Allow for this chat|Allow once|Deny" {
		t.Errorf("the card: %+v", card)
	}
	if got := before.last().ToolCalls[0].Result; !got.Requires || got.IsError || got.Content == "" {
		t.Errorf("a waiting call's result: %+v", got)
	}
	d := r.mustClick(ask.RequestID, "allow_once")
	if !d.Approved || d.Scope != "once" || d.Name != "Ana" || d.By != r.user || d.ToolCallID != ask.ToolCallID || d.ChatID != r.id {
		t.Errorf("the decision: %+v", d)
	}
	after := r.idle()
	if got := b.content("notes.txt"); got != "hello" {
		t.Errorf("the file says %q", got)
	}
	if n := len(after.bots()); n != 1 || after.last().ID != before.last().ID {
		t.Errorf("%d messages of the bot, the last %s; it was %s", n, after.last().ID, before.last().ID)
	}
	m := after.last()
	if m.State != "done" || m.statuses() != "write_file done" || m.block("ask", "").Header != "" || !strings.Contains(m.text(), "Done") {
		t.Errorf("the finished message:\n%s", after)
	}
	line := m.block("step", ask.ToolCallID).Detail
	if !strings.Contains(words(line), "allowed once by Ana") || !slices.ContainsFunc(line, func(s spanForm) bool { return s.Time.Equal(d.At) }) || d.At.IsZero() {
		t.Errorf("its step line: %+v, decided at %s", line, d.At)
	}
	if m.Allowed[0].Type != "tool_call_permission" || m.Allowed[0].Status != "granted" {
		t.Errorf("its permission block: %+v", m.Allowed)
	}
	// Once means once: the very same request asks again.
	r.ask("write hello to notes.txt")
}

// R42 R89 R99 R102 R140 C14
func TestDemoAllowForThisChat(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	ana := b.session("Ana")
	r := ana.room()
	ask := r.ask("write one to a.txt")
	if d := r.mustClick(ask.RequestID, "allow_chat"); d.Scope != "chat" {
		t.Errorf("the decision: %+v", d)
	}
	r.idle()
	s := r.events("")
	r.say("write two to a.txt")
	s.named("turn_done")
	if got := b.content("a.txt"); got != "two" {
		t.Errorf("the file says %q", got)
	}
	if slices.Contains(s.names(), "approval_required") {
		t.Error("the second write asked")
	}
	if line := words(r.get().last().block("step", "").Detail); !strings.Contains(line, "allowed for this chat by Ana") {
		t.Errorf("its step line: %q", line)
	}
	other := ana.room()
	other.ask("write three to a.txt")
	// The same tool only: another one of the same server asks in the first chat, too.
	if ask := r.ask("delete a.txt"); ask.ToolName != "delete_file" {
		t.Errorf("%+v", ask)
	}
	if got := b.content("a.txt"); got != "two" {
		t.Errorf("the file says %q", got)
	}
}

// R13 R90 R100 R120 R122 R123 R124
func TestDemoDeny(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	r.mustClick(r.ask("write keep to notes.txt").RequestID, "allow_once")
	r.idle()
	ask := r.ask("delete notes.txt")
	if ask.Message != "Are you sure you want to delete notes.txt?" { // R13, R90
		t.Errorf("it asks %q", ask.Message)
	}
	r.mustClick(ask.RequestID, "deny", "not now")
	c := r.idle()
	if got := b.content("notes.txt"); got != "keep" {
		t.Errorf("the file says %q", got)
	}
	m := c.last()
	if m.statuses() != "delete_file denied" || !strings.Contains(m.text(), "denied it, so `notes.txt` was left as it is") || !strings.Contains(m.text(), "not now") {
		t.Errorf("the model does not say it:\n%s", c)
	}
	res := m.ToolCalls[0].Result
	if !res.IsError || !strings.HasPrefix(res.Content, "Tool execution denied by user.") {
		t.Errorf("the result: %+v", res)
	}
	if line := words(m.block("step", ask.ToolCallID).Detail); !strings.Contains(line, "denied by Ana") || !strings.Contains(line, "not now") {
		t.Errorf("its step line: %q", line)
	}
	if m.Allowed[0].Status != "denied" || m.Allowed[0].Reason != "denied" {
		t.Errorf("its permission block: %+v", m.Allowed)
	}
}

// R12 R27 R48 R58 R97
func TestDemoMixedTurn(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	r.mustClick(r.ask("write hello to notes.txt").RequestID, "allow_once")
	r.idle()
	r.say("read notes.txt and write bye to b.txt and list files")
	c := r.until("the reads ran and the write waits", func(c chatForm) bool {
		return c.last().statuses() == "read_file done, write_file awaiting, list_directory done"
	})
	if len(c.Pending) != 1 || c.Pending[0].ToolName != "write_file" || b.content("b.txt") != "(missing)" {
		t.Errorf("before the click: %s, b.txt %s", c, b.content("b.txt"))
	}
	// The newest thing that needs a person stands last.
	if blocks := c.last().Blocks; blocks[len(blocks)-1].Type != "ask" {
		t.Errorf("the last block is a %s", blocks[len(blocks)-1].Type)
	}
	r.mustClick(c.Pending[0].RequestID, "allow_once")
	m := r.idle().last()
	if m.statuses() != "read_file done, write_file done, list_directory done" || b.content("b.txt") != "bye" {
		t.Errorf("after the click: %s, b.txt %s", m.statuses(), b.content("b.txt"))
	}
	for _, want := range []string{"hello", "b.txt", "notes.txt"} {
		if !strings.Contains(m.text(), want) {
			t.Errorf("the answer lacks %q: %s", want, m.text())
		}
	}
}

// R53 R129
func TestApproveEndpoint(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	approve := func(body map[string]any) (d decisionForm, status int, no problem) {
		status, no = r.call("POST", "/api/v1/tools/approve", body, &d)
		return d, status, no
	}
	ask := r.ask("write one to a.txt")
	for _, bad := range []struct {
		status int
		body   map[string]any
	}{
		{http.StatusBadRequest, map[string]any{"approved": true}},
		{http.StatusBadRequest, map[string]any{"tool_call_id": ask.ToolCallID}},
		{http.StatusBadRequest, map[string]any{"tool_call_id": ask.ToolCallID, "approved": true, "scope": "forever"}},
		{http.StatusBadRequest, map[string]any{"tool_call_id": ask.ToolCallID, "approved": "yes"}},
		{http.StatusNotFound, map[string]any{"tool_call_id": "nobody's", "approved": true}},
		{http.StatusNotFound, map[string]any{"tool_call_id": ask.ToolCallID, "request_id": "other", "approved": true}},
	} {
		if _, status, no := approve(bad.body); status != bad.status {
			t.Errorf("%v: %d %+v", bad.body, status, no)
		}
	}
	nobody := &person{t: t, b: b}
	if status, no := nobody.call("POST", "/api/v1/tools/approve", map[string]any{"tool_call_id": ask.ToolCallID, "approved": true}, nil); status != http.StatusUnauthorized {
		t.Errorf("without a key: %d %+v", status, no)
	}
	if len(r.get().Pending) != 1 || b.content("a.txt") != "(missing)" {
		t.Fatal("a refused answer decided something")
	}
	if d, status, no := approve(map[string]any{"tool_call_id": ask.ToolCallID, "approved": true, "scope": "chat"}); status != http.StatusOK || d.Choice != "allow_chat" || !d.Approved {
		t.Errorf("%d %+v %+v", status, d, no)
	}
	r.idle()
	if _, status, no := approve(map[string]any{"tool_call_id": ask.ToolCallID, "approved": false}); status != http.StatusConflict || no.Name != "Ana" || no.Choice != "allow_chat" {
		t.Errorf("a second answer: %d %+v", status, no)
	}
	r.say("write two to a.txt") // the chat's grant covers it
	r.idle()
	del := r.ask("delete a.txt")
	if d, status, no := approve(map[string]any{"tool_call_id": del.ToolCallID, "request_id": del.RequestID, "approved": false, "reason": "keep it"}); status != http.StatusOK || d.Approved || d.Choice != "deny" {
		t.Errorf("%d %+v %+v", status, d, no)
	}
	r.idle()
	if got := b.content("a.txt"); got != "two" {
		t.Errorf("the file says %q", got)
	}
	// Every open ask of a chat at once.
	r.say("write x to x.txt and write y to y.txt and delete a.txt")
	r.until("the batch waits", func(c chatForm) bool { return len(c.Pending) == 1 || len(c.Pending) == 3 })
	var all struct{ Decisions []decisionForm }
	if status, no := r.call("POST", r.path("/asks"), map[string]string{"choice": "deny"}, &all); status != http.StatusOK || len(all.Decisions) == 0 {
		t.Errorf("deny all: %d %+v %+v", status, no, all)
	}
	r.idle()
	if b.content("a.txt") != "two" {
		t.Error("denied, and gone all the same")
	}
}

// Two people press opposite buttons at once: one wins, the other is told who and what.
func TestOppositeClicks(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	ask := r.ask("write hello to notes.txt")
	type answer struct {
		d      decisionForm
		status int
		no     problem
	}
	choices := []string{"allow_chat", "deny"}
	got := make([]answer, len(choices))
	var gun, runners sync.WaitGroup
	gun.Add(1)
	for i, choice := range choices {
		runners.Go(func() {
			gun.Wait()
			got[i].d, got[i].status, got[i].no = r.click(ask.RequestID, choice)
		})
	}
	gun.Done()
	runners.Wait()
	winner := slices.IndexFunc(got, func(a answer) bool { return a.status == http.StatusOK })
	if winner < 0 || got[1-winner].status != http.StatusConflict {
		t.Fatalf("%+v", got)
	}
	if no := got[1-winner].no; no.Name != "Ana" || no.Choice != choices[winner] || no.By != r.user || no.At == nil || !strings.Contains(no.Message, "by Ana") {
		t.Errorf("%s won, and the other was told %+v", choices[winner], no)
	}
	want := map[string]string{"allow_chat": "hello", "deny": "(missing)"}[choices[winner]]
	r.idle()
	if b.content("notes.txt") != want {
		t.Errorf("%s won and the file says %q", choices[winner], b.content("notes.txt"))
	}
}

// R110 C18
func TestSomebodyElsesClick(t *testing.T) {
	t.Parallel()
	b := start(t, settings{env: map[string]string{"ADMIN_SESSION_KEYS": " boss-key-of-16-bytes , "}})
	r := b.session("Ana").room()
	ask := r.ask("write hello to notes.txt")
	ben := r.as(b.session("Ben"))
	if got := ben.get(); len(got.Pending) != 1 {
		t.Errorf("whoever knows the chat may read it: %s", got)
	}
	if _, status, no := ben.click(ask.RequestID, "allow_once"); status != http.StatusForbidden || !strings.Contains(no.Message, "Ana") {
		t.Errorf("Ben's click: %d %+v", status, no)
	}
	if len(r.get().Pending) != 1 || b.content("notes.txt") != "(missing)" {
		t.Error("Ben's click changed something")
	}
	boss := r.as(&person{t: t, b: b, key: "boss-key-of-16-bytes"})
	boss.mustClick(ask.RequestID, "allow_once")
	r.idle()
	if got := b.content("notes.txt"); got != "hello" {
		t.Errorf("the file says %q", got)
	}
	empty := &person{t: t, b: b, key: " "}
	if status, _ := empty.call("GET", "/api/v1/chats", nil, nil); status != http.StatusUnauthorized {
		t.Errorf("the empty entry of ADMIN_SESSION_KEYS lets in: %d", status)
	}
}

// R114 R116 R117 R125 R132 C9 C19
func TestExpiry(t *testing.T) {
	t.Parallel()
	b := start(t, settings{yaml: "approvals: {timeout: 1s}\n"})
	r := b.session("Ana").room()
	s := r.events("")
	r.say("write hello to notes.txt")
	asked := decode[pendingForm](t, s.named("approval_required").Data)
	if asked.ExpiresAt == nil {
		t.Fatal("no deadline")
	}
	expired := decode[map[string]any](t, s.named("permission_expired").Data)
	if expired["request_id"] != asked.RequestID || expired["tool_call_id"] != asked.ToolCallID {
		t.Errorf("%v", expired)
	}
	s.named("turn_done")
	m := r.get().last()
	res := m.ToolCalls[0].Result
	if !res.IsError || !strings.Contains(res.Content, "timed out") || strings.Contains(res.Content, "denied") || !strings.Contains(m.text(), "nobody answered in time") {
		t.Errorf("the model is told %q and says %q", res.Content, m.text())
	}
	step := m.block("step", asked.ToolCallID)
	if step.State != "expired" || !strings.Contains(words(step.Detail), "nobody answered in 1 s · not run") || labels(step.Choices) != "Ask again" {
		t.Errorf("its line: %+v", step)
	}
	if _, status, no := r.click(asked.RequestID, "allow_once"); status != http.StatusGone || !strings.Contains(no.Message, "Ask again") {
		t.Errorf("a late click: %d %+v", status, no)
	}
	// Ask again asks for the same bytes. From here on there is time to answer.
	b.kill()
	b.configure("approvals: {timeout: 1m}\n")
	b.start()
	r.mustClick(step.Choices[0].Token, "ask_again")
	again := r.waiting(1).Pending[0]
	if again.RequestID == asked.RequestID || string(again.Arguments) != string(asked.Arguments) {
		t.Errorf("asked again: %+v", again)
	}
	r.mustClick(again.RequestID, "extend")
	c := r.waiting(1)
	if got := c.Pending[0]; got.RequestID != again.RequestID || got.ExpiresAt == nil || got.ExpiresAt.Sub(*again.ExpiresAt).Minutes() < 4.9 {
		t.Errorf("+5 min moved the deadline from %v to %v", again.ExpiresAt, got.ExpiresAt)
	}
	r.mustClick(again.RequestID, "allow_once")
	r.idle()
	if got := b.content("notes.txt"); got != "hello" {
		t.Errorf("the file says %q", got)
	}
}

// R132 R173 R174
func TestStop(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	s := r.events("")
	ask := r.ask("write hello to notes.txt")
	r.say("what time is it")
	c := r.until("the second message is queued", func(c chatForm) bool { return c.Queued == 1 })
	if !strings.Contains(c.last().notes(), "1 more message waits") {
		t.Errorf("the queue is not shown: %s", c)
	}
	var out struct {
		Stopping bool
		Turn     string `json:"turn_id"`
	}
	if status, no := r.call("POST", r.path("/stop"), nil, &out); status != http.StatusAccepted || !out.Stopping || out.Turn != c.last().Turn {
		t.Fatalf("stop: %d %+v %+v", status, no, out)
	}
	gone := decode[map[string]any](t, s.named("permission_cancelled").Data)
	if gone["request_id"] != ask.RequestID {
		t.Errorf("%v", gone)
	}
	done := decode[map[string]any](t, s.named("turn_done").Data)
	if done["why"] != "stopped" {
		t.Errorf("%v", done)
	}
	c = r.idle()
	if len(c.bots()) != 1 || c.last().State != "stopped" || b.content("notes.txt") != "(missing)" {
		t.Errorf("after Stop: %s", c)
	}
	if _, status, _ := r.click(ask.RequestID, "allow_once"); status != http.StatusConflict {
		t.Errorf("a click after Stop: %d", status)
	}
	if status, _ := r.call("POST", r.path("/stop"), nil, &out); status != http.StatusAccepted || out.Stopping {
		t.Errorf("a second stop: %d %+v", status, out)
	}
}
