package turn_test

import (
	"testing"
	"time"

	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/permission/pin"
	"github.com/nodhq/nod/tests/script"
)

// askedWith is a turn whose one call has arguments and may be granted with wider scopes, too.
func askedWith(t *testing.T, args string, scopes ...permission.Scope) *script.Script {
	r := script.Rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Scopes = scopes
	return script.Begin(t, script.Proposes("c1", "write_file", args)).Put(r)
}

// The grant that a choice makes: how often, of which tools, and of no secret.
func TestWhatAChoiceGrants(t *testing.T) {
	x := askedWith(t, `{}`, permission.ScopeServer)
	c := x.Call("c1")
	for uses, want := range map[int]int{0: GrantUses - 1, 1: 0, 2: 1, MaxUses: MaxUses - 1, -1: -1, MaxUses + 1: -1} {
		g, ok := GrantFor(x.Session, c, chat.AllowUses, nil, uses)
		if ok != (want >= 0) || ok && (g.Uses != want || !g.Counted) {
			t.Errorf("%d uses: %v, %+v", uses, ok, g)
		}
	}
	other := c.Tool
	other.Name = "other"
	if _, ok := GrantFor(x.Session, c, chat.AllowServer, []permission.Tool{other}, 0); ok {
		t.Error("a grant for the server's tools, without the one that is asked for")
	}
	if g, ok := GrantFor(x.Session, c, chat.AllowServer, []permission.Tool{other, c.Tool, {Server: "elsewhere", Name: "x"}}, 0); !ok || len(g.Tools) != 2 {
		t.Errorf("%v, %+v", ok, g)
	}
	for _, choice := range []chat.Choice{chat.AllowReads, chat.AllowWrites, chat.Deny, chat.AllowOnce, chat.Stop} {
		if Offers(c, choice) {
			t.Errorf("%s is offered as a grant", choice)
		}
	}
	if !Allows(chat.AllowOnce) || !Allows(chat.AllowChat) || Allows(chat.Deny) {
		t.Error("what lets a call run")
	}
	if !Offers(askedWith(t, `{"n":1}`).Call("c1"), chat.AllowExact) {
		t.Error("the values of a call are not offered")
	}
	masked := askedWith(t, `{"n":1}`).Call("c1")
	masked.Ruling.Masked = true
	if Offers(masked, chat.AllowExact) || Offers(masked, chat.AllowChat) {
		t.Error("what nobody sees is offered to be allowed from now on")
	}
}

// A grant that is wider than its choice is none: no pins where they belong, others, or a choice that is not on the card.
func TestGrantsWiderThanTheirChoice(t *testing.T) {
	x := askedWith(t, `{"n":1}`)
	c := x.Call("c1")
	grant, ok := GrantFor(x.Session, c, chat.AllowExact, nil, 0)
	if !ok || len(grant.Pins) == 0 {
		t.Fatalf("%v, %+v", ok, grant)
	}
	grant.ID, grant.By, grant.At = "g1", script.Ana, x.Now
	decide := func(choice chat.Choice, f func(*permission.Grant)) Decided {
		g := grant
		f(&g)
		return Decided{Ask: "a1", Digest: c.Digest, Choice: choice, By: script.Ana, Name: "Ana", Grant: &g}
	}
	x.Ignores("not what the choice stands for",
		decide(chat.AllowExact, func(g *permission.Grant) { g.Pins = nil }),
		decide(chat.AllowExact, func(g *permission.Grant) { g.Pins = []pin.Pin{{Path: "n", Value: []byte("2")}} }),
		decide(chat.AllowExact, func(g *permission.Grant) { g.Counted, g.Uses = true, 5 }),
		decide(chat.AllowExact, func(g *permission.Grant) { g.Scope = permission.ScopeServer }),
		decide(chat.AllowPath, func(g *permission.Grant) { g.Pins = nil }),
		decide(chat.AllowServer, func(g *permission.Grant) { g.Pins, g.Scope = nil, permission.ScopeServer }),
	)
	x.Takes(decide(chat.AllowExact, func(g *permission.Grant) { g.At = time.Time{} })).Is("c1", Allowed, "")
}
