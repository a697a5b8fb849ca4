package backoff

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestBase(t *testing.T) {
	for _, c := range []struct {
		e    Exponential
		want []time.Duration
	}{
		{Exponential{First: time.Second, Most: 5 * time.Second}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}},
		{Exponential{First: time.Second, Factor: 4}, []time.Duration{time.Second, 4 * time.Second, 16 * time.Second}},
		{Exponential{First: time.Hour, Most: time.Minute}, []time.Duration{time.Minute, time.Minute}},
		{Exponential{}, []time.Duration{0, 0}},
	} {
		var got []time.Duration
		for n := range c.want {
			got = append(got, c.e.Base(n))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.e, got, c.want)
		}
	}
	if got := (Exponential{First: time.Second}).Base(1000); got != math.MaxInt64 {
		t.Errorf("after 1000 failures: %v", got)
	}
}

func TestAfter(t *testing.T) {
	for _, c := range []struct {
		jitter      float64
		least, most time.Duration
	}{
		{0, 8 * time.Second, 8 * time.Second},
		{0.25, 8 * time.Second, 10 * time.Second},
		{1, 8 * time.Second, 16 * time.Second},
		{-0.25, 6 * time.Second, 8 * time.Second},
	} {
		e, seen := Exponential{First: time.Second, Most: 8 * time.Second, Jitter: c.jitter}, map[time.Duration]bool{}
		for range 100 {
			d := e.After(10)
			if seen[d] = true; d < c.least || d > c.most {
				t.Fatalf("jitter %v: %v is not between %v and %v", c.jitter, d, c.least, c.most)
			}
		}
		if c.jitter != 0 && len(seen) == 1 {
			t.Errorf("jitter %v: the same wait each time", c.jitter)
		}
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Wait(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("waited %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if err := Wait(ctx, time.Hour); err != context.DeadlineExceeded || time.Since(began) != time.Second {
			t.Errorf("waited %v: %v", time.Since(began), err)
		}
	})
}
