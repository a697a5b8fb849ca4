package config

import (
	"os"
	"strings"
	"testing"
)

// Each row has all that is said of it, a line for each problem; none: it is taken. A file of testdata/bad for each would be twice as many files.
func TestWhatIsRefused(t *testing.T) {
	const two, host = "approvals: {min_approvals: 2, approvers: anyone}\n", "web: {hosts: [nod.example.org], session_keys: ['${NOD_KEY}']"
	const install = "slack: {install: {client_id: '1.2', page_url: 'https://nod.example.org', workspaces: [T1]}"
	server := func(s string) string { return "mcp: {servers: {a: {" + s + "}}}" }
	door := func(s string) string {
		return "web: {oidc: {client_id: nod, page_url: 'https://nod.example.org', " + s + "}}"
	}
	list := func(key string) string { return "reputation: {file: /etc/list, public_key: '" + key + "'}" }
	for _, tt := range []struct{ text, said string }{
		{"audit: {keep: park}", ""},
		{"audit: {key: '~ana/audit.key'}", "audit.key: ~ needs HOME to be set, and a /"},
		{"audit: {key: '/srv/keys/audit.key'}\n" + server("command: [x], paths: [{path: /srv/keys, read_only: true}]"), "mcp.servers.a.paths[0]: would open data_dir, this configuration or the audit's key"},
		{"audit: {key: '/srv/keys/audit.key'}\n" + server("command: [x], paths: [/srv/data]"), ""},
		{"audit: {keep: 24h}", ""},
		{"audit: {keep: 23h}", "audit.keep: want at least 24h, or park"},
		{"listen: 'localhost:-1'", "listen: the port must be a number"},
		{"metrics: {listen: '127.0.0.1:9464'}", ""},
		{"metrics: {listen: '127.0.0.1:8080'}", "metrics.listen: this is the address of listen"},
		{"listen: '127.0.0.1:0'\nmetrics: {listen: '127.0.0.1:0'}", ""}, // two ports that are free
		{"redis: {url: 'unix:///run/redis.sock', durability: fsync}", ""},
		{"redis: {url: 'unix:run/redis.sock'}", "redis.url: want a whole URL"},
		{"redis: {url: 'REDIS://db'}", ""},
		{"redis: {url: 'redis://[::1'}", "redis.url: want a whole URL"}, // no password is to blame
		{"redis: {url: 'http://nod:s3cret/#?x@db:1'}", "redis.url: want a whole URL"},
		{"redis: {durability: replicas=1}", "redis.durability: replicas=1 is what Redis promises"},
		{"redis: {durability: local}", ""},
		{"redis: {durability: fsync}", ""}, // which the embedded state does
		{"redis: {durability: '2'}", "redis.durability: want local, fsync or replicas=N"},
		{"model: {name: m, base_url: 'https://s3cret@llm.example/v1'}", "model.base_url: holds a user name or password"},
		{"model: {name: m, api_key: \"s3cret\\nother\"}", "model.api_key: a key is one line"},
		{list("6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw="), ""},
		{list("6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=s3cret"), "reputation.public_key: want the Ed25519 public key"},
		{list("czNjcmV0"), "reputation.public_key: want the Ed25519 public key"},

		{"mcp: {servers: {'..': {command: [x]}}}", "mcp.servers...: want a name"},
		{server("command: [x, y], type: http"), "mcp.servers.a.type: stdio goes with a command"},
		{server("command: [x], type: sse"), "mcp.servers.a.type: stdio goes with a command"},
		{server("command: [x], type: stdio"), ""},
		{server("url: 'http://h/mcp', type: sse"), ""},
		{server("url: 'http://h/mcp', dir: /srv"), "mcp.servers.a: only a command has paths, dir and user"},
		{server("url: 'http://h/mcp', user: '1'"), "mcp.servers.a: only a command has paths, dir and user"},
		{server("command: ['two words', x]"), ""}, // a list says where the program's name ends
		{server("command: '/opt/two words/x'"), ""},
		{server("command: [x], user: '7:x'"), "mcp.servers.a.user: want a user's name, a uid, or uid:gid"},
		{server("command: [x], user: 'x:7'"), "mcp.servers.a.user: want a user's name, a uid, or uid:gid"},
		{server("command: {x: y}"), "mcp.servers.a.command: want a list, got a mapping"},
		{server("command: {x: y}, args: [z]"), "mcp.servers.a.command: want a list, got a mapping"},
		{server("commands: [x]"), "mcp.servers.a.commands: there is no such field\nmcp.servers.a: needs a command"},
		{server("command: x, args: -y"), "mcp.servers.a.args: want a list, got text"},
		{server("command: x, cwd: /a, dir: /b"), "mcp.servers.a.dir: dir and cwd are the same; the first is in line 1"},
		{server("command: x, disabled: maybe"), "mcp.servers.a.disabled: want true or false"},
		{server("command: x, disabled: true") + "\npermissions: {servers: {a: {ask: always}}}", ""},
		{"mcp: {mcpServers: {}}", "mcp.mcpServers: there is no such field"},
		{"mcp: [x]\npermissions: {servers: {a: {ask: always}}}", "mcp: want a mapping"},
		{"permissions: {channels: [{in: {a: b}}]}", "permissions.channels[0].in: want a list, got a mapping"},
		{"permissions: {servers: {workbench: {tools: {x: {access: read}}}}}", ""},

		{"web: {enabled: false}\nadmins: slack:T1:U1\napprovals: {requester_may_approve: false}", "admins: want a list"},
		{"web: {enabled: false}\nadmins: [U1]\napprovals: {min_approvals: 3}", "admins[0]: want platform:workspace:key"},
		{"admins: ['slack::&S1']", "admins[0]: a user group of Slack is written"},
		{"admins: ['web::&']", "admins[0]: "},
		{"approvals: {min_approvals: 0}", "approvals.min_approvals: want a number of people from 1 to 20"},
		{"approvals: {timeout: 5m, escalate: {after: 5m, to: ['slack:T1:U1']}}\npermissions: {channels: [{in: web, servers: {workbench: {timeout: 1h}}}]}", ""},
		{"approvals: {timeout: 5m, escalate: {after: 1h, to: ['slack:T1:U1']}}\npermissions: {channels: [{in: web, timeout: 1h}]}", "approvals.escalate.after: never comes: after 1h"},
		{"approvals: {timeout: 30ms}\npermissions: {servers: {workbench: {timeout: 999ms, tools: {x: {timeout: 1ms}}}}}",
			"approvals.timeout: want at least 1s, or park for no end\npermissions.servers.workbench.timeout: want at least 1s\npermissions.servers.workbench.tools.x.timeout: want at least 1s"},
		{"approvals: {timeout: 30m, escalate: {after: 10m, to: ['slack:T1:U1']}}", ""},
		{"approvals: {timeout: park, escalate: {after: 10m, to: ['slack:T1:U1']}}", ""},

		{"slack: {bot_token: xoxb-1, signing_secret: xapp-s3cret}", "slack.signing_secret: this is a token"},
		{"slack: {bots: [5]}", "slack.bots[0]: want text"},
		{"slack: {install: {page_url: 'https://nod.example.org'}}", "slack.install.client_id: is empty"},
		{install + ", app_token: xapp-1}", ""},
		{install + ", signing_secret: s}", ""},
		{strings.Replace(install, "T1", "T1, anybody", 1) + ", signing_secret: s}", "slack.install.workspaces[1]: with anybody the others mean nothing"},
		{strings.Replace(install, "T1", "anybody", 1) + ", signing_secret: s}", ""},
		{install + "}", "slack.install.client_id: the bot could speak, but not hear"},
		{strings.Replace(install, "T1", "5", 1) + ", signing_secret: s}", "slack.install.workspaces[0]: want text"},
		{"discord: {token: t, members: ['discord:1:&5'], visitors: false}", ""},
		{"discord: {token: t, visitors: false}", "discord.visitors: says who may not talk only where"},

		{"web: {session_keys: ['', short]}", "web.session_keys[1]: this key could be guessed"},
		{"web: {session_keys: ['${NOD_UNSET}', {name: ana, key: '${NOD_UNSET}'}]}", "web.session_keys[1]: the key is empty"},
		{"web: {session_keys: [{name: ana, key: a-key-of-16-bytes}, {name: ben, key: a-key-of-16-bytes}]}", "web.session_keys[1]: this key stands above"},
		{"web: {session_keys: [{name: ana, key: a-key-of-16-bytes}, {name: ana, key: a-key-of-16-bytes}, b-key-of-16-bytes, b-key-of-16-bytes]}", ""},
		{"web: {session_keys: [{nam: eve, key: short}]}", "web.session_keys[0].nam: there is no such field"},
		{"web: {session_keys: [{name: nod, key: a-key-of-16-bytes}]}", "web.session_keys[0].name: this name is the bot's own"},
		{"web: {session_keys: [{name: ana, key: a-key-of-16-bytes}, {name: ana, key: a-key-of-17--bytes}], hosts: ['::1']}", ""},
		{"web: {session_keys: [a-key-of-16-bytes], hosts: [5]}", "web.hosts[0]: want text"},
		{host + "}\nlisten: ':80'", "listen: others can reach this address"},
		{host + ", enabled: false}", ""},
		{two + "discord: {token: t}", ""},
		{door("issuer: 'https://login.example.org', scopes: [groups], groups: [my team]") + "\n", ""},
		{strings.Replace(door("issuer: 'https://login.example.org'"), "{", "{session_keys: [{name: ana, key: a-key-of-16-bytes}], ", 1), ""},
		{"slack: {bot_token: xoxb-1, app_token: xapp-1}\n" + door("issuer: slack, groups_claim: teams"), "web.oidc: claim, groups_claim"},
		{door("issuer: 'https://[::1'"), "web.oidc.issuer: want an address that begins with https://"},
		{door("issuer: 'https:///login'"), "web.oidc.issuer: want an address that begins with https://"},
		{door("issuer: 'ftp://localhost'"), "web.oidc.issuer: want an address that begins with https://"},

		{"listen: '127.0.0.1:1'\n---\n[", "this is not YAML"},
		{"{\n\t\"lease\": \"1m\"\n\t\"drain\": \"1m\"}", "this is not YAML: did not find expected ',' or '}'"}, // the tab is none of it
		{"lease: &a 1m\ndrain: &b *a", "this is not YAML"},
	} {
		_, err := Parse("nod.yaml", []byte(tt.text), env("NOD_OIDC_CLIENT_SECRET", "a-secret-of-the-client", "SLACK_CLIENT_SECRET", "a-secret-of-the-app", "NOD_SLACK_TOKEN_KEYS", "a-key-of-16-bytes"))
		wants(t, tt.text, err, tt.said)
	}
	// What the environment says wrongly hides nothing of what the file does, and what stands in no file is called by its variable.
	_, err := Parse("nod.yaml", []byte("slack: {bots: [x]}\ndiscord: {visitors: false}"), env("ADMIN_SESSION_KEYS", "short", "NOD_OIDC_CLIENT_SECRET", "'s3cret'"))
	wants(t, "both", err, "slack.bots[0]: \ndiscord.visitors: \nNOD_OIDC_CLIENT_SECRET: NOD_OIDC_CLIENT_SECRET: stands in quotation marks\nADMIN_SESSION_KEYS: this key")
	_, err = Parse("nod.yaml", []byte("web: {session_keys: [{name: ana, key: a-key-of-16-bytes}]}"), env("ADMIN_SESSION_KEYS", "a-key-of-16-bytes"))
	wants(t, "a key of an admin and of ana", err, "web.session_keys[0]: this key stands above")
	if _, err := Parse("nod.yaml", []byte(two), env("ADMIN_SESSION_KEYS", "a-key-of-16-bytes,a-key-of-17--bytes")); err != nil {
		t.Error(err)
	}
}

// wants compares an error with the problems that it should have, as far as they are written.
func wants(t *testing.T, text string, err error, said string) {
	t.Helper()
	if err == nil || said == "" {
		if err != nil || said != "" {
			t.Errorf("%s\nsays %v, want %q", text, err, said)
		}
		return
	}
	got, want := strings.Split(err.Error(), "\n"), strings.Split(said, "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.Contains(got[i], want[i]) || strings.Contains(got[i], "s3cret") {
			t.Errorf("%s\nsays %q, want %q", text, got, want)
			return
		}
	}
}

// No server reaches the file that says what servers may do, and none is advised to.
func TestTheFileIsClosedToServers(t *testing.T) {
	file := t.TempDir() + "/nod.yaml"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, said := range map[string]string{file: "would open data_dir, this configuration or", file + "/..": "would open", "/srv": ""} {
		_, err := ParseAt(file, []byte("mcp: {servers: {a: {command: [x], paths: ['"+path+"']}}}"), env())
		wants(t, path, err, said)
	}
	c, err := ParseAt(file, []byte("mcp: {servers: {a: {command: [x, '"+file+"']}, b: {url: 'http://h'}}}"), env())
	if w := strings.Join(c.Warnings(), "\n"); err != nil || strings.Contains(w, file) {
		t.Errorf("%s (%v)", w, err)
	}
}

func TestReadStrictly(t *testing.T) {
	for text, nothing := range map[string]bool{"": true, "# x": true, "a: b": false, "{": false, "a: $HOME": false} {
		var into struct {
			A string `yaml:"a"`
		}
		if f, empty := ReadStrictly("f", []byte(text), &into); empty != nothing || (f.Err() != nil) != (text == "{") {
			t.Errorf("%q: empty %v, %v", text, empty, f.Err())
		}
	}
}

// Profiles are shown where only this machine reaches them.
func TestWhoReachesTheMetrics(t *testing.T) {
	for listen, local := range map[string]bool{"127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true, ":1": false, "0.0.0.0:1": false, "": false} {
		if got := (Metrics{Listen: listen}).Local(); got != local {
			t.Errorf("%q: %v", listen, got)
		}
	}
}
