package main

import (
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/discord/doctor"
	"github.com/nodhq/nod/adapters/slack"
	slackdoctor "github.com/nodhq/nod/adapters/slack/doctor"
	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
)

// manifest prints the app for a platform: for Slack one that its page takes, for Discord what is to be entered and clicked. What to do
// next goes to standard error, so that the output can be put into a file.
func manifest(p command.Process, o options, surface string) int {
	switch surface {
	case slack.Platform:
		return slackManifest(p, o)
	case discord.Platform:
		return discordManifest(p, o)
	}
	fmt.Fprintf(p.Stderr, "bot: there is no manifest for %q; there is one for: %s, %s\n", surface, slack.Platform, discord.Platform)
	return command.Usage
}

func slackManifest(p command.Process, o options) int {
	var prompts []string
	if p.ConfigFile != "" { // the app can be made before there is any configuration
		c, ok := p.Load()
		if !ok {
			return command.Usage
		}
		prompts = c.Slack.Suggestions
	}
	out, err := slackdoctor.Manifest(slackdoctor.AppOptions{BaseURL: o.http, Prompts: prompts, Groups: o.groups})
	if err != nil {
		return p.Refuse(command.Usage, fmt.Errorf("-http: %w", err))
	}
	if o.yaml {
		out, err = asYAML(out)
	}
	if err == nil {
		_, err = p.Stdout.Write(out)
	}
	if err != nil {
		return p.Refuse(command.Fail, err)
	}
	slackSteps(p.Stderr, o.http == "")
	return command.OK
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
func discordManifest(p command.Process, o options) int {
	id := o.client
	if id == "" {
		token, err := discordToken(p)
		if err != nil {
			fmt.Fprintln(p.Stderr, err)
			return command.Usage
		}
		id, _ = doctor.ApplicationOf(token)
	}
	if id == "" && o.json { // a person sees that something is to be put in, a program does not
		fmt.Fprintln(p.Stderr, "bot: whose? Give the application's ID with -client (its page General Information), or set DISCORD_TOKEN")
		return command.Usage
	}
	app, err := doctor.Manifest(doctor.AppOptions{ApplicationID: id, BaseURL: o.http})
	if err != nil {
		return p.Refuse(command.Usage, err)
	}
	out := app.Text()
	if o.json {
		out, err = app.JSON()
	}
	if err == nil {
		_, err = p.Stdout.Write(out)
	}
	if err != nil {
		return p.Refuse(command.Fail, err)
	}
	discordSteps(p.Stderr, id == "", o.http == "")
	return command.OK
}

// discordToken is the token, from the configuration if one is named: an application can be made before there is any.
func discordToken(p command.Process) (string, error) {
	if p.ConfigFile == "" {
		token, _ := p.Env("DISCORD_TOKEN")
		return strings.TrimSpace(token), nil
	}
	c, err := config.Load(p.ConfigFile, p.Env)
	return c.Discord.Token.Reveal(), err
}

func discordSteps(w io.Writer, nobody, gateway bool) {
	fmt.Fprint(w, `
What next:
  1. At https://discord.com/developers/applications choose New Application, if there is none yet.
`)
	if nobody {
		fmt.Fprintf(w, "     Its Application ID belongs in the invite above, instead of %s; with -client ID it stands there.\n", doctor.NoApplication)
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
