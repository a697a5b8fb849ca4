package e2e

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nodhq/nod/tests/harness/need"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Every block of the README runs as it is pasted, in their order; only what each person has of their own is filled in, and what is cloned is
// this. What starts nod is stopped as by Ctrl-C once it listens.
// R167
func TestReadmeRuns(t *testing.T) {
	t.Parallel()
	need.Program(t, "make", "make")
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	slack, discord := fakeslack.New(fakeslack.Options{}), fakediscord.New(fakediscord.Options{})
	t.Cleanup(slack.Close)
	t.Cleanup(discord.Close)
	desk, bin := t.TempDir(), t.TempDir()
	env := []string{"HOME=" + desk, "GOBIN=" + bin, "PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "NOD_LISTEN=127.0.0.1:0",
		"SLACK_API_URL=" + slack.URL(), "DISCORD_API_URL=" + discord.URL()}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "CGO_ENABLED"} {
		v, err := exec.CommandContext(t.Context(), "go", "env", name).Output() //nolint:gosec // one of the six
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(v)))
	}
	env = append(env, shipped()...)
	yours := strings.NewReplacer("git clone https://github.com/nodhq/nod && cd nod\n", "", "xoxb-…", slack.BotToken(), "xapp-…", slack.AppToken(),
		"DISCORD_TOKEN=…", "DISCORD_TOKEN="+discord.Token(), "OPENAI_API_KEY=…", "OPENAI_API_KEY=k", "OPENAI_MODEL=…", "OPENAI_MODEL=m")
	above, rest, _ := strings.Cut(string(readme), "```yaml\n")
	yaml, below, ok := strings.Cut(rest, "```\n")
	if !ok || strings.Contains(below, "```") {
		t.Fatal("the README shows no nod.yaml, or more than that between fences")
	}
	served := 0
	for _, script := range blocks(above + below) {
		t.Run(strings.Fields(script)[0]+" "+strings.Fields(script)[1], func(t *testing.T) {
			at := map[string]string{"make try-slack": "127.0.0.1:8091", "make try-discord": "127.0.0.1:8092"}[strings.Join(strings.Fields(script)[:2], " ")]
			if ln, err := net.Listen("tcp", at); at != "" && err != nil {
				t.Skip("another program is at", at)
			} else if err == nil {
				_ = ln.Close()
			}
			dir := desk
			if strings.Contains(script, "make ") || strings.Contains(script, "go run") {
				dir = root
			}
			if strings.Contains(below, script) {
				if err := os.WriteFile(filepath.Join(desk, "nod.yaml"), []byte(yaml), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			script = yours.Replace(script)
			if strings.Contains(script, "…") {
				t.Fatalf("what is to be filled in?\n%s", script)
			}
			if paste(t, dir, env, script) {
				served++
			}
		})
	}
	if served < 4 {
		t.Errorf("only %d blocks started nod", served)
	}
}

// blocks are the README's indented blocks.
func blocks(text string) (out []string) {
	before := ""
	for line := range strings.Lines(text) {
		code, is := strings.CutPrefix(line, "    ")
		switch {
		case !is || strings.HasPrefix(strings.TrimSpace(line), "-"):
			is = false
		case before == "":
			out = append(out, code)
		default:
			out[len(out)-1] += code
		}
		before = ""
		if is {
			before = line
		}
	}
	return out
}

// paste runs a block as a shell does. It reports whether it started nod, which it then stopped.
func paste(t *testing.T, dir string, env []string, script string) (served bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-ec", script) //nolint:gosec // the README's
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	out, printed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = printed, printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	_ = printed.Close()
	lines := bufio.NewScanner(io.TeeReader(out, &said))
	for lines.Scan() {
		if !served && strings.HasPrefix(lines.Text(), "nod listens on http://") {
			served = true
			if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
	}
	err = cmd.Wait()
	if served && strings.Contains(said.String(), "msg=stopped") {
		return true // a shell that was interrupted says so in its code
	}
	if err != nil || served {
		t.Errorf("%v: %s\n%s", err, script, said.String())
	}
	return served
}
