package web

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

const approve = "/api/v1/tools/approve"

// R55 R101
func TestApproveRunsTheCallOnce(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "write hello")
	ask := ana.ask(id)
	out := ana.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "approved": true})
	if out["approved"] != true || out["scope"] != "once" || out["request_id"] != ask.RequestID || out["tool_call_id"] != ask.ToolCallID || out["chat_id"] != id || out["by"] != ana.user {
		t.Errorf("the decision: %v", out)
	}
	if len(b.ran) != 1 {
		t.Errorf("ran %v", b.ran)
	}
	e := ana.fails(http.StatusConflict, "decided", "POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "approved": false})
	if e["by"] != ana.user || e["choice"] != "allow_once" || e["at"] == nil {
		t.Errorf("who decided what is not told: %v", e)
	}
	first := ask
	// Once means once; for this chat means until it ends.
	ana.say(id, "write hello")
	ask = ana.ask(id)
	if out := ana.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "approved": true, "scope": "chat", "request_id": ask.RequestID}); out["scope"] != "chat" {
		t.Errorf("%v", out)
	}
	ana.say(id, "write hello")
	f := ana.look(id)
	// A call of an earlier turn is still told who decided what.
	for _, old := range []struct{ call, choice string }{{first.ToolCallID, "allow_once"}, {ask.ToolCallID, "allow_chat"}} {
		if e := ana.fails(http.StatusConflict, "decided", "POST", approve, map[string]any{"tool_call_id": old.call, "approved": true}); e["by"] != ana.user || e["choice"] != old.choice {
			t.Errorf("%v", e)
		}
	}
	if len(f.Pending) != 0 || len(b.ran) != 3 || len(f.Grants) != 1 || f.Grants[0].ToolName != "write_file" {
		t.Errorf("after Allow for this chat: pending %v, ran %v, grants %v", f.Pending, b.ran, f.Grants)
	}
}

func TestNothingButTrueApproves(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "write hello")
	ask := ana.ask(id)
	for _, body := range []string{
		``, `{}`, `[]`, `null`, `{"tool_call_id":"` + ask.ToolCallID + `"}`, `{"tool_call_id":"` + ask.ToolCallID + `","approved":null}`,
		`{"tool_call_id":"` + ask.ToolCallID + `","approved":"true"}`, `{"tool_call_id":"` + ask.ToolCallID + `","approved":1}`,
		`{"tool_call_id":"` + ask.ToolCallID + `","approved":true,"scope":"everything"}`, `{"approved":true}`, `{"tool_call_id":["x"],"approved":true}`,
	} {
		ana.fails(http.StatusBadRequest, "bad_request", "POST", approve, body)
	}
	for _, choice := range []string{"", "allow", "approve_all", "stop", "revoke", "view", "ALLOW_ONCE"} {
		ana.fails(http.StatusBadRequest, "bad_request", "POST", "/api/v1/asks/"+ask.RequestID, map[string]string{"choice": choice})
		if choice != "approve_all" && choice != "revoke" {
			ana.fails(http.StatusBadRequest, "bad_request", "POST", "/api/v1/chats/"+id+"/clicks", map[string]string{"choice": choice, "token": ask.RequestID})
		}
	}
	// Words are never a decision.
	ana.say(id, "yes, allow_once "+ask.RequestID)
	if len(b.ran) > 0 || ana.ask(id).RequestID != ask.RequestID {
		t.Errorf("something other than a decision decided: %v", b.ran)
	}
}

// Whoever answers, on whatever way, the engine is told who it is, and what it refuses is refused and changes nothing. Whom it refuses is shown
// with the engine itself (tests/suites/e2e.TestWhoMayDecide).
func TestRefusedAnswers(t *testing.T) {
	b, _, c := serve(t, nil)
	ana, ben := c.as("Ana"), c.as("Ben")
	b.refused = map[string]bool{ben.user: true}
	for name, path := range map[string]func(ask approvalRequired, id string) (string, any){
		"by call": func(a approvalRequired, _ string) (string, any) {
			return approve, map[string]any{"tool_call_id": a.ToolCallID, "approved": true}
		},
		"by request": func(a approvalRequired, _ string) (string, any) {
			return "/api/v1/asks/" + a.RequestID, map[string]any{"choice": "allow_once"}
		},
		"the page": func(a approvalRequired, id string) (string, any) {
			return "/api/v1/chats/" + id + "/clicks", map[string]any{"token": a.RequestID, "choice": "allow_once"}
		},
		"all": func(_ approvalRequired, id string) (string, any) {
			return "/api/v1/chats/" + id + "/asks", map[string]any{"choice": "allow_once"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := ana.chat()
			ana.say(id, "write hello")
			ask := ana.ask(id)
			before := len(b.ran)
			p, body := path(ask, id)
			ben.fails(http.StatusForbidden, "not_yours", "POST", p, body)
			check, clicks := map[string]any{"token": ask.RequestID, "choice": "allow_server", "check": true}, "/api/v1/chats/"+id+"/clicks"
			ben.fails(http.StatusForbidden, "not_yours", "POST", clicks, check)
			ana.ok(http.StatusOK, "POST", clicks, check) // what only asks decides nothing
			if ana.ask(id).RequestID != ask.RequestID || len(b.ran) != before {
				t.Fatal("a refused answer changed something")
			}
			ana.ok(http.StatusOK, "POST", p, body)
		})
	}
}

// R129
func TestAsksOfOtherSurfacesAreForAdmins(t *testing.T) {
	b, _, c := serve(t, nil)
	ana, admin := c.as("Ana"), c.with(masterKey)
	slack := chat.ID{Platform: "slack", Workspace: "T1", Key: "C1:1.2"}
	uma := chat.User{Platform: "slack", Workspace: "T1", Key: "U1"}
	if err := b.Accept(t.Context(), chat.Said{Envelope: chat.Envelope{Delivery: "s1", Chat: slack, User: uma, Name: "Uma"}, Text: "write hello"}); err != nil {
		t.Fatal(err)
	}
	call := turn.OpenAsks(b.fold(slack))[0]
	for _, body := range []map[string]any{
		{"tool_call_id": string(call.ID), "approved": true},
		{"tool_call_id": string(call.ID), "request_id": string(call.Ask), "approved": true},
		{"request_id": string(call.Ask), "approved": true},
	} {
		ana.fails(http.StatusForbidden, "not_yours", "POST", approve, body)
	}
	ana.fails(http.StatusForbidden, "not_yours", "POST", "/api/v1/asks/"+string(call.Ask), map[string]string{"choice": "deny"})
	out := admin.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": string(call.ID), "approved": true})
	if out["by"] != session.AdminUser(masterKey).String() || len(b.ran) != 1 {
		t.Errorf("%v, ran %v", out, b.ran)
	}
}

// R53 C17
func TestWhichCallIsMeant(t *testing.T) {
	b, _, c := serve(t, nil)
	ana, ben := c.as("Ana"), c.as("Ben")
	one, two := ana.chat(), ana.chat()
	ana.say(one, "write hello")
	ask := ana.ask(one)
	// The model's own id is taken too, while only one open request has it.
	ana.fails(http.StatusNotFound, "unknown", "POST", approve, map[string]any{"tool_call_id": "call_nobody", "approved": true})
	ana.fails(http.StatusNotFound, "unknown", "POST", approve, map[string]any{"tool_call_id": "call_0", "request_id": "ask999", "approved": true})
	sought := len(b.sought)
	for request, call := range map[string]string{strings.Repeat("x", 65): "", "": strings.Repeat("x", 257)} { // the store is not asked
		ana.fails(http.StatusNotFound, "unknown", "POST", approve, map[string]any{"tool_call_id": call, "request_id": request, "approved": true})
	}
	if len(b.sought) != sought {
		t.Errorf("the store is asked for %.20q", b.sought[sought:])
	}
	ben.fails(http.StatusNotFound, "unknown", "POST", approve, map[string]any{"tool_call_id": "call_0", "approved": true})
	ana.say(two, "write hello")
	ana.fails(http.StatusConflict, "ambiguous", "POST", approve, map[string]any{"tool_call_id": "call_0", "approved": true})
	if out := ana.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": "call_0", "request_id": ask.RequestID, "approved": false}); out["chat_id"] != one {
		t.Errorf("%v", out)
	}
	if out := ana.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": "call_0", "approved": false}); out["chat_id"] != two {
		t.Errorf("%v", out)
	}
	ana.say(one, "write hello")
	other := ana.ask(one)
	ana.fails(http.StatusNotFound, "unknown", "POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "request_id": other.RequestID, "approved": true})
	ana.fails(http.StatusNotFound, "unknown", "POST", "/api/v1/asks/ask999", map[string]string{"choice": "allow_once"})
	// A request of one chat is not reached through another.
	ana.fails(http.StatusNotFound, "unknown", "POST", "/api/v1/chats/"+two+"/clicks", map[string]string{"token": other.RequestID, "choice": "allow_once"})
	// What is over is told as that: under the model's id, and of a turn that the session let go of.
	three := ben.chat()
	ben.say(three, "write hello")
	old := ben.ask(three)
	ben.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": "call_0", "approved": false})
	ben.fails(http.StatusConflict, "decided", "POST", approve, map[string]any{"tool_call_id": "call_0", "approved": true})
	ben.say(three, "write hello")
	mine := ben.ask(three)
	b.expire(webChat(three))
	ben.say(three, "hello")
	ben.say(three, "hello")
	ben.fails(http.StatusGone, "expired", "POST", approve, map[string]any{"tool_call_id": mine.ToolCallID, "approved": true})
	ben.fails(http.StatusNotFound, "unknown", "GET", "/api/v1/asks/"+old.RequestID+"/details", nil)
	// A request that was asked anew is not answered by its old name.
	ben.say(three, "three things")
	open := ben.look(three).Pending
	ben.ok(http.StatusOK, "POST", "/api/v1/asks/"+open[0].RequestID, map[string]string{"choice": "allow_once"})
	ben.ok(http.StatusOK, "POST", "/api/v1/asks/"+open[0].RequestID, map[string]string{"choice": "undo"})
	if out := ben.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": open[0].ToolCallID, "request_id": open[0].RequestID, "approved": true}); out["request_id"] != open[0].RequestID {
		t.Errorf("%v", out)
	}
}

func TestTheOtherChoices(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	asks := "/api/v1/asks/"
	ana.say(id, "write hello")
	ask := ana.ask(id)
	ana.ok(http.StatusOK, "POST", asks+ask.RequestID, map[string]string{"choice": "extend"})
	if got := ana.ask(id).ExpiresAt.Sub(*ask.ExpiresAt).Minutes(); got != 5 {
		t.Errorf("extended by %v minutes", got)
	}
	ana.fails(http.StatusBadRequest, "not_offered", "POST", asks+ask.RequestID, map[string]string{"choice": "happened"})
	b.expire(webChat(id))
	ana.fails(http.StatusGone, "expired", "POST", asks+ask.RequestID, map[string]string{"choice": "allow_once"})
	ana.fails(http.StatusGone, "expired", "POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "approved": true})
	ana.ok(http.StatusOK, "POST", asks+ask.RequestID, map[string]string{"choice": "ask_again"})
	again := ana.ask(id)
	if again.RequestID == ask.RequestID || again.ToolCallID == ask.ToolCallID {
		t.Errorf("asked again as %v", again)
	}
	b.hold = true
	ana.ok(http.StatusOK, "POST", asks+again.RequestID, map[string]string{"choice": "allow_once"})
	ana.fails(http.StatusConflict, "too_late", "POST", asks+again.RequestID, map[string]string{"choice": "undo"})
	b.lose(webChat(id))
	m := ana.look(id).Messages
	card := m[len(m)-1].Blocks[len(m[len(m)-1].Blocks)-1]
	if card.Kind != "outcome" || len(card.Choices) != 3 {
		t.Fatalf("the Unknown card: %+v", card)
	}
	ana.ok(http.StatusOK, "POST", asks+card.RequestID, map[string]string{"choice": "leave"})
	if got := ana.look(id).State; got != "idle" {
		t.Errorf("after Leave it the chat is %s", got)
	}
}

func TestAllOpenAsksAtOnce(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	if e := ana.fails(http.StatusNotFound, "unknown", "POST", "/api/v1/chats/"+id+"/asks", map[string]string{"choice": "deny"}); e["message"] != "Nothing in this chat waits for an answer." {
		t.Errorf("%v", e)
	}
	ana.say(id, "three things")
	ana.fails(http.StatusBadRequest, "bad_request", "POST", "/api/v1/chats/"+id+"/asks", map[string]string{"choice": "allow_chat"})
	out := ana.ok(http.StatusOK, "POST", "/api/v1/chats/"+id+"/asks", map[string]string{"choice": "allow_once"})
	if n := len(out["decisions"].([]any)); n != 2 || len(b.ran) != 3 {
		t.Errorf("%d decisions, ran %v", n, b.ran)
	}
}

// Two opposite clicks at once have one winner and one clear refusal.
func TestOppositeClicks(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	for range 20 {
		id := ana.chat()
		ana.say(id, "write hello")
		ask, before := ana.ask(id), len(b.ran)
		var status [2]int
		var wg sync.WaitGroup
		for i, approved := range []bool{true, false} {
			wg.Go(func() {
				status[i], _ = ana.call("POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "approved": approved})
			})
		}
		wg.Wait()
		if status[0]+status[1] != http.StatusOK+http.StatusConflict {
			t.Fatalf("answers %v", status)
		}
		if ran := len(b.ran) - before; (status[0] == http.StatusOK) != (ran == 1) {
			t.Fatalf("answers %v, ran %d", status, ran)
		}
	}
}
