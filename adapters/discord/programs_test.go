package discord

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

const hook = "600000000000000001" // under which the stand-in's webhooks write

// A bot or webhook that is on the list begins a chat by naming nod. It is nobody: it decides nothing, and nothing runs for it unasked.
func TestProgramsOnTheListMayAsk(t *testing.T) {
	p := newParlor(t, func(_ *parlor, c *Config) { c.Bots = []string{hook} })
	p.Post(fakediscord.Post{Webhook: "alerts", Channel: p.general, Text: p.bot() + " look at this", Embeds: []any{map[string]any{"title": "Disk full"}}})
	p.settled(p.general)
	said := onlyOne[chat.Said](p)
	if !said.User.IsZero() || said.Name != "alerts" || len(said.Groups) != 0 || said.Standing != chat.Visitor || said.Text != "look at this" || said.Reply != (chat.ReplyHandle{}) {
		t.Errorf("%+v", said)
	}
	if len(said.Context) != 1 || said.Context[0].Text != "**Disk full**" {
		t.Errorf("%+v", said.Context)
	}
	for _, no := range []string{"not for nod", p.bot(), p.bot() + " mode never yes", p.bot() + " permissions"} {
		p.Post(fakediscord.Post{Webhook: "alerts", Channel: p.general, Text: no})
	}
	p.settled(p.general)
	p.event("MESSAGE_CREATE", map[string]any{"id": "903", "channel_id": p.OpenDM(p.ana), "content": p.bot() + " look at this in private", "webhook_id": hook,
		"author": map[string]any{"id": hook}, "mentions": []any{map[string]any{"id": p.BotUser()}}})
	p.close() // all that was taken is done
	if got := p.ledger.got(); len(got) != 1 {
		t.Errorf("taken: %+v", got[1:])
	}
}

func TestProgramsThatAreNotOnTheListAreNotHeardAndNamedInTheLog(t *testing.T) {
	p := newParlor(t, func(p *parlor, c *Config) { c.Bots = []string{p.BotUser(), "5"} })
	robot := p.AddUser(fakediscord.User{Name: "robot", Bot: true})
	p.Post(fakediscord.Post{User: robot, Channel: p.general, Text: p.bot() + " hello"})
	p.event("MESSAGE_CREATE", map[string]any{"id": "903", "channel_id": p.general, "guild_id": p.Guild(), "content": p.bot() + " from Discord itself",
		"author": map[string]any{"id": "5", "system": true, "bot": true}, "mentions": []any{map[string]any{"id": p.BotUser()}}})
	p.settled(p.general)
	if got := p.ledger.asked(); len(got) != 0 {
		t.Errorf("taken: %+v", got)
	}
	if !strings.Contains(p.log.String(), robot) {
		t.Error("the log does not say how to list it")
	}
}

// Another bot that answers whatever nod says, in the thread and beside it, gets no second answer in a thread, and few in all.
func TestTwoBotsDoNotAnswerEachOtherForEver(t *testing.T) {
	p := newParlor(t, func(_ *parlor, c *Config) { c.Bots = []string{hook} })
	say := func(channel, to, text string) string {
		id := p.Post(fakediscord.Post{Webhook: "echo", Channel: channel, To: to, Text: text})
		p.settled(channel)
		return id
	}
	th := say(p.general, "", p.bot()+" hello")
	own, err := p.a.Post(p.ctx, p.in(th), "own", inWords("hello, echo"))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		say(th, string(own), p.bot()+" hello again")
	}
	onlyOne[chat.Said](p)
	p.Say(p.ana, th, p.bot()+" stop greeting")
	say(th, string(own), p.bot()+" hello")
	if got := p.ledger.texts(); len(got) != 2 {
		t.Errorf("after a person spoke: %q", got)
	}
	for i := range 3 * surface.MaxBegun {
		say(p.general, "", fmt.Sprint(p.bot(), " and here ", i))
	}
	if got := p.ledger.texts(); len(got) != surface.MaxBegun+1 {
		t.Errorf("%d were taken", len(got))
	}
}
