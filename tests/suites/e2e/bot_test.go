package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait. Only a broken program gets there.
const patience = 2 * time.Minute

// bot is one process of the program, which can be killed and started again on the same data.
type bot struct {
	t    testing.TB
	name string
	dir  string            // its data directory
	env  map[string]string // all of its environment
	file string            // its configuration, if any
	addr string            // the base URL while it runs
	over *http.Client      // how people reach it; nil: as they do

	program string // empty: what was built here

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended and its output is read
	out    output        // what all its processes printed
}

func (b *bot) client() *http.Client { return cmp.Or(b.over, http.DefaultClient) }

// settings are what a bot starts with; the zero value is the demo.
type settings struct {
	name string
	yaml string            // the configuration file
	env  map[string]string // over the least environment
	dir  string            // the data directory; a fresh one if empty

	program string // empty: what was built here
}

// output collects what processes print, as it is printed.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// prepare makes a bot without starting it.
func prepare(t testing.TB, s settings) *bot {
	t.Helper()
	if s.name == "" {
		s.name = "bot"
	}
	if s.dir == "" {
		s.dir = filepath.Join(t.TempDir(), "data")
	}
	b := &bot{t: t, name: s.name, dir: s.dir, program: s.program}
	b.env = map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "NOD_DATA_DIR": s.dir, "NOD_LISTEN": "127.0.0.1:0"}
	for k, v := range s.env {
		b.env[k] = v
	}
	if s.yaml != "" {
		b.file = filepath.Join(t.TempDir(), "nod.yaml")
		b.configure(s.yaml)
	}
	t.Cleanup(func() {
		b.kill()
		if t.Failed() {
			t.Logf("%s printed:\n%s", b.name, tail(b.out.String(), 8000))
		}
	})
	return b
}

// start runs a bot and waits until it is ready.
func start(t testing.TB, s settings) *bot {
	t.Helper()
	b := prepare(t, s)
	b.start()
	return b
}

// configure changes the configuration file, for the next start.
func (b *bot) configure(yaml string) {
	b.t.Helper()
	if err := os.WriteFile(b.file, []byte(yaml), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bot) start() {
	b.t.Helper()
	b.listen()
	until(b.t, b.name+" is ready", func() bool {
		r, err := http.Get(b.addr + "/readyz")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
}

// listen starts a bot that need not get ready.
func (b *bot) listen() {
	b.t.Helper()
	b.launch()
	listening := make(chan string, 1)
	b.follow(func(line string) {
		if _, at, ok := strings.Cut(line, "nod listens on "); ok {
			at, _, _ = strings.Cut(at, " ")
			select {
			case listening <- at:
			default:
			}
		}
	})
	select {
	case b.addr = <-listening:
	case <-b.exited:
		b.t.Fatalf("%s ended instead of listening: %v", b.name, b.cmd.ProcessState)
	case <-time.After(patience):
		b.t.Fatalf("%s does not say where it listens", b.name)
	}
}

// launch starts the process and nothing else.
func (b *bot) launch(args ...string) {
	b.t.Helper()
	if b.file != "" {
		args = append(args, "-config", b.file)
	}
	b.cmd = exec.Command(cmp.Or(b.program, program("bot")), args...)
	b.cmd.Env = []string{} // nil would hand over ours
	for k, v := range b.env {
		b.cmd.Env = append(b.cmd.Env, k+"="+v)
	}
	b.cmd.Stderr = &b.out
	b.cmd.WaitDelay = 5 * time.Second // a grandchild must not hold our pipes
}

// follow starts the launched process and hands on the lines of its standard output.
func (b *bot) follow(line func(string)) {
	b.t.Helper()
	r, w := io.Pipe()
	b.cmd.Stdout = w
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	cmd, exited, read := b.cmd, make(chan struct{}), make(chan struct{})
	b.exited = exited
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			fmt.Fprintln(&b.out, lines.Text())
			line(lines.Text())
		}
	}()
	go func() {
		_ = cmd.Wait() // its end is read from ProcessState
		_ = w.Close()
		<-read
		close(exited)
	}()
}

// kill is kill -9, and returns when the process is gone. Killing one that does not run does nothing.
func (b *bot) kill() {
	if b.exited == nil {
		return
	}
	_ = b.cmd.Process.Kill() // it may have ended
	<-b.exited
}

func (b *bot) lives() bool {
	if b.exited == nil {
		return false
	}
	select {
	case <-b.exited:
		return false
	default:
		return true
	}
}

// restart kills the process and starts it on the same data.
func (b *bot) restart() {
	b.t.Helper()
	b.kill()
	b.start()
}

// terminate sends SIGTERM and returns the exit code.
func (b *bot) terminate() int {
	b.t.Helper()
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.t.Fatal(err)
	}
	return b.wait()
}

func (b *bot) wait() int {
	b.t.Helper()
	select {
	case <-b.exited:
	case <-time.After(patience):
		b.t.Fatalf("%s does not end", b.name)
	}
	return b.cmd.ProcessState.ExitCode()
}

// run runs the program to its end: for starts that must be refused.
func (b *bot) run(args ...string) (code int, printed string) {
	b.t.Helper()
	b.launch(args...)
	b.follow(func(string) {})
	return b.wait(), b.out.String()
}

// workspace is a file of the demo's workbench.
func (b *bot) workspace(name string) string { return filepath.Join(b.dir, "workspace", name) }

// content reads a file of the workspace; a missing one is "(missing)".
func (b *bot) content(name string) string {
	b.t.Helper()
	return content(b.t, b.workspace(name))
}

func content(t testing.TB, path string) string {
	t.Helper()
	got, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "(missing)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// until asks again and again until the answer is yes.
func until(t testing.TB, what string, yes func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-ctx.Done():
			t.Fatalf("it never came that %s", what)
		case <-tick.C:
		}
	}
}

// logs waits until the log says all of it: what a process writes comes through a pipe, later than what it answered.
func (b *bot) logs(t testing.TB, all ...string) {
	t.Helper()
	for _, what := range all {
		until(t, "the log says "+what, func() bool { return strings.Contains(b.out.String(), what) })
	}
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}
