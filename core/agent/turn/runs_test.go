package turn_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/talk"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/script"
)

func TestStartsAreCovered(t *testing.T) {
	x := script.Asked(t)
	start := Started{Call: "c1", Run: "r1", Ask: "a1", Digest: x.Call("c1").Digest, Token: 1}
	other := func(f func(*Started)) Started { e := start; f(&e); return e }
	script.New(t).Ignores("no turn", start)
	x.Ignores("nobody allowed it", start).Decides("c1", chat.AllowOnce, script.Ana)
	x.Ignores("another call, asking or bytes than was allowed, or a run without a name", other(func(e *Started) { e.Call = "c9" }), other(func(e *Started) { e.Run = "" }),
		other(func(e *Started) { e.Ask = "a9" }), other(func(e *Started) { e.Digest = "tampered" }), other(func(e *Started) { e.Grant = "g9" }))
	x.Fork().Put(StopAsked{Turn: "t1", By: script.Ana}).Ignores("stopped", start)
	x.Takes(start).Ignores("it runs", start, other(func(e *Started) { e.Run = "r2" }))
	x.Put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a9", Repeat: "read_only"}).Ignores("a run's name is used once", start)
	x.Takes(other(func(e *Started) { e.Run = "r2" }))

	// One at a time, and nothing of the batch before what stands in front of it.
	x = script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)).Put(script.Rules("c1", "a1", permission.Allow, permission.Write), script.Rules("c2", "a2", permission.Allow, permission.Read))
	two := Started{Call: "c2", Run: "r2", Ask: "a2", Digest: x.Call("c2").Digest, Token: 1}
	x.Ignores("its turn is later", two).Starts("c1", "r1").Ignores("another one runs", two).Put(Finished{Call: "c1", Run: "r1"}).Takes(two)
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
		x := script.Begin(t, script.Proposes("c1", "w", `{}`))
		r := script.Rules("c1", "a1", permission.Allow, permission.Write)
		r.Ruling.Grant = "g"
		x.Put(r)
		x.Session.Grants = c.grants
		x.Put(Started{Call: "c1", Run: "r1", Ask: "a1", Digest: x.Call("c1").Digest, Grant: "g", Token: 1})
		if got := x.Call("c1").Status == Running; got != c.starts {
			t.Errorf("%s: starts %v", name, got)
		}
		if n := len(x.Session.Grants); c.starts && x.Session.Grants[n-1].Uses != c.left {
			t.Errorf("%s: %d uses left", name, x.Session.Grants[n-1].Uses)
		}
	}
}

func TestResults(t *testing.T) {
	done := Finished{Call: "c1", Run: "r1", Result: Result{Text: "wrote it"}}
	script.New(t).Ignores("no turn", done)
	script.Asked(t).Ignores("it never ran", done)
	x := script.Ran(t).Ignores("no such call or run", Finished{Call: "c9", Run: "r1"}, Finished{Call: "c1", Run: "r9"}, Finished{Call: "c1"})
	x.Fork().Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "disk full", IsError: true}}).Is("c1", Failed, "disk full")
	x.Takes(done).Is("c1", Done, "wrote it").Ignores("one result", done, Finished{Call: "c1", Run: "r1", Result: Result{Text: "again"}})
	x.Answer().Ignores("one result", done)

	// A late result settles what is unknown, as long as nobody did.
	script.Lost(t).Takes(done).Is("c1", Done, "wrote it").Owes("the model is told", AskModel{1})
	late := Note{Kind: NoteLate, Tool: "write_file", Server: "files", Text: "wrote it"}
	x = script.Lost(t).Put(Resolved{Ask: "a2", Answer: chat.Leave, By: script.Ana}).Takes(done).Is("c1", Unknown, text.ResultUnknown("The connection was lost."))
	if !x.Call("c1").Late || !reflect.DeepEqual(x.Session.Turn.Notes, []Note{late}) {
		t.Errorf("late %v, notes %+v", x.Call("c1").Late, x.Session.Turn.Notes)
	}
	x.Ignores("once", done)
	// It is not the result of the run that was allowed instead.
	x = script.Lost(t).Put(Resolved{Ask: "a2", Answer: chat.RunAgain, By: script.Ana, Next: "a3"})
	x.Fork().Takes(done).Is("c1", Awaiting, "")
	x.Decides("c1", chat.AllowOnce, script.Ana).Starts("c1", "r2").Takes(done).Is("c1", Running, "").Takes(Finished{Call: "c1", Run: "r2", Result: Result{Text: "second"}}).Is("c1", Done, "second")
	// After the turn it is a note to the next one.
	x = script.Lost(t).Put(Resolved{Ask: "a2", Answer: chat.Leave, By: script.Ana}).Answer().Ignores("no such run", Finished{Call: "c1", Run: "r9"})
	y := x.Fork().Put(script.Says("m2", "more", script.Ben)).Takes(done)
	x.Takes(done).Ignores("once", done)
	if !x.Session.Last.Calls[0].Late || !reflect.DeepEqual(x.Session.Notes, []Note{late}) {
		t.Errorf("late %v, notes %+v", x.Session.Last.Calls[0].Late, x.Session.Notes)
	}
	if x.Put(script.Says("m2", "more", script.Ben)); !reflect.DeepEqual(x.Session.Turn.Notes, []Note{late}) || len(x.Session.Notes) > 0 || !reflect.DeepEqual(y.Session.Turn.Notes, []Note{late}) {
		t.Errorf("the next turn was told %+v or %+v; still to tell %+v", x.Session.Turn.Notes, y.Session.Turn.Notes, x.Session.Notes)
	}
}

func TestAbandoned(t *testing.T) {
	gone := Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Wait: time.Minute}
	other := func(f func(*Abandoned)) Abandoned { e := gone; f(&e); return e }
	script.New(t).Ignores("no turn", gone)
	script.Asked(t).Ignores("it does not run", gone)
	x := script.Ran(t).Ignores("another call or run, no asking, or an old one", other(func(e *Abandoned) { e.Call = "c9" }), other(func(e *Abandoned) { e.Run = "r9" }),
		other(func(e *Abandoned) { e.Ask = "" }), other(func(e *Abandoned) { e.Ask = "a1" }))
	x.Ignores("not a later driver", other(func(e *Abandoned) { e.Token = 1 }), other(func(e *Abandoned) { e.Token = 0 }), other(func(e *Abandoned) { e.Token, e.Own = 0, true }))
	x.Fork().Takes(other(func(e *Abandoned) { e.Token, e.Own = 1, true })).Is("c1", Unknown, "")
	x.Fork().Takes(other(func(e *Abandoned) { e.Own = true })).Is("c1", Unknown, "")
	x.Fork().Takes(other(func(e *Abandoned) { e.Wait = 0 })).After(1000*time.Hour).Owes("it waits for a person", []Command{}...)
	x.Takes(gone).Is("c1", Unknown, "").Ignores("once", gone, other(func(e *Abandoned) { e.Ask = "a3" })).Seen("a2").After(time.Minute).Owes("the deadline has come", Expire{"a2"})

	// The recovery rule: twice, and never after Stop.
	repeat := func(run, ask string) Abandoned {
		return Abandoned{Call: "c1", Run: RunID(run), Token: 2, Ask: AskID(ask), Repeat: "read_only"}
	}
	x = script.Ran(t)
	x.Fork().Put(StopAsked{Turn: "t1", By: script.Ana}).Put(repeat("r1", "a2")).Is("c1", Unknown, text.ResultUnknown("")).Owes("nobody is asked after Stop", End{WasStopped})
	for i := 1; i <= MaxRepeats; i++ {
		x.Put(repeat(fmt.Sprintf("r%d", i), fmt.Sprintf("b%d", i))).Is("c1", Allowed, "").Owes("the same bytes once more", RunTool{"c1"}).Starts("c1", fmt.Sprintf("r%d", i+1))
	}
	x.Put(repeat(fmt.Sprintf("r%d", MaxRepeats+1), "b9")).Is("c1", Unknown, "")

	// Where nobody can be asked, nobody is waited for.
	said := script.Says("m1", "please", script.Ana)
	said.Unattended = true
	script.New(t).Put(said, Shown{Turn: "t1", Message: "s"}, Replied{Turn: "t1", Calls: []Proposal{script.Proposes("c1", "w", `{}`)}}, script.Rules("c1", "a1", permission.Allow, permission.Write)).
		Starts("c1", "r1").Put(gone).Is("c1", Unknown, text.ResultUnknown("")).Owes("the model is told", AskModel{1})
}

func TestResolved(t *testing.T) {
	leave := Resolved{Ask: "a2", Answer: chat.Leave, By: script.Ben, Name: "Ben"}
	script.New(t).Ignores("no turn", leave)
	script.Asked(t).Ignores("it has not run", Resolved{Ask: "a1", Answer: chat.Leave, By: script.Ben})
	x := script.Lost(t).Ignores("no such ask or answer", Resolved{Ask: "a9", Answer: chat.Leave, By: script.Ben}, Resolved{Ask: "a2", Answer: chat.AllowOnce, By: script.Ben, Next: "a3"}, Resolved{Ask: "a2", By: script.Ben, Next: "a3"})
	x.Ignores("no next asking, or an old one", Resolved{Ask: "a2", Answer: chat.RunAgain, By: script.Ben}, Resolved{Ask: "a2", Answer: chat.RunAgain, By: script.Ben, Next: "a1"})
	x.Ignores("nobody answered", Resolved{Ask: "a2", Answer: chat.Leave}, Resolved{Ask: "a2", Answer: chat.RunAgain, Next: "a3"})
	x.Fork().After(time.Minute).Ignores("too late", leave)
	x.Fork().Takes(leave).Is("c1", Unknown, text.ResultUnknown("The connection was lost.")).Ignores("once", leave, Resolved{Ask: "a2", Answer: chat.RunAgain, By: script.Ana, Next: "a3"})
	x.Fork().Takes(Resolved{Ask: "a2", Answer: chat.Happened, By: script.Ben}).Is("c1", Unknown, text.ResultHappened)
	x.Takes(Resolved{Ask: "a2", Answer: chat.RunAgain, By: script.Ben, Next: "a3"}).Is("c1", Awaiting, "").Ignores("once", leave)
	if c := x.Call("c1"); c.Ask != "a3" || c.Choice != "" || !c.Deadline.Equal(x.Now.Add(time.Minute)) {
		t.Errorf("asked as %s after %q until %v", c.Ask, c.Choice, c.Deadline)
	}
}

func TestRevoke(t *testing.T) {
	revoke := Revoked{Grants: []permission.GrantID{"", "g"}, By: script.Ben, Name: "Ben"}
	script.New(t).Ignores("nothing to revoke", revoke)
	x := script.Covered(t).Ignores("no such grant", Revoked{Grants: []permission.GrantID{"h"}, By: script.Ben}, Revoked{By: script.Ben})
	x.Takes(revoke).Is("c2", Done, "two").Is("c3", Proposed, "").Is("c4", Allowed, "").Is("c5", Allowed, "").Ignores("once", revoke)
	if len(x.Session.Grants) > 0 || x.Call("c3").Grant != "" {
		t.Errorf("left: %v; c3 under %q", x.Session.Grants, x.Call("c3").Grant)
	}
	x = script.New(t)
	x.Session.Grants = []permission.Grant{{ID: "h"}, {ID: "g"}}
	if x.Takes(revoke); len(x.Session.Grants) != 1 || x.Session.Grants[0].ID != "h" { // between turns too
		t.Errorf("left: %v", x.Session.Grants)
	}
}

func TestModes(t *testing.T) {
	always := ModeSet{Mode: permission.ModeAlways, Rev: 1, By: script.Ben, Name: "Ben"}
	x := script.New(t).Ignores("not the next setting", ModeSet{Mode: permission.ModeAlways, By: script.Ben}, ModeSet{Mode: permission.ModeAlways, Rev: 2, By: script.Ben})
	x.Takes(always).Ignores("once", always)
	x = script.Covered(t).Takes(always).Is("c1", Awaiting, "").Is("c2", Done, "two").Is("c3", Proposed, "").Is("c4", Proposed, "").Is("c5", Allowed, "")
	if len(x.Session.Grants) > 0 || x.Session.Mode != permission.ModeAlways || !x.Session.ModeAt.Equal(x.Now) {
		t.Errorf("mode %v since %v, grants %v", x.Session.Mode, x.Session.ModeAt, x.Session.Grants)
	}
	if x := script.Covered(t).Takes(ModeSet{Mode: permission.ModeNever, Rev: 1, By: script.Ben}); len(x.Session.Grants) != 1 {
		t.Error("another mode ended a grant")
	}
	// Allowed for this chat is a grant's cover, and goes with it; allowed once is this call's alone.
	x = script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write)).
		Decides("c1", chat.AllowChat, script.Ana).Decides("c2", chat.AllowOnce, script.Ana)
	x.Put(always).Is("c1", Proposed, "").Is("c2", Allowed, "")
}

func TestReset(t *testing.T) {
	reset := Reset{Rev: 1, By: script.Ben, Name: "Ben"}
	script.New(t).Ignores("not the next one", Reset{By: script.Ben}, Reset{Rev: 2, By: script.Ben}).Takes(reset).Ignores("once", reset)
	x := script.Asked(t).After(time.Minute).Put(Expired{Ask: "a1"}).Answer().Put(script.Says("m2", "more", script.Ana), script.Says("m3", "and", script.Ben), ModeSet{Mode: permission.ModeNever, Rev: 1, By: script.Ana})
	x.Put(Replied{Turn: x.Session.Turn.ID, Calls: []Proposal{script.Proposes("c2", "w", `{}`)}}, script.Rules("c2", "b1", permission.Ask, permission.Write)).After(time.Minute).Put(Expired{Ask: "b1"})
	x.Takes(reset).Owes("it is over", Show{x.Session.Turn.ID}, End{WasStopped}).Put(Ended{Turn: x.Session.Turn.ID, Why: WasStopped})
	if said := talk.Of(x.Session); len(said) > 0 || len(x.Session.Lapsed) > 0 || len(x.Session.Waiting) > 0 || x.Session.Mode != permission.ModeTool || x.Session.Turn != nil {
		t.Errorf("after a reset: %s", script.JSON(t, x.Session))
	}
}

func TestStopAndEnd(t *testing.T) {
	stop := StopAsked{Turn: "t1", By: script.Ben, Name: "Ben"}
	script.New(t).Ignores("no turn", stop, Ended{Turn: "t1", Why: Answered})
	x := script.Asked(t).Ignores("another turn", StopAsked{Turn: "t0", By: script.Ben}, Ended{Turn: "t0", Why: Answered})
	x.Put(script.Says("m2", "more", script.Ana)).Takes(stop).Ignores("once", stop, StopAsked{Turn: "t1", By: script.Ana}).Is("c1", Cancelled, text.ResultCancelled)
	x.Owes("it is over", End{WasStopped}).Put(Ended{Turn: "t1", Why: WasStopped})
	if x.Session.Turn != nil || x.Session.Last.Cancelled != 1 || x.Session.Last.Stopped.User != script.Ben {
		t.Errorf("after Stop: %s", script.JSON(t, x.Session))
	}
	// What runs is heard out before the turn ends; what is unknown is not asked about.
	end := Ended{Turn: "t1", Why: WasStopped}
	x = script.Ran(t).Put(stop).Is("c1", Running, "").Ignores("a run is live", end)
	x.Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "done"}}).Is("c1", Done, "done").Takes(end)
	script.Lost(t).Put(stop).Is("c1", Unknown, text.ResultUnknown("The connection was lost.")).Takes(end)
	// A settled call keeps its result.
	script.Asked(t).Decides("c1", chat.Deny, script.Ana).Put(stop).Is("c1", Denied, text.ResultDenied(""))
	// A turn that ends early settles what is open.
	script.Asked(t).Put(Ended{Turn: "t1", Why: ModelFailed, Say: "No."}).Is("c1", Cancelled, text.ResultCancelled)

	x = script.Asked(t).After(time.Minute).Put(Expired{Ask: "a1"}).Put(Reopened{Ask: "a1", By: script.Ana, Next: "a2", NextCall: "c2"}).Answer()
	if len(x.Session.Lapsed) > 0 {
		t.Error("what was asked for again can be asked for once more")
	}
	if x := script.Asked(t).Decides("c1", chat.Deny, script.Ana).Answer(); len(x.Session.Lapsed) > 0 {
		t.Error("a denied call can be asked for again")
	}
}

func TestTranscriptIsBoundedInBytes(t *testing.T) {
	x := script.New(t)
	big := strings.Repeat("x", MaxTalkBytes/4+1)
	for i := range 3 {
		x.Put(script.Says(fmt.Sprintf("m%d", i), big, script.Ana)).Answer()
	}
	if n := len(x.Session.Transcript); n != 6 || x.Session.Dropped != 0 {
		t.Errorf("%d kept, %d dropped", n, x.Session.Dropped)
	}
	if x.Put(script.Says("m3", big, script.Ana)).Answer(); x.Session.Dropped != 1 || len(x.Session.Transcript) != 7 {
		t.Errorf("%d kept, %d dropped", len(x.Session.Transcript), x.Session.Dropped)
	}
	x.Put(script.Says("m4", "hi", script.Ana)).Put(Replied{Turn: x.Session.Turn.ID, Text: strings.Repeat("y", MaxTalkBytes+1)}).Put(Ended{Turn: x.Session.Turn.ID, Why: Answered})
	if n := len(x.Session.Transcript); n != 1 || x.Session.Transcript[0].Role != RoleAssistant {
		t.Errorf("%d kept: the newest stays, however long it is", n)
	}
}

// A call that was to be run again and is not may still have happened: nothing says the contrary.
func TestNeverSaysNotRunOfWhatMayHaveRun(t *testing.T) {
	again := func() *script.Script {
		return script.Begin(t, script.Proposes("c1", "write_file", `{"path":"a"}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).
			Decides("c1", chat.AllowOnce, script.Ana).Starts("c1", "r1").Put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Wait: time.Minute}).
			Put(Resolved{Ask: "a2", Answer: chat.RunAgain, By: script.Ana, Next: "a3"})
	}
	card := func(x *script.Script) string {
		return render.PlainText(card.View(x.Session, x.Session.Turn, card.Live{}))
	}
	if said := card(again()); !strings.Contains(said, text.AgainOnCard) {
		t.Errorf("the card does not say that this would run it again:\n%s", said)
	}
	late := again().Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "wrote it"}})
	if said := card(late); !strings.Contains(said, text.LateOnCard(false)) || strings.Contains(said, text.AgainOnCard) {
		t.Errorf("the card does not say that the first run answered:\n%s", said)
	}
	for name, x := range map[string]*script.Script{
		"expired":   again().After(time.Minute).Put(Expired{Ask: "a3"}),
		"stopped":   again().Put(StopAsked{Turn: "t1", By: script.Ana}),
		"denied":    again().Decides("c1", chat.Deny, script.Ana),
		"forbidden": again().Decides("c1", chat.AllowOnce, script.Ana).Put(script.Rules("c1", "a4", permission.Forbid, permission.Write)),
	} {
		c := x.Call("c1")
		if !c.Settled() || strings.Contains(script.ResultOf(c).Text, "not run.") || !strings.Contains(script.ResultOf(c).Text, "not known") && !strings.Contains(strings.ToLower(script.ResultOf(c).Text), "outcome unknown") {
			t.Errorf("%s: the model reads %+v", name, c.Result)
		}
		if said := card(x); strings.Contains(strings.ReplaceAll(said, text.NotRunAgain, ""), text.NotRun) || name != "forbidden" && !strings.Contains(said, text.NotRunAgain) {
			t.Errorf("%s: people read\n%s", name, said)
		}
	}
	if c := late.After(time.Minute).Put(Expired{Ask: "a3"}).Call("c1"); !strings.Contains(script.ResultOf(c).Text, "timed out") {
		t.Errorf("after the first run answered: %q", script.ResultOf(c).Text)
	}
}

func TestWhatCannotBeShownCannotBeAllowed(t *testing.T) {
	big := `{"text":"` + strings.Repeat("x", render.MaxArgs) + `"}`
	x := script.Begin(t, script.Proposes("c1", "write_file", big)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write))
	for _, choice := range []chat.Choice{chat.AllowOnce, chat.AllowChat} {
		if x.Decides("c1", choice, script.Ana); x.Call("c1").Status != Awaiting {
			t.Errorf("%s was taken", choice)
		}
	}
	if x.Decides("c1", chat.Deny, script.Ana); x.Call("c1").Status != Denied {
		t.Error("it could not be denied")
	}
}
