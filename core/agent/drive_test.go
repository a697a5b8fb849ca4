package agent

import (
	"context"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// Replies may overtake each other: of two leases that are handed over, the newer one counts.
func TestTheNewerLeaseIsDriven(t *testing.T) {
	for _, tokens := range [][]uint64{{2, 3}, {3, 2}} {
		d := &driver{reports: reports{logMoved: make(chan struct{}, 1)}}
		e := &Engine{work: context.Background(), drivers: map[chat.ID]*driver{{}: d}}
		for _, token := range tokens {
			e.drive(Lease{Token: token}, Head{}, token)
		}
		if next := e.retire(d, time.Time{}); next == nil || next.Token != 3 || next.first != 3 {
			t.Errorf("handed over %v: the driver takes %+v", tokens, next)
		}
		if next := e.retire(d, time.Time{}); next != nil {
			t.Errorf("handed over %v: it takes %+v as well", tokens, next)
		}
	}
}
