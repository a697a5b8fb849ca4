package turn

import (
	"reflect"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// wanting is a running call whose server wants something, as w1, of Ana; for a minute, or as long as it runs.
func wanting(t *testing.T, wait time.Duration) *script {
	return ran(t).put(Wanted{Call: "c1", Run: "r1", Ask: "w1", Want: Want{Kind: WantURL, Message: "Sign in, please.", URL: "https://example.com/"}, Wait: wait})
}

// A turn whose tool's server waits for a person waits, shows what for, and takes the card away again.
func TestAWantIsShownWhileItWaits(t *testing.T) {
	header := render.WantHeader("files")
	ran(t).state(render.Working).hides(header)
	x := wanting(t, time.Minute).state(render.Waiting).shows(header, "Sign in, please.").offers("answer:w1", "decline:w1", "stop:t1")
	x.fork().put(Filled{Ask: "w1", By: ana, Fill: Fill{Action: FillAccept}}).state(render.Working).hides(header).offers("stop:t1")
	// Stop ends the wait at once, though the run is still to be heard of: nobody is asked for a turn that is stopping.
	x.put(StopAsked{Turn: "t1", By: ana}).is("c1", Running, "").shows(render.Stopping).hides(header).offers()
}

// A want has its time, like an ask; without one it waits as long as the run.
func TestAWantExpires(t *testing.T) {
	own := Env{Live: "r1"}
	x := wanting(t, time.Minute).seen("w1").owesIn("it waits", own).after(time.Minute-time.Millisecond).owesIn("it still waits", own)
	x.after(time.Millisecond).owesIn("its time has come", own, Expire{"w1"}).put(Expired{Ask: "w1"}).owesIn("it is answered", own)
	if f := x.call("c1").Want.Fill; f == nil || f.Action != FillCancel {
		t.Errorf("answered %+v", f)
	}
	wanting(t, 0).after(1000*time.Hour).owesIn("it waits as long as the run", own)
	wanting(t, time.Minute).put(Filled{Ask: "w1", By: ana, Fill: Fill{Action: FillAccept}}).after(time.Hour).owesIn("it was answered in time", own)
}

// Whoever waits for a person knows of it, and until when: else nobody would come back at the deadline.
func TestAWantIsWaitedFor(t *testing.T) {
	x := wanting(t, time.Minute)
	asked := x.at
	x.after(time.Second).seen("w1")
	until, seen := x.at.Add(time.Minute), &Showing{At: x.at, Silent: true}
	wakes := WakeAt(x.s, x.at, Env{})
	if w := Waits(x.s); !reflect.DeepEqual(w, []Wait{{"w1", "c1", asked, until, seen, false}}) || !wakes.Equal(until) {
		t.Errorf("waits for %+v, wakes at %v", w, wakes)
	}
	if w := Waits(wanting(t, 0).s); len(w) != 1 || !w[0].Deadline.IsZero() {
		t.Errorf("without an end it waits for %+v", w)
	}
	if w := Waits(ran(t).s); len(w) > 0 {
		t.Errorf("a run by itself waits for %+v", w)
	}
}

// The want's own button leads to its call's details, and a button of something else does not.
func TestDetailsOfAWant(t *testing.T) {
	x := wanting(t, 0)
	x.details("w1", render.PartWants, "Sign in, please.", "Run write_file from files")
	for _, token := range []string{"w9", "", "c9"} {
		if d, found := Details(x.s, token); found {
			t.Errorf("%q has details: %s", token, d.Title)
		}
	}
	x.put(Filled{Ask: "w1", By: ana, Name: "Ana", Fill: Fill{Action: FillDecline}}).details("w1", render.WantSettled(FillDecline, "Ana"))
}

// Nothing is put beside a message that does not stand yet, and nothing is done where the platform has nothing beside one.
func TestNothingBesideWhatIsNotThere(t *testing.T) {
	env := Env{Nudge: 10 * time.Second, Room: 3}
	x := newScript(t).put(says("m1", "hi", ana)).after(time.Minute)
	x.put(Replied{Turn: "t1", Calls: []Proposal{proposes("c1", "w", `{}`)}}, rules("c1", "a1", permission.Ask, permission.Write)).owesIn("its message first", env, Show{"t1"})
	y := newScript(t).put(says("m1", "hi", ana), Replied{Turn: "t1", Text: "A long answer."}, Ended{Turn: "t1", Why: Answered}).owesIn("its message was never posted", env)
	y.put(Shown{Turn: "t1", Message: "b1"}).owesIn("it is posted", env, Continue{"t1"})

	// A turn that was stopped before its model said anything has nothing to go on with.
	newScript(t).put(says("m1", "hi", ana), Shown{Turn: "t1", Message: "b1"}, StopAsked{Turn: "t1", By: ana}, Ended{Turn: "t1", Why: WasStopped}).owesIn("it said nothing", env).
		ignores("of another turn", Posted{Turn: "t9", Slot: "rest-0", Message: "r0"}).takes(Posted{Turn: "t1", Slot: "rest-0", Message: "r0"})

	z := late(t, 11*time.Second).seen("a1", "a2").put(Posted{Turn: "t1", Slot: "nudge-a1", Message: "n1"}).decides("c1", chat.Deny, ana).decides("c2", chat.Deny, ana)
	z.owesIn("the platform has nothing beside a message", Env{}, AskModel{1}).owesIn("it has room", Env{Room: 100}, AskModel{1}, Remove{"t1", "nudge-a1", "n1"})
}

// A call is found by its grant only where there is one to be found by.
func TestAGrantWithoutANameIsNotIndexed(t *testing.T) {
	x := asked(t).decides("c1", chat.AllowChat, ana)
	ev := x.log[len(x.log)-1].Event.(Decided) //nolint:forcetypeassert // put it
	if got := Indexed(ev); len(got) != 1 {
		t.Errorf("%q", got)
	}
	ev.Grant.ID = ""
	if got := Indexed(ev); len(got) > 0 {
		t.Errorf("a grant without a name is indexed as %q", got)
	}
}
