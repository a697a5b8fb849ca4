package slack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// A bot or workflow that is on the list begins a chat by naming nod. It is nobody: it decides nothing, and nothing runs for it unasked.
func TestProgramsOnTheListMayAsk(t *testing.T) {
	for _, id := range []string{"BOTHER", "UOTHER"} {
		sc := newScene(t, overSocket, func(_ *scene, c *Config) { c.Bots, c.MembersOnly = []string{id}, true }).connected()
		sc.slack.SayWith("UOTHER", "C1", "", "<@UBOT> look at this", fakeslack.Beside{Attachments: []any{alert}})
		sc.quiet()
		said := only[chat.Said](sc)
		if !said.User.IsZero() || said.Name != "robot" || said.Standing != chat.Visitor || said.Text != "look at this" || !strings.Contains(quoted(said.Context), "Disk full") {
			t.Errorf("%s: %+v", id, said)
		}
		for _, no := range []string{"not for nod", "<@UBOT>", "<@UBOT> mode never yes", "<@UBOT> permissions"} {
			sc.slack.Say("UOTHER", "C1", "", no)
		}
		sc.slack.SayWith("UOTHER", "C1", "", "", fakeslack.Beside{Attachments: []any{forward}}) // mentioned in what it quotes
		sc.quiet()
		sc.slack.Send(map[string]any{"type": "message", "user": "UOTHER", "bot_id": "BOTHER", "channel": sc.slack.DM("UANA"), "text": "<@UBOT> hello", "ts": "1700000001.000200"})
		sc.slack.SayWith("UOTHER", "C1", "", "<@UBOT>", fakeslack.Beside{Attachments: []any{alert}})
		sc.quiet()
		if got := texts(sc.ledger); !slices.Equal(got, []string{"look at this", surface.SayQuotedAlone}) {
			t.Errorf("%s: taken: %q", id, got)
		}
	}
}

func TestProgramsThatAreNotOnTheListAreNotHeardAndNamedInTheLog(t *testing.T) {
	sc := newScene(t, overSocket, func(_ *scene, c *Config) { c.Bots = []string{"BELSE", "USLACKBOT", "USLACK", "BBOT"} }).connected()
	sc.slack.Say("UOTHER", "C1", "", "<@UBOT> look at this")
	for _, user := range []string{"USLACK", "USLACKBOT", "UBOT"} {
		sc.slack.Send(map[string]any{"type": "app_mention", "user": user, "bot_id": "B1", "channel": "C1", "text": "<@UBOT> hello", "ts": "1700000001.000200"})
	}
	sc.quiet()
	if got := sc.ledger.asked(); len(got) != 0 {
		t.Errorf("taken: %+v", got)
	}
	if !strings.Contains(sc.log.String(), "BOTHER") {
		t.Error("the log does not say how to list it")
	}
}

// Another bot that answers whatever nod says, in the thread and beside it, gets no second answer in a thread, and few in all.
func TestTwoBotsDoNotAnswerEachOtherForEver(t *testing.T) {
	sc := newScene(t, overSocket, func(_ *scene, c *Config) { c.Bots = []string{"BOTHER"} }).connected()
	th := sc.slack.Say("UOTHER", "C1", "", "<@UBOT> hello")
	sc.quiet()
	for i := range 5 {
		if _, err := sc.a.Annotate(sc.ctx, blocks.Place{Team: "T1", Channel: "C1", Thread: th}.Chat(), "1.2", chat.PostKey(fmt.Sprint(i)), finished("hello, robot"), false); err != nil {
			t.Fatal(err)
		}
		sc.slack.Say("UOTHER", "C1", th, "<@UBOT> hello again")
		sc.quiet()
	}
	only[chat.Said](sc)
	sc.slack.Say("UANA", "C1", th, "<@UBOT> stop greeting")
	sc.slack.Say("UOTHER", "C1", th, "<@UBOT> hello")
	sc.quiet()
	if got := texts(sc.ledger); len(got) != 2 {
		t.Errorf("after a person spoke: %q", got)
	}
	for i := range 3 * surface.MaxBegun {
		sc.slack.Say("UOTHER", "C1", "", fmt.Sprint("<@UBOT> and here ", i))
		sc.quiet()
	}
	if got := texts(sc.ledger); len(got) != surface.MaxBegun+1 {
		t.Errorf("%d were taken", len(got))
	}
}
