package slack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// A finished answer can be rated. The buttons come with the edit that ends the turn, the click is recorded, and whoever clicked is told so.
func TestAnAnswerIsRated(t *testing.T) {
	sc := newScene(t, overSocket, func(_ *scene, c *Config) { c.Feedback = true }).connected()
	root, _ := sc.thread()
	at := blocks.Place{Team: "T1", Channel: "C1", Thread: root}
	m := render.Message{State: render.Working, Token: "turn", Blocks: []render.Block{render.Text{Markdown: "I look."}}}
	ref, err := sc.a.Post(sc.ctx, at.Chat(), "k", m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sc.slack.Click("UANA", "C1", string(ref), text.LabelGood); err == nil {
		t.Error("it can be rated before it is over")
	}
	m.State, m.Blocks = render.Done, []render.Block{render.Text{Markdown: "Done."}}
	calls := len(sc.slack.Calls("chat.update"))
	if err := sc.a.Edit(sc.ctx, at.Chat(), ref, m, agent.Final); err != nil || len(sc.slack.Calls("chat.update")) != calls+1 {
		t.Fatal(err, len(sc.slack.Calls("chat.update")))
	}
	var decided []chat.Clicked
	for i, label := range []string{text.LabelGood, text.LabelBad} {
		d, err := sc.slack.Click("UGUEST", "C1", string(ref), label)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Wait(sc.ctx); err != nil {
			t.Fatal(err)
		}
		sc.until("Gus is thanked", func() bool { return len(sc.told("UGUEST")) == i+1 })
		if got := sc.told("UGUEST")[i]; got != sayRated([]chat.Choice{chat.Good, chat.Bad}[i]) || !strings.Contains(got, label) {
			t.Errorf("told: %q", got)
		}
	}
	sc.ledger.set(func() { decided = slices.Clone(sc.ledger.decided) })
	if len(decided) != 2 || decided[0].Choice != chat.Good || decided[1].Choice != chat.Bad || decided[1].Token != "turn" || decided[1].User.Key != "UGUEST" || decided[1].Chat != at.Chat() {
		t.Errorf("%+v", decided)
	}
	sc.ledger.set(func() { sc.ledger.refuse = func(chat.Clicked) error { return errDown } })
	if _, err := sc.slack.Click("UANA", "C1", string(ref), text.LabelGood); err != nil {
		t.Fatal(err)
	}
	sc.until("Ana is told that it does not count", func() bool { return slices.Equal(sc.told("UANA"), []string{surface.SayNotRecorded}) })
}

// Whoever writes to the bot for the first time is told what it is, once: also another process knows that they have written before.
func TestANewcomerIsWelcomedOnce(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	say := func(user, words string) {
		before := len(sc.ledger.got())
		sc.slack.Say(user, sc.slack.DM(user), "", words)
		sc.until("it is recorded", func() bool { return len(sc.ledger.got()) == before+1 })
	}
	say("UANA", "what is in notes.txt?")
	sc.until("Ana is welcomed", func() bool { return slices.Equal(sc.told("UANA"), []string{surface.SayWelcome}) })
	if e := sc.slack.Ephemerals("UANA")[0]; e.Thread == "" {
		t.Error("not beside the answer")
	}
	looked := len(sc.slack.Calls("conversations.history"))
	say("UANA", "and in todo.txt?") // known here: nobody is asked
	say("UBEN", "hello")
	sc.until("Ben is welcomed", func() bool { return len(sc.told("UBEN")) == 1 })
	if n := len(sc.slack.Calls("conversations.history")); n != looked+1 {
		t.Errorf("%d looks", n-looked)
	}
	for i := range surface.Kept { // as another process, it does not know Ana
		sc.a.in.met.Again(fmt.Sprint("somebody ", i))
	}
	say("UANA", "and now?")
	sc.until("it looked", func() bool { return len(sc.slack.Calls("conversations.history")) == looked+2 })
	sc.slack.Fail("conversations.history", 1, fakeslack.Fault{Error: "internal_error"})
	say("UEXT", "hello") // whether she is new, nobody says
	sc.until("it is logged", func() bool { return strings.Contains(sc.log.String(), "whether somebody is new here") })
	say("UGUEST", "hello")
	sc.until("Gus is welcomed", func() bool { return len(sc.told("UGUEST")) == 1 })
	if got := append(sc.told("UANA"), sc.told("UEXT")...); len(got) != 1 {
		t.Errorf("told: %q", got)
	}
}
