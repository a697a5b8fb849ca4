package replicas

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// In a chat that always asks nothing counts that was given before: no grant of whatever width, and nothing remembered. Where the operator is
// strict, nothing can be given at all.
// C2
func TestAlwaysForgetsWhatWasGiven(t *testing.T) {
	for _, choice := range []chat.Choice{chat.AllowChat, chat.AllowHour, chat.AllowUses, chat.AllowExact, chat.AllowWrites, chat.AllowServer, chat.Remember} {
		t.Run(string(choice), func(t *testing.T) {
			w := classified(t)
			orders(w, "write")
			w.Say(w.Replicas[0], Ana, "use write")
			w.Press(w.Replicas[0], Ana, choice, "write")
			if choice == chat.Remember {
				w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
			}
			w.Over(0)
			w.Say(w.Replicas[0], Ana, "use write")
			w.Over(1)
			equal(t, "runs, before it always asks", w.Tools.Count("write"), 2)
			types(w, Ana, "mode always")
			w.Say(w.Replicas[0], Ana, "use write")
			w.Until("it asks", func() bool { return len(w.Platform.Messages(Room)) == 3 && w.Asked() == "write" })
			equal(t, "runs", w.Tools.Count("write"), 2)
		})
	}
	t.Run("strict", func(t *testing.T) {
		w := New(t, Options{})
		vouched(w)
		w.SetPolicy(func(p *permission.Policy, _ tools) { p.Strict = true })
		w.Model.When("go", Calls(Call("write", `{}`)))
		for n, offered := range []bool{true, false} { // before it always asks, and then
			w.Say(w.Replicas[0], Ana, "go")
			w.Until("it asks", func() bool { return len(w.Platform.Messages(Room)) == n+1 && w.Asked() == "write" })
			equal(t, "Allow for this chat is offered", strings.Contains(w.Text(n), "[Allow for this chat]"), offered)
			if !offered {
				b := w.Await(chat.AllowOnce, "write")
				b.Choice = chat.AllowChat
				refused(w, w.Click(Ana, b), decision.RefusedNotOffered)
				w.Asks("write")
			}
			w.Press(w.Replicas[0], Ana, chat.Deny, "write")
			w.Over(n)
			types(w, Ana, "mode always")
		}
		equal(t, "ran", w.Tools.Ran(), "")
	})
}

// A chat that never asks leaves out what is disabled, what its person denied for good, what an admin decides and what changed; and it ends with
// the session.
// R109 R125 C3
func TestNeverRemovesPeoplesPromptsOnly(t *testing.T) {
	w := New(t, Options{})
	vouched(w)
	knows(w, "files", 5)
	types(w, Root, "tools disable files send")
	types(w, Ana, "remembered files touch deny")
	types(w, Root, "tool files drop approval RequireAuth")
	types(w, Ana, "mode never yes")
	for _, x := range []struct {
		tool string
		asks bool
		runs bool
	}{{"write", false, true}, {"send", false, false}, {"touch", false, false}, {"drop", true, false}} {
		n, ran := len(w.Platform.Messages(Room)), len(w.Tools.Effects())
		w.Model.When("use "+x.tool, Calls(Call(x.tool, `{}`)))
		w.Say(w.Replicas[0], Ana, "use "+x.tool)
		if x.asks {
			w.Until(x.tool+" asks", func() bool { return len(w.Platform.Messages(Room)) == n+1 && w.Asked() == x.tool })
			has(t, "Ana, who is no admin", w.Press(w.Replicas[0], Ana, chat.AllowOnce, x.tool), "admin")
			w.Press(w.Replicas[0], Root, chat.Deny, x.tool)
		}
		w.Over(n)
		equal(t, x.tool+" ran", len(w.Tools.Effects()) > ran, x.runs)
		if x.tool == "touch" { // R109: the model is told that it is a choice that was made before
			has(t, "what the model is told", w.Model.Latest().Results()[0].Text, "Not allowed", "remembered choice", "was not run")
			has(t, "what people read, with the way back (R125)", w.Text(n), "not allowed: Ana chose to deny touch of files (remembered choice). It holds until they forget it in the settings.")
		}
	}
	w.Tools.Change("write")
	asked, _ := asksFor(w, "files", "write")
	equal(t, "what changed asks", asked, true)
	types(w, Root, "accept files write")
	asked, _ = asksFor(w, "files", "write")
	equal(t, "accepted, it asks", asked, false)
	equal(t, "whisper", w.Deliver(w.Replicas[0], command(w, Ana, "reset")), "")
	asked, _ = asksFor(w, "files", "write")
	equal(t, "after a reset it asks", asked, true)
}

// 60 seconds by the log's clock, when nobody configured anything else. One second before they are over an answer counts; then it
// is denied as timed out, the model is told, and the turn ends without anybody.
// R114 R115 C9
func TestSixtySeconds(t *testing.T) {
	for name, x := range map[string]struct {
		after  time.Duration
		counts bool
	}{"before": {59 * time.Second, true}, "after": {time.Minute, false}} {
		t.Run(name, func(t *testing.T) {
			w, clock := clocked(t, Options{})
			w.Model.When("go", Calls(Call("write", `{}`)), Says("Nobody answered me."))
			w.Say(w.Replicas[0], Ana, "go")
			b := w.Await(chat.AllowOnce, "write")
			seen(w)
			clock(x.after)
			if x.counts {
				equal(t, "whisper", w.Deliver(w.Replicas[0], w.Click(Ana, b)), "")
				w.Over(0)
				equal(t, "ran", w.Tools.Ran(), "write")
				return
			}
			w.Say(w.Replicas[0], Ana, "hello?") // it waits its turn; an engine learns the log's time from what is written
			has(t, "the message", w.Over(0), "nobody answered in 60 s", "not run", "Nobody answered me.")
			has(t, "a late click", w.Deliver(w.Replicas[0], w.Click(Ana, b)), "expired")
			equal(t, "ran", w.Tools.Ran(), "")
			has(t, "the model", w.Model.Heard()[1].Results()[0].Text, "timed out")
			w.Over(1)
		})
	}
}

// That something was never denied is said, with the numbers, and changes nothing by itself: the next call asks like those before it.
// R146
func TestNeverDeniedIsOnlySaid(t *testing.T) {
	w := settingsWorld(t)
	for n := range 5 {
		w.Model.When("send", Calls(Call("send", `{"n":1}`), Call("send", `{"n":2}`), Call("send", `{"n":3}`), Call("send", `{"n":4}`)))
		w.Say(w.Replicas[0], Ana, "send")
		w.Until("all four ask", func() bool { return len(w.Platform.Messages(Room)) == n+1 && strings.Count(w.Asked(), "send") == 4 })
		w.Press(w.Replicas[0], Ana, chat.ApproveAll, "")
		w.Over(n)
	}
	has(t, "the suggestion", panelText(panel(w, Root, "stats")), "denied 0 of 20: consider allowing it without asking")
	offered := func(u chat.User) bool {
		_, ok := offerOf(panel(w, u, "stats"), "send of files", text.SuggestionLabel("allow"))
		return ok
	}
	equal(t, "before an admin accepted the tool, Root is offered to follow it", offered(Root), false)
	typed(w, Root, "accept files send")
	for u, may := range map[chat.User]bool{Root: true, Ana: false, Ben: false} {
		ok := offered(u)
		equal(t, u.Key+" is offered to follow it", ok, may)
	}
	before := settingsOf(w).Rev
	asked, _ := asksFor(w, "files", "send")
	equal(t, "the next one asks", asked, true)
	equal(t, "revision of the settings", settingsOf(w).Rev, before)
}

// What is parked has no end: nothing on its card counts down, and weeks later its button still counts.
// R116 C9
func TestParkedWaits(t *testing.T) {
	w, clock := clocked(t, Options{})
	types(w, Root, "tool files write timeout park")
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	b := w.Await(chat.AllowOnce, "write")
	hasNot(t, "the card", w.Text(0), text.Until, "+5 min")
	if at := expires(w, "write"); !at.IsZero() {
		t.Errorf("it expires at %v", at)
	}
	clock(60 * 24 * time.Hour)
	w.Replicas[0].Stop()
	r := w.Start()
	equal(t, "whisper", w.Deliver(r, w.Click(Ana, b)), "")
	w.Over(0)
	equal(t, "ran", w.Tools.Ran(), "write")
}
