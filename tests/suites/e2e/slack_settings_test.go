package e2e

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// What is decided for longer than one call, and where it is looked at and taken back.
// R43/.*/remember R45/.*/remember R83/.*/remember R153/.*/remember R155/.*/only_these_values
func TestSlackStanding(t *testing.T) {
	t.Parallel()
	for _, via := range []transport{sockets, signed} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			stories(t, officeSettings{via: via}, map[string]story{"remember": slackRemembers, "only these values": slackOnlyTheseValues})
		})
	}
}

// "Remember this choice" counts in another thread of the same person, and for nobody else.
func slackRemembers(t *testing.T, o *office) {
	args := `{"params":{"of":"` + t.Name() + `"}}` // a tool of this story's own: what is remembered is for all chats
	order := "call box__env " + args
	th := o.mention(t, order)
	ts := th.asking(1)
	if strings.Contains(strings.Join(th.buttons(ts), " "), "Remember this choice") {
		t.Error("a choice about a tool that nobody accepted can be remembered")
	}
	th.say(admin, o.me("permissions accept box env"))
	th.told(admin, "Accepted")
	th.click(ana, ts, "Deny")
	th.done(ts, "was denied")
	th.say(ana, order)
	ts = th.asking(2)
	th.click(ana, ts, "☐ Remember this choice")
	th.ask(ts, "☑ Remember this choice", 1)
	th.click(ana, ts, "Allow once") // and confirms it in Slack's own dialog: what is remembered is more than what is allowed here
	th.done(ts, "allowed once by @Ana")
	other := o.mention(t, order)
	other.done(other.answer(1), "allowed by a remembered choice")
	other.say(ben, o.me(order))
	second := other.asking(2)
	other.click(ben, second, "Deny")
	other.done(second, "was denied")
}

// A line of a menu that grants more than one call is confirmed in private, in words that say what it grants, and then holds for that alone.
func slackOnlyTheseValues(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	th.click(ben, ts, "Only with these values…") // may ask what it is, and decides nothing by it
	th.click(ana, ts, "Only with these values…")
	asked := seen(th.told(ana, "Cancel").Version)
	if !strings.Contains(asked, "write of box") && !strings.Contains(asked, "write from box") || !strings.Contains(asked, strings.ReplaceAll(t.Name(), "/", ".")) {
		t.Errorf("the question does not say what it grants: %s", asked)
	}
	if n := o.wrote(t, args); n != 0 || count(th.buttons(ts), "Allow once") != 1 {
		t.Fatalf("before it was confirmed it ran %d times", n)
	}
	th.confirm(ana, "Only with these values")
	th.done(ts, "gave: written")
	th.say(ana, order)
	th.done(th.answer(2), "gave: written")
	th.say(ana, "call box__write "+strings.Replace(args, `"}`, `.other"}`, 1))
	third := th.asking(3)
	th.click(ana, third, "Deny")
	th.done(third, "was denied")
	if n := o.wrote(t, args); n != 2 {
		t.Errorf("it ran %d times", n)
	}
}

// panel opens the settings by the command and returns the modal.
func (th *thread) panel(user string) fakeslack.View {
	th.t.Helper()
	th.acked(th.t, th.Slash(user, th.channel, "/nod", "permissions"))
	return th.view(user, 1)
}

// inPanel presses something in a modal and waits until that says something.
func (th *thread) inPanel(user, what, says string) (shown string) {
	th.t.Helper()
	var d *fakeslack.Delivery
	th.until("the settings offer "+what, func() (ok bool) {
		var err error
		if all := th.Views(user); len(all) > 0 {
			d, err = th.ClickInView(user, all[len(all)-1].ID, what)
			return err == nil
		}
		return false
	})
	th.acked(th.t, d)
	return th.panelSays(user, says)
}

func (th *thread) panelSays(user, says string) (shown string) {
	th.t.Helper()
	th.until("the settings say "+says, func() bool {
		all := th.Views(user)
		if len(all) == 0 {
			return false
		}
		shown = all[len(all)-1].Title + "\n" + seenBlocks(all[len(all)-1].Blocks)
		return strings.Contains(shown, says)
	})
	return shown
}

// The settings are a modal: what was allowed is seen and revoked there, and an admin says there how a tool asks, with effect on the next call.
// R3 R4 R11 R19 R148 R149
func TestSlackSettings(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{yaml: "workbench: true\n"})
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	th.click(ana, ts, "Allow for this chat")
	th.done(ts, "gave: written")
	th.panel(ana)
	th.inPanel(ana, "Allowed", "write of box")
	th.inPanel(ana, "Revoke", "Revoked: from now on it asks again.")
	th.say(ana, order)
	second := th.asking(2)
	th.click(ana, second, "Deny")
	th.done(second, "was denied")

	const clock = "call workbench__datetime {}"
	th.say(ana, clock)
	th.done(th.answer(3), "needs no question")
	for _, user := range []string{admin, ben} {
		th.panel(user)
		th.inPanel(user, "servers", "▸ Servers and tools")
		th.inPanel(user, "server:workbench", "Asking")
		th.inPanel(user, "tool:workbench/datetime", "Level")
	}
	for _, b := range th.ViewButtons(th.Views(ben)[0].ID) {
		if b.Text == "Always ask" || b.Text == "Disabled" {
			t.Errorf("Ben, who is no admin, is offered %q", b.Text)
		}
	}
	th.panelSays(ben, "Only an admin can change that.")
	th.inPanel(admin, "Always ask", "is now: Always ask")
	th.say(ana, clock)
	fourth := th.asking(4)
	th.click(ana, fourth, "Deny")
	th.done(fourth, "was denied")
	th.inPanel(admin, "Disabled", "is now: Disabled")
	th.say(ana, clock)
	if text := th.done(th.answer(5)); strings.Contains(text, "allowed") {
		t.Errorf("a disabled tool ran: %s", text)
	}
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// A halt given to one replica stops what waits on another, and nothing begins until it is resumed.
// R173
func TestSlackHalt(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{replicas: 2})
	a, b := o.bots[0], o.bots[1]
	o.turnTo(a)
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	asked := len(th.now(ts).Versions) - 1
	o.turnTo(b)
	th.acked(t, th.Slash(ben, th.channel, "/nod", "halt"))
	th.told(ben, "Only an admin can change that.")
	th.acked(t, th.Slash(admin, th.channel, "/nod", "halt"))
	th.told(admin, "Halted: every turn is being stopped")
	th.done(ts, "Stopped by")
	th.clickOld(ana, ts, asked, "Allow once")
	th.told(ana, "this call was cancelled and not run")
	th.say(ana, order)
	th.done(th.answer(2), "halted nod. Nothing runs")
	o.turnTo(a)
	th.acked(t, th.Slash(admin, th.channel, "/nod", "resume"))
	th.told(admin, "Resumed.")
	th.say(ana, order)
	third := th.asking(3)
	th.click(ana, third, "Allow once")
	th.done(third, "gave: written")
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// The admins are told once of tools that nobody looked at, and accept them where they are told.
// R161
func TestSlackInstallation(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{})
	dm := o.DM(admin)
	var card fakeslack.Message
	o.wait(t, "the admin is told of the server's tools", func() bool {
		all := o.Messages(dm, "")
		if len(all) > 0 {
			card = all[0]
		}
		return len(all) > 0
	})
	if text := seen(card.Version); !strings.Contains(text, "The server box has tools that no admin has accepted") || !strings.Contains(text, "write") {
		t.Errorf("the card: %s", text)
	}
	d, err := o.Click(admin, dm, card.TS, "Accept as they are")
	if err != nil {
		t.Fatal(err)
	}
	o.acked(t, d)
	o.wait(t, "the card says that they are accepted, and has no button", func() bool {
		text := seen(o.Messages(dm, "")[0].Version)
		return strings.Contains(text, "accepted the tools of box as they are now") && !strings.Contains(text, "Accept as they are")
	})
	order, _ := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	if text := seen(th.now(ts).Version); strings.Contains(text, "no admin has accepted it yet") {
		t.Errorf("accepted, and the card says otherwise: %s", text)
	}
	if n := len(o.Messages(dm, "")); n != 1 {
		t.Errorf("the admin has %d messages", n)
	}
	th.click(ana, ts, "Deny")
	th.done(ts, "was denied")
}

// A server's form is filled in by whoever asked, and shown to nobody else; an address is shown to them alone.
func TestSlackElicitation(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{})
	th := o.mention(t, elicits)
	ts := th.asking(1)
	th.click(ana, ts, "Allow once")
	th.ask(ts, "Answer…", 1)
	th.click(ben, ts, "Answer…")
	th.told(ben, "Only Ana (who asked) can answer this.")
	th.view(ben, 0)
	th.click(ana, ts, "Answer…")
	v := th.view(ana, 1)
	th.submit(ana, v, map[string]string{"field0": "main"})
	th.view(ana, 0)
	th.done(ts, `accept {"branch":"main"}`)
	if n := o.ledger.Count("elicit", "did"); n != 1 {
		t.Errorf("it was done %d times", n)
	}

	const address = "https://xn--pple-43d.example/sign-in?x=1"
	th.say(ana, `call box__elicit_url {"url":"`+address+`"}`)
	second := th.asking(2)
	th.click(ana, second, "Allow once")
	th.ask(second, "Show the address…", 1)
	th.click(ben, second, "Show the address…")
	th.click(ana, second, "Show the address…")
	shown := seen(th.told(ana, address).Version)
	if !strings.Contains(shown, "xn--pple-43d.example") {
		t.Errorf("the address: %s", shown)
	}
	for _, e := range th.Ephemerals(ben) {
		if strings.Contains(seen(e.Version), address) {
			t.Error("Ben sees the address")
		}
	}
	if text := seen(th.now(second).Version); strings.Contains(strings.SplitN(text, "Show the address", 2)[0], "Open this address") {
		t.Errorf("everybody is led to the address: %s", text)
	}
	th.confirm(ana, "I am done there")
	th.done(second, "accept")
}
