package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A bot that is only starting has nothing to shout about; one that was there and is cut off shouts once.
func TestAnOutageIsLoggedOnceAndAStartIsNone(t *testing.T) {
	var log bytes.Buffer
	down := errors.New("connection refused")
	h := &health{
		checks: []check{{name: "Redis", ok: func(context.Context) error { return down }}},
		log:    slog.New(slog.NewTextHandler(&log, nil)), began: time.Now(), down: map[string]time.Time{}, worked: map[string]bool{},
	}
	if say := h.look(t.Context()); say == "" || log.Len() > 0 {
		t.Errorf("while it starts: %q, the log:\n%s", say, &log)
	}
	h.began = h.began.Add(-checkEvery)
	for range 2 {
		h.look(t.Context())
	}
	down = nil
	if say := h.look(t.Context()); say != "" {
		t.Errorf("afterwards: %q", say)
	}
	if s := log.String(); strings.Count(s, "level=ERROR") != 1 || strings.Count(s, "works again") != 1 {
		t.Errorf("the log:\n%s", s)
	}
}
