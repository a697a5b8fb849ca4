package card_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/nodhq/nod/core/agent/card"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/script"
)

// asked is a turn whose one call waits, as change leaves its ruling.
func asked(t *testing.T, args string, change func(*Ruled)) *script.Script {
	r := script.Rules("c1", "a1", permission.Ask, permission.Write)
	change(&r)
	return script.Begin(t, script.Proposes("c1", "w", args)).Put(r)
}

// What is too long to be shown is not revealed either.
func TestWhatIsTooLongIsNotRevealed(t *testing.T) {
	masked := func(r *Ruled) { r.Ruling.Masked = true }
	for n, want := range map[int]bool{1: true, 200_000: false} {
		x := asked(t, `{"password":"hunter2","text":"`+strings.Repeat("x", n)+`"}`, masked)
		if _, got := Find(x.Session, chat.Reveal, "a1"); got != want {
			t.Errorf("%d characters: %v", n, got)
		}
	}
}

// What may have happened before says so on its card when it is to run again, and what came late of it instead.
func TestACallThatMayHaveRunSaysSo(t *testing.T) {
	x := script.Lost(t).Put(Resolved{Ask: "a2", Answer: chat.RunAgain, By: script.Ana, Next: "a3"}).Shows(text.AgainOnCard).Hides("has answered meanwhile")
	x.Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "x"}}).Shows(text.LateOnCard(false)).Hides(text.AgainOnCard)
	script.Asked(t).Hides(text.AgainOnCard, "has answered meanwhile")
}

// The reads of a server stand once on a card: as a button where they are offered with the third read.
func TestReadsAreOfferedOnce(t *testing.T) {
	for third, want := range map[bool]int{false: 2, true: 0} { // where they stand: first, or behind what grants less
		x := asked(t, `{}`, func(r *Ruled) {
			r.Ruling.Access, r.Ruling.Scopes, r.Card.Reads = permission.Read, []permission.Scope{permission.ScopeReads}, third
		})
		m, _ := x.View(Live{})
		offered := slices.DeleteFunc(script.Buttons(m), func(b string) bool {
			return !slices.Contains([]string{"allow_chat:a1", "allow_once:a1", "allow_reads:a1"}, b)
		})
		if len(offered) != 3 || offered[want] != "allow_reads:a1" {
			t.Errorf("third read: %v, offered %q", third, offered)
		}
	}
}

// What is remembered with an answer is said as wide as it is kept: no wider than an admin lets people remember.
func TestWhatIsRememberedIsSaid(t *testing.T) {
	for _, c := range []struct {
		keeps  permission.Scope
		choice chat.Choice
		want   string
	}{
		{permission.ScopeServer, chat.AllowReads, text.RememberedWide}, {permission.ScopeReads, chat.AllowReads, text.RememberedWide},
		{permission.ScopeTool, chat.AllowReads, text.RememberedAny}, {permission.ScopeServer, chat.AllowOnce, text.RememberedAny},
		{permission.ScopeServer, chat.AllowExact, text.RememberedSame}, {permission.ScopeServer, chat.AllowHour, text.RememberedHour},
	} {
		x := asked(t, `{"path":"a/b.txt"}`, func(r *Ruled) {
			r.Ruling.Scopes, r.Ruling.Remember, r.Ruling.Keeps = []permission.Scope{permission.ScopeReads}, true, c.keeps
		}).Put(Ticked{Ask: "a1", On: true, By: script.Ana, Name: "Ana"})
		if _, uses := Find(x.Session, chat.AllowUses, "a1"); uses { // which nobody could remember
			t.Error("so many uses are offered")
		}
		got, ok := Find(x.Session, c.choice, "a1")
		if !ok || !strings.Contains(got.Confirm, c.want) || c.want != text.RememberedWide && strings.Contains(got.Confirm, text.RememberedWide) {
			t.Errorf("%s, kept up to %v: %q, want %q", c.choice, c.keeps, got.Confirm, c.want)
		}
	}
}

// A card says until when it can be answered as it was shown: until then as it is drawn now, or was drawn.
func TestUntilWhenACardSays(t *testing.T) {
	until := func(x *script.Script, live Live) time.Time {
		t.Helper()
		m, _ := x.View(live)
		return m.Blocks[len(m.Blocks)-1].(render.Ask).Expires
	}
	x := script.Asked(t).After(10 * time.Second)
	at, deadline := x.Call("c1").AskedAt, x.Call("c1").Deadline
	now, drawn, said := at.Add(10*time.Second), at.Add(65*time.Second), at.Add(61*time.Second)
	shown := func(until time.Time) *script.Script {
		return x.Fork().Put(Shown{Turn: "t1", Asks: []Appeared{{Ask: "a1", Until: until}}})
	}
	parked := asked(t, `{}`, func(r *Ruled) { r.Ruling.Timeout = 0 })
	for name, c := range map[string]struct{ got, want time.Time }{
		"nobody saw it":             {until(x, Live{}), deadline},
		"drawn now":                 {until(x, Live{Now: now}), now.Add(time.Minute)},
		"drawn before":              {until(x, Live{Now: now, Drawn: map[AskID]time.Time{"a1": drawn}}), drawn},
		"seen":                      {until(shown(time.Time{}), Live{Now: now, Drawn: map[AskID]time.Time{"a1": drawn}}), shown(time.Time{}).Call("c1").Deadline},
		"seen, and what it says":    {until(shown(said), Live{Now: now, Drawn: map[AskID]time.Time{"a1": drawn}}), said},
		"without an end, drawn now": {until(parked, Live{Now: now, Drawn: map[AskID]time.Time{"a1": drawn}}), time.Time{}},
	} {
		if !c.got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

// Of a chat from before it was kept who began it, nobody is named as the one who can turn asking off.
func TestWhoTurnsAskingOffIsNotKnown(t *testing.T) {
	x := asked(t, `{}`, func(r *Ruled) { r.Card.Who = []string{"anyone in this chat"} })
	x.Session.Began = chat.User{}
	if c, ok := Find(x.Session, chat.AllowSession, "a1"); !ok || c.Label != text.LabelAllowSession {
		t.Errorf("%+v", c)
	}
}

// The rows of a list say their end once, the first of them, though they were asked for at another moment; those a minute apart say each its own.
func TestAListSaysItsEndOnce(t *testing.T) {
	for later, want := range map[time.Duration]int{59 * time.Second: 1, time.Minute: 2} {
		x := script.Begin(t, script.Proposes("c1", "w", `{"path":"a"}`), script.Proposes("c2", "w", `{"path":"b"}`)).
			Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).After(later).Put(script.Rules("c2", "a2", permission.Ask, permission.Write))
		m, said := x.View(Live{})
		end := x.Call("c1").Deadline
		if want > 1 {
			end = x.Call("c2").Deadline
		}
		foot := m.Blocks[len(m.Blocks)-1].(render.Ask).Footer
		if strings.Count(said, text.CanAnswer) != want || !slices.Contains(foot, render.Span(render.Time{At: end, Until: true})) {
			t.Errorf("%v later, it should stand %d times, last with %v:\n%s", later, want, end, said)
		}
	}
}

// Who can answer is named, and left to the platform to name where nobody called them anything here.
func TestWhoCanAnswerIsNamed(t *testing.T) {
	zoe := chat.User{Platform: "chat", Workspace: "w", Key: "zoe"}
	x := asked(t, `{}`, func(r *Ruled) { r.Card.Who = []string{"somebody who takes part", zoe.String(), "Ben"} })
	m, said := x.View(Live{})
	if foot := m.Blocks[len(m.Blocks)-1].(render.Ask).Footer; !slices.Contains(foot, render.Span(render.Person{User: zoe})) || !strings.Contains(said, "Somebody who takes part, zoe or Ben can answer") {
		t.Errorf("%+v\n%s", foot, said)
	}
}

// A card that stands alone is the one that its chat has where no other stands beside it, with all of its words and answers.
func TestACardAlone(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).Put(script.Rules("c2", "a2", permission.Ask, permission.Write))
	for _, c := range x.Session.Turn.Calls {
		a, ok := Alone(x.Session, c)
		if !ok || a.Brief || a.Token != string(c.Ask) || a.Warning == "" || len(a.Footer) == 0 || slices.ContainsFunc(a.Choices, func(c render.Choice) bool { return c.Token != a.Token }) {
			t.Errorf("%s: %+v", c.ID, a)
		}
	}
	lost := script.Lost(t)
	if a, ok := Alone(lost.Session, lost.Session.Turn.Calls[0]); !ok || a.Kind != render.AskOutcome {
		t.Errorf("of unknown outcome: %+v", a)
	}
	x = script.Asked(t)
	done := x.Session.Turn.Calls[0]
	done.Status = Denied
	if _, ok := Alone(x.Session, done); ok {
		t.Error("what waits for nobody has a card")
	}
}
