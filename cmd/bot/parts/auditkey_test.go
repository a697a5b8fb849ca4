package parts

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/cmd/bot/config"
)

// The key is made once, for its owner alone, outlives a restart, and is what nod audit verify checks with; a log that another key signed,
// or in which somebody blanked the links, does not hold.
func TestTheAuditKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	c := config.Config{DataDir: dir}
	now := time.Now().Truncate(time.Second).UTC()
	key, err := makeAuditKey(c, now, slog.New(slog.DiscardHandler))
	if err != nil || len(key.Secret) < minAuditKey || !key.Since.Equal(now) {
		t.Fatal(key.Since, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "audit.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info.Mode(), err)
	}
	if again, err := makeAuditKey(c, now.Add(time.Hour), slog.New(slog.DiscardHandler)); err != nil || again != key {
		t.Errorf("at the second start: another key, or %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	nowhere := filepath.Join(dir, "link")
	if err := os.Symlink("nowhere", nowhere); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]config.Config{
		"data_dir /proc/nod (NOD_DATA_DIR) cannot be written: mkdir ": {DataDir: "/proc/nod"},
		"data_dir /proc (NOD_DATA_DIR) cannot be written: ":           {DataDir: "/proc"},
		"audit.key: mkdir ":      {Audit: config.Audit{SignWith: "/proc/nod/key"}},
		"audit.key: read " + dir: {Audit: config.Audit{SignWith: dir}},
		"audit.key: link ":       {Audit: config.Audit{SignWith: nowhere}},
	} {
		if _, err := makeAuditKey(c, now, slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	shared := config.Config{DataDir: t.TempDir(), Redis: config.Redis{URL: config.URL("redis://h")}}
	for _, want := range []int{1, 0} {
		var log bytes.Buffer
		if _, err := makeAuditKey(shared, now, slog.New(slog.NewTextHandler(&log, nil))); err != nil || strings.Count(log.String(), "replicas must share it") != want {
			t.Errorf("%v, the log:\n%s", err, &log)
		}
	}
	c.Audit.SignWith = filepath.Join(dir, "own")
	for text, say := range map[string]string{
		"short\n": "at least 32", strings.Repeat("k", 32) + "\nyesterday": "no time", strings.Repeat("k", 32): "", strings.Repeat("k", 32) + "\n2026-01-02T15:04:05Z\n": "",
	} {
		if err := os.WriteFile(c.Audit.SignWith, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := AuditKey(c); (err == nil) != (say == "") || err != nil && !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, want %q", text, err, say)
		}
	}
}
