package slack

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/slack/calls"
)

const (
	tokenEvery   = 5 * time.Minute // how often Slack is asked whether it still takes the token, while nobody writes
	deafFor      = 3 * time.Minute // without a socket, after which Slack has begun to forget what it could not deliver
	failedRounds = 2               // of all connections
)

// health is whether the bot can speak and hear, as far as Slack has said. Its zero value is ready.
type health struct {
	mu      sync.Mutex
	refused bool          // the token is
	doubts  chan struct{} // a call says that it is
	open    int           // sockets that have said hello
	failed  int           // attempts to open one, since the last hello
	deaf    time.Time     // since when there is none
	logged  bool          // that there is none
}

// What anybody may know of what is wrong. Why, and what to do, stands in the log.
var (
	errNotYet  = errors.New("Slack has not said yet who the bot is")
	errRefused = errors.New("Slack refuses the bot's token")
	errDeaf    = errors.New("no connection to Slack can be opened")
)

// Ready is nil while Slack takes the bot's token and, with Socket Mode, reaches this process. Its error is for whoever asks, and names nothing.
func (a *Adapter) Ready(context.Context) error {
	h := &a.health
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.refused:
		return errRefused
	case !isClosed(a.introduced):
		return errNotYet
	case a.AppToken != "" && (h.isSilent(a.Connections) || h.open == 0 && a.now().Sub(h.deaf) > deafFor):
		return errDeaf
	}
	return nil
}

// kick signals without waiting: one signal that nobody took yet is enough.
func kick(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// doubt has the token looked at if err says that Slack does not take it. It returns err.
func (a *Adapter) doubt(err error) error {
	if calls.FatalAuth(err) != nil {
		kick(a.health.doubts)
	}
	return err
}

// makeCall makes a call when the budget has room for it. All replicas learn of a 429.
func (a *Adapter) makeCall(ctx context.Context, c calls.Call, do func() error) error {
	if err := a.limiter.Acquire(ctx, c.Method, c.Spend); err != nil {
		return err
	}
	if err := do(); err != nil {
		return a.limiter.Failed(ctx, c.Method, c.Pool, calls.FaultOf(a.doubt(err)))
	}
	return nil
}

// watchToken looks whether Slack takes the token, when there is doubt and from time to time, until ctx ends.
func (a *Adapter) watchToken(ctx context.Context) {
	every := time.NewTicker(tokenEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.health.doubts:
		case <-every.C:
		}
		for refused := 0; a.checkToken(ctx); refused++ {
			if a.pause(ctx, again.Base(refused)) != nil {
				return
			}
		}
	}
}

// checkToken asks Slack, and reports whether it refuses the token. An answer that says neither changes nothing.
func (a *Adapter) checkToken(ctx context.Context) (refused bool) {
	_, err := a.api.AuthTestContext(ctx)
	no, lost := calls.FatalAuth(err), a.lost != nil && calls.Removed(err)
	if lost {
		a.lost()
	}
	h := &a.health
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.refused
	refused = no != nil || was && err != nil
	h.refused = refused
	switch { // before anybody can see that it changed
	case lost: // whoever is told of it says so
	case refused && !was:
		a.Logger.Error("slack: nothing can be read or written any more until this is mended", "workspace", a.self.Team, "err", no)
	case was && !refused:
		a.Logger.Info("slack: the token is taken again")
	}
	return refused
}

// socketState is how far one connection is. The zero value is that there is none.
type socketState uint8

const (
	socketGone   socketState = iota
	socketFailed             // there is none, and could not be
	socketDialed             // it is open; whether Slack uses it shows when it says hello
	socketHello
)

// setSocketState notes how a connection is now.
func (a *Adapter) setSocketState(at *socketState, now socketState) {
	h := &a.health
	h.mu.Lock()
	was := *at
	*at = now
	if was == socketHello && now != socketHello {
		if h.open--; h.open == 0 {
			h.deaf = a.now()
		}
	}
	switch {
	case now == socketHello && was != socketHello:
		h.open, h.failed, h.logged = h.open+1, 0, false
	case now == socketFailed || was == socketDialed: // Slack hung up on it: Socket Mode is off, or there are too many
		h.failed++
	}
	tell := h.isSilent(a.Connections) && !h.logged
	h.logged = h.logged || tell
	h.mu.Unlock()
	if tell {
		a.Logger.Error("slack: nothing is heard: Slack opens no socket. Is Socket Mode switched on (page Socket Mode of the app), do other processes have the app's ten connections, " +
			"does this network let WebSockets through? nod doctor looks. It is tried until one opens")
	}
}

// isSilent reports whether sockets were tried often enough in vain. h.mu is held.
func (h *health) isSilent(connections int) bool {
	return h.open == 0 && h.failed >= failedRounds*connections
}
