package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/tests/standins/fakellm"
)

func status(code int, header ...string) fakellm.Raw {
	r := fakellm.Raw{Status: code, Body: `{"error":{"message":"no","type":"t","code":"c"}}`, Header: map[string]string{"Content-Type": "application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header[header[i]] = header[i+1]
	}
	return r
}

func TestRetries(t *testing.T) {
	for _, c := range []struct {
		raw  fakellm.Raw
		note string
		wait time.Duration // 0: by backoff
	}{
		{status(429, "Retry-After", "20"), "The model's service refused the request (429). Trying again in 20 s.", 20 * time.Second},
		{status(429, "Retry-After-Ms", "1500"), "The model's service refused the request (429). Trying again in 2 s.", 1500 * time.Millisecond},
		{status(503, "Retry-After", "Wed, 04 Mar 2026 12:00:07 GMT"), "The model's service failed (503). Trying again in 7 s.", 7 * time.Second},
		{status(429, "Retry-After", "Wed, 04 Mar 2020 12:00:00 GMT"), "The model's service refused the request (429). Trying again in 0 s.", 0},
		{status(408), "The model's service refused the request (408). Trying again in 1 s.", 0},
		{status(409), "The model's service refused the request (409). Trying again in 1 s.", 0},
		{status(500), "The model's service failed (500). Trying again in 1 s.", 0},
		{status(500, "Retry-After", "1e300"), "The model's service failed (500). Trying again in 1 s.", 0},
		{status(500, "Retry-After-Ms", "1e300"), "The model's service failed (500). Trying again in 1 s.", 0},
		{fakellm.Raw{Status: 502, Body: `{"error":{"message":"'tools': bad gateway","code":"c"}}`}, "The model's service failed (502). Trying again in 1 s.", 0},
		{status(529, "Retry-After", "soon"), "The model's service failed (529). Trying again in 1 s.", 0},
	} {
		t.Run(c.note, func(t *testing.T) {
			b := connect(t, fake())
			b.now = func() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }
			b.llm.Queue(c.raw)
			r, text, notes, err := b.ask(t, hi)
			if err != nil || r.Text != "You said: hi" || text != r.Text {
				t.Fatalf("%+v, %v", r, err)
			}
			if strings.Contains(c.note, "in 1 s") && (len(b.waited) != 1 || b.waited[0] == 0) {
				t.Errorf("waited %v", b.waited)
			}
			if len(notes) != 1 || notes[0] != c.note || len(b.waited) != 1 || c.wait != 0 && b.waited[0] != c.wait {
				t.Errorf("notes %q, waited %v", notes, b.waited)
			}
		})
	}
}

func TestRetriesEnd(t *testing.T) {
	b := connect(t, fake())
	for range 5 {
		b.llm.Queue(status(500))
	}
	_, _, notes, err := b.ask(t, hi)
	var m *agent.ModelError
	if !errors.As(err, &m) || m.Say != "The model's service failed (500). No tool was run in this step. Send your message again later. It said: “no”" {
		t.Fatal(err)
	}
	if len(b.llm.Requests()) != 5 || len(notes) != 4 {
		t.Errorf("%d requests, %d notes; want 5 and 4", len(b.llm.Requests()), len(notes))
	}
	for i, d := range b.waited { // 1, 2, 4, 8 s, at most a quarter less
		if full := time.Second << i; d > full || d < full*3/4 {
			t.Errorf("wait %d is %v", i, d)
		}
	}
	none := connect(t, fake(), func(c *Config) { c.MaxRetries = -1 })
	none.llm.Queue(status(500))
	if _, _, _, err := none.ask(t, hi); err == nil || len(none.llm.Requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(none.llm.Requests()))
	}
}

func TestNoRetry(t *testing.T) {
	for _, c := range []struct {
		raw  fakellm.Raw
		want string
	}{
		{status(400), "The model's service refused the request (400). No tool was run in this step. It said: “no”"},
		{status(403), "The model's service did not accept the API key (403). No tool was run in this step. Check model.api_key (OPENAI_API_KEY)."},
		{status(404), "The model's service does not know the model m, or not at this address (404). No tool was run in this step. Check model.name (OPENAI_MODEL) and model.base_url (OPENAI_BASE_URL). It said: “no”"},
		{status(429, "Retry-After", "3600"), "The model's service refused the request (429). No tool was run in this step. Send your message again later. It said: “no”"},
		{fakellm.Raw{Status: 429, Body: `{"error":{"message":"pay","detail":"no","code":"insufficient_quota","type":"requests"}}`}, "The model's service refused the request (429). No tool was run in this step. The account's quota is used up; whoever runs this bot must look at it. It said: “pay”"},
		{fakellm.Raw{Status: 400, Body: `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`}, "The conversation is too long for the model m (400). No tool was run in this step. Begin a new chat, or set model.context_tokens so that older messages are left out."},
		{fakellm.Raw{Status: 302, Header: map[string]string{"Location": "https://elsewhere.invalid/"}}, "The model's service could not be reached. No tool was run in this step. Check that it runs and that model.base_url (OPENAI_BASE_URL) is right."},
		{status(402), "The model's service refused the request (402). No tool was run in this step. The account's quota is used up; whoever runs this bot must look at it. It said: “no”"},
		{status(413), "The conversation is too long for the model m (413). No tool was run in this step. Begin a new chat, or set model.context_tokens so that older messages are left out."},
		{status(501), "The model's service failed (501). No tool was run in this step. It said: “no”"},
		{fakellm.Raw{Status: 418, Body: `{"error":{"message":"bad temperature","param":"temperature","code":429}}`}, "The model's service refused the request (418). No tool was run in this step. It said: “bad temperature”"},
		{fakellm.Raw{Status: 418, Body: "<html>a page</html>"}, "The model's service refused the request (418). No tool was run in this step."},
		{fakellm.Raw{Status: 418, Body: "plain words"}, "The model's service refused the request (418). No tool was run in this step. It said: “plain words”"},
		{fakellm.Raw{Status: 418, Body: `{"error":"just words"}`}, "The model's service refused the request (418). No tool was run in this step. It said: “just words”"},
		{fakellm.Raw{Status: 418, Body: `[{"error":{"code":418,"message":"a teapot","status":"INVALID_ARGUMENT"}}]`}, "The model's service refused the request (418). No tool was run in this step. It said: “a teapot”"},
		{fakellm.Raw{Status: 418, Body: `{"detail":[{"loc":["body"],"msg":"bad"}]}`}, "The model's service refused the request (418). No tool was run in this step. It said: “[{\"loc\":[\"body\"],\"msg\":\"bad\"}]”"},
	} {
		t.Run(fmt.Sprint(c.raw.Status, c.raw.Body), func(t *testing.T) {
			b := connect(t, fakellm.New(fakellm.Config{}), func(c *Config) { c.APIKey = "" }) // local services need none
			if c.raw.Status == 302 {
				b.retries = 0 // a redirect to another host fails before it is sent, like a host that cannot be reached
			}
			b.llm.Queue(c.raw)
			_, _, notes, err := b.ask(t, hi)
			if err == nil || err.Error() != c.want || len(notes) != 0 {
				t.Errorf("got  %v (notes %q)\nwant %s", err, notes, c.want)
			}
		})
	}
}

// TestARequestThatCannotBeWritten is ours to fix, and nothing is sent.
func TestARequestThatCannotBeWritten(t *testing.T) {
	b := connect(t, fake())
	deep := spec("s", "t", `{"type":"object","properties":{},"x":`+strings.Repeat("[", 10_001)+strings.Repeat("]", 10_001)+`}`)
	if _, err := b.Reply(t.Context(), hi, []agent.ToolSpec{deep}, nil); err == nil || !strings.HasPrefix(err.Error(), "The request to the model could not be written.") || len(b.llm.Requests()) != 0 {
		t.Errorf("%v after %d requests", err, len(b.llm.Requests()))
	}
}

func TestUnreachable(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	addr := srv.URL
	srv.Close()
	b := connect(t, fake(), func(c *Config) { c.BaseURL = addr; c.MaxRetries = 1; c.HTTPClient = nil })
	_, _, notes, err := b.ask(t, hi)
	if err == nil || err.Error() != "The model's service could not be reached. No tool was run in this step. Check that it runs and that model.base_url (OPENAI_BASE_URL) is right." {
		t.Fatal(err)
	}
	if len(notes) != 1 || notes[0] != "The model's service could not be reached. Trying again in 1 s." {
		t.Errorf("notes %q", notes)
	}
}

// TestRefusedFields: what a service does not take is left out, once, without a wait; and remembered where it costs every request.
func TestRefusedFields(t *testing.T) {
	no := func(words string) fakellm.Raw {
		return fakellm.Raw{Status: 400, Unchecked: true, Body: fmt.Sprintf(`{"error":{"message":%q}}`, words)}
	}
	b := connect(t, fakellm.New(fakellm.Config{Key: key, Allow: []string{"reasoning_content", "extra_content"}}))
	b.llm.Queue(no("Unknown parameter: 'stream_options'."), no("extra inputs: reasoning_content"), no("Invalid schema for function"))
	talk := append(history[:len(history):len(history)], turn.Utterance{Role: turn.RoleUser, Name: "Ana", Text: "hi"},
		turn.Utterance{Role: turn.RoleAssistant, Text: "x", Extra: json.RawMessage(`{"reasoning_content":"z"}`), Calls: history[1].Calls[:1]})
	talk[len(talk)-1].Calls = []turn.TalkCall{{ID: "c9", Name: "n", Result: turn.Result{Text: "r"}}}
	if _, _, notes, err := b.ask(t, talk); err != nil || len(notes) != 0 || len(b.waited) != 0 {
		t.Fatalf("%v, notes %q", err, notes)
	}
	seen := b.llm.Requests()
	has := func(i int, s string) bool { return strings.Contains(string(seen[i].Body), s) }
	if len(seen) != 4 || !has(0, "stream_options") || has(1, "stream_options") || !has(1, "reasoning_content") || has(2, "reasoning_content") || !has(3, `"stream":true`) {
		t.Fatalf("%d requests", len(seen))
	}
	if _, _, _, err := b.ask(t, hi); err != nil {
		t.Fatal(err)
	}
	if seen = b.llm.Requests(); has(4, "stream_options") {
		t.Error("the next request asks for usage again")
	}
}

// TestARefusalThatStays is an error after what can be left out was left out, not a loop; where it names nothing of the request, at once.
func TestARefusalThatStays(t *testing.T) {
	pictures := []turn.Utterance{{Role: turn.RoleUser, Text: "hi", Files: []turn.FileRead{{Picture: &turn.Picture{Type: "image/png", Data: []byte("p")}}}}}
	extras := []turn.Utterance{hi[0], {Role: turn.RoleAssistant, Text: "x", Extra: json.RawMessage(`{"signature":"z"}`)}}
	for _, c := range []struct {
		said     string
		talk     []turn.Utterance
		offered  []agent.ToolSpec
		requests int
	}{
		{"Unknown parameter: 'stream_options'.", hi, nil, 2},
		{"Streaming is not supported.", hi, nil, 2},
		{"Unknown field: signature", extras, nil, 2},
		{"Unknown field: temperature", hi, nil, 1},
		{"temperature is out of range", extras, nil, 1},
		{"This model takes no image.", pictures, nil, 2},
		{"This model takes no image.", hi, nil, 1},
		{"temperature is out of range", pictures, nil, 1},
		{"A tool call id must have a length of 9", hi, nil, 2},
		{"A tool call id is missing", hi, nil, 1},
		{"A name must have a length of 9", hi, nil, 1},
		{"'tools' are unsupported", hi, someTools, 2},
		{"'tools' are unsupported", hi, nil, 1},
		{"tools: too long, the maximum is 128", hi, someTools, 2},
		{"tools: too many, the maximum is 0", hi, someTools, 2},
		{"messages: too many, the maximum is 1", hi, someTools, 1},
		{"tools: 1 is limitless", hi, someTools, 2},
		{"tools[7] is no object", hi, someTools, 2},
		{"tools[0] or tools[1]", hi, someTools, 4}, // refused whole, with simpler schemas, without the first, and without the second
	} {
		b := connect(t, fake())
		for range 6 {
			b.llm.Queue(fakellm.Raw{Status: http.StatusUnprocessableEntity, Unchecked: true, Body: fmt.Sprintf(`{"error":{"message":%q}}`, c.said)})
		}
		if _, err := b.Reply(t.Context(), c.talk, c.offered, nil); err == nil || len(b.llm.Requests()) != c.requests {
			t.Errorf("%q: %v after %d requests, not %d", c.said, err, len(b.llm.Requests()), c.requests)
		}
	}
}

// TestNoKeyGetsOut: not into errors, log lines, nor what people read, even when the service repeats it.
func TestNoKeyGetsOut(t *testing.T) {
	const other, query = "sk-other-9876543210abcdefgh", "q+ery/secret=1"
	var log bytes.Buffer
	repeat := fmt.Sprintf(`{"error":{"message":"You sent Bearer %s and %s to https://u:p@x/?api-key=%s","code":"%s"}}`, key, other, query, "c")
	raws := []fakellm.Raw{{Status: 401, Body: repeat}, {Status: 400, Body: repeat}, {Status: 404, Body: repeat}, {Status: 500, Body: repeat}, {Status: 418, Body: repeat},
		{Body: "data: " + repeat + "\n\n"}, {Body: repeat}, {Body: "data: " + key + "\n\n"}, {Cut: true}, {Status: 302, Header: map[string]string{"Location": "https://x.invalid/" + key}}}
	check := func(what, s string) {
		t.Helper()
		for _, secret := range []string{key, other, query, "q%2Bery", key[8:]} {
			if strings.Contains(s, secret) {
				t.Errorf("%s holds %q: %s", what, secret, s)
			}
		}
	}
	for i, raw := range raws {
		b := connect(t, fake(), func(c *Config) {
			c.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			c.MaxRetries = 1
			c.BaseURL += "?api-key=q%2Bery%2Fsecret%3D1"
		})
		b.llm.Queue(raw, raw)
		_, _, notes, err := b.ask(t, hi)
		if err == nil {
			t.Errorf("%d: no error", i)
			continue
		}
		check("the notes", strings.Join(notes, " "))
		for e := err; e != nil; e = errors.Unwrap(e) {
			check("the error", fmt.Sprintf("%v %+v %#v %q", e, e, e, e.Error()))
			slog.New(slog.NewJSONHandler(&log, nil)).Error("engine", "err", e)
		}
		if seen := b.llm.Requests(); len(seen) == 0 || !seen[0].Authorized || seen[0].Query != "api-key=q%2Bery%2Fsecret%3D1" {
			t.Errorf("%d: the request came as %+v", i, seen)
		}
	}
	check("the log", log.String())
	// A wrong key, repeated by the service.
	b := connect(t, fakellm.New(fakellm.Config{Key: "another"}))
	if _, _, _, err := b.ask(t, hi); err == nil || err.Error() != "The model's service did not accept the API key (401). No tool was run in this step. Check model.api_key (OPENAI_API_KEY)." {
		t.Error(err)
	}
}

// TestAddressesAreNotWorded: an address's path or query may be a secret of any length.
func TestAddressesAreNotWorded(t *testing.T) {
	err := fmt.Errorf("wrapped: %w", &url.Error{Op: "Post", URL: "https://llm.test/s3cr/chat?k=42", Err: errors.New("EOF")})
	if got := cause(err); got != "EOF" {
		t.Errorf("%q", got)
	}
}

// TestEnvironmentIsNotRead: whoever wires the client passes values; nothing of the library's defaults leaks in.
func TestEnvironmentIsNotRead(t *testing.T) {
	for k, v := range map[string]string{"OPENAI_API_KEY": "sk-env", "OPENAI_BASE_URL": "http://127.0.0.1:1/", "OPENAI_ORG_ID": "org-env", "OPENAI_PROJECT_ID": "proj-env", "OPENAI_ADMIN_KEY": "adm-env", "OPENAI_CUSTOM_HEADERS": "X-Env: leaked"} {
		t.Setenv(k, v)
	}
	var got http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		fmt.Fprint(w, `{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}`)
	}))
	defer srv.Close()
	c, err := New(Config{BaseURL: srv.URL, Model: "m", HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Reply(t.Context(), hi, nil, nil); err != nil || r.Text != "Hello" {
		t.Fatalf("%+v, %v", r, err)
	}
	for k, v := range got {
		if k == "Authorization" || strings.Contains(strings.Join(v, " "), "env") || k == "X-Env" || strings.HasPrefix(k, "Openai-") {
			t.Errorf("the request has %s: %s", k, v)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{{}, {Model: "m", BaseURL: "http:///v1"}, {Model: "m", BaseURL: "http://[" + key}} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), "Config needs") || strings.Contains(err.Error(), key) {
			t.Errorf("New(%+v) = %v", c, err)
		}
	}
	c, err := New(Config{Model: "m"})
	if err != nil || c.Name() != "m" {
		t.Errorf("%v, %v", c, err)
	}
}

// Many chats ask at once, and again: nobody shakes hands twice.
func TestConnectionsAreKept(t *testing.T) {
	const atOnce = 20
	var opened atomic.Int64
	var here sync.WaitGroup
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		here.Done()
		here.Wait() // until all of them are
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`)
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	c, err := New(Config{BaseURL: srv.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		here.Add(atOnce)
		var asked sync.WaitGroup
		for range atOnce {
			asked.Go(func() {
				if _, err := c.Reply(t.Context(), hi, nil, func(agent.Delta) {}); err != nil {
					t.Error(err)
				}
			})
		}
		asked.Wait()
	}
	if n := opened.Load(); n != atOnce {
		t.Errorf("%d connections for %d chats", n, atOnce)
	}
}
