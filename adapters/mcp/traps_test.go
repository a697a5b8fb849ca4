package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// mcp-go settles on 2026-07-28 with a server that answers server/discover but does not list that version, and
// then every request fails.
func TestNegotiationBelievesTheServersList(t *testing.T) {
	s := &rawServer{tools: `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`}
	var modern atomic.Int32
	h := mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var req rawRequest
		_ = json.Unmarshal(body, &req)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		w.Header().Set("Content-Type", "application/json")
		switch {
		case req.Method == "server/discover":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2025-11-25","2025-06-18"],"capabilities":{"tools":{}}}}`, req.ID)
		case r.Header.Get("Mcp-Protocol-Version") == "2026-07-28":
			modern.Add(1)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"unsupported protocol version"}}`, req.ID)
		default:
			s.ServeHTTP(w, r)
		}
	}), "/")
	m := start(t, map[string]Server{"wiki": {URL: h.URL}})
	if got := list(t, m); len(got) != 1 || modern.Load() != 0 {
		t.Errorf("%d tools; %d requests in a version that the server does not speak", len(got), modern.Load())
	}
}

// Old servers ignore what they do not know, server/discover included, or end at it: those of the Rust SDK, and of the Python SDK before
// 1.9.4.
func TestAServerThatDoesNotKnowTheProbeIsReached(t *testing.T) {
	p := quick
	p.discover = 10 * time.Millisecond
	m := startWith(t, p, nil, map[string]Server{"old": rawStdio("old")})
	if got := list(t, m); len(got) != 1 {
		t.Errorf("%d tools", len(got))
	}
	if got := list(t, start(t, map[string]Server{"strict": rawStdio("strict")})); len(got) != 1 {
		t.Errorf("%d tools of one that ended", len(got))
	}
}

// One malformed tool fails mcp-go's whole list, and its types lose most of every schema.
func TestOneBadToolCostsOnlyItself(t *testing.T) {
	const lossless = `{"type":["object","null"],"oneOf":[{"required":["a"]}],"x-own":{"n":1.50},"properties":{"a":{"description":"typeless"}}}`
	m, _ := rawAnswers(t, &rawServer{tools: `{"tools":[
		{"name":"good","inputSchema":` + lossless + `},
		{"name":"hinted","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}},
		{"name":"odd","inputSchema":{"type":"object"},"icons":"none","execution":7},
		{"name":"bare"},
		{"name":"misspelt","inputSchema":{"type":"object","properties":{"a":{"type":"strnig"}}}},
		{"name":"remote","inputSchema":{"$ref":"http://127.0.0.1:1/schema"}},
		{"name":"good","inputSchema":{"type":"object"},"description":"an impostor"},
		{"name":"listed","inputSchema":[]}, 7, {"description":"nameless"}]}`})
	specs, faults, err := m.List(within(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range specs {
		names = append(names, s.Tool.Name)
		if s.Tool.Name == "good" && string(s.InputSchema) != lossless {
			t.Errorf("the schema lost something: %s", s.InputSchema)
		}
		if s.Tool.Name == "hinted" && s.Hints.ReadOnly != nil {
			t.Error("a hint that is no boolean counts")
		}
	}
	if got := strings.Join(names, " "); got != "bare good hinted odd" {
		t.Errorf("offered: %s", got)
	}
	if len(faults) != 1 || faults[0].Server != "wiki" {
		t.Fatalf("faults: %v", faults)
	}
	for _, want := range []string{
		"The tool misspelt of the server wiki is not offered: its input schema is not valid JSON Schema: at /properties/a/type",
		"The tool remote of the server wiki is not offered: its input schema is not valid JSON Schema: it refers to another document, which is never loaded.",
		"The tool good of the server wiki is not offered: another tool before it has the same name.",
		"3 more tools of wiki are not offered either.",
	} {
		if !strings.Contains(faults[0].Say, want) {
			t.Errorf("%q does not say %q", faults[0].Say, want)
		}
	}
}

// Since 2026-07-28 arguments that a schema marks are mirrored into headers, for which mcp-go needs its own list
// of the tools: a malformed one must not cost it the others.
func TestMarkedArgumentsReachTheHeaders(t *testing.T) {
	header, capabilities := make(chan string, 1), `{"tools":{}}`
	h := mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var req rawRequest
		_ = json.Unmarshal(body, &req)
		result := `{}`
		switch req.Method {
		case "server/discover":
			result = `{"supportedVersions":["2026-07-28"],"capabilities":` + capabilities + `}`
		case "subscriptions/listen":
			if !strings.Contains(capabilities, "listChanged") {
				t.Error("it is asked to tell of changes, which it does not offer")
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not after all"}}`, req.ID)
			return
		case "tools/list":
			result = `{"tools":[{"name":"bad","inputSchema":{"type":["object"]},"annotations":{"readOnlyHint":"yes"}},
				{"name":"work","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`
		case "tools/call":
			header <- r.Header.Get("Mcp-Param-Region")
			result = `{"content":[]}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
	}), "/")
	for _, capabilities = range []string{capabilities, `{}`, `{"tools":{"listChanged":true}}`} {
		m := start(t, map[string]Server{"files": {URL: h.URL}})
		must(t, m, "files", "work", `{"region":"north"}`)
		if got := <-header; got != "north" {
			t.Errorf("header %q", got)
		}
		over := make(chan bool, 1)
		go func() { connOf(m).tasks.Wait(); over <- true }()
		receive(t, "end of asking", over) // who refuses is not asked again
		_ = m.Close()
	}
}

// A tool that breaks while we are connected is withdrawn; the others stay.
func TestAToolThatBreaksLaterIsWithdrawn(t *testing.T) {
	s, log := mcpserver.New("x", ledger(t)), &logged{}
	m := startWith(t, quick, log, map[string]Server{"files": {InProcess: s.InProcess}})
	list(t, m)
	s.Break("write")
	eventually(t, m, "files", func() bool {
		_, say := m.byName["files"].state()
		return strings.Contains(say, "The tool write of the server files is not offered")
	})
	old := spec(t, m, "files", "mutable").Tool
	s.Change()
	eventually(t, m, "files", func() bool { return spec(t, m, "files", "mutable").Tool != old })
	s.MCP.DeleteTools("write")
	eventually(t, m, "files", func() bool { _, say := m.byName["files"].state(); return say == "" })
	if n := strings.Count(log.String(), "tools are not offered"); n != 1 {
		t.Errorf("that is logged %d times: %s", n, log)
	}
}

func TestPagesOfTools(t *testing.T) {
	for name, c := range map[string]struct {
		next  func(cursor string) string // of the page at cursor
		tools int
		fault string
	}{
		"three":        {func(c string) string { return map[string]string{"": "a", "a": "b"}[c] }, 3, ""},
		"in a circle":  {func(c string) string { return map[string]string{"": "a", "a": "b", "b": "a"}[c] }, 3, ""},
		"without end":  {func(c string) string { return c + "x" }, 0, "its list of tools does not end"},
		"without list": {nil, 0, "its list of tools is not a list"},
		"no tools":     {func(string) string { return "no" }, 0, ""},
		"breaks off":   {func(c string) string { return map[string]string{"": "a", "a": "no"}[c] }, 0, "it did not answer as an MCP server does"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &rawServer{tools: `{"tools":{}}`}
			h := mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				var req rawRequest
				var params struct{ Cursor string }
				_ = json.Unmarshal(body, &req)
				_ = json.Unmarshal(req.Params, &params)
				if req.Method != "tools/list" || c.next == nil {
					s.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				if c.next(params.Cursor) == "no" {
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, req.ID)
					return
				}
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t%s","inputSchema":{"type":"object"}}],"nextCursor":%q}}`, req.ID, params.Cursor, c.next(params.Cursor))
			}), "/")
			specs, faults, err := start(t, map[string]Server{"wiki": {URL: h.URL}}).List(within(t))
			if err != nil || len(specs) != c.tools || (c.fault == "") != (len(faults) == 0) || len(faults) > 0 && !strings.Contains(faults[0].Say, c.fault) {
				t.Errorf("%d tools, %v, %v", len(specs), faults, err)
			}
		})
	}
}

// Servers announce changes in bursts (server-everything: four in a row). A burst is not as many lists.
func TestABurstOfAnnouncementsIsFewLists(t *testing.T) {
	t.Parallel()
	const burst = 50
	p := quick
	p.debounce = time.Second
	s := mcpserver.New("x", ledger(t))
	m := startWith(t, p, nil, map[string]Server{"files": {InProcess: s.InProcess}})
	list(t, m)
	c := standing(t, m)
	lists, was := 0, c.read.Load()
	for range burst {
		c.notified(mcp.JSONRPCNotification{Notification: mcp.Notification{Method: mcp.MethodNotificationToolsListChanged}})
	}
	eventually(t, m, "files", func() bool { lists++; return c.read.Load() == was+burst })
	if lists >= burst {
		t.Errorf("%d lists for one burst of %d", lists, burst)
	}
}

// What stands before a server may cut or refuse every long stream. The tools can be used all the same, and are listed anew instead.
func TestAServerWhoseStreamsEndAtOnceIsUsed(t *testing.T) {
	t.Parallel()
	s := mcpserver.New("x", ledger(t))
	whole := mcpgo.NewStreamableHTTPServer(s.MCP)
	streams := make(chan struct{}, 100)
	h := mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if strings.Contains(string(body), `"subscriptions/listen"`) {
			streams <- struct{}{}
			http.Error(w, "no streams here", http.StatusBadGateway)
			return
		}
		whole.ServeHTTP(w, r)
	}), "/mcp")
	log := &logged{}
	m := startWith(t, quick, log, map[string]Server{"files": {URL: h.URL, Transport: kindHTTP}})
	list(t, m)
	c := connOf(m)
	for range 4 {
		<-streams
	}
	if must(t, m, "files", "echo", `{}`); connOf(m) != c || strings.Contains(log.String(), "not connected") {
		t.Error("the server was given up")
	}
}

// A server may end its stream of notifications at once, each time: it is opened ever more rarely, and not every second for ever.
func TestAStreamThatNeverLastsIsOpenedRarely(t *testing.T) {
	t.Parallel()
	asked := make(chan time.Time, 100)
	h := mcpserver.New("tools", ledger(t)).ServeHTTP(t, stateful...)
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		asked <- time.Now()
		w.Header().Set("Content-Type", "text/event-stream")
		return true
	})
	m := start(t, map[string]Server{"files": {URL: h.URL}})
	list(t, m)
	<-asked
	<-asked
	third := <-asked
	if waited := (<-asked).Sub(third); waited < 2500*time.Millisecond {
		t.Errorf("it was asked for again after %v", waited)
	}
	must(t, m, "files", "echo", `{}`)
}

func TestAJSONAnswerTooLargeIsKnownToHaveRun(t *testing.T) {
	m, _ := rawAnswers(t, &rawServer{answer: func(id, _ json.RawMessage) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, strings.Repeat("a", maxAnswer))
	}})
	if r := must(t, m, "wiki", "work", `{}`); !r.IsError || !strings.Contains(r.Text, "work ran on the wiki server") {
		t.Errorf("%.200q", r.Text)
	}
}

// mcp-go's SSE takes a ping of the server for the answer to the request of ours with the same id.
func TestAPingOverSSEIsNoAnswer(t *testing.T) {
	s := &rawServer{tools: `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`,
		answer: func(id, _ json.RawMessage) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, id)
		}}
	events := make(chan string, 100)
	var once sync.Once
	h := mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: endpoint\ndata: /message\n\n")
			w.(http.Flusher).Flush()
			for {
				select {
				case e := <-events:
					fmt.Fprintf(w, "event: message\ndata: %s\n\n", e)
					w.(http.Flusher).Flush()
				case <-r.Context().Done():
					return
				}
			}
		}
		body, _ := io.ReadAll(r.Body)
		var req rawRequest
		_ = json.Unmarshal(body, &req)
		w.WriteHeader(http.StatusAccepted)
		if req.Method == "tools/call" {
			once.Do(func() {
				for id := range 20 {
					events <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id)
				}
			})
		}
		if a := s.reply(req); a != "" {
			events <- a
		}
	}), "/sse")
	m := start(t, map[string]Server{"wiki": {URL: h.URL, Transport: kindSSE}})
	if r := must(t, m, "wiki", "work", `{}`); r.Text != "done" {
		t.Errorf("%+v", r)
	}
}

// A server that shuts down in good order refuses new requests first and answers what it has.
func TestAnHTTPCallOutlivesItsConnection(t *testing.T) {
	l := ledger(t)
	s := mcpserver.New("tools", l)
	m := start(t, map[string]Server{"files": {URL: s.ServeHTTP(t, stateful...).URL}})
	tok := token(t, spec(t, m, "files", "slow").Tool, `{}`)
	type end struct {
		text string
		err  error
	}
	done := make(chan end, 1)
	ctx := within(t)
	go func() { r, err := m.Call(ctx, tok, nil); done <- end{r.Text, err} }()
	waitFor(t, func() bool { return l.Count("slow", "began") == 1 })
	srv := m.byName["files"]
	srv.mu.Lock()
	old := srv.conn
	srv.mu.Unlock()
	old.lose(errStatus(http.StatusNotFound))
	eventually(t, m, "files", func() bool {
		srv.mu.Lock()
		defer srv.mu.Unlock()
		return srv.conn != nil && srv.conn != old
	})
	s.Release()
	if e := <-done; e.err != nil || e.text != "done" {
		t.Errorf("%+v", e)
	}
}

// R81
func TestWhatPeopleSeeOfAServer(t *testing.T) {
	m, err := New(Config{Servers: map[string]Server{
		"ours": {URL: "http://x/", Description: "Our wiki", Icon: "📚", Trusted: true}, "theirs": {URL: "http://x/"},
	}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var said mcp.InitializeResult
	said.ServerInfo.Icons = []mcp.Icon{{Src: "javascript:alert(1)"}, {Src: "http://plain/x.png"}, {Src: "https://x/\u202e.png"}, {Src: "https://x/" + strings.Repeat("x", maxIcon)}, {Src: "https://x/icon.png"}}
	said.Instructions = "Line one\n\u202eline two " + strings.Repeat("x", 500)
	got := m.byName["theirs"].shown(said)
	if got.Icon != "https://x/icon.png" || !strings.HasPrefix(got.Description, "Line one line two x") || len([]rune(got.Description)) != 200 || got.Trusted {
		t.Errorf("%+v", got)
	}
	if got := m.byName["ours"].shown(said); got.Icon != "📚" || got.Description != "Our wiki" || !got.Trusted || got.Name != "ours" {
		t.Errorf("%+v", got)
	}
	said.ServerInfo.Icons = []mcp.Icon{{Src: "data:image/png;base64,AAAA"}}
	if got := m.byName["theirs"].shown(said); got.Icon != "data:image/png;base64,AAAA" {
		t.Errorf("%+v", got)
	}
}
