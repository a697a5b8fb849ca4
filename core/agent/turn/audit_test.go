package turn

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// line is a record in a form for tables.
func line(r Record) string {
	out := fmt.Sprintf("%d %s %s by %s", r.Seq, r.Kind, r.Outcome, r.Name)
	for _, f := range []struct{ name, value string }{
		{"call", string(r.Call)}, {"choice", r.Choice}, {"rule", r.Rule}, {"grant", string(r.Grant)}, {"run", string(r.Run)}, {"note", r.Note},
	} {
		if f.value != "" {
			out += " " + f.name + "=" + f.value
		}
	}
	if r.MS != 0 {
		out += fmt.Sprintf(" %dms", r.MS)
	}
	return out
}

// audits checks the records of what was put since the log had from entries.
func (x *script) audits(from int, want ...string) *script {
	x.t.Helper()
	var got []string
	for _, r := range Audit(x.s.Chat, x.log) {
		if int(r.Seq) > from { //nolint:gosec // a test's small numbers
			got = append(got, line(r))
		}
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		x.t.Errorf("records:\n%s\nwant:\n%s", g, w)
	}
	return x
}

func TestAuditSaysWhatHappened(t *testing.T) {
	const one, two = time.Second, 2 * time.Second
	write := func(call, args string) Proposal { return proposes(call, "write_file", args) }
	ask := func(t *testing.T) *script { // entries 1 to 4
		return begin(t, write("c1", `{}`)).put(rules("c1", "a1", permission.Ask, permission.Write)).after(two)
	}
	forbid := rules("c1", "a1", permission.Forbid, permission.Write)
	deny := func(x *script, reason string) *script {
		return x.put(Decided{Ask: "a1", Digest: x.call("c1").Digest, Choice: "garbage", By: ben, Surface: "api", Reason: reason})
	}
	clicks := func(x *script, choice chat.Choice) *script {
		g := permission.Grant{ID: "g", Chat: x.s.Chat, Tool: x.call("c1").Tool, By: ana, Name: "Ana"}
		return x.put(Decided{Ask: "a1", Digest: x.call("c1").Digest, Choice: choice, By: ana, Name: "Ana", Grant: &g})
	}
	grant := func(x *script) *script { return clicks(x, chat.AllowChat) }
	for name, c := range map[string]struct {
		x    func(t *testing.T) *script
		from int
		want []string
	}{
		"what people and models say is no record": {func(t *testing.T) *script { return begin(t, write("c1", `{}`)) }, 0, nil},
		"asked":     {ask, 0, []string{"4 request asked by nod call=c1 rule=source"}},
		"forbidden": {func(t *testing.T) *script { return begin(t, write("c1", `{}`)).put(forbid) }, 0, []string{"4 request forbidden by nod call=c1 rule=source"}},
		"refused before policy": {func(t *testing.T) *script {
			return begin(t, Proposal{ID: "c1", Tool: permission.Tool{Name: "nothing"}, Problem: "no such tool"})
		}, 0, []string{"3 request invalid by nod call=c1"}},
		"auto": {func(t *testing.T) *script {
			return begin(t, write("c1", `{}`)).put(rules("c1", "a1", permission.Allow, permission.Read)).starts("c1", "r1").after(two).put(Finished{Call: "c1", Run: "r1"})
		}, 0, []string{"4 request allowed by nod call=c1 rule=source", "5 start auto by nod call=c1 rule=source run=r1", "6 finish ok by nod call=c1 rule=source run=r1 2000ms"}},
		"allowed once": {func(t *testing.T) *script {
			return ask(t).decides("c1", chat.AllowOnce, ana).decides("c1", chat.Deny, ben).starts("c1", "r1").after(one).put(Finished{Call: "c1", Run: "r1", Result: Result{IsError: true}})
		}, 4, []string{"5 decision approved by Ana call=c1 choice=allow_once rule=source 2000ms", "7 start approved by nod call=c1 rule=source run=r1", "8 finish failed by nod call=c1 rule=source run=r1 1000ms"}},
		"denied, by what is no choice": {func(t *testing.T) *script { return deny(ask(t), "not now") }, 4, []string{"5 decision denied by  call=c1 choice=deny rule=source note=not now 2000ms"}},
		"allowed for the chat": {func(t *testing.T) *script { return grant(ask(t)) }, 4,
			[]string{"5 decision approved by Ana call=c1 choice=allow_chat rule=source grant=g 2000ms"}},
		"allowed for an hour": {func(t *testing.T) *script { return clicks(ask(t), chat.AllowHour) }, 4,
			[]string{"5 decision approved by Ana call=c1 choice=allow_hour rule=source grant=g note=until 2026-11-21T15:02:03Z 2000ms"}},
		"voted": {func(t *testing.T) *script {
			r := rules("c1", "a1", permission.Ask, permission.Write)
			r.Ruling.Approvals = 2
			return begin(t, write("c1", `{}`)).put(r).decides("c1", chat.AllowOnce, ana).decides("c1", chat.AllowOnce, ana).decides("c1", chat.AllowOnce, ben)
		}, 4, []string{"5 decision voted by Ana call=c1 choice=allow_once rule=source", "7 decision approved by Ben call=c1 choice=allow_once rule=source"}},
		"what its server wants": {func(t *testing.T) *script {
			want := Want{Kind: WantForm, Message: "Which branch? Bearer abcdefghijklmnopqrst"}
			return ran(t).put(Wanted{Call: "c1", Run: "r1", Ask: "w1", Want: want}).after(one).
				put(Filled{Ask: "w1", By: ben}, Filled{Ask: "w1", By: ana, Name: "Ana", Fill: Fill{Action: FillAccept, Content: json.RawMessage(`{"password":"hunter2"}`)}}).
				put(Wanted{Call: "c1", Run: "r1", Ask: "w2", Want: Want{Kind: WantURL, URL: "https://example.com/?code=hunter2"}, Wait: one}).after(one).put(Expired{Ask: "w2"})
		}, 6, []string{
			"7 want asked by nod call=c1 rule=source run=r1 note=form; Which branch? Bearer ‹secret, 20 characters›",
			"9 fill accept by Ana call=c1 rule=source run=r1 note=form 1000ms",
			"10 want asked by nod call=c1 rule=source run=r1 note=url",
			"11 fill cancel by nod call=c1 rule=source run=r1 note=url 1000ms",
		}},
		"what its server wants, stopped": {func(t *testing.T) *script {
			return ran(t).put(Wanted{Call: "c1", Run: "r1", Ask: "w1", Want: Want{Kind: WantURL}}).after(one).put(ModeSet{Mode: permission.ModeAlways, Rev: 1, By: ben, Name: "Ben"}, StopAsked{Turn: "t1", By: ben, Name: "Ben"}).
				put(Finished{Call: "c1", Run: "r1"})
		}, 7, []string{
			"8 mode always by Ben",
			"9 fill cancel by Ben call=c1 rule=source run=r1 note=url 1000ms", "9 stop stopped by Ben",
			"10 finish ok by nod call=c1 rule=source run=r1 1000ms",
		}},
		"what its server wants, over with its run": {func(t *testing.T) *script {
			return ran(t).put(Wanted{Call: "c1", Run: "r1", Ask: "w1", Want: Want{Kind: WantURL}}).after(one).put(Finished{Call: "c1", Run: "r1"})
		}, 7, []string{"8 fill cancel by nod call=c1 rule=source run=r1 note=url 1000ms", "8 finish ok by nod call=c1 rule=source run=r1 1000ms"}},
		"what its server wants, lost with its run": {func(t *testing.T) *script {
			return ran(t).put(Wanted{Call: "c1", Run: "r1", Ask: "w1", Want: Want{Kind: WantURL}}).after(one).put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2"})
		}, 7, []string{"8 fill cancel by nod call=c1 rule=source run=r1 note=url 1000ms", "8 unknown unknown by nod call=c1 rule=source run=r1 1000ms"}},
		"forgotten after a silence": {func(t *testing.T) *script {
			x := grant(ask(t)).starts("c1", "r1").put(Finished{Call: "c1", Run: "r1"}, Replied{Turn: "t1", Step: 1, Text: "Done."}, Ended{Turn: "t1", Why: Answered})
			return x.after(31 * 24 * time.Hour).put(says("m9", "hello again", ben))
		}, 9, []string{"10 revoke ended by nod grant=g"}},
		"used": {func(t *testing.T) *script {
			x := grant(ask(t)).starts("c1", "r1").put(Finished{Call: "c1", Run: "r1"}, Replied{Turn: "t1", Step: 1, Calls: []Proposal{write("c2", `{"n":1}`)}})
			r := rules("c2", "a2", permission.Allow, permission.Write)
			r.Ruling.Grant = "g"
			x.put(r)
			return x.put(Started{Call: "c2", Run: "r2", Ask: "a2", Digest: x.call("c2").Digest, Grant: "g"})
		}, 8, []string{"9 request allowed by nod call=c2 rule=source grant=g", "10 start granted by nod call=c2 rule=source grant=g run=r2"}},
		"undone": {func(t *testing.T) *script {
			return grant(ask(t)).after(one).put(Withdrawn{Ask: "a1", By: ana, Next: "a2"})
		}, 5, []string{"6 undo undone by Ana call=c1 choice=allow_chat rule=source grant=g 1000ms", "6 revoke ended by Ana grant=g"}},
		"revoked": {func(t *testing.T) *script {
			return grant(ask(t)).put(Revoked{Grants: []permission.GrantID{"g", "h"}, By: ben, Name: "Ben"}, Revoked{Grants: []permission.GrantID{"g"}, By: ben})
		}, 5, []string{"6 revoke revoked by Ben grant=g"}},
		"edited": {func(t *testing.T) *script {
			x := ask(t)
			return x.put(amends(x, "a1", `{"n":2}`))
		}, 4, []string{"5 edit edited by Ana call=c1 rule=source"}},
		"extended": {func(t *testing.T) *script {
			x := ask(t)
			return x.put(Extended{Ask: "a1", By: ana, Until: x.at.Add(time.Hour)}, Extended{Ask: "a1", By: ana, Until: x.at})
		}, 4, []string{"5 extend extended by Ana call=c1 rule=source note=until 2026-11-21T15:02:03Z"}},
		"expired and asked again": {func(t *testing.T) *script {
			return ask(t).put(Expired{Ask: "a1"}).after(time.Minute).put(Expired{Ask: "a1"}, Replied{Turn: "t1", Step: 1, Text: "Nobody came."}, Ended{Turn: "t1", Why: Answered},
				Reopened{Ask: "a1", By: ben, Name: "Ben", Next: "a2", NextCall: "c2"}, Reopened{Ask: "a1", By: ben, Next: "a3", NextCall: "c3"})
		}, 4, []string{"6 expire timeout by nod call=c1 rule=source 62000ms", "9 reopen asked by Ben call=c1 rule=source"}},
		"asked again in its batch": {func(t *testing.T) *script {
			return begin(t, write("c1", `{}`), write("c2", `{"n":1}`)).put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write)).
				after(time.Minute).put(Expired{Ask: "a1"}, Reopened{Ask: "a1", By: ben, Name: "Ben", Next: "a3", NextCall: "c3"})
		}, 6, []string{"7 reopen asked by Ben call=c1 rule=source"}},
		"unknown, and left so": {func(t *testing.T) *script {
			return lost(t).after(one).put(Resolved{Ask: "a2", Answer: chat.Leave, By: ana}, Finished{Call: "c1", Run: "r1"})
		}, 6, []string{"7 unknown unknown by nod call=c1 rule=source run=r1 note=The connection was lost.", "8 resolve leave by Ana call=c1 choice=leave rule=source run=r1 1000ms", "9 late ok by nod call=c1 rule=source run=r1 1000ms"}},
		"unknown, and it answers": {func(t *testing.T) *script {
			return lost(t).put(Finished{Call: "c1", Run: "r1", Result: Result{IsError: true}})
		}, 7,
			[]string{"8 finish failed by nod call=c1 rule=source run=r1"}},
		"unknown until the deadline": {func(t *testing.T) *script { return lost(t).after(time.Minute).put(Expired{Ask: "a2"}) }, 7,
			[]string{"8 expire unknown by nod call=c1 rule=source 60000ms"}},
		"repeated by the recovery rule": {func(t *testing.T) *script {
			return ran(t).put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Repeat: "read_only"})
		}, 6, []string{"7 unknown repeated by nod call=c1 rule=read_only run=r1"}},
		"stopped": {func(t *testing.T) *script {
			return ask(t).put(StopAsked{Turn: "t1", By: ben, Name: "Ben"}, StopAsked{Turn: "t1", By: ana})
		}, 4,
			[]string{"5 stop stopped by Ben", "5 cancel cancelled by Ben call=c1 rule=source"}},
		"stopped while nobody knows": {func(t *testing.T) *script { return lost(t).put(StopAsked{Turn: "t1", By: ben, Name: "Ben"}) }, 7,
			[]string{"8 stop stopped by Ben", "8 cancel unknown by Ben call=c1 rule=source"}},
		"its message is gone": {func(t *testing.T) *script { return ask(t).put(Deleted{Delivery: "d9", Message: "shown", By: ben}) }, 4,
			[]string{"5 stop stopped by  note=" + noteGone, "5 cancel cancelled by nod call=c1 rule=source"}},
		"a message of a person is gone": {func(t *testing.T) *script { return ask(t).put(Deleted{Delivery: "d9", Message: "m1", By: ana}) }, 4, nil},
		"ended over an open ask": {func(t *testing.T) *script { return ask(t).put(Ended{Turn: "t1", Why: NoProgress}) }, 4,
			[]string{"5 cancel cancelled by nod call=c1 rule=source"}},
		"mode": {func(t *testing.T) *script {
			return grant(ask(t)).put(ModeSet{Mode: permission.ModeAlways, Rev: 1, By: ben, Name: "Ben"}, ModeSet{Mode: permission.ModeNever, Rev: 1, By: ben})
		}, 5, []string{"6 mode always by Ben", "6 revoke ended by Ben grant=g"}},
		"reset": {func(t *testing.T) *script {
			return grant(ask(t)).put(Reset{Rev: 1, By: ben, Name: "Ben"})
		}, 5, []string{"6 reset reset by Ben", "6 cancel cancelled by Ben call=c1 rule=source grant=g", "6 revoke ended by Ben grant=g"}},
	} {
		t.Run(name, func(t *testing.T) { c.x(t).audits(c.from, c.want...) })
	}
}

// One record in full: what its JSON says is a promise to whoever reads exports.
func TestAuditRecordInFull(t *testing.T) {
	args := `{"path":"notes.txt","password":"hunter2","text":"a,\n  b` + "\u202e" + `c"}`
	x := begin(t, proposes("c1", "write_file", args)).put(rules("c1", "a1", permission.Ask, permission.Write)).after(1500 * time.Millisecond)
	x.put(Decided{Ask: "a1", Digest: x.call("c1").Digest, Choice: chat.AllowOnce, By: ben, Name: "Ben", Surface: "slack"})
	rs := Audit(x.s.Chat, x.log)
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
		"args":"{\"path\": \"notes.txt\", \"password\": ‹secret, 7 characters›, \"text\": \"a,\\n  b\\u{202E}c\"}","redacted":1,"ms":1500}`, x.call("c1").Digest)
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
	x := begin(t, proposes("c1", "write_file", `{"password":"hunter2","nested":{"api_key":["hunter2"]},"text":"`+key+`"}`),
		Proposal{ID: "c2", Tool: permission.Tool{Name: "x"}, Args: json.RawMessage(`"Bearer ` + key + `"`), Problem: "what is " + key + "?"})
	r := rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Reasons[0].Text = "because " + key
	x.put(r, Decided{Ask: "a1", Digest: x.call("c1").Digest, Choice: chat.Deny, By: ana, Name: "Ana", Reason: "use " + key + " instead"})
	b, err := json.Marshal(Audit(x.s.Chat, x.log))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", key} {
		if strings.Contains(string(b), secret) {
			t.Errorf("%q is in the records:\n%s", secret, b)
		}
	}
	y := ran(t).put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Say: "It said " + key})
	if r := Audit(y.s.Chat, y.log); !strings.Contains(line(r[len(r)-1]), "note=It said ‹secret, ") {
		t.Error(line(r[len(r)-1]))
	}
	if n := strings.Count(string(b), "‹secret, "); n != 11 { // c2: two; c1: three arguments and a sentence, twice, and a reason
		t.Errorf("%d places are masked:\n%s", n, b)
	}
}

// Arguments that no card can hold are shortened in the audit, too; the digest names them whole.
func TestAuditShortensWhatNobodyReads(t *testing.T) {
	x := begin(t, proposes("c1", "write_file", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)).put(rules("c1", "a1", permission.Forbid, permission.Write))
	rs := Audit(x.s.Chat, x.log)
	if len(rs) != 1 || len(rs[0].Args) > 1<<17 || !strings.Contains(rs[0].Args, "more characters") || rs[0].Digest != x.call("c1").Digest {
		t.Errorf("%d records, %d bytes", len(rs), len(rs[0].Args))
	}
}

// A change of settings gives a record for each part that had an effect, with what stood there before.
func TestAuditOfSettings(t *testing.T) {
	x := newScript(t)
	yes, no := true, false
	set := func(v string) permission.Change {
		return permission.Change{Set: &permission.Setting{Server: "files", Tool: "write_file", Field: "ask", Value: v}}
	}
	tool := permission.Tool{Server: "files", Name: "write_file", Definition: "d"}
	remembered := permission.Remembered{ID: "r1", By: ana, Name: "Ana", Tool: tool, Choice: permission.StandDeny}
	x.put(
		Changed{Changes: []permission.Change{set("always"), set("always"), {Halt: &no}}, By: ana, Name: "Ana", Surface: "slack", Note: "template strict"},
		Changed{Changes: []permission.Change{set("never")}, By: ben, Name: "Ben"},
		Changed{Changes: []permission.Change{set("never")}, By: ana},
		Changed{Changes: []permission.Change{{Remember: &remembered}, {Forget: "r1"}, {Forget: "r2"}}, By: ana, Name: "Ana"},
		Changed{Changes: []permission.Change{{Seen: &permission.Seen{Tool: tool}}, {Told: &permission.Told{Server: "files", Tools: "d"}}}},
		Changed{Changes: []permission.Change{{Accept: &tool}, {Halt: &yes}, {Halt: &no}, {Analysis: &permission.Analysis{Tool: tool, Reason: "sk-abcdefghijklmnopqrstuvwx"}}}, By: ana, Name: "Ana"},
	)
	x.audits(0,
		"1 setting set by Ana note=files/write_file: ask = always; template strict",
		"2 setting set by Ben note=files/write_file: ask = never; it was always",
		"4 setting remembered by Ana choice="+permission.StandDeny.String()+" note="+permission.Change{Remember: &remembered}.String(),
		"4 setting forgot by Ana choice="+permission.StandDeny.String()+" note=forgot a remembered choice",
		"5 setting seen by nod note=write_file of files: its server defines it as d",
		"5 setting told by nod note=admins are to be told of the tools of files",
		"6 setting accepted by Ana note=write_file of files: accepted as d",
		"6 setting halted by Ana note=halted",
		"6 setting resumed by Ana note=resumed",
		"6 setting analysed by Ana note=write_file of files: analysed as unclassified, moderate",
	)
	for _, r := range Audit(x.s.Chat, x.log)[:1] {
		if r.Surface != "slack" || r.Server != "files" || r.Tool != "write_file" {
			t.Errorf("%+v", r)
		}
	}
}

// What a grant is limited to is on its record, without the value of an argument with a secret's name.
func TestAuditSaysWhatAGrantCovers(t *testing.T) {
	g := permission.Grant{Scope: permission.ScopeReads, Tool: permission.Tool{Server: "files"}, Counted: true, Uses: 1, Until: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC),
		Pins: []permission.Pin{{Path: "to", Value: json.RawMessage(`"ops"`)}, {Path: "token", Value: json.RawMessage(`"hunter2"`)}, {Path: "text", Value: json.RawMessage(`"sk-abcdefghijklmnopqrstuvwx"`)}}}
	got := noteGrant(g)
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
	x := asked(t).after(time.Minute).put(Expired{Ask: "a1"}, Replied{Turn: "t1", Step: 1, Text: "Nobody came."}, Ended{Turn: "t1", Why: Answered})
	for range 2 {
		x.put(says(fmt.Sprint("m", len(x.log)), "and now?", ben))
		x.put(Replied{Turn: x.s.Turn.ID, Text: "Well."}, Shown{Turn: x.s.Turn.ID, Message: "m"}, Ended{Turn: x.s.Turn.ID, Why: Answered})
	}
	x.put(Reopened{Ask: "a1", By: ben, Name: "Ben", Next: "a2", NextCall: "c2"})
	rs := Audit(x.s.Chat, x.log)
	if r := rs[len(rs)-1]; r.Kind != AuditReopen || r.Turn != "t1" || r.Requester != ana {
		t.Errorf("%+v", r)
	}
	a := NewAuditor(x.s.Chat)
	for _, e := range x.log {
		a.Take(e)
		if _, over := e.Event.(Ended); over && len(a.drawn) > 0 {
			t.Errorf("%d drawn arguments are kept after their turn", len(a.drawn))
		}
	}
	if len(a.lapsed) > 1 {
		t.Errorf("%v", a.lapsed)
	}
}

// The time that an earlier run took is not that of the run that goes on.
func TestAuditTellsRunsApart(t *testing.T) {
	x := lost(t).put(Resolved{Ask: "a2", Answer: chat.RunAgain, By: ana, Next: "a3"})
	x.decides("c1", chat.AllowOnce, ana).starts("c1", "r2").after(time.Second)
	n := len(x.log)
	x.put(Finished{Call: "c1", Run: "r1"}, Finished{Call: "c1", Run: "r2"})
	x.audits(n, "11 late ok by nod call=c1 rule=source run=r1", "12 finish ok by nod call=c1 rule=source run=r2 1000ms")
}
