package discord

import (
	"slices"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// In a thread that the bot follows only whoever began it is heard without a mention, and only where they call nobody else. What people
// said to each other meanwhile comes with the next message to the bot.
func TestPeopleWhoTalkToEachOtherAreLeftAlone(t *testing.T) {
	p := newParlor(t)
	role := p.AddRole(p.Guild(), fakediscord.Role{Name: "ops"})
	thread := p.ask("the disk is full")
	if _, err := p.a.Post(p.ctx, p.in(thread), "own", inWords("I look")); err != nil { // makes the thread
		t.Fatal(err)
	}
	bens := p.Say(p.ben, thread, "is it db1?")
	said := []string{
		"Ben: is it db1?",
		"Ana: @Ben no, db2",
		"Ana: @ops can you look?",
		"Ana: yes, that one",
	}
	p.Say(p.ana, thread, "<@"+p.ben+"> no, db2")
	p.Say(p.ana, thread, "<@&"+role+"> can you look?")
	p.Reply(p.ana, thread, bens, "yes, that one")
	if got := p.context(p.Say(p.ana, thread, "clean it up")); !slices.Equal(got, said) {
		t.Errorf("what came with hers: %q", got)
	}
	if got := p.context(p.Say(p.ana, thread, "and check it")); len(got) != 0 {
		t.Errorf("again: %q", got)
	}
	p.Say(p.ben, thread, "thanks")
	if got := p.context(p.Say(p.ben, thread, p.bot()+" is it done?")); !slices.Equal(got, []string{"Ben: thanks"}) {
		t.Errorf("what came with his: %q", got)
	}
	if got, want := p.ledger.texts(), []string{"the disk is full", "clean it up", "and check it", "is it done?"}; !slices.Equal(got, want) {
		t.Errorf("taken: %q", got)
	}
}
