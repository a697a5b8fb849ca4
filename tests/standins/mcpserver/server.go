// Package mcpserver is a real MCP server for tests, built with mcp-go's server package, with a ledger of
// what its tools did: the oracle of every test about effects.
//
// Use it in three ways:
//
//   - in-process: [New], then [Server.InProcess];
//   - over HTTP: [Server.ServeHTTP] and [Server.ServeSSE] listen on loopback for as long as the test runs;
//   - over stdio: call [Main] first thing in TestMain, and start the test binary itself with [Command] and [Env];
//     or build tests/standins/mcpserver/cmd/toolserver.
//
// Its tools: echo, write, fail, refuse, keep, recall, slow, progress, big, image, structured, env, ask, elicit, elicit_url, sample, crash, change and mutable. See tools.go.
package mcpserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/server"
)

// Server is one server and its ledger.
type Server struct {
	MCP    *server.MCPServer
	Ledger *Ledger

	mu      sync.Mutex
	release chan struct{}
	version int
	kept    sync.Map // what keep kept, by session
}

// New makes a server. name is what it calls itself.
func New(name string, l *Ledger) *Server {
	s := &Server{Ledger: l, release: make(chan struct{})}
	s.MCP = server.NewMCPServer(name, "1.0.0",
		server.WithToolCapabilities(true), server.WithRecovery(), server.WithElicitation(),
		server.WithInstructions("Instructions of "+name+"."))
	s.addTools()
	return s
}

// Release lets all waiting calls of slow go on, and later ones pass.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.release:
	default:
		close(s.release)
	}
}

// InProcess makes a transport to it; every connection needs its own.
func (s *Server) InProcess() transport.Interface { return transport.NewInProcessTransport(s.MCP) }

// HTTP is a server listening on loopback.
type HTTP struct {
	URL    string
	server *httptest.Server

	mu       sync.Mutex
	requests func(http.ResponseWriter, *http.Request) bool
	handler  http.Handler
}

// Intercept sets what sees every request first; it may answer and return true.
func (h *HTTP) Intercept(f func(http.ResponseWriter, *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = f
}

// Stop cuts every connection and stops listening.
func (h *HTTP) Stop() {
	h.server.CloseClientConnections()
	h.server.Close()
}

// ServeHTTP serves streamable HTTP, with sessions. opts are mcp-go's.
func (s *Server) ServeHTTP(t testing.TB, opts ...server.StreamableHTTPOption) *HTTP {
	t.Helper()
	t.Cleanup(s.Release) // no handler may outlive the test
	return listen(t, server.NewStreamableHTTPServer(s.MCP, opts...), "/mcp")
}

// ServeSSE serves the older HTTP with SSE.
func (s *Server) ServeSSE(t testing.TB) *HTTP {
	t.Helper()
	t.Cleanup(s.Release)
	return listen(t, server.NewSSEServer(s.MCP), "/sse")
}

// Serve serves any handler in the same way.
func Serve(t testing.TB, handler http.Handler, path string) *HTTP {
	t.Helper()
	return listen(t, handler, path)
}

func listen(t testing.TB, handler http.Handler, path string) *HTTP {
	t.Helper()
	h := &HTTP{handler: handler}
	h.server = httptest.NewServer(h)
	h.URL = h.server.URL + path
	t.Cleanup(h.Stop)
	return h
}

// CutStreams ends every open connection; the server goes on listening.
func (h *HTTP) CutStreams() { h.server.CloseClientConnections() }

// ServeHTTP implements http.Handler.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	f := h.requests
	h.mu.Unlock()
	if f != nil && f(w, r) {
		return
	}
	h.handler.ServeHTTP(w, r)
}

// The environment that turns a test binary into a stdio server.
const (
	envName   = "NOD_TEST_MCPSERVER"
	envLedger = "NOD_TEST_LEDGER"
)

// Command starts the running test binary again; with Env it becomes a stdio server, if its TestMain calls Main.
func Command() []string { return []string{os.Args[0]} }

// Env is the environment for Command.
func Env(name string, l *Ledger) map[string]string {
	return map[string]string{envName: name, envLedger: l.Path()}
}

// Main serves stdio and does not return, if the environment of Env asks for it.
func Main() {
	name := os.Getenv(envName)
	if name == "" {
		return
	}
	if err := Stdio(name, os.Getenv(envLedger)); err != nil {
		os.Exit(1)
	}
	syscall.Exit(0) // os.Exit waits a second where the race detector is in the program, and whoever stops a server waits for its end
}

// Stdio serves stdio until its input ends.
func Stdio(name, ledger string) error {
	return server.NewStdioServer(New(name, OpenLedger(ledger)).MCP).Listen(context.Background(), os.Stdin, os.Stdout)
}
