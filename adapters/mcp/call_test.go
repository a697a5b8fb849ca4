package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// unknown fails the test unless err leaves open whether the call happened, in those words.
func unknown(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil || errors.Is(err, agent.ErrNotRun) {
		t.Fatalf("%v, want an unknown outcome", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func notRunAt(t *testing.T, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, agent.ErrNotRun) {
		t.Fatalf("%v, want ErrNotRun", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestATimeoutIsUnknownAndCancelsAtTheServer(t *testing.T) {
	for _, kind := range []string{kindStdio, kindHTTP, "stateless", kindSSE, kindInProcess} {
		t.Run(kind, func(t *testing.T) {
			l := ledger(t)
			s := mcpserver.New("tools", l)
			cfg := stdio(l)
			switch kind {
			case kindStdio:
			case kindHTTP:
				cfg = Server{URL: s.ServeHTTP(t, stateful...).URL}
			case "stateless":
				h := s.ServeHTTP(t)
				h.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
					if bytes.Contains(bodyOf(r), []byte("notifications/cancelled")) {
						t.Error("the end of the stream says it to a server of the newest version")
					}
					return false
				})
				cfg = Server{URL: h.URL}
			case kindSSE:
				cfg = Server{URL: s.ServeSSE(t).URL, Transport: kindSSE}
			default:
				cfg = Server{InProcess: s.InProcess}
			}
			m := start(t, map[string]Server{"files": cfg})
			slow, limit, err := spec(t, m, "files", "slow").Tool, 25*time.Millisecond, agent.ErrNotRun
			for errors.Is(err, agent.ErrNotRun) { // a busy machine may not have sent it by then
				limit *= 2
				m.byName["files"].timeout = limit
				_, err = m.Call(within(t), token(t, slow, `{}`), nil)
			}
			unknown(t, err, fmt.Sprintf("The files server did not answer in %v.", limit), "Whether slow happened is not known.")
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v is no DeadlineExceeded", err)
			}
			m.byName["files"].timeout = patience
			// The server was told: its handler ends.
			waitFor(t, func() bool { return l.Count("slow", "cancelled") == 1 })
			if l.Count("slow", "began") != 1 {
				t.Error("it was sent more than once")
			}
		})
	}
}

// waitFor polls what another process or a handler does at its own pace; only a failing test waits long.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	ctx := within(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it did not come about")
		}
	}
}

func TestACancelledCallIsUnknown(t *testing.T) {
	everyTransport(t, func(t *testing.T, m *Servers, l *mcpserver.Ledger, _ *mcpserver.Server) {
		tok := token(t, spec(t, m, "files", "slow").Tool, `{}`)
		ctx, stop := context.WithCancel(within(t))
		done := make(chan error, 1)
		go func() { _, err := m.Call(ctx, tok, nil); done <- err }()
		waitFor(t, func() bool { return l.Count("slow", "began") == 1 })
		stop()
		err := <-done
		unknown(t, err, "slow was cancelled while it ran on the files server.", "not known")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v is no Canceled", err)
		}
		waitFor(t, func() bool { return l.Count("slow", "cancelled") == 1 })
		// The connection is as good as before.
		if r := must(t, m, "files", "echo", `{"text":"x"}`); r.IsError {
			t.Errorf("%+v", r)
		}
	})
}

func TestACallCancelledBeforeItIsSentIsNotRun(t *testing.T) {
	m := start(t, map[string]Server{"mute": rawStdio("mute")})
	ctx, stop := context.WithCancel(within(t))
	stop()
	tool := spec(t, start(t, map[string]Server{"mute": {InProcess: mcpserver.New("x", ledger(t)).InProcess}}), "mute", "write").Tool
	_, err := m.Call(ctx, token(t, tool, `{}`), nil)
	notRunAt(t, err, "cancelled before it was sent")
}

func TestACrashIsUnknownAndTheServerComesBack(t *testing.T) {
	l := ledger(t)
	m := start(t, map[string]Server{"files": stdio(l)})
	_, err := call(t, m, "files", "crash", `{}`)
	unknown(t, err, "The files server stopped while crash ran (exit status 3).", "Whether crash happened is not known.")
	// A new process answers, unasked. Who comes meanwhile waits for it: an answer that a person gave in that moment is not lost.
	list(t, m)
	if r := must(t, m, "files", "write", `{"path":"x"}`); r.IsError {
		t.Fatalf("%+v", r)
	}
	all, err := l.Effects()
	if err != nil || len(all) != 2 || all[0].PID == all[1].PID {
		t.Errorf("effects %+v, %v: want one of each of two processes", all, err)
	}
}

// A call for a server that is away waits for it, once.
func TestACallWakesAServerThatIsAway(t *testing.T) {
	p := quick
	p.reconnect = backoff.Exponential{First: time.Millisecond, Most: time.Hour}
	s := mcpserver.New("x", ledger(t))
	m := startWith(t, p, nil, map[string]Server{"files": {InProcess: s.InProcess}})
	tool := spec(t, m, "files", "write").Tool
	srv := m.byName["files"]
	srv.mu.Lock()
	c := srv.conn
	srv.mu.Unlock()
	srv.lose(c, errors.New("pulled"))
	if _, err := m.Call(within(t), token(t, tool, `{"path":"x"}`), nil); err != nil {
		t.Error(err)
	}
}

func TestAServerThatStopsReadingBlocksNobody(t *testing.T) {
	p := quick
	p.stdin, p.grace = 100*time.Millisecond, 50*time.Millisecond
	log := &logged{}
	m := startWith(t, p, log, map[string]Server{"files": rawStdio("deaf")})
	work := spec(t, m, "files", "work").Tool
	first := make(chan error, 1)
	ctx := within(t)
	tok := token(t, work, `{}`)
	go func() { _, err := m.Call(ctx, tok, nil); first <- err }()
	// More than a pipe holds: this write blocks, is given up, and the child is replaced.
	_, err := m.Call(ctx, token(t, work, `{"x":"`+strings.Repeat("a", 1<<20)+`"}`), nil)
	notRunAt(t, err, "the files server did not take the request")
	// The first was read. Nobody knows what became of it.
	select {
	case err := <-first:
		unknown(t, err, "The connection to the files server was lost while work ran: it does not read its input.")
	case <-ctx.Done():
		t.Fatal("the first call hangs")
	}
}

// Many servers do one thing at a time. One that is at a call for longer than a list may take is not given up for that; one that is at none is,
// and one that gives no list any more: its tools may be others.
func TestAServerAtWorkIsLeftAtIt(t *testing.T) {
	t.Parallel()
	p := quick
	p.refresh = time.Millisecond
	single, once := rawStdio("single"), rawStdio("once")
	single.ConnectTimeout, once.ConnectTimeout = 5*time.Second, 5*time.Second
	l := ledger(t)
	h := mcpserver.New("tools", l).ServeHTTP(t)
	m := startWith(t, p, nil, map[string]Server{"single": single, "files": once, "refuses": {URL: h.URL}})
	refuses := m.byName["refuses"]
	slow := spec(t, m, "refuses", "slow").Tool
	go func() { _, _ = m.Call(t.Context(), token(t, slow, `{}`), nil) }()
	waitFor(t, func() bool { return l.Count("slow", "began") == 1 })
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		_, list := idOf(bodyOf(r), "tools/list")
		if list {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return list
	})
	eventually(t, m, "refuses", func() bool { _, say := refuses.state(); return strings.Contains(say, "it answered HTTP 500") })
	eventually(t, m, "files", up(m, "files"))
	c := connOf(m)
	eventually(t, m, "single", up(m, "single"))
	if r := must(t, m, "single", "work", `{}`); r.Text != "done" {
		t.Errorf("%+v", r)
	}
	eventually(t, m, "files", func() bool { return connOf(m) != c })
}

func TestAnAnswerTooLargeIsKnownToHaveRun(t *testing.T) {
	m := start(t, map[string]Server{"files": rawStdio("huge")})
	for range 2 { // the connection survives it
		r := must(t, m, "files", "work", `{}`)
		if !r.IsError || !strings.Contains(r.Text, "work ran on the files server, but its answer has more than 8,388,608 bytes") {
			t.Errorf("%.300q", r.Text)
		}
	}
}

func TestInvalidUTF8BecomesText(t *testing.T) {
	m := start(t, map[string]Server{"files": rawStdio("latin")})
	if r := must(t, m, "files", "work", `{}`); r.Text != "caf\uFFFD" || r.IsError {
		t.Errorf("%+v", r)
	}
}

func TestTheEnvironmentOfAChild(t *testing.T) {
	t.Setenv("SLACK_BOT_TOKEN", "xoxb-sekret")
	l := ledger(t)
	cfg := stdio(l)
	cfg.Env["LISTED"] = "yes"
	r := must(t, start(t, map[string]Server{"files": cfg}), "files", "env", `{}`)
	for _, line := range strings.Split(r.Text, "\n") {
		name, _, _ := strings.Cut(line, "=")
		switch name {
		case "PATH", "HOME", "LISTED", "NOD_TEST_MCPSERVER", "NOD_TEST_LEDGER":
		default:
			t.Errorf("the child sees %s", name)
		}
	}
	if !strings.Contains(r.Text, "LISTED=yes") || !strings.Contains(r.Text, "PATH="+os.Getenv("PATH")) {
		t.Errorf("%s", r.Text)
	}
}

// rawAnswers calls one tool of a server that answers with those bytes, or does what status does.
func rawAnswers(t *testing.T, s *rawServer) (*Servers, string) {
	t.Helper()
	if s.tools == "" {
		s.tools = `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`
	}
	h := mcpserver.Serve(t, s, "/")
	return start(t, map[string]Server{"wiki": {URL: h.URL, Headers: map[string]string{"Authorization": "Bearer sekret-bearer"}}}), h.URL
}

// neverCancelled fails the test where a server hears that something of which it answered, or which no call was, is cancelled.
func neverCancelled(t *testing.T) func(string, json.RawMessage, []byte) {
	return func(method string, _ json.RawMessage, params []byte) {
		if method == "notifications/cancelled" {
			t.Errorf("the server hears %s %s", method, params)
		}
	}
}

func TestHTTPOutcomes(t *testing.T) {
	onCall := func(f func(w http.ResponseWriter)) func(string, http.ResponseWriter) bool {
		return func(method string, w http.ResponseWriter) bool {
			if method != "tools/call" {
				return false
			}
			f(w)
			return true
		}
	}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		notRun bool
		words  string
	}{
		"500": {func(w http.ResponseWriter) { http.Error(w, "sekret-bearer", 500) }, false, "The wiki server answered 500 Internal Server Error."},
		"502": {func(w http.ResponseWriter) { w.WriteHeader(502) }, false, "502 Bad Gateway"},
		"408": {func(w http.ResponseWriter) { w.WriteHeader(408) }, false, "408 Request Timeout"},
		"401": {func(w http.ResponseWriter) { w.WriteHeader(401) }, true, "refused the request (401 Unauthorized)"},
		"403 of an authorization": {func(w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
			w.WriteHeader(403)
		}, true, "refused the request (403 Forbidden)"},
		"403 of a filter": {func(w http.ResponseWriter) { w.WriteHeader(403) }, false, "The wiki server answered 403 Forbidden."},
		"405":             {func(w http.ResponseWriter) { w.WriteHeader(405) }, true, "405"},
		"413":             {func(w http.ResponseWriter) { w.WriteHeader(413) }, true, "413"},
		"400":             {func(w http.ResponseWriter) { w.WriteHeader(400) }, false, "The wiki server answered 400 Bad Request."},
		"404":             {func(w http.ResponseWriter) { w.WriteHeader(404) }, false, "The wiki server answered 404 Not Found."},
		"404 to no session": {func(w http.ResponseWriter) { // we sent none: it cannot be about that
			w.WriteHeader(404)
			_, _ = io.WriteString(w, noSession)
		}, false, "404"},
		"400 to no request": {func(w http.ResponseWriter) { w.WriteHeader(400); _, _ = io.WriteString(w, noSession) }, false, "400"},
		"409":               {func(w http.ResponseWriter) { w.WriteHeader(409) }, false, "409"},
		"410":               {func(w http.ResponseWriter) { w.WriteHeader(410) }, false, "410"},
		"422":               {func(w http.ResponseWriter) { w.WriteHeader(422) }, false, "422"},
		"429":               {func(w http.ResponseWriter) { w.WriteHeader(429) }, false, "The wiki server answered 429 Too Many Requests."},
		"301":               {func(w http.ResponseWriter) { w.Header().Set("Location", "/x"); w.WriteHeader(301) }, false, "301"},
		"307 to itself":     {func(w http.ResponseWriter) { w.Header().Set("Location", "/x"); w.WriteHeader(307) }, false, "The wiki server answered 307 Temporary Redirect."},
		"308 to itself":     {func(w http.ResponseWriter) { w.Header().Set("Location", "/x"); w.WriteHeader(308) }, false, "308"},
		"html": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>")
		}, false, "broke while work ran"},
		"no json": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{")
		}, false, "broke while work ran"},
		"cut": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, false, "broke while work ran"},
		"reset": {func(w http.ResponseWriter) {
			c, _, _ := w.(http.Hijacker).Hijack()
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}, false, "broke while work ran"},
		"empty stream": {func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }, false, "broke while work ran"},
		"wrong id": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"x","result":{"content":[]}}`)
		}, false, "broke while work ran"},
		"redirect away": {func(w http.ResponseWriter) { w.Header().Set("Location", "http://localhost:1/"); w.WriteHeader(307) }, false, "is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			m, _ := rawAnswers(t, &rawServer{status: onCall(func(w http.ResponseWriter) { calls.Add(1); c.answer(w) }), seen: neverCancelled(t)})
			_, err := call(t, m, "wiki", "work", `{}`)
			if c.notRun {
				notRunAt(t, err, c.words)
			} else {
				unknown(t, err, c.words, "Whether work happened is not known.")
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("sent %d times", n)
			}
			if strings.Contains(err.Error(), "sekret") {
				t.Errorf("a secret: %v", err)
			}
			srv := m.byName["wiki"]
			srv.mu.Lock()
			defer srv.mu.Unlock()
			if conn := srv.conn; conn != nil && conn.abandoned.IsZero() != c.notRun {
				t.Error("whether it may still run, so that nobody is asked what may be its question")
			}
		})
	}
}

func TestAServerThatRefusesTheConnectionDidNotRun(t *testing.T) {
	s := &rawServer{tools: `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`}
	h := mcpserver.Serve(t, s, "/")
	h.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Connection", "close") // no connection is left from before
		return false
	})
	p := quick
	p.await = time.Hour
	m := startWith(t, p, nil, map[string]Server{"wiki": {URL: h.URL}})
	tok := token(t, spec(t, m, "wiki", "work").Tool, `{}`)
	h.Stop()
	_, err := m.Call(within(t), tok, nil)
	notRunAt(t, err, "connection refused")
	// It is a fault from then on. Who calls hears so after one more attempt.
	eventually(t, m, "wiki", func() bool { _, f := m.byName["wiki"].state(); return strings.Contains(f, "connection refused") })
	_, err = m.Call(within(t), tok, nil)
	notRunAt(t, err, "connection refused")
}

// noSession is how the reference servers answer a session they do not know.
const noSession = `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`

// staleAnswers serves mcp-go's server, which answers POST requests of the first session that way from now on.
func staleAnswers(t *testing.T, status int, body string) (*Servers, *mcpserver.Ledger, *atomic.Int32) {
	t.Helper()
	l := ledger(t)
	h := mcpserver.New("tools", l).ServeHTTP(t, stateful...)
	m := start(t, map[string]Server{"files": {URL: h.URL}})
	list(t, m)
	stale := standing(t, m).client.GetSessionId()
	sent := &atomic.Int32{}
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Mcp-Session-Id") != stale || r.Method != http.MethodPost {
			return false
		}
		sent.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	})
	t.Cleanup(func() { h.Intercept(nil) })
	return m, l, sent
}

// A session that the server does not know is answered with 404 and words that say so: the call was not looked at, and is
// sent again over a new connection. mcp-go cannot do that on the old one.
func TestAStaleSessionIsReplacedAndTheCallRunsOnce(t *testing.T) {
	for name, body := range map[string]string{
		"json": noSession, "mcp-go": "Invalid session ID\n", "go-sdk": "session not found\n", "rust": "Not Found: Session not found",
		"python": `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`,
		"c#":     `{"error":{"code":-32001,"message":"Session not found"},"id":"","jsonrpc":"2.0"}`,
	} {
		t.Run(name, func(t *testing.T) {
			m, l, _ := staleAnswers(t, 404, body)
			r := must(t, m, "files", "write", `{"path":"x"}`)
			if r.IsError || l.Count("write", "did") != 1 {
				t.Errorf("%+v; written %d times", r, l.Count("write", "did"))
			}
		})
	}
	// Another request may have found out before: then the call is not even sent.
	m, l, sent := staleAnswers(t, 404, noSession)
	_ = connOf(m).client.Ping(within(t)) //nolint:staticcheck // any request will do
	if must(t, m, "files", "write", `{"path":"x"}`); l.Count("write", "did") != 1 || sent.Load() != 1 {
		t.Errorf("written %d times, after %d requests of the old session", l.Count("write", "did"), sent.Load())
	}
}

// A server that knows no session of those it gives is not asked for ever.
func TestACallIsSentAgainOnce(t *testing.T) {
	h := mcpserver.New("tools", ledger(t)).ServeHTTP(t, stateful...)
	m := start(t, map[string]Server{"files": {URL: h.URL}})
	tok := token(t, spec(t, m, "files", "write").Tool, `{"path":"x"}`)
	var sent atomic.Int32
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		body := bodyOf(r)
		_, is := idOf(body, "tools/call")
		if is && sent.Add(1) < 10 {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, noSession)
		}
		return is
	})
	_, err := m.Call(within(t), tok, nil)
	if notRunAt(t, err, "write was not run: the files server ended the session."); sent.Load() != 2 {
		t.Errorf("sent %d times", sent.Load())
	}
}

// What only might mean that is no leave to send the call again. The next call goes over a connection that works.
func TestAnAnswerThatMightMeanAStaleSessionIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"400 as some servers do": {400, noSession},
		"404 of a web server":    {404, "<h1>Not Found</h1>"},
		"404 of some request":    {404, `{"jsonrpc":"2.0","id":7777,"error":{"code":-32601,"message":"no such tool"}}`},
		"404 without an error":   {404, `{"jsonrpc":"2.0","id":null,"result":{}}`},
		"404 of the tool":        {404, `{"error":"no such file"}`},
	} {
		t.Run(name, func(t *testing.T) {
			m, l, sent := staleAnswers(t, c.status, c.body)
			tok := token(t, spec(t, m, "files", "write").Tool, `{"path":"x"}`)
			_, err := m.Call(within(t), tok, nil)
			unknown(t, err, fmt.Sprintf("The files server answered %d", c.status))
			if n := l.Count("write", "did"); n != 0 || sent.Load() == 0 {
				t.Errorf("written %d times", n)
			}
			if _, err := m.Call(within(t), tok, nil); err != nil || l.Count("write", "did") != 1 {
				t.Errorf("the next call: %v; written %d times", err, l.Count("write", "did"))
			}
		})
	}
}

// One bad answer is one chat's: the connection stays, with what others run on it.
func TestABadAnswerLeavesTheConnection(t *testing.T) {
	l := ledger(t)
	s := mcpserver.New("tools", l)
	h := s.ServeHTTP(t, stateful...)
	m := start(t, map[string]Server{"files": {URL: h.URL}})
	tool := spec(t, m, "files", "write").Tool
	srv := m.byName["files"]
	c := standing(t, m)
	for status, says := range map[int]string{400: "400", 404: "404", 0: "broke while write ran"} {
		h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			body := bodyOf(r)
			if !bytes.Contains(body, []byte(`"tools/call"`)) {
				return false
			}
			if status == 0 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(status)
			return true
		})
		_, err := m.Call(within(t), token(t, tool, `{"path":"x"}`), nil)
		unknown(t, err, says)
		h.Intercept(nil)
		if _, err := m.Call(within(t), token(t, tool, `{"path":"x"}`), nil); err != nil {
			t.Error(err)
		}
		srv.mu.Lock()
		if srv.conn != c || lost(c) {
			t.Errorf("%d ended the connection", status)
		}
		srv.mu.Unlock()
	}
}

// A JSON-RPC error to our request is an answer, whatever the status: version 2026-07-28 wants some of them with 404.
func TestAnErrorWithAnyStatusIsAnAnswer(t *testing.T) {
	for _, status := range []int{400, 404, 500} {
		m, _ := rawAnswers(t, &rawServer{wrap: func(w http.ResponseWriter, r rawRequest) bool {
			if r.Method != "tools/call" {
				return false
			}
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such tool"}}`, r.ID)
			return true
		}})
		if r := must(t, m, "wiki", "work", `{}`); !r.IsError || !strings.Contains(r.Text, "The wiki server refused work: no such tool") {
			t.Errorf("%d: %+v", status, r)
		}
	}
}

// A header of the operator's that makes net/http send a POST twice over a connection that broke does not.
func TestABrokenConnectionIsNoReasonToSendAgain(t *testing.T) {
	var calls atomic.Int32
	s := &rawServer{tools: `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`, status: func(method string, _ http.ResponseWriter) bool {
		if method == "tools/call" {
			calls.Add(1)
			panic(http.ErrAbortHandler) // it did the work, and the connection broke
		}
		return false
	}}
	h := mcpserver.Serve(t, s, "/")
	m := start(t, map[string]Server{"wiki": {URL: h.URL, Headers: map[string]string{"Idempotency-Key": "of-the-operator"}}})
	_, err := call(t, m, "wiki", "work", `{}`)
	unknown(t, err, "broke while work ran")
	if n := calls.Load(); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

// A server may end the stream of an answer and give the rest on another. What it says to that is nothing about the call,
// which it has.
func TestAnAnswerThatCannotBeReadOnIsUnknown(t *testing.T) {
	for name, refuse := range map[string]func(h *mcpserver.HTTP, w http.ResponseWriter){
		"405": func(_ *mcpserver.HTTP, w http.ResponseWriter) { w.WriteHeader(405) },
		"401": func(_ *mcpserver.HTTP, w http.ResponseWriter) { w.WriteHeader(401) },
		"404": func(_ *mcpserver.HTTP, w http.ResponseWriter) {
			w.WriteHeader(404)
			_, _ = io.WriteString(w, noSession)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := ledger(t)
			h := mcpserver.New("tools", l).ServeHTTP(t, stateful...)
			m := start(t, map[string]Server{"files": {URL: h.URL}})
			tok := token(t, spec(t, m, "files", "write").Tool, `{"path":"x"}`)
			var calls atomic.Int32
			h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				body := bodyOf(r)
				switch {
				case bytes.Contains(body, []byte(`"tools/call"`)):
					calls.Add(1)
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, "id: 1\nretry: 10\ndata: \n\n")
				case r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") != "":
					refuse(h, w)
				default:
					return false
				}
				return true
			})
			_, err := m.Call(within(t), tok, nil)
			h.Intercept(nil)
			unknown(t, err, "not known")
			if n := calls.Load(); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// A server that always redirects is asked at the place it names; a call is not sent to find out.
func TestACallIsSentWhereTheServerIs(t *testing.T) {
	var calls atomic.Int32
	real := &rawServer{tools: `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`, answer: func(id, _ json.RawMessage) string {
		calls.Add(1)
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, id)
	}}
	h := mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
			return
		}
		real.ServeHTTP(w, r)
	}), "/mcp")
	m := start(t, map[string]Server{"wiki": {URL: h.URL}})
	if r := must(t, m, "wiki", "work", `{}`); r.Text != "done" || calls.Load() != 1 {
		t.Errorf("%+v after %d calls", r, calls.Load())
	}
	// Where one went that moves later is asked before the next call.
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/new" {
			r.URL.Path = "/mcp/"
			return false
		}
		http.Redirect(w, r, "/new", http.StatusPermanentRedirect)
		return true
	})
	_, err := call(t, m, "wiki", "work", `{}`)
	unknown(t, err, "308")
	if r := must(t, m, "wiki", "work", `{}`); r.Text != "done" || calls.Load() != 2 {
		t.Errorf("%+v after %d calls", r, calls.Load())
	}
}

// A restarted server is noticed by the stream of notifications, before anybody calls.
func TestARestartedHTTPServerIsNoticed(t *testing.T) {
	t.Parallel()
	s := mcpserver.New("tools", ledger(t))
	h := s.ServeHTTP(t, stateful...)
	opened := make(chan struct{}, 10)
	h.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			opened <- struct{}{}
		}
		return false
	})
	m := start(t, map[string]Server{"files": {URL: h.URL}})
	list(t, m)
	<-opened
	srv := m.byName["files"]
	srv.mu.Lock()
	old := srv.conn
	srv.mu.Unlock()
	// The server answers the new attempt of the stream as one that does not know the session.
	var dropped http.HandlerFunc = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && r.Header.Get("Mcp-Session-Id") == old.client.GetSessionId() {
			dropped(w, r)
			return true
		}
		return false
	})
	h.CutStreams()
	eventually(t, m, "files", func() bool {
		srv.mu.Lock()
		defer srv.mu.Unlock()
		return srv.conn != nil && srv.conn != old
	})
	h.Intercept(nil)
}

// A stream that comes back may have missed announcements: the tools are read again. Where a proxy cut it the server may hold the old one for a
// while, and refuse another; the session is as good as before.
func TestAReopenedStreamReadsTheToolsAgain(t *testing.T) {
	t.Parallel()
	s := mcpserver.New("tools", ledger(t))
	h := s.ServeHTTP(t, stateful...)
	opened := make(chan struct{}, 10)
	var asked atomic.Int32
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method != http.MethodGet:
		case asked.Add(1) == 2:
			w.WriteHeader(http.StatusConflict)
			return true
		default:
			opened <- struct{}{}
		}
		return false
	})
	m := start(t, map[string]Server{"files": {URL: h.URL}})
	list(t, m)
	<-opened
	srv := m.byName["files"]
	srv.mu.Lock()
	c := srv.conn
	srv.mu.Unlock()
	eventually(t, m, "files", func() bool { return c.read.Load() == c.announce.Load() })
	h.CutStreams()
	<-opened
	eventually(t, m, "files", func() bool { return c.announce.Load() > 0 && c.read.Load() == c.announce.Load() })
	if lost(c) {
		t.Error("the connection was given up")
	}
}

func TestACutSSEStreamIsReplaced(t *testing.T) {
	l := ledger(t)
	h := mcpserver.New("tools", l).ServeSSE(t)
	m := start(t, map[string]Server{"files": {URL: h.URL}}) // which way it speaks is found out
	tool := spec(t, m, "files", "write").Tool
	srv := m.byName["files"]
	srv.mu.Lock()
	old := srv.conn
	srv.mu.Unlock()
	h.CutStreams()
	<-old.gone.Done()
	if _, err := m.Call(within(t), token(t, tool, `{"path":"x"}`), nil); err != nil || l.Count("write", "did") != 1 {
		t.Errorf("%v; written %d times", err, l.Count("write", "did"))
	}
}

func TestRedirectsStayWithinTheOrigin(t *testing.T) {
	leaked := make(chan string, 10)
	thief := mcpserver.Serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked <- r.Header.Get("X-Api-Key")
	}), "/")
	real := &rawServer{tools: `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`}
	good := mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
			return
		}
		real.ServeHTTP(w, r)
	}), "/mcp")
	bad := mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	}), "/mcp")
	key := map[string]string{"X-Api-Key": "sekret-key"}
	m := start(t, map[string]Server{"good": {URL: good.URL, Headers: key}, "bad": {URL: bad.URL, Headers: key}})
	specs, faults, err := m.List(within(t))
	if err != nil || len(specs) != 1 || len(faults) != 1 || !strings.Contains(faults[0].Say, "redirects elsewhere") {
		t.Errorf("%d tools, faults %v, %v", len(specs), faults, err)
	}
	select {
	case k := <-leaked:
		t.Errorf("another host got the request, with key %q", k)
	default:
	}
}

// An input_required result without requests means "try again": mcp-go would send the call up to three times.
func TestACallIsNotSentAgainOnRequest(t *testing.T) {
	var calls atomic.Int32
	m, _ := rawAnswers(t, &rawServer{answer: func(id, _ json.RawMessage) string {
		calls.Add(1)
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{},"requestState":"s"}}`, id)
	}})
	r := must(t, m, "wiki", "work", `{}`)
	if !r.IsError || !strings.Contains(r.Text, "did not finish") || calls.Load() != 1 {
		t.Errorf("%+v after %d calls", r, calls.Load())
	}
}

func TestAnAnswerWithoutContentIsStillOneResult(t *testing.T) {
	for answer, want := range map[string]string{
		`{}`:                                     "[no output]",
		`{"content":null}`:                       "[no output]",
		`{"structuredContent":{"a":1}}`:          `{"a":1}`,
		`{"content":[{"type":"hologram"}]}`:      `[content of unknown type "hologram"]`,
		`{"content":[{"type":"text","text":7}]}`: "[no output]",
		`{"content":"text"}`:                     "[no output]",
		`{"resultType":"complete"}`:              "[no output]",
		`{"resultType":"table","content":[]}`:    "[no output]",
		`{"resultType":"task","taskId":"7"}`:     "The tool answered with what this bot does not know (task). It may have run, or may still run: do not repeat the call.",
		`[]`:                                     "The tool answered, but not with a result that can be read.",
		`null`:                                   "[no output]",
	} {
		m, _ := rawAnswers(t, &rawServer{answer: func(id, _ json.RawMessage) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, answer)
		}})
		if r := must(t, m, "wiki", "work", `{}`); r.Text != want {
			t.Errorf("%s: %+v, want %q", answer, r, want)
		}
	}
}

// How the connection to a program was lost is said, where the program did not end by itself.
func TestHowAProgramWasLost(t *testing.T) {
	for cause, want := range map[error]string{errTooBig: "the server sent more than can be read", errClosed: "it was disconnected"} {
		l := ledger(t)
		m := start(t, map[string]Server{"files": stdio(l)})
		done, tok := make(chan error, 1), token(t, spec(t, m, "files", "slow").Tool, `{}`)
		go func() { _, err := m.Call(within(t), tok, nil); done <- err }()
		waitFor(t, func() bool { return l.Count("slow", "began") == 1 })
		connOf(m).lose(cause)
		unknown(t, receive(t, "outcome", done), "The connection to the files server was lost while slow ran: "+want+".")
	}
}

func TestCallsOfClosingServersEnd(t *testing.T) {
	everyTransport(t, func(t *testing.T, m *Servers, l *mcpserver.Ledger, _ *mcpserver.Server) {
		tok := token(t, spec(t, m, "files", "slow").Tool, `{}`)
		done := make(chan error, 1)
		ctx := within(t)
		go func() { _, err := m.Call(ctx, tok, nil); done <- err }()
		waitFor(t, func() bool { return l.Count("slow", "began") == 1 })
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-done:
			unknown(t, err, "The connection to the files server was lost while slow ran", "not known")
		case <-ctx.Done():
			t.Fatal("the call hangs")
		}
	})
}

// Whoever gives a call up before it left takes the server from nobody else.
func TestACallGivenUpAtOnceLosesNoServer(t *testing.T) {
	l := ledger(t)
	m := start(t, map[string]Server{"files": {URL: mcpserver.New("tools", l).ServeHTTP(t, stateful...).URL, Shared: true}})
	tok := token(t, spec(t, m, "files", "echo").Tool, `{}`)
	c := standing(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Call(ctx, tok, nil); !errors.Is(err, agent.ErrNotRun) {
		t.Error(err)
	}
	if connOf(m) != c || lost(c) || l.Count("echo", "began") != 0 {
		t.Error("the server was given up")
	}
}
