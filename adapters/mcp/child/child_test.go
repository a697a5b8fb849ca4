package child

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestStderrIsLimited(t *testing.T) {
	var log bytes.Buffer
	s := &Child{log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), clean: strings.NewReplacer("sekret", "[secret]").Replace}
	s.drain(strings.NewReader("sekret\x1b[31m\n" + strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("y\n", 3*maxStderrLines) + "last"))
	out := log.String()
	if strings.Contains(out, "sekret") || strings.Contains(out, "x1b") {
		t.Errorf("%.200s", out)
	}
	if n := strings.Count(out, "x"); n > maxStderrLine+100 {
		t.Errorf("%d bytes of one line", n)
	}
	if n := strings.Count(out, "\n"); n != maxStderrLines {
		t.Errorf("%d lines", n)
	}
	if last := s.LastLine(); last != "last" {
		t.Errorf("last words %q", last)
	}
}

// An empty environment is not none: with none it would see ours.
func TestAnEmptyEnvironment(t *testing.T) {
	t.Setenv("SECRET", "sekret")
	for _, name := range inherited {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	if env := (Program{}).environ(); env == nil || len(env) > 0 {
		t.Errorf("%q", env)
	}
}

// heldLog takes no record before it is released.
type heldLog struct {
	slog.Handler
	released chan struct{}
}

func (heldLog) Enabled(context.Context, slog.Level) bool { return true }
func (h heldLog) Handle(context.Context, slog.Record) error {
	<-h.released
	return nil
}

// Why a server died is often the last that it wrote, and is read although it is gone already.
func TestLastWordsAreRead(t *testing.T) {
	log := heldLog{slog.DiscardHandler, make(chan struct{})}
	words := strings.Repeat("echo a line that fills what is read at once >&2; ", 100) + "echo the last words >&2"
	c, err := Start(Program{Command: []string{"sh", "-c", words}}, slog.New(log), strings.TrimSpace)
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		c.Stop(time.Minute)
	}()
	for err = nil; !errors.Is(err, os.ErrClosed); runtime.Gosched() { // Stop lets go of its output first
		_, err = c.Out.Read(make([]byte, 1))
	}
	close(log.released)
	<-stopped
	if got := c.LastLine(); got != "the last words" {
		t.Errorf("%q", got)
	}
}
