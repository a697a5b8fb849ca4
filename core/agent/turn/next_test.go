package turn_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/script"
)

func TestWhatIsOwedForARun(t *testing.T) {
	x := script.Ran(t)
	x.OwesIn("its own run", Env{Live: "r1"}).OwesIn("nobody's run", Env{}, Recover{"c1", "r1"}).OwesIn("another run", Env{Live: "r0"}, Recover{"c1", "r1"})
	x.Put(StopAsked{Turn: "t1", By: script.Ana}).OwesIn("its own run, stopped", Env{Live: "r1"}, Cancel{"r1"}).OwesIn("another's, stopped", Env{}, Recover{"c1", "r1"})
}

// The message can come late: nothing waits for it but the end of the turn.
func TestShowHoldsNothingUp(t *testing.T) {
	x := script.New(t).Owes("nothing happened").Put(script.Says("m1", "hi", script.Ana)).Owes("a new turn", Show{"t1"}, AskModel{0})
	x.Put(Replied{Turn: "t1", Calls: []Proposal{script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)}}).Owes("two calls", Show{"t1"}, Rule{"c1"}, Rule{"c2"})
	x.OwesIn("two calls, one at a time", Env{Sequential: true}, Show{"t1"}, Rule{"c1"})
	x.Put(script.Rules("c1", "a1", permission.Allow, permission.Write)).Owes("all are ruled before any runs", Show{"t1"}, Rule{"c2"})
	x.Put(script.Rules("c2", "a2", permission.Allow, permission.Write)).Owes("then they run", Show{"t1"}, RunTool{"c1"})
	x.Put(Shown{Turn: "t1", Message: "s"}).Owes("shown", RunTool{"c1"})
}

func TestTheMessageComesBeforeTheEnd(t *testing.T) {
	x := script.New(t).Put(script.Says("m1", "hi", script.Ana), Replied{Turn: "t1", Text: "ho"}).Owes("answered, not shown", Show{"t1"})
	x.Fork().Put(Shown{Turn: "t1", Message: "s"}).Owes("answered and shown", End{Answered})
	x = script.New(t).Put(script.Says("m1", "hi", script.Ana), Replied{Turn: "t1", Calls: []Proposal{script.Proposes("c1", "w", `{}`)}}, script.Rules("c1", "a1", permission.Ask, permission.Write)).Decides("c1", chat.Deny, script.Ana)
	x.OwesIn("no limit is reached", Env{MaxSteps: 2, MaxDenials: 2}, Show{"t1"}, AskModel{1}).OwesIn("steps", Env{MaxSteps: 1}, Show{"t1"}).OwesIn("denials", Env{MaxDenials: 1}, Show{"t1"})
	x.Put(StopAsked{Turn: "t1", By: script.Ana}).Owes("a stopped turn need not be shown to end", Show{"t1"}, End{WasStopped})
}

func TestSequentialGoesOnWhenTheFirstIsSettled(t *testing.T) {
	env := Env{Sequential: true}
	x := script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)).Put(script.Rules("c1", "a1", permission.Allow, permission.Write))
	x.OwesIn("the first is allowed", env, RunTool{"c1"}).Starts("c1", "r1").OwesIn("it runs", Env{Sequential: true, Live: "r1"})
	x.Put(Finished{Call: "c1", Run: "r1"}).OwesIn("it is done", env, Rule{"c2"})
}

func TestLimits(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`), script.Proposes("c3", "w", `{"n":3}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write),
		script.Rules("c2", "a2", permission.Ask, permission.Write), script.Rules("c3", "a3", permission.Forbid, permission.Write)).Decides("c1", chat.Deny, script.Ana).Decides("c2", chat.Deny, script.Ana)
	again := func(step int) {
		id := fmt.Sprintf("c%d", 10+step)
		x.Put(Replied{Turn: "t1", Step: step, Calls: []Proposal{script.Proposes(id, "w", `{"n":4}`)}}, script.Rules(id, "a"+id, permission.Ask, permission.Write)).Decides(id, chat.Deny, script.Ana)
	}
	x.OwesIn("no limits", Env{}, AskModel{1}).OwesIn("limits ahead", Env{MaxSteps: 2, MaxDenials: 2}, AskModel{1})
	x.OwesIn("one step", Env{MaxSteps: 1}, End{TooManySteps}).OwesIn("one reply denied", Env{MaxDenials: 1}, End{TooManyDenials})
	again(1)
	x.OwesIn("two of three", Env{MaxSteps: 3, MaxDenials: 3}, AskModel{2}).OwesIn("two replies of which something was denied", Env{MaxDenials: 2}, End{TooManyDenials})
	x.OwesIn("two steps", Env{MaxSteps: 2}, End{TooManySteps})

	// What policy forbids is nobody's no.
	y := script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(script.Rules("c1", "a1", permission.Forbid, permission.Write)).OwesIn("forbidden", Env{MaxDenials: 1}, AskModel{1})
	y.Put(Replied{Turn: "t1", Step: 1, Text: "I see."}).OwesIn("answered at the limit", Env{MaxSteps: 2}, End{Answered})
}

func TestEndsNow(t *testing.T) {
	if EndsNow(script.New(t).Session) || EndsNow(script.Ran(t).Session) || !EndsNow(script.Asked(t).Session) || !EndsNow(script.Lost(t).Session) {
		t.Error("a turn can be ended at once when it is open and nothing of it runs")
	}
}

func TestDeniedBefore(t *testing.T) {
	same := script.Proposes("", "w", `{}`).Digest
	x := script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Forbid, permission.Write))
	if DeniedBefore(nil, same) || DeniedBefore(x.Session.Turn, same) {
		t.Error("nobody denied it yet")
	}
	x.Decides("c1", chat.Deny, script.Ana)
	if !DeniedBefore(x.Session.Turn, same) {
		t.Error("it was denied")
	}
	if DeniedBefore(x.Session.Turn, x.Call("c2").Digest) || DeniedBefore(x.Session.Turn, "other") {
		t.Error("policy's no, or another call, counts as a person's no")
	}
}

func TestWakeAt(t *testing.T) {
	timed := func(call, ask string, d time.Duration) Ruled {
		r := script.Rules(call, ask, permission.Ask, permission.Write)
		r.Ruling.Timeout = d
		return r
	}
	if !WakeAt(script.New(t).Session, time.Time{}, Env{}).IsZero() || len(Waits(script.New(t).Session)) > 0 || len(OpenAsks(script.New(t).Session)) > 0 {
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
			calls = append(calls, script.Proposes(fmt.Sprintf("c%d", i), "w", fmt.Sprintf(`{"n":%d}`, i)))
		}
		x := script.Begin(t, calls...)
		var want time.Time
		if c.want > 0 {
			want = x.Now.Add(c.want)
		}
		for i, d := range c.waits {
			x.Put(timed(fmt.Sprintf("c%d", i), fmt.Sprintf("a%d", i), d))
		}
		for i := range c.waits {
			x.Seen(AskID(fmt.Sprintf("a%d", i)))
		}
		if got := WakeAt(x.Session, x.Now, Env{}); !got.Equal(want) {
			t.Errorf("%s: wakes at %v, want %v", name, got, want)
		}
	}
}

func TestIndexed(t *testing.T) {
	for _, c := range []struct {
		ev   Event
		want string
	}{
		{script.Rules("c1", "a1", permission.Ask, permission.Write), "a1 c1"},
		{script.Rules("c1", "a1", permission.Allow, permission.Write), ""},
		{script.Rules("c1", "a1", permission.Forbid, permission.Write), ""},
		{Abandoned{Ask: "a2"}, "a2"}, {Withdrawn{Ask: "a1", Next: "a3"}, "a3"}, {Reopened{Ask: "a1", Next: "a4"}, "a4"},
		{Resolved{Ask: "a2", Next: "a5"}, "a5"}, {Decided{Ask: "a1"}, ""}, {Said{}, ""},
	} {
		if got := strings.Join(Indexed(c.ev, true), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.ev.Kind(), got, c.want)
		}
	}
}

func TestRequested(t *testing.T) {
	x := script.Asked(t)
	x.Put(ModeSet{Mode: permission.ModeNever, Rev: 1, By: script.Ben, Name: "Ben"})
	r := Requested(x.Session, x.Call("c1"))
	if r.Requester != script.Ana || r.Mode != permission.ModeNever || !r.ModeAt.Equal(x.Now) || !reflect.DeepEqual(r.Present, []chat.User{script.Ana, script.Ben}) || r.Chat != x.Session.Chat {
		t.Errorf("requested %+v", r)
	}
	if r := Requested(New(x.Session.Chat), ToolCall{}); !r.Requester.IsZero() {
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

func TestGrantsAreIndexed(t *testing.T) {
	x := script.Asked(t)
	x.Decides("c1", chat.AllowChat, script.Ana)
	if got := Indexed(x.Log[len(x.Log)-1].Event, true); !slices.Equal(got, []string{GrantIndex + "g-c1"}) {
		t.Errorf("%v", got)
	}
}

// A word that an earlier release would skip has a version that it refuses, in the log and in a snapshot; what it folds as ever keeps its own.
func TestNewWordsHaveANewVersion(t *testing.T) {
	tool := permission.Tool{Server: "files", Name: "read", Definition: "d1"}
	s := New(chat.ID{Platform: "nod", Key: "settings"})
	for i, c := range []struct {
		change         permission.Change
		event, session string
	}{
		{permission.Seen{Tool: tool, Stranger: true}, `{"v":1,`, `{"v":2,`},
		{permission.AcceptReads{Tool: tool}, `{"v":2,`, `{"v":3,`},
		{permission.AcceptReads{Tool: tool, Off: true}, `{"v":2,`, `{"v":2,`},
		{permission.Holding{What: "web::ana"}, `{"v":4,`, `{"v":5,`},
		{permission.Holding{What: "web::ana", Off: true}, `{"v":4,`, `{"v":2,`},
	} {
		b, err := Encode(Changed{Changes: permission.Changes{c.change}, By: chat.User{Platform: "web", Key: "root"}})
		if err != nil || !strings.HasPrefix(string(b), c.event) {
			t.Errorf("%s is stored as %s, %v", c.change, b, err)
		}
		ev, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		s = Apply(s, Entry{Seq: uint64(i + 1), Event: ev})
		b, err = EncodeSession(s)
		if err != nil || !strings.HasPrefix(string(b), c.session) {
			t.Errorf("after %s the settings are stored as %s, %v", c.change, b, err)
		}
		back, err := DecodeSession(b)
		if pin, _ := back.Settings.Pin(tool); err != nil || pin.Reads != (i == 1) {
			t.Errorf("%v: %+v", err, pin)
		}
	}
}
