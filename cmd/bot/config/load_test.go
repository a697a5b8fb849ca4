package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"encoding/json"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v4"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

var update = flag.Bool("update", false, "write golden files anew")

// env is an environment that holds HOME and what the test adds.
func env(pairs ...string) Getenv {
	m := map[string]string{"HOME": "/home/ana"}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

func mustParse(t *testing.T, text string, e Getenv) Config {
	t.Helper()
	c, err := Parse("nod.yaml", []byte(text), e)
	if err != nil {
		t.Fatalf("unexpected problems:\n%v", err)
	}
	return c
}

// R115
func TestNothingIsTheDemo(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "{}", "model:\n", "mcp: {servers: }"} {
		c := mustParse(t, text, env())
		if !c.Demo() {
			t.Errorf("%q is not the demo", text)
		}
		if c.DataDir != "/home/ana/.local/share/nod" {
			t.Errorf("data_dir %q", c.DataDir)
		}
		if got := c.Policy().AskingWhere(false).Timeout; got != time.Minute {
			t.Errorf("on the page asks stay open for %v, want 60s (R115)", got)
		}
		if got := c.Policy().AskingWhere(true).Timeout; got != 30*time.Minute {
			t.Errorf("where asks notify people they stay open for %v, want 30m", got)
		}
		if len(c.Policy().Servers) != 0 || !c.Policy().Installed || c.Policy().AllowAll {
			t.Errorf("policy of nothing: %+v", c.Policy())
		}
	}
}

// everything is the example of the project's issue 2: the names are fixed.
const everything = `
listen: 127.0.0.1:8080
data_dir: ~/.local/share/nod
redis: {url: "", durability: local}
model: {base_url: "", api_key: "${OPENAI_API_KEY}", name: "", max_steps: 16, context_tokens: 0}
mcp:
  servers:
    files: {command: [npx, -y, "@modelcontextprotocol/server-filesystem", /srv/data], env: {TOKEN: "${TOKEN}"}, trusted: false, timeout: 60s}
    wiki:  {url: "https://wiki.example/mcp", headers: {Authorization: "Bearer ${WIKI_TOKEN}"}}
approvals: {timeout: 60s, sequential: false, nudge_after: 2s, approvers: requester}
permissions:
  mode: tool
  posture: mcp
  servers: {files: {ask: always, tools: {read_file: {ask: never}, write_file: {ask: default, enabled: true, access: write, risk: moderate, approval: RequireConfirmation, message: "Write {{.args.path}}?", timeout: 5m, repeat: auto, chat_grant: true}}}}
grants: {survive_restart: true}
admins: ["slack:T1:U1", "discord:G1:U1"]
web: {enabled: true, session_keys: []}
lease: 10s
drain: 10s
slack:   {bot_token: "${SLACK_BOT_TOKEN}", app_token: "${SLACK_APP_TOKEN}", signing_secret: "${SLACK_SIGNING_SECRET}", api_url: "", follow: thread,
  channels: {C0123ABC456: {follow: mention}}, guests: false, external: false, suggestions: [What can you do?], connections: 2}
discord: {token: "${DISCORD_TOKEN}", public_key: "", api_url: "", conversation: thread, follow: thread,
  channels: {1234567890123456789: {conversation: channel}}, link_hosts: [example.com, "*.example.org"], shards: 0}
`

func TestTheDocumentedExample(t *testing.T) {
	c := mustParse(t, everything, env("TOKEN", "tok-1", "WIKI_TOKEN", "wik-2", "OPENAI_API_KEY", "oak-3"))
	files := c.MCP.Servers["files"]
	if len(files.Command) != 4 || files.Command[3].Reveal() != "/srv/data" || files.Env["TOKEN"].Reveal() != "tok-1" || files.Timeout != time.Minute {
		t.Errorf("files: %+v", files)
	}
	wiki := c.MCP.Servers["wiki"]
	if wiki.URL.Reveal() != "https://wiki.example/mcp" || wiki.Headers["Authorization"].Reveal() != "Bearer wik-2" || wiki.Timeout != time.Minute {
		t.Errorf("wiki: %+v", wiki)
	}
	if c.Model.APIKey.Reveal() != "oak-3" || c.Slack.BotToken != "" {
		t.Error("model.api_key or an unset SLACK_BOT_TOKEN read wrongly")
	}
	p := c.Policy()
	write, read := permission.Write, permission.Moderate
	approval, minutes, yes := permission.RequireConfirmation, 5*time.Minute, true
	want := permission.Policy{
		Installed: true, Timeout: time.Minute, SurviveRestart: true, ChannelFor: permission.ChannelGrantFor, Revision: p.Revision,
		Admins: []chat.User{{Platform: "slack", Workspace: "T1", Key: "U1"}, {Platform: "discord", Workspace: "G1", Key: "U1"}},
		Servers: map[string]permission.ServerSettings{
			"wiki": {},
			"files": {Ask: permission.AlwaysAsk, Tools: map[string]permission.ToolSettings{
				"read_file": {Ask: permission.NeverAsk},
				"write_file": {Access: &write, Risk: &read, Approval: &approval, Message: "Write {{.args.path}}?",
					Timeout: &minutes, ChatGrant: &yes},
			}},
		},
	}
	if d := cmp.Diff(want, p); d != "" {
		t.Errorf("policy (-want +got):\n%s", d)
	}
	if again := c.Policy(); again.Revision != p.Revision || p.Revision == "" {
		t.Errorf("revision %q, then %q", p.Revision, again.Revision)
	}
	c.Permissions.Mode = permission.ModeAlways
	if c.Policy().Revision == p.Revision {
		t.Error("another policy has the same revision")
	}
}

// An old file, from before there were permissions, still loads and asks for every MCP tool (R168).
// R168
func TestOldFileWithoutPermissionsLoads(t *testing.T) {
	c := mustParse(t, "mcp: {servers: {files: {command: [npx]}}}\n", env())
	p := c.Policy()
	if !p.Installed || p.Mode != permission.ModeTool || p.Servers["files"].Ask != permission.Inherit || p.Servers["files"].Trusted {
		t.Errorf("%+v", p)
	}
}

// R11 R116
func TestDisabledAndParked(t *testing.T) {
	c := mustParse(t, "approvals: {timeout: park}\npermissions: {servers: {workbench: {enabled: false, timeout: park, tools: {calculator: {enabled: false}}}}}", env())
	p := c.Policy()
	s := p.Servers["workbench"]
	if p.Timeout != 0 || !s.Disabled || s.Timeout == nil || *s.Timeout != 0 || !s.Tools["calculator"].Disabled {
		t.Errorf("%+v", p)
	}
}

// R110
func TestEnvironmentOverTheFile(t *testing.T) {
	file := `
listen: 127.0.0.1:1
data_dir: /file
redis: {url: "redis://file:1"}
model: {base_url: "http://file/v1", api_key: filekey, name: filename}
slack: {bot_token: xoxb-f, app_token: xapp-f, signing_secret: f, api_url: "http://file"}
discord: {token: f, public_key: ` + strings.Repeat("a", 64) + `, api_url: "http://file"}
`
	set := env("NOD_LISTEN", "127.0.0.1:2", "NOD_DATA_DIR", "/env", "REDIS_URL", "redis://env:2", "OPENAI_BASE_URL", "http://env/v1",
		"OPENAI_API_KEY", "envkey", "OPENAI_MODEL", "envname", "ADMIN_SESSION_KEYS", " one-key-of-many-bytes ,, two-keys-of-16-byte", "SLACK_BOT_TOKEN", "xoxb-e1", "SLACK_APP_TOKEN", "xapp-e2",
		"SLACK_SIGNING_SECRET", "e3", "SLACK_API_URL", "http://env/4", "DISCORD_TOKEN", "e5", "DISCORD_PUBLIC_KEY", strings.Repeat("b", 64), "DISCORD_API_URL", "http://env:6")
	for name, text := range map[string]string{"over a file": file, "without a file": ""} {
		t.Run(name, func(t *testing.T) {
			c := mustParse(t, text, set)
			got := []string{c.Listen, c.DataDir, c.Redis.URL.Reveal(), c.Model.BaseURL.Reveal(), c.Model.APIKey.Reveal(), c.Model.Name,
				c.Slack.BotToken.Reveal(), c.Slack.AppToken.Reveal(), c.Slack.SigningSecret.Reveal(), c.Slack.APIURL.Reveal(),
				c.Discord.Token.Reveal(), c.Discord.PublicKey, c.Discord.APIURL.Reveal()}
			want := []string{"127.0.0.1:2", "/env", "redis://env:2", "http://env/v1", "envkey", "envname", "xoxb-e1", "xapp-e2", "e3", "http://env/4", "e5", strings.Repeat("b", 64), "http://env:6"}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			// R110: spaces trimmed, an empty entry never matches.
			if len(c.AdminSessionKeys) != 2 || c.AdminSessionKeys[0] != "one-key-of-many-bytes" || c.AdminSessionKeys[1] != "two-keys-of-16-byte" {
				t.Errorf("ADMIN_SESSION_KEYS gave %d keys", len(c.AdminSessionKeys))
			}
		})
	}
	// An empty variable is not set: compose files pass those on.
	if c := mustParse(t, file, env("OPENAI_API_KEY", "", "NOD_LISTEN", "")); c.Model.APIKey != "filekey" || c.Listen != "127.0.0.1:1" {
		t.Error("an empty variable went over the file")
	}
}

// What a file of variables, or a secret made with echo, brings along is no part of a value. Quotation marks that nothing took away are said.
func TestVariablesWithSpaceAround(t *testing.T) {
	c := mustParse(t, "mcp: {servers: {wiki: {url: '${WIKI}'}}}", env("NOD_DATA_DIR", "/env\r", "OPENAI_BASE_URL", "http://h/v1\n", "OPENAI_MODEL", " m\r\n", "NOD_LISTEN", " \r\n", "WIKI", "http://w/mcp\r"))
	if c.DataDir != "/env" || c.Model.BaseURL.Reveal() != "http://h/v1" || c.Model.Name != "m" || c.Listen != "127.0.0.1:8080" || c.MCP.Servers["wiki"].URL.Reveal() != "http://w/mcp" {
		t.Errorf("%q %q %q %q %+v", c.DataDir, c.Model.BaseURL.Reveal(), c.Model.Name, c.Listen, c.MCP.Servers)
	}
	for _, v := range []string{`"s3cret"`, `'s3cret'`} {
		if _, err := Parse("nod.yaml", nil, env("OPENAI_API_KEY", v)); err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY: model.api_key: stands in quotation marks") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v", err)
		}
	}
}

// What stands where the file should be, and is none, is no silent demo: Docker makes a directory of a file that it was to mount and that is not there.
func TestDirectoryForAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir(DefaultFile, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load("", env()); err == nil || !strings.Contains(err.Error(), "the configuration cannot be read") {
		t.Errorf("%v", err)
	}
}

// A directory that is named from where nod starts is as closed to servers as one that is named in full.
func TestDataDirFromHere(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	for _, dir := range []string{"data", "./data", "."} {
		if _, err := Parse("nod.yaml", []byte("mcp: {servers: {files: {command: [x], paths: ['"+here+"']}}}"), env("NOD_DATA_DIR", dir)); err == nil || !strings.Contains(err.Error(), "paths[0]: would open data_dir") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// The audit's key is one file, wherever a command is started from: another directory would make another key, and nothing would verify.
func TestFilesBelowHome(t *testing.T) {
	t.Chdir(t.TempDir())
	here, _ := os.Getwd()
	for path, want := range map[string]string{"~/audit.key": "/home/ana/audit.key", "keys/audit.key": here + "/keys/audit.key", "/etc/nod/key": "/etc/nod/key", "": ""} {
		c := mustParse(t, "audit: {key: '"+path+"'}\nreputation: {file: '~/list', public_key: 6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=}", env("HOME", "/home/ana"))
		if c.Audit.SignWith != want || c.Reputation.File != "/home/ana/list" {
			t.Errorf("%q: %q, %q", path, c.Audit.SignWith, c.Reputation.File)
		}
	}
}

// TestProblems has one file per kind of mistake in testdata/bad; the golden text beside it is all that is said.
// R20/words
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("only %d bad files (%v)", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pairs := []string{}
			for line := range strings.Lines(string(data)) { // "# env: NAME=value" lines set the environment
				if s, ok := strings.CutPrefix(strings.TrimSpace(line), "# env: "); ok {
					k, v, _ := strings.Cut(s, "=")
					pairs = append(pairs, k, v)
				}
			}
			_, err = Parse(name, data, env(pairs...))
			var ps Problems
			if !errors.As(err, &ps) {
				t.Fatalf("want problems, got %v", err)
			}
			got := err.Error() + "\n"
			for _, p := range ps {
				if p.Line == 0 && p.File == name {
					t.Errorf("no line: %s", p)
				}
			}
			if strings.Contains(got, "s3cret") {
				t.Errorf("a secret is quoted:\n%s", got)
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestFileProblems(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), env()); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Parse("big.yaml", bytes.Repeat([]byte("#"), maxFile+1), env()); err == nil {
		t.Error("a huge file is read")
	}
	if _, err := Parse("environment", nil, func(string) (string, bool) { return "", false }); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("no HOME: %v", err)
	}
}

func TestListenNeedsKeys(t *testing.T) {
	for _, tt := range []struct {
		text string
		env  Getenv
		ok   bool
	}{
		{"listen: '127.0.0.1:0'", env(), true},
		{"listen: 'localhost:80'", env(), true},
		{"listen: '[::1]:80'", env(), true},
		{"listen: '127.9.9.9:80'", env(), true},
		{"listen: ':80'", env(), false},
		{"listen: '0.0.0.0:80'", env(), false},
		{"listen: '[::]:80'", env(), false},
		{"listen: 'bot.example:80'", env(), false},
		{"listen: '10.0.0.1:80'", env(), false},
		{"listen: ':80'\nweb: {session_keys: ['', ' ']}", env(), false},
		{"listen: ':80'\nweb: {session_keys: [a-key-of-16-bytes]}", env(), true},
		{"listen: ':80'", env("ADMIN_SESSION_KEYS", "a-key-of-16-bytes"), true},
		{"listen: ':80'", env("ADMIN_SESSION_KEYS", " , "), false},
		{"listen: ':80'\nweb: {enabled: false}", env(), true},
		{"listen: ':80'\n" + signsIn, env("NOD_OIDC_CLIENT_SECRET", "a-secret-of-the-client"), true},
		{several, allSecrets, true},
		{several, env("NOD_OIDC_CLIENT_SECRET", "a-secret-of-the-client", "SLACK_CLIENT_SECRET", "a-secret-of-the-app-of-slack"), false},
		{"web: {hosts: [nod.example.org], oidc: {issuer: 'http://localhost:5556/dex', client_id: nod, page_url: 'http://127.0.0.1:8080'}}", env("NOD_OIDC_CLIENT_SECRET", "a-secret-of-the-client"), true},
	} {
		_, err := Parse("nod.yaml", []byte(tt.text), tt.env)
		if (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.text, err)
		}
	}
}

// R111
func TestWarnings(t *testing.T) {
	c := mustParse(t, "permissions: {mode: never, servers: {workbench: {ask: always}}}", env("OPENAI_API_KEY", "k"))
	w := strings.Join(c.Warnings(), "\n")
	for _, want := range []string{"OPENAI_MODEL", "ADMIN_SESSION_KEYS", "mode is never"} {
		if !strings.Contains(w, want) {
			t.Errorf("no warning about %s in:\n%s", want, w)
		}
	}
	if strings.Contains(w, "workbench") {
		t.Errorf("the workbench is a server:\n%s", w)
	}
	installed := "slack: {app_token: xapp-1, install: {client_id: '1.2', page_url: 'https://nod.example.org', workspaces: [T1]}}\n"
	for text, want := range map[string]string{"admins: ['slack:T:U']": "slack:T:U is nobody here", installed + "admins: ['web::a']\nweb: {enabled: false}": "web::a is nobody here", installed + "admins: ['slack:T1:ana']\nweb: {enabled: false}": "slack:T1:ana is nobody: Slack's IDs", "admins: ['discord:1:2']": "discord:1:2 is nobody here",
		installed + "admins: ['slack:T1:U2', 'slack:T1:W2', 'slack:E1:UBEN', 'slack:T1:ana']": "slack:T1:ana is nobody: Slack's IDs", installed + "admins: ['slack:acme:U2']": "slack:acme:U2 is nobody: Slack's IDs",
		installed + "admins: ['slack::U2']": "slack::U2 is nobody: Slack's IDs", installed + "admins: ['slack:T1:&S2']\napprovals: {approvers: ['slack:T1:u2']}": "slack:T1:u2 is nobody: Slack's IDs",
		installed + "admins: ['slack:T:U', 'discord:1:2']": "discord:1:2 is nobody here"} {
		c = mustParse(t, text, env("OPENAI_API_KEY", "k", "OPENAI_MODEL", "m", "SLACK_CLIENT_SECRET", "a-secret-of-the-app", "NOD_SLACK_TOKEN_KEYS", "a-key-of-16-bytes"))
		if w := c.Warnings(); len(w) != 1 || !strings.Contains(w[0], want) {
			t.Errorf("an admin of a platform that is not there: %q", w)
		}
	}
	c = mustParse(t, "admins: ['web::a']\nweb: {session_keys: [{name: a, key: a-key-of-16-bytes}]}\nmcp:\n  servers:\n    a:\n      command: x\n      sampling: true", env())
	if w := c.Warnings(); len(w) != 1 || !strings.Contains(w[0], ":7: mcp.servers.a.sampling: has no effect any more") {
		t.Errorf("a field of an earlier version: %q", w)
	}
	c = mustParse(t, "admins: ['web::a']\nweb: {session_keys: [{name: a, key: a-key-of-16-bytes}]}\nmcp:\n  servers:\n    a:\n      command: [x, a$B, '$${B}']\n      env: {TOKEN: $TOKEN}", env())
	if w := c.Warnings(); len(w) != 1 || !strings.Contains(w[0], ":7: mcp.servers.a.env.TOKEN: is these very letters: a variable is written ${NAME}") {
		t.Errorf("a variable as shells have it: %q", w)
	}
	for text, want := range map[string]string{
		"approvals: {escalate: {after: 1m, to: ['web::admin-1']}}": "x:1: approvals.escalate.after: never comes: after 60s",
		"web: {enabled: false}": "nobody can talk with nod",
		"approvals: {escalate: {after: 59s, to: ['web::admin-1']}}":                                                                                      "",
		"approvals: {escalate: {after: 1h, to: ['web::admin-1']}}\npermissions: {servers: {workbench: {tools: {x: {timeout: park}, y: {timeout: 1s}}}}}": "",
		"discord: {token: t}\napprovals: {escalate: {after: 10m, to: ['web::admin-1']}}":                                                                 "",
		"discord: {token: t}\napprovals: {escalate: {after: 30m, to: ['web::admin-1']}}":                                                                 "x:2: approvals.escalate.after: never comes: after 30m",
	} {
		c, err := Parse("x", []byte(text), env("ADMIN_SESSION_KEYS", "a-key-of-16-bytes"))
		if w := strings.Join(c.Warnings(), "\n"); err != nil || (w == "") != (want == "") || !strings.HasPrefix(w, want) {
			t.Errorf("%s\nsays %q (%v), want %q", text, w, err, want)
		}
	}
	if _, err := Parse("x", []byte("sampling: true"), env()); err == nil {
		t.Error("it is taken where it never was one")
	}
	c = mustParse(t, "admins: ['web::a']\nweb: {session_keys: [{name: a, key: a-key-of-16-bytes}]}", env())
	if w := c.Warnings(); len(w) != 0 {
		t.Errorf("needless: %q", w)
	}
}

const secretive = `
redis: {url: "redis://user:s3cret@db:6379/0?password=s3cret"}
model: {base_url: "https://llm.example/k/s3cret/v1?key=s3cret#s3cret", api_key: s3cret, name: m}
mcp:
  servers:
    one:
      command: [run, --token, s3cret, --api-key=s3cret, "--header", "Authorization: Bearer s3cret", "${ARG}", "a${ARG}b", "postgres://u:s3cret@h/db", sk-s3cret, --verbose, path, -p, s3cret]
      env: {A: s3cret, B: "${ARG}"}
    two: {url: "https://h.example/s/s3cret/mcp?s3cret", headers: {X-Key: s3cret, Accept: "*/*"}}
web: {session_keys: [s3cret-of-16-bytes, {name: ana, key: another-s3cret-of-hers}]}
slack: {bot_token: xoxb-s3cret, app_token: xapp-s3cret, signing_secret: s3cret}
discord: {token: s3cret}
`

// Whatever prints a configuration prints no secret: our own dump, fmt's verbs, JSON, YAML, slog.
func TestNothingPrintsASecret(t *testing.T) {
	c := mustParse(t, secretive, env("ARG", "s3cret-key=1", "NOD_OIDC_CLIENT_SECRET", "s3cret-of-the-client", "ADMIN_SESSION_KEYS", "s3cret-of-18-bytes,s3cret-of-17-bytes"))
	if a := c.MCP.Servers["one"].Command[7].Reveal(); a != "as3cret-key=1b" {
		t.Fatalf("argument is %q", a)
	}
	var out bytes.Buffer
	if err := c.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--verbose", "path", "h.example", "--api-key=***", "llm.example/***", "db:6379/0", "bot_token: '***'", "# ADMIN_SESSION_KEYS: 2", "session_keys: ['***', {name: ana"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the dump hides too much, no %q in:\n%s", want, out.String())
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
		fmt.Fprintf(&out, verb+"\n", c)
		fmt.Fprintf(&out, verb+"\n", c.Model.APIKey)
		fmt.Fprintf(&out, verb+"\n", c.MCP.Servers["one"].Command)
	}
	j, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(j)
	y, err := yaml.Dump(c)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(y)
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("x", "c", c, "s", c.Model.APIKey, "u", c.Redis.URL, "m", c.MCP.Servers)
	}
	for _, leak := range []string{"s3cret", fmt.Sprintf("%x", "s3cret"), "115 51 99"} {
		if i := strings.Index(out.String(), leak); i >= 0 {
			t.Errorf("printed: …%s…", out.String()[max(0, i-80):min(out.Len(), i+40)])
		}
	}
}

// Every Secret and Text of the configuration is one of the types that mask; a plain string would not be.
func TestSecretsHaveASecretType(t *testing.T) {
	plain := map[string]bool{}
	var walk func(reflect.Type, string)
	walk = func(ty reflect.Type, path string) {
		switch ty.Kind() {
		case reflect.Slice, reflect.Pointer, reflect.Map:
			walk(ty.Elem(), path)
		case reflect.String:
			plain[path] = ty == reflect.TypeFor[string]()
		case reflect.Struct:
			if ty.PkgPath() != reflect.TypeFor[Config]().PkgPath() || ty == reflect.TypeFor[Text]() {
				return
			}
			for i := range ty.NumField() {
				walk(ty.Field(i).Type, path+"."+ty.Field(i).Name)
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
	for path, isPlain := range plain {
		if isPlain && (sensitive.MatchString(path) && path != ".Discord.PublicKey" && path != ".Reputation.PublicKey" && path != ".Web.SessionKeys.Name" && path != ".MCP.Servers.User" && path != ".Audit.SignWith" || strings.Contains(path, "URL") || strings.Contains(path, "Env")) {
			t.Errorf("%s is a plain string: it would be printed", path)
		}
	}
}

// R8
func TestPrintThenCheck(t *testing.T) {
	files, _ := filepath.Glob("../../../deploy/*.yaml")
	texts := []string{"", everything, secretive, "approvals: {approvers: ['slack:T:U%3A1'], timeout: 1500ms}\nredis: {url: 'redis://db', durability: replicas=2}\nlease: 90m",
		"mcp: {servers: {a.b: {command: [x], user: '0:0', dir: /srv/x, type: stdio, paths: [/srv/a, {path: /srv/b, read_only: true}]}}}\nworkbench: false\npermissions: {servers: {'a.b': {tools: {'x y': {message: 'say $${HOME} & \"that\": #no'}, '1': {impact: \"two\\nlines\"}, 'true': {}}}}}"}
	for _, f := range files {
		if filepath.Base(f) == "nod.yaml" {
			b, _ := os.ReadFile(f)
			texts = append(texts, string(b))
		}
	}
	for _, text := range texts {
		e := env("ARG", "s3cret", "TOKEN", "1", "WIKI_TOKEN", "2", "ADMIN_SESSION_KEYS", "a-key-of-16-bytes")
		roundTrip(t, mustParse(t, text, e), e)
	}
}

func roundTrip(t *testing.T, c Config, e Getenv) {
	t.Helper()
	if err := c.Policy().Validate(); err != nil {
		t.Fatalf("accepted, but as a policy refused: %v", err)
	}
	var one, two bytes.Buffer
	if err := c.Write(&one); err != nil {
		t.Fatal(err)
	}
	again, err := Parse("printed.yaml", one.Bytes(), e)
	if err != nil {
		t.Fatalf("what was printed is refused:\n%v\n%s", err, one.String())
	}
	if err := again.Write(&two); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(one.String(), two.String()); d != "" {
		t.Fatalf("printed twice (-first +second):\n%s", d)
	}
	if d := cmp.Diff(c.Policy(), again.Policy(), cmpopts.IgnoreUnexported(permission.Template{})); d != "" {
		t.Fatalf("the policy changed by printing:\n%s", d)
	}
}

// The dump shows the defaults.
func TestPrintShowsDefaults(t *testing.T) {
	var out bytes.Buffer
	if err := mustParse(t, "", env()).Write(&out); err != nil {
		t.Fatal(err)
	}
	golden := "testdata/default.yaml"
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out.String()); d != "" {
		t.Error(d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(secretive))
	f.Add([]byte("a: &a {b: *a}\n<<: *a\n"))
	f.Add([]byte("redis: {url: \"redis://[::1]:1/\"}\n--- \n"))
	f.Add([]byte("lease: !!int 5\nadmins: [~, [], {}]\n\"\\u0000\": 1\n"))
	bad, _ := filepath.Glob("testdata/bad/*.yaml")
	for _, b := range bad {
		data, err := os.ReadFile(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e := env("ARG", "s3cret", "TOKEN", "1", "WIKI_TOKEN", "2")
		c, err := Parse("fuzz.yaml", data, e)
		if err == nil {
			roundTrip(t, c, e)
			return
		}
		var ps Problems
		if !errors.As(err, &ps) || len(ps) == 0 {
			t.Fatalf("an error that is no list of problems: %v", err)
		}
		for _, p := range ps {
			if p.Say == "" || p.File == "" || strings.ContainsAny(p.String(), "\n\x00\x1b") {
				t.Fatalf("a problem that cannot be printed on a line: %q", p)
			}
		}
	})
}
