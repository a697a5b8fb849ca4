package fakediscord_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func TestComponentsV2IsForGood(t *testing.T) {
	r := start(t, fakediscord.Options{})
	id := r.post(v2(text("a"))).id(t)
	path := r.messages() + "/" + id
	r.call("PATCH", path, obj{"content": "x"}).is(t, 400, 50035)
	r.call("PATCH", path, obj{"flags": 0, "components": []any{text("b")}}).is(t, 200, 0) // the flag stays
	m, _ := r.Message(r.general, id)
	if m.Text() != "b" || m.Flags&fakediscord.FlagComponentsV2 == 0 {
		t.Errorf("%+v", m.Version)
	}
	old := r.post(obj{"content": "old"}).id(t)
	r.call("PATCH", r.messages()+"/"+old, v2(text("b"))).is(t, 400, 50035) // its content must go
	r.call("PATCH", r.messages()+"/"+old, with(v2(text("b")), "content", "")).is(t, 200, 0)
}

func TestAllowedMentions(t *testing.T) {
	r := start(t, fakediscord.Options{})
	role := r.AddRole("", fakediscord.Role{Name: "ops", Mentionable: true})
	quiet := r.AddRole("", fakediscord.Role{Name: "quiet"})
	all := "<@" + r.ana + "> <@" + r.ben + "> <@&" + role + "> <@&" + quiet + "> @everyone"
	for _, tt := range []struct {
		name    string
		allowed any
		users   []string
		roles   []string
	}{
		{"all by default", nil, []string{r.ana, r.ben}, []string{role}},
		{"none", obj{"parse": []any{}}, nil, nil},
		{"one", obj{"parse": []any{}, "users": []any{r.ben}}, []string{r.ben}, nil},
		{"roles", obj{"parse": []any{"roles"}}, nil, []string{role}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, body := range []obj{{"content": all}, v2(text(all))} {
				body["allowed_mentions"] = tt.allowed
				m, _ := r.Message(r.general, r.post(body).id(t))
				equal(t, "users", m.Mentions, tt.users)
				equal(t, "pinged", m.Pinged, tt.users)
				equal(t, "roles", m.MentionRoles, tt.roles)
				equal(t, "everyone without the permission", m.Everyone, false)
			}
		})
	}
	id := r.post(obj{"content": "quiet"}).id(t)
	a := r.call("PATCH", r.messages()+"/"+id, obj{"content": "<@" + r.ana + ">"})
	m, _ := r.Message(r.general, id)
	if len(m.Mentions) != 1 || len(m.Pinged) != 0 || at(a.obj, "mentions", 0, "id") != r.ana {
		t.Error("an edit mentions, but notifies nobody")
	}
}

func TestNonces(t *testing.T) {
	clock := fakediscord.NewManual()
	r := start(t, fakediscord.Options{Clock: clock})
	send := func(enforce bool) string {
		return r.post(obj{"content": "x", "nonce": "abc", "enforce_nonce": enforce}).id(t)
	}
	first := send(true)
	equal(t, "again", send(true), first)
	if send(false) == first {
		t.Error("not enforced")
	}
	clock.Advance(fakediscord.NonceFor + time.Second)
	if send(true) == first {
		t.Error("a nonce is remembered for ever")
	}
	equal(t, "in the answer", at(r.post(obj{"content": "x", "nonce": "n"}).obj, "nonce"), "n")
}

func TestFilesAndTheirRetention(t *testing.T) {
	r := start(t, fakediscord.Options{})
	body := v2(text("a"), obj{"type": 13, "file": obj{"url": "attachment://args.json"}})
	body["attachments"] = []any{obj{"id": "0", "filename": "args.json", "description": "all of it"}}
	a := r.post(form{body, map[int]file{0: {"args.json", `{"a":1}`}}})
	id := a.id(t)
	m, _ := r.Message(r.general, id)
	if len(m.Attachments) != 1 || m.Attachments[0].Name != "args.json" || string(r.File(r.general, m.Attachments[0])) != `{"a":1}` {
		t.Fatalf("%+v", m.Attachments)
	}
	equal(t, "size", at(a.obj, "components", 1, "size"), 7)
	path := r.messages() + "/" + id
	r.call("PATCH", path, obj{"components": []any{text("b"), obj{"type": 13, "file": obj{"url": "attachment://args.json"}}}}).is(t, 200, 0)
	r.call("PATCH", path, obj{"attachments": []any{obj{"id": m.Attachments[0].ID}}}).is(t, 200, 0)
	r.call("PATCH", path, obj{"attachments": []any{obj{"id": "12345"}}}).is(t, 400, 50035)
	r.call("PATCH", path, obj{"components": []any{text("b")}, "attachments": []any{}}).is(t, 200, 0)
	if m, _ = r.Message(r.general, id); len(m.Attachments) != 0 {
		t.Error("an attachment that is not listed is gone")
	}
	r.post(form{obj{"content": "x"}, map[int]file{0: {"big", strings.Repeat("x", fakediscord.MaxFile+1)}}}).is(t, 413, 40005)
}

func TestHistory(t *testing.T) {
	r := start(t, fakediscord.Options{})
	var ids []string
	for range 5 {
		ids = append(ids, r.Say(r.ana, r.general, "x"))
	}
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"", []string{ids[4], ids[3], ids[2], ids[1], ids[0]}}, {"?limit=2", []string{ids[4], ids[3]}}, {"?before=" + ids[2], []string{ids[1], ids[0]}},
		{"?after=" + ids[1] + "&limit=2", []string{ids[3], ids[2]}}, {"?around=" + ids[2] + "&limit=3", []string{ids[3], ids[2], ids[1]}},
	} {
		a := r.call("GET", r.messages()+tt.query, nil)
		var got []string
		for _, m := range a.list {
			got = append(got, at(m, "id").(string))
		}
		equal(t, tt.query, got, tt.want)
	}
	r.call("GET", r.messages()+"?limit=101", nil).is(t, 400, 50035)
	r.SetPermissions(r.general, fakediscord.ReadMessageHistory)
	equal(t, "without history", len(r.call("GET", r.messages(), nil).list), 0)
}

func TestWhatIsNotThereOrNotAllowed(t *testing.T) {
	r := start(t, fakediscord.Options{})
	said, mine := r.Say(r.ana, r.general, "x"), r.post(obj{"content": "x"}).id(t)
	r.call("POST", "/channels/1/messages", obj{"content": "x"}).is(t, 404, 10003)
	r.call("PATCH", r.messages()+"/"+said, obj{"content": "x"}).is(t, 403, 50005)
	r.call("DELETE", r.messages()+"/"+said, nil).is(t, 403, 50013)
	r.call("DELETE", r.messages()+"/"+mine, nil).is(t, 204, 0)
	r.call("PATCH", r.messages()+"/"+mine, obj{"content": "x"}).is(t, 404, 10008)
	r.call("GET", "/guilds/5", nil).is(t, 404, 10004)
	r.call("GET", "/guilds/"+r.Guild()+"/members/5", nil).is(t, 404, 10007)
	r.SetPermissions(r.general, fakediscord.SendMessages|fakediscord.CreatePublicThreads)
	r.post(obj{"content": "x"}).is(t, 403, 50013)
	r.call("POST", r.messages()+"/"+said+"/threads", obj{"name": "x"}).is(t, 403, 50013)
	r.SetPermissions(r.general, fakediscord.ViewChannel)
	r.post(obj{"content": "x"}).is(t, 403, 50001)
	r.call("GET", r.messages(), nil).is(t, 403, 50001)
	dm := r.call("POST", "/users/@me/channels", obj{"recipient_id": r.ana}).id(t)
	equal(t, "one DM", dm, r.OpenDM(r.ana))
	r.call("POST", "/channels/"+dm+"/messages", obj{"content": "x"}).is(t, 200, 0)
	r.BlockDMs(r.ana, true)
	r.call("POST", "/channels/"+dm+"/messages", obj{"content": "x"}).is(t, 403, 50007)
}

func TestThreads(t *testing.T) {
	r := start(t, fakediscord.Options{})
	said := r.Say(r.ana, r.general, "x")
	r.call("POST", r.messages()+"/"+said+"/threads", obj{"name": rep(101)}).is(t, 400, 50035)
	r.call("POST", r.messages()+"/"+said+"/threads", obj{"name": "x", "auto_archive_duration": 61}).is(t, 400, 50035)
	th := r.call("POST", r.messages()+"/"+said+"/threads", obj{"name": rep(100)}).id(t)
	in := "/channels/" + th + "/messages"
	r.call("POST", in+"/"+r.Messages(th)[0].ID+"/threads", obj{"name": "x"}).is(t, 400, 50024)
	mine := r.call("POST", in, obj{"content": "x"}).id(t)
	r.Archive(th, true)
	r.call("PATCH", in+"/"+mine, obj{"content": "y"}).is(t, 400, 50083)
	r.call("POST", in, obj{"content": "awake"}).is(t, 200, 0)
	if c, _ := r.Channel(th); c.Archived {
		t.Error("a message un-archives")
	}
	r.call("PATCH", in+"/"+mine, obj{"content": "y"}).is(t, 200, 0)
	r.Lock(th, true, false)
	r.call("POST", in, obj{"content": "x"}).is(t, 403, 160005)
	r.Lock(th, true, true)
	r.call("POST", in, obj{"content": "x"}).is(t, 403, 50083)
	r.Lock(th, false, false)
	r.SetPermissions(r.general, fakediscord.SendMessages) // which has no meaning in threads
	r.call("POST", in, obj{"content": "x"}).is(t, 200, 0)
	r.SetPermissions(r.general, fakediscord.SendMessagesInThreads)
	r.call("POST", in, obj{"content": "x"}).is(t, 403, 50013)
	r.SetPermissions(r.general, 0)
	r.call("PATCH", "/channels/"+th, obj{"name": "other"}).is(t, 200, 0) // it is the bot's own
	theirs := r.CreateThread(r.ana, r.general, r.Say(r.ana, r.general, "y"), "theirs")
	r.call("PATCH", "/channels/"+theirs, obj{"name": "other"}).is(t, 403, 50013)
	r.DeleteChannel(th)
	r.call("POST", in, obj{"content": "x"}).is(t, 404, 10003)
}
