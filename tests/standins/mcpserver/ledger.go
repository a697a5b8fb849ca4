package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"sync"
)

// Effect is one thing that a tool did to the world.
type Effect struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args,omitempty"` // as they arrived
	// Phase is "did" for a finished effect, "began" and "cancelled" for tools that wait.
	Phase string `json:"phase"`
	PID   int    `json:"pid"`
}

// Ledger is what really happened. It is a file, so that it outlives crashes and several processes can write
// it: each effect is one appended line, written before the tool answers.
type Ledger struct {
	path string
	mu   sync.Mutex
}

// OpenLedger uses the file at path, which need not exist yet. It is made here only: a tool that ends late must not bring it back when a
// test's folder is being removed. Where it cannot be made, the first effect fails.
func OpenLedger(path string) *Ledger {
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
	return &Ledger{path: path}
}

// Path is the ledger's file.
func (l *Ledger) Path() string { return l.path }

func (l *Ledger) record(e Effect) error {
	e.PID = os.Getpid()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// Effects reads everything so far. A torn last line is left out.
func (l *Ledger) Effects() ([]Effect, error) {
	b, err := os.ReadFile(l.path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Effect
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e Effect
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			all = append(all, e)
		}
	}
	return all, lines.Err()
}

// Count is how often a tool's effect in that phase happened. A ledger that cannot be read counts -1.
func (l *Ledger) Count(tool, phase string) int {
	all, err := l.Effects()
	if err != nil {
		return -1
	}
	n := 0
	for _, e := range all {
		if e.Tool == tool && e.Phase == phase {
			n++
		}
	}
	return n
}
