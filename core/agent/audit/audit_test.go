package audit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/permission/pin"
	"github.com/nodhq/nod/tests/script"
)

// R143
func TestAuditSaysWhatHappened(t *testing.T) {
	const one, two = time.Second, 2 * time.Second
	write := func(call, args string) turn.Proposal { return script.Proposes(call, "write_file", args) }
	ask := func(t *testing.T) *script.Script { // entries 1 to 4
		return script.Begin(t, write("c1", `{}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).After(two)
	}
	forbid := script.Rules("c1", "a1", permission.Forbid, permission.Write)
	deny := func(x *script.Script, reason string) *script.Script {
		return x.Put(turn.Decided{Ask: "a1", Digest: x.Call("c1").Digest, Choice: "garbage", By: script.Ben, Surface: "api", Reason: reason})
	}
	clicks := func(x *script.Script, choice chat.Choice) *script.Script {
		g := permission.Grant{ID: "g", Chat: x.Session.Chat, Tool: x.Call("c1").Tool, By: script.Ana, Name: "Ana"}
		return x.Put(turn.Decided{Ask: "a1", Digest: x.Call("c1").Digest, Choice: choice, By: script.Ana, Name: "Ana", Grant: &g})
	}
	grant := func(x *script.Script) *script.Script { return clicks(x, chat.AllowChat) }
	for name, c := range map[string]struct {
		x    func(t *testing.T) *script.Script
		from int
		want []string
	}{
		"what people and models say is no record": {func(t *testing.T) *script.Script { return script.Begin(t, write("c1", `{}`)) }, 0, nil},
		"asked":     {ask, 0, []string{"4 request asked by nod call=c1 rule=source"}},
		"forbidden": {func(t *testing.T) *script.Script { return script.Begin(t, write("c1", `{}`)).Put(forbid) }, 0, []string{"4 request forbidden by nod call=c1 rule=source"}},
		"refused before policy": {func(t *testing.T) *script.Script {
			return script.Begin(t, turn.Proposal{ID: "c1", Tool: permission.Tool{Name: "nothing"}, Problem: "no such tool"})
		}, 0, []string{"3 request invalid by nod call=c1"}},
		"auto": {func(t *testing.T) *script.Script {
			return script.Begin(t, write("c1", `{}`)).Put(script.Rules("c1", "a1", permission.Allow, permission.Read)).Starts("c1", "r1").After(two).Put(turn.Finished{Call: "c1", Run: "r1"})
		}, 0, []string{"4 request allowed by nod call=c1 rule=source", "5 start auto by nod call=c1 rule=source run=r1", "6 finish ok by nod call=c1 rule=source run=r1 2000ms"}},
		"allowed once": {func(t *testing.T) *script.Script {
			return ask(t).Decides("c1", chat.AllowOnce, script.Ana).Decides("c1", chat.Deny, script.Ben).Starts("c1", "r1").After(one).Put(turn.Finished{Call: "c1", Run: "r1", Result: turn.Result{IsError: true}})
		}, 4, []string{"5 decision approved by Ana call=c1 choice=allow_once rule=source 2000ms", "7 start approved by nod call=c1 rule=source run=r1", "8 finish failed by nod call=c1 rule=source run=r1 1000ms"}},
		"denied, by what is no choice": {func(t *testing.T) *script.Script { return deny(ask(t), "not now") }, 4, []string{"5 decision denied by  call=c1 choice=deny rule=source note=not now 2000ms"}},
		"allowed for the chat": {func(t *testing.T) *script.Script { return grant(ask(t)) }, 4,
			[]string{"5 decision approved by Ana call=c1 choice=allow_chat rule=source grant=g 2000ms"}},
		"allowed for an hour": {func(t *testing.T) *script.Script { return clicks(ask(t), chat.AllowHour) }, 4,
			[]string{"5 decision approved by Ana call=c1 choice=allow_hour rule=source grant=g note=until 2026-11-21T15:02:03Z 2000ms"}},
		"voted": {func(t *testing.T) *script.Script {
			r := script.Rules("c1", "a1", permission.Ask, permission.Write)
			r.Ruling.Approvals = 2
			return script.Begin(t, write("c1", `{}`)).Put(r).Decides("c1", chat.AllowOnce, script.Ana).Decides("c1", chat.AllowOnce, script.Ana).Decides("c1", chat.AllowOnce, script.Ben)
		}, 4, []string{"5 decision voted by Ana call=c1 choice=allow_once rule=source", "7 decision approved by Ben call=c1 choice=allow_once rule=source"}},
		"what its server wants": {func(t *testing.T) *script.Script {
			want := turn.Elicitation{Kind: turn.ElicitationForm, Message: "Which branch? Bearer abcdefghijklmnopqrst"}
			return script.Ran(t).Put(turn.Elicited{Call: "c1", Run: "r1", Ask: "w1", Request: want}).After(one).
				Put(turn.Filled{Ask: "w1", By: script.Ben}, turn.Filled{Ask: "w1", By: script.Ana, Name: "Ana", Fill: turn.Fill{Action: turn.FillAccept, Content: json.RawMessage(`{"password":"hunter2"}`)}}).
				Put(turn.Elicited{Call: "c1", Run: "r1", Ask: "w2", Request: turn.Elicitation{Kind: turn.ElicitationURL, URL: "https://example.com/?code=hunter2"}, Wait: one}).After(one).Put(turn.Expired{Ask: "w2"})
		}, 6, []string{
			"7 want asked by nod call=c1 rule=source run=r1 note=form; Which branch? Bearer ‹secret, 20 characters›",
			"9 fill accept by Ana call=c1 rule=source run=r1 note=form 1000ms",
			"10 want asked by nod call=c1 rule=source run=r1 note=url",
			"11 fill cancel by nod call=c1 rule=source run=r1 note=url 1000ms",
		}},
		"what its server wants, stopped": {func(t *testing.T) *script.Script {
			return script.Ran(t).Put(turn.Elicited{Call: "c1", Run: "r1", Ask: "w1", Request: turn.Elicitation{Kind: turn.ElicitationURL}}).After(one).Put(turn.ModeSet{Mode: permission.ModeAlways, Rev: 1, By: script.Ben, Name: "Ben"}, turn.StopAsked{Turn: "t1", By: script.Ben, Name: "Ben"}).
				Put(turn.Finished{Call: "c1", Run: "r1"})
		}, 7, []string{
			"8 mode always by Ben",
			"9 fill cancel by Ben call=c1 rule=source run=r1 note=url 1000ms", "9 stop stopped by Ben",
			"10 finish ok by nod call=c1 rule=source run=r1 1000ms",
		}},
		"what its server wants, over with its run": {func(t *testing.T) *script.Script {
			return script.Ran(t).Put(turn.Elicited{Call: "c1", Run: "r1", Ask: "w1", Request: turn.Elicitation{Kind: turn.ElicitationURL}}).After(one).Put(turn.Finished{Call: "c1", Run: "r1"})
		}, 7, []string{"8 fill cancel by nod call=c1 rule=source run=r1 note=url 1000ms", "8 finish ok by nod call=c1 rule=source run=r1 1000ms"}},
		"what its server wants, lost with its run": {func(t *testing.T) *script.Script {
			return script.Ran(t).Put(turn.Elicited{Call: "c1", Run: "r1", Ask: "w1", Request: turn.Elicitation{Kind: turn.ElicitationURL}}).After(one).Put(turn.Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2"})
		}, 7, []string{"8 fill cancel by nod call=c1 rule=source run=r1 note=url 1000ms", "8 unknown unknown by nod call=c1 rule=source run=r1 1000ms"}},
		"forgotten after a silence": {func(t *testing.T) *script.Script {
			x := grant(ask(t)).Starts("c1", "r1").Put(turn.Finished{Call: "c1", Run: "r1"}, turn.Replied{Turn: "t1", Step: 1, Text: "Done."}, turn.Ended{Turn: "t1", Why: turn.Answered})
			return x.After(31 * 24 * time.Hour).Put(script.Says("m9", "hello again", script.Ben))
		}, 9, []string{"10 revoke ended by nod grant=g"}},
		"used": {func(t *testing.T) *script.Script {
			x := grant(ask(t)).Starts("c1", "r1").Put(turn.Finished{Call: "c1", Run: "r1"}, turn.Replied{Turn: "t1", Step: 1, Calls: []turn.Proposal{write("c2", `{"n":1}`)}})
			r := script.Rules("c2", "a2", permission.Allow, permission.Write)
			r.Ruling.Grant = "g"
			x.Put(r)
			return x.Put(turn.Started{Call: "c2", Run: "r2", Ask: "a2", Digest: x.Call("c2").Digest, Grant: "g"})
		}, 8, []string{"9 request allowed by nod call=c2 rule=source grant=g", "10 start granted by nod call=c2 rule=source grant=g run=r2"}},
		"undone": {func(t *testing.T) *script.Script {
			return grant(ask(t)).After(one).Put(turn.Withdrawn{Ask: "a1", By: script.Ana, Next: "a2"})
		}, 5, []string{"6 undo undone by Ana call=c1 choice=allow_chat rule=source grant=g 1000ms", "6 revoke ended by Ana grant=g"}},
		"revoked": {func(t *testing.T) *script.Script {
			return grant(ask(t)).Put(turn.Revoked{Grants: []permission.GrantID{"g", "h"}, By: script.Ben, Name: "Ben"}, turn.Revoked{Grants: []permission.GrantID{"g"}, By: script.Ben})
		}, 5, []string{"6 revoke revoked by Ben grant=g"}},
		"edited": {func(t *testing.T) *script.Script {
			x := ask(t)
			return x.Put(script.Amends(x, "a1", `{"n":2}`))
		}, 4, []string{"5 edit edited by Ana call=c1 rule=source"}},
		"extended": {func(t *testing.T) *script.Script {
			x := ask(t)
			return x.Put(turn.Extended{Ask: "a1", By: script.Ana, Until: x.Now.Add(time.Hour)}, turn.Extended{Ask: "a1", By: script.Ana, Until: x.Now})
		}, 4, []string{"5 extend extended by Ana call=c1 rule=source note=until 2026-11-21T15:02:03Z"}},
		"expired and asked again": {func(t *testing.T) *script.Script {
			return ask(t).Put(turn.Expired{Ask: "a1"}).After(time.Minute).Put(turn.Expired{Ask: "a1"}, turn.Replied{Turn: "t1", Step: 1, Text: "Nobody came."}, turn.Ended{Turn: "t1", Why: turn.Answered},
				turn.Reopened{Ask: "a1", By: script.Ben, Name: "Ben", Next: "a2", NextCall: "c2"}, turn.Reopened{Ask: "a1", By: script.Ben, Next: "a3", NextCall: "c3"})
		}, 4, []string{"6 expire timeout by nod call=c1 rule=source 62000ms", "9 reopen asked by Ben call=c1 rule=source"}},
		"asked again in its batch": {func(t *testing.T) *script.Script {
			return script.Begin(t, write("c1", `{}`), write("c2", `{"n":1}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write)).
				After(time.Minute).Put(turn.Expired{Ask: "a1"}, turn.Reopened{Ask: "a1", By: script.Ben, Name: "Ben", Next: "a3", NextCall: "c3"})
		}, 6, []string{"7 reopen asked by Ben call=c1 rule=source"}},
		"unknown, and left so": {func(t *testing.T) *script.Script {
			return script.Lost(t).After(one).Put(turn.Resolved{Ask: "a2", Answer: chat.Leave, By: script.Ana}, turn.Finished{Call: "c1", Run: "r1"})
		}, 6, []string{"7 unknown unknown by nod call=c1 rule=source run=r1 note=The connection was lost.", "8 resolve leave by Ana call=c1 choice=leave rule=source run=r1 1000ms", "9 late ok by nod call=c1 rule=source run=r1 1000ms"}},
		"unknown, and it answers": {func(t *testing.T) *script.Script {
			return script.Lost(t).Put(turn.Finished{Call: "c1", Run: "r1", Result: turn.Result{IsError: true}})
		}, 7,
			[]string{"8 finish failed by nod call=c1 rule=source run=r1"}},
		"unknown until the deadline": {func(t *testing.T) *script.Script {
			return script.Lost(t).After(time.Minute).Put(turn.Expired{Ask: "a2"})
		}, 7,
			[]string{"8 expire unknown by nod call=c1 rule=source 60000ms"}},
		"repeated by the recovery rule": {func(t *testing.T) *script.Script {
			return script.Ran(t).Put(turn.Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Repeat: "read_only"})
		}, 6, []string{"7 unknown repeated by nod call=c1 rule=read_only run=r1"}},
		"stopped": {func(t *testing.T) *script.Script {
			return ask(t).Put(turn.StopAsked{Turn: "t1", By: script.Ben, Name: "Ben"}, turn.StopAsked{Turn: "t1", By: script.Ana})
		}, 4,
			[]string{"5 stop stopped by Ben", "5 cancel cancelled by Ben call=c1 rule=source"}},
		"stopped while nobody knows": {func(t *testing.T) *script.Script {
			return script.Lost(t).Put(turn.StopAsked{Turn: "t1", By: script.Ben, Name: "Ben"})
		}, 7,
			[]string{"8 stop stopped by Ben", "8 cancel unknown by Ben call=c1 rule=source"}},
		"its message is gone": {func(t *testing.T) *script.Script {
			return ask(t).Put(turn.Deleted{Delivery: "d9", Message: "shown", By: script.Ben})
		}, 4,
			[]string{"5 stop stopped by  note=" + NoteGone, "5 cancel cancelled by nod call=c1 rule=source"}},
		"a message of a person is gone": {func(t *testing.T) *script.Script {
			return ask(t).Put(turn.Deleted{Delivery: "d9", Message: "m1", By: script.Ana})
		}, 4, nil},
		"ended over an open ask": {func(t *testing.T) *script.Script { return ask(t).Put(turn.Ended{Turn: "t1", Why: turn.NoProgress}) }, 4,
			[]string{"5 cancel cancelled by nod call=c1 rule=source"}},
		"mode": {func(t *testing.T) *script.Script {
			return grant(ask(t)).Put(turn.ModeSet{Mode: permission.ModeAlways, Rev: 1, By: script.Ben, Name: "Ben"}, turn.ModeSet{Mode: permission.ModeNever, Rev: 1, By: script.Ben})
		}, 5, []string{"6 mode always by Ben", "6 revoke ended by Ben grant=g"}},
		"reset": {func(t *testing.T) *script.Script {
			return grant(ask(t)).Put(turn.Reset{Rev: 1, By: script.Ben, Name: "Ben"})
		}, 5, []string{"6 reset reset by Ben", "6 cancel cancelled by Ben call=c1 rule=source grant=g", "6 revoke ended by Ben grant=g"}},
	} {
		t.Run(name, func(t *testing.T) { c.x(t).Audits(c.from, c.want...) })
	}
}

// One record in full: what its JSON says is a promise to whoever reads exports.
func TestAuditRecordInFull(t *testing.T) {
	args := `{"path":"notes.txt","password":"hunter2","text":"a,\n  b` + "\u202e" + `c"}`
	x := script.Begin(t, script.Proposes("c1", "write_file", args)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).After(1500 * time.Millisecond)
	x.Put(turn.Decided{Ask: "a1", Digest: x.Call("c1").Digest, Choice: chat.AllowOnce, By: script.Ben, Name: "Ben", Surface: "slack"})
	rs := Records(x.Session.Chat, x.Log)
	b, err := json.Marshal(rs[len(rs)-1])
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	expect := fmt.Sprintf(`{"chat":"web::c1","seq":5,"at":"2026-11-21T14:02:02.5Z","kind":"decision","outcome":"approved","by":"web::ben","name":"Ben","surface":"slack",
		"requester":"web::ana","turn":"t1","call":"c1","ask":"a1","server":"files","tool":"write_file","def":"d","access":"write","risk":"moderate","level":"user",
		"choice":"allow_once","rule":"source","why":"files asks before every call.","digest":%q,
		"args":"{\"path\": \"notes.txt\", \"password\": ‹secret, 7 characters›, \"text\": \"a,\\n  b\\u{202E}c\"}","redacted":1,"ms":1500}`, x.Call("c1").Digest)
	if err := json.Unmarshal([]byte(expect), &want); err != nil {
		t.Fatal(err)
	}
	for k := range want {
		if fmt.Sprint(got[k]) != fmt.Sprint(want[k]) {
			t.Errorf("%s: %v, want %v", k, got[k], want[k])
		}
		delete(got, k)
	}
	if len(got) > 0 {
		t.Errorf("also there: %v", got)
	}
}

// No raw secret is in any record, whatever field it came by.
func TestAuditKeepsNoSecret(t *testing.T) {
	const key = "sk-abcdefghijklmnopqrstuvwx"
	x := script.Begin(t, script.Proposes("c1", "write_file", `{"password":"hunter2","nested":{"api_key":["hunter2"]},"text":"`+key+`"}`),
		turn.Proposal{ID: "c2", Tool: permission.Tool{Name: "x"}, Args: json.RawMessage(`"Bearer ` + key + `"`), Problem: "what is " + key + "?"})
	r := script.Rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Reasons[0].Text = "because " + key
	x.Put(r, turn.Decided{Ask: "a1", Digest: x.Call("c1").Digest, Choice: chat.Deny, By: script.Ana, Name: "Ana", Reason: "use " + key + " instead"})
	b, err := json.Marshal(Records(x.Session.Chat, x.Log))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", key} {
		if strings.Contains(string(b), secret) {
			t.Errorf("%q is in the records:\n%s", secret, b)
		}
	}
	y := script.Ran(t).Put(turn.Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Say: "It said " + key})
	if r := Records(y.Session.Chat, y.Log); !strings.Contains(script.Line(r[len(r)-1]), "note=It said ‹secret, ") {
		t.Error(script.Line(r[len(r)-1]))
	}
	if n := strings.Count(string(b), "‹secret, "); n != 11 { // c2: two; c1: three arguments and a sentence, twice, and a reason
		t.Errorf("%d places are masked:\n%s", n, b)
	}
}

// Arguments that no card can hold are shortened in the audit, too; the digest names them whole.
func TestAuditShortensWhatNobodyReads(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "write_file", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)).Put(script.Rules("c1", "a1", permission.Forbid, permission.Write))
	rs := Records(x.Session.Chat, x.Log)
	if len(rs) != 1 || len(rs[0].Args) > 1<<17 || !strings.Contains(rs[0].Args, "more characters") || rs[0].Digest != x.Call("c1").Digest {
		t.Errorf("%d records, %d bytes", len(rs), len(rs[0].Args))
	}
}

// A change of settings gives a record for each part that had an effect, with what stood there before.
func TestAuditOfSettings(t *testing.T) {
	x := script.New(t)
	yes, no := true, false
	set := func(v string) permission.Change {
		return permission.Setting{Server: "files", Tool: "write_file", Field: "ask", Value: v}
	}
	tool := permission.Tool{Server: "files", Name: "write_file", Definition: "d"}
	remembered := permission.Remembered{ID: "r1", By: script.Ana, Name: "Ana", Tool: tool, Choice: permission.StandDeny}
	x.Put(
		turn.Changed{Changes: []permission.Change{set("always"), set("always"), permission.Halting(no)}, By: script.Ana, Name: "Ana", Surface: "slack", Note: "template strict"},
		turn.Changed{Changes: []permission.Change{set("never")}, By: script.Ben, Name: "Ben"},
		turn.Changed{Changes: []permission.Change{set("never")}, By: script.Ana},
		turn.Changed{Changes: []permission.Change{remembered, permission.Forget("r1"), permission.Forget("r2")}, By: script.Ana, Name: "Ana"},
		turn.Changed{Changes: []permission.Change{permission.Seen{Tool: tool}, permission.Told{Server: "files", Tools: "d"}}},
		turn.Changed{Changes: []permission.Change{permission.Accept(tool), permission.Halting(yes), permission.Halting(no), permission.Analysis{Tool: tool, Reason: "sk-abcdefghijklmnopqrstuvwx"}}, By: script.Ana, Name: "Ana"},
	)
	x.Audits(0,
		"1 setting set by Ana note=files/write_file: ask = always; template strict",
		"2 setting set by Ben note=files/write_file: ask = never; it was always",
		"4 setting remembered by Ana choice="+permission.StandDeny.String()+" note="+remembered.String(),
		"4 setting forgot by Ana choice="+permission.StandDeny.String()+" note=forgot a remembered choice",
		"5 setting seen by nod note=write_file of files: its server defines it as d",
		"5 setting told by nod note=admins are to be told of the tools of files",
		"6 setting accepted by Ana note=write_file of files: accepted as d",
		"6 setting halted by Ana note=halted",
		"6 setting resumed by Ana note=resumed",
		"6 setting analysed by Ana note=write_file of files: analysed as unclassified, moderate",
	)
	for _, r := range Records(x.Session.Chat, x.Log)[:1] {
		if r.Surface != "slack" || r.Server != "files" || r.Tool != "write_file" {
			t.Errorf("%+v", r)
		}
	}
}

// What a grant is limited to is on its record, without the value of an argument with a secret's name.
func TestAuditSaysWhatAGrantCovers(t *testing.T) {
	g := permission.Grant{Scope: permission.ScopeReads, Tool: permission.Tool{Server: "files"}, Counted: true, Uses: 1, Until: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC),
		Pins: []pin.Pin{{Path: "to", Value: json.RawMessage(`"ops"`)}, {Path: "token", Value: json.RawMessage(`"hunter2"`)}, {Path: "text", Value: json.RawMessage(`"sk-abcdefghijklmnopqrstuvwx"`)}}}
	got := NoteGrant(g)
	for _, want := range []string{"reads from files; when to is \"ops\"", "until 2027-01-02T03:04:05Z; 1 use left"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "hunter2") || strings.Contains(got, "sk-abc") {
		t.Error(got)
	}
}

// What was asked again after its turn is still told with the turn it came from, however many turns went by.
func TestAuditKnowsTheTurnOfWhatLapsed(t *testing.T) {
	x := script.Asked(t).After(time.Minute).Put(turn.Expired{Ask: "a1"}, turn.Replied{Turn: "t1", Step: 1, Text: "Nobody came."}, turn.Ended{Turn: "t1", Why: turn.Answered})
	for range 2 {
		x.Put(script.Says(fmt.Sprint("m", len(x.Log)), "and now?", script.Ben))
		x.Put(turn.Replied{Turn: x.Session.Turn.ID, Text: "Well."}, turn.Shown{Turn: x.Session.Turn.ID, Message: "m"}, turn.Ended{Turn: x.Session.Turn.ID, Why: turn.Answered})
	}
	x.Put(turn.Reopened{Ask: "a1", By: script.Ben, Name: "Ben", Next: "a2", NextCall: "c2"})
	rs := Records(x.Session.Chat, x.Log)
	if r := rs[len(rs)-1]; r.Kind != Reopen || r.Turn != "t1" || r.Requester != script.Ana {
		t.Errorf("%+v", r)
	}
	a := NewAuditor(x.Session.Chat)
	for _, e := range x.Log {
		a.Take(e)
		if _, over := e.Event.(turn.Ended); !over {
			continue
		}
		if drawn, _ := a.Kept(); drawn > 0 {
			t.Errorf("%d drawn arguments are kept after their turn", drawn)
		}
	}
	if _, lapsed := a.Kept(); lapsed > 1 {
		t.Errorf("%d lapsed calls are kept", lapsed)
	}
}

// The time that an earlier run took is not that of the run that goes on.
func TestAuditTellsRunsApart(t *testing.T) {
	x := script.Lost(t).Put(turn.Resolved{Ask: "a2", Answer: chat.RunAgain, By: script.Ana, Next: "a3"})
	x.Decides("c1", chat.AllowOnce, script.Ana).Starts("c1", "r2").After(time.Second)
	n := len(x.Log)
	x.Put(turn.Finished{Call: "c1", Run: "r1"}, turn.Finished{Call: "c1", Run: "r2"})
	x.Audits(n, "11 late ok by nod call=c1 rule=source run=r1", "12 finish ok by nod call=c1 rule=source run=r2 1000ms")
}
