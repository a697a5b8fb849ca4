package state

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// Held is who has a name. The zero value: nobody has it.
type Held struct {
	// Mine: whoever asked has it, for Left from now. It asks again well before that, and stops what it does when it cannot.
	Mine bool
	// Owner is who has it.
	Owner string
	// Token fences: it grows whenever the name gets another holder (also the same owner anew), and stays while one renews. What is
	// guarded by it refuses a token below the largest that it saw.
	Token uint64
	// Left is how long the hold still lasts. When it is Mine, what the asking took is taken off already.
	Left time.Duration
}

// holdKept is for how long a name's token is remembered after its last hold. Then it begins again at Redis's time, which is above it.
const holdKept = 30 * 24 * time.Hour

// Hold asks for the right to do, for d, what only one process should do at a time: to drive a shard, say. It takes the name if it is free, and
// renews it if owner, a process incarnation, has it. Where another has it Mine is false, and Left is when asking again makes sense. On an
// error it is not known whether owner has the name; it is free again after d.
//
// Redis's clock decides when a hold ends. It may be lost with a failover, and a process that stands still does not notice its end, so two can
// be at it for a moment: whatever must not happen then is guarded by the Token. In an embedded store a hold ends with the process.
func (s *Store) Hold(ctx context.Context, name, owner string, d time.Duration) (Held, error) {
	if name == "" || owner == "" || d < time.Millisecond {
		return Held{}, errors.New("hold: wants a name, an owner and at least a millisecond")
	}
	before := time.Now()
	res, err := s.write(ctx, holdScript.on([]string{holdKey(name)}, owner, millis(d), rand.Text(), s.home(), millis(holdKept)))
	if err != nil {
		return Held{}, fmt.Errorf("hold %s: %w", name, err)
	}
	r := strs(res)
	if len(r) != 3 {
		return Held{}, unexpected(holdScript.Name, res)
	}
	h := Held{Owner: r[0], Token: number(r[1]), Left: time.Duration(number(r[2])) * time.Millisecond} //nolint:gosec // what is left of d
	if h.Owner == owner {
		h.Left = max(h.Left-time.Since(before), 0) // Redis counted from some moment after before
		h.Mine = h.Left > 0
	}
	return h, nil
}

// Drop gives a name back, if it is owner's, so that others need not wait for the hold to run out.
func (s *Store) Drop(ctx context.Context, name, owner string) error {
	if name == "" || owner == "" {
		return errors.New("drop: wants a name and an owner")
	}
	if _, err := s.write(ctx, dropScript.on([]string{holdKey(name)}, owner, rand.Text())); err != nil {
		return fmt.Errorf("drop %s: %w", name, err)
	}
	return nil
}

// home is which process an embedded store lives in. There is only one at a time, so what another held is free.
func (s *Store) home() string {
	if s.disk == nil {
		return "0"
	}
	return utoa(s.disk.epoch)
}

var (
	holdScript = load("hold")
	dropScript = load("drop")
)
