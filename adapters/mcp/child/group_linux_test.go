package child

import (
	"bufio"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// In a container nod is the first process, and whatever lost its parent is its own to reap: else each chat's end leaves some behind, until no
// more can be started.
func TestWhatLostItsParentIsReaped(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil { // as the first process is
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	c, err := Start(Program{Command: []string{"sh", "-c", "sh -c 'sleep 1000 & echo $!; wait' & read -r line"}}, slog.New(slog.DiscardHandler), strings.TrimSpace)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c.Out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	c.Stop(time.Minute)
	for late := time.Now().Add(10 * time.Second); unix.Kill(pid, 0) == nil; runtime.Gosched() { // one that is dead and not reaped can be signalled
		if time.Now().After(late) {
			t.Fatalf("%d is a zombie", pid)
		}
	}
}
