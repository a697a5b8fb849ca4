// Package config is what an operator may say: one YAML file, and the environment over it.
//
// Its words. A [Config] is everything that was set, with defaults for what was not; it is plain data. A
// [Problem] is one mistake, with the file, line and field it stands in. A [Secret] is a value that prints as
// ***, and a [Text] one that may carry a secret in a part of it, such as a URL with a password.
//
// Its invariants. Nothing is guessed: an unknown field, a wrong type, a duration without a unit or a variable that is
// not set is a problem, and all problems of a configuration are reported at once. No problem and nothing that is printed
// ever quotes a value that could be a secret. No file at all is a whole configuration: the demo. The field
// names are fixed, because deployments depend on them.
//
// How it goes: [Load] parses the file into YAML nodes, walks them against the Config struct (decode.go), puts the
// environment over it, and then looks at what fields say together (check.go). [Config.Write] is the way back,
// with secrets masked (encode.go). [Config.Policy] is the part that the permission rules read.
//
// What it leaves out: it opens no connection and starts nothing. That a server's command exists or a Redis
// answers is found out by those who use them.
package config

import (
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Config is the whole configuration. Field names in the file are those of the yaml tags; an env tag names the variable that
// goes over the file. docs/configuration.md explains each field to people.
type Config struct {
	// File is where it was read from, in full; empty: nowhere.
	File string `yaml:"-"`
	// Listen is host:port of the one HTTP listener. Anything but a loopback address needs keys while Web is enabled.
	Listen string `yaml:"listen" env:"BOT_LISTEN"`
	// DataDir holds the embedded state and the demo's workspace. A leading ~ is the home directory.
	DataDir string `yaml:"data_dir" env:"BOT_DATA_DIR"`
	Redis   Redis  `yaml:"redis"`
	Model   Model  `yaml:"model"`
	MCP     MCP    `yaml:"mcp"`
	// Workbench is whether the built-in tools are offered; nil: where nobody works with nod in earnest yet.
	Workbench *bool `yaml:"workbench,omitempty"`
	// Approvals is how asks are put and how long they stand.
	Approvals   Approvals   `yaml:"approvals"`
	Permissions Permissions `yaml:"permissions"`
	Reputation  Reputation  `yaml:"reputation"`
	Grants      Grants      `yaml:"grants"`
	Audit       Audit       `yaml:"audit"`
	// Admins may decide everything, RequireAuth included. Written platform:workspace:key; a role of Discord is discord:guild:&role.
	Admins []chat.User `yaml:"admins"`
	// AdminSessionKeys are bearer keys of the web API that are admins. Environment only, so that they never lie in a file. People and roles
	// that the variable names stand in Admins.
	AdminSessionKeys []Secret `yaml:"-" env:"ADMIN_SESSION_KEYS"`
	Web              Web      `yaml:"web"`
	// Lease is how long a replica that fell silent keeps its chats, at least 1s. Shorter takes over sooner and costs more renewals.
	Lease time.Duration `yaml:"lease"`
	// Drain is how long a stopping process finishes what it began.
	Drain   time.Duration `yaml:"drain"`
	Slack   Slack         `yaml:"slack"`
	Discord Discord       `yaml:"discord"`
}

// Redis is where the state lives.
type Redis struct {
	// URL empty: state is embedded in this process, under DataDir.
	URL        Text       `yaml:"url" env:"REDIS_URL"`
	Durability Durability `yaml:"durability"`
}

// Durability is what a write that must survive a failover waits for. The zero value is local: the primary's word.
type Durability struct {
	Replicas int  // wait until so many replicas have it
	Fsync    bool // wait until it is on the primary's disk (Redis 7.2 and later)
}

// Model is the language model, behind any OpenAI-compatible server.
type Model struct {
	// BaseURL and Name both empty: the scripted demo. A key alone changes nothing, because many shells carry one.
	BaseURL Text   `yaml:"base_url" env:"OPENAI_BASE_URL"`
	APIKey  Secret `yaml:"api_key" env:"OPENAI_API_KEY"`
	Name    string `yaml:"name" env:"OPENAI_MODEL"`
	// MaxSteps limits the model's replies within one turn.
	MaxSteps int `yaml:"max_steps"`
	// ContextTokens is what the model can read; 0 leaves it to the adapter.
	ContextTokens int `yaml:"context_tokens"`
}

// MCP names the tool servers.
type MCP struct {
	Servers map[string]Server `yaml:"servers"`
}

// Server is one MCP server: either a command to start or a URL to connect to.
type Server struct {
	// Command is the program and its arguments. In a file they may stand apart, as command and args.
	Command []Text            `yaml:"command,omitempty"`
	Args    []Text            `yaml:"args,omitempty"` // empty once it is read
	Env     map[string]Secret `yaml:"env,omitempty"`  // all that the child gets besides PATH, HOME and TMPDIR
	// Dir is where the program starts; empty: in a directory of its own.
	Dir string `yaml:"dir,omitempty"`
	// Paths are what it may reach besides its own directory and what every program needs.
	Paths []Path `yaml:"paths,omitempty"`
	// Confine holds it to that, where the kernel can.
	Confine bool `yaml:"confine"`
	// User is whom it runs as, by name or as uid or uid:gid; empty: as nod does.
	User string `yaml:"user,omitempty"`
	// Type is how others write the kind of connection; empty chooses by what is set.
	Type    Transport         `yaml:"type,omitempty"`
	URL     Text              `yaml:"url,omitempty"`
	Headers map[string]Secret `yaml:"headers,omitempty"`
	// Trusted is the operator's word that the server's own annotations may be believed.
	Trusted bool `yaml:"trusted"`
	// Timeout bounds one call.
	Timeout time.Duration `yaml:"timeout"`
	// ConnectTimeout bounds one attempt to start or reach the server and to read its tools.
	ConnectTimeout time.Duration `yaml:"connect_timeout"`
	// Shared has all chats use one session with the server, for one that keeps nothing.
	Shared      bool   `yaml:"shared"`
	Description string `yaml:"description,omitempty"`
	Icon        string `yaml:"icon,omitempty"`
	// Sampling lets the server ask the model, once the requester allowed each question.
	Sampling bool `yaml:"sampling"`
}

// Path is a file or a directory, with all that is below it. In a file it may be text alone.
type Path struct {
	Path     string `yaml:"path"`
	ReadOnly bool   `yaml:"read_only"`
}

// Transport is a kind of connection. The zero value is no word.
type Transport string

// The transports.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
)

// Approvals is how asks are put.
type Approvals struct {
	// Timeout is when an ask that nobody answered counts as denied.
	Timeout Timeout `yaml:"timeout"`
	// Sequential asks one call at a time, in the order the model made them.
	Sequential bool `yaml:"sequential"`
	// NudgeAfter is how long a question stands that an edit brought before it is also announced below its message.
	NudgeAfter time.Duration        `yaml:"nudge_after"`
	Approvers  permission.Approvers `yaml:"approvers"`
	// MinApprovals is how many different people must allow a call, and RequesterMayApprove whether whoever asked may be one of them.
	MinApprovals        int  `yaml:"min_approvals"`
	RequesterMayApprove bool `yaml:"requester_may_approve"`
}

// Timeout is a duration, or park: no end. The zero value parks.
type Timeout time.Duration

// Permissions are the operator's rules.
type Permissions struct {
	Mode    permission.Mode    `yaml:"mode"`
	Posture permission.Posture `yaml:"posture"`
	// Strict lets nothing be allowed for a chat that always asks.
	Strict bool `yaml:"strict"`
	// Analysis lets the model say what it thinks of tools that nobody accepted yet: it may only add caution.
	Analysis bool                    `yaml:"analysis"`
	Servers  map[string]ServerPolicy `yaml:"servers"`
}

// ServerPolicy is the rules for one server's tools. A server without an entry has the defaults.
type ServerPolicy struct {
	Ask     permission.Prompt `yaml:"ask"`
	Enabled bool              `yaml:"enabled"` // true where the file says nothing
	Timeout *Timeout          `yaml:"timeout,omitempty"`
	// Who decides about its tools, where it is not as approvals says.
	Approvers           *permission.Approvers `yaml:"approvers,omitempty"`
	MinApprovals        *int                  `yaml:"min_approvals,omitempty"`
	RequesterMayApprove *bool                 `yaml:"requester_may_approve,omitempty"`
	Tools               map[string]ToolPolicy `yaml:"tools,omitempty"`
}

// ToolPolicy is the rules for one tool. What is nil or empty is not set.
type ToolPolicy struct {
	Ask       permission.Prompt    `yaml:"ask"`
	Enabled   bool                 `yaml:"enabled"` // true where the file says nothing
	Access    *permission.Access   `yaml:"access,omitempty"`
	Risk      *permission.Risk     `yaml:"risk,omitempty"`
	Approval  *permission.Approval `yaml:"approval,omitempty"`
	Message   string               `yaml:"message,omitempty"`
	Impact    string               `yaml:"impact,omitempty"`
	Category  string               `yaml:"category,omitempty"`
	Timeout   *Timeout             `yaml:"timeout,omitempty"`
	Repeat    permission.Repeat    `yaml:"repeat"`
	ChatGrant *bool                `yaml:"chat_grant,omitempty"`
	// Who decides about it, where it is not as its server's entry says.
	Approvers           *permission.Approvers `yaml:"approvers,omitempty"`
	MinApprovals        *int                  `yaml:"min_approvals,omitempty"`
	RequesterMayApprove *bool                 `yaml:"requester_may_approve,omitempty"`
}

// Reputation is a signed list of what others think of servers. It is shown beside a server and decides nothing. Neither field set: none.
type Reputation struct {
	// File is the list. A relative path starts where the process does.
	File string `yaml:"file"`
	// PublicKey is the Ed25519 key that its signature must be of: 32 bytes in base64.
	PublicKey string `yaml:"public_key"`
}

// Enabled reports whether there is a list.
func (c Reputation) Enabled() bool { return c.File != "" }

// Grants is how long standing clicks live.
type Grants struct {
	SurviveRestart bool `yaml:"survive_restart"`
}

// Audit is what is kept of what happened.
type Audit struct {
	// Keep is how long the log of a chat stays after nothing happened in it any more; park is for ever.
	Keep Timeout `yaml:"keep"`
	// SignWith is the file with the key that signs the log. Empty: audit.key in the data directory, made at the first start.
	SignWith string `yaml:"key" env:"BOT_AUDIT_KEY"`
}

// Web is the local chat page and its API.
type Web struct {
	Enabled bool `yaml:"enabled"`
	// SessionKeys open a session. Once there is one none opens without.
	SessionKeys []SessionKey `yaml:"session_keys"`
	// Hosts are the names under which a proxy before the page is reached.
	Hosts []string `yaml:"hosts"`
}

// SessionKey opens sessions of the web chat: a text, or a mapping that also names the person whose key it is.
type SessionKey struct {
	Name string `yaml:"name"`
	Key  Secret `yaml:"key"`
}

// Slack holds one workspace's credentials and how the bot behaves there. Without a bot token there is no Slack.
type Slack struct {
	BotToken Secret `yaml:"bot_token" env:"SLACK_BOT_TOKEN"`
	// AppToken chooses Socket Mode. It wins where SigningSecret is set, too.
	AppToken      Secret `yaml:"app_token" env:"SLACK_APP_TOKEN"`
	SigningSecret Secret `yaml:"signing_secret" env:"SLACK_SIGNING_SECRET"`
	APIURL        Text   `yaml:"api_url" env:"SLACK_API_URL"` // of a stand-in
	// Follow is which messages of a thread are meant for the bot once it was mentioned there.
	Follow   Follow                  `yaml:"follow"`
	Channels map[string]SlackChannel `yaml:"channels"` // by channel ID
	// Guests of the workspace, and people of other organisations (External), may decide.
	Guests   bool `yaml:"guests"`
	External bool `yaml:"external"`
	// Suggestions are prompts offered where somebody opens a conversation with the bot.
	Suggestions []string `yaml:"suggestions"`
	// Connections is how many sockets each process keeps open in Socket Mode.
	Connections int `yaml:"connections"`
}

// SlackChannel is what is different in one channel.
type SlackChannel struct {
	Follow Follow `yaml:"follow"`
}

// Follow is which messages of a thread are meant for the bot. The zero value is no word: each field that has this type is
// given a default, or must be set.
type Follow string

// The ways to follow.
const (
	FollowThread  Follow = "thread"  // all of the thread, once the bot was mentioned there
	FollowMention Follow = "mention" // only those that mention it
)

// Enabled reports whether the bot is in a workspace.
func (s Slack) Enabled() bool { return s.BotToken != "" }

// Discord holds one application's credentials and how the bot behaves in its servers (guilds). Without a token there is no Discord.
type Discord struct {
	Token Secret `yaml:"token" env:"DISCORD_TOKEN"` // of the bot, without "Bot "
	// PublicKey is the application's. With it signed interactions are taken over HTTP as well.
	PublicKey string `yaml:"public_key" env:"DISCORD_PUBLIC_KEY"`
	APIURL    Text   `yaml:"api_url" env:"DISCORD_API_URL"` // of a stand-in
	// Conversation is where one that begins in a channel goes on, and Follow which messages of its thread are meant for the bot.
	Conversation Conversation              `yaml:"conversation"`
	Follow       Follow                    `yaml:"follow"`
	Channels     map[string]DiscordChannel `yaml:"channels"` // by channel ID
	// LinkHosts are hosts whose addresses stay links, whoever wrote them; "*.example.org" includes what is below.
	LinkHosts []string `yaml:"link_hosts"`
	// Shards is how many connections there are, over all processes; 0 is as many as Discord recommends.
	Shards int `yaml:"shards"`
}

// DiscordChannel is what is different in one channel. What is empty is as everywhere.
type DiscordChannel struct {
	Conversation Conversation `yaml:"conversation,omitempty"`
	Follow       Follow       `yaml:"follow,omitempty"`
}

// Conversation is where a conversation that begins in a channel goes on. The zero value is no word, as that of [Follow].
type Conversation string

// The conversations.
const (
	InThread  Conversation = "thread"  // a thread on the message that mentions the bot
	InChannel Conversation = "channel" // the channel itself, as one chat
)

// Enabled reports whether the bot is on Discord.
func (d Discord) Enabled() bool { return d.Token != "" }

// Workbench is the name of the built-in server: it may have rules, and no MCP server may take it.
const Workbench = "workbench"

// Default is the configuration of somebody who said nothing: the demo. DataDir still has its ~.
func Default() Config {
	return Config{
		Listen:    "127.0.0.1:8080",
		DataDir:   "~/.local/share/nod",
		Model:     Model{MaxSteps: 16},
		Approvals: Approvals{Timeout: Timeout(time.Minute), NudgeAfter: 2 * time.Second, MinApprovals: 1, RequesterMayApprove: true},
		Slack:     Slack{Follow: FollowThread, Connections: 2},
		Discord:   Discord{Conversation: InThread, Follow: FollowThread},
		Grants:    Grants{SurviveRestart: true},
		Audit:     Audit{Keep: Timeout(400 * 24 * time.Hour)},
		Web:       Web{Enabled: true},
		Lease:     10 * time.Second,
		Drain:     10 * time.Second,
	}
}

// Entries of maps start from these, so that an entry which names one field keeps the other defaults.
func defaultServer() Server {
	return Server{Timeout: time.Minute, ConnectTimeout: 2 * time.Minute, Confine: true}
}
func defaultServerPolicy() ServerPolicy { return ServerPolicy{Enabled: true} }
func defaultToolPolicy() ToolPolicy     { return ToolPolicy{Enabled: true} }

// Demo reports whether the scripted model answers: nobody named a model or a server of one.
func (c Config) Demo() bool { return c.Model.BaseURL.IsZero() && c.Model.Name == "" }

// OffersWorkbench reports whether the built-in tools are there. Without a word of the operator they are not where people work with nod: a
// real model, with tools of its own or on a platform.
func (c Config) OffersWorkbench() bool {
	if c.Workbench != nil {
		return *c.Workbench
	}
	return c.Demo() || len(c.MCP.Servers) == 0 && !c.Slack.Enabled() && !c.Discord.Enabled()
}
