package discord

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/fakediscord"
)

var fakeGuild = fakediscord.Guild{Name: "Other"}

// behind is how many rooms are.
func (p *parlor) behind() int {
	r := &p.a.in.rooms
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.late)
}

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
	dm := p.OpenDM(p.ben)
	first := p.Say(p.ben, dm, "hello")
	p.until("the conversation has a mark", func() bool { return p.marks.of(dm) == first })
	p.clock.Advance(2 * marksApart)
	noise := p.Say(p.ben, p.general, "not for the bot")
	p.until("the mark moves over what is not for the bot", func() bool { return p.marks.of(p.general) == noise })
	p.Say(p.ben, p.general, "nor this")
	p.settled(p.general) // moves it
	if older(p.marks.of(p.general), noise) {
		t.Error("the mark moved back")
	}
}

func TestAMessageThatIsNotRecordedIsFetchedInItsOrder(t *testing.T) {
	p := newParlor(t)
	p.failing(2, func(s chat.Said) bool { return s.Text == "two" })
	dm := p.OpenDM(p.ana)
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
	p.failing(1, func(chat.Said) bool { return true })
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
	dm := p.OpenDM(p.ana)
	id := p.Say(p.ana, dm, "one")
	p.until("the room is marked right before it", func() bool { return p.marks.of(dm) == justBefore(id) })
}

func TestTheMarkStaysWhileARoomIsBehind(t *testing.T) {
	p := newParlor(t)
	dm := p.OpenDM(p.ana)
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
	p.Say(p.ana, dm, "two")
	p.until("the room is behind", func() bool { return p.behind() == 1 })
	three := p.Say(p.ana, dm, "three")
	p.until("it was tried", func() bool { return len(p.ledger.asked()) > 5 })
	if got := p.marks.of(dm); got != one {
		t.Errorf("the mark moved to %s", got)
	}
	close(let)
	p.until("the mark follows", func() bool { return p.marks.of(dm) == three })
	if got := p.ledger.texts(); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("taken: %q", got)
	}
}

func TestWhatAGapSwallowedIsFetched(t *testing.T) {
	p := newParlor(t)
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
	other := p.Say(p.ben, p.general, p.bot()+" a new question")
	p.until("all are taken", func() bool { return len(p.ledger.texts()) == 5 && p.behind() == 0 && !p.frozen() })
	var inThread []string
	for _, in := range p.ledger.got()[1:] {
		if in.From().Chat == p.in(id) {
			inThread = append(inThread, in.(chat.Said).Text)
		}
	}
	if !slices.Equal(inThread, missed) || !p.tookMessage(other) {
		t.Errorf("taken: %q", p.ledger.texts())
	}
}

// Nobody has talked with the bot in the room, so it has no mark: that something was written there is told when the next session begins.
func TestAFirstMentionInAGapIsFetched(t *testing.T) {
	p := newParlor(t)
	other, quiet := p.AddChannel(fakediscord.Channel{Name: "other"}), p.AddChannel(fakediscord.Channel{Name: "quiet"})
	p.Say(p.ben, quiet, "nothing since")
	p.clock.Advance(time.Minute)
	if err := p.marks.Mark(p.ctx, p.a.momentOf(0), firstAt(p.clock.Now())); err != nil { // as noteMoments does
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
	dm := p.OpenDM(p.ana)
	one := p.Say(p.ana, dm, "one")
	p.until("it is marked", func() bool { return p.marks.of(dm) == one })
	p.marks.break_(errDown)
	p.a.connected(0, false)
	two := p.Say(p.ana, dm, "two")
	p.until("it waits", func() bool { return p.behind() == 1 })
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
		_ = p.marks.Mark(p.ctx, room, firstAt(now))
	}
	unmade := firstAt(now.Add(-time.Minute)) // a thread on a message that is not made yet
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
	id := p.Say(p.ana, p.OpenDM(p.ana), "one")
	p.until("it is taken", func() bool { return p.tookMessage(id) })
}

func TestALongGapIsReadInPages(t *testing.T) {
	p := newParlor(t)
	dm := p.OpenDM(p.ana)
	one := p.Say(p.ana, dm, "0")
	p.until("it is marked", func() bool { return p.marks.of(dm) == one })
	p.marks.break_(errDown)
	p.a.connected(0, false) // everything is fetched later
	const n = pageOf*pagesAtOnce + 50
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

func TestRooms(t *testing.T) {
	t.Parallel()
	var r rooms
	if r.deferred("1", "50") {
		t.Error("a room is behind from the start")
	}
	r.behind("1", "50")
	if !r.deferred("1", "51") || !r.deferred("1", "50") {
		t.Error("a room that is behind takes messages as they come")
	}
	if r.deferred("2", "51") {
		t.Error("another room is behind, too")
	}
	if !r.later("1", "51", nil) || len(r.late["1"].todo) != 0 {
		t.Error("a change of what is not fetched yet is kept")
	}
	if !r.later("1", "20", func(context.Context) error { return nil }) || len(r.late["1"].todo) != 1 {
		t.Error("a change of what was taken before is lost")
	}
	if r.advance("1", "99", true, time.Now()) {
		t.Error("the mark moves over what was not taken")
	}
	now := time.Now()
	if r.advance("2", "50", false, now) || !r.advance("2", "50", true, now) || r.advance("2", "40", true, now) || r.advance("2", "50", true, now) ||
		r.advance("2", "60", false, now) || !r.advance("2", "60", true, now) || !r.advance("2", "70", false, now.Add(marksApart)) {
		t.Error("marks")
	}
	l := r.late["1"]
	after, seen, _ := r.work(l)
	if after != "49" {
		t.Errorf("fetched after %s", after)
	}
	r.behind("1", "45") // while somebody works on it
	if r.took(l, after, "50", true) {
		t.Error("what was not recorded is passed over")
	}
	if r.done(l, seen) {
		t.Error("done, although something came")
	}
	if after, _, _ := r.work(l); after != "44" {
		t.Errorf("fetched after %s", after)
	}
}

// What servers tell before the marks are read counts as well as what they tell shortly afterwards, and nothing much later does.
func TestServersTellWhatIsNew(t *testing.T) {
	var r rooms
	now := time.Unix(1e9, 0)
	late := func() string {
		var all []string
		for room, l := range r.late {
			all = append(all, room+" from "+l.after)
		}
		slices.Sort(all)
		return fmt.Sprint(all)
	}
	r.freeze()
	r.tell([]moved{{"1", "300", "gateway/0/1"}, {"2", "99", "gateway/0/1"}, {"3", "300", "gateway/1/2"}, {"4", "300", "gateway/0/1"}}, now)
	r.thaw(1, map[string]string{"4": "250", "gateway/0/1": "200", "gateway/1/2": "10"}, "100", now)
	if got := late(); got != "[1 from 200 4 from 250]" {
		t.Errorf("behind: %s", got)
	}
	r.tell([]moved{{"5", "300", "gateway/0/1"}, {"6", "200", "gateway/0/1"}}, now.Add(momentsCount-1))
	r.tell([]moved{{"7", "300", "gateway/0/1"}}, now.Add(momentsCount))
	if got := late(); got != "[1 from 200 4 from 250 5 from 200]" {
		t.Errorf("behind: %s", got)
	}
}

func TestRoomsAreBounded(t *testing.T) {
	t.Parallel()
	var r rooms
	for i := range maxBehind + 10 {
		r.behind(strconv.Itoa(i+1), "50")
	}
	if len(r.late) != maxBehind {
		t.Errorf("%d rooms are remembered", len(r.late))
	}
	for range 2 * maxTodo {
		r.redo("1", func(context.Context) error { return nil })
	}
	if n := len(r.late["1"].todo); n != maxTodo {
		t.Errorf("%d things to do are remembered", n)
	}
}

func TestNewestRoomsGoFirst(t *testing.T) {
	t.Parallel()
	var r rooms
	r.freeze()
	if l, _ := r.pick(time.Now()); l != nil {
		t.Error("fetched before the marks are read")
	}
	r.deferred("7", "500")
	r.thaw(1, map[string]string{"1": "100", "2": "300", "3": "200", "x": "1", "7": "400"}, "150", time.Time{})
	var order []string
	for range 4 {
		l, _ := r.pick(time.Now())
		l.working = true
		order = append(order, l.room+"@"+l.after)
	}
	if !slices.Equal(order, []string{"7@400", "2@300", "3@200", "1@150"}) {
		t.Errorf("%v", order)
	}
	if l, _ := r.pick(time.Now()); l != nil {
		t.Errorf("and %v", l)
	}
}

func TestSnowflakes(t *testing.T) {
	t.Parallel()
	if !older("99", "100") || older("100", "99") || older("5", "5") || justBefore("100") != "99" || justBefore("0") != "0" || justBefore("x") != "0" {
		t.Error("order")
	}
	at := time.UnixMilli(1_700_000_000_123)
	if got := writtenAt(firstAt(at)); !got.Equal(at) {
		t.Errorf("%v", got)
	}
	if firstAt(time.Unix(0, 0)) != "0" {
		t.Error("before Discord")
	}
}
