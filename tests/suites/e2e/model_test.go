package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/stand"
)

// everythingHTTP runs server-everything over streamable HTTP and returns its address.
func everythingHTTP(t testing.TB) string {
	t.Helper()
	port := stand.FreePort(t)
	cmd := exec.Command(node(t, "mcp-server-everything"), "streamableHttp")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), fmt.Sprintf("PORT=%d", port)}
	spawn(t, cmd, func(line string) bool { return strings.Contains(line, fmt.Sprint(port)) })
	return fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
}

// The MCP project's own servers, driven by a model behind the OpenAI wire, through the whole bot.
func TestRealServers(t *testing.T) {
	t.Parallel()
	files, everything := node(t, "mcp-server-filesystem"), node(t, "mcp-server-everything")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	llm := startLLM(t)
	b := start(t, settings{
		yaml: fmt.Sprintf(`
mcp:
  servers:
    files: {command: [%q, %q], paths: [%q], preview: {write_file: read_text_file}}
    more: {command: [%q, stdio], env: {LISTED: "yes"}}
    web: {url: %q}
permissions:
  servers:
    files: {tools: {read_text_file: {ask: never, access: read}}}
    more: {ask: never, tools: {echo: {ask: always}}}
workbench: true
`, files, dir, dir, everything, everythingHTTP(t)),
		env: llm.env("DISCORD_TOKEN=discord-sekret", "ADMIN_SESSION_KEYS=admin-sekret-of-16-bytes"),
	})
	// A chat waits ten seconds for a server that starts; Node may take longer on a busy machine.
	b.logs(t, "connected mcp_server=files", "connected mcp_server=more", "connected mcp_server=web")
	r := b.session("Ana").room()
	s := r.events("")
	run := func(words string) chatForm { // what is allowed without a click
		t.Helper()
		r.say(words)
		s.named("turn_done")
		return r.get()
	}
	result := func(c chatForm, n int) callForm {
		t.Helper()
		if calls := c.last().ToolCalls; n < len(calls) {
			return calls[n]
		}
		t.Fatalf("no call %d: %s", n, c)
		return callForm{}
	}

	path := filepath.Join(dir, "notes.txt")
	args, err := json.Marshal(map[string]string{"path": path, "content": "hello"})
	if err != nil {
		t.Fatal(err)
	}
	r.say("call files__write_file " + string(args))
	ask := decode[pendingForm](t, s.named("approval_required").Data)
	card := r.get().last().block("ask", ask.ToolCallID)
	if card.Header != "Allow tool call from files?" || card.Run != "Run write_file from files" || ask.ServerName != "files" || ask.ToolName != "write_file" {
		t.Errorf("the card: %+v", card)
	}
	if got := content(t, path); got != "(missing)" {
		t.Errorf("before the click the file says %q", got)
	}
	r.mustClick(ask.RequestID, "allow_once")
	s.named("turn_done")
	if c := r.get(); content(t, path) != "hello" || c.last().statuses() != "write_file done" || !strings.Contains(c.last().text(), "Successfully wrote") {
		t.Errorf("the file says %q: %s", content(t, path), c)
	}
	args, err = json.Marshal(map[string]string{"path": path, "content": "hello,\nworld"})
	if err != nil {
		t.Fatal(err)
	}
	r.say("call files__write_file " + string(args))
	ask = decode[pendingForm](t, s.named("approval_required").Data)
	if got := r.argumentsOf(ask.ToolCallID).Diff; !strings.HasSuffix(got, "\n- hello\n⋯ no line break here\n+ hello,\n+ world\n⋯ no line break here") {
		t.Errorf("what changes: %s", got)
	}
	r.mustClick(ask.RequestID, "deny")
	s.named("turn_done")
	args, err = json.Marshal(map[string]string{"path": path})
	if err != nil {
		t.Fatal(err)
	}
	if got := result(run("call files__read_text_file "+string(args)), 0); !strings.Contains(got.Result.Content, "hello") {
		t.Errorf("read_text_file: %+v", got.Result)
	}
	if got := result(run(`call files__read_text_file {"path":"/etc/passwd"}`), 0); !got.Result.IsError || strings.Contains(got.Result.Content, "root:") {
		t.Errorf("outside its directory: %+v", got.Result)
	}

	// The same name on two servers is two tools: a grant for one never covers the other.
	for _, server := range []string{"more", "web"} {
		r.say(`call ` + server + `__echo {"message":"one of ` + server + `"}`)
		ask = decode[pendingForm](t, s.named("approval_required").Data)
		if ask.ServerName != server || ask.ToolName != "echo" {
			t.Errorf("%s: %+v", server, ask)
		}
		r.mustClick(ask.RequestID, "allow_chat")
		s.named("turn_done")
	}
	before := len(s.seen)
	c := run(`call more__echo {"message":"two"} and call web__echo {"message":"three"}`)
	if a, b := result(c, 0), result(c, 1); a.Server != "more" || a.Result.Content != "Echo: two" || b.Server != "web" || b.Result.Content != "Echo: three" {
		t.Errorf("both: %+v %+v", a, b)
	}
	for _, e := range s.seen[before:] {
		if e.Name == "approval_required" {
			t.Errorf("allowed for this chat, and asked: %s", e.Data)
		}
	}
	// The workbench has a write_file as well.
	r.say(`call workbench__write_file {"path":"notes.txt","content":"of the workbench"}`)
	ask = decode[pendingForm](t, s.named("approval_required").Data)
	r.mustClick(ask.RequestID, "allow_once")
	s.named("turn_done")
	notes, err := filepath.Glob(b.workspace("chats/*/notes.txt")) // each chat has its own
	if err != nil || len(notes) != 1 {
		t.Fatalf("the workbench's files: %q, %v", notes, err)
	}
	if ask.ServerName != "workbench" || content(t, notes[0]) != "of the workbench" || content(t, path) != "hello" {
		t.Errorf("%s wrote %q and %q", ask.ServerName, content(t, notes[0]), content(t, path))
	}
	other := b.session("Ben").room()
	seen := other.events("")
	other.say(`call workbench__read_file {"path":"notes.txt"}`)
	seen.named("turn_done")
	if got := result(other.get(), 0); !got.Result.IsError || strings.Contains(got.Result.Content, "of the workbench") {
		t.Errorf("what Ana's chat wrote, Ben's chat reads: %+v", got.Result)
	}

	c = run(`call more__get-sum {"a":2,"b":3} and call more__get-tiny-image {} and call more__get-env {}`)
	if got := result(c, 0); !strings.Contains(got.Result.Content, "5") {
		t.Errorf("get-sum: %+v", got.Result)
	}
	if got := result(c, 1); !strings.Contains(got.Result.Content, "[image image/png, ") || len(got.Result.Pictures) != 1 || got.Result.Pictures[0].Type != "image/png" {
		t.Errorf("get-tiny-image: %+v", got.Result)
	}
	env := map[string]string{}
	if got := result(c, 2); json.Unmarshal([]byte(got.Result.Content), &env) != nil || env["LISTED"] != "yes" {
		t.Errorf("get-env: %+v", got.Result)
	}
	for k, v := range env {
		if !slices.Contains([]string{"LISTED", "PATH", "HOME", "TMPDIR"}, k) || strings.Contains(v, "sekret") {
			t.Errorf("the child has %s=%s", k, v)
		}
	}

	// Progress is seen while it runs, and is never part of the log.
	r.say(`call more__trigger-long-running-operation {"duration":1,"steps":4}`)
	s.next("progress", func(e sse) bool {
		if e.Name != "message" || e.ID != "" {
			return false
		}
		step := decode[messageForm](t, e.Data).block("step", "")
		return step.State == "running" && strings.Contains(words(step.Detail), "%")
	})
	s.named("turn_done")
	if got := result(r.get(), 0); got.Status != "done" || !strings.Contains(got.Result.Content, "completed") {
		t.Errorf("trigger-long-running-operation: %+v", got)
	}

	// What breaks a real server's schema reaches nobody: no person is asked, and no server called.
	if got := result(run(`call files__write_file {"path":7,"content":"x"}`), 0); !got.Result.IsError || !strings.Contains(got.Result.Content, "/path") {
		t.Errorf("arguments that break the schema: %+v", got.Result)
	}
	llm.healthy()

	code, masked := prepare(t, settings{yaml: "{}", env: b.env}).run("config", "print")
	if code != 0 {
		t.Errorf("config print: %d", code)
	}
	var raw json.RawMessage
	r.call("GET", r.path(""), nil, &raw)
	for name, text := range map[string]string{"the log": b.out.String(), "the chat": string(raw), "config print": masked} {
		for _, secret := range []string{modelKey, "discord-sekret", "admin-sekret-of-16-bytes"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s", name, secret)
			}
		}
	}
	for _, e := range s.seen {
		if strings.Contains(string(e.Data), modelKey) {
			t.Errorf("an event holds the model's key: %s", e.Data)
		}
	}
}

// A key that is refused, and a service that is not there: said in the message, without the key.
func TestModelFails(t *testing.T) {
	t.Parallel()
	llm := startLLM(t)
	wrong := "sk-wrong-sekret-42"
	for name, c := range map[string]struct {
		env  map[string]string
		says string
	}{
		"wrong key": {llm.env("OPENAI_API_KEY=" + wrong), "401"},
		"no tools":  {llm.env(), "You said: nonsense"},
	} {
		b := start(t, settings{name: name, env: c.env})
		r := b.session("Ana").room()
		r.say("nonsense")
		got := r.idle()
		if said := got.last().text() + got.last().notes(); !strings.Contains(said, c.says) {
			t.Errorf("%s: %s", name, got)
		}
		var raw json.RawMessage
		r.call("GET", r.path(""), nil, &raw)
		if strings.Contains(b.out.String()+string(raw), wrong) {
			t.Errorf("%s: the key is shown:\n%s\n%s", name, raw, b.out.String())
		}
	}
}
