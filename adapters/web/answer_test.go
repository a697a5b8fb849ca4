package web

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Each scope grants what it says, and the answer and the stream name it.
func TestScopes(t *testing.T) {
	for _, x := range []struct {
		scope string
		body  map[string]any
		is    func(permission.Grant) bool
	}{
		{"exact", nil, func(g permission.Grant) bool { return len(g.Pins) > 0 }},
		{"hour", nil, func(g permission.Grant) bool { return g.Until.Sub(g.At) == time.Hour }},
		{"uses", nil, func(g permission.Grant) bool { return g.Counted && g.Uses == turn.GrantUses-1 }},
		{"uses", map[string]any{"uses": 7}, func(g permission.Grant) bool { return g.Counted && g.Uses == 6 }},
		{"chat", nil, func(g permission.Grant) bool {
			return g.Scope == permission.ScopeTool && !g.Counted && len(g.Pins) == 0
		}},
		{"reads", nil, func(g permission.Grant) bool { return g.Scope == permission.ScopeReads }},
		{"writes", nil, func(g permission.Grant) bool { return g.Scope == permission.ScopeWrites }},
		{"server", nil, func(g permission.Grant) bool { return g.Scope == permission.ScopeServer }},
	} {
		b, _, c := serve(t, nil)
		ana := c.as("Ana")
		id := ana.chat()
		ana.say(id, "write hello")
		ask := ana.ask(id)
		if !slices.Contains(ask.Scopes, x.scope) || !slices.Contains(ask.Scopes, "once") || slices.Contains(ask.Scopes, "path") {
			t.Errorf("offered: %v", ask.Scopes)
		}
		body := map[string]any{"tool_call_id": ask.ToolCallID, "approved": true, "scope": x.scope}
		for k, v := range x.body {
			body[k] = v
		}
		out := ana.ok(http.StatusOK, "POST", approve, body)
		if out["approved"] != true || out["scope"] != x.scope {
			t.Errorf("%s: %v", x.scope, out)
		}
		if g := b.fold(webChat(id)).Grants; len(g) != 1 || !x.is(g[0]) || len(b.ran) != 1 {
			t.Errorf("%s: %+v, ran %v", x.scope, g, b.ran)
		}
		granted := slices.IndexFunc(look(t, b, id).events, func(e event) bool {
			return e.name == "permission_granted" && strings.Contains(string(e.data), `"scope":"`+x.scope+`"`)
		})
		if granted < 0 {
			t.Errorf("%s: no permission_granted names it", x.scope)
		}
	}
}

func look(t *testing.T, b *bot, key string) view {
	t.Helper()
	v, err := newSessionCache(b).get(t.Context(), webChat(key))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A denial is a denial whatever else stands beside it, and what would be dropped is refused.
func TestScopesTakeNothingByMistake(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "write hello")
	ask := ana.ask(id)
	for _, body := range []map[string]any{
		{"scope": "path/x"}, {"scope": "session"}, {"scope": "ONCE"}, {"uses": 3}, {"uses": 3, "scope": "chat"}, {"uses": -1, "scope": "uses"}, {"uses": 101, "scope": "uses"}, {"uses": 1.5, "scope": "uses"},
	} {
		body["tool_call_id"], body["approved"] = ask.ToolCallID, true
		ana.fails(http.StatusBadRequest, "bad_request", "POST", approve, body)
	}
	for _, body := range []map[string]any{
		{"choice": "allow_chat", "uses": 3}, {"choice": "allow_once", "fields": map[string]any{"a": "b"}}, {"choice": "answer", "fields": map[string]any{"a": map[string]any{}}},
		{"choice": "answer", "fields": map[string]any{"a": nil}}, {"choice": "answer", "fields": map[string]any{"a": []any{1}}}, {"choice": "answer", "fields": "a"}, {"choice": "accept"}, {"choice": "open"}, {"choice": "why"},
	} {
		ana.fails(http.StatusBadRequest, "bad_request", "POST", "/api/v1/asks/"+ask.RequestID, body)
	}
	ana.fails(http.StatusBadRequest, "not_offered", "POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "approved": true, "scope": "path"})
	if len(b.ran) > 0 || len(b.fold(webChat(id)).Grants) > 0 {
		t.Fatalf("ran %v", b.ran)
	}
	out := ana.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "approved": false, "scope": "server"})
	if out["approved"] != false || out["scope"] != nil || len(b.ran) > 0 || len(b.fold(webChat(id)).Grants) > 0 {
		t.Errorf("%v, ran %v", out, b.ran)
	}
}

// What needs an admin offers once, and nothing that stands.
func TestScopesOfAnAdminsCall(t *testing.T) {
	_, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "admin please")
	if got := strings.Join(ana.ask(id).Scopes, " "); got != "once" {
		t.Errorf("offered: %s", got)
	}
}

// What is too long to be shown in full can only be denied.
func TestScopesOfWhatNobodyCanRead(t *testing.T) {
	c := turn.ToolCall{Status: turn.Awaiting, Asking: turn.Asking{Ruling: permission.Ruling{ChatGrant: true}}, Args: []byte(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)}
	if got := scopesOf(c); got == nil || len(got) > 0 {
		t.Errorf("offered: %v", got)
	}
	c.Args = []byte(`{"text":"x"}`)
	if got := scopesOf(c); !slices.Contains(got, "once") || !slices.Contains(got, "chat") {
		t.Errorf("offered: %v", got)
	}
}

// Remembering is ticked first, once, and decides nothing by itself.
// R83 R109
func TestApproveRemembers(t *testing.T) {
	for _, approved := range []bool{true, false} {
		for _, before := range []bool{true, false} { // ticked on the card already
			b, _, c := serve(t, nil)
			ana := c.as("Ana")
			id := ana.chat()
			ana.say(id, "write hello")
			ask := ana.ask(id)
			if before {
				ana.ok(http.StatusOK, "POST", "/api/v1/asks/"+ask.RequestID, map[string]string{"choice": "remember"})
				if len(b.ran) > 0 || ana.ask(id).RequestID != ask.RequestID {
					t.Fatal("ticking decided")
				}
			}
			ana.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "approved": approved, "remember": true})
			ticked := false
			for _, e := range b.logs[webChat(id)] {
				switch e := e.Event.(type) {
				case turn.Ticked:
					ticked = e.On && e.By.String() == ana.user
				case turn.Decided:
					if !ticked {
						t.Errorf("approved %v, ticked before %v: it was decided unticked", approved, before)
					}
				}
			}
			if (len(b.ran) == 1) != approved {
				t.Errorf("approved %v: ran %v", approved, b.ran)
			}
		}
	}
}

// Somebody else's tick is not mine.
func TestRememberIsForOnePerson(t *testing.T) {
	b, _, c := serve(t, nil)
	ana, ben := c.as("Ana"), c.as("Ben")
	id := ana.chat()
	ana.say(id, "write hello")
	ask := ana.ask(id)
	ben.ok(http.StatusOK, "POST", "/api/v1/asks/"+ask.RequestID, map[string]string{"choice": "remember"})
	ana.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "approved": true, "remember": true})
	var by []string
	for _, e := range b.logs[webChat(id)] {
		if e, ok := e.Event.(turn.Ticked); ok && e.On {
			by = append(by, e.By.String())
		}
	}
	if strings.Join(by, " ") != ben.user+" "+ana.user {
		t.Errorf("ticked by %v", by)
	}
}

// A choice that cannot be remembered is not taken as one that is not.
func TestRememberIsNotDropped(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "write hello")
	ask := ana.ask(id)
	b.forgetful = true
	ana.fails(http.StatusBadRequest, "not_offered", "POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "approved": true, "remember": true})
	if len(b.ran) > 0 {
		t.Errorf("ran %v", b.ran)
	}
}

func TestWhyAmIAsked(t *testing.T) {
	_, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "write hello")
	ask := ana.ask(id)
	out := ana.ok(http.StatusOK, "GET", "/api/v1/asks/"+ask.RequestID+"/why", nil)
	parts, _ := out["parts"].([]any)
	if out["title"] != "Why am I asked?" || len(parts) < 2 {
		t.Fatalf("%v", out)
	}
	if p := parts[0].(map[string]any); p["form"] != "code" || !strings.Contains(p["text"].(string), "notes.txt") {
		t.Errorf("%v", p)
	}
	ana.fails(http.StatusNotFound, "unknown", "GET", "/api/v1/asks/ask999/why", nil)
	ana.fails(http.StatusNotFound, "unknown", "GET", "/api/v1/chats/"+id+"/details/ask999", nil)
	if ana.ask(id).RequestID != ask.RequestID {
		t.Error("looking decided")
	}
}

// wanting is a chat in which a tool's server wants something of Ana.
func wanting(t *testing.T, w turn.Elicitation) (b *bot, ana *client, id, request string) {
	t.Helper()
	b, _, c := serve(t, nil)
	b.wants = &w
	ana = c.as("Ana")
	id = ana.chat()
	ana.say(id, "write hello")
	ana.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": ana.ask(id).ToolCallID, "approved": true})
	for _, x := range ana.look(id).Messages[1].Blocks {
		if x.Kind == "input" {
			request = x.RequestID
		}
	}
	if request == "" {
		t.Fatalf("nothing is wanted: %+v", ana.look(id).Messages[1].Blocks)
	}
	return b, ana, id, request
}

func TestWantIsTheRequesters(t *testing.T) {
	b, ana, id, request := wanting(t, turn.Elicitation{Kind: turn.ElicitationURL, Message: "Sign in.", URL: "https://login.example/secret-state"})
	path := "/api/v1/asks/" + request
	want := ana.ok(http.StatusOK, "GET", path+"/want", nil)
	if a := want["address"].(map[string]any); a["url"] != "https://login.example/secret-state" || a["host"] != "login.example" {
		t.Errorf("%v", want)
	}
	ben := (&client{t: t, url: ana.url}).as("Ben")
	b.refused = map[string]bool{ben.user: true, session.AdminUser(masterKey).String(): true}
	for _, other := range []*client{ben, ana.with(masterKey)} { // an admin decides much, but is not Ana
		if e := other.fails(http.StatusForbidden, "not_yours", "GET", path+"/want", nil); strings.Contains(e["message"].(string), "login.example") {
			t.Errorf("the refusal tells it: %v", e)
		}
		other.fails(http.StatusForbidden, "not_yours", "POST", path, map[string]string{"choice": "answer"})
		other.fails(http.StatusForbidden, "not_yours", "POST", path, map[string]string{"choice": "decline"})
	}
	// No message, event or list of what waits tells the address to whoever reads the chat.
	for _, x := range []string{"/api/v1/chats/" + id, "/api/v1/chats/" + id + "?nodes=1"} {
		if all, _ := ben.do(ben.request("GET", x, nil)); all != http.StatusOK {
			t.Fatal(all)
		}
		if raw := body(t, ben, x); strings.Contains(raw, "secret-state") || !strings.Contains(raw, request) {
			t.Errorf("%s: %s", x, raw)
		}
	}
	for _, e := range look(t, b, id).events {
		if strings.Contains(string(e.data), "secret-state") {
			t.Errorf("an event tells the address: %s", e.data)
		}
	}
	ana.ok(http.StatusOK, "POST", path, map[string]string{"choice": "answer"})
	if len(b.ran) != 1 {
		t.Errorf("ran %v", b.ran)
	}
	ana.fails(http.StatusGone, "expired", "GET", path+"/want", nil)
}

func body(t *testing.T, c *client, path string) string {
	t.Helper()
	res, err := http.DefaultClient.Do(c.request("GET", path, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWantFormTakesJSON(t *testing.T) {
	b, ana, _, request := wanting(t, turn.Elicitation{Kind: turn.ElicitationForm, Message: "Which?\u202e", Fields: []turn.FormField{
		{Name: "branch", Type: "string", Required: true}, {Name: "tags", Title: "T\u202e", Type: "string", Options: []string{"a", "b"}, Labels: []string{"A\u202e"}, Many: true}}})
	path := "/api/v1/asks/" + request
	want := ana.ok(http.StatusOK, "GET", path+"/want", nil)
	fields, _ := want["fields"].([]any)
	if want["kind"] != "form" || want["message"] != `Which?\u{202E}` || len(fields) != 2 || !strings.Contains(want["warning"].(string), "Never give it passwords") {
		t.Fatalf("%v", want)
	}
	tags := fields[1].(map[string]any)
	options := tags["options"].([]any)
	if tags["title"] != `T\u{202E}` || options[0].(map[string]any)["label"] != `A\u{202E}` || options[1].(map[string]any)["label"] != "b" || fields[0].(map[string]any)["title"] != "branch" {
		t.Errorf("%v", fields)
	}
	ana.fails(http.StatusUnprocessableEntity, "arguments", "POST", path, map[string]any{"choice": "answer", "fields": map[string]any{"branch": "main"}})
	ana.fails(http.StatusBadRequest, "bad_request", "POST", path, map[string]any{"choice": "answer", "fields": map[string]any{"branch": "topic", "tags": []any{5, "a"}}})
	ana.ok(http.StatusOK, "POST", path, map[string]any{"choice": "answer", "fields": map[string]any{"branch": "topic", "tags": []string{"a", "b"}, "n": 12345678901234567, "yes": true, "no": false}})
	got := b.clicked[len(b.clicked)-1]
	for k, v := range map[string]string{"branch": "topic", "tags": "a\nb", "n": "12345678901234567", "yes": "true", "no": "false"} {
		if got.Fields[k] != v {
			t.Errorf("%s is %q, want %q", k, got.Fields[k], v)
		}
	}
	if got.Choice != chat.Answer || len(b.ran) != 1 {
		t.Errorf("%+v, ran %v", got, b.ran)
	}
}

func TestAWantIsDeclined(t *testing.T) {
	b, ana, _, request := wanting(t, turn.Elicitation{Kind: turn.ElicitationURL, URL: "https://files.example/"})
	ana.ok(http.StatusOK, "POST", "/api/v1/asks/"+request, map[string]string{"choice": "decline"})
	if got := b.clicked[len(b.clicked)-1]; got.Choice != chat.Decline {
		t.Errorf("%+v", got)
	}
}

func TestAddresses(t *testing.T) {
	for raw, want := range map[string]linkForm{
		"https://files.example/a?b#c":   {URL: "https://files.example/a?b#c", Before: "https://", Host: "files.example", After: "/a?b#c"},
		"HTTPS://Files.example":         {URL: "HTTPS://Files.example", Before: "HTTPS://", Host: "Files.example"},
		"http://[2001:db8::1]:81/x":     {URL: "http://[2001:db8::1]:81/x", Before: "http://", Host: "[2001:db8::1]", After: ":81/x"},
		"http://[2001:db8::1]/x":        {URL: "http://[2001:db8::1]/x", Before: "http://", Host: "[2001:db8::1]", After: "/x"},
		"https://files.example:8443/?u": {URL: "https://files.example:8443/?u", Before: "https://", Host: "files.example", After: ":8443/?u"},
	} {
		if got := *address(raw); got != want {
			t.Errorf("%s: %+v", raw, got)
		}
	}
	for _, raw := range []string{
		"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "ftp://files.example/", "//files.example/", "files.example", "", "https://", "https:///x",
		"https://good.example@evil.example/", "https://good.example\\@evil.example/", "https://good.example/\u202e", "https://good.exa\u200bmple/", "https://good.example/a b", "https://good.example/\nx", "javascript://good.example/%0aalert(1)",
	} {
		if got := *address(raw); got.URL != "" || got.Warning == "" || strings.ContainsAny(got.Before+got.Host+got.After, "\u202e\u200b") {
			t.Errorf("%q is linked or hides something: %+v", raw, got)
		}
	}
	for _, raw := range []string{"https://xn--pple-43d.example/", "https://\u0430pple.example/"} {
		if got := *address(raw); got.Warning == "" || got.Before+got.Host+got.After != raw {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}
