package child

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestStderrIsLimited(t *testing.T) {
	var log bytes.Buffer
	s := &stderrLog{log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), clean: strings.NewReplacer("sekret", "[secret]").Replace}
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
	if last := (&Child{words: s}).LastLine(); last != "last" {
		t.Errorf("last words %q", last)
	}
}
