package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
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
	riders  riders
}

// write runs each call by its digest, all in one round trip, and repeats those whose reply was lost. One to be confirmed goes alone.
func (r *remote) write(ctx context.Context, calls ...call) ([]any, error) {
	if len(calls) == 1 && calls[0].Sure && r.dur.asks() {
		return r.carry(ctx, 0, nil, calls)
	}
	return r.carry(ctx, 0, r.riders.board(), calls)
}

// carry is write, with others in its first round trip. first is 1 where the calls may have run already.
func (r *remote) carry(ctx context.Context, first int, with []*rider, calls []call) ([]any, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	out := make([]any, len(calls))
	left := make([]int, len(calls)) // indices still without an answer
	for i := range left {
		left[i] = i
	}
	for try := first; ; try++ {
		batch := make([]call, len(left))
		for i, at := range left {
			batch[i] = calls[at]
		}
		came := r.send(ctx, try, false, slices.Concat(batch, callsOf(with)))
		r.arrived(with, came[len(batch):])
		with = nil
		var again []int
		var last error
		for i, a := range came[:len(batch)] {
			at := left[i]
			if isNoScript(a.err) { // not executed, and now it gets loaded
				a = r.send(ctx, try, true, calls[at:at+1])[0]
			}
			switch out[at] = a.res; {
			case a.err == nil:
			case errors.Is(a.err, agent.ErrNotDurable):
				return out, a.err
			case repeatable(a.err):
				again, last = append(again, at), a.err
			default:
				return out, fmt.Errorf("redis: %s: %w", calls[at].Script.Name, a.err)
			}
		}
		if len(again) == 0 {
			return out, nil
		}
		if left = again; try+1 == attempts || !r.pause(ctx, try, last) {
			return out, fmt.Errorf("redis: %s: %w", calls[left[0]].Script.Name, last)
		}
	}
}

// reply is what came of a call. It has both a result and [agent.ErrNotDurable] where it is written and not confirmed.
type reply struct {
	res any
	err error
}

// send runs calls once, in one round trip. One that has to be confirmed is asked about on the same connection.
func (r *remote) send(ctx context.Context, try int, bySource bool, calls []call) []reply {
	sure := len(calls) == 1 && calls[0].Sure && r.dur.asks()
	var node redis.Cmdable = r.rdb
	if cluster, is := r.rdb.(*redis.ClusterClient); is && sure {
		master, err := cluster.MasterForKey(ctx, calls[0].Keys[0]) // WAIT has no key: on a Cluster's own pipeline it would go to any node
		if err != nil {
			return []reply{{err: err}} // sure goes alone
		}
		node = master
	}
	within := r.confirm
	if d, has := ctx.Deadline(); has {
		within = max(min(within, time.Until(d)/2), time.Millisecond) // the answer has to come back, too
	}
	cmds := make([]*redis.Cmd, len(calls))
	var confirmed *redis.Cmd
	_, _ = node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range calls {
			if bySource {
				cmds[i] = p.Eval(ctx, c.Script.Source, c.Keys, c.argv(try)...)
			} else {
				cmds[i] = p.EvalSha(ctx, c.Script.SHA, c.Keys, c.argv(try)...)
			}
		}
		if sure {
			confirmed = p.Do(ctx, r.dur.command(within)...)
		}
		return nil
	})
	out := make([]reply, len(calls))
	for i, c := range cmds {
		out[i].res, out[i].err = c.Result()
	}
	if sure && out[0].err == nil {
		said, err := confirmed.Result()
		switch {
		case repeatable(err):
			out[0] = reply{err: err}
		case err != nil || !r.dur.confirmed(said):
			out[0].err = fmt.Errorf("redis.durability %s: %w", r.dur, agent.ErrNotDurable)
		}
	}
	return out
}

func (c call) argv(try int) []any {
	args := c.Args
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
func read[T any](ctx context.Context, get func(context.Context) (T, error)) (T, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for try := 0; ; try++ {
		v, err := get(ctx)
		if err == nil || errors.Is(err, redis.Nil) {
			return v, err
		}
		if !repeatable(err) || try+1 == attempts || !pause(ctx, try) {
			return v, fmt.Errorf("redis: %w", err)
		}
	}
}

// ask runs a script that only reads.
func (s *Store) ask(ctx context.Context, sc script, keys []string, args ...any) (any, error) {
	return read(ctx, func(ctx context.Context) (any, error) {
		res, err := s.rdb.EvalSha(ctx, sc.SHA, keys, args...).Result()
		if isNoScript(err) {
			res, err = s.rdb.Eval(ctx, sc.Source, keys, args...).Result()
		}
		return res, err
	})
}

// each asks one thing about each of n places, in one round trip. What is not there is no error.
func each[C redis.Cmder](ctx context.Context, s *Store, n int, ask func(p redis.Pipeliner, i int) C) ([]C, error) {
	return read(ctx, func(ctx context.Context) ([]C, error) {
		cmds := make([]C, n)
		_, _ = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range cmds {
				cmds[i] = ask(p, i)
			}
			return nil
		})
		for _, c := range cmds {
			if err := c.Err(); err != nil && !errors.Is(err, redis.Nil) {
				return cmds, err
			}
		}
		return cmds, nil
	})
}

func isNoScript(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT")
}

func isNetwork(err error) bool {
	var said redis.Error
	return err != nil && !errors.As(err, &said)
}

// repeatable says that a call may be sent again: its reply was lost, or the server did not run it and may soon.
func repeatable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, redis.ErrClosed) {
		return false
	}
	word, _, more := strings.Cut(err.Error(), " ")
	return isNetwork(err) || more && slices.Contains(transient, word)
}

// transient are what a server's errors begin with where it did not run a command, and may soon.
var transient = []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY"}

// CheckURL says what is wrong with the address of a Redis, as far as that is to be seen without it. No error repeats the URL.
func CheckURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("redis.url: this is no URL (want redis://user:password@host:6379/0; a password with / # ? or @ in it must be percent-encoded)")
	}
	no, own := errors.New("redis.url: want redis://, rediss:// or unix://, like redis://user:password@host:6379/0"), url.Values{}
	fits := func(raw string) bool { _, err := redis.ParseURL(raw); return err == nil }
	switch q := u.Query(); {
	case q.Has("master_name"):
		no, own["master_name"] = errors.New("redis.url: this is no Sentinel URL (want redis://host:26379/0?master_name=mymaster&addr=host2:26379)"), q["master_name"]
		fits = func(raw string) bool { _, err := redis.ParseFailoverURL(raw); return err == nil }
	case q.Has("addr"):
		no, own["addr"] = errors.New("redis.url: this is no URL of a Cluster (want redis://host:6379?addr=host2:6379)"), q["addr"]
		fits = func(raw string) bool { _, err := redis.ParseClusterURL(raw); return err == nil }
	}
	if fits(raw) {
		return nil
	}
	if u.RawQuery = own.Encode(); fits(u.String()) {
		return errors.New("redis.url: go-redis does not know one of the parameters behind the ?, or not its value (a password with ? in it must be percent-encoded)")
	}
	return no
}

// dial makes the client that the URL asks for: one server, a Sentinel's primary, or a Cluster. No error repeats the URL.
func dial(ctx context.Context, opt Options, m *met) (redis.UniversalClient, error) {
	raw := opt.URL
	var hello func(context.Context, *redis.Conn) error
	if m != nil {
		hello = m.hello
	}
	if err := CheckURL(raw); err != nil {
		return nil, err
	}
	u, _ := url.Parse(raw)
	if u.Query().Has("master_name") {
		o, _ := redis.ParseFailoverURL(raw)
		o.MaxRetries, o.ContextTimeoutEnabled, o.DisableIdentity, o.Protocol = -1, true, true, 2
		o.OnConnect = hello
		return redis.NewFailoverClient(o), nil
	}
	if !u.Query().Has("addr") { // several addresses without a master's name are a Cluster's; one server has to be asked
		o, _ := redis.ParseURL(raw)
		tune(o)
		o.Dialer = opt.Dialer
		if !isCluster(ctx, *o) {
			o.OnConnect = hello
			return redis.NewClient(o), nil // also when it cannot be reached: check says so
		}
	}
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

func isCluster(ctx context.Context, o redis.Options) bool {
	ctx, cancel := bounded(ctx)
	defer cancel()
	one := redis.NewClient(&o)
	defer one.Close() //nolint:errcheck // it has said what it is
	info, err := one.Info(ctx, "cluster").Result()
	return err == nil && infoField(info, "cluster_enabled") == "1"
}

// buffered is what each connection keeps in memory of what it reads, and of what it writes; the library's own are 32 KiB, and 128 for
// pipelines. Nearly all that we say and hear is shorter.
const buffered = 8 << 10

// tune sets what must never differ: the library repeats nothing by itself, and deadlines bound sockets.
func tune(o *redis.Options) {
	o.MaxRetries, o.ContextTimeoutEnabled, o.DisableIdentity, o.Protocol = -1, true, true, 2
	o.ReadBufferSize, o.WriteBufferSize, o.PipelineReadBufferSize, o.PipelineWriteBufferSize = buffered, buffered, buffered, buffered
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func ping(ctx context.Context, rdb redis.UniversalClient) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	err := rdb.Ping(ctx).Err()
	if err == nil {
		return nil
	}
	if says := refusal(ctx, rdb); says != "" {
		return fmt.Errorf("redis.url: the server takes no command, and says %q", says)
	}
	return fmt.Errorf("redis.url: the server does not answer: %w", err)
}

// refusal is the first sentence of what a server says before it is asked anything, and hangs up: it is in protected mode, or has all the clients
// that it takes. The library writes first and does not read it. It is empty where the server waits to be asked.
func refusal(ctx context.Context, rdb redis.UniversalClient) string {
	one, is := rdb.(*redis.Client)
	if !is {
		return ""
	}
	conn, err := one.Options().Dialer(ctx, one.Options().Network, one.Options().Addr)
	if err != nil {
		return ""
	}
	defer conn.Close() //nolint:errcheck // it was only read
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	said := make([]byte, 512)
	n, _ := conn.Read(said)
	line, _, _ := strings.Cut(string(said[:n]), "\r\n")
	sentence, _, _ := strings.Cut(line, ". ")
	return strings.TrimPrefix(sentence, "-")
}

// check refuses a server that cannot keep what we promise.
func check(ctx context.Context, rdb redis.UniversalClient, dur durability, log *slog.Logger) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := ping(ctx, rdb); err != nil {
		return err
	}
	info, _ := rdb.Info(ctx, "memory").Result() // not CONFIG, which no managed service allows
	switch p := infoField(info, "maxmemory_policy"); p {
	case "noeviction":
	case "":
		log.Warn("redis: the server does not tell its maxmemory-policy, so make sure by other means that it is noeviction: any other loses chats when memory is short")
	default:
		return fmt.Errorf("redis: maxmemory-policy is %s, which drops chats and decisions when memory is short; set it to noeviction", p)
	}
	if dur.asks() {
		if err := rdb.Do(ctx, dur.command(time.Millisecond)...).Err(); err != nil {
			return fmt.Errorf("redis.durability: %s needs %s; this server says: %w", dur, dur.needs(), err)
		}
	}
	return nil
}

// infoField is a field of what INFO answered; empty where it has none.
func infoField(info, field string) string {
	_, value, _ := strings.Cut(info, "\n"+field+":")
	value, _, _ = strings.Cut(value, "\r\n")
	return value
}

// Server is what the Redis says of itself that an operator wants to know, by the names of its own INFO. The embedded store has none.
func (s *Store) Server(ctx context.Context) (map[string]string, error) {
	if s.disk != nil {
		return map[string]string{}, nil
	}
	info, err := read(ctx, func(ctx context.Context) (string, error) { return s.rdb.Info(ctx).Result() })
	if err != nil {
		return nil, fmt.Errorf("redis: INFO: %w", err)
	}
	out := map[string]string{}
	for _, field := range []string{"redis_version", "valkey_version", "role", "aof_enabled", "loading"} {
		if value := infoField(info, field); value != "" {
			out[field] = value
		}
	}
	return out, nil
}

// durability is what a Started or a Decided must survive. The zero value is local: the primary has it.
type durability struct {
	replicas int
	fsync    bool
}

func parseDurability(s string) (durability, error) {
	switch s {
	case "", "local":
		return durability{}, nil
	case "fsync":
		return durability{fsync: true}, nil
	}
	if n, ok := strings.CutPrefix(s, "replicas="); ok {
		if n, err := strconv.Atoi(n); err == nil && n > 0 && n < 100 {
			return durability{replicas: n}, nil
		}
	}
	return durability{}, fmt.Errorf("redis.durability: %q is none of local, replicas=N (N at least 1), fsync", s)
}

func (d durability) String() string {
	switch {
	case d.fsync:
		return "fsync"
	case d.replicas > 0:
		return "replicas=" + strconv.Itoa(d.replicas)
	}
	return "local"
}

// needs is what a server must have to confirm a write.
func (d durability) needs() string {
	if d.fsync {
		return "WAITAOF, which came with Redis 7.2, and appendonly yes"
	}
	return "WAIT"
}

// asks reports whether a write has to be confirmed at all.
func (d durability) asks() bool { return d.fsync || d.replicas > 0 }

// command asks whether everything this connection wrote is durable. It blocks inside Redis, and in a script would answer at once.
func (d durability) command(within time.Duration) []any {
	if d.fsync {
		return []any{"WAITAOF", 1, 0, within.Milliseconds()}
	}
	return []any{"WAIT", d.replicas, within.Milliseconds()}
}

func (d durability) confirmed(answer any) bool {
	if d.fsync {
		a, _ := answer.([]any)
		return len(a) == 2 && number(a[0]) >= 1
	}
	return number(answer) >= uint64(d.replicas) //nolint:gosec // 1 to 99
}
