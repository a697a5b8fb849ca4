package metrics

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Profiles show what is in the memory of the process: only this machine may have them.
func TestProfilesAreForThisMachine(t *testing.T) {
	for local, want := range map[bool]int{true: http.StatusOK, false: http.StatusNotFound} {
		w := httptest.NewRecorder()
		m := New("v0", slog.New(slog.DiscardHandler))
		m.Handler(local).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/pprof/goroutine", nil))
		if w.Code != want {
			t.Errorf("local %v: %d", local, w.Code)
		}
	}
}
