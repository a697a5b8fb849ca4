package surface

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Command{
		"stop": {Verb: "stop"}, " STOP ": {Verb: "stop"}, "reset": {Verb: "reset"}, "help": {Verb: "help"}, "pending": {Verb: "pending"},
		"history": {Verb: VerbSettings, Args: []string{"history"}}, "Stats": {Verb: VerbSettings, Args: []string{"Stats"}},
		"mode": {Verb: "mode"}, "mode always": {Verb: "mode", Args: []string{"always"}}, "Mode Never": {Verb: "mode", Args: []string{"never"}}, "mode tool": {Verb: "mode", Args: []string{"tool"}},
	} {
		if got, ok := ParseCommand(in); !ok || got.Verb != want.Verb || !reflect.DeepEqual(got.Args, want.Args) {
			t.Errorf("%q: got %v %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "stop it", "please stop", "mode dark", "mode always please", "reset the router", "stop.", "stops", "history of rome", "stats please"} {
		if c, ok := ParseCommand(in); ok {
			t.Errorf("%q is taken for the command %v", in, c)
		}
	}
}

func TestWhoIsHeardWithoutAMention(t *testing.T) {
	t.Parallel()
	user := func(key string) chat.User { return chat.User{Platform: "p", Workspace: "w", Key: key} }
	ana, ben, eve := user("ana"), user("ben"), user("eve")
	began := turn.Session{Began: ana, Waiting: []turn.Said{{By: eve}}}
	did, does := began, began
	did.Last = &turn.Turn{Requester: ben}
	does.Last, does.Turn = &turn.Turn{Requester: ana}, &turn.Turn{Requester: ben}
	for name, x := range map[string]struct {
		follow Follow
		s      turn.Session
		by     chat.User
		others bool
		want   bool
	}{
		"who began":                           {FollowRequester, began, ana, false, true},
		"another":                             {FollowRequester, began, ben, false, false},
		"whose message waits":                 {FollowRequester, began, eve, false, true},
		"who was answered last":               {FollowRequester, did, ben, false, true},
		"who began, where another came since": {FollowRequester, did, ana, false, false},
		"who is answered now":                 {FollowRequester, does, ben, false, true},
		"who was answered before":             {FollowRequester, does, ana, false, false},
		"whose message waits meanwhile":       {FollowRequester, does, eve, false, true},
		"who speaks to somebody else":         {FollowRequester, began, ana, true, false},
		"anybody, where all are heard":        {FollowThread, began, ben, false, true},
		"who speaks to somebody else there":   {FollowThread, began, ben, true, false},
		"nobody is known to say it":           {FollowThread, began, chat.User{}, false, false},
		"nobody, in a chat nobody began":      {FollowRequester, turn.Session{}, chat.User{}, false, false},
		"who began, where it takes a mention": {FollowMention, began, ana, false, false},
	} {
		if got := ForBot(x.follow, x.s, x.by, x.others); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What is still to be read before a message, as far as its chat has not taken it.
func TestHowFarBackAChatHasNotHeard(t *testing.T) {
	t.Parallel()
	newer := func(a, b chat.MessageRef) bool { return a > b }
	said := func(refs ...chat.MessageRef) (all []turn.Said) {
		for _, r := range refs {
			all = append(all, turn.Said{Message: r})
		}
		return all
	}
	unread := []turn.Said{{Message: "3", Earlier: &chat.Earlier{Since: "0"}}}
	for name, x := range map[string]struct {
		s    turn.Session
		want *chat.Earlier
	}{
		"nothing is known":             {turn.Session{Waiting: said("")}, nil},
		"it waits":                     {turn.Session{Waiting: said("1", "")}, &chat.Earlier{Since: "1"}},
		"the newest of all":            {turn.Session{Waiting: said("2"), Turn: &turn.Turn{Said: said("3", "1")}, Last: &turn.Turn{Said: said("0"), End: turn.Answered}}, &chat.Earlier{Since: "3"}},
		"about to be read":             {turn.Session{Turn: &turn.Turn{Said: unread}}, &chat.Earlier{Since: "3"}},
		"the turn ended before that":   {turn.Session{Last: &turn.Turn{Said: unread, End: turn.WasStopped}}, &chat.Earlier{Since: "0"}},
		"and another came since":       {turn.Session{Last: &turn.Turn{Said: unread, End: turn.WasStopped}, Waiting: said("4")}, &chat.Earlier{Since: "4"}},
		"of an ended turn, but not it": {turn.Session{Last: &turn.Turn{Said: said("3"), End: turn.WasStopped}}, &chat.Earlier{Since: "3"}},
	} {
		if got := Earlier(x.s, newer); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s: %+v, not %+v", name, got, x.want)
		}
	}
}

func TestQuotesFitAndSayWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	size := func(all []chat.Quote) (n int) {
		for _, q := range all {
			n += len(q.Text)
		}
		return n
	}
	long := strings.Repeat("é", MaxQuoted)
	for name, x := range map[string]struct {
		in   []chat.Quote
		left int
		want string // the first characters of each
	}{
		"none":             {nil, 3, ""},
		"few":              {[]chat.Quote{{Text: "a"}, {Text: "b"}}, 0, "a b"},
		"nobody knows":     {[]chat.Quote{{Text: "a"}, {Text: "b"}}, -1, "a [m b"},
		"left out before":  {[]chat.Quote{{Text: "a"}, {Text: "b"}}, 3, "a [3 b"},
		"one long":         {[]chat.Quote{{Text: long}}, 0, "éé"},
		"a long beginning": {[]chat.Quote{{Text: long}, {Text: "b"}}, 0, "éé b"},
		"a long end":       {[]chat.Quote{{Text: "a"}, {Text: "b"}, {Text: long}}, 0, "a b éé"},
		"all long":         {[]chat.Quote{{Text: long}, {Text: long}, {Text: long}}, 0, "éé [1 éé"},
		"a long middle":    {[]chat.Quote{{Text: "a"}, {Text: "b"}, {Text: long}, {Text: "c"}}, 0, "a [2 c"},
	} {
		got := FitQuotes(x.in, x.left)
		var starts []string
		for _, q := range got {
			if !utf8.ValidString(q.Text) {
				t.Errorf("%s: a character is cut", name)
			}
			starts = append(starts, string([]rune(q.Text)[:min(2, len([]rune(q.Text)))]))
		}
		if strings.Join(starts, " ") != x.want || size(got) > MaxQuoted+100 {
			t.Errorf("%s: %q, %d bytes", name, starts, size(got))
		}
	}
	if got := FitQuotes([]chat.Quote{{Text: long}}, 0); !strings.HasSuffix(got[0].Text, "more bytes left out]") {
		t.Error("a text was cut silently")
	}
}

func TestLanesKeepsOrderWithinALaneOnly(t *testing.T) {
	t.Parallel()
	var q Lanes
	q.Open()
	held, other := make(chan struct{}), make(chan struct{})
	var order []int
	q.Put("a", func() { <-held; order = append(order, 0) })
	for i := 1; i < 100; i++ {
		q.Put("a", func() { order = append(order, i) })
	}
	q.Put("b", func() { close(other) })
	<-other // it ran, though lane a stands still
	close(held)
	q.Close()
	if len(order) != 100 || !slices.IsSorted(order) {
		t.Errorf("order %v", order)
	}
}

func TestLanesIsBoundedAndNeverBlocks(t *testing.T) {
	t.Parallel()
	var q Lanes
	q.Open()
	held, started := make(chan struct{}), make(chan struct{}, MaxWaiting)
	var mu sync.Mutex
	running, most := 0, 0
	for i := range MaxWaiting {
		if !q.Put(fmt.Sprint(i), func() {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			started <- struct{}{}
			<-held
			mu.Lock()
			running--
			mu.Unlock()
		}) {
			t.Fatalf("the %dth was refused", i)
		}
	}
	if q.Put("one more", func() { t.Error("it ran") }) {
		t.Error("more was taken than is kept")
	}
	for range MaxAtOnce {
		<-started
	}
	close(held)
	q.Close()
	if most != MaxAtOnce {
		t.Errorf("%d ran at once, want %d", most, MaxAtOnce)
	}
	if q.Put("late", func() { t.Error("it ran") }) {
		t.Error("something was taken after close")
	}
}

func TestLanesLeaveAFloodToItsPlace(t *testing.T) {
	t.Parallel()
	var q Lanes
	q.Open()
	held, other := make(chan struct{}), make(chan struct{})
	for i := range MaxInLane {
		if !q.Put("flood", func() { <-held }) {
			t.Fatalf("the %dth was refused", i)
		}
	}
	if q.Put("flood", func() { t.Error("it ran") }) {
		t.Error("one place took more than its share")
	}
	if !q.Put("other", func() { close(other) }) {
		t.Fatal("another place is refused")
	}
	<-other
	close(held)
	q.Close()
}

func TestZeroLanesTakesNothing(t *testing.T) {
	t.Parallel()
	var q Lanes
	if q.Put("a", func() {}) {
		t.Error("taken")
	}
	q.Close() // and this does not hang
}
