package turn_test

import (
	"reflect"
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

// Wanting is a running call whose server wants something, as w1, of Ana; for a minute, or as long as it runs.
func wanting(t *testing.T, wait time.Duration) *script.Script {
	return script.Ran(t).Put(Elicited{Call: "c1", Run: "r1", Ask: "w1", Request: Elicitation{Kind: ElicitationURL, Message: "Sign in, please.", URL: "https://example.com/"}, Wait: wait})
}

// A turn whose tool's server waits for a person waits, shows what for, and takes the card away again.
func TestAWantIsShownWhileItWaits(t *testing.T) {
	header := text.ElicitationHeader("files")
	script.Ran(t).State(render.Working).Hides(header)
	x := wanting(t, time.Minute).State(render.Waiting).Shows(header, "Sign in, please.").Offers("answer:w1", "decline:w1", "stop:w1")
	x.Fork().Put(Filled{Ask: "w1", By: script.Ana, Fill: Fill{Action: FillAccept}}).State(render.Working).Hides(header).Offers("stop:t1")
	// Stop ends the wait at once, though the run is still to be heard of: nobody is asked for a turn that is stopping.
	x.Put(StopAsked{Turn: "t1", By: script.Ana}).Is("c1", Running, "").Shows(text.Stopping).Hides(header).Offers()
}

// A want has its time, like an ask; without one it waits as long as the run.
func TestAWantExpires(t *testing.T) {
	own := Env{Live: "r1"}
	x := wanting(t, time.Minute).Seen("w1").OwesIn("it waits", own).After(time.Minute-time.Millisecond).OwesIn("it still waits", own)
	x.After(time.Millisecond).OwesIn("its time has come", own, Expire{"w1"}).Put(Expired{Ask: "w1"}).OwesIn("it is answered", own)
	if f := x.Call("c1").Elicitation.Fill; f == nil || f.Action != FillCancel {
		t.Errorf("answered %+v", f)
	}
	wanting(t, 0).After(1000*time.Hour).OwesIn("it waits as long as the run", own)
	wanting(t, time.Minute).Put(Filled{Ask: "w1", By: script.Ana, Fill: Fill{Action: FillAccept}}).After(time.Hour).OwesIn("it was answered in time", own)
}

// Whoever waits for a person knows of it, and until when: else nobody would come back at the deadline.
func TestAWantIsWaitedFor(t *testing.T) {
	x := wanting(t, time.Minute)
	asked := x.Now
	x.After(time.Second).Seen("w1")
	until, seen := x.Now.Add(time.Minute), &Showing{At: x.Now, Silent: true}
	wakes := WakeAt(x.Session, x.Now, Env{})
	if w := Waits(x.Session); !reflect.DeepEqual(w, []Wait{{"w1", "c1", asked, until, seen, false}}) || !wakes.Equal(until) {
		t.Errorf("waits for %+v, wakes at %v", w, wakes)
	}
	if w := Waits(wanting(t, 0).Session); len(w) != 1 || !w[0].Deadline.IsZero() {
		t.Errorf("without an end it waits for %+v", w)
	}
	if w := Waits(script.Ran(t).Session); len(w) > 0 {
		t.Errorf("a run by itself waits for %+v", w)
	}
}

// The want's own button leads to its call's details, and a button of something else does not.
func TestDetailsOfAWant(t *testing.T) {
	x := wanting(t, 0)
	x.Details("w1", text.PartElicitation, "Sign in, please.", "Run write_file from files")
	for _, token := range []string{"w9", "", "c9"} {
		if d, found := card.Details(x.Session, token); found {
			t.Errorf("%q has details: %s", token, d.Title)
		}
	}
	x.Put(Filled{Ask: "w1", By: script.Ana, Name: "Ana", Fill: Fill{Action: FillDecline}}).Details("w1", text.ElicitationSettled(FillDecline, "Ana"))
}

// Nothing is put beside a message that does not stand yet, and nothing is done where the platform has nothing beside one.
func TestNothingBesideWhatIsNotThere(t *testing.T) {
	env := Env{Nudge: 10 * time.Second, Room: 3}
	x := script.New(t).Put(script.Says("m1", "hi", script.Ana)).After(time.Minute)
	x.Put(Replied{Turn: "t1", Calls: []Proposal{script.Proposes("c1", "w", `{}`)}}, script.Rules("c1", "a1", permission.Ask, permission.Write)).OwesIn("its message first", env, Show{"t1"})
	y := script.New(t).Put(script.Says("m1", "hi", script.Ana), Replied{Turn: "t1", Text: "A long answer."}, Ended{Turn: "t1", Why: Answered}).OwesIn("its message was never posted", env)
	y.Put(Shown{Turn: "t1", Message: "b1"}).OwesIn("it is posted", env, Continue{"t1"})

	// A turn that was stopped before its model said anything has nothing to go on with.
	script.New(t).Put(script.Says("m1", "hi", script.Ana), Shown{Turn: "t1", Message: "b1"}, StopAsked{Turn: "t1", By: script.Ana}, Ended{Turn: "t1", Why: WasStopped}).OwesIn("it said nothing", env).
		Ignores("of another turn", Posted{Turn: "t9", Slot: "rest-0", Message: "r0"}).Takes(Posted{Turn: "t1", Slot: "rest-0", Message: "r0"})

	z := late(t, 11*time.Second).Seen("a1", "a2").Put(Posted{Turn: "t1", Slot: "nudge-a1", Message: "n1"}).Decides("c1", chat.Deny, script.Ana).Decides("c2", chat.Deny, script.Ana)
	z.OwesIn("the platform has nothing beside a message", Env{}, AskModel{1}).OwesIn("it has room", Env{Room: 100}, AskModel{1}, Remove{"t1", "nudge-a1", "n1"})
}

// A call is found by its grant only where there is one to be found by.
func TestAGrantWithoutANameIsNotIndexed(t *testing.T) {
	x := script.Asked(t).Decides("c1", chat.AllowChat, script.Ana)
	ev := x.Log[len(x.Log)-1].Event.(Decided) //nolint:forcetypeassert // put it
	if got := Indexed(ev, true); len(got) != 1 {
		t.Errorf("%q", got)
	}
	ev.Grant.ID = ""
	if got := Indexed(ev, true); len(got) > 0 {
		t.Errorf("a grant without a name is indexed as %q", got)
	}
}
