package fakeslack_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack"
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

func TestAcknowledgedIsOver(t *testing.T) {
	clock := fakeslack.NewManual()
	s := start(t, fakeslack.Options{Clock: clock})
	w := dial(t, s)
	d := s.Send(map[string]any{"type": "team_join"})
	first := w.next()
	s.Redeliver(d, false) // the first is still open
	second := w.next()
	w.ack(first, "one")
	if got, err := d.Wait(within(t)); err != nil || string(got.Answer) != `"one"` {
		t.Fatalf("%+v %v", got, err)
	}
	w.ack(first, "again")
	w.ack(second, "two")
	wait(t, s, "the second", func() bool { return !d.Attempts()[1].Acked.IsZero() })
	if got, err := d.Wait(within(t)); err != nil || string(got.Answer) != `"one"` || string(d.Attempts()[1].Answer) != `"two"` {
		t.Errorf("%+v %v", got, err)
	}
	s.Redeliver(d, false)
	third := w.next()
	clock.Advance(time.Hour) // nobody acknowledges the third, and nothing comes of that
	if a := d.Attempts(); len(a) != 3 || a[2].Failed != "timeout" {
		t.Errorf("%+v", a)
	}
	w.ack(third, nil)
	wait(t, s, "the third", func() bool { return d.Attempts()[2].Late })

	d = s.Send(map[string]any{"type": "team_join"})
	first = w.next()
	s.Redeliver(d, false)
	second = w.next()
	clock.Advance(fakeslack.AckWithin + time.Minute) // both fail; only the last one is followed by another
	w.next()
	w.quiet()
	if n := len(d.Attempts()); n != 3 || first["envelope_id"] == second["envelope_id"] {
		t.Errorf("%d attempts", n)
	}
}

func TestRedeliverOverHTTP(t *testing.T) {
	s := start(t, fakeslack.Options{})
	a := &app{secret: s.SigningSecret()}
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	if err := s.Deliver(fakeslack.Endpoints{Events: srv.URL}); err != nil {
		t.Fatal(err)
	}
	d := s.Send(map[string]any{"type": "team_join"})
	if _, err := d.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	s.Redeliver(d, true)
	if got := attempts(t, s, d, 2); got[1].Number != 1 {
		t.Errorf("%+v", got)
	}
	wait(t, s, "the answer", func() bool { return !d.Attempts()[1].Acked.IsZero() })
	s.Close()
	if d := s.Send(map[string]any{"type": "team_join"}); len(d.Attempts()) != 0 {
		t.Error("it was sent by a closed server")
	}
}

func TestModalInputs(t *testing.T) {
	s := start(t, fakeslack.Options{})
	w := dial(t, s)
	ts := said(t, s, "C1", "", "["+actions(button("a", ""))+"]")
	option := func(v string) string { return `{"text":{"type":"plain_text","text":"` + v + `"},"value":"` + v + `"}` }
	in := func(id, optional, element string) string {
		return `{"type":"input","block_id":"` + id + `","optional":` + optional + `,"label":{"type":"plain_text","text":"L"},"element":{"action_id":"x` + id + `",` + element + `}}`
	}
	form := modal(strings.Join([]string{section("above"),
		in("note", "true", `"type":"plain_text_input","min_length":5`),
		in("pick", "false", `"type":"static_select","options":[`+option("one")+`,`+option("two")+`],"initial_option":`+option("two")),
		in("none", "true", `"type":"radio_buttons","options":[`+option("one")+`]`),
		in("ticks", "false", `"type":"checkboxes","options":[`+option("t1")+`,`+option("t2")+`]`),
		in("many", "false", `"type":"multi_static_select","options":[`+option("m1")+`,`+option("m2")+`]`),
		in("count", "true", `"type":"number_input","is_decimal_allowed":false,"min_value":"1","max_value":"9"`),
		in("day", "true", `"type":"datepicker","initial_date":"2026-11-21"`), in("when", "true", `"type":"datetimepicker"`), in("page", "true", `"type":"url_text_input"`),
		in("mail", "true", `"type":"email_text_input"`)}, ","))
	cb, _ := pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.Click("U2", "C1", ts, "a") })
	a, _ := post(t, s.URL()+"views.open", "application/json", `{"trigger_id":"`+cb.TriggerID+`","view":`+form+`}`, s.BotToken())
	view := at(a, "view", "id")
	if view == nil {
		t.Fatalf("%v", a)
	}
	if _, err := s.SubmitView("U2", view.(string), map[string]string{"ticks": "t2"}); err == nil { // many is missing
		t.Error("submitted")
	}
	if _, err := s.SubmitView("U2", view.(string), map[string]string{"ticks": "t2", "many": "m1", "note": "four"}); err == nil {
		t.Error("submitted a note that is too short")
	}
	for block, wrong := range map[string][]string{"mail": {long(10)}, "count": {"0", "10", "1.5", "x"}, "day": {"tomorrow"}, "when": {"soon"}, "page": {"example"}} {
		for _, w := range wrong {
			if _, err := s.SubmitView("U2", view.(string), map[string]string{"ticks": "t2", "many": "m1", block: w}); err == nil {
				t.Errorf("submitted %q as %s", w, block)
			}
		}
	}
	if _, err := s.SubmitView("U2", view.(string), map[string]string{"ticks": "t2", "many": "m1\nm2", "mail": "ana@example.com", "count": "3", "when": "1795269720", "page": "https://example.com"}); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(at(w.next(), "payload", "view", "state", "values"))
	for _, want := range []string{"note:map[xnote:map[type:plain_text_input value:<nil>]]", "xpick:map[selected_option:map[text:map[emoji:true text:two type:plain_text] value:two] type:static_select]",
		"xnone:map[selected_option:<nil> type:radio_buttons]", "xticks:map[selected_options:[map[text:map[emoji:true text:t2 type:plain_text] value:t2]] type:checkboxes]", "xmany:map[selected_options:[", "value:m1]", "value:m2]", "value:ana@example.com", "value:3]", "selected_date:2026-11-21", "selected_date_time:1.79526972e+09"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if strings.Contains(got, "above") || s.ViewButtons("V9") != nil {
		t.Error("what is no input came along")
	}
	for _, c := range [][2]string{{`{"type":"drawer","title":{"type":"plain_text","text":"T"},"blocks":[]}`, "unsupported type: drawer"}, {`null`, "missing required field: view"},
		{modal(strings.TrimSuffix(strings.Repeat(section(long(2900))+",", 90), ",")), "view_too_large"},
		{modal(`{"type":"actions","elements":["x"]}`), "must be an object"}, {modal(`{"type":"actions","elements":[{"type":"slider"}]}`), "unsupported type: slider"}} {
		a, _ := post(t, s.URL()+"views.open", "application/json", `{"trigger_id":"x","view":`+c[0]+`}`, s.BotToken())
		if !strings.Contains(asJSON(a), c[1]) {
			t.Errorf("%v lacks %s", a, c[1])
		}
	}
	home := `{"type":"home","blocks":[` + in("x", "true", `"type":"plain_text_input"`) + `,{"type":"video","anything":1},{"type":"divider","block_id":""},{"type":"divider","block_id":""}]}`
	a, _ = post(t, s.URL()+"views.publish", "application/json", `{"user_id":"U1","view":`+home+`}`, s.BotToken())
	ok(t, a, "") // a Home tab has no submit; kinds that nothing here looks into are let through; an empty ID is none
}
