package slack

import (
	"errors"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func newsCard() render.Message {
	return render.Message{State: render.Done, Blocks: []render.Block{
		render.Note{Line: render.Line{render.Strong("New server: files"), render.Plain(" <!channel> 4 tools")}, Choices: []render.Choice{
			{Choice: chat.Accept, Token: "rev:7", Label: "Accept", Confirm: "Accept files with its 4 tools?"}, {Choice: chat.Open, Token: "install:files", Label: "Edit…"},
		}},
	}}
}

// R161
func TestTell(t *testing.T) {
	sc, b := boarded(t)
	dm := sc.slack.DM("UANA")
	ref, err := sc.a.Tell(sc.ctx, ana, "news-1", newsCard())
	if err != nil {
		t.Fatal(err)
	}
	again, err := sc.a.Tell(sc.ctx, ana, "news-1", newsCard())
	if err != nil || again != ref {
		t.Errorf("told again as %q, %v", again, err)
	}
	if other, err := sc.a.Tell(sc.ctx, ana, "news-2", newsCard()); err != nil || other == ref {
		t.Errorf("%q, %v", other, err)
	}
	all := sc.slack.Messages(dm, "")
	if len(all) != 2 || all[0].TS != string(ref) || all[0].Thread != "" || all[0].Unfurl.Links || all[0].Unfurl.Media || strings.Contains(all[0].Text, "<!channel>") {
		t.Fatalf("%+v", all)
	}
	d, err := sc.slack.Click("UANA", dm, string(ref), "Accept")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Wait(sc.ctx); err != nil {
		t.Fatal(err)
	}
	if c := only[chat.Clicked](sc); c.Choice != chat.Accept || c.Token != "rev:7" || c.User != ana || c.Message != ref || c.Chat != (blocks.Place{Team: "T1", Channel: dm, Thread: string(ref)}).Chat() {
		t.Errorf("%+v", c)
	}
	if _, err := sc.slack.Click("UANA", dm, string(ref), "Edit…"); err != nil {
		t.Fatal(err)
	}
	sc.until("the settings are open", func() bool { return len(sc.slack.Views("UANA")) == 1 })
	if got := b.seen(); len(got) != 1 || got[0].view != "install:files" || !got[0].env.Chat.IsZero() {
		t.Errorf("%+v", got)
	}
	for _, btn := range sc.slack.Buttons(dm, string(ref)) {
		if btn.Text == "Accept" && btn.Asks != "Accept files with its 4 tools?" {
			t.Errorf("%+v", btn)
		}
	}
}

// A message whose answer was lost is found again, not written twice.
func TestATellThatWasCutOff(t *testing.T) {
	sc, _ := boarded(t)
	sc.slack.Fail("chat.postMessage", 1, fakeslack.Fault{CutAfter: true})
	_, err := sc.a.Tell(sc.ctx, ana, "news-1", newsCard())
	if pe := new(agent.PlatformError); !errors.As(err, &pe) || pe.Kind != agent.FaultTransient {
		t.Fatalf("%v", err)
	}
	ref, err := sc.a.Tell(sc.ctx, ana, "news-1", newsCard())
	if all := sc.slack.Messages(sc.slack.DM("UANA"), ""); err != nil || len(all) != 1 || all[0].TS != string(ref) {
		t.Errorf("%q %v: %+v", ref, err, all)
	}
}

func TestTellsThatFail(t *testing.T) {
	sc, _ := boarded(t)
	kind := func(to chat.User) agent.PlatformFault {
		_, err := sc.a.Tell(sc.ctx, to, "k", newsCard())
		pe := new(agent.PlatformError)
		if !errors.As(err, &pe) {
			t.Fatalf("%v", err)
		}
		return pe.Kind
	}
	for _, u := range []chat.User{{}, {Platform: "web", Key: "UANA"}, {Platform: Platform, Workspace: "T1", Key: "&S1"}} {
		if got := kind(u); got != agent.FaultGone {
			t.Errorf("%v: %v", u, got)
		}
	}
	for method, faults := range map[string]map[agent.PlatformFault]fakeslack.Fault{
		"conversations.open":    {agent.FaultBusy: {RetryAfter: 1e9}, agent.FaultForbidden: {Error: "missing_scope"}, agent.FaultTransient: {Status: 503}},
		"conversations.history": {agent.FaultBusy: {RetryAfter: 1e9}, agent.FaultTransient: {Cut: true}},
		"chat.postMessage":      {agent.FaultForbidden: {Error: "restricted_action"}},
	} {
		for want, f := range faults {
			sc.slack.Fail(method, 1, f)
			if got := kind(ana); got != want {
				t.Errorf("%s: %v, want %v", method, got, want)
			}
		}
	}
	sc.slack.Fail("conversations.history", 1, fakeslack.Fault{Error: "missing_scope"})
	if _, err := sc.a.Tell(sc.ctx, ana, "k", newsCard()); err != nil {
		t.Errorf("who cannot look does not tell: %v", err)
	}
}
