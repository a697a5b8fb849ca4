package fakellm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const offered = `"tools":[
 {"type":"function","function":{"name":"files__read_text_file","description":"d","parameters":{"type":"object","properties":{}}}},
 {"type":"function","function":{"name":"files__write_file","parameters":{"type":"object","properties":{}}}},
 {"type":"function","function":{"name":"a_b_get-sum-abcdefghijklmnopqrstuvwxyz","parameters":{"type":"object","properties":{}}}}]`

func TestCheckRefuses(t *testing.T) {
	const user = `{"role":"user","content":"hi"}`
	asst := func(calls string) string {
		return `{"role":"assistant","tool_calls":[` + calls + `]}`
	}
	call := func(id, name, args string) string {
		return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`, id, name, args)
	}
	result := func(id string) string { return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"r"}`, id) }
	body := func(messages ...string) string {
		return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`
	}
	good := body(`{"role":"system","content":"s"}`, user, asst(call("a", "f", "{}")+","+call("b", "g", `{"x":1}`)), result("a"), result("b"))
	if _, r := Check([]byte(good)); r != nil {
		t.Fatalf("a good request is refused: %v", r)
	}
	for _, c := range []struct{ body, want string }{
		{`{`, "could not parse"},
		{good + "{}", "more than one value"},
		{`{"messages":[` + user + `]}`, "model"},
		{body(), "empty array"},
		{`{"model":"m","modle":1,"messages":[` + user + `]}`, "Unknown parameter: 'modle'"},
		{`{"model":"m","messages":[` + user + `],"stream_options":{"include_usage":true}}`, "only allowed when"},
		{`{"model":"m","stream":true,"messages":[` + user + `],"stream_options":{"include":true}}`, "stream_options.include"},
		{`{"model":"m","messages":[` + user + `],"tools":[]}`, "empty array"},
		{`{"model":"m","messages":[` + user + `],"tools":[{"type":"function","function":{"name":"a b","parameters":{"type":"object","properties":{}}}}]}`, "does not match pattern"},
		{`{"model":"m","messages":[` + user + `],"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object"}}}]}`, "Invalid schema"},
		{`{"model":"m","messages":[` + user + `],"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{}}}}]}`, "unique"},
		{`{"model":"m","messages":[` + user + `],"tools":[{"type":"function","function":{"nome":"a","name":"a","parameters":{"type":"object","properties":{}}}}]}`, "nome"},
		{body(`{"role":"person","content":"x"}`), "Supported values"},
		{body(`{"role":"user","content":""}`), "non-empty"},
		{body(`{"role":"user","content":7}`), "could not parse"},
		{body(`{"role":"user","content":"x","by":"y"}`), "messages[0].by"},
		{body(`{"role":"user","content":"x","tool_call_id":"y"}`), "messages[0].tool_call_id"},
		{body(user, `{"role":"assistant"}`, user), "got null"},
		{body(user, `{"role":"assistant","content":"x","tool_calls":[]}`, user), "minimum length 1"},
		{body(user, asst(call("a", "f", "{}")), user), "must be followed by tool messages"},
		{body(user, asst(call("a", "f", "{}"))), "did not have response"},
		{body(user, asst(call("a", "f", "{}")+","+call("b", "f", "{}")), result("a"), user), "[b]"},
		{body(user, asst(call("a", "f", "{}")), result("a"), result("a")), "must be a response"},
		{body(user, result("a")), "must be a response"},
		{body(user, asst(call("", "f", "{}")), result("")), "is empty"},
		{body(user, asst(call("a", "f", "{}")), result("a"), asst(call("a", "f", "{}")), result("a")), "used before"},
		{body(user, asst(call("a", "f f", "{}")), result("a")), "does not match pattern"},
		{body(user, asst(call("a", strings.Repeat("f", 65), "{}")), result("a")), "does not match pattern"},
		{body(user, asst(call("a", "f", "")), result("a")), "not a JSON object"},
		{body(user, asst(call("a", "f", "[1]")), result("a")), "not a JSON object"},
		{body(user, asst(`{"id":"a","type":"function","index":0,"function":{"name":"f","arguments":"{}"}}`), result("a")), "index"},
		{body(user, asst(`{"id":"a","type":"function","function":{"name":"f","arguments":{}}}`), result("a")), "could not parse"},
		{body(user, `{"role":"assistant","content":"x"}`), "last message"},
	} {
		if _, r := Check([]byte(c.body)); r == nil || !strings.Contains(r.Message, c.want) {
			t.Errorf("Check(%s) = %v, want %q", c.body, r, c.want)
		}
	}
	odd := body(user, `{"role":"assistant","content":"x","reasoning_content":"y"}`, user)
	if _, r := Check([]byte(odd)); r == nil {
		t.Error("an unknown field was taken")
	}
	if _, r := Check([]byte(odd), "reasoning_content"); r != nil {
		t.Errorf("an allowed field was refused: %v", r)
	}
}

// send makes one request.
func send(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(out)
}

// post gives the status and body of one request with the person's words and, if any, results.
func post(t *testing.T, url, words string, more ...string) (int, string) {
	t.Helper()
	b, _ := json.Marshal(words)
	body := `{"model":"m","messages":[` + strings.Join(append([]string{`{"role":"user","content":` + string(b) + `}`}, more...), ",") + `],` + offered + `}`
	return send(t, http.MethodPost, url+"/v1/chat/completions", body)
}

func TestScript(t *testing.T) {
	srv := httptest.NewServer(New(Config{}))
	defer srv.Close()
	defer http.DefaultClient.CloseIdleConnections()
	for _, c := range []struct{ words, text, calls string }{
		{"say hello there", "hello there", ""},
		{"Ana: say hello", "hello", ""},
		{"Earlier:\n<quoted ab>\nEve: call x {}\n</quoted ab>\n\nAna: say hello", "hello", ""},
		{"tell me", "You said: tell me", ""},
		{"read a.txt", "I'll do that with 1 calls.", `files__read_text_file {"path":"a.txt"}`},
		{"Ana: read a.txt and write x to b.txt", "I'll do that with 2 calls.", `files__read_text_file {"path":"a.txt"}; files__write_file {"content":"x","path":"b.txt"}`},
		{"delete a.txt", `No tool for "delete" was offered.`, ""},
		{`call get-sum {"a":1,"b":{"c":2}} and call files__write_file`, "Calling 2.", `a_b_get-sum-abcdefghijklmnopqrstuvwxyz {"a":1,"b":{"c":2}}; files__write_file `},
		{`call rocket {"a":`, "Calling 1.", `rocket {"a":`},
	} {
		code, body := post(t, srv.URL, c.words)
		var r struct {
			Choices []struct{ Message Message }
		}
		if err := json.Unmarshal([]byte(body), &r); code != 200 || err != nil {
			t.Fatalf("%d %s: %v", code, body, err)
		}
		var calls []string
		for _, x := range r.Choices[0].Message.ToolCalls {
			calls = append(calls, x.Function.Name+" "+x.Function.Arguments)
		}
		if got := strings.Join(calls, "; "); *r.Choices[0].Message.Content != c.text || got != c.calls {
			t.Errorf("%q: %q, calls %q; want %q, %q", c.words, *r.Choices[0].Message.Content, got, c.text, c.calls)
		}
	}
}

func TestScriptAdapts(t *testing.T) {
	srv := httptest.NewServer(New(Config{}))
	defer srv.Close()
	defer http.DefaultClient.CloseIdleConnections()
	after := func(result string) []string {
		b, _ := json.Marshal(result)
		return []string{`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"files__write_file","arguments":"{}"}}]}`,
			`{"role":"tool","tool_call_id":"c","content":` + string(b) + `}`}
	}
	for result, want := range map[string]string{
		"ok": "files__write_file gave: ok",
		"Tool execution denied by user. Do not retry.\n\n(This is an error result.)": "files__write_file was denied, so I did not do it.",
		"The permission request timed out: nobody answered.":                         "files__write_file timed out, so it was not done.",
		"Cancelled: the turn was stopped.":                                           "files__write_file was cancelled.",
		"Outcome unknown: it may have happened.":                                     "files__write_file has an unknown outcome; I will not repeat it.",
		"disk full\n\n(This is an error result.)":                                    `files__write_file failed: disk full\n\n(This is an error result.)`,
	} {
		if _, body := post(t, srv.URL, "write x to y", after(result)...); !strings.Contains(body, `"content":"`+want+`"`) || strings.Contains(body, "tool_calls\":") {
			t.Errorf("%q: %s", result, body)
		}
	}
	if _, body := post(t, srv.URL, "keep call write_file {}", after("ok")...); !strings.Contains(body, `"name":"files__write_file"`) {
		t.Errorf("keep: %s", body)
	}
	const steps = `call write_file {"n":1} and call write_file {"n":2} then call read_text_file {"n":3}`
	if _, body := post(t, srv.URL, steps); !strings.Contains(body, `{\"n\":1}`) || !strings.Contains(body, `{\"n\":2}`) || strings.Contains(body, `{\"n\":3}`) {
		t.Errorf("the first step: %s", body)
	}
	if _, body := post(t, srv.URL, steps, after("ok")...); !strings.Contains(body, `"name":"files__read_text_file"`) || strings.Contains(body, `{\"n\":1}`) {
		t.Errorf("the second step: %s", body)
	}
	if _, body := post(t, srv.URL, steps, append(after("ok"), after("done")...)...); strings.Contains(body, "tool_calls\":") {
		t.Errorf("after the last step: %s", body)
	}
}

func TestKeyQueueAndJournal(t *testing.T) {
	s := New(Config{Key: "k"})
	srv := httptest.NewServer(s)
	defer srv.Close()
	defer http.DefaultClient.CloseIdleConnections()
	if code, body := post(t, srv.URL, "hi"); code != 401 || !strings.Contains(body, "Incorrect API key") {
		t.Errorf("without the key: %d %s", code, body)
	}
	s.cfg.Key = ""
	if code, body := send(t, http.MethodPost, srv.URL+"/_fake/queue", `[{"status":429,"header":{"Retry-After":"3"},"body":"later"}]`); code != 204 {
		t.Fatal(code, body)
	}
	if code, body := post(t, srv.URL, "hi"); code != 429 || body != "later" {
		t.Errorf("queued: %d %s", code, body)
	}
	if code, _ := post(t, srv.URL, ""); code != 400 {
		t.Errorf("an empty message: %d", code)
	}
	_, body := send(t, http.MethodGet, srv.URL+"/_fake/requests", "")
	var seen []Request
	if err := json.Unmarshal([]byte(body), &seen); err != nil || len(seen) != 3 || seen[0].Authorized || !seen[1].Authorized || seen[2].Refused == "" {
		t.Errorf("%+v, %v", seen, err)
	}
}

// TestProcess runs the program as CI does.
func TestProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	exe := filepath.Join(t.TempDir(), "fakellm")
	build := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "./cmd/fakellm", exe)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as e2e compiles it
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw := filepath.Join(t.TempDir(), "raw.sse")
	if err := os.WriteFile(raw, []byte("data: recorded\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, exe, "-raw", raw)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, errs.String())
	}
	base := strings.TrimSuffix(strings.TrimSpace(line), "/v1")
	if _, body := post(t, base, "hi"); body != "data: recorded\n\n" {
		t.Errorf("raw: %q", body)
	}
	if _, body := post(t, base, "say bye"); !strings.Contains(body, `"content":"bye"`) {
		t.Errorf("script: %s", body)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := cmd.Wait(); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	if s := cmd.ProcessState; !s.Success() {
		t.Errorf("it did not end cleanly: %v %s", s, errs.String())
	}
}
