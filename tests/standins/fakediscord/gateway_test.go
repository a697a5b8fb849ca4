package fakediscord_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func TestTheHandshake(t *testing.T) {
	r := start(t, fakediscord.Options{})
	w := r.dial()
	if f := w.op(10); at(f, "d", "heartbeat_interval") != 41250.0 {
		t.Errorf("%v", f)
	}
	w.send(1, nil)
	w.op(11)
	w.send(2, identify(r.Token(), everything))
	d := w.event("READY")
	equal(t, "guild", at(d, "guilds", 0, "unavailable"), true)
	g := w.event("GUILD_CREATE")
	equal(t, "channel", at(g, "channels", 0, "id"), r.general)
	equal(t, "the bot's member", at(g, "members", 0, "user", "id"), r.BotUser())
	w.send(2, identify(r.Token(), everything))
	w.closed(4005)
	equal(t, "identifies", len(r.Identifies()), 2)
}

func TestCloseCodes(t *testing.T) {
	many := fakediscord.Options{MaxGuilds: 1}
	for _, tt := range []struct {
		name string
		o    fakediscord.Options
		op   int
		d    any
		code int
	}{
		{"unknown opcode", fakediscord.Options{}, 77, nil, 4001},
		{"too long", fakediscord.Options{}, 1, rep(4096), 4002},
		{"before identifying", fakediscord.Options{}, 3, obj{}, 4003},
		{"wrong token", fakediscord.Options{}, 2, identify("wrong", everything), 4004},
		{"wrong shard", fakediscord.Options{}, 2, with(identify("", everything), "shard", []any{1, 1}), 4010},
		{"too many guilds", many, 2, identify("", everything), 4011},
		{"no intents", fakediscord.Options{}, 2, with(identify("", 0), "intents", nil), 4013},
		{"unknown intents", fakediscord.Options{}, 2, identify("", 1<<30), 4013},
		{"content is not switched on", fakediscord.Options{NoContent: true}, 2, identify("", 1<<15), 4014},
		{"members are not switched on", fakediscord.Options{}, 2, identify("", 1<<1), 4014},
		{"resume with a wrong token", fakediscord.Options{}, 6, obj{"token": "wrong", "session_id": "x", "seq": 0}, 4004},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, tt.o)
			if tt.o.MaxGuilds == 1 {
				r.AddGuild(fakediscord.Guild{Name: "Second"})
			}
			if d, ok := tt.d.(obj); ok && d["token"] == "" {
				d["token"] = r.Token()
			}
			w := r.dial()
			w.op(10)
			w.send(tt.op, tt.d)
			w.closed(tt.code)
		})
	}
	r := start(t, fakediscord.Options{})
	r.dialAt("ws" + r.URL()[4:] + "/gateway?v=8").closed(4012)
	w := r.dial()
	if err := w.conn.WriteMessage(1, []byte("{")); err != nil {
		t.Fatal(err)
	}
	w.closed(4002)
}

func TestResume(t *testing.T) {
	clock := fakediscord.NewManual()
	r := start(t, fakediscord.Options{Clock: clock})
	w, ready := r.readyWith(identify(r.Token(), everything))
	first := r.Say(r.ana, r.general, "one")
	f := w.next()
	if at(f, "d", "id") != first {
		t.Fatalf("%v", f)
	}
	resume := obj{"token": r.Token(), "session_id": ready["session_id"], "seq": f["s"]}
	r.Drop()
	for w.next() != nil {
		continue
	}
	r.wait("the loss", func() bool { return r.Connected() == 0 })
	second := r.Say(r.ana, r.general, "two")
	w = r.dialAt(ready["resume_gateway_url"].(string) + "?v=10&encoding=json")
	w.op(10)
	w.send(6, resume)
	f = w.op(0)
	equal(t, "replayed", at(f, "d", "id"), second)
	equal(t, "in order", f["s"], resume["seq"].(float64)+1)
	w.event("RESUMED")
	if len(r.Identifies()) != 1 {
		t.Error("a RESUME is no IDENTIFY")
	}
	w.conn.Close()
	r.wait("the loss", func() bool { return r.Connected() == 0 })
	clock.Advance(4 * time.Minute)
	w = r.dial()
	w.op(10)
	w.send(6, resume)
	equal(t, "too late", w.op(9)["d"], false)
	w.send(2, identify(r.Token(), everything)) // on the same connection
	w.event("READY")
}

func TestASequenceThatWasNotYet(t *testing.T) {
	r := start(t, fakediscord.Options{})
	w, ready := r.readyWith(identify(r.Token(), everything))
	r.Drop()
	for w.next() != nil {
		continue
	}
	w = r.dial()
	w.op(10)
	w.send(6, obj{"token": r.Token(), "session_id": ready["session_id"], "seq": 999})
	w.closed(4007)
}

// A client that says goodbye (1000, 1001) has no session any more; one that closes otherwise has.
func TestGoodbyes(t *testing.T) {
	for code, want := range map[int]int{1000: 0, 1001: 0, 4900: 1, 1012: 1} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			r := start(t, fakediscord.Options{})
			w := r.ready()
			if err := w.conn.WriteMessage(8, closeFrame(code)); err != nil {
				t.Fatal(err)
			}
			r.wait("the end", func() bool { return r.Connected() == 0 })
			equal(t, "sessions", len(r.Sessions()), want)
		})
	}
}

func closeFrame(code int) []byte { return []byte{byte(code >> 8), byte(code)} }

func TestMissedHeartbeats(t *testing.T) {
	r := start(t, fakediscord.Options{Heartbeat: 20 * time.Millisecond})
	w := r.ready()
	w.closed(4009)
	equal(t, "sessions", len(r.Sessions()), 0)
}

func TestIdentifyLimits(t *testing.T) {
	clock := fakediscord.NewManual()
	r := start(t, fakediscord.Options{Clock: clock, Limits: fakediscord.Documented(), SessionStarts: 3, MaxConcurrency: 2})
	try := func(shard int) *wire {
		w := r.dial()
		w.op(10)
		w.send(2, with(identify(r.Token(), everything), "shard", []any{shard, 4}))
		return w
	}
	try(0).event("READY")
	try(1).event("READY") // another slot
	w := try(2)
	equal(t, "same slot", w.op(9)["d"], false)
	a := r.call("GET", "/gateway/bot", nil)
	equal(t, "remaining", at(a.obj, "session_start_limit", "remaining"), 0)
	equal(t, "concurrency", at(a.obj, "session_start_limit", "max_concurrency"), 2)
	clock.Advance(5 * time.Second)
	try(2).closed(4004)
	if !r.TokenReset() || len(r.Sessions()) != 0 {
		t.Error("one session too many resets the token and ends all sessions")
	}
	r.call("GET", "/users/@me", nil).is(t, 401, 0)
}

func TestTooManySends(t *testing.T) {
	clock := fakediscord.NewManual()
	r := start(t, fakediscord.Options{Clock: clock, Limits: fakediscord.Documented()})
	w := r.dial()
	w.op(10)
	for range 120 {
		w.send(1, nil)
		w.op(11)
	}
	w.send(1, nil)
	w.closed(4008)
}

func TestIntentsAndShards(t *testing.T) {
	r := start(t, fakediscord.Options{})
	dms, _ := r.dial(), 0
	dms.op(10)
	dms.send(2, identify(r.Token(), 1<<12))
	dms.event("READY")
	all := r.ready()
	twin := r.ready() // the same shard once more
	dm := r.OpenDM(r.ana)
	public := r.Say(r.ana, r.general, "in public")
	private := r.Say(r.ana, dm, "in private")
	equal(t, "only DMs", dms.op(0)["d"].(obj)["id"], private)
	for _, w := range []*wire{all, twin} {
		equal(t, "first", w.event("MESSAGE_CREATE")["id"], public)
		m := w.event("MESSAGE_CREATE")
		if m["id"] != private || m["guild_id"] != nil || m["member"] != nil {
			t.Errorf("%v", m)
		}
	}
	n, _ := strconv.ParseUint(r.Guild(), 10, 64)
	home := int((n >> 22) % 4)
	for shard := range 4 {
		w := r.dial()
		w.op(10)
		w.send(2, with(identify(r.Token(), everything), "shard", []any{shard, 4}))
		d := w.event("READY")
		guilds, _ := d["guilds"].([]any)
		equal(t, "guilds of "+strconv.Itoa(shard), len(guilds) == 1, shard == home)
	}
}

func TestContentIntent(t *testing.T) {
	r := start(t, fakediscord.Options{NoContent: true})
	w, _ := r.readyWith(identify(r.Token(), everything&^(1<<15)))
	content := func() any { return w.event("MESSAGE_CREATE")["content"] }
	said := r.Say(r.ana, r.general, "secret")
	equal(t, "of others", content(), "")
	equal(t, "over REST too", at(r.call("GET", r.messages()+"/"+said, nil).obj, "content"), "")
	r.Say(r.ana, r.general, "<@"+r.BotUser()+"> hello")
	equal(t, "with a mention", content(), "<@"+r.BotUser()+"> hello")
	r.Say(r.ana, r.OpenDM(r.ana), "hello")
	equal(t, "in a DM", content(), "hello")
	mine := r.post(obj{"content": "mine"}).id(t)
	equal(t, "one's own", content(), "mine")
	r.Reply(r.ana, r.general, mine, "hi")
	equal(t, "an answer that pings", content(), "hi")
	r.Post(fakediscord.Post{User: r.ana, Channel: r.general, To: mine, NoPing: true, Text: "hi"})
	m := w.event("MESSAGE_CREATE")
	equal(t, "an answer that does not", m["content"], "")
	equal(t, "what it answers", at(m, "referenced_message", "content"), "mine")
	r.Reply(r.ana, r.general, said, "<@"+r.BotUser()+"> look")
	equal(t, "what a mention answers", at(w.event("MESSAGE_CREATE"), "referenced_message", "content"), "")
}

func TestCompression(t *testing.T) {
	r := start(t, fakediscord.Options{})
	w, _ := r.readyWith(with(identify(r.Token(), everything), "compress", true))
	id := r.Say(r.ana, r.general, "small")
	equal(t, "unpacked", w.event("MESSAGE_CREATE")["id"], id)
}

func TestTroubles(t *testing.T) {
	r := start(t, fakediscord.Options{})
	r.Greet(fakediscord.OnConnect, 1, fakediscord.Greeting{Reconnect: true})
	r.dial().op(7)
	r.Greet(fakediscord.OnIdentify, 1, fakediscord.Greeting{Invalid: true})
	w := r.dial()
	w.op(10)
	w.send(2, identify(r.Token(), everything))
	equal(t, "refused", w.op(9)["d"], false)
	equal(t, "noted", r.Identifies()[0].Refused, "greeting")
	w.send(2, identify(r.Token(), everything))
	ready := w.event("READY")
	w.event("GUILD_CREATE")
	r.AskHeartbeat()
	w.op(1)
	r.Reconnect()
	w.op(7)
	r.Duplicate(1)
	id := r.Say(r.ana, r.general, "x")
	a, b := w.op(0), w.op(0)
	if at(a, "d", "id") != id || at(b, "d", "id") != id || a["s"] == b["s"] {
		t.Errorf("%v and %v", a["s"], b["s"])
	}
	r.Send("", "SOMETHING_NEW", obj{"x": 1})
	equal(t, "unknown event", w.op(0)["t"], "SOMETHING_NEW")
	r.Greet(fakediscord.OnResume, 1, fakediscord.Greeting{Invalid: true, Resumable: true})
	r.CloseGateway(4000)
	w.closed(4000)
	w = r.dial()
	w.op(10)
	w.send(6, obj{"token": r.Token(), "session_id": ready["session_id"], "seq": 1})
	equal(t, "op 9 true", w.op(9)["d"], true)
	r.Invalidate(false)
	equal(t, "op 9 false", w.op(9)["d"], false)
}

// A silent gateway takes everything and says nothing; what it would have said is replayed later.
func TestSilence(t *testing.T) {
	r := start(t, fakediscord.Options{})
	w, ready := r.readyWith(identify(r.Token(), everything))
	r.Silence(fakediscord.AtOnce)
	lost := r.Say(r.ana, r.general, "lost")
	w.send(1, nil)
	silent := r.dial()
	silent.op(10)
	silent.send(2, identify(r.Token(), everything))
	r.wait("the IDENTIFY", func() bool { return len(r.Identifies()) == 2 })
	r.Silence(fakediscord.Talking)
	w2 := r.dial()
	w2.op(10)
	w2.send(6, obj{"token": r.Token(), "session_id": ready["session_id"], "seq": 2})
	equal(t, "replayed", w2.event("MESSAGE_CREATE")["id"], lost)
	w2.event("RESUMED")
	for _, c := range []*wire{w, silent} {
		select {
		case f := <-c.frames:
			if f != nil {
				t.Errorf("a silent connection said %v", f)
			}
		default:
		}
	}
}

func TestWhatTheBotMayNotSee(t *testing.T) {
	r := start(t, fakediscord.Options{})
	w := r.ready()
	said := r.Say(r.ana, r.general, "x")
	w.event("MESSAGE_CREATE")
	th := r.CreateThread(r.ana, r.general, said, "th")
	w.event("MESSAGE_CREATE")
	r.SetPermissions(r.general, fakediscord.ViewChannel)
	equal(t, "gone", w.event("CHANNEL_DELETE")["id"], r.general)
	r.Say(r.ana, th, "unseen")
	r.SetPermissions(r.general, 0)
	f := w.op(0)
	equal(t, "back", f["t"], "CHANNEL_CREATE")
	equal(t, "with its threads", at(w.event("THREAD_LIST_SYNC"), "threads", 0, "id"), th)
}
