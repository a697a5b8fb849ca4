package turn

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

func TestStartsAreCovered(t *testing.T) {
	x := asked(t)
	start := Started{Call: "c1", Run: "r1", Ask: "a1", Digest: x.call("c1").Digest, Token: 1}
	other := func(f func(*Started)) Started { e := start; f(&e); return e }
	newScript(t).ignores("no turn", start)
	x.ignores("nobody allowed it", start).decides("c1", chat.AllowOnce, ana)
	x.ignores("another call, asking or bytes than was allowed, or a run without a name", other(func(e *Started) { e.Call = "c9" }), other(func(e *Started) { e.Run = "" }),
		other(func(e *Started) { e.Ask = "a9" }), other(func(e *Started) { e.Digest = "tampered" }), other(func(e *Started) { e.Grant = "g9" }))
	x.fork().put(StopAsked{Turn: "t1", By: ana}).ignores("stopped", start)
	x.takes(start).ignores("it runs", start, other(func(e *Started) { e.Run = "r2" }))
	x.put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a9", Repeat: "read_only"}).ignores("a run's name is used once", start)
	x.takes(other(func(e *Started) { e.Run = "r2" }))

	// One at a time, and nothing of the batch before what stands in front of it.
	x = begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)).put(rules("c1", "a1", permission.Allow, permission.Write), rules("c2", "a2", permission.Allow, permission.Read))
	two := Started{Call: "c2", Run: "r2", Ask: "a2", Digest: x.call("c2").Digest, Token: 1}
	x.ignores("its turn is later", two).starts("c1", "r1").ignores("another one runs", two).put(Finished{Call: "c1", Run: "r1"}).takes(two)
}

func TestAGrantIsThereWhenItIsUsed(t *testing.T) {
	for name, c := range map[string]struct {
		grants []permission.Grant
		starts bool
		left   int
	}{
		"gone":               {nil, false, 0},
		"another one":        {[]permission.Grant{{ID: "h"}}, false, 0},
		"uncounted":          {[]permission.Grant{{ID: "h"}, {ID: "g"}}, true, 0},
		"counted, one left":  {[]permission.Grant{{ID: "h"}, {ID: "g", Counted: true, Uses: 1}}, true, 0},
		"counted, two left":  {[]permission.Grant{{ID: "h"}, {ID: "g", Counted: true, Uses: 2}}, true, 1},
		"counted, none left": {[]permission.Grant{{ID: "h"}, {ID: "g", Counted: true}}, false, 0},
	} {
		x := begin(t, proposes("c1", "w", `{}`))
		r := rules("c1", "a1", permission.Allow, permission.Write)
		r.Ruling.Grant = "g"
		x.put(r)
		x.s.Grants = c.grants
		x.put(Started{Call: "c1", Run: "r1", Ask: "a1", Digest: x.call("c1").Digest, Grant: "g", Token: 1})
		if got := x.call("c1").Status == Running; got != c.starts {
			t.Errorf("%s: starts %v", name, got)
		}
		if n := len(x.s.Grants); c.starts && x.s.Grants[n-1].Uses != c.left {
			t.Errorf("%s: %d uses left", name, x.s.Grants[n-1].Uses)
		}
	}
}

func TestResults(t *testing.T) {
	done := Finished{Call: "c1", Run: "r1", Result: Result{Text: "wrote it"}}
	newScript(t).ignores("no turn", done)
	asked(t).ignores("it never ran", done)
	x := ran(t).ignores("no such call or run", Finished{Call: "c9", Run: "r1"}, Finished{Call: "c1", Run: "r9"}, Finished{Call: "c1"})
	x.fork().put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "disk full", IsError: true}}).is("c1", Failed, "disk full")
	x.takes(done).is("c1", Done, "wrote it").ignores("one result", done, Finished{Call: "c1", Run: "r1", Result: Result{Text: "again"}})
	x.answer().ignores("one result", done)

	// A late result settles what is unknown, as long as nobody did.
	lost(t).takes(done).is("c1", Done, "wrote it").owes("the model is told", AskModel{1})
	late := render.LateResult("write_file", "files", "wrote it", false)
	x = lost(t).put(Resolved{Ask: "a2", Answer: chat.Leave, By: ana}).takes(done).is("c1", Unknown, render.ResultUnknown("The connection was lost."))
	if !x.call("c1").Late || !reflect.DeepEqual(x.s.Turn.Notes, []string{late}) {
		t.Errorf("late %v, notes %q", x.call("c1").Late, x.s.Turn.Notes)
	}
	x.ignores("once", done)
	// It is not the result of the run that was allowed instead.
	x = lost(t).put(Resolved{Ask: "a2", Answer: chat.RunAgain, By: ana, Next: "a3"})
	x.fork().takes(done).is("c1", Awaiting, "")
	x.decides("c1", chat.AllowOnce, ana).starts("c1", "r2").takes(done).is("c1", Running, "").takes(Finished{Call: "c1", Run: "r2", Result: Result{Text: "second"}}).is("c1", Done, "second")
	// After the turn it is a note to the next one.
	x = lost(t).put(Resolved{Ask: "a2", Answer: chat.Leave, By: ana}).answer().ignores("no such run", Finished{Call: "c1", Run: "r9"})
	y := x.fork().put(says("m2", "more", ben)).takes(done)
	x.takes(done).ignores("once", done)
	if !x.s.Last.Calls[0].Late || !reflect.DeepEqual(x.s.Notes, []string{late}) {
		t.Errorf("late %v, notes %q", x.s.Last.Calls[0].Late, x.s.Notes)
	}
	if x.put(says("m2", "more", ben)); !reflect.DeepEqual(x.s.Turn.Notes, []string{late}) || len(x.s.Notes) > 0 || !reflect.DeepEqual(y.s.Turn.Notes, []string{late}) {
		t.Errorf("the next turn was told %q or %q; still to tell %q", x.s.Turn.Notes, y.s.Turn.Notes, x.s.Notes)
	}
}

func TestAbandoned(t *testing.T) {
	gone := Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Wait: time.Minute}
	other := func(f func(*Abandoned)) Abandoned { e := gone; f(&e); return e }
	newScript(t).ignores("no turn", gone)
	asked(t).ignores("it does not run", gone)
	x := ran(t).ignores("another call or run, no asking, or an old one", other(func(e *Abandoned) { e.Call = "c9" }), other(func(e *Abandoned) { e.Run = "r9" }),
		other(func(e *Abandoned) { e.Ask = "" }), other(func(e *Abandoned) { e.Ask = "a1" }))
	x.ignores("not a later driver", other(func(e *Abandoned) { e.Token = 1 }), other(func(e *Abandoned) { e.Token = 0 }), other(func(e *Abandoned) { e.Token, e.Own = 0, true }))
	x.fork().takes(other(func(e *Abandoned) { e.Token, e.Own = 1, true })).is("c1", Unknown, "")
	x.fork().takes(other(func(e *Abandoned) { e.Own = true })).is("c1", Unknown, "")
	x.fork().takes(other(func(e *Abandoned) { e.Wait = 0 })).after(1000*time.Hour).owes("it waits for a person", []Command{}...)
	x.takes(gone).is("c1", Unknown, "").ignores("once", gone, other(func(e *Abandoned) { e.Ask = "a3" })).seen("a2").after(time.Minute).owes("the deadline has come", Expire{"a2"})

	// The recovery rule: twice, and never after Stop.
	repeat := func(run, ask string) Abandoned {
		return Abandoned{Call: "c1", Run: RunID(run), Token: 2, Ask: AskID(ask), Repeat: "read_only"}
	}
	x = ran(t)
	x.fork().put(StopAsked{Turn: "t1", By: ana}).put(repeat("r1", "a2")).is("c1", Unknown, render.ResultUnknown("")).owes("nobody is asked after Stop", End{WasStopped})
	for i := 1; i <= maxRepeats; i++ {
		x.put(repeat(fmt.Sprintf("r%d", i), fmt.Sprintf("b%d", i))).is("c1", Allowed, "").owes("the same bytes once more", RunTool{"c1"}).starts("c1", fmt.Sprintf("r%d", i+1))
	}
	x.put(repeat(fmt.Sprintf("r%d", maxRepeats+1), "b9")).is("c1", Unknown, "")

	// Where nobody can be asked, nobody is waited for.
	said := says("m1", "please", ana)
	said.Unattended = true
	newScript(t).put(said, Shown{Turn: "t1", Message: "s"}, Replied{Turn: "t1", Calls: []Proposal{proposes("c1", "w", `{}`)}}, rules("c1", "a1", permission.Allow, permission.Write)).
		starts("c1", "r1").put(gone).is("c1", Unknown, render.ResultUnknown("")).owes("the model is told", AskModel{1})
}

func TestResolved(t *testing.T) {
	leave := Resolved{Ask: "a2", Answer: chat.Leave, By: ben, Name: "Ben"}
	newScript(t).ignores("no turn", leave)
	asked(t).ignores("it has not run", Resolved{Ask: "a1", Answer: chat.Leave, By: ben})
	x := lost(t).ignores("no such ask or answer", Resolved{Ask: "a9", Answer: chat.Leave, By: ben}, Resolved{Ask: "a2", Answer: chat.AllowOnce, By: ben, Next: "a3"}, Resolved{Ask: "a2", By: ben, Next: "a3"})
	x.ignores("no next asking, or an old one", Resolved{Ask: "a2", Answer: chat.RunAgain, By: ben}, Resolved{Ask: "a2", Answer: chat.RunAgain, By: ben, Next: "a1"})
	x.ignores("nobody answered", Resolved{Ask: "a2", Answer: chat.Leave}, Resolved{Ask: "a2", Answer: chat.RunAgain, Next: "a3"})
	x.fork().after(time.Minute).ignores("too late", leave)
	x.fork().takes(leave).is("c1", Unknown, render.ResultUnknown("The connection was lost.")).ignores("once", leave, Resolved{Ask: "a2", Answer: chat.RunAgain, By: ana, Next: "a3"})
	x.fork().takes(Resolved{Ask: "a2", Answer: chat.Happened, By: ben}).is("c1", Unknown, render.ResultHappened())
	x.takes(Resolved{Ask: "a2", Answer: chat.RunAgain, By: ben, Next: "a3"}).is("c1", Awaiting, "").ignores("once", leave)
	if c := x.call("c1"); c.Ask != "a3" || c.Choice != "" || !c.Deadline.Equal(x.at.Add(time.Minute)) {
		t.Errorf("asked as %s after %q until %v", c.Ask, c.Choice, c.Deadline)
	}
}

// covered is a batch: c1 waits, c2 has run under Ana's grant g, c3 and c4 may run: under g, and by policy alone. c5 is Ben's once.
func covered(t *testing.T) *script {
	var calls []Proposal
	for i := 1; i <= 5; i++ {
		calls = append(calls, proposes(fmt.Sprintf("c%d", i), "w", fmt.Sprintf(`{"n":%d}`, i)))
	}
	x := begin(t, calls...)
	x.s.Grants = []permission.Grant{{ID: "g", Chat: x.s.Chat, Tool: x.call("c1").Tool, By: ana}}
	by := func(call, ask string, a permission.Access, g permission.GrantID) Ruled {
		r := rules(call, ask, permission.Allow, a)
		r.Ruling.Grant = g
		return r
	}
	x.put(rules("c1", "a1", permission.Ask, permission.Write), by("c2", "a2", permission.Read, "g"), by("c3", "a3", permission.Write, "g"), by("c4", "a4", permission.Write, ""), rules("c5", "a5", permission.Ask, permission.Write))
	return x.starts("c2", "r2").put(Finished{Call: "c2", Run: "r2", Result: Result{Text: "two"}}).decides("c5", chat.AllowOnce, ben)
}

func TestRevoke(t *testing.T) {
	revoke := Revoked{Grants: []permission.GrantID{"", "g"}, By: ben, Name: "Ben"}
	newScript(t).ignores("nothing to revoke", revoke)
	x := covered(t).ignores("no such grant", Revoked{Grants: []permission.GrantID{"h"}, By: ben}, Revoked{By: ben})
	x.takes(revoke).is("c2", Done, "two").is("c3", Proposed, "").is("c4", Allowed, "").is("c5", Allowed, "").ignores("once", revoke)
	if len(x.s.Grants) > 0 || x.call("c3").Grant != "" {
		t.Errorf("left: %v; c3 under %q", x.s.Grants, x.call("c3").Grant)
	}
	x = newScript(t)
	x.s.Grants = []permission.Grant{{ID: "h"}, {ID: "g"}}
	if x.takes(revoke); len(x.s.Grants) != 1 || x.s.Grants[0].ID != "h" { // between turns too
		t.Errorf("left: %v", x.s.Grants)
	}
}

func TestModes(t *testing.T) {
	always := ModeSet{Mode: permission.ModeAlways, Rev: 1, By: ben, Name: "Ben"}
	x := newScript(t).ignores("not the next setting", ModeSet{Mode: permission.ModeAlways, By: ben}, ModeSet{Mode: permission.ModeAlways, Rev: 2, By: ben})
	x.takes(always).ignores("once", always)
	x = covered(t).takes(always).is("c1", Awaiting, "").is("c2", Done, "two").is("c3", Proposed, "").is("c4", Proposed, "").is("c5", Allowed, "")
	if len(x.s.Grants) > 0 || x.s.Mode != permission.ModeAlways || !x.s.ModeAt.Equal(x.at) {
		t.Errorf("mode %v since %v, grants %v", x.s.Mode, x.s.ModeAt, x.s.Grants)
	}
	if x := covered(t).takes(ModeSet{Mode: permission.ModeNever, Rev: 1, By: ben}); len(x.s.Grants) != 1 {
		t.Error("another mode ended a grant")
	}
	// Allowed for this chat is a grant's cover, and goes with it; allowed once is this call's alone.
	x = begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)).put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write)).
		decides("c1", chat.AllowChat, ana).decides("c2", chat.AllowOnce, ana)
	x.put(always).is("c1", Proposed, "").is("c2", Allowed, "")
}

func TestReset(t *testing.T) {
	reset := Reset{Rev: 1, By: ben, Name: "Ben"}
	newScript(t).ignores("not the next one", Reset{By: ben}, Reset{Rev: 2, By: ben}).takes(reset).ignores("once", reset)
	x := asked(t).after(time.Minute).put(Expired{Ask: "a1"}).answer().put(says("m2", "more", ana), says("m3", "and", ben), ModeSet{Mode: permission.ModeNever, Rev: 1, By: ana})
	x.put(Replied{Turn: x.s.Turn.ID, Calls: []Proposal{proposes("c2", "w", `{}`)}}, rules("c2", "b1", permission.Ask, permission.Write)).after(time.Minute).put(Expired{Ask: "b1"})
	x.takes(reset).owes("it is over", Show{x.s.Turn.ID}, End{WasStopped}).put(Ended{Turn: x.s.Turn.ID, Why: WasStopped})
	if talk := Talk(x.s); len(talk) > 0 || len(x.s.Lapsed) > 0 || len(x.s.Waiting) > 0 || x.s.Mode != permission.ModeTool || x.s.Turn != nil {
		t.Errorf("after a reset: %s", asJSON(t, x.s))
	}
}

func TestStopAndEnd(t *testing.T) {
	stop := StopAsked{Turn: "t1", By: ben, Name: "Ben"}
	newScript(t).ignores("no turn", stop, Ended{Turn: "t1", Why: Answered})
	x := asked(t).ignores("another turn", StopAsked{Turn: "t0", By: ben}, Ended{Turn: "t0", Why: Answered})
	x.put(says("m2", "more", ana)).takes(stop).ignores("once", stop, StopAsked{Turn: "t1", By: ana}).is("c1", Cancelled, render.ResultCancelled())
	x.owes("it is over", End{WasStopped}).put(Ended{Turn: "t1", Why: WasStopped})
	if x.s.Turn != nil || x.s.Last.Cancelled != 1 || x.s.Last.Stopped.User != ben {
		t.Errorf("after Stop: %s", asJSON(t, x.s))
	}
	// What runs is heard out before the turn ends; what is unknown is not asked about.
	end := Ended{Turn: "t1", Why: WasStopped}
	x = ran(t).put(stop).is("c1", Running, "").ignores("a run is live", end)
	x.put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "done"}}).is("c1", Done, "done").takes(end)
	lost(t).put(stop).is("c1", Unknown, render.ResultUnknown("The connection was lost.")).takes(end)
	// A settled call keeps its result.
	asked(t).decides("c1", chat.Deny, ana).put(stop).is("c1", Denied, render.ResultDenied(""))
	// A turn that ends early settles what is open.
	asked(t).put(Ended{Turn: "t1", Why: ModelFailed, Say: "No."}).is("c1", Cancelled, render.ResultCancelled())

	x = asked(t).after(time.Minute).put(Expired{Ask: "a1"}).put(Reopened{Ask: "a1", By: ana, Next: "a2", NextCall: "c2"}).answer()
	if len(x.s.Lapsed) > 0 {
		t.Error("what was asked for again can be asked for once more")
	}
	if x := asked(t).decides("c1", chat.Deny, ana).answer(); len(x.s.Lapsed) > 0 {
		t.Error("a denied call can be asked for again")
	}
}

func TestTranscriptIsBoundedInBytes(t *testing.T) {
	x := newScript(t)
	big := strings.Repeat("x", maxTalkBytes/4+1)
	for i := range 3 {
		x.put(says(fmt.Sprintf("m%d", i), big, ana)).answer()
	}
	if n := len(x.s.Transcript); n != 6 || x.s.Dropped != 0 {
		t.Errorf("%d kept, %d dropped", n, x.s.Dropped)
	}
	if x.put(says("m3", big, ana)).answer(); x.s.Dropped != 1 || len(x.s.Transcript) != 7 {
		t.Errorf("%d kept, %d dropped", len(x.s.Transcript), x.s.Dropped)
	}
	x.put(says("m4", "hi", ana)).put(Replied{Turn: x.s.Turn.ID, Text: strings.Repeat("y", maxTalkBytes+1)}).put(Ended{Turn: x.s.Turn.ID, Why: Answered})
	if n := len(x.s.Transcript); n != 1 || x.s.Transcript[0].Role != RoleAssistant {
		t.Errorf("%d kept: the newest stays, however long it is", n)
	}
}

// A call that was to be run again and is not may still have happened: nothing says the contrary.
func TestNeverSaysNotRunOfWhatMayHaveRun(t *testing.T) {
	again := func() *script {
		return begin(t, proposes("c1", "write_file", `{"path":"a"}`)).put(rules("c1", "a1", permission.Ask, permission.Write)).
			decides("c1", chat.AllowOnce, ana).starts("c1", "r1").put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Wait: time.Minute}).
			put(Resolved{Ask: "a2", Answer: chat.RunAgain, By: ana, Next: "a3"})
	}
	card := func(x *script) string { return render.PlainText(View(x.s, x.s.Turn, Live{})) }
	if text := card(again()); !strings.Contains(text, render.AgainOnCard()) {
		t.Errorf("the card does not say that this would run it again:\n%s", text)
	}
	late := again().put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "wrote it"}})
	if text := card(late); !strings.Contains(text, render.LateOnCard(false)) || strings.Contains(text, render.AgainOnCard()) {
		t.Errorf("the card does not say that the first run answered:\n%s", text)
	}
	for name, x := range map[string]*script{
		"expired":   again().after(time.Minute).put(Expired{Ask: "a3"}),
		"stopped":   again().put(StopAsked{Turn: "t1", By: ana}),
		"denied":    again().decides("c1", chat.Deny, ana),
		"forbidden": again().decides("c1", chat.AllowOnce, ana).put(rules("c1", "a4", permission.Forbid, permission.Write)),
	} {
		c := x.call("c1")
		if !c.Settled() || strings.Contains(c.Result.Text, "not run.") || !strings.Contains(c.Result.Text, "not known") && !strings.Contains(strings.ToLower(c.Result.Text), "outcome unknown") {
			t.Errorf("%s: the model reads %+v", name, c.Result)
		}
		if text := card(x); strings.Contains(strings.ReplaceAll(text, render.NotRunAgain, ""), render.NotRun) || name != "forbidden" && !strings.Contains(text, render.NotRunAgain) {
			t.Errorf("%s: people read\n%s", name, text)
		}
	}
	if c := late.after(time.Minute).put(Expired{Ask: "a3"}).call("c1"); !strings.Contains(c.Result.Text, "timed out") {
		t.Errorf("after the first run answered: %q", c.Result.Text)
	}
}

func TestWhatCannotBeShownCannotBeAllowed(t *testing.T) {
	big := `{"text":"` + strings.Repeat("x", render.MaxArgs) + `"}`
	x := begin(t, proposes("c1", "write_file", big)).put(rules("c1", "a1", permission.Ask, permission.Write))
	for _, choice := range []chat.Choice{chat.AllowOnce, chat.AllowChat} {
		if x.decides("c1", choice, ana); x.call("c1").Status != Awaiting {
			t.Errorf("%s was taken", choice)
		}
	}
	if x.decides("c1", chat.Deny, ana); x.call("c1").Status != Denied {
		t.Error("it could not be denied")
	}
}
