package embedded

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// snapHead is the head of a snapshot, which is a dump: lines.go.
type snapHead struct {
	Snapshot int   `json:"snapshot"` // version
	At       int64 `json:"at"`       // the store's clock, ms
}

const snapshotVersion = 1

// writeSnapshot writes everything to a file of its own and puts it into force with one rename.
func writeSnapshot(dir string, gen uint64, mem *miniredis.Miniredis, at time.Time) (err error) {
	path := snapshotPath(dir, gen)
	tmp := path + ".tmp"
	f, err := create(tmp, os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(f)
	if err = errors.Join(encodeSnapshot(buf, mem, at), buf.Flush(), f.Sync(), f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return err
}

func encodeSnapshot(w io.Writer, mem *miniredis.Miniredis, at time.Time) error {
	out, _ := NewDumpWriter(w, snapHead{snapshotVersion, at.UnixMilli()}) // what w refused, it refuses again when it is flushed
	for _, k := range mem.Keys() {
		s, err := dump(mem, k)
		if err != nil {
			return err
		}
		if err := out.Put(s); err != nil {
			return err
		}
	}
	_, err := out.End()
	return err
}

func dump(mem *miniredis.Miniredis, k string) (s Key, err error) {
	s = Key{Key: []byte(k), Type: mem.Type(k), TTL: mem.TTL(k).Milliseconds()}
	var values []string
	switch s.Type {
	case "string":
		var v string
		v, err = mem.Get(k)
		values = []string{v}
	case "list":
		values, err = mem.List(k)
	case "hash":
		var fields []string
		fields, err = mem.HKeys(k)
		for _, f := range fields {
			values = append(values, f, mem.HGet(k, f))
		}
	case "zset":
		var set map[string]float64
		set, err = mem.SortedSet(k)
		for m, score := range set {
			values, s.Score = append(values, m), append(s.Score, score)
		}
	default:
		err = fmt.Errorf("key %q is a %s, which no script of ours makes", k, s.Type)
	}
	for _, v := range values {
		s.Value = append(s.Value, []byte(v))
	}
	return s, err
}

// readSnapshot puts a snapshot into an empty server and returns its time. Generation 0 has none.
func readSnapshot(dir string, gen uint64, mem *miniredis.Miniredis) (time.Time, error) {
	if gen == 0 {
		return time.Time{}, nil
	}
	path := snapshotPath(dir, gen)
	f, err := os.Open(path) //nolint:gosec // our own directory
	// It was there a moment ago: whoever reads beside the process that writes tries again.
	if err != nil {
		return time.Time{}, err
	}
	defer f.Close() //nolint:errcheck // read only
	var head snapHead
	version := func(line []byte) error {
		if err := json.Unmarshal(line, &head); err != nil {
			return err
		}
		if head.Snapshot != snapshotVersion {
			return errVersion
		}
		return nil
	}
	err = ReadDump(f, version, func(k Key) error { return restore(mem, k) })
	switch {
	case errors.Is(err, errVersion):
		return time.Time{}, fmt.Errorf("%s has version %d, and this build reads version %d: use the build that wrote it, or a newer one", path, head.Snapshot, snapshotVersion)
	case err != nil:
		return time.Time{}, fmt.Errorf("%s is damaged (%w); restore it from a backup, or move the directory away to begin anew", path, err)
	}
	return time.UnixMilli(head.At).UTC(), nil
}

var errVersion = errors.New("another version")

func restore(mem *miniredis.Miniredis, s Key) (err error) {
	k := string(s.Key)
	v := make([]string, len(s.Value))
	for i := range s.Value {
		v[i] = string(s.Value[i])
	}
	switch {
	case s.Type == "string" && len(v) == 1:
		err = mem.Set(k, v[0])
	case s.Type == "list":
		_, err = mem.RPush(k, v...)
	case s.Type == "hash" && len(v)%2 == 0:
		mem.HSet(k, v...)
	case s.Type == "zset" && len(v) == len(s.Score):
		for i := range v {
			_, err = mem.ZAdd(k, s.Score[i], v[i])
		}
	default:
		err = fmt.Errorf("key %q does not fit its type %q", k, s.Type)
	}
	if s.TTL > 0 {
		mem.SetTTL(k, time.Duration(s.TTL)*time.Millisecond)
	}
	return err
}
