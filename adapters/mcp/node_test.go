//go:build unix

package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/tests/standins/stand"
)

// The servers of the MCP project, in the versions of tests/standins/node/package-lock.json.

// nodeHTTP starts server-everything on a free port and returns its address.
func nodeHTTP(t *testing.T, mode, path string) string {
	t.Helper()
	program := needNode(t, "mcp-server-everything")
	port := stand.FreePort(t)
	cmd := exec.Command(program, mode)
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-drained
		_ = cmd.Wait() // killed
	})
	listening := make(chan struct{})
	go func() {
		defer close(drained)
		said := false
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			if !said && strings.Contains(lines.Text(), fmt.Sprint(port)) {
				said = true
				close(listening)
			}
		}
	}()
	select {
	case <-listening:
	case <-within(t).Done():
		t.Fatal("server-everything does not say that it listens")
	}
	return fmt.Sprintf("http://127.0.0.1:%d%s", port, path)
}

func TestServerEverything(t *testing.T) {
	t.Setenv("SLACK_BOT_TOKEN", "xoxb-sekret")
	for kind, server := range map[string]func(t *testing.T) Server{
		kindStdio: func(t *testing.T) Server {
			return Server{Command: []string{needNode(t, "mcp-server-everything"), "stdio"}, Env: map[string]string{"LISTED": "yes"}}
		},
		kindHTTP: func(t *testing.T) Server { return Server{URL: nodeHTTP(t, "streamableHttp", "/mcp")} },
		kindSSE:  func(t *testing.T) Server { return Server{URL: nodeHTTP(t, "sse", "/sse"), Transport: kindSSE} },
		// The same address, without being told that it is the older transport.
		"sse unsaid": func(t *testing.T) Server { return Server{URL: nodeHTTP(t, "sse", "/sse")} },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m := start(t, map[string]Server{"all": server(t)})
			tools, faults, err := m.List(within(t))
			if err != nil || len(tools) < 10 {
				t.Fatalf("%d tools, %v", len(tools), err)
			}
			// One of its tools can only be called as a task, which nod does not do: nobody is asked about what cannot run.
			if len(faults) != 1 || !strings.Contains(faults[0].Say, "simulate-research-query") || slices.ContainsFunc(tools, func(s agent.ToolSpec) bool { return s.Tool.Name == "simulate-research-query" }) {
				t.Errorf("faults %v", faults)
			}
			if r := must(t, m, "all", "echo", `{"message":"hi"}`); r.Text != "Echo: hi" {
				t.Errorf("echo: %+v", r)
			}
			if r := must(t, m, "all", "get-sum", `{"a":2,"b":3}`); !strings.Contains(r.Text, "5") {
				t.Errorf("get-sum: %+v", r)
			}
			if r := must(t, m, "all", "get-tiny-image", `{}`); !strings.Contains(r.Text, "[image image/png, ") {
				t.Errorf("get-tiny-image: %+v", r)
			}
			r := must(t, m, "all", "get-structured-content", `{"location":"Chicago"}`)
			var weather map[string]json.RawMessage
			if json.Unmarshal(r.Structured, &weather) != nil || weather["temperature"] == nil {
				t.Errorf("get-structured-content: %+v", r)
			}
			if r := must(t, m, "all", "get-resource-reference", `{"resourceType":"Text","resourceId":1}`); !strings.Contains(r.Text, "[resource ") {
				t.Errorf("get-resource-reference: %+v", r)
			}
			if r := must(t, m, "all", "get-env", `{}`); kind == kindStdio && (strings.Contains(r.Text, "sekret") || !strings.Contains(r.Text, `"LISTED"`)) {
				t.Errorf("get-env: %s", r.Text)
			}
			if r := must(t, m, "all", "get-sum", `{"a":"x"}`); !r.IsError {
				t.Errorf("wrong arguments: %+v", r)
			}
			if err := m.Check(within(t), spec(t, m, "all", "get-sum").Tool, json.RawMessage(`{"a":"x"}`)); err == nil || !strings.Contains(err.Error(), "at /a: ") {
				t.Errorf("Check: %v", err)
			}
			steps := 0
			r, err = m.Call(within(t), token(t, spec(t, m, "all", "trigger-long-running-operation").Tool, `{"duration":1,"steps":4}`),
				func(p turn.Progress) {
					if steps++; p.Total != 4 {
						t.Errorf("progress %+v", p)
					}
				})
			if err != nil || r.IsError || steps == 0 {
				t.Errorf("long running: %+v, %v after %d steps of progress", r, err, steps)
			}
		})
	}
}

// What the MCP project's own server asks for, over both of its transports that can.
func TestServerEverythingAsks(t *testing.T) {
	for kind, server := range map[string]func(t *testing.T) Server{
		kindStdio: func(t *testing.T) Server {
			return Server{Command: []string{needNode(t, "mcp-server-everything"), "stdio"}}
		},
		kindHTTP: func(t *testing.T) Server { return Server{URL: nodeHTTP(t, "streamableHttp", "/mcp")} },
	} {
		t.Run(kind, func(t *testing.T) {
			cfg, log := server(t), &logged{}
			m, err := newServers(Config{Servers: map[string]Server{"files": cfg}, Log: log.logger()}, quick)
			if err != nil {
				t.Fatal(err)
			}
			m.Start()
			t.Cleanup(func() {
				_ = m.Close()
				if t.Failed() {
					t.Logf("log:\n%s", log)
				}
			})
			p := newPerson()
			p.answer <- accept(`{"name":"Ana","integer":7}`)
			if got := receive(t, "outcome", runFor(t, m, p, "trigger-elicitation-request", `{}`)); got.err != nil || !strings.Contains(got.Text, "- Name: Ana") || !strings.Contains(got.Text, "- Favorite Integer: 7") {
				t.Errorf("%+v", got)
			}
			if w := receive(t, "question", p.asked); len(w.Fields) != 13 || w.Fields[0].Name != "name" || !w.Fields[0].Required {
				t.Errorf("asked for %d fields: %+v", len(w.Fields), w.Fields)
			}
			p.answer <- turn.Fill{Action: turn.FillDecline}
			if got := receive(t, "outcome", runFor(t, m, p, "trigger-elicitation-request", `{}`)); !strings.Contains(got.Text, "User declined") {
				t.Errorf("%+v", got)
			}
			<-p.asked
			p.answer <- accept("")
			if got := receive(t, "outcome", runFor(t, m, p, "trigger-url-elicitation", `{"url":"https://example.com/a"}`)); got.err != nil || got.IsError || !strings.Contains(got.Text, "accept") {
				t.Errorf("%+v", got)
			}
			if w := receive(t, "question", p.asked); w.URL != "https://example.com/a" {
				t.Errorf("asked %+v", w)
			}
		})
	}
}

func TestServerFilesystem(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := start(t, map[string]Server{"files": {Command: []string{needNode(t, "mcp-server-filesystem"), dir}}})
	write := spec(t, m, "files", "write_file")
	if h := write.Hints; h.ReadOnly == nil || *h.ReadOnly || h.Destructive == nil || !*h.Destructive {
		t.Errorf("hints of write_file: %+v", h)
	}
	path := filepath.Join(dir, "notes.txt")
	args, err := json.Marshal(map[string]string{"path": path, "content": "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(within(t), write.Tool, args); err != nil {
		t.Errorf("Check: %v", err)
	}
	if r := must(t, m, "files", "write_file", string(args)); r.IsError {
		t.Errorf("%+v", r)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	if r := must(t, m, "files", "read_text_file", `{"path":"/etc/passwd"}`); !r.IsError || !strings.Contains(r.Text, "denied") {
		t.Errorf("/etc/passwd: %+v", r)
	}
}
