package surface

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

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

func TestZeroLanesTakesNothing(t *testing.T) {
	t.Parallel()
	var q Lanes
	if q.Put("a", func() {}) {
		t.Error("taken")
	}
	q.Close() // and this does not hang
}
