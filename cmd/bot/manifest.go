package main

import (
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/cmd/bot/config"
)

// manifest prints the app for a platform: for Slack one that its page takes, for Discord what is to be entered and clicked. What to do
// next goes to standard error, so that the output can be put into a file.
func (p process) manifest(o options, surface string) int {
	switch surface {
	case slack.Platform:
		return p.slackManifest(o)
	case discord.Platform:
		return p.discordManifest(o)
	}
	fmt.Fprintf(p.stderr, "bot: there is no manifest for %q; there is one for: %s, %s\n", surface, slack.Platform, discord.Platform)
	return exitUsage
}

func (p process) slackManifest(o options) int {
	var prompts []string
	if o.config != "" { // the app can be made before there is any configuration
		c, err := config.Load(o.config, p.env)
		if err != nil {
			fmt.Fprintln(p.stderr, err)
			return exitUsage
		}
		prompts = c.Slack.Suggestions
	}
	out, err := slack.Manifest(slack.AppOptions{BaseURL: o.http, Prompts: prompts, Groups: o.groups})
	if err != nil {
		fmt.Fprintln(p.stderr, "bot: -http:", err)
		return exitUsage
	}
	if o.yaml {
		out, err = asYAML(out)
	}
	if err == nil {
		_, err = p.stdout.Write(out)
	}
	if err != nil {
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitFail
	}
	slackSteps(p.stderr, o.http == "")
	return exitOK
}

func slackSteps(w io.Writer, socketMode bool) {
	fmt.Fprint(w, `
What next:
  1. At https://api.slack.com/apps choose Create New App, From a manifest, and paste what stands above.
  2. Install App, then copy the Bot User OAuth Token (xoxb-…) to SLACK_BOT_TOKEN.
`)
	if socketMode {
		fmt.Fprint(w, `  3. Basic Information, App-Level Tokens: generate one with the scope connections:write (no manifest can ask for it),
     and copy it (xapp-…) to SLACK_APP_TOKEN.
`)
	} else {
		fmt.Fprint(w, `  3. Basic Information: copy the Signing Secret to SLACK_SIGNING_SECRET, and leave SLACK_APP_TOKEN unset.
     Start the bot before Slack verifies the address (Event Subscriptions, Retry).
`)
	}
	fmt.Fprint(w, "  4. bot doctor says whether all of it works. docs/slack.md has the whole story.\n")
}

// discordManifest says what an admin needs. It knows whose application it is from -client, or from the bot's token.
func (p process) discordManifest(o options) int {
	id := o.client
	if id == "" {
		token, err := p.discordToken(o)
		if err != nil {
			fmt.Fprintln(p.stderr, err)
			return exitUsage
		}
		id, _ = discord.ApplicationOf(token)
	}
	if id == "" && o.json { // a person sees that something is to be put in, a program does not
		fmt.Fprintln(p.stderr, "bot: whose? Give the application's ID with -client (its page General Information), or set DISCORD_TOKEN")
		return exitUsage
	}
	app, err := discord.Manifest(discord.AppOptions{ApplicationID: id, BaseURL: o.http})
	if err != nil {
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitUsage
	}
	out := app.Text()
	if o.json {
		out, err = app.JSON()
	}
	if err == nil {
		_, err = p.stdout.Write(out)
	}
	if err != nil {
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitFail
	}
	discordSteps(p.stderr, id == "", o.http == "")
	return exitOK
}

// discordToken is the token, from the configuration if one is named: an application can be made before there is any.
func (p process) discordToken(o options) (string, error) {
	if o.config == "" {
		token, _ := p.env("DISCORD_TOKEN")
		return strings.TrimSpace(token), nil
	}
	c, err := config.Load(o.config, p.env)
	return c.Discord.Token.Reveal(), err
}

func discordSteps(w io.Writer, nobody, gateway bool) {
	fmt.Fprint(w, `
What next:
  1. At https://discord.com/developers/applications choose New Application, if there is none yet.
`)
	if nobody {
		fmt.Fprintf(w, "     Its Application ID belongs in the invite above, instead of %s; with -client ID it stands there.\n", discord.NoApplication)
	}
	fmt.Fprint(w, `  2. Page Bot: Reset Token, and copy it to DISCORD_TOKEN. Below, switch Message Content Intent on.
  3. Open the invite in a browser, and choose the server.
`)
	if gateway {
		fmt.Fprint(w, "  4. Page General Information: leave Interactions Endpoint URL empty.\n")
	} else {
		fmt.Fprint(w, `  4. Page General Information: copy the Public Key to DISCORD_PUBLIC_KEY and start the bot. Then enter the Interactions
     Endpoint URL: Discord tries it when it is saved, so the bot must run by then.
`)
	}
	fmt.Fprint(w, "  5. bot doctor says whether all of it works. docs/discord.md has the whole story.\n")
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
