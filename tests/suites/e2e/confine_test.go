//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/nodhq/nod/tests/harness/need"
	"github.com/nodhq/nod/tests/standins/stand"
)

// heist is a bot with a tool server that means harm, and what that got.
type heist struct {
	*bot
	loot               map[string]struct{ Got, Err string }
	report, open, shut string // what the server writes, and what it may read and write, and only read
}

// The secrets that a tool server must not get, besides the model's key, which is in the environment.
const fileKey = "sk-in-the-file-0123456789"

func startHeist(t *testing.T, entry string) heist {
	t.Helper()
	base, err := os.MkdirTemp("", "nod-heist") // another user must get there: a test's own directory is shut to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	h := heist{loot: map[string]struct{ Got, Err string }{}, open: filepath.Join(base, "open"), shut: filepath.Join(base, "shut")}
	if err := errors.Join(os.Chmod(base, 0o755), os.Mkdir(h.open, 0o777), os.Mkdir(h.shut, 0o777)); err != nil {
		t.Fatal(err)
	}
	h.report = filepath.Join(h.open, "report")
	for _, dir := range []string{h.open, h.shut} {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "given"), []byte("given"), 0o644), os.Chmod(dir, 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	at := fmt.Sprintf("127.0.0.1:%d", stand.FreePort(t))
	h.bot = prepare(t, settings{yaml: "{}", dir: filepath.Join(base, "data"), env: map[string]string{"OPENAI_API_KEY": modelKey, "NOD_LISTEN": at}})
	h.configure(fmt.Sprintf("model: {api_key: %s}\nmcp: {servers: {thief: {command: [%q, %q, %q, %q, %q, %q, %q]%s}}}\n",
		fileKey, program("thief"), h.report, h.dir, h.file, filepath.Join(h.open, "given"), filepath.Join(h.shut, "given"), "net:"+at,
		strings.NewReplacer("OPEN", h.open, "SHUT", h.shut).Replace(entry)))
	h.start()
	until(t, "the report of the thief", func() bool { _, err := os.Stat(h.report); return err == nil })
	text, err := os.ReadFile(h.report)
	if err != nil {
		t.Fatal(err)
	}
	var all []struct{ What, Got, Err string }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		h.loot[l.What] = struct{ Got, Err string }{l.Got, l.Err}
		if strings.Contains(l.Got, modelKey) {
			t.Errorf("the environment's secret was got by %s", l.What)
		}
	}
	return h
}

// A tool server that is merely started gets no secret and no way to decide, wherever it looks.
func TestAToolServerGetsNothing(t *testing.T) {
	t.Parallel()
	h := startHeist(t, ", paths: [OPEN, {path: SHUT, read_only: true}]")
	given := filepath.Join(h.open, "given")
	if l := h.loot[given]; l.Got != "given" {
		t.Errorf("it cannot read what it was given: %+v", l)
	}
	if l := h.loot["write "+given]; l.Err != "" {
		t.Errorf("it cannot write what it was given: %+v", l)
	}
	shut := []string{"environ", "mem", "fd", "cwd", "ptrace"}
	version, err := landlock.LandlockGetABIVersion()
	if err != nil {
		h.logs(t, "MCP servers are not confined")
		if os.Geteuid() == 0 {
			shut = nil // that the environment is empty was looked at; root may do everything else
		}
	} else {
		shut = append(shut, "maps", h.dir, "write "+h.dir, h.file, "write "+h.file, "write "+filepath.Join(h.shut, "given"))
		h.logs(t, "MCP servers are confined")
		if l := h.loot[filepath.Join(h.shut, "given")]; l.Got != "given" {
			t.Errorf("it cannot read what it was given to read: %+v", l)
		}
	}
	if version >= 4 {
		shut = append(shut, "net:"+h.env["NOD_LISTEN"])
	}
	if version >= 6 {
		shut = append(shut, "signal")
	}
	for _, what := range shut {
		if l, tried := h.loot[what]; !tried || l.Err == "" || l.Got != "" && l.Got != "[]" {
			t.Errorf("%s: tried: %v, got %q (%s)", what, tried, l.Got, l.Err)
		}
	}
	h.session("Ana") // the page is there for people
}

// Without bounds the same server gets what its user may read, but nothing of nod's own process. It is said loudly.
func TestAToolServerWithoutBounds(t *testing.T) {
	t.Parallel()
	h := startHeist(t, ", confine: false")
	if l := h.loot[h.file]; !strings.Contains(l.Got, fileKey) {
		t.Errorf("the thief does not even read a file that is open to it: %+v", l)
	}
	if l := h.loot["net:"+h.env["NOD_LISTEN"]]; l.Got != "a session" {
		t.Errorf("the thief does not even open a session where no key is wanted: %+v", l)
	}
	h.logs(t, "confine: false: thief")
	if os.Geteuid() == 0 {
		return
	}
	for _, what := range []string{"environ", "mem", "fd", "cwd", "ptrace"} {
		if l, tried := h.loot[what]; !tried || l.Err == "" {
			t.Errorf("%s: tried: %v, got %q", what, tried, l.Got)
		}
	}
}

// As root a server can be another user, who reaches what that user may.
func TestAToolServerOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		need.Missing(t, "root", "only root can start a program as another user")
	}
	for name, entry := range map[string]string{
		"confined": ", user: '65534:65534', paths: [OPEN]",
		"by user":  ", user: '65534:65534', confine: false",
		"no user":  ", paths: [OPEN]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHeist(t, entry)
			info, err := os.Stat(h.report)
			if err != nil {
				t.Fatal(err)
			}
			uid := info.Sys().(*syscall.Stat_t).Uid
			if name == "no user" {
				if uid != 0 {
					t.Errorf("it runs as %d", uid)
				}
				h.logs(t, "run as root, because nod does and their entries name no user: thief")
				return
			}
			if uid != 65534 {
				t.Errorf("it runs as %d", uid)
			}
			for _, what := range []string{"environ", "mem", "fd", "cwd", "ptrace", h.dir, h.file, "signal"} {
				if l, tried := h.loot[what]; !tried || l.Err == "" || strings.Contains(l.Got, fileKey) {
					t.Errorf("%s: tried: %v, got %q", what, tried, l.Got)
				}
			}
			if _, err := os.Stat(filepath.Join(h.dir, "thief-was-here")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it wrote into data_dir: %v", err)
			}
		})
	}
}
