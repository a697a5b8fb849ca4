package doctor

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"

	"github.com/nodhq/nod/tests/standins/fakeslack/spec"
)

var updateManifest = flag.Bool("update-manifest", false, "write the manifest's golden files anew")

// What Slack's pages say, kept apart from what the manifest asks for: a slip in one is found by the other.
var (
	// https://docs.slack.dev/reference/scopes: bot scopes.
	knownScopes = strings.Fields(`app_mentions:read assistant:write bookmarks:read bookmarks:write calls:read calls:write channels:history channels:join
		channels:manage channels:read chat:write chat:write.customize chat:write.public commands dnd:read emoji:read files:read files:write groups:history
		groups:read groups:write im:history im:read im:write links:read links:write mpim:history mpim:read mpim:write pins:read pins:write reactions:read
		reactions:write reminders:read reminders:write team:read usergroups:read usergroups:write users.profile:read users:read users:read.email users:write`)
	// https://docs.slack.dev/reference/events: each event's page, with the scopes of which it wants one.
	knownEvents = map[string]string{
		"agent_session_stopped": "assistant:write chat:write", "app_home_opened": "", "app_mention": "app_mentions:read", "app_uninstalled": "",
		"channel_archive": "channels:read", "channel_deleted": "channels:read", "channel_left": "channels:read", "channel_rename": "channels:read",
		"group_archive": "groups:read", "group_deleted": "groups:read", "group_left": "groups:read", "member_joined_channel": "channels:read groups:read",
		"member_left_channel": "channels:read groups:read", "message.channels": "channels:history", "message.groups": "groups:history",
		"message.im": "im:history", "message.mpim": "mpim:history", "tokens_revoked": "",
	}
)

var manifestCases = map[string]AppOptions{
	"socket": {},
	"http":   {BaseURL: "https://bot.example.com/", Prompts: []string{"What is new?"}},
	"groups": {Groups: true},
}

func TestManifestGolden(t *testing.T) {
	for name, o := range manifestCases {
		got, err := Manifest(o)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "manifest", name+".json")
		if *updateManifest {
			if err := os.WriteFile(file, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if faults := spec.Faults("apps.manifest.validate", url.Values{"manifest": {string(got)}}); len(faults) > 0 {
			t.Errorf("%s, which Slack's own clients would not send: %q", name, faults)
		}
	}
}

// decodeManifest reads a manifest as slack-go knows it. A field that it does not know is a field that Slack's schema does not have.
func decodeManifest(t *testing.T, o AppOptions) slack.Manifest {
	t.Helper()
	raw, err := Manifest(o)
	if err != nil {
		t.Fatal(err)
	}
	var m slack.Manifest
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	return m
}

func TestManifestIsSlacks(t *testing.T) {
	for name, o := range manifestCases {
		m := decodeManifest(t, o)
		for _, s := range m.OAuthConfig.Scopes.Bot {
			if !slices.Contains(knownScopes, s) {
				t.Errorf("%s: %s is no bot scope", name, s)
			}
		}
		if len(m.OAuthConfig.Scopes.User) != 0 || slices.Contains(m.OAuthConfig.Scopes.Bot, "connections:write") {
			t.Errorf("%s: it asks for rights of people, or for one that only an app-level token has", name)
		}
		for _, e := range m.Settings.EventSubscriptions.BotEvents {
			needs, known := knownEvents[e]
			if !known {
				t.Errorf("%s: %s is no event", name, e)
			}
			has := needs == ""
			for _, s := range strings.Fields(needs) {
				has = has || slices.Contains(m.OAuthConfig.Scopes.Bot, s)
			}
			if !has { // Slack refuses the whole manifest and points at the event, not at the scope
				t.Errorf("%s: %s needs one of %s", name, e, needs)
			}
		}
		for what, list := range map[string][]string{"scopes": m.OAuthConfig.Scopes.Bot, "events": m.Settings.EventSubscriptions.BotEvents} {
			if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
				t.Errorf("%s: the %s are not sorted, or one stands twice", name, what)
			}
		}
		if m.Features.AgentView == nil || m.Features.AssistantView != nil {
			t.Errorf("%s: new apps are agents", name)
		}
		if !m.Features.AppHome.HomeTabEnabled || !slices.Contains(m.Settings.EventSubscriptions.BotEvents, "app_home_opened") {
			t.Errorf("%s: the Home tab would stay empty", name)
		}
		if m.Settings.Interactivity == nil || !m.Settings.Interactivity.IsEnabled {
			t.Errorf("%s: without interactivity no button answers", name)
		}
		if !m.Features.AppHome.MessagesTabEnabled || m.Features.AppHome.MessagesTabReadOnlyEnabled {
			t.Errorf("%s: nobody could write to it", name)
		}
		checkManifestLimits(t, m)
	}
}

// checkManifestLimits holds a manifest to https://docs.slack.dev/reference/app-manifest.
func checkManifestLimits(t *testing.T, m slack.Manifest) {
	t.Helper()
	within := func(what, s string, least, most int) {
		if n := utf8.RuneCountInString(s); n < least || n > most {
			t.Errorf("%s has %d characters, want %d to %d", what, n, least, most)
		}
	}
	within("name", m.Display.Name, 1, 35)
	within("description", m.Display.Description, 1, 140)
	within("long_description", m.Display.LongDescription, 175, 4000)
	within("display_name", m.Features.BotUser.DisplayName, 1, 80)
	within("agent_description", m.Features.AgentView.AgentDescription, 1, 300)
	if n := len(m.Features.AgentView.SuggestedPrompts); n < 1 || n > maxPrompts {
		t.Errorf("%d suggested prompts", n)
	}
	for _, c := range m.Features.SlashCommands {
		within("command", c.Command, 2, 32)
		within("command's description", c.Description, 1, 2000)
		within("usage_hint", c.UsageHint, 1, 1000)
		if !strings.HasPrefix(c.Command, "/") {
			t.Errorf("command %s", c.Command)
		}
	}
	if c := m.Display.BackgroundColor; len(c) != 7 || c[0] != '#' {
		t.Errorf("background_color %s", c)
	}
}

// Socket Mode has no addresses, and HTTP has all three.
func TestManifestTransport(t *testing.T) {
	m := decodeManifest(t, AppOptions{})
	if !m.Settings.SocketModeEnabled || m.Settings.EventSubscriptions.RequestUrl+m.Settings.Interactivity.RequestUrl+m.Features.SlashCommands[0].Url != "" {
		t.Error("Socket Mode, and addresses")
	}
	for _, base := range []string{"https://bot.example.com", "https://bot.example.com/", "https://h.example:8443/nod//"} {
		m := decodeManifest(t, AppOptions{BaseURL: base})
		base = strings.TrimRight(base, "/")
		got := []string{m.Settings.EventSubscriptions.RequestUrl, m.Settings.Interactivity.RequestUrl, m.Features.SlashCommands[0].Url}
		want := []string{base + "/slack/events", base + "/slack/interactivity", base + "/slack/commands"}
		if d := cmp.Diff(want, got); d != "" || m.Settings.SocketModeEnabled {
			t.Errorf("%s: %s socket mode: %v", base, d, m.Settings.SocketModeEnabled)
		}
	}
}

func TestManifestRefuses(t *testing.T) {
	for _, base := range []string{"http://bot.example.com", "bot.example.com", "https://", "https://u:s3cret@h", "https://h/?a=s3cret", "https://h/#a", "ftp://h", "https://h\x7f", "https://h/" + strings.Repeat("x", maxRequestURL)} {
		if _, err := Manifest(AppOptions{BaseURL: base}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", base, err)
		}
	}
	if _, err := Manifest(AppOptions{Prompts: []string{"1", "2", "3", "4", "5"}}); err == nil {
		t.Error("five prompts")
	}
}

// The scope for user groups is there for who asks for it, and that alone is different.
func TestManifestOfGroups(t *testing.T) {
	without, with := decodeManifest(t, AppOptions{}), decodeManifest(t, AppOptions{Groups: true})
	if slices.Contains(without.OAuthConfig.Scopes.Bot, "usergroups:read") {
		t.Error("everybody is asked for usergroups:read")
	}
	had := len(with.OAuthConfig.Scopes.Bot)
	with.OAuthConfig.Scopes.Bot = slices.DeleteFunc(with.OAuthConfig.Scopes.Bot, func(s string) bool { return s == "usergroups:read" })
	if had != len(with.OAuthConfig.Scopes.Bot)+1 {
		t.Error("Groups, and no usergroups:read")
	}
	if d := cmp.Diff(without, with); d != "" {
		t.Errorf("something else changed with it:\n%s", d)
	}
}

// Each scope says what it is for, and each is needed by an event or stands in this list with the method that needs it.
func TestEveryScopeHasAUse(t *testing.T) {
	methods := map[string]string{ // https://docs.slack.dev/reference/methods
		"chat:write": "chat.postMessage, chat.update, chat.delete, chat.postEphemeral, agents.sessions.setStatus", "usergroups:read": "usergroups.list",
		"im:write": "conversations.open", "files:read": "files.info", "users:read": "users.info", "commands": "/nod", "assistant:write": "assistant.threads.setTitle, setSuggestedPrompts",
	}
	for _, s := range scopesWith(true) {
		used := methods[s.Name] != "" || slices.ContainsFunc(subscriptions, func(e subscription) bool { return e.Needs == s.Name })
		if !used {
			t.Errorf("%s is asked for and not used", s.Name)
		}
		if s.For == "" || s.Lacks == "" {
			t.Errorf("%s says not what it is for", s.Name)
		}
	}
}

// The page for operators explains each scope that may be asked for, and no other.
func TestDocsExplainEachScope(t *testing.T) {
	page, err := os.ReadFile("../../../docs/slack.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## What each scope is for")
	table, _, _ = strings.Cut(table, "\n## ")
	var named []string
	for line := range strings.Lines(table) {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(rest, "`")
			named = append(named, name)
		}
	}
	if d := cmp.Diff(Scopes(true), named); d != "" {
		t.Errorf("asked for (-) and explained (+):\n%s", d)
	}
}
