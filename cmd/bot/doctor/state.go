package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/state"
)

// state looks at the Redis, or at the directory of the embedded state, which it only reads: a bot may be running on it.
func (p *examination) state(ctx context.Context) {
	p.kept()
	key, err := parts.AuditKey(p.Config)
	if err != nil {
		p.found("audit key", surface.Wrong, err.Error(), "Let audit.key (NOD_AUDIT_KEY) name a file that this user may read, with what openssl rand -hex 32 prints.")
	}
	if !p.Redis.URL.IsZero() {
		p.redis(ctx, key)
	} else if err := writable(p.DataDir); err != nil {
		p.found("state", surface.Wrong, err.Error(), "Set data_dir (NOD_DATA_DIR) to a directory that this user may write to, or redis.url (REDIS_URL).")
	} else {
		p.found("state", surface.Fine, "embedded in one process, under "+p.DataDir, "")
		switch s, err := state.OpenToRead(ctx, p.DataDir, state.Options{Audit: key, Log: slog.New(slog.DiscardHandler)}); {
		case err == nil:
			p.writer(ctx, s)
			_ = s.Close()
		case !errors.Is(err, state.ErrNothing):
			p.found("state", surface.Wrong, err.Error(), "Keep a copy of the directory, and use the nod that wrote it, or a newer one.")
		}
	}
}

// kept tells what goes by itself, and when: a company has to have chosen it.
func (p *examination) kept() {
	log := "for ever (audit.keep: park)"
	if p.Audit.Keep > 0 {
		log = text.Took(time.Duration(p.Audit.Keep)) + " (audit.keep)"
	}
	p.found("kept", surface.Fine, "after a chat falls silent: what was said and allowed counts "+text.Took(p.Audit.ForgetAfter)+" (audit.forget_after), its log stays "+log, "")
}

// writer tells which nod began to write last: where something is not understood, one as new is wanted.
func (p *examination) writer(ctx context.Context, s *state.Store) {
	if other, err := s.OtherKey(ctx); err == nil && other {
		p.found("audit key", surface.Doubtful, "the nod that began to write last signs with another key: what the one writes, nod audit verify finds broken with the key of the other",
			"Give the same file to each replica, as audit.key (NOD_AUDIT_KEY).")
	}
	if v, err := s.Version(ctx); err == nil && v != "" && v != p.version {
		p.found("state: written by", surface.Fine, v+"; this is "+p.version, "")
	} else if err == nil && v != "" {
		p.found("state: written by", surface.Fine, v+", as this is", "")
	}
}

// writable tries the directory, or the nearest one above it that there is.
func writable(dir string) error {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is no directory", dir)
		case err == nil:
			f, err := os.CreateTemp(dir, ".nod-doctor-")
			if err != nil {
				return fmt.Errorf("%s cannot be written to: %w", dir, errors.Unwrap(err))
			}
			_ = f.Close()
			return os.Remove(f.Name())
		case !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir):
			return err
		}
		dir = filepath.Dir(dir)
	}
}

func (p *examination) redis(ctx context.Context, key state.AuditKey) {
	warned := &warnings{}
	store, err := state.Open(ctx, state.Options{URL: p.Redis.URL.Reveal(), Durability: p.Redis.Durability.String(), Lease: p.Lease, Audit: key, Log: slog.New(warned)})
	if err == nil {
		defer func() { _ = store.Close() }()
		err = store.Ping(ctx)
	}
	if err != nil {
		p.found("Redis", surface.Wrong, err.Error(), redisAdvice(ctx, err))
		return
	}
	facts, err := store.Server(ctx)
	fine := "answers, and keeps what redis.durability " + p.Redis.Durability.String() + " promises"
	if v := facts["redis_version"]; v != "" {
		fine += "; version " + v
	}
	p.found("Redis", surface.Fine, fine, "")
	p.writer(ctx, store)
	for _, w := range warned.list() {
		p.found("Redis", surface.Doubtful, strings.TrimPrefix(w.text, "redis: "), "")
	}
	if err != nil {
		p.found("Redis", surface.Doubtful, err.Error(), "")
	}
	const what = "Redis: persistence" // without an append-only file, what is recorded ends with the server
	switch facts["aof_enabled"] {
	case "1":
		p.found(what, surface.Fine, "an append-only file is kept", "")
	case "0":
		p.found(what, surface.Doubtful, "no append-only file: what is recorded may end with the server",
			"Set appendonly yes in the server's configuration; appendfsync everysec is enough, except for redis.durability: fsync.")
	default:
		p.found(what, surface.Unchecked, "not checked: the server does not say", "Make sure that it has appendonly yes, or what is recorded may end with it.")
	}
}

func redisAdvice(ctx context.Context, err error) string {
	said := err.Error()
	switch {
	case strings.Contains(said, "maxmemory-policy"):
		return "Set maxmemory-policy noeviction in the server's configuration."
	case errors.Is(err, state.ErrNotConfirmed):
		return "Start as many replicas as redis.durability names and look at their replication (INFO replication), or set redis.durability to what there is."
	case strings.Contains(said, "READONLY"):
		return "This is a replica, which takes no writes: name its primary in redis.url (REDIS_URL), or the Sentinels."
	case strings.Contains(said, "NOPERM"):
		return "Give the user of redis.url the keys, channels and commands of deploy/redis-users.acl."
	case strings.HasPrefix(said, "redis.durability"):
		return "Set redis.durability to local, or to what this server can confirm: fsync needs Redis 7.2 or later with appendonly yes."
	case strings.Contains(said, "protected mode"):
		return "Give the server a password (requirepass), and put it into redis.url (REDIS_URL): without one it serves its own machine only."
	case strings.Contains(said, "max number of clients"):
		return "Raise the server's maxclients, or look at who else is connected: CLIENT LIST."
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "Name in redis.url (REDIS_URL) a host that the certificate has. An authority of your own is a file that SSL_CERT_FILE names."
	case ctx.Err() != nil:
		return "The server did not answer in time: look at redis.url (REDIS_URL) and at the network."
	}
	return "Start the server, or correct redis.url (REDIS_URL): host, port, user and password."
}
