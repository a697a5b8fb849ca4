package turn

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

func (x *script) owesIn(why string, env Env, want ...Command) *script {
	x.t.Helper()
	if got := Next(x.s, x.at, env); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
		x.t.Errorf("%s: owed %#v, want %#v", why, got, want)
	}
	return x
}

func TestWhatIsOwedForARun(t *testing.T) {
	x := ran(t)
	x.owesIn("its own run", Env{Live: "r1"}).owesIn("nobody's run", Env{}, Recover{"c1", "r1"}).owesIn("another run", Env{Live: "r0"}, Recover{"c1", "r1"})
	x.put(StopAsked{Turn: "t1", By: ana}).owesIn("its own run, stopped", Env{Live: "r1"}, Cancel{"r1"}).owesIn("another's, stopped", Env{}, Recover{"c1", "r1"})
}

// The message can come late: nothing waits for it but the end of the turn.
func TestShowHoldsNothingUp(t *testing.T) {
	x := newScript(t).owes("nothing happened").put(says("m1", "hi", ana)).owes("a new turn", Show{"t1"}, AskModel{0})
	x.put(Replied{Turn: "t1", Calls: []Proposal{proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)}}).owes("two calls", Show{"t1"}, Rule{"c1"}, Rule{"c2"})
	x.owesIn("two calls, one at a time", Env{Sequential: true}, Show{"t1"}, Rule{"c1"})
	x.put(rules("c1", "a1", permission.Allow, permission.Write)).owes("all are ruled before any runs", Show{"t1"}, Rule{"c2"})
	x.put(rules("c2", "a2", permission.Allow, permission.Write)).owes("then they run", Show{"t1"}, RunTool{"c1"})
	x.put(Shown{Turn: "t1", Message: "s"}).owes("shown", RunTool{"c1"})
}

func TestTheMessageComesBeforeTheEnd(t *testing.T) {
	x := newScript(t).put(says("m1", "hi", ana), Replied{Turn: "t1", Text: "ho"}).owes("answered, not shown", Show{"t1"})
	x.fork().put(Shown{Turn: "t1", Message: "s"}).owes("answered and shown", End{Answered})
	x = newScript(t).put(says("m1", "hi", ana), Replied{Turn: "t1", Calls: []Proposal{proposes("c1", "w", `{}`)}}, rules("c1", "a1", permission.Ask, permission.Write)).decides("c1", chat.Deny, ana)
	x.owesIn("no limit is reached", Env{MaxSteps: 2, MaxDenials: 2}, Show{"t1"}, AskModel{1}).owesIn("steps", Env{MaxSteps: 1}, Show{"t1"}).owesIn("denials", Env{MaxDenials: 1}, Show{"t1"})
	x.put(StopAsked{Turn: "t1", By: ana}).owes("a stopped turn need not be shown to end", Show{"t1"}, End{WasStopped})
}

func TestSequentialGoesOnWhenTheFirstIsSettled(t *testing.T) {
	env := Env{Sequential: true}
	x := begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)).put(rules("c1", "a1", permission.Allow, permission.Write))
	x.owesIn("the first is allowed", env, RunTool{"c1"}).starts("c1", "r1").owesIn("it runs", Env{Sequential: true, Live: "r1"})
	x.put(Finished{Call: "c1", Run: "r1"}).owesIn("it is done", env, Rule{"c2"})
}

func TestLimits(t *testing.T) {
	x := begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`), proposes("c3", "w", `{"n":3}`)).put(rules("c1", "a1", permission.Ask, permission.Write),
		rules("c2", "a2", permission.Ask, permission.Write), rules("c3", "a3", permission.Forbid, permission.Write)).decides("c1", chat.Deny, ana).decides("c2", chat.Deny, ana)
	again := func(step int) {
		id := fmt.Sprintf("c%d", 10+step)
		x.put(Replied{Turn: "t1", Step: step, Calls: []Proposal{proposes(id, "w", `{"n":4}`)}}, rules(id, "a"+id, permission.Ask, permission.Write)).decides(id, chat.Deny, ana)
	}
	x.owesIn("no limits", Env{}, AskModel{1}).owesIn("limits ahead", Env{MaxSteps: 2, MaxDenials: 2}, AskModel{1})
	x.owesIn("one step", Env{MaxSteps: 1}, End{TooManySteps}).owesIn("one reply denied", Env{MaxDenials: 1}, End{TooManyDenials})
	again(1)
	x.owesIn("two of three", Env{MaxSteps: 3, MaxDenials: 3}, AskModel{2}).owesIn("two replies of which something was denied", Env{MaxDenials: 2}, End{TooManyDenials})
	x.owesIn("two steps", Env{MaxSteps: 2}, End{TooManySteps})

	// What policy forbids is nobody's no.
	y := begin(t, proposes("c1", "w", `{}`)).put(rules("c1", "a1", permission.Forbid, permission.Write)).owesIn("forbidden", Env{MaxDenials: 1}, AskModel{1})
	y.put(Replied{Turn: "t1", Step: 1, Text: "I see."}).owesIn("answered at the limit", Env{MaxSteps: 2}, End{Answered})
}

func TestEndsNow(t *testing.T) {
	if EndsNow(newScript(t).s) || EndsNow(ran(t).s) || !EndsNow(asked(t).s) || !EndsNow(lost(t).s) {
		t.Error("a turn can be ended at once when it is open and nothing of it runs")
	}
}

func TestDeniedBefore(t *testing.T) {
	same := proposes("", "w", `{}`).Digest
	x := begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)).put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Forbid, permission.Write))
	if DeniedBefore(nil, same) || DeniedBefore(x.s.Turn, same) {
		t.Error("nobody denied it yet")
	}
	x.decides("c1", chat.Deny, ana)
	if !DeniedBefore(x.s.Turn, same) {
		t.Error("it was denied")
	}
	if DeniedBefore(x.s.Turn, x.call("c2").Digest) || DeniedBefore(x.s.Turn, "other") {
		t.Error("policy's no, or another call, counts as a person's no")
	}
}

func TestWakeAt(t *testing.T) {
	timed := func(call, ask string, d time.Duration) Ruled {
		r := rules(call, ask, permission.Ask, permission.Write)
		r.Ruling.Timeout = d
		return r
	}
	if !WakeAt(newScript(t).s, time.Time{}, Env{}).IsZero() || len(Waits(newScript(t).s)) > 0 || len(OpenAsks(newScript(t).s)) > 0 {
		t.Error("nothing waits in an empty session")
	}
	for name, c := range map[string]struct {
		waits []time.Duration
		want  time.Duration
	}{
		"parked":                  {[]time.Duration{0}, 0},
		"one":                     {[]time.Duration{time.Minute}, time.Minute},
		"the earliest is first":   {[]time.Duration{time.Minute, time.Hour}, time.Minute},
		"the earliest is last":    {[]time.Duration{time.Hour, time.Minute}, time.Minute},
		"parked before and after": {[]time.Duration{0, time.Minute, 0}, time.Minute},
	} {
		var calls []Proposal
		for i := range c.waits {
			calls = append(calls, proposes(fmt.Sprintf("c%d", i), "w", fmt.Sprintf(`{"n":%d}`, i)))
		}
		x := begin(t, calls...)
		var want time.Time
		if c.want > 0 {
			want = x.at.Add(c.want)
		}
		for i, d := range c.waits {
			x.put(timed(fmt.Sprintf("c%d", i), fmt.Sprintf("a%d", i), d))
		}
		for i := range c.waits {
			x.seen(AskID(fmt.Sprintf("a%d", i)))
		}
		if got := WakeAt(x.s, x.at, Env{}); !got.Equal(want) {
			t.Errorf("%s: wakes at %v, want %v", name, got, want)
		}
	}
}

func TestIndexed(t *testing.T) {
	for _, c := range []struct {
		ev   Event
		want string
	}{
		{rules("c1", "a1", permission.Ask, permission.Write), "a1 c1"},
		{rules("c1", "a1", permission.Allow, permission.Write), ""},
		{rules("c1", "a1", permission.Forbid, permission.Write), ""},
		{Abandoned{Ask: "a2"}, "a2"}, {Withdrawn{Ask: "a1", Next: "a3"}, "a3"}, {Reopened{Ask: "a1", Next: "a4"}, "a4"},
		{Resolved{Ask: "a2", Next: "a5"}, "a5"}, {Decided{Ask: "a1"}, ""}, {Said{}, ""},
	} {
		if got := strings.Join(Indexed(c.ev), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.ev.Kind(), got, c.want)
		}
	}
}

func TestTalk(t *testing.T) {
	quoted := says("m3", "three", ana)
	quoted.Context = []chat.Quote{{Text: "what somebody else wrote"}}
	x := newScript(t).put(says("m0", "hi", ben), says("m1", "one", ana), says("m2", "two", ana), quoted, says("m4", "four", ana)).answer()
	id := x.s.Turn.ID
	x.put(Replied{Turn: id, Calls: []Proposal{proposes("c1", "w", `{}`)}}, rules("c1", "a1", permission.Forbid, permission.Write)).
		put(Replied{Turn: id, Step: 1, Text: "Hm", Cut: true, Calls: []Proposal{proposes("c2", "w", `{"n":2}`)}})
	var said []string
	for _, u := range Talk(x.s) {
		line := fmt.Sprintf("%s: %s", u.Role, u.Text)
		for _, c := range u.Calls {
			line += fmt.Sprintf(" [%s %s]", c.ID, c.Result.Text)
		}
		said = append(said, line)
	}
	wantTexts(t, "the model reads", said, "user: hi", "assistant: Well.", "user: one\n\ntwo", "user: three\n\nfour", "assistant:  [c1 not allowed]",
		"assistant: Hm\n\n(this reply was cut short) [c2 No result yet.]")
	x.forbids("c2").put(Replied{Turn: id, Step: 2})
	if talk := Talk(x.s); len(talk) != 6 {
		t.Errorf("an empty reply is read as %+v", talk[len(talk)-1])
	}
}

// forbids: policy rules that the call is forbidden, which settles it.
func (x *script) forbids(call string) *script {
	return x.put(rules(call, "f-"+call, permission.Forbid, permission.Write))
}

func TestTrimExactly(t *testing.T) {
	var talk []Utterance
	for i := range 4 {
		talk = append(talk, Utterance{Role: RoleUser, Text: fmt.Sprint("q", i)}, Utterance{Role: RoleAssistant, Text: fmt.Sprint("a", i)})
	}
	each := talk[0].tokens()
	for budget, want := range map[int]int{8 * each: 8, 8*each - 1: 6, 6 * each: 6, 5 * each: 4, 4 * each: 4, 3 * each: 2, 1: 2, -1: 8} {
		kept, left := Trim(talk, budget)
		if len(kept) != want || left != 8-want || kept[0].Role != RoleUser {
			t.Errorf("budget %d: kept %d from %s, left %d, want %d", budget, len(kept), kept[0].Text, left, want)
		}
	}
	if kept, left := Trim(talk[1:2], 1); len(kept) != 1 || left != 0 {
		t.Errorf("without any question: kept %d, left %d", len(kept), left)
	}
	if kept, left := Trim(nil, 1); len(kept) != 0 || left != 0 {
		t.Errorf("of nothing: kept %d, left %d", len(kept), left)
	}
}

func TestRequested(t *testing.T) {
	x := asked(t)
	x.put(ModeSet{Mode: permission.ModeNever, Rev: 1, By: ben, Name: "Ben"})
	r := Requested(x.s, x.call("c1"))
	if r.Requester != ana || r.Mode != permission.ModeNever || !r.ModeAt.Equal(x.at) || !reflect.DeepEqual(r.Present, []chat.User{ana, ben}) || r.Chat != x.s.Chat {
		t.Errorf("requested %+v", r)
	}
	if r := Requested(New(x.s.Chat), ToolCall{}); !r.Requester.IsZero() {
		t.Error("without a turn nobody requests")
	}
}

func TestStoredBytesThatAreNotOurs(t *testing.T) {
	for b, version := range map[string]bool{`{`: false, `{"v":1,"k":"said","e":{"by":"nobody"}}`: false, `{"v":1,"k":"said","e":7}`: false, `{"v":1,"k":"","e":{}}`: true} {
		if ev, err := Decode([]byte(b)); err == nil || ev != nil || errors.Is(err, ErrVersion) != version {
			t.Errorf("%s gave %v, %v", b, ev, err)
		}
	}
	for b, version := range map[string]bool{`{`: false, `{"v":1,"k":"session","e":7}`: false, `{"v":1,"k":"said","e":{}}`: true} {
		if _, err := DecodeSession([]byte(b)); err == nil || errors.Is(err, ErrVersion) != version {
			t.Errorf("%s gave %v", b, err)
		}
	}
	bad := ToolCall{Args: []byte(`{`)}
	if b, err := Encode(Replied{Calls: []Proposal{{Args: bad.Args}}}); err == nil {
		t.Errorf("stored %s", b)
	}
	if b, err := EncodeSession(Session{Turn: &Turn{Calls: []ToolCall{bad}}}); err == nil {
		t.Errorf("stored %s", b)
	}
}
