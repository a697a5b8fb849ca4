package state

import (
	"context"
	"strconv"
	"time"
)

// A replica counts as alive for beatLife after its last heartbeat. A process that is killed and started again
// under the same Options.Replica is not mistaken for a living other; one under a new name may be, for that long.
const (
	beatEvery = time.Second
	beatLife  = 5 * time.Second
)

// Epoch is the number of cold starts so far, this one included: it goes up exactly when no other replica is
// alive. Ask once at boot, then let Run keep the heartbeat.
func (s *Store) Epoch(ctx context.Context) (uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if s.disk != nil { // one process only: opening it was the cold start
		return s.disk.epoch, nil
	}
	return s.beatScript(ctx, beatLife, true)
}

func (s *Store) beat(ctx context.Context) error {
	if s.disk != nil {
		return nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.beatScript(ctx, beatLife, false)
	return err
}

// leave says that this replica ends, so that its own restart is a cold start.
func (s *Store) leave() {
	if s.disk != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), beatEvery)
	defer cancel()
	_, _ = s.beatScript(ctx, 0, false) // else the heartbeat lapses by itself
}

func (s *Store) beatScript(ctx context.Context, life time.Duration, starting bool) (uint64, error) {
	res, err := s.write(ctx, call{
		script: beatScript,
		keys:   []string{runReplicas, runEpoch},
		args:   []string{s.opt.Replica, strconv.FormatInt(life.Milliseconds(), 10), flag(starting)},
		// The first try may have counted this start already; then we are among the living, and the only one.
	})
	return number(res), err
}
