package slack

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

func TestIntakeKeepsOrderWithinALaneOnly(t *testing.T) {
	t.Parallel()
	var q intake
	q.open()
	held, other := make(chan struct{}), make(chan struct{})
	var order []int
	q.put("a", func() { <-held; order = append(order, 0) })
	for i := 1; i < 100; i++ {
		q.put("a", func() { order = append(order, i) })
	}
	q.put("b", func() { close(other) })
	<-other // it ran, though lane a stands still
	close(held)
	q.close()
	if len(order) != 100 || !slices.IsSorted(order) {
		t.Errorf("order %v", order)
	}
}

func TestIntakeIsBoundedAndNeverBlocks(t *testing.T) {
	t.Parallel()
	var q intake
	q.open()
	held, started := make(chan struct{}), make(chan struct{}, maxWaiting)
	var mu sync.Mutex
	running, most := 0, 0
	for i := range maxWaiting {
		if !q.put(fmt.Sprint(i), func() {
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
	if q.put("one more", func() { t.Error("it ran") }) {
		t.Error("more was taken than is kept")
	}
	for range maxAtOnce {
		<-started
	}
	close(held)
	q.close()
	if most != maxAtOnce {
		t.Errorf("%d ran at once, want %d", most, maxAtOnce)
	}
	if q.put("late", func() { t.Error("it ran") }) {
		t.Error("something was taken after close")
	}
}

func TestZeroIntakeTakesNothing(t *testing.T) {
	t.Parallel()
	var q intake
	if q.put("a", func() {}) {
		t.Error("taken")
	}
	q.close() // and this does not hang
}
