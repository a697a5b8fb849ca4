package main

import (
	"bufio"
	"bytes"
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
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// process is the whole program as people run it, in a process of its own, or in several: what it takes of memory and processor is its own.
// Everything else answers at once.
type process struct {
	*world
	cmd    *exec.Cmd // the first
	all    []*exec.Cmd
	fronts []string // where each listens
	built  string   // the program
	at     string   // where Redis is
	ledger *mcpserver.Ledger
	config string
	env    []string
	log    counted

	pace pace // of its model

	shaky  bool           // deliveries arrive one to four times, in another order, at any replica, and one of twenty answers is cut
	passed atomic.Int64   // how many arrived
	copies sync.WaitGroup // those that nobody waits for
}

const (
	nod   = "./cmd/bot"
	floor = "./tests/tools/bench/floor"
)

// program is a world with one replica of a program, nod or the floor, that the repository has the source of. NOD_BENCH_LOG shows what it prints,
// NOD_BENCH_METRICS is where it listens for a look at its profiles.
func program(ctx context.Context, source string) (*process, error) {
	return programs(ctx, source, 1, around{yaml: aDay})
}

// aDay is how long asks wait, so that none expires while something is measured.
const aDay = "approvals: {timeout: 24h}\n"

// around is what is beside a program, where that differs.
type around struct {
	yaml  string        // more in nod.yaml
	takes time.Duration // each call of Slack
	pace  pace
}

// pace is a model's: how long it thinks, and between two words. The zero one writes all at once.
type pace struct{ first, word time.Duration }

// programs is a world with several replicas.
func programs(ctx context.Context, source string, replicas int, a around) (_ *process, err error) {
	p := &process{world: &world{}, pace: a.pace, log: counted{of: map[string]int{"lost the lease": 0}}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	dir, at, tools, err := p.furnish(ctx)
	if err != nil {
		return nil, err
	}
	p.built, p.at, p.ledger = filepath.Join(dir, "program"), at, mcpserver.OpenLedger(filepath.Join(dir, "ledger"))
	if out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", p.built, source).CombinedOutput(); err != nil { //nolint:gosec // our own
		return nil, fmt.Errorf("build the program, from the repository's root: %w: %s", err, out)
	}
	model := httptest.NewServer(http.HandlerFunc(p.answer))
	p.later(model.Close)
	slow := func(string) time.Duration { return a.takes }
	p.slack = fakeslack.New(fakeslack.Options{Lean: a.takes == 0, Latency: slow})
	p.later(p.slack.Close)
	p.slack.AddUser(fakeslack.User{ID: person, Name: "Ana"})
	p.slack.AddUser(fakeslack.User{ID: another, Name: "Ben"})
	for c := range rooms { // a channel takes a post a second
		p.slack.AddChannel(fakeslack.Channel{ID: room(c), Members: []string{person, another, p.slack.BotUser()}})
	}
	yaml := fmt.Sprintf("mcp: {servers: {box: {url: %q}}}\n%s", tools, a.yaml)
	if at := os.Getenv("NOD_BENCH_METRICS"); at != "" {
		yaml += "metrics: {listen: " + at + "}\n"
	}
	p.config = filepath.Join(dir, "nod.yaml")
	if err := os.WriteFile(p.config, []byte(yaml), 0o600); err != nil {
		return nil, err
	}
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "NOD_DATA_DIR=" + filepath.Join(dir, "data"), "NOD_LISTEN=127.0.0.1:0", "REDIS_URL=" + at,
		"SLACK_BOT_TOKEN=" + p.slack.BotToken(), "SLACK_SIGNING_SECRET=" + p.slack.SigningSecret(), "SLACK_API_URL=" + p.slack.URL(),
		"OPENAI_BASE_URL=" + model.URL, "OPENAI_API_KEY=sk-bench", "OPENAI_MODEL=pen", "FLOOR_TOOLS=" + tools,
	}
	p.later(p.kill)
	p.later(p.copies.Wait)
	return p, p.launch(ctx, replicas)
}

// launch starts replicas, waits until they are ready, and has Slack deliver to them: to the only one, or to each in turn.
func (p *process) launch(ctx context.Context, replicas int) error {
	for range replicas {
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	p.cmd = p.all[0]
	front := p.fronts[0]
	if replicas > 1 || p.shaky {
		passing := httptest.NewServer(http.HandlerFunc(p.pass))
		p.later(passing.Close)
		front = passing.URL
	}
	return p.slack.Deliver(fakeslack.Endpoints{Events: front + slack.PathEvents, Interactivity: front + slack.PathInteractivity, Commands: front + slack.PathCommands})
}

// kill is kill -9 of all replicas.
func (p *process) kill() {
	for _, cmd := range p.all {
		_, _ = cmd.Process.Kill(), cmd.Wait()
	}
	p.all, p.fronts = nil, nil
}

// start runs the program, until it is ready.
func (p *process) start(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, p.built, "-config", p.config) //nolint:gosec // built just now
	cmd.Env, cmd.Stderr = p.env, &p.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.all = append(p.all, cmd)
	lines, front := bufio.NewScanner(out), ""
	for front == "" && lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "nod listens on "); ok {
			front, _, _ = strings.Cut(at, " ")
		}
	}
	p.fronts = append(p.fronts, front)
	go func() { _, _ = io.Copy(io.Discard, out) }() // it ends with the process
	for range 6000 {
		if res, err := http.Get(front + "/readyz"); err == nil { //nolint:noctx // it is bounded by the loop
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("the program does not get ready")
}

// counted is what the program logs, of which some words are counted.
type counted struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counted) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for words := range c.of {
		c.of[words] += bytes.Count(b, []byte(words))
	}
	if os.Getenv("NOD_BENCH_LOG") != "" {
		return os.Stderr.Write(b)
	}
	return len(b), nil
}

func (c *counted) count(words string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[words]
}

const rooms = 500

func room(i int) string { return fmt.Sprintf("C%03d", i%rooms) }

var modelCalls atomic.Int64

// modelHeard is what the model was told: how often of a question, by its number, and of a call that nobody answered or that was denied.
var modelHeard struct {
	mu              sync.Mutex
	questions       map[string]int
	expired, denied int
	first, last     time.Time // of the expired
}

var numbered = regexp.MustCompile(`number ([0-9]+)`)

func hear(role string, content []byte) {
	h := &modelHeard
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case role == "tool" && bytes.Contains(content, []byte("timed out")):
		if h.last = time.Now(); h.expired == 0 {
			h.first = h.last
		}
		h.expired++
	case role == "tool" && bytes.Contains(content, []byte("denied")):
		h.denied++
	case role == "user":
		if n := numbered.FindSubmatch(content); n != nil {
			h.questions[string(n[1])]++
		}
	}
}

func forgetHeard() {
	modelHeard.mu.Lock()
	defer modelHeard.mu.Unlock()
	modelHeard.questions, modelHeard.expired, modelHeard.denied = map[string]int{}, 0, 0
}

// worded is how many words a question wants, where it says so.
var worded = regexp.MustCompile(`in ([0-9]+) words`)

// answer is the model's service: for each question a call of write, of slow where the question says so, or words: fifty, or as many as it says, in
// five thousand pieces at most.
func (p *process) answer(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) == 0 {
		http.Error(w, "no chat", http.StatusBadRequest)
		return
	}
	last := asked.Messages[len(asked.Messages)-1]
	hear(last.Role, last.Content)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta, finish string) {
		_, _ = fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"pen","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
		_ = http.NewResponseController(w).Flush()
	}
	_ = sleep(r.Context(), p.pace.first)
	n := answerTokens
	said := worded.FindSubmatch(last.Content)
	if said != nil {
		n, _ = strconv.Atoi(string(said[1]))
	}
	if said != nil || last.Role == "tool" || bytes.Contains(last.Content, []byte("in words")) {
		const pieces = 5000
		var piece strings.Builder
		for i := range n {
			piece.WriteString(token(i))
			if (i+1)%max(n/pieces, 1) != 0 && i+1 < n {
				continue
			}
			send(fmt.Sprintf(`{"content":%q}`, piece.String()), "null")
			piece.Reset()
			_ = sleep(r.Context(), p.pace.word)
		}
		send("{}", `"stop"`)
	} else {
		name, wanted := "", "write"
		if bytes.Contains(last.Content, []byte("slow")) {
			wanted = "slow"
		}
		for _, t := range asked.Tools {
			if strings.Contains(t.Function.Name, wanted) {
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

// cpu is the processor time that the program has taken, all its replicas together.
func (p *process) cpu() (all time.Duration, err error) {
	for _, cmd := range p.all {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
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
		all += time.Duration(user+system) * time.Second / 100 // USER_HZ
	}
	return all, nil
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
