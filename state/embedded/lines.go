package embedded

import (
	"bufio"
	"encoding/json"
	"errors"
	"hash"
	"hash/crc32"
	"io"
)

// A dump of a Redis is JSON lines: a head, one Key per key, an end with the checksum of all lines before. A snapshot is one, and a backup.

// Key is one key with all that it holds. Values are base64 in the file: plain JSON would spoil bytes that are no UTF-8.
type Key struct {
	Key   []byte    `json:"k"`
	Type  string    `json:"t"`
	TTL   int64     `json:"ttl,omitempty"` // ms left
	Value [][]byte  `json:"v"`             // string: one; list: all; hash: field, value, ...; zset: members
	Score []float64 `json:"s,omitempty"`   // zset
}

type dumpEnd struct {
	Keys *int   `json:"keys"`
	Sum  uint32 `json:"sum"`
}

// DumpWriter writes a dump. One without its end is not read.
type DumpWriter struct {
	w    io.Writer
	sum  hash.Hash32
	enc  *json.Encoder
	keys int
}

// NewDumpWriter begins a dump with its head.
func NewDumpWriter(w io.Writer, head any) (*DumpWriter, error) {
	d := &DumpWriter{w: w, sum: crc32.New(castagnoli)}
	d.enc = json.NewEncoder(io.MultiWriter(w, d.sum))
	return d, d.enc.Encode(head)
}

// Put writes one key.
func (d *DumpWriter) Put(k Key) error {
	d.keys++
	return d.enc.Encode(k)
}

// End writes the end. It gives how many keys there are.
func (d *DumpWriter) End() (keys int, err error) {
	return d.keys, json.NewEncoder(d.w).Encode(dumpEnd{&d.keys, d.sum.Sum32()})
}

// ReadDump reads a dump to its end. What take got counts only if there is no error: the checksum comes last.
func ReadDump(r io.Reader, head func(line []byte) error, take func(Key) error) error {
	sum, rd := crc32.New(castagnoli), bufio.NewReader(r)
	for first := true; ; first = false {
		line, err := rd.ReadBytes('\n')
		if err != nil {
			return errors.New("its end is missing")
		}
		if first {
			if err := head(line); err != nil {
				return err
			}
			_, _ = sum.Write(line)
			continue
		}
		var end dumpEnd
		if json.Unmarshal(line, &end) == nil && end.Keys != nil {
			if end.Sum != sum.Sum32() {
				return errors.New("its checksum differs")
			}
			return nil
		}
		_, _ = sum.Write(line)
		var k Key
		if err := json.Unmarshal(line, &k); err != nil {
			return err
		}
		if err := take(k); err != nil {
			return err
		}
	}
}
