package main

import (
	"fmt"
	"io"

	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/cmd/bot/config"
	"go.yaml.in/yaml/v4"
)

// manifest prints an app that a platform's own page takes. What to do next goes to standard error, so that the output
// can be put into a file.
func (p process) manifest(o options, surface string) int {
	if surface != slack.Platform {
		fmt.Fprintf(p.stderr, "bot: there is no manifest for %q; there is one for: %s\n", surface, slack.Platform)
		return exitUsage
	}
	var prompts []string
	if o.config != "" { // the app can be made before there is any configuration
		c, err := config.Load(o.config, p.env)
		if err != nil {
			fmt.Fprintln(p.stderr, err)
			return exitUsage
		}
		prompts = c.Slack.Suggestions
	}
	out, err := slack.Manifest(slack.AppOptions{BaseURL: o.http, Prompts: prompts})
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
	nextSteps(p.stderr, o.http == "")
	return exitOK
}

func nextSteps(w io.Writer, socketMode bool) {
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
