package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// checkTimeout bounds one look at a dependency: what asks /readyz gives up soon after.
const checkTimeout = 2 * time.Second

// check is one thing that must work for this process to be useful. Its error is for the log of whoever asks and carries no secret.
type check struct {
	name string
	ok   func(context.Context) error
}

// health adds GET /healthz (the process runs) and GET /readyz (it can do its work, and is not stopping) to mux. stopping ends
// when the process takes no more work.
func health(mux *http.ServeMux, stopping context.Context, checks ...check) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if stopping.Err() != nil {
			refuse(w, "stopping", "This process is stopping.")
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		for _, c := range checks {
			if err := c.ok(ctx); err != nil {
				say := c.name + " does not work: " + err.Error()
				if errors.Is(err, context.DeadlineExceeded) {
					say = c.name + " did not answer in " + checkTimeout.String() + "."
				}
				refuse(w, "not_ready", say)
				return
			}
		}
		answer(w, http.StatusOK, map[string]string{"status": "ready"})
	})
}

func refuse(w http.ResponseWriter, code, message string) {
	answer(w, http.StatusServiceUnavailable, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
