package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Who has to answer, and is not who asked, is mentioned at once: the card itself notifies nobody but the thread's people. Whoever asked
// hears nothing of it.
func TestSlackApproversAreMentioned(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{yaml: "approvals: {nudge_after: 24h, approvers: ['slack:T0FAKE:" + ben + "']}\n"})
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	var note fakeslack.Message
	th.until("the approver is mentioned", func() bool {
		at := slices.IndexFunc(th.answers(), func(m fakeslack.Message) bool { return m.TS != ts && strings.Contains(seen(m.Version), "@Ben") })
		if at >= 0 {
			note = th.answers()[at]
		}
		return at >= 0
	})
	if shown := seen(note.Version); strings.Contains(shown, "@Ana") || !strings.Contains(shown, "Run write from box") {
		t.Errorf("the note: %s", shown)
	}
	if shown := seen(th.now(ts).Version); !strings.Contains(shown, "@Ben can answer until") { // who said nothing here yet has a name all the same
		t.Errorf("the card: %s", shown)
	}
	th.click(ben, ts, "Allow once")
	th.done(ts, "gave: written", "allowed once by")
	th.until("the note is gone", func() bool { return th.now(note.TS).Deleted })
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

func TestDiscordApproversAreMentioned(t *testing.T) {
	t.Parallel()
	const guild = "800000000000000001" // the stand-in's first
	g := openGuild(t, guildSettings{yaml: "approvals: {nudge_after: 24h, approvers: ['discord:" + guild + ":" + benID + "', 'discord::" + benID + "']}\n"})
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	var note fakediscord.Message
	k.until("the approver is mentioned", func() bool {
		at := slices.IndexFunc(k.answers(), func(m fakediscord.Message) bool { return m.ID != id && slices.Contains(m.Pinged, benID) })
		if at >= 0 {
			note = k.answers()[at]
		}
		return at >= 0
	})
	if shown := k.now(id).Text(); !strings.Contains(shown, "<@"+benID+"> or <@"+benID+"> can answer until") { // who said nothing here yet has a name all the same
		t.Errorf("the card: %s", shown)
	}
	if len(note.Pinged) != 1 || note.Everyone || !strings.Contains(note.Text(), id) || strings.Count(note.Text(), "<@") != 1 {
		t.Errorf("the note notifies %q: %s", note.Pinged, note.Text())
	}
	k.click(benID, id, "Allow once")
	k.done(id, "gave: written", "allowed once by Ben")
	k.until("the note is gone", func() bool { return k.now(note.ID).Deleted })
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}
