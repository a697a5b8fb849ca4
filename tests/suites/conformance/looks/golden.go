package looks

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

var update = flag.Bool("update-shapes", false, "write testdata/shapes anew")

// Golden compares a drawing with testdata/shapes/name of the package under test.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "shapes", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s looks different now; if that is meant: go test of this package, -update-shapes\n%s", file, got)
	}
}

// NoneIsLeft: every golden file is of a state, or begins as one of others does.
func NoneIsLeft(t *testing.T, states map[string]render.Message, others ...string) {
	t.Helper()
	files, err := filepath.Glob("testdata/shapes/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no shapes", err)
	}
	for _, f := range files {
		name, _, _ := strings.Cut(filepath.Base(f), ".")
		if _, ok := states[name]; !ok && !slices.ContainsFunc(others, func(p string) bool { return strings.HasPrefix(name, p) }) {
			t.Errorf("%s belongs to no state", f)
		}
	}
}

// Recorded draws the messages of real sessions, at every step of the logs that were recorded in a folder.
func Recorded(t *testing.T, folder string, draw func(where string, m render.Message)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded logs", err)
	}
	drawn := 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		s := turn.New(chat.ID{Platform: "web", Key: "c1"})
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for seq := uint64(1); lines.Scan(); seq++ {
			at, stored, _ := strings.Cut(lines.Text(), " ")
			when, err := time.Parse(time.RFC3339Nano, at)
			if err != nil {
				t.Fatal(err)
			}
			ev, err := turn.Decode([]byte(stored))
			if err != nil {
				t.Fatal(err)
			}
			s = turn.Apply(s, turn.Entry{Seq: seq, At: when, Event: ev})
			for _, tn := range []*turn.Turn{s.Last, s.Turn} {
				if tn != nil {
					drawn++
					draw(fmt.Sprintf("%s, entry %d", file, seq), card.View(s, tn, card.Live{}))
				}
			}
		}
		_ = f.Close()
	}
	if drawn < 20 {
		t.Fatalf("only %d views", drawn)
	}
}
