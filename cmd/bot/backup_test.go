package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/state"
	"github.com/nodhq/nod/tests/harness"
)

// keeper is where a store is: how a bot opens it, and what the environment says of it.
type keeper struct {
	open func() (*state.Store, error)
	env  map[string]string
}

func keepers(t *testing.T) map[string]func() keeper {
	quiet := slog.New(slog.DiscardHandler)
	return map[string]func() keeper{
		"Redis": func() keeper {
			url := harness.StartRedis(t).URL
			open := func() (*state.Store, error) { return state.Open(t.Context(), state.Options{URL: url, Log: quiet}) }
			return keeper{open, map[string]string{"REDIS_URL": url, "NOD_DATA_DIR": t.TempDir()}}
		},
		"embedded": func() keeper {
			dir := t.TempDir()
			open := func() (*state.Store, error) { return state.OpenEmbedded(dir, state.Options{Log: quiet}) }
			return keeper{open, map[string]string{"NOD_DATA_DIR": dir}}
		},
	}
}

func (k keeper) opened(t *testing.T) *state.Store {
	t.Helper()
	s, err := k.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// What a backup of a bot that runs holds is what is restored, from a store of either kind into one of either kind.
func TestBackupAndRestore(t *testing.T) {
	for fromName, from := range keepers(t) {
		for toName, to := range keepers(t) {
			t.Run(fromName+" to "+toName, func(t *testing.T) {
				from, to, file := from(), to(), filepath.Join(t.TempDir(), "nod.backup")
				bot := from.opened(t)
				k := kept{t: t, store: bot, env: from.env}
				k.asks("one", "write", chat.AllowOnce)
				k.asks("two", "write", chat.Deny)
				_, records, _ := audits(t, from.env, "export")
				if n := strings.Count(records, "\n"); n < 4 {
					t.Fatalf("beside the bot there are %d records:\n%s", n, records)
				}
				code, out, errs := try(t, []string{"backup", file}, from.env, nil)
				if code != command.OK || !strings.Contains(out, file+" holds ") || !strings.Contains(out, "audit.key") {
					t.Fatalf("backup: code %d, %s%s", code, out, errs)
				}
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("who may read it: %v, %v", info.Mode(), err)
				}
				k.asks("after", "write", chat.Deny) // not in it
				code, out, errs = try(t, []string{"restore", file}, to.env, nil)
				if code != command.OK || !strings.Contains(out, "Restored: ") || !strings.Contains(out, "written by nod ") {
					t.Fatalf("restore: code %d, %s%s", code, out, errs)
				}
				if code, again, errs := audits(t, to.env, "export"); code != command.OK || again != records {
					t.Errorf("code %d, restored:\n%s\nwant:\n%s%s", code, again, records, errs)
				}
				if code, out, errs := audits(t, to.env, "verify"); code != command.OK {
					t.Errorf("verify: code %d, %s%s", code, out, errs)
				}
				s := to.opened(t) // and a bot goes on with it
				kept{t: t, store: s, env: to.env}.asks("three", "write", chat.AllowOnce)
				if s.Restarted().IsZero() {
					t.Error("what was decided before the backup would run again")
				}
			})
		}
	}
}

// What docs/operating.md says that a user of Redis needs for a backup is enough, also to look at the audit.
func TestABackupByWhoMayRead(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "operating.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "a user that may read (`")
	rules, _, _ := strings.Cut(after, "`")
	url := harness.StartRedis(t).URL
	admin := redis.NewClient(&redis.Options{Network: "unix", Addr: strings.TrimPrefix(url, "unix://")})
	defer admin.Close()
	args := []any{"ACL", "SETUSER", "reader", "on", ">secret", "~nod:*", "-@all"}
	for _, rule := range strings.Fields(rules) {
		args = append(args, rule)
	}
	if err := admin.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	s, err := state.Open(t.Context(), state.Options{URL: url, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	kept{t: t, store: s}.asks("one", "write", chat.AllowOnce)
	env := map[string]string{"REDIS_URL": strings.Replace(url, "//", "//reader:secret@", 1), "NOD_DATA_DIR": t.TempDir()}
	for _, args := range [][]string{{"backup", filepath.Join(t.TempDir(), "nod.backup")}, {"audit", "export"}, {"audit", "tail"}, {"audit", "verify"}, {"audit", "anchor"}} {
		if code, _, errs := try(t, args, env, nil); code != command.OK {
			t.Errorf("%v: code %d, %s", args, code, errs)
		}
	}
}

func TestBackupRefuses(t *testing.T) {
	for name, at := range keepers(t) {
		t.Run(name, func(t *testing.T) {
			from, file := at(), filepath.Join(t.TempDir(), "nod.backup")
			kept{t: t, store: from.opened(t), env: from.env}.asks("one", "write", chat.Deny)
			is := func(k keeper, want int, say string, args ...string) {
				t.Helper()
				if code, _, errs := try(t, args, k.env, nil); code != want || !strings.Contains(errs, say) {
					t.Errorf("%v: code %d, want %d; it says %q, want %q", args, code, want, errs, say)
				}
			}
			is(from, command.OK, "", "backup", file)
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			is(from, command.Fail, "is there already", "backup", file)
			is(from, command.Fail, "no such file", "backup", filepath.Join(file+"-none", "x"))
			is(from, command.Fail, "not a directory", "backup", filepath.Join(file, "x"))
			if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
				t.Errorf("%v is left behind, %v", left, err)
			}
			is(from, command.Usage, "usage: nod restore FILE", "restore")

			put := func(b []byte) {
				t.Helper()
				if err := os.WriteFile(file, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			empty := at()
			is(empty, command.Fail, "no such file", "restore", file+"-none")
			for why, b := range map[string][]byte{
				"its end is missing":      whole[:len(whole)-20],
				"its checksum differs":    bytes.Replace(whole, []byte(`"ttl":`), []byte(`"ttl":1`), 1),
				"is no backup of nod's":   []byte("{}\n"),
				"or a newer one":          bytes.Replace(whole, []byte(`{"backup":1,"nod":"`), []byte(`{"backup":2,"nod":"a later `), 1),
				`written by "a later nod`: bytes.Replace(whole, []byte(`{"backup":1,"nod":"`), []byte(`{"backup":2,"nod":"a later `), 1),
			} {
				put(b)
				is(empty, command.Fail, why, "restore", file)
			}
			put(whole) // none of these has put anything there
			is(empty, command.OK, "", "restore", file)
			is(empty, command.Fail, "the store is not empty", "restore", file)
		})
	}
}

func TestNothingIsRestoredUnderABot(t *testing.T) {
	for name, say := range map[string]string{"Redis": "a nod is running on this store", "embedded": "another nod is using it"} {
		t.Run(name, func(t *testing.T) {
			k := keepers(t)[name]()
			if _, err := k.opened(t).Epoch(t.Context()); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "nod.backup")
			if code, _, errs := try(t, []string{"backup", file}, k.env, nil); code != command.OK { // an empty one is a backup, too
				t.Fatal(errs)
			}
			if code, _, errs := try(t, []string{"restore", file}, k.env, nil); code != command.Fail || !strings.Contains(errs, say) {
				t.Errorf("code %d, %q", code, errs)
			}
		})
	}
}
