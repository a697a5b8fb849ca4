package surface

import (
	"fmt"
	"testing"
	"time"
)

func TestACacheIsBoundedAndForgets(t *testing.T) {
	k := Cache[int]{Most: 3, Life: time.Minute}
	now := time.Now()
	for i := range 10 {
		k.Put(string(rune('a'+i)), i, now)
	}
	if _, ok := k.Get("a", now); ok || k.Len() != 3 {
		t.Errorf("%d are kept", k.Len())
	}
	if v, ok := k.Get("j", now); !ok || v != 9 {
		t.Error("the newest is not")
	}
	if v, isNew := k.Add("j", 100, now); v != 9 || isNew {
		t.Error("what is there was replaced")
	}
	if _, ok := k.Get("j", now.Add(time.Minute)); ok || k.Len() != 0 {
		t.Error("it lives on")
	}
	k.Put("x", 1, now)
	k.Drop("x")
	k.Drop("x")
	if k.Len() != 0 {
		t.Error("dropped and there")
	}
}

func TestSentIsBounded(t *testing.T) {
	t.Parallel()
	var s Sent
	for i := range Kept + 10 {
		s.Put(fmt.Sprint(i), Drawn{})
		s.Put("again", Drawn{})
	}
	if n := s.last.Len(); n != Kept {
		t.Errorf("kept %d", n)
	}
	if _, ok := s.Get("again"); !ok {
		t.Error("the one in use is forgotten")
	}
}

func TestWhatStandsThere(t *testing.T) {
	t.Parallel()
	var s Sent
	now := time.Now()
	sum, zero := [32]byte{1}, [32]byte{}
	s.Put("a", Drawn{Sum: sum, Chars: 10, At: now})
	for name, x := range map[string]struct {
		ref   string
		sum   [32]byte
		after time.Duration
		want  bool
	}{
		"the same": {"a", sum, Believed - 1, true}, "another": {"a", [32]byte{2}, 0, false}, "the same, but another replica may have drawn": {"a", sum, Believed, false},
		"nothing was sent": {"b", zero, 0, false},
	} {
		if got := s.Same(x.ref, x.sum, now.Add(x.after)); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if a, b := s.Growth("a", 110, now.Add(2*time.Second)), s.Growth("b", 1<<20, now); a != 50 || b != 1 {
		t.Errorf("grows by %v, and by %v where nothing stands", a, b)
	}
	var o Once
	if o.Again("k") || !o.Again("k") || o.Again("") || o.Again("") {
		t.Error("what comes again is not known, or what has no key is")
	}
}
