package turn_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/script"
)

// A click that is delivered once more is known by its operation. What is no click does not push it out.
func TestClicksAreRemembered(t *testing.T) {
	x := script.Asked(t)
	extend := func(n int) Event {
		return Extended{Ask: "a1", By: script.Ana, Until: x.Now.Add(time.Duration(n) * time.Hour)}
	}
	x.Brings("click", extend(1))
	for i := range 2 * MaxClicks {
		x.Brings(fmt.Sprint("message-", i), script.Says(fmt.Sprint("n", i), "hi", script.Ben))
		x.Brings(fmt.Sprint("shown-", i), Posted{Turn: "t1", Slot: fmt.Sprint("s", i), Message: "m"})
		x.Brings("", extend(2+i)) // of a log that names none
		x.Brings(fmt.Sprint("stale-", i), extend(1))
	}
	if !slices.Equal(x.Session.Clicks, []string{"click"}) {
		t.Errorf("remembered: %q", x.Session.Clicks)
	}
	for i := range 2 * MaxClicks {
		x.Brings(fmt.Sprint("click-", i), extend(1000+i))
	}
	if n := len(x.Session.Clicks); n != MaxClicks || x.Session.Clicks[n-1] != fmt.Sprint("click-", 2*MaxClicks-1) {
		t.Errorf("%d remembered, the last is %s", n, x.Session.Clicks[n-1])
	}
}

// “Ask again” for what lapsed in an earlier turn only puts it behind the turn that is open: that is an effect all the same, on record.
func TestAskingAgainBehindAnOpenTurnIsAClick(t *testing.T) {
	x := script.Asked(t).After(time.Minute).Put(Expired{Ask: "a1"}).Answer().Put(script.Says("m2", "more", script.Ben))
	n := len(x.Log)
	x.Brings("again", Reopened{Ask: "a1", By: script.Ben, Name: "Ben", Next: "a2", NextCall: "c2"}).Brings("again, twice", Reopened{Ask: "a1", By: script.Ben, Next: "a3", NextCall: "c3"})
	if len(x.Session.Waiting) != 1 || !slices.Equal(x.Session.Clicks, []string{"again"}) {
		t.Errorf("%d wait, remembered %q", len(x.Session.Waiting), x.Session.Clicks)
	}
	x.Audits(n, fmt.Sprintf("%d reopen asked by Ben call=c1 rule=source", n+1))
}

// What people set between two turns is a click like any other.
func TestClicksBetweenTurns(t *testing.T) {
	x := script.Asked(t).Decides("c1", chat.AllowChat, script.Ana).Answer()
	revoke := Revoked{Grants: []permission.GrantID{"g-c1"}, By: script.Ana}
	x.Brings("revoke", revoke).Brings("revoke, twice", revoke)
	x.Brings("mode", ModeSet{Mode: permission.ModeAlways, Rev: 1, By: script.Ana}).Brings("mode, stale", ModeSet{Mode: permission.ModeNever, Rev: 1, By: script.Ben})
	x.Brings("reset", Reset{Rev: 1, By: script.Ana}).Brings("reset, stale", Reset{Rev: 1, By: script.Ben})
	if !slices.Equal(x.Session.Clicks, []string{"revoke", "mode", "reset"}) {
		t.Errorf("remembered %q", x.Session.Clicks)
	}
}

// An entry whose event this version does not have changes nothing.
func TestAnEntryWithoutAnEvent(t *testing.T) {
	x := script.Asked(t)
	if got := Apply(x.Session, Entry{Seq: 9, Op: "op", At: x.Now}); !reflect.DeepEqual(got, x.Session) {
		t.Errorf("it became %s", script.JSON(t, got))
	}
}

// What only a person may do nobody does: a choice without its maker has no effect.
func TestNobodyChooses(t *testing.T) {
	x := script.Asked(t)
	x.Ignores("nobody", Extended{Ask: "a1", Until: x.Now.Add(time.Hour)})
	x.Decides("c1", chat.AllowChat, script.Ana).Ignores("nobody", Withdrawn{Ask: "a1", Next: "a9"}, Revoked{Grants: []permission.GrantID{"g-c1"}})
	again := Reopened{Ask: "a1", Next: "a9", NextCall: "c9"}
	y := script.Asked(t).After(time.Minute).Put(Expired{Ask: "a1"}).Ignores("nobody", again)
	y.Answer().Ignores("nobody", again)
}

// Whoever allowed a call that needs several people may still refuse it, and one refusal is enough.
func TestOneRefusalIsEnough(t *testing.T) {
	two := func() *script.Script {
		r := script.Rules("c1", "a1", permission.Ask, permission.Write)
		r.Ruling.Approvals, r.Ruling.ChatGrant = 2, false
		return script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(r)
	}
	two().Decides("c1", chat.AllowOnce, script.Ana).Is("c1", Awaiting, "").Decides("c1", chat.Deny, script.Ana).Is("c1", Denied, "Tool execution denied")
	two().Decides("c1", chat.AllowOnce, script.Ana).Decides("c1", chat.Deny, script.Ben).Is("c1", Denied, "Tool execution denied")
	two().Decides("c1", chat.Deny, script.Ben).Is("c1", Denied, "Tool execution denied").Shows("denied by Ben")
	two().Decides("c1", chat.AllowOnce, script.Ana).Decides("c1", chat.AllowOnce, script.Ana).Is("c1", Awaiting, "")
}

// A deletion that names no message is not that of a turn's message that does not stand yet.
func TestADeletionOfNothingStopsNothing(t *testing.T) {
	x := script.New(t).Put(script.Says("m1", "hi", script.Ana), Deleted{Delivery: "d1", By: script.Ben})
	if x.Session.Turn.Stopped != nil {
		t.Error("the turn was stopped before its message was posted")
	}
	x.Owes("it goes on", Show{"t1"}, AskModel{0})
}
