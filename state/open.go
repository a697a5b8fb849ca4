package state

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/state/embedded"
)

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
		d, err := embedded.OpenToRead(dir, o.embedded())
		if err != nil {
			return nil, err
		}
		return (&disk{Server: d}).store(o, refusing{}), nil
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

// disk is the embedded home of a store, as a writer.
type disk struct {
	*embedded.Server
	epoch uint64
}

// OpenEmbedded opens the store that lives in this process and in dir. It ends every lease, makes every waiting chat due, and refuses a second
// process on the same dir. There is no listener: other programs of this machine must not be able to write a decision.
func OpenEmbedded(dir string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	quiet()
	d := &disk{}
	if d.Server, err = embedded.Open(dir, o.embedded(), d.begin); err != nil {
		return nil, err
	}
	return d.store(o, d), nil
}

func (o Options) embedded() embedded.Options {
	return embedded.Options{Now: o.now, OpenJournal: o.openJournal, JournalMax: o.journalMax, Log: o.Log}
}

func (d *disk) store(o Options, w writer) *Store {
	var ro redis.Options
	tune(&ro)
	return &Store{opt: o, rdb: d.Client(ro), w: w, disk: d, hub: newHub(d.Feed(prefix))}
}

// begin ends the leases of the process before, and counts this start.
func (d *disk) begin(s *embedded.Server) error {
	for _, key := range s.Keys() {
		name, ok := chatOfHead(key)
		if !ok {
			continue
		}
		k := keysNamed(name)
		if _, err := s.Amend(call{script: voidScript, keys: []string{k.head, k.due}, args: []string{name}}.embedded()); err != nil {
			return err
		}
	}
	n, err := s.Increment(runEpoch)
	d.epoch = uint64(max(n, 0)) //nolint:gosec // counts up from one
	return err
}

func (d *disk) write(_ context.Context, calls ...call) (_ []any, err error) {
	out := make([]any, len(calls))
	for i, c := range calls {
		if out[i], err = d.Write(c.embedded()); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (d *disk) close() error { return d.Close() }

func (c call) embedded() embedded.Write {
	return embedded.Write{Script: embedded.Script{Name: c.script.name, Source: c.script.source, SHA: c.script.sha}, Keys: c.keys, Args: c.args, Sure: c.sure}
}
