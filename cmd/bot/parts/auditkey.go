package parts

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/state"
)

// minAuditKey is how long the key's text is at least.
const minAuditKey = 32

// AuditKeyPath is where the audit's key lies: beside what the bot keeps for itself, and never in Redis.
func AuditKeyPath(c config.Config) string {
	return cmp.Or(c.Audit.SignWith, filepath.Join(c.DataDir, "audit.key"))
}

// AuditKey reads the key that what is written is signed with: its text, and on a second line since when it signs. None is there: no error.
func AuditKey(c config.Config) (key state.AuditKey, err error) {
	path := AuditKeyPath(c)
	b, err := os.ReadFile(path) //nolint:gosec // the operator names it
	if errors.Is(err, fs.ErrNotExist) {
		return key, nil
	}
	if err != nil {
		return key, fmt.Errorf("audit.key: %w", err)
	}
	secret, since, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if key.Secret = strings.TrimSpace(secret); len(key.Secret) < minAuditKey {
		return state.AuditKey{}, fmt.Errorf("audit.key: %s holds a key of %d characters; want at least %d, as of openssl rand -hex 32", path, len(key.Secret), minAuditKey)
	}
	if since = strings.TrimSpace(since); since != "" {
		if key.Since, err = time.Parse(time.RFC3339, since); err != nil {
			return state.AuditKey{}, fmt.Errorf("audit.key: the second line of %s is no time like 2026-01-02T15:04:05Z", path)
		}
	}
	return key, nil
}

// makeAuditKey is AuditKey, which makes the key at the first start.
func makeAuditKey(c config.Config, now time.Time, log *slog.Logger) (state.AuditKey, error) {
	key, err := AuditKey(c)
	if err != nil || key.Secret != "" {
		return key, err
	}
	path := AuditKeyPath(c)
	if err := writeAuditKey(path, now); err != nil && c.Audit.SignWith == "" { // it is the first thing that is written there
		return key, fmt.Errorf("data_dir %s (NOD_DATA_DIR) cannot be written: %w", c.DataDir, err)
	} else if err != nil {
		return key, fmt.Errorf("audit.key: %w", err)
	}
	if !c.Redis.URL.IsZero() {
		log.Warn("made a key that signs the audit; replicas must share it, and nod audit verify needs it: copy it to where audit.key names it on each", "path", path)
	}
	return AuditKey(c)
}

// writeAuditKey makes the file whole before it is there. One that another replica on the same directory made first stands.
func writeAuditKey(path string, now time.Time) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".audit.key-") // for its owner alone
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is in place, or of no use
	_, err = fmt.Fprintf(f, "%s%s\n%s\n", rand.Text(), rand.Text(), now.UTC().Format(time.RFC3339))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	err = os.Link(f.Name(), path)
	if _, none := os.Stat(path); none != nil { // also where a link stands that leads nowhere
		return errors.Join(err, none)
	}
	return nil
}
