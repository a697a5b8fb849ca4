package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/state/embedded"
)

// backupHead is the first line of a backup.
type backupHead struct {
	Backup int       `json:"backup"` // version of the form
	Nod    string    `json:"nod"`    // the program that wrote it
	At     time.Time `json:"at"`
}

const backupVersion = 1

// ofRun are keys that say which processes and which server there are just now: another store has its own.
var ofRun = []string{runServer, runProbe, runReplicas}

// Backup writes everything that is kept. A bot may run meanwhile: what one write changes is in one slot, and each slot is read at one moment, so
// that a chat is in it as it was between two writes. It gives how many keys there are. program names who writes it.
func (s *Store) Backup(ctx context.Context, w io.Writer, program string) (keys int, err error) {
	slots, err := s.keysBySlot(ctx)
	if err != nil {
		return 0, err
	}
	out, err := embedded.NewDumpWriter(w, backupHead{backupVersion, program, time.Now().UTC()})
	if err != nil {
		return 0, err
	}
	for _, slot := range slices.Sorted(maps.Keys(slots)) {
		all, err := s.dump(ctx, slots[slot])
		if err != nil {
			return 0, err
		}
		for _, k := range all {
			if err := out.Put(k); err != nil {
				return 0, err
			}
		}
	}
	return out.End()
}

// keysBySlot are all keys to be kept, with what of them decides their slot.
func (s *Store) keysBySlot(ctx context.Context) (map[string][]string, error) {
	found := make(chan string) // a Cluster's nodes answer at once
	ended := make(chan error, 1)
	go func() {
		defer close(found)
		ended <- s.eachKey(ctx, prefix+"*", func(key string) { found <- key })
	}()
	slots := map[string][]string{}
	for key := range found {
		if slices.Contains(ofRun, key) {
			continue
		}
		tag := key
		if _, rest, tagged := strings.Cut(key, "{"); tagged {
			tag, _, _ = strings.Cut(rest, "}")
		}
		slots[tag] = append(slots[tag], key)
	}
	for tag := range slots { // a scan may give a key twice
		slices.Sort(slots[tag])
		slots[tag] = slices.Compact(slots[tag])
	}
	return slots, <-ended
}

// dump reads keys of one slot at one moment.
func (s *Store) dump(ctx context.Context, keys []string) ([]embedded.Key, error) {
	types, err := each(ctx, s, len(keys), func(p redis.Pipeliner, i int) *redis.StatusCmd { return p.Type(ctx, keys[i]) })
	if err != nil {
		return nil, err
	}
	return read(ctx, func(ctx context.Context) ([]embedded.Key, error) {
		out, take := make([]embedded.Key, len(keys)), make([]func(), len(keys))
		left := make([]*redis.DurationCmd, len(keys))
		_, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for i, name := range keys {
				out[i] = embedded.Key{Key: []byte(name), Type: types[i].Val()}
				left[i], take[i] = p.PTTL(ctx, name), dumpOne(ctx, p, &out[i])
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		for i := range out {
			if take[i] == nil && out[i].Type != "none" {
				return nil, fmt.Errorf("key %q is a %s, which nothing of nod's makes", keys[i], out[i].Type)
			} else if take[i] != nil {
				take[i]()
			}
			out[i].TTL = max(left[i].Val().Milliseconds(), 0)
		}
		return slices.DeleteFunc(out, func(k embedded.Key) bool { return len(k.Value) == 0 }), nil // it ran out meanwhile
	})
}

// dumpOne asks for one key. What it gives takes the answer.
func dumpOne(ctx context.Context, p redis.Pipeliner, k *embedded.Key) func() {
	put := func(v string) { k.Value = append(k.Value, []byte(v)) }
	name := string(k.Key)
	switch k.Type {
	case "string":
		c := p.Get(ctx, name)
		return func() {
			if c.Err() == nil {
				put(c.Val())
			}
		}
	case "list":
		c := p.LRange(ctx, name, 0, -1)
		return func() {
			for _, v := range c.Val() {
				put(v)
			}
		}
	case "hash":
		c := p.HGetAll(ctx, name)
		return func() {
			for _, f := range slices.Sorted(maps.Keys(c.Val())) {
				put(f)
				put(c.Val()[f])
			}
		}
	case "zset":
		c := p.ZRangeWithScores(ctx, name, 0, -1)
		return func() {
			for _, z := range c.Val() {
				put(text(z.Member))
				k.Score = append(k.Score, z.Score)
			}
		}
	}
	return nil
}

// Restored says what was restored.
type Restored struct {
	Keys int
	Nod  string // the program that wrote the backup
	At   time.Time
}

// Restore puts a backup into a store that is empty, and that no bot runs on. open gives the file from its start: it is read to its end before
// anything is written, so that one that is cut or damaged restores nothing. What was decided before and has not started by the backup does not
// count any more: it may have run since. See docs/decisions/0007-a-store-that-forgot.md.
func (s *Store) Restore(ctx context.Context, open func() (io.ReadCloser, error)) (Restored, error) {
	if err := s.vacant(ctx); err != nil {
		return Restored{}, err
	}
	if _, err := readBackup(open, func(embedded.Key) error { return nil }); err != nil {
		return Restored{}, err
	}
	now, err := s.redisTime(ctx)
	if err != nil {
		return Restored{}, err
	}
	// First of all: whoever starts a bot on a part of it must not have what was decided run once more.
	if _, err := s.write(ctx, putScript.on([]string{runServer}, "restored", strconv.FormatInt(now, 10))); err != nil {
		return Restored{}, err
	}
	was, err := readBackup(open, func(k embedded.Key) error { return s.restore(ctx, k) })
	if err != nil {
		return Restored{}, fmt.Errorf("only a part is restored, so empty the store before the next try: %w", err)
	}
	return was, nil
}

// vacant says what is in the way of a restore.
func (s *Store) vacant(ctx context.Context) error {
	if driven, err := s.Driven(ctx); err != nil {
		return err
	} else if driven {
		return errors.New("a nod is running on this store: stop it first (one that was killed counts for five seconds more)")
	}
	slots, err := s.keysBySlot(ctx)
	if err != nil {
		return err
	}
	var there []string
	for _, keys := range slots {
		there = append(there, keys...)
	}
	there = slices.DeleteFunc(there, func(key string) bool { return key == runEpoch })
	if len(there) > 0 {
		return fmt.Errorf("the store is not empty: it holds %d keys, such as %s; a backup is restored into an empty one", len(there), slices.Min(there))
	}
	return nil
}

// restoreAtOnce is how many values one script puts: it is short, whatever the key holds.
const restoreAtOnce = 1000

func (s *Store) restore(ctx context.Context, k embedded.Key) error {
	var args []string
	for i, v := range k.Value {
		if k.Type == "zset" {
			args = append(args, strconv.FormatFloat(k.Score[i], 'f', -1, 64))
		}
		args = append(args, string(v))
	}
	for some := range slices.Chunk(args, restoreAtOnce) {
		if _, err := s.write(ctx, restoreScript.on([]string{string(k.Key)}, append([]string{k.Type, strconv.FormatInt(k.TTL, 10)}, some...)...)); err != nil {
			return err
		}
	}
	return nil
}

func readBackup(open func() (io.ReadCloser, error), take func(embedded.Key) error) (was Restored, err error) {
	f, err := open()
	if err != nil {
		return was, err
	}
	defer f.Close() //nolint:errcheck // read only
	var head backupHead
	version := func(line []byte) error {
		switch err := json.Unmarshal(line, &head); {
		case err != nil || head.Backup == 0:
			return errors.New("this is no backup of nod's")
		case head.Backup > backupVersion:
			return fmt.Errorf("this backup has version %d, written by %q, and this nod reads version %d: restore it with the nod that wrote it, or a newer one", head.Backup, head.Nod, backupVersion)
		}
		return nil
	}
	err = embedded.ReadDump(f, version, func(k embedded.Key) error {
		was.Keys++
		if !strings.HasPrefix(string(k.Key), prefix) || !fits(k) {
			return fmt.Errorf("key %q is none of nod's, or does not fit its type %q", k.Key, k.Type)
		}
		return take(k)
	})
	was.Nod, was.At = head.Nod, head.At
	if err != nil {
		return was, fmt.Errorf("the backup: %w", err)
	}
	return was, nil
}

// fits reports whether a key's values are those of its type.
func fits(k embedded.Key) bool {
	switch n := len(k.Value); k.Type {
	case "string":
		return n == 1
	case "list":
		return n > 0
	case "hash":
		return n > 0 && n%2 == 0
	case "zset":
		return n > 0 && n == len(k.Score)
	}
	return false
}
