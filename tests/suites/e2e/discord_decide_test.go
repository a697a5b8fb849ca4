package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// What can be done with an ask, by clicks that come through the gateway and by signed requests.
// R71/.*/details R71/.*/details_in_a_file R96/.*/details R123/.*/deny_with_a_reason
func TestDiscordDecisions(t *testing.T) {
	t.Parallel()
	all := map[string]tale{
		"not theirs": discordNotTheirs, "already decided": discordAlreadyDecided, "opposite": discordOpposite, "elsewhere": discordElsewhere,
		"deny with a reason": discordDenyWithReason, "edit": discordEdit, "details": discordDetails, "details in a file": discordDetailsInFile, "late form": discordLateForm,
	}
	for _, via := range []transport{byGateway, byHTTP} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			tales(t, guildSettings{via: via}, all)
		})
	}
}

// Who may not decide is told so alone, and the card stays as it is.
func discordNotTheirs(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	before := shown(k.now(id).Version)
	for i, what := range []string{"Allow once", "Deny", "Allow for this chat"} { // nobody is asked whether they mean what is not theirs
		k.click(benID, id, what)
		k.until("Ben is told again", func() bool { return len(k.private(benID)) == i+1 })
	}
	for _, m := range k.private(benID) {
		if m.Ephemeral != benID || !strings.Contains(shown(m.Version), "Only Ana (who asked) or an admin can decide this.") {
			t.Errorf("Ben is told %s", shown(m.Version))
		}
	}
	if got := shown(k.now(id).Version); got != before || g.wrote(t, args) != 0 || len(k.turns()) != 1 {
		t.Errorf("clicks of others changed something: ran %d times: %s\nwas %s", g.wrote(t, args), got, before)
	}
	k.click(adaID, id, "Allow once")
	k.done(id, "gave: written", "allowed once by Ada")
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// A click on what the person still had on their screen, after somebody else decided.
func discordAlreadyDecided(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	asked := len(k.now(id).Versions) - 1
	d := k.click(anaID, id, "Deny")
	if a, _ := d.Answered(); a.Type != fakediscord.CallbackUpdate && a.Type != fakediscord.CallbackDeferUpdate {
		t.Errorf("a click that counts was answered with type %d", a.Type)
	}
	k.done(id, "was denied")
	for _, user := range []string{adaID, anaID} {
		k.clickOld(user, id, asked, "Allow once")
		k.told(user, "Already denied by Ana at ")
	}
	if n := g.wrote(t, args); n != 0 {
		t.Errorf("denied, and it ran %d times", n)
	}
}

// Two opposite clicks at once: one counts, and the other is told.
func discordOpposite(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	no := k.nth(id, "Deny", 0) // Ada still sees it, whatever has become of Ana's
	allow, err := k.Click(anaID, k.room, id, "Allow once")
	if err != nil {
		t.Fatal(err)
	}
	deny, err := k.Press(adaID, k.room, id, no)
	k.answered(deny, err)
	k.answered(allow, nil)
	shown := k.done(id)
	ran, loser := g.wrote(t, args), adaID
	if allowed := strings.Contains(shown, "allowed once by Ana"); allowed != (ran == 1) || !allowed && (ran != 0 || !strings.Contains(shown, "denied by Ada")) {
		t.Errorf("it ran %d times, and the message says %s", ran, shown)
	} else if !allowed {
		loser = anaID
	}
	k.told(loser, "Already ")
	if n := len(k.private(anaID)) + len(k.private(adaID)); n != 1 {
		t.Errorf("%d of them were told", n)
	}
}

// A button counts on its own message alone, whoever puts it on another.
func discordElsewhere(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	allow := k.nth(id, "Allow once", 0)
	other := g.mention(t, "say nothing")
	at := other.answer(1)
	other.done(at, "nothing")
	other.press(anaID, at, allow)
	other.told(anaID, "This button is not (or no longer) open here.")
	forged := allow
	forged.ID = allow.ID[:strings.LastIndex(allow.ID, ":")+1] + "made-up"
	k.press(anaID, id, forged)
	k.told(anaID, "This button is not (or no longer) open here.")
	forged.ID = "pigeon"
	k.press(benID, id, forged)
	k.told(benID, "This button is of another version of nod.")
	if n := g.wrote(t, args); n != 0 {
		t.Errorf("it ran %d times", n)
	}
	k.click(anaID, id, "Allow once")
	k.done(id, "gave: written")
}

// A reason goes through a form to the model, and stands on the message.
func discordDenyWithReason(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	// Ada: a person has one form open, and another story uses Ana's.
	k.click(adaID, id, "Deny with a reason…")
	f := k.form(adaID, 1)
	if !strings.Contains(f.Title, "write of box") || len(f.Inputs) != 1 || f.Inputs[0].Required {
		t.Errorf("the form: %+v", f)
	}
	const reason = "not on a *Friday* & never at \"five\", <@" + benID + ">"
	k.submit(adaID, map[string]string{"reason": reason})
	k.form(adaID, 0)
	shown := k.done(id, "was denied")
	if !strings.Contains(shown, "not on a *Friday* & never at") || !strings.Contains(shown, "denied by Ada") {
		t.Errorf("the message does not show the reason: %s", shown)
	}
	if !g.modelRead("Reason: not on a *Friday*") {
		t.Error("the model was not told the reason")
	}
	if m := k.now(id); len(m.Mentions) > 0 || g.wrote(t, args) != 0 {
		t.Errorf("it mentions %q, and it ran %d times", m.Mentions, g.wrote(t, args))
	}
}

// Edited arguments are another call: a new digest, asked for anew, run with the new bytes, and the model is told.
func discordEdit(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	digest, asked := discordDigest(t, k, id), len(k.now(id).Versions)-1
	k.click(anaID, id, "Edit arguments…")
	if f := k.form(anaID, 1); len(f.Inputs) != 1 || !strings.Contains(f.Inputs[0].Value, strings.Trim(args, "{}")[len(`"path":`):]) {
		t.Errorf("the form: %+v", f)
	}
	// What the tool does not take is said in private: Discord's forms cannot say what is wrong.
	k.submit(anaID, map[string]string{"args": `{"path":7}`})
	k.told(anaID, "/path")
	for wrong, says := range map[string]string{`{"path":`: "The arguments were not taken", args: "nothing was changed"} {
		k.click(anaID, id, "Edit arguments…")
		k.form(anaID, 1)
		k.submit(anaID, map[string]string{"args": wrong})
		k.told(anaID, says)
	}
	changed := strings.Replace(args, `"}`, `.changed"}`, 1)
	k.click(anaID, id, "Edit arguments…")
	k.form(anaID, 1)
	k.submit(anaID, map[string]string{"args": "  " + changed + "\n"})
	k.says(id, "arguments changed by Ana")
	k.ask(id, "Allow once", 1)
	if g.wrote(t, changed)+g.wrote(t, args) != 0 {
		t.Fatal("an edit ran something")
	}
	if got := discordDigest(t, k, id); got == digest {
		t.Errorf("the digest is the same: %s", got)
	}
	k.clickOld(anaID, id, asked, "Allow once")
	k.told(anaID, "This button is not (or no longer) open here.")
	k.click(anaID, id, "Allow once")
	k.done(id, "gave: ", "written", "arguments changed by Ana")
	if old, fresh := g.wrote(t, args), g.wrote(t, changed); old != 0 || fresh != 1 {
		t.Errorf("the old call ran %d times, the new one %d times", old, fresh)
	}
	if !g.modelRead("Ana changed the arguments of this call") {
		t.Error("the model was not told who changed what")
	}
}

// discordDigest is the digest of the one call that is asked about, as its details have it.
func discordDigest(t *testing.T, k *talk, id string) (digest string) {
	t.Helper()
	seen := len(k.private(benID))
	k.click(benID, id, "View details")
	k.until("Ben sees the details", func() bool {
		all := k.private(benID)
		if len(all) > seen {
			digest = regexp.MustCompile(`\b[0-9a-f]{64}\b`).FindString(shown(all[len(all)-1].Version))
		}
		return digest != ""
	})
	return digest
}

// All of a call is behind View details, for whoever looks and for them alone.
func discordDetails(t *testing.T, g *guild) {
	order, _ := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	digest := discordDigest(t, k, id)
	m := k.told(benID, "SHA-256")
	if text := shown(m.Version); m.Ephemeral != benID || !strings.Contains(text, digest) || !strings.Contains(text, "path") {
		t.Errorf("the details: %s", text)
	}
	k.click(anaID, id, "Deny")
	k.done(id, "was denied")
}

// What is too long for a message is a file beside it.
func discordDetailsInFile(t *testing.T, g *guild) {
	var text strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&text, "word%04d ", i)
	}
	k := g.mention(t, fmt.Sprintf(`call box__write {"path":"details","text":%q}`, strings.TrimSpace(text.String())))
	id := k.answer(1)
	k.ask(id, "Deny", 1)
	if got := shown(k.now(id).Version); strings.Contains(got, "word0750") || !strings.Contains(got, "Show arguments") {
		t.Errorf("the card: %s", tail(got, 1000))
	}
	k.click(anaID, id, "Show arguments")
	m := k.told(anaID, "SHA-256")
	if len(m.Attachments) != 1 || !strings.HasSuffix(m.Attachments[0].Name, ".json") {
		t.Fatalf("its files: %+v", m.Attachments)
	}
	all := string(g.File(m.Channel, m.Attachments[0]))
	for _, want := range []string{"word0000", "word0750", "word1499"} {
		if !strings.Contains(all, want) {
			t.Errorf("the file has no %q", want)
		}
	}
	k.click(anaID, id, "Deny")
	k.done(id, "was denied")
}

// Who fills in a form for too long is told so.
func discordLateForm(t *testing.T, g *guild) {
	order, args := write(t)
	channel := g.channel()
	zoe := "70000000000000" + channel[len(channel)-4:] // forms are one a person, and other stories use Ana's
	g.AddUser(fakediscord.User{ID: zoe, Name: "Zoe"})
	k := g.talk(t, channel, g.Say(zoe, channel, g.me(order)))
	id := k.asking(1)
	k.click(zoe, id, "Deny with a reason…")
	k.form(zoe, 1)
	k.click(adaID, id, "Allow once")
	k.done(id, "gave: written")
	k.submit(zoe, map[string]string{"reason": "too late"})
	k.until("Zoe is told", func() bool { return len(k.private(zoe)) == 1 })
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// Roles may be approvers and admins. Which ones somebody has is what Discord says with their click.
// R29
func TestDiscordRoles(t *testing.T) {
	t.Parallel()
	g := openGuild(t, guildSettings{yamlOf: func(g *guild) string {
		return fmt.Sprintf("approvals: {approvers: [%q]}\npermissions: {servers: {box: {tools: {mutable: {approval: RequireAuth}}}}}\n", g.name("&"+g.lead))
	}})
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	k.says(id, "can answer")
	for _, user := range []string{anaID, opsID} { // who asked is no approver here
		k.click(user, id, "Allow once")
		k.told(user, "can decide this.")
	}
	k.click(leaID, id, "Allow once")
	k.done(id, "gave: written", "allowed once by Lea")
	// A role that was taken away counts no more.
	k.say(anaID, strings.Replace(order, `"}`, `.2"}`, 1))
	second := k.asking(2)
	g.SetRoles(leaID)
	k.click(leaID, second, "Allow once")
	k.told(leaID, "can decide this.")
	g.SetRoles(benID, g.lead)
	k.click(benID, second, "Deny")
	k.done(second, "was denied", "denied by Ben")
	// An admin's call is not an approver's.
	k.say(anaID, "call box__mutable {}")
	third := k.asking(3)
	k.click(benID, third, "Allow once")
	k.told(benID, "Only an admin can decide this.")
	k.click(adaID, third, "Allow once")
	k.done(third, "allowed once by Ada")
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// A role as admin.
// R110
func TestDiscordAdminRole(t *testing.T) {
	t.Parallel()
	role := "660000000000000001"
	g := openGuild(t, guildSettings{
		prepare: func(g *guild) {
			g.AddRole("", fakediscord.Role{ID: role, Name: "admins"})
			g.SetRoles(opsID, role)
		},
		adminRole: role,
	})
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	k.click(leaID, id, "Allow once")
	k.told(leaID, "Only Ana (who asked) or an admin can decide this.")
	k.click(opsID, id, "Allow once")
	k.done(id, "gave: written", "allowed once by Olga")
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}
