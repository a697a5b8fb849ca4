package turn_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/permission/pin"
	"github.com/nodhq/nod/tests/script"
)

// A choice that the card does not have lets nothing run, whatever grant comes with it: also one of nothing at all.
func TestAGrantThatTheCardDoesNotOffer(t *testing.T) {
	r := script.Rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Level = permission.LevelAdmin
	x := script.Begin(t, script.Proposes("c1", "write_file", `{}`)).Put(r)
	nothing := func(g *permission.Grant) { g.Chat, g.Tool = chat.ID{}, permission.Tool{} }
	for _, choice := range []chat.Choice{chat.AllowChat, chat.AllowHour, chat.AllowServer} {
		x.Ignores("an admin's card takes no grant", script.Granting(x, choice, nothing), script.Granting(x, choice, func(*permission.Grant) {}))
	}

	y := askedWith(t, `{}`, permission.ScopeServer)
	server := func(g *permission.Grant) { g.Scope = permission.ScopeServer }
	y.Ignores("of the server's tools, without the one that is asked for", script.Granting(y, chat.AllowServer, server), script.Granting(y, chat.AllowServer, func(g *permission.Grant) {
		g.Scope, g.Tools = permission.ScopeServer, []permission.Tool{{Server: "files", Name: "other", Definition: "d"}}
	}))
	y.Takes(script.Granting(y, chat.AllowServer, func(g *permission.Grant) { server(g); g.Tools = []permission.Tool{g.Tool} })).Is("c1", Allowed, "")
}

// A grant is limited as its choice says, or it is none: else “for the next 3 calls” could be for ever.
func TestAGrantKeepsItsLimit(t *testing.T) {
	x := askedWith(t, `{"n":1}`)
	uses := func(counted bool, n int) func(*permission.Grant) {
		return func(g *permission.Grant) { g.Counted, g.Uses = counted, n }
	}
	x.Ignores("not as often as it says",
		script.Granting(x, chat.AllowUses, uses(false, 0)), script.Granting(x, chat.AllowUses, uses(false, 2)), script.Granting(x, chat.AllowUses, uses(true, MaxUses)), script.Granting(x, chat.AllowUses, uses(true, -1)),
		script.Granting(x, chat.AllowChat, uses(false, 5)), script.Granting(x, chat.AllowChat, uses(true, 0)), script.Granting(x, chat.AllowHour, uses(false, -1)))
	x.Takes(script.Granting(x, chat.AllowUses, uses(true, 2))).Is("c1", Allowed, "")
	if g := x.Session.Grants[0]; !g.Counted || g.Uses != 2 || !g.Until.IsZero() {
		t.Errorf("granted %+v", g)
	}
	y := askedWith(t, `{"n":1}`)
	y.Takes(script.Granting(y, chat.AllowHour, func(g *permission.Grant) { g.Until = y.Now.Add(1000 * time.Hour) }))
	if g := y.Session.Grants[0]; !g.Until.Equal(y.Now.Add(time.Hour)) {
		t.Errorf("for an hour, until %v", g.Until)
	}
}

// Each part of each pin is the card's: another argument, another way to compare, or another value is another grant.
func TestAGrantKeepsItsPins(t *testing.T) {
	for choice, args := range map[chat.Choice]string{chat.AllowExact: `{"n":1,"to":"ops"}`, chat.AllowPath: `{"n":1,"path":"a/b/c.txt"}`} {
		x := askedWith(t, args)
		offered, ok := GrantFor(x.Session, x.Call("c1"), choice, nil, 0)
		if !ok || len(offered.Pins) < 2 {
			t.Fatalf("%s offers %+v", choice, offered)
		}
		pins := func(i int, f func(*pin.Pin)) Decided {
			return script.Granting(x, choice, func(g *permission.Grant) {
				g.Pins = append(g.Pins, offered.Pins...)
				if f != nil {
					f(&g.Pins[i])
				}
			})
		}
		for i := range offered.Pins {
			x.Ignores("other pins than the card's",
				pins(i, func(p *pin.Pin) { p.Path += "x" }),
				pins(i, func(p *pin.Pin) { p.Match = pin.MatchUnder - p.Match }),
				pins(i, func(p *pin.Pin) { p.Value = []byte(`"b"`) }))
		}
		x.Takes(pins(0, nil)).Is("c1", Allowed, "")
	}
}

// What is no grant is not offered as one, also on a card that offers every scope: “Deny” and “Allow once” leave nothing behind.
func TestOnlyGrantsGrant(t *testing.T) {
	x := askedWith(t, `{}`, permission.ScopeTool, permission.ScopeReads, permission.ScopeWrites, permission.ScopeServer)
	c := x.Call("c1")
	for _, choice := range []chat.Choice{chat.Deny, chat.AllowOnce, chat.Stop, chat.Remember, chat.AllowSession, chat.ApproveAll, ""} {
		if Offers(c, choice) {
			t.Errorf("%q is offered as a grant", choice)
		}
		if g, ok := GrantFor(x.Session, c, choice, nil, 0); ok {
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
func remembering(t *testing.T) *script.Script {
	r := script.Rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Remember = true
	return script.Begin(t, script.Proposes("c1", "write_file", `{}`)).Put(r)
}

func TestRememberIsTicked(t *testing.T) {
	tick := func(on bool, by chat.User) Ticked { return Ticked{Ask: "a1", On: on, By: by, Name: "N"} }
	script.New(t).Ignores("no turn", tick(true, script.Ana))
	script.Asked(t).Ignores("the card does not have it", tick(true, script.Ana), tick(false, script.Ana))
	x := remembering(t).Ignores("no such ask, or nobody", Ticked{Ask: "a9", On: true, By: script.Ana}, Ticked{On: true, By: script.Ana}, tick(true, chat.User{}), tick(false, chat.User{}))
	ticked := func(want chat.User) {
		t.Helper()
		switch got := x.Call("c1").Ticked; {
		case want.IsZero() && got != nil:
			t.Errorf("%v ticked it", got.User)
		case !want.IsZero() && (got == nil || got.User != want):
			t.Errorf("ticked by %v, want %v", got, want)
		}
	}
	x.Ignores("nobody ticked it", tick(false, script.Ana)).Takes(tick(true, script.Ana)).Ignores("she has", tick(true, script.Ana))
	ticked(script.Ana)
	x.Ignores("it is not his", tick(false, script.Ben)) // what Ana wants remembered is not Ben's to take back
	x.Fork().Takes(tick(false, script.Ana)).Ignores("she has not", tick(false, script.Ana))
	x.Takes(tick(true, script.Ben)).Ignores("it is his now", tick(false, script.Ana), tick(true, script.Ben))
	ticked(script.Ben)
	x.Takes(tick(false, script.Ben)).Ignores("nobody ticked it", tick(false, script.Ben), tick(false, script.Ana))
	ticked(chat.User{})
	x.Is("c1", Awaiting, "").Offers("allow_chat:a1", "allow_once:a1", "deny:a1", "view:a1", "edit:a1", "deny_reason:a1", "extend:a1", "allow_hour:a1", "allow_uses:a1", "remember:a1", "allow_session:a1", "stop:a1")
}

// What is decided is decided: ticking it afterwards would remember a choice that nobody made with it.
func TestNothingIsTickedAfterTheDecision(t *testing.T) {
	tick := Ticked{Ask: "a1", On: true, By: script.Ana}
	remembering(t).Decides("c1", chat.AllowOnce, script.Ana).Ignores("it is decided", tick)
	remembering(t).Decides("c1", chat.Deny, script.Ana).Ignores("it is decided", tick)
	remembering(t).After(time.Minute).Put(Expired{Ask: "a1"}).Ignores("it expired", tick)
	x := remembering(t)
	if !CanRemember(x.Call("c1")) || CanRemember(x.Decides("c1", chat.AllowOnce, script.Ana).Call("c1")) {
		t.Error("the card has it while it waits, and then not")
	}
}

const month = 31 * 24 * time.Hour

// After a long silence a conversation begins anew, and only then: by words, in a chat where nothing is open.
func TestWhatALongSilenceForgets(t *testing.T) {
	never := ModeSet{Mode: permission.ModeNever, Rev: 1, By: script.Ana}
	quiet := func() *script.Script {
		return script.Asked(t).Decides("c1", chat.AllowChat, script.Ana).Put(never).Answer().After(month)
	}
	if x := quiet().Put(script.Says("m9", "hello again", script.Ben)); len(x.Session.Grants)+len(x.Session.Transcript) > 0 || x.Session.Last != nil || x.Session.Mode != permission.ModeTool {
		t.Errorf("still there: %s", script.JSON(t, x.Session))
	}
	// A late answer, or a setting, is nobody's return.
	x := quiet().Put(Edited{Delivery: "e1", Message: "m1", By: script.Ana, Text: "x"}, Revoked{Grants: []permission.GrantID{"other"}, By: script.Ana})
	if len(x.Session.Grants) != 1 || len(x.Session.Transcript) == 0 || x.Session.Last == nil || x.Session.Mode != permission.ModeNever {
		t.Errorf("forgotten without a word: %s", script.JSON(t, x.Session))
	}
	if x := script.Asked(t).After(time.Minute).Put(Expired{Ask: "a1"}).Answer().After(month); len(x.Takes(Reopened{Ask: "a1", By: script.Ana, Next: "a2", NextCall: "c2"}).Session.Transcript) == 0 {
		t.Error("whoever asks again finds what was said before")
	}

	// What waits for an answer is not over, however long it takes.
	parked := script.Rules("c1", "a1", permission.Ask, permission.Write)
	parked.Ruling.Timeout = 0
	y := script.New(t).Put(script.Says("m0", "before", script.Ana)).Answer().Put(script.Says("m1", "please", script.Ana), never)
	y.Put(Replied{Turn: y.Session.Turn.ID, Calls: []Proposal{script.Proposes("c1", "w", `{}`)}}, parked).After(month).Put(script.Says("m2", "now I have time", script.Ana))
	if len(y.Session.Transcript) == 0 || y.Session.Last == nil || y.Session.Mode != permission.ModeNever {
		t.Errorf("forgotten under an open turn: %s", script.JSON(t, y.Session))
	}

	// How long that is may be said with the words, which an earlier release then refuses to fold.
	short := script.Says("m9", "hello again", script.Ben)
	short.Forget = time.Hour
	soon := func(after time.Duration) *script.Script {
		return script.Asked(t).Decides("c1", chat.AllowChat, script.Ana).Answer().After(after).Put(short)
	}
	if x := soon(time.Hour - time.Second); len(x.Session.Grants) != 1 {
		t.Error("forgotten too early")
	}
	if x := soon(time.Hour); len(x.Session.Grants) != 0 {
		t.Error("not forgotten")
	}
	if b, err := Encode(short); err != nil || !strings.Contains(string(b), `"v":2`) {
		t.Errorf("%s, %v", b, err)
	} else if back, err := Decode(b); err != nil || back.(Said).Forget != time.Hour {
		t.Errorf("%v, %v", back, err)
	}

	// Nor has a chat faded in which nobody spoke yet: what was set up before the first message holds for it.
	if z := script.New(t).Put(ModeSet{Mode: permission.ModeAlways, Rev: 1, By: script.Ana}).After(month).Put(script.Says("m1", "hi", script.Ana)); z.Session.Mode != permission.ModeAlways {
		t.Errorf("the first message finds the mode %v", z.Session.Mode)
	}
}
