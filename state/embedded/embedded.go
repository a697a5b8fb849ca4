// Package embedded is a Redis in this process whose every write is in a journal on disk before it happens: what state uses where no Redis is
// configured.
//
// A [Server] is a miniredis that takes writes one at a time, each at a recorded time, so that replaying the journal gives the same state to the last
// stamp. kill -9 loses nothing acknowledged; a power cut loses at most what was not Sure. A snapshot only makes the journal shorter, and a lock
// refuses a second process on the directory.
//
// Start reading at [Open] and [Server.Write]. journal.go has the frames and how a torn or damaged file is read, snapshot.go the snapshot,
// conn.go the connection that go-redis gets, lock_unix.go and lock_windows.go the lock.
//
// It knows nothing of chats, nor of nod: scripts, keys and arguments are the caller's. It may import miniredis, go-redis and no room of the
// house. A new key or a new script is state's; what makes a write survive is a line here.
package embedded

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// Errors of this package.
var (
	// ErrInUse: another process has the directory.
	ErrInUse = errors.New("the directory is in use")
	// ErrClosed: the server was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly: the server was opened to be read.
	ErrReadOnly = errors.New("the store was opened to be read only")
	// ErrNothing: there is nothing to read, because no process ever had the directory.
	ErrNothing = errors.New("no nod has kept anything here")
)

// Options are what a [Server] needs of the world.
type Options struct {
	Now         func() time.Time
	OpenJournal func(path string) (Segment, error) // [OpenSegment], or a failing disk
	JournalMax  int64                              // bytes after which a snapshot is due
	Log         *slog.Logger
}

// Script is one transition, as Redis runs it. SHA is its SHA-1 in hexadecimal.
type Script struct{ Name, Source, SHA string }

// Write is one run of a script. One that is Sure is on disk before it is answered.
type Write struct {
	Script     Script
	Keys, Args []string
	Sure       bool
}

// Server is a miniredis whose every write is in a journal before it happens.
type Server struct {
	dir  string
	opt  Options
	mem  *miniredis.Miniredis
	lock *os.File // nil: opened to read

	mu      sync.Mutex
	journal *journal
	last    time.Time // the server's clock: never goes back
	ticked  time.Time // when it was moved last, by this machine's
	expired time.Time // up to when expiry was applied
	broken  error     // why nothing more is written
	gen     uint64    // of the newest journal
	failure error     // why the journal cannot be gone on with: a new one has to be begun first
	tried   time.Time // when that was tried last
}

// healApart is the time between two attempts to begin a new journal: each writes everything.
const healApart = time.Second

// Open takes dir for this process, replays the journal, cuts a torn tail, and calls begin, which may write with [Server.Amend] and makes the start of
// this process a fact of its own. There is no listener: other programs of this machine must not be able to write.
func Open(dir string, o Options, begin func(*Server) error) (*Server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	d, err := take(dir, o)
	if err != nil {
		return nil, err
	}
	if by := d.last.Sub(o.Now()); by > time.Minute {
		o.Log.Warn("state: this machine's clock is behind what is recorded; what is told of times and their ends is late until it has caught up", "by", by)
	}
	d.tick()
	if err := begin(d); err != nil {
		_ = d.Release()
		return nil, fmt.Errorf("data_dir %s: %w", dir, err)
	}
	if err := d.shorten(); err != nil { // a full disk, say: what is there can be read, and the next write tries again
		o.Log.Error("state: the directory cannot be written, so nothing is accepted until it can", "dir", dir, "err", err)
	}
	return d, nil
}

// OpenToRead reads what is in dir now, also beside the process that has it, and takes no writes. It writes nothing.
func OpenToRead(dir string, o Options) (*Server, error) {
	if _, err := os.Stat(filepath.Join(dir, "lock")); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data_dir %s: %w", dir, ErrNothing)
	}
	const tries = 5
	for try := 1; ; try++ {
		d := &Server{dir: dir, opt: o, mem: miniredis.NewMiniRedis(), broken: ErrReadOnly}
		err := d.recover(true)
		if now, _ := latest(dir); err == nil && now == d.gen {
			return d, nil
		}
		_ = d.Release() // or a new generation began meanwhile, and took the files away that were read
		if try == tries {
			return nil, fmt.Errorf("data_dir %s: %w", dir, cmp.Or(err, errMoves))
		}
	}
}

var errMoves = errors.New("it changes faster than it can be read; try again")

// take locks dir for this process, and gives a server with what the last one had.
func take(dir string, o Options) (*Server, error) {
	lock, err := lockFile(filepath.Join(dir, "lock"))
	if errors.Is(err, ErrInUse) {
		return nil, fmt.Errorf("data_dir %s: another nod is using it; stop that one, or give this one a data_dir of its own: %w", dir, err)
	} else if err != nil {
		return nil, fmt.Errorf("data_dir %s cannot be written: %w", dir, err)
	}
	d := &Server{dir: dir, opt: o, mem: miniredis.NewMiniRedis(), lock: lock}
	if err := d.recover(false); err != nil {
		_ = d.Release()
		return nil, fmt.Errorf("data_dir %s: %w", dir, err)
	}
	return d, nil
}

// recover starts the server and brings back what the last process had. beside: that process may still write, so that the journal's last
// frame is not whole is nothing to tell of, and nothing is written.
func (d *Server) recover(beside bool) error {
	c, err := d.mem.Dial() // the first dial starts the server
	if err != nil {
		return err
	}
	_ = c.Close()
	if d.gen, err = latest(d.dir); err != nil {
		return err
	}
	at, err := readSnapshot(d.dir, d.gen, d.mem)
	if err != nil {
		return err
	}
	d.setClock(at)
	d.expired, d.ticked = d.last, d.opt.Now()
	err = replay(journalPath(d.dir, d.gen), d.apply, beside, d.opt.Log)
	d.expire()
	return err
}

// Client is a client of the server in this process.
func (d *Server) Client(o redis.Options) *redis.Client {
	o.Addr, o.Dialer = "embedded", func(context.Context, string, string) (net.Conn, error) {
		c, err := d.mem.Dial()
		if err != nil {
			return nil, err
		}
		return newBufferedPipe(c), nil
	}
	return redis.NewClient(&o)
}

// Write takes one write: clock, journal, then memory.
func (d *Server) Write(w Write) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.heal(); err != nil {
		return nil, err
	}
	if err := d.journal.append(record{d.tick(), w}); err != nil {
		// What the disk holds of it is not known. Memory is what was accepted: a snapshot of it goes on from there.
		return nil, d.fail(err)
	}
	res, err := d.Amend(w)
	if err != nil {
		return nil, fmt.Errorf("embedded store: %s: %w", w.Script.Name, err)
	}
	return res, nil
}

// Keys are all keys, sorted.
func (d *Server) Keys() []string { return d.mem.Keys() }

// Increment adds one to a number and returns it. Like [Server.Amend], it is for the function that begins.
func (d *Server) Increment(key string) (int, error) { return d.mem.Incr(key, 1) }

func (d *Server) fail(err error) error {
	d.failure, d.tried = fmt.Errorf("the journal in %s cannot be written, so nothing is accepted until it can: %w", d.dir, err), d.opt.Now()
	return d.failure
}

// heal begins a new journal where the last one cannot be gone on with.
func (d *Server) heal() error {
	switch {
	case d.broken != nil:
		return d.broken
	case d.failure == nil:
		return nil
	case d.opt.Now().Sub(d.tried) < healApart:
		return d.failure
	}
	if err := d.shorten(); err != nil {
		return err
	}
	d.opt.Log.Info("state: the directory can be written again", "dir", d.dir)
	return nil
}

// apply repeats a recorded write, at its time.
func (d *Server) apply(r record) {
	d.setClock(r.at)
	_, _ = d.Amend(r.Write) // an error then is the same error now; without a script nothing happens
}

// Amend runs a script inside the server, without a connection that could fail between journal and memory. By itself it is a write of the
// function that begins: it is in the snapshot that follows, and in no journal.
func (d *Server) Amend(w Write) (any, error) {
	// What a key has left is counted from the last expiry, up to a minute ago: a shorter life that begins now would end with the next one.
	behind := d.last.Sub(d.expired)
	d.age(w.Keys, behind)
	defer d.age(w.Keys, -behind)
	var buf bytes.Buffer
	out := bufio.NewWriter(&buf)
	d.mem.Server().Dispatch(server.NewPeer(out), slices.Concat([]string{"EVAL", w.Script.Source, strconv.Itoa(len(w.Keys))}, w.Keys, w.Args))
	_ = out.Flush() // into memory
	return server.ParseReply(bufio.NewReader(&buf))
}

// age takes by off what keys have left to live, or gives it back.
func (d *Server) age(keys []string, by time.Duration) {
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
func (d *Server) setClock(t time.Time) time.Time {
	t = t.Truncate(time.Millisecond).UTC()
	if t.After(d.last) {
		d.last = t
		d.mem.SetTime(t)
	}
	return d.last
}

// Tick lets the clock run for readers.
func (d *Server) Tick() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tick()
}

// tick moves the server's clock to now. Where this machine's was set back, it goes half as fast until that has caught up: if it stood still, nothing would
// end, and what was allowed for an hour would be allowed all the time.
func (d *Server) tick() time.Time {
	now := d.opt.Now()
	to := d.last.Add(now.Sub(d.ticked) / 2)
	if now.After(to) {
		to = now
	}
	if to.Sub(d.last) >= time.Millisecond {
		d.ticked = now
	}
	return d.setClock(to)
}

// expire drops what ran out since the last time.
func (d *Server) expire() {
	if by := d.last.Sub(d.expired); by > 0 {
		d.mem.FastForward(by)
		d.expired = d.last
	}
}

// Sweep expires keys, as a recorded write like any other, and shortens a journal that grew long.
func (d *Server) Sweep() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.heal(); err != nil {
		return err
	}
	now := d.tick()
	if err := d.journal.append(record{at: now}); err != nil {
		return d.fail(err)
	}
	d.expire()
	if d.journal.size < d.opt.JournalMax {
		return nil
	}
	return d.shorten()
}

// shorten writes a snapshot and begins a new journal after it. If the snapshot cannot be written, the old journal goes on, if it can.
func (d *Server) shorten() error {
	gen := d.gen + 1
	d.expire() // what a key has left is counted from the time of the snapshot
	if err := writeSnapshot(d.dir, gen, d.mem, d.last); err != nil {
		err = fmt.Errorf("snapshot: %w", err)
		if d.journal == nil || d.failure != nil {
			return d.fail(err)
		}
		return err
	}
	d.gen = gen // it is in force, so the old journal must not grow: it would not be read again
	d.closeJournal()
	next, err := newJournal(d.dir, gen, d.opt.OpenJournal)
	if err != nil {
		return d.fail(err)
	}
	d.journal, d.failure = next, nil
	removeOlder(d.dir, gen)
	return nil
}

// Ready reports whether writes are taken.
func (d *Server) Ready() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.heal()
}

// Close stops writing. What is journalled stays; a last snapshot makes the next start quick.
func (d *Server) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	if d.broken == nil {
		err = d.shorten()
	}
	d.closeJournal()
	d.broken = ErrClosed
	return err
}

func (d *Server) closeJournal() {
	if d.journal != nil {
		_ = d.journal.file.Close()
		d.journal = nil
	}
}

// Release lets go of memory and of the directory.
func (d *Server) Release() error {
	d.mem.Close()
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}
