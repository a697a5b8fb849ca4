//go:build linux

package mcp

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
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

func TestAChildThatDiesTakesItsOwnAlong(t *testing.T) {
	cfg, pid := shell(t, `[ -e $PIDFILE ] && exec "$SERVER"; sleep 1000 & echo $! >$PIDFILE; exit 3`)
	m := start(t, map[string]Server{"files": cfg})
	eventually(t, m, "files", up(m, "files")) // the second attempt is the server
	waitFor(t, func() bool { return !alive(pid()) })
}

// A child that leaves its group keeps the pipes open. Close does not wait for it.
func TestCloseDoesNotWaitForAnEscapedProcess(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
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
	bot.Env = append(environ(cfg.Env), "NOD_TEST_RAW=bot", "SCRIPT="+cfg.Command[2])
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
