package gateway

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// standBy is how often a process looks whether a shard that another has is free. One that stops gives its shards back, and people
	// should not wait for the rest of the hold.
	standBy = time.Second
	// handover is for how long a process keeps its connection after another has taken the shard: that one has to begin a session first.
	// Both may receive meanwhile, and what comes twice counts once.
	handover = 15 * time.Second
	dropping = 2 * time.Second // for giving a shard back
	// downMost is for how long a process keeps a shard without a session of the gateway. Then it lets another process try.
	downMost = 90 * time.Second
	// downUnready is after how long without a session the process is not ready. A restart of Discord's gateway takes less.
	downUnready = 3 * time.Minute
)

// shard is one part of the bot's guilds: those whose (guild_id >> 22) % of == id. https://discord.com/developers/docs/events/gateway#sharding
type shard struct {
	id, of int
	paid   atomic.Bool  // the day's budget was spent for an IDENTIFY that has not left yet
	heard  atomic.Int64 // when something came, in Unix ns; 0: this process does not have the shard
	down   atomic.Int64 // since when there is no session though the shard is this process's to keep, in Unix ns; 0: there is one
}

// lostSession notes since when there is no session, where that is news.
func (sh *shard) lostSession() { sh.down.CompareAndSwap(0, time.Now().UnixNano()) }

// downFor is for how long there has been no session.
func (sh *shard) downFor() time.Duration {
	if at := sh.down.Load(); at != 0 {
		return time.Since(time.Unix(0, at))
	}
	return 0
}

// silentFor is how long ago something came; ok is false where there is no session.
func (sh *shard) silentFor() (d time.Duration, ok bool) {
	return time.Since(time.Unix(0, sh.heard.Load())), sh.downFor() == 0
}

func (sh *shard) name(application string) string {
	return fmt.Sprintf("discord/%s/shard/%d/%d", application, sh.id, sh.of)
}

// lastHeard is when the shard that was silent for longest was heard of: for health. A shard counts from the moment that this process
// took it. It is zero where this process has none, which is healthy: another has them.
func (g *Gateway) lastHeard() (oldest time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, sh := range g.shards {
		if at := sh.heard.Load(); at != 0 && (oldest.IsZero() || at < oldest.UnixNano()) {
			oldest = time.Unix(0, at)
		}
	}
	return oldest
}

// Ready is nil while there is a session of the gateway, or another replica has it. Its error is for whoever asks how the process is.
func (g *Gateway) Ready() error {
	at := g.lastHeard()
	if silent := time.Since(at); !at.IsZero() && silent > 2*g.SilentWithin {
		return fmt.Errorf("nothing came from the gateway for %s", silent.Round(time.Second))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, sh := range g.shards {
		if deaf := sh.downFor(); deaf > downUnready {
			return fmt.Errorf("there has been no session of the gateway for %s", deaf.Round(time.Second))
		}
	}
	return nil
}

// Run keeps the connections of those shards that this process has the right to, until ctx ends, which is no error, or until Discord
// refuses the bot for good: then the error says what to do. All goroutines have ended when it returns.
func (g *Gateway) Run(ctx context.Context, application string) error {
	g.application = application
	n := g.Shards
	if n <= 0 {
		s, err := g.askStarts(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		n = s.Shards
	}
	shards := make([]*shard, n)
	for i := range shards {
		shards[i] = &shard{id: i, of: n}
	}
	g.mu.Lock()
	g.shards = shards
	g.mu.Unlock()

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var refused error
	var once sync.Once
	var all sync.WaitGroup
	for _, sh := range shards {
		all.Go(func() {
			if err := g.drive(ctx, sh); err != nil {
				once.Do(func() { refused = err })
				stop()
			}
		})
	}
	all.Wait()
	return refused
}

// hold asks for the right to a shard. What is said where that cannot be asked any more, or can again, is said once.
func (g *Gateway) hold(ctx context.Context, sh *shard, blind *bool, say string) (mine bool, left time.Duration, err error) {
	mine, left, err = g.Holds.Hold(ctx, sh.name(g.application), g.Owner, g.Lease)
	if (err != nil) != *blind && ctx.Err() == nil {
		*blind = err != nil
		g.Logger.Warn(say, "shard", sh.id, "asked", !*blind, "err", err)
	}
	return mine, left, err
}

// drive waits for the right to a shard, and keeps its connection while it has that. nil: ctx ended.
func (g *Gateway) drive(ctx context.Context, sh *shard) error {
	if g.Holds == nil {
		return g.keep(ctx, sh)
	}
	for blind := false; ctx.Err() == nil; {
		mine, left, err := g.hold(ctx, sh, &blind,
			"discord: whether a shard is free is looked up where all replicas share it; none is taken while that cannot be asked")
		if err == nil && mine {
			if err := g.held(ctx, sh); err != nil {
				return err
			}
			if sh.downFor() > 0 { // it was given back: another process looks first
				_ = g.Pause(ctx, 3*standBy)
			}
			continue
		}
		wait := standBy
		if err == nil {
			sh.down.Store(0) // another process has it
			if left > 0 {
				wait = min(wait, left)
			}
		}
		_ = g.Pause(ctx, jittered(wait)+time.Millisecond)
	}
	return nil
}

// held keeps a shard's connection, and the right to it, until that is lost to another (nil), ctx ends (nil), or Discord refuses the bot.
func (g *Gateway) held(ctx context.Context, sh *shard) error {
	g.Logger.Info("discord: a shard is this process's", "shard", sh.id, "of", sh.of)
	// Of its own context: when ctx ends the right is given back first, so that another process begins a session at once.
	own, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	ended := make(chan error, 1)
	go func() { ended <- g.keep(own, sh) }()
	err, over := g.renew(ctx, sh, ended)
	if ctx.Err() != nil || err != nil || sh.downFor() > downMost {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropping)
		if err := g.Holds.Drop(last, sh.name(g.application), g.Owner); err != nil {
			g.Logger.Warn("discord: a shard could not be given back; it is free when its hold ends", "shard", sh.id, "err", err)
		}
		cancel()
	}
	release()
	if !over {
		err = <-ended
	}
	return err
}

// renew renews the right to a shard until it has been another's for a while, there was no session for too long, ctx ends, or keep has
// ended: over, with its error.
// While nobody can be asked the connection stays: whoever else could take the shard cannot ask either.
func (g *Gateway) renew(ctx context.Context, sh *shard, ended <-chan error) (err error, over bool) { //nolint:revive // the error is not renew's
	tick := time.NewTicker(g.Lease / 3)
	defer tick.Stop()
	var lost time.Time
	since := time.Now()
	for blind := false; ; {
		select {
		case err := <-ended:
			return err, true
		case <-ctx.Done():
			return nil, false
		case <-tick.C:
		}
		mine, _, err := g.hold(ctx, sh, &blind,
			"discord: the right to a shard is renewed where all replicas share it; the connection stays while that cannot be asked")
		switch {
		case err != nil:
		case mine && min(sh.downFor(), time.Since(since)) > downMost:
			g.Logger.Warn("discord: no session of the gateway could be had; the shard is given back, so that another process can try", "shard", sh.id, "of", sh.of)
			return nil, false
		case mine:
			lost = time.Time{}
		case lost.IsZero():
			g.Logger.Warn("discord: another process has taken a shard; this one closes its connection soon", "shard", sh.id, "of", sh.of)
			lost = time.Now()
		case time.Since(lost) >= handover:
			return nil, false
		}
	}
}
