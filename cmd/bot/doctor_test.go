package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/tests/harness"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakellm"
	"github.com/nodhq/nod/tests/standins/fakeoidc"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// visit runs the doctor over a file and an environment. Every secret in them has s3cret in it, and none may be printed.
func visit(t *testing.T, yaml string, env map[string]string) (code int, report string) {
	t.Helper()
	all := map[string]string{"NOD_DATA_DIR": t.TempDir(), "NOD_LISTEN": "127.0.0.1:0"}
	for k, v := range env {
		all[k] = v
	}
	code, report, log := try(t, []string{"doctor", "-config", write(t, yaml)}, all, nil)
	if strings.Contains(report+log, "s3cret") || strings.Contains(report, "ticket=") {
		t.Errorf("a secret is printed:\n%s", report)
	}
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "✗") && !strings.Contains(line, "→") {
			t.Errorf("it does not say what to do: %s", line)
		}
	}
	return code, report
}

// Replicas, and a container that is made anew, sign the audit with one key: with two nothing would verify, and nobody would know until they look.
func TestOneAuditKey(t *testing.T) {
	url := harness.Mini.Start(t)
	begin := func(ctx context.Context, c config.Config, _ io.Writer, log *slog.Logger) error {
		b, err := wire(ctx, c, log)
		if err == nil {
			b.close()
		}
		return err
	}
	one, other := t.TempDir(), t.TempDir()
	for i, dir := range []string{one, one, other, other, one} {
		code, _, log := try(t, []string{"serve"}, map[string]string{"REDIS_URL": url, "NOD_DATA_DIR": dir}, begin)
		if told := strings.Contains(log, "signs the audit with another key"); code != command.OK || told != (i == 2 || i == 4) {
			t.Errorf("start %d: code %d, told %v\n%s", i, code, told, log)
		}
	}
	_, report := visit(t, "", map[string]string{"REDIS_URL": url, "NOD_DATA_DIR": other})
	says(t, report, "! audit key", "another key", "NOD_AUDIT_KEY")
	_, report = visit(t, "", map[string]string{"REDIS_URL": url, "NOD_DATA_DIR": one})
	if strings.Contains(report, "audit key") {
		t.Error(report)
	}
	_, report = visit(t, "", map[string]string{"NOD_AUDIT_KEY": write(t, "short")})
	says(t, report, "✗ audit key", "at least 32", "NOD_AUDIT_KEY")
}

// says looks for the line that begins so, and for words in it.
func says(t *testing.T, report, begins string, words ...string) {
	t.Helper()
	var near string
	for line := range strings.Lines(report) {
		if !strings.HasPrefix(line, begins) {
			continue
		}
		near = line
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return
		}
	}
	t.Errorf("no line %q with %q (the nearest: %q) in:\n%s", begins, words, near, report)
}

// workspace is a Slack with the environment that reaches it.
func workspace(t *testing.T, o fakeslack.Options) map[string]string {
	t.Helper()
	o.BotToken, o.AppToken, o.SigningSecret = "xoxb-s3cret-bot", "xapp-s3cret-app", "0123456789abcdef0123456789s3cret"
	if o.Scopes == nil {
		o.Scopes = asked(t)
	}
	o.Undescribed = t.Error
	s := fakeslack.New(o)
	s.AddUser(fakeslack.User{ID: "U1", Name: "Ana"})
	s.AddChannel(fakeslack.Channel{ID: "C1", Members: []string{s.BotUser()}})
	t.Cleanup(s.Close)
	return map[string]string{"SLACK_BOT_TOKEN": o.BotToken, "SLACK_APP_TOKEN": o.AppToken, "SLACK_API_URL": s.URL()}
}

// asked are the scopes that nod's manifest asks for, printed with more flags.
func asked(t *testing.T, flags ...string) []string {
	t.Helper()
	var app struct {
		OAuth struct {
			Scopes struct{ Bot []string }
		} `json:"oauth_config"`
	}
	_, out, _ := try(t, append([]string{"manifest", "slack"}, flags...), nil, nil)
	if err := json.Unmarshal([]byte(out), &app); err != nil {
		t.Fatal(err)
	}
	return app.OAuth.Scopes.Bot
}

func TestDoctorOfTheDemo(t *testing.T) {
	code, report := visit(t, "", nil)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	says(t, report, "✓ configuration")
	says(t, report, "✓ listen 127.0.0.1:0", "free")
	says(t, report, "✓ time to answer", "60s on the page: approvals.timeout is not set")
	says(t, report, "✓ state", "embedded")
	says(t, report, "– model", "demo", "OPENAI_MODEL")
	says(t, report, "– MCP servers")
	says(t, report, "– admins", "ADMIN_SESSION_KEYS")
	says(t, report, "– Slack", "nod manifest slack")
	says(t, report, "– Discord", "nod manifest discord", "DISCORD_TOKEN")
	if !strings.HasSuffix(report, "\nEverything that could be looked at works.\n") || strings.ContainsAny(report, "✗!") {
		t.Errorf("the demo is called ill:\n%s", report)
	}
}

// How long people have to answer, and why. R116
func TestDoctorSaysHowLongAsksStayOpen(t *testing.T) {
	env := workspace(t, fakeslack.Options{})
	_, report := visit(t, "", env)
	says(t, report, "✓ time to answer", "30m in Slack and Discord", "60s on the page", "not set")
	_, report = visit(t, "approvals: {timeout: park}\n", env)
	says(t, report, "✓ time to answer", "park: set by approvals.timeout")
}

func TestDoctorOfAHealthyTeam(t *testing.T) {
	env := workspace(t, fakeslack.Options{})
	llm := httptest.NewServer(fakellm.New(fakellm.Config{Key: "s3cret"}))
	defer llm.Close()
	tools := mcpserver.New("files", mcpserver.OpenLedger(filepath.Join(t.TempDir(), "ledger"))).ServeHTTP(t)
	env["OPENAI_BASE_URL"], env["OPENAI_API_KEY"], env["OPENAI_MODEL"] = llm.URL+"/v1", "s3cret", "fake"
	env["REDIS_URL"], env["ADMIN_SESSION_KEYS"] = harness.Mini.Start(t), "s3cret-of-16-bytes"
	code, report := visit(t, "mcp: {servers: {files: {url: '"+tools.URL+"', headers: {Authorization: 's3cret'}, trusted: true}}}\nadmins: ['slack:T0FAKE:U1']\n", env)
	if code != 0 || strings.Contains(report, "✗") {
		t.Errorf("exit code %d:\n%s", code, report)
	}
	says(t, report, "✓ Redis", "local")
	says(t, report, "✓ model fake", "answers")
	says(t, report, "✓ MCP server files", "tools", "trusted")
	says(t, report, "✓ admins", "1 person", "1 key")
	says(t, report, "✓ Slack: bot token", "Acme", "T0FAKE")
	says(t, report, "✓ Slack: scopes", "all 13")
	says(t, report, "✓ Slack: app token")
	says(t, report, "✓ Slack: connection", "hello")
	says(t, report, "– Slack: events and interactivity")
	says(t, report, "✓ Slack: sample card", "takes it")
}

func TestDoctorOfSlackTroubles(t *testing.T) {
	for name, tt := range map[string]struct {
		options fakeslack.Options
		change  map[string]string
		begins  string
		words   []string
	}{
		"a wrong bot token":            {fakeslack.Options{}, map[string]string{"SLACK_BOT_TOKEN": "xoxb-s3cret-other"}, "✗ Slack: bot token", []string{"invalid_auth", "SLACK_BOT_TOKEN"}},
		"a wrong app token":            {fakeslack.Options{}, map[string]string{"SLACK_APP_TOKEN": "xapp-s3cret-other"}, "✗ Slack: app token", []string{"SLACK_APP_TOKEN"}},
		"a scope is missing":           {fakeslack.Options{Scopes: []string{"chat:write", "users:read"}}, nil, "✗ Slack: scope app_mentions:read", []string{"mentioned", "OAuth & Permissions"}},
		"connections:write is missing": {fakeslack.Options{AppScopes: []string{"authorizations:read"}}, nil, "✗ Slack: app token", []string{"connections:write", "SLACK_APP_TOKEN"}},
		"nobody there":                 {fakeslack.Options{}, map[string]string{"SLACK_API_URL": "http://127.0.0.1:1/api/"}, "✗ Slack: bot token", []string{"cannot be reached", "SLACK_API_URL"}},
		"tokens swapped":               {fakeslack.Options{}, map[string]string{"SLACK_BOT_TOKEN": "xapp-s3cret", "SLACK_APP_TOKEN": "xoxb-s3cret"}, "✗ configuration", []string{"slack.app_token", "Nothing else was looked at"}},
	} {
		t.Run(name, func(t *testing.T) {
			env := workspace(t, tt.options)
			for k, v := range tt.change {
				env[k] = v
			}
			code, report := visit(t, "", env)
			if code != 1 {
				t.Errorf("exit code %d", code)
			}
			says(t, report, tt.begins, tt.words...)
			says(t, report, "", "nod doctor again")
		})
	}
}

// The addresses of HTTP delivery are tried at a bot that runs.
func TestDoctorOfHTTPDelivery(t *testing.T) {
	env := workspace(t, fakeslack.Options{})
	delete(env, "SLACK_APP_TOKEN")
	env["SLACK_SIGNING_SECRET"] = "0123456789abcdef0123456789s3cret"
	_, report := visit(t, "", env)
	says(t, report, "– Slack: addresses", "no bot runs")
	says(t, report, "! Slack: signing secret", "32 hexadecimal")

	mux := http.NewServeMux()
	newHealth(slog.New(slog.DiscardHandler)).serve(mux, t.Context())
	bot := httptest.NewServer(mux)
	defer bot.Close()
	env["NOD_LISTEN"] = bot.Listener.Addr().String()
	code, report := visit(t, "", env)
	says(t, report, "✓ listen", "a bot runs there")
	says(t, report, "✗ Slack: /slack/events", "is not served", "SLACK_SIGNING_SECRET")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestDoctorOfTheListener(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "all is well here, but this is no bot")
	}))
	defer other.Close()
	code, report := visit(t, "", map[string]string{"NOD_LISTEN": other.Listener.Addr().String()})
	says(t, report, "✗ listen", "another program", "NOD_LISTEN")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	_, report = visit(t, "web: {enabled: false}", map[string]string{"NOD_LISTEN": "192.0.2.1:1"}) // no address of this machine
	says(t, report, "✗ listen 192.0.2.1:1", "NOD_LISTEN")
}

func TestDoctorOfTheDataDirectory(t *testing.T) {
	file := write(t, "")
	_, report := visit(t, "", map[string]string{"NOD_DATA_DIR": file})
	says(t, report, "✗ state", "no directory", "NOD_DATA_DIR")
	fresh := filepath.Join(t.TempDir(), "a", "b")
	_, report = visit(t, "", map[string]string{"NOD_DATA_DIR": fresh})
	says(t, report, "✓ state", fresh)
	if _, err := os.Stat(fresh); err == nil {
		t.Error("the doctor made the directory")
	}
}

// A user who may not do all that nod does is told where the list is, and a replica what it is.
func TestDoctorOfARedisUser(t *testing.T) {
	url := harness.StartRedis(t).URL
	admin := redis.NewClient(&redis.Options{Network: "unix", Addr: strings.TrimPrefix(url, "unix://")})
	defer admin.Close()
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "nod", "on", ">s3cret", "~nod:*", "+@read", "+@connection", "+info").Err(); err != nil {
		t.Fatal(err)
	}
	_, report := visit(t, "", map[string]string{"REDIS_URL": strings.Replace(url, "//", "//nod:s3cret@", 1)})
	says(t, report, "✗ Redis", "deploy/redis-users.acl")
	if err := admin.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	_, report = visit(t, "", map[string]string{"REDIS_URL": url})
	says(t, report, "✗ Redis", "a replica", "its primary")
}

// hangsUp is the address of a server that says something to whoever comes, and that is all.
func hangsUp(t *testing.T, says string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(says))
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestDoctorOfRedis(t *testing.T) {
	t.Parallel()
	_, report := visit(t, "", map[string]string{"REDIS_URL": "redis://nod:s3cret@127.0.0.1:1"})
	says(t, report, "✗ Redis", "REDIS_URL")
	_, report = visit(t, "", map[string]string{"REDIS_URL": "redis://" + hangsUp(t, "-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode connections are only accepted from the loopback interface.\r\n")})
	says(t, report, "✗ Redis", "no password is set for the default user\"", "requirepass")
	_, report = visit(t, "redis: {durability: fsync}", map[string]string{"REDIS_URL": harness.Mini.Start(t)}) // which has no WAITAOF
	says(t, report, "✗ Redis", "redis.durability", "7.2")
	_, report = visit(t, "", map[string]string{"REDIS_URL": harness.Real.Start(t)})
	says(t, report, "✓ Redis", "answers")
	says(t, report, "", "Redis: persistence", "appendonly yes")
}

func TestDoctorOfTheModel(t *testing.T) {
	llm := httptest.NewServer(fakellm.New(fakellm.Config{Key: "right"}))
	defer llm.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<html>no model here</html>")
	}))
	defer page.Close()
	for name, tt := range map[string]struct {
		url, key string
		begins   string
		words    []string
	}{
		"the right key": {llm.URL + "/v1", "right", "✓ model fake", []string{"answers"}},
		"a wrong key":   {llm.URL + "/v1", "s3cret", "✗ model fake", []string{"API key", "OPENAI_API_KEY"}},
		"no such page":  {page.URL, "s3cret", "✗ model fake", []string{"OPENAI_BASE_URL"}},
		"nobody there":  {"http://127.0.0.1:1/v1", "s3cret", "✗ model fake", []string{"OPENAI_BASE_URL", "connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, report := visit(t, "", map[string]string{"OPENAI_BASE_URL": tt.url, "OPENAI_API_KEY": tt.key, "OPENAI_MODEL": "fake"})
			says(t, report, tt.begins, tt.words...)
			if strings.Contains(report, "No tool was run") {
				t.Errorf("a sentence for a chat:\n%s", report)
			}
		})
	}
}

func TestDoctorOfMCPServers(t *testing.T) {
	ledger := mcpserver.OpenLedger(filepath.Join(t.TempDir(), "ledger"))
	env := mcpserver.Env("good", ledger)
	yaml := "mcp:\n  servers:\n    good: {command: ['" + mcpserver.Command()[0] + "'], env: {"
	for k, v := range env {
		yaml += k + ": '" + v + "', "
	}
	yaml += "}}\n    gone: {command: [/nowhere/server]}\n    dead: {command: [sh, -c, 'echo the key is missing >&2; exit 3']}\n    away: {url: 'http://127.0.0.1:1/mcp?key=s3cret'}\n"
	yaml += "    path: {url: 'http://s3cret-user@127.0.0.1:1/s/s3cret-in-the-path/mcp'}\n" + // some servers' whole secret is there
		"    echo: {command: [sh, -c, 'echo \"$@\" >&2; exit 3', said, --token, s3cret-argument, --key=s3cret-value, '--at=https://h.example/s3cret-in-the-path?k=s3cret-in-the-query', '${KEY}']}\n"
	code, report := visit(t, yaml, map[string]string{"KEY": "s3cret-of-a-variable"})
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	says(t, report, "✓ MCP server good", "tools", "ask first", "not trusted")
	says(t, report, "✗ MCP server gone", "mcp.servers.gone", "by hand")
	says(t, report, "✗ MCP server dead", "exit status 3", "it said: the key is missing")
	says(t, report, "✗ MCP server away", "mcp.servers.away")
	says(t, report, "✗ MCP server path", "connection refused")
	says(t, report, "✗ MCP server echo", "it said: --token [secret] --key=[secret] ")
	if calls, err := os.ReadFile(ledger.Path()); err == nil && len(calls) > 0 {
		t.Errorf("the doctor ran a tool: %s", calls)
	}
}

// A tool that only an admin can allow, and no admin: nobody could ever use it.
func TestDoctorOfAdmins(t *testing.T) {
	rule := "permissions: {servers: {workbench: {tools: {delete_file: {approval: RequireAuth}}}}}\n"
	code, report := visit(t, rule, nil)
	says(t, report, "✗ admins", "delete_file of workbench", "ADMIN_SESSION_KEYS")
	if code != 1 || strings.Count(report, "ADMIN_SESSION_KEYS") != 1 {
		t.Errorf("exit code %d, or it is said twice:\n%s", code, report)
	}
	_, report = visit(t, rule, map[string]string{"ADMIN_SESSION_KEYS": "s3cret-of-16-bytes"})
	says(t, report, "✓ admins", "1 key")
	for text, say := range map[string]string{
		"servers: {workbench: {tools: {delete_file: {approval: RequireConfirmation}}}}":                                                   "– admins no tool needs one",
		"servers: {workbench: {tools: {delete_file: {approval: RequireAuth, enabled: false}}}}":                                           "– admins no tool needs one",
		"servers: {workbench: {enabled: false, tools: {delete_file: {approval: RequireAuth}}}}":                                           "– admins no tool needs one",
		"channels: [{in: web, servers: {workbench: {tools: {delete_file: {approval: RequireConfirmation, ask: never}}}}}]":                "– admins no tool needs one",
		"channels: [{in: web, servers: {workbench: {tools: {delete_file: {approval: RequireAuth}, read_file: {message: RequireAuth}}}}}]": "✗ admins only one can allow delete_file of workbench.",
	} {
		_, report = visit(t, "permissions: {"+text+"}\n", nil)
		says(t, report, say[:len("– admins")], say[len("– admins "):])
	}
	env := workspace(t, fakeslack.Options{})
	env["ADMIN_SESSION_KEYS"] = "s3cret-of-16-bytes"
	_, report = visit(t, rule, env)
	says(t, report, "! admins", "in Slack nobody", "slack:T0123:U0123")
	_, report = visit(t, "admins: [slack:T1:U1]\n"+rule, env)
	says(t, report, "✓ admins")
	// What a server's own list brings counts, too: this name needs an admin by what it is.
	tools := mcpserver.New("hub", mcpserver.OpenLedger(filepath.Join(t.TempDir(), "l"))).ServeHTTP(t)
	_, report = visit(t, "mcp: {servers: {hub: {url: '"+tools.URL+"'}}}\npermissions: {servers: {hub: {tools: {echo: {approval: RequireAuth}}}}}\n", nil)
	says(t, report, "✗ admins", "echo of hub")
}

func TestDoctorWarns(t *testing.T) {
	code, report := visit(t, "permissions: {mode: never}\n", nil)
	says(t, report, "! configuration", "mode is never")
	if code != 0 || !strings.Contains(report, "It works, with 1 remark") {
		t.Errorf("exit code %d:\n%s", code, report)
	}
}

func TestDoctorOfAMissingFile(t *testing.T) {
	code, report, _ := try(t, []string{"doctor", "-config", "/nowhere/nod.yaml"}, nil, nil)
	says(t, report, "✗ configuration", "/nowhere/nod.yaml", "NOD_CONFIG")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestDoctorJSON(t *testing.T) {
	code, out, _ := try(t, []string{"doctor", "-json", "-config", write(t, "lease: 1ms\n")}, nil, nil)
	var line struct{ What, Mark, Found, Do string }
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&line); err != nil || line.Mark != "fail" || line.What != "configuration" || line.Do == "" || code != 1 {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
	if dec.More() {
		t.Errorf("more than one object:\n%s", out)
	}
	_, out, _ = try(t, []string{"doctor", "-json"}, map[string]string{"NOD_LISTEN": "127.0.0.1:0", "NOD_DATA_DIR": t.TempDir()}, nil)
	marks := map[string]bool{}
	for dec = json.NewDecoder(strings.NewReader(out)); dec.More(); {
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		marks[line.Mark] = true
	}
	if !marks["ok"] || !marks["unchecked"] || len(marks) != 2 {
		t.Errorf("marks %v in:\n%s", marks, out)
	}
}

// Each line is there when it is found, not at the end.
func TestDoctorPrintsAsItGoes(t *testing.T) {
	reached, shown := make(chan struct{}), make(chan struct{})
	llm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(reached)
		<-shown
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer llm.Close()
	r, w := io.Pipe()
	p := process{args: []string{"doctor"}, Process: command.Process{Stdout: w, Stderr: io.Discard, Exit: func(int) {}, Env: func(k string) (string, bool) {
		v, ok := map[string]string{"HOME": "/home/ana", "NOD_LISTEN": "127.0.0.1:0", "NOD_DATA_DIR": t.TempDir(), "OPENAI_BASE_URL": llm.URL, "OPENAI_MODEL": "m"}[k]
		return v, ok
	}}}
	done := make(chan int)
	go func() { done <- p.main(); _ = w.Close() }()
	var seen bytes.Buffer
	buf := make([]byte, 1<<10)
	for !strings.Contains(seen.String(), "✓ state") { // the line before the model's
		n, err := r.Read(buf)
		if err != nil {
			t.Fatalf("%v after:\n%s", err, seen.String())
		}
		seen.Write(buf[:n])
	}
	<-reached
	close(shown)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if code := <-done; code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// A rule of a tool that the server does not have protects nothing; where it was to keep people from something, nothing else counts as well. What
// rules make of the tools that are there is counted with them.
func TestDoctorOfRulesForMissingTools(t *testing.T) {
	hub := mcpserver.New("hub", mcpserver.OpenLedger(filepath.Join(t.TempDir(), "l"))).ServeHTTP(t)
	rules := func(tools string) (int, string) {
		return visit(t, "mcp: {servers: {hub: {url: '"+hub.URL+"'}}}\npermissions: {servers: {hub: {"+tools+"}}}\n", nil)
	}
	_, report := visit(t, "permissions: {servers: {workbench: {tools: {read_fil: {ask: never}}}}}", nil)
	says(t, report, "! workbench", "permissions name tools that it does not have", "read_fil; did you mean read_file?", "permissions.servers.workbench.tools")
	code, report := rules("tools: {eco: {ask: never}}")
	says(t, report, "! MCP server hub", "permissions name tools that it does not have", "eco; did you mean echo?", "permissions.servers.hub.tools")
	if code != 0 {
		t.Errorf("exit code %d:\n%s", code, report)
	}
	code, report = rules("tools: {eco: {enabled: true, approval: AutoApprove}}") // lost, and nothing is open that was to be closed
	if says(t, report, "! MCP server hub"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, report)
	}
	_, report = rules("tools: {aaa: {enabled: false}, zzz: {ask: never}}")
	says(t, report, "✗ MCP server hub")
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
	_, report = rules("tools: {echo: {enabled: false}}")
	says(t, report, "✓ MCP server hub", ", 1 switched off; not trusted")
	_, report = rules("enabled: false")
	says(t, report, "✓ MCP server hub", " 0 of them ask first, ", " switched off; not trusted")
}

// The doctor asks the page's provider for its document, and says where it has to send people back to.
func TestDoctorLooksAtTheProvider(t *testing.T) {
	p, err := fakeoidc.Start()
	if err != nil {
		t.Fatal(err)
	}
	yaml := fmt.Sprintf("web: {oidc: {issuer: %q, client_id: nod, page_url: 'https://nod.example.org'}}", p.URL)
	env := map[string]string{"NOD_OIDC_CLIENT_SECRET": "s3cret-of-the-client"}
	code, report := visit(t, yaml, env)
	if says(t, report, "✗ sign-in by "+p.URL, "invalid_client", "NOD_OIDC_CLIENT_SECRET"); code != 1 {
		t.Errorf("with a wrong secret: code %d", code)
	}
	env["NOD_OIDC_CLIENT_SECRET"] = fakeoidc.Secret
	_, report = visit(t, yaml, env)
	says(t, report, "✓ sign-in by "+p.URL, "takes the client's secret", "https://nod.example.org/signin/callback")
	p.Close()
	code, report = visit(t, yaml, env)
	if says(t, report, "✗ sign-in by "+p.URL, "web.oidc.issuer"); code != 1 {
		t.Errorf("code %d", code)
	}
}

// Where people sign in by Slack or Discord, the doctor tries the client's secret there, and looks whether the bot is in the server.
func TestDoctorLooksAtThePlatformsSignIn(t *testing.T) {
	env := workspace(t, fakeslack.Options{})
	yaml := "web: {oidc: {issuer: slack, client_id: '" + fakeslack.ClientID + "', page_url: 'https://nod.example.org'}}"
	env["NOD_OIDC_CLIENT_SECRET"] = "another-s3cret-of-the-client"
	code, report := visit(t, yaml, env)
	if says(t, report, "✗ sign-in by slack", "bad_client_secret", "NOD_OIDC_CLIENT_SECRET"); code != 1 {
		t.Errorf("code %d", code)
	}
	env["NOD_OIDC_CLIENT_SECRET"] = fakeslack.ClientSecret
	_, report = visit(t, yaml, env)
	says(t, report, "✓ sign-in by slack", "takes the client's secret", "https://nod.example.org/signin/callback")

	d, env := guild(t, fakediscord.Options{})
	for server, want := range map[string]string{d.Guild(): "✓ Discord: sign-in", "800000000000000099": "✗ Discord: sign-in"} {
		env["NOD_OIDC_CLIENT_SECRET"] = fakediscord.ClientSecret
		_, report = visit(t, "web: {oidc: {issuer: discord, client_id: '"+d.AppID()+"', discord_server: '"+server+"', page_url: 'https://nod.example.org'}}", env)
		says(t, report, "✓ sign-in by discord", "takes the client's secret")
		says(t, report, want, server)
	}
}
