package embedded

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1; nothing rests on its strength.
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A journal is a file of frames:
//
//	'N' kind  length (4 bytes, big endian)  CRC-32C of kind and payload (4 bytes)  payload
//
// A frame of kind frameScript holds a script's source; frames after it name it by its digest, so that a newer
// build replays an old journal with the scripts that wrote it. Generation N begins where snapshot N was taken.

const (
	frameScript = 's' // a script's source
	frameWrite  = 'w' // one run of a script, or time that passed
	frameSure   = 'S' // the same, on disk before it was answered

	frameHead = 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is one write. Without a script it only lets time pass.
type record struct {
	at time.Time
	Write
}

// Segment is the file under a journal.
type Segment interface {
	io.WriteCloser
	Sync() error
	Truncate(int64) error
}

// OpenSegment makes the file of a journal.
func OpenSegment(path string) (Segment, error) {
	// O_APPEND: after a truncation the next write goes to the new end.
	return create(path, os.O_TRUNC|os.O_WRONLY|os.O_APPEND)
}

type journal struct {
	file    Segment
	size    int64
	scripts map[string]bool // those whose source is in this file
}

func newJournal(dir string, gen uint64, open func(string) (Segment, error)) (*journal, error) {
	if err := syncDir(dir); err != nil { // the snapshot that it goes on from
		return nil, err
	}
	f, err := open(journalPath(dir, gen))
	if err != nil {
		return nil, err
	}
	if err := syncDir(dir); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &journal{file: f, scripts: map[string]bool{"": true}}, nil
}

// append writes a record, and syncs one that must survive a power cut. On an error the file is cut back to where it was.
func (j *journal) append(r record) error {
	var b []byte
	if !j.scripts[r.Script.SHA] {
		b = frame(b, frameScript, []byte(r.Script.Source))
	}
	kind := byte(frameWrite)
	if r.Sure {
		kind = frameSure
	}
	b = frame(b, kind, r.encode())
	_, err := j.file.Write(b)
	if err == nil && r.Sure {
		err = j.file.Sync()
	}
	if err != nil {
		return errors.Join(err, j.file.Truncate(j.size))
	}
	j.size += int64(len(b))
	j.scripts[r.Script.SHA] = true
	return nil
}

func frame(b []byte, kind byte, payload []byte) []byte {
	b = append(b, 'N', kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload))) //nolint:gosec // state's limits are far below
	b = binary.BigEndian.AppendUint32(b, frameSum(kind, payload))
	return append(b, payload...)
}

func frameSum(kind byte, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte{kind}, castagnoli), castagnoli, payload)
}

func (r record) encode() []byte {
	b := binary.AppendVarint(nil, r.at.UnixMilli())
	b = appendString(b, r.Script.SHA)
	for _, list := range [][]string{r.Keys, r.Args} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			b = appendString(b, s)
		}
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errRecord = errors.New("a record in it is not readable")

func decodeRecord(b []byte) (r record, err error) {
	rd := bytes.NewReader(b)
	ms, err := binary.ReadVarint(rd)
	r.at = time.UnixMilli(ms).UTC()
	number := func() uint64 { // of what takes a byte each at least
		n, bad := binary.ReadUvarint(rd)
		if bad != nil || n > uint64(rd.Len()) { //nolint:gosec // a length
			err = errRecord
			return 0
		}
		return n
	}
	str := func() string {
		s := make([]byte, number())
		_, _ = rd.Read(s)
		return string(s)
	}
	r.Script.SHA = str()
	for _, list := range []*[]string{&r.Keys, &r.Args} {
		for range number() {
			*list = append(*list, str())
		}
	}
	return r, err
}

// replay gives every record to apply, in order. A tail that was being written when the process died is left
// out. Anything that is broken in front of a record that was synced is no torn tail: that is a damaged file, and
// going on without those records could run a tool twice.
func replay(path string, apply func(record), beside bool, log *slog.Logger) error {
	b, err := os.ReadFile(path) //nolint:gosec // our own file
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return replayFrames(path, b, apply, beside, log)
}

func replayFrames(path string, b []byte, apply func(record), beside bool, log *slog.Logger) error {
	sources := map[string]Script{}
	at := 0
	for at < len(b) {
		kind, payload, ok := readFrame(b[at:])
		if !ok {
			unsure := at+1 < len(b) && slices.Contains([]byte{frameScript, frameWrite}, b[at+1]) // else it may have been a synced one itself
			for i := at + 1; i < len(b); i++ {
				if kind, _, ok := readFrame(b[i:]); ok && (kind == frameSure || !unsure) {
					return fmt.Errorf("%s is damaged at byte %d, where a decision or a start was recorded, or before one; restore it from a backup, or move the directory away to begin anew", path, at)
				}
			}
			return cutOff(path, b, at, beside, log)
		}
		at += frameHead + len(payload)
		if kind == frameScript {
			sum := sha1.Sum(payload) //nolint:gosec // see the import
			s := Script{"recorded", string(payload), hex.EncodeToString(sum[:])}
			sources[s.SHA] = s
			continue
		}
		r, err := decodeRecord(payload)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if r.Script.SHA != "" {
			var found bool
			if r.Script, found = sources[r.Script.SHA]; !found {
				return fmt.Errorf("%s: %w: it names a script that is not there", path, errRecord)
			}
		}
		apply(r)
	}
	return nil
}

// cutOff leaves out what follows a frame that is not whole. Where only the end is missing, that was being written when the process died. Where whole
// frames follow, the file is damaged: what they hold is lost, but not the file.
func cutOff(path string, b []byte, at int, beside bool, log *slog.Logger) error {
	lost := 0
	for i := at + 1; i < len(b); i++ {
		if _, payload, ok := readFrame(b[i:]); ok {
			lost++
			i += frameHead + len(payload) - 1
		}
	}
	switch {
	case lost == 0 && beside:
		return nil
	case beside:
		log.Error("state: the journal is damaged; what was recorded after that is not read", "at byte", at, "bytes", len(b)-at, "records", lost)
		return nil
	case lost == 0:
		log.Warn("state: cut an unfinished write off the journal", "bytes", len(b)-at)
		return nil
	}
	copied := path + ".bad"
	base := filepath.Join(filepath.Dir(path), "snapshot."+strings.TrimPrefix(filepath.Base(path), "journal."))
	_ = os.Link(base, base+".bad") // what the journal goes on from: the first one goes on from nothing
	if err := os.WriteFile(copied, b, 0o600); err != nil {
		return fmt.Errorf("%s is damaged at byte %d, and cannot be kept as %s: %w", path, at, copied, err)
	}
	log.Error("state: the journal is damaged; what was recorded after that is lost, and the file is kept", "at byte", at, "bytes", len(b)-at, "records lost", lost, "kept", copied)
	return nil
}

func readFrame(b []byte) (kind byte, payload []byte, ok bool) {
	if len(b) < frameHead || b[0] != 'N' {
		return 0, nil, false
	}
	kind = b[1]
	n := binary.BigEndian.Uint32(b[2:6])
	if uint64(n) > uint64(len(b)-frameHead) {
		return 0, nil, false
	}
	payload = b[frameHead : frameHead+int(n)]
	return kind, payload, frameSum(kind, payload) == binary.BigEndian.Uint32(b[6:frameHead])
}

func journalPath(dir string, gen uint64) string {
	return filepath.Join(dir, fmt.Sprintf("journal.%d", gen))
}

func snapshotPath(dir string, gen uint64) string {
	return filepath.Join(dir, fmt.Sprintf("snapshot.%d", gen))
}

// latest is the generation to start from: that of the newest snapshot, or 0 in a new directory. A journal without
// the snapshot that it goes on from is refused: to start without it would forget everything.
func latest(dir string) (uint64, error) {
	snapshots, journals, err := generations(dir)
	if err != nil {
		return 0, err
	}
	gen := slices.Max(append(snapshots, 0))
	if last := slices.Max(append(journals, 0)); last > gen {
		return 0, fmt.Errorf("%s is missing, and %s goes on from it; restore it from a backup, or move the directory away to begin anew", snapshotPath(dir, last), journalPath(dir, last))
	}
	return gen, nil
}

func generations(dir string) (snapshots, journals []uint64, err error) {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		name, n, _ := strings.Cut(f.Name(), ".")
		gen, _ := strconv.ParseUint(n, 10, 64) // 0 of what is no number: nothing comes of that
		switch name {
		case "snapshot":
			snapshots = append(snapshots, gen)
		case "journal":
			journals = append(journals, gen)
		}
	}
	return snapshots, journals, err
}

// removeOlder drops what a newer snapshot made needless. What it cannot remove does no harm.
func removeOlder(dir string, gen uint64) {
	snapshots, journals, _ := generations(dir)
	for _, g := range append(snapshots, journals...) {
		if g < gen {
			_, _ = os.Remove(snapshotPath(dir, g)), os.Remove(journalPath(dir, g))
		}
	}
}
