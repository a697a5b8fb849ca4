package turn

import (
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// granting is a click on x's one card that gives g as f leaves it.
func granting(x *script, choice chat.Choice, f func(*permission.Grant)) Decided {
	c := x.call("c1")
	g := permission.Grant{ID: "g1", Chat: x.s.Chat, Tool: c.Tool, By: ana, Name: "Ana"}
	f(&g)
	return Decided{Ask: c.Ask, Digest: c.Digest, Choice: choice, By: ana, Name: "Ana", Grant: &g}
}

// A choice that the card does not have lets nothing run, whatever grant comes with it: also one of nothing at all.
func TestAGrantThatTheCardDoesNotOffer(t *testing.T) {
	r := rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Level = permission.LevelAdmin
	x := begin(t, proposes("c1", "write_file", `{}`)).put(r)
	nothing := func(g *permission.Grant) { g.Chat, g.Tool = chat.ID{}, permission.Tool{} }
	for _, choice := range []chat.Choice{chat.AllowChat, chat.AllowHour, chat.AllowServer} {
		x.ignores("an admin's card takes no grant", granting(x, choice, nothing), granting(x, choice, func(*permission.Grant) {}))
	}

	y := askedWith(t, `{}`, permission.ScopeServer)
	server := func(g *permission.Grant) { g.Scope = permission.ScopeServer }
	y.ignores("of the server's tools, without the one that is asked for", granting(y, chat.AllowServer, server), granting(y, chat.AllowServer, func(g *permission.Grant) {
		g.Scope, g.Tools = permission.ScopeServer, []permission.Tool{{Server: "files", Name: "other", Definition: "d"}}
	}))
	y.takes(granting(y, chat.AllowServer, func(g *permission.Grant) { server(g); g.Tools = []permission.Tool{g.Tool} })).is("c1", Allowed, "")
}

// A grant is limited as its choice says, or it is none: else “for the next 3 calls” could be for ever.
func TestAGrantKeepsItsLimit(t *testing.T) {
	x := askedWith(t, `{"n":1}`)
	uses := func(counted bool, n int) func(*permission.Grant) {
		return func(g *permission.Grant) { g.Counted, g.Uses = counted, n }
	}
	x.ignores("not as often as it says",
		granting(x, chat.AllowUses, uses(false, 0)), granting(x, chat.AllowUses, uses(false, 2)), granting(x, chat.AllowUses, uses(true, maxUses)), granting(x, chat.AllowUses, uses(true, -1)),
		granting(x, chat.AllowChat, uses(false, 5)), granting(x, chat.AllowChat, uses(true, 0)), granting(x, chat.AllowHour, uses(false, -1)))
	x.takes(granting(x, chat.AllowUses, uses(true, 2))).is("c1", Allowed, "")
	if g := x.s.Grants[0]; !g.Counted || g.Uses != 2 || !g.Until.IsZero() {
		t.Errorf("granted %+v", g)
	}
	y := askedWith(t, `{"n":1}`)
	y.takes(granting(y, chat.AllowHour, func(g *permission.Grant) { g.Until = y.at.Add(1000 * time.Hour) }))
	if g := y.s.Grants[0]; !g.Until.Equal(y.at.Add(time.Hour)) {
		t.Errorf("for an hour, until %v", g.Until)
	}
}

// Each part of each pin is the card's: another argument, another way to compare, or another value is another grant.
func TestAGrantKeepsItsPins(t *testing.T) {
	for choice, args := range map[chat.Choice]string{chat.AllowExact: `{"n":1,"to":"ops"}`, chat.AllowPath: `{"n":1,"path":"a/b/c.txt"}`} {
		x := askedWith(t, args)
		offered, ok := GrantFor(x.s, x.call("c1"), choice, nil, 0)
		if !ok || len(offered.Pins) < 2 {
			t.Fatalf("%s offers %+v", choice, offered)
		}
		pins := func(i int, f func(*permission.Pin)) Decided {
			return granting(x, choice, func(g *permission.Grant) {
				g.Pins = append(g.Pins, offered.Pins...)
				if f != nil {
					f(&g.Pins[i])
				}
			})
		}
		for i := range offered.Pins {
			x.ignores("other pins than the card's",
				pins(i, func(p *permission.Pin) { p.Path += "x" }),
				pins(i, func(p *permission.Pin) { p.Match = permission.MatchUnder - p.Match }),
				pins(i, func(p *permission.Pin) { p.Value = []byte(`"b"`) }))
		}
		x.takes(pins(0, nil)).is("c1", Allowed, "")
	}
}

// What is no grant is not offered as one, also on a card that offers every scope: “Deny” and “Allow once” leave nothing behind.
func TestOnlyGrantsGrant(t *testing.T) {
	x := askedWith(t, `{}`, permission.ScopeTool, permission.ScopeReads, permission.ScopeWrites, permission.ScopeServer)
	c := x.call("c1")
	for _, choice := range []chat.Choice{chat.Deny, chat.AllowOnce, chat.Stop, chat.Remember, chat.AllowSession, chat.ApproveAll, ""} {
		if Offers(c, choice) {
			t.Errorf("%q is offered as a grant", choice)
		}
		if g, ok := GrantFor(x.s, c, choice, nil, 0); ok {
			t.Errorf("%q gives %+v", choice, g)
		}
	}
	for _, choice := range []chat.Choice{chat.AllowReads, chat.AllowWrites, chat.AllowServer} {
		if !Offers(c, choice) {
			t.Errorf("%s is not offered", choice)
		}
	}
}

// remembering is a card with "Remember this choice" on it.
func remembering(t *testing.T) *script {
	r := rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Remember = true
	return begin(t, proposes("c1", "write_file", `{}`)).put(r)
}

func TestRememberIsTicked(t *testing.T) {
	tick := func(on bool, by chat.User) Ticked { return Ticked{Ask: "a1", On: on, By: by, Name: "N"} }
	newScript(t).ignores("no turn", tick(true, ana))
	asked(t).ignores("the card does not have it", tick(true, ana), tick(false, ana))
	x := remembering(t).ignores("no such ask, or nobody", Ticked{Ask: "a9", On: true, By: ana}, Ticked{On: true, By: ana}, tick(true, chat.User{}), tick(false, chat.User{}))
	ticked := func(want chat.User) {
		t.Helper()
		switch got := x.call("c1").Ticked; {
		case want.IsZero() && got != nil:
			t.Errorf("%v ticked it", got.User)
		case !want.IsZero() && (got == nil || got.User != want):
			t.Errorf("ticked by %v, want %v", got, want)
		}
	}
	x.ignores("nobody ticked it", tick(false, ana)).takes(tick(true, ana)).ignores("she has", tick(true, ana))
	ticked(ana)
	x.ignores("it is not his", tick(false, ben)) // what Ana wants remembered is not Ben's to take back
	x.fork().takes(tick(false, ana)).ignores("she has not", tick(false, ana))
	x.takes(tick(true, ben)).ignores("it is his now", tick(false, ana), tick(true, ben))
	ticked(ben)
	x.takes(tick(false, ben)).ignores("nobody ticked it", tick(false, ben), tick(false, ana))
	ticked(chat.User{})
	x.is("c1", Awaiting, "").offers("allow_chat:a1", "allow_once:a1", "deny:a1", "deny_reason:a1", "edit:a1", "view:a1", "why:a1", "allow_hour:a1", "allow_uses:a1", "remember:a1", "allow_session:a1", "extend:a1", "stop:t1")
}

// What is decided is decided: ticking it afterwards would remember a choice that nobody made with it.
func TestNothingIsTickedAfterTheDecision(t *testing.T) {
	tick := Ticked{Ask: "a1", On: true, By: ana}
	remembering(t).decides("c1", chat.AllowOnce, ana).ignores("it is decided", tick)
	remembering(t).decides("c1", chat.Deny, ana).ignores("it is decided", tick)
	remembering(t).after(time.Minute).put(Expired{Ask: "a1"}).ignores("it expired", tick)
	x := remembering(t)
	if !CanRemember(x.call("c1")) || CanRemember(x.decides("c1", chat.AllowOnce, ana).call("c1")) {
		t.Error("the card has it while it waits, and then not")
	}
}

const month = 31 * 24 * time.Hour

// After a long silence a conversation begins anew, and only then: by words, in a chat where nothing is open.
func TestWhatALongSilenceForgets(t *testing.T) {
	never := ModeSet{Mode: permission.ModeNever, Rev: 1, By: ana}
	quiet := func() *script {
		return asked(t).decides("c1", chat.AllowChat, ana).put(never).answer().after(month)
	}
	if x := quiet().put(says("m9", "hello again", ben)); len(x.s.Grants)+len(x.s.Transcript) > 0 || x.s.Last != nil || x.s.Mode != permission.ModeTool {
		t.Errorf("still there: %s", asJSON(t, x.s))
	}
	// A late answer, or a setting, is nobody's return.
	x := quiet().put(Edited{Delivery: "e1", Message: "m1", By: ana, Text: "x"}, Revoked{Grants: []permission.GrantID{"other"}, By: ana})
	if len(x.s.Grants) != 1 || len(x.s.Transcript) == 0 || x.s.Last == nil || x.s.Mode != permission.ModeNever {
		t.Errorf("forgotten without a word: %s", asJSON(t, x.s))
	}
	if x := asked(t).after(time.Minute).put(Expired{Ask: "a1"}).answer().after(month); len(x.takes(Reopened{Ask: "a1", By: ana, Next: "a2", NextCall: "c2"}).s.Transcript) == 0 {
		t.Error("whoever asks again finds what was said before")
	}

	// What waits for an answer is not over, however long it takes.
	parked := rules("c1", "a1", permission.Ask, permission.Write)
	parked.Ruling.Timeout = 0
	y := newScript(t).put(says("m0", "before", ana)).answer().put(says("m1", "please", ana), never)
	y.put(Replied{Turn: y.s.Turn.ID, Calls: []Proposal{proposes("c1", "w", `{}`)}}, parked).after(month).put(says("m2", "now I have time", ana))
	if len(y.s.Transcript) == 0 || y.s.Last == nil || y.s.Mode != permission.ModeNever {
		t.Errorf("forgotten under an open turn: %s", asJSON(t, y.s))
	}

	// Nor has a chat faded in which nobody spoke yet: what was set up before the first message holds for it.
	if z := newScript(t).put(ModeSet{Mode: permission.ModeAlways, Rev: 1, By: ana}).after(month).put(says("m1", "hi", ana)); z.s.Mode != permission.ModeAlways {
		t.Errorf("the first message finds the mode %v", z.s.Mode)
	}
}
