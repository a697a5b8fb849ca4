package surface

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
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
