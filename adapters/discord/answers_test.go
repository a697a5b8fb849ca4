package discord

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

// clicked is a question in the channel, and a click on it that waits for its answer.
func (s *scene) clicked(user string, ref chat.MessageRef) (*answer, *fakediscord.Delivery) {
	s.t.Helper()
	d, err := s.Click(user, s.channel, string(ref), "Allow once")
	if err != nil {
		s.t.Fatal(err)
	}
	return s.a.answering(incoming{ID: d.ID, Token: d.Token(), Application: s.AppID(), Channel: s.channel, Message: string(ref), User: user, At: s.clock.Now()}), d
}

func typeOf(t *testing.T, d *fakediscord.Delivery) int {
	t.Helper()
	got, ok := d.Answered()
	if !ok {
		return 0
	}
	return got.Type
}

func TestEditIsTheAnswerToAClick(t *testing.T) {
	for _, lane := range []agent.Urgency{agent.Progress, agent.Final, agent.Decision} {
		budget := &samples.Budget{Wait: func(surface.Spend) time.Duration { return 0 }}
		s := newScene(t, fakediscord.Options{}, Config{Budget: budget})
		ref := s.posted(s.at(""), asking("one"))
		w, d := s.clicked(s.ada, ref)
		s.Forget()
		budget.Spent = nil
		if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("decided @everyone"), lane); err != nil {
			t.Fatal(err)
		}
		if typeOf(t, d) != answerUpdate || len(s.Calls(fakediscord.EditMessage)) != 0 || len(budget.Spent) != 0 {
			t.Errorf("lane %d: type %d, %d edits, spent %v", lane, typeOf(t, d), len(s.Calls(fakediscord.EditMessage)), budget.Pools())
		}
		if got := s.text(s.channel, ref); !strings.Contains(got, "decided") {
			t.Error(got)
		}
		// Trap 1.2.6: what a type 7 does not name is cleared, and discordgo names empty content and no embeds.
		a, _ := d.Answered()
		if _, there := a.Data["content"]; there || fmt.Sprint(a.Data["flags"]) != fmt.Sprint(int(components.FlagsShown)) || fmt.Sprint(a.Data["allowed_mentions"]) != "map[parse:[]]" {
			t.Errorf("%v", a.Data)
		}
		w.settle(t.Context()) // returns at once: it is answered
		if strings.Contains(s.log.String(), "could not be told") {
			t.Error(s.log)
		}
		if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("later"), lane); err != nil || s.Count(fakediscord.EditMessage) != 1 || s.Count(fakediscord.Callback) != 1 {
			t.Error("the next edit:", err)
		}
	}
}

func TestAFinalThatAnswersAClickFreesItsReserve(t *testing.T) {
	budget := &samples.Budget{}
	s := newScene(t, fakediscord.Options{}, Config{Budget: budget})
	ref := s.posted(s.at(""), asking("one"))
	s.clicked(s.ada, ref)
	budget.Spent = nil
	m := words("done")
	m.State = render.Done
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, m, agent.Final); err != nil {
		t.Fatal(err)
	}
	if len(budget.Spent) != 1 || budget.Spent[0].Limit != 0 || !budget.Spent[0].Ends || budget.Spent[0].Message != string(ref) {
		t.Errorf("%+v", budget.Spent)
	}
}

func TestSettleWaitsForTheEdit(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w, d := s.clicked(s.ada, ref)
	w.At = w.At.Add(time.Hour) // it would wait for ever
	done := make(chan struct{})
	go func() { defer close(done); w.settle(t.Context()) }()
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("decided"), agent.Decision); err != nil {
		t.Fatal(err)
	}
	<-done
	if typeOf(t, d) != answerUpdate || s.Count(fakediscord.Callback) != 1 {
		t.Error(typeOf(t, d))
	}
}

func TestSettleAnswersWhereNothingElseDid(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w, d := s.clicked(s.ada, ref)
	s.clock.Advance(settleAfter)
	w.settle(t.Context())
	if typeOf(t, d) != answerDeferred || strings.Contains(s.log.String(), "could not be told") {
		t.Error(typeOf(t, d), s.log)
	}
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("decided"), agent.Decision); err != nil || s.Count(fakediscord.EditMessage) != 1 {
		t.Error(err)
	}
}

func TestSettleAnswersThoughTheProcessEnds(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w, d := s.clicked(s.ada, ref)
	ctx, cancel := samples.EndedContext(t)
	defer cancel()
	w.settle(ctx)
	if typeOf(t, d) != answerDeferred {
		t.Error("the person reads that the interaction failed")
	}
}

func TestTwoPeopleClick(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w1, d1 := s.clicked(s.ada, ref)
	w2, d2 := s.clicked(s.bob, ref)
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("decided"), agent.Decision); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(settleAfter)
	w1.settle(t.Context())
	w2.settle(t.Context())
	if typeOf(t, d1) != answerUpdate || typeOf(t, d2) != answerDeferred {
		t.Error(typeOf(t, d1), typeOf(t, d2))
	}
}

// 40060: another replica that got the same click was faster.
func TestEditThatAnotherReplicaAnsweredIsPatchedAtOnce(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w, d := s.clicked(s.ada, ref)
	other := s.a.newAnswer(w.incoming)
	other.Message = ""
	if err := other.give(t.Context(), say("from the other replica")); err != nil {
		t.Fatal(err)
	}
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("decided"), agent.Decision); err != nil || s.Count(fakediscord.EditMessage) != 1 || typeOf(t, d) != answerMessage {
		t.Error(err)
	}
	if err := w.give(t.Context(), say("a follow-up")); err != nil || len(s.Seen(s.ada, s.channel)) != 2 {
		t.Error(err)
	}
}

// Where another replica has answered the first of two, the edit answers the second.
func TestTheNextClickIsAnsweredWhereTheFirstIs(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w, _ := s.clicked(s.ada, ref)
	_, d := s.clicked(s.bob, ref)
	if err := s.a.newAnswer(w.incoming).give(t.Context(), say("from the other replica")); err != nil {
		t.Fatal(err)
	}
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("decided"), agent.Decision); err != nil || typeOf(t, d) != answerUpdate || s.Count(fakediscord.EditMessage) != 0 {
		t.Error(err, typeOf(t, d))
	}
}

// 10062: three seconds went by. Discord says so: this process' clock may be the one that is wrong.
func TestEditAfterThreeSecondsIsPatched(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w, _ := s.clicked(s.ada, ref)
	s.Forget()
	s.clock.Advance(fakediscord.AnswerWithin + time.Millisecond)
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("decided"), agent.Decision); err != nil || s.Count(fakediscord.EditMessage) != 1 {
		t.Error(err)
	}
	if n := len(s.Calls(fakediscord.Callback)); n != 1 {
		t.Errorf("%d callbacks", n)
	}
	if err := w.give(t.Context(), say("x")); samples.KindOf(err) != agent.FaultGone {
		t.Error("an interaction that nobody answered takes a follow-up:", err)
	}
}

func TestEditWhoseAnswerToAClickFailsIsPatched(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w, d := s.clicked(s.ada, ref)
	s.Fail(fakediscord.Callback, 1, fakediscord.Fault{Cut: true})
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("decided"), agent.Decision); err != nil || s.Count(fakediscord.EditMessage) != 1 {
		t.Error(err)
	}
	if strings.Contains(s.log.String(), d.Token()) {
		t.Error("the interaction's token is in the log")
	}
	s.clock.Advance(settleAfter)
	w.settle(t.Context())
	if typeOf(t, d) != answerDeferred {
		t.Error("the click is left without an answer")
	}
}

func TestAShapeThatIsRefusedAsAnAnswerIsDrawnSimpler(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	_, d := s.clicked(s.ada, ref)
	s.Fail(fakediscord.Callback, 1, fakediscord.Fault{Status: 400, Code: discordgo.ErrCodeInvalidFormBody})
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, asking("two"), agent.Decision); err != nil || typeOf(t, d) != answerUpdate || s.Count(fakediscord.EditMessage) != 0 {
		t.Error(err, typeOf(t, d))
	}
	if _, err := s.Click(s.ada, s.channel, string(ref), "Deny"); err != nil {
		t.Error("the buttons are gone:", err)
	}
}

func TestWhisperIsForOnePerson(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w, d := s.clicked(s.ada, ref)
	const times = 12 // the first answer, then follow-ups
	for i := range times {
		if err := s.a.Whisper(t.Context(), w.handle(), inWords(fmt.Sprint("only you @everyone ", i))); err != nil {
			t.Fatal(err)
		}
	}
	seen := s.Seen(s.ada, s.channel)
	if len(seen) != times || len(s.Seen(s.bob, s.channel)) != 0 || typeOf(t, d) != answerMessage || len(s.Mine(s.channel)) != 1 {
		t.Fatalf("%d seen", len(seen))
	}
	for _, m := range seen {
		if !strings.Contains(m.Text(), "only you") || m.Everyone {
			t.Errorf("%+v", m)
		}
	}
	w.settle(t.Context()) // and nothing more is to be said
	if n := len(s.Calls(fakediscord.Callback)); n != 1 {
		t.Errorf("%d callbacks", n)
	}
}

// What falls out of the table is answered by what the handle carries.
func TestWhisperWithoutTheTable(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w, d := s.clicked(s.ada, ref)
	h := w.handle()
	s.a.answers = answers{byID: surface.Cache[*answer]{Life: answerLife}, byMessage: surface.Cache[[]*answer]{Life: answerLife}}
	if err := s.a.Whisper(t.Context(), h, inWords("first")); err != nil || typeOf(t, d) != answerMessage {
		t.Fatal(err)
	}
	s.clock.Advance(time.Minute)
	if err := s.a.Whisper(t.Context(), h, inWords("second")); err != nil || len(s.Seen(s.ada, s.channel)) != 2 {
		t.Error(err)
	}
	s.clock.Advance(answerLife)
	s.Forget()
	err := s.a.Whisper(t.Context(), h, inWords("third"))
	if n := len(s.Calls(fakediscord.CreateFollowup)); samples.KindOf(err) != agent.FaultGone || len(s.Seen(s.ada, s.channel)) != 2 || n != 0 {
		t.Errorf("after fifteen minutes: %v after %d calls", err, n)
	}
}

func TestHandlesThatNameNobody(t *testing.T) {
	a, _ := outward(t, Config{})
	knownAs(a)
	for _, h := range []chat.ReplyHandle{{}, {Platform: Platform, Key: "%zz"}, {Platform: Platform, Key: "id=1&app=2&at=x&token=t"},
		{Platform: Platform, Key: "id=../1&app=2&at=1&token=t"}, {Platform: Platform, Key: "id=1&app=../2&at=1&token=t"}, {Platform: Platform, Key: "id=1&app=2&at=1"},
		{Platform: "slack", Key: privately(ids.Place{Guild: "1", Channel: "2"}, "3").Key}, {Platform: Platform, Key: "channel=1&user=../2"}, {Platform: Platform, Key: "channel=a&user=2"}} {
		if err := a.Whisper(t.Context(), h, inWords("x")); samples.KindOf(err) != agent.FaultGone {
			t.Errorf("%v: %v", h, err)
		}
	}
}

func TestShowBringsItsFiles(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	for i := range 2 {
		w, _ := s.clicked(s.ada, ref)
		if i == 1 {
			_ = w.give(t.Context(), say("first"))
		}
		args := `{"a":"` + strings.Repeat("long ", 2000) + `"}`
		p := components.Details(render.Details{Title: "all of it", Parts: []render.Part{{Name: text.PartArguments, Text: args, Form: render.FormCode}}})
		if err := w.give(t.Context(), show(p)); err != nil {
			t.Fatal(i, err)
		}
		seen := s.Seen(s.ada, s.channel)
		m := seen[len(seen)-1]
		if len(m.Attachments) != 1 || m.Attachments[0].Name != p.Files[0].Name || !strings.Contains(string(s.File(s.channel, m.Attachments[0])), "long long") {
			t.Errorf("%d: %+v", i, m.Attachments)
		}
	}
}

func TestSayIsForEverybodyAndKnowsItsMessage(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w, _ := s.clicked(s.ada, ref)
	id, err := w.say(t.Context(), components.Lines("Ada asks"))
	m, ok := s.Message(s.channel, id)
	if err != nil || !ok || m.Ephemeral != "" || !strings.Contains(m.Text(), "Ada asks") {
		t.Fatal(id, err)
	}
	again := s.a.newAnswer(w.incoming) // another replica, with the same command
	if got, err := again.say(t.Context(), components.Lines("Ada asks")); err != nil || got != id || len(s.Mine(s.channel)) != 2 {
		t.Error("the other replica's:", got, err)
	}
	w2, _ := s.clicked(s.ada, ref)
	_ = w2.give(t.Context(), say("private"))
	if got, err := w2.say(t.Context(), components.Lines("x")); samples.KindOf(err) != agent.FaultGone || got != "" && err == nil {
		t.Error("a private answer was taken for it:", got, err)
	}
	w3, _ := s.clicked(s.ada, ref)
	s.Fail(fakediscord.Callback, 1, fakediscord.Fault{Status: 403, Code: discordgo.ErrCodeMissingPermissions})
	if _, err := w3.say(t.Context(), components.Lines("x")); samples.KindOf(err) != agent.FaultForbidden {
		t.Error("why it could not be said is lost:", err)
	}
}

func TestOpenAnswersWithAForm(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	w, d := s.clicked(s.ada, ref)
	form := &components.Modal{CustomID: "nod:deny_reason:a1", Title: "Deny", Components: []discordgo.MessageComponent{
		discordgo.ActionsRow{Components: []discordgo.MessageComponent{discordgo.TextInput{CustomID: "reason", Label: "Reason", Style: discordgo.TextInputParagraph, MaxLength: 500}}},
	}}
	if err := w.give(t.Context(), open(form)); err != nil || typeOf(t, d) != answerModal || len(s.Modals(s.ada)) != 1 {
		t.Fatal(err)
	}
	a, _ := d.Answered()
	for _, name := range []string{"content", "embeds", "tts"} {
		if _, there := a.Data[name]; there {
			t.Errorf("%s is sent", name)
		}
	}
	if err := w.give(t.Context(), open(form)); samples.KindOf(err) != agent.FaultGone {
		t.Error("a form after the first answer:", err)
	}
}

func TestTheSameInteractionAgainIsTheSameAnswer(t *testing.T) {
	a, _ := outward(t, Config{})
	in := incoming{ID: "1", Token: "t", Application: "2", Message: "3"}
	if one, two := a.answering(in), a.answering(in); one != two || a.answers.next("3", one.At) != one {
		t.Error("two answers for one interaction")
	}
}

func TestAnswersStayBounded(t *testing.T) {
	a, _ := outward(t, Config{})
	now := time.Now()
	a.now = func() time.Time { return now }
	for i := range 100_000 {
		a.answering(incoming{ID: strconv.Itoa(i + 1), Token: "t", Message: strconv.Itoa(i%7 + 1)})
		if i%1000 == 0 {
			now = now.Add(time.Second)
		}
	}
	open, _ := a.answers.byMessage.Get("1", now)
	if n, of := a.answers.byID.Len(), a.answers.byMessage.Len(); n > surface.Kept || of != 7 || len(open) > maxOpen {
		t.Errorf("%d answers, of %d messages, %d of one", n, of, len(open))
	}
	if w := a.answers.next("1", now); w == nil || now.Sub(w.At) >= answerFirst {
		t.Errorf("new ones are not taken: %+v", w)
	}
	// What is answered, what comes again and what has no message take nobody's place.
	given := a.answering(incoming{ID: "888", Token: "t", Message: "8"})
	given.done()
	for range 2 * maxOpen {
		a.answering(incoming{ID: "889", Token: "t", Message: "8"})
	}
	if open, _ := a.answers.byMessage.Get("8", now); len(open) != 1 || open[0].ID != "889" {
		t.Errorf("%d are open", len(open))
	}
	now = now.Add(answerLife)
	a.answering(incoming{ID: "999999999", Token: "t"})
	if _, kept := a.answers.byMessage.Get("", now); kept {
		t.Error("no message's answers are kept")
	}
	if n := a.answers.byID.Len(); n != 1 {
		t.Errorf("%d live on", n)
	}
}

// The address of an answer holds its token.
func TestTokensOfInteractionsAreInNoError(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), asking("one"))
	faults := []fakediscord.Fault{{Cut: true}, {CutAfter: true}, {Status: 500}, {Status: 502}, {Status: 403, Code: 1}, {RetryAfter: time.Second}, {Status: 429, HTML: true, RetryAfter: time.Second}}
	for _, f := range faults {
		for _, first := range []bool{true, false} {
			w, d := s.clicked(s.ada, ref)
			method := fakediscord.Callback
			if !first {
				_ = w.give(t.Context(), say("first"))
				method = fakediscord.CreateFollowup
			}
			s.Fail(method, 1, f)
			err := w.give(t.Context(), say("x"))
			if err == nil {
				t.Errorf("%+v: no error", f)
			}
			if all := fmt.Sprintf("%v %+v %#v", err, err, samples.ErrorChain(err)) + s.log.String(); strings.Contains(all, d.Token()) || strings.Contains(all, s.Token()) {
				t.Errorf("%+v: a token is in %v", f, err)
			}
			s.clock.Advance(time.Hour)
		}
	}
}

func TestAnAnswerWithAnOddTokenStaysOnItsPath(t *testing.T) {
	var path string
	a, _ := outward(t, Config{Client: &http.Client{Transport: samples.RoundTripper(func(r *http.Request) (*http.Response, error) {
		path = r.URL.EscapedPath()
		return nil, errDown
	})}})
	w := a.newAnswer(incoming{ID: "1", Token: "../../2/x?y#z", Application: "3", At: time.Now()})
	_ = w.give(t.Context(), say("x"))
	if path != "/api/v10/interactions/1/..%2F..%2F2%2Fx%3Fy%23z/callback" {
		t.Error(path)
	}
}
