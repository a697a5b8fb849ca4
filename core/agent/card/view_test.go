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
	for why, want := range map[Why]render.State{Answered: render.Done, WasStopped: render.Stopped, TooManySteps: render.Stopped, TooManyDenials: render.Stopped,
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
		Shows("wipe · failed · There is no tool named wipe.\n").Hides("allowed", "took", "0 s")
	script.Begin(t, Proposal{ID: "c1", Tool: permission.Tool{Name: "wipe"}, Problem: " "}).Shows("wipe · failed\n")
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
	x.Shows("w · files · done · 0 s · "+text.ByGrant(chat.AllowChat)+"ana\n", "not started · "+text.ByGrant(chat.AllowChat)+"ana · ", "allowed once by Ben 14:02 UTC · "+text.StartsLater)
	x.Hides(text.ByGrant(chat.AllowChat) + "Ben")
	x.Put(Revoked{Grants: []permission.GrantID{"g"}, By: script.Ana}).Shows("done · 0 s · " + text.ByGrant(chat.AllowChat) + "ana")
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
	x.Put(Revoked{Grants: []permission.GrantID{"g-c1"}, By: script.Ana}).Offers("stop:t1").Hides("is allowed in this chat")
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
		Decides("c1", chat.Deny, script.Ana).Offers("undo:a1", "allow_chat:a2", "allow_once:a2", "deny:a2", "deny_reason:a2", "edit:a2", "view:a2", "why:a2", "allow_exact:a2", "allow_hour:a2", "allow_uses:a2", "allow_session:a2", "extend:a2", "stop:t1").Decides("c2", chat.Deny, script.Ana).Offers("stop:t1").Answer()
	x.Put(script.Says("m2", "again", script.Ana))
	x.Put(Replied{Turn: x.Session.Turn.ID, Calls: []Proposal{script.Proposes("c3", "w", `{"n":3}`)}}) // as far as the ended turn was when its calls were open
	if got := script.Buttons(View(x.Session, x.Session.Last, Live{})); len(got) > 0 {
		t.Errorf("the ended turn offers %q", got)
	}
	x = script.Asked(t).Decides("c1", chat.AllowOnce, script.Ana).Offers("undo:a1", "stop:t1").Starts("c1", "r1").Offers("stop:t1")
	x.Put(StopAsked{Turn: "t1", By: script.Ana}).Offers()
}

func TestTheCardOffersWhatCanBeTaken(t *testing.T) {
	rest := []string{"deny:a1", "deny_reason:a1", "edit:a1", "view:a1", "why:a1", "extend:a1", "stop:t1"}
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
	script.Begin(t, big("c1")).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).Offers("deny:a1", "deny_reason:a1", "view:a1", "why:a1", "extend:a1", "stop:t1")
	parked := script.Rules("c1", "a1", permission.Ask, permission.Write)
	parked.Ruling.Timeout = 0
	script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(parked).Offers("allow_chat:a1", "allow_once:a1", "deny:a1", "deny_reason:a1", "edit:a1", "view:a1", "why:a1", "allow_hour:a1", "allow_uses:a1", "allow_session:a1", "stop:t1").Hides("expires")
	script.Asked(t).Shows("expires 14:03")
	script.Lost(t).Offers("happened:a2", "run_again:a2", "leave:a2", "view:a2", "extend:a2", "stop:t1").Shows("The connection was lost.", text.OutcomeFooter)

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

func TestWhoCanAnswer(t *testing.T) {
	ask := func(f func(*Ruled)) *script.Script {
		r := script.Rules("c1", "a1", permission.Ask, permission.Write)
		f(&r)
		return script.Begin(t, script.Proposes("c1", "w", `{}`)).Put(script.Says("m2", "hi", script.Ben), r)
	}
	ask(func(*Ruled) {}).Shows("Ana" + text.CanAnswer)
	ask(func(r *Ruled) { r.Ruling.Level = permission.LevelAdmin }).Shows(text.AnAdmin + text.CanAnswer).Hides("Ana")
	ask(func(r *Ruled) { r.Card.Who = []string{"Cem", "Dua"}; r.Ruling.Level = permission.LevelAdmin }).Shows("Cem or Dua"+text.CanAnswer).Hides(text.AnAdmin, "Ana")
	ask(func(r *Ruled) { r.Card.Notice = "No admin is configured." }).Shows(" · No admin is configured.")
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
	x.Shows(text.LeftOut(3), "wiki does not answer.").Hides("not taken over", "wait")
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
func TestChips(t *testing.T) {
	for _, c := range []struct {
		r    permission.Ruling
		want string
	}{
		{permission.Ruling{}, "✎ Write access, ◑ moderate, ⚠️ confirmation"},
		{permission.Ruling{Access: permission.Read, Risk: permission.Safe, Approval: permission.AutoApprove}, "◉ Read access, ○ safe, ✅ auto"},
		{permission.Ruling{Access: permission.All, Risk: permission.Dangerous, Approval: permission.RequireAuth}, "∗ Full access, ● dangerous, 🔐 admin"},
		{permission.Ruling{Access: permission.Write, Level: permission.LevelAdmin, Approval: permission.AutoApprove}, "✎ Write access, ◑ moderate, 🔐 admin"},
	} {
		var chips []string
		for _, f := range Facts(c.r) {
			chips = append(chips, f.Symbol+" "+f.Label)
		}
		if got := strings.Join(chips, ", "); got != c.want {
			t.Errorf("%+v: %s, want %s", c.r, got, c.want)
		}
	}
}

// The steps of each reply stand under its words.
func TestStepsStandUnderTheirReply(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "one", `{}`)).Forbids("c1").Put(Replied{Turn: "t1", Step: 1, Text: "Another.", Cut: true, Calls: []Proposal{script.Proposes("c2", "two", `{}`)}}).Forbids("c2")
	_, said := x.View(Live{})
	at := -1
	for _, w := range []string{"I'll do that.", "one", "Another.", text.CutReply, "two"} {
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
