package discord

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// withMembers is a parlor in which Ana has the role that makes members, and Ben has none.
func withMembers(t *testing.T, only bool) *parlor {
	return newParlor(t, func(p *parlor, c *Config) {
		crew := p.AddRole(p.Guild(), fakediscord.Role{Name: "crew"})
		p.SetRoles(p.ana, crew)
		c.Members, c.MembersOnly = []chat.User{ids.Role("999", "998"), ids.Role(p.Guild(), crew)}, only
	})
}

// Whoever has none of the roles may talk, but decides nothing, and nothing runs for them unasked.
func TestWhoeverHasNoneOfTheRolesIsAVisitor(t *testing.T) {
	p := withMembers(t, false)
	for who, want := range map[string]chat.Standing{p.ana: chat.Member, p.ben: chat.Visitor} {
		for _, place := range []string{p.general, p.OpenDM(who)} {
			id := p.Say(who, place, p.bot()+" hello")
			p.until("it is taken", func() bool { return p.tookMessage(id) })
		}
		p.command(who, p.general, inbound.VerbAsk, map[string]any{inbound.OptionText: "hello"})
		p.until("what was asked by command is taken", func() bool { return len(p.ledger.got())%3 == 0 })
		got := p.ledger.got()
		for _, in := range got[len(got)-3:] {
			if s, ok := in.(chat.Said); !ok || s.User.Key != who || s.Standing != want {
				t.Errorf("%+v, and not %q", in, want)
			}
		}
	}
	thread, card := p.card()
	taken := len(p.ledger.got())
	for _, id := range []string{"nod:allow_once:tok", "nod:allow_chat:tok", "nod:deny:tok"} {
		p.press(p.ben, thread, card, id)
	}
	p.command(p.ben, thread, inbound.VerbReset, nil)
	p.command(p.ben, thread, inbound.VerbPermissions, map[string]any{inbound.OptionDo: "mode never yes"})
	p.Say(p.ben, thread, p.bot()+" mode never yes")
	p.settled(thread)
	if got := p.ledger.got(); len(got) != taken {
		t.Errorf("taken: %+v", got[taken:])
	}
	if n := strings.Count(p.told(p.ben, thread), sayNotMember); n < 5 {
		t.Errorf("refused %d times:\n%s", n, p.told(p.ben, thread))
	}
	for id, says := range map[string]string{"nod:view:tok": "notes.txt", "nod:why:tok": sayNoSettings, components.CancelID: sayOtherVersion} { // shows, and decides nothing
		p.press(p.ben, thread, card, id)
		if !strings.Contains(p.told(p.ben, thread), says) {
			t.Errorf("%s: %s", id, p.told(p.ben, thread))
		}
	}
	p.Say(p.ben, thread, p.bot()+" stop")
	p.press(p.ben, thread, card, "nod:stop:tok")
	p.press(p.ana, thread, card, "nod:allow_once:tok")
	p.until("Ben stopped it, and Ana decided", func() bool { return len(p.ledger.got()) == taken+3 })
}

func TestVisitorsCanBeKeptFromTalking(t *testing.T) {
	p := withMembers(t, true)
	for _, place := range []string{p.general, p.OpenDM(p.ben)} {
		p.Say(p.ben, place, p.bot()+" hello")
	}
	p.command(p.ben, p.general, inbound.VerbAsk, map[string]any{inbound.OptionText: "hello"})
	p.until("Ben is told", func() bool { return strings.Count(p.told(p.ben, p.general), sayMembersOnly) == 3 })
	if len(p.ledger.asked()) != 0 {
		t.Errorf("taken: %+v", p.ledger.asked())
	}
	p.Say(p.ana, p.OpenDM(p.ana), "hello")
	p.until("Ana is heard", func() bool { return slices.Equal(p.ledger.texts(), []string{"hello"}) })
	p.command(p.ana, p.general, inbound.VerbAsk, map[string]any{inbound.OptionText: "by command"})
	p.until("there, too", func() bool { return slices.Equal(p.ledger.texts(), []string{"hello", "by command"}) })
}

// Where Discord does not say who has which roles, nobody is taken for a member; what only members may say is fetched until it does.
func TestWhoIsNotKnownIsNoMember(t *testing.T) {
	p := withMembers(t, false)
	p.Fail(fakediscord.GetMember, 9, fakediscord.Fault{Status: http.StatusInternalServerError})
	dm := p.OpenDM(p.ana)
	p.context(p.Say(p.ana, dm, "hello"))
	if got := onlyOne[chat.Said](p); got.Standing != chat.Untold {
		t.Errorf("%+v", got)
	}
}

func TestWhoIsNotKnownWaitsWhereOnlyMembersMayTalk(t *testing.T) {
	p := withMembers(t, true)
	p.Fail(fakediscord.GetMember, 2, fakediscord.Fault{Status: http.StatusInternalServerError})
	id := p.Say(p.ana, p.OpenDM(p.ana), "hello")
	p.until("Discord says who she is", func() bool { return p.tookMessage(id) })
	if got := onlyOne[chat.Said](p); got.Standing != chat.Member {
		t.Errorf("%+v", got)
	}
}

// The roles that an event says are not asked for, and those of one server make nobody a member in another.
func TestWhichRolesCount(t *testing.T) {
	p := withMembers(t, false)
	p.Say(p.ana, p.general, p.bot()+" hello")
	p.settled(p.general)
	if n := len(p.Calls(fakediscord.GetMember)); n != 0 {
		t.Errorf("asked %d times", n)
	}
	other := p.AddGuild(fakediscord.Guild{Name: "Other"})
	p.Join(other, fakediscord.Member{User: p.ana})
	there := p.AddChannel(fakediscord.Channel{Guild: other, Name: "there"})
	for i, m := range []struct {
		guild, channel string
		want           chat.Standing
		asked          int
	}{{other, there, chat.Visitor, 0}, {p.Guild(), p.general, chat.Member, 1}} { // neither says her roles
		id := fmt.Sprint(951 + i)
		p.event("MESSAGE_CREATE", map[string]any{"id": id, "channel_id": m.channel, "guild_id": m.guild, "content": p.bot() + " hello",
			"author": map[string]any{"id": p.ana, "username": "ana"}, "mentions": []any{map[string]any{"id": p.BotUser()}}})
		p.until("it is taken", func() bool { return p.tookMessage(id) })
		got := p.ledger.got()
		if n := len(p.Calls(fakediscord.GetMember)); got[len(got)-1].(chat.Said).Standing != m.want || n != m.asked {
			t.Errorf("%v: asked %d times, %+v", m, n, got)
		}
	}
}

// Who signed in on the page by Discord is of the server whose members do, or in a chat of Discord's of that one; and nobody where they are not in it.
func TestMembersOfTheServer(t *testing.T) {
	p := withMembers(t, false)
	other := p.AddGuild(fakediscord.Guild{Name: "Other"})
	page, there, direct := chat.ID{Platform: "web", Key: "c"}, chat.ID{Platform: Platform, Workspace: other, Key: "1"}, chat.ID{Platform: Platform, Key: "2"}
	ana, ben, none := ids.Person(p.Guild(), p.ana), ids.Person(p.Guild(), p.ben), ids.Person("", "300000000000000077")
	none.Workspace = p.Guild()
	for _, x := range []struct {
		in  chat.ID
		who chat.User
		is  chat.User
		no  string
	}{
		{chat.ID{}, ana, ana, ""}, {page, ana, ana, ""},
		{direct, ana, ids.Person("", p.ana), ""}, {there, ana, chat.User{}, sayNotThere},
		{chat.ID{}, ben, chat.User{}, sayNotMember}, {chat.ID{}, none, chat.User{}, sayNotThere},
		{chat.ID{Platform: Platform, Workspace: "800000000000000099", Key: "1"}, ana, chat.User{}, sayNotThere},
	} {
		if is, _, no := p.a.Member(t.Context(), x.in, x.who); is != x.is || no != x.no {
			t.Errorf("%v in %v is %v, %q; want %v, %q", x.who, x.in, is, no, x.is, x.no)
		}
	}
	p.Fail(fakediscord.GetMember, 9, fakediscord.Fault{Status: http.StatusInternalServerError})
	if is, _, no := p.a.Member(t.Context(), page, ids.Person(p.Guild(), "300000000000000078")); no != sayNobody {
		t.Errorf("whoever Discord says nothing of is %v, %q", is, no)
	}
	roles, err := p.a.Groups(t.Context(), page, ana)
	if err != nil || len(roles) != 1 || roles[0].Workspace != p.Guild() {
		t.Errorf("on the page she has %v, %v", roles, err)
	}
}
