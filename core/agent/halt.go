package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// haltLook is how often a replica looks at the settings where it hears nothing: a halt has to be known everywhere within a second.
const haltLook = 500 * time.Millisecond

// heard remembers of the settings what counts without a look at the policy: whether everything is halted, and what must not be dropped.
func (e *Engine) heard(s permission.Settings) {
	if was := e.holds.Swap(&s.Holds); was != nil && !slices.Equal(*was, s.Holds) {
		e.retained.Purge()
	}
	was := e.halted.Swap(s.Halted)
	if was == nil && s.Halted != nil {
		signal(e.haltCh)
	}
}

// watchSettings keeps what this replica knows of the settings fresh until ctx ends, and stops every turn once they are halted.
func (e *Engine) watchSettings(ctx context.Context) {
	var moved <-chan struct{}
	if w, can := e.Log.(Watcher); can {
		if ch, err := w.Watch(ctx, SettingsChat); err == nil {
			moved = ch
		}
	}
	tick := time.Tick(haltLook)
	stopped := false // what there was when the halt came
	for {
		s, err := e.Settings(ctx)
		if err == nil {
			e.halted.Store(s.Halted)
			stopped = s.Halted != nil && (stopped || e.stopAll(ctx, *s.Halted))
		} else if ctx.Err() == nil {
			e.Logger.Warn("the settings cannot be read; until they can, nothing is decided", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-moved:
		case <-e.haltCh:
		case <-tick:
		}
	}
}

// stopAll stops every turn that this replica drives or that waits for a person. Every replica does it: the first is the one that counts.
func (e *Engine) stopAll(ctx context.Context, h permission.Halt) bool {
	ctx, cancel := context.WithTimeout(ctx, e.Lease)
	defer cancel()
	all := true
	stop := func(chats []chat.ID) {
		for _, id := range chats {
			_, _, _, err := e.choose(ctx, chat.Envelope{Chat: id, User: h.By, Name: h.Name}, nil, func(s turn.Session) ([]turn.Event, error) {
				if s.Turn == nil || s.Turn.Stopped != nil || s.Turn.At.After(h.At) { // what began since ends by itself, and says why
					return nil, nil
				}
				return []turn.Event{turn.StopAsked{Turn: s.Turn.ID, By: h.By, Name: h.Name}}, nil
			})
			if err != nil && !errors.Is(err, ErrVersion) {
				e.Logger.Warn("halted, but a turn could not be stopped; trying again", "chat", id, "err", err)
				all = false
			}
		}
	}
	e.mu.Lock()
	own := slices.Collect(maps.Keys(e.drivers))
	e.mu.Unlock()
	stop(own) // first: in them something may run
	waiting, err := e.Index.Asking(ctx, nil)
	if err != nil {
		e.Logger.Warn("halted, but it is not known which chats wait; trying again", "err", err)
		all = false
	}
	stop(waiting)
	return all
}
