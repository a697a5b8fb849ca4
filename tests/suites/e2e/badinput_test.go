package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/mcpserver"
	"github.com/nodhq/nod/tests/standins/stand"
)

// A configuration with a mistake starts nothing, and the error names the file, the line and the field.
func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, yaml string
		says       []string
	}{
		{"broken YAML", "listen: [127.0.0.1:0\nlease: 10s\n", []string{"nod.yaml:2", "this is not YAML: did not find expected ',' or ']'"}},
		{"unknown field", "lease: 10s\napprovals:\n  timeuot: 5s\n", []string{"nod.yaml:3", "approvals.timeuot"}},
		{"wrong type", "model:\n  max_steps: many\n", []string{"nod.yaml:2", "model.max_steps"}},
		{"a duration without a unit", "drain: 10\n", []string{"nod.yaml:1", "drain"}},
		{"a variable that is not set", "redis: {url: \"${NOBODY_SET_THIS}\"}\n", []string{"nod.yaml:1", "redis.url", "NOBODY_SET_THIS"}},
		{"a server without command and URL", "mcp:\n  servers:\n    files: {trusted: true}\n", []string{"nod.yaml:3", "mcp.servers.files"}},
	} {
		for _, command := range [][]string{{}, {"config", "check"}} {
			code, printed := prepare(t, settings{name: c.name, yaml: c.yaml}).run(command...)
			if code != 2 {
				t.Errorf("%s, %v: exit code %d", c.name, command, code)
			}
			for _, want := range c.says {
				if !strings.Contains(printed, want) {
					t.Errorf("%s, %v: it does not say %q:\n%s", c.name, command, want, printed)
				}
			}
			if strings.Contains(printed, "goroutine ") || strings.Contains(printed, "nod listens") {
				t.Errorf("%s, %v:\n%s", c.name, command, printed)
			}
		}
	}
	b := prepare(t, settings{name: "no such file"})
	b.file = filepath.Join(t.TempDir(), "missing.yaml")
	if code, printed := b.run(); code != 2 || !strings.Contains(printed, "missing.yaml") {
		t.Errorf("no such file: %d\n%s", code, printed)
	}
}

func TestUnreachableRedis(t *testing.T) {
	t.Parallel()
	url := fmt.Sprintf("redis://nod:redis-sekret@127.0.0.1:%d", stand.FreePort(t))
	code, printed := prepare(t, settings{env: map[string]string{"REDIS_URL": url}}).run()
	if code != 1 || !strings.Contains(strings.ToLower(printed), "redis") || !strings.Contains(printed, "refused") {
		t.Errorf("exit code %d:\n%s", code, printed)
	}
	if strings.Contains(printed, "redis-sekret") {
		t.Errorf("the password is shown:\n%s", printed)
	}
}

// Beyond loopback anybody could open a session, so it does not start without keys.
// R131
func TestOpenListenerWithoutKeys(t *testing.T) {
	t.Parallel()
	code, printed := prepare(t, settings{env: map[string]string{"NOD_LISTEN": "0.0.0.0:0"}}).run()
	if code == 0 || !strings.Contains(printed, "listen") || !strings.Contains(printed, "web.session_keys") || !strings.Contains(printed, "ADMIN_SESSION_KEYS") {
		t.Errorf("exit code %d:\n%s", code, printed)
	}
	b := start(t, settings{env: map[string]string{"NOD_LISTEN": "0.0.0.0:0", "ADMIN_SESSION_KEYS": "open-sesame-says-ali"}})
	b.addr = strings.Replace(b.addr, "[::]", "127.0.0.1", 1)
	b.addr = strings.Replace(b.addr, "0.0.0.0", "127.0.0.1", 1)
	nobody := &person{t: t, b: b}
	if status, _ := nobody.call("POST", "/api/v1/sessions", map[string]string{"name": "Eve"}, nil); status != http.StatusUnauthorized {
		t.Errorf("a session without a key: %d", status)
	}
	nobody.key = "open-sesame-says-ali"
	if status, no := nobody.call("POST", "/api/v1/sessions", map[string]string{"name": "Ana"}, nil); status != http.StatusCreated {
		t.Errorf("a session with a key: %d %+v", status, no)
	}
}

// A server that cannot be started is told to model and person; it never stops the others.
// R126
func TestServerCommandMissing(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	yaml := strings.Replace(box, "{servers: {", "{servers: {gone: {command: [/no/such/program]}, ", 1)
	llm := startLLM(t)
	b := start(t, settings{yaml: yaml, env: llm.env()})
	r := b.session("Ana").room()
	r.mustClick(r.ask(`call box__write {"path":"a"}`).RequestID, "allow_once")
	c := r.idle()
	if notes := c.last().notes(); !strings.Contains(notes, "gone") {
		t.Errorf("the chat does not say that the server gone is missing: %s", c)
	}
	if n := ledger.Count("write", "did"); n != 1 {
		t.Errorf("the other server's tool ran %d times", n)
	}
	all := llm.requests()
	if last := string(all[len(all)-1].Body); !strings.Contains(last, "gone") {
		t.Errorf("the model is not told: %s", last)
	}
	llm.healthy()
}

func TestToolWithBadSchema(t *testing.T) {
	t.Parallel()
	ledger := mcpserver.OpenLedger(filepath.Join(t.TempDir(), "ledger"))
	tools := mcpserver.New("odd", ledger)
	tools.Break("broken")
	llm := startLLM(t)
	b := start(t, settings{yaml: fmt.Sprintf("mcp: {servers: {odd: {url: %q}}}\n", tools.ServeHTTP(t).URL), env: llm.env()})
	r := b.session("Ana").room()
	r.mustClick(r.ask(`call odd__write {"path":"a"}`).RequestID, "allow_once") // its other tools work
	c := r.idle()
	if ledger.Count("write", "did") != 1 {
		t.Errorf("its other tool ran %d times: %s", ledger.Count("write", "did"), c)
	}
	until(t, "chat or log names the tool", func() bool { return strings.Contains(c.last().notes()+b.out.String(), "broken") })
	r.say(`call odd__broken {"a":1}`)
	c = r.idle()
	if call := c.last().ToolCalls[0]; !call.Result.IsError || !strings.Contains(call.Result.Content, "odd__broken") && !strings.Contains(call.Result.Content, "broken") {
		t.Errorf("calling it: %+v", call)
	}
	for _, req := range llm.requests() {
		if strings.Contains(string(req.Body), "strnig") {
			t.Error("the model was offered the broken schema")
		}
	}
	llm.healthy()
}

// What a model gets wrong goes back to the model as the call's one result. Nobody is asked about it and nothing runs.
func TestBadCalls(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	llm := startLLM(t)
	b := start(t, settings{yaml: box, env: llm.env()})
	r := b.session("Ana").room()
	s := r.events("")
	for _, c := range []struct{ what, tool, args, says string }{
		{"arguments that are not JSON", "box__write", `{"path": a.txt`, "JSON"},
		{"arguments that are no object", "box__write", `["a.txt"]`, "object"},
		{"duplicate keys", "box__write", `{"path":"a.txt","path":"/etc/passwd"}`, "path"},
		{"a missing field", "box__write", `{"text":"x"}`, "path"},
		{"a wrong type", "box__write", `{"path":1}`, "/path"},
		{"a tool that does not exist", "box__erase_everything", `{}`, "There is no tool named"},
		{"a server that does not exist", "nobody__write", `{"path":"a"}`, "There is no tool named"},
		{"no name", "", `{}`, ""},
	} {
		llm.queue(callsTool(c.tool, c.args))
		r.say(c.what)
		s.named("turn_done")
		got := r.get()
		if len(got.last().ToolCalls) == 0 {
			if c.tool != "" {
				t.Errorf("%s: no call: %s", c.what, got)
			}
			continue
		}
		call := got.last().ToolCalls[0]
		if !call.Result.IsError || !strings.Contains(call.Result.Content, c.says) || got.last().State != "done" {
			t.Errorf("%s: %s %+v", c.what, call.Status, call.Result)
		}
		if !strings.Contains(got.last().text(), "failed") && !strings.Contains(got.last().text(), "gave") {
			t.Errorf("%s: the model was not asked again: %s", c.what, got)
		}
	}
	for _, e := range s.seen {
		if e.Name == "approval_required" {
			t.Errorf("somebody was asked: %s", e.Data)
		}
	}
	if all, err := ledger.Effects(); err != nil || len(all) > 0 {
		t.Errorf("something ran: %v %v", all, err)
	}
	llm.healthy()
}

func TestHugeResult(t *testing.T) {
	t.Parallel()
	const size = 5 << 20
	box, ledger := toolbox(t)
	llm := startLLM(t)
	b := start(t, settings{yaml: box, env: llm.env()})
	r := b.session("Ana").room()
	r.mustClick(r.ask(fmt.Sprintf(`call box__big {"n":%d}`, size)).RequestID, "allow_once")
	c := r.idle()
	call := c.last().ToolCalls[0]
	if call.Status != "done" || ledger.Count("big", "did") != 1 {
		t.Errorf("%s, ran %d times", call.Status, ledger.Count("big", "did"))
	}
	// It is cut, and says so; nothing is lost silently.
	res := call.Result
	if len(res.Content) >= size || res.Omitted == 0 || len(res.Content)+res.Omitted < size || !strings.HasPrefix(res.Content, "aaaa") {
		t.Errorf("%d bytes kept, %d left out, of %d", len(res.Content), res.Omitted, size)
	}
	r.say("say still here") // the chat works with it in its log, and after a restart
	r.idle()
	b.restart()
	r.say("say and again")
	if c = r.idle(); !strings.Contains(c.last().text(), "and again") {
		t.Errorf("%s", c)
	}
	llm.healthy()
}

func TestBadMessages(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	for _, c := range []struct {
		what   string
		body   any
		status int
		says   string
	}{
		{"invalid UTF-8", []byte("{\"text\":\"caf\xe9\"}"), http.StatusBadRequest, "UTF-8"},
		{"1 MB", map[string]string{"text": strings.Repeat("a", 1<<20)}, http.StatusRequestEntityTooLarge, "65,536"},
		{"just too long", map[string]string{"text": strings.Repeat("a", 64<<10+1)}, http.StatusRequestEntityTooLarge, "65,536"},
		{"nothing", map[string]string{"text": " \n"}, http.StatusBadRequest, "nothing in this message"},
		{"no JSON", []byte("text=hi"), http.StatusBadRequest, "JSON"},
		{"a number", []byte(`{"text":1}`), http.StatusBadRequest, "text"},
		{"no body", nil, http.StatusBadRequest, "nothing in this message"},
	} {
		if status, no := r.call("POST", r.path("/messages"), c.body, nil); status != c.status || !strings.Contains(no.Message, c.says) {
			t.Errorf("%s: %d %+v", c.what, status, no)
		}
	}
	if c := r.get(); len(c.Messages) > 0 {
		t.Errorf("a refused message stands in the chat: %s", c)
	}
	// The longest that is taken, every byte of it.
	long := strings.Repeat("é", 32<<10)
	r.say(long)
	if c := r.idle(); c.Messages[0].Text != long {
		t.Errorf("%d bytes of %d are left", len(c.Messages[0].Text), len(long))
	}
	if status, no := r.call("POST", "/api/v1/chats/c-nobodys/messages", map[string]string{"text": "hi"}, nil); status != http.StatusNotFound {
		t.Errorf("a chat that does not exist: %d %+v", status, no)
	}
}
