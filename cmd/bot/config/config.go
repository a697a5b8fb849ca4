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
// How it goes: [Load] parses the file into YAML nodes, walks them against the Config struct (decode.go) down to single values (value.go), puts
// the environment over it, and then looks at what fields say together (check.go, people.go, and slack.go, discord.go and web.go for their
// sections). [Config.Write] is the way back, with secrets masked (encode.go). [Config.Policy] is the part that the permission rules read.
//
// A new field is a line of a struct here, and a line in a check where not every value will do. It opens no connection and starts nothing:
// that a server's command exists or a Redis answers is found out by those who use them.
package config

import (
	"cmp"
	"net"
	"reflect"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Config is the whole configuration. Field names in the file are those of the yaml tags; an env tag names the variable that
// goes over the file, and a default tag what holds where neither says something. docs/configuration.md explains each field to people.
type Config struct {
	File string `yaml:"-"` // where it was read from, in full; empty: nowhere
	// Notes are about what is no mistake and does not do what it looks like, as the fields that nod had once: an old file still starts.
	Notes Problems `yaml:"-"`
	// Listen is host:port of the one HTTP listener. Anything but a loopback address needs keys while Web is enabled.
	Listen string `yaml:"listen" env:"NOD_LISTEN" default:"127.0.0.1:8080"`
	// DataDir holds the embedded state and the demo's workspace. A leading ~ is the home directory.
	DataDir string `yaml:"data_dir" env:"NOD_DATA_DIR" default:"~/.local/share/nod"`
	// LogLevel is the least that the log on standard error tells.
	LogLevel LogLevel `yaml:"log_level" env:"NOD_LOG_LEVEL" default:"info"`
	Redis    Redis    `yaml:"redis"`
	Model    Model    `yaml:"model"`
	Limits   Limits   `yaml:"limits"`
	MCP      MCP      `yaml:"mcp"`
	// Workbench is whether the built-in tools are offered; nil: where nobody works with nod in earnest yet.
	Workbench   *bool       `yaml:"workbench,omitempty"`
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
	Metrics          Metrics  `yaml:"metrics"`
	Traces           Traces   `yaml:"traces"`
	// Lease is how long a replica that fell silent keeps its chats, at least 1s. Shorter takes over sooner and costs more renewals.
	Lease   time.Duration `yaml:"lease" default:"10s"`
	Drain   time.Duration `yaml:"drain" default:"10s"` // how long a stopping process finishes what it began
	Slack   Slack         `yaml:"slack"`
	Discord Discord       `yaml:"discord"`
}

// Redis is where the state lives.
type Redis struct {
	URL        Text       `yaml:"url" env:"REDIS_URL"` // empty: state is embedded in this process, under DataDir
	Durability Durability `yaml:"durability"`
}

// Durability is what a write that must survive a failover waits for: local, the primary's word; fsync, its disk (Redis 7.2 and later); or
// replicas=N, until so many have it.
type Durability string

func (d Durability) String() string { return cmp.Or(string(d), "local") }

// Model is the language model, behind any OpenAI-compatible server.
type Model struct {
	// BaseURL and Name both empty: the scripted demo. A key alone changes nothing, because many shells carry one.
	BaseURL       Text   `yaml:"base_url" env:"OPENAI_BASE_URL"`
	APIKey        Secret `yaml:"api_key" env:"OPENAI_API_KEY"`
	Name          string `yaml:"name" env:"OPENAI_MODEL"`
	MaxSteps      int    `yaml:"max_steps" default:"16"` // limits the model's replies within one turn
	ContextTokens int    `yaml:"context_tokens"`         // what the model can read; 0 leaves it to the adapter
	Images        bool   `yaml:"images"`                 // gives the model pictures that people attach and tools return
}

// Limits is what people may ask of the model.
type Limits struct {
	Person PersonLimits `yaml:"person"`
}

// PersonLimits are those of one person, admins included, on all replicas together. 0 is none.
type PersonLimits struct {
	TurnsPerHour int `yaml:"turns_per_hour"`
	TokensPerDay int `yaml:"tokens_per_day"`
}

// MCP names the tool servers.
type MCP struct {
	Servers map[string]Server `yaml:"servers"`
}

// Server is one MCP server: either a command to start or a URL to connect to.
type Server struct {
	// Command is the program and its arguments. In a file they may stand apart, as command and args.
	Command []Text            `yaml:"command,omitempty"`
	Args    []Text            `yaml:"args,omitempty"`           // empty once it is read
	Env     map[string]Secret `yaml:"env,omitempty"`            // all that the child gets besides PATH, HOME and TMPDIR
	Dir     string            `yaml:"dir,omitempty" also:"cwd"` // where the program starts; empty: in a directory of its own
	Paths   []Path            `yaml:"paths,omitempty"`          // what it may reach besides its own directory and what every program needs
	Confine bool              `yaml:"confine" default:"true"`   // holds it to that, where the kernel can
	User    string            `yaml:"user,omitempty"`           // whom it runs as, by name or as uid or uid:gid; empty: as nod does
	Type    Transport         `yaml:"type,omitempty"`           // how others write the kind of connection; empty chooses by what is set
	URL     Text              `yaml:"url,omitempty"`
	Headers map[string]Secret `yaml:"headers,omitempty"`
	Trusted bool              `yaml:"trusted"`               // the operator's word that the server's own annotations may be believed
	Timeout time.Duration     `yaml:"timeout" default:"60s"` // bounds one call, and the silence between two steps of its progress
	// ConnectTimeout bounds one attempt to start or reach the server and to read its tools.
	ConnectTimeout time.Duration `yaml:"connect_timeout" default:"2m"`
	Shared         bool          `yaml:"shared"` // has all chats use one session with the server, for one that keeps nothing
	// Preview names, for a tool that replaces a text, the tool that reads it: so cards can show what changes.
	Preview     map[string]string `yaml:"preview,omitempty"`
	Description string            `yaml:"description,omitempty"`
	Icon        string            `yaml:"icon,omitempty"`
	Disabled    bool              `yaml:"disabled,omitempty"` // leaves it out, as others' files say it: false once it is read
}

// Path is a file or a directory, with all that is below it. In a file it may be text alone.
type Path struct {
	Path     string `yaml:"path" alone:"true"`
	ReadOnly bool   `yaml:"read_only"`
}

// Approvals is how asks are put.
type Approvals struct {
	Timeout    *Timeout `yaml:"timeout,omitempty"` // when an ask that nobody answered counts as denied; nil: as the surface has it
	Sequential bool     `yaml:"sequential"`        // asks one call at a time, in the order the model made them
	// NudgeAfter is how long a question stands that an edit brought before it is also announced below its message.
	NudgeAfter time.Duration `yaml:"nudge_after" default:"1s"`
	// AnnounceEndAfter is how long a turn took whose end is announced to whoever asked, below its message.
	AnnounceEndAfter time.Duration        `yaml:"announce_end_after" default:"1m"`
	Approvers        permission.Approvers `yaml:"approvers"`
	// Escalate is who may answer, too, after a question stood unanswered for so long.
	Escalate Escalate `yaml:"escalate"`
	// MinApprovals is how many different people must allow a call, and RequesterMayApprove whether whoever asked may be one of them.
	MinApprovals        permission.People `yaml:"min_approvals" default:"1"`
	RequesterMayApprove bool              `yaml:"requester_may_approve" default:"true"`
}

// Timeout is a duration, or park: no end. The zero value parks.
type Timeout time.Duration

// Permissions are the operator's rules.
type Permissions struct {
	Mode    permission.Mode    `yaml:"mode"`
	Posture permission.Posture `yaml:"posture"`
	Strict  bool               `yaml:"strict"` // lets nothing be allowed for a chat that always asks
	// Analysis lets the model say what it thinks of tools that nobody accepted yet: it may only add caution.
	Analysis bool `yaml:"analysis"`
	// ReadsOnly leaves only what surely reads: everything else is as if it were not there.
	ReadsOnly bool                    `yaml:"reads_only"`
	Servers   map[string]ServerPolicy `yaml:"servers"`
	Channels  []LocalPolicy           `yaml:"channels"`
	Templates map[string]Template     `yaml:"templates"`
}

// LocalPolicy is what is different in some places: chats of a channel, a workspace or a platform. What is nil or empty is as it is elsewhere.
type LocalPolicy struct {
	In        []permission.Place `yaml:"in"`
	Mode      *permission.Mode   `yaml:"mode,omitempty"`
	Strict    *bool              `yaml:"strict,omitempty"`
	ReadsOnly *bool              `yaml:"reads_only,omitempty"`
	Timeout   *Timeout           `yaml:"timeout,omitempty"`
	permission.Rights
	Servers map[string]ServerPolicy `yaml:"servers,omitempty"`
}

// Template is a set of settings that admins can apply at once. It is of no place.
type Template struct {
	Says        string `yaml:"says"` // what it is for
	LocalPolicy `yaml:",inline"`
}

// ServerPolicy is the rules for one server's tools. A server without an entry has the defaults.
type ServerPolicy struct {
	Ask     permission.Prompt `yaml:"ask"`
	Enabled *bool             `yaml:"enabled,omitempty"` // nil: true, or as it is elsewhere
	Timeout *Timeout          `yaml:"timeout,omitempty"`
	permission.Rights
	Tools map[string]ToolPolicy `yaml:"tools,omitempty"`
}

// ToolPolicy is the rules for one tool. What is nil or empty is not set.
type ToolPolicy struct {
	Ask       permission.Prompt    `yaml:"ask"`
	Enabled   *bool                `yaml:"enabled,omitempty"`
	Access    *permission.Access   `yaml:"access,omitempty"`
	Risk      *permission.Risk     `yaml:"risk,omitempty"`
	Approval  *permission.Approval `yaml:"approval,omitempty"`
	Message   string               `yaml:"message,omitempty"`
	Impact    string               `yaml:"impact,omitempty"`
	Category  string               `yaml:"category,omitempty"`
	Timeout   *Timeout             `yaml:"timeout,omitempty"`
	Repeat    permission.Repeat    `yaml:"repeat"`
	ChatGrant *bool                `yaml:"chat_grant,omitempty"`
	Rules     []permission.Rule    `yaml:"rules,omitempty"` // about calls with certain arguments
	permission.Rights
}

// Reputation is a signed list of what others think of servers. It is shown beside a server and decides nothing. Neither field set: none.
type Reputation struct {
	File      string `yaml:"file"`       // the list. A relative path starts where the process does.
	PublicKey string `yaml:"public_key"` // the Ed25519 key that its signature must be of: 32 bytes in base64
}

// Grants is how long standing clicks live.
type Grants struct {
	SurviveRestart bool             `yaml:"survive_restart" default:"true"`
	Channel        bool             `yaml:"channel"`                    // tools can be allowed for all chats of a channel
	ChannelFor     time.Duration    `yaml:"channel_for" default:"720h"` // how long that holds
	Remember       permission.Scope `yaml:"remember"`                   // how much of a server people can remember to allow for themselves
}

// Audit is what is kept of what happened.
type Audit struct {
	// Keep is how long the log of a chat stays after nothing happened in it any more; park is for ever.
	Keep Timeout `yaml:"keep" default:"9600h"`
	// ForgetAfter is after how long a silence a conversation begins anew, without what was said and allowed in it, and files that people
	// attached are dropped.
	ForgetAfter time.Duration `yaml:"forget_after" default:"720h"`
	// SignWith is the file with the key that signs the log. Empty: audit.key in the data directory, made at the first start.
	SignWith string `yaml:"key" env:"NOD_AUDIT_KEY"`
}

// Escalate is when and to whom. Both, or neither.
type Escalate struct {
	After time.Duration `yaml:"after"`
	To    []chat.User   `yaml:"to"`
}

// Web is the local chat page and its API.
type Web struct {
	Enabled     bool         `yaml:"enabled" default:"true"`
	SessionKeys []SessionKey `yaml:"session_keys"` // open a session. Once there is one none opens without.
	Hosts       []string     `yaml:"hosts"`        // the names under which a proxy before the page is reached
	OIDC        Doors        `yaml:"oidc"`
	OIDCSecret  Secret       `yaml:"-" env:"NOD_OIDC_CLIENT_SECRET"`
}

// Doors are who says who people on the page are: one provider at most, and each platform once. One alone may stand without a list around it.
type Doors []OIDC

// Of is the door of a platform, or of the provider for the empty name.
func (d Doors) Of(platform string) (o OIDC, ok bool) {
	i := slices.IndexFunc(d, func(o OIDC) bool { return o.Platform() == platform })
	if i < 0 {
		return OIDC{}, false
	}
	return d[i], true
}

// Platforms are those whose people sign in.
func (d Doors) Platforms() (out []string) {
	for _, o := range d {
		if of := o.Platform(); of != "" {
			out = append(out, of)
		}
	}
	return out
}

// SignInSecret is the client's secret for a door, and the variable that it is taken from: the one that a platform's app has anyway, where that is
// set, and else the page's.
func (c *Config) SignInSecret(o OIDC) (secret Secret, variable string) {
	switch {
	case o.Platform() == "slack" && (c.Slack.Install.ClientSecret != "" || len(c.Web.OIDC) > 1):
		return c.Slack.Install.ClientSecret, "SLACK_CLIENT_SECRET"
	case o.Platform() == "discord" && (c.Discord.ClientSecret != "" || len(c.Web.OIDC) > 1):
		return c.Discord.ClientSecret, "DISCORD_CLIENT_SECRET"
	}
	return c.Web.OIDCSecret, "NOD_OIDC_CLIENT_SECRET"
}

// OIDC is one of them.
type OIDC struct {
	Issuer      string   `yaml:"issuer"` // an address; or slack or discord: people are whom they are there
	ClientID    string   `yaml:"client_id"`
	Page        string   `yaml:"page_url"`                      // the page as browsers reach it; of several it is enough with one
	Claim       string   `yaml:"claim" default:"sub"`           // who somebody is
	GroupsClaim string   `yaml:"groups_claim" default:"groups"` // and which groups they are in
	Scopes      []string `yaml:"scopes"`                        // beside openid, profile and email
	Groups      []string `yaml:"groups"`                        // if there are any, only who is in one of these may sign in
	Domains     []string `yaml:"domains"`                       // if there are any, only who has a verified e-mail address in one
	Server      string   `yaml:"discord_server"`                // with discord: the ID of the server whose members may sign in
}

// Platform is the one whose people sign in; empty: they are a provider's.
func (o OIDC) Platform() string {
	if o.Issuer == "slack" || o.Issuer == "discord" {
		return o.Issuer
	}
	return ""
}

// Metrics is what an operator looks at.
type Metrics struct {
	// Listen is host:port of a listener of its own. Empty: none. On a loopback address it has Go's profiles, too.
	Listen string `yaml:"listen"`
}

// Local: only this machine reaches it.
func (m Metrics) Local() bool {
	host, _, _ := net.SplitHostPort(m.Listen)
	return loopback(host)
}

// Traces are for an operator's collector, which OTEL_* name: package traces reads them.
type Traces struct {
	// Propagate puts traceparent into requests to the model and to MCP servers.
	Propagate bool `yaml:"propagate"`
}

// SessionKey opens sessions of the web chat: a text, or a mapping that also names the person whose key it is.
type SessionKey struct {
	Name string `yaml:"name"`
	Key  Secret `yaml:"key" alone:"true"`
}

// Slack holds the app's credentials and how the bot behaves. Without a bot token, of one workspace, or a client ID, with which workspaces install
// the bot themselves, there is no Slack.
type Slack struct {
	BotToken Secret `yaml:"bot_token" env:"SLACK_BOT_TOKEN"`
	// AppToken chooses Socket Mode. It wins where SigningSecret is set, too.
	AppToken      Secret                  `yaml:"app_token" env:"SLACK_APP_TOKEN"`
	SigningSecret Secret                  `yaml:"signing_secret" env:"SLACK_SIGNING_SECRET"`
	APIURL        Text                    `yaml:"api_url" env:"SLACK_API_URL"` // of a stand-in
	Follow        Follow                  `yaml:"follow" default:"requester"`
	Channels      map[string]SlackChannel `yaml:"channels"`                // by channel ID
	Bots          []string                `yaml:"bots"`                    // programs that may begin a chat: IDs of bots, apps or their users
	Guests        bool                    `yaml:"guests"`                  // of the workspace may decide
	External      bool                    `yaml:"external"`                // people of other organisations may decide
	Visitors      bool                    `yaml:"visitors" default:"true"` // whether those who may not decide may talk
	Feedback      bool                    `yaml:"feedback" default:"true"` // whether a finished turn can be rated
	Suggestions   []string                `yaml:"suggestions"`             // prompts offered where somebody opens a conversation with the bot
	Connections   int                     `yaml:"connections" default:"2"` // how many sockets each process keeps open in Socket Mode
	Install       SlackInstall            `yaml:"install"`
}

// SlackInstall lets workspaces install the bot by themselves.
type SlackInstall struct {
	ClientID     string   `yaml:"client_id" env:"SLACK_CLIENT_ID"`
	ClientSecret Secret   `yaml:"-" env:"SLACK_CLIENT_SECRET"`
	TokenKeys    []Secret `yaml:"-" env:"NOD_SLACK_TOKEN_KEYS"` // the first encrypts the tokens of workspaces, all decrypt
	Page         string   `yaml:"page_url"`                     // nod as browsers reach it
	Workspaces   []string `yaml:"workspaces"`                   // IDs of workspaces and organisations that may, or anybody
}

// Enabled reports whether they do.
func (i SlackInstall) Enabled() bool { return i.ClientID != "" }

// SlackChannel is what is different in one channel.
type SlackChannel struct {
	Follow Follow `yaml:"follow"`
}

// Enabled reports whether the bot is in a workspace, or can be.
func (s Slack) Enabled() bool { return s.BotToken != "" || s.Install.Enabled() }

// Discord holds one application's credentials and how the bot behaves in its servers (guilds). Without a token there is no Discord.
type Discord struct {
	Token        Secret `yaml:"token" env:"DISCORD_TOKEN"`     // of the bot, without "Bot "
	ClientSecret Secret `yaml:"-" env:"DISCORD_CLIENT_SECRET"` // of the application, by which people sign in on the page
	// PublicKey is the application's. With it signed interactions are taken over HTTP as well.
	PublicKey string `yaml:"public_key" env:"DISCORD_PUBLIC_KEY"`
	APIURL    Text   `yaml:"api_url" env:"DISCORD_API_URL"` // of a stand-in
	// Conversation is where one that begins in a channel goes on, and Follow which messages of its thread are meant for the bot.
	Conversation Conversation              `yaml:"conversation" default:"thread"`
	Follow       Follow                    `yaml:"follow" default:"requester"`
	Channels     map[string]DiscordChannel `yaml:"channels"` // by channel ID
	// Bots are bots and webhooks that may begin a chat, by their IDs.
	Bots []string `yaml:"bots"`
	// Members are roles whose holders may decide, and have things run unasked; Visitors is whether all others may talk.
	Members  []chat.User `yaml:"members"`
	Visitors bool        `yaml:"visitors" default:"true"`
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

// Enabled reports whether the bot is on Discord.
func (d Discord) Enabled() bool { return d.Token != "" }

// Workbench is the name of the built-in server: it may have rules, and no MCP server may take it.
const Workbench = "workbench"

// Default is the configuration of somebody who said nothing: the demo. DataDir still has its ~.
func Default() (c Config) {
	setDefaults(reflect.ValueOf(&c).Elem())
	return c
}

// setDefaults gives fields what their tags say. Entries of maps begin with it, too, so that one which names one field keeps the other defaults.
func setDefaults(v reflect.Value) {
	for f, at := range v.Fields() {
		if written, ok := f.Tag.Lookup("default"); ok {
			_ = setValue(at, written, false)
		} else if at.Kind() == reflect.Struct {
			setDefaults(at)
		}
	}
}

// Demo reports whether the scripted model answers: nobody named a model, without which there is no server of one either.
func (c Config) Demo() bool { return c.Model.Name == "" }

// OffersWorkbench reports whether the built-in tools are there. Without a word of the operator they are not where people work with nod: a
// real model, with tools of its own or on a platform.
func (c Config) OffersWorkbench() bool {
	if c.Workbench != nil {
		return *c.Workbench
	}
	return c.Demo() || len(c.MCP.Servers) == 0 && !c.Slack.Enabled() && !c.Discord.Enabled()
}
