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
