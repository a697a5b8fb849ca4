package turn

import (
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// askedWith is a turn whose one call has arguments and may be granted with wider scopes, too.
func askedWith(t *testing.T, args string, scopes ...permission.Scope) *script {
	r := rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Scopes = scopes
	return begin(t, proposes("c1", "write_file", args)).put(r)
}

// The grant that a choice makes: how often, of which tools, and of no secret.
func TestWhatAChoiceGrants(t *testing.T) {
	x := askedWith(t, `{}`, permission.ScopeServer)
	c := x.call("c1")
	for uses, want := range map[int]int{0: GrantUses - 1, 1: 0, 2: 1, maxUses: maxUses - 1, -1: -1, maxUses + 1: -1} {
		g, ok := GrantFor(x.s, c, chat.AllowUses, nil, uses)
		if ok != (want >= 0) || ok && (g.Uses != want || !g.Counted) {
			t.Errorf("%d uses: %v, %+v", uses, ok, g)
		}
	}
	other := c.Tool
	other.Name = "other"
	if _, ok := GrantFor(x.s, c, chat.AllowServer, []permission.Tool{other}, 0); ok {
		t.Error("a grant for the server's tools, without the one that is asked for")
	}
	if g, ok := GrantFor(x.s, c, chat.AllowServer, []permission.Tool{other, c.Tool, {Server: "elsewhere", Name: "x"}}, 0); !ok || len(g.Tools) != 2 {
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
	if !Offers(askedWith(t, `{"n":1}`).call("c1"), chat.AllowExact) {
		t.Error("the values of a call are not offered")
	}
	masked := askedWith(t, `{"n":1}`).call("c1")
	masked.Ruling.Masked = true
	if Offers(masked, chat.AllowExact) || Offers(masked, chat.AllowChat) {
		t.Error("what nobody sees is offered to be allowed from now on")
	}
}

// A grant that is wider than its choice is none: no pins where they belong, others, or a choice that is not on the card.
func TestGrantsWiderThanTheirChoice(t *testing.T) {
	x := askedWith(t, `{"n":1}`)
	c := x.call("c1")
	grant, ok := GrantFor(x.s, c, chat.AllowExact, nil, 0)
	if !ok || len(grant.Pins) == 0 {
		t.Fatalf("%v, %+v", ok, grant)
	}
	grant.ID, grant.By, grant.At = "g1", ana, x.at
	decide := func(choice chat.Choice, f func(*permission.Grant)) Decided {
		g := grant
		f(&g)
		return Decided{Ask: "a1", Digest: c.Digest, Choice: choice, By: ana, Name: "Ana", Grant: &g}
	}
	x.ignores("not what the choice stands for",
		decide(chat.AllowExact, func(g *permission.Grant) { g.Pins = nil }),
		decide(chat.AllowExact, func(g *permission.Grant) { g.Pins = []permission.Pin{{Path: "n", Value: []byte("2")}} }),
		decide(chat.AllowExact, func(g *permission.Grant) { g.Counted, g.Uses = true, 5 }),
		decide(chat.AllowExact, func(g *permission.Grant) { g.Scope = permission.ScopeServer }),
		decide(chat.AllowPath, func(g *permission.Grant) { g.Pins = nil }),
		decide(chat.AllowServer, func(g *permission.Grant) { g.Pins, g.Scope = nil, permission.ScopeServer }),
	)
	x.takes(decide(chat.AllowExact, func(g *permission.Grant) { g.At = time.Time{} })).is("c1", Allowed, "")
}
