package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// ErrReadOnly: the store was opened to be read.
var ErrReadOnly = errors.New("the store was opened to be read only")

// OpenToRead opens a store that cannot be written to: for the audit, beside a bot that runs. With Options.URL it needs no more than
// the right to read, and asks nothing of the server's configuration. Without, it reads the embedded store in dir as the last process
// left it: the lock still refuses while a bot runs on it, and nothing in dir is changed. Its errors never hold the URL.
func OpenToRead(ctx context.Context, dir string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	quiet()
	if o.URL == "" {
		return openDirToRead(dir, o)
	}
	rdb, err := dial(ctx, o.URL, nil)
	if err != nil {
		return nil, err
	}
	pinging, cancel := bounded(ctx)
	defer cancel()
	if err := rdb.Ping(pinging).Err(); err != nil {
		_ = rdb.Close()
		return nil, fmt.Errorf("redis.url: the server does not answer: %w", err)
	}
	s := &Store{opt: o, rdb: rdb, w: refusing{}}
	s.hub = newHub(&redisFeed{sub: rdb.Subscribe(context.WithoutCancel(ctx))})
	return s, nil
}

// refusing is the writer of a store that is read only.
type refusing struct{}

func (refusing) write(context.Context, ...call) ([]any, error) { return nil, ErrReadOnly }
func (refusing) close() error                                  { return nil }

func openDirToRead(dir string, o Options) (_ *Store, err error) {
	if _, err := os.Stat(filepath.Join(dir, "lock")); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data_dir %s: no nod has kept anything here", dir)
	} else if err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	d := &disk{dir: dir, opt: o, mem: miniredis.NewMiniRedis(), broken: ErrReadOnly}
	if d.lock, err = lockFile(filepath.Join(dir, "lock")); err != nil && !errors.Is(err, ErrInUse) {
		return nil, fmt.Errorf("data_dir %s cannot be written, and its lock is taken while it is read: read a copy of the directory instead: %w", dir, err)
	} else if err != nil {
		return nil, fmt.Errorf("data_dir %s: a nod is running on it, and only one process can: stop it first, or read a copy of the directory that was made while it was stopped: %w", dir, err)
	}
	defer func() {
		if err != nil {
			_ = d.shut()
		}
	}()
	s := &Store{opt: o, rdb: d.client(), w: refusing{}, disk: d}
	if err := s.rdb.Ping(context.Background()).Err(); err != nil { // the first dial starts the server
		return nil, err
	}
	if _, err := d.remember(); err != nil {
		return nil, errors.Join(fmt.Errorf("data_dir %s: %w", dir, err), s.rdb.Close())
	}
	s.hub = newHub(newOwnFeed(d.mem))
	return s, nil
}

// remember is the part of recover that only reads.
func (d *disk) remember() (gen uint64, err error) {
	if gen, err = latest(d.dir); err != nil {
		return 0, err
	}
	at, err := readSnapshot(d.dir, gen, d.mem)
	if err != nil {
		return 0, err
	}
	d.setClock(at)
	d.faded = d.last
	return gen, replay(journalPath(d.dir, gen), d.apply, d.opt.Log)
}

// client is a client of the server in this process.
func (d *disk) client() *redis.Client {
	o := &redis.Options{Addr: "embedded", Dialer: func(context.Context, string, string) (net.Conn, error) {
		c, err := d.mem.Dial()
		if err != nil {
			return nil, err
		}
		return newRoomy(c), nil
	}}
	tune(o)
	return redis.NewClient(o)
}
