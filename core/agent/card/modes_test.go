package card_test

import (
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

// byMode is a call about which a mode gave the answer: of this chat where ref says so, else of the configuration.
func byMode(t *testing.T, v permission.Verdict, ref permission.Origin) *script.Script {
	r := script.Rules("c1", "a1", v, permission.Write)
	r.Ruling.Reasons = []permission.Reason{{Rule: permission.RuleMode, Text: "That is the mode.", Ref: string(ref), Won: true}}
	return script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(r)
}

// Where nobody was asked because of a mode, the message says so while its turn is open.
func TestWhatRanUnaskedIsTold(t *testing.T) {
	byMode(t, permission.Allow, "").Shows(text.NeverAsks).Hides(text.RanUnasked).Offers("stop:t1").Answer().Hides(text.NeverAsks, text.RanUnasked)
	byMode(t, permission.Allow, permission.FromSession).Shows(text.RanUnasked).Hides(text.NeverAsks).Answer().Hides(text.NeverAsks, text.RanUnasked)
	// A mode that makes it ask, or forbid, is no reason to say so.
	for _, v := range []permission.Verdict{permission.Ask, permission.Forbid} {
		byMode(t, v, "").Hides(text.NeverAsks, text.RanUnasked)
		byMode(t, v, permission.FromSession).Hides(text.NeverAsks, text.RanUnasked)
	}
	script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(script.Rules("c1", "a1", permission.Allow, permission.Write)).Hides(text.NeverAsks, text.RanUnasked)
}

// That a chat never asks stands, with its way out, on the newest message, also when its turn is over; and on no older one.
func TestTheNewestMessageSaysThatTheChatNeverAsks(t *testing.T) {
	x := script.Begin(t).Put(ModeSet{Mode: permission.ModeNever, Rev: 1, By: script.Ana}, Ended{Turn: "t1", Why: Answered}).Shows(text.NeverAsks).Offers("ask_more:t1")
	old := x.Session.Last
	x.Put(script.Says("m2", "more", script.Ana)).Shows(text.NeverAsks).Offers("ask_more:t6", "stop:t6")
	older := func(when string) {
		t.Helper()
		m := View(x.Session, old, Live{})
		if said := render.PlainText(m); strings.Contains(said, text.NeverAsks) || len(script.Buttons(m)) > 0 {
			t.Errorf("%s the older message offers %q:\n%s", when, script.Buttons(m), said)
		}
	}
	older("while the next turn is open,")
	x.Answer().Offers("ask_more:t6")
	older("after the next turn,")
}

// That a chat always asks is said where somebody is about to be asked, and not under what is over.
func TestAlwaysAsksEndsWithTheTurn(t *testing.T) {
	x := script.Asked(t).Put(ModeSet{Mode: permission.ModeAlways, Rev: 1, By: script.Ana}).Shows(text.AlwaysAsks)
	x.Decides("c1", chat.Deny, script.Ana).Answer().Hides(text.AlwaysAsks)
}

// A step says by whom it was allowed: everybody who had to, where several did.
func TestEverybodyWhoAllowedIsNamed(t *testing.T) {
	cem := chat.User{Platform: "web", Key: "cem"}
	several := func(n int) *script.Script {
		r := script.Rules("c1", "a1", permission.Ask, permission.Write)
		r.Ruling.Approvals = n
		return script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(r)
	}
	several(2).Decides("c1", chat.AllowOnce, script.Ana).Decides("c1", chat.AllowOnce, script.Ben).Shows("allowed once by Ana, Ben 14:02 UTC")
	// A grant is the word of the one who gave it, whoever had allowed the call before.
	x := several(3).Decides("c1", chat.AllowOnce, script.Ana).Decides("c1", chat.AllowOnce, script.Ben).Decides("c1", chat.AllowChat, cem)
	x.Is("c1", Allowed, "").Shows(text.Decided(chat.AllowChat) + " by Cem 14:02 UTC").Hides("by Ana, Ben")
}

func TestARememberedChoiceIsNamed(t *testing.T) {
	r := script.Rules("c1", "a1", permission.Allow, permission.Write)
	r.Ruling.Reasons[0].Rule = permission.RuleRemembered
	script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(r).Shows(text.ByRemembered + " · " + text.ComesNext).Hides(text.ByPolicy)
}

// A call that failed without a word leaves no separator behind: shows checks the lines.
func TestAFailureWithoutWords(t *testing.T) {
	script.Ran(t).Put(Finished{Call: "c1", Run: "r1", Result: Result{IsError: true}}).Shows("failed · 0 s · allowed once by Ana 14:02 UTC\n")
}

// What is not as it was stands on the card: what changed of the tool, or that nobody accepted it yet.
func TestTheCardSaysWhatIsNew(t *testing.T) {
	card := func(f func(*Ruled)) *script.Script {
		r := script.Rules("c1", "a1", permission.Ask, permission.Write)
		f(&r)
		return script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(r)
	}
	changed := []permission.Difference{{Part: "description", Was: "Reads a file.", Now: "Sends a file."}, {Part: "title", Was: "Read", Now: "Send"}}
	told := text.ChangedOnCard([]string{"description", "title"})
	card(func(*Ruled) {}).Hides(told, text.NewOnCard)
	card(func(r *Ruled) { r.Card.Changes = changed }).Shows(told, "Reads a file.", "Sends a file.").Hides(text.NewOnCard)
	card(func(r *Ruled) { r.Card.Changes, r.Ruling.New = changed, true }).Shows(told).Hides(text.NewOnCard)
	card(func(r *Ruled) { r.Ruling.New = true }).Hides(text.NewOnCard) // it was said on the chat's first card of that server
	card(func(r *Ruled) { r.Ruling.New, r.Card.First = true, true }).Shows(text.NewOnCard)
}

// “Approve all for this session” stands on what waits, and not where something changed: that somebody has to look at.
func TestTheSessionIsNotOfferedWhereSomethingChanged(t *testing.T) {
	x := script.Asked(t)
	if !OffersSession(x.Call("c1")) {
		t.Error("an ordinary card does not offer it")
	}
	if OffersSession(x.Decides("c1", chat.AllowOnce, script.Ana).Call("c1")) || OffersSession(script.Asked(t).After(time.Minute).Put(Expired{Ask: "a1"}).Call("c1")) {
		t.Error("a call that waits no more offers it")
	}
	r := script.Rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Changed = true
	y := script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(r)
	if c := y.Call("c1"); OffersSession(c) || !OffersGrant(c) {
		t.Error("a changed tool offers it, or not even a grant of its own")
	}
	y.Offers("allow_chat:a1", "allow_once:a1", "deny:a1", "view:a1", "edit:a1", "deny_reason:a1", "extend:a1", "allow_hour:a1", "allow_uses:a1", "stop:a1")
}
