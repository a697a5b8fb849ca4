package state

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/nodhq/nod/state/embedded"
)

// OpenToRead opens a store that cannot be written to: for the audit, beside a bot that runs. With Options.URL it needs no more than
// the right to read. Without, it reads the embedded store in dir as it is at that moment. Its errors never hold the URL.
func OpenToRead(ctx context.Context, dir string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	logging.Disable()
	if o.URL == "" {
		d, err := embedded.OpenToRead(dir, o.embedded())
		if err != nil {
			return nil, err
		}
		return (&disk{Server: d}).store(o, refusing{}), nil
	}
	rdb, err := dial(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	if err := ping(ctx, rdb); err != nil {
		_ = rdb.Close()
		return nil, err
	}
	return &Store{opt: o, rdb: rdb, w: refusing{}, hub: newHub(rdb.Subscribe(context.WithoutCancel(ctx)), o.silence)}, nil
}

// refusing is the writer of a store that is read only.
type refusing struct{}

func (refusing) write(_ context.Context, calls ...call) ([]any, error) {
	return make([]any, len(calls)), ErrReadOnly
}

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
	logging.Disable()
	d := &disk{}
	if d.Server, err = embedded.Open(dir, o.embedded(), d.begin); err != nil {
		return nil, err
	}
	s := d.store(o, d)
	if err := s.learnRestored(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (o Options) embedded() embedded.Options {
	return embedded.Options{Now: o.now, OpenJournal: o.openJournal, JournalMax: o.journalMax, Log: o.Log}
}

func (d *disk) store(o Options, w writer) *Store {
	var ro redis.Options
	tune(&ro)
	rdb := d.Client(ro)
	return &Store{opt: o, rdb: rdb, w: w, disk: d, hub: newHub(rdb.Subscribe(context.Background()), o.silence)}
}

// begin ends the leases of the process before, and counts this start.
func (d *disk) begin(s *embedded.Server) error {
	for _, key := range s.Keys() {
		name, ok := chatOfHead(key)
		if !ok {
			continue
		}
		k := keysNamed(name)
		if _, err := s.Amend(voidScript.on([]string{k.head, k.due}, name).Write); err != nil {
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
		if out[i], err = d.Write(c.Write); err != nil {
			return out, err
		}
	}
	return out, nil
}
