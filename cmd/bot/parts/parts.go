// Package parts makes each part of the bot from the configuration: the store and the key that signs its audit, the model, the MCP servers with
// the bounds on their programs, the operator's policy, and what the adapters of Slack and Discord are to be.
//
// cmd/bot wires these parts to the engine and runs them; the other commands (doctor, audit, permissions) take those that they need, made in
// the same way, so that what a command sees is what the bot would have. Nothing here runs by itself: whoever opens a part closes it.
//
// Start reading here, with the store, the policy, the model and the listener. servers.go has the tool servers and how their programs are kept apart from
// nod, reputation.go the signed list of what others think of servers, auditkey.go the audit's
// key, platforms.go the two chat platforms and the page's provider.
//
// It may import the adapters and state, as cmd/bot does: a new field of the configuration that an adapter must have is a line here. What has
// to do with a flag, an exit code or a terminal is not.
package parts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/nodhq/nod/adapters/demo"
	"github.com/nodhq/nod/adapters/openai"
	"github.com/nodhq/nod/adapters/web"
	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
)

// Keep is how long the log of a silent chat stays, in the store's words: for ever is negative.
func Keep(c config.Config) time.Duration {
	if c.Audit.Keep == 0 {
		return -1
	}
	return time.Duration(c.Audit.Keep)
}

// replica names this process among those that live: the same after a restart, and another than its neighbour's on the same host, which cannot
// listen where this one does. Else a restart of one of them would look like a cold start, and end what grants.survive_restart keeps.
func replica(c config.Config) string {
	host, _ := os.Hostname() // without one the address has to do
	return host + " " + c.Listen
}

// OpenStore opens the state as the bot does, and makes the key of the audit at the first start.
func OpenStore(ctx context.Context, c config.Config, log *slog.Logger) (*state.Store, error) {
	key, err := makeAuditKey(c, time.Now(), log)
	if err != nil {
		return nil, err
	}
	o := options(c, key, log)
	o.Replica = replica(c)
	store, err := open(ctx, c, o)
	if err != nil {
		return nil, err
	}
	if other, _ := store.OtherKey(ctx); other {
		log.Warn("the nod that began before signs the audit with another key: what one writes, nod audit verify finds broken with the key of the other; give the same audit.key to each", "path", AuditKeyPath(c))
	}
	if c.Redis.Durability.String() == "local" {
		if facts, _ := store.Server(ctx); facts["aof_enabled"] == "0" {
			log.Warn("Redis keeps no append-only file, and redis.durability is local: when it restarts, decisions and starts of tools may be gone, and people are asked again; set appendonly yes")
		}
	}
	return store, nil
}

// OpenToWrite opens the state for a command that changes something. It signs with the audit's key where that is, and makes none: it would be
// another than the bot's.
func OpenToWrite(ctx context.Context, c config.Config, log *slog.Logger) (*state.Store, error) {
	key, err := AuditKey(c)
	if err != nil {
		return nil, err
	}
	if key.Secret == "" && !c.Redis.URL.IsZero() {
		log.Warn("the audit's key is not here, so what is written now is not signed: nod audit verify says so where the bot signs; copy the bot's key", "path", AuditKeyPath(c))
	}
	return open(ctx, c, options(c, key, log))
}

// InUse says of an error of opening the state that a nod which runs on data_dir keeps the command from it, and what to do instead; any other
// error stays as it is.
func InUse(c config.Config, err error, instead string) error {
	if !errors.Is(err, state.ErrInUse) {
		return err
	}
	return fmt.Errorf("data_dir %s: a nod is running on it, and the state belongs to that one process: %s", c.DataDir, instead)
}

// OpenToRestore opens a store that a backup is put into. What is in that is signed already.
func OpenToRestore(ctx context.Context, c config.Config, log *slog.Logger) (*state.Store, error) {
	return open(ctx, c, options(c, state.AuditKey{}, log))
}

// OpenToRead opens the state for a command that only looks.
func OpenToRead(ctx context.Context, c config.Config, log *slog.Logger) (*state.Store, error) {
	key, err := AuditKey(c)
	if err != nil {
		return nil, err
	}
	return state.OpenToRead(ctx, c.DataDir, options(c, key, log))
}

func options(c config.Config, key state.AuditKey, log *slog.Logger) state.Options {
	// Whoever names a call alone means one of their own on the page: see POST /api/v1/tools/approve.
	byCall := func(id chat.ID) bool { return id.Platform == web.Platform }
	return state.Options{URL: c.Redis.URL.Reveal(), Durability: c.Redis.Durability.String(), Lease: c.Lease, Keep: Keep(c), Files: c.Audit.ForgetAfter, ByCall: byCall, Audit: key, Log: log}
}

func open(ctx context.Context, c config.Config, o state.Options) (*state.Store, error) {
	if c.Redis.URL.IsZero() {
		return state.OpenEmbedded(c.DataDir, o)
	}
	return state.Open(ctx, o)
}

// Listen opens the one listener. The configuration has checked the address as written; here it is checked as it turned out,
// because a name such as localhost can resolve to anything.
func Listen(ctx context.Context, c config.Config) (net.Listener, error) {
	ln, err := listen(ctx, c.Listen, "listen, NOD_LISTEN")
	if err != nil {
		return nil, err
	}
	at, _ := netip.ParseAddrPort(ln.Addr().String())
	if c.Web.Enabled && !c.Guarded() && !at.Addr().IsLoopback() {
		ln.Close()
		return nil, fmt.Errorf("listen: %s is %s, and %s", c.Listen, ln.Addr(), config.NeedsKeys)
	}
	return ln, nil
}

// ListenForOperators opens the listener of the metrics; nil where there is none.
func ListenForOperators(ctx context.Context, c config.Config) (net.Listener, error) {
	if c.Metrics.Listen == "" {
		return nil, nil
	}
	return listen(ctx, c.Metrics.Listen, "metrics.listen")
}

// listen opens an address. Where that fails, the error names the fields that it is from.
func listen(ctx context.Context, address, fields string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (%s): %w", address, fields, err)
	}
	return ln, nil
}

// Fixed is a policy that stands until the process is restarted.
type Fixed permission.Policy

// Policy implements [agent.Policies].
func (f Fixed) Policy(context.Context) (permission.Policy, error) { return permission.Policy(f), nil }

// Operators is the operator's policy, without what only a running bot knows.
func Operators(c config.Config) permission.Policy {
	p := c.Policy()
	for _, k := range c.AdminSessionKeys {
		p.Admins = append(p.Admins, session.AdminUser(k.Reveal()))
	}
	return p
}

// Mark adds to the headers of a request what says which work it is for; nil: nothing does.
type Mark func(context.Context, http.Header)

// OpenModel makes the client of the configured model, or the scripted demo where none is configured.
func OpenModel(c config.Config, mark Mark, log *slog.Logger) (agent.Model, error) {
	if c.Demo() {
		return demo.Model{Delay: demo.Pace}, nil
	}
	return openai.New(openai.Config{BaseURL: c.Model.BaseURL.Reveal(), APIKey: c.Model.APIKey.Reveal(), Model: c.Model.Name, Mark: mark, Log: log})
}
