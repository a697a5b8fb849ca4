package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/tests/harness/need"
)

// Every command of these pages runs as it is pasted, in one shell for a page, in their order. Only what each person has of their own is filled in.
// R167
func TestPagesRun(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		page  string
		needs []string
		yours func(*testing.T) *strings.Replacer
		wants []string // what the shell prints
	}{
		{"api.md", []string{"curl"}, func(t *testing.T) *strings.Replacer {
			return strings.NewReplacer("http://127.0.0.1:8080", start(t, settings{}).addr)
		}, []string{`"type":"approval_required"`, `"choice":"allow_once"`, "event: permission_granted", "event: turn_done"}},
		{"operating.md", nil, func(*testing.T) *strings.Replacer {
			return strings.NewReplacer("\nredis-cli", "\n: redis-cli") // TestCluster does
		}, []string{"data_dir:", "scripted"}},
		{"recipes.md", nil, func(*testing.T) *strings.Replacer { return strings.NewReplacer() }, []string{"write_file", "asks"}},
	} {
		t.Run(x.page, func(t *testing.T) {
			t.Parallel()
			for _, program := range x.needs {
				need.Program(t, program, program)
			}
			script := x.yours(t).Replace(commands(readPage(t, x.page)))
			if strings.Contains(script, "…") {
				t.Fatalf("what is to be filled in?\n%s", script)
			}
			printed := shell(t, script)
			for _, want := range x.wants {
				if !strings.Contains(printed, want) {
					t.Errorf("%q is not in what it prints:\n%s", want, printed)
				}
			}
		})
	}
}

// The audit's page sends each record to a webhook as it happens, with the line that stands there.
func TestAuditIsSentOn(t *testing.T) {
	t.Parallel()
	need.Program(t, "curl", "curl")
	got := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	defer hook.Close()
	line := regexp.MustCompile(`(?m)^    (nod audit tail .*curl .*)$`).FindStringSubmatch(readPage(t, "audit.md"))
	if line == nil {
		t.Fatal("no line with curl")
	}
	llm, redis := startLLM(t), startRedis(t)
	box, _ := toolbox(t)
	env := llm.env()
	env["REDIS_URL"] = redis.url
	b := start(t, settings{yaml: box, env: env})
	ctx, stop := context.WithCancel(t.Context())
	send := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(line[1], "https://siem.example.com/nod", hook.URL)) //nolint:gosec // the page's
	send.Env = []string{"HOME=" + t.TempDir(), pathWithNod(t), "REDIS_URL=" + redis.url}
	send.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	send.Cancel = func() error { return syscall.Kill(-send.Process.Pid, syscall.SIGKILL) }
	if err := send.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stop(); _ = send.Wait() }()
	r := b.session("Ana").room()
	r.mustClick(r.ask(`call box__write {"path":"x"}`).RequestID, "allow_once")
	r.idle()
	for {
		select {
		case record := <-got:
			var x audit.Record
			if err := json.Unmarshal([]byte(record), &x); err != nil {
				t.Fatalf("%v: %s", err, record)
			}
			if x.Kind == audit.Decision && x.Outcome == audit.Approved && x.Name == "Ana" {
				return
			}
		case <-time.After(patience):
			t.Fatal("the decision does not come")
		}
	}
}

// fenced are blocks that are not to be pasted.
var fenced = regexp.MustCompile("(?s)```.*?```\n")

// commands are a page's indented blocks, as one script.
func commands(page string) string { return strings.Join(blocks(fenced.ReplaceAllString(page, "")), "") }

// pathWithNod is the variable PATH of a shell in which nod is the program that was built.
func pathWithNod(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(program("bot"), filepath.Join(bin, "nod")); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// shell runs a script in a folder of its own, where nod is the program that was built, and returns what it printed.
func shell(t *testing.T, script string) string {
	t.Helper()
	desk := t.TempDir()
	out, err := os.Create(filepath.Join(desk, "printed"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", script) //nolint:gosec // the page's
	cmd.Dir, cmd.Stdout, cmd.Stderr = desk, out, out
	cmd.Env = []string{"HOME=" + desk, pathWithNod(t), "NOD_LISTEN=127.0.0.1:0", "NOD_DATA_DIR=" + filepath.Join(desk, "data")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in the background
	printed, _ := os.ReadFile(out.Name())
	if err != nil {
		t.Errorf("%v:\n%s\n%s", err, script, printed)
	}
	return string(printed)
}
