package e2e

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// gate stands between one replica and the stand-in. The stand-in delivers to a random socket, as Slack does; with a gate a test says
// which replicas it is, by keeping the others' sockets to itself.
type gate struct {
	url string

	mu      sync.Mutex
	holding bool
	open    map[net.Conn]bool // sockets; true: kept here
}

func openGate(t testing.TB, to *fakeslack.Server) *gate {
	t.Helper()
	g := &gate{open: map[net.Conn]bool{}}
	target, err := url.Parse(strings.TrimSuffix(to.URL(), "/api/"))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		// The replica comes back here for its sockets.
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasSuffix(r.Request.URL.Path, "/apps.connections.open") {
				return nil
			}
			body, err := io.ReadAll(r.Body)
			_ = r.Body.Close()
			body = bytes.ReplaceAll(body, []byte("ws://"+target.Host), []byte("ws"+strings.TrimPrefix(g.url, "http")))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Del("Content-Length")
			return err
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // a cut stays a cut
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/link/") && g.enters(r.Context().Value(socketKey{}).(net.Conn)) {
			g.keep(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, socketKey{}, c) }
	server.Start()
	g.url = server.URL
	t.Cleanup(func() {
		g.drop(func(bool) bool { return true })
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	return g
}

type socketKey struct{}

// enters notes a socket, and reports whether it is kept here.
func (g *gate) enters(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open[c] = g.holding
	return g.holding
}

// keep gives the replica a socket on which nothing ever comes.
func (g *gate) keep(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	defer func() { _ = conn.Close() }()
	if conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"hello","num_connections":1}`)) != nil {
		return
	}
	for {
		if _, _, err := conn.ReadMessage(); err != nil {
			return
		}
	}
}

// hold takes the replica's sockets away from the stand-in.
func (g *gate) hold() { g.turn(true) }

// pass gives them back.
func (g *gate) pass() { g.turn(false) }

func (g *gate) holds() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holding
}

func (g *gate) turn(holding bool) {
	g.mu.Lock()
	g.holding = holding
	g.mu.Unlock()
	g.drop(func(kept bool) bool { return kept != holding })
}

// drop closes sockets; the replica opens others.
func (g *gate) drop(which func(kept bool) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c, kept := range g.open {
		if which(kept) {
			_ = c.Close()
			delete(g.open, c)
		}
	}
}
