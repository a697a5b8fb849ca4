package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// everyTransport runs a test over each of the four.
func everyTransport(t *testing.T, f func(t *testing.T, m *Servers, l *mcpserver.Ledger, s *mcpserver.Server)) {
	for _, kind := range []string{kindStdio, kindHTTP, kindSSE, kindInProcess, "stateless"} {
		t.Run(kind, func(t *testing.T) {
			l := ledger(t)
			s := mcpserver.New("tools", l)
			var cfg Server
			switch kind {
			case kindStdio:
				cfg, s = stdio(l), nil
			case kindHTTP:
				cfg = Server{URL: s.ServeHTTP(t, stateful...).URL}
			case "stateless":
				cfg = Server{URL: s.ServeHTTP(t).URL}
			case kindSSE:
				cfg = Server{URL: s.ServeSSE(t).URL, Transport: kindSSE}
			case kindInProcess:
				cfg = Server{InProcess: s.InProcess}
			}
			f(t, start(t, map[string]Server{"files": cfg}), l, s)
		})
	}
}

func TestToolsOverEveryTransport(t *testing.T) {
	everyTransport(t, func(t *testing.T, m *Servers, l *mcpserver.Ledger, s *mcpserver.Server) {
		echo := spec(t, m, "files", "echo")
		if got := string(echo.InputSchema); got != mcpserver.EchoSchema {
			t.Errorf("the schema of echo lost something:\n got %s\nwant %s", got, mcpserver.EchoSchema)
		}
		if echo.Hints.ReadOnly == nil || !*echo.Hints.ReadOnly || echo.Hints.Destructive == nil || *echo.Hints.Destructive {
			t.Errorf("hints of echo: %+v", echo.Hints)
		}
		if h := spec(t, m, "files", "fail").Hints; h.ReadOnly != nil && *h.ReadOnly {
			t.Errorf("a tool without annotations is read-only: %+v", h)
		}
		if echo.Server.Name != "files" || echo.Server.Description != "Instructions of tools." {
			t.Errorf("server shown as %+v", echo.Server)
		}

		// Numbers keep their text, and no argument is added.
		const args = `{"n":9007199254740993,"text":"héllo <b>"}`
		r := must(t, m, "files", "echo", args)
		var got, want map[string]json.RawMessage
		_ = json.Unmarshal([]byte(r.Text), &got)
		_ = json.Unmarshal([]byte(args), &want)
		if r.IsError || string(got["n"]) != string(want["n"]) || stringOf(got["text"]) != stringOf(want["text"]) || len(got) != 2 {
			t.Errorf("echo: %+v", r)
		}
		if r := must(t, m, "files", "echo", ""); r.Text != "{}" {
			t.Errorf("no arguments were sent as %q, want {}", r.Text)
		}
		if r := must(t, m, "files", "write", `{"path":"a"}`); r.IsError || l.Count("write", "did") != 1 {
			t.Errorf("write: %+v; the ledger has %d", r, l.Count("write", "did"))
		}

		// Every kind of answer is one result.
		if r := must(t, m, "files", "fail", `{}`); !r.IsError || r.Text != "the disk is full" {
			t.Errorf("fail: %+v", r)
		}
		if r := must(t, m, "files", "refuse", `{}`); !r.IsError || !strings.Contains(r.Text, "refused by the test server") || !strings.Contains(r.Text, "files") {
			t.Errorf("refuse: %+v", r)
		}
		r = must(t, m, "files", "image", `{}`)
		want2 := "look:\n[image image/png, 1,234 bytes]\n[audio audio/wav, 1,234 bytes]\n[resource file:///notes.txt text/plain, 6 bytes]\ninside\n[link big.bin file:///big.bin, application/octet-stream]"
		if r.Text != want2 {
			t.Errorf("image: %q, want %q", r.Text, want2)
		}
		r = must(t, m, "files", "structured", `{}`)
		if r.Text != `{"id":9007199254740993,"ok":true}` || string(r.Structured) != r.Text {
			t.Errorf("structured: %+v", r)
		}
		r = must(t, m, "files", "big", `{"n":5000000}`)
		if len(r.Text) > maxResult+100 || r.Omitted < 5000000-maxResult || !strings.Contains(r.Text, "characters left out") {
			t.Errorf("big: %d bytes, %d omitted", len(r.Text), r.Omitted)
		}
		if !strings.HasSuffix(t.Name(), kindInProcess) { // where nothing is read
			// Too large to read: known to have run.
			r = must(t, m, "files", "big", `{"n":9000000}`)
			if !r.IsError || !strings.Contains(r.Text, "big ran on the files server") || l.Count("big", "did") != 2 {
				t.Errorf("too big: %.100q; it ran %d times", r.Text, l.Count("big", "did"))
			}
		}
		// What comes after still works.
		if r := must(t, m, "files", "echo", `{"text":"x"}`); r.Text != `{"text":"x"}` {
			t.Errorf("echo after a large answer: %+v", r)
		}
		// Nobody can be asked: the call ends, and says so.
		if r := must(t, m, "files", "ask", `{}`); !r.IsError && r.Text != "cancel" {
			t.Errorf("ask: %+v", r)
		}
	})
}

func TestProgressReachesTheCaller(t *testing.T) {
	for _, kind := range []string{kindHTTP, "stateless", kindSSE, kindInProcess} {
		t.Run(kind, func(t *testing.T) {
			s := mcpserver.New("tools", ledger(t))
			cfg := Server{InProcess: s.InProcess}
			switch kind {
			case kindHTTP:
				cfg = Server{URL: s.ServeHTTP(t, stateful...).URL}
			case "stateless":
				cfg = Server{URL: s.ServeHTTP(t).URL}
			case kindSSE:
				cfg = Server{URL: s.ServeSSE(t).URL, Transport: kindSSE}
			}
			m := start(t, map[string]Server{"files": cfg})
			var last turn.Progress
			r, err := m.Call(within(t), token(t, spec(t, m, "files", "progress").Tool, `{"n":3}`), func(p turn.Progress) {
				if p.Done < last.Done {
					t.Errorf("progress went back from %v to %v", last, p)
				}
				if last = p; p.Done == 3 {
					for of, done := range map[string]float64{"nobody": 9, "p1": 2} { // of no call, and overtaken
						connOf(m).notified(mcp.JSONRPCNotification{Notification: mcp.Notification{Method: string(mcp.MethodNotificationProgress),
							Params: mcp.NotificationParams{AdditionalFields: map[string]any{"progressToken": of, "progress": done}}}})
					}
					s.Release()
				}
			})
			if err != nil || r.Text != "finished" {
				t.Fatalf("%+v, %v", r, err)
			}
			if want := (turn.Progress{Done: 3, Total: 3, Message: "step 3"}); last != want {
				t.Errorf("last progress %+v, want %+v", last, want)
			}
		})
	}
}

// R1
func TestEqualNamesOfTwoServersStayApart(t *testing.T) {
	la, lb := ledger(t), ledger(t)
	m := start(t, map[string]Server{
		"a": {InProcess: mcpserver.New("same", la).InProcess},
		"b": {InProcess: mcpserver.New("same", lb).InProcess},
	})
	all := list(t, m)
	for i := 1; i < len(all); i++ {
		p, q := all[i-1].Tool, all[i].Tool
		if p.Server > q.Server || p.Server == q.Server && p.Name >= q.Name {
			t.Errorf("not in order: %v before %v", p, q)
		}
	}
	must(t, m, "b", "write", `{"path":"x"}`)
	if la.Count("write", "did") != 0 || lb.Count("write", "did") != 1 {
		t.Error("the call went to the wrong server")
	}
}

// R9
func TestOnlyATokenRuns(t *testing.T) {
	l := ledger(t)
	m := start(t, map[string]Server{"files": {InProcess: mcpserver.New("x", l).InProcess}})
	list(t, m)
	if _, err := m.Call(within(t), agent.RunToken{}, nil); !errors.Is(err, agent.ErrNotRun) {
		t.Errorf("a token that nobody made: %v", err)
	}
	write := spec(t, m, "files", "write").Tool
	for name, change := range map[string]func(){
		"server":     func() { write.Server = "other" },
		"name":       func() { write.Name = "wrote" },
		"definition": func() { write.Definition = "0" },
	} {
		good := write
		change()
		if _, err := m.Call(within(t), token(t, write, `{"path":"x"}`), nil); !errors.Is(err, agent.ErrNotRun) {
			t.Errorf("another %s: %v", name, err)
		}
		write = good
	}
	if n := l.Count("write", "did"); n != 0 {
		t.Errorf("write ran %d times", n)
	}
}

func TestAChangedToolIsNotRun(t *testing.T) {
	everyTransport(t, func(t *testing.T, m *Servers, l *mcpserver.Ledger, s *mcpserver.Server) {
		old := spec(t, m, "files", "mutable")
		tok := token(t, old.Tool, `{}`)
		must(t, m, "files", "change", `{}`)
		eventually(t, m, "files", func() bool { return spec(t, m, "files", "mutable").Tool != old.Tool })
		_, err := m.Call(within(t), tok, nil)
		if !errors.Is(err, agent.ErrNotRun) || !strings.Contains(err.Error(), "the tool changed since it was approved") {
			t.Errorf("the old definition: %v", err)
		}
		if err := m.Check(within(t), old.Tool, json.RawMessage(`{}`)); err == nil {
			t.Error("Check took the old definition")
		}
		if l.Count("mutable", "did") != 0 {
			t.Error("it ran")
		}
		if r := must(t, m, "files", "mutable", `{}`); r.Text != "Version 2." {
			t.Errorf("the new definition: %+v", r)
		}
	})
}

// What changes after the tools were read, and before the server can tell anybody, is found when it can.
func TestAChangeThatNobodyWasToldOf(t *testing.T) {
	for _, kind := range []string{kindHTTP, "stateless"} {
		t.Run(kind, func(t *testing.T) {
			s := mcpserver.New("tools", ledger(t))
			opts := stateful
			if kind == "stateless" {
				opts = nil
			}
			h := s.ServeHTTP(t, opts...)
			changed := make(chan struct{})
			var streams atomic.Int32
			h.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == string(mcp.MethodSubscriptionsListen) {
					streams.Add(1)
					<-changed
				}
				return false
			})
			m := start(t, map[string]Server{"files": {URL: h.URL}})
			old := spec(t, m, "files", "mutable").Tool
			if kind == kindHTTP { // of the older version, nobody asks again and again for a stream of the newer
				over := make(chan bool, 1)
				go func() { connOf(m).tasks.Wait(); over <- true }()
				receive(t, "end of asking", over)
			}
			s.Change()
			close(changed)
			eventually(t, m, "files", func() bool { return spec(t, m, "files", "mutable").Tool != old })
			if streams.Load() == 0 {
				t.Error("there was no stream to wait for")
			}
		})
	}
}

// An announced change counts from the announcement, not from when we have read the new list.
func TestACallWaitsForAnAnnouncedList(t *testing.T) {
	s := mcpserver.New("x", ledger(t))
	m := start(t, map[string]Server{"files": {InProcess: s.InProcess}})
	old := spec(t, m, "files", "mutable").Tool
	srv := m.byName["files"]
	srv.mu.Lock()
	c := srv.conn
	srv.mu.Unlock()
	c.announce.Add(1) // heard, but its reload has not begun
	done := make(chan error, 1)
	ctx := within(t)
	tok := token(t, old, `{}`)
	go func() { _, err := m.Call(ctx, tok, nil); done <- err }()
	s.Change()
	if err := <-done; !errors.Is(err, agent.ErrNotRun) {
		t.Errorf("the call used a list that was known to be stale: %v", err)
	}
}

// Some servers announce a change whenever their tools are read: a call does not wait for that to end.
func TestAServerThatAlwaysAnnouncesIsCalled(t *testing.T) {
	m := start(t, map[string]Server{"restless": rawStdio("restless")})
	if r := must(t, m, "restless", "work", `{}`); !r.IsError || !strings.Contains(r.Text, "no such method") {
		t.Errorf("%+v", r)
	}
}

func TestADeadServerIsAFaultAndNoMore(t *testing.T) {
	refused := mcpserver.Serve(t, http.NotFoundHandler(), "/mcp")
	log := &logged{}
	answers := func(method string, status int, body string) Server {
		return Server{URL: mcpserver.Serve(t, &rawServer{tools: `{"tools":[]}`, wrap: func(w http.ResponseWriter, r rawRequest) bool {
			if r.Method == method {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, strings.Replace(body, `"id":1`, `"id":`+string(r.ID), 1))
			}
			return r.Method == method
		}}, "/").URL}
	}
	servers := map[string]Server{
		"files":   {InProcess: mcpserver.New("x", ledger(t)).InProcess},
		"missing": {Command: []string{"/no/such/program"}},
		"nowhere": {Command: []string{"no-such-program-on-the-path"}},
		"lost":    {Command: []string{os.Args[0]}, Dir: "/no/such/dir"},
		"dies":    {Command: []string{os.Args[0]}, Env: map[string]string{"NOD_TEST_RAW": "dies", "TOKEN": "sekret-token"}},
		"wiki":    {URL: refused.URL + "/sekret-in-the-path?key=sekret-key", Headers: map[string]string{"Authorization": "Bearer sekret-bearer"}},
		"notmcp":  {URL: mcpserver.Serve(t, http.NotFoundHandler(), "/").URL},
		"absent":  {InProcess: func() transport.Interface { return nil }},
		"wikisse": {URL: refused.URL, Transport: kindSSE},
		"older":   {URL: mcpserver.New("x", ledger(t)).ServeSSE(t).URL, Transport: kindHTTP},
		"filter":  answers("initialize", http.StatusForbidden, ""), "page": answers("initialize", http.StatusOK, "<p>"),
		"moved": answers("tools/list", http.StatusNotFound, ""), "unlisted": answers("tools/list", http.StatusOK, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603}}`),
		"nolist": rawStdio("nolist"),
		"denied": {URL: mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "bad "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		}), "/").URL, Headers: map[string]string{"Authorization": "Bearer sekret-bearer"}},
	}
	refused.Stop() // last, so that none of the others gets its port
	m := startWith(t, quick, log, servers)
	specs, faults, err := m.List(within(t))
	if err != nil || len(specs) == 0 {
		t.Fatalf("%d tools, %v", len(specs), err)
	}
	got := map[string]string{}
	for _, f := range faults {
		got[f.Server] = f.Say
	}
	for server, want := range map[string]string{
		"missing": `the command "/no/such/program" was not found`,
		"nowhere": `the command "no-such-program-on-the-path" was not found`,
		"lost":    `its directory was not found`,
		"dies":    `its process stopped (exit status 7)`,
		"wiki":    `connection refused`,
		"notmcp":  `it does not take MCP requests at that address`,
		"denied":  `it refused our credentials (401)`,
		"absent":  `it is not there`,
		"wikisse": `connection refused`, "older": `it does not take MCP requests at that address`,
		"filter": `it answered HTTP 403`, "page": `it did not answer as an MCP server does`,
		"moved": `it answered HTTP 404`, "unlisted": `it did not answer as an MCP server does`, "nolist": `its list of tools is not a list`,
	} {
		if want = "The " + server + " server cannot be used now: " + want + ". It is tried again."; got[server] != want {
			t.Errorf("fault of %s:\n got %q\nwant %q", server, got[server], want)
		}
	}
	if len(faults) != len(servers)-1 {
		t.Errorf("%d faults, want one of each but files: %v", len(faults), faults)
	}
	// What does not change is a warning once.
	waitFor(t, func() bool { return strings.Contains(log.String(), `msg="still not connected" mcp_server=missing`) })
	if n := strings.Count(log.String(), `level=WARN msg="not connected" mcp_server=missing`); n != 1 {
		t.Errorf("%d warnings:\n%s", n, log)
	}
	if strings.Contains(log.String(), "sekret") {
		t.Errorf("a secret is in the log:\n%s", log)
	}
	if !regexp.MustCompile(`not connected.*cannot read token \[secret\]`).MatchString(log.String()) { // one line says both, at any level
		t.Errorf("stderr is not in the log:\n%s", log)
	}
}

func TestListDoesNotWaitForTheSlow(t *testing.T) {
	slow := rawStdio("mute")
	slow.ConnectTimeout = time.Nanosecond // over before it began, as seen from List
	p := quick
	p.await, p.reconnect.First, p.reconnect.Most = time.Hour, time.Hour, time.Hour // one attempt
	m := startWith(t, p, nil, map[string]Server{"mute": slow, "files": {InProcess: mcpserver.New("x", ledger(t)).InProcess}})
	specs, faults, err := m.List(within(t))
	if err != nil || len(specs) == 0 || len(faults) != 1 || faults[0].Server != "mute" {
		t.Fatalf("%d tools, faults %v, %v", len(specs), faults, err)
	}
}

// A server that refuses is asked once an attempt, the one way that is configured or known; only what a call is, is cancelled there.
func TestAnAttemptIsOne(t *testing.T) {
	p := quick
	p.await, p.reconnect.First, p.reconnect.Most = time.Hour, time.Hour, time.Hour // one attempt
	asked, ends := make(chan string, 100), make(chan struct{})
	raw := &rawServer{seen: neverCancelled(t), status: func(method string, _ http.ResponseWriter) bool {
		if method == "tools/list" {
			<-ends
		}
		return method == "tools/list"
	}}
	m := startWith(t, p, nil, map[string]Server{
		"refuses": {URL: mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Method
			w.WriteHeader(http.StatusServiceUnavailable)
		}), "/").URL},
		"late": {URL: mcpserver.Serve(t, raw, "/").URL, ConnectTimeout: time.Second},
	})
	_, faults, err := m.List(within(t))
	close(ends)
	if err != nil || len(faults) != 2 || !strings.Contains(faults[0].Say, "it did not answer in time") || !strings.Contains(faults[1].Say, "it answered HTTP 503") {
		t.Errorf("%v, %v", faults, err)
	}
	if <-asked+<-asked != "POSTPOST" || len(asked) > 0 { // the probe and initialize
		t.Errorf("%d requests more", len(asked))
	}
}

// Between the loss of a connection and the next one nothing is offered: not what was there before, and nobody is told that it is there.
func TestWhatIsLostIsNotOffered(t *testing.T) {
	p := quick
	p.refresh = time.Millisecond
	h := mcpserver.New("x", ledger(t)).ServeHTTP(t)
	asked, ends := make(chan struct{}), make(chan struct{})
	var lists atomic.Int32
	h.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if _, list := idOf(bodyOf(r), "tools/list"); list && lists.Add(1) == 2 { // run reads, so it does not know yet
			close(asked)
			<-ends
		}
		return false
	})
	m := startWith(t, p, nil, map[string]Server{"files": {URL: h.URL}})
	list(t, m)
	receive(t, "list", asked)
	connOf(m).lose(errors.New("pulled"))
	over, stop := context.WithCancel(t.Context())
	stop()
	if err := m.Ready(over); err == nil {
		t.Error("who comes now does not wait")
	}
	m.patience = 0
	specs, faults, err := m.List(t.Context())
	if err != nil || len(specs) > 0 || len(faults) != 1 || !strings.Contains(faults[0].Say, "the connection was lost") {
		t.Errorf("%d tools, %v, %v", len(specs), faults, err)
	}
	close(ends)
	eventually(t, m, "files", up(m, "files"))
}

// Who comes waits for a server that was lost just now, but not for one that is lost again and again.
func TestListDoesNotWaitForWhatNeverStays(t *testing.T) {
	p, log := quick, &logged{}
	p.await = time.Hour
	p.reconnect = backoff.Exponential{First: time.Millisecond, Factor: 1_000_000_000, Most: time.Hour}
	m := startWith(t, p, log, map[string]Server{"brief": rawStdio("brief")})
	eventually(t, m, "brief", func() bool { return strings.Count(log.String(), "msg=connected") == 2 && !up(m, "brief")() })
	if _, faults, err := m.List(within(t)); err != nil || len(faults) != 1 {
		t.Errorf("%v, faults %v", err, faults)
	}
}

func TestListHonoursItsContext(t *testing.T) {
	m := start(t, map[string]Server{"mute": rawStdio("mute")})
	ctx, stop := context.WithCancel(within(t))
	stop()
	if _, _, err := m.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("List: %v", err)
	}
}

func TestBeforeStartAndAfterClose(t *testing.T) {
	log := &logged{}
	m, err := New(Config{Log: log.logger(), Servers: map[string]Server{"files": {InProcess: mcpserver.New("x", ledger(t)).InProcess}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, faults, err := m.List(within(t)); err != nil || len(faults) != 1 || !strings.Contains(faults[0].Say, "not connected yet") {
		t.Errorf("before Start: %v, %v", faults, err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if err := m.Ready(over); err != nil {
		t.Error("who comes before Start waits for what nobody begins")
	}
	ctx, stop := context.WithCancel(within(t))
	ran := make(chan error, 1)
	go func() {
		m.Start()
		<-ctx.Done()
		ran <- m.Close()
	}()
	eventually(t, m, "files", up(m, "files"))
	tool := spec(t, m, "files", "write").Tool
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	_, err = m.Call(ctx, token(t, tool, `{"path":"x"}`), nil) // which does not wait
	notRunAt(t, err, "The files server is being disconnected.")
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("to be closed is no trouble: %s", log)
	}
	m.Start() // does nothing
	if _, faults, err := m.List(within(t)); err != nil || len(faults) != 1 {
		t.Errorf("after Close: %v, %v", faults, err)
	}
	if m, err = New(Config{Servers: map[string]Server{"files": {URL: "http://127.0.0.1:1"}}}); err != nil || m.Close() != nil {
		t.Fatal(err)
	}
	m.Start() // neither does it where it never had: nobody would wait for its end
	if _, faults, err := m.List(within(t)); err != nil || len(faults) != 1 || !strings.Contains(faults[0].Say, "not connected yet") {
		t.Errorf("closed before Start: %v, %v", faults, err)
	}
}

func TestConfigErrorsNameTheirFields(t *testing.T) {
	_, err := New(Config{Servers: map[string]Server{
		"none": {}, "both": {Command: []string{"x"}, URL: "http://x/"}, "file": {URL: "file:///etc/passwd"},
		"odd": {URL: "http://x/", Transport: "tcp"}, "mixed": {URL: "http://x/", Transport: "stdio"},
		"late": {URL: "http://x/", Timeout: -1}, "key": {URL: "ht tp://x/?key=sekret"}, "ok": {URL: "https://x/mcp"},
		"host": {URL: "http:///x"}, "ftp": {URL: "ftp://x/"}, "slow": {URL: "http://x/", ConnectTimeout: -1}, "ok too": {Command: []string{"x"}, Transport: "stdio"},
		"proc": {InProcess: func() transport.Interface { return nil }, Transport: "http"},
	}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"mcp.servers.none:", "mcp.servers.both:", "mcp.servers.file.url:", "mcp.servers.odd.transport:",
		"mcp.servers.mixed.transport:", "mcp.servers.late.timeout:", "mcp.servers.key.url:", "mcp.servers.host.url:", "mcp.servers.ftp.url:", "mcp.servers.slow.timeout:", "mcp.servers.proc.transport:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "sekret") || strings.Contains(err.Error(), "servers.ok") {
		t.Errorf("%v", err)
	}
}

// A rule, or a preview, that names no tool of its server is said when the server's tools are known, once for as long as they stay the same.
func TestMissingToolsAreLogged(t *testing.T) {
	log := &logged{}
	s := mcpserver.New("x", ledger(t))
	m := startWith(t, quick, log, map[string]Server{"files": {InProcess: s.InProcess, Named: []string{"echo", "wirte"},
		Preview: map[string]string{"echo": "raed"}}})
	list(t, m)
	c := standing(t, m)
	was := c.read.Load()
	c.toolsChanged()
	eventually(t, m, "files", func() bool { return c.read.Load() == was+1 })
	for _, name := range []string{"wirte", "raed"} { // they come after all
		s.MCP.AddTool(mcp.NewTool(name), nil)
	}
	eventually(t, m, "files", func() bool { return m.Check(t.Context(), permission.Tool{Server: "files", Name: "raed"}, nil) == nil })
	for says, tools := range map[string]string{"they protect nothing": "tools=[wirte]", "no card shows what changes": "tools=[raed]"} {
		if got := log.String(); strings.Count(got, says) != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, tools) {
			t.Errorf("the log says:\n%s", got)
		}
	}
}

// What the model hears of a call that cannot be made, before anybody is asked about it.
func TestWhatACheckSays(t *testing.T) {
	m := start(t, map[string]Server{"files": {InProcess: mcpserver.New("x", ledger(t)).InProcess}})
	echo := spec(t, m, "files", "echo").Tool
	says := func(want string, tool permission.Tool) {
		t.Helper()
		if err := m.Check(within(t), tool, json.RawMessage(`{"text":"x","n":1}`)); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", tool, err, want)
		}
	}
	says("", echo)
	says("", permission.Tool{Server: "files", Name: "echo"})
	says(`the files server has no tool "no"`, permission.Tool{Server: "files", Name: "no"})
	says(`the tool "echo" changed`, permission.Tool{Server: "files", Name: "echo", Definition: "0"})
	says(`there is no server "no"`, permission.Tool{Server: "no", Name: "echo"})
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	says("The files server is being disconnected.", echo)
}
