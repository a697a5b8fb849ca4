package fakeslack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func TestPost(t *testing.T) {
	s := start(t, fakeslack.Options{})
	root := s.Say("U1", "C1", "", "hi")
	reply := said(t, s, "C1", root, "")
	deeper := said(t, s, "C1", reply, "") // a reply to a reply is one to the root
	for _, ts := range []string{reply, deeper} {
		if m, ok := s.Message("C1", ts); !ok || m.Thread != root || m.User != s.BotUser() || m.BotID != s.BotID() {
			t.Errorf("%+v", m)
		}
	}
	if got := s.Messages("C1", root); len(got) != 3 || got[0].Replies != 2 {
		t.Errorf("%+v", got)
	}
	for name, c := range map[string]struct {
		code  string
		pairs []string
	}{
		"no such channel":     {"channel_not_found", []string{"channel", "C9", "text", "x"}},
		"no channel":          {"channel_not_found", []string{"text", "x"}},
		"not in it":           {"not_in_channel", []string{"channel", "C3", "text", "x"}},
		"nothing":             {"no_text", []string{"channel", "C1"}},
		"no such thread":      {"thread_not_found", []string{"channel", "C1", "text", "x", "thread_ts", "1.000001"}},
		"metadata":            {"invalid_metadata_format", []string{"channel", "C1", "text", "x", "metadata", "7x"}},
		"metadata, no type":   {"invalid_metadata_schema", []string{"channel", "C1", "text", "x", "metadata", `{"event_payload":{}}`}},
		"metadata too large":  {"metadata_too_large", []string{"channel", "C1", "text", "x", "metadata", `{"event_type":"x","event_payload":{"a":"` + long(fakeslack.MaxMetadata) + `"}}`}},
		"both kinds of text":  {"markdown_text_conflict", []string{"channel", "C1", "text", "x", "markdown_text", "y"}},
		"markdown text":       {"msg_too_long", []string{"channel", "C1", "markdown_text", long(12_001)}},
		"a private ephemeral": {"channel_not_found", []string{"channel", "C9", "text", "x", "user", "U1"}},
	} {
		method := "chat.postMessage"
		if strings.Contains(name, "ephemeral") {
			method = "chat.postEphemeral"
		}
		a, _ := call(t, s, method, c.pairs...)
		if a["error"] != c.code {
			t.Errorf("%s: %v", name, a)
		}
	}
	a, _ := call(t, s, "chat.postMessage", "channel", "C1", "text", long(fakeslack.MaxPostText+5))
	if m, _ := s.Message("C1", ok(t, a, "ts")); len(m.Text) != fakeslack.MaxPostText {
		t.Errorf("%d characters", len(m.Text))
	}
	a, _ = call(t, s, "chat.postMessage", "channel", "U2", "text", "psst") // a person means the conversation with them
	if got := ok(t, a, "channel"); got != s.DM("U2") {
		t.Errorf("channel %s", got)
	}
	if m, _ := s.Message("C1", reply); m.Unfurl != (fakeslack.Unfurl{Media: true}) { // what an app gets that says nothing
		t.Errorf("%+v", m.Unfurl)
	}
	a, _ = call(t, s, "chat.postMessage", "channel", "C1", "text", "x", "unfurl_links", "true", "unfurl_media", "false")
	if m, _ := s.Message("C1", ok(t, a, "ts")); m.Unfurl != (fakeslack.Unfurl{Links: true}) {
		t.Errorf("%+v", m.Unfurl)
	}
	s.Archive("U1", "C1")
	for _, method := range []string{"chat.postMessage", "chat.update", "chat.delete", "chat.postEphemeral"} {
		a, _ = call(t, s, method, "channel", "C1", "text", "x", "ts", reply, "user", "U1")
		refused(t, a, "is_archived")
	}
}

func TestUpdate(t *testing.T) {
	s := start(t, fakeslack.Options{})
	ts := said(t, s, "C1", "", "["+section("one")+"]")
	update := func(code string, pairs ...string) {
		t.Helper()
		a, _ := call(t, s, "chat.update", append([]string{"channel", "C1"}, pairs...)...)
		if code == "" {
			ok(t, a, "ts")
			return
		}
		refused(t, a, code)
	}
	update("", "ts", ts, "text", "two", "blocks", "["+section("two")+"]")
	update("", "ts", ts, "blocks", "["+section("three")+"]") // the text stays
	if m, _ := s.Message("C1", ts); m.Text != "two" || len(m.Versions) != 3 || m.Edited || at(m.JSON()[0], "text", "text") != "three" {
		t.Errorf("%+v", m)
	}
	update("", "ts", ts, "text", "four") // the blocks go
	if m, _ := s.Message("C1", ts); m.Text != "four" || m.Blocks != nil || !m.Edited || m.Versions[1].Text != "two" || m.Via != "chat.update" {
		t.Errorf("%+v", m)
	}
	update("", "ts", ts, "text", long(fakeslack.MaxUpdateText))
	update("msg_too_long", "ts", ts, "text", long(fakeslack.MaxUpdateText+1))
	update("invalid_blocks", "ts", ts, "text", "x", "blocks", `[{"type":"fancy"}]`)
	update("no_text", "ts", ts)
	update("message_not_found", "ts", "1.000001", "text", "x")
	update("cant_update_message", "ts", s.Say("U1", "C1", "", "mine"), "text", "x")
	update("cant_update_message", "ts", s.Say("U3BOT", "C1", "", "mine"), "text", "x")
	s.DeleteMessage("C1", ts)
	update("message_not_found", "ts", ts, "text", "x")
	if m, ok := s.Message("C1", ts); !ok || !m.Deleted {
		t.Errorf("%+v", m)
	}
}

func TestDeleteEphemeralPermalink(t *testing.T) {
	s := start(t, fakeslack.Options{})
	root := s.Say("U1", "C1", "", "hi")
	ts := said(t, s, "C1", root, "")
	a, _ := call(t, s, "chat.getPermalink", "channel", "C1", "message_ts", ts)
	if link := ok(t, a, "permalink"); !strings.Contains(link, "/archives/C1/p"+strings.ReplaceAll(ts, ".", "")+"?thread_ts="+root) {
		t.Error(link)
	}
	a, _ = call(t, s, "chat.delete", "channel", "C1", "ts", root)
	refused(t, a, "cant_delete_message")
	a, _ = call(t, s, "chat.delete", "channel", "C1", "ts", ts)
	ok(t, a, "")
	for _, method := range []string{"chat.delete", "chat.getPermalink"} {
		a, _ = call(t, s, method, "channel", "C1", "ts", ts, "message_ts", ts)
		refused(t, a, "message_not_found")
	}
	if got := s.Messages("C1", root); len(got) != 1 || got[0].Replies != 0 {
		t.Errorf("%+v", got)
	}
	a, _ = call(t, s, "chat.postEphemeral", "channel", "C1", "user", "U2", "text", "psst", "thread_ts", root)
	ok(t, a, "")
	if e := s.Ephemerals("U2"); len(e) != 1 || e[0].Text != "psst" || e[0].Thread != root || len(s.Ephemerals("U1")) != 0 {
		t.Errorf("%+v", e)
	}
	a, _ = call(t, s, "chat.postEphemeral", "channel", "C2", "user", "U2", "text", "psst")
	refused(t, a, "user_not_in_channel")
	a, _ = call(t, s, "chat.update", "channel", "C1", "ts", s.Ephemerals("U2")[0].TS, "text", "no")
	refused(t, a, "message_not_found")
}

func TestReading(t *testing.T) {
	s := start(t, fakeslack.Options{Enterprise: "E1"})
	s.AddUser(fakeslack.User{ID: "U4", Team: "T2", EnterpriseID: "E2", Stranger: true})
	s.AddUser(fakeslack.User{ID: "U5", UltraGuest: true, Deleted: true})
	root := s.Say("U1", "C1", "", "hi <there> & all")
	for i := range 3 {
		s.Say("U2", "C1", root, fmt.Sprint("reply ", i))
	}
	a, _ := call(t, s, "chat.postMessage", "channel", "C1", "thread_ts", root, "text", "x", "metadata", `{"event_type":"k","event_payload":{"a":1}}`)
	mine := ok(t, a, "ts")
	a, _ = call(t, s, "conversations.replies", "channel", "C1", "ts", root, "limit", "2")
	ok(t, a, "")
	if at(a, "messages", 0, "ts") != root || at(a, "messages", 0, "text") != "hi &lt;there&gt; &amp; all" || a["has_more"] != true {
		t.Errorf("%v", a)
	}
	next := at(a, "response_metadata", "next_cursor").(string)
	a, _ = call(t, s, "conversations.replies", "channel", "C1", "ts", root, "cursor", next, "include_all_metadata", "true")
	if got := a["messages"].([]any); len(got) != 3 || at(got[2], "ts") != mine || at(got[2], "metadata", "event_payload", "a") != 1.0 || at(got[0], "text") != "reply 1" || a["has_more"] != false {
		t.Errorf("%v", a)
	}
	a, _ = call(t, s, "conversations.replies", "channel", "C1", "ts", root)
	if at(a, "messages", 4, "metadata") != nil {
		t.Error("metadata, and nobody asked")
	}
	s.DeleteMessage("C1", s.Messages("C1", root)[1].TS)
	a, _ = call(t, s, "conversations.replies", "channel", "C1", "ts", root, "oldest", s.Messages("C1", root)[1].TS)
	if got := a["messages"].([]any); len(got) != 3 || at(got[1], "text") != "reply 2" { // the root always, oldest itself not
		t.Errorf("%v", a)
	}
	s.Say("U1", "C1", "", "later")
	a, _ = call(t, s, "conversations.history", "channel", "C1")
	if got := a["messages"].([]any); len(got) != 2 || at(got[0], "text") != "later" {
		t.Errorf("%v", a)
	}
	for _, c := range [][]string{{"channel_not_found", "channel", "C9"}, {"not_in_channel", "channel", "C3", "ts", root}, {"thread_not_found", "channel", "C1", "ts", "1.000001"},
		{"invalid_limit", "channel", "C1", "ts", root, "limit", "0"}, {"invalid_cursor", "channel", "C1", "ts", root, "cursor", "x"}} {
		a, _ = call(t, s, "conversations.replies", c[1:]...)
		refused(t, a, c[0])
	}
	a, _ = call(t, s, "conversations.info", "channel", "C2")
	if at(a, "channel", "is_private") != true || at(a, "channel", "is_member") != true {
		t.Errorf("%v", a)
	}
	a, _ = call(t, s, "users.info", "user", "U4")
	if at(a, "user", "is_stranger") != true || at(a, "user", "team_id") != "T2" || at(a, "user", "enterprise_user", "enterprise_id") != "E2" {
		t.Errorf("%v", a)
	}
	a, _ = call(t, s, "users.info", "user", "U5")
	if at(a, "user", "is_ultra_restricted") != true || at(a, "user", "is_restricted") != true || at(a, "user", "deleted") != true || at(a, "user", "enterprise_user", "enterprise_id") != "E1" {
		t.Errorf("%v", a)
	}
	a, _ = call(t, s, "users.info", "user", "U9")
	refused(t, a, "user_not_found")
}

func TestTokens(t *testing.T) {
	s := start(t, fakeslack.Options{Scopes: []string{"chat:write"}})
	form := func(token string) map[string]any {
		a, _ := post(t, s.URL()+"auth.test", "application/x-www-form-urlencoded", "token="+token, "")
		return a
	}
	refused(t, form(""), "not_authed")
	refused(t, form("xoxb-wrong"), "invalid_auth")
	refused(t, form(s.AppToken()), "not_allowed_token_type")
	if a := form(s.BotToken()); ok(t, a, "user_id") != s.BotUser() || a["bot_id"] != s.BotID() || a["team_id"] != s.Team() {
		t.Errorf("%v", a)
	}
	a, _ := post(t, s.URL()+"auth.test", "application/json", "{}", s.BotToken())
	ok(t, a, "")
	a, _ = post(t, s.URL()+"apps.connections.open", "application/json", "", s.BotToken())
	refused(t, a, "not_allowed_token_type")
	a, res := call(t, s, "users.info", "user", "U1")
	refused(t, a, "missing_scope")
	if got := res.Header.Get("X-OAuth-Scopes"); got != "chat:write" { // with every answer
		t.Errorf("scopes %q", got)
	}
	if a["needed"] != "users:read" || a["provided"] != "chat:write" {
		t.Errorf("%v", a)
	}
	a, _ = call(t, s, "chat.frobnicate")
	refused(t, a, "unknown_method")
	a, _ = post(t, s.URL()+"api.test", "application/json", `{"error":"my_error"}`, "")
	refused(t, a, "my_error")
	for _, c := range s.Calls() {
		if c.Values.Has("token") {
			t.Errorf("the journal of %s has the token", c.Method)
		}
	}
}
