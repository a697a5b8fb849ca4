package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/backoff"
)

// remote runs scripts on a Redis.
type remote struct {
	rdb     redis.UniversalClient
	dur     durability
	confirm time.Duration
}

func (r *remote) close() error { return nil }

// write runs each call by its digest, and repeats the ones whose reply was lost, with the same operation.
func (r *remote) write(ctx context.Context, calls ...call) ([]any, error) {
	if len(calls) == 1 && calls[0].sure && r.dur.asks() {
		res, err := r.writeSurely(ctx, calls[0])
		return []any{res}, err
	}
	out := make([]any, len(calls))
	left := make([]int, len(calls)) // indices still without an answer
	for i := range left {
		left[i] = i
	}
	for try := 0; ; try++ {
		cmds := make([]*redis.Cmd, len(left))
		if len(left) == 1 {
			c := calls[left[0]]
			cmds[0] = r.rdb.EvalSha(ctx, c.script.sha, c.keys, c.argv(try)...)
		} else {
			_, _ = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i, at := range left {
					c := calls[at]
					cmds[i] = p.EvalSha(ctx, c.script.sha, c.keys, c.argv(try)...)
				}
				return nil
			})
		}
		var again []int
		var last error
		for i, at := range left {
			res, err := cmds[i].Result()
			if isNoScript(err) { // not executed, and now it gets loaded
				c := calls[at]
				res, err = r.rdb.Eval(ctx, c.script.source, c.keys, c.argv(try)...).Result()
			}
			switch {
			case err == nil:
				out[at] = res
			case repeatable(err):
				again, last = append(again, at), err
			default:
				return out, fmt.Errorf("redis: %s: %w", calls[at].script.name, err)
			}
		}
		if len(again) == 0 {
			return out, nil
		}
		if left = again; try+1 == attempts || !r.pause(ctx, try, last) {
			return out, fmt.Errorf("redis: %s: %w", calls[left[0]].script.name, last)
		}
	}
}

// writeSurely runs one call and asks, on the same connection and in the same round trip, whether it is durable.
func (r *remote) writeSurely(ctx context.Context, c call) (any, error) {
	var last error
	for try := range attempts {
		res, ok, err := r.tryOnce(ctx, c, try)
		switch {
		case err == nil && ok:
			return res, nil
		case err == nil:
			return res, fmt.Errorf("redis.durability %s: %w", r.dur, agent.ErrNotDurable)
		case !repeatable(err):
			return nil, fmt.Errorf("redis: %s: %w", c.script.name, err)
		}
		if last = err; !r.pause(ctx, try, err) {
			break
		}
	}
	return nil, fmt.Errorf("redis: %s: %w", c.script.name, last)
}

func (r *remote) tryOnce(ctx context.Context, c call, try int) (res any, ok bool, err error) {
	var node redis.Cmdable = r.rdb
	if cluster, is := r.rdb.(*redis.ClusterClient); is {
		// WAIT has no key: on a Cluster's own pipeline it would go to any node.
		if node, err = cluster.MasterForKey(ctx, c.keys[0]); err != nil {
			return nil, false, err
		}
	}
	within := r.confirm
	if d, has := ctx.Deadline(); has {
		within = max(min(within, time.Until(d)/2), time.Millisecond) // the answer has to come back, too
	}
	run := func(first func(redis.Pipeliner) *redis.Cmd) (any, bool, error) {
		var cmd *redis.Cmd
		var conf *redis.Cmd
		_, _ = node.Pipelined(ctx, func(p redis.Pipeliner) error {
			cmd, conf = first(p), p.Do(ctx, r.dur.command(within)...)
			return nil
		})
		res, err := cmd.Result()
		if err != nil {
			return nil, false, err
		}
		answer, err := conf.Result()
		if err != nil && repeatable(err) {
			return nil, false, err
		}
		return res, err == nil && r.dur.confirmed(answer), nil
	}
	res, ok, err = run(func(p redis.Pipeliner) *redis.Cmd {
		return p.EvalSha(ctx, c.script.sha, c.keys, c.argv(try)...)
	})
	if isNoScript(err) {
		res, ok, err = run(func(p redis.Pipeliner) *redis.Cmd {
			return p.Eval(ctx, c.script.source, c.keys, c.argv(try)...)
		})
	}
	return res, ok, err
}

func (c call) argv(try int) []any {
	args := c.args
	if try > 0 && c.again != nil {
		args = c.again(args)
	}
	out := make([]any, len(args))
	for i := range args {
		out[i] = args[i]
	}
	return out
}

// pause waits before a repeat. It says false when there is no time left for one.
func (r *remote) pause(ctx context.Context, try int, err error) bool {
	if c, is := r.rdb.(*redis.ClusterClient); is && !isNetwork(err) {
		c.ReloadState(ctx)
	}
	return pause(ctx, try)
}

// repeatAfter is the wait before a command is sent again.
var repeatAfter = backoff.Exponential{First: 10 * time.Millisecond, Factor: 4, Jitter: 1}

func pause(ctx context.Context, try int) bool {
	d := repeatAfter.After(try)
	end, bounded := ctx.Deadline()
	return (!bounded || time.Until(end) >= d) && backoff.Wait(ctx, d) == nil
}

// read repeats a reading command after a network error. Reads need no operation.
func read[T any](ctx context.Context, get func() (T, error)) (T, error) {
	for try := 0; ; try++ {
		v, err := get()
		if err == nil || errors.Is(err, redis.Nil) {
			return v, err
		}
		if !repeatable(err) || try+1 == attempts || !pause(ctx, try) {
			return v, fmt.Errorf("redis: %w", err)
		}
	}
}

func isNoScript(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT")
}

func isNetwork(err error) bool {
	var said redis.Error
	return err != nil && !errors.As(err, &said)
}

// repeatable says that a call may be sent again: its reply was lost, or the server said that it did not run it
// and may soon.
func repeatable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, redis.ErrClosed) {
		return false
	}
	if isNetwork(err) {
		return true
	}
	for _, p := range []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY"} {
		if strings.HasPrefix(err.Error(), p+" ") {
			return true
		}
	}
	return false
}

// dial makes the client that the URL asks for: one server, a Sentinel's primary, or a Cluster. None of its
// errors repeats the URL.
func dial(ctx context.Context, raw string, m *met) (redis.UniversalClient, error) {
	var hello func(context.Context, *redis.Conn) error
	if m != nil {
		hello = m.hello
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("redis.url: this is no URL (want redis://user:password@host:6379/0; a password with / # ? or @ in it must be percent-encoded)")
	}
	if u.Query().Has("master_name") {
		o, err := redis.ParseFailoverURL(raw)
		if err != nil {
			return nil, errors.New("redis.url: this is no Sentinel URL (want redis://host:26379/0?master_name=mymaster&addr=host2:26379)")
		}
		o.MaxRetries, o.ContextTimeoutEnabled, o.DisableIdentity, o.Protocol = -1, true, true, 2
		o.OnConnect = hello
		return redis.NewFailoverClient(o), nil
	}
	o, err := redis.ParseURL(raw)
	if err != nil {
		return nil, errors.New("redis.url: want redis://, rediss:// or unix://, like redis://user:password@host:6379/0")
	}
	tune(o)
	asking := *o
	one := redis.NewClient(&asking)
	ctx, cancel := bounded(ctx)
	defer cancel()
	if info, err := one.Info(ctx, "cluster").Result(); err != nil || !strings.Contains(info, "cluster_enabled:1") {
		_ = one.Close()
		o.OnConnect = hello
		return redis.NewClient(o), nil // also when it cannot be reached: check says so
	}
	_ = one.Close()
	co, err := redis.ParseClusterURL(raw)
	if err != nil {
		return nil, errors.New("redis.url: the server is a Cluster, and the URL does not fit one (want redis://host:6379?addr=host2:6379)")
	}
	if co.OnConnect = hello; m != nil {
		m.cluster = true
	}
	co.MaxRedirects, co.MaxRetries, co.ContextTimeoutEnabled, co.DisableIdentity, co.Protocol = -1, -1, true, true, 2
	co.DisableRoutingPolicies = true
	co.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClusterClient(co), nil
}

// tune sets what must never differ: the library repeats nothing by itself, and deadlines bound sockets.
func tune(o *redis.Options) {
	o.MaxRetries, o.ContextTimeoutEnabled, o.DisableIdentity, o.Protocol = -1, true, true, 2
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// check refuses a server that cannot keep what we promise.
func check(ctx context.Context, rdb redis.UniversalClient, dur durability, log *slog.Logger) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis.url: the server does not answer: %w", err)
	}
	policy, err := rdb.ConfigGet(ctx, "maxmemory-policy").Result()
	switch p := policy["maxmemory-policy"]; {
	case err != nil || p == "":
		log.Warn("redis: CONFIG is not allowed here, so make sure by other means that maxmemory-policy is noeviction: any other loses chats when memory is short")
	case p != "noeviction":
		return fmt.Errorf("redis: maxmemory-policy is %s, which drops chats and decisions when memory is short; set it to noeviction", p)
	}
	return dur.check(ctx, rdb)
}

// Server is what the Redis says of itself that an operator wants to know: redis_version, role, aof_enabled and
// loading, by the names of its own INFO. The embedded store has none.
func (s *Store) Server(ctx context.Context) (map[string]string, error) {
	if s.disk != nil {
		return map[string]string{}, nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	text, err := read(ctx, func() (string, error) { return s.rdb.Info(ctx).Result() })
	if err != nil {
		return nil, fmt.Errorf("redis: INFO: %w", err)
	}
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "redis_version", "valkey_version", "role", "aof_enabled", "loading":
			if ok {
				out[name] = value
			}
		}
	}
	return out, nil
}
