package slack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// heard is what the model reads of others with a message.
func (sc *scene) heard(said chat.Said) []chat.Quote {
	return conformance.Heard(sc.ctx, sc.a, said, sc.log.logger())
}

func TestWhatWasSaidBeforeComesWithTheFirstMention(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root := sc.slack.Say("UBEN", "C1", "", "the <https://ci.example.com|build> is red")
	sc.slack.Say("UEXT", "C1", root, "since noon &amp; only here")
	if _, err := sc.a.Annotate(sc.ctx, blocks.Place{Team: "T1", Channel: "C1", Thread: root}.Chat(), "1.2", "k", finished("the bot's own"), false); err != nil {
		t.Fatal(err)
	}
	sc.quiet()
	sc.slack.Forget()
	sc.slack.Say("UANA", "C1", root, "<@UBOT> why?")
	sc.quiet()
	said := only[chat.Said](sc)
	want := []chat.Quote{
		{By: chat.User{Platform: Platform, Workspace: "T1", Key: "UBEN"}, Name: "Ben", Text: "the build (https://ci.example.com) is red"},
		{By: chat.User{Platform: Platform, Workspace: "T9", Key: "UEXT"}, Name: "Eve", Text: "since noon & only here"},
	}
	if got := sc.heard(said); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if said.Text != "why?" {
		t.Errorf("text %q", said.Text)
	}
	sc.slack.Say("UANA", "C1", root, "<@UBOT> and now?")
	sc.quiet()
	if got := sc.heard(sc.ledger.got()[1].(chat.Said)); got != nil {
		t.Errorf("context again: %+v", got)
	}
	sc.slack.Say("UBEN", "C1", root, "Ana, it is the linter") // to each other: not for nod, but what comes next is about it
	sc.slack.Say("UANA", "C1", root, "thanks, fix that")
	sc.quiet()
	if got := sc.ledger.got(); len(got) != 3 || quoted(sc.heard(got[2].(chat.Said))) != "Ben: Ana, it is the linter" {
		t.Errorf("%+v", got[2:])
	}
}

func TestWithoutHistoryTheMessageGoesInAllTheSame(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root := sc.slack.Say("UBEN", "C1", "", "the build is red")
	sc.quiet()
	sc.slack.Fail("conversations.replies", 9, fakeslack.Fault{Error: "missing_scope"})
	sc.slack.Say("UANA", "C1", root, "<@UBOT> why?")
	sc.quiet()
	said := only[chat.Said](sc)
	if n := len(sc.slack.Calls("conversations.replies")); n != 0 || said.Text != "why?" {
		t.Errorf("%+v waited for %d calls", said, n)
	}
	if got := quoted(sc.heard(said)); got != "nod: "+text.EarlierUnread || len(sc.slack.Calls("conversations.replies")) != 1 {
		t.Errorf("%q, after %d calls", got, len(sc.slack.Calls("conversations.replies")))
	}
	if !strings.Contains(sc.log.String(), "missing_scope") {
		t.Error("nothing is logged of it")
	}
}

func TestAFirstMessageHasNoHistory(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.slack.Say("UANA", "C1", "", "<@UBOT> hello")
	sc.quiet()
	if n := len(sc.slack.Calls("conversations.replies")); n != 0 {
		t.Errorf("%d calls", n)
	}
}
