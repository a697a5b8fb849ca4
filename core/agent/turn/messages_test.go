package turn_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/talk"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/script"
)

func wantTexts(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestEveryDeliveryCountsOnce(t *testing.T) {
	x := script.New(t)
	x.Ignores("no delivery to know it by", Said{By: script.Ana, Text: "hi"}, Edited{Message: "m1", By: script.Ana}, Deleted{Message: "m1", By: script.Ana})
	x.Takes(script.Says("m1", "hi", script.Ana)).Ignores("a redelivery", script.Says("m1", "hi", script.Ana))
	x.Put(script.Says("m2", "two", script.Ben), script.Says("m3", "three", script.Ben))
	edit := func(d, text string) Edited {
		return Edited{Delivery: chat.Delivery(d), Message: "m2", By: script.Ben, Text: text}
	}
	x.Takes(edit("e1", "two!")).Takes(edit("e2", "two!!")).Ignores("an old edit, redelivered", edit("e1", "two!"))
	wantTexts(t, "waiting", x.Waiting(), "two!!", "three")
	x.Takes(Deleted{Delivery: "d1", Message: "m2", By: script.Ben}).Ignores("a deletion, redelivered", Deleted{Delivery: "d1", Message: "m3", By: script.Ben})
	wantTexts(t, "waiting", x.Waiting(), "three")

	for i := range 2 * MaxRecent {
		x.Put(script.Says(fmt.Sprintf("n%d", i), "x", script.Ben))
	}
	if n := len(x.Session.Recent); n != MaxRecent || x.Session.Recent[n-1] != chat.Delivery(fmt.Sprintf("n%d", 2*MaxRecent-1)) {
		t.Errorf("%d deliveries are remembered, the last is %s", n, x.Session.Recent[n-1])
	}
}

func TestPeopleAndTheirNames(t *testing.T) {
	x := script.New(t).Put(Said{Delivery: "m0", Text: "from nobody"})
	if len(x.Session.People) != 0 {
		t.Errorf("nobody is somebody: %v", x.Session.People)
	}
	x.Put(script.Says("m1", "hi", script.Ana), script.Says("m2", "hi", script.Ben))
	x.Put(Said{Delivery: "m3", By: script.Ana, Name: "Ana B.", Text: "married"}, Said{Delivery: "m4", By: script.Ana, Text: "and nameless"})
	if want := []Person{{script.Ana, "Ana B."}, {script.Ben, "Ben"}}; !reflect.DeepEqual(x.Session.People, want) {
		t.Errorf("people %v, want %v", x.Session.People, want)
	}
	for i := range 2 * MaxPeople {
		x.Put(script.Says(fmt.Sprintf("p%d", i), "hi", chat.User{Platform: "web", Key: fmt.Sprintf("u%d", i)}))
	}
	if n := len(x.Session.People); n != MaxPeople {
		t.Errorf("%d people are kept", n)
	}
}

// One turn reads what waits from one person in a row, and no more.
func TestWhatATurnReads(t *testing.T) {
	again := func(x *script.Script) *script.Script { // an expired call of Ana's is asked for again while her turn is open
		return x.Put(Reopened{Ask: "a1", By: script.Ana, Next: "a2", NextCall: "c2"})
	}
	alone := func(id, text string) Said { s := script.Says(id, text, script.Ana); s.Unattended = true; return s }
	visiting := func(id, text string) Said {
		s := script.Says(id, text, script.Ana)
		s.Standing = chat.Visitor
		return s
	}
	for name, c := range map[string]struct {
		queue func(*script.Script)
		read  []string // by the next turn
	}{
		"two of one person": {func(x *script.Script) { x.Put(script.Says("m2", "2", script.Ana), script.Says("m3", "3", script.Ana)) }, []string{"2", "3"}},
		"another person's":  {func(x *script.Script) { x.Put(script.Says("m2", "2", script.Ana), script.Says("m3", "3", script.Ben)) }, []string{"2"}},
		"hers after another's": {func(x *script.Script) {
			x.Put(script.Says("m2", "2", script.Ben), script.Says("m3", "3", script.Ana), script.Says("m4", "4", script.Ben))
		}, []string{"2"}},
		"asked again, then hers":     {func(x *script.Script) { again(x).Put(script.Says("m2", "2", script.Ana)) }, []string{"(pressed “Ask again” for write_file of files)"}},
		"hers, then asked again":     {func(x *script.Script) { again(x.Put(script.Says("m2", "2", script.Ana))) }, []string{"2"}},
		"attended, then unattended":  {func(x *script.Script) { x.Put(script.Says("m2", "2", script.Ana), alone("m3", "3")) }, []string{"2"}},
		"unattended, then attended":  {func(x *script.Script) { x.Put(alone("m2", "2"), script.Says("m3", "3", script.Ana)) }, []string{"2"}},
		"a visitor since":            {func(x *script.Script) { x.Put(script.Says("m2", "2", script.Ana), visiting("m3", "3")) }, []string{"2"}},
		"unattended, twice the same": {func(x *script.Script) { x.Put(alone("m2", "2"), alone("m3", "3")) }, []string{"2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			x := script.Begin(t, script.Proposes("c1", "write_file", `{}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).
				After(time.Minute).Put(Expired{Ask: "a1"})
			c.queue(x)
			all := x.Waiting()
			x.Answer()
			var read []string
			for _, s := range x.Session.Turn.Said {
				read = append(read, talk.Said(s))
			}
			wantTexts(t, "read", read, c.read...)
			wantTexts(t, "still waiting", x.Waiting(), all[len(read):]...)
			if x.Session.Turn.Unattended != x.Session.Turn.Said[0].Unattended || x.Session.Turn.Requester != x.Session.Turn.Said[0].By {
				t.Errorf("the turn is %v's, unattended %v", x.Session.Turn.Requester, x.Session.Turn.Unattended)
			}
		})
	}
}

func TestEditsAndDeletionsOfWhatWaits(t *testing.T) {
	x := script.Begin(t).Put(script.Says("m2", "two", script.Ben), Said{Delivery: "x1", By: script.Ben, Text: "no message of its own"}, script.Says("m3", "three", script.Ben))
	x.Put(Edited{Delivery: "e1", Message: "m3", By: script.Ben, Text: "three!"})
	wantTexts(t, "after an edit", x.Waiting(), "two", "no message of its own", "three!")
	x.Put(Edited{Delivery: "e2", Message: "m3", By: script.Ana, Text: "not hers"})
	wantTexts(t, "after somebody else's edit", x.Waiting(), "two", "no message of its own", "three!")
	x.Put(Edited{Delivery: "e3", By: script.Ben, Text: "which?"}, Deleted{Delivery: "e4", By: script.Ben})
	wantTexts(t, "after changes of no message", x.Waiting(), "two", "no message of its own", "three!")
	x.Put(Deleted{Delivery: "e5", Message: "m9", By: script.Ben})
	wantTexts(t, "after a deletion of another message", x.Waiting(), "two", "no message of its own", "three!")
	x.Put(Deleted{Delivery: "e6", Message: "m3", By: script.Ana}) // a moderator: the platform let her
	wantTexts(t, "after a deletion", x.Waiting(), "two", "no message of its own")
	if x.Session.Turn.Ignored != 0 {
		t.Errorf("%d changes are said to have come too late", x.Session.Turn.Ignored)
	}
}

// What the turn has read already stays as it was read, and the message says so.
func TestLateEditsAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		ev   Event
		want int
	}{
		"edited by its author":      {Edited{Delivery: "e", Message: "m1", By: script.Ana, Text: "x"}, 1},
		"deleted by its author":     {Deleted{Delivery: "e", Message: "m1", By: script.Ana}, 1},
		"deleted by who knows":      {Deleted{Delivery: "e", Message: "m1"}, 1},
		"an edit that is another's": {Edited{Delivery: "e", Message: "m1", By: script.Ben, Text: "x"}, 0},
		"another message":           {Edited{Delivery: "e", Message: "m0", By: script.Ana, Text: "x"}, 0},
		"no message":                {Edited{Delivery: "e", By: script.Ana, Text: "x"}, 0},
	} {
		if got := script.Begin(t).Put(c.ev).Session.Turn.Ignored; got != c.want {
			t.Errorf("%s: %d counted, want %d", name, got, c.want)
		}
	}
	x := script.New(t).Put(Said{Delivery: "x1", By: script.Ana, Text: "no message of its own"})
	x.Put(Edited{Delivery: "e1", By: script.Ana}, Deleted{Delivery: "e2", By: script.Ana})
	x.Put(Edited{Delivery: "e3", Message: "m1", By: script.Ana}).Put(Edited{Delivery: "e3", Message: "m1", By: script.Ana})
	if x.Session.Turn.Ignored != 0 {
		t.Errorf("changes of no message counted: %d", x.Session.Turn.Ignored)
	}
	x = script.Begin(t).Put(Edited{Delivery: "e1", Message: "m1", By: script.Ana}, Edited{Delivery: "e1", Message: "m1", By: script.Ana},
		Deleted{Delivery: "e2", Message: "m1", By: script.Ana}, Deleted{Delivery: "e2", Message: "m1", By: script.Ana})
	if x.Session.Turn.Ignored != 2 {
		t.Errorf("two late changes, redelivered, counted %d", x.Session.Turn.Ignored)
	}
	x = script.Begin(t).Answer()
	x.Put(Edited{Delivery: "e1", Message: "m1", By: script.Ana}, Deleted{Delivery: "e2", Message: "m1", By: script.Ana}) // no turn is open: nothing to count in
	if x.Session.Turn != nil || x.Session.Last.Ignored != 0 {
		t.Error("a change after the end was counted")
	}
}

func TestShownOnce(t *testing.T) {
	x := script.New(t).Ignores("no turn yet", Shown{Turn: "t1", Message: "a"}).Put(script.Says("m1", "hi", script.Ana))
	x.Ignores("no message, or another turn's", Shown{Turn: "t1"}, Shown{Turn: "t9", Message: "a"})
	x.Takes(Shown{Turn: "t1", Message: "a"}).Ignores("a second message for it", Shown{Turn: "t1", Message: "b"})
	if x.Session.Turn.Shown != "a" {
		t.Errorf("shown as %q", x.Session.Turn.Shown)
	}
	// The post of a turn that has ended meanwhile still counts: the last view has to go somewhere.
	x = script.New(t).Put(script.Says("m1", "hi", script.Ana), Replied{Turn: "t1", Text: "Well."}, Ended{Turn: "t1", Why: Answered})
	x.Ignores("no message, or another turn's", Shown{Turn: "t1"}, Shown{Turn: "t9", Message: "a"})
	x.Takes(Shown{Turn: "t1", Message: "a"}).Ignores("a second message for it", Shown{Turn: "t1", Message: "b"})
	if x.Session.Last.Shown != "a" || !x.Session.Last.ShownAt.Equal(x.Now) {
		t.Errorf("shown as %q at %v", x.Session.Last.Shown, x.Session.Last.ShownAt)
	}
	x.Put(script.Says("m2", "more", script.Ana)).Ignores("the last turn has its message", Shown{Turn: "t1", Message: "c"})
}
