package turn

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// brings puts an event as an operation of that name brought it.
func (x *script) brings(op string, ev Event) *script {
	e := Entry{Seq: uint64(len(x.log) + 1), Op: op, At: x.at, Event: ev}
	x.log = append(x.log, e)
	x.s = Apply(x.s, e)
	return x
}

// A click that is delivered once more is known by its operation. What is no click does not push it out.
func TestClicksAreRemembered(t *testing.T) {
	x := asked(t)
	extend := func(n int) Event { return Extended{Ask: "a1", By: ana, Until: x.at.Add(time.Duration(n) * time.Hour)} }
	x.brings("click", extend(1))
	for i := range 2 * maxClicks {
		x.brings(fmt.Sprint("message-", i), says(fmt.Sprint("n", i), "hi", ben))
		x.brings(fmt.Sprint("shown-", i), Posted{Turn: "t1", Slot: fmt.Sprint("s", i), Message: "m"})
		x.brings("", extend(2+i)) // of a log that names none
		x.brings(fmt.Sprint("stale-", i), extend(1))
	}
	if !slices.Equal(x.s.Clicks, []string{"click"}) {
		t.Errorf("remembered: %q", x.s.Clicks)
	}
	for i := range 2 * maxClicks {
		x.brings(fmt.Sprint("click-", i), extend(1000+i))
	}
	if n := len(x.s.Clicks); n != maxClicks || x.s.Clicks[n-1] != fmt.Sprint("click-", 2*maxClicks-1) {
		t.Errorf("%d remembered, the last is %s", n, x.s.Clicks[n-1])
	}
}

// “Ask again” for what lapsed in an earlier turn only puts it behind the turn that is open: that is an effect all the same, on record.
func TestAskingAgainBehindAnOpenTurnIsAClick(t *testing.T) {
	x := asked(t).after(time.Minute).put(Expired{Ask: "a1"}).answer().put(says("m2", "more", ben))
	n := len(x.log)
	x.brings("again", Reopened{Ask: "a1", By: ben, Name: "Ben", Next: "a2", NextCall: "c2"}).brings("again, twice", Reopened{Ask: "a1", By: ben, Next: "a3", NextCall: "c3"})
	if len(x.s.Waiting) != 1 || !slices.Equal(x.s.Clicks, []string{"again"}) {
		t.Errorf("%d wait, remembered %q", len(x.s.Waiting), x.s.Clicks)
	}
	x.audits(n, fmt.Sprintf("%d reopen asked by Ben call=c1 rule=source", n+1))
}

// What people set between two turns is a click like any other.
func TestClicksBetweenTurns(t *testing.T) {
	x := asked(t).decides("c1", chat.AllowChat, ana).answer()
	revoke := Revoked{Grants: []permission.GrantID{"g-c1"}, By: ana}
	x.brings("revoke", revoke).brings("revoke, twice", revoke)
	x.brings("mode", ModeSet{Mode: permission.ModeAlways, Rev: 1, By: ana}).brings("mode, stale", ModeSet{Mode: permission.ModeNever, Rev: 1, By: ben})
	x.brings("reset", Reset{Rev: 1, By: ana}).brings("reset, stale", Reset{Rev: 1, By: ben})
	if !slices.Equal(x.s.Clicks, []string{"revoke", "mode", "reset"}) {
		t.Errorf("remembered %q", x.s.Clicks)
	}
}

// An entry whose event this version does not have changes nothing.
func TestAnEntryWithoutAnEvent(t *testing.T) {
	x := asked(t)
	if got := Apply(x.s, Entry{Seq: 9, Op: "op", At: x.at}); !reflect.DeepEqual(got, x.s) {
		t.Errorf("it became %s", asJSON(t, got))
	}
}

// What only a person may do nobody does: a choice without its maker has no effect.
func TestNobodyChooses(t *testing.T) {
	x := asked(t)
	x.ignores("nobody", Extended{Ask: "a1", Until: x.at.Add(time.Hour)})
	x.decides("c1", chat.AllowChat, ana).ignores("nobody", Withdrawn{Ask: "a1", Next: "a9"}, Revoked{Grants: []permission.GrantID{"g-c1"}})
	again := Reopened{Ask: "a1", Next: "a9", NextCall: "c9"}
	y := asked(t).after(time.Minute).put(Expired{Ask: "a1"}).ignores("nobody", again)
	y.answer().ignores("nobody", again)
}

// Whoever allowed a call that needs several people may still refuse it, and one refusal is enough.
func TestOneRefusalIsEnough(t *testing.T) {
	two := func() *script {
		r := rules("c1", "a1", permission.Ask, permission.Write)
		r.Ruling.Approvals, r.Ruling.ChatGrant = 2, false
		return begin(t, proposes("c1", "w", `{}`)).put(r)
	}
	two().decides("c1", chat.AllowOnce, ana).is("c1", Awaiting, "").decides("c1", chat.Deny, ana).is("c1", Denied, "Tool execution denied")
	two().decides("c1", chat.AllowOnce, ana).decides("c1", chat.Deny, ben).is("c1", Denied, "Tool execution denied")
	two().decides("c1", chat.Deny, ben).is("c1", Denied, "Tool execution denied").shows("denied by Ben")
	two().decides("c1", chat.AllowOnce, ana).decides("c1", chat.AllowOnce, ana).is("c1", Awaiting, "")
}

// A deletion that names no message is not that of a turn's message that does not stand yet.
func TestADeletionOfNothingStopsNothing(t *testing.T) {
	x := newScript(t).put(says("m1", "hi", ana), Deleted{Delivery: "d1", By: ben})
	if x.s.Turn.Stopped != nil {
		t.Error("the turn was stopped before its message was posted")
	}
	x.owes("it goes on", Show{"t1"}, AskModel{0})
}
