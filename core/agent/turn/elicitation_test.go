package turn_test

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/script"
)

// form is what the server of c1's run r1 wants: the name of a branch.
func form(ask AskID, wait time.Duration) Elicited {
	want := Elicitation{Kind: ElicitationForm, Message: "Which branch?", Fields: []FormField{{Name: "branch", Type: "string"}}}
	return Elicited{Call: "c1", Run: "r1", Ask: ask, Request: want, Wait: wait}
}

// fills is Ana's answer to it.
func fills(ask AskID) Filled {
	return Filled{Ask: ask, By: script.Ana, Name: "Ana", Fill: Fill{Action: FillAccept, Content: json.RawMessage(`{"branch":"main"}`)}}
}

// A server may want something while its tool runs, one thing at a time, and each once.
func TestWantsFitTheirRun(t *testing.T) {
	want := form("w1", 0)
	other := func(f func(*Elicited)) Elicited { w := want; f(&w); return w }
	script.New(t).Ignores("no turn", want)
	script.Asked(t).Ignores("it does not run", want, other(func(w *Elicited) { w.Run = "" }))
	script.Lost(t).Ignores("nobody knows whether it runs", want)

	x := script.Ran(t).Ignores("no such call or run", other(func(w *Elicited) { w.Call = "c9" }), other(func(w *Elicited) { w.Run = "r9" }))
	x.Ignores("no name for the asking, or that of the call's own", other(func(w *Elicited) { w.Ask = "" }), other(func(w *Elicited) { w.Ask = "a1" }))
	x.Fork().Put(Finished{Call: "c1", Run: "r1"}).Ignores("it ran", want)
	x.Fork().Put(StopAsked{Turn: "t1", By: script.Ben}).Ignores("nobody is asked after Stop", want)

	second := other(func(w *Elicited) { w.Ask, w.Request.Message = "w2", "And which tag?" })
	x.Wants("w1", false).Takes(want).Wants("w1", true).Shows("Which branch?", text.ElicitationHeader("files"))
	x.Ignores("one at a time", want, second).Wants("w2", false)
	x.Put(fills("w1")).Wants("w1", false).Hides("Which branch?").Ignores("it was answered", want)
	x.Takes(second).Wants("w2", true).Wants("w1", false).Shows("And which tag?")
}

// What a server asks of one person only that person can say, once, and saying no gives nothing away.
func TestOnlyTheRequesterFills(t *testing.T) {
	fill := fills("w1")
	other := func(f func(*Filled)) Filled { ev := fill; f(&ev); return ev }
	script.New(t).Ignores("no turn", fill)
	x := script.Ran(t).Ignores("nothing is wanted", fill).Put(form("w1", 0))
	x.Ignores("no such asking", other(func(f *Filled) { f.Ask = "w9" }), other(func(f *Filled) { f.Ask = "" }), other(func(f *Filled) { f.Ask = "a1" }))
	x.Ignores("somebody else, or nobody", other(func(f *Filled) { f.By = script.Ben }), other(func(f *Filled) { f.By = chat.User{} }))

	accepted := x.Fork().Takes(fill).Ignores("the first answer counts", fill, other(func(f *Filled) { f.Fill = Fill{Action: FillDecline} }))
	if got := accepted.Told(); got != `accept{"branch":"main"}` {
		t.Errorf("the server reads %q", got)
	}
	if w := accepted.Call("c1").Elicitation; w.By != script.Ana || w.Name != "Ana" {
		t.Errorf("answered by %+v, %q", w.By, w.Name)
	}
	for _, action := range []string{FillDecline, FillCancel, "", "garbage"} {
		if got := x.Fork().Takes(other(func(f *Filled) { f.Fill.Action = action })).Told(); got != FillDecline {
			t.Errorf("%q: the server reads %q", action, got)
		}
	}

	// A turn that nobody asked for is nobody's to answer.
	y := script.New(t).Put(Said{Delivery: "m1", Text: "every morning"}, Shown{Turn: "t1", Message: "s"}, Replied{Turn: "t1", Calls: []Proposal{script.Proposes("c1", "w", `{}`)}},
		script.Rules("c1", "a1", permission.Allow, permission.Write)).Starts("c1", "r1").Takes(form("w1", 0))
	y.Ignores("nobody", other(func(f *Filled) { f.By = chat.User{} }), fill)
}

// What nobody answers in time the server is told, and not a moment earlier; without a deadline it waits as long as the run.
func TestWantsEnd(t *testing.T) {
	live := Env{Live: "r1"}
	x := script.Ran(t).Put(form("w1", time.Minute)).Seen("w1").Ignores("too early", Expired{Ask: "w1"}).After(time.Minute-1).Ignores("too early", Expired{Ask: "w1"}).OwesIn("nothing is due", live)
	if got := x.Fork().Takes(fills("w1")).Told(); got != `accept{"branch":"main"}` {
		t.Errorf("answered at the last moment, the server reads %q", got)
	}
	x.After(1).OwesIn("the deadline has come", live, Expire{"w1"}).Ignores("too late", fills("w1")).Ignores("no such asking", Expired{Ask: "w9"})
	x.Takes(Expired{Ask: "w1"}).Wants("w1", false).Is("c1", Running, "").OwesIn("it goes on running", live).Ignores("it is over", fills("w1"), Expired{Ask: "w1"})
	if got := x.Told(); got != FillCancel {
		t.Errorf("unanswered, the server reads %q", got)
	}

	x = script.Ran(t).Put(form("w1", 0)).After(1000*time.Hour).OwesIn("it waits as long as the run", live).Ignores("there is no deadline", Expired{Ask: "w1"}).Wants("w1", true)
	for why, end := range map[string]Event{
		"it ran":                         Finished{Call: "c1", Run: "r1", Result: Result{Text: "wrote it"}},
		"nobody knows whether it runs":   Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2"},
		"the run is over, another comes": Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Repeat: "read_only"},
		"the turn is stopped":            StopAsked{Turn: "t1", By: script.Ben},
	} {
		x.Fork().Takes(end).Wants("w1", false).Ignores(why, fills("w1"), Expired{Ask: "w1"})
	}
	// The server hears of Stop before its tool has ended; what was answered before, it was told.
	if got := x.Fork().Put(StopAsked{Turn: "t1", By: script.Ben}).Told(); got != FillCancel {
		t.Errorf("after Stop the server reads %q", got)
	}
	if got := x.Fork().Put(fills("w1"), StopAsked{Turn: "t1", By: script.Ben}).Told(); got != `accept{"branch":"main"}` {
		t.Errorf("answered before Stop, the server reads %q", got)
	}
}
