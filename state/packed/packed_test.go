package packed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const beside = "in:slack:T0FAKE:UANA:m:C031:1795709882.172398 slack:T0FAKE:C031/1795709882.172398"

// recorded are events of every kind.
func recorded(t testing.TB) (all [][]byte) {
	files, err := filepath.Glob("../../core/agent/turn/testdata/*.log")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded logs", err)
	}
	for _, file := range append(files, "../testdata/ask.log") {
		log, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(log) {
			_, event, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
			all = append(all, event)
		}
	}
	return all
}

// What is packed is JSON to whom cannot unpack it, is shorter, and comes back as it was.
func TestPack(t *testing.T) {
	was, is := 0, 0
	for _, event := range recorded(t) {
		p := Pack(beside, event)
		back, err := Unpack(beside, p)
		if err != nil || string(back) != string(event) {
			t.Errorf("%s\nbecame %s, %v", event, back, err)
		}
		var kind struct {
			K string `json:"k"`
		}
		if err := json.Unmarshal(p, &kind); err != nil || kind.K != "" {
			t.Errorf("%s\nis packed as %q, which a release before reads as of kind %q: %v", event, p, kind.K, err)
		}
		was, is = was+len(event), is+len(p)
	}
	if is*5 > was*3 {
		t.Errorf("%d bytes became %d, want 60 %% of them at most", was, is)
	}
}

// Words of people can be searched for in what is stored, and what cannot be packed stays as it is.
func TestWords(t *testing.T) {
	said := func(words string) []byte { return []byte(`{"k":"said","e":{"delivery":"d","text":"` + words + `"}}`) }
	for _, words := range []string{
		"please write hello to notes.txt", "schön, говорит 漢字 😀", "\x7f", strings.Repeat("again and ", 300), strings.Repeat("f", 200),
		"quoted \\\" and \\\\ and \\u0001", strings.Repeat("far 漢 ", 40) + beside,
	} {
		p := Pack(beside, said(words))
		if back, err := Unpack(beside, p); err != nil || string(back) != string(said(words)) || len(p) >= len(said(words)) {
			t.Errorf("%q is packed as %q, and that unpacked as %q, %v", words, p, back, err)
		}
	}
	for _, words := range []string{"please write hello to notes.txt", "говорит 漢字 😀"} {
		if p := Pack(beside, said(words)); !bytes.Contains(p, []byte(words)) || len(p) > len(words)+16 {
			t.Errorf("%q is packed as %q", words, p)
		}
	}
	for _, event := range [][]byte{said("\xff\x80"), said(strings.Repeat("x", most)), []byte("{}"), nil} {
		if p := Pack(beside, event); string(p) != string(event) {
			t.Errorf("%q is packed as %q", event, p)
		}
	}
}

// What lies in people's Redis is read with these words, as long as there is a nod.
func TestTheWordsNeverChange(t *testing.T) {
	if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != "605fbd61b29731e3c899e3be9e8140b669522791ed8ba50b8dc8c0c16e9608ad" {
		t.Errorf("words.txt is another: what was stored cannot be read with it (%x)", sum)
	}
	if len(words) != near+high {
		t.Errorf("%d words, want %d: one for each number that can stand", len(words), near+high)
	}
}

func FuzzUnpack(f *testing.F) {
	for _, event := range recorded(f) {
		f.Add(beside, event)
		f.Add(beside, Pack(beside, event))
	}
	f.Fuzz(func(t *testing.T, beside string, b []byte) {
		_, _ = Unpack(beside, b)
		if back, err := Unpack(beside, Pack(beside, b)); !bytes.HasPrefix(b, []byte(first)) && (err != nil || string(back) != string(b)) {
			t.Errorf("%q became %q, %v", b, back, err)
		}
	})
}

func BenchmarkPack(b *testing.B) {
	events := recorded(b)
	events = events[len(events)-4:] // a question that waits
	packed := make([][]byte, len(events))
	b.Run("pack", func(b *testing.B) {
		for b.Loop() {
			for i, event := range events {
				packed[i] = Pack(beside, event)
			}
		}
	})
	b.Run("unpack", func(b *testing.B) {
		for b.Loop() {
			for _, p := range packed {
				_, _ = Unpack(beside, p)
			}
		}
	})
}
