package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	checkTimeout = 2 * time.Second  // of one look at a dependency: what asks /readyz gives up soon after
	checkEvery   = 10 * time.Second // an outage is noticed also where nobody asks /readyz
)

// check is one thing that must work for this process to be useful. Its error is for the log: it may name hosts and addresses.
type check struct {
	name string
	// say is the sentence that strangers hear instead of the error. Empty: the errors of ok name nothing, and are told as they are.
	say string
	ok  func(context.Context) error
}

// health looks at the checks, and logs when one begins and ceases to fail.
type health struct {
	checks []check
	log    *slog.Logger
	began  time.Time       // when the process did
	worked map[string]bool // since then
	mu     sync.Mutex
	down   map[string]time.Time
}

// look tries everything, and returns what to say of the first that fails, or "".
func (h *health) look(ctx context.Context) (say string) {
	for _, c := range h.checks {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		err := c.ok(ctx)
		cancel()
		if errors.Is(err, context.Canceled) { // whoever asked went away
			continue
		}
		if h.note(c, err); err != nil && say == "" {
			say = cmp.Or(c.say, err.Error()+".")
		}
	}
	return say
}

func (h *health) note(c check, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	since, down := h.down[c.name]
	switch {
	case err != nil && !h.worked[c.name] && time.Since(h.began) < checkEvery: // it is still starting; who asks for readiness hears it
	case err != nil && !down:
		h.down[c.name] = time.Now()
		h.log.Error(c.name+" does not work: not ready", "err", err)
	case err == nil && !down:
		h.worked[c.name] = true
	case err == nil:
		delete(h.down, c.name)
		h.log.Info(c.name+" works again", "after", time.Since(since).Round(time.Second).String())
	}
}

// run looks again and again until ctx ends.
func (h *health) run(ctx context.Context) {
	for tick := time.Tick(checkEvery); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			h.look(ctx)
		}
	}
}

// serve adds GET /healthz (the process runs) and GET /readyz (it can do its work, and is not stopping) to mux. stopping ends
// when the process takes no more work.
func (h *health) serve(mux *http.ServeMux, stopping context.Context) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		code, say := "stopping", "This process is stopping."
		if stopping.Err() == nil {
			code, say = "not_ready", h.look(r.Context())
		}
		if say != "" {
			answer(w, http.StatusServiceUnavailable, map[string]any{"error": map[string]string{"code": code, "message": say}})
			return
		}
		answer(w, http.StatusOK, map[string]string{"status": "ready"})
	})
}

func newHealth(log *slog.Logger, checks ...check) *health {
	return &health{checks: checks, log: log, began: time.Now(), down: map[string]time.Time{}, worked: map[string]bool{}}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
