package surface

import (
	"fmt"
	"testing"
)

func TestSentIsBounded(t *testing.T) {
	t.Parallel()
	var s Sent
	for i := range maxSent + 10 {
		s.Put(fmt.Sprint(i), Drawn{})
		s.Put("again", Drawn{})
	}
	if n := s.cache().Len(); n != maxSent {
		t.Errorf("kept %d", n)
	}
	if _, ok := s.Get("again"); !ok {
		t.Error("the one in use is forgotten")
	}
}
