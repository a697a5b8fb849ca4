package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// process is the whole program as people run it, in a process of its own: what it takes of memory and processor is its own. Everything
// else answers at once.
type process struct {
	*world
	cmd *exec.Cmd
}

// program is a world with one replica, the built program. NOD_BENCH_LOG shows what it prints, NOD_BENCH_METRICS is where it listens for a
// look at its profiles.
func program(ctx context.Context) (_ *process, err error) {
	p := &process{world: &world{}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	dir, at, tools, err := p.furnish(ctx)
	if err != nil {
		return nil, err
	}
	nod := filepath.Join(dir, "nod")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", nod, "./cmd/bot").CombinedOutput(); err != nil { //nolint:gosec // our own
		return nil, fmt.Errorf("build the program, from the repository's root: %w: %s", err, out)
	}
	model := httptest.NewServer(http.HandlerFunc(answerAtOnce))
	p.later(model.Close)
	p.slack = fakeslack.New(fakeslack.Options{Lean: true})
	p.later(p.slack.Close)
	p.slack.AddUser(fakeslack.User{ID: person, Name: "Ana"})
	for c := range rooms { // a channel takes a post a second
		p.slack.AddChannel(fakeslack.Channel{ID: room(c), Members: []string{person, p.slack.BotUser()}})
	}
	yaml := fmt.Sprintf("mcp: {servers: {box: {url: %q}}}\napprovals: {timeout: 24h}\n", tools)
	if at := os.Getenv("NOD_BENCH_METRICS"); at != "" {
		yaml += "metrics: {listen: " + at + "}\n"
	}
	config := filepath.Join(dir, "nod.yaml")
	if err := os.WriteFile(config, []byte(yaml), 0o600); err != nil {
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, nod, "-config", config) //nolint:gosec // built just now
	p.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "NOD_DATA_DIR=" + filepath.Join(dir, "data"), "NOD_LISTEN=127.0.0.1:0", "REDIS_URL=" + at,
		"SLACK_BOT_TOKEN=" + p.slack.BotToken(), "SLACK_SIGNING_SECRET=" + p.slack.SigningSecret(), "SLACK_API_URL=" + p.slack.URL(),
		"OPENAI_BASE_URL=" + model.URL, "OPENAI_API_KEY=sk-bench", "OPENAI_MODEL=pen",
	}
	front, err := p.start()
	if err != nil {
		return nil, err
	}
	return p, p.slack.Deliver(fakeslack.Endpoints{Events: front + slack.PathEvents, Interactivity: front + slack.PathInteractivity, Commands: front + slack.PathCommands})
}

// start runs the program, and says where it listens once it is ready.
func (p *process) start() (front string, err error) {
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	p.cmd.Stderr = io.Discard
	if os.Getenv("NOD_BENCH_LOG") != "" {
		p.cmd.Stderr = os.Stderr
	}
	if err := p.cmd.Start(); err != nil {
		return "", err
	}
	p.later(func() { _, _ = p.cmd.Process.Kill(), p.cmd.Wait() })
	lines := bufio.NewScanner(out)
	for front == "" && lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "nod listens on "); ok {
			front, _, _ = strings.Cut(at, " ")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // it ends with the process
	for range 1000 {
		if res, err := http.Get(front + "/readyz"); err == nil { //nolint:noctx // it is bounded by the loop
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return front, nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return "", errors.New("the program does not get ready")
}

const rooms = 500

func room(i int) string { return fmt.Sprintf("C%03d", i%rooms) }

var modelCalls atomic.Int64

// answerAtOnce is the model's service: a call of write for each question, then fifty words.
func answerAtOnce(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Role string }
		Tools    []struct{ Function struct{ Name string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) == 0 {
		http.Error(w, "no chat", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta, finish string) {
		_, _ = fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"pen","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
		_ = http.NewResponseController(w).Flush()
	}
	if asked.Messages[len(asked.Messages)-1].Role == "tool" {
		for i := range answerTokens {
			send(fmt.Sprintf(`{"content":%q}`, token(i)), "null")
		}
		send("{}", `"stop"`)
	} else {
		name := ""
		for _, t := range asked.Tools {
			if strings.Contains(t.Function.Name, "write") {
				name = t.Function.Name
			}
		}
		send(fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":%q,"arguments":%q}}]}`,
			modelCalls.Add(1), name, `{"path":"notes.txt","text":"hello"}`), "null")
		send("{}", `"tool_calls"`)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

const answerTokens = 50

// cpu is the processor time that the program has taken.
func (p *process) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, errors.New("/proc has no processor times")
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * time.Second / 100, nil // USER_HZ
}

// memory is what the program holds: its own, and what is mapped of its file, which the kernel shares and may drop.
type memory struct{ own, file int } // MB

func (m memory) String() string { return fmt.Sprintf("%d MB, and %d of its file", m.own, m.file) }

func (p *process) memory() (m memory, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(b)) {
		var kb int
		if _, err := fmt.Sscanf(line, "RssAnon: %d kB", &kb); err == nil {
			m.own = kb / 1000
		} else if _, err := fmt.Sscanf(line, "RssFile: %d kB", &kb); err == nil {
			m.file = kb / 1000
		}
	}
	return m, nil
}

// info is a number that Redis says of itself.
func (w *world) info(ctx context.Context, section, name string) (int64, error) {
	said, err := w.stats.Info(ctx, section).Result()
	if err != nil {
		return 0, err
	}
	_, text, _ := strings.Cut(said, "\n"+name+":")
	text, _, _ = strings.Cut(text, "\r")
	return strconv.ParseInt(text, 10, 64)
}
