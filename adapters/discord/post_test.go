package discord

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

func words(text string) render.Message {
	return render.Message{State: render.Working, Blocks: []render.Block{render.Text{Markdown: text}}}
}

func asking(text string) render.Message {
	m := words(text)
	m.State = render.Waiting
	m.Blocks = append(m.Blocks, render.Ask{
		Call: "c1", Token: "a1", Header: "Allow tool call from files?", Run: "Run write_file from files", Tool: "write_file", Server: "files",
		Choices: []render.Choice{{Choice: chat.AllowOnce, Token: "a1", Label: "Allow once"}, {Choice: chat.Deny, Token: "a1", Label: "Deny", Style: render.Danger}},
	})
	return m
}

// posted makes a message that the next steps of a test edit.
func (s *scene) posted(p ids.Place, m render.Message) chat.MessageRef {
	s.t.Helper()
	ref, err := s.a.Post(s.t.Context(), p.Chat(), chat.PostKey("key of "+s.t.Name()+fmt.Sprint(len(s.Calls()))), m)
	if err != nil {
		s.t.Fatal(err)
	}
	return ref
}

func (s *scene) text(channel string, ref chat.MessageRef) string {
	s.t.Helper()
	m, ok := s.Message(channel, string(ref))
	if !ok || m.Deleted {
		s.t.Fatal("the message is not there")
	}
	return m.Text()
}

// last is the newest call of a method.
func (s *scene) last(method string) fakediscord.Call {
	s.t.Helper()
	all := s.Calls(method)
	if len(all) == 0 {
		s.t.Fatal("no call of " + method)
	}
	return all[len(all)-1]
}

func TestPostIsComponentsWithANonceAndWithoutMentions(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), words("hello @everyone <@"+s.ada+">"))
	m, _ := s.Message(s.channel, string(ref))
	if !strings.Contains(m.Text(), "hello") || m.Author != s.BotUser() || len(m.Pinged) > 0 || m.Everyone || len(m.Mentions) > 0 {
		t.Errorf("%+v", m)
	}
	b := s.last(fakediscord.CreateMessage).Body
	if fmt.Sprint(b["flags"]) != fmt.Sprint(int(components.FlagsShown)) || b["enforce_nonce"] != true || len(b["nonce"].(string)) > 25 || len(b["nonce"].(string)) < 16 {
		t.Errorf("%v", b)
	}
	// Trap 1.2.4: left out, everything in the text is parsed; "parse": null is not an empty list.
	if parse, is := b["allowed_mentions"].(map[string]any)["parse"].([]any); !is || len(parse) > 0 {
		t.Errorf("allowed_mentions %v", b["allowed_mentions"])
	}
	for _, name := range []string{"content", "embeds", "sticker_ids", "tts", "poll"} { // Trap 1.2.2 and 1.2.6: discordgo's structs send these
		if _, there := b[name]; there {
			t.Errorf("%s is sent", name)
		}
	}
}

func TestPostWithTheSameKeyIsOneMessage(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	one, err1 := s.a.Post(t.Context(), s.at("").Chat(), "k", words("one"))
	two, err2 := s.a.Post(t.Context(), s.at("").Chat(), "k", words("two"))
	other, err3 := s.a.Post(t.Context(), s.at("").Chat(), "k2", words("two"))
	if err1 != nil || err2 != nil || err3 != nil || one != two || one == other || len(s.Mine(s.channel)) != 2 {
		t.Error(one, two, other, err1, err2, err3)
	}
}

// A post that the nonce found is an older drawing: the edit after it must not be taken for what stands there already.
func TestEditAfterARepeatedPostIsSent(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	_, _ = s.a.Post(t.Context(), s.at("").Chat(), "k", words("one"))
	ref, _ := s.a.Post(t.Context(), s.at("").Chat(), "k", words("two"))
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("two"), agent.Progress); err != nil || !strings.Contains(s.text(s.channel, ref), "two") {
		t.Error(err, s.text(s.channel, ref))
	}
}

func TestPostWhoseAnswerIsLostIsFoundAgain(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	s.Fail(fakediscord.CreateMessage, 1, fakediscord.Fault{CutAfter: true})
	if _, err := s.a.Post(t.Context(), s.at("").Chat(), "k", words("one")); samples.KindOf(err) != agent.FaultTransient {
		t.Fatal(err)
	}
	s.clock.Advance(2 * fakediscord.NonceFor) // an outage later
	ref, found, err := s.a.Seek(t.Context(), s.at("").Chat(), "k")
	if mine := s.Mine(s.channel); err != nil || !found || len(mine) != 1 || string(ref) != mine[0].ID {
		t.Error(ref, found, err)
	}
	if _, found, err := s.a.Seek(t.Context(), s.at("").Chat(), "another"); found || err != nil {
		t.Error("another key is found", err)
	}
}

// The process may end after an edit, before it was recorded which message that is.
func TestSeekFindsWhatWasEdited(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref, _ := s.a.Post(t.Context(), s.at("").Chat(), "k", asking("one"))
	s.clicked(s.ada, ref)
	for i, m := range []render.Message{words("as the answer to a click"), words("as an edit")} {
		if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, m, agent.Final); err != nil {
			t.Fatal(err)
		}
		if got, found, err := s.a.Seek(t.Context(), s.at("").Chat(), "k"); !found || got != ref {
			t.Error(i, found, err)
		}
	}
}

func TestSeekBelievesOnlyItsOwnMessages(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	forged := []any{map[string]any{"type": 17, "id": stampOf("k"), "components": []any{map[string]any{"type": 10, "content": "mine, honestly"}}}}
	s.Post(fakediscord.Post{User: s.bob, Channel: s.channel, Components: forged})
	if _, found, err := s.a.Seek(t.Context(), s.at("").Chat(), "k"); found || err != nil || len(s.Calls(fakediscord.GetMessages)) != 1 {
		t.Error("somebody else's message was taken, or there is no end to one page", err)
	}
}

// Trap 1.2.5: discordgo reads nothing of an answer that has a component which it does not know.
func TestSeekReadsPastComponentsThatNobodyKnows(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), words("one"))
	key := chat.PostKey("key of " + t.Name() + "0")
	for range 150 {
		s.Post(fakediscord.Post{User: s.ada, Channel: s.channel, Components: []any{map[string]any{"type": 99, "id": "no number"}}})
	}
	s.Forget()
	got, found, err := s.a.Seek(t.Context(), s.at("").Chat(), key)
	if err == nil && (!found || got != ref) {
		t.Error("not found on the second page")
	}
	if err != nil {
		t.Error(err)
	}
	if n := len(s.Calls(fakediscord.GetMessages)); n != 2 {
		t.Errorf("%d pages were read", n)
	}
}

func TestSeekIsBounded(t *testing.T) {
	s := newScene(t, fakediscord.Options{Lean: true}, Config{})
	for range seekPage * (seekPages + 2) {
		s.Say(s.ada, s.channel, "x")
	}
	if _, found, err := s.a.Seek(t.Context(), s.at("").Chat(), "k"); found || err != nil || len(s.Calls(fakediscord.GetMessages)) != seekPages {
		t.Error(found, err, len(s.Calls(fakediscord.GetMessages)))
	}
	s.clock.Advance(seekWithin + time.Hour)
	s.Forget()
	if _, found, err := s.a.Seek(t.Context(), s.at("").Chat(), "k"); found || err != nil || len(s.Calls(fakediscord.GetMessages)) != 1 {
		t.Error("old pages:", found, err, len(s.Calls(fakediscord.GetMessages)))
	}
}

func TestSeekWhereItMayNotLookLeavesItToTheNonce(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	s.SetPermissions(s.channel, fakediscord.ViewChannel)
	if _, found, err := s.a.Seek(t.Context(), s.at("").Chat(), "k"); found || err != nil {
		t.Error(found, err)
	}
	said := s.Say(s.ada, s.channel, "hi")
	if _, found, err := s.a.Seek(t.Context(), s.at(said).Chat(), "k"); found || err != nil {
		t.Error("a thread that is not there yet:", found, err)
	}
	s.Fail(fakediscord.GetMessages, 1, fakediscord.Fault{Status: 503})
	if _, _, err := s.a.Seek(t.Context(), s.at("").Chat(), "k"); samples.KindOf(err) != agent.FaultTransient {
		t.Error("a disturbance counts as not found:", err)
	}
}

func TestEditSendsWholeMessagesWithoutMentions(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), words("one"))
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("two"), agent.Progress); err != nil {
		t.Fatal(err)
	}
	if got := s.text(s.channel, ref); !strings.Contains(got, "two") {
		t.Error(got)
	}
	b := s.last(fakediscord.EditMessage).Body
	parse, isList := b["allowed_mentions"].(map[string]any)["parse"].([]any)
	attached, isThere := b["attachments"].([]any) // version 10 keeps what an edit does not name
	if b["components"] == nil || fmt.Sprint(b["flags"]) != fmt.Sprint(int(components.FlagsShown)) || !isList || len(parse) > 0 || !isThere || len(attached) > 0 {
		t.Errorf("%v", b)
	}
}

func TestEditOfTheSameBytesIsNotSent(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), words("one"))
	for range 3 {
		if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("two"), agent.Progress); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Count(fakediscord.EditMessage); n != 1 {
		t.Errorf("%d edits", n)
	}
	s.clock.Advance(surface.Believed)
	_ = s.a.Edit(t.Context(), s.at("").Chat(), ref, words("two"), agent.Final)
	if n := s.Count(fakediscord.EditMessage); n != 2 {
		t.Error("what another replica may have drawn since is believed for ever")
	}
}

func TestEditWhoseAnswerIsLostIsSentAgain(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), words("one"))
	_ = s.a.Edit(t.Context(), s.at("").Chat(), ref, words("two"), agent.Progress)
	s.Fail(fakediscord.EditMessage, 1, fakediscord.Fault{CutAfter: true})
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("three"), agent.Progress); samples.KindOf(err) != agent.FaultTransient {
		t.Fatal(err)
	}
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("two"), agent.Progress); err != nil || !strings.Contains(s.text(s.channel, ref), "two") {
		t.Error("the message was taken to be as it was before:", s.text(s.channel, ref))
	}
}

func TestRefusedShapeIsDrawnSimplerWithItsButtons(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	var ref chat.MessageRef
	for n := 1; n <= 2; n++ {
		ref = s.posted(s.at(""), words("one"))
		s.Fail(fakediscord.EditMessage, n, fakediscord.Fault{Status: 400, Code: discordgo.ErrCodeInvalidFormBody})
		if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, asking(fmt.Sprint("question ", n)), agent.Decision); err != nil {
			t.Fatal(n, err)
		}
		m, _ := s.Message(s.channel, string(ref))
		if _, err := s.Click(s.ada, s.channel, string(ref), "Allow once"); err != nil || !strings.Contains(m.Text(), "Allow tool call from files") {
			t.Errorf("after %d refusals: %v\n%s", n, err, m.Text())
		}
	}
	s.Forget()
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, asking("question 3"), agent.Decision); err != nil || strings.Contains(s.text(s.channel, ref), "###") {
		t.Errorf("what was refused is tried again: %v\n%s", err, s.text(s.channel, ref))
	}
	if !strings.Contains(s.log.String(), "was refused") {
		t.Error("nobody hears of it")
	}
	s.Fail(fakediscord.EditMessage, 9, fakediscord.Fault{Status: 400, Code: discordgo.ErrCodeInvalidFormBody})
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, asking("more"), agent.Decision); samples.KindOf(err) != agent.FaultForbidden {
		t.Error("no shape is taken:", err)
	}
}

// Above a number of bytes Discord answers 500; a 500 of a small message is a disturbance.
func TestA500OfAHugeMessageIsDrawnSimpler(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), words("one"))
	s.Fail(fakediscord.EditMessage, 1, fakediscord.Fault{Status: 500})
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("small"), agent.Progress); samples.KindOf(err) != agent.FaultTransient || len(s.Calls(fakediscord.EditMessage)) != 1 {
		t.Errorf("small: %v after %d calls", err, len(s.Calls(fakediscord.EditMessage)))
	}
	s.Forget()
	s.Fail(fakediscord.EditMessage, 1, fakediscord.Fault{Status: 500})
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words(strings.Repeat("長い文", 800)), agent.Progress); err != nil || len(s.Calls(fakediscord.EditMessage)) != 2 {
		t.Errorf("huge: %v after %d calls", err, len(s.Calls(fakediscord.EditMessage)))
	}
	s.Forget()
	ref = s.posted(s.at(""), words("one"))
	s.Forget()
	s.Fail(fakediscord.EditMessage, 1, fakediscord.Fault{Status: 503})
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words(strings.Repeat("長い文", 700)), agent.Progress); samples.KindOf(err) != agent.FaultTransient || len(s.Calls(fakediscord.EditMessage)) != 1 {
		t.Errorf("a disturbance: %v after %d calls", err, len(s.Calls(fakediscord.EditMessage)))
	}
	s.Forget()
	s.Fail(fakediscord.EditMessage, 9, fakediscord.Fault{Status: 500})
	ref = s.posted(s.at(""), words("two"))
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words(strings.Repeat("<", 3600)), agent.Progress); samples.KindOf(err) != agent.FaultTransient || len(s.Calls(fakediscord.EditMessage)) != 2 {
		t.Errorf("huge, and not for its size: %v after %d calls", err, len(s.Calls(fakediscord.EditMessage)))
	}
}

func TestGoneAndForbidden(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref := s.posted(s.at(""), words("one"))
	s.DeleteMessage(s.channel, string(ref))
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("two"), agent.Progress); samples.KindOf(err) != agent.FaultGone {
		t.Error("deleted message:", err)
	}
	said := s.Say(s.ada, s.channel, "begin")
	thread := s.CreateThread(s.ada, s.channel, said, "t")
	ref = s.posted(s.at(thread), words("one"))
	s.DeleteChannel(thread)
	if err := s.a.Edit(t.Context(), s.at(thread).Chat(), ref, words("two"), agent.Progress); samples.KindOf(err) != agent.FaultGone {
		t.Error("deleted thread:", err)
	}
	if _, err := s.a.Post(t.Context(), s.at(thread).Chat(), "k", words("x")); samples.KindOf(err) != agent.FaultGone || len(s.Threads(s.channel)) != 0 || len(s.Calls(fakediscord.StartThreadOn)) != 0 {
		t.Error("a deleted thread is made anew:", err)
	}
	s.DeleteChannel(s.channel)
	if _, err := s.a.Post(t.Context(), s.at("").Chat(), "k", words("x")); samples.KindOf(err) != agent.FaultGone {
		t.Error("deleted channel:", err)
	}
	s.Forget()
	for _, id := range []chat.ID{{Platform: "slack", Key: "1"}, {Platform: Platform, Key: "../1"}, {Platform: Platform, Key: "1/2"}, {Platform: Platform, Workspace: "x", Key: "1"}} {
		if _, err := s.a.Post(t.Context(), id, "k", words("x")); samples.KindOf(err) != agent.FaultGone {
			t.Errorf("%v: %v", id, err)
		}
		_, noted := s.a.Annotate(t.Context(), id, "1", "k", words("x"), true)
		_, attached := s.a.Attach(t.Context(), id, "1", "k", words("x"), agent.File{Name: "x"})
		for _, err := range []error{s.a.Edit(t.Context(), id, "1", words("x"), agent.Final), s.a.Remove(t.Context(), id, "1"), noted, attached} {
			if samples.KindOf(err) != agent.FaultGone {
				t.Errorf("%v: %v", id, err)
			}
		}
	}
	if _, _, err := s.a.Seek(t.Context(), chat.ID{Platform: Platform, Key: "../1"}, "k"); samples.KindOf(err) != agent.FaultGone {
		t.Error(err)
	}
	if all := s.Calls(); len(all) != 0 {
		t.Errorf("asked for all that: %+v", all)
	}
	if err := s.a.Edit(t.Context(), s.at("").Chat(), "1/../2", words("x"), agent.Final); samples.KindOf(err) != agent.FaultGone {
		t.Error("a path as a reference:", err)
	}
}

func TestArchivedThreadIsOpenedOnce(t *testing.T) {
	s := newScene(t, fakediscord.Options{Permissions: fakediscord.DefaultPermissions | fakediscord.ManageThreads}, Config{})
	thread := s.CreateThread(s.ada, s.channel, s.Say(s.ada, s.channel, "begin"), "t")
	ref := s.posted(s.at(thread), words("one"))
	s.Archive(thread, true)
	s.Fail(fakediscord.EditChannel, 1, fakediscord.Fault{Status: 503})
	if err := s.a.Edit(t.Context(), s.at(thread).Chat(), ref, words("two"), agent.Final); samples.KindOf(err) != agent.FaultTransient {
		t.Error("a disturbance counts as locked:", err)
	}
	if err := s.a.Edit(t.Context(), s.at(thread).Chat(), ref, words("two"), agent.Final); err != nil || !strings.Contains(s.text(thread, ref), "two") {
		t.Error(err)
	}
	if b := s.last(fakediscord.EditChannel).Body; b["archived"] != false || len(b) != 1 {
		t.Errorf("%v", b)
	}
	s.Forget()
	s.Fail(fakediscord.EditMessage, 5, fakediscord.Fault{Status: 400, Code: discordgo.ErrCodePerformedOperationOnArchivedThread})
	if err := s.a.Edit(t.Context(), s.at(thread).Chat(), ref, words("three"), agent.Final); samples.KindOf(err) != agent.FaultForbidden || len(s.Calls(fakediscord.EditChannel)) != 1 {
		t.Errorf("it does not stay open: %v after %d calls", err, len(s.Calls(fakediscord.EditChannel)))
	}
}

func TestLockedThreadIsForbiddenInWords(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	thread := s.CreateThread(s.ada, s.channel, s.Say(s.ada, s.channel, "begin"), "t")
	ref := s.posted(s.at(thread), words("one"))
	s.Lock(thread, true, true)
	err := s.a.Edit(t.Context(), s.at(thread).Chat(), ref, words("two"), agent.Final)
	if samples.KindOf(err) != agent.FaultForbidden || !strings.Contains(err.Error(), "locked") {
		t.Error(err)
	}
	if len(s.Mine(s.OpenDM(s.ada))) > 0 {
		t.Error("a locked thread is no missing permission")
	}
}

// budgets

func TestProgressWithoutRoomComesBackAtOnce(t *testing.T) {
	budget := &samples.Budget{}
	s := newScene(t, fakediscord.Options{}, Config{Budget: budget})
	ref := s.posted(s.at(""), words("one"))
	budget.Wait = func(c surface.Spend) time.Duration {
		if c.Pool == "discord/"+s.AppID()+"/edit/"+s.channel {
			return 700 * time.Millisecond
		}
		return 0
	}
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("two"), agent.Progress); samples.KindOf(err) != agent.FaultLater || samples.AfterOf(err) != 700*time.Millisecond || len(s.pauses) > 0 {
		t.Error(err, s.pauses)
	}
	s.whilePausing = func(time.Duration) { budget.Mu.Lock(); budget.Wait = nil; budget.Mu.Unlock() }
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("two"), agent.Final); err != nil || len(s.pauses) != 1 {
		t.Error("a final does not wait:", err, s.pauses)
	}
}

func TestEachCallSpendsFromItsChannel(t *testing.T) {
	budget := &samples.Budget{}
	s := newScene(t, fakediscord.Options{}, Config{Budget: budget})
	ref := s.posted(s.at(""), words("one"))
	m := words("two")
	m.State = render.Done
	_ = s.a.Edit(t.Context(), s.at("").Chat(), ref, m, agent.Final)
	at := "discord/" + s.AppID()
	want := []surface.Spend{
		{Pool: at + "/post/" + s.channel, Limit: 5, Per: 5 * time.Second, Lane: agent.Final},
		{Pool: at + "/global", Limit: 45, Per: time.Second, Lane: agent.Final},
		{Pool: at + "/edit/" + s.channel, Limit: 5, Per: 5 * time.Second, Lane: agent.Final, Message: string(ref), Rate: 1, Ends: true},
		{Pool: at + "/global", Limit: 45, Per: time.Second, Lane: agent.Final},
	}
	if fmt.Sprint(budget.Spent) != fmt.Sprint(want) {
		t.Errorf("spent\n%+v\nwant\n%+v", budget.Spent, want)
	}
}

// What a click came to is shown whatever was spent, until Discord refuses; nothing else is.
func TestADecisionMayOverdraw(t *testing.T) {
	budget := &samples.Budget{}
	s := newScene(t, fakediscord.Options{}, Config{Budget: budget})
	ref := s.posted(s.at(""), words("one"))
	for u, hard := range map[agent.Urgency]int{agent.Final: 0, agent.Question: 0, agent.Decision: surface.Overdraw} {
		budget.Spent = nil
		if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words(fmt.Sprint("lane ", u)), u); err != nil {
			t.Fatal(err)
		}
		if got := budget.Spent[0]; got.Hard != hard {
			t.Errorf("lane %d may go up to %d, want %d", u, got.Hard, hard)
		}
	}
}

func TestOldMessagesAreEditedSlowly(t *testing.T) {
	budget := &samples.Budget{}
	s := newScene(t, fakediscord.Options{Limits: fakediscord.Documented()}, Config{Budget: budget})
	ref := s.posted(s.at(""), words("one"))
	s.clock.Advance(56 * time.Minute)
	budget.Spent = nil
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("two"), agent.Progress); err != nil {
		t.Fatal(err)
	}
	if c := budget.Spent[0]; c.Pool != "discord/"+s.AppID()+"/old/"+s.channel || c.Limit != 3 || c.Per != 6*time.Second {
		t.Errorf("%+v", c)
	}
	s.clock.Advance(time.Second)
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("three"), agent.Progress); samples.KindOf(err) != agent.FaultLater || samples.AfterOf(err) != 1500*time.Millisecond {
		t.Error(err)
	}
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("four"), agent.Decision); err != nil {
		t.Error("a decision waits:", err)
	}
	s.clock.Advance(rest.PaceOld)
	if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words("five"), agent.Progress); err != nil {
		t.Error(err)
	}
}

// D5: many people who mention the bot at once in a channel wait for no number that nobody published.
func TestManyThreadsAreMadeAtOnce(t *testing.T) {
	budget, spent := &samples.Budget{}, map[string]int{}
	budget.Wait = func(c surface.Spend) time.Duration {
		if spent[c.Pool]++; spent[c.Pool] > c.Limit && !strings.HasSuffix(c.Pool, "/global") {
			return c.Per
		}
		return 0
	}
	s := newScene(t, fakediscord.Options{}, Config{Budget: budget})
	for i := range 20 {
		thread := s.Say(s.ada, s.channel, fmt.Sprint("question ", i))
		s.a.expect(s.at(thread), s.ada, "question")
		s.posted(s.at(thread), words("an answer"))
	}
	if n := len(s.Threads(s.channel)); n != 20 || len(s.pauses) != 0 {
		t.Errorf("%d threads, and waits of %v", n, s.pauses)
	}
}

func TestA429CoolsTheChannelForAllReplicas(t *testing.T) {
	budget := &samples.Budget{}
	s := newScene(t, fakediscord.Options{}, Config{Budget: budget})
	s.Fail(fakediscord.CreateMessage, 1, fakediscord.Fault{RetryAfter: 4 * time.Second})
	if _, err := s.a.Post(t.Context(), s.at("").Chat(), "k", words("x")); samples.KindOf(err) != agent.FaultBusy || samples.AfterOf(err) != 4*time.Second {
		t.Fatal(err)
	}
	if d := budget.Cool["discord/"+s.AppID()+"/post/"+s.channel]; d != 4*time.Second {
		t.Errorf("cooled %v", budget.Cool)
	}
}

func TestFiveEditsInFiveSecondsNeverMeetA429(t *testing.T) {
	s := newScene(t, fakediscord.Options{Limits: fakediscord.Documented()}, Config{})
	ref := s.posted(s.at(""), words("one"))
	for i := range 40 {
		if err := s.a.Edit(t.Context(), s.at("").Chat(), ref, words(fmt.Sprint("text ", i)), agent.Final); err != nil {
			t.Fatal(i, err)
		}
	}
	if s.Invalid() != 0 {
		t.Errorf("%d answers were 429", s.Invalid())
	}
}

func TestAddressesThatNobodyBroughtAreNotAlive(t *testing.T) {
	a, _ := outward(t, Config{LinkHosts: []string{"docs.example.com", "*.acme.test", ""}})
	for host, want := range map[string]bool{
		"docs.example.com": true, "DOCS.example.com.": true, "example.com": false, "x.acme.test": true, "acme.test": false, "evilacme.test": false,
		"": false, "evil.test": false,
	} {
		if a.alive(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}

func TestKeysAreWithinDiscordsLimits(t *testing.T) {
	seen := map[string]bool{}
	for i := range 1000 {
		key := chat.PostKey(strings.Repeat("long ", 100) + fmt.Sprint(i))
		if n, id := nonceOf("1", key), stampOf(key); len(n) > 25 || seen[n] || id < 1 || id > 1<<31-1 {
			t.Fatal(n, id)
		} else {
			seen[n] = true
		}
	}
}

// A mention in a post notifies, in an edit it does not: so a post names people in words.
func TestPostNamesPeopleInWords(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	m := words("x")
	m.Blocks = append(m.Blocks, render.Note{Line: render.Line{render.Plain("Waits for "), render.Person{User: ids.Person(s.Guild(), s.ada), Name: "Ada"}}})
	ref := s.posted(s.at(""), m)
	if got := s.text(s.channel, ref); strings.Contains(got, "<@") || !strings.Contains(got, "Ada") {
		t.Error(got)
	}
}
