package parts

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/mcp/child"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/state"
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
	c, err := config.Parse("nod.yaml", []byte("data_dir: /usr/share/nod\nmcp: {servers: {a: {command: [x], confine: false}, b: {command: [x], user: '1:1'}, c: {url: 'http://h/mcp'}}}"), onlyHome)
	if err != nil {
		t.Fatal(err)
	}
	fine, say, remarks := Confinement(c) // a test's binary is no launcher
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
		c, err := config.Parse("nod.yaml", []byte(text), onlyHome)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(openPorts(c)); got != want {
			t.Errorf("%q: doors %s, want %s", text, got, want)
		}
	}
}

// What becomes of an entry.
func TestServerOf(t *testing.T) {
	c, err := config.Parse("nod.yaml", []byte("data_dir: /var/lib/nod\naudit: {key: /usr/etc/audit.key}\nmcp: {servers: {a: {command: x, args: [y], paths: [/srv/a, {path: /srv/b, read_only: true}], user: '7:8', type: stdio}, b: {command: [x], confine: false}}}"), onlyHome)
	if err != nil {
		t.Fatal(err)
	}
	a, b := Server(c, "a"), Server(c, "b")
	if a.Home != "/var/lib/nod/servers/a" || fmt.Sprint(a.Command, a.Bounds.Write, a.Bounds.Read, a.Bounds.Keep) != "[x y] [/srv/a] [/srv/b] [/var/lib/nod /usr/etc/audit.key]" ||
		a.User == nil || *a.User != (child.User{UID: 7, GID: 8}) || a.Transport != "stdio" {
		t.Errorf("%+v %+v %+v", a, a.Bounds, a.User)
	}
	if b.Home != "" || b.Bounds != nil || b.User != nil {
		t.Errorf("%+v", b)
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
