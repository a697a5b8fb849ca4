package fakediscord_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// A mention, a thread on it, a message with buttons, a click, an update: the story that all else is about.
func TestAConversation(t *testing.T) {
	r := start(t, fakediscord.Options{})
	w := r.ready()
	said := r.Say(r.ana, r.general, "<@"+r.BotUser()+"> deploy it")
	m := w.event("MESSAGE_CREATE")
	equal(t, "author", at(m, "author", "id"), r.ana)
	equal(t, "mention", at(m, "mentions", 0, "id"), r.BotUser())
	equal(t, "guild", m["guild_id"], r.Guild())
	if m["member"] == nil {
		t.Error("a message in a guild has its author's member")
	}
	th := r.call("POST", r.messages()+"/"+said+"/threads", obj{"name": "deploy it", "auto_archive_duration": 1440})
	if th.id(t) != said || th.status != 201 {
		t.Errorf("the thread is %s, on %s (%d)", th.id(t), said, th.status)
	}
	equal(t, "thread event", w.event("THREAD_CREATE")["newly_created"], true)
	equal(t, "starter", w.event("MESSAGE_CREATE")["type"], fakediscord.TypeThreadStarter)
	r.call("POST", r.messages()+"/"+said+"/threads", obj{"name": "again"}).is(t, 400, 160004)

	body := asking()
	body["nonce"], body["enforce_nonce"] = "n1", true
	first := r.call("POST", "/channels/"+said+"/messages", body).id(t)
	if again := r.call("POST", "/channels/"+said+"/messages", body).id(t); again != first {
		t.Error("an enforced nonce made a second message")
	}
	equal(t, "own message", w.event("MESSAGE_CREATE")["id"], first)
	d, err := r.Click(r.ben, said, first, "Allow once")
	if err != nil {
		t.Fatal(err)
	}
	in := w.event("INTERACTION_CREATE")
	equal(t, "who", at(in, "member", "user", "id"), r.ben)
	equal(t, "custom_id", at(in, "data", "custom_id"), "yes")
	equal(t, "message", at(in, "message", "id"), first)
	equal(t, "channel", at(in, "channel", "parent_id"), r.general)
	path := "/interactions/" + in["id"].(string) + "/" + in["token"].(string) + "/callback"
	r.callWith("POST", path, obj{"type": 7, "data": v2(box(text("Allowed by Ben")))}, "").is(t, 204, 0)
	r.callWith("POST", path, obj{"type": 6}, "").is(t, 400, 40060)
	a, err := d.Wait(within(t))
	if err != nil || a.Type != 7 {
		t.Errorf("answered with %v, %v", a, err)
	}
	now, _ := r.Message(said, first)
	if now.Text() != "Allowed by Ben" || len(now.Buttons()) != 0 || now.Edited.IsZero() || len(now.Versions) != 2 {
		t.Errorf("now %+v", now)
	}
	if got := w.event("MESSAGE_UPDATE"); got["edited_timestamp"] == nil || got["id"] != first {
		t.Errorf("update %v", got)
	}
	equal(t, "threads", len(r.Threads(r.general)), 1)
	equal(t, "versions", r.Versions()["v9"], 0)
	if !slices.Contains(r.Dials(), "/gateway?v=10&encoding=json") {
		t.Errorf("dials %v", r.Dials())
	}
}

func TestTheTokenIsAskedFor(t *testing.T) {
	r := start(t, fakediscord.Options{})
	r.callWith("GET", "/users/@me", nil, "Bot wrong").is(t, 401, 0)
	r.callWith("GET", "/users/@me", nil, r.Token()).is(t, 401, 0)
	r.callWith("GET", "/gateway", nil, "").is(t, 200, 0)
	equal(t, "me", r.call("GET", "/users/@me", nil).id(t), r.BotUser())
	r.call("GET", "/nothing", nil).is(t, 404, 0)
	equal(t, "application", r.call("GET", "/applications/@me", nil).id(t), r.AppID())
	in := r.call("GET", "/users/@me/guilds", nil).list
	equal(t, "guilds", len(in), 1)
	equal(t, "guild", at(in[0].(obj), "id"), r.Guild())
	equal(t, "permissions", at(in[0].(obj), "permissions"), fakediscord.DefaultPermissions.String())
}

// Text is what tests read, so it must not lose anything.
func TestTheTextOfAMessage(t *testing.T) {
	r := start(t, fakediscord.Options{})
	id := r.post(v2(text("see https://a.example/x and `https://b.example`"), obj{"type": 14}, row(obj{"type": 2, "style": 5, "label": "Docs", "url": "https://c.example"}),
		row(obj{"type": 3, "custom_id": "s", "placeholder": "More", "options": []any{obj{"label": "Stop", "value": "stop"}}}), box(obj{"type": 9, "components": []any{text("inner")}, "accessory": button("b", "Why")}))).id(t)
	m, _ := r.Message(r.general, id)
	if got := m.Text(); got != "see https://a.example/x and `https://b.example`\n---\n[Docs]\n[More ▾]\ninner\n[Why]" {
		t.Errorf("%q", got)
	}
	equal(t, "links", strings.Join(m.Links(), " "), "https://a.example/x https://c.example")
	equal(t, "accent", m.Accent(), 0xFFAA00)
	if b := m.Buttons(); len(b) != 3 || b[1].Value != "stop" || !b[1].Option() {
		t.Errorf("%+v", b)
	}
}
