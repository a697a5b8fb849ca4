package turn

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// byMode is a call about which a mode gave the answer: of this chat where ref says so, else of the configuration.
func byMode(t *testing.T, v permission.Verdict, ref permission.Origin) *script {
	r := rules("c1", "a1", v, permission.Write)
	r.Ruling.Reasons = []permission.Reason{{Rule: permission.RuleMode, Text: "That is the mode.", Ref: string(ref), Won: true}}
	return begin(t, proposes("c1", "w", `{}`)).put(r)
}

// Where nobody was asked because of a mode, the message says so while its turn is open.
func TestWhatRanUnaskedIsTold(t *testing.T) {
	byMode(t, permission.Allow, "").shows(render.NeverAsks).hides(render.RanUnasked).offers("stop:t1").answer().hides(render.NeverAsks, render.RanUnasked)
	byMode(t, permission.Allow, permission.FromSession).shows(render.RanUnasked).hides(render.NeverAsks).answer().hides(render.NeverAsks, render.RanUnasked)
	// A mode that makes it ask, or forbid, is no reason to say so.
	for _, v := range []permission.Verdict{permission.Ask, permission.Forbid} {
		byMode(t, v, "").hides(render.NeverAsks, render.RanUnasked)
		byMode(t, v, permission.FromSession).hides(render.NeverAsks, render.RanUnasked)
	}
	begin(t, proposes("c1", "w", `{}`)).put(rules("c1", "a1", permission.Allow, permission.Write)).hides(render.NeverAsks, render.RanUnasked)
}

// That a chat never asks stands, with its way out, on the newest message, also when its turn is over; and on no older one.
func TestTheNewestMessageSaysThatTheChatNeverAsks(t *testing.T) {
	x := begin(t).put(ModeSet{Mode: permission.ModeNever, Rev: 1, By: ana}, Ended{Turn: "t1", Why: Answered}).shows(render.NeverAsks).offers("ask_more:t1")
	old := x.s.Last
	x.put(says("m2", "more", ana)).shows(render.NeverAsks).offers("ask_more:t6", "stop:t6")
	older := func(when string) {
		t.Helper()
		m := View(x.s, old, Live{})
		if text := render.PlainText(m); strings.Contains(text, render.NeverAsks) || len(buttons(m)) > 0 {
			t.Errorf("%s the older message offers %q:\n%s", when, buttons(m), text)
		}
	}
	older("while the next turn is open,")
	x.answer().offers("ask_more:t6")
	older("after the next turn,")
}

// That a chat always asks is said where somebody is about to be asked, and not under what is over.
func TestAlwaysAsksEndsWithTheTurn(t *testing.T) {
	x := asked(t).put(ModeSet{Mode: permission.ModeAlways, Rev: 1, By: ana}).shows(render.AlwaysAsks)
	x.decides("c1", chat.Deny, ana).answer().hides(render.AlwaysAsks)
}

// A step says by whom it was allowed: everybody who had to, where several did.
func TestEverybodyWhoAllowedIsNamed(t *testing.T) {
	cem := chat.User{Platform: "web", Key: "cem"}
	several := func(n int) *script {
		r := rules("c1", "a1", permission.Ask, permission.Write)
		r.Ruling.Approvals = n
		return begin(t, proposes("c1", "w", `{}`)).put(r)
	}
	several(2).decides("c1", chat.AllowOnce, ana).decides("c1", chat.AllowOnce, ben).shows("allowed once by Ana, Ben 14:02 UTC")
	// A grant is the word of the one who gave it, whoever had allowed the call before.
	x := several(3).decides("c1", chat.AllowOnce, ana).decides("c1", chat.AllowOnce, ben).decides("c1", chat.AllowChat, cem)
	x.is("c1", Allowed, "").shows(render.Decided(chat.AllowChat) + " by Cem 14:02 UTC").hides("by Ana, Ben")
}

func TestARememberedChoiceIsNamed(t *testing.T) {
	r := rules("c1", "a1", permission.Allow, permission.Write)
	r.Ruling.Reasons[0].Rule = permission.RuleRemembered
	begin(t, proposes("c1", "w", `{}`)).put(r).shows(render.ByRemembered + " · " + render.ComesNext).hides(render.ByPolicy)
}

// A call that failed without a word leaves no separator behind: shows checks the lines.
func TestAFailureWithoutWords(t *testing.T) {
	ran(t).put(Finished{Call: "c1", Run: "r1", Result: Result{IsError: true}}).shows("failed · 0 s · allowed once by Ana 14:02 UTC\n")
}

// What is not as it was stands on the card: what changed of the tool, or that nobody accepted it yet.
func TestTheCardSaysWhatIsNew(t *testing.T) {
	card := func(f func(*Ruled)) *script {
		r := rules("c1", "a1", permission.Ask, permission.Write)
		f(&r)
		return begin(t, proposes("c1", "w", `{}`)).put(r)
	}
	changed := []permission.Difference{{Part: "description", Was: "Reads a file.", Now: "Sends a file."}, {Part: "title", Was: "Read", Now: "Send"}}
	told := render.ChangedOnCard([]string{"description", "title"})
	card(func(*Ruled) {}).hides(told, render.NewOnCard)
	card(func(r *Ruled) { r.Card.Changes = changed }).shows(told, "Reads a file.", "Sends a file.").hides(render.NewOnCard)
	card(func(r *Ruled) { r.Card.Changes, r.Ruling.New = changed, true }).shows(told).hides(render.NewOnCard)
	card(func(r *Ruled) { r.Ruling.New = true }).shows(render.NewOnCard)
	card(func(r *Ruled) { r.Ruling.New, r.Ruling.Trusted = true, true }).hides(render.NewOnCard) // whose servers are trusted, so are their tools
}

// “Approve all for this session” stands on what waits, and not where something changed: that somebody has to look at.
func TestTheSessionIsNotOfferedWhereSomethingChanged(t *testing.T) {
	x := asked(t)
	if !OffersSession(x.call("c1")) {
		t.Error("an ordinary card does not offer it")
	}
	if OffersSession(x.decides("c1", chat.AllowOnce, ana).call("c1")) || OffersSession(asked(t).after(time.Minute).put(Expired{Ask: "a1"}).call("c1")) {
		t.Error("a call that waits no more offers it")
	}
	r := rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Changed = true
	y := begin(t, proposes("c1", "w", `{}`)).put(r)
	if c := y.call("c1"); OffersSession(c) || !OffersGrant(c) {
		t.Error("a changed tool offers it, or not even a grant of its own")
	}
	y.offers("allow_chat:a1", "allow_once:a1", "deny:a1", "deny_reason:a1", "edit:a1", "view:a1", "why:a1", "allow_hour:a1", "allow_uses:a1", "extend:a1", "stop:t1")
}
