package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/script"
)

func TestRepliesFitTheirStep(t *testing.T) {
	reply := Replied{Turn: "t1", Text: "I'll do that.", Calls: []Proposal{script.Proposes("c1", "write_file", `{}`)}, Usage: Usage{Input: 2}}
	other := func(f func(*Replied)) Replied { r := reply; f(&r); return r }
	x := script.New(t).Ignores("no turn", reply).Put(script.Says("m1", "hi", script.Ana))
	x.Ignores("another turn's or step's", other(func(r *Replied) { r.Turn = "t2" }), other(func(r *Replied) { r.Step = 1 }))
	x.Takes(reply).Ignores("a call is open", other(func(r *Replied) { r.Step = 1 })).Owes("a call is to be ruled", Show{"t1"}, Rule{"c1"})
	x = script.Asked(t).Decides("c1", chat.Deny, script.Ana).Put(Replied{Turn: "t1", Step: 1, Text: "Well."})
	x.Ignores("the model has had the last word", other(func(r *Replied) { r.Step = 2 })).Owes("that was all", End{Answered})

	x = script.New(t).Put(script.Says("m1", "hi", script.Ana), other(func(r *Replied) {
		r.Calls = []Proposal{script.Proposes("c1", "a", `{}`), script.Proposes("", "b", `{}`), script.Proposes("c1", "c", `{}`), {ID: "c2", Problem: "no such tool"}}
	}))
	if n := len(x.Session.Turn.Calls); n != 2 || x.Call("c1").Tool.Name != "a" {
		t.Errorf("%d calls of four: a call needs a name of its own", n)
	}
	x.Is("c2", Failed, "no such tool").Is("c1", Proposed, "")

	// What was shown before Stop is kept; what would start something is not.
	x = script.New(t).Put(script.Says("m1", "hi", script.Ana), StopAsked{Turn: "t1", By: script.Ana})
	x.Ignores("stopped", reply).Takes(other(func(r *Replied) { r.Calls = nil }))
}

func TestRulingsFitTheirCall(t *testing.T) {
	ask, allow, forbid := script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c1", "a2", permission.Allow, permission.Write), script.Rules("c1", "a3", permission.Forbid, permission.Write)
	script.New(t).Ignores("no turn", ask)
	x := script.Begin(t, script.Proposes("c1", "write_file", `{}`))
	x.Ignores("no such call, or no name for the asking", script.Rules("c9", "a1", permission.Ask, permission.Write), script.Rules("c1", "", permission.Ask, permission.Write))
	x.Takes(ask).Is("c1", Awaiting, "").Ignores("it is a person's turn now", ask, allow, forbid)
	x.Decides("c1", chat.AllowOnce, script.Ana).Ignores("a ruling may only tighten before the start", allow)
	x.Ignores("the asking is an old one", ask)
	if c := x.Fork().Takes(forbid).Call("c1"); c.Asked || c.Choice != "" {
		t.Error("what policy forbids looks like a person's decision")
	}
	x.Put(forbid).Is("c1", Denied, "not allowed").Ignores("it is settled", script.Rules("c1", "a9", permission.Allow, permission.Write))

	x = script.Begin(t, script.Proposes("c1", "write_file", `{}`)).Takes(allow).Is("c1", Allowed, "").Takes(ask).Is("c1", Awaiting, "")
	if c := x.Call("c1"); c.Deadline != x.Now.Add(time.Minute) || !c.Asked {
		t.Errorf("asked %v until %v", c.Asked, c.Deadline)
	}
	x.Put(ModeSet{Mode: permission.ModeAlways, Rev: 1, By: script.Ana}).Decides("c1", chat.AllowChat, script.Ana).Is("c1", Allowed, "")
	x.Put(Revoked{Grants: []permission.GrantID{"g-c1"}, By: script.Ana}).Is("c1", Proposed, "").Ignores("rulings of before", ask, allow)
	x.Takes(script.Rules("c1", "a4", permission.Ask, permission.Write)).Is("c1", Awaiting, "")

	parked := script.Rules("c1", "a1", permission.Ask, permission.Write)
	parked.Ruling.Timeout = 0
	x = script.Begin(t, script.Proposes("c1", "write_file", `{}`)).Put(parked).After(1000*time.Hour).Owes("a parked ask waits", []Command{}...)
	x.Ignores("a parked ask has no deadline", Expired{Ask: "a1"}, Extended{Ask: "a1", By: script.Ana, Until: x.Now.Add(time.Hour)})
	x.Decides("c1", chat.AllowOnce, script.Ana).Is("c1", Allowed, "")
}

func TestDecisionsFitTheirAsk(t *testing.T) {
	x := script.Asked(t)
	c := x.Call("c1")
	d := Decided{Ask: "a1", Digest: c.Digest, Choice: chat.AllowOnce, By: script.Ana, Name: "Ana"}
	other := func(f func(*Decided)) Decided { d := d; f(&d); return d }
	script.New(t).Ignores("no turn", d)
	x.Ignores("no such ask, or another call's bytes", other(func(d *Decided) { d.Ask = "a9" }), other(func(d *Decided) { d.Digest = "tampered" }), other(func(d *Decided) { d.Ask = "" }))
	x.Ignores("nobody decided", other(func(d *Decided) { d.By = chat.User{} }))
	x.Takes(d).Is("c1", Allowed, "").Ignores("the first decision counts", d, other(func(d *Decided) { d.Choice = chat.Deny }))
	// A call that was not ruled yet has no ask, so the empty ask names nothing.
	script.Begin(t, script.Proposes("c1", "write_file", `{}`)).Ignores("not asked", other(func(d *Decided) { d.Ask = "" }), Extended{Until: x.Now.Add(time.Hour), By: script.Ana}, Resolved{Answer: chat.Leave, By: script.Ana, Next: "n"})
	for choice, want := range map[chat.Choice]Status{chat.AllowOnce: Allowed, chat.Deny: Denied, "": Denied, "garbage": Denied, chat.ApproveAll: Denied, chat.Happened: Denied} {
		x := script.Asked(t).Put(other(func(d *Decided) { d.Choice, d.Reason = choice, "not today" }))
		if got := x.Call("c1").Status; got != want {
			t.Errorf("%q gives %s", choice, got)
		}
		if c := x.Call("c1"); c.Status == Denied && (c.Choice != chat.Deny || !strings.Contains(script.ResultOf(c).Text, "not today") || string(script.ResultOf(c).Structured) != `{"success":false,"error":"User denied tool execution","by":"Ana"}`) {
			t.Errorf("%q: the model reads %s", choice, script.JSON(t, c.Result))
		}
	}
}

// "Allow for this chat" is taken exactly as it was offered, or not at all.
func TestGrantsAreAsOffered(t *testing.T) {
	x := script.Asked(t)
	c := x.Call("c1")
	grant := permission.Grant{ID: "g1", Chat: x.Session.Chat, Tool: c.Tool, By: script.Ana, At: x.Now.Add(-time.Hour)}
	decide := func(f func(*permission.Grant)) Decided {
		g := grant
		f(&g)
		return Decided{Ask: "a1", Digest: c.Digest, Choice: chat.AllowChat, By: script.Ana, Name: "Ana", Grant: &g}
	}
	none := decide(func(*permission.Grant) {})
	none.Grant = nil
	x.Ignores("another grant than the offered one", none,
		decide(func(g *permission.Grant) { g.ID = "" }),
		decide(func(g *permission.Grant) { g.Chat.Key = "elsewhere" }),
		decide(func(g *permission.Grant) { g.Tool.Definition = "changed" }),
		decide(func(g *permission.Grant) { g.By = script.Ben }),
	)
	good := decide(func(*permission.Grant) {})
	for why, spoil := range map[string]func(*Ruled){
		"the tool takes no grant": func(r *Ruled) { r.Ruling.ChatGrant = false },
		"only an admin may":       func(r *Ruled) { r.Ruling.Level = permission.LevelAdmin },
	} {
		r := script.Rules("c1", "a1", permission.Ask, permission.Write)
		spoil(&r)
		script.Begin(t, script.Proposes("c1", "write_file", `{}`)).Put(r).Ignores(why, good)
	}
	big := script.Proposes("c1", "write_file", `{"text":"`+strings.Repeat("x", 200_000)+`"}`)
	y := script.Begin(t, big).Put(script.Rules("c1", "a1", permission.Ask, permission.Write))
	if Showable(y.Call("c1")) {
		t.Fatal("this is meant to be too big")
	}
	hidden := good
	hidden.Digest = y.Call("c1").Digest
	y.Ignores("what cannot be shown cannot be granted", hidden)

	x.Takes(good)
	if len(x.Session.Grants) != 1 || !x.Session.Grants[0].At.Equal(x.Now) || x.Call("c1").Grant != "g1" {
		t.Errorf("granted %+v", x.Session.Grants)
	}
	z := script.Begin(t, script.Proposes("c1", "write_file", `{}`), script.Proposes("c2", "write_file", `{"n":2}`)).
		Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write), good)
	twice := good
	twice.Ask, twice.Digest = "a2", z.Call("c2").Digest
	z.Ignores("a grant's name is used once", twice).Decides("c2", chat.AllowChat, script.Ana).Is("c2", Allowed, "")
}

func TestUndo(t *testing.T) {
	undo := Withdrawn{Ask: "a1", By: script.Ben, Name: "Ben", Next: "a9"}
	script.New(t).Ignores("no turn", undo)
	x := script.Asked(t).Ignores("nothing is decided", undo).Decides("c1", chat.AllowOnce, script.Ana)
	x.Ignores("no such ask, no next one, an old one as the next", Withdrawn{Ask: "a7", By: script.Ben, Next: "a9"}, Withdrawn{Ask: "a1", By: script.Ben}, Withdrawn{Ask: "a1", By: script.Ben, Next: "a1"})
	x.Fork().Starts("c1", "r1").Ignores("it runs", undo).Put(Finished{Call: "c1", Run: "r1"}).Ignores("it ran", undo)
	x.Takes(undo).Is("c1", Awaiting, "")
	if c := x.Call("c1"); c.Ask != "a9" || c.Choice != "" || !c.Deadline.Equal(x.Now.Add(time.Minute)) {
		t.Errorf("asked again as %s, choice %q, until %v", c.Ask, c.Choice, c.Deadline)
	}
	// A denial can be taken back while its batch is open: afterwards the model has heard of it.
	script.Asked(t).Decides("c1", chat.Deny, script.Ana).Ignores("the batch is settled", undo)
	two := func() *script.Script {
		return script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write)).
			Decides("c1", chat.Deny, script.Ana)
	}
	two().Takes(undo).Is("c1", Awaiting, "")
	two().Decides("c2", chat.AllowOnce, script.Ana).Starts("c2", "r2").Put(StopAsked{Turn: "t1", By: script.Ana}).Ignores("the turn is stopped", undo)
	later := two().Decides("c2", chat.Deny, script.Ana).Put(Replied{Turn: "t1", Step: 1, Calls: []Proposal{script.Proposes("c3", "w", `{"n":3}`)}})
	later.Ignores("the next step is under way", undo)
	if CanUndo(New(x.Session.Chat), x.Call("c1")) || !CanUndo(two().Session, two().Call("c1")) {
		t.Error("without a turn there is nothing to undo, and in it there is")
	}
	r := script.Rules("c1", "a1", permission.Allow, permission.Write)
	script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(r).Ignores("policy decided", undo)
	r = script.Rules("c1", "a1", permission.Forbid, permission.Write)
	script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)).Put(r).Ignores("policy forbade it", undo)
	// Only the undone decision's own grant ends with it.
	x = two()
	x.Session.Grants = []permission.Grant{{ID: "g", Chat: x.Session.Chat, Tool: x.Call("c1").Tool, By: script.Ana}}
	if x.Takes(undo); len(x.Session.Grants) != 1 {
		t.Error("undoing a denial ended a grant")
	}
}

func TestExtend(t *testing.T) {
	x := script.Asked(t)
	later := Extended{Ask: "a1", By: script.Ana, Until: x.Now.Add(time.Hour)}
	script.New(t).Ignores("no turn", later)
	x.Ignores("no such ask, or an earlier end", Extended{Ask: "a9", By: script.Ana, Until: later.Until}, Extended{Ask: "a1", By: script.Ana, Until: x.Now.Add(time.Second)}, Extended{Ask: "a1", By: script.Ana, Until: x.Call("c1").Deadline})
	x.Takes(later)
	if !x.Call("c1").Deadline.Equal(later.Until) {
		t.Errorf("until %v", x.Call("c1").Deadline)
	}
	script.Lost(t).Takes(Extended{Ask: "a2", By: script.Ana, Until: later.Until}) // an unknown outcome can wait longer too
	y := script.Asked(t).After(time.Minute).Put(Expired{Ask: "a1"}).After(-time.Second)
	y.Ignores("it expired, whatever the clock says", later)
}

// R114
func TestExpiry(t *testing.T) {
	script.New(t).Ignores("no turn", Expired{Ask: "a1"})
	x := script.Asked(t).Seen("a1").Ignores("too early", Expired{Ask: "a1"}).After(time.Minute).Owes("the deadline has come", Expire{"a1"})
	x.Ignores("no such ask", Expired{Ask: "a9"}).Takes(Expired{Ask: "a1"}).Is("c1", Lapsed, "Tool execution timed out: nobody answered the request for approval in 60 s")
	x.After(time.Second).Ignores("once is enough", Expired{Ask: "a1"}).Owes("the model is told", AskModel{1})
	x = script.Lost(t).Seen("a2").Ignores("too early", Expired{Ask: "a2"}).After(time.Minute).Owes("the deadline has come", Expire{"a2"})
	x.Takes(Expired{Ask: "a2"}).Is("c1", Unknown, text.ResultUnknown("The connection was lost.")).Ignores("once is enough", Expired{Ask: "a2"})
}

func TestAskAgain(t *testing.T) {
	again := Reopened{Ask: "a1", By: script.Ben, Name: "Ben", Next: "a9", NextCall: "c9"}
	script.New(t).Ignores("no turn", again)
	script.Asked(t).Ignores("it still waits", again)
	// While the batch is open it is the same call.
	two := func() *script.Script {
		return script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write)).
			Put(Extended{Ask: "a2", By: script.Ana, Until: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}).After(time.Minute).Put(Expired{Ask: "a1"})
	}
	x := two().Ignores("no names for what is new, or an old one", Reopened{Ask: "a1", By: script.Ben, NextCall: "c9"}, Reopened{Ask: "a1", By: script.Ben, Next: "a9"}, Reopened{Ask: "a1", By: script.Ben, Next: "a1", NextCall: "c9"}, Reopened{Ask: "a7", By: script.Ben, Next: "a9", NextCall: "c9"})
	x.Takes(again).Is("c1", Awaiting, "")
	if c := x.Call("c1"); c.Ask != "a9" || !c.Deadline.Equal(x.Now.Add(time.Minute)) || len(x.Session.Waiting) > 0 {
		t.Errorf("asked as %s until %v, %d wait", c.Ask, c.Deadline, len(x.Session.Waiting))
	}
	two().Put(StopAsked{Turn: "t1", By: script.Ana}).Ignores("the turn is stopped", again)
	// Once the batch is settled it is a turn of its own, for the same person with the same bytes.
	x = two().Decides("c2", chat.Deny, script.Ana).Takes(again).Is("c1", Lapsed, "Tool execution timed out")
	x.Ignores("once", again, Reopened{Ask: "a1", By: script.Ben, Next: "a10", NextCall: "c10"})
	if r := x.Session.Waiting[0]; r.By != script.Ana || r.Name != "Ana" || r.Replay.Call != "c9" || r.Replay.Digest != x.Call("c1").Digest {
		t.Errorf("queued %+v", r)
	}
	// And so it is when the next step has calls that wait.
	x = two().Decides("c2", chat.Deny, script.Ana).Put(Replied{Turn: "t1", Step: 1, Calls: []Proposal{script.Proposes("c3", "w", `{"n":3}`)}}).Takes(again).Is("c1", Lapsed, "Tool execution timed out")
	if len(x.Session.Waiting) != 1 {
		t.Error("nothing is queued")
	}
	// And after the turn.
	x = two().Decides("c2", chat.Deny, script.Ana).Answer()
	x.Ignores("no such ask", Reopened{Ask: "a7", By: script.Ben, Next: "a9", NextCall: "c9"}).Takes(again).Is("c9", Proposed, "")
	if !x.Session.Last.Calls[0].Reasked || x.Session.Turn.Requester != script.Ana {
		t.Error("the old card still offers it, or it is somebody else's now")
	}
	x.Ignores("once", again)
	// And when another turn has ended since: only the session remembers.
	x = two().Decides("c2", chat.Deny, script.Ana).Answer().Put(script.Says("m2", "more", script.Ben)).Answer().Takes(again).Is("c9", Proposed, "")
	for i := range 2 * MaxLapsed {
		y := script.Begin(t, script.Proposes("c1", "w", `{}`))
		y.Session.Lapsed = x.Session.Lapsed
		y.Put(script.Rules("c1", fmt.Sprintf("z%d", i), permission.Ask, permission.Write)).After(time.Minute).Put(Expired{Ask: AskID(fmt.Sprintf("z%d", i))}).Answer()
		x = y
	}
	if n := len(x.Session.Lapsed); n != MaxLapsed {
		t.Errorf("%d expired calls are remembered", n)
	}
}
