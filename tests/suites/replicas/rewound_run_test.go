package replicas

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

// again waits until nobody is at work and brings the server back as it was saved.
func again(w *World, r *Redis) {
	w.Helper()
	idle(w)
	r.Restart()
}

// One click is one run, also where Redis forgot that the call ran and the process that ran it did not.
func TestWhatThisProcessRanIsNotRunAgain(t *testing.T) {
	r := StartRedis(t)
	w := New(t, Options{Backend: r.Backend()})
	w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`)), Says("I see."))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write", "send")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	idle(w)
	r.Save()
	deny := w.Await(chat.Deny, "send")
	w.Deliver(w.Replicas[0], w.Click(Ana, deny))
	w.Over(0)
	again(w, r)
	w.Deliver(w.Replicas[0], w.Click(Ana, deny))
	w.Shows(0, "It may have happened.", "[It happened] [Run again] [Leave it]")
	w.Press(w.Replicas[0], Ana, chat.Happened, "write")
	w.Until("the turn is over", func() bool { return slices.Contains(strings.Fields(kinds(w)), "ended") })
	equal(w, "runs", w.Tools.Count("write"), 1)
	if !w.Logged("older than it was") {
		t.Error("the log does not say that Redis lost something")
	}
}

// The process that ran the call is gone, too: nobody remembers the run, so what was decided before is asked anew, with the reason.
func TestWhatWasDecidedBeforeIsAskedAnew(t *testing.T) {
	for _, grant := range []bool{false, true} {
		t.Run(map[bool]string{false: "a click", true: "a standing permission"}[grant], func(t *testing.T) {
			r := StartRedis(t)
			w := New(t, Options{Backend: r.Backend()})
			w.Model.When("first", Calls(Call("write", `{"n":0}`)), Says("First."))
			w.Model.When("go", Calls(Call("send", `{}`), Call("write", `{}`)), Says("I see."))
			runs := 0
			if grant {
				w.Say(w.Replicas[0], Ana, "first")
				w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
				w.Over(0)
				runs = 1
			}
			w.Say(w.Replicas[0], Ana, "go")
			if !grant {
				w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
			}
			w.Asks("send")
			idle(w)
			r.Save()
			deny := w.Await(chat.Deny, "send")
			w.Deliver(w.Replicas[0], w.Click(Ana, deny))
			w.Over(runs)
			equal(t, "runs before", w.Tools.Count("write"), runs+1)
			w.Replicas[0].Kill()
			again(w, r)
			next := w.Start()
			w.Deliver(next, w.Click(Ana, deny))
			w.Asks("write")
			has(t, "the card", w.Text(runs), "older than what was decided")
			equal(t, "runs unasked", w.Tools.Count("write"), runs+1)
			w.Press(next, Ana, chat.AllowOnce, "write") // what is decided now counts
			w.Until("it ran", func() bool { return w.Tools.Count("write") == runs+2 })
		})
	}
}

// Where nothing was lost, nobody is asked again who was not asked before.
func TestARestartThatLosesNothingAsksNobody(t *testing.T) {
	r := StartRedis(t)
	w := New(t, Options{Backend: r.Backend()})
	w.Model.When("first", Calls(Call("write", `{"n":0}`)), Says("First."))
	w.Model.When("go", Calls(Call("send", `{}`)), Says("Second."))
	w.Model.When("more", Calls(Call("write", `{"n":1}`)), Says("Third."))
	w.Say(w.Replicas[0], Ana, "first")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
	w.Over(0)
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("send")
	idle(w)
	r.Save()
	again(w, r)
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "send")
	w.Over(1)
	w.Say(w.Replicas[0], Ana, "more")
	has(t, "the third message", w.Over(2), "Third.")
	equal(t, "runs", w.Tools.Count("write"), 2)
	equal(t, "askings", strings.Count(kinds(w), "decided"), 2)
}
