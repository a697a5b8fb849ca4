package audit_test

import (
	"testing"
	"time"

	. "github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/script"
)

// What comes for a run that is given up, while a person is asked to run the call again, is late: it ends nothing, and of when that
// run began nothing is known any more.
func TestAuditOfALateAnswerWhileItIsAskedAgain(t *testing.T) {
	x := script.Lost(t).Put(turn.Resolved{Ask: "a2", Answer: chat.RunAgain, By: script.Ana, Next: "a3"}).After(time.Second)
	x.Put(turn.Finished{Call: "c1", Run: "r1"}).Is("c1", turn.Awaiting, "")
	x.Audits(8, "9 late ok by nod call=c1 rule=source run=r1")
}

// Nor does what comes when the turn is over, or when the next one is open: it is on record all the same.
func TestAuditOfALateAnswerAfterItsTurn(t *testing.T) {
	over := func() *script.Script {
		return script.Lost(t).Put(turn.Resolved{Ask: "a2", Answer: chat.Leave, By: script.Ana}).Answer()
	}
	late := turn.Finished{Call: "c1", Run: "r1", Result: turn.Result{Text: "wrote it", IsError: true}}
	over().Put(late, late).Audits(10, "11 late failed by nod call=c1 rule=source run=r1")
	over().Put(script.Says("m2", "more", script.Ben), late, late).Audits(11, "12 late failed by nod call=c1 rule=source run=r1")
}

// A start is a grant's if the start says so, or the ruling under which it starts: both are a click that somebody made earlier.
func TestAuditOfAStartUnderAGrant(t *testing.T) {
	for name, c := range map[string]struct {
		ruled, started permission.GrantID
		want           string
	}{
		"both":                   {"g", "g", "5 start granted by nod call=c1 rule=source grant=g run=r1"},
		"covered since":          {"", "g", "5 start granted by nod call=c1 rule=source grant=g run=r1"},
		"covered when ruled":     {"g", "", "5 start granted by nod call=c1 rule=source grant=g run=r1"},
		"a rule, and no grant":   {"", "", "5 start auto by nod call=c1 rule=source run=r1"},
		"another one since then": {"g", "h", "5 start granted by nod call=c1 rule=source grant=h run=r1"},
	} {
		t.Run(name, func(t *testing.T) {
			x := script.Begin(t, script.Proposes("c1", "w", `{}`))
			r := script.Rules("c1", "a1", permission.Allow, permission.Write)
			r.Ruling.Grant = c.ruled
			x.Put(r)
			e := turn.Entry{Seq: 5, At: x.Now, Event: turn.Started{Call: "c1", Run: "r1", Ask: "a1", Digest: x.Call("c1").Digest, Grant: c.started, Token: 1}}
			a := NewAuditor(x.Session.Chat)
			for _, e := range x.Log {
				a.Take(e)
			}
			a.Hold(permission.Grant{ID: "g"}, permission.Grant{ID: "h"}) // given in earlier turns
			if got := a.Take(e); len(got) != 1 || script.Line(got[0]) != c.want {
				t.Errorf("%+v, want %s", got, c.want)
			}
		})
	}
}

// A decision's record says what its own grant is limited to, not what another one of the chat is.
func TestAuditOfOneGrantAmongOthers(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "one", `{}`), script.Proposes("c2", "two", `{}`), script.Proposes("c3", "three", `{}`))
	x.Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write), script.Rules("c3", "a3", permission.Ask, permission.Write))
	x.Put(script.Granting(x, chat.AllowHour, func(*permission.Grant) {})).Decides("c2", chat.AllowChat, script.Ana).Decides("c3", chat.AllowOnce, script.Ana)
	x.Audits(6, "7 decision approved by Ana call=c1 choice=allow_hour rule=source grant=g1 note=until 2026-11-21T15:02:01Z",
		"8 decision approved by Ana call=c2 choice=allow_chat rule=source grant=g-c2", "9 decision approved by Ana call=c3 choice=allow_once rule=source")
}

// A click that counts for two calls is on record for both, under the grant that it gave.
func TestAuditOfACallThatAClickCoversToo(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`))
	x.Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write))
	x.Put(script.Granting(x, chat.AllowHour, func(*permission.Grant) {}), turn.Decided{Ask: "a2", Digest: x.Call("c2").Digest, Choice: chat.AllowOnce, By: script.Ana, Name: "Ana", Under: "g1"})
	x.Audits(6, "7 decision approved by Ana call=c2 choice=allow_once rule=source grant=g1 note=until 2026-11-21T15:02:01Z")
}

// What somebody says of a turn is on record once, and what nobody says is not.
func TestAuditOfRatings(t *testing.T) {
	bad := turn.Rated{Turn: "t1", By: script.Ben, Name: "Ben"}
	script.Asked(t).Decides("c1", chat.Deny, script.Ana).Answer().Put(bad, bad, turn.Rated{Turn: "t1"}).Audits(7, "8 feedback bad by Ben")
}

// A turn is stopped once, whatever is deleted while it ends.
func TestAuditOfDeletionsWhileATurnEnds(t *testing.T) {
	x := script.Ran(t).Put(turn.Deleted{Delivery: "d1", Message: "shown", By: script.Ben}).Is("c1", turn.Running, "")
	x.Put(script.Says("m2", "more", script.Ben), turn.Deleted{Delivery: "d2", Message: "m1", By: script.Ana}, turn.Deleted{Delivery: "d3", All: true})
	if len(x.Session.Waiting) > 0 || x.Session.Turn.Ignored != 1 {
		t.Fatalf("the deletions had no effect: %s", script.JSON(t, x.Session))
	}
	x.Audits(6, "7 stop stopped by  note="+NoteGone)
	// And where nothing is open a deletion stops nothing.
	script.Asked(t).Decides("c1", chat.Deny, script.Ana).Answer().Put(turn.Deleted{Delivery: "d1", Message: "shown"}, turn.Deleted{Delivery: "d2", All: true}).Audits(7)
}

// "It was" is about the very setting that was changed: of that server, that tool and that field.
func TestAuditOfASettingAmongOthers(t *testing.T) {
	set := func(server, tool, field, value string) turn.Changed {
		return turn.Changed{By: script.Ana, Name: "Ana", Changes: []permission.Change{permission.Setting{Server: server, Tool: tool, Field: field, Value: value}}}
	}
	x := script.New(t).Put(set("files", "write", "ask", "always"), set("git", "write", "ask", "never"), set("files", "read", "ask", "never"), set("files", "write", "risk", "dangerous"), set("files", "write", "ask", "never"))
	x.Audits(0,
		"1 setting set by Ana note=files/write: ask = always",
		"2 setting set by Ana note=git/write: ask = never",
		"3 setting set by Ana note=files/read: ask = never",
		"4 setting set by Ana note=files/write: risk = dangerous",
		"5 setting set by Ana note=files/write: ask = never; it was always")
}

// Who acted is found by the platform's own key, too; nod itself, who is nobody there, only by its name.
func TestFilterByKey(t *testing.T) {
	r := Record{By: chat.User{Platform: "slack", Workspace: "T1", Key: "U1"}, Name: "Ana"}
	for actor, want := range map[string]bool{"U1": true, "slack:T1:U1": true, "ana": true, "U2": false, "u1": false, "T1": false} {
		if (Filter{Actor: actor}).Match(r) != want {
			t.Errorf("%q: want %v", actor, want)
		}
	}
	nobody := Record{Name: "nod"}
	for actor, want := range map[string]bool{"nod": true, chat.User{}.String(): false} {
		if (Filter{Actor: actor}).Match(nobody) != want {
			t.Errorf("%q: want %v of nod itself", actor, want)
		}
	}
}
