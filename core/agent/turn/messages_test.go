package turn

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// ignores: the events change nothing, each by itself.
func (x *script) ignores(why string, events ...Event) *script {
	x.t.Helper()
	for _, ev := range events {
		before, log := x.s, x.log
		x.put(ev)
		if !reflect.DeepEqual(before, x.s) {
			x.t.Errorf("%s: %s took effect:\n%s\n%s", why, ev.Kind(), asJSON(x.t, before), asJSON(x.t, x.s))
		}
		x.s, x.log = before, log
	}
	return x
}

// takes: the event does something. It stands after ignores, so that a test of what is refused also shows what is not.
func (x *script) takes(ev Event) *script {
	x.t.Helper()
	before := x.s
	x.put(ev)
	if reflect.DeepEqual(before, x.s) {
		x.t.Errorf("%s changed nothing: %s", ev.Kind(), asJSON(x.t, ev))
	}
	return x
}

// fork is the same story up to here, to be told on in another way.
func (x *script) fork() *script {
	y := *x
	y.log = slices.Clip(y.log)
	return &y
}

// answer ends the open turn with words.
func (x *script) answer() *script {
	x.t.Helper()
	return x.put(Replied{Turn: x.s.Turn.ID, Step: x.s.Turn.Step, Text: "Well."}, Ended{Turn: x.s.Turn.ID, Why: Answered})
}

// waiting are the texts that wait, in order.
func (x *script) waiting() []string {
	var texts []string
	for _, w := range x.s.Waiting {
		texts = append(texts, w.Text)
	}
	return texts
}

func wantTexts(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestEveryDeliveryCountsOnce(t *testing.T) {
	x := newScript(t)
	x.ignores("no delivery to know it by", Said{By: ana, Text: "hi"}, Edited{Message: "m1", By: ana}, Deleted{Message: "m1", By: ana})
	x.takes(says("m1", "hi", ana)).ignores("a redelivery", says("m1", "hi", ana))
	x.put(says("m2", "two", ben), says("m3", "three", ben))
	edit := func(d, text string) Edited {
		return Edited{Delivery: chat.Delivery(d), Message: "m2", By: ben, Text: text}
	}
	x.takes(edit("e1", "two!")).takes(edit("e2", "two!!")).ignores("an old edit, redelivered", edit("e1", "two!"))
	wantTexts(t, "waiting", x.waiting(), "two!!", "three")
	x.takes(Deleted{Delivery: "d1", Message: "m2", By: ben}).ignores("a deletion, redelivered", Deleted{Delivery: "d1", Message: "m3", By: ben})
	wantTexts(t, "waiting", x.waiting(), "three")

	for i := range 2 * maxRecent {
		x.put(says(fmt.Sprintf("n%d", i), "x", ben))
	}
	if n := len(x.s.Recent); n != maxRecent || x.s.Recent[n-1] != chat.Delivery(fmt.Sprintf("n%d", 2*maxRecent-1)) {
		t.Errorf("%d deliveries are remembered, the last is %s", n, x.s.Recent[n-1])
	}
}

func TestPeopleAndTheirNames(t *testing.T) {
	x := newScript(t).put(Said{Delivery: "m0", Text: "from nobody"})
	if len(x.s.People) != 0 {
		t.Errorf("nobody is somebody: %v", x.s.People)
	}
	x.put(says("m1", "hi", ana), says("m2", "hi", ben))
	x.put(Said{Delivery: "m3", By: ana, Name: "Ana B.", Text: "married"}, Said{Delivery: "m4", By: ana, Text: "and nameless"})
	if want := []Person{{ana, "Ana B."}, {ben, "Ben"}}; !reflect.DeepEqual(x.s.People, want) {
		t.Errorf("people %v, want %v", x.s.People, want)
	}
	for i := range 2 * maxPeople {
		x.put(says(fmt.Sprintf("p%d", i), "hi", chat.User{Platform: "web", Key: fmt.Sprintf("u%d", i)}))
	}
	if n := len(x.s.People); n != maxPeople {
		t.Errorf("%d people are kept", n)
	}
}

// One turn reads what waits from one person in a row, and no more.
func TestWhatATurnReads(t *testing.T) {
	again := func(x *script) *script { // an expired call of Ana's is asked for again while her turn is open
		return x.put(Reopened{Ask: "a1", By: ana, Next: "a2", NextCall: "c2"})
	}
	alone := func(id, text string) Said { s := says(id, text, ana); s.Unattended = true; return s }
	visiting := func(id, text string) Said { s := says(id, text, ana); s.Standing = chat.Visitor; return s }
	for name, c := range map[string]struct {
		queue func(*script)
		read  []string // by the next turn
	}{
		"two of one person":          {func(x *script) { x.put(says("m2", "2", ana), says("m3", "3", ana)) }, []string{"2", "3"}},
		"another person's":           {func(x *script) { x.put(says("m2", "2", ana), says("m3", "3", ben)) }, []string{"2"}},
		"hers after another's":       {func(x *script) { x.put(says("m2", "2", ben), says("m3", "3", ana), says("m4", "4", ben)) }, []string{"2"}},
		"asked again, then hers":     {func(x *script) { again(x).put(says("m2", "2", ana)) }, []string{"(pressed “Ask again” for write_file of files)"}},
		"hers, then asked again":     {func(x *script) { again(x.put(says("m2", "2", ana))) }, []string{"2"}},
		"attended, then unattended":  {func(x *script) { x.put(says("m2", "2", ana), alone("m3", "3")) }, []string{"2"}},
		"unattended, then attended":  {func(x *script) { x.put(alone("m2", "2"), says("m3", "3", ana)) }, []string{"2"}},
		"a visitor since":            {func(x *script) { x.put(says("m2", "2", ana), visiting("m3", "3")) }, []string{"2"}},
		"unattended, twice the same": {func(x *script) { x.put(alone("m2", "2"), alone("m3", "3")) }, []string{"2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			x := begin(t, proposes("c1", "write_file", `{}`)).put(rules("c1", "a1", permission.Ask, permission.Write)).
				after(time.Minute).put(Expired{Ask: "a1"})
			c.queue(x)
			all := x.waiting()
			x.answer()
			var read []string
			for _, s := range x.s.Turn.Said {
				read = append(read, s.Text)
			}
			wantTexts(t, "read", read, c.read...)
			wantTexts(t, "still waiting", x.waiting(), all[len(read):]...)
			if x.s.Turn.Unattended != x.s.Turn.Said[0].Unattended || x.s.Turn.Requester != x.s.Turn.Said[0].By {
				t.Errorf("the turn is %v's, unattended %v", x.s.Turn.Requester, x.s.Turn.Unattended)
			}
		})
	}
}

func TestEditsAndDeletionsOfWhatWaits(t *testing.T) {
	x := begin(t).put(says("m2", "two", ben), Said{Delivery: "x1", By: ben, Text: "no message of its own"}, says("m3", "three", ben))
	x.put(Edited{Delivery: "e1", Message: "m3", By: ben, Text: "three!"})
	wantTexts(t, "after an edit", x.waiting(), "two", "no message of its own", "three!")
	x.put(Edited{Delivery: "e2", Message: "m3", By: ana, Text: "not hers"})
	wantTexts(t, "after somebody else's edit", x.waiting(), "two", "no message of its own", "three!")
	x.put(Edited{Delivery: "e3", By: ben, Text: "which?"}, Deleted{Delivery: "e4", By: ben})
	wantTexts(t, "after changes of no message", x.waiting(), "two", "no message of its own", "three!")
	x.put(Deleted{Delivery: "e5", Message: "m9", By: ben})
	wantTexts(t, "after a deletion of another message", x.waiting(), "two", "no message of its own", "three!")
	x.put(Deleted{Delivery: "e6", Message: "m3", By: ana}) // a moderator: the platform let her
	wantTexts(t, "after a deletion", x.waiting(), "two", "no message of its own")
	if x.s.Turn.Ignored != 0 {
		t.Errorf("%d changes are said to have come too late", x.s.Turn.Ignored)
	}
}

// What the turn has read already stays as it was read, and the message says so.
func TestLateEditsAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		ev   Event
		want int
	}{
		"edited by its author":      {Edited{Delivery: "e", Message: "m1", By: ana, Text: "x"}, 1},
		"deleted by its author":     {Deleted{Delivery: "e", Message: "m1", By: ana}, 1},
		"deleted by who knows":      {Deleted{Delivery: "e", Message: "m1"}, 1},
		"an edit that is another's": {Edited{Delivery: "e", Message: "m1", By: ben, Text: "x"}, 0},
		"another message":           {Edited{Delivery: "e", Message: "m0", By: ana, Text: "x"}, 0},
		"no message":                {Edited{Delivery: "e", By: ana, Text: "x"}, 0},
	} {
		if got := begin(t).put(c.ev).s.Turn.Ignored; got != c.want {
			t.Errorf("%s: %d counted, want %d", name, got, c.want)
		}
	}
	x := newScript(t).put(Said{Delivery: "x1", By: ana, Text: "no message of its own"})
	x.put(Edited{Delivery: "e1", By: ana}, Deleted{Delivery: "e2", By: ana})
	x.put(Edited{Delivery: "e3", Message: "m1", By: ana}).put(Edited{Delivery: "e3", Message: "m1", By: ana})
	if x.s.Turn.Ignored != 0 {
		t.Errorf("changes of no message counted: %d", x.s.Turn.Ignored)
	}
	x = begin(t).put(Edited{Delivery: "e1", Message: "m1", By: ana}, Edited{Delivery: "e1", Message: "m1", By: ana},
		Deleted{Delivery: "e2", Message: "m1", By: ana}, Deleted{Delivery: "e2", Message: "m1", By: ana})
	if x.s.Turn.Ignored != 2 {
		t.Errorf("two late changes, redelivered, counted %d", x.s.Turn.Ignored)
	}
	x = begin(t).answer()
	x.put(Edited{Delivery: "e1", Message: "m1", By: ana}, Deleted{Delivery: "e2", Message: "m1", By: ana}) // no turn is open: nothing to count in
	if x.s.Turn != nil || x.s.Last.Ignored != 0 {
		t.Error("a change after the end was counted")
	}
}

func TestShownOnce(t *testing.T) {
	x := newScript(t).ignores("no turn yet", Shown{Turn: "t1", Message: "a"}).put(says("m1", "hi", ana))
	x.ignores("no message, or another turn's", Shown{Turn: "t1"}, Shown{Turn: "t9", Message: "a"})
	x.takes(Shown{Turn: "t1", Message: "a"}).ignores("a second message for it", Shown{Turn: "t1", Message: "b"})
	if x.s.Turn.Shown != "a" {
		t.Errorf("shown as %q", x.s.Turn.Shown)
	}
	// The post of a turn that has ended meanwhile still counts: the last view has to go somewhere.
	x = newScript(t).put(says("m1", "hi", ana), Replied{Turn: "t1", Text: "Well."}, Ended{Turn: "t1", Why: Answered})
	x.ignores("no message, or another turn's", Shown{Turn: "t1"}, Shown{Turn: "t9", Message: "a"})
	x.takes(Shown{Turn: "t1", Message: "a"}).ignores("a second message for it", Shown{Turn: "t1", Message: "b"})
	if x.s.Last.Shown != "a" || !x.s.Last.ShownAt.Equal(x.at) {
		t.Errorf("shown as %q at %v", x.s.Last.Shown, x.s.Last.ShownAt)
	}
	x.put(says("m2", "more", ana)).ignores("the last turn has its message", Shown{Turn: "t1", Message: "c"})
}
