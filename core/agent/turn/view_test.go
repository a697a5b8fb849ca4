package turn

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// view is the message of the open turn, or of the last one, as text; every line of it is well made.
func (x *script) view(live Live) (render.Message, string) {
	x.t.Helper()
	tn := x.s.Turn
	if tn == nil {
		tn = x.s.Last
	}
	m := View(x.s, tn, live)
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case render.Step:
			wellMade(x.t, b.Detail)
		case render.Ask:
			wellMade(x.t, b.Footer)
			wellMade(x.t, b.Because)
		case render.Note:
			wellMade(x.t, b.Line)
		}
	}
	return m, render.PlainText(m)
}

// wellMade: words stand in one piece, so that they can be measured and cut, and no separator begins or ends a line.
func wellMade(t *testing.T, l render.Line) {
	t.Helper()
	for i, s := range l {
		p, ok := s.(render.Plain)
		if ok && i > 0 {
			_, split := l[i-1].(render.Plain)
			if split {
				t.Errorf("%q falls into pieces: %q", render.PlainLine(l), l)
			}
		}
		if ok && p == "" {
			t.Errorf("an empty piece in %q", l)
		}
	}
	if text := render.PlainLine(l); strings.HasPrefix(text, " · ") || strings.HasSuffix(text, " · ") || strings.Contains(text, " ·  · ") {
		t.Errorf("%q has a separator too many", text)
	}
}

// shows and hides look for text in the message.
func (x *script) shows(texts ...string) *script {
	x.t.Helper()
	_, text := x.view(Live{})
	for _, w := range texts {
		if !strings.Contains(text, w) {
			x.t.Errorf("%q does not stand in the message:\n%s", w, text)
		}
	}
	return x
}

func (x *script) hides(texts ...string) *script {
	x.t.Helper()
	_, text := x.view(Live{})
	for _, w := range texts {
		if strings.Contains(text, w) {
			x.t.Errorf("%q stands in the message:\n%s", w, text)
		}
	}
	return x
}

// buttons are a message's choices, those of asks as choice:ask, in order.
func buttons(m render.Message) []string {
	var all []render.Choice
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case render.Step:
			all = append(all, b.Choices...)
		case render.Ask:
			all = append(append(all, b.Choices...), b.More...)
		case render.Note:
			all = append(all, b.Choices...)
		}
	}
	var names []string
	for _, c := range append(all, m.Choices...) {
		if strings.HasPrefix(c.Token, "all-") {
			c.Token = "all"
		}
		names = append(names, fmt.Sprintf("%s:%s", c.Choice, c.Token))
	}
	return names
}

func (x *script) offers(want ...string) *script {
	x.t.Helper()
	m, _ := x.view(Live{})
	if got := buttons(m); !slices.Equal(got, want) {
		x.t.Errorf("offered %q, want %q", got, want)
	}
	return x
}

func (x *script) state(want render.State) *script {
	x.t.Helper()
	if m, _ := x.view(Live{}); m.State != want {
		x.t.Errorf("the turn is %s, want %s", m.State, want)
	}
	return x
}

func TestStatesOfAMessage(t *testing.T) {
	newScript(t).put(says("m1", "hi", ana)).state(render.Working).shows(render.Thinking)
	asked(t).state(render.Waiting).decides("c1", chat.AllowOnce, ana).state(render.Working)
	lost(t).state(render.Waiting).put(Resolved{Ask: "a2", Answer: chat.Leave, By: ana}).state(render.Working)
	for why, want := range map[Why]render.State{Answered: render.Done, WasStopped: render.Stopped, TooManySteps: render.Stopped, TooManyDenials: render.Stopped,
		ModelFailed: render.Failed, NoProgress: render.Failed, MessageGone: render.Failed, Broken: render.Failed} {
		asked(t).put(Ended{Turn: "t1", Why: why}).state(want)
	}
}

func TestWhyATurnEnded(t *testing.T) {
	sentences := map[Why]string{Answered: "", WasStopped: "", TooManySteps: render.EndSteps(), TooManyDenials: render.EndDenials(), ModelFailed: render.EndModel(),
		NoProgress: render.EndProgress(), Broken: render.EndProgress(), MessageGone: render.EndGone()}
	for why := range sentences {
		x := begin(t).put(Ended{Turn: "t1", Why: why})
		for other, sentence := range sentences {
			switch sentence {
			case "":
			case sentences[why]:
				x.shows(sentence)
			default:
				x.hides(sentences[other])
			}
		}
		begin(t).put(Ended{Turn: "t1", Why: why, Say: "It rains."}).shows("It rains.").hides(render.EndSteps(), render.EndDenials(), render.EndModel(), render.EndProgress(), render.EndGone())
	}
}

func TestStopIsToldOnce(t *testing.T) {
	stop := StopAsked{Turn: "t1", By: ben, Name: "Ben"}
	x := ran(t).hides(render.Stopping).offers("stop:t1").put(stop).shows(render.Stopping).hides("Stopped by").offers()
	x.put(Finished{Call: "c1", Run: "r1"}, Ended{Turn: "t1", Why: WasStopped}).shows(render.StoppedBy("Ben", 0)).hides(render.Stopping)
	asked(t).put(stop, Ended{Turn: "t1", Why: MessageGone}).shows(render.EndGone()).hides("Stopped by")
	asked(t).put(Ended{Turn: "t1", Why: Answered}).hides("Stopped by")
}

// What streams belongs to an open turn.
func TestLiveWords(t *testing.T) {
	live := Live{Text: "I am wri", Note: "Trying again in 20 s.", Progress: map[CallID]Progress{"c1": {Done: 1, Total: 3, Message: "a third"}}}
	x := ran(t)
	has := func(want ...bool) {
		t.Helper()
		_, text := x.view(live)
		for i, w := range []string{live.Text, live.Note, "33 %", "a third"} {
			if strings.Contains(text, w) != want[i] {
				t.Errorf("%q: want %v in\n%s", w, want[i], text)
			}
		}
	}
	has(true, true, true, true)
	live.Progress = map[CallID]Progress{"c9": {Done: 1, Total: 3, Message: "a third"}}
	has(true, true, false, false)
	x.put(Finished{Call: "c1", Run: "r1"}).answer()
	has(false, false, false, false)
	for p, want := range map[Progress]string{{Done: 9, Total: 3}: "100 %", {Done: -1, Total: 3}: "0 %"} {
		live.Progress = map[CallID]Progress{"c1": p}
		if _, text := ran(t).view(live); !strings.Contains(text, want) {
			t.Errorf("%v is not drawn as %s:\n%s", p, want, text)
		}
	}
	live.Progress = map[CallID]Progress{"c1": {Done: 7}}
	if _, text := ran(t).view(live); strings.Contains(text, "%") {
		t.Errorf("a share of nobody knows how much:\n%s", text)
	}
}

// Who ended a run is known where the process that ran it has seen it through: nod is not to blame then.
func TestAnUnknownOutcomeBlamesWhoItWas(t *testing.T) {
	gone := Abandoned{Call: "c1", Run: "r1", Token: 1, Own: true, Ask: "a2", Wait: time.Minute, Say: "The box server stopped while w ran (exit status 3)."}
	left := Resolved{Ask: "a2", Answer: chat.Leave, By: ben, Name: "Ben"}
	ran(t).put(gone).shows(render.OutcomeNoAnswer, gone.Say).hides("nod was interrupted").put(left).shows(render.RanNoAnswer).hides(render.Interrupted)
	gone.Say, gone.Own, gone.Token = "", false, 2
	ran(t).put(gone).shows(render.OutcomeHeader).hides(render.OutcomeNoAnswer).put(left).shows(render.Interrupted)
}

// A call whose arguments nobody could check says so on its card, also when it is asked for anew; other arguments start afresh.
func TestUncheckedArgumentsStandOnTheCard(t *testing.T) {
	p := proposes("c1", "w", `{}`)
	begin(t, p).put(rules("c1", "a1", permission.Ask, permission.Write)).hides(render.Unchecked)
	p.Unchecked = true
	x := begin(t, p).put(rules("c1", "a1", permission.Ask, permission.Write)).shows(render.Unchecked)
	x.fork().put(Amended{Ask: "a1", By: ana, Args: []byte(`{"n":1}`), Digest: "other"}, rules("c1", "a2", permission.Ask, permission.Write)).hides(render.Unchecked)
	x.fork().put(Amended{Ask: "a1", By: ana, Args: []byte(`{"n":1}`), Digest: "other", Unchecked: true}, rules("c1", "a2", permission.Ask, permission.Write)).shows(render.Unchecked)
	x.after(time.Hour).put(Expired{Ask: "a1"}, Ended{Turn: "t1", Why: Answered}, Reopened{Ask: "a1", By: ana, Name: "Ana", Next: "a3", NextCall: "c2"})
	x.put(Shown{Turn: x.s.Turn.ID, Message: "s2"}, rules("c2", "a3", permission.Ask, permission.Write)).shows(render.Unchecked)
}

func TestStepsSayWhatIsRecorded(t *testing.T) {
	begin(t, Proposal{ID: "c1", Tool: permission.Tool{Name: "wipe"}, Problem: "There is no tool named wipe.\nTools: none"}).
		shows("wipe · failed · There is no tool named wipe.\n").hides("allowed", "took", "0 s")
	begin(t, Proposal{ID: "c1", Tool: permission.Tool{Name: "wipe"}, Problem: " "}).shows("wipe · failed\n")
	begin(t, proposes("c1", "w", `{}`)).put(rules("c1", "a1", permission.Forbid, permission.Write)).shows(render.DeniedByPolicy).hides("denied by", "[Undo]")
	asked(t).decides("c1", chat.Deny, ben).shows("denied by Ben 14:02").hides(render.DeniedByPolicy, "“")
	x := asked(t)
	x.put(Decided{Ask: "a1", Digest: x.call("c1").Digest, By: ben, Name: "Ben", Reason: "not\ntoday"}).shows("denied by Ben 14:02 UTC · “not ⏎ today”")
	ran(t).put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "\ndisk full\nat line 1", IsError: true}}).shows("allowed once by Ana 14:02 UTC · disk full\n")
	ran(t).put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "secret words"}}).hides("secret words")
	lost(t).put(Resolved{Ask: "a2", Answer: chat.Happened, By: ben, Name: "Ben"}).shows(render.OutcomeHappened + "Ben").hides(render.OutcomeLeft)
	lost(t).put(Resolved{Ask: "a2", Answer: chat.Leave, By: ben, Name: "Ben"}).shows(render.OutcomeLeft + "Ben").hides(render.OutcomeHappened)
	asked(t).put(StopAsked{Turn: "t1", By: ana}).shows(render.NotRun)
	// A late result is told, also where there is nothing else to tell.
	x = lost(t).put(Resolved{Ask: "a2", Answer: chat.RunAgain, By: ana, Next: "a3"}).decides("c1", chat.AllowChat, ana).hides("came late")
	x.put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "x"}}, Revoked{Grants: []permission.GrantID{"g-c1"}, By: ana}).is("c1", Proposed, "").shows("not started · a result came late")
	// A name that nobody gave is the platform's key.
	x = asked(t)
	x.put(Decided{Ask: "a1", Digest: x.call("c1").Digest, By: ben}).shows("denied by ben")
}

func TestWhoAllowedIt(t *testing.T) {
	begin(t, proposes("c1", "w", `{}`)).put(rules("c1", "a1", permission.Allow, permission.Write)).shows(render.ByPolicy + " · " + render.ComesNext)
	asked(t).decides("c1", chat.AllowOnce, ben).shows("allowed once by Ben 14:02 UTC · " + render.ComesNext).hides(render.ByPolicy)
	x := covered(t)
	x.s.Grants = append([]permission.Grant{{ID: "h", By: ben, Name: "Ben"}}, x.s.Grants...)
	x.shows("w · files · done · 0 s · "+render.ByGrant(chat.AllowChat)+"ana\n", "not started · "+render.ByGrant(chat.AllowChat)+"ana · ", "allowed once by Ben 14:02 UTC · "+render.StartsLater)
	x.hides(render.ByGrant(chat.AllowChat) + "Ben")
	x.put(Revoked{Grants: []permission.GrantID{"g"}, By: ana}).shows("done · 0 s · " + render.ByGrant(chat.AllowChat) + "ana")
	// Once the turn is over nothing comes next.
	asked(t).decides("c1", chat.AllowOnce, ben).put(Ended{Turn: "t1", Why: Broken}).hides(render.ComesNext, render.StartsLater)
}

// A grant is told, with its way out, where it was made; not again at every call it covers.
func TestGrantNotes(t *testing.T) {
	x := begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)).put(rules("c1", "a1", permission.Ask, permission.Write)).decides("c1", chat.AllowChat, ana)
	r := rules("c2", "a2", permission.Allow, permission.Write)
	r.Ruling.Grant = "g-c1"
	x.s.Grants = append(x.s.Grants, permission.Grant{ID: "h", By: ben, Name: "Ben", Tool: permission.Tool{Name: "other"}})
	x.put(r).offers("undo:a1", "revoke:g-c1", "stop:t1").shows(render.GrantLine("w"+" of "+"files", "Ana")).hides("other")
	x.put(Revoked{Grants: []permission.GrantID{"g-c1"}, By: ana}).offers("stop:t1").hides("is allowed in this chat")
}

func TestAskAgainStandsWhereItWorks(t *testing.T) {
	lapsed := func() *script {
		return begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)).put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Allow, permission.Read)).
			starts("c2", "r2").after(time.Minute).put(Expired{Ask: "a1"})
	}
	done := Finished{Call: "c2", Run: "r2", Result: Result{Text: "two"}}
	again := Reopened{Ask: "a1", By: ana, Next: "a3", NextCall: "c3"}
	x := lapsed().shows("nobody answered in 60 s · not run").offers("ask_again:a1", "stop:t1")
	x.fork().put(StopAsked{Turn: "t1", By: ana}).offers()
	x.put(done)
	x.fork().put(again).offers("stop:t1")
	x.answer().offers("ask_again:a1")
	x.fork().put(again)
	x.s.Lapsed = slices.Clone(x.s.Lapsed)
	x.s.Lapsed[0].Call.ID = "another"
	x.offers()
	x.s.Lapsed = nil // forgotten: the button would find nothing
	x.offers()
	asked(t).decides("c1", chat.Deny, ana).answer().offers()
}

// Undo stands where it works: in the open turn.
func TestUndoEndsWithTheTurn(t *testing.T) {
	x := begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)).put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write)).
		decides("c1", chat.Deny, ana).offers("undo:a1", "allow_chat:a2", "allow_once:a2", "deny:a2", "deny_reason:a2", "edit:a2", "view:a2", "why:a2", "allow_exact:a2", "allow_hour:a2", "allow_uses:a2", "allow_session:a2", "extend:a2", "stop:t1").decides("c2", chat.Deny, ana).offers("stop:t1").answer()
	x.put(says("m2", "again", ana))
	x.put(Replied{Turn: x.s.Turn.ID, Calls: []Proposal{proposes("c3", "w", `{"n":3}`)}}) // as far as the ended turn was when its calls were open
	if got := buttons(View(x.s, x.s.Last, Live{})); len(got) > 0 {
		t.Errorf("the ended turn offers %q", got)
	}
	x = asked(t).decides("c1", chat.AllowOnce, ana).offers("undo:a1", "stop:t1").starts("c1", "r1").offers("stop:t1")
	x.put(StopAsked{Turn: "t1", By: ana}).offers()
}

func TestTheCardOffersWhatCanBeTaken(t *testing.T) {
	rest := []string{"deny:a1", "deny_reason:a1", "edit:a1", "view:a1", "why:a1", "extend:a1", "stop:t1"}
	grants := []string{"allow_hour:a1", "allow_uses:a1", "allow_session:a1"}
	asked(t).offers(slices.Concat([]string{"allow_chat:a1", "allow_once:a1"}, rest[:5], grants, rest[5:])...)
	r := rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Scopes, r.Ruling.Remember = []permission.Scope{permission.ScopeWrites, permission.ScopeServer}, true
	begin(t, proposes("c1", "w", `{"path":"a/b.txt"}`)).put(r).offers(slices.Concat([]string{"allow_chat:a1", "allow_once:a1"}, rest[:5],
		[]string{"allow_exact:a1", "allow_path:a1"}, grants[:2], []string{"allow_writes:a1", "allow_server:a1", "remember:a1"}, grants[2:], rest[5:])...)
	for name, spoil := range map[string]func(*Ruled){
		"no grants": func(r *Ruled) { r.Ruling.ChatGrant = false },
		"admins":    func(r *Ruled) { r.Ruling.Level = permission.LevelAdmin },
	} {
		r := rules("c1", "a1", permission.Ask, permission.Write)
		spoil(&r)
		t.Run(name, func(t *testing.T) {
			begin(t, proposes("c1", "w", `{}`)).put(r).offers(append([]string{"allow_once:a1"}, rest...)...)
		})
	}
	big := func(id string) Proposal { return proposes(id, "w", `{"text":"`+strings.Repeat("x", 200_000)+`"}`) }
	begin(t, big("c1")).put(rules("c1", "a1", permission.Ask, permission.Write)).offers("deny:a1", "deny_reason:a1", "view:a1", "why:a1", "extend:a1", "stop:t1")
	parked := rules("c1", "a1", permission.Ask, permission.Write)
	parked.Ruling.Timeout = 0
	begin(t, proposes("c1", "w", `{}`)).put(parked).offers("allow_chat:a1", "allow_once:a1", "deny:a1", "deny_reason:a1", "edit:a1", "view:a1", "why:a1", "allow_hour:a1", "allow_uses:a1", "allow_session:a1", "stop:t1").hides("expires")
	asked(t).shows("expires 14:03")
	lost(t).offers("happened:a2", "run_again:a2", "leave:a2", "view:a2", "extend:a2", "stop:t1").shows("The connection was lost.", render.OutcomeFooter)

	// All at once, only where all can be shown.
	both := func(calls ...Proposal) []string {
		x := begin(t, calls...).put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write))
		m, _ := x.view(Live{})
		return buttons(render.Message{Choices: m.Choices})
	}
	small := func(id string) Proposal { return proposes(id, "w", `{"id":"`+id+`"}`) }
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
	ask := func(f func(*Ruled)) *script {
		r := rules("c1", "a1", permission.Ask, permission.Write)
		f(&r)
		return begin(t, proposes("c1", "w", `{}`)).put(says("m2", "hi", ben), r)
	}
	ask(func(*Ruled) {}).shows("Ana" + render.CanAnswer)
	ask(func(r *Ruled) { r.Ruling.Level = permission.LevelAdmin }).shows(render.AnAdmin + render.CanAnswer).hides("Ana")
	ask(func(r *Ruled) { r.Card.Who = []string{"Cem", "Dua"}; r.Ruling.Level = permission.LevelAdmin }).shows("Cem or Dua"+render.CanAnswer).hides(render.AnAdmin, "Ana")
	ask(func(r *Ruled) { r.Card.Notice = "No admin is configured." }).shows(" · No admin is configured.")
	x := ask(func(*Ruled) {})
	x.s.People = nil // so many others took part since
	x.shows("ana" + render.CanAnswer)
}

func TestTheWarningStandsOnce(t *testing.T) {
	x := begin(t, proposes("c1", "w", `{}`), proposes("c2", "w", `{"n":2}`)).put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write))
	if _, text := x.view(Live{}); strings.Count(text, render.Review) != 1 || !strings.Contains(text, render.BatchHeader(2, 2)) {
		t.Errorf("two asks:\n%s", text)
	}
	x.decides("c1", chat.Deny, ana).shows(render.Review).hides("need")
	if m, _ := x.view(Live{}); len(m.Blocks) == 0 {
		t.Error("no blocks")
	} else if _, ok := m.Blocks[len(m.Blocks)-1].(render.Ask); !ok {
		t.Error("what waits for a person does not stand last")
	}
}

func TestNotesOfATurn(t *testing.T) {
	x := newScript(t).put(says("m1", "hi", ana), Shown{Turn: "t1", Message: "s"}, Replied{Turn: "t1", Left: 3, Faults: []string{"wiki does not answer."}, Calls: []Proposal{proposes("c1", "w", `{}`)}})
	x.shows(render.LeftOut(3), "wiki does not answer.").hides("not taken over", "wait")
	x.put(Edited{Delivery: "e1", Message: "m1", By: ana}).shows(render.EditIgnored(1))
	x.put(says("m2", "2", ben)).shows(render.MoreWaiting(1)).put(says("m3", "3", ben)).shows(render.MoreWaiting(2))
	x.hides(render.AlwaysAsks, render.NeverAsks)
	x.put(ModeSet{Mode: permission.ModeAlways, Rev: 1, By: ana}).shows(render.AlwaysAsks).hides(render.NeverAsks)
	x.put(ModeSet{Mode: permission.ModeNever, Rev: 2, By: ana}).shows(render.NeverAsks).hides(render.AlwaysAsks)
	x.put(rules("c1", "a1", permission.Forbid, permission.Write), Replied{Turn: "t1", Step: 1, Text: "Well."}).shows(render.LeftOut(3), "wiki does not answer.")
	x.put(Ended{Turn: "t1", Why: Answered}, says("m4", "4", ana)) // the next turn is open, and more waits
	if text := render.PlainText(View(x.s, x.s.Last, Live{})); strings.Contains(text, render.MoreWaiting(1)) || strings.Contains(text, render.NeverAsks) {
		t.Errorf("the ended turn tells of what is the open one's:\n%s", text)
	}
	x.shows(render.MoreWaiting(1), render.NeverAsks)
}

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
	x := begin(t, proposes("c1", "one", `{}`)).forbids("c1").put(Replied{Turn: "t1", Step: 1, Text: "Another.", Cut: true, Calls: []Proposal{proposes("c2", "two", `{}`)}}).forbids("c2")
	_, text := x.view(Live{})
	at := -1
	for _, w := range []string{"I'll do that.", "one", "Another.", render.CutReply, "two"} {
		i := strings.Index(text, w)
		if i <= at || strings.Count(text, w) != 1 {
			t.Errorf("%q is not where it belongs, once:\n%s", w, text)
		}
		at = i
	}
	if strings.Count(text, "not allowed") != 2 {
		t.Errorf("each call once:\n%s", text)
	}
	long := strings.Repeat("z", 400)
	x = asked(t)
	x.put(Decided{Ask: "a1", Digest: x.call("c1").Digest, By: ben, Name: long, Reason: long}).shows(strings.Repeat("z", 79)+"…", "“"+strings.Repeat("z", 199)+"…”").hides(strings.Repeat("z", 200))
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
	x := newScript(t)
	x.put(says("m1", "hi", ana))
	if got := View(x.s, x.s.Turn, Live{}).Blocks; !reflect.DeepEqual(got, []render.Block{note(render.Thinking)}) {
		t.Errorf("while it is asked: %v", got)
	}
	x.put(Replied{Turn: x.s.Turn.ID}, Ended{Turn: x.s.Turn.ID, Why: Answered})
	if got := View(x.s, x.s.Last, Live{}).Blocks; !reflect.DeepEqual(got, []render.Block{note(render.NoAnswer)}) {
		t.Errorf("afterwards: %v", got)
	}
}
