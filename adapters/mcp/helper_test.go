package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/harness/machine"
	"github.com/nodhq/nod/tests/harness/need"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

func TestMain(m *testing.M) {
	mcpserver.Main() // the test binary is also the stdio server of its tests
	rawMain()
	machine.SpendMemory()
	goleak.VerifyTestMain(m)
}

// quick is a pace for tests: as patient as a loaded machine needs, where patience ends a test, and short
// where it only waits.
var quick = pace{
	reconnect: backoff.Exponential{First: 5 * time.Millisecond, Most: 50 * time.Millisecond, Jitter: 0.25}, settled: time.Hour,
	debounce: 5 * time.Millisecond, discover: 20 * time.Second, stdin: 20 * time.Second, grace: 5 * time.Second,
	cancelled: 5 * time.Second, refresh: time.Hour, await: 50 * time.Second, idle: time.Hour,
}

// patience bounds every test: only a failing one takes it.
const patience = 60 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	t.Cleanup(stop)
	return ctx
}

// logged is a log that tests read.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func startWith(t *testing.T, p pace, log *logged, servers map[string]Server) *Servers {
	t.Helper()
	if log == nil {
		log = &logged{}
	}
	m, err := newServers(Config{Servers: servers, Log: log.logger()}, p)
	if err != nil {
		t.Fatal(err)
	}
	m.Start()
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("log:\n%s", log)
		}
	})
	return m
}

func start(t *testing.T, servers map[string]Server) *Servers {
	t.Helper()
	return startWith(t, quick, nil, servers)
}

func ledger(t *testing.T) *mcpserver.Ledger {
	t.Helper()
	return mcpserver.OpenLedger(filepath.Join(t.TempDir(), "ledger"))
}

// list lists, and fails the test over any fault.
func list(t *testing.T, m *Servers) []agent.ToolSpec {
	t.Helper()
	specs, faults, err := m.List(within(t))
	if err != nil || len(faults) > 0 {
		t.Fatalf("List: %v, faults %v", err, faults)
	}
	return specs
}

func spec(t *testing.T, m *Servers, server, name string) agent.ToolSpec {
	t.Helper()
	specs, faults, err := m.List(within(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specs {
		if s.Tool.Server == server && s.Tool.Name == name {
			return s
		}
	}
	t.Fatalf("no tool %s of %s; faults %v", name, server, faults)
	return agent.ToolSpec{}
}

// token is what the engine makes once a start is durable.
func token(t *testing.T, tool permission.Tool, args string) agent.RunToken {
	t.Helper()
	return tokenIn(t, "", tool, args)
}

// tokenIn is a token of a call in a chat.
func tokenIn(t *testing.T, in string, tool permission.Tool, args string) agent.RunToken {
	t.Helper()
	s := turn.Session{Chat: chat.ID{Platform: "test", Key: in}, Turn: &turn.Turn{Calls: []turn.ToolCall{{
		ID: "call", Execution: turn.Execution{Run: "run"}, Status: turn.Running, Tool: tool, Args: json.RawMessage(args),
	}}}}
	tok, err := agent.Consume(s, "call", "run")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func call(t *testing.T, m *Servers, server, name, args string) (turn.Result, error) {
	t.Helper()
	return m.Call(within(t), token(t, spec(t, m, server, name).Tool, args), nil)
}

func must(t *testing.T, m *Servers, server, name, args string) turn.Result {
	t.Helper()
	r, err := call(t, m, server, name, args)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// standing waits until the server can tell of changes, and its tools were read since.
func standing(t *testing.T, m *Servers) *conn {
	t.Helper()
	c := connOf(m)
	eventually(t, m, "files", func() bool { n := c.announce.Load(); return n > 0 && c.read.Load() == n })
	return c
}

// eventually waits for a change of a server's state until ok; it polls nothing.
func eventually(t *testing.T, m *Servers, server string, ok func() bool) {
	t.Helper()
	s, ctx := m.byName[server], within(t)
	for {
		s.mu.Lock()
		change := s.change
		s.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-change:
		case <-ctx.Done():
			_, fault := s.state()
			t.Fatalf("it did not come about; fault: %q", fault)
		}
	}
}

func up(m *Servers, server string) func() bool {
	return func() bool {
		s := m.byName[server]
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.conn != nil && !lost(s.conn)
	}
}

func stdio(l *mcpserver.Ledger) Server {
	return Server{Command: mcpserver.Command(), Env: mcpserver.Env("tools", l)}
}

// needNode returns a program of the npm packages in tests/standins/node, or skips.
func needNode(t *testing.T, program string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join("..", "..", "tests", "standins", "node", "node_modules", ".bin", program))
	if err == nil {
		_, err = os.Stat(p)
	}
	if err != nil {
		need.Missing(t, "node", program+" is not there (run npm ci in tests/standins/node)")
	}
	return p
}

// stateful makes mcp-go's server one of sessions: it speaks only versions with a handshake.
var stateful = []mcpgo.StreamableHTTPOption{mcpgo.WithStateful(true), mcpgo.WithStreamableHTTPProtocolVersions("2025-11-25")}
