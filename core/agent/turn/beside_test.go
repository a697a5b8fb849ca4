package turn

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

var nudging = Env{Nudge: 10 * time.Second}

// late is a turn whose message is seconds old when its call asks.
func late(t *testing.T, age time.Duration) *script {
	x := newScript(t).put(says("m1", "hi", ana)).put(Shown{Turn: "t1", Message: "b1"}).after(age)
	return x.put(Replied{Turn: "t1", Calls: []Proposal{proposes("c1", "write_file", `{}`), proposes("c2", "write_file", `{"n":2}`)}},
		rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write))
}

// seen says that the cards of these asks stand in the message: an edit brought them.
func (x *script) seen(asks ...AskID) *script {
	ev := Shown{Turn: x.s.Turn.ID}
	for _, a := range asks {
		ev.Asks = append(ev.Asks, Appeared{Ask: a})
	}
	return x.put(ev)
}

// A card that came by an edit is announced a little later; one that was posted announced itself.
func TestNudge(t *testing.T) {
	nudge := Nudge{"t1", "nudge-a1", "a1"}
	x := late(t, time.Minute).owesIn("nobody can see it yet", nudging).seen("a1", "a2")
	x.after(10*time.Second-1).owesIn("it has just appeared", nudging)
	if at := WakeAt(x.s, x.at, nudging); !at.Equal(x.at.Add(1)) {
		t.Errorf("wakes at %v, not when the nudge is due", at)
	}
	x.after(1).owesIn("nudges are off", Env{Room: 100}).owesIn("nobody noticed", nudging, nudge)
	x.fork().put(StopAsked{Turn: "t1", By: ana}).owesIn("stopped", nudging, End{WasStopped})
	refused := x.fork().put(Posted{Turn: "t1", Slot: "nudge-a1"}).owesIn("the platform does not take it", nudging)
	refused.decides("c1", chat.Deny, ana).decides("c2", chat.Deny, ana).owesIn("there is nothing to take away", nudging, AskModel{1})
	posted := Posted{Turn: "t1", Slot: "nudge-a1", Message: "n1"}
	x.takes(posted).ignores("told twice", posted, Posted{Turn: "t1", Slot: "nudge-a1", Message: "n2"}, Posted{Turn: "t1"}, Posted{Turn: "t9", Slot: "x"})
	x.owesIn("it stands", nudging).decides("c1", chat.Deny, ana).owesIn("another still waits", nudging)
	x.decides("c2", chat.Deny, ana).owesIn("decided", nudging, AskModel{1}, Remove{"t1", "nudge-a1", "n1"})
	x.answer().owesIn("the turn is over", nudging, Remove{"t1", "nudge-a1", "n1"})
	x.takes(Removed{Turn: "t1", Slot: "nudge-a1"}).owesIn("it is gone", nudging).ignores("told twice", Removed{Turn: "t1", Slot: "nudge-a1"}, Removed{Turn: "t9", Slot: "nudge-a1"})

	// The first post was the question.
	first := newScript(t).put(says("m1", "hi", ana), Replied{Turn: "t1", Calls: []Proposal{proposes("c1", "w", `{}`)}}, rules("c1", "a1", permission.Ask, permission.Write))
	first.put(Shown{Turn: "t1", Message: "b1", Asks: []Appeared{{Ask: "a1"}}}).after(30*time.Second).owesIn("it was posted", nudging)

	// What is decided needs no nudge. An undone decision asks anew, and so is told anew, once it is seen anew.
	y := late(t, 0).seen("a1", "a2").decides("c1", chat.AllowOnce, ana).decides("c2", chat.AllowOnce, ana).after(time.Minute)
	y.put(Withdrawn{Ask: "a1", By: ana, Next: "a3"}).owesIn("asked anew, not seen", nudging).seen("a3").after(10*time.Second).owesIn("asked anew", nudging, Nudge{"t1", "nudge-a3", "a3"})
}

// Others than the requester heard of nothing: they are told at once, however the card came, and of every one that comes later.
func TestOthersAreTold(t *testing.T) {
	others := func(call, ask string) Ruled {
		r := rules(call, ask, permission.Ask, permission.Write)
		r.Card.Others = true
		return r
	}
	x := newScript(t).put(says("m1", "hi", ana), Replied{Turn: "t1", Calls: []Proposal{proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)}}, others("c1", "a1"), others("c2", "a2"))
	x.owesIn("its message first", nudging, Show{"t1"})
	x.put(Shown{Turn: "t1", Message: "b1", Asks: []Appeared{{Ask: "a1"}, {Ask: "a2"}}}).owesIn("posted", nudging, Nudge{"t1", "nudge-a1", "a1"}).owesIn("nudges are off", Env{Room: 100})
	x.after(1).put(Posted{Turn: "t1", Slot: "nudge-a1", Message: "n1"}).owesIn("one for both", nudging)
	x.after(1).decides("c1", chat.AllowOnce, ben).put(Withdrawn{Ask: "a1", By: ben, Next: "a3"}).seen("a3").owesIn("another came while it stands", nudging, Nudge{"t1", "nudge-a3", "a3"})
}

// The clock of an ask starts with its card, not with the ruling; a card that cannot be shown ends its turn later.
func TestTheClockStartsWithTheCard(t *testing.T) {
	for name, x := range map[string]*script{"an ask": asked(t), "an unknown outcome": lost(t)} {
		ask := x.call("c1").Ask
		x.after(time.Hour).fork().owes(name+": much too late to begin with", Expire{ask})
		x.after(time.Minute - time.Hour).fork().owes(name + ": its time would be over, but nobody has seen it")
		if wakes := WakeAt(x.s, x.at, Env{}); !wakes.Equal(x.at.Add(10 * time.Minute)) {
			t.Errorf("%s: an unseen one wakes at %v", name, wakes)
		}
		x.takes(Shown{Turn: "t1", Asks: []Appeared{{Ask: ask}}}).ignores("seen twice", Shown{Turn: "t1", Asks: []Appeared{{Ask: ask}}}, Shown{Turn: "t9", Asks: []Appeared{{Ask: ask}}})
		x.after(time.Minute-1).ignores("it has its full time", Expired{Ask: ask}).owes(name+": not yet").after(1).owes(name+": now", Expire{ask})
		x.takes(Expired{Ask: ask})
		if c := x.call("c1"); name == "an ask" && c.Result.Text != render.ResultTimedOut(time.Minute) {
			t.Errorf("%q", c.Result.Text)
		}
	}
	// What an old log holds reads as it did: an ask that expired unseen did.
	asked(t).after(time.Minute).takes(Expired{Ask: "a1"}).is("c1", Lapsed, "Tool execution timed out: nobody answered the request for approval in 60 s")
	w := wanting(t, time.Minute).after(time.Hour).seen("w1").after(time.Minute-1).ignores("it has its full time", Expired{Ask: "w1"})
	w.after(1).takes(Expired{Ask: "w1"})
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
		x := asked(t).after(time.Hour)
		drawn := x.at
		says := func(live Live) time.Time {
			m, _ := x.view(live)
			for _, b := range m.Blocks {
				if a, ok := b.(render.Ask); ok {
					return a.Expires
				}
			}
			return time.Time{}
		}
		if at := says(Live{Now: drawn}); !at.Equal(drawn.Add(time.Minute)) {
			t.Errorf("%s: drawn with %v", name, at)
		}
		if at := says(Live{Now: drawn.Add(time.Second), Drawn: map[AskID]time.Time{"a1": drawn.Add(time.Minute)}}); !at.Equal(drawn.Add(time.Minute)) {
			t.Errorf("%s: drawn again with %v", name, at)
		}
		x.after(c.late).put(Shown{Turn: "t1", Asks: []Appeared{{Ask: "a1", Until: drawn.Add(time.Minute)}}})
		if at := says(Live{Now: x.at}); !at.Equal(drawn.Add(c.want)) {
			t.Errorf("%s: on record it says %v, drawn at %v", name, at, drawn)
		}
		until := drawn.Add(time.Hour)
		if x.put(Extended{Ask: "a1", By: ana, Until: until}); !says(Live{}).Equal(until) {
			t.Errorf("%s: extended it says %v", name, says(Live{}))
		}
	}
}

// What a turn's message is held back for, and what it must not be held back for any longer.
func TestPressing(t *testing.T) {
	said := newScript(t).put(says("m1", "hi", ana))
	calls := said.fork().put(Replied{Turn: "t1", Calls: []Proposal{proposes("c1", "w", `{}`)}})
	for name, c := range map[string]struct {
		x    *script
		want bool
	}{
		"nothing was said": {newScript(t), false}, "the model thinks": {said, false}, "a call is not ruled yet": {calls, false},
		"a call needs no asking": {calls.fork().put(rules("c1", "a1", permission.Allow, permission.Read)), false},
		"the model goes on":      {calls.fork().put(rules("c1", "a1", permission.Forbid, permission.Read)), false},
		"a question":             {calls.fork().put(rules("c1", "a1", permission.Ask, permission.Write)), true},
		"stopped":                {said.fork().put(StopAsked{Turn: "t1", By: ana}), true},
		"answered":               {said.fork().put(Replied{Turn: "t1", Text: "ho"}), true},
	} {
		if got := Pressing(c.x.s); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A message that was posted anew is the turn's, and the one before points at it.
func TestPostedAnew(t *testing.T) {
	x := late(t, 0)
	x.ignores("another stands there", Shown{Turn: "t1", From: "b0", Message: "b2"}, Shown{Turn: "t1", From: "b1", Message: "b1"}, Shown{Turn: "t1", From: "b1"})
	if y := x.fork().takes(Shown{Turn: "t1", From: "b1", Message: "b3"}); y.s.Turn.Shown != "b3" {
		t.Errorf("without a card it is %q", y.s.Turn.Shown)
	}
	x.takes(Shown{Turn: "t1", From: "b1", Message: "b2", Asks: []Appeared{{Ask: "a1"}}}).owesIn("nothing is beside", Env{})
	if x.s.Turn.Shown != "b2" || x.call("c1").Seen.Silent {
		t.Errorf("shown %q, %+v", x.s.Turn.Shown, x.call("c1").Seen)
	}
	x.owesIn("it is left", nudging, Point{"t1", "left-b1", "b1"}).ignores("once", Shown{Turn: "t1", From: "b1", Message: "b2"})
	x.put(Removed{Turn: "t1", Slot: "left-b1"}).owesIn("it points", nudging)
}

func TestLongAnswersGoOn(t *testing.T) {
	room := Env{Room: 10}
	x := newScript(t).put(says("m1", "hi", ana)).put(Shown{Turn: "t1", Message: "b1"})
	x.fork().put(Replied{Turn: "t1", Text: strings.Repeat("ä", 10)}, Ended{Turn: "t1", Why: Answered}).owesIn("it fits", room)
	x.put(Replied{Turn: "t1", Text: strings.Repeat("ä", 11)}).owesIn("first the end", room, End{Answered})
	x.put(Ended{Turn: "t1", Why: Answered}).owesIn("it is too long", room, Continue{"t1"}).owesIn("nothing stands beside", Env{})
	x.fork().put(says("m2", "next", ana)).owesIn("also while the next turn runs", room, Show{"t5"}, AskModel{0}, Continue{"t1"})
	x.put(Posted{Turn: "t1", Slot: "rest-0", Message: "r0"}).owesIn("not all of it", room, Continue{"t1"})
	x.put(Posted{Turn: "t1", Slot: RestDone}).owesIn("all of it", room)
}

// A message that is no more cannot be answered: what it asked is cancelled, on record.
func TestTheMessageIsDeleted(t *testing.T) {
	for why, ev := range map[string]Deleted{"the bot's message": {Delivery: "x", Message: "b1"}, "the whole place": {Delivery: "x", All: true}} {
		x := late(t, 0)
		x.put(Deleted{Delivery: "y", Message: "b2"}, Deleted{Delivery: "y2"}).is("c1", Awaiting, "")
		x.put(says("m2", "another", ben))
		x.takes(ev).is("c1", Cancelled, "Tool execution cancelled").is("c2", Cancelled, "Tool execution cancelled").owes(why, End{WasStopped})
		if by := x.s.Turn.Stopped; by == nil || !by.User.IsZero() {
			t.Errorf("%s: stopped by %v", why, by)
		}
		if n := len(x.s.Waiting); (n == 0) != ev.All {
			t.Errorf("%s: %d messages wait", why, n)
		}
	}
	if x := newScript(t).put(Deleted{Delivery: "z", All: true}); x.s.Turn != nil || x.s.Last != nil {
		t.Error("a place without a turn got one")
	}
}
