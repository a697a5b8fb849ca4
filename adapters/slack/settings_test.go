package slack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// R3 R4 R11 R142 R148 R150 R151 R152 R153
func TestSettingsByASlashCommand(t *testing.T) {
	sc, b := boarded(t)
	for text, want := range map[string]string{
		"permissions show": "[show]", "Permissions why Files write_file": "[why Files write_file]", "tools disable files write_file": "[tools disable files write_file]", "halt": "[halt]", "resume": "[resume]",
		"why files write_file": "[why files write_file]", "whoami": "[whoami]", "history 20": "[history 20]", "stats": "[stats]",
	} {
		before := len(sc.told("UANA"))
		got, err := sc.slack.Slash("UANA", "C1", "/nod", text).Wait(sc.ctx)
		if err != nil || len(got.Answer) > 4 {
			t.Fatalf("%s: %s, %v", text, got.Answer, err)
		}
		sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == before+1 })
		b.set(func() {
			n := len(b.asked) - 1
			if fmt.Sprint(b.asked[n]) != want || b.envs[n].User != ana || b.envs[n].Name != "Ana" || !b.envs[n].Chat.IsZero() || b.envs[n].Delivery == "" {
				t.Errorf("%s: %q %+v", text, b.asked[n], b.envs[n])
			}
		})
	}
	e := sc.slack.Ephemerals("UANA")[0]
	if !strings.Contains(fmt.Sprint(e.JSON()), "Nothing else *is* <!channel> known.") || strings.Contains(string(e.Blocks), "mrkdwn") || strings.Contains(e.Text, "<!channel>") {
		t.Errorf("%s\n%s", e.Text, e.Blocks)
	}
	if len(sc.told("UBEN")) != 0 {
		t.Error("Ben is told")
	}
}

func TestASettingThatIsRefusedOrFails(t *testing.T) {
	sc, b := boarded(t)
	for want, no := range map[string]error{"Only an admin can change that.": &decision.Refusal{Say: "Only an admin can change that."}, surface.SayCommandFailed("Slack"): errDown} {
		b.set(func() { b.no = no })
		if _, err := sc.slack.Slash("UANA", "C1", "/nod", "permissions hold web::ben hidden dispute").Wait(sc.ctx); err != nil {
			t.Fatal(err)
		}
		sc.until("Ana is told", func() bool { return slices.Contains(sc.told("UANA"), want) })
	}
	if log := sc.log.String(); !strings.Contains(log, "a slash command failed") || strings.Contains(log, "hidden") {
		t.Errorf("what she typed is in the log, or nothing is:\n%s", log)
	}
}

// In a thread "here" is that thread; the panel for it takes a click, because what is typed has no trigger.
// R2 R101
func TestSettingsInAThread(t *testing.T) {
	sc, b := boarded(t)
	root := sc.slack.Say("UANA", "C1", "", "<@UBOT> hello")
	sc.quiet()
	id := blocks.Place{Team: "T1", Channel: "C1", Thread: root}.Chat()
	sc.slack.Say("UBEN", "C1", root, "<@UBOT> permissions")
	sc.until("Ben is told", func() bool { return len(sc.told("UBEN")) == 1 })
	e := sc.slack.Ephemerals("UBEN")[0]
	if e.Thread != root || !strings.Contains(string(e.Blocks), "write_file asks") {
		t.Errorf("%+v", e)
	}
	b.set(func() {
		if len(b.asked) != 1 || len(b.asked[0]) != 0 || b.envs[0].Chat != id || b.envs[0].User.Key != "UBEN" {
			t.Errorf("%q %+v", b.asked, b.envs)
		}
	})
	if _, err := sc.slack.ClickEphemeral("UBEN", "Open the settings"); err != nil {
		t.Fatal(err)
	}
	sc.until("the settings are open", func() bool { return len(sc.slack.Views("UBEN")) == 1 })
	sc.inView("UBEN", "Grants")
	sc.inView("UBEN", "Revoke")
	for _, l := range b.seen() {
		if l.env.Chat != id || l.env.User.Key != "UBEN" {
			t.Errorf("%+v", l)
		}
	}
	if done := b.acted(); len(done) != 1 || done[0].env.Chat != id {
		t.Errorf("%+v", done)
	}
	sc.slack.Say("UANA", "C1", root, "<@UBOT> permissions revoke all")
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 })
	b.set(func() {
		if fmt.Sprint(b.asked[1:]) != "[[revoke all]]" {
			t.Errorf("%q", b.asked)
		}
	})
	if strings.Contains(string(sc.slack.Ephemerals("UANA")[0].Blocks), "Open the settings") {
		t.Error("an answer in words has a button")
	}
	sc.slack.Say("UGUEST", "C1", root, "<@UBOT> permissions")
	sc.until("the guest is told", func() bool { return slices.Contains(sc.told("UGUEST"), sayGuest) })
	if got := sc.ledger.got(); len(got) != 1 {
		t.Errorf("a command became a message: %+v", got)
	}
}

// A command in a thread that was not recorded comes again: Slack repeats events.
func TestACommandThatFailsComesAgain(t *testing.T) {
	sc, b := boarded(t)
	root := sc.slack.Say("UANA", "C1", "", "<@UBOT> hello")
	sc.quiet()
	b.set(func() { b.no = errDown })
	sc.slack.Say("UANA", "C1", root, "<@UBOT> permissions forget all")
	sc.until("it was tried", func() bool { var n int; b.set(func() { n = len(b.asked) }); return n > 0 })
	b.set(func() { b.no = nil })
	sc.clock.Advance(fakeslack.AckWithin + 1e9)
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 })
	b.set(func() {
		if len(b.envs) < 2 || b.envs[0].Delivery != b.envs[len(b.envs)-1].Delivery {
			t.Errorf("%+v", b.envs)
		}
	})
}

// Without settings these words are what they were: a message in a thread, no command of /nod.
func TestWithoutSettings(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	if got := sc.slash("UANA", "C1", "permissions"); !strings.Contains(got, "There is no command") || strings.Contains(got, "opens the settings") {
		t.Errorf("%q", got)
	}
	sc.slack.Say("UANA", "C1", "", "<@UBOT> permissions")
	sc.quiet()
	if s := only[chat.Said](sc); s.Text != "permissions" {
		t.Errorf("%+v", s)
	}
}

func TestHelpTellsOfTheSettings(t *testing.T) {
	sc, _ := boarded(t)
	if got := sc.slash("UANA", "C1", "help"); !strings.Contains(got, "“/nod permissions” opens the settings") {
		t.Errorf("%q", got)
	}
}
