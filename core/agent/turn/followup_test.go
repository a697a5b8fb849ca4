package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/script"
)

var nudging = Env{Nudge: 10 * time.Second}

// late is a turn whose message is seconds old when its call asks.
func late(t *testing.T, age time.Duration) *script.Script {
	x := script.New(t).Put(script.Says("m1", "hi", script.Ana)).Put(Shown{Turn: "t1", Message: "b1"}).After(age)
	return x.Put(Replied{Turn: "t1", Calls: []Proposal{script.Proposes("c1", "write_file", `{}`), script.Proposes("c2", "write_file", `{"n":2}`)}},
		script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write))
}

// A card that came by an edit is announced a little later; one that was posted announced itself.
func TestNudge(t *testing.T) {
	nudge := Nudge{"t1", "nudge-a1", "a1"}
	x := late(t, time.Minute).OwesIn("nobody can see it yet", nudging).Seen("a1", "a2")
	x.After(10*time.Second-1).OwesIn("it has just appeared", nudging)
	if at := WakeAt(x.Session, x.Now, nudging); !at.Equal(x.Now.Add(1)) {
		t.Errorf("wakes at %v, not when the nudge is due", at)
	}
	x.After(1).OwesIn("nudges are off", Env{Room: 100}).OwesIn("nobody noticed", nudging, nudge)
	x.Fork().Put(StopAsked{Turn: "t1", By: script.Ana}).OwesIn("stopped", nudging, End{WasStopped})
	refused := x.Fork().Put(Posted{Turn: "t1", Slot: "nudge-a1"}).OwesIn("the platform does not take it", nudging)
	refused.Decides("c1", chat.Deny, script.Ana).Decides("c2", chat.Deny, script.Ana).OwesIn("there is nothing to take away", nudging, AskModel{1})
	posted := Posted{Turn: "t1", Slot: "nudge-a1", Message: "n1"}
	x.Takes(posted).Ignores("told twice", posted, Posted{Turn: "t1", Slot: "nudge-a1", Message: "n2"}, Posted{Turn: "t1"}, Posted{Turn: "t9", Slot: "x"})
	x.OwesIn("it stands", nudging).Decides("c1", chat.Deny, script.Ana).OwesIn("another still waits", nudging)
	x.Decides("c2", chat.Deny, script.Ana).OwesIn("decided", nudging, AskModel{1}, Remove{"t1", "nudge-a1", "n1"})
	x.Answer().OwesIn("the turn is over", nudging, Remove{"t1", "nudge-a1", "n1"})
	x.Takes(Removed{Turn: "t1", Slot: "nudge-a1"}).OwesIn("it is gone", nudging).Ignores("told twice", Removed{Turn: "t1", Slot: "nudge-a1"}, Removed{Turn: "t9", Slot: "nudge-a1"})

	// The first post was the question.
	first := script.New(t).Put(script.Says("m1", "hi", script.Ana), Replied{Turn: "t1", Calls: []Proposal{script.Proposes("c1", "w", `{}`)}}, script.Rules("c1", "a1", permission.Ask, permission.Write))
	first.Put(Shown{Turn: "t1", Message: "b1", Asks: []Appeared{{Ask: "a1"}}}).After(30*time.Second).OwesIn("it was posted", nudging)

	// What is decided needs no nudge. An undone decision asks anew, and so is told anew, once it is seen anew.
	y := late(t, 0).Seen("a1", "a2").Decides("c1", chat.AllowOnce, script.Ana).Decides("c2", chat.AllowOnce, script.Ana).After(time.Minute)
	y.Put(Withdrawn{Ask: "a1", By: script.Ana, Next: "a3"}).OwesIn("asked anew, not seen", nudging).Seen("a3").After(10*time.Second).OwesIn("asked anew", nudging, Nudge{"t1", "nudge-a3", "a3"})
}

// A question that was seen and not answered goes to others, each once, and not what only an admin may answer.
func TestEscalate(t *testing.T) {
	env := Env{Escalate: 10 * time.Second}
	one, two := Escalate{"t1", "escalated-a1", "a1"}, Escalate{"t1", "escalated-a2", "a2"}
	x := late(t, time.Minute).After(time.Second).OwesIn("nobody can see it yet", env).Seen("a1").After(time.Second).Seen("a2")
	x.After(9*time.Second-1).OwesIn("there is time", env)
	if at := WakeAt(x.Session, x.Now, env); !at.Equal(x.Now.Add(1)) {
		t.Errorf("wakes at %v, not when it is due", at)
	}
	x.After(1).OwesIn("it is off", Env{Room: 100}).OwesIn("nobody answered", env, one)
	x.Fork().Put(StopAsked{Turn: "t1", By: script.Ana}).OwesIn("stopped", env, End{WasStopped})
	told := Posted{Turn: "t1", Slot: "escalated-a1", Message: "n1", Who: []string{"slack:T1:ULEAD"}}
	x.Takes(told).Ignores("told twice", told).OwesIn("the other has time", env)
	if who, ok := x.Session.Turn.Escalated("a1"); !ok || len(who) != 1 || !Requested(x.Session, x.Session.Turn.Calls[0]).Escalated || Requested(x.Session, x.Session.Turn.Calls[1]).Escalated {
		t.Errorf("%v %v of the first call, and of the second not", who, ok)
	}
	x.After(time.Second).OwesIn("the other, too", env, two).Decides("c1", chat.Deny, script.Ana).Decides("c2", chat.Deny, script.Ana)
	x.OwesIn("decided", env, AskModel{1}, Remove{"t1", "escalated-a1", "n1"})
	again := late(t, 0).Seen("a1", "a2").After(10*time.Second).Takes(told).Decides("c1", chat.AllowOnce, script.Ana).Decides("c2", chat.AllowOnce, script.Ana)
	again.Put(Withdrawn{Ask: "a1", By: script.Ana, Next: "a3"}).Seen("a3").OwesIn("asked anew", env)
	if _, ok := again.Session.Turn.Escalated("a3"); ok {
		t.Error("what is asked anew is still others' to answer")
	}
	admin := script.New(t).Put(script.Says("m1", "hi", script.Ana), Shown{Turn: "t1", Message: "b1"}, Replied{Turn: "t1", Calls: []Proposal{script.Proposes("c1", "w", `{}`)}},
		Ruled{Call: "c1", Ask: "a1", Ruling: permission.Ruling{Verdict: permission.Ask, Level: permission.LevelAdmin}})
	admin.Seen("a1").After(30*time.Second).OwesIn("only an admin may", env)
}

// The end of a long turn is announced once to whoever asked, where nothing has notified them lately and they have done nothing about it.
func TestTellEnd(t *testing.T) {
	env := Env{Long: time.Minute}
	tell := TellEnd{"t1", "end"}
	ends := func(x *script.Script, why Why) *script.Script {
		return x.Put(Ended{Turn: "t1", Why: why})
	}
	talking := func() *script.Script {
		return script.New(t).Put(script.Says("m1", "hi", script.Ana), Shown{Turn: "t1", Message: "b1"})
	}
	ends(talking().After(time.Minute), Answered).OwesIn("short", env)
	x := ends(talking().After(time.Minute+time.Second), Answered).OwesIn("long", env, tell).OwesIn("it is off", Env{Nudge: 1, Room: 100})
	x.Fork().After(10*time.Minute+time.Second).OwesIn("old news", env)
	x.Takes(Posted{Turn: "t1", Slot: "end", Message: "n1"}).OwesIn("once", env)
	ends(talking().After(time.Hour), ModelFailed).OwesIn("without an answer", env, tell)
	ends(talking().After(time.Hour).Put(StopAsked{Turn: "t1", By: script.Ana}), WasStopped).OwesIn("she stopped it", env)
	ends(talking().After(time.Hour).Put(StopAsked{Turn: "t1", By: script.Ben}), WasStopped).OwesIn("he stopped it", env, tell)
	ends(talking().After(time.Hour), MessageGone).OwesIn("there is nothing to lead to", env)
	late := script.New(t).Put(script.Says("m1", "hi", script.Ana)).After(time.Hour).Put(Shown{Turn: "t1", Message: "b1"}).After(time.Second)
	ends(late, Answered).OwesIn("its message is new", env)
	moved := talking().After(time.Hour).Put(Shown{Turn: "t1", Message: "b2", From: "b1"}, Removed{Turn: "t1", Slot: "left-b1"}).After(time.Second)
	ends(moved, Answered).OwesIn("it was posted anew", env)
	for who, want := range map[chat.User][]Command{script.Ana: nil, script.Ben: {tell}} {
		asked := script.Asked(t).After(30*time.Second).Decides("c1", chat.Deny, who).After(time.Second)
		ends(asked, Answered).OwesIn("decided by "+who.Key, Env{Long: 10 * time.Second}, want...)
	}
	said := script.Says("m1", "hi", script.Ana)
	said.Unattended = true
	ends(script.New(t).Put(said, Shown{Turn: "t1", Message: "b1"}).After(time.Hour), Answered).OwesIn("nobody looks", env)
}

// Others than the requester heard of nothing: they are told at once, however the card came, and of every one that comes later.
func TestOthersAreTold(t *testing.T) {
	others := func(call, ask string) Ruled {
		r := script.Rules(call, ask, permission.Ask, permission.Write)
		r.Card.Others = true
		return r
	}
	x := script.New(t).Put(script.Says("m1", "hi", script.Ana), Replied{Turn: "t1", Calls: []Proposal{script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)}}, others("c1", "a1"), others("c2", "a2"))
	x.OwesIn("its message first", nudging, Show{"t1"})
	x.Put(Shown{Turn: "t1", Message: "b1", Asks: []Appeared{{Ask: "a1"}, {Ask: "a2"}}}).OwesIn("posted", nudging, Nudge{"t1", "nudge-a1", "a1"}).OwesIn("nudges are off", Env{Room: 100})
	x.After(1).Put(Posted{Turn: "t1", Slot: "nudge-a1", Message: "n1"}).OwesIn("one for both", nudging)
	x.After(1).Decides("c1", chat.AllowOnce, script.Ben).Put(Withdrawn{Ask: "a1", By: script.Ben, Next: "a3"}).Seen("a3").OwesIn("another came while it stands", nudging, Nudge{"t1", "nudge-a3", "a3"})
}

// The clock of an ask starts with its card, not with the ruling; a card that cannot be shown ends its turn later.
func TestTheClockStartsWithTheCard(t *testing.T) {
	for name, x := range map[string]*script.Script{"an ask": script.Asked(t), "an unknown outcome": script.Lost(t)} {
		ask := x.Call("c1").Ask
		x.After(time.Hour).Fork().Owes(name+": much too late to begin with", Expire{ask})
		x.After(time.Minute - time.Hour).Fork().Owes(name + ": its time would be over, but nobody has seen it")
		if wakes := WakeAt(x.Session, x.Now, Env{}); !wakes.Equal(x.Now.Add(10 * time.Minute)) {
			t.Errorf("%s: an unseen one wakes at %v", name, wakes)
		}
		x.Takes(Shown{Turn: "t1", Asks: []Appeared{{Ask: ask}}}).Ignores("seen twice", Shown{Turn: "t1", Asks: []Appeared{{Ask: ask}}}, Shown{Turn: "t9", Asks: []Appeared{{Ask: ask}}})
		x.After(time.Minute-1).Ignores("it has its full time", Expired{Ask: ask}).Owes(name+": not yet").After(1).Owes(name+": now", Expire{ask})
		x.Takes(Expired{Ask: ask})
		if c := x.Call("c1"); name == "an ask" && script.ResultOf(c).Text != text.ResultTimedOut(time.Minute) {
			t.Errorf("%q", script.ResultOf(c).Text)
		}
	}
	// What an old log holds reads as it did: an ask that expired unseen did.
	script.Asked(t).After(time.Minute).Takes(Expired{Ask: "a1"}).Is("c1", Lapsed, "Tool execution timed out: nobody answered the request for approval in 60 s")
	w := wanting(t, time.Minute).After(time.Hour).Seen("w1").After(time.Minute-1).Ignores("it has its full time", Expired{Ask: "w1"})
	w.After(1).Takes(Expired{Ask: "w1"})
}

// A card is drawn once: what it says of its end stays as it is while that is true, or early by little.
func TestWhatACardSaysOfItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		late time.Duration // from drawing to being on record
		want time.Duration // what it says then, after it was drawn
	}{
		"at once": {0, time.Minute}, "after a while": {10 * time.Second, time.Minute}, "much later": {20 * time.Second, 80 * time.Second},
		"said too late": {-time.Second, 59 * time.Second},
	} {
		x := script.Asked(t).After(time.Hour)
		drawn := x.Now
		says := func(live card.Live) time.Time {
			m, _ := x.View(live)
			for _, b := range m.Blocks {
				if a, ok := b.(render.Ask); ok {
					return a.Expires
				}
			}
			return time.Time{}
		}
		if at := says(card.Live{Now: drawn}); !at.Equal(drawn.Add(time.Minute)) {
			t.Errorf("%s: drawn with %v", name, at)
		}
		if at := says(card.Live{Now: drawn.Add(time.Second), Drawn: map[AskID]time.Time{"a1": drawn.Add(time.Minute)}}); !at.Equal(drawn.Add(time.Minute)) {
			t.Errorf("%s: drawn again with %v", name, at)
		}
		x.After(c.late).Put(Shown{Turn: "t1", Asks: []Appeared{{Ask: "a1", Until: drawn.Add(time.Minute)}}})
		if at := says(card.Live{Now: x.Now}); !at.Equal(drawn.Add(c.want)) {
			t.Errorf("%s: on record it says %v, drawn at %v", name, at, drawn)
		}
		until := drawn.Add(time.Hour)
		if x.Put(Extended{Ask: "a1", By: script.Ana, Until: until}); !says(card.Live{}).Equal(until) {
			t.Errorf("%s: extended it says %v", name, says(card.Live{}))
		}
	}
}

// What a turn's message is held back for, and what it must not be held back for any longer.
func TestPressing(t *testing.T) {
	said := script.New(t).Put(script.Says("m1", "hi", script.Ana))
	calls := said.Fork().Put(Replied{Turn: "t1", Calls: []Proposal{script.Proposes("c1", "w", `{}`)}})
	for name, c := range map[string]struct {
		x    *script.Script
		want bool
	}{
		"nothing was said": {script.New(t), false}, "the model thinks": {said, false}, "a call is not ruled yet": {calls, false},
		"a call needs no asking": {calls.Fork().Put(script.Rules("c1", "a1", permission.Allow, permission.Read)), false},
		"the model goes on":      {calls.Fork().Put(script.Rules("c1", "a1", permission.Forbid, permission.Read)), false},
		"a question":             {calls.Fork().Put(script.Rules("c1", "a1", permission.Ask, permission.Write)), true},
		"stopped":                {said.Fork().Put(StopAsked{Turn: "t1", By: script.Ana}), true},
		"answered":               {said.Fork().Put(Replied{Turn: "t1", Text: "ho"}), true},
	} {
		if got := Pressing(c.x.Session); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A message that was posted anew is the turn's, and the one before points at it.
func TestPostedAnew(t *testing.T) {
	x := late(t, 0)
	x.Ignores("another stands there", Shown{Turn: "t1", From: "b0", Message: "b2"}, Shown{Turn: "t1", From: "b1", Message: "b1"}, Shown{Turn: "t1", From: "b1"})
	if y := x.Fork().Takes(Shown{Turn: "t1", From: "b1", Message: "b3"}); y.Session.Turn.Shown != "b3" {
		t.Errorf("without a card it is %q", y.Session.Turn.Shown)
	}
	x.Takes(Shown{Turn: "t1", From: "b1", Message: "b2", Asks: []Appeared{{Ask: "a1"}}}).OwesIn("nothing is beside", Env{})
	if x.Session.Turn.Shown != "b2" || x.Call("c1").Seen.Silent {
		t.Errorf("shown %q, %+v", x.Session.Turn.Shown, x.Call("c1").Seen)
	}
	x.OwesIn("it is left", nudging, Point{"t1", "left-b1", "b1"}).Ignores("once", Shown{Turn: "t1", From: "b1", Message: "b2"})
	x.Put(Removed{Turn: "t1", Slot: "left-b1"}).OwesIn("it points", nudging)
}

func TestLongAnswersGoOn(t *testing.T) {
	room := Env{Room: 10}
	x := script.New(t).Put(script.Says("m1", "hi", script.Ana)).Put(Shown{Turn: "t1", Message: "b1"})
	x.Fork().Put(Replied{Turn: "t1", Text: strings.Repeat("ä", 10)}, Ended{Turn: "t1", Why: Answered}).OwesIn("it fits", room)
	x.Put(Replied{Turn: "t1", Text: strings.Repeat("ä", 11)}).OwesIn("first the end", room, End{Answered})
	x.Put(Ended{Turn: "t1", Why: Answered}).OwesIn("it is too long", room, Continue{"t1"}).OwesIn("nothing stands beside", Env{})
	x.Fork().Put(script.Says("m2", "next", script.Ana)).OwesIn("also while the next turn runs", room, Show{"t5"}, AskModel{0}, Continue{"t1"})
	x.Put(Posted{Turn: "t1", Slot: "rest-0", Message: "r0"}).OwesIn("not all of it", room, Continue{"t1"})
	x.Put(Posted{Turn: "t1", Slot: RestDone}).OwesIn("all of it", room)
}

// A message that is no more cannot be answered: what it asked is cancelled, on record.
func TestTheMessageIsDeleted(t *testing.T) {
	for why, ev := range map[string]Deleted{"the bot's message": {Delivery: "x", Message: "b1"}, "the whole place": {Delivery: "x", All: true}} {
		x := late(t, 0)
		x.Put(Deleted{Delivery: "y", Message: "b2"}, Deleted{Delivery: "y2"}).Is("c1", Awaiting, "")
		x.Put(script.Says("m2", "another", script.Ben))
		x.Takes(ev).Is("c1", Cancelled, "Tool execution cancelled").Is("c2", Cancelled, "Tool execution cancelled").Owes(why, End{WasStopped})
		if by := x.Session.Turn.Stopped; by == nil || !by.User.IsZero() {
			t.Errorf("%s: stopped by %v", why, by)
		}
		if n := len(x.Session.Waiting); (n == 0) != ev.All {
			t.Errorf("%s: %d messages wait", why, n)
		}
	}
	// Whoever deletes it at once is heard of before the post is recorded.
	begun := script.New(t).Put(script.Says("m1", "hi", script.Ana)).Put(Deleted{Delivery: "x", Message: "b1"})
	begun.Fork().Put(Shown{Turn: "t1", Message: "b1"}).Owes("it was deleted", End{WasStopped})
	begun.Fork().Put(Shown{Turn: "t1", Message: "b2"}).Owes("another was", AskModel{0})
	if x := script.New(t).Put(Deleted{Delivery: "z", All: true}); x.Session.Turn != nil || x.Session.Last != nil {
		t.Error("a place without a turn got one")
	}
}
