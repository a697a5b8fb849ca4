package fakeslack_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/fakeslack"
)

func TestAgentEdges(t *testing.T) {
	s := start(t, fakeslack.Options{})
	dm := s.DM("U1")
	thread := s.Say("U1", dm, "", "hi")
	reply := s.Say("U1", dm, thread, "more")
	a, _ := call(t, s, "agents.sessions.setStatus", "channel_id", dm, "thread_ts", thread, "status", "processing")
	if ok(t, a, "warning") != "" { // everything is subscribed
		t.Errorf("%v", a)
	}
	prompts := `[{"title":"a","message":"b"}]`
	for _, c := range [][]string{
		{"thread_not_found", "agents.sessions.setStatus", "channel_id", dm, "status", "active"},
		{"thread_not_found", "agents.sessions.setStatus", "channel_id", dm, "thread_ts", reply, "status", "active"},
		{"invalid_arguments", "agents.sessions.setStatus", "channel_id", dm, "thread_ts", thread, "status", "active", "title", long(201)},
		{"invalid_arguments", "agents.sessions.rename", "channel_id", dm, "thread_ts", thread, "title", ""},
		{"invalid_arguments", "assistant.threads.setStatus", "channel_id", dm, "thread_ts", thread},
		{"invalid_arguments", "assistant.threads.setStatus", "channel_id", dm, "thread_ts", thread, "status", "x", "loading_messages", strings.Repeat("x,", 10) + "x"},
		{"thread_not_found", "assistant.threads.setStatus", "channel_id", dm, "thread_ts", reply, "status", "x"},
		{"channel_not_found", "assistant.threads.setTitle", "channel_id", "C9", "thread_ts", thread, "title", "x"},
		{"invalid_arguments", "assistant.threads.setSuggestedPrompts", "channel_id", dm, "prompts", `[]`},
		{"invalid_arguments", "assistant.threads.setSuggestedPrompts", "channel_id", dm, "prompts", `[{"title":"","message":"b"}]`},
		{"invalid_arguments", "assistant.threads.setSuggestedPrompts", "channel_id", dm, "prompts", `[{"title":"a","message":""}]`},
		{"channel_not_found", "assistant.threads.setSuggestedPrompts", "channel_id", "C9", "prompts", prompts},
		{"channel_not_found", "assistant.threads.setSuggestedPrompts", "channel_id", "C1", "prompts", prompts},
		{"thread_not_found", "assistant.threads.setSuggestedPrompts", "channel_id", dm, "thread_ts", reply, "prompts", prompts},
	} {
		a, _ := call(t, s, c[1], c[2:]...)
		if a["error"] != c[0] {
			t.Errorf("%v: %v", c, a)
		}
	}
	a, _ = call(t, s, "agents.sessions.setStatus", "channel_id", dm, "thread_ts", thread, "status", "closed")
	if ok(t, a, "warning") != "" {
		t.Errorf("%v", a)
	}
	quiet := start(t, fakeslack.Options{Events: []string{"message.im"}})
	dm = quiet.DM("U1")
	a, _ = call(t, quiet, "agents.sessions.setStatus", "channel_id", dm, "thread_ts", quiet.Say("U1", dm, "", "hi"), "status", "active")
	if ok(t, a, "warning") != "" { // only processing has a stop button
		t.Errorf("%v", a)
	}
}

func TestRequestForms(t *testing.T) {
	s := start(t, fakeslack.Options{Scopes: []string{"groups:history", "chat:write"}})
	for _, c := range []struct{ kind, body, code string }{
		{"application/json", `{`, "invalid_json"},
		{"application/json", `[]`, "invalid_json"},
		{"application/x-www-form-urlencoded", `a=%zz`, "invalid_form_data"},
		{"multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\ncut", "invalid_form_data"},
		{"text/plain", `a=b`, "invalid_post_type"},
	} {
		a, _ := post(t, s.URL()+"auth.test", c.kind, c.body, s.BotToken())
		refused(t, a, c.code)
	}
	a, _ := post(t, s.URL()+"chat.postMessage", "application/json", `{"channel":"C1","text":"x","blocks":[{"type":"divider"}],"unfurl_media":false,"thread_ts":null}`, s.BotToken())
	if m, _ := s.Message("C1", ok(t, a, "ts")); string(m.Blocks) != `[{"type":"divider"}]` || m.Unfurl.Media {
		t.Errorf("%+v", m)
	}
	a, _ = call(t, s, "conversations.history", "channel", "C2") // any of its scopes is enough
	ok(t, a, "")
	s.Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	if _, res := call(t, s, "auth.test"); res.StatusCode != 200 {
		t.Error(res.Status)
	}
	if _, res := post(t, strings.TrimSuffix(s.URL(), "api/"), "text/plain", "", ""); res.StatusCode != http.StatusTeapot {
		t.Error(res.Status)
	}
}

func TestChatEdges(t *testing.T) {
	s := start(t, fakeslack.Options{})
	root := s.Say("U1", "C1", "", "hi")
	md := `{"event_type":"k","event_payload":{"a":1}}`
	a, _ := call(t, s, "chat.postMessage", "channel", "C1", "blocks", "["+section("only blocks")+"]", "metadata", md)
	ts := ok(t, a, "ts")
	for _, c := range []struct {
		pairs              []string
		text, blocks, meta string
	}{
		{[]string{"text", "x", "blocks", "[]"}, "x", "", md},
		{[]string{"text", "", "blocks", "[]"}, "x", "", md}, // blocks were given: nothing is left to say, and that is allowed
		{[]string{"text", "y", "metadata", "{}"}, "y", "", ""},
		{[]string{"text", "z", "metadata", md}, "z", "", md},
	} {
		a, _ = call(t, s, "chat.update", append([]string{"channel", "C1", "ts", ts}, c.pairs...)...)
		ok(t, a, "")
		if m, _ := s.Message("C1", ts); m.Text != c.text || string(m.Blocks) != c.blocks || string(m.Metadata) != c.meta {
			t.Errorf("%v: %+v", c.pairs, m.Version)
		}
	}
	for _, c := range [][]string{
		{"invalid_metadata_schema", "channel", "C1", "text", "x", "metadata", `{"event_type":"k"}`},
		{"invalid_metadata_schema", "channel", "C1", "text", "x", "metadata", `{"event_type":"","event_payload":{}}`},
		{"channel_not_found", "channel", "U3BOT", "text", "x"}, // no conversation with another bot
	} {
		a, _ = call(t, s, "chat.postMessage", c[1:]...)
		refused(t, a, c[0])
	}
	// a deleted root keeps its thread as long as there are replies
	reply := said(t, s, "C1", root, "")
	s.DeleteMessage("C1", root)
	said(t, s, "C1", root, "")
	alone := s.Say("U1", "C1", "", "alone")
	s.DeleteMessage("C1", alone)
	a, _ = call(t, s, "chat.postMessage", "channel", "C1", "text", "x", "thread_ts", alone)
	refused(t, a, "thread_not_found")
	if m, _ := s.Message("C1", reply); m.Thread != root {
		t.Errorf("%+v", m)
	}
	open := start(t, fakeslack.Options{Scopes: []string{"chat:write", "chat:write.public"}})
	said(t, open, "C3", "", "")
	open.AddChannel(fakeslack.Channel{ID: "C5", Kind: fakeslack.Private})
	a, _ = call(t, open, "chat.postMessage", "channel", "C5", "text", "x")
	refused(t, a, "channel_not_found")
}
