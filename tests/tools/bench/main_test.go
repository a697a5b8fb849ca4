package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/tests/harness/need"
)

// One short answer goes the whole way, and the table has its row. What is measured is nobody's assertion.
func TestSmoke(t *testing.T) {
	need.Program(t, "redis", "redis-server")
	defer goleak.VerifyNone(t)
	var out bytes.Buffer
	b := bench{only: []string{"P14"}, replicas: []int{2}, quick: true, out: &out}
	if err := b.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "2 replica(s)") || !strings.Contains(got, "P14") || !strings.Contains(got, "KB (") {
		t.Error(got)
	}
}

func TestTokensAreDifferent(t *testing.T) {
	seen := map[string]bool{}
	for i := range 8000 {
		if tok := token(i); seen[tok] || len(tok) != 4 {
			t.Fatalf("token %d is %q", i, tok)
		}
		seen[token(i)] = true
	}
}

func TestPercentile(t *testing.T) {
	d := []time.Duration{4, 1, 3, 2}
	for p, want := range map[float64]time.Duration{0.5: 2, 0.99: 4, 0: 1, 1: 4} {
		if got := percentile(d, p); got != want {
			t.Errorf("%g: %d, want %d", p, got, want)
		}
	}
	if percentile(nil, 0.5) != 0 || mean(nil) != 0 || mean(d) != 2 {
		t.Error("of nothing, or the mean")
	}
}
