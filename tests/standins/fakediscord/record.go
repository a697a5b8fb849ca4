package fakediscord

import (
	"encoding/json"
	"os"
	"sync"
)

// The environment in which calls are recorded for a check against Discord's API description: see speccheck in
// tests/standins/fakediscord/spec.
const (
	EnvSpec   = "NOD_DISCORD_SPEC"   // path of the description
	EnvRecord = "NOD_DISCORD_RECORD" // file that calls are added to, as JSON lines
)

// Record is one recorded call.
type Record struct {
	Method   string          `json:"method"` // of HTTP
	Path     string          `json:"path"`   // without /api/v10
	Query    string          `json:"query,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"`
	Status   int             `json:"status"`
	Response json.RawMessage `json:"response,omitempty"`
}

// recorder adds records to a file. A nil one does nothing.
type recorder struct {
	mu sync.Mutex
	f  *os.File
}

func openTape() *recorder {
	if os.Getenv(EnvSpec) == "" || os.Getenv(EnvRecord) == "" {
		return nil
	}
	f, err := os.OpenFile(os.Getenv(EnvRecord), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic("fakediscord: " + err.Error())
	}
	return &recorder{f: f}
}

func (r *recorder) close() {
	if r != nil {
		_ = r.f.Close()
	}
}

func (r *recorder) write(q *request, status int, answer any) {
	if r == nil || q.call.Method == "" {
		return
	}
	rec := Record{Method: q.http.Method, Path: q.http.URL.Path, Query: q.http.URL.RawQuery, Status: status}
	if json.Valid(q.raw) {
		rec.Body = q.raw
	}
	if status != 204 {
		rec.Response, _ = json.Marshal(answer)
	}
	line, _ := json.Marshal(rec)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.f.Write(append(line, '\n')) // one write: several processes add to the file
}
