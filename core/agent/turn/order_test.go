package turn

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// kinds of calls in a batch, for every combination of which 5.1 is checked against a second, dumb reading.
type kind struct {
	name string
	ask  bool
	read bool
}

var kinds = []kind{{"auto-read", false, true}, {"auto-write", false, false}, {"ask-read", true, true}, {"ask-write", true, false}}

// runAll starts and finishes whatever may run and returns the order.
func (x *script) runAll(ran []string) []string {
	for n := 0; n < 20; n++ {
		var run *RunTool
		for _, c := range Next(x.s, x.at, Env{}) {
			if r, ok := c.(RunTool); ok {
				run = &r
			}
		}
		if run == nil {
			return ran
		}
		id := string(run.Call)
		ran = append(ran, id)
		x.starts(id, fmt.Sprintf("r-%s-%d", id, len(ran))).put(Finished{Call: run.Call, Run: RunID(fmt.Sprintf("r-%s-%d", id, len(ran))), Result: Result{Text: "ok"}})
	}
	x.t.Fatal("it never ends")
	return nil
}

// dumb is REQUIREMENTS 5.1 read aloud, on names only.
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
			calls = append(calls, proposes(fmt.Sprintf("c%d", i), "tool", fmt.Sprintf(`{"n":%d}`, i)))
		}
		x := begin(t, calls...)
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
			x.put(rules(fmt.Sprintf("c%d", i), fmt.Sprintf("a%d", i), v, a))
		}
		before, after := dumb(batch)
		if asks == 0 {
			before, after = append(before, after...), nil
		}
		if got := x.runAll(nil); !slices.Equal(got, before) {
			t.Errorf("%v: before the answers %v ran, want %v", batch, got, before)
		}
		for i := range batch { // answered from the last to the first: the order of clicks does not count
			if j := len(batch) - 1 - i; batch[j].ask {
				if open := len(OpenAsks(x.s)); open > 1 {
					x.decides(fmt.Sprintf("c%d", j), chat.AllowOnce, ana)
					if got := x.runAll(nil); len(got) > 0 {
						t.Errorf("%v: %v ran while %d asks were open", batch, got, open-1)
					}
				} else {
					x.decides(fmt.Sprintf("c%d", j), chat.AllowOnce, ana)
				}
			}
		}
		if got := x.runAll(nil); !slices.Equal(got, after) {
			t.Errorf("%v: after the answers %v ran, want %v", batch, got, after)
		}
		if !x.s.Turn.settled() {
			t.Errorf("%v: not settled", batch)
		}
	}
}

func TestSequentialAsksOneAtATime(t *testing.T) {
	x := begin(t, proposes("c0", "w", `{"n":0}`), proposes("c1", "w", `{"n":1}`))
	env := Env{Sequential: true}
	if got := Next(x.s, x.at, env); len(got) != 1 || got[0] != (Rule{"c0"}) {
		t.Fatalf("owed %v", got)
	}
	x.put(rules("c0", "a0", permission.Ask, permission.Write))
	if got := Next(x.s, x.at, env); len(got) != 0 {
		t.Fatalf("while the first waits: %v", got)
	}
	x.decides("c0", chat.Deny, ana)
	if got := Next(x.s, x.at, env); len(got) != 1 || got[0] != (Rule{"c1"}) {
		t.Fatalf("after the first: %v", got)
	}
}

func TestDeadline(t *testing.T) {
	ask := func() *script {
		return begin(t, proposes("c0", "w", `{}`)).put(rules("c0", "a0", permission.Ask, permission.Write))
	}
	x := ask().after(time.Minute-time.Millisecond).decides("c0", chat.AllowOnce, ana)
	if got := x.call("c0").Status; got != Allowed {
		t.Errorf("a click 1 ms before the deadline gave %s", got)
	}
	x = ask().after(time.Minute).decides("c0", chat.AllowOnce, ana)
	if got := x.call("c0").Status; got != Awaiting {
		t.Errorf("a click at the deadline gave %s", got)
	}
	x = ask().after(time.Minute - time.Millisecond).put(Expired{Ask: "a0"})
	if got := x.call("c0").Status; got != Awaiting {
		t.Errorf("an expiry before the deadline gave %s", got)
	}
	x = ask().after(time.Second).put(Extended{Ask: "a0", By: ana, Until: x.at.Add(10 * time.Minute)}).after(2 * time.Minute).put(Expired{Ask: "a0"})
	if got := x.call("c0").Status; got != Awaiting {
		t.Errorf("an extended ask expired at its old deadline: %s", got)
	}
	x = ask().after(2 * time.Minute).put(Extended{Ask: "a0", By: ana, Until: x.at.Add(10 * time.Minute)})
	if at := x.call("c0").Deadline; !at.Equal(x.call("c0").AskedAt.Add(time.Minute)) {
		t.Error("an ask was extended after its deadline")
	}
}

func TestGrantEndsWithItsDecision(t *testing.T) {
	x := begin(t, proposes("c0", "w", `{"n":0}`), proposes("c1", "w", `{"n":1}`), proposes("c2", "w", `{"n":2}`)).
		put(rules("c0", "a0", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write)).decides("c0", chat.AllowChat, ana)
	r := rules("c1", "a1", permission.Allow, permission.Write)
	r.Ruling.Grant = "g-c0"
	x.put(r)
	if len(x.s.Grants) != 1 || x.call("c1").Status != Allowed {
		t.Fatal("no grant")
	}
	x.put(Withdrawn{Ask: "a0", By: ana, Next: "a9"})
	if len(x.s.Grants) != 0 || x.call("c0").Status != Awaiting || x.call("c0").Ask != "a9" || x.call("c1").Status != Proposed {
		t.Errorf("after undo: grants %v, c0 %s, c1 %s", x.s.Grants, x.call("c0").Status, x.call("c1").Status)
	}
	x.put(Decided{Ask: "a0", Digest: x.call("c0").Digest, Choice: chat.AllowOnce, By: ana})
	if x.call("c0").Status != Awaiting {
		t.Error("the click of the undone asking still counts")
	}
}

func TestCountedGrant(t *testing.T) {
	x := begin(t, proposes("c0", "w", `{"n":0}`))
	x.s.Grants = []permission.Grant{{ID: "g", Chat: x.s.Chat, Tool: x.call("c0").Tool, By: ana, Counted: true, Uses: 1}}
	r := rules("c0", "a0", permission.Allow, permission.Write)
	r.Ruling.Grant = "g"
	x.put(r, Started{Call: "c0", Run: "r0", Ask: "a0", Digest: x.call("c0").Digest, Grant: "g", Token: 1})
	if x.call("c0").Status != Running || x.s.Grants[0].Uses != 0 {
		t.Fatalf("%s, %d uses left", x.call("c0").Status, x.s.Grants[0].Uses)
	}
	y := begin(t, proposes("c0", "w", `{"n":0}`))
	y.s.Grants = []permission.Grant{{ID: "g", Chat: x.s.Chat, Tool: x.call("c0").Tool, By: ana, Counted: true}}
	y.put(r, Started{Call: "c0", Run: "r0", Ask: "a0", Digest: x.call("c0").Digest, Grant: "g", Token: 1})
	if y.call("c0").Status != Allowed {
		t.Error("a used-up grant started a call")
	}
}

func TestTrimKeepsTheLastQuestion(t *testing.T) {
	var talk []Utterance
	for i := range 10 {
		talk = append(talk, Utterance{Role: RoleUser, Text: fmt.Sprintf("%0300d", i)}, Utterance{Role: RoleAssistant, Text: fmt.Sprintf("%0300d", i)})
	}
	kept, left := Trim(talk, 500)
	if left == 0 || len(kept)+left != len(talk) || kept[0].Role != RoleUser {
		t.Errorf("kept %d, left %d, first %v", len(kept), left, kept[0].Role)
	}
	if kept, _ := Trim(talk, 1); kept[0].Text != talk[18].Text || len(kept) != 2 {
		t.Errorf("the last question and what follows it have to stay: kept %d", len(kept))
	}
	if kept, left := Trim(talk, 0); left != 0 || len(kept) != len(talk) {
		t.Error("no budget means all")
	}
}

// TestTrimCutsTheLongestResults: where the last question and its results are too much, the longest results are cut, and say so.
func TestTrimCutsTheLongestResults(t *testing.T) {
	result := func(n int) TalkCall { return TalkCall{Result: Result{Text: strings.Repeat("x", n)}} }
	talk := []Utterance{
		{Role: RoleUser, Text: "q"},
		{Role: RoleAssistant, Calls: []TalkCall{result(40_000), result(9_000), {Result: Result{Structured: json.RawMessage(`{"a":"` + strings.Repeat("y", 30_000) + `"}`)}}, {Result: Result{Text: "t", Structured: json.RawMessage(`{}`)}}}},
	}
	kept, left := Trim(talk, 10_000)
	if got := Tokens(kept); left != 0 || got > 10_100 || got < 9_900 {
		t.Errorf("%d tokens of 10,000, %d left out", got, left)
	}
	calls := kept[1].Calls
	for _, i := range []int{0, 2} {
		if text := calls[i].Result.Text; calls[i].Result.Structured != nil || !strings.HasSuffix(text, "bytes of this result left out: the conversation is too long for the model]") {
			t.Errorf("result %d ends %q", i, text[max(0, len(text)-100):])
		}
	}
	if !reflect.DeepEqual(calls[1], talk[1].Calls[1]) || !reflect.DeepEqual(calls[3], talk[1].Calls[3]) || len(talk[1].Calls[0].Result.Text) != 40_000 {
		t.Error("what was short enough changed, or the log did")
	}
	if kept, _ := Trim(talk, 1); kept[1].Calls[0].Result.size() < leastResult || kept[1].Calls[3].Result.Text != "t" {
		t.Errorf("with no room at all: %q", kept[1].Calls[0].Result.Text)
	}
}

func TestTranscriptIsBounded(t *testing.T) {
	x := newScript(t)
	for i := range 300 {
		x.put(says(fmt.Sprintf("m%d", i), "hi", ana))
		x.put(Replied{Turn: x.s.Turn.ID, Text: "ho"}, Ended{Turn: x.s.Turn.ID, Why: Answered})
	}
	if len(x.s.Transcript) != maxTranscript || x.s.Dropped != 600-maxTranscript {
		t.Errorf("%d kept, %d dropped", len(x.s.Transcript), x.s.Dropped)
	}
}

func TestUnknownVersionIsRefused(t *testing.T) {
	for _, b := range []string{`{"v":1,"k":"surprise","e":{}}`, `{"v":2,"k":"said","e":{}}`, `{"v":1,"k":"session","e":{}}`} {
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
		s = Apply(s, Entry{Seq: 1, Event: says("d", "x", ana)})
		s = Apply(s, Entry{Seq: 2, Event: ev})
		checkView(t, s)
	})
}

// What strangers write on a card (names, descriptions, reasons, faults) hides nothing and breaks no line.
func TestViewShowsStrangersWordsPlainly(t *testing.T) {
	const evil = "a\u202eb\u200bc\nApproved by @admin"
	tl := permission.Tool{Server: "fi" + evil, Name: "w" + evil}
	p := Proposal{ID: "c0", Tool: tl, Args: []byte(`{}`), Digest: "d"}
	r := rules("c0", "a0", permission.Ask, permission.Write)
	r.Ruling.Message, r.Ruling.Impact, r.Card = evil, evil, Card{Describes: evil, Server: evil, Icon: evil, Notice: evil, Who: []string{evil}}
	r.Ruling.Reasons[0].Text = evil
	x := newScript(t).put(Said{Delivery: "m", By: ana, Name: evil, Text: "hi"}, Shown{Turn: "t1", Message: "s"}, Replied{Turn: "t1", Calls: []Proposal{p}, Faults: []string{evil}}, r)
	check := func(when string) {
		t.Helper()
		raw := fmt.Sprintf("%+v", View(x.s, x.s.Turn, Live{Note: evil, Progress: map[CallID]Progress{"c0": {Message: evil}}}))
		for _, bad := range []string{"\u202e", "\u200b", "\nApproved"} {
			if strings.Contains(raw, bad) {
				t.Errorf("%s: %q of a stranger stands in the message: %q", when, bad, raw)
			}
		}
	}
	check("asking")
	x.put(Decided{Ask: "a0", Digest: "d", Choice: chat.Deny, By: ben, Name: evil, Reason: evil})
	check("denied")
	x.put(StopAsked{Turn: "t1", By: ben, Name: evil})
	check("stopped")
}
