package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/tests/mcpserver"
)

// A rule of a tool that the server does not have protects nothing; where it was to keep people from something, nothing else counts as well. What
// rules make of the tools that are there is counted with them.
func TestDoctorOfRulesForMissingTools(t *testing.T) {
	hub := mcpserver.New("hub", mcpserver.OpenLedger(filepath.Join(t.TempDir(), "l"))).ServeHTTP(t)
	rules := func(tools string) (int, string) {
		return visit(t, "mcp: {servers: {hub: {url: '"+hub.URL+"'}}}\npermissions: {servers: {hub: {"+tools+"}}}\n", nil)
	}
	code, report := rules("tools: {eco: {ask: never}}")
	says(t, report, "! MCP server hub", "permissions name tools that it does not have", "eco; did you mean echo?", "permissions.servers.hub.tools")
	if code != 0 {
		t.Errorf("exit code %d:\n%s", code, report)
	}
	for _, grave := range []string{"enabled: false", "approval: RequireAuth", "ask: always"} {
		code, report = rules("tools: {wirte: {" + grave + "}}")
		says(t, report, "✗ MCP server hub", "wirte; did you mean write?")
		if code != 1 {
			t.Errorf("%s: exit code %d", grave, code)
		}
	}
	_, report = rules("tools: {echo: {ask: always}}")
	says(t, report, "✓ MCP server hub", "ask first")
	_, report = rules("ask: never")
	says(t, report, "✓ MCP server hub", " 0 of them ask first")
}

// What the environment has and nod does not know, though it nearly does, is said by each of the three.
func TestMisspeltVariablesAreSaid(t *testing.T) {
	var out, errs bytes.Buffer
	p := process{args: []string{"config", "check"}, variables: []string{"BOT_LISTN", "PATH"}, env: onlyHome, stdout: &out, stderr: &errs}
	if p.main() != 0 || !strings.Contains(errs.String(), "BOT_LISTN is none that nod knows; did you mean BOT_LISTEN?") || strings.Contains(errs.String(), "PATH") {
		t.Errorf("%s%s", out.String(), errs.String())
	}
	out.Reset()
	p.args = []string{"doctor"}
	p.env = func(k string) (string, bool) {
		v, ok := map[string]string{"HOME": "/home/ana", "BOT_LISTEN": "127.0.0.1:0", "BOT_DATA_DIR": t.TempDir()}[k]
		return v, ok
	}
	p.main()
	says(t, out.String(), "! configuration", "BOT_LISTN")
	errs.Reset()
	p.args = nil
	p.run = func(context.Context, config.Config, io.Writer, *slog.Logger) error { return nil }
	p.main()
	if !strings.Contains(errs.String(), "BOT_LISTN") {
		t.Errorf("the log at start does not say it:\n%s", errs.String())
	}
}

// How servers are kept apart is said, and each that is not.
func TestGuard(t *testing.T) {
	c, err := config.Parse("bot.yaml", []byte("data_dir: /usr/share/nod\nmcp: {servers: {a: {command: [x], confine: false}, b: {command: [x], user: '1:1'}, c: {url: 'http://h/mcp'}}}"), onlyHome)
	if err != nil {
		t.Fatal(err)
	}
	fine, say, remarks := guard(c) // a test's binary is no launcher
	all := strings.Join(remarks, "\n")
	if fine || !strings.Contains(say, "MCP servers are not confined, because this binary is no launcher") || !strings.Contains(all, "confine: false: a") || strings.Contains(all, "c,") {
		t.Errorf("%v %q\n%s", fine, say, all)
	}
	if root := strings.Contains(all, "run as root, because nod does and their entries name no user: a"); root != (os.Geteuid() == 0) {
		t.Errorf("root: %v\n%s", root, all)
	}
	if !strings.Contains(all, "reach the page without a key") {
		t.Errorf("the open page is not spoken of:\n%s", all)
	}
	for text, want := range map[string]string{
		"": "[8080]",
		"web: {session_keys: [" + strings.Repeat("k", 40) + "]}":        "[]",
		"web: {enabled: false}\nredis: {url: 'redis://h'}":              "[6379]",
		"web: {enabled: false}\nredis: {url: 'redis://:p@h:7000'}":      "[]",
		"redis: {url: 'rediss://h:7000/0'}":                             "[8080 7000]",
		"listen: '127.0.0.1:0'\nredis: {url: 'unix:///run/redis.sock'}": "[]",
	} {
		c, err := config.Parse("bot.yaml", []byte(text), onlyHome)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(doors(c)); got != want {
			t.Errorf("%q: doors %s, want %s", text, got, want)
		}
	}
	if f := (&patient{Config: c}).guarded(); len(f) < 3 || f[0].Mark != surface.Doubtful || f[0].Do == "" {
		t.Errorf("the doctor says %+v", f)
	}
}

// What becomes of an entry.
func TestServerOf(t *testing.T) {
	c, err := config.Parse("bot.yaml", []byte("data_dir: /var/lib/nod\nmcp: {servers: {a: {command: x, args: [y], paths: [/srv/a, {path: /srv/b, read_only: true}], user: '7:8', type: stdio}, b: {command: [x], confine: false}}}"), onlyHome)
	if err != nil {
		t.Fatal(err)
	}
	a, b := serverOf(c, "a"), serverOf(c, "b")
	if a.Home != "/var/lib/nod/servers/a" || fmt.Sprint(a.Command, a.Bounds.Write, a.Bounds.Read, a.Bounds.Keep) != "[x y] [/srv/a] [/srv/b] [/var/lib/nod]" ||
		a.User == nil || *a.User != (mcp.User{UID: 7, GID: 8}) || a.Transport != "stdio" {
		t.Errorf("%+v %+v %+v", a, a.Bounds, a.User)
	}
	if b.Home != "" || b.Bounds != nil || b.User != nil {
		t.Errorf("%+v", b)
	}
}
