package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	adapter "github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/surface"
)

// scope is a right of the bot's token. The manifest asks for it, and the doctor says what is missing without it.
type scope struct {
	Name  string
	For   string // what the bot does with it
	Lacks string // what does not work without it
	Vital bool   // without it the bot is of no use, or waits for people who cannot answer
}

// scopes are what the bot does in a workspace, and no more: https://docs.slack.dev/reference/scopes
var scopes = []scope{
	{"app_mentions:read", "hears when it is mentioned", "it does not hear that it is mentioned", true},
	{"assistant:write", "is an agent, which suggests prompts", "no prompts are suggested", false},
	{"channels:history", "reads the threads that it is in, in public channels", "it does not hear what follows a mention in a public channel, and does not know what stood before it", true},
	{"channels:read", "hears that a public channel was archived or deleted, or that it was removed from one", "questions in an archived or deleted public channel wait until they expire", false},
	{"chat:write", "writes, edits and deletes its own messages, shows that it is working, names its conversations and hears Slack's own Stop button", "it cannot answer", true},
	{"commands", "has the command /nod", "there is no command /nod; mention it instead", false},
	{"groups:history", "reads the threads that it is in, in private channels", "it does not hear what follows a mention in a private channel", true},
	{"groups:read", "hears the same of private channels", "questions in an archived or deleted private channel wait until they expire", false},
	{"im:history", "reads direct messages to it", "it does not hear direct messages", true},
	{"im:write", "writes to an admin by itself: about a server or a tool that is new", "admins are not told of new servers and tools; they find them in the settings", false},
	{"mpim:history", "reads the threads that it is in, in group messages", "it does not hear what follows a mention in a group message", false},
	{"users:read", "knows names, and who is a guest, from outside or a bot", "it cannot tell members from guests, so it cannot tell who may decide", true},
}

// groupsScope is asked for only where user groups may decide: who is in which group is nothing that the bot needs to know otherwise.
var groupsScope = scope{"usergroups:read", "knows who is in the user groups that may decide", "it cannot tell who is in a user group, so nobody can decide because of one", true}

// scopesWith are the scopes of an app, in the order of their names: with groups, that which user groups need, too.
func scopesWith(groups bool) []scope {
	if !groups {
		return scopes
	}
	all := slices.Concat(scopes, []scope{groupsScope})
	slices.SortFunc(all, func(a, b scope) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// subscription is an event that Slack sends, with the scope that it needs. Slack refuses a manifest in which that is missing.
type subscription struct{ Event, Needs string }

// subscriptions are at https://docs.slack.dev/reference/events
var subscriptions = []subscription{
	{"agent_session_stopped", "chat:write"},
	{"app_home_opened", ""}, // somebody opened the Home tab or, in the agent view, the conversation
	{"app_mention", "app_mentions:read"},
	{"channel_archive", "channels:read"},
	{"channel_deleted", "channels:read"},
	{"channel_left", "channels:read"},
	{"group_archive", "groups:read"},
	{"group_deleted", "groups:read"},
	{"group_left", "groups:read"},
	{"member_left_channel", "channels:read"}, // of private channels with groups:read
	{"message.channels", "channels:history"},
	{"message.groups", "groups:history"},
	{"message.im", "im:history"},
	{"message.mpim", "mpim:history"},
}

// The limits of a manifest's texts: https://docs.slack.dev/reference/app-manifest
const (
	maxAppName          = 35
	maxAppDescription   = 140
	minLongDescription  = 175
	maxLongDescription  = 4000
	maxAgentDescription = 300
	maxPrompts          = 4
	maxRequestURL       = 3000 // of a command; the others take 3,500
)

const (
	appName          = "nod"
	appDescription   = "Works with your tools, and asks before it acts."
	agentDescription = "Works in threads with the tools of your team. A call that needs permission becomes part of its one message, with buttons: " +
		"allow for this chat, allow once, deny. Nothing that needs permission runs before somebody clicked."
	longDescription = "Mention nod in a channel, or write to it directly, and go on in the thread. It answers in one message that grows while it works. " +
		"When it wants to use a tool that needs permission, it shows what it would do, with which values and why it asks; the people who may decide do so with a click, " +
		"and the decision is recorded. Nothing that needs permission runs before that. It can be stopped at any time."
)

// defaultPrompts stand in the manifest where the configuration names none.
var defaultPrompts = []string{"What can you do?", "Which of your tools need my permission?"}

// AppOptions are what a deployment may say about its app.
type AppOptions struct {
	// BaseURL is where Slack reaches the bot by HTTP, such as https://bot.example.com. Empty: Socket Mode.
	BaseURL string
	// Prompts are offered to somebody who opens a conversation; at most four. Empty: two of our own.
	Prompts []string
	// Groups: user groups are to be admins or approvers. It takes one more scope, usergroups:read.
	Groups bool
}

// Manifest is the app as Slack takes it at "Create New App, From a manifest": indented JSON with a newline at its end. The
// app-level token of Socket Mode, and its scope connections:write, cannot stand in a manifest.
// https://docs.slack.dev/reference/app-manifest
func Manifest(o AppOptions) ([]byte, error) {
	m := manifest{
		Metadata: manifestVersion{2, 1},
		Display:  manifestDisplay{appName, appDescription, longDescription, "#1d3d33"},
		Settings: manifestSettings{Events: manifestEvents{BotEvents: eventNames()}, Interactivity: manifestInteractivity{Enabled: true}, SocketMode: o.BaseURL == ""},
	}
	m.OAuth.Scopes.Bot = scopeNames(o.Groups)
	command := manifestCommand{Command: "/nod", Description: "Permissions; what waits for an answer in this channel; stop your turn; help",
		Hint: "permissions … | pending | stop | tools … | why <server> <tool> | whoami | history | stats | halt | resume | help"}
	if o.BaseURL != "" {
		base, err := publicBase(o.BaseURL)
		if err != nil {
			return nil, err
		}
		m.Settings.Events.URL, m.Settings.Interactivity.URL, command.URL = base+adapter.PathEvents, base+adapter.PathInteractivity, base+adapter.PathCommands
	}
	prompts := o.Prompts
	if len(prompts) == 0 {
		prompts = defaultPrompts
	}
	if len(prompts) > maxPrompts {
		return nil, errors.New("at most four suggested prompts: Slack shows no more")
	}
	view := manifestAgent{Description: agentDescription}
	for _, p := range prompts {
		view.Prompts = append(view.Prompts, manifestPrompt{p, p})
	}
	m.Features = manifestFeatures{
		Home: manifestHome{Home: true, Messages: true}, Bot: manifestBot{appName, true}, Commands: []manifestCommand{command}, Agent: view,
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(m)
	return out.Bytes(), err
}

// publicBase is an address that Slack can post to, without a slash at its end. Slack posts to https only.
func publicBase(s string) (string, error) {
	base, err := surface.PublicBase(s)
	if err == nil && len(base)+len(adapter.PathInteractivity) > maxRequestURL {
		err = errors.New("this address is too long for Slack")
	}
	return base, err
}

func scopeNames(groups bool) []string {
	var names []string
	for _, s := range scopesWith(groups) {
		names = append(names, s.Name)
	}
	return names
}

func eventNames() []string {
	names := make([]string, len(subscriptions))
	for i, s := range subscriptions {
		names[i] = s.Event
	}
	return names
}

// The manifest's form, as far as it is used. What is false or empty and has no omitempty is said on purpose.
type (
	manifest struct {
		Metadata manifestVersion  `json:"_metadata"`
		Display  manifestDisplay  `json:"display_information"`
		Features manifestFeatures `json:"features"`
		OAuth    struct {
			Scopes struct {
				Bot []string `json:"bot"`
			} `json:"scopes"`
		} `json:"oauth_config"`
		Settings manifestSettings `json:"settings"`
	}
	manifestVersion struct {
		Major int `json:"major_version"`
		Minor int `json:"minor_version"`
	}
	manifestDisplay struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Long        string `json:"long_description"`
		Background  string `json:"background_color"`
	}
	manifestFeatures struct {
		Home     manifestHome      `json:"app_home"`
		Bot      manifestBot       `json:"bot_user"`
		Commands []manifestCommand `json:"slash_commands"`
		Agent    manifestAgent     `json:"agent_view"`
	}
	manifestHome struct {
		Home     bool `json:"home_tab_enabled"`
		Messages bool `json:"messages_tab_enabled"`
		ReadOnly bool `json:"messages_tab_read_only_enabled"`
	}
	manifestBot struct {
		Name         string `json:"display_name"`
		AlwaysOnline bool   `json:"always_online"` // else a bot without a session of its own always looks away
	}
	manifestCommand struct {
		Command     string `json:"command"`
		URL         string `json:"url,omitempty"`
		Description string `json:"description"`
		Hint        string `json:"usage_hint"`
		Escape      bool   `json:"should_escape"`
	}
	manifestAgent struct {
		Description string           `json:"agent_description"`
		Prompts     []manifestPrompt `json:"suggested_prompts"`
	}
	manifestPrompt struct {
		Title   string `json:"title"`
		Message string `json:"message"`
	}
	manifestSettings struct {
		Events        manifestEvents        `json:"event_subscriptions"`
		Interactivity manifestInteractivity `json:"interactivity"`
		OrgDeploy     bool                  `json:"org_deploy_enabled"`
		SocketMode    bool                  `json:"socket_mode_enabled"`
		Rotation      bool                  `json:"token_rotation_enabled"`
	}
	manifestEvents struct {
		URL       string   `json:"request_url,omitempty"`
		BotEvents []string `json:"bot_events"`
	}
	manifestInteractivity struct {
		Enabled bool   `json:"is_enabled"`
		URL     string `json:"request_url,omitempty"`
	}
)
