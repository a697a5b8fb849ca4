package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/prompt"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/stand"
)

// Store is what a gate stands before.
type Store interface {
	agent.Log
	agent.Index
	agent.Leases
	agent.Watcher
}

// Fault is what happens to one call of the store.
type Fault uint8

// The faults.
const (
	None       Fault = iota
	Refused          // an error, and nothing was done
	ReplyLost        // done, and an error all the same
	KillBefore       // the process is killed right before the call
	KillAfter        // the process is killed right after the call
)

func (f Fault) String() string {
	return [...]string{"none", "error before", "reply lost", "killed before", "killed after"}[f]
}

// errDead is what a killed process's goroutines see: the strongest no, so that they end at once.
var errDead = fmt.Errorf("this process was killed: %w", agent.ErrFenced)

// ErrLine is an injected failure of the connection.
var ErrLine = errors.New("the connection to the store broke (injected)")

// Gate stands between one replica and the store. It counts the calls of the log, injects faults and, once the
// replica is killed, lets nothing through any more: a lease is then never given back.
type Gate struct {
	store Store
	sig   *stand.Signal
	kill  func()
	heard chan struct{} // closed once the replica's engine hears wakes, or cannot
	// At decides the fault of the n-th call of the log (from 1). nil: none.
	at func(n int, what string) Fault

	mu    sync.Mutex
	dead  bool
	cut   bool
	still chan struct{} // closed when the replica goes on; nil: it does
	n     int
	calls []string
	taken []string
}

// Taken are the names of the log's calls that came back without an error.
func (g *Gate) Taken() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.taken...)
}

// Calls are the names of the log's calls so far.
func (g *Gate) Calls() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.calls...)
}

// Cut separates the replica from the store, as a network partition does, until Heal.
func (g *Gate) Cut() { g.set(func() { g.cut = true }) }

// Heal ends a Cut.
func (g *Gate) Heal() { g.set(func() { g.cut = false }) }

// Pause stops the replica where it next deals with anything outside itself, as SIGSTOP does, until Resume.
func (g *Gate) Pause() {
	g.set(func() {
		if g.still == nil {
			g.still = make(chan struct{})
		}
	})
}

// Resume ends a Pause.
func (g *Gate) Resume() {
	g.set(func() {
		if g.still != nil {
			close(g.still)
			g.still = nil
		}
	})
}

func (g *Gate) set(f func()) {
	g.mu.Lock()
	f()
	g.mu.Unlock()
	g.sig.Fire()
}

// isDead waits while the replica is paused.
func (g *Gate) isDead() bool {
	for {
		g.mu.Lock()
		dead, still := g.dead, g.still
		g.mu.Unlock()
		if dead || still == nil {
			return dead
		}
		<-still
	}
}

// pass asks whether a call may go on.
func (g *Gate) pass() error {
	if g.isDead() {
		return errDead
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cut {
		return ErrLine
	}
	return nil
}

// through runs one call of the log with its fault.
func (g *Gate) through(what string, call func() error) error {
	if err := g.pass(); err != nil {
		return err
	}
	g.mu.Lock()
	g.n++
	n := g.n
	g.calls = append(g.calls, what)
	g.mu.Unlock()
	g.sig.Fire()
	f := None
	if g.at != nil {
		f = g.at(n, what)
	}
	switch f {
	case Refused:
		return ErrLine
	case KillBefore:
		g.kill()
		return errDead
	}
	err := call()
	if err == nil {
		g.set(func() { g.taken = append(g.taken, what) })
	}
	if g.isDead() {
		return errDead
	}
	switch f {
	case ReplyLost:
		return ErrLine
	case KillAfter:
		g.kill()
		return errDead
	}
	return err
}

// Load implements [agent.Log].
func (g *Gate) Load(ctx context.Context, id chat.ID) (snap agent.Snapshot, e []turn.Entry, h agent.Head, err error) {
	err = g.through("load", func() (err error) { snap, e, h, err = g.store.Load(ctx, id); return err })
	return snap, e, h, err
}

// History implements [agent.Log].
func (g *Gate) History(ctx context.Context, id chat.ID) (e []turn.Entry, err error) {
	err = g.through("history", func() (err error) { e, err = g.store.History(ctx, id); return err })
	return e, err
}

// Tail implements [agent.Log].
func (g *Gate) Tail(ctx context.Context, id chat.ID, known agent.Head) (e []turn.Entry, h agent.Head, err error) {
	err = g.through("tail", func() (err error) { e, h, err = g.store.Tail(ctx, id, known); return err })
	return e, h, err
}

// Append implements [agent.Log].
func (g *Gate) Append(ctx context.Context, w agent.Write) (got agent.Written, err error) {
	err = g.through(name(w), func() (err error) { got, err = g.store.Append(ctx, w); return err })
	if errors.Is(err, ErrLine) || errors.Is(err, errDead) {
		got = agent.Written{}
	}
	return got, err
}

func name(w agent.Write) string {
	var parts []string
	for _, e := range w.Events {
		parts = append(parts, e.Event.Kind())
	}
	if w.Claim != "" {
		parts = append(parts, "claim")
	}
	if w.Release {
		parts = append(parts, "release")
	}
	return "append " + strings.Join(parts, "+")
}

// ClaimDue implements [agent.Leases].
func (g *Gate) ClaimDue(ctx context.Context, owner string, n int) ([]agent.Lease, error) {
	if err := g.pass(); err != nil {
		return nil, err
	}
	return g.store.ClaimDue(ctx, owner, n)
}

// NextDue implements [agent.Leases].
func (g *Gate) NextDue(ctx context.Context) (time.Duration, error) {
	if err := g.pass(); err != nil {
		return 0, err
	}
	return g.store.NextDue(ctx)
}

// Renew implements [agent.Leases].
func (g *Gate) Renew(ctx context.Context, l agent.Lease) (agent.Lease, agent.Head, error) {
	if err := g.pass(); err != nil {
		return agent.Lease{}, agent.Head{}, err
	}
	return g.store.Renew(ctx, l)
}

// Restarted implements [agent.Forgetful].
func (g *Gate) Restarted() time.Time {
	if f, ok := g.store.(agent.Forgetful); ok {
		return f.Restarted()
	}
	return time.Time{}
}

// Confirms implements [agent.Confirmer].
func (g *Gate) Confirms(ctx context.Context) error {
	if c, ok := g.store.(agent.Confirmer); ok {
		return c.Confirms(ctx)
	}
	return nil
}

// CountTurn implements [prompt.Meter].
func (g *Gate) CountTurn(ctx context.Context, who chat.User, of string, turns, tokens int) (over prompt.Over, err error) {
	err = g.through("count turn", func() (err error) {
		over, err = g.store.(prompt.Meter).CountTurn(ctx, who, of, turns, tokens)
		return err
	})
	return over, err
}

// CountTokens implements [prompt.Meter].
func (g *Gate) CountTokens(ctx context.Context, who chat.User, n int) error {
	return g.through("count tokens", func() error { return g.store.(prompt.Meter).CountTokens(ctx, who, n) })
}

// ChecksSettings implements [agent.Checker].
func (g *Gate) ChecksSettings() bool {
	c, ok := g.store.(agent.Checker)
	return ok && c.ChecksSettings()
}

// Retain implements [agent.Retainer].
func (g *Gate) Retain(ctx context.Context, id chat.ID, on bool) error {
	return g.through("retain", func() error { return g.store.(agent.Retainer).Retain(ctx, id, on) })
}

// Wakes implements [agent.Leases].
func (g *Gate) Wakes(ctx context.Context, owner string) (<-chan chat.ID, error) {
	defer close(g.heard)
	return g.store.Wakes(ctx, owner)
}

// Asking implements [agent.Index].
func (g *Gate) Asking(ctx context.Context, match func(chat.ID) bool) (ids []chat.ID, err error) {
	if g.isDead() {
		return nil, errDead
	}
	g.sig.Fire()
	return g.store.Asking(ctx, match)
}

// Granting implements [agent.Index].
func (g *Gate) Granting(ctx context.Context) ([]chat.ID, error) {
	if g.isDead() {
		return nil, errDead
	}
	return g.store.Granting(ctx)
}

// EachChat implements [agent.Index].
func (g *Gate) EachChat(ctx context.Context, take func(chat.ID) error) error {
	if g.isDead() {
		return errDead
	}
	return g.store.EachChat(ctx, take)
}

// Watch signals when a chat's log moved.
func (g *Gate) Watch(ctx context.Context, id chat.ID) (<-chan struct{}, error) {
	if g.isDead() {
		return nil, errDead
	}
	return g.store.Watch(ctx, id)
}
