package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/schema"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

func TestLinesReplaceWhatIsTooLong(t *testing.T) {
	long := strings.Repeat(`x\"{[`, 300)
	for name, c := range map[string]struct {
		in, want string
		sse      bool
	}{
		"short":           {"{\"id\":1}\n", "{\"id\":1}\n", false},
		"no newline":      {`{"id":1}`, `{"id":1}`, false},
		"id in front":     {`{"jsonrpc":"2.0","id":12,"result":{"id":3,"t":"` + long + `"}}` + "\nnext\n", "@12\nnext\n", false},
		"id behind":       {`{"result":{"id":3,"t":"` + long + `"},"jsonrpc":"2.0", "id" : "a-b" }` + "\nnext\n", "@\"a-b\"\nnext\n", false},
		"id in a list":    {`{"result":[{"id":3},"` + long + `"],"id":4}` + "\n", "@4\n", false},
		"notification":    {`{"method":"x","params":{"id":3,"t":"` + long + `"}}` + "\nnext\n", "\nnext\n", false},
		"request":         {`{"id":5,"method":"x","params":"` + long + `"}` + "\n", "\n", false},
		"no newline long": {`{"id":6,"result":"` + long + `"}`, "@6\n", false},
		"endless id":      {`{"id":"` + strings.Repeat("a", 2000) + `"}` + "\n", `@"` + strings.Repeat("a", 63) + "\n", false},
		"text with marks": {`{"a":"x,\"id\":9,y: {","method,":"","id":8,"result":"` + long + `"}` + "\n", "@8\n", false},
		"not json":        {long + "\nnext\n", "\nnext\n", false},
		"event":           {"event: message\ndata: {\"id\":7,\"result\":\"" + long + "\"}\n\ndata: x\n\n", "event: message\ndata: @7\n\ndata: x\n\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLines(strings.NewReader(c.in), c.sse)
			l.max = 1000
			got, err := io.ReadAll(l)
			want := c.want
			if i := strings.Index(want, "@"); i >= 0 {
				id, rest, _ := strings.Cut(want[i+1:], "\n")
				want = want[:i] + fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"the answer was too large"}}`, id, codeTooBig) + "\n" + rest
			}
			if err != nil || string(got) != want {
				t.Errorf("%q, %v\nwant %q", got, err, want)
			}
		})
	}
}

func TestLinesEndWhatDoesNotEnd(t *testing.T) {
	l := newLines(strings.NewReader(strings.Repeat("a", 1<<20)), false)
	l.max, l.skip = 1000, 200_000
	if _, err := io.ReadAll(l); err != errTooBig {
		t.Errorf("one endless line: %v", err)
	}
	l = newLines(strings.NewReader(strings.Repeat("data: aaaa\n", 1000)), true)
	l.max = 1000
	if _, err := io.ReadAll(l); err != errTooBig {
		t.Errorf("one endless event: %v", err)
	}
	l = newLines(strings.NewReader(strings.Repeat("data: aaaa\n\n", 1000)), true)
	l.max = 1000
	if _, err := io.ReadAll(l); err != nil {
		t.Errorf("many events: %v", err)
	}
	l = newLines(strings.NewReader(strings.Repeat("aaaa\n", 1000)), false)
	l.max = 1000
	if _, err := io.ReadAll(l); err != nil {
		t.Errorf("many messages: %v", err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`+"\n"), false)
	f.Fuzz(func(t *testing.T, in []byte, sse bool) {
		l := newLines(bytes.NewReader(in), sse)
		l.max = 64
		out, _ := io.ReadAll(l)
		for _, line := range bytes.Split(out, []byte("\n")) {
			if len(line) > 300 {
				t.Errorf("a line of %d bytes came through", len(line))
			}
		}
	})
}

func TestReadTool(t *testing.T) {
	good := func(raw string) *tool {
		t.Helper()
		tl, bad := readTool("s", Server{}, json.RawMessage(raw), schema.NewQuota(nil))
		if bad != nil {
			t.Fatalf("%s: %+v", raw, bad)
		}
		return tl
	}
	base := good(`{"name":"a","title":"A","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`)
	if base.spec.Description != "d" || string(good(`{"name":"a","inputSchema":null}`).spec.InputSchema) != `{"type":"object"}` {
		t.Errorf("%+v", base.spec)
	}
	for name, raw := range map[string]string{
		"name":        `{"name":"b","title":"A","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
		"title":       `{"name":"a","title":"B","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
		"description": `{"name":"a","title":"A","description":"e","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
		"schema":      `{"name":"a","title":"A","description":"d","inputSchema":{"type":"object","minProperties":1},"annotations":{"readOnlyHint":true}}`,
		"output":      `{"name":"a","title":"A","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
		"annotations": `{"name":"a","title":"A","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}`,
		"no hints":    `{"name":"a","title":"A","description":"d","inputSchema":{"type":"object"}}`,
	} {
		if good(raw).spec.Tool.Definition == base.spec.Tool.Definition {
			t.Errorf("another %s is the same definition", name)
		}
	}
	// A description that is cut is still digested whole.
	long := strings.Repeat("é", maxDescription)
	a, b := good(`{"name":"a","description":"`+long+`x"}`), good(`{"name":"a","description":"`+long+`y"}`)
	if a.spec.Description != b.spec.Description || a.spec.Tool == b.spec.Tool || !utf8.ValidString(a.spec.Description) {
		t.Error("a long description")
	}
	// Nonsense in a hint is no hint.
	h := good(`{"name":"a","annotations":{"readOnlyHint":"yes","destructiveHint":false,"ReadOnlyHint":true,"title":"Said"}}`)
	if h.spec.Hints.ReadOnly != nil || h.spec.Hints.Destructive == nil || *h.spec.Hints.Destructive || h.spec.Title != "Said" {
		t.Errorf("%+v", h.spec)
	}
	for _, raw := range []string{`{}`, `7`, `{"name":""}`, `{"name":7}`, `{"name":"a\u202eb"}`, `{"name":"` + strings.Repeat("a", 300) + `"}`, `{"name":"a","inputSchema":[]}`, `{"name":"a","inputSchema":true}`} {
		if _, bad := readTool("s", Server{}, json.RawMessage(raw), schema.NewQuota(nil)); bad == nil {
			t.Errorf("%s is a tool", raw)
		}
	}
}

func TestResults(t *testing.T) {
	long := strings.Repeat("é", 3*maxResult)
	data := strings.Repeat("QUJD", 500)
	for raw, want := range map[string]turn.Result{
		`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`: {Text: "a\nb"},
		`{"content":[{"type":"text","text":"a"}],"isError":true}`:             {Text: "a", IsError: true},
		// What stands beside a text is given, too, unless the text says the same.
		`{"content":[{"type":"text","text":"See structured content."}],"structuredContent":{"n":1.50,"ok":true}}`:        {Text: "See structured content.\n{\"n\":1.50,\"ok\":true}", Structured: json.RawMessage(`{"n":1.50,"ok":true}`)},
		`{"content":[{"type":"text","text":"{\"b\": [1, 2],\n \"a\": \"x\"}"}],"structuredContent":{"a":"x","b":[1,2]}}`: {Text: "{\"b\": [1, 2],\n \"a\": \"x\"}", Structured: json.RawMessage(`{"a":"x","b":[1,2]}`)},
		`{"content":[{"type":"text","text":"a b"}],"structuredContent":{"result":"a b"}}`:                                {Text: "a b", Structured: json.RawMessage(`{"result":"a b"}`)},
		`{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":{"result":[1,2]}}`:                              {Text: "[1,2]", Structured: json.RawMessage(`{"result":[1,2]}`)},
		`{"content":[{"type":"text","text":"12 items"}],"structuredContent":{"n":1}}`:                                    {Text: "12 items\n{\"n\":1}", Structured: json.RawMessage(`{"n":1}`)},
		`{"content":[{"type":"text","text":"null"}],"structuredContent":{"n":1}}`:                                        {Text: "null\n{\"n\":1}", Structured: json.RawMessage(`{"n":1}`)},
		`{"content":[{"type":"text","text":"a"}],"structuredContent":{"result":"a","more":1}}`:                           {Text: "a\n{\"result\":\"a\",\"more\":1}", Structured: json.RawMessage(`{"result":"a","more":1}`)}, // in the server's order
		// Data is described wherever it stands.
		`{"content":[],"structuredContent":{"content":[{"type":"image","data":"` + data + `","mimeType":"image/jpeg"},{"type":"audio","data":"` + data + `"},7],"more":"data:audio/ogg;base64,` + data + `","key":"` + data[:100] + `","other":"see;base64,` + data[:600] + `"}}`: {
			Text:       `{"content":[{"data":"[image image/jpeg, 1,500 bytes]","mimeType":"image/jpeg","type":"image"},{"data":"[audio, 1,500 bytes]","type":"audio"},7],"key":"` + data[:100] + `","more":"[data audio/ogg, 1,500 bytes]","other":"see;base64,` + data[:600] + `"}`,
			Structured: json.RawMessage(`{"content":[{"type":"image","data":"` + data + `","mimeType":"image/jpeg"},{"type":"audio","data":"` + data + `"},7],"more":"data:audio/ogg;base64,` + data + `","key":"` + data[:100] + `","other":"see;base64,` + data[:600] + `"}`)},
		`{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}],"structuredContent":{"n":1}}`:    {Text: "[image image/png, 3 bytes]\n{\"n\":1}", Structured: json.RawMessage(`{"n":1}`)},
		`{"content":[{"type":"resource_link","uri":"x:y","name":"n","description":"How to\nbegin"}]}`:        {Text: "[link n x:y, of unknown type] How to begin"},
		`{"content":[{"type":"resource","resource":{"uri":"x:y","blob":"AAA="}}]}`:                           {Text: "[resource x:y of unknown type, 2 bytes]"},
		`{"content":[{"type":"resource","resource":{"uri":"x:y","mimeType":"text/csv","blob":"YSzDpAo="}}]}`: {Text: "[resource x:y text/csv, 5 bytes]\na,ä\n"},
		`{"content":[{"type":"resource","resource":{"uri":"x:y","blob":"Y2Fm6Q=="}}]}`:                       {Text: "[resource x:y of unknown type, 4 bytes]"},
		`{"content":[{"type":"resource","resource":{"uri":"x:y","text":"a"}}]}`:                              {Text: "[resource x:y of unknown type, 1 bytes]\na"},
		`{"content":[{"type":"resource","resource":{"uri":"x:y","blob":"YWJj*Rlc"}}]}`:                       {Text: "[resource x:y of unknown type, 6 bytes]"}, // no part of it is shown as the whole
		`{"content":[{"type":"resource","resource":{"uri":"x:y"}}]}`:                                         {Text: "[resource x:y of unknown type, 0 bytes]"},
		`{"content":[7]}`: {Text: "[unreadable content]"},
	} {
		got := readResult(json.RawMessage(raw), "")
		if got.Text != want.Text || got.IsError != want.IsError || got.Omitted != 0 || string(got.Structured) != string(want.Structured) {
			t.Errorf("%s:\n got %+v\nwant %+v", raw, got, want)
		}
	}
	r := readResult(json.RawMessage(`{"content":[{"type":"text","text":"`+long+`"}]}`), "")
	if !utf8.ValidString(r.Text) || r.Omitted == 0 || !strings.HasPrefix(r.Text, "éé") || !strings.HasSuffix(r.Text, "éé") {
		t.Errorf("%d bytes, %d omitted", len(r.Text), r.Omitted)
	}
	if n := utf8.RuneCountInString(r.Text) - len("\n[cut: 200,000 characters left out]\n"); n != maxResult || r.Omitted != 2*2*maxResult || !strings.Contains(r.Text, "é\n[cut: 200,000 characters left out]\né") {
		t.Errorf("%d characters kept, %d bytes omitted", n, r.Omitted)
	}
	// As read_media_file of the reference server answers: the model gets the placeholder, not the picture.
	photo := strings.Repeat("QUJD", 100_000)
	r = readResult(json.RawMessage(`{"content":[{"type":"image","data":"`+photo+`","mimeType":"image/jpeg"}],"structuredContent":{"content":[{"type":"image","data":"`+photo+`","mimeType":"image/jpeg"},7]}}`), "")
	if r.Text != "[image image/jpeg, 300,000 bytes]\n"+`{"content":[{"data":"[image image/jpeg, 300,000 bytes]","mimeType":"image/jpeg","type":"image"},7]}` {
		t.Errorf("%d bytes for the model: %.300s", len(r.Text), r.Text)
	}
	// A picture is one by its bytes.
	for data, kind := range map[string]string{"\x89PNG\r\n\x1a\n": "image/png", "GIF89a": "image/gif", "<svg xmlns='http://www.w3.org/2000/svg'/>": "", "%PDF-1.4": "", "<html>": "", "": ""} {
		encoded := base64.StdEncoding.EncodeToString([]byte(data))
		if r := readResult(json.RawMessage(`{"content":[{"type":"image","data":"`+encoded+`*"}]}`), ""); r.Pictures != nil {
			t.Errorf("a broken %q is shown", data)
		}
		for _, item := range []string{`"type":"image","data":"` + encoded + `","mimeType":"image/svg+xml"`, `"type":"resource","resource":{"blob":"` + encoded + `"}`} {
			r := readResult(json.RawMessage(`{"content":[{`+item+`}]}`), "")
			if kind == "" && r.Pictures != nil || kind != "" && (len(r.Pictures) != 1 || r.Pictures[0].Type != kind || string(r.Pictures[0].Data) != data) {
				t.Errorf("%q: %+v", item, r.Pictures)
			}
		}
	}
	r = readResult(json.RawMessage(`{"structuredContent":{"a":"`+long+`"}}`), "")
	if r.Structured != nil || r.Omitted == 0 {
		t.Errorf("large structured content: %d bytes kept, %d omitted", len(r.Structured), r.Omitted)
	}
}

func TestSecretsAreTakenOut(t *testing.T) {
	clean := cleaner(Server{
		URL:     "https://user:sekret-pw@host/x?key=sekret%20key",
		Headers: map[string]string{"Authorization": "Bearer sekret-bearer", "X": "ab"},
		Env:     map[string]string{"TOKEN": "sekret-env"},
	})
	for _, s := range []string{"sekret-pw", "sekret%20key", "sekret key", "Bearer sekret-bearer", "sekret-bearer", "sekret-env"} {
		if got := clean("a " + s + " b"); strings.Contains(got, "sekret") {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got := clean("ab about"); got != "ab about" {
		t.Errorf("short values blot out words: %q", got)
	}
}

// Whenever the stream of notifications opens, also for the first time, something may have changed of which nobody was told.
func TestEachStreamThatOpensMayHaveMissedSomething(t *testing.T) {
	ends := make(chan struct{}, 3)
	h := mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		ends <- struct{}{}
	}), "/mcp")
	missed := 0
	client, next := newHTTPClient(Server{}, func(err error) { t.Errorf("lost: %v", err) }, func() { missed++ })
	defer next.CloseIdleConnections()
	for want, method := range []string{http.MethodPost, http.MethodGet, http.MethodGet} {
		req, err := http.NewRequestWithContext(t.Context(), method, h.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		<-ends
		_ = res.Body.Close()
		if missed != want {
			t.Errorf("after %d requests something may have been missed %d times", want+1, missed)
		}
	}
}

// A request that reaches nobody says nothing of what was sent before it, and gives a connection up only where its stream was open.
func TestARequestThatReachesNobody(t *testing.T) {
	h := mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") }), "/")
	gone := mcpserver.Serve(t, http.NotFoundHandler(), "/")
	gone.Stop()
	lost := 0
	client, next := newHTTPClient(Server{}, func(error) { lost++ }, func() {})
	defer next.CloseIdleConnections()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	over, end := context.WithCancel(ctx)
	end()
	sent, tr := withTrace(ctx)
	tr.write(func(n *notes) { n.reached = true })
	for i, c := range []struct {
		ctx         context.Context
		method, url string
		lost        int
	}{
		{ctx, http.MethodGet, gone.URL, 0},
		{ctx, http.MethodGet, h.URL, 0}, {ctx, http.MethodGet, h.URL, 0}, {ctx, http.MethodGet, h.URL, 0}, {ctx, http.MethodGet, h.URL, 0}, // an answer that goes on is not waited with
		{ctx, http.MethodPost, gone.URL, 0},
		{over, http.MethodGet, gone.URL, 0},
		{sent, http.MethodGet, gone.URL, 1},
	} {
		req, err := http.NewRequestWithContext(c.ctx, c.method, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Last-Event-ID", "1")
		res, err := client.Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		if (err == nil) != (c.url == h.URL) || lost != c.lost {
			t.Errorf("request %d: %v, lost %d times", i, err, lost)
		}
	}
	if !tr.read().reached {
		t.Error("a call that was sent counts as not sent")
	}
}

// Our headers go to no other place, and what was asked there stays what it is.
func TestWhereARedirectLeads(t *testing.T) {
	client, _ := newHTTPClient(Server{}, nil, nil)
	from := httptest.NewRequest(http.MethodPost, "https://wiki.example/mcp", nil)
	for name, c := range map[string]struct {
		method, to string
		hops       int
		follows    bool
	}{
		"another path": {http.MethodPost, "https://wiki.example/mcp/", 1, true},
		"three hops":   {http.MethodPost, "https://wiki.example/mcp/", 3, true},
		"a circle":     {http.MethodPost, "https://wiki.example/mcp", 4, false},
		"another host": {http.MethodPost, "https://wiki.example:444/mcp", 1, false},
		"in the clear": {http.MethodPost, "http://wiki.example/mcp", 1, false},
		"as a GET":     {http.MethodGet, "https://wiki.example/mcp/", 1, false},
	} {
		if err := client.CheckRedirect(httptest.NewRequest(c.method, c.to, nil), slices.Repeat([]*http.Request{from}, c.hops)); (err == nil) != c.follows {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a person reads of a server that cannot be used, and of one that was too slow.
func TestTheWordsOfAFault(t *testing.T) {
	for want, err := range map[string]error{
		`the command "wiki" was not found`:           &fs.PathError{Err: fs.ErrNotExist},
		`the command "wiki" may not be run`:          &fs.PathError{Err: fs.ErrPermission},
		"its host name is not known":                 &net.DNSError{},
		"it answered HTTP 503":                       fmt.Errorf("%w: x", errStatus(503)),
		"the server sent more than can be read":      errTooBig,
		"the server sent more than can be read\x00":  &http.MaxBytesError{},
		"it did not answer in time":                  context.DeadlineExceeded,
		"it speaks no version of MCP that nod knows": mcp.UnsupportedProtocolVersionError{},
		"": errors.New("sekret words of a server"),
	} {
		if got := why(err, Server{Command: []string{"wiki", "sekret"}}); got != strings.TrimSuffix(want, "\x00") {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	for d, want := range map[time.Duration]string{time.Minute: "60 s", 2 * time.Minute: "2 min", 150 * time.Second: "150 s", 1500 * time.Millisecond: "1.5s"} {
		if got := span(d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
