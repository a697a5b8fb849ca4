package discord

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/discord/backfill"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

var fakeGuild = fakediscord.Guild{Name: "Other"}

// behind is how many rooms are.
// oldDM is a conversation with somebody who wrote to the bot before: nobody is welcomed there.
func (p *parlor) oldDM(user string) string {
	dm := p.OpenDM(user)
	p.asking(ids.Place{Channel: dm}, "")
	return dm
}

func (p *parlor) behind() int { return p.a.missed.Status().Behind }

// loseSession ends the connection and the session: no RESUME will do.
func (p *parlor) loseSession() {
	p.Drop()
	p.until("nobody is connected", func() bool { return p.Connected() == 0 })
	p.EndSessions()
}

// failing makes the ledger refuse messages that were not refused n times yet.
func (p *parlor) failing(n int, which func(chat.Said) bool) {
	failed := map[chat.Delivery]int{}
	p.ledger.set(func() {
		p.ledger.fail = func(in chat.Inbound) error {
			s, ok := in.(chat.Said)
			if !ok || !which(s) {
				return nil
			}
			p.ledger.mu.Lock()
			defer p.ledger.mu.Unlock()
			if failed[s.Delivery]++; failed[s.Delivery] <= n {
				return errDown
			}
			return nil
		}
	})
}

func TestMarksFollowWhatIsTaken(t *testing.T) {
	p := newParlor(t)
	p.Say(p.ana, p.general, "before anybody called the bot")
	p.settled(p.general)
	id := p.ask("one")
	p.until("both rooms have a mark", func() bool { return p.marks.of(p.general) == id && p.marks.of(id) == id })
	dm := p.oldDM(p.ben)
	first := p.Say(p.ben, dm, "hello")
	p.until("the conversation has a mark", func() bool { return p.marks.of(dm) == first })
	p.clock.Advance(time.Minute) // its mark may move again
	noise := p.Say(p.ben, p.general, "not for the bot")
	p.until("the mark moves over what is not for the bot", func() bool { return p.marks.of(p.general) == noise })
	p.Say(p.ben, p.general, "nor this")
	p.settled(p.general) // moves it
	if ids.Older(p.marks.of(p.general), noise) {
		t.Error("the mark moved back")
	}
}

func TestAMessageThatIsNotRecordedIsFetchedInItsOrder(t *testing.T) {
	p := newParlor(t)
	p.failing(2, func(s chat.Said) bool { return s.Text == "two" })
	dm := p.oldDM(p.ana)
	var last string
	for _, say := range []string{"one", "two", "three", "four"} {
		last = p.Say(p.ana, dm, say)
	}
	p.until("all are taken", func() bool { return len(p.ledger.texts()) == 4 && p.behind() == 0 })
	if got := p.ledger.texts(); !slices.Equal(got, []string{"one", "two", "three", "four"}) {
		t.Errorf("taken: %q", got)
	}
	p.until("the mark has arrived", func() bool { return p.marks.of(dm) == last })
	p.Say(p.ana, dm, "five") // as it comes again
	p.until("it is taken", func() bool { return len(p.ledger.texts()) == 5 })
}

func TestTheFirstMessageOfARoomIsFetchedToo(t *testing.T) {
	p := newParlor(t)
	failed := false
	p.ledger.set(func() {
		p.ledger.fail = func(chat.Inbound) error {
			if failed {
				return nil
			}
			failed = true
			p.a.in.channels.byID.Remove(p.general) // of which server it is cannot be asked for at once
			p.Fail(fakediscord.GetChannel, 1, fakediscord.Fault{Status: http.StatusBadGateway})
			return errDown
		}
	})
	id := p.Say(p.ana, p.general, p.bot()+" one")
	p.until("it is taken", func() bool { return p.tookMessage(id) })
	got := onlyOne[chat.Said](p)
	if got.Chat != p.in(id) || got.User != p.user(p.ana) || got.Name != "Ana" || got.Delivery != chat.Delivery("m:"+p.general+":"+id) {
		t.Errorf("%+v", got)
	}
}

func TestWhoeverFollowsFindsWhatWasNotRecorded(t *testing.T) {
	p := newParlor(t)
	p.ledger.set(func() { p.ledger.fail = func(chat.Inbound) error { return errDown } })
	dm := p.oldDM(p.ana)
	id := p.Say(p.ana, dm, "one")
	p.until("the room is marked right before it", func() bool { return p.marks.of(dm) == ids.Before(id) })
}

func TestTheMarkStaysWhileARoomIsBehind(t *testing.T) {
	p := newParlor(t)
	dm := p.oldDM(p.ana)
	one := p.Say(p.ana, dm, "one")
	p.until("it is marked", func() bool { return p.marks.of(dm) == one })
	let := make(chan struct{})
	p.ledger.set(func() {
		p.ledger.fail = func(in chat.Inbound) error {
			select {
			case <-let:
				return nil
			default:
				return errDown
			}
		}
	})
	two := p.Say(p.ana, dm, "two")
	p.until("the room is behind", func() bool { return p.behind() == 1 })
	p.EditMessage(dm, two, "2") // it is fetched as it is then
	three := p.Say(p.ana, dm, "three")
	p.until("it was tried", func() bool { return len(p.ledger.asked()) > 5 })
	if got := p.marks.of(dm); got != one {
		t.Errorf("the mark moved to %s", got)
	}
	close(let)
	p.until("the mark follows", func() bool { return p.marks.of(dm) == three })
	if got := p.ledger.texts(); !slices.Equal(got, []string{"one", "2", "three"}) || len(p.ledger.got()) != 3 {
		t.Errorf("taken: %+v", p.ledger.got())
	}
}

func TestWhatAGapSwallowedIsFetched(t *testing.T) {
	p := newParlor(t, func(p *parlor, c *Config) {
		c.Channels = map[string]Channel{p.AddChannel(fakediscord.Channel{ID: "4001", Name: "talk"}): {Conversation: InChannel}}
	})
	talk := p.Say(p.ana, "4001", p.bot()+" hello")
	p.until("the channel has a mark", func() bool { return p.marks.of("4001") == talk })
	p.ledger.set(func() { p.ledger.calls, p.ledger.taken = nil, p.ledger.taken[:0] })
	p.ledger.set(func() { p.ledger.sessions[ids.Place{Guild: p.Guild(), Channel: "4001"}.Chat()] = turn.Session{} })
	id := p.ask("one")
	if _, err := p.a.Post(p.ctx, p.in(id), "key", inWords("here")); err != nil {
		t.Fatal(err)
	}
	p.until("the marks are there", func() bool { return p.marks.of(p.general) == id && p.marks.of(id) == id })
	p.loseSession()
	var missed []string
	for i := range 3 {
		p.Say(p.ana, id, fmt.Sprint("follow-up ", i))
		missed = append(missed, fmt.Sprint("follow-up ", i))
	}
	p.Post(fakediscord.Post{User: p.AddUser(fakediscord.User{Name: "robot", Bot: true}), Channel: p.general, Text: p.bot() + " from a program that is not listed"})
	p.Say(p.ben, "4001", "people among themselves")
	other := p.Say(p.ben, p.general, p.bot()+" a new question")
	p.until("all are taken", func() bool { return len(p.ledger.texts()) == 5 && p.behind() == 0 && !p.frozen() })
	var inThread []string
	for _, in := range p.ledger.got()[1:] {
		if in.From().Chat == p.in(id) {
			inThread = append(inThread, in.(chat.Said).Text)
		}
	}
	if !slices.Equal(inThread, missed) || !p.tookMessage(other) || len(p.ledger.asked()) != 5 {
		t.Errorf("taken: %q", p.ledger.texts())
	}
}

// Nobody has talked with the bot in the room, so it has no mark: that something was written there is told when the next session begins.
func TestAFirstMentionInAGapIsFetched(t *testing.T) {
	p := newParlor(t)
	other, quiet := p.AddChannel(fakediscord.Channel{Name: "other"}), p.AddChannel(fakediscord.Channel{Name: "quiet"})
	p.Say(p.ben, quiet, "nothing since")
	p.clock.Advance(time.Minute)
	if err := p.marks.Mark(p.ctx, "gateway/0/1", ids.FirstAt(p.clock.Now())); err != nil { // as a shard does
		t.Fatal(err)
	}
	p.clock.Advance(time.Second)
	p.loseSession()
	p.Say(p.ben, other, "not for the bot")
	id := p.Say(p.ana, other, p.bot()+" are you there?")
	p.until("it is taken", func() bool { return p.tookMessage(id) && p.behind() == 0 && !p.frozen() })
	for _, c := range p.Calls(fakediscord.GetMessages) {
		if c.Channel == quiet {
			t.Error("a room where nothing was written was read")
		}
	}
}

func TestNothingMovesAMarkBeforeTheMarksAreRead(t *testing.T) {
	p := newParlor(t)
	dm := p.oldDM(p.ana)
	one := p.Say(p.ana, dm, "one")
	p.until("it is marked", func() bool { return p.marks.of(dm) == one })
	p.marks.break_(errDown)
	p.a.connected(0, false)
	p.Say(p.ben, p.general, "not for the bot, so nothing is fetched there")
	two := p.Say(p.ana, dm, "two")
	p.until("it waits", func() bool { return p.behind() > 0 })
	if err := p.a.Settled(p.ctx, p.general); err != nil || p.behind() != 1 {
		t.Errorf("%d rooms wait: %v", p.behind(), err)
	}
	if len(p.ledger.asked()) != 1 || p.marks.of(dm) != one {
		t.Errorf("%+v, mark %s", p.ledger.asked(), p.marks.of(dm))
	}
	p.marks.break_(nil)
	p.until("it is taken", func() bool { return p.marks.of(dm) == two })
}

func TestAResumedSessionMissesNothing(t *testing.T) {
	p := newParlor(t)
	reads := p.marks.reads
	p.a.connected(0, true)
	p.ask("one")
	if p.marks.reads != reads || p.frozen() {
		t.Error("the marks were read again")
	}
}

func TestARoomThatIsNoMoreIsForgotten(t *testing.T) {
	p := newParlor(t)
	now := p.clock.Now()
	for _, room := range []string{"4001", "4002"} {
		_ = p.marks.Mark(p.ctx, room, ids.FirstAt(now))
	}
	unmade := ids.FirstAt(now.Add(-time.Minute)) // a thread on a message that is not made yet
	_ = p.marks.Mark(p.ctx, unmade, unmade)
	p.a.connected(0, false)
	p.until("they are forgotten", func() bool {
		return p.marks.of("4001") == "" && p.marks.of("4002") == "" && p.behind() == 0 && !p.frozen()
	})
	if p.marks.of(unmade) == "" {
		t.Error("a thread that is about to be made is forgotten")
	}
	p.ask("and goes on")
}

func TestFetchingIsTriedAgain(t *testing.T) {
	p := newParlor(t)
	p.failing(1, func(chat.Said) bool { return true })
	p.Fail(fakediscord.GetMessages, 2, fakediscord.Fault{Status: http.StatusBadGateway})
	id := p.Say(p.ana, p.oldDM(p.ana), "one")
	p.until("it is taken", func() bool { return p.tookMessage(id) })
}

func TestALongGapIsReadInPages(t *testing.T) {
	p := newParlor(t)
	dm := p.oldDM(p.ana)
	one := p.Say(p.ana, dm, "0")
	p.until("it is marked", func() bool { return p.marks.of(dm) == one })
	p.marks.break_(errDown)
	p.a.connected(0, false)            // everything is fetched later
	const n = 5*backfill.PageSize + 50 // more than a room gets in one turn
	var want []string
	for i := range n {
		p.Say(p.ana, dm, strconv.Itoa(i+1))
		want = append(want, strconv.Itoa(i+1))
	}
	p.marks.break_(nil)
	p.until("all are taken", func() bool { return len(p.ledger.texts()) == n+1 })
	if got := p.ledger.texts()[1:]; !slices.Equal(got, want) {
		t.Error("out of order")
	}
}

// Discord offers people the bot's own role beside its name. What was fetched is read like what came: else "stop" would be no command.
func TestACallByRoleInAGapIsReadAsOne(t *testing.T) {
	p := newParlor(t)
	role := p.AddRole(p.Guild(), fakediscord.Role{Name: "nod", Mentionable: true})
	id := p.ask("one")
	p.until("the mark is there", func() bool { return p.marks.of(p.general) == id })
	p.loseSession()
	p.Say(p.ana, p.general, "<@&"+role+"> a question")
	p.until("it is taken", func() bool { return len(p.ledger.texts()) == 2 && p.behind() == 0 && !p.frozen() })
	if got := p.ledger.texts()[1]; got != "a question" {
		t.Errorf("taken: %q", got)
	}
}
