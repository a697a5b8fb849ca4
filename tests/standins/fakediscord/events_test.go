package fakediscord_test

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func TestEventsOfWhatPeopleDo(t *testing.T) {
	r := start(t, fakediscord.Options{Members: true})
	w, _ := r.readyWith(identify(r.Token(), everything|1<<1))
	role := r.AddRole("", fakediscord.Role{Name: "ops"})
	w.event("GUILD_ROLE_CREATE")
	r.SetRoles(r.ana, role)
	equal(t, "roles", at(w.event("GUILD_MEMBER_UPDATE"), "roles", 0), role)
	said := r.Say(r.ana, r.general, "see https://a.example")
	equal(t, "roles of the author", at(w.event("MESSAGE_CREATE"), "member", "roles", 0), role)
	r.Unfurl(r.general, said, "https://a.example")
	m := w.event("MESSAGE_UPDATE")
	if m["edited_timestamp"] != nil || at(m, "embeds", 0, "url") != "https://a.example" {
		t.Errorf("a preview is no edit: %v", m)
	}
	r.EditMessage(r.general, said, "never mind")
	if m := w.event("MESSAGE_UPDATE"); m["edited_timestamp"] == nil || m["content"] != "never mind" {
		t.Errorf("%v", m)
	}
	r.DeleteMessage(r.general, said)
	equal(t, "deleted", w.event("MESSAGE_DELETE")["id"], said)
	a, b := r.Say(r.ana, r.general, "a"), r.Say(r.ana, r.general, "b")
	r.DeleteMessages(r.general, a, b)
	equal(t, "in bulk", w.event("MESSAGE_DELETE_BULK")["ids"], []any{a, b})
	r.Type(r.ana, r.general)
	equal(t, "typing", w.event("TYPING_START")["user_id"], r.ana)
	th := r.CreateThread(r.ana, r.general, "", "without a message")
	equal(t, "thread", w.event("THREAD_CREATE")["id"], th)
	equal(t, "told in the channel", w.event("MESSAGE_CREATE")["type"], fakediscord.TypeThreadCreated)
	r.call("PUT", "/channels/"+th+"/thread-members/@me", nil).is(t, 204, 0)
	equal(t, "joined", at(w.event("THREAD_MEMBERS_UPDATE"), "added_members", 0, "user_id"), r.BotUser())
	r.Archive(th, true)
	equal(t, "archived", at(w.event("THREAD_UPDATE"), "thread_metadata", "archived"), true)
	r.Rename(r.general, "lobby")
	equal(t, "renamed", w.event("CHANNEL_UPDATE")["name"], "lobby")
	r.DeleteChannel(r.general)
	equal(t, "its threads go first", w.event("THREAD_DELETE")["id"], th)
	equal(t, "the channel", w.event("CHANNEL_DELETE")["id"], r.general)
	r.RemoveGuild(r.Guild(), true)
	equal(t, "the guild is down", w.event("GUILD_DELETE")["unavailable"], true)
}

func TestOthersWhoWrite(t *testing.T) {
	r := start(t, fakediscord.Options{})
	w := r.ready()
	bot := r.AddUser(fakediscord.User{Name: "Other", Bot: true})
	r.Say(bot, r.general, "beep")
	equal(t, "a bot", at(w.event("MESSAGE_CREATE"), "author", "bot"), true)
	r.Post(fakediscord.Post{Channel: r.general, Webhook: "CI", Text: "built"})
	m := w.event("MESSAGE_CREATE")
	if m["webhook_id"] == nil || m["member"] != nil || at(m, "author", "username") != "CI" {
		t.Errorf("%v", m)
	}
	r.Post(fakediscord.Post{User: r.ana, Channel: r.general, Components: []any{obj{"type": 99, "id": 1}}})
	equal(t, "what nobody knows", at(w.event("MESSAGE_CREATE"), "components", 0, "type"), 99)
	first := r.Say(r.ana, r.general, "one")
	second := r.Reply(r.ben, r.general, first, "two")
	w.event("MESSAGE_CREATE")
	m = w.event("MESSAGE_CREATE")
	if m["id"] != second || m["type"] != 19.0 || at(m, "message_reference", "message_id") != first || at(m, "referenced_message", "content") != "one" || at(m, "mentions", 0, "id") != r.ana {
		t.Errorf("%v", m)
	}
	r.DeleteMessage(r.general, first)
	if m := r.call("GET", r.messages()+"/"+second, nil).obj; m["referenced_message"] != nil {
		t.Error("what was answered is gone")
	}
}

func TestForgedAndRepeatedClicks(t *testing.T) {
	r := start(t, fakediscord.Options{})
	w := r.ready()
	id := r.post(asking()).id(t)
	d, err := r.Press(r.ben, r.general, id, fakediscord.Button{ID: "never there"})
	if err != nil {
		t.Fatal(err)
	}
	in := w.event("INTERACTION_CREATE")
	equal(t, "as it was made up", at(in, "data", "custom_id"), "never there")
	r.Redeliver(d)
	equal(t, "the same once more", w.event("INTERACTION_CREATE")["token"], in["token"])
	if _, err := r.Click(r.AddStranger(fakediscord.User{Name: "Nobody"}), r.general, id, "Deny"); err == nil {
		t.Error("only members click")
	}
}

func TestLatencyPassesByTheClock(t *testing.T) {
	clock := fakediscord.NewManual()
	asked := make(chan struct{})
	r := start(t, fakediscord.Options{Clock: clock, Latency: func(m string) time.Duration {
		if m == fakediscord.CreateMessage {
			defer close(asked)
			return time.Minute
		}
		return 0
	}})
	done := make(chan int)
	go func() { done <- r.post(obj{"content": "x"}).status }()
	<-asked
	late := within(t).Done()
	for {
		clock.Advance(time.Minute) // until it waits, and then past it
		select {
		case status := <-done:
			equal(t, "status", status, 200)
			return
		case <-late:
			t.Fatal("it never came")
		default:
			runtime.Gosched()
		}
	}
}

// With compress=zlib-stream all frames of a connection are one stream.
func TestTransportCompression(t *testing.T) {
	r := start(t, fakediscord.Options{})
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+r.URL()[4:]+"/gateway?v=10&encoding=json&compress=zlib-stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var packed bytes.Buffer
	var z io.Reader
	for _, want := range []float64{10, 11, 11} {
		kind, raw, err := conn.ReadMessage()
		if err != nil || kind != websocket.BinaryMessage || !bytes.HasSuffix(raw, []byte{0, 0, 0xff, 0xff}) {
			t.Fatalf("%d %x %v", kind, raw, err)
		}
		packed.Write(raw)
		if z == nil {
			if z, err = zlib.NewReader(&packed); err != nil {
				t.Fatal(err)
			}
		}
		var f obj
		if err := json.NewDecoder(io.LimitReader(z, int64(frameSize(want)))).Decode(&f); err != nil || f["op"] != want {
			t.Fatalf("%v %v", f, err)
		}
		if err := conn.WriteJSON(obj{"op": 1, "d": nil}); err != nil {
			t.Fatal(err)
		}
	}
}

// frameSize is how long a frame is unpacked: the reader must not read on into the next one.
func frameSize(op float64) int {
	if op == 10 {
		return len(`{"d":{"_trace":["fake"],"heartbeat_interval":41250},"op":10,"s":null,"t":null}`)
	}
	return len(`{"d":null,"op":11,"s":null,"t":null}`)
}

// A fault of a part is told, and none of the whole besides: Discord looks at the whole when its parts are good.
func TestErrorsStandInOnePlace(t *testing.T) {
	r := start(t, fakediscord.Options{})
	a := r.post(v2(text(rep(4001))))
	found(t, a.obj, "components.0.content", "BASE_TYPE_BAD_LENGTH")
	if at(a.obj, "errors", "components", "_errors") != nil {
		t.Error(a.raw)
	}
}
