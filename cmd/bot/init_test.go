package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
)

// desk is a directory in which somebody begins, with a home.
type desk struct {
	t    *testing.T
	home string
	env  map[string]string
}

func sit(t *testing.T) *desk {
	t.Helper()
	at, home := t.TempDir(), t.TempDir()
	t.Chdir(at)
	return &desk{t: t, home: home, env: map[string]string{"HOME": home}}
}

func (d *desk) put(path, text string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) getenv(k string) (string, bool) { v, ok := d.env[k]; return v, ok }

// init runs nod init, and at a terminal types these lines. No token is ever shown.
func (d *desk) init(args, typed string) (code int, out, errs string) {
	d.t.Helper()
	var o, e bytes.Buffer
	p := process{args: append([]string{"init"}, strings.Fields(args)...), Process: command.Process{Stdin: strings.NewReader(typed), Terminal: typed != "", Stdout: &o, Stderr: &e, Env: d.getenv}}
	code = p.main()
	if strings.Contains(o.String()+e.String(), "s3cret") {
		d.t.Errorf("a token is shown:\n%s%s", o.String(), e.String())
	}
	return code, o.String(), e.String()
}

// written loads what was written, as the next start does.
func (d *desk) written() config.Config {
	d.t.Helper()
	c, err := config.Load("", d.getenv)
	if err != nil {
		text, _ := os.ReadFile(config.DefaultFile)
		d.t.Fatalf("%v\n%s", err, text)
	}
	if info, err := os.Stat(config.DefaultFile); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		d.t.Errorf("others may read it: %v, %v", info, err)
	}
	return c
}

// With flags alone nobody is asked, and nothing is taken over that was not named.
func TestInitByFlags(t *testing.T) {
	d := sit(t)
	d.put(".mcp.json", `{"mcpServers": {"files": {"command": "npx"}}}`)
	if code, out, errs := d.init("", ""); code != command.OK || out != "nod.yaml is written, with 0 tool servers. Then:\n  nod doctor\n  nod\n" {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	if c := d.written(); !c.Demo() || len(c.MCP.Servers) != 0 {
		t.Error("it is not the demo")
	}
	before, _ := os.ReadFile("nod.yaml")
	if !bytes.Contains(before, []byte("# mcpServers:")) {
		t.Errorf("it does not show how a tool server is written:\n%s", before)
	}
	if code, _, errs := d.init("-model m", ""); code != command.Fail || !strings.Contains(errs, "nod.yaml is there already") {
		t.Errorf("code %d: %s", code, errs)
	}
	if after, _ := os.ReadFile("nod.yaml"); !bytes.Equal(before, after) {
		t.Error("it was replaced")
	}
	if code, _, errs := d.init("-out other.yaml -model gpt-${5} -base-url http://llm/v1 -key-env LLM_KEY -import-all -reads", ""); code != command.OK || errs != "" {
		t.Fatal(errs)
	}
	d.env["NOD_CONFIG"], d.env["LLM_KEY"] = "other.yaml", "k"
	c, err := config.Load("other.yaml", d.getenv)
	if err != nil || c.Model.Name != "gpt-${5}" || c.Model.BaseURL.Reveal() != "http://llm/v1" || c.Model.APIKey.Reveal() != "k" || !c.MCP.Servers["files"].Trusted {
		t.Errorf("%+v, %v", c.Model, err)
	}
	if code, out, errs := d.init("-out model.yaml -model m -key-env LLM_KEY", "typed\n"); code != command.OK || strings.Contains(out, "[") || strings.Contains(out, "Set LLM_KEY") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	if c, err := config.Load("model.yaml", d.getenv); err != nil || c.Model.Name != "m" {
		t.Errorf("%+v, %v", c.Model, err)
	}
	d.put("large.json", "{}")
	if err := os.Truncate("large.json", 17<<20); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"-out x.yaml -import /dev/null":           "-import: /dev/null is no file of tool servers", // a pipe would be waited for
		"-out x.yaml -import large.json":          "-import: large.json is no file of tool servers",
		"-out x.yaml -base-url http://llm/v1":     "it is not written",
		"-out x.yaml -import none.json":           "-import: stat none.json",
		"-out x.yaml -key-env sk-123":             "-key-env: want the name of an environment variable",
		"-out x.yaml -model m -base-url llm:1/v1": "it is not written",
	} {
		if code, _, errs := d.init(args, ""); code != command.Usage || !strings.Contains(errs, want) {
			t.Errorf("%s: code %d: %s", args, code, errs)
		}
	}
	if code, _, errs := d.init("-out x.yaml -import /proc/self/mem", ""); runtime.GOOS == "linux" && (code != command.Usage || !strings.Contains(errs, "-import: read /proc/self/mem")) {
		t.Errorf("a file that cannot be read: code %d: %s", code, errs)
	}
	if code, _, errs := d.init("-out none/x.yaml", ""); code != command.Fail || !strings.Contains(errs, "no such file or directory") {
		t.Errorf("code %d: %s", code, errs)
	}
	if _, err := os.Stat("x.yaml"); err == nil {
		t.Error("a file with mistakes was written")
	}
}

// At a terminal three things are asked, and what would be started is shown first.
func TestInitAsks(t *testing.T) {
	d := sit(t)
	d.put(".mcp.json", `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server"]}}}`)
	code, out, errs := d.init("", "gpt-5\nhttp://llm/v1\nLLM_KEY\ny\ny\n")
	if code != command.OK {
		t.Fatal(errs)
	}
	for _, want := range []string{"The model's name", "address of its server", "[OPENAI_API_KEY]", "npx -y server", "Take them over?", "only read", "with 1 tool server. Set LLM_KEY"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	d.env["LLM_KEY"] = "k"
	c := d.written()
	if c.Model.Name != "gpt-5" || c.Model.BaseURL.Reveal() != "http://llm/v1" || c.Model.APIKey.Reveal() != "k" || !c.MCP.Servers["files"].Trusted {
		t.Errorf("%+v %+v", c.Model, c.MCP)
	}
	for typed, servers := range map[string]int{"\n": 0, "\n\n": 0, "\nn\n": 0, "\ny\n": 1, "\nyes\nno\n": 1} {
		if err := os.Remove("nod.yaml"); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := d.init("", typed); code != command.OK {
			t.Fatal(errs)
		}
		if c := d.written(); !c.Demo() || len(c.MCP.Servers) != servers || c.MCP.Servers["files"].Trusted {
			t.Errorf("%q: %+v", typed, c.MCP)
		}
	}
}

// The files of other programs, each with its own words.
func TestInitTakesOver(t *testing.T) {
	d := sit(t)
	data := t.TempDir()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	d.put(filepath.Join(d.home, "Library", "Application Support", "Claude", "claude_desktop_config.json"),
		`{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server-filesystem", "`+data+`", "`+d.home+`", "relative", "/usr/lib", "`+data+`/file", "/dev/null"], "env": {"TOKEN": "s3cret"}}}}`)
	d.put(filepath.Join("relative", "x"), "")
	d.put(filepath.Join(data, "file"), "")
	d.put(filepath.Join(".cursor", "mcp.json"), `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "other"], "env": {"A": "b"}}, "wiki": {"url": "https://wiki.example/mcp", "headers": {"A": "b"}},
		"own": {"command": "${workspaceFolder}/run", "args": ["`+d.home+`/.local/share/nod/x"]}}}`)
	d.put(filepath.Join(d.home, ".local", "share", "nod", "x"), "")
	d.put(filepath.Join(d.home, ".cursor", "mcp.json"), `{"mcpServers": {"wiki": {"url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${env:WIKI_TOKEN}"}},
		"files": {"command": "npx", "args": ["-y", "other"], "disabled": false}, "off": {"command": "x", "disabled": true}}}`)
	d.put(filepath.Join(".vscode", "mcp.json"), "\ufeff"+`{
		// comments and trailing commas are allowed here
		"inputs": [{"type": "promptString", "id": "gh-token", "password": true}],
		"servers": {
			"git hub!": {"type": "stdio", "command": "docker", "args": ["run", "${workspaceFolder}/x", "${userHome}"], "env": {"GITHUB_TOKEN": "${input:gh-token}"}, "cwd": "${workspaceFolder}"},
			"workbench": {"type": "sse", "url": "http://127.0.0.1:1/sse",},
		},
	}`)
	d.put(".mcp.json", `{"mcpServers": {"wiki": {"url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${WIKI_TOKEN:-none}"}}, "empty": {}}}`)
	d.put(filepath.Join(d.home, ".config", "Code", "User", "mcp.json"), `{"servers": "s3cret"}`)
	code, _, errs := d.init("-import-all", "")
	if code != command.OK {
		t.Fatal(errs)
	}
	for _, want := range []string{"off is left out", "empty is left out", "set GH_TOKEN before nod starts", "set WIKI_TOKEN", "files cannot reach " + d.home, "git-hub starts in a directory of its own", "own cannot reach ",
		filepath.Join("Code", "User", "mcp.json") + " cannot be read"} {
		if !strings.Contains(errs, want) {
			t.Errorf("it does not say %q:\n%s", want, errs)
		}
	}
	d.env["GH_TOKEN"], d.env["WIKI_TOKEN"] = "g", "w"
	c, got := d.written(), map[string]string{}
	for name, s := range c.MCP.Servers {
		got[name] = s.URL.Reveal() + strings.Join(config.RevealAll(s.Command), " ")
	}
	if d := cmp.Diff(map[string]string{
		"files": "npx -y server-filesystem " + data + " " + d.home + " relative /usr/lib " + data + "/file /dev/null", "files-2": "npx -y other", "files-3": "npx -y other", "wiki-2": "https://wiki.example/mcp", "own": at + "/run " + d.home + "/.local/share/nod/x", "wiki": "https://wiki.example/mcp",
		"git-hub": "docker run " + at + "/x " + d.home, "workbench-2": "http://127.0.0.1:1/sse",
	}, got); d != "" {
		t.Error(d)
	}
	if text, err := os.ReadFile("nod.yaml"); err != nil || strings.Contains(string(text), `dir: ""`) {
		t.Errorf("what was not said is written: %s, %v", text, err)
	}
	s := c.MCP.Servers
	if s["files"].Env["TOKEN"].Reveal() != "s3cret" || s["git-hub"].Env["GITHUB_TOKEN"].Reveal() != "g" || s["wiki"].Headers["Authorization"].Reveal() != "Bearer w" ||
		s["workbench-2"].Type != config.SSE || len(s["files"].Paths) != 2 || s["files"].Paths[0].Path != data || s["files"].Paths[1].Path != data+"/file" || len(s["files-3"].Env) != 1 || s["files"].Trusted {
		t.Errorf("%+v", s)
	}
}
