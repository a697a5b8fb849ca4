package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	adapter "github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/slack/install"
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
	{"files:read", "reads the files that people attach to what they say to it", "it knows their names only", false},
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

// Limits of a manifest: https://docs.slack.dev/reference/app-manifest
const (
	maxPrompts    = 4
	maxRequestURL = 3000 // of a command; the others take 3,500
)

const (
	agentDescription = "Works in threads with the tools of your team. A call that needs permission becomes part of its one message, with buttons: " +
		"allow for this chat, allow once, deny. Nothing that needs permission runs before somebody clicked."
	longDescription = "Mention nod in a channel, or write to it directly, and go on in the thread. It answers in one message that grows while it works. " +
		"When it wants to use a tool that needs permission, it shows what it would do, with which values and why it asks; the people who may decide do so with a click, " +
		"and the decision is recorded. Nothing that needs permission runs before that. It can be stopped at any time."
)

// manifest is the app, with what differs between deployments after a $. "always_online": a bot without a session of its own else always
// looks away.
const manifest = `{
	"_metadata": {"major_version": 2, "minor_version": 1},
	"display_information": {
		"name": "nod",
		"description": "Works with your tools, and asks before it acts.",
		"long_description": "` + longDescription + `",
		"background_color": "#1d3d33"
	},
	"features": {
		"app_home": {"home_tab_enabled": true, "messages_tab_enabled": true, "messages_tab_read_only_enabled": false},
		"bot_user": {"display_name": "nod", "always_online": true},
		"slash_commands": [{
			"command": "/nod",
			$command_url
			"description": "Permissions; what waits for an answer in this channel; stop your turn; help",
			"usage_hint": "permissions … | pending | stop | tools … | why <server> <tool> | whoami | history | stats | halt | resume | help",
			"should_escape": false
		}],
		"agent_view": {"agent_description": "` + agentDescription + `", "suggested_prompts": $prompts}
	},
	"oauth_config": {$redirect "scopes": {$user "bot": $scopes}},
	"settings": {
		"event_subscriptions": {$event_url "bot_events": $events},
		"interactivity": {"is_enabled": true $interactivity_url},
		"org_deploy_enabled": false,
		"socket_mode_enabled": $socket_mode,
		"token_rotation_enabled": false
	}
}`

// defaultPrompts stand in the manifest where the configuration names none.
var defaultPrompts = []string{"What can you do?", "Which of your tools need my permission?"}

// AppOptions are what a deployment may say about its app.
type AppOptions struct {
	BaseURL string   // where Slack reaches the bot by HTTP, such as https://bot.example.com. Empty: Socket Mode
	Prompts []string // offered to somebody who opens a conversation; at most four. Empty: two of our own
	Groups  bool     // user groups are to be admins or approvers, which takes one more scope, usergroups:read
	Return  string   // where Slack sends people back to who sign in on the page by it. Empty: nobody does
	Install string   // where workspaces install the bot, such as https://bot.example.com. Empty: one does, and is given the token
}

// Manifest is the app as Slack takes it at "Create New App, From a manifest". The app-level token of Socket Mode cannot stand in one.
// https://docs.slack.dev/reference/app-manifest
func Manifest(o AppOptions) ([]byte, error) {
	var command, event, interactivity, redirect, user string
	var back, events []string
	for _, s := range subscriptions {
		events = append(events, s.Event)
	}
	if o.Return != "" { // https://docs.slack.dev/tools/java-slack-sdk/guides/sign-in-with-slack
		back, user = append(back, o.Return), `"user": ["openid", "profile"],`
	}
	if o.Install != "" {
		base, err := surface.PublicBase(o.Install)
		if err != nil {
			return nil, err
		}
		back, events = append(back, base+install.PathReturn), append(events, "app_uninstalled", "tokens_revoked")
		slices.Sort(events)
	}
	if back != nil {
		redirect = `"redirect_urls": ` + asJSON(back) + `,`
	}
	if o.BaseURL != "" {
		base, err := surface.PublicBase(o.BaseURL)
		if err == nil && len(base)+len(adapter.PathInteractivity) > maxRequestURL {
			err = errors.New("this address is too long for Slack")
		}
		if err != nil {
			return nil, err
		}
		command = `"url": ` + asJSON(base+adapter.PathCommands) + `,`
		event = `"request_url": ` + asJSON(base+adapter.PathEvents) + `,`
		interactivity = `, "request_url": ` + asJSON(base+adapter.PathInteractivity)
	}
	type prompt struct {
		Title   string `json:"title"`
		Message string `json:"message"`
	}
	if len(o.Prompts) == 0 {
		o.Prompts = defaultPrompts
	}
	if len(o.Prompts) > maxPrompts {
		return nil, errors.New("at most four suggested prompts: Slack shows no more")
	}
	var prompts []prompt
	for _, p := range o.Prompts {
		prompts = append(prompts, prompt{p, p})
	}
	filled := strings.NewReplacer(
		"$command_url", command, "$event_url", event, "$interactivity_url", interactivity, "$socket_mode", asJSON(o.BaseURL == ""),
		"$redirect", redirect, "$user", user,
		"$prompts", asJSON(prompts), "$scopes", asJSON(Scopes(o.Groups)), "$events", asJSON(events),
	).Replace(manifest)
	var out bytes.Buffer
	err := json.Indent(&out, []byte(filled), "", "  ")
	out.WriteByte('\n')
	return out.Bytes(), err
}

// asJSON leaves <, > and & as they are: the manifest is for people, too.
func asJSON(v any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts, lists of them and a bool always encode
	return strings.TrimSpace(out.String())
}

// Scopes are the names of what the bot's token may do.
func Scopes(groups bool) (names []string) {
	for _, s := range scopesWith(groups) {
		names = append(names, s.Name)
	}
	return names
}
