package turn_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/script"
)

// kinds of calls in a batch, for every combination of which 5.1 is checked against a second, dumb reading.
type kind struct {
	name string
	ask  bool
	read bool
}

var kinds = []kind{{"auto-read", false, true}, {"auto-write", false, false}, {"ask-read", true, true}, {"ask-write", true, false}}

// dumb is the order of a batch read aloud, on names only.
func dumb(batch []kind) (before, after []string) {
	pendingSeen := false
	for i, k := range batch {
		id := fmt.Sprintf("c%d", i)
		switch {
		case k.ask:
			pendingSeen = true
		case !pendingSeen, k.read: // stands before the first pending one, or only reads
			before = append(before, id)
		}
	}
	for i := range batch {
		if id := fmt.Sprintf("c%d", i); !slices.Contains(before, id) {
			after = append(after, id)
		}
	}
	return before, after
}

func TestOrderOfABatch(t *testing.T) {
	var batches [][]kind
	for n := 1; n <= 4; n++ {
		for i := range 1 << (2 * n) {
			var b []kind
			for j := range n {
				b = append(b, kinds[i>>(2*j)&3])
			}
			batches = append(batches, b)
		}
	}
	for _, batch := range batches {
		var calls []Proposal
		for i := range batch {
			calls = append(calls, script.Proposes(fmt.Sprintf("c%d", i), "tool", fmt.Sprintf(`{"n":%d}`, i)))
		}
		x := script.Begin(t, calls...)
		asks := 0
		for i, k := range batch {
			v, a := permission.Allow, permission.Write
			if k.ask {
				v = permission.Ask
				asks++
			}
			if k.read {
				a = permission.Read
			}
			x.Put(script.Rules(fmt.Sprintf("c%d", i), fmt.Sprintf("a%d", i), v, a))
		}
		before, after := dumb(batch)
		if asks == 0 {
			before, after = append(before, after...), nil
		}
		if got := x.RunAll(nil); !slices.Equal(got, before) {
			t.Errorf("%v: before the answers %v ran, want %v", batch, got, before)
		}
		for i := range batch { // answered from the last to the first: the order of clicks does not count
			if j := len(batch) - 1 - i; batch[j].ask {
				if open := len(OpenAsks(x.Session)); open > 1 {
					x.Decides(fmt.Sprintf("c%d", j), chat.AllowOnce, script.Ana)
					if got := x.RunAll(nil); len(got) > 0 {
						t.Errorf("%v: %v ran while %d asks were open", batch, got, open-1)
					}
				} else {
					x.Decides(fmt.Sprintf("c%d", j), chat.AllowOnce, script.Ana)
				}
			}
		}
		if got := x.RunAll(nil); !slices.Equal(got, after) {
			t.Errorf("%v: after the answers %v ran, want %v", batch, got, after)
		}
		if !x.Session.Turn.AllSettled() {
			t.Errorf("%v: not settled", batch)
		}
	}
}

func TestSequentialAsksOneAtATime(t *testing.T) {
	x := script.Begin(t, script.Proposes("c0", "w", `{"n":0}`), script.Proposes("c1", "w", `{"n":1}`))
	env := Env{Sequential: true}
	if got := Next(x.Session, x.Now, env); len(got) != 1 || got[0] != (Rule{"c0"}) {
		t.Fatalf("owed %v", got)
	}
	x.Put(script.Rules("c0", "a0", permission.Ask, permission.Write))
	if got := Next(x.Session, x.Now, env); len(got) != 0 {
		t.Fatalf("while the first waits: %v", got)
	}
	x.Decides("c0", chat.Deny, script.Ana)
	if got := Next(x.Session, x.Now, env); len(got) != 1 || got[0] != (Rule{"c1"}) {
		t.Fatalf("after the first: %v", got)
	}
}

func TestDeadline(t *testing.T) {
	ask := func() *script.Script {
		return script.Begin(t, script.Proposes("c0", "w", `{}`)).Put(script.Rules("c0", "a0", permission.Ask, permission.Write))
	}
	x := ask().After(time.Minute-time.Millisecond).Decides("c0", chat.AllowOnce, script.Ana)
	if got := x.Call("c0").Status; got != Allowed {
		t.Errorf("a click 1 ms before the deadline gave %s", got)
	}
	x = ask().After(time.Minute).Decides("c0", chat.AllowOnce, script.Ana)
	if got := x.Call("c0").Status; got != Awaiting {
		t.Errorf("a click at the deadline gave %s", got)
	}
	x = ask().After(time.Minute - time.Millisecond).Put(Expired{Ask: "a0"})
	if got := x.Call("c0").Status; got != Awaiting {
		t.Errorf("an expiry before the deadline gave %s", got)
	}
	x = ask().After(time.Second).Put(Extended{Ask: "a0", By: script.Ana, Until: x.Now.Add(10 * time.Minute)}).After(2 * time.Minute).Put(Expired{Ask: "a0"})
	if got := x.Call("c0").Status; got != Awaiting {
		t.Errorf("an extended ask expired at its old deadline: %s", got)
	}
	x = ask().After(2 * time.Minute).Put(Extended{Ask: "a0", By: script.Ana, Until: x.Now.Add(10 * time.Minute)})
	if at := x.Call("c0").Deadline; !at.Equal(x.Call("c0").AskedAt.Add(time.Minute)) {
		t.Error("an ask was extended after its deadline")
	}
}

func TestGrantEndsWithItsDecision(t *testing.T) {
	x := script.Begin(t, script.Proposes("c0", "w", `{"n":0}`), script.Proposes("c1", "w", `{"n":1}`), script.Proposes("c2", "w", `{"n":2}`)).
		Put(script.Rules("c0", "a0", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write)).Decides("c0", chat.AllowChat, script.Ana)
	r := script.Rules("c1", "a1", permission.Allow, permission.Write)
	r.Ruling.Grant = "g-c0"
	x.Put(r)
	if len(x.Session.Grants) != 1 || x.Call("c1").Status != Allowed {
		t.Fatal("no grant")
	}
	x.Put(Withdrawn{Ask: "a0", By: script.Ana, Next: "a9"})
	if len(x.Session.Grants) != 0 || x.Call("c0").Status != Awaiting || x.Call("c0").Ask != "a9" || x.Call("c1").Status != Proposed {
		t.Errorf("after undo: grants %v, c0 %s, c1 %s", x.Session.Grants, x.Call("c0").Status, x.Call("c1").Status)
	}
	x.Put(Decided{Ask: "a0", Digest: x.Call("c0").Digest, Choice: chat.AllowOnce, By: script.Ana})
	if x.Call("c0").Status != Awaiting {
		t.Error("the click of the undone asking still counts")
	}
}

// R119
func TestCountedGrant(t *testing.T) {
	x := script.Begin(t, script.Proposes("c0", "w", `{"n":0}`))
	x.Session.Grants = []permission.Grant{{ID: "g", Chat: x.Session.Chat, Tool: x.Call("c0").Tool, By: script.Ana, Counted: true, Uses: 1}}
	r := script.Rules("c0", "a0", permission.Allow, permission.Write)
	r.Ruling.Grant = "g"
	x.Put(r, Started{Call: "c0", Run: "r0", Ask: "a0", Digest: x.Call("c0").Digest, Grant: "g", Token: 1})
	if x.Call("c0").Status != Running || x.Session.Grants[0].Uses != 0 {
		t.Fatalf("%s, %d uses left", x.Call("c0").Status, x.Session.Grants[0].Uses)
	}
	y := script.Begin(t, script.Proposes("c0", "w", `{"n":0}`))
	y.Session.Grants = []permission.Grant{{ID: "g", Chat: x.Session.Chat, Tool: x.Call("c0").Tool, By: script.Ana, Counted: true}}
	y.Put(r, Started{Call: "c0", Run: "r0", Ask: "a0", Digest: x.Call("c0").Digest, Grant: "g", Token: 1})
	if y.Call("c0").Status != Allowed {
		t.Error("a used-up grant started a call")
	}
}

func TestTranscriptIsBounded(t *testing.T) {
	x := script.New(t)
	for i := range 300 {
		x.Put(script.Says(fmt.Sprintf("m%d", i), "hi", script.Ana))
		x.Put(Replied{Turn: x.Session.Turn.ID, Text: "ho"}, Ended{Turn: x.Session.Turn.ID, Why: Answered})
	}
	if len(x.Session.Transcript) != MaxTranscript || x.Session.Dropped != 600-MaxTranscript {
		t.Errorf("%d kept, %d dropped", len(x.Session.Transcript), x.Session.Dropped)
	}
}

func TestUnknownVersionIsRefused(t *testing.T) {
	for _, b := range []string{`{"v":1,"k":"surprise","e":{}}`, `{"v":4,"k":"said","e":{}}`, `{"v":2,"k":"edited","e":{}}`, `{"v":5,"k":"changed","e":{}}`, `{"v":1,"k":"session","e":{}}`} {
		if ev, err := Decode([]byte(b)); err == nil {
			t.Errorf("%s gave %v", b, ev)
		}
	}
	if _, err := DecodeSession([]byte(`{"v":9,"k":"session","e":{}}`)); err == nil {
		t.Error("a newer snapshot was read")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"k":"said","e":{"delivery":"d","by":"web::ana","text":"hi"}}`))
	f.Add([]byte(`{"v":1,"k":"ruled","e":{"call":"c","ask":"a","ruling":{"verdict":"ask"}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		ev, err := Decode(b)
		if err != nil {
			return
		}
		s := New(chat.ID{Platform: "web", Key: "c"})
		s = Apply(s, Entry{Seq: 1, Event: script.Says("d", "x", script.Ana)})
		s = Apply(s, Entry{Seq: 2, Event: ev})
		checkView(t, s)
	})
}

// A stored session is read or refused, and what is read can be shown and goes on.
func FuzzDecodeSession(f *testing.F) {
	lines, err := os.ReadFile("testdata/every_kind.sessions.v1")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(lines) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSession(b)
		if err != nil {
			return
		}
		checkView(t, Apply(s, Entry{Seq: 1 << 40, Event: script.Says("d", "x", script.Ana)}))
	})
}

// What strangers write on a card (names, descriptions, reasons, faults) hides nothing and breaks no line.
func TestViewShowsStrangersWordsPlainly(t *testing.T) {
	const evil = "a\u202eb\u200bc\nApproved by @admin"
	tl := permission.Tool{Server: "fi" + evil, Name: "w" + evil}
	p := Proposal{ID: "c0", Tool: tl, Args: []byte(`{}`), Digest: "d"}
	r := script.Rules("c0", "a0", permission.Ask, permission.Write)
	r.Ruling.Message, r.Ruling.Impact, r.Card = evil, evil, Card{Describes: evil, Server: evil, Icon: evil, Notice: evil, Who: []string{evil}}
	r.Ruling.Reasons[0].Text = evil
	x := script.New(t).Put(Said{Delivery: "m", By: script.Ana, Name: evil, Text: "hi"}, Shown{Turn: "t1", Message: "s"}, Replied{Turn: "t1", Calls: []Proposal{p}, Faults: []string{evil}}, r)
	check := func(when string) {
		t.Helper()
		raw := fmt.Sprintf("%+v", card.View(x.Session, x.Session.Turn, card.Live{Note: evil, Progress: map[CallID]Progress{"c0": {Message: evil}}}))
		for _, bad := range []string{"\u202e", "\u200b", "\nApproved"} {
			if strings.Contains(raw, bad) {
				t.Errorf("%s: %q of a stranger stands in the message: %q", when, bad, raw)
			}
		}
	}
	check("asking")
	x.Put(Decided{Ask: "a0", Digest: "d", Choice: chat.Deny, By: script.Ben, Name: evil, Reason: evil})
	check("denied")
	x.Put(StopAsked{Turn: "t1", By: script.Ben, Name: evil})
	check("stopped")
}
