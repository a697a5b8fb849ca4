package discord

import (
	"slices"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// In a thread that the bot follows only the person whom it works for is heard without a mention, and only where they call nobody else. What people
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

func TestWhomTheBotWorksFor(t *testing.T) {
	for _, follow := range []surface.Follow{surface.FollowRequester, surface.FollowThread, surface.FollowMention} {
		t.Run(string(follow), func(t *testing.T) {
			p := newParlor(t, func(_ *parlor, c *Config) { c.Follow = follow })
			thread := p.CreateThread(p.ben, p.general, "", "disk")
			own, err := p.a.Post(p.ctx, p.in(thread), "own", inWords("done"))
			if err != nil {
				t.Fatal(err)
			}
			p.ledger.set(func() {
				p.ledger.sessions[p.in(thread)] = turn.Session{Chat: p.in(thread), Began: p.user(p.ana), Last: &turn.Turn{Requester: p.user(p.ben)}}
			})
			for _, x := range []struct {
				who, text string
				reply     bool
				heard     []surface.Follow
			}{
				{p.ana, "thanks, Ben", false, []surface.Follow{surface.FollowThread}},
				{p.ben, "and db2?", false, []surface.Follow{surface.FollowThread, surface.FollowRequester}},
				{p.ana, "a reply that pings nobody", true, []surface.Follow{surface.FollowThread, surface.FollowRequester, surface.FollowMention}},
			} {
				before := len(p.ledger.got())
				post := fakediscord.Post{User: x.who, Channel: thread, Text: x.text, NoPing: true}
				if x.reply {
					post.To = string(own)
				}
				p.Post(post)
				p.settled(thread)
				if got, want := len(p.ledger.got()) > before, slices.Contains(x.heard, follow); got != want {
					t.Errorf("%q: heard %v", x.text, got)
				}
			}
			strange := p.CreateThread(p.ben, p.general, "", "where nobody called the bot")
			p.Say(p.ana, strange, "among people")
			p.settled(strange)
			for _, in := range p.ledger.got() {
				if s, ok := in.(chat.Said); !ok || s.Chat != p.in(thread) {
					t.Errorf("%+v", in)
				}
			}
		})
	}
}
