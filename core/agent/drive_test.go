package agent

import "testing"

// Replies may overtake each other: of two leases that are handed over, the newer one counts.
func TestTheNewerLeaseIsDriven(t *testing.T) {
	for _, tokens := range [][]uint64{{2, 3}, {3, 2}} {
		d := &driver{reports: reports{logMoved: make(chan struct{}, 1)}}
		for _, token := range tokens {
			d.handOver(Lease{Token: token}, token)
		}
		if l, ok := d.takeNext(); !ok || l.Token != 3 || d.nextFirstOwn != 3 {
			t.Errorf("handed over %v: the driver takes %d (own %d)", tokens, l.Token, d.nextFirstOwn)
		}
	}
}
