package discord

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func TestEditsAndDeletions(t *testing.T) {
	p := newParlor(t)
	id := p.ask("one")
	strange := p.Say(p.ana, p.general, "not for the bot")
	p.EditMessage(p.general, strange, "still not")
	p.DeleteMessage(p.general, strange)
	p.Unfurl(p.general, id, "https://example.com") // a preview is no edit
	p.EditMessage(p.general, id, p.bot()+" two")
	p.until("the edit is taken", func() bool { return len(p.ledger.got()) == 2 })
	edit, ok := p.ledger.got()[1].(chat.Edited)
	if !ok || edit.Text != "two" || string(edit.Message) != id || edit.User != p.user(p.ana) || edit.Chat != p.in(id) {
		t.Fatalf("%+v", p.ledger.got())
	}
	p.clock.Advance(settleAfter)
	p.EditMessage(p.general, id, p.bot()+" three")
	p.until("the next edit is taken", func() bool { return len(p.ledger.got()) == 3 })
	if e, ok := p.ledger.got()[2].(chat.Edited); !ok || e.Text != "three" || e.Delivery == edit.Delivery {
		t.Errorf("%+v", p.ledger.got()[2])
	}
	ref, err := p.a.Post(p.ctx, p.in(id), "own", inWords("working"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.a.Edit(p.ctx, p.in(id), ref, inWords("its own words are no edit"), agent.Final); err != nil {
		t.Fatal(err)
	}
	p.settled(id)
	p.DeleteMessages(p.general, id)
	p.until("the deletion is taken", func() bool { return len(p.ledger.got()) == 4 })
	p.settled(p.general)
	if d, ok := p.ledger.got()[3].(chat.Deleted); !ok || string(d.Message) != id || d.Chat != edit.Chat || d.All || len(p.ledger.got()) != 4 {
		t.Errorf("%+v", p.ledger.asked())
	}
}

func TestDeletionsInEveryKindOfPlace(t *testing.T) {
	p := newParlor(t, func(p *parlor, c *Config) { c.Conversation = InChannel })
	dm := p.OpenDM(p.ana)
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	for _, room := range []string{dm, thread, p.general} {
		id := p.Say(p.ana, room, p.bot()+" here")
		p.until("it is taken", func() bool { return p.tookMessage(id) })
		said := p.ledger.got()[len(p.ledger.got())-1]
		n := len(p.ledger.got())
		if room != dm { // where it stood cannot be asked for at once
			p.a.in.channels.byID.Remove(room)
			p.Fail(fakediscord.GetChannel, 1, fakediscord.Fault{Status: 502})
		}
		p.DeleteMessage(room, id)
		p.until("the deletion is taken", func() bool { return len(p.ledger.got()) == n+1 })
		if d, ok := p.ledger.got()[n].(chat.Deleted); !ok || d.Chat != said.From().Chat || string(d.Message) != id {
			t.Errorf("%+v", p.ledger.got()[n])
		}
	}
}

func TestAPlaceThatIsGoneEndsWhatWaitsThere(t *testing.T) {
	p := newParlor(t)
	g := p.Guild()
	other := p.AddGuild(fakeGuild)
	gone := p.CreateThread(p.ana, p.general, "", "deleted")
	shut := p.CreateThread(p.ana, p.general, "", "locked")
	asleep := p.CreateThread(p.ana, p.general, "", "archived only")
	p.asking(ids.Place{Guild: g, Channel: p.general, Thread: gone}, "1", "a")
	p.asking(ids.Place{Guild: g, Channel: p.general, Thread: shut}, "1", "b")
	p.asking(ids.Place{Guild: g, Channel: p.general, Thread: asleep}, "1", "c")
	p.asking(ids.Place{Guild: g, Channel: "4444", Thread: "5555"}, "1", "d")
	p.asking(ids.Place{Guild: other, Channel: "6666", Thread: ""}, "1", "e")
	want := func(n int, key string) {
		t.Helper()
		p.until("it ends: "+key, func() bool { return len(p.ledger.got()) == n })
		d, ok := p.ledger.got()[n-1].(chat.Deleted)
		if !ok || !d.All || d.Chat.Key != key {
			t.Errorf("%+v", p.ledger.got()[n-1])
		}
	}
	dm := p.OpenDM(p.ana)
	p.asking(ids.Place{Channel: dm}, "1", "f")
	for _, typ := range []string{"GUILD_DELETE", "CHANNEL_DELETE", "THREAD_UPDATE"} { // of nothing that can be read, which is not all that has no server and no thread
		p.event(typ, map[string]any{"type": 11, "thread_metadata": map[string]any{"archived": true, "locked": true}})
	}
	p.Archive(asleep, true)
	p.ledger.set(func() { p.ledger.down = errDown })
	p.DeleteChannel(gone)
	p.until("it could not be recorded", func() bool { return strings.Contains(p.log.String(), "what waits for an answer") })
	p.ledger.set(func() { p.ledger.down = nil })
	want(1, p.general+"/"+gone)
	p.Lock(shut, true, true)
	want(2, p.general+"/"+shut)
	p.event("CHANNEL_DELETE", map[string]any{"id": "4444", "guild_id": g})
	want(3, "4444/5555")
	p.event("GUILD_DELETE", map[string]any{"id": other, "unavailable": true}) // an outage
	if err := p.a.Settled(p.ctx, "g:"+other); err != nil || len(p.ledger.asked()) != 3 {
		t.Errorf("%v, %+v", err, p.ledger.asked())
	}
	p.RemoveGuild(other, false)
	want(4, "6666")
	p.close() // all that was taken is done
	if len(p.ledger.asked()) != 4 {
		t.Errorf("%+v", p.ledger.asked())
	}
}

func TestAChangeThatIsNotRecordedIsTriedAgain(t *testing.T) {
	p := newParlor(t)
	id := p.ask("one")
	failed := 0
	p.ledger.set(func() {
		p.ledger.fail = func(in chat.Inbound) error {
			if _, said := in.(chat.Said); said {
				return nil
			}
			if failed++; failed < 3 {
				return errDown
			}
			return nil
		}
	})
	p.a.in.channels.byID.Remove(p.general)
	p.Fail(fakediscord.GetChannel, 1, fakediscord.Fault{Status: 502})
	p.EditMessage(p.general, id, p.bot()+" two")
	p.until("it is taken in the end", func() bool { return len(p.ledger.got()) == 2 })
	if e, ok := p.ledger.got()[1].(chat.Edited); !ok || e.Text != "two" {
		t.Errorf("%+v", p.ledger.got())
	}
	p.until("nothing is behind", func() bool { return p.behind() == 0 })
	p.ledger.set(func() { failed = 0 })
	p.DeleteMessage(p.general, id)
	p.until("the deletion is, too", func() bool { return len(p.ledger.got()) == 3 && p.behind() == 0 })
	if !strings.Contains(p.log.String(), "a change was not recorded") {
		t.Error("the log does not say so")
	}
}
