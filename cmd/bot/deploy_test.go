package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/nodhq/nod/cmd/bot/config"
)

const sample = "../../deploy/nod.yaml"

// The sample for teams is a configuration: it loads as it stands, without any variable but what a team must set.
func TestSampleLoads(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"with an admin key":  {"ADMIN_SESSION_KEYS": "a-key-of-16-bytes", "SLACK_BOT_TOKEN": "xoxb-k", "SLACK_APP_TOKEN": "xapp-k"},
		"with a session key": {"NOD_WEB_SESSION_KEY": "a-key-of-16-bytes", "SLACK_BOT_TOKEN": "xoxb-k", "SLACK_APP_TOKEN": "xapp-k"},
		"with everything": {"ADMIN_SESSION_KEYS": "a-key-of-16-bytes", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://h/v1", "OPENAI_MODEL": "m",
			"SLACK_BOT_TOKEN": "xoxb-k", "SLACK_APP_TOKEN": "xapp-k", "SLACK_SIGNING_SECRET": "k", "DISCORD_TOKEN": "MTIz.b.c", "DISCORD_PUBLIC_KEY": strings.Repeat("a", 64)},
	} {
		c, err := config.Load(sample, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// C9: a team's timeout is longer than that of one person at the page.
		if is := c.Policy().AskingWhere(false).Timeout; is <= time.Minute && is != 0 {
			t.Errorf("approvals.timeout is %v, want longer than the page's", is)
		}
		for _, w := range c.Warnings() {
			t.Errorf("%s: the sample itself is warned about: %s", name, w)
		}
	}
	if _, err := config.Load(sample, func(string) (string, bool) { return "", false }); err == nil {
		t.Error("the sample opens the web chat to a network without any key")
	}
}

// Every field there is stands in the sample, and every block of it is preceded or followed by words.
// R167
func TestSampleHasEveryField(t *testing.T) {
	data, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	stands := map[string]bool{}
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		if n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if under := path + "*"; strings.HasSuffix(path, "servers.") || strings.HasSuffix(path, "tools.") || strings.HasSuffix(path, "channels.") {
				walk(n.Content[i+1], under+".")
				continue
			}
			stands[path+key] = true
			walk(n.Content[i+1], path+key+".")
		}
	}
	walk(doc.Content[0], "")
	want := fields(reflect.TypeFor[config.Config](), "")
	if len(want) < 50 {
		t.Fatalf("only %d fields found: the test looks at nothing", len(want))
	}
	docs, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range want {
		if !stands[f] {
			t.Errorf("%s is not in the sample", f)
		}
		if slices.ContainsFunc(want, func(g string) bool { return strings.HasPrefix(g, f+".") }) {
			continue // the document explains what is in it
		}
		if name := f[strings.LastIndex(f, ".")+1:]; !strings.Contains(string(docs), "`"+name+"`") && !strings.Contains(string(docs), "."+name+"`") {
			t.Errorf("%s is not in docs/configuration.md", f)
		}
	}
	for f := range stands { // config.Load refuses unknown fields; this finds a walk that goes astray
		if !slices.Contains(want, f) && !strings.Contains(f, ".env.") && !strings.Contains(f, ".headers.") && !strings.Contains(f, ".preview.") && !strings.HasPrefix(f, "permissions.templates.") {
			t.Errorf("%s is in the sample and no field", f)
		}
	}
}

// fields are the paths of all fields of a type, with * for names that people choose.
func fields(t reflect.Type, path string) []string {
	var out []string
	for t.Kind() == reflect.Map || t.Kind() == reflect.Pointer {
		if t.Kind() == reflect.Map {
			path += "*."
		}
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[config.Doors](): // of which one may stand without a list
		t = t.Elem()
	case reflect.TypeFor[config.Template](): // whose fields are those of permissions and its servers
		return nil
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[config.Config]().PkgPath() {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" || name == "" {
			continue
		}
		out = append(out, path+name)
		out = append(out, fields(f.Type, path+name+".")...)
	}
	return out
}

// What docs/discord.md shows as a configuration is one, and does what is said of it.
func TestDiscordPageLoads(t *testing.T) {
	data, err := os.ReadFile("../../docs/discord.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n## Settings\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var text strings.Builder
	for line := range strings.Lines(section) {
		if shown, ok := strings.CutPrefix(line, "    "); ok {
			text.WriteString(shown)
		}
	}
	env := map[string]string{"HOME": "/home/ana", "DISCORD_TOKEN": "MTIz.b.c"}
	c, err := config.Parse("discord.md", []byte(text.String()), func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	if err != nil {
		t.Fatalf("%v in\n%s", err, text.String())
	}
	if !c.Discord.Enabled() || len(c.Discord.Channels) != 2 || len(c.Admins) != 2 || !c.Admins[1].IsGroup() || len(c.Approvals.Approvers.Users) != 1 || len(c.Warnings()) != 0 {
		t.Errorf("%+v %+v %q", c.Discord, c.Admins, c.Warnings())
	}
}

// The compose file keeps what it promises: nothing evicted, an append-only file, health checks, volumes, and the bot not open to the world.
func TestCompose(t *testing.T) {
	data, err := os.ReadFile("../../deploy/docker-compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Services map[string]struct {
			Command     []string
			Environment map[string]string
			Volumes     []string
			Ports       []string
			Healthcheck map[string]any
			Init        bool
			Configs     []struct{ Source, Target string }
		}
		Volumes map[string]any
		Configs map[string]struct{ File string }
	}
	if err := yaml.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	redis, bot := f.Services["redis"], f.Services["nod"]
	cmd := strings.Join(redis.Command, " ")
	for _, want := range []string{"--appendonly yes", "--appendfsync everysec", "--maxmemory-policy noeviction"} {
		if !strings.Contains(cmd, want) {
			t.Errorf("redis runs without %s", want)
		}
	}
	if redis.Healthcheck == nil || len(redis.Ports) != 0 || len(redis.Volumes) != 1 || len(f.Volumes) != 2 {
		t.Error("redis wants a health check, a volume and no port")
	}
	if !bot.Init {
		t.Error("nobody reaps what MCP servers' programs left behind")
	}
	for _, p := range bot.Ports {
		if !strings.HasPrefix(p, "127.0.0.1:") {
			t.Errorf("port %s is open to the world", p)
		}
	}
	// An operator's variables reach the bot by being named here.
	for _, want := range []string{"SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET", "DISCORD_TOKEN", "DISCORD_PUBLIC_KEY", "OPENAI_API_KEY"} {
		if bot.Environment[want] != "${"+want+":-}" {
			t.Errorf("%s is not passed on to the bot", want)
		}
	}
	env := map[string]string{"ADMIN_SESSION_KEYS": "a-key-of-16-bytes", "HOME": "/root"}
	for k, v := range bot.Environment {
		if !strings.Contains(v, "${") {
			env[k] = v
		} else if env[k] == "" {
			env[k] = ""
		}
	}
	// The configuration that is mounted where the bot looks for it has the README's server.
	if len(bot.Configs) != 1 || bot.Configs[0].Target != env["NOD_CONFIG"] || f.Configs[bot.Configs[0].Source].File != "${NOD_YAML:-./compose.nod.yaml}" {
		t.Fatalf("the bot looks for %q; mounted is %+v of %+v", env["NOD_CONFIG"], bot.Configs, f.Configs)
	}
	c, err := config.Load("../../deploy/compose.nod.yaml", func(k string) (string, bool) { v, ok := env[k]; return v, ok && k != "NOD_CONFIG" })
	if err != nil {
		t.Fatalf("the bot refuses the compose file's configuration: %v", err)
	}
	if got, want := c.MCP.Servers["files"].Command, readme(t).MCP.Servers["files"].Command; fmt.Sprint(config.RevealAll(got)) != fmt.Sprint(config.RevealAll(want)) {
		t.Errorf("it starts %v, the README %v", got, want)
	}
}

// What starts nod waits for as long as a stop can take: the drain, the last traces, and programs that leave neither for the end of their input nor for a
// signal, and keep their output open.
func TestAStopIsNoKill(t *testing.T) {
	const programs, proxies = 6 * time.Second, 5 * time.Second // see adapters/mcp, and the chart's preStop
	want := config.Default().Drain + flushWithin + programs
	for file, x := range map[string]struct {
		field string
		want  time.Duration
	}{
		"docker-compose.yaml": {"stop_grace_period: ", want}, "nod.service": {"TimeoutStopSec=", want}, "helm/nod/values.yaml": {"terminationGracePeriodSeconds: ", want + proxies},
	} {
		data, err := os.ReadFile("../../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(data), x.field)
		line, _, _ := strings.Cut(rest, "\n")
		if is, err := time.ParseDuration(strings.TrimSuffix(line, "s") + "s"); err != nil || is <= x.want {
			t.Errorf("%s waits for %v, and a stop can take %v: %v", file, is, x.want, err)
		}
	}
}

// readme is what the README shows as a configuration.
func readme(t *testing.T) config.Config {
	t.Helper()
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the README shows no configuration")
	}
	env := map[string]string{"HOME": "/home/ana", "OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"}
	c, err := config.Parse("README.md", []byte(text), func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	if err != nil {
		t.Error(err)
	}
	return c
}

// What the README shows as a configuration is one, as it stands: a newcomer has set no more than the model.
// R167
func TestReadmeConfigurationLoads(t *testing.T) {
	c := readme(t)
	if c.Demo() || len(c.MCP.Servers) != 1 {
		t.Error("it does not connect what it says")
	}
	if w := c.Warnings(); len(w) != 1 || w[0] != config.NobodyIsAdmin {
		t.Errorf("it is warned about: %q", w)
	}
}

// The unit for systemd is one that systemd takes, and as tight as it judges: 0 is what can reach nothing, 10 what can reach everything.
func TestUnit(t *testing.T) {
	data, err := os.ReadFile("../../deploy/nod.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := string(data)
	for _, want := range []string{"[Unit]", "[Service]", "[Install]", "DynamicUser=yes", "StateDirectory=nod", "ProtectSystem=strict", "ProtectHome=yes", "NoNewPrivileges=yes",
		"CapabilityBoundingSet=", "NOD_DATA_DIR=/var/lib/nod", "ExecStart=/usr/local/bin/nod", "landlock_restrict_self", "RestartSec=5"} {
		if !strings.Contains(unit, want) {
			t.Errorf("it has no %s", want)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		return // a machine without systemd
	}
	self, err := os.Executable() // systemd wants the program to be there
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "nod.service")
	if err := os.WriteFile(file, []byte(strings.Replace(unit, "ExecStart=/usr/local/bin/nod", "ExecStart="+self, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", "--man=no", file}, {"security", "--offline=yes", "--threshold=20", "--no-pager", file}} {
		if out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput(); err != nil { //nolint:gosec // the two above
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
