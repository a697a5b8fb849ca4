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

// asked is a turn whose one call waits for Ana.
func asked(t *testing.T) *script {
	return begin(t, proposes("c1", "write_file", `{}`)).put(rules("c1", "a1", permission.Ask, permission.Write))
}

// ran is a turn whose one call was allowed by Ana and runs.
func ran(t *testing.T) *script { return asked(t).decides("c1", chat.AllowOnce, ana).starts("c1", "r1") }

// lost is a turn of whose one run nobody knows the end; a2 asks until a minute from now.
func lost(t *testing.T) *script {
	return ran(t).put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Wait: time.Minute, Say: "The connection was lost."})
}

// is checks how a call stands and the beginning of its result.
func (x *script) is(call string, status Status, result string) *script {
	x.t.Helper()
	c := x.call(call)
	if c.Status != status || !strings.HasPrefix(resultText(c), result) || (c.Result == nil) != (result == "") {
		x.t.Errorf("%s is %s with %q, want %s with %q", call, c.Status, resultText(c), status, result)
	}
	return x
}

// owes checks what Next says.
func (x *script) owes(why string, want ...Command) *script {
	x.t.Helper()
	if got := Next(x.s, x.at, Env{}); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
		x.t.Errorf("%s: owed %#v, want %#v", why, got, want)
	}
	return x
}

func TestRepliesFitTheirStep(t *testing.T) {
	reply := Replied{Turn: "t1", Text: "I'll do that.", Calls: []Proposal{proposes("c1", "write_file", `{}`)}, Usage: Usage{Input: 2}}
	other := func(f func(*Replied)) Replied { r := reply; f(&r); return r }
	x := newScript(t).ignores("no turn", reply).put(says("m1", "hi", ana))
	x.ignores("another turn's or step's", other(func(r *Replied) { r.Turn = "t2" }), other(func(r *Replied) { r.Step = 1 }))
	x.takes(reply).ignores("a call is open", other(func(r *Replied) { r.Step = 1 })).owes("a call is to be ruled", Show{"t1"}, Rule{"c1"})
	x = asked(t).decides("c1", chat.Deny, ana).put(Replied{Turn: "t1", Step: 1, Text: "Well."})
	x.ignores("the model has had the last word", other(func(r *Replied) { r.Step = 2 })).owes("that was all", End{Answered})

	x = newScript(t).put(says("m1", "hi", ana), other(func(r *Replied) {
		r.Calls = []Proposal{proposes("c1", "a", `{}`), proposes("", "b", `{}`), proposes("c1", "c", `{}`), {ID: "c2", Problem: "no such tool"}}
	}))
	if n := len(x.s.Turn.Calls); n != 2 || x.call("c1").Tool.Name != "a" {
		t.Errorf("%d calls of four: a call needs a name of its own", n)
	}
	x.is("c2", Failed, "no such tool").is("c1", Proposed, "")

	// What was shown before Stop is kept; what would start something is not.
	x = newScript(t).put(says("m1", "hi", ana), StopAsked{Turn: "t1", By: ana})
	x.ignores("stopped", reply).takes(other(func(r *Replied) { r.Calls = nil }))
}

func TestRulingsFitTheirCall(t *testing.T) {
	ask, allow, forbid := rules("c1", "a1", permission.Ask, permission.Write), rules("c1", "a2", permission.Allow, permission.Write), rules("c1", "a3", permission.Forbid, permission.Write)
	newScript(t).ignores("no turn", ask)
	x := begin(t, proposes("c1", "write_file", `{}`))
	x.ignores("no such call, or no name for the asking", rules("c9", "a1", permission.Ask, permission.Write), rules("c1", "", permission.Ask, permission.Write))
	x.takes(ask).is("c1", Awaiting, "").ignores("it is a person's turn now", ask, allow, forbid)
	x.decides("c1", chat.AllowOnce, ana).ignores("a ruling may only tighten before the start", allow)
	x.ignores("the asking is an old one", ask)
	if c := x.fork().takes(forbid).call("c1"); c.Asked || c.Choice != "" {
		t.Error("what policy forbids looks like a person's decision")
	}
	x.put(forbid).is("c1", Denied, "not allowed").ignores("it is settled", rules("c1", "a9", permission.Allow, permission.Write))

	x = begin(t, proposes("c1", "write_file", `{}`)).takes(allow).is("c1", Allowed, "").takes(ask).is("c1", Awaiting, "")
	if c := x.call("c1"); c.Deadline != x.at.Add(time.Minute) || !c.Asked {
		t.Errorf("asked %v until %v", c.Asked, c.Deadline)
	}
	x.put(ModeSet{Mode: permission.ModeAlways, Rev: 1, By: ana}).decides("c1", chat.AllowChat, ana).is("c1", Allowed, "")
	x.put(Revoked{Grants: []permission.GrantID{"g-c1"}, By: ana}).is("c1", Proposed, "").ignores("rulings of before", ask, allow)
	x.takes(rules("c1", "a4", permission.Ask, permission.Write)).is("c1", Awaiting, "")

	parked := rules("c1", "a1", permission.Ask, permission.Write)
	parked.Ruling.Timeout = 0
	x = begin(t, proposes("c1", "write_file", `{}`)).put(parked).after(1000*time.Hour).owes("a parked ask waits", []Command{}...)
	x.ignores("a parked ask has no deadline", Expired{Ask: "a1"}, Extended{Ask: "a1", By: ana, Until: x.at.Add(time.Hour)})
	x.decides("c1", chat.AllowOnce, ana).is("c1", Allowed, "")
}

func TestDecisionsFitTheirAsk(t *testing.T) {
	x := asked(t)
	c := x.call("c1")
	d := Decided{Ask: "a1", Digest: c.Digest, Choice: chat.AllowOnce, By: ana, Name: "Ana"}
	other := func(f func(*Decided)) Decided { d := d; f(&d); return d }
	newScript(t).ignores("no turn", d)
	x.ignores("no such ask, or another call's bytes", other(func(d *Decided) { d.Ask = "a9" }), other(func(d *Decided) { d.Digest = "tampered" }), other(func(d *Decided) { d.Ask = "" }))
	x.ignores("nobody decided", other(func(d *Decided) { d.By = chat.User{} }))
	x.takes(d).is("c1", Allowed, "").ignores("the first decision counts", d, other(func(d *Decided) { d.Choice = chat.Deny }))
	// A call that was not ruled yet has no ask, so the empty ask names nothing.
	begin(t, proposes("c1", "write_file", `{}`)).ignores("not asked", other(func(d *Decided) { d.Ask = "" }), Extended{Until: x.at.Add(time.Hour), By: ana}, Resolved{Answer: chat.Leave, By: ana, Next: "n"})
	for choice, want := range map[chat.Choice]Status{chat.AllowOnce: Allowed, chat.Deny: Denied, "": Denied, "garbage": Denied, chat.ApproveAll: Denied, chat.Happened: Denied} {
		x := asked(t).put(other(func(d *Decided) { d.Choice, d.Reason = choice, "not today" }))
		if got := x.call("c1").Status; got != want {
			t.Errorf("%q gives %s", choice, got)
		}
		if c := x.call("c1"); c.Status == Denied && (c.Choice != chat.Deny || !strings.Contains(c.Result.Text, "not today") || string(c.Result.Structured) != `{"success":false,"error":"User denied tool execution","by":"Ana"}`) {
			t.Errorf("%q: the model reads %s", choice, asJSON(t, c.Result))
		}
	}
}

// "Allow for this chat" is taken exactly as it was offered, or not at all.
func TestGrantsAreAsOffered(t *testing.T) {
	x := asked(t)
	c := x.call("c1")
	grant := permission.Grant{ID: "g1", Chat: x.s.Chat, Tool: c.Tool, By: ana, At: x.at.Add(-time.Hour)}
	decide := func(f func(*permission.Grant)) Decided {
		g := grant
		f(&g)
		return Decided{Ask: "a1", Digest: c.Digest, Choice: chat.AllowChat, By: ana, Name: "Ana", Grant: &g}
	}
	none := decide(func(*permission.Grant) {})
	none.Grant = nil
	x.ignores("another grant than the offered one", none,
		decide(func(g *permission.Grant) { g.ID = "" }),
		decide(func(g *permission.Grant) { g.Chat.Key = "elsewhere" }),
		decide(func(g *permission.Grant) { g.Tool.Definition = "changed" }),
		decide(func(g *permission.Grant) { g.By = ben }),
	)
	good := decide(func(*permission.Grant) {})
	for why, spoil := range map[string]func(*Ruled){
		"the tool takes no grant": func(r *Ruled) { r.Ruling.ChatGrant = false },
		"only an admin may":       func(r *Ruled) { r.Ruling.Level = permission.LevelAdmin },
	} {
		r := rules("c1", "a1", permission.Ask, permission.Write)
		spoil(&r)
		begin(t, proposes("c1", "write_file", `{}`)).put(r).ignores(why, good)
	}
	big := proposes("c1", "write_file", `{"text":"`+strings.Repeat("x", 200_000)+`"}`)
	y := begin(t, big).put(rules("c1", "a1", permission.Ask, permission.Write))
	if Showable(y.call("c1")) {
		t.Fatal("this is meant to be too big")
	}
	hidden := good
	hidden.Digest = y.call("c1").Digest
	y.ignores("what cannot be shown cannot be granted", hidden)

	x.takes(good)
	if len(x.s.Grants) != 1 || !x.s.Grants[0].At.Equal(x.at) || x.call("c1").Grant != "g1" {
		t.Errorf("granted %+v", x.s.Grants)
	}
	z := begin(t, proposes("c1", "write_file", `{}`), proposes("c2", "write_file", `{"n":2}`)).
		put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write), good)
	twice := good
	twice.Ask, twice.Digest = "a2", z.call("c2").Digest
	z.ignores("a grant's name is used once", twice).decides("c2", chat.AllowChat, ana).is("c2", Allowed, "")
}

func TestUndo(t *testing.T) {
	undo := Withdrawn{Ask: "a1", By: ben, Name: "Ben", Next: "a9"}
	newScript(t).ignores("no turn", undo)
	x := asked(t).ignores("nothing is decided", undo).decides("c1", chat.AllowOnce, ana)
	x.ignores("no such ask, no next one, an old one as the next", Withdrawn{Ask: "a7", By: ben, Next: "a9"}, Withdrawn{Ask: "a1", By: ben}, Withdrawn{Ask: "a1", By: ben, Next: "a1"})
	x.fork().starts("c1", "r1").ignores("it runs", undo).put(Finished{Call: "c1", Run: "r1"}).ignores("it ran", undo)
	x.takes(undo).is("c1", Awaiting, "")
	if c := x.call("c1"); c.Ask != "a9" || c.Choice != "" || !c.Deadline.Equal(x.at.Add(time.Minute)) {
		t.Errorf("asked again as %s, choice %q, until %v", c.Ask, c.Choice, c.Deadline)
	}
	// A denial can be taken back while its batch is open: afterwards the model has heard of it.
	asked(t).decides("c1", chat.Deny, ana).ignores("the batch is settled", undo)
	two := func() *script {
		return begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)).put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write)).
			decides("c1", chat.Deny, ana)
	}
	two().takes(undo).is("c1", Awaiting, "")
	two().decides("c2", chat.AllowOnce, ana).starts("c2", "r2").put(StopAsked{Turn: "t1", By: ana}).ignores("the turn is stopped", undo)
	later := two().decides("c2", chat.Deny, ana).put(Replied{Turn: "t1", Step: 1, Calls: []Proposal{proposes("c3", "w", `{"n":3}`)}})
	later.ignores("the next step is under way", undo)
	if CanUndo(New(x.s.Chat), x.call("c1")) || !CanUndo(two().s, two().call("c1")) {
		t.Error("without a turn there is nothing to undo, and in it there is")
	}
	r := rules("c1", "a1", permission.Allow, permission.Write)
	begin(t, proposes("c1", "w", `{}`)).put(r).ignores("policy decided", undo)
	r = rules("c1", "a1", permission.Forbid, permission.Write)
	begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)).put(r).ignores("policy forbade it", undo)
	// Only the undone decision's own grant ends with it.
	x = two()
	x.s.Grants = []permission.Grant{{ID: "g", Chat: x.s.Chat, Tool: x.call("c1").Tool, By: ana}}
	if x.takes(undo); len(x.s.Grants) != 1 {
		t.Error("undoing a denial ended a grant")
	}
}

func TestExtend(t *testing.T) {
	x := asked(t)
	later := Extended{Ask: "a1", By: ana, Until: x.at.Add(time.Hour)}
	newScript(t).ignores("no turn", later)
	x.ignores("no such ask, or an earlier end", Extended{Ask: "a9", By: ana, Until: later.Until}, Extended{Ask: "a1", By: ana, Until: x.at.Add(time.Second)}, Extended{Ask: "a1", By: ana, Until: x.call("c1").Deadline})
	x.takes(later)
	if !x.call("c1").Deadline.Equal(later.Until) {
		t.Errorf("until %v", x.call("c1").Deadline)
	}
	lost(t).takes(Extended{Ask: "a2", By: ana, Until: later.Until}) // an unknown outcome can wait longer too
	y := asked(t).after(time.Minute).put(Expired{Ask: "a1"}).after(-time.Second)
	y.ignores("it expired, whatever the clock says", later)
}

func TestExpiry(t *testing.T) {
	newScript(t).ignores("no turn", Expired{Ask: "a1"})
	x := asked(t).seen("a1").ignores("too early", Expired{Ask: "a1"}).after(time.Minute).owes("the deadline has come", Expire{"a1"})
	x.ignores("no such ask", Expired{Ask: "a9"}).takes(Expired{Ask: "a1"}).is("c1", Lapsed, "Tool execution timed out: nobody answered the request for approval in 60 s")
	x.after(time.Second).ignores("once is enough", Expired{Ask: "a1"}).owes("the model is told", AskModel{1})
	x = lost(t).seen("a2").ignores("too early", Expired{Ask: "a2"}).after(time.Minute).owes("the deadline has come", Expire{"a2"})
	x.takes(Expired{Ask: "a2"}).is("c1", Unknown, render.ResultUnknown("The connection was lost.")).ignores("once is enough", Expired{Ask: "a2"})
}

func TestAskAgain(t *testing.T) {
	again := Reopened{Ask: "a1", By: ben, Name: "Ben", Next: "a9", NextCall: "c9"}
	newScript(t).ignores("no turn", again)
	asked(t).ignores("it still waits", again)
	// While the batch is open it is the same call.
	two := func() *script {
		return begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)).put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write)).
			put(Extended{Ask: "a2", By: ana, Until: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}).after(time.Minute).put(Expired{Ask: "a1"})
	}
	x := two().ignores("no names for what is new, or an old one", Reopened{Ask: "a1", By: ben, NextCall: "c9"}, Reopened{Ask: "a1", By: ben, Next: "a9"}, Reopened{Ask: "a1", By: ben, Next: "a1", NextCall: "c9"}, Reopened{Ask: "a7", By: ben, Next: "a9", NextCall: "c9"})
	x.takes(again).is("c1", Awaiting, "")
	if c := x.call("c1"); c.Ask != "a9" || !c.Deadline.Equal(x.at.Add(time.Minute)) || len(x.s.Waiting) > 0 {
		t.Errorf("asked as %s until %v, %d wait", c.Ask, c.Deadline, len(x.s.Waiting))
	}
	two().put(StopAsked{Turn: "t1", By: ana}).ignores("the turn is stopped", again)
	// Once the batch is settled it is a turn of its own, for the same person with the same bytes.
	x = two().decides("c2", chat.Deny, ana).takes(again).is("c1", Lapsed, "Tool execution timed out")
	x.ignores("once", again, Reopened{Ask: "a1", By: ben, Next: "a10", NextCall: "c10"})
	if r := x.s.Waiting[0]; r.By != ana || r.Name != "Ana" || r.Replay.Call != "c9" || r.Replay.Digest != x.call("c1").Digest {
		t.Errorf("queued %+v", r)
	}
	// And so it is when the next step has calls that wait.
	x = two().decides("c2", chat.Deny, ana).put(Replied{Turn: "t1", Step: 1, Calls: []Proposal{proposes("c3", "w", `{"n":3}`)}}).takes(again).is("c1", Lapsed, "Tool execution timed out")
	if len(x.s.Waiting) != 1 {
		t.Error("nothing is queued")
	}
	// And after the turn.
	x = two().decides("c2", chat.Deny, ana).answer()
	x.ignores("no such ask", Reopened{Ask: "a7", By: ben, Next: "a9", NextCall: "c9"}).takes(again).is("c9", Proposed, "")
	if !x.s.Last.Calls[0].Reasked || x.s.Turn.Requester != ana {
		t.Error("the old card still offers it, or it is somebody else's now")
	}
	x.ignores("once", again)
	// And when another turn has ended since: only the session remembers.
	x = two().decides("c2", chat.Deny, ana).answer().put(says("m2", "more", ben)).answer().takes(again).is("c9", Proposed, "")
	for i := range 2 * maxLapsed {
		y := begin(t, proposes("c1", "w", `{}`))
		y.s.Lapsed = x.s.Lapsed
		y.put(rules("c1", fmt.Sprintf("z%d", i), permission.Ask, permission.Write)).after(time.Minute).put(Expired{Ask: AskID(fmt.Sprintf("z%d", i))}).answer()
		x = y
	}
	if n := len(x.s.Lapsed); n != maxLapsed {
		t.Errorf("%d expired calls are remembered", n)
	}
}
