package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// What is decided for longer than one call, and where it is looked at and taken back.
// R3/.*/settings R4/.*/settings R11/.*/settings R19/.*/settings R43/.*/remember R45/.*/remember R83/.*/remember R148/.*/settings
// R149/.*/settings R153/.*/remember R155/.*/only_these_values
func TestDiscordStanding(t *testing.T) {
	t.Parallel()
	for _, via := range []transport{byGateway, byHTTP} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			tales(t, guildSettings{via: via, yaml: "workbench: true\n"}, map[string]tale{
				"remember": discordRemembers, "only these values": discordOnlyTheseValues, "settings": discordSettings, "elicitation": discordElicitation,
			})
		})
	}
}

// "Remember this choice" counts in another thread of the same person, and for nobody else.
func discordRemembers(t *testing.T, g *guild) {
	const order = "call box__env {}"
	k := g.mention(t, order)
	id := k.asking(1)
	if count(k.pressable(id), "☐ Remember this choice") != 0 {
		t.Error("a choice about a tool that nobody accepted can be remembered")
	}
	k.slash(adaID, "permissions", map[string]any{"do": "accept box env"})
	k.told(adaID, "Accepted")
	k.click(anaID, id, "Deny")
	k.done(id, "was denied")
	k.say(anaID, order)
	id = k.asking(2)
	k.click(anaID, id, "☐ Remember this choice")
	k.ask(id, "☑ Remember this choice", 1)
	k.click(anaID, id, "Allow once")
	k.confirm(anaID, "Allow once") // what is remembered is more than what is allowed here
	k.done(id, "allowed once by Ana")
	other := g.mention(t, order)
	other.done(other.answer(1), "allowed by a remembered choice")
	other.say(benID, g.me(order))
	second := other.asking(2)
	other.click(benID, second, "Deny")
	other.done(second, "was denied")
}

// What grants more than one call is confirmed in private, in words that say what it grants, and then holds for that alone.
func discordOnlyTheseValues(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	k.click(anaID, id, "Only with these values…")
	asked := shown(k.told(anaID, "Cancel").Version)
	if !strings.Contains(asked, "write of box") && !strings.Contains(asked, "write from box") || !strings.Contains(asked, strings.ReplaceAll(t.Name(), "/", ".")) {
		t.Errorf("the question does not say what it grants: %s", asked)
	}
	if n := g.wrote(t, args); n != 0 || count(k.pressable(id), "Allow once") != 1 {
		t.Fatalf("before it was confirmed it ran %d times", n)
	}
	k.confirm(anaID, "Only with these values…")
	k.done(id, "gave: written")
	k.say(anaID, order)
	k.done(k.answer(2), "gave: written")
	k.say(anaID, "call box__write "+strings.Replace(args, `"}`, `.other"}`, 1))
	third := k.asking(3)
	k.click(anaID, third, "Deny")
	k.done(third, "was denied")
	if n := g.wrote(t, args); n != 2 {
		t.Errorf("it ran %d times", n)
	}
}

// inPanel presses something in the settings that somebody has open, on whichever page it stands, and waits until they say something: a
// button or an option by its label, or by the view that it opens.
func (k *talk) inPanel(user, what, says string) {
	k.t.Helper()
	var open fakediscord.Message
	var found fakediscord.Button
	k.until("the settings offer "+what, func() bool {
		all := k.Seen(user, k.room)
		for _, open = range all[max(0, len(all)-1):] {
			for _, found = range open.Buttons() {
				if found.Label == what || found.Value == "="+what || strings.HasSuffix(found.ID, " ="+what) {
					return true
				}
			}
			for _, found = range open.Buttons() {
				if found.Label == "Next" && !found.Disabled {
					return true
				}
			}
		}
		return false
	})
	k.press(user, open.ID, found)
	if found.Label == "Next" {
		k.inPanel(user, what, says)
		return
	}
	k.told(user, says)
}

// The settings are a message for one person: what was allowed is seen and revoked there, and an admin says there how a tool asks, with
// effect on the next call.
func discordSettings(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	k.click(anaID, id, "Allow for this chat")
	k.confirm(anaID, "Allow for this chat")
	k.done(id, "gave: written")
	k.slash(anaID, "permissions", nil)
	k.told(anaID, "1 permission given in this chat")
	k.inPanel(anaID, "grants", "write of box")
	k.inPanel(anaID, "Revoke", "Revoked: from now on it asks again.")
	k.say(anaID, order)
	second := k.asking(2)
	k.click(anaID, second, "Deny")
	k.done(second, "was denied")

	const clock = "call workbench__datetime {}"
	k.say(anaID, clock)
	k.done(k.answer(3), "needs no question")
	for _, user := range []string{adaID, benID} {
		k.slash(user, "permissions", nil)
		k.told(user, "Waiting for an answer")
		k.inPanel(user, "servers", "workbench")
		k.inPanel(user, "server:workbench", "Asking")
		k.inPanel(user, "tool:workbench/datetime", "datetime from workbench")
	}
	if labels := labelsOf(k.Seen(benID, k.room)); slices.Contains(labels, "Always ask") || slices.Contains(labels, "Disabled") {
		t.Errorf("Ben, who is no admin, is offered %q", labels)
	}
	k.inPanel(adaID, "Always ask", "is now: Always ask")
	k.say(anaID, clock)
	fourth := k.asking(4)
	k.click(anaID, fourth, "Deny")
	k.done(fourth, "was denied")
	k.inPanel(adaID, "Disabled", "is now: Disabled")
	k.say(anaID, clock)
	if text := k.done(k.answer(5)); strings.Contains(text, "allowed") {
		t.Errorf("a disabled tool ran: %s", text)
	}
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

func labelsOf(all []fakediscord.Message) (out []string) {
	for _, m := range all {
		for _, b := range m.Buttons() {
			out = append(out, b.Label)
		}
	}
	return out
}

// A halt given to one replica stops what waits on another, and nothing begins until it is resumed.
// R173
func TestDiscordHalt(t *testing.T) {
	t.Parallel()
	g := openGuild(t, guildSettings{replicas: 2, via: byHTTP})
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	asked := len(k.now(id).Versions) - 1
	g.turnTo(g.bots[1])
	k.slash(benID, "halt", nil)
	k.told(benID, "Only an admin can change that.")
	k.slash(adaID, "halt", nil)
	k.told(adaID, "Halted: every turn is being stopped")
	k.done(id, "Stopped by")
	k.clickOld(anaID, id, asked, "Allow once")
	k.told(anaID, "this call was cancelled and not run")
	k.say(anaID, order)
	k.done(k.answer(2), "halted nod. Nothing runs")
	g.turnTo(g.bots[0])
	k.slash(adaID, "resume", nil)
	k.told(adaID, "Resumed.")
	k.say(anaID, order)
	third := k.asking(3)
	k.click(anaID, third, "Allow once")
	k.done(third, "gave: written")
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// The admins are told once of tools that nobody looked at, and accept them where they are told.
// R161
func TestDiscordInstallation(t *testing.T) {
	t.Parallel()
	g := openGuild(t, guildSettings{})
	dm := g.OpenDM(adaID)
	g.wait(t, "the admin is told of the server's tools", func() bool { return len(g.Mine(dm)) > 0 })
	card := g.Mine(dm)[0]
	if text := shown(card.Version); !strings.Contains(text, "The server box has tools that no admin has accepted") || !strings.Contains(text, "write") {
		t.Errorf("the card: %s", text)
	}
	k := g.talk(t, dm, dm)
	k.click(adaID, card.ID, "Accept as they are")
	k.until("the card says that they are accepted, and has no button", func() bool {
		text := shown(g.Mine(dm)[0].Version)
		return strings.Contains(text, "Ada accepted the tools of box as they are now") && !strings.Contains(text, "Accept as they are")
	})
	order, _ := write(t)
	th := g.mention(t, order)
	id := th.asking(1)
	if text := shown(th.now(id).Version); strings.Contains(text, "no admin has accepted it yet") {
		t.Errorf("accepted, and the card says otherwise: %s", text)
	}
	if n := len(g.Mine(dm)); n != 1 {
		t.Errorf("the admin has %d messages", n)
	}
	th.click(anaID, id, "Deny")
	th.done(id, "was denied")
}

// A server's form is filled in by whoever asked, and shown to nobody else; an address is shown to them alone.
func discordElicitation(t *testing.T, g *guild) {
	channel := g.channel()
	k := g.talk(t, channel, g.Say(leaID, channel, g.me(elicits))) // Lea: a person has one form open, and other stories use Ana's
	id := k.asking(1)
	k.click(leaID, id, "Allow once")
	id = k.offering(1, "Answer…")
	k.click(benID, id, "Answer…")
	k.told(benID, "Only Lea (who asked) can answer this.")
	k.form(benID, 0)
	k.click(leaID, id, "Answer…")
	if f := k.form(leaID, 1); len(f.Inputs) != 2 || !f.Inputs[0].Required {
		t.Errorf("the form: %+v", f)
	}
	k.submit(leaID, map[string]string{"field0": "x"})
	k.told(leaID, "Branch")
	k.click(leaID, id, "Answer…")
	k.form(leaID, 1)
	k.submit(leaID, map[string]string{"field0": "main"})
	k.done(id, `accept {"branch":"main"}`)

	const address = "https://xn--pple-43d.example/sign-in?x=1"
	k.say(leaID, `call box__elicit_url {"url":"`+address+`"}`)
	second := k.asking(2)
	k.click(leaID, second, "Allow once")
	second = k.offering(2, "Show the address…")
	k.click(benID, second, "Show the address…")
	k.click(leaID, second, "Show the address…")
	if text := shown(k.told(leaID, address).Version); !strings.Contains(text, "It leads to xn--pple-43d.example") && !strings.Contains(text, "xn--pple-43d.example**") {
		t.Errorf("the address: %s", text)
	}
	for _, m := range k.private(benID) {
		if strings.Contains(shown(m.Version), address) {
			t.Error("Ben sees the address")
		}
	}
	k.confirm(leaID, "Done")
	k.done(second, "accept")
}
