package card_test

import (
	"reflect"
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

func TestStatesOfAMessage(t *testing.T) {
	script.New(t).Put(script.Says("m1", "hi", script.Ana)).State(render.Working).Shows(text.Thinking)
	script.Asked(t).State(render.Waiting).Decides("c1", chat.AllowOnce, script.Ana).State(render.Working)
	script.Lost(t).State(render.Waiting).Put(Resolved{Ask: "a2", Answer: chat.Leave, By: script.Ana}).State(render.Working)
	for why, want := range map[Why]render.State{Answered: render.Done, WasStopped: render.Stopped, TooManySteps: render.Stopped, TooManyDenials: render.Stopped, OverLimit: render.Stopped,
		ModelFailed: render.Failed, NoProgress: render.Failed, MessageGone: render.Failed, Broken: render.Failed} {
		script.Asked(t).Put(Ended{Turn: "t1", Why: why}).State(want)
	}
}

func TestWhyATurnEnded(t *testing.T) {
	sentences := map[Why]string{Answered: "", WasStopped: "", TooManySteps: text.EndSteps, TooManyDenials: text.EndDenials, ModelFailed: text.EndModel,
		NoProgress: text.EndProgress, Broken: text.EndProgress, MessageGone: text.EndGone}
	for why := range sentences {
		x := script.Begin(t).Put(Ended{Turn: "t1", Why: why})
		for other, sentence := range sentences {
			switch sentence {
			case "":
			case sentences[why]:
				x.Shows(sentence)
			default:
				x.Hides(sentences[other])
			}
		}
		script.Begin(t).Put(Ended{Turn: "t1", Why: why, Say: "It rains."}).Shows("It rains.").Hides(text.EndSteps, text.EndDenials, text.EndModel, text.EndProgress, text.EndGone)
	}
}

func TestStopIsToldOnce(t *testing.T) {
	stop := StopAsked{Turn: "t1", By: script.Ben, Name: "Ben"}
	x := script.Ran(t).Hides(text.Stopping).Offers("stop:t1").Put(stop).Shows(text.Stopping).Hides("Stopped by").Offers()
	x.Put(Finished{Call: "c1", Run: "r1"}, Ended{Turn: "t1", Why: WasStopped}).Shows(text.StoppedBy("Ben", 0)).Hides(text.Stopping)
	script.Asked(t).Put(stop, Ended{Turn: "t1", Why: MessageGone}).Shows(text.EndGone).Hides("Stopped by")
	script.Asked(t).Put(Ended{Turn: "t1", Why: Answered}).Hides("Stopped by")
}

// What streams belongs to an open turn.
func TestLiveWords(t *testing.T) {
	live := Live{Text: "I am wri", Note: "Trying again in 20 s.", Progress: map[CallID]Progress{"c1": {Done: 1, Total: 3, Message: "a third"}}}
	x := script.Ran(t)
	has := func(want ...bool) {
		t.Helper()
		_, text := x.View(live)
		for i, w := range []string{live.Text, live.Note, "33 %", "a third"} {
			if strings.Contains(text, w) != want[i] {
				t.Errorf("%q: want %v in\n%s", w, want[i], text)
			}
		}
	}
	has(true, true, true, true)
	live.Progress = map[CallID]Progress{"c9": {Done: 1, Total: 3, Message: "a third"}}
	has(true, true, false, false)
	x.Put(Finished{Call: "c1", Run: "r1"}).Answer()
	has(false, false, false, false)
	for p, want := range map[Progress]string{{Done: 9, Total: 3}: "100 %", {Done: -1, Total: 3}: "0 %"} {
		live.Progress = map[CallID]Progress{"c1": p}
		if _, text := script.Ran(t).View(live); !strings.Contains(text, want) {
			t.Errorf("%v is not drawn as %s:\n%s", p, want, text)
		}
	}
	live.Progress = map[CallID]Progress{"c1": {Done: 7}}
	if _, text := script.Ran(t).View(live); strings.Contains(text, "%") {
		t.Errorf("a share of nobody knows how much:\n%s", text)
	}
}

// Who ended a run is known where the process that ran it has seen it through: nod is not to blame then.
func TestAnUnknownOutcomeBlamesWhoItWas(t *testing.T) {
	gone := Abandoned{Call: "c1", Run: "r1", Token: 1, Own: true, Ask: "a2", Wait: time.Minute, Say: "The box server stopped while w ran (exit status 3)."}
	left := Resolved{Ask: "a2", Answer: chat.Leave, By: script.Ben, Name: "Ben"}
	script.Ran(t).Put(gone).Shows(text.OutcomeNoAnswer, gone.Say).Hides("nod was interrupted").Put(left).Shows(text.RanNoAnswer).Hides(text.Interrupted)
	gone.Say, gone.Own, gone.Token = "", false, 2
	script.Ran(t).Put(gone).Shows(text.OutcomeHeader).Hides(text.OutcomeNoAnswer).Put(left).Shows(text.Interrupted)
}

// A call whose arguments nobody could check says so on its card, also when it is asked for anew; other arguments start afresh.
func TestUncheckedArgumentsStandOnTheCard(t *testing.T) {
	p := script.Proposes("c1", "w", `{}`)
	script.Begin(t, p).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).Hides(text.Unchecked)
	p.Unchecked = true
	x := script.Begin(t, p).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).Shows(text.Unchecked)
	x.Fork().Put(Amended{Ask: "a1", By: script.Ana, Args: []byte(`{"n":1}`), Digest: "other"}, script.Rules("c1", "a2", permission.Ask, permission.Write)).Hides(text.Unchecked)
	x.Fork().Put(Amended{Ask: "a1", By: script.Ana, Args: []byte(`{"n":1}`), Digest: "other", Unchecked: true}, script.Rules("c1", "a2", permission.Ask, permission.Write)).Shows(text.Unchecked)
	x.After(time.Hour).Put(Expired{Ask: "a1"}, Ended{Turn: "t1", Why: Answered}, Reopened{Ask: "a1", By: script.Ana, Name: "Ana", Next: "a3", NextCall: "c2"})
	x.Put(Shown{Turn: x.Session.Turn.ID, Message: "s2"}, script.Rules("c2", "a3", permission.Ask, permission.Write)).Shows(text.Unchecked)
}

func TestStepsSayWhatIsRecorded(t *testing.T) {
	script.Begin(t, Proposal{ID: "c1", Tool: permission.Tool{Name: "wipe"}, Problem: "There is no tool named wipe.\nTools: none"}).
		Shows("Wipe · failed · There is no tool named wipe.\n").Hides("allowed", "took", "0 s")
	script.Begin(t, Proposal{ID: "c1", Tool: permission.Tool{Name: "wipe"}, Problem: " "}).Shows("Wipe · failed\n")
	script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(script.Rules("c1", "a1", permission.Forbid, permission.Write)).Shows(text.DeniedByPolicy).Hides("denied by", "[Undo]")
	script.Asked(t).Decides("c1", chat.Deny, script.Ben).Shows("denied by Ben 14:02").Hides(text.DeniedByPolicy, "“")
	x := script.Asked(t)
	x.Put(Decided{Ask: "a1", Digest: x.Call("c1").Digest, By: script.Ben, Name: "Ben", Reason: "not\ntoday"}).Shows("denied by Ben 14:02 UTC · “not ⏎ today”")
	script.Ran(t).Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "\ndisk full\nat line 1", IsError: true}}).Shows("allowed once by Ana 14:02 UTC · disk full\n")
	script.Ran(t).Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "secret words"}}).Hides("secret words")
	script.Lost(t).Put(Resolved{Ask: "a2", Answer: chat.Happened, By: script.Ben, Name: "Ben"}).Shows(text.OutcomeHappened + "Ben").Hides(text.OutcomeLeft)
	script.Lost(t).Put(Resolved{Ask: "a2", Answer: chat.Leave, By: script.Ben, Name: "Ben"}).Shows(text.OutcomeLeft + "Ben").Hides(text.OutcomeHappened)
	script.Asked(t).Put(StopAsked{Turn: "t1", By: script.Ana}).Shows(text.NotRun)
	// A late result is told, also where there is nothing else to tell.
	x = script.Lost(t).Put(Resolved{Ask: "a2", Answer: chat.RunAgain, By: script.Ana, Next: "a3"}).Decides("c1", chat.AllowChat, script.Ana).Hides("came late")
	x.Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "x"}}, Revoked{Grants: []permission.GrantID{"g-c1"}, By: script.Ana}).Is("c1", Proposed, "").Shows("not started · a result came late")
	// A name that nobody gave is the platform's key.
	x = script.Asked(t)
	x.Put(Decided{Ask: "a1", Digest: x.Call("c1").Digest, By: script.Ben}).Shows("denied by ben")
}

// R97
func TestWhoAllowedIt(t *testing.T) {
	script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(script.Rules("c1", "a1", permission.Allow, permission.Write)).Shows(text.ByPolicy + " · " + text.ComesNext)
	script.Asked(t).Decides("c1", chat.AllowOnce, script.Ben).Shows("allowed once by Ben 14:02 UTC · " + text.ComesNext).Hides(text.ByPolicy)
	x := script.Covered(t)
	x.Session.Grants = append([]permission.Grant{{ID: "h", By: script.Ben, Name: "Ben"}}, x.Session.Grants...)
	x.Shows("W “2” · files · done · 0 s · "+text.ByGrant(chat.AllowChat)+"ana\n", "not started · "+text.ByGrant(chat.AllowChat)+"ana · ", "allowed once by Ben 14:02 UTC · "+text.StartsLater)
	x.Hides(text.ByGrant(chat.AllowChat) + "Ben")
	x.Put(Revoked{Grants: []permission.GrantID{"g"}, By: script.Ana}).Shows("done · 0 s · " + text.ByGrant(chat.AllowChat) + "ana")
	// Of a record from before the grant was kept with its call, only that there was one is known.
	x.Session.Turn.Calls[1].Cover = nil
	x.Shows("done · 0 s · " + text.ByEarlierGrant)
	// What reads does not wait for what is asked before it.
	r := script.Rules("c2", "a2", permission.Allow, permission.Read)
	script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "r", `{}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), r).
		Shows(text.ByPolicy + " · " + text.ComesNext).Hides(text.StartsLater)
	r.Ruling.Reasons = []permission.Reason{{Rule: permission.RuleChannel, Text: "Ana allowed it for the channel.", Won: true}}
	x = script.Begin(t, script.Proposes("c2", "r", `{}`)).Put(r).Shows("Ana allowed it for the channel. · " + text.ComesNext).Hides(text.ByPolicy)
	// Which of the uses it is stands there once it is used.
	x.Session.Turn.Calls[0].Grant, x.Session.Turn.Calls[0].Cover = "g", &permission.Grant{ID: "g", By: script.Ana, Name: "Ana", Counted: true, Uses: 2, Of: 3}
	x.Shows(text.ByGrant(chat.AllowUses) + "Ana · ").Hides(text.UseOf(1, 3))
	x.Session.Turn.Calls[0].StartedAt = x.Now
	x.Shows(text.ByGrant(chat.AllowUses) + "Ana" + text.UseOf(1, 3))
	// Once the turn is over nothing comes next.
	script.Asked(t).Decides("c1", chat.AllowOnce, script.Ben).Put(Ended{Turn: "t1", Why: Broken}).Hides(text.ComesNext, text.StartsLater)
}

// A grant is told, with its way out, where it was made; not again at every call it covers.
func TestGrantNotes(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).Decides("c1", chat.AllowChat, script.Ana)
	r := script.Rules("c2", "a2", permission.Allow, permission.Write)
	r.Ruling.Grant = "g-c1"
	x.Session.Grants = append(x.Session.Grants, permission.Grant{ID: "h", By: script.Ben, Name: "Ben", Tool: permission.Tool{Name: "other"}})
	x.Put(r).Offers("undo:a1", "revoke:g-c1", "stop:t1").Shows(text.GrantLine("w"+" of "+"files", "Ana")).Hides("other")
	x.Fork().Put(Revoked{Grants: []permission.GrantID{"g-c1"}, By: script.Ana}).Offers("stop:t1").Hides("is allowed in this chat")
	x.Starts("c1", "r1").Put(Revoked{Grants: []permission.GrantID{"g-c1"}, By: script.Ana}).Offers("stop:t1").Hides("is allowed in this chat")
}

// R125
func TestAskAgainStandsWhereItWorks(t *testing.T) {
	lapsed := func() *script.Script {
		return script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Allow, permission.Read)).
			Starts("c2", "r2").After(time.Minute).Put(Expired{Ask: "a1"})
	}
	done := Finished{Call: "c2", Run: "r2", Result: Result{Text: "two"}}
	again := Reopened{Ask: "a1", By: script.Ana, Next: "a3", NextCall: "c3"}
	x := lapsed().Shows("nobody answered in 60 s · not run").Offers("ask_again:a1", "stop:t1")
	x.Fork().Put(StopAsked{Turn: "t1", By: script.Ana}).Offers()
	x.Put(done)
	x.Fork().Put(again).Offers("stop:t1")
	x.Answer().Offers("ask_again:a1")
	x.Fork().Put(again)
	x.Session.Lapsed = slices.Clone(x.Session.Lapsed)
	x.Session.Lapsed[0].Call.ID = "another"
	x.Offers()
	x.Session.Lapsed = nil // forgotten: the button would find nothing
	x.Offers()
	script.Asked(t).Decides("c1", chat.Deny, script.Ana).Answer().Offers()
}

// Undo stands where it works: in the open turn.
func TestUndoEndsWithTheTurn(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write)).
		Decides("c1", chat.Deny, script.Ana).Offers("undo:a1", "allow_chat:a2", "allow_once:a2", "deny:a2", "view:a2", "edit:a2", "deny_reason:a2", "extend:a2", "allow_exact:a2", "allow_hour:a2", "allow_uses:a2", "allow_session:a2", "stop:a2").Decides("c2", chat.Deny, script.Ana).Offers("stop:t1").Answer()
	x.Put(script.Says("m2", "again", script.Ana))
	x.Put(Replied{Turn: x.Session.Turn.ID, Calls: []Proposal{script.Proposes("c3", "w", `{"n":3}`)}}) // as far as the ended turn was when its calls were open
	if got := script.Buttons(View(x.Session, x.Session.Last, Live{})); len(got) > 0 {
		t.Errorf("the ended turn offers %q", got)
	}
	// What the newest message offers is found, also where an older one offers nothing, and of each question only its own.
	x.Put(script.Rules("c3", "a3", permission.Ask, permission.Write))
	if c, found := Find(x.Session, chat.AllowOnce, "a3"); !found || c.Token != "a3" {
		t.Errorf("found %+v, %v", c, found)
	}
	x.Put(StopAsked{Turn: x.Session.Turn.ID, By: script.Ana}, Ended{Turn: x.Session.Turn.ID, Why: WasStopped}, script.Says("m3", "again", script.Ana))
	x.Put(Replied{Turn: x.Session.Turn.ID, Calls: []Proposal{script.Proposes("c4", "w", `{"n":4}`), script.Proposes("c5", "w", `{"n":5}`)}})
	x.Put(script.Rules("c4", "a4", permission.Ask, permission.Write), script.Rules("c5", "a5", permission.Ask, permission.Write)).Shows(text.BatchHeader(2, 2))
	if said := render.PlainText(View(x.Session, x.Session.Last, Live{})); strings.Contains(said, "need approval") {
		t.Errorf("the ended turn counts what waits now:\n%s", said)
	}
	offered := Offered(x.Session, "a4")
	if len(offered) == 0 || slices.ContainsFunc(offered, func(c render.Choice) bool { return c.Token != "a4" || c.Choice == chat.ViewDetail }) {
		t.Errorf("a4 offers %+v", offered)
	}
	x = script.Asked(t).Decides("c1", chat.AllowOnce, script.Ana).Offers("undo:a1", "stop:t1").Starts("c1", "r1").Offers("stop:t1")
	x.Put(StopAsked{Turn: "t1", By: script.Ana}).Offers()
}

func TestTheCardOffersWhatCanBeTaken(t *testing.T) {
	rest := []string{"deny:a1", "view:a1", "edit:a1", "deny_reason:a1", "extend:a1", "stop:a1"}
	grants := []string{"allow_hour:a1", "allow_uses:a1", "allow_session:a1"}
	script.Asked(t).Offers(slices.Concat([]string{"allow_chat:a1", "allow_once:a1"}, rest[:5], grants, rest[5:])...)
	r := script.Rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Scopes, r.Ruling.Remember = []permission.Scope{permission.ScopeWrites, permission.ScopeServer}, true
	script.Begin(t, script.Proposes("c1", "w", `{"path":"a/b.txt"}`)).Put(r).Offers(slices.Concat([]string{"allow_chat:a1", "allow_once:a1"}, rest[:5],
		[]string{"allow_exact:a1", "allow_path:a1"}, grants[:2], []string{"allow_writes:a1", "allow_server:a1", "remember:a1"}, grants[2:], rest[5:])...)
	for name, spoil := range map[string]func(*Ruled){
		"no grants": func(r *Ruled) { r.Ruling.ChatGrant = false },
		"admins":    func(r *Ruled) { r.Ruling.Level = permission.LevelAdmin },
	} {
		r := script.Rules("c1", "a1", permission.Ask, permission.Write)
		spoil(&r)
		t.Run(name, func(t *testing.T) {
			script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(r).Offers(append([]string{"allow_once:a1"}, rest...)...)
		})
	}
	big := func(id string) Proposal {
		return script.Proposes(id, "w", `{"text":"`+strings.Repeat("x", 200_000)+`"}`)
	}
	script.Begin(t, big("c1")).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).Offers("deny:a1", "view:a1", "deny_reason:a1", "extend:a1", "stop:a1")
	parked := script.Rules("c1", "a1", permission.Ask, permission.Write)
	parked.Ruling.Timeout = 0
	script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(parked).Offers("allow_chat:a1", "allow_once:a1", "deny:a1", "view:a1", "edit:a1", "deny_reason:a1", "allow_hour:a1", "allow_uses:a1", "allow_session:a1", "stop:a1").Hides(text.Until)
	script.Asked(t).Shows("until 14:03")
	script.Lost(t).Offers("happened:a2", "run_again:a2", "leave:a2", "view:a2", "extend:a2", "stop:a2").Shows("The connection was lost.", text.OutcomeFooter)

	// All at once, only where all can be shown.
	both := func(calls ...Proposal) []string {
		x := script.Begin(t, calls...).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write))
		m, _ := x.View(Live{})
		return script.Buttons(render.Message{Choices: m.Choices})
	}
	small := func(id string) Proposal { return script.Proposes(id, "w", `{"id":"`+id+`"}`) }
	for _, c := range []struct {
		got  []string
		want string
	}{
		{both(small("c1"), small("c2")), "approve_all:all deny_all:all stop:t1"},
		{both(big("c1"), small("c2")), "deny_all:all stop:t1"},
		{both(small("c1"), big("c2")), "deny_all:all stop:t1"},
	} {
		if got := strings.Join(c.got, " "); got != c.want {
			t.Errorf("offered %s, want %s", got, c.want)
		}
	}
}

// Others read the same card: what fewer can give than can answer says who they are.
// R106 R107
func TestTheCardSaysWhoCanGiveWhat(t *testing.T) {
	session := text.LabelAllowSession
	for risk, want := range map[permission.Risk]string{permission.Moderate: "Allow all from files", permission.Dangerous: "Only an admin: Allow all from files"} {
		r := script.Rules("c1", "a1", permission.Ask, permission.Write)
		r.Ruling.Scopes, r.Ruling.Risk = []permission.Scope{permission.ScopeServer}, risk
		x := script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(r)
		if c, _ := Find(x.Session, chat.AllowServer, "a1"); c.Label != want {
			t.Errorf("%q, want %q", c.Label, want)
		}
	}
	asks := func(by chat.User, who ...string) string {
		r := script.Rules("c1", "a1", permission.Ask, permission.Write)
		r.Card.Who = who
		x := script.Begin(t).Answer().Put(script.Says("m2", "go", by))
		x.Put(Replied{Turn: x.Session.Turn.ID, Calls: []Proposal{script.Proposes("c1", "w", `{}`)}}, r)
		c, _ := Find(x.Session, chat.AllowSession, "a1")
		return c.Label
	}
	only := "Only Ana or an admin: " + session
	for _, x := range []struct{ got, want string }{
		{asks(script.Ana), session}, {asks(script.Ana, "Ana"), session}, {asks(script.Ana, "anyone in this chat"), only}, {asks(script.Ben), only}, {asks(script.Ben, "Ben"), only},
	} {
		if x.got != x.want {
			t.Errorf("%q, want %q", x.got, x.want)
		}
	}
}

func TestWhoCanAnswer(t *testing.T) {
	ask := func(f func(*Ruled)) *script.Script {
		r := script.Rules("c1", "a1", permission.Ask, permission.Write)
		f(&r)
		return script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(script.Says("m2", "hi", script.Ben), r)
	}
	ask(func(*Ruled) {}).Shows("Ana" + text.CanAnswer)
	ask(func(r *Ruled) { r.Ruling.Level = permission.LevelAdmin }).Shows(text.Capital(text.AnAdmin) + text.CanAnswer).Hides("Ana")
	ask(func(r *Ruled) { r.Card.Who = []string{"Cem", "Dua"}; r.Ruling.Level = permission.LevelAdmin }).Shows("Cem or Dua"+text.CanAnswer).Hides(text.Capital(text.AnAdmin), "Ana")
	ask(func(r *Ruled) { r.Card.Notice = "No admin is configured." }).Shows(" No admin is configured.")
	x := ask(func(*Ruled) {})
	x.Session.People = nil // so many others took part since
	x.Shows("ana" + text.CanAnswer)
}

func TestTheWarningStandsOnce(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "w", `{"n":2}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write))
	if _, said := x.View(Live{}); strings.Count(said, text.Review) != 1 || !strings.Contains(said, text.BatchHeader(2, 2)) {
		t.Errorf("two asks:\n%s", said)
	}
	x.Decides("c1", chat.Deny, script.Ana).Shows(text.Review).Hides("need")
	if m, _ := x.View(Live{}); len(m.Blocks) == 0 {
		t.Error("no blocks")
	} else if _, ok := m.Blocks[len(m.Blocks)-1].(render.Ask); !ok {
		t.Error("what waits for a person does not stand last")
	}
}

func TestNotesOfATurn(t *testing.T) {
	x := script.New(t).Put(script.Says("m1", "hi", script.Ana), Shown{Turn: "t1", Message: "s"}, Replied{Turn: "t1", Left: 3, Faults: []string{"wiki does not answer."}, Calls: []Proposal{script.Proposes("c1", "w", `{}`)}})
	x.Shows(text.LeftOut(3), "wiki does not answer.").Hides("not taken over", "wait", text.Unheard)
	x.Put(Edited{Delivery: "e1", Message: "m1", By: script.Ana}).Shows(text.EditIgnored(1))
	x.Put(script.Says("m2", "2", script.Ben)).Shows(text.MoreWaiting(1)).Put(script.Says("m3", "3", script.Ben)).Shows(text.MoreWaiting(2))
	x.Hides(text.AlwaysAsks, text.NeverAsks)
	x.Put(ModeSet{Mode: permission.ModeAlways, Rev: 1, By: script.Ana}).Shows(text.AlwaysAsks).Hides(text.NeverAsks)
	x.Put(ModeSet{Mode: permission.ModeNever, Rev: 2, By: script.Ana}).Shows(text.NeverAsks).Hides(text.AlwaysAsks)
	x.Put(script.Rules("c1", "a1", permission.Forbid, permission.Write), Replied{Turn: "t1", Step: 1, Text: "Well."}).Shows(text.LeftOut(3), "wiki does not answer.")
	x.Put(Ended{Turn: "t1", Why: Answered}, script.Says("m4", "4", script.Ana)) // the next turn is open, and more waits
	if said := render.PlainText(View(x.Session, x.Session.Last, Live{})); strings.Contains(said, text.MoreWaiting(1)) || strings.Contains(said, text.NeverAsks) {
		t.Errorf("the ended turn tells of what is the open one's:\n%s", said)
	}
	x.Shows(text.MoreWaiting(1), text.NeverAsks)
}

// R78 R93 R94
func TestFacts(t *testing.T) {
	for want, change := range map[string]func(*permission.Ruling){
		"⚠️ changes things · not classified yet\n":            func(r *permission.Ruling) { r.Unrated = true },
		"⚠️ changes things · moderate risk\n":                 func(*permission.Ruling) {},
		"⚠️ only reads · safe\n":                              func(r *permission.Ruling) { r.Access, r.Risk = permission.Read, permission.Safe },
		"⚠️ says it only reads, not checked · not classified": func(r *permission.Ruling) { r.SaysReads, r.Unrated = true, true },
		"🔐 an admin decides · may do anything · dangerous\n": func(r *permission.Ruling) {
			r.Access, r.Risk, r.Level = permission.All, permission.Dangerous, permission.LevelAdmin
		},
		"🔐 an admin decides · changes things · moderate risk\n": func(r *permission.Ruling) { r.Approval = permission.RequireAuth },
		" · Restarts the shop.\n":                               func(r *permission.Ruling) { r.Impact = "Restarts the shop." },
	} {
		r := script.Rules("c1", "a1", permission.Ask, permission.Write)
		change(&r.Ruling)
		script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(r).Shows(want)
	}
}

// The steps of each reply stand under its words.
func TestStepsStandUnderTheirReply(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "one", `{}`)).Forbids("c1").Put(Replied{Turn: "t1", Step: 1, Text: "Another.", Cut: true, Calls: []Proposal{script.Proposes("c2", "two", `{}`)}}).Forbids("c2")
	_, said := x.View(Live{})
	at := -1
	for _, w := range []string{"I'll do that.", "One", "Another.", text.CutReply, "Two"} {
		i := strings.Index(said, w)
		if i <= at || strings.Count(said, w) != 1 {
			t.Errorf("%q is not where it belongs, once:\n%s", w, said)
		}
		at = i
	}
	if strings.Count(said, "not allowed") != 2 {
		t.Errorf("each call once:\n%s", said)
	}
	long := strings.Repeat("z", 400)
	x = script.Asked(t)
	x.Put(Decided{Ask: "a1", Digest: x.Call("c1").Digest, By: script.Ben, Name: long, Reason: long}).Shows(strings.Repeat("z", 79)+"…", "“"+strings.Repeat("z", 199)+"…”").Hides(strings.Repeat("z", 200))
}

// Only addresses that people wrote in this chat are known; not what a model or a tool brought, nor what was quoted from before.
func TestViewKnowsWhichHostsPeopleBrought(t *testing.T) {
	s := Session{
		Transcript: []Utterance{
			{Role: RoleUser, Text: "read https://Docs.example/a and http://two.example:8080", Context: []chat.Quote{{Text: "https://quoted.example"}}},
			{Role: RoleAssistant, Text: "https://model.example", Calls: []TalkCall{{Result: Result{Text: "https://tool.example"}}}},
			{Role: RoleNote, Text: "https://note.example"},
		},
		Turn: &Turn{ID: "t", Replies: []Reply{{Text: "see https://model.example"}}},
	}
	if got := View(s, s.Turn, Live{}).Hosts; !slices.Equal(got, []string{"docs.example", "two.example"}) {
		t.Errorf("got %q", got)
	}
	s.Turn.Replies[0].Text = "no address"
	if got := View(s, s.Turn, Live{}).Hosts; got != nil {
		t.Errorf("got %q for a message without any", got)
	}
	if got := render.Fit(View(s, s.Turn, Live{Text: "https://x.example"}), render.Floor).Hosts; len(got) != 2 {
		t.Errorf("Fit keeps %q", got)
	}
}

// TestAnAnswerWithNothingInIt: a turn that is over does not look as if it went on.
func TestAnAnswerWithNothingInIt(t *testing.T) {
	x := script.New(t)
	x.Put(script.Says("m1", "hi", script.Ana))
	if got := View(x.Session, x.Session.Turn, Live{}).Blocks; !reflect.DeepEqual(got, []render.Block{render.Note{Line: render.Line{render.Plain(text.Thinking)}}}) {
		t.Errorf("while it is asked: %v", got)
	}
	x.Put(Replied{Turn: x.Session.Turn.ID}, Ended{Turn: x.Session.Turn.ID, Why: Answered})
	if got := View(x.Session, x.Session.Last, Live{}).Blocks; !reflect.DeepEqual(got, []render.Block{render.Note{Line: render.Line{render.Plain(text.NoAnswer)}}}) {
		t.Errorf("afterwards: %v", got)
	}
}

// R90 R92
func TestTheQuestionIsASentence(t *testing.T) {
	for args, want := range map[string]string{
		`{}`:                                     "Write file?",
		`{"content":"hello","path":"notes.txt"}`: "Write file “notes.txt”?",
		`{"source":"a.txt","destination":"b.txt"}`:   "Write file “a.txt” → “b.txt”?",
		`{"n":3,"list":[1,2]}`:                       "Write file “3”?",
		`{"list":[1,2],"deep":{"path":"x"}}`:         "Write file?",
		`{"path":"` + strings.Repeat("x", 70) + `"}`: "Write file “" + strings.Repeat("x", 59) + "…”?",
		`{"path":"a\nb” Approved by an admin. “"}`:   "Write file?",
		`{"path":"b” Approved by an admin. “"}`:      "Write file “b\" Approved by an admin. \"”?",
		`{"password":"hunter2","title":"x"}`:         "Write file “x”?",
		`{"password":"hunter2"}`:                     "Write file?",
		`{"to":"ben"}`:                               "Write file “ben”?",
		`{"path":"a","to":""}`:                       "Write file “a”?",
		`{"path":"","n":""}`:                         "Write file?",
		`{"any":"` + strings.Repeat("x", 41) + `"}`:  "Write file?",
	} {
		x := script.Begin(t, script.Proposes("c1", "write_file", args)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).Shows("\n" + want + "\n").Hides("hunter2")
		if got := What(x.Call("c1")); got+"?" != want {
			t.Errorf("its step says %q", got)
		}
	}
	r := script.Rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Message = "Roll checkout back to 7?"
	script.Begin(t, script.Proposes("c1", "rollback", `{}`)).Put(r).Shows("\nRoll checkout back to 7?\n").Hides("Rollback")
}

// What may destroy something, or nobody classified, is confirmed in words before it is allowed for a chat (R74).
func TestAllowForThisChatIsConfirmedInWords(t *testing.T) {
	confirm := func(change func(*permission.Ruling)) string {
		r := script.Rules("c1", "a1", permission.Ask, permission.Write)
		change(&r.Ruling)
		m, _ := script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(r).View(Live{})
		c, ok := m.Find(chat.AllowChat, "a1")
		if !ok {
			t.Fatal("it is not offered")
		}
		return c.Confirm
	}
	want := text.ConfirmChat("w", "files", "Ana")
	for got, want := range map[string]string{
		confirm(func(r *permission.Ruling) { r.Unrated = true }):               want,
		confirm(func(r *permission.Ruling) { r.Risk = permission.Dangerous }):  want + "",
		confirm(func(r *permission.Ruling) { r.Risk = permission.Safe }) + " ": " ",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Several questions are one list: a row each, what is the same for all stands once, on the last.
func TestSeveralQuestionsAreAList(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "w", `{"path":"a"}`), script.Proposes("c2", "w", `{"path":"b"}`)).
		Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write))
	m, said := x.View(Live{})
	var rows []render.Ask
	for _, b := range m.Blocks {
		if a, ok := b.(render.Ask); ok {
			rows = append(rows, a)
		}
	}
	if len(rows) != 2 || !rows[0].Brief || !rows[1].Brief || rows[0].Warning != "" || rows[1].Warning == "" || rows[1].Review == "" || len(rows[0].Footer) > 0 || len(rows[1].Footer) == 0 {
		t.Fatalf("%+v", rows)
	}
	if strings.Count(said, text.AllowHeader("files")) != 1 {
		t.Errorf("its server is named so often:\n%s", said)
	}
	if got := script.Buttons(render.Message{Blocks: []render.Block{rows[0]}}); !slices.Equal(got[:2], []string{"allow_once:a1", "deny:a1"}) || !slices.Contains(got, "allow_chat:a1") {
		t.Errorf("a row offers %q", got)
	}
	if c, ok := m.Find(chat.ApproveAll, BatchToken(OpenAsks(x.Session))); !ok || !strings.Contains(c.Confirm, "Write “a” (files), ") && !strings.Contains(c.Confirm, "W “a” (files), W “b” (files)") {
		t.Errorf("all are allowed after %q", c.Confirm)
	}
}

// Reads of one tool are one question. All of them stand in it, and one answer decides exactly these.
func TestReadsAreAskedTogether(t *testing.T) {
	reads := func(change func(*Ruled)) *script.Script {
		x := script.Begin(t, script.Proposes("c1", "read", `{"path":"a"}`), script.Proposes("c2", "read", `{"path":"b","head":3}`), script.Proposes("c3", "write", `{"path":"c"}`))
		r1, r2 := script.Rules("c1", "a1", permission.Ask, permission.Read), script.Rules("c2", "a2", permission.Ask, permission.Read)
		change(&r2)
		return x.Put(r1, r2, script.Rules("c3", "a3", permission.Ask, permission.Write))
	}
	x := reads(func(*Ruled) {}).Shows("Read “a” and 1 more?", "1: path: a\n", "2: path: b, head: 3\n", text.LabelAllowThese(2), "Write “c”?")
	batches := Together(x.Session)
	if len(batches) != 2 || len(batches[0]) != 2 {
		t.Fatalf("%d questions", len(batches))
	}
	if got := Batch(x.Session, BatchToken(batches[0])); len(got) != 2 {
		t.Errorf("its token answers %d", len(got))
	}
	if got := Batch(x.Session, BatchToken(OpenAsks(x.Session))); len(got) != 3 {
		t.Errorf("the token of all answers %d", len(got))
	}
	x.Decides("c1", chat.Deny, script.Ana)
	if got := Batch(x.Session, BatchToken(batches[0])); got != nil {
		t.Errorf("one was decided meanwhile, and the token still answers %d", len(got))
	}
	for name, change := range map[string]func(*Ruled){
		"writes":       func(r *Ruled) { r.Ruling.Access = permission.Write },
		"dangerous":    func(r *Ruled) { r.Ruling.Risk = permission.Dangerous },
		"others":       func(r *Ruled) { r.Card.Who = []string{"Ben"} },
		"admins":       func(r *Ruled) { r.Ruling.Level = permission.LevelAdmin },
		"two people":   func(r *Ruled) { r.Ruling.Approvals = 2 },
		"hides":        func(r *Ruled) { r.Ruling.Masked = true },
		"its own word": func(r *Ruled) { r.Ruling.Message = "Read b?" },
	} {
		if x := reads(change); len(Together(x.Session)) != 3 {
			t.Errorf("%s: asked together with what only reads", name)
		}
	}
}

func TestAReadThatNobodyClassifiedIsConfirmedAmongOthersToo(t *testing.T) {
	r := func(call, ask string) Ruled {
		r := script.Rules(call, ask, permission.Ask, permission.Write)
		r.Ruling.SaysReads, r.Ruling.Unrated = true, true
		return r
	}
	m, _ := script.Begin(t, script.Proposes("c1", "read", `{"path":"a"}`), script.Proposes("c2", "read", `{"path":"b"}`)).Put(r("c1", "a1"), r("c2", "a2")).View(Live{})
	if c, ok := m.Find(chat.AllowChat, "a1"); !ok || c.Confirm != text.ConfirmChat("read", "files", "Ana") {
		t.Errorf("%+v", c)
	}
}
