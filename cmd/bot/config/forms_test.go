package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the README of every MCP server gives people is read as it stands: as JSON, too.
func TestServersAsOthersWriteThem(t *testing.T) {
	for name, text := range map[string]string{
		"mcpServers":    "mcpServers:\n  files:\n    command: npx\n    args: [-y, server, /srv/data]\n    env: {TOKEN: t}\n",
		"JSON":          `{"mcpServers": {"files": {"type": "stdio", "command": "npx", "args": ["-y", "server", "/srv/data"], "env": {"TOKEN": "t"}}}}`,
		"JSON and tabs": "{\n\t\"mcpServers\": {\n\t\t\"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"server\", \"/srv/data\"], \"env\": {\"TOKEN\": \"t\"}}\n\t}\n}\n",
		"ours":          "mcp: {servers: {files: {command: [npx, -y, server, /srv/data], env: {TOKEN: t}}}}",
		"half":          "mcp: {servers: {files: {command: [npx, -y], args: [server, /srv/data], env: {TOKEN: t}}}}",
	} {
		t.Run(name, func(t *testing.T) {
			c := mustParse(t, text, env())
			s := c.MCP.Servers["files"]
			if d := cmp.Diff([]string{"npx", "-y", "server", "/srv/data"}, RevealAll(s.Command)); d != "" {
				t.Error(d)
			}
			if s.Env["TOKEN"].Reveal() != "t" || !s.Confine || s.Args != nil {
				t.Errorf("%+v", s)
			}
			roundTrip(t, c, env())
		})
	}
	c := mustParse(t, `{"mcpServers": {"wiki": {"type": "streamable-http", "url": "http://h/mcp"}}}`, env())
	if s := c.MCP.Servers["wiki"]; s.Type != HTTP || s.URL.Reveal() != "http://h/mcp" {
		t.Errorf("%+v", s)
	}
	c = mustParse(t, `{"mcpServers": {
		"docs": {"command": "uvx", "args": ["docs@latest"], "env": {"LOG_LEVEL": "ERROR"}, "cwd": "/srv/docs", "disabled": false, "autoApprove": [], "alwaysAllow": []},
		"shop": {"command": "uvx", "autoApprove": ["buy"], "alwaysAllow": ["sell"]},
		"off": {"command": "uvx", "disabled": true}
	}}`, env("ADMIN_SESSION_KEYS", "a-key-of-16-bytes"))
	if s := c.MCP.Servers["docs"]; len(c.MCP.Servers) != 2 || s.Dir != "/srv/docs" {
		t.Errorf("%+v", c.MCP.Servers)
	}
	want := `nod.yaml:3: mcp.servers.shop.autoApprove: has no effect: it is another program's permission, and nod asks all the same; permissions.servers says what runs unasked here
nod.yaml:3: mcp.servers.shop.alwaysAllow: has no effect: it is another program's permission, and nod asks all the same; permissions.servers says what runs unasked here
nod.yaml:4: mcp.servers.off: is left out: it is disabled`
	if d := cmp.Diff(want, strings.Join(c.Warnings(), "\n")); d != "" {
		t.Error(d)
	}
	c = mustParse(t, `{"mcpServers": {"a": {"command": "run", "args": ["--token", "s3cret"]}}}`, env())
	var out strings.Builder
	if err := c.Write(&out); err != nil || strings.Contains(out.String(), "s3cret") {
		t.Errorf("%v, printed: %s", err, out.String())
	}
}

// JSON may write a character as two escapes, which YAML does not know: Python does so with all that is outside ASCII, if it is asked for nothing else.
func TestEscapesOfJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcpServers": {"a": {"command": "run", "description": "\ud83d\uDC19 \u00e9"}}}`:     "\U0001F419 é",
		`{"mcpServers": {"a": {"command": "run", "description": "\\ud83d\\udc19"}}}`:          `\ud83d\udc19`,
		`mcpServers: {a: {command: run, description: '\ud83d\udc19'}} # no JSON, nor escaped`: `\ud83d\udc19`,
	} {
		if got := mustParse(t, text, env()).MCP.Servers["a"].Description; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	c := mustParse(t, "mcp: {servers: {a: {command: [x], paths: [~/data, {path: /srv/ro, read_only: true}]}}}", env())
	if d := cmp.Diff([]Path{{Path: "/home/ana/data"}, {Path: "/srv/ro", ReadOnly: true}}, c.MCP.Servers["a"].Paths); d != "" {
		t.Error(d)
	}
	dir := t.TempDir()
	warned := func(text string) string {
		return strings.Join(mustParse(t, text, env()).Warnings(), "\n")
	}
	if w := warned("mcp: {servers: {a: {command: [x, '" + dir + "']}}}"); !strings.Contains(w, "paths: ["+dir+"]") {
		t.Errorf("a path that is named and not granted: %q", w)
	}
	for _, fine := range []string{"'" + dir + "'], paths: ['" + dir + "'", "'" + dir + "'], confine: false, paths: [", "'" + dir + "'], dir: '" + dir + "', paths: [",
		".", "'" + dir + "/none'", "--token-file, '" + dir + "'"} {
		if w := warned("mcp: {servers: {a: {command: [x, " + fine + "]}}}"); strings.Contains(w, "the command names") {
			t.Errorf("%s: %q", fine, w)
		}
	}
}

// Variables that are nearly ours do nothing, and that is said.
func TestMisspeltVariables(t *testing.T) {
	for name, want := range map[string]string{
		"NOD_LISTN": "NOD_LISTEN", "SLACK_BOT_TOKE": "SLACK_BOT_TOKEN", "NOD_LEASE": "lease stands in the file", "DISCORD_TOKENS": "DISCORD_TOKEN",
		"NOD_LISTEN": "", "NOD_CONFIG": "", "NOD_WEB_SESSION_KEY": "", "OPENAI_ORG_ID": "", "MODEL": "", "POD_LISTEN": "", "PATH": "", "REDIS_HOST": "",
	} {
		got := strings.Join(Misspelt([]string{name}), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The built-in tools are the demo's: where people work with nod in earnest, only an operator's word offers them.
func TestWhereTheWorkbenchIs(t *testing.T) {
	model := []string{"OPENAI_MODEL", "m"}
	slack := []string{"SLACK_BOT_TOKEN", "xoxb-1", "SLACK_APP_TOKEN", "xapp-1"}
	server := "mcp: {servers: {a: {command: [x]}}}\n"
	for _, tt := range []struct {
		text string
		env  []string
		want bool
	}{
		{"", nil, true},
		{"", slack, true}, // the scripted model has nothing else
		{"", model, true},
		{"", append(slack, model...), false},
		{"", append([]string{"DISCORD_TOKEN", "t"}, model...), false},
		{server, nil, true},
		{server, model, false},
		{server + "workbench: true", model, true},
		{"workbench: false", nil, false},
	} {
		if got := mustParse(t, tt.text, env(tt.env...)).OffersWorkbench(); got != tt.want {
			t.Errorf("%q with %v: %v", tt.text, tt.env, got)
		}
	}
}
