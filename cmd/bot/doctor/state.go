package doctor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/state"
)

// state looks at the Redis, or at the directory of the embedded state, which it does not open: a bot may be running on it.
func (p *patient) state(ctx context.Context) iter.Seq[finding] {
	if p.Redis.URL.IsZero() {
		return one(ctx, func(context.Context) finding {
			f := finding{What: "state", Mark: surface.Fine, Found: "embedded in one process, under " + p.DataDir}
			if err := writable(p.DataDir); err != nil {
				f.Mark, f.Found, f.Do = surface.Wrong, err.Error(), "Set data_dir (BOT_DATA_DIR) to a directory that this user may write to, or redis.url (REDIS_URL)."
			}
			return f
		})
	}
	return func(yield func(finding) bool) {
		ctx, cancel := context.WithTimeout(ctx, surface.LookTimeout)
		defer cancel()
		for _, f := range p.redis(ctx) {
			if !yield(f) {
				return
			}
		}
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

// server is what a store can tell about the Redis behind it, by the names of Redis's own INFO.
type server interface {
	Server(context.Context) (map[string]string, error)
}

func (p *patient) redis(ctx context.Context) (out []finding) {
	notes := &notes{}
	store, err := state.Open(ctx, state.Options{URL: p.Redis.URL.Reveal(), Durability: p.Redis.Durability.String(), Lease: p.Lease, Log: slog.New(notes)})
	if err != nil {
		return []finding{{What: "Redis", Mark: surface.Wrong, Found: err.Error(), Do: redisAdvice(ctx, err)}}
	}
	defer func() { _ = store.Close() }()
	if err := store.Ping(ctx); err != nil {
		return []finding{{What: "Redis", Mark: surface.Wrong, Found: err.Error(), Do: redisAdvice(ctx, err)}}
	}
	f := finding{What: "Redis", Mark: surface.Fine, Found: "answers, and keeps what redis.durability " + p.Redis.Durability.String() + " promises"}
	for _, n := range notes.list() {
		out = append(out, finding{What: "Redis", Mark: surface.Doubtful, Found: strings.TrimPrefix(n.text, "redis: ")})
	}
	facts := map[string]string{}
	if told, ok := any(store).(server); ok {
		if facts, err = told.Server(ctx); err != nil {
			out = append(out, finding{What: "Redis", Mark: surface.Doubtful, Found: err.Error()})
		}
	}
	if v := facts["redis_version"]; v != "" {
		f.Found += "; version " + v
	}
	return append([]finding{f}, append(out, persistence(facts["aof_enabled"]))...)
}

// persistence is about the append-only file: without one, what is recorded ends with the server.
func persistence(enabled string) finding {
	f := finding{What: "Redis: persistence", Do: "Set appendonly yes in the server's configuration; appendfsync everysec is enough, except for redis.durability: fsync."}
	switch enabled {
	case "1":
		f.Mark, f.Found, f.Do = surface.Fine, "an append-only file is kept", ""
	case "0":
		f.Mark, f.Found = surface.Doubtful, "no append-only file: what is recorded may end with the server"
	default:
		f.Found, f.Do = "not checked: the server does not say", "Make sure that it has appendonly yes, or what is recorded may end with it."
	}
	return f
}

func redisAdvice(ctx context.Context, err error) string {
	said := err.Error()
	switch {
	case strings.Contains(said, "maxmemory-policy"):
		return "Set maxmemory-policy noeviction in the server's configuration."
	case errors.Is(err, state.ErrNotConfirmed):
		return "Start as many replicas as redis.durability names and look at their replication (INFO replication), or set redis.durability to what there is."
	case strings.HasPrefix(said, "redis.durability"):
		return "Set redis.durability to local, or use Redis 7.2 or later with appendonly yes."
	case ctx.Err() != nil:
		return "The server did not answer in time: look at redis.url (REDIS_URL) and at the network."
	}
	return "Start the server, or correct redis.url (REDIS_URL): host, port, user and password."
}
