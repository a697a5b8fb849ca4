package fakeslack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

const overflow = `{"type":"overflow","action_id":"more","options":[{"text":{"type":"plain_text","text":"Details"},"value":"d"},{"text":{"type":"plain_text","text":"Why?"},"value":"w"}]}`

// pressed clicks and gives the payload that came, as the real library reads it and as it stands.
func pressed(t *testing.T, s *fakeslack.Server, w *wire, what func() (*fakeslack.Delivery, error)) (slack.InteractionCallback, map[string]any) {
	t.Helper()
	if _, err := what(); err != nil {
		t.Fatal(err)
	}
	f := w.next()
	for f["type"] != "interactive" { // events of what the bot did
		w.ack(f, nil)
		f = w.next()
	}
	w.ack(f, nil)
	var cb slack.InteractionCallback
	if err := json.Unmarshal([]byte(asJSON(f["payload"])), &cb); err != nil {
		t.Fatal(err)
	}
	return cb, f["payload"].(map[string]any)
}

func TestClick(t *testing.T) {
	s := start(t, fakeslack.Options{Enterprise: "E1"})
	s.AddUser(fakeslack.User{ID: "U4", Team: "T2"})
	w := dial(t, s)
	root := s.Say("U1", "C1", "", "hi")
	ts := said(t, s, "C1", root, `[`+section("a < b & <@U1>")+`,{"type":"markdown","text":"*x*"},{"type":"actions","block_id":"b1","elements":[`+button("allow", `,"value":"tok & <1>","style":"danger"`)+`,`+overflow+
		`,{"type":"checkboxes","action_id":"keep","options":[{"text":{"type":"mrkdwn","text":"Remember"},"value":"r"}]}]},`+container(actions(button("deny", `,"value":"no"`)))+`]`)
	cb, raw := pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.Click("U4", "C1", ts, "allow") })
	a := cb.ActionCallback.BlockActions[0]
	if cb.Type != slack.InteractionTypeBlockActions || a.ActionID != "allow" || a.BlockID != "b1" || a.Value != "tok & <1>" || a.Text.Text != "Go" || a.ActionTs == "" {
		t.Errorf("%+v", a)
	}
	if cb.User.ID != "U4" || cb.User.TeamID != "T2" || cb.Team.ID != s.Team() || cb.Enterprise.ID != "E1" || cb.Channel.ID != "C1" {
		t.Errorf("%+v %+v", cb.User, cb.Team)
	}
	if cb.Container.MessageTs != ts || cb.Container.ThreadTs != root || cb.Container.ChannelID != "C1" || cb.Container.IsEphemeral || cb.TriggerID == "" || cb.ResponseURL == "" {
		t.Errorf("%+v", cb.Container)
	}
	if _, ok := at(raw, "container").(map[string]any)["attachment_id"]; ok {
		t.Error("an attachment_id, which must be a number if it is there")
	}
	// what comes back is not what was sent
	if got := at(raw, "message", "blocks", 0, "text", "text"); got != "a &lt; b &amp; <@U1>" {
		t.Errorf("%q", got)
	}
	if at(raw, "message", "blocks", 1, "type") != "rich_text" || at(raw, "message", "blocks", 0, "block_id") == nil || cb.Message.Timestamp != ts {
		t.Errorf("%v", at(raw, "message"))
	}
	for what, want := range map[string]string{"Details": "more=d", "more=w": "more=w", "w": "more=w"} {
		cb, _ = pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.Click("U1", "C1", ts, what) })
		if a := cb.ActionCallback.BlockActions[0]; a.ActionID+"="+a.SelectedOption.Value != want || a.Type != "overflow" {
			t.Errorf("%s: %+v", what, a)
		}
	}
	cb, _ = pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.Click("U1", "C1", ts, "Remember") })
	if a := cb.ActionCallback.BlockActions[0]; len(a.SelectedOptions) != 1 || cb.BlockActionState.Values["b1"]["keep"].SelectedOptions[0].Value != "r" {
		t.Errorf("%+v %+v", a, cb.BlockActionState)
	}
	cb, _ = pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.Click("U1", "C1", ts, "no") }) // in the container
	if cb.ActionCallback.BlockActions[0].ActionID != "deny" {
		t.Errorf("%+v", cb.ActionCallback.BlockActions[0])
	}
	for _, what := range []string{"Go", "more", "nothing"} { // two, two, none
		if _, err := s.Click("U1", "C1", ts, what); err == nil || !strings.Contains(err.Error(), "answer to") {
			t.Errorf("%s: %v", what, err)
		}
	}
	call(t, s, "chat.update", "channel", "C1", "ts", ts, "text", "over")
	if _, err := s.Click("U1", "C1", ts, "allow"); err == nil {
		t.Error("a button that went away")
	}
	cb, raw = pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.ClickStale("U1", "C1", ts, 0, "allow") })
	if cb.ActionCallback.BlockActions[0].Value != "tok & <1>" || at(raw, "message", "blocks", 1, "type") != "rich_text" {
		t.Errorf("%v", raw)
	}
	cb, _ = pressed(t, s, w, func() (*fakeslack.Delivery, error) {
		return s.Press("U1", "C1", ts, fakeslack.Button{ActionID: "forged", Value: "x"})
	})
	if cb.ActionCallback.BlockActions[0].ActionID != "forged" {
		t.Errorf("%+v", cb.ActionCallback.BlockActions[0])
	}
	s.DeleteMessage("C1", ts)
	if _, err := s.Click("U1", "C1", ts, "allow"); err == nil {
		t.Error("a click on a deleted message")
	}
	if s.Buttons("C1", ts) != nil {
		t.Error("it still has buttons")
	}
	pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.ClickStale("U1", "C1", ts, 0, "allow") })
}

func TestResponseURL(t *testing.T) {
	clock := fakeslack.NewManual()
	s := start(t, fakeslack.Options{Clock: clock})
	w := dial(t, s)
	root := s.Say("U1", "C1", "", "hi")
	blocks := "[" + actions(button("a", "")) + "]"
	ts := said(t, s, "C1", root, blocks)
	link := func() string {
		cb, _ := pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.Click("U2", "C1", ts, "a") })
		return cb.ResponseURL
	}
	respond := func(address string, code int, body map[string]any) map[string]any {
		t.Helper()
		a, res := post(t, address, "application/json", asJSON(body), "")
		if res.StatusCode != code || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
			t.Errorf("%v %v: %v", res.Status, res.Header, a)
		}
		return a
	}
	one := link()
	respond(one, 200, map[string]any{"text": "psst", "thread_ts": root})
	if e := s.Ephemerals("U2"); len(e) != 1 || e[0].Text != "psst" || e[0].Thread != root || e[0].Via != "response_url" {
		t.Errorf("%+v", e)
	}
	respond(one, 200, map[string]any{"replace_original": true, "text": "new", "blocks": json.RawMessage(blocks)})
	if m, _ := s.Message("C1", ts); m.Text != "new" || m.Via != "response_url" || m.Blocks == nil {
		t.Errorf("%+v", m)
	}
	respond(one, 200, map[string]any{"text": "for all", "response_type": "in_channel", "thread_ts": root})
	if m := s.Messages("C1", root); len(m) != 3 || m[2].Text != "for all" || m[2].User != s.BotUser() {
		t.Errorf("%+v", m)
	}
	refused(t, respond(one, 200, map[string]any{"text": "x", "blocks": []any{map[string]any{"type": "fancy"}}}), "invalid_blocks")
	refused(t, respond(one, 200, map[string]any{}), "no_text")
	refused(t, respond(one, 404, map[string]any{"text": "the sixth"}), "used_url")
	refused(t, respond(one+"0", 404, map[string]any{"text": "x"}), "invalid_url")
	two := link()
	clock.Advance(fakeslack.ResponseFor + time.Second)
	refused(t, respond(two, 404, map[string]any{"text": "x"}), "expired_url")
	three := link()
	respond(three, 200, map[string]any{"delete_original": true})
	if m, _ := s.Message("C1", ts); !m.Deleted {
		t.Error("it is still there")
	}
	refused(t, respond(three, 404, map[string]any{"replace_original": true, "text": "x"}), "message_not_found")
	if n := s.Count("response_url"); n != 4 {
		t.Errorf("%d counted", n)
	}
}

func TestEphemeralButtons(t *testing.T) {
	s := start(t, fakeslack.Options{})
	w := dial(t, s)
	root := s.Say("U1", "C1", "", "hi")
	a, _ := call(t, s, "chat.postEphemeral", "channel", "C1", "user", "U2", "text", "x", "thread_ts", root, "blocks", "["+actions(button("a", ""))+"]")
	ok(t, a, "")
	if _, err := s.ClickEphemeral("U1", "a"); err == nil {
		t.Error("Ana saw it")
	}
	cb, _ := pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.ClickEphemeral("U2", "a") })
	if !cb.Container.IsEphemeral || cb.Container.ThreadTs != root || cb.Message.Timestamp != "" {
		t.Errorf("%+v", cb.Container)
	}
	post(t, cb.ResponseURL, "application/json", `{"replace_original":true,"text":"done"}`, "")
	if e := s.Ephemerals("U2"); len(e) != 1 || e[0].Text != "done" {
		t.Errorf("%+v", e)
	}
	post(t, cb.ResponseURL, "application/json", `{"delete_original":true}`, "")
	if e := s.Ephemerals("U2"); len(e) != 0 {
		t.Errorf("%+v", e)
	}
}

func TestSlash(t *testing.T) {
	s := start(t, fakeslack.Options{})
	w := dial(t, s)
	d := s.Slash("U2", "C2", "/nod", "status now")
	f := w.next()
	var cmd slack.SlashCommand
	if err := json.Unmarshal([]byte(asJSON(f["payload"])), &cmd); err != nil {
		t.Fatal(err)
	}
	if f["type"] != "slash_commands" || f["accepts_response_payload"] != true || cmd.Command != "/nod" || cmd.Text != "status now" || cmd.UserID != "U2" || cmd.ChannelID != "C2" ||
		cmd.ChannelName != "privategroup" || cmd.TeamID != s.Team() || cmd.TriggerID == "" || cmd.ResponseURL == "" {
		t.Errorf("%+v", cmd)
	}
	w.ack(f, map[string]any{"text": "here", "blocks": []any{map[string]any{"type": "divider"}}})
	if _, err := d.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	post(t, cmd.ResponseURL, "application/json", `{"text":"and there"}`, "")
	if e := s.Ephemerals("U2"); len(e) != 2 || e[0].Text != "here" || e[0].Blocks == nil || e[1].Text != "and there" || e[1].Channel != "C2" {
		t.Errorf("%+v", e)
	}
}

func modal(more string) string {
	return `{"type":"modal","callback_id":"cb","private_metadata":"meta","title":{"type":"plain_text","text":"Why?"},"submit":{"type":"plain_text","text":"Deny"},"blocks":[` + more + `]}`
}

const reason = `{"type":"input","block_id":"reason","label":{"type":"plain_text","text":"Reason"},"element":{"type":"plain_text_input","action_id":"in","max_length":10,"min_length":2,"initial_value":"first"}}`

func TestModal(t *testing.T) {
	clock := fakeslack.NewManual()
	s := start(t, fakeslack.Options{Clock: clock})
	w := dial(t, s)
	ts := said(t, s, "C1", "", "["+actions(button("a", ""))+"]")
	trigger := func() string {
		cb, _ := pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.Click("U2", "C1", ts, "a") })
		return cb.TriggerID
	}
	open := func(id, view string) map[string]any {
		t.Helper()
		a, _ := post(t, s.URL()+"views.open", "application/json", `{"trigger_id":"`+id+`","view":`+view+`}`, s.BotToken())
		return a
	}
	late := trigger()
	clock.Advance(fakeslack.TriggerFor + time.Millisecond)
	refused(t, open(late, modal(reason)), "expired_trigger_id")
	refused(t, open("1.2.3", modal(reason)), "invalid_trigger_id")
	refused(t, open("", modal(reason)), "invalid_arguments")
	id := trigger()
	clock.Advance(fakeslack.TriggerFor)
	a := open(id, modal(reason))
	ok(t, a, "")
	refused(t, open(id, modal(reason)), "exchanged_trigger_id")
	view := at(a, "view", "id").(string)
	if v := s.Views("U2"); len(v) != 1 || v[0].ID != view || v[0].Title != "Why?" || v[0].PrivateMetadata != "meta" || len(s.Views("U1")) != 0 {
		t.Fatalf("%+v", v)
	}
	for _, bad := range []map[string]string{{"reason": ""}, {"reason": "x"}, {"reason": long(11)}, {"other": "x"}} {
		if _, err := s.SubmitView("U2", view, bad); err == nil {
			t.Errorf("submitted %v", bad)
		}
	}
	if _, err := s.SubmitView("U1", view, nil); err == nil {
		t.Error("somebody else submitted it")
	}
	submit := func(values map[string]string, answer any) map[string]any {
		t.Helper()
		d, err := s.SubmitView("U2", view, values)
		if err != nil {
			t.Fatal(err)
		}
		f := w.next()
		w.ack(f, answer)
		if _, err := d.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := submit(map[string]string{"reason": "because"}, map[string]any{"response_action": "errors", "errors": map[string]any{"reason": "not good"}})
	if at(f, "payload", "view", "state", "values", "reason", "in", "value") != "because" || at(f, "payload", "view", "private_metadata") != "meta" ||
		at(f, "payload", "view", "callback_id") != "cb" || at(f, "payload", "user", "id") != "U2" || f["accepts_response_payload"] != true {
		t.Errorf("%v", f)
	}
	if v := s.Views("U2"); len(v) != 1 || v[0].Errors["reason"] != "not good" {
		t.Errorf("%+v", v)
	}
	submit(nil, map[string]any{"response_action": "errors", "errors": map[string]any{"elsewhere": "x"}})
	if v := s.Views("U2"); !strings.Contains(v[0].Errors[""], "trouble connecting") {
		t.Errorf("%+v", v)
	}
	submit(nil, map[string]any{"response_action": "update", "view": json.RawMessage(modal(`{"type":"fancy"}`))})
	if v := s.Views("U2"); !strings.Contains(v[0].Errors[""], "trouble connecting") {
		t.Errorf("%+v", v)
	}
	submit(nil, map[string]any{"response_action": "push", "view": json.RawMessage(modal(reason))})
	if v := s.Views("U2"); len(v) != 2 || v[1].Previous != view || v[1].Root != view {
		t.Fatalf("%+v", v)
	}
	view = s.Views("U2")[1].ID
	f = submit(nil, nil) // closes the one on top; what was not filled in keeps its value
	if at(f, "payload", "view", "state", "values", "reason", "in", "value") != "first" {
		t.Errorf("%v", f)
	}
	view = s.Views("U2")[0].ID
	submit(nil, map[string]any{"response_action": "clear"})
	if v := s.Views("U2"); len(v) != 0 {
		t.Errorf("%+v", v)
	}
}

func focused(id string) string {
	return `{"type":"input","label":{"type":"plain_text","text":"l"},"element":{"type":"plain_text_input","action_id":"` + id + `","focus_on_load":true}}`
}

func TestViewMethods(t *testing.T) {
	s := start(t, fakeslack.Options{})
	w := dial(t, s)
	ts := said(t, s, "C1", "", "["+actions(button("a", ""))+"]")
	views := func(method, more string) map[string]any {
		a, _ := post(t, s.URL()+"views."+method, "application/json", `{`+more+`}`, s.BotToken())
		return a
	}
	click := func() string {
		cb, _ := pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.Click("U2", "C1", ts, "a") })
		return cb.TriggerID
	}
	page := strings.Replace(modal(actions(button("next", `,"value":"2"`))), `"type":"modal"`, `"type":"modal","notify_on_close":true`, 1)
	a := views("open", `"trigger_id":"`+click()+`","view":`+page)
	id, hash := at(a, "view", "id").(string), at(a, "view", "hash").(string)
	refused(t, views("push", `"trigger_id":"`+click()+`","view":`+page), "not_found") // that click was not in a modal
	inView := func() (string, map[string]any) {
		top := s.Views("U2")
		cb, raw := pressed(t, s, w, func() (*fakeslack.Delivery, error) { return s.ClickInView("U2", top[len(top)-1].ID, "next") })
		return cb.TriggerID, raw
	}
	trigger, raw := inView()
	if at(raw, "container", "view_id") != id || at(raw, "view", "private_metadata") != "meta" || at(raw, "actions", 0, "value") != "2" || at(raw, "response_url") != nil {
		t.Errorf("%v", raw)
	}
	ok(t, views("push", `"trigger_id":"`+trigger+`","view":`+page), "")
	trigger, _ = inView()
	ok(t, views("push", `"trigger_id":"`+trigger+`","view":`+page), "")
	trigger, _ = inView()
	refused(t, views("push", `"trigger_id":"`+trigger+`","view":`+page), "push_limit_reached")
	b := views("update", `"view_id":"`+id+`","hash":"`+hash+`","view":`+modal(section("two")))
	ok(t, b, "")
	refused(t, views("update", `"view_id":"`+id+`","hash":"`+hash+`","view":`+page), "hash_conflict")
	refused(t, views("update", `"view_id":"V9","view":`+page), "not_found")
	top := s.Views("U2")[2].ID
	d := s.CloseView("U2", top)
	if f := w.next(); at(f, "payload", "type") != "view_closed" || at(f, "payload", "view", "id") != top {
		t.Errorf("%v", f)
	}
	if d == nil || len(s.Views("U2")) != 2 {
		t.Errorf("%v", s.Views("U2"))
	}
	if s.CloseView("U2", id) != nil { // the update no longer asked to be told
		t.Error("told")
	}
	home := `{"type":"home","blocks":[{"type":"divider"}]}`
	ok(t, views("publish", `"user_id":"U1","view":`+home), "")
	if v, have := s.Home("U1"); !have || v.Type != "home" {
		t.Errorf("%+v", v)
	}
	refused(t, views("publish", `"user_id":"U9","view":`+home), "user_not_found")
	was, _ := s.Home("U1")
	s.OpenHome("U1")
	for f := w.next(); ; f = w.next() {
		w.ack(f, nil)
		if at(f, "payload", "event", "type") == "app_home_opened" {
			if at(f, "payload", "event", "view", "hash") != was.Hash || at(f, "payload", "event", "tab") != "home" {
				t.Errorf("%v", f)
			}
			break
		}
	}
	ok(t, views("publish", `"user_id":"U1","hash":"`+was.Hash+`","view":`+home), "")
	refused(t, views("publish", `"user_id":"U1","hash":"`+was.Hash+`","view":`+home), "hash_conflict")
	for _, more := range []string{`"title":{"type":"plain_text","text":"t"},`, `"submit":{"type":"plain_text","text":"t"},`, `"close":{"type":"plain_text","text":"t"},`} {
		a := views("publish", `"user_id":"U1","view":`+strings.Replace(home, `"blocks"`, more+`"blocks"`, 1))
		refused(t, a, "invalid_arguments")
	}
	for name, c := range map[string]struct{ view, pointer, say string }{
		"title":       {`{"type":"modal","title":{"type":"plain_text","text":"` + long(25) + `"},"blocks":[]}`, "/view/title/text", "less than 25"},
		"no title":    {`{"type":"modal","blocks":[]}`, "/view", "missing required field: title"},
		"metadata":    {strings.Replace(modal(""), `"meta"`, `"`+long(3001)+`"`, 1), "/view/private_metadata", "less than 3001"},
		"101 blocks":  {modal(times(101, sameSection)), "/view/blocks", "no more than 100"},
		"no submit":   {`{"type":"modal","title":{"type":"plain_text","text":"x"},"blocks":[` + reason + `]}`, "/view", "missing required field: submit"},
		"input":       {modal(strings.Replace(reason, `"max_length":10`, `"max_length":3001`, 1)), "/view/blocks/0/element/max_length", "between"},
		"initial":     {modal(strings.Replace(reason, `"first"`, `"`+long(3001)+`"`, 1)), "/view/blocks/0/element/initial_value", "less than 3001"},
		"markdown":    {modal(`{"type":"markdown","text":"x"}`), "/view/blocks/0/type", "unsupported type: markdown"},
		"a home":      {home, "/view/type", "unsupported type: home"},
		"two focused": {modal(strings.Join([]string{focused("a"), focused("b")}, ",")), "/view/blocks/1/element", "only one element"},
		"same action": {modal(actions(button("a", ""), button("a", ""))), "/view/blocks/0/elements/1/action_id", "already exists"},
		"a day":       {modal(`{"type":"input","label":{"type":"plain_text","text":"l"},"element":{"type":"datepicker","initial_date":"soon"}}`), "/view/blocks/0/element/initial_date", "must match"},
		"min, max":    {modal(`{"type":"input","label":{"type":"plain_text","text":"l"},"element":{"type":"plain_text_input","min_length":5,"max_length":4}}`), "/view/blocks/0/element", "min_length"},
		"a bound":     {modal(`{"type":"input","label":{"type":"plain_text","text":"l"},"element":{"type":"number_input","is_decimal_allowed":true,"min_value":"low"}}`), "/view/blocks/0/element/min_value", "must match"},
		"unknown":     {strings.Replace(modal(""), `"callback_id"`, `"colour"`, 1), "/view", "additional property: colour"},
	} {
		a := views("open", `"trigger_id":"x","view":`+c.view)
		refused(t, a, "invalid_arguments")
		if msgs := fmt.Sprint(at(a, "response_metadata", "messages")); !strings.Contains(msgs, c.say) || !strings.Contains(msgs, "[json-pointer:"+c.pointer+"]") {
			t.Errorf("%s: %s", name, msgs)
		}
	}
	if a := views("open", `"trigger_id":"x","view":`+modal(times(100, sameSection)+`,{"type":"alert","text":{"type":"mrkdwn","text":"x"}}`)); a["error"] != "invalid_arguments" {
		t.Errorf("%v", a)
	}
	refused(t, views("open", `"trigger_id":"x","view":`+modal(`{"type":"alert","level":"warning","text":{"type":"mrkdwn","text":"x"}}`)), "invalid_trigger_id") // the view is fine
}

func TestAgentsAndFiles(t *testing.T) {
	clock := fakeslack.NewManual()
	s := start(t, fakeslack.Options{Clock: clock, Events: []string{"app_mention"}})
	dm := s.DM("U1")
	thread := s.Say("U1", dm, "", "hi")
	a, _ := call(t, s, "agents.sessions.setStatus", "channel_id", dm, "thread_ts", thread, "status", "processing", "title", "First")
	if ok(t, a, "status") != "processing" || a["warning"] != "missing_agent_session_stopped_event_subscription" {
		t.Errorf("%v", a)
	}
	a, _ = call(t, s, "agents.sessions.setStatus", "channel_id", dm, "thread_ts", thread, "status", "suspended", "title", "Second")
	if ok(t, a, "title") != "First" {
		t.Errorf("%v", a)
	}
	a, _ = call(t, s, "agents.sessions.rename", "channel_id", dm, "thread_ts", thread, "title", "Third")
	ok(t, a, "")
	a, _ = call(t, s, "assistant.threads.setSuggestedPrompts", "channel_id", dm, "prompts", `[{"title":"a","message":"b"}]`)
	ok(t, a, "")
	a, _ = call(t, s, "assistant.threads.setTitle", "channel_id", dm, "thread_ts", thread, "title", "Fourth")
	ok(t, a, "")
	a, _ = call(t, s, "assistant.threads.setStatus", "channel_id", dm, "thread_ts", thread, "status", "is thinking", "loading_messages", "one,two")
	ok(t, a, "")
	x, _ := s.Session(dm, thread)
	if x.Status != "suspended" || x.Title != "Fourth" || strings.Join(x.History, " ") != "processing suspended" || x.Typing != "is thinking" {
		t.Errorf("%+v", x)
	}
	said(t, s, dm, thread, "")
	if x, _ := s.Session(dm, thread); x.Typing != "" {
		t.Errorf("%+v", x)
	}
	call(t, s, "assistant.threads.setStatus", "channel_id", dm, "thread_ts", thread, "status", "is thinking")
	clock.Advance(fakeslack.TypingFor)
	if x, _ := s.Session(dm, thread); x.Typing != "" {
		t.Errorf("%+v", x)
	}
	if p, _ := s.Session(dm, ""); len(p.Prompts) != 1 || p.Prompts[0].Message != "b" {
		t.Errorf("%+v", p)
	}
	for _, c := range [][]string{
		{"invalid_arguments", "agents.sessions.setStatus", "channel_id", dm, "thread_ts", thread, "status", "asleep"},
		{"thread_not_found", "agents.sessions.setStatus", "channel_id", dm, "thread_ts", "1.000001", "status", "active"},
		{"channel_not_found", "agents.sessions.setStatus", "channel_id", "C9", "thread_ts", thread, "status", "active"},
		{"invalid_arguments", "agents.sessions.rename", "channel_id", dm, "thread_ts", thread, "title", long(201)},
		{"session_not_found", "agents.sessions.rename", "channel_id", dm, "thread_ts", s.Say("U1", dm, "", "x"), "title", "x"},
		{"invalid_arguments", "assistant.threads.setStatus", "channel_id", dm, "thread_ts", thread, "status", "x", "loading_messages", long(51)},
		{"invalid_arguments", "assistant.threads.setSuggestedPrompts", "channel_id", dm, "prompts", `[` + times(5, func(int) string { return `{"title":"a","message":"b"}` }) + `]`},
		{"not_allowed", "assistant.threads.setTitle", "channel_id", "C1", "thread_ts", s.Say("U1", "C1", "", "x"), "title", "x"},
	} {
		a, _ = call(t, s, c[1], c[2:]...)
		refused(t, a, c[0])
	}

	client := api(t, s)
	f, err := client.UploadFileContext(t.Context(), slack.UploadFileParameters{Filename: "answer.md", Title: "Answer", Content: "all of it", FileSize: 9, Channel: "C1", InitialComment: "see", ThreadTimestamp: s.Say("U1", "C1", "", "root")})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Files()
	if len(got) != 1 || got[0].ID != f.ID || string(got[0].Data) != "all of it" || got[0].Channel != "C1" || got[0].Title != "Answer" {
		t.Errorf("%+v", got)
	}
	if m := s.Messages("C1", got[0].Thread); len(m) != 2 || m[1].Files[0] != f.ID || m[1].Text != "see" {
		t.Errorf("%+v", m)
	}
	a, _ = call(t, s, "files.completeUploadExternal", "files", `[{"id":"F9"}]`)
	refused(t, a, "file_not_found")
	a, _ = call(t, s, "files.getUploadURLExternal", "filename", "x", "length", "5")
	if a, res := post(t, ok(t, a, "upload_url"), "text/plain", "four", ""); res.StatusCode != http.StatusBadRequest {
		t.Errorf("%v", a)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.URL(), "/api/")+"/files-pri/"+f.ID+"/answer.md", nil)
	for token, code := range map[string]int{s.BotToken(): 200, "nobody": 403} {
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != code {
			t.Errorf("%s: %s", token, res.Status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
