package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/harness/need"
	"github.com/nodhq/nod/tests/standins/mcpserver"
	"github.com/nodhq/nod/tests/standins/stand"
)

// child is another process that a test needs. It is killed when the test ends.
type child struct {
	t      testing.TB
	cmd    *exec.Cmd
	out    output
	exited chan struct{}
}

// spawn starts a process and waits for a line that says it is ready, which it returns.
func spawn(t testing.TB, cmd *exec.Cmd, ready func(line string) bool) (*child, string) {
	t.Helper()
	c := &child{t: t, cmd: cmd, exited: make(chan struct{})}
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, read := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(read)
		said := false
		for lines := bufio.NewScanner(r); lines.Scan(); {
			fmt.Fprintln(&c.out, lines.Text())
			if !said && ready(lines.Text()) {
				said = true
				line <- lines.Text()
			}
		}
	}()
	go func() {
		_ = cmd.Wait() // a test's server: its end is of no interest
		_ = w.Close()
		<-read
		close(c.exited)
	}()
	t.Cleanup(c.kill)
	select {
	case l := <-line:
		return c, l
	case <-c.exited:
	case <-time.After(patience):
	}
	t.Fatalf("%s does not get ready:\n%s", cmd.Path, c.out.String())
	return nil, ""
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.exited
}

// llm is the OpenAI-compatible service as a process of its own.
type llm struct {
	t   testing.TB
	url string
}

// modelKey is the bot's secret that must never be seen anywhere.
const modelKey = "sk-sekret-0123456789"

func startLLM(t testing.TB, args ...string) *llm {
	t.Helper()
	_, url := spawn(t, exec.Command(program("fakellm"), append([]string{"-key", modelKey}, args...)...), func(line string) bool { return strings.HasPrefix(line, "http://") })
	return &llm{t, url}
}

// env is what connects a bot to the service.
func (l *llm) env(more ...string) map[string]string {
	env := map[string]string{"OPENAI_BASE_URL": l.url, "OPENAI_API_KEY": modelKey, "OPENAI_MODEL": "fake"}
	for _, kv := range more {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	return env
}

// queue puts raw answers before the service's script.
func (l *llm) queue(bodies ...string) {
	l.t.Helper()
	var raw []map[string]any
	for _, b := range bodies {
		raw = append(raw, map[string]any{"body": b})
	}
	send, err := json.Marshal(raw)
	if err != nil {
		l.t.Fatal(err)
	}
	res, err := http.Post(strings.TrimSuffix(l.url, "/v1")+"/_fake/queue", "application/json", bytes.NewReader(send))
	if err != nil {
		l.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		l.t.Fatalf("queue: %d", res.StatusCode)
	}
}

// request is one that the service saw.
type request struct {
	Authorized bool
	Refused    string
	Body       json.RawMessage
}

func (l *llm) requests() (all []request) {
	l.t.Helper()
	res, err := http.Get(strings.TrimSuffix(l.url, "/v1") + "/_fake/requests")
	if err != nil {
		l.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&all); err != nil {
		l.t.Fatal(err)
	}
	return all
}

// healthy fails the test if the service refused anything that the bot sent.
func (l *llm) healthy() {
	l.t.Helper()
	for _, r := range l.requests() {
		if r.Refused != "" || !r.Authorized {
			l.t.Errorf("the service refused a request: %q, authorized %v: %s", r.Refused, r.Authorized, tail(string(r.Body), 3000))
		}
	}
}

// callsTool is a streamed answer with one call of these exact bytes.
func callsTool(name, arguments string) string {
	chunk, err := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": []any{map[string]any{
		"index": 0, "finish_reason": nil, "delta": map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
			"index": 0, "id": "call_raw", "type": "function", "function": map[string]any{"name": name, "arguments": arguments}}}}}}})
	if err != nil {
		panic(err) // only for bytes of this file
	}
	return "data: " + string(chunk) + "\n\n" +
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"fake","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
}

// toolbox is the configuration of tests/standins/mcpserver over stdio under the name box, and its ledger, which outlives every process.
func toolbox(t testing.TB, more ...string) (yaml string, ledger *mcpserver.Ledger) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger")
	return fmt.Sprintf("mcp: {servers: {box: {command: [%q, %q, box], paths: [%q]%s}}}\n", program("toolserver"), path, filepath.Dir(path), strings.Join(more, "")), mcpserver.OpenLedger(path)
}

// entry is the configuration of a toolbox with more in its server's entry.
func entry(yaml, more string) string {
	return strings.Replace(yaml, "box: {", "box: {"+more+", ", 1)
}

// redisServer is a real one, which can be killed and started again on its files.
type redisServer struct {
	*child
	url  string // as the user of deploy/redis-users.acl
	args []string
	sock string
	user string // what stands before @ in its URL
	data string // the folder of its files
	port int    // 0: it listens on the socket only
}

func startRedis(t testing.TB) *redisServer {
	t.Helper()
	return startRedisOn(t, t.TempDir())
}

// startRedisOn starts one on the files of a folder.
func startRedisOn(t testing.TB, data string) *redisServer {
	t.Helper()
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	path := need.Program(t, "redis", "redis-server")
	dir, err := os.MkdirTemp("", "nod") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	user, info, err := stand.RedisUser(filepath.Join("..", "..", "..", "deploy", "redis-users.acl"))
	if err != nil {
		t.Fatal(err)
	}
	r := &redisServer{url: "unix://" + info + sock, sock: sock, user: info, data: data, args: []string{path, "--port", "0", "--unixsocket", sock, "--save", "", "--appendonly", "yes", "--appendfsync", "no", "--dir", data}} // what it wrote outlives a kill without a sync, and a slow disk is not what is tested
	r.args = append(r.args, user...)
	r.start(t)
	return r
}

// startRedisAt starts one with a port, and with what a user of a Cluster needs more.
func startRedisAt(t testing.TB, args ...string) *redisServer {
	t.Helper()
	r := startRedis(t)
	r.kill()
	r.port = stand.FreePort(t)
	r.args[2] = strconv.Itoa(r.port)
	r.args = append(append(r.args, "+cluster|slots", "+cluster|shards", "+readonly"), args...)
	r.start(t)
	return r
}

func (r *redisServer) start(t testing.TB) {
	t.Helper()
	r.child, _ = spawn(t, exec.Command(r.args[0], r.args[1:]...), func(line string) bool { return strings.Contains(line, "eady to accept connections") })
}

// node is a program of tests/standins/node.
func node(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "standins", "node", "node_modules", ".bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		need.Missing(t, "node", "tests/standins/node has no "+name+": run npm ci there")
	}
	need.Program(t, "node", "node")
	return path
}
