package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/discord/doctor"
	"github.com/nodhq/nod/adapters/slack"
	slackdoctor "github.com/nodhq/nod/adapters/slack/doctor"
	"github.com/nodhq/nod/adapters/slack/install"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
)

// manifestFlags are those of nod manifest: each command has some of them.
type manifestFlags struct {
	http, client       string
	install            string
	yaml, json, groups bool
}

// manifests are nod manifest slack and nod manifest discord.
func manifests(p *command.Process) *cobra.Command {
	o := &manifestFlags{}
	ofSlack := p.Command(slack.Platform, "print the app that a Slack workspace adds", o.print(slackManifest))
	ofSlack.Flags().StringVar(&o.http, "http", "", "Slack posts to `URL`, such as https://bot.example.com, instead of Socket Mode")
	ofSlack.Flags().StringVar(&o.install, "install", "", "workspaces install it by themselves, where browsers reach nod at `URL`")
	ofSlack.Flags().BoolVar(&o.yaml, "yaml", false, "YAML instead of JSON")
	ofSlack.Flags().BoolVar(&o.groups, "groups", false, "ask for the scope usergroups:read, too, which user groups as admins or approvers need")
	ofDiscord := p.Command(discord.Platform, "print the invite for a Discord server, and what to switch on in the application", o.print(discordManifest))
	ofDiscord.Flags().StringVar(&o.http, "http", "", "Discord posts to `URL`, such as https://bot.example.com, instead of the gateway")
	ofDiscord.Flags().StringVar(&o.client, "client", "", "the application's `ID`, where no token is set that tells it")
	ofDiscord.Flags().BoolVar(&o.json, "json", false, "JSON instead of text")
	return command.Group("manifest", "print what an app for a platform is made of", ofSlack, ofDiscord)
}

// print prints the app for a platform: for Slack one that its page takes, for Discord what is to be entered and clicked. What to do
// next goes to standard error, so that the output can be put into a file.
func (o *manifestFlags) print(of func(config.Config, manifestFlags) (out []byte, next string, err error)) func(command.Process, []string) int {
	return func(p command.Process, _ []string) int {
		var c config.Config
		if _, none := os.Stat(config.DefaultFile); o.client == "" && (p.ConfigFile != "" || none == nil) { // the app can be made before there is any configuration
			var ok bool
			if c, ok = p.Load(); !ok && p.ConfigFile != "" {
				return command.Usage
			} else if !ok { // or before it is whole: what is in order counts
				fmt.Fprintf(p.Stderr, "note: the app is made of what else %s says\n", config.DefaultFile)
			}
		}
		if p.ConfigFile == "" && c.Discord.Token == "" {
			c.Discord.Token = config.Secret(p.Variable("DISCORD_TOKEN"))
		}
		out, next, err := of(c, *o)
		if err != nil {
			return p.Refuse(command.Usage, err)
		}
		if _, err = p.Stdout.Write(out); err != nil {
			return p.Refuse(command.Fail, err)
		}
		fmt.Fprint(p.Stderr, next)
		return command.OK
	}
}

func slackManifest(c config.Config, o manifestFlags) (out []byte, next string, err error) {
	out, err = slackdoctor.Manifest(slackdoctor.AppOptions{BaseURL: o.http, Prompts: c.Slack.Suggestions, Groups: o.groups, Return: backTo(c, slack.Platform),
		Install: cmp.Or(o.install, c.Slack.Install.Page)})
	if err != nil {
		flag := "-http"
		if _, wrong := surface.PublicBase(o.install); wrong != nil && o.install != "" {
			flag = "-install"
		}
		return nil, "", fmt.Errorf("%s: %w", flag, err)
	}
	if o.yaml {
		out, err = asYAML(out)
	}
	transport := `  3. Basic Information: copy the Signing Secret to SLACK_SIGNING_SECRET, and leave SLACK_APP_TOKEN unset.
     Start the bot before Slack verifies the address (Event Subscriptions, Retry).
`
	if o.http == "" {
		transport = `  3. Basic Information, App-Level Tokens: generate one with the scope connections:write (no manifest can ask for it),
     and copy it (xapp-…) to SLACK_APP_TOKEN.
`
	}
	second := "  2. Install App, then copy the Bot User OAuth Token (xoxb-…) to SLACK_BOT_TOKEN.\n"
	if o.install != "" {
		second = `  2. Basic Information: copy the Client ID to slack.install.client_id and the Client Secret to SLACK_CLIENT_SECRET. For workspaces other than
     the app's own: Manage Distribution, Activate Public Distribution. Each workspace is added at ` + strings.TrimSuffix(o.install, "/") + install.PathBegin + `
`
	}
	return out, `
What next:
  1. At https://api.slack.com/apps choose Create New App, From a manifest, and paste what stands above.
` + second + transport + `  4. nod doctor says whether all of it works. docs/slack.md has the whole story.
`, err
}

// backTo is where people come back to who sign in on the page by a platform; empty where they do not.
func backTo(c config.Config, platform string) string {
	o, ok := c.Web.OIDC.Of(platform)
	if !ok {
		return ""
	}
	return o.Page + signin.PathReturn
}

// discordManifest says what an admin needs. It knows whose application it is from -client, or from the bot's token.
func discordManifest(c config.Config, o manifestFlags) (out []byte, next string, err error) {
	id := o.client
	if id == "" {
		id, _ = doctor.ApplicationOf(c.Discord.Token.Reveal())
	}
	if id == "" && o.json { // a person sees that something is to be put in, a program does not
		return nil, "", errors.New("whose? Give the application's ID with -client (its page General Information), or set DISCORD_TOKEN")
	}
	app, err := doctor.Manifest(doctor.AppOptions{ApplicationID: id, BaseURL: o.http, Return: backTo(c, discord.Platform)})
	if err != nil {
		return nil, "", err
	}
	out = app.Text()
	if o.json {
		out, err = app.JSON()
	}
	insert, transport := "", "  4. Page General Information: leave Interactions Endpoint URL empty.\n"
	if id == "" {
		insert = "     Its Application ID belongs in the invite above, instead of " + doctor.NoApplication + "; with -client ID it stands there.\n"
	}
	if o.http != "" {
		transport = `  4. Page General Information: copy the Public Key to DISCORD_PUBLIC_KEY and start the bot. Then enter the Interactions
     Endpoint URL: Discord tries it when it is saved, so the bot must run by then.
`
	}
	return out, `
What next:
  1. At https://discord.com/developers/applications choose New Application, if there is none yet.
` + insert + `  2. Page Bot: Reset Token, and copy it to DISCORD_TOKEN. Below, switch Message Content Intent on.
  3. Open the invite in a browser, and choose the server.
` + transport + `  5. nod doctor says whether all of it works. docs/discord.md has the whole story.
`, err
}

// asYAML writes JSON in YAML's block style, with its fields in the same order.
func asYAML(in []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(in, &doc); err != nil {
		return nil, err
	}
	restyle(&doc)
	return yaml.Dump(&doc, yaml.WithIndent(2), yaml.WithLineWidth(-1))
}

func restyle(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		restyle(child)
	}
}
