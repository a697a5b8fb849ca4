package parts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nodhq/nod/adapters/demo"
	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/mcp/child"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
	"github.com/nodhq/nod/tests/harness"
)

// R131
func TestListenRefusesTheNetworkWithoutKeys(t *testing.T) {
	open := config.Config{Listen: "0.0.0.0:0", Web: config.Web{Enabled: true}}
	if ln, err := Listen(t.Context(), open); err == nil {
		ln.Close()
		t.Error("the web chat listens to everybody without a key")
	} else if !strings.Contains(err.Error(), "ADMIN_SESSION_KEYS") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	for name, c := range map[string]config.Config{
		"loopback":   {Listen: "127.0.0.1:0", Web: config.Web{Enabled: true}},
		"keys":       {Listen: "0.0.0.0:0", Web: config.Web{Enabled: true, SessionKeys: []config.SessionKey{{Key: "k"}}}},
		"admin keys": {Listen: "0.0.0.0:0", Web: config.Web{Enabled: true}, AdminSessionKeys: []config.Secret{"k"}},
		"no web":     {Listen: "0.0.0.0:0"},
	} {
		ln, err := Listen(t.Context(), c)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ln.Close()
	}
	taken, err := Listen(t.Context(), config.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := Listen(t.Context(), config.Config{Listen: taken.Addr().String()}); err == nil || !strings.Contains(err.Error(), "NOD_LISTEN") {
		t.Errorf("a taken port: %v", err)
	}
	if ln, err := ListenForOperators(t.Context(), config.Config{}); ln != nil || err != nil {
		t.Errorf("metrics that nobody asked for are at %v, %v", ln, err)
	}
}

// What is said of a store when it is opened, and by which command.
func TestTheStoreIsOpened(t *testing.T) {
	server := harness.StartRedis(t)
	redis := config.Config{DataDir: t.TempDir(), Lease: time.Second, Redis: config.Redis{URL: config.URL(server.URL)}}
	noKey, badKey, otherKey, gone, embedded := redis, redis, redis, redis, redis
	noKey.DataDir, otherKey.DataDir, embedded.DataDir = t.TempDir(), t.TempDir(), t.TempDir()
	embedded.Redis.URL = config.Text{}
	old, copied := redis, redis
	old.Redis.URL, copied.Redis.Durability = config.URL(harness.Mini.Start(t)), "replicas=1"
	gone.Redis.URL = config.URL("unix:///proc/nod")
	badKey.Audit.SignWith = filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(badKey.Audit.SignWith, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	const made, loses, another, unsigned = "made a key", "Redis keeps no append-only file", "signs the audit with another key", "what is written now is not signed"
	type open func(context.Context, config.Config, *slog.Logger) (*state.Store, error)
	for _, tt := range []struct {
		name   string
		open   open
		config config.Config
		says   string // in the log; no other of the four
		err    string
	}{
		{"the first start", OpenStore, redis, made + loses, ""},
		{"a command of the bot's directory", OpenToWrite, redis, "", ""},
		{"a command elsewhere", OpenToWrite, noKey, unsigned, ""},
		{"a replica that made its own key", OpenStore, otherKey, made + loses + another, ""},
		{"a command without a bot", OpenToWrite, embedded, "", ""},
		{"a server that does not say", OpenStore, old, "", ""},
		{"a server whose replica has it too", OpenStore, copied, "", ""},
		{"a server that is gone", OpenStore, gone, "", "redis"},
		{"the bot with a key that is cut off", OpenStore, badKey, "", "want at least 32"},
		{"a command with it", OpenToWrite, badKey, "", "want at least 32"},
		{"a reader with it", OpenToRead, badKey, "", "want at least 32"},
	} {
		var log bytes.Buffer
		store, err := tt.open(t.Context(), tt.config, slog.New(slog.NewTextHandler(&log, nil)))
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v", tt.name, err)
		}
		for _, say := range []string{made, loses, another, unsigned} {
			if strings.Contains(log.String(), say) != strings.Contains(tt.says, say) {
				t.Errorf("%s, the log:\n%s", tt.name, &log)
			}
		}
		if err == nil {
			if tt.name == "the first start" {
				err = store.Begin(t.Context(), "1")
			}
			if err = errors.Join(err, store.Close()); err != nil {
				t.Error(err)
			}
		}
	}
	store, err := OpenStore(t.Context(), embedded, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // it has told
	_, err = OpenToWrite(t.Context(), embedded, slog.New(slog.DiscardHandler))
	if err = InUse(embedded, err, "stop it"); err == nil || !strings.Contains(err.Error(), "a nod is running on it, and the state belongs to that one process: stop it") {
		t.Errorf("beside a bot: %v", err)
	}
	if err := InUse(embedded, state.ErrClosed, "stop it"); !errors.Is(err, state.ErrClosed) {
		t.Errorf("another error: %v", err)
	}
	if Keep(config.Config{}) >= 0 || Keep(config.Config{Audit: config.Audit{Keep: config.Timeout(time.Hour)}}) != time.Hour {
		t.Error("what is kept for ever fades")
	}
}

// The index holds calls of the page's chats only: elsewhere nobody names a call alone.
func TestCallsAreIndexedForThePage(t *testing.T) {
	of := options(config.Config{}, state.AuditKey{}, nil).ByCall
	for platform, want := range map[string]bool{"web": true, "slack": false, "discord": false} {
		if got := of(chat.ID{Platform: platform, Key: "k"}); got != want {
			t.Errorf("%s: %v", platform, got)
		}
	}
}

// How servers are kept apart is said, and each that is not.
func TestGuard(t *testing.T) {
	const exposed = "/usr/share/nod can be read by every MCP server, because system files stand there: move it elsewhere"
	c, err := config.Parse("nod.yaml", []byte("data_dir: /usr/share/nod\nmcp: {servers: {a: {command: [x], confine: false}, b: {command: [x], user: '1:1'}, c: {url: 'http://h/mcp'}}}"), onlyHome)
	if err != nil {
		t.Fatal(err)
	}
	remote := c
	remote.MCP.Servers = map[string]config.Server{"c": c.MCP.Servers["c"]}
	guarded := c
	guarded.Web.SessionKeys = []config.SessionKey{{Key: "k"}}
	reach := "their programs can reach the page without a key or Redis without a password, at port [8080]: set web.session_keys, and a password in Redis"
	for name, tt := range map[string]struct {
		config  config.Config
		version int
		err     error
		fine    bool
		say     string
		remarks []string
	}{
		"no kernel for it":          {c, 0, errors.New("this kernel has no Landlock"), false, "MCP servers are not confined, because this kernel has no Landlock: ", []string{reach}},
		"neither, behind a key":     {guarded, 0, errors.New("this kernel has no Landlock"), false, "MCP servers are not confined, because this kernel has no Landlock: ", nil},
		"the page can be reached":   {c, 3, nil, false, "(Landlock 3), but this kernel does not keep them from ending nod", []string{exposed, reach}},
		"nod can be ended":          {c, 5, nil, false, "(Landlock 5), but this kernel does not keep them from ending nod", []string{exposed}},
		"all":                       {c, 6, nil, true, "MCP servers are confined to their own directory and their paths (Landlock 6)", []string{exposed}},
		"no program to be confined": {remote, 0, errors.New("this kernel has no Landlock"), true, "", nil},
	} {
		able := func() (int, error) { return tt.version, tt.err }
		var want []string
		if tt.say != "" {
			want = append(want, "not confined, because their entries say confine: false: a")
			if os.Geteuid() == 0 {
				want = append(want, "run as root, because nod does and their entries name no user: a")
			}
		}
		fine, say, remarks := Confinement(tt.config, able)
		if d := cmp.Diff(append(want, tt.remarks...), remarks); d != "" || fine != tt.fine || !strings.Contains(say, tt.say) || (say == "") != (tt.say == "") {
			t.Errorf("%s: %v %q\n%s", name, fine, say, d)
		}
	}
	for text, want := range map[string]string{
		"": "[8080]",
		"web: {session_keys: [" + strings.Repeat("k", 40) + "]}":                                  "[]",
		"web: {enabled: false}\nredis: {url: 'redis://h'}":                                        "[6379]",
		"web: {enabled: false}\nredis: {url: 'redis://ana:@h:7000'}":                              "[7000]", // no password either
		"web: {enabled: false}\nredis: {url: 'redis://:p@h:7000'}":                                "[]",
		"redis: {url: 'rediss://h:7000/0'}":                                                       "[8080 7000]",
		"listen: '127.0.0.1:0'\nredis: {url: 'unix:///run/redis.sock'}":                           "[]",
		"web: {enabled: false}\nredis: {url: 'redis://a:1?addr=b:2&addr=c'}":                      "[2 6379 1]", // a Cluster
		"web: {enabled: false}\nredis: {url: 'redis://:p@a:1?addr=b:2'}":                          "[]",
		"web: {enabled: false}\nredis: {url: 'redis://a:1?master_name=m&addr=b:2&password=p'}":    "[2 1]", // Sentinels, whoever may tell them
		"web: {enabled: false}\nredis: {url: 'redis://:p@a:1?master_name=m&addr=b:2'}":            "[6379]",
		"web: {enabled: false}\nredis: {url: 'redis://:p@a:1?master_name=m&addr=b:2&password=q'}": "[]",
	} {
		for _, admin := range []string{"", strings.Repeat("a", 40)} { // whose key keeps nobody from opening a session here
			c, err := config.Parse("nod.yaml", []byte(text+"\nmcp: {servers: {a: {command: [x]}}}"), func(name string) (string, bool) {
				if name == "ADMIN_SESSION_KEYS" {
					return admin, true
				}
				return onlyHome(name)
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(Server(c, "a").Bounds.Ports); got != want {
				t.Errorf("%q, an admin's key %q: doors %s, want %s", text, admin, got, want)
			}
		}
	}
}

// What becomes of an entry.
func TestServerOf(t *testing.T) {
	c, err := config.Parse("nod.yaml", []byte("data_dir: /var/lib/nod\naudit: {key: /usr/etc/audit.key}\nmcp: {servers: {a: {command: x, args: [y], paths: [/srv/a, {path: /srv/b, read_only: true}], user: '7:8', type: stdio}, b: {command: [x], confine: false}, c: {url: 'http://h/mcp'}}}"), onlyHome)
	if err != nil {
		t.Fatal(err)
	}
	a, b, remote := Server(c, "a"), Server(c, "b"), Server(c, "c")
	if a.Home != "/var/lib/nod/servers/a" || fmt.Sprint(a.Command, a.Bounds.Write, a.Bounds.Read, a.Bounds.Keep) != "[x y] [/srv/a] [/srv/b] [/var/lib/nod /usr/etc/audit.key]" ||
		a.User == nil || *a.User != (child.User{UID: 7, GID: 8}) || a.Transport != "stdio" {
		t.Errorf("%+v %+v %+v", a, a.Bounds, a.User)
	}
	if b.Home != "" || b.Bounds != nil || b.User != nil {
		t.Errorf("%+v", b)
	}
	if remote.Home != "" || remote.Bounds != nil {
		t.Errorf("what runs elsewhere has a directory here: %+v", remote)
	}
}

// Who is another user may pass through data_dir, where its own directory is below it; what is said at the start is how they are kept apart.
func TestOpenServers(t *testing.T) {
	for name, tt := range map[string]struct {
		servers string
		mode    fs.FileMode
		log     string
	}{
		"another user":             {"{command: [x], user: '1:1'}", 0o711, "level=WARN msg=\"MCP servers are not confined"},
		"the same":                 {"{command: [x]}", 0o700, "level=WARN msg=\"MCP servers are not confined"},
		"another, with no home":    {"{command: [x], user: '1:1', confine: false}", 0o700, "confine: false: a"},
		"somewhere else":           {"{url: 'http://h/mcp'}", 0o700, ""},
		"a file where data_dir is": {"{command: [x], user: '1:1'}", 0o600, ""},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		var err error
		if tt.mode == 0o600 {
			err = os.WriteFile(dir, nil, 0o600)
		} else {
			err = os.Mkdir(dir, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := config.Parse("nod.yaml", []byte("data_dir: "+dir+"\nmodel: {name: m}\nmcp: {servers: {a: "+tt.servers+"}}"), onlyHome)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		servers, err := OpenServers(c, "", nil, slog.New(slog.NewTextHandler(&log, nil)))
		if (err == nil) == (tt.mode == 0o600) {
			t.Errorf("%s: %v", name, err)
		}
		if servers != nil {
			_ = servers.Close()
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != tt.mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		if !strings.Contains(log.String(), tt.log) || tt.log == "" && log.Len() > 0 {
			t.Errorf("%s, the log:\n%s", name, &log)
		}
	}
	if _, err := OpenServers(config.Config{DataDir: "/proc/nod"}, "", nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "/proc/nod") {
		t.Errorf("files of nod's own that cannot be: %v", err)
	}
}

// A rule that names no tool protects nothing, wherever it stands.
func TestRulesThatNameNoTool(t *testing.T) {
	c, err := config.Parse("nod.yaml", []byte("data_dir: "+t.TempDir()+`
permissions:
  servers: {workbench: {tools: {wirte_file: {ask: always}, write_file: {ask: always}}}}
  channels: [{in: web, servers: {workbench: {tools: {delete_fiel: {enabled: false}}}}}]
  templates: {ours: {servers: {workbench: {tools: {read_fil: {ask: always}}}}}}
`), onlyHome)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	servers, err := OpenServers(c, "", nil, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	servers.Start()
	if err := errors.Join(servers.Ready(t.Context()), servers.Close()); err != nil || !strings.Contains(log.String(), `tools="[delete_fiel read_fil wirte_file]"`) {
		t.Errorf("%v, the log:\n%s", err, &log)
	}
}

// What serve and the doctor give to the adapter is what was written.
func TestSlackConfig(t *testing.T) {
	c, err := config.Parse("nod.yaml", []byte("slack: {bot_token: xoxb-1, app_token: xapp-1, signing_secret: s, api_url: 'http://h/api', follow: mention, channels: {C1: {follow: thread}}, bots: [B1], guests: true, external: true, visitors: false, suggestions: [a], connections: 3}"), onlyHome)
	if err != nil {
		t.Fatal(err)
	}
	got := Slack(c)
	if got.BotToken != "xoxb-1" || got.AppToken != "xapp-1" || got.SigningSecret != "s" || got.APIURL != "http://h/api" || got.Follow != "mention" ||
		got.Channels["C1"] != "thread" || !got.Guests || !got.MembersOnly || len(got.Bots) != 1 || !got.External || len(got.Suggestions) != 1 || got.Connections != 3 {
		t.Errorf("%+v", got)
	}
}

// What serve and the doctor give to the adapter is what was written.
func TestDiscordConfig(t *testing.T) {
	key := strings.Repeat("a", 64)
	c, err := config.Parse("nod.yaml", []byte("discord: {token: MTIz.b.c, public_key: '"+key+"', api_url: 'http://h:1/api/v10/', conversation: channel, follow: mention, "+
		"channels: {1: {conversation: thread}, 2: {follow: thread}}, bots: ['5'], members: ['discord:1:&5'], visitors: false, link_hosts: [Example.com, '*.example.org'], shards: 3}"), onlyHome)
	if err != nil {
		t.Fatal(err)
	}
	want := discord.Config{Token: "MTIz.b.c", PublicKey: key, APIURL: "http://h:1", Conversation: discord.InChannel, Follow: "mention",
		Channels: map[string]discord.Channel{"1": {Conversation: discord.InThread}, "2": {Follow: "thread"}}, Bots: []string{"5"}, Members: []chat.User{{Platform: "discord", Workspace: "1", Key: "&5"}}, MembersOnly: true, LinkHosts: []string{"example.com", "*.example.org"}, Shards: 3}
	if d := cmp.Diff(want, Discord(c)); d != "" {
		t.Error(d)
	}
}

func onlyHome(name string) (string, bool) {
	if name == "HOME" {
		return "/home/ana", true
	}
	return "", false
}

// Nothing is written under rules that nobody could have meant, nobody signs in at a door that is none, and without a model the demo answers.
func TestPartsOfLittle(t *testing.T) {
	nobody := config.Config{Lease: time.Second, Approvals: config.Approvals{Approvers: permission.Approvers{Rule: permission.ApproversListed}}}
	if _, err := StillEngine(nobody, nil, nil, nil); err == nil || !strings.Contains(err.Error(), "listed names nobody") {
		t.Error(err)
	}
	if m, err := OpenModel(config.Config{}, nil, nil); err != nil || m != (demo.Model{Delay: demo.Pace}) {
		t.Errorf("without a model: %v, %v", m, err)
	}
	if _, err := SignIn(config.Config{Web: config.Web{OIDC: config.Doors{{Issuer: "https://h"}}}}, nil); err == nil || !strings.HasPrefix(err.Error(), "signin: ") {
		t.Error(err)
	}
}
