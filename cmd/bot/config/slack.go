package config

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The bounds of Slack's fields.
const (
	// A suggestion is drawn as a button. Slack documents no limit of its own for it, so this is that of a button's text:
	// https://docs.slack.dev/reference/block-kit/block-elements/button-element
	maxSuggestion = 75
	// https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
	maxSuggestions = 4
	// An app has ten sockets, over all its processes: https://docs.slack.dev/apis/events-api/using-socket-mode
	maxConnections = 10
)

// The prefixes of Slack's tokens: https://docs.slack.dev/authentication/tokens
const (
	botPrefix = "xoxb-"
	appPrefix = "xapp-"
)

// slackProgram is a bot, an app, or the user of one; Slack's own two voices are none of them.
var slackProgram = regexp.MustCompile(`^[ABUW][A-Z0-9]{1,20}$`)

var slackChannel = regexp.MustCompile(`^[CDG][A-Z0-9]{1,20}$`)

func (s Slack) check(r *File) {
	r.checkURL("slack.api_url", s.APIURL, "http://", "https://")
	wrong := tokenProblem(s.BotToken.Reveal(), botPrefix, "the Bot User OAuth Token of the page OAuth & Permissions")
	r.refuse(wrong != "", "slack.bot_token", "%s", wrong)
	wrong = tokenProblem(s.AppToken.Reveal(), appPrefix, "an app-level token with the scope connections:write, of the page Basic Information")
	r.refuse(wrong != "", "slack.app_token", "%s", wrong)
	secret := s.SigningSecret.Reveal()
	r.refuse(strings.HasPrefix(secret, "xox") || strings.HasPrefix(secret, appPrefix), "slack.signing_secret",
		"this is a token; want the Signing Secret of the page Basic Information")
	s.Install.check(r)
	switch { // half a transport: a bot that can speak and not hear, or the reverse
	case s.BotToken != "" && s.Install.Enabled(): // which of two tokens of one workspace counts would be a guess
		r.Add("slack.install.client_id", "with it each workspace gets a token by installing nod: leave slack.bot_token (SLACK_BOT_TOKEN) out, and install nod there once more")
	case s.Install.Enabled() && s.AppToken == "" && s.SigningSecret == "":
		r.Add("slack.install.client_id", "the bot could speak, but not hear: set slack.app_token (SLACK_APP_TOKEN; Socket Mode) or slack.signing_secret (SLACK_SIGNING_SECRET; HTTP)")
	case s.Install.Enabled():
	case s.BotToken != "" && s.AppToken == "" && s.SigningSecret == "":
		r.Add("slack.bot_token", "the bot could speak, but not hear: set slack.app_token (SLACK_APP_TOKEN; Socket Mode) or slack.signing_secret (SLACK_SIGNING_SECRET; HTTP)")
	case s.BotToken == "" && s.AppToken != "":
		r.Add("slack.app_token", "is set without slack.bot_token (SLACK_BOT_TOKEN): the bot could hear, but not speak")
	case s.BotToken == "" && s.SigningSecret != "":
		r.Add("slack.signing_secret", "is set without slack.bot_token (SLACK_BOT_TOKEN): the bot could hear, but not speak")
	}
	for id, channel := range sorted(s.Channels) {
		field := join("slack.channels", id)
		r.refuse(!slackChannel.MatchString(id), field, "want a channel's ID, such as C0123ABC456 (it ends the channel's link), not its name")
		r.refuse(channel.Follow == "" && !r.Has(field), field, "says nothing: set follow to %s, %s or %s", FollowRequester, FollowThread, FollowMention)
	}
	for i, id := range s.Bots {
		field := fmt.Sprintf("slack.bots[%d]", i)
		r.refuse(!r.Has(field) && (!slackProgram.MatchString(id) || strings.HasPrefix(id, "USLACK")), field,
			"want the ID of a bot (B…), an app (A…) or an app's user (U…): nod logs those of a program that mentions it")
	}
	r.refuse(len(s.Suggestions) > maxSuggestions, "slack.suggestions", "Slack shows at most %d", maxSuggestions)
	for i, prompt := range s.Suggestions {
		field := fmt.Sprintf("slack.suggestions[%d]", i)
		switch {
		case r.Has(field):
		case strings.TrimSpace(prompt) == "":
			r.Add(field, "is empty")
		case strings.ContainsAny(prompt, "\r\n"):
			r.Add(field, "want one line")
		case utf8.RuneCountInString(prompt) > maxSuggestion:
			r.Add(field, "want at most %d characters", maxSuggestion)
		}
	}
	r.refuse(s.Connections < 1 || s.Connections > maxConnections, "slack.connections",
		"want 1 to %d: Slack gives an app ten, over all its processes", maxConnections)
}

var slackHome = regexp.MustCompile(`^([TE][A-Z0-9]{1,20}|anybody)$`)

// check wants all that installing takes, or nothing of it. Who may is never a default: whoever installs the bot works with its tools.
func (i SlackInstall) check(r *File) {
	if !i.Enabled() {
		r.refuse(i.Page != "" || len(i.Workspaces) > 0, "slack.install.client_id", "is empty: the app's page Basic Information shows it")
		return
	}
	r.checkAddress("slack.install.page_url", i.Page, false)
	r.refuse(len(i.ClientSecret.Reveal()) < 16, "slack.install", "set SLACK_CLIENT_SECRET to the Client Secret of the app's page Basic Information")
	r.refuse(len(i.TokenKeys) == 0, "slack.install", "set NOD_SLACK_TOKEN_KEYS to a key that the workspaces' tokens are encrypted with, such as openssl rand -hex 32 prints")
	for _, k := range i.TokenKeys {
		wrong := keyProblem(k)
		r.refuse(wrong != "", "slack.install", "NOD_SLACK_TOKEN_KEYS: %s", wrong)
	}
	r.refuse(len(i.Workspaces) == 0, "slack.install.workspaces", "who may install nod? Want IDs of workspaces (T…) or organisations (E…), or [anybody]: whoever installs it works with its tools")
	for j, id := range i.Workspaces {
		field := fmt.Sprintf("slack.install.workspaces[%d]", j)
		r.refuse(id == "anybody" && len(i.Workspaces) > 1, field, "with anybody the others mean nothing: leave it out, or them")
		r.refuse(!slackHome.MatchString(id) && !r.Has(field), field, "want the ID of a workspace (T…) or an organisation (E…), or anybody")
	}
}

// tokenProblem says what kind of token stands in a place where another belongs. It never quotes the token.
func tokenProblem(token, prefix, want string) string {
	if token == "" || token == Mask || strings.HasPrefix(token, prefix) { // what Write printed is a configuration, too
		return ""
	}
	for _, other := range []struct{ prefix, say string }{
		{botPrefix, "this is a bot's token; it belongs in slack.bot_token (SLACK_BOT_TOKEN)"},
		{appPrefix, "this is an app-level token; it belongs in slack.app_token (SLACK_APP_TOKEN)"},
		{"xoxp-", "this is a person's token"},
		{"xoxe", "this is a token that Slack rotates (switch token rotation off), or one for app configuration"},
	} {
		if strings.HasPrefix(token, other.prefix) {
			return other.say + "; what belongs here is " + want + ", which starts with " + prefix
		}
	}
	return "want " + want + ", which starts with " + prefix
}
