package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
)

// The names from when the program was called bot go on working. Where both are set the one of today counts, and it is said which.
func TestOldNames(t *testing.T) {
	dir := t.TempDir()
	oldFile, newFile := filepath.Join(dir, "bot.yaml"), filepath.Join(dir, "nod.yaml")
	for name, text := range map[string]string{oldFile: "lease: 7s\n", newFile: "lease: 9s\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		env    map[string]string
		listen string
		said   string
	}{
		"none":            {nil, "127.0.0.1:8080", ""},
		"the new one":     {map[string]string{"NOD_LISTEN": "127.0.0.1:1"}, "127.0.0.1:1", ""},
		"the old one":     {map[string]string{"BOT_LISTEN": "127.0.0.1:2"}, "127.0.0.1:2", "BOT_LISTEN is called NOD_LISTEN now"},
		"both":            {map[string]string{"NOD_LISTEN": "127.0.0.1:1", "BOT_LISTEN": "127.0.0.1:2"}, "127.0.0.1:1", "both are set, and the new one counts"},
		"an empty new":    {map[string]string{"NOD_LISTEN": "", "BOT_LISTEN": "127.0.0.1:2"}, "127.0.0.1:2", "BOT_LISTEN is called NOD_LISTEN now"},
		"an empty old":    {map[string]string{"NOD_LISTEN": "127.0.0.1:1", "BOT_LISTEN": ""}, "127.0.0.1:1", ""},
		"the old file":    {map[string]string{"BOT_CONFIG": oldFile}, "", "BOT_CONFIG is called NOD_CONFIG now"},
		"both files":      {map[string]string{"BOT_CONFIG": oldFile, "NOD_CONFIG": newFile}, "", "both are set, and the new one counts"},
		"somebody else's": {map[string]string{"BOT_TOKEN": "x"}, "127.0.0.1:8080", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got config.Config
			var out, errs bytes.Buffer
			p := process{Process: command.Process{Stdout: &out, Stderr: &errs, Exit: func(int) {},
				Env: func(k string) (string, bool) {
					if k == "HOME" {
						return "/home/ana", true
					}
					v, ok := tt.env[k]
					return v, ok
				}},
				run: func(_ context.Context, c config.Config, _ io.Writer, _ *slog.Logger) error { got = c; return nil }}
			if code := p.main(); code != command.OK {
				t.Fatalf("code %d\n%s", code, errs.String())
			}
			if tt.listen != "" && got.Listen != tt.listen {
				t.Errorf("listens on %s, want %s", got.Listen, tt.listen)
			}
			if file := tt.env["NOD_CONFIG"] + tt.env["BOT_CONFIG"]; file != "" {
				want, lease := newFile, "9s"
				if tt.env["NOD_CONFIG"] == "" {
					want, lease = oldFile, "7s"
				}
				if got.File != want || got.Lease.String() != lease || !strings.Contains(errs.String(), want) {
					t.Errorf("read %s, lease %v, want %s\n%s", got.File, got.Lease, want, errs.String())
				}
			}
			if said := strings.Contains(errs.String(), "environment variable"); !strings.Contains(errs.String(), tt.said) || said != (tt.said != "") {
				t.Errorf("it says %q, want %q", errs.String(), tt.said)
			}
		})
	}
	if _, _, errs := try(t, strings.Fields("config check"), map[string]string{"BOT_LISTEN": "s3cret"}, nil); !strings.Contains(errs, "BOT_LISTEN: listen: want host:port") {
		t.Errorf("the mistake is told of another variable than the one that has it: %s", errs)
	}
}

// nod.yaml of the directory in which nod is started is read where no file is named, unless somebody else put it there.
func TestFileOfTheDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"nod.yaml": "lease: 7s\n", "bot.yaml": "lease: 8s\n", "named.yaml": "lease: 9s\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lease := func(want string, env map[string]string, args string) {
		t.Helper()
		if code, out, errs := try(t, strings.Fields(args), env, nil); code != command.OK || !strings.Contains(out, "lease: "+want) {
			t.Errorf("%s %v: code %d, want lease %s\n%s%s", args, env, code, want, out, errs)
		}
	}
	lease("7s", nil, "config print")
	lease("9s", nil, "config print -config named.yaml")
	lease("9s", map[string]string{"NOD_CONFIG": "named.yaml"}, "config print")
	lease("8s", nil, "config print -config bot.yaml")
	if _, report, _ := try(t, []string{"doctor"}, map[string]string{"NOD_LISTEN": "127.0.0.1:0", "NOD_DATA_DIR": t.TempDir()}, nil); !strings.Contains(report, "nod.yaml has no mistake") {
		t.Errorf("the doctor does not say which file it looked at:\n%s", report)
	}
	if err := os.Remove("nod.yaml"); err != nil {
		t.Fatal(err)
	}
	lease("10s", nil, "config print") // a bot.yaml may be any bot's
	if os.Geteuid() != 0 {
		t.Skip("to give a file away needs root")
	}
	if err := errors.Join(os.WriteFile("nod.yaml", []byte("lease: 7s\n"), 0o600), os.Chown("nod.yaml", 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := try(t, strings.Fields("config print"), nil, nil); code != command.Usage || !strings.Contains(errs, "belongs to somebody else") {
		t.Errorf("code %d: %s", code, errs)
	}
	lease("7s", nil, "config print -config nod.yaml")
}
