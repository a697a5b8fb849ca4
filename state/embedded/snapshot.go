package embedded

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// A snapshot is JSON lines: a snapHead, one snapKey per key, a snapEnd with the checksum of all lines before.
// Values are base64: plain JSON would spoil bytes that are no UTF-8.

type snapHead struct {
	Snapshot int   `json:"snapshot"` // version
	At       int64 `json:"at"`       // the store's clock, ms
}

type snapKey struct {
	Key   []byte    `json:"k"`
	Type  string    `json:"t"`
	TTL   int64     `json:"ttl,omitempty"` // ms left
	Value [][]byte  `json:"v"`             // string: one; list: all; hash: field, value, ...; zset: members
	Score []float64 `json:"s,omitempty"`   // zset
}

type snapEnd struct {
	Keys *int   `json:"keys"`
	Sum  uint32 `json:"sum"`
}

const snapshotVersion = 1

// writeSnapshot writes everything to a file of its own and puts it into force with one rename.
func writeSnapshot(dir string, gen uint64, mem *miniredis.Miniredis, at time.Time) (err error) {
	path := snapshotPath(dir, gen)
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // our own directory
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(f)
	if err = errors.Join(encodeSnapshot(buf, mem, at), buf.Flush(), f.Sync(), f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return syncDir(dir)
}

func encodeSnapshot(w io.Writer, mem *miniredis.Miniredis, at time.Time) error {
	sum := crc32.New(castagnoli)
	enc := json.NewEncoder(io.MultiWriter(w, sum))
	if err := enc.Encode(snapHead{snapshotVersion, at.UnixMilli()}); err != nil {
		return err
	}
	keys := mem.Keys()
	for _, k := range keys {
		s, err := dump(mem, k)
		if err != nil {
			return err
		}
		if err := enc.Encode(s); err != nil {
			return err
		}
	}
	n := len(keys)
	return json.NewEncoder(w).Encode(snapEnd{&n, sum.Sum32()})
}

func dump(mem *miniredis.Miniredis, k string) (s snapKey, err error) {
	s = snapKey{Key: []byte(k), Type: mem.Type(k), TTL: mem.TTL(k).Milliseconds()}
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
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	defer f.Close() //nolint:errcheck // read only
	damaged := func(why error) (time.Time, error) {
		return time.Time{}, fmt.Errorf("%s is damaged (%w); restore it from a backup, or move the directory away to begin anew", path, why)
	}
	sum := crc32.New(castagnoli)
	rd := bufio.NewReader(f)
	var head snapHead
	for keys := -1; ; keys++ {
		line, err := rd.ReadBytes('\n')
		if err != nil {
			return damaged(errors.New("its end is missing"))
		}
		if keys < 0 {
			if err := json.Unmarshal(line, &head); err != nil {
				return damaged(err)
			}
			if head.Snapshot != snapshotVersion {
				return time.Time{}, fmt.Errorf("%s has version %d, and this build reads version %d: use the build that wrote it, or a newer one", path, head.Snapshot, snapshotVersion)
			}
			_, _ = sum.Write(line)
			continue
		}
		var end snapEnd
		if json.Unmarshal(line, &end) == nil && end.Keys != nil {
			if *end.Keys != keys || end.Sum != sum.Sum32() {
				return damaged(errors.New("its checksum differs"))
			}
			return time.UnixMilli(head.At).UTC(), nil
		}
		_, _ = sum.Write(line)
		var k snapKey
		if err := json.Unmarshal(line, &k); err != nil {
			return damaged(err)
		}
		if err := restore(mem, k); err != nil {
			return damaged(err)
		}
	}
}

func restore(mem *miniredis.Miniredis, s snapKey) (err error) {
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
		for i := 0; i < len(v) && err == nil; i++ {
			_, err = mem.ZAdd(k, s.Score[i], v[i])
		}
	default:
		err = fmt.Errorf("key %q does not fit its type %q", k, s.Type)
	}
	if err == nil && s.TTL > 0 {
		mem.SetTTL(k, time.Duration(s.TTL)*time.Millisecond)
	}
	return err
}
