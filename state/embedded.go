package state

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// OpenEmbedded opens the store that lives in this process and in dir. It replays the journal, cuts a torn tail,
// ends every lease, makes every waiting chat due, and refuses a second process on the same dir. There is no
// listener: other programs of this machine must not be able to write a decision.
func OpenEmbedded(dir string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	quiet()
	d, err := openDisk(dir, o)
	if err != nil {
		return nil, err
	}
	ro := &redis.Options{
		Addr: "embedded",
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			c, err := d.mem.Dial()
			if err != nil {
				return nil, err
			}
			return newRoomy(c), nil
		},
	}
	tune(ro)
	s := &Store{opt: o, rdb: redis.NewClient(ro), w: d, disk: d}
	s.hub = newHub(newOwnFeed(d.mem))
	return s, nil
}

// ErrInUse: another process has the directory.
var ErrInUse = errors.New("the directory is in use")

// disk is a miniredis whose every write is in a journal before it happens. Writes go one at a time, each at a
// recorded time, so that replaying the journal gives the same state to the last stamp.
type disk struct {
	dir   string
	opt   Options
	mem   *miniredis.Miniredis
	epoch uint64
	lock  *os.File

	mu      sync.Mutex
	journal *journal
	last    time.Time // the server's clock: never goes back
	faded   time.Time // up to when expiry was applied
	broken  error     // why nothing more is written
	gen     uint64    // of the newest journal
	hurt    error     // why the journal cannot be gone on with: a new one has to be begun first
	tried   time.Time // when that was tried last
}

// healApart is the time between two attempts to begin a new journal: each writes everything.
const healApart = time.Second

func openDisk(dir string, o Options) (_ *disk, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	d := &disk{dir: dir, opt: o, mem: miniredis.NewMiniRedis()}
	if d.lock, err = lockFile(filepath.Join(dir, "lock")); errors.Is(err, ErrInUse) {
		return nil, fmt.Errorf("data_dir %s: another nod is using it; stop that one, or give this one a data_dir of its own: %w", dir, err)
	} else if err != nil {
		return nil, fmt.Errorf("data_dir %s cannot be written: %w", dir, err)
	}
	defer func() {
		if err != nil {
			d.mem.Close()
			_ = d.lock.Close()
		}
	}()
	c, err := d.mem.Dial() // the first dial starts the server
	if err != nil {
		return nil, err
	}
	_ = c.Close()
	if err := d.recover(); err != nil {
		return nil, fmt.Errorf("data_dir %s: %w", dir, err)
	}
	return d, nil
}

// recover brings back what the last process had, and makes the start of this one a fact of its own.
func (d *disk) recover() error {
	gen, err := d.remember()
	if err != nil {
		return err
	}
	d.setClock(d.opt.now())
	d.fade()
	if err := d.voidAll(); err != nil {
		return err
	}
	n, err := d.mem.Incr(runEpoch, 1)
	if err != nil {
		return err
	}
	d.epoch = uint64(max(n, 0)) //nolint:gosec // counts up from one
	d.gen = gen
	if err := d.shorten(); err != nil { // a full disk, say: what is there can be read, and the next write tries again
		d.opt.Log.Error("state: the directory cannot be written, so nothing is accepted until it can", "dir", d.dir, "err", err)
	}
	return nil
}

// voidAll ends the leases of the process before.
func (d *disk) voidAll() error {
	for _, key := range d.mem.Keys() {
		name, ok := chatOfHead(key)
		if !ok {
			continue
		}
		k := keysNamed(name)
		if _, err := d.run(voidScript.source, []string{k.head, k.due}, []string{name}); err != nil {
			return err
		}
	}
	return nil
}

// write takes each call: clock, journal, then memory.
func (d *disk) write(_ context.Context, calls ...call) ([]any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]any, len(calls))
	for i, c := range calls {
		if err := d.heal(); err != nil {
			return out, err
		}
		now := d.setClock(d.opt.now())
		rec := record{at: now, script: c.script, keys: c.keys, args: c.args}
		if err := d.journal.append(rec, c.sure); err != nil {
			// What the disk holds of it is not known. Memory is what was accepted: a snapshot of it goes on from there.
			return out, d.hurts(err)
		}
		res, err := d.run(c.script.source, c.keys, c.args)
		if err != nil {
			return out, fmt.Errorf("embedded store: %s: %w", c.script.name, err)
		}
		out[i] = res
	}
	return out, nil
}

func (d *disk) hurts(err error) error {
	d.hurt, d.tried = fmt.Errorf("the journal in %s cannot be written, so nothing is accepted until it can: %w", d.dir, err), d.opt.now()
	return d.hurt
}

// heal begins a new journal where the last one cannot be gone on with.
func (d *disk) heal() error {
	switch {
	case d.broken != nil:
		return d.broken
	case d.hurt == nil:
		return nil
	case d.opt.now().Sub(d.tried) < healApart:
		return d.hurt
	}
	if err := d.shorten(); err != nil {
		return err
	}
	d.opt.Log.Info("state: the directory can be written again", "dir", d.dir)
	return nil
}

// apply repeats a recorded write, at its time.
func (d *disk) apply(r record) {
	d.setClock(r.at)
	if r.script.source == "" {
		d.fade()
		return
	}
	_, _ = d.run(r.script.source, r.keys, r.args) // an error then is the same error now
}

// run executes a script inside the server, without a connection that could fail between journal and memory.
func (d *disk) run(source string, keys, args []string) (any, error) {
	// What a key has left is counted from the last fade, up to a minute ago: a shorter life that begins now would end with the next one.
	behind := d.last.Sub(d.faded)
	d.age(keys, behind)
	defer d.age(keys, -behind)
	cmd := append([]string{"EVAL", source, strconv.Itoa(len(keys))}, keys...)
	var buf bytes.Buffer
	w := bufio.NewWriter(&buf)
	d.mem.Server().Dispatch(server.NewPeer(w), append(cmd, args...))
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return server.ParseReply(bufio.NewReader(&buf))
}

// age takes by off what keys have left to live, or gives it back.
func (d *disk) age(keys []string, by time.Duration) {
	if by == 0 {
		return
	}
	for _, k := range keys {
		left := d.mem.TTL(k)
		switch {
		case left == 0: // it stays, or is not there
		case left > by:
			d.mem.SetTTL(k, left-by)
		default:
			d.mem.Del(k)
		}
	}
}

// setClock moves the server's clock to t, or leaves it where it is further.
func (d *disk) setClock(t time.Time) time.Time {
	t = t.Truncate(time.Millisecond).UTC()
	if t.After(d.last) {
		d.last = t
		d.mem.SetTime(t)
	}
	return d.last
}

// tick lets the clock run for readers.
func (d *disk) tick() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.setClock(d.opt.now())
}

// fade expires what ran out since the last time.
func (d *disk) fade() {
	if by := d.last.Sub(d.faded); by > 0 {
		d.mem.FastForward(by)
		d.faded = d.last
	}
}

// sweep expires keys, as a recorded write like any other, and shortens a journal that grew long.
func (d *disk) sweep() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.heal(); err != nil {
		return err
	}
	now := d.setClock(d.opt.now())
	if err := d.journal.append(record{at: now}, false); err != nil {
		return d.hurts(err)
	}
	d.fade()
	if d.journal.size < d.opt.journalMax {
		return nil
	}
	return d.shorten()
}

// shorten writes a snapshot and begins a new journal after it. If the snapshot cannot be written, the old
// journal goes on, where there is one that can.
func (d *disk) shorten() error {
	gen := d.gen + 1
	if err := writeSnapshot(d.dir, gen, d.mem, d.last); err != nil {
		err = fmt.Errorf("snapshot: %w", err)
		if d.journal == nil || d.hurt != nil {
			return d.hurts(err)
		}
		return err
	}
	d.gen = gen // it is in force, so the old journal must not grow: it would not be read again
	if d.journal != nil {
		_ = d.journal.file.Close()
		d.journal = nil
	}
	next, err := newJournal(d.dir, gen, d.opt.openJournal)
	if err != nil {
		return d.hurts(err)
	}
	d.journal, d.hurt = next, nil
	removeOlder(d.dir, gen)
	return nil
}

// ready reports whether writes are taken.
func (d *disk) ready() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.heal()
}

// close stops writing. What is journalled stays; a last snapshot makes the next start quick.
func (d *disk) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	if d.broken == nil {
		err = d.shorten()
	}
	if d.journal != nil {
		_ = d.journal.file.Close()
		d.journal = nil
	}
	d.broken = ErrClosed
	return err
}

// shut lets go of memory and of the directory.
func (d *disk) shut() error {
	d.mem.Close()
	return d.lock.Close()
}
