package turn

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

var nudging = Env{Nudge: 10 * time.Second}

// late is a turn whose message is seconds old when its call asks.
func late(t *testing.T, age time.Duration) *script {
	x := newScript(t).put(says("m1", "hi", ana)).put(Shown{Turn: "t1", Message: "b1"}).after(age)
	return x.put(Replied{Turn: "t1", Calls: []Proposal{proposes("c1", "write_file", `{}`), proposes("c2", "write_file", `{"n":2}`)}},
		rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write))
}

func TestNudge(t *testing.T) {
	late(t, 10*time.Second).owesIn("the message is young", nudging)
	x := late(t, 11*time.Second).owesIn("nudges are off", Env{Room: 100}).owesIn("people look elsewhere", nudging, Nudge{"t1", "nudge-a1"})
	x.fork().put(StopAsked{Turn: "t1", By: ana}).owesIn("stopped", nudging, End{WasStopped})
	refused := x.fork().put(Posted{Turn: "t1", Slot: "nudge-a1"}).owesIn("the platform does not take it", nudging)
	refused.decides("c1", chat.Deny, ana).decides("c2", chat.Deny, ana).owesIn("there is nothing to take away", nudging, AskModel{1})
	posted := Posted{Turn: "t1", Slot: "nudge-a1", Message: "n1"}
	x.takes(posted).ignores("told twice", posted, Posted{Turn: "t1", Slot: "nudge-a1", Message: "n2"}, Posted{Turn: "t1"}, Posted{Turn: "t9", Slot: "x"})
	x.owesIn("it stands", nudging).decides("c1", chat.Deny, ana).owesIn("another still waits", nudging)
	x.decides("c2", chat.Deny, ana).owesIn("decided", nudging, AskModel{1}, Remove{"t1", "nudge-a1", "n1"})
	x.answer().owesIn("the turn is over", nudging, Remove{"t1", "nudge-a1", "n1"})
	x.takes(Removed{Turn: "t1", Slot: "nudge-a1"}).owesIn("it is gone", nudging).ignores("told twice", Removed{Turn: "t1", Slot: "nudge-a1"}, Removed{Turn: "t9", Slot: "nudge-a1"})

	// What is decided needs no nudge, however late it was asked for; what still waits was asked for in time.
	z := late(t, 5*time.Second).decides("c1", chat.AllowOnce, ana).after(10 * time.Second)
	z.put(Withdrawn{Ask: "a1", By: ana, Next: "a3"}).fork().owesIn("asked anew, late", nudging, Nudge{"t1", "nudge-a3"})
	z.decides("c1", chat.AllowOnce, ana).owesIn("decided again", nudging)

	// An undone decision asks anew, and so is told anew.
	y := late(t, 11*time.Second).put(posted).decides("c1", chat.AllowOnce, ana).put(Removed{Turn: "t1", Slot: "nudge-a1"})
	y.put(Withdrawn{Ask: "a1", By: ana, Next: "a3"}).owesIn("asked anew", nudging, Nudge{"t1", "nudge-a3"})
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
