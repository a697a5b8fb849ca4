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
	if len(s.byRef) != maxSent || s.order.Len() != maxSent {
		t.Errorf("kept %d and %d", len(s.byRef), s.order.Len())
	}
	if _, ok := s.Get("again"); !ok {
		t.Error("the one in use is forgotten")
	}
}
