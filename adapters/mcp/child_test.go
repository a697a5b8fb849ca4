//go:build linux

package mcp

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/mcp/confine"
	"github.com/nodhq/nod/tests/harness/need"
)

// alive reports whether a process runs (a zombie does not).
func alive(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// shell is a server that is a shell script, as npx is: it starts another process and tells its pid.
func shell(t *testing.T, script string) (Server, func() int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	cfg := Server{Command: []string{"sh", "-c", script}, Env: map[string]string{"PIDFILE": file, "NOD_TEST_RAW": "plain", "SERVER": os.Args[0]}}
	return cfg, func() int {
		b, err := os.ReadFile(file)
		if err != nil {
			return 0
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			return 0
		}
		return pid
	}
}

func TestCloseEndsWhatAChildStarted(t *testing.T) {
	p := quick
	p.grace = 50 * time.Millisecond
	for name, script := range map[string]string{
		"leaves on EOF":  `sleep 1000 & echo $! >$PIDFILE; "$SERVER"`,
		"ignores it all": `trap "" TERM; (trap "" TERM; exec sleep 1000) & echo $! >$PIDFILE; "$SERVER"; while :; do sleep 1000; done`,
	} {
		t.Run(name, func(t *testing.T) {
			cfg, pid := shell(t, script)
			m := startWith(t, p, nil, map[string]Server{"files": cfg})
			list(t, m)
			if !alive(pid()) {
				t.Fatal("the test's own process is not there")
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			waitFor(t, func() bool { return !alive(pid()) })
		})
	}
}

// A program is not started twice where it only does not know the probe, nor where nobody waits for it any more.
func TestAProgramIsStartedOnce(t *testing.T) {
	for name, script := range map[string]string{"old": `echo 1 >>$PIDFILE; exec "$SERVER"`, "given up": `echo 1 >>$PIDFILE; exec cat >$PIDFILE.in`} {
		cfg, pid := shell(t, script)
		m := start(t, map[string]Server{"files": cfg})
		if name == "old" {
			list(t, m)
		}
		waitFor(t, func() bool { return pid() == 1 })
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(cfg.Env["PIDFILE"]); err != nil || string(b) != "1\n" {
			t.Errorf("%s: started as %q, %v", name, b, err)
		}
	}
}

func TestAChildThatDiesTakesItsOwnAlong(t *testing.T) {
	cfg, pid := shell(t, `[ -e $PIDFILE ] && exec "$SERVER"; sleep 1000 & echo $! >$PIDFILE; exit 3`)
	m := start(t, map[string]Server{"files": cfg})
	eventually(t, m, "files", up(m, "files")) // the second attempt is the server
	waitFor(t, func() bool { return !alive(pid()) })
}

// A child that leaves its group keeps the pipes open. Close does not wait for it.
func TestCloseDoesNotWaitForAnEscapedProcess(t *testing.T) {
	t.Parallel()
	need.Program(t, "setsid", "setsid")
	cfg, pid := shell(t, `setsid sh -c 'echo $$ >$PIDFILE; exec sleep 1000' & "$SERVER"`)
	m := start(t, map[string]Server{"files": cfg})
	list(t, m)
	waitFor(t, func() bool { return pid() != 0 })
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid(), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// The kernel ends a child when we are killed, even one that does not care for the end of its input.
func TestAChildDiesWithUs(t *testing.T) {
	cfg, pid := shell(t, `echo $$ >$PIDFILE; "$SERVER"; exec sleep 1000`)
	bot := exec.Command(os.Args[0])
	bot.Env = append(os.Environ(), "NOD_TEST_RAW=bot", "SCRIPT="+cfg.Command[2])
	for name, v := range cfg.Env {
		if name != "NOD_TEST_RAW" {
			bot.Env = append(bot.Env, name+"="+v)
		}
	}
	out, err := bot.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "connected\n" {
		t.Errorf("%q, %v", line, err)
	}
	if !alive(pid()) {
		t.Error("there is no child")
	}
	if err := bot.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := bot.Wait(); err == nil {
		t.Error("the bot was not killed")
	}
	waitFor(t, func() bool { return !alive(pid()) })
}

// botMain is a program that keeps one server and is killed.
func botMain() {
	m, err := newServers(Config{Servers: map[string]Server{"files": {
		Command: []string{"sh", "-c", os.Getenv("SCRIPT")},
		Env:     map[string]string{"NOD_TEST_RAW": "plain", "SERVER": os.Args[0], "PIDFILE": os.Getenv("PIDFILE")},
	}}}, quick)
	if err != nil {
		os.Exit(1)
	}
	m.Start()
	if _, faults, err := m.List(context.Background()); err != nil || len(faults) > 0 {
		fmt.Println(faults, err)
	}
	fmt.Println("connected")
	<-time.After(time.Hour) // not select {}: without cgo the runtime calls that a deadlock
}

func init() { bots["bot"] = botMain }

// A program with a directory of its own starts there, and has its HOME and TMPDIR there, whether or not it can be confined: this test's binary is no
// launcher, as on a kernel without Landlock. What its entry lists goes over that.
func TestAChildHasADirectoryOfItsOwn(t *testing.T) {
	home, told := filepath.Join(t.TempDir(), "servers", "files"), filepath.Join(t.TempDir(), "told")
	serve := map[string]string{"NOD_TEST_RAW": "plain", "SERVER": os.Args[0], "TOLD": told}
	run := func(cfg Server) string {
		t.Helper()
		cfg.Command, cfg.Env = []string{"sh", "-c", `echo "$PWD $HOME $TMPDIR" >$TOLD; touch $TMPDIR/mine; exec "$SERVER"`}, maps.Clone(serve)
		if cfg.Dir != "" {
			cfg.Env["HOME"] = "/over"
		}
		m := start(t, map[string]Server{"files": cfg})
		list(t, m)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(told)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	tmp := filepath.Join(home, "tmp")
	if got, want := run(Server{Home: home, Bounds: &confine.Bounds{}}), home+" "+home+" "+tmp; got != want {
		t.Errorf("it has %q, want %q", got, want)
	}
	for _, dir := range []string{home, tmp} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	other := t.TempDir()
	if got, want := run(Server{Home: home, Dir: other, Bounds: &confine.Bounds{}}), other+" /over "+tmp; got != want { // and what is there already stays
		t.Errorf("it has %q, want %q", got, want)
	}
}

// A path that is granted and not there is a slip, and the server is not started.
func TestAPathThatIsNotThere(t *testing.T) {
	m := start(t, map[string]Server{"files": {Command: []string{"sh"}, Bounds: &confine.Bounds{Read: []string{"/nowhere/at/all"}}}})
	eventually(t, m, "files", func() bool {
		_, faults, err := m.List(t.Context())
		return err == nil && len(faults) == 1 && strings.Contains(faults[0].Say, "of its paths /nowhere/at/all was not found")
	})
}
