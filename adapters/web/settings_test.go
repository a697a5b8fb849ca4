package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

const settingsAPI = "/api/v1/settings"

// actsOf are the acts of a view, by their tokens.
func actsOf(t *testing.T, panel any) (tokens []string) {
	t.Helper()
	b, err := json.Marshal(panel)
	if err != nil {
		t.Fatal(err)
	}
	var p panelForm
	if err := json.Unmarshal(b, &p); err != nil || p.Sections == nil {
		t.Fatalf("not a panel: %v %s", err, b)
	}
	for _, s := range p.Sections {
		for _, r := range s.Rows {
			for _, a := range r.Acts {
				tokens = append(tokens, a.Token)
				for _, o := range a.Options {
					tokens = append(tokens, o.Token)
				}
			}
		}
	}
	return tokens
}

func TestSettingsAreThePersons(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	if got := actsOf(t, ana.ok(http.StatusOK, "GET", settingsAPI, nil)); slices.Contains(got, "halt") {
		t.Errorf("Ana, who is no admin, is offered %v", got)
	}
	if got := actsOf(t, c.with(masterKey).ok(http.StatusOK, "GET", settingsAPI, nil)); !slices.Contains(got, "halt") {
		t.Errorf("an admin is offered %v", got)
	}
	// What is not offered to somebody they cannot do either, whatever token they send.
	ana.fails(http.StatusNotFound, "unknown", "POST", settingsAPI, map[string]string{"view": "overview", "token": "halt"})
	out := c.with(masterKey).ok(http.StatusOK, "POST", settingsAPI, map[string]string{"view": "overview", "token": "halt", "chat": id})
	if out["say"] != "Halted." || len(actsOf(t, out["panel"])) == 0 || !b.halted {
		t.Errorf("%v", out)
	}
	if got := b.acts[len(b.acts)-1]; got != session.AdminUser(masterKey).String()+" "+webChat(id).String()+` overview halt ""` {
		t.Errorf("the engine heard %q", got)
	}
	// Here is the chat that is named, which has to be one.
	view, _ := json.Marshal(ana.ok(http.StatusOK, "GET", settingsAPI+"?chat="+id, nil))
	if !strings.Contains(string(view), "Here: "+id) {
		t.Errorf("here is not that chat: %s", view)
	}
	for _, chat := range []string{"c-unknown", "a%2Fb", "slack:T1:C1"} {
		ana.fails(http.StatusNotFound, "unknown_chat", "GET", settingsAPI+"?chat="+chat, nil)
		ana.fails(http.StatusNotFound, "unknown_chat", "POST", settingsAPI, map[string]string{"view": "overview", "token": "x", "chat": chat})
		ana.fails(http.StatusNotFound, "unknown_chat", "POST", "/api/v1/permissions", map[string]any{"words": []string{"show"}, "chat": chat})
	}
}

func TestSettingsRefuseWhatIsNone(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	long := strings.Repeat("x", maxView+1)
	for _, q := range []string{"?view=" + long, "?view=a%20b", "?view=%00", "?view=%C3%A9"} {
		ana.fails(http.StatusBadRequest, "bad_request", "GET", settingsAPI+q, nil)
	}
	for _, body := range []string{``, `[]`, `{}`, `{"token":""}`, `{"token":"a b"}`, `{"token":"` + strings.Repeat("t", maxToken+1) + `"}`, `{"token":"t","view":"` + long + `"}`, `{"token":7}`} {
		ana.fails(http.StatusBadRequest, "bad_request", "POST", settingsAPI, body)
	}
	ana.fails(http.StatusRequestEntityTooLarge, "too_large", "POST", settingsAPI, map[string]string{"token": "t", "text": strings.Repeat("x", maxText+1)})
	ana.fails(http.StatusBadRequest, "bad_request", "POST", "/api/v1/permissions", map[string]any{"words": make([]string, maxWords+1)})
	if len(b.acts) > 0 {
		t.Errorf("the engine heard %v", b.acts)
	}
	ana.fails(http.StatusUnprocessableEntity, "arguments", "POST", settingsAPI, map[string]string{"view": "tools", "token": "message", "text": "{{.bad}}"})
}

// That it is done is told also where the view after it cannot be drawn.
func TestDoneButNotDrawn(t *testing.T) {
	b, _, c := serve(t, nil)
	b.broken = true
	ana := c.as("Ana")
	out := ana.ok(http.StatusOK, "POST", settingsAPI, map[string]string{"view": "tools", "token": "always:writ"})
	if out["say"] != "Changed: it counts from the next call." || out["panel"] != nil || b.asks["writ"] != "always" {
		t.Errorf("%v, %v", out, b.asks)
	}
	e := ana.fails(http.StatusServiceUnavailable, "unavailable", "GET", settingsAPI, nil)
	if strings.Contains(e["message"].(string), "10.0.0.9") {
		t.Errorf("the cause reached the person: %v", e)
	}
}

// R22 R156
func TestPanelForm(t *testing.T) {
	p := drawPanel(render.Panel{View: "v", Title: "T\u202e", Banner: []render.Line{{render.Strong("b\u200b")}},
		Tabs: []render.Act{{Kind: render.ActGo, View: "w", Label: "W", Current: true}},
		Sections: []render.Section{{Title: "s\u2066", Note: "n\u202e", Empty: "e\u202e"}, {Rows: []render.PanelRow{{Line: render.Line{render.Plain("⚠️ l\u202e")}, Details: []render.Line{{render.Plain("d\u202e")}},
			Acts: []render.Act{
				{Kind: render.ActDo, Token: "t", Label: "L\u202e", Hint: "h\u202e", Confirm: "c\u202e", Style: render.Danger},
				{Kind: render.ActPick, Options: []render.Option{{Token: "o", Label: "O\u202e", Current: true}}},
				{Kind: render.ActFill, Token: "f", Value: "{{.args.a}}", Max: 9, Like: "x\u202e"},
				{Kind: render.ActLink, Label: "here", Link: render.ChatLink{Chat: webChat("c-1").String()}},
				{Kind: render.ActLink, Label: "there", Link: render.ChatLink{Chat: chat.ID{Platform: "slack", Workspace: "T", Key: "C"}.String()}},
				{Kind: render.ActLink, Label: "there too", Link: render.ChatLink{Chat: chat.ID{Platform: "discord", Key: "C"}.String()}},
				{Kind: render.ActLink, Label: "trick", Link: render.ChatLink{Chat: webChat("//evil.example").String()}},
				{Kind: 99, Token: "new"},
			}}}}}})
	golden(t, "panel.json", p)
	b, _ := json.Marshal(p)
	for _, hidden := range []string{"\u202e", "\u200b", "\u2066"} {
		if strings.Contains(string(b), hidden) {
			t.Errorf("something hides in %q", b)
		}
	}
}

// R11
func TestCommands(t *testing.T) {
	for text, want := range map[string]string{
		"/permissions": "", " /permissions show ": "show", "/nod permissions why files write_file": "why files write_file", "/Nod Permissions Show": "Show",
		"/nod": "", "/nod halt": "halt", "/halt": "halt", "/resume": "resume", "/whoami": "whoami", "/why files write_file": "why files write_file",
		"/pending": "pending", "/history": "history", "/history denied": "history denied", "/stats": "stats", "/tools": "tools", "/tools enable files x": "tools enable files x",
		"/tools DISABLE files": "tools DISABLE files", "/stop": "stop", "/reset": "reset", "/nod mode never": "mode never", "/permissions permissions": "permissions",
	} {
		if words, ok := command(text); !ok || strings.Join(words, " ") != want {
			t.Errorf("%q: %q %v, want %q", text, words, ok, want)
		}
	}
	for _, text := range []string{"", "/", "permissions", "nod halt", "//halt", "/ halt", "/halt the server", "/why not?", "/why is it so", "/etc/hosts", "/tools are useful", "/stop it",
		"/permissionsX", "/halt\nplease", "/permissions\nshow", "/nod\nhalt", "please /halt", "/stop/", "/reset everything", "/whoami?"} {
		if words, ok := command(text); ok {
			t.Errorf("%q is taken for a command: %q", text, words)
		}
	}
}

// A command is answered to whoever typed it; it is no message.
func TestACommandIsNoMessage(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana\u202e")
	id := ana.chat()
	messages := "/api/v1/chats/" + id + "/messages"
	out := ana.ok(http.StatusOK, "POST", messages, map[string]string{"text": "/nod permissions why files write_file"})
	lines, _ := out["lines"].([]any)
	if len(lines) != 3 || lines[1] != "You said: why files write_file" || lines[2] != "Here is "+id+"." || strings.Contains(lines[0].(string), "\u202e") {
		t.Errorf("%q", lines)
	}
	if len(b.logs[webChat(id)]) != 0 {
		t.Errorf("the command was recorded: %v", b.logs[webChat(id)])
	}
	b.refused = map[string]bool{ana.user: true}
	ana.fails(http.StatusForbidden, "not_yours", "POST", messages, map[string]string{"text": "/resume"})
	c.with(masterKey).ok(http.StatusOK, "POST", messages, map[string]string{"text": "/resume"})
	// The same by words, and before there is a chat.
	out = ana.ok(http.StatusOK, "POST", "/api/v1/permissions", map[string]any{"words": []string{"whoami"}})
	if lines, _ = out["lines"].([]any); len(lines) != 3 || lines[1] != "You said: whoami" || lines[2] != "Here is ." {
		t.Errorf("%q", lines)
	}
	ana.ok(http.StatusOK, "POST", "/api/v1/permissions", nil)
	ana.ok(http.StatusOK, "POST", "/api/v1/permissions", map[string]any{"text": "/permissions show", "chat": id})
	ana.fails(http.StatusBadRequest, "not_a_command", "POST", "/api/v1/permissions", map[string]any{"text": "halt"})
	ana.fails(http.StatusBadRequest, "bad_request", "POST", "/api/v1/permissions", map[string]any{"text": "/stop"})
}

func TestStopAndResetByWord(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	typed := func(text string) string {
		t.Helper()
		lines, _ := ana.ok(http.StatusOK, "POST", "/api/v1/chats/"+id+"/messages", map[string]string{"text": text})["lines"].([]any)
		if len(lines) != 1 {
			t.Fatalf("%s: %v", text, lines)
		}
		return lines[0].(string)
	}
	if got := typed("/stop"); got != text.NothingToStop {
		t.Errorf("nothing runs: %q", got)
	}
	ana.say(id, "write hello")
	if got := typed("/stop"); got != text.Stopping || ana.look(id).Messages[1].State != "stopped" {
		t.Errorf("%q, %s", got, ana.look(id).Messages[1].State)
	}
	ana.say(id, "write hello")
	ana.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": ana.ask(id).ToolCallID, "approved": true, "scope": "chat"})
	if got := typed("/nod reset"); got != surface.SayReset || len(ana.look(id).Grants) != 0 {
		t.Errorf("%q, %v", got, ana.look(id).Grants)
	}
	b.fail = errDown
	ana.fails(http.StatusServiceUnavailable, "not_recorded", "POST", "/api/v1/chats/"+id+"/messages", map[string]string{"text": "/reset"})
}

func TestUnattendedMessages(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "hello")
	ana.ok(http.StatusAccepted, "POST", "/api/v1/chats/"+id+"/messages", map[string]any{"text": "hello again", "unattended": true})
	s := b.fold(webChat(id))
	if s.Last == nil || !s.Last.Unattended {
		t.Error("the engine does not hear that nobody can be reached")
	}
	for _, e := range b.logs[webChat(id)][:1] {
		if raw, _ := json.Marshal(e.Event); strings.Contains(string(raw), "unattended") {
			t.Errorf("a person's message is unattended: %s", raw)
		}
	}
}

// What changes settings needs a key, our host and our page, as everything else does.
func TestSettingsStandBehindTheGuards(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	for _, call := range [][2]string{{"GET", settingsAPI}, {"POST", settingsAPI}, {"POST", "/api/v1/permissions"}, {"GET", "/api/v1/asks/x/why"}, {"GET", "/api/v1/asks/x/want"}} {
		for _, key := range []string{"", "nod_wrong", ana.key + "x"} {
			c.with(key).fails(http.StatusUnauthorized, "unauthorized", call[0], call[1], nil)
		}
		for header, value := range map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"} {
			if call[0] == "GET" && header == "Sec-Fetch-Site" {
				continue
			}
			req := ana.request(call[0], call[1], `{"token":"always:writ","view":"tools"}`)
			req.Header.Set(header, value)
			ana.failed(req, http.StatusForbidden, "origin_not_allowed")
			byCookie := c.request(call[0], call[1], `{"token":"always:writ","view":"tools"}`)
			byCookie.Header.Set(header, value)
			byCookie.AddCookie(&http.Cookie{Name: "nod_session", Value: ana.key})
			c.failed(byCookie, http.StatusForbidden, "origin_not_allowed")
		}
		req := ana.request(call[0], call[1], nil)
		req.Host = "evil.example"
		ana.failed(req, http.StatusForbidden, "host_not_allowed")
	}
	if len(b.acts) > 0 {
		t.Errorf("the engine heard %v", b.acts)
	}
}
