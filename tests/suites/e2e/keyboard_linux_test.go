package e2e

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Ctrl-C at a question of nod init leaves it, and nothing is written.
func TestCtrlCLeavesAQuestion(t *testing.T) {
	t.Parallel()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0) // nobody types at it
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	b := prepare(t, settings{})
	b.launch("init")
	b.cmd.Dir, b.cmd.Stdin = t.TempDir(), terminal
	asks, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b.exited = make(chan struct{})
	go func() {
		_ = b.cmd.Wait() // its end is read from ProcessState
		close(b.exited)
	}()
	if question, err := bufio.NewReader(asks).ReadString(':'); err != nil {
		t.Fatal(question, err)
	}
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	b.wait()
	if s, ok := b.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v", b.cmd.ProcessState)
	}
	if _, err := os.Stat(filepath.Join(b.cmd.Dir, "nod.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it wrote its file: %v", err)
	}
}
