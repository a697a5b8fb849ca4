// Package slack is the surface for Slack: a thread is a chat, and a turn's one message lives in it.
//
// Three packages stand below: blocks draws, and reads back what a click on a drawing says; inbound reads what Slack sends; both are pure.
// doctor sets an app up and looks it over. This is the adapter between Slack and the engine: it may import core/*, adapters/surface, blocks and
// inbound.
//
// # Where to start
//
// client.go makes and runs an Adapter. What Slack sends comes by sockets (socket.go) or signed requests (http.go), waits in lanes
// (surface.Lanes) and is served by receive.go (events), interact.go (clicks and forms) and commands.go, with who did it (people.go) and what was
// said before (history.go). What the engine shows is drawn by blocks and sent by post.go, urls.go,
// private.go and presence.go when the workspace's budget has room (spend.go); fault.go says what a refusal means.
//
// A click that needs more than a click opens a view or asks back (interact_views.go), a tool's server asks its requester (elicitation.go).
// People see and change settings in a panel (panel.go), a modal or the Home tab, or in words (settings.go). What a view remembers between two
// clicks stands in its private_metadata. Sentences for people stand in words.go beside those of surface and blocks.
//
// # Where a new line goes
//
// How something looks: blocks. A new event: inbound, and its case in receive.go. A new click or form: serveInteraction in interact.go. A new
// method of Slack's: its tier in spend.go, and the file of what it is for.
//
// # Invariants
//
//   - Acknowledged means durable, for events. An interaction is always acknowledged, because Slack never repeats it: the person is told
//     when it was not recorded.
//   - Who did something is the user of the signed envelope, looked up with users.info. No field that a sender could fill in says it.
//   - Words of models, tools, servers and people are never markup: no mention, no disguised link, no button comes out of them.
//   - A card never loses a button because Slack refused a block: it is drawn simpler until Slack takes it.
//   - What stands in a button, in an option or in private_metadata says what is meant, and has no authority. A panel is made anew for whoever
//     acts in it, and only the requester is shown what a server asks of them.
//   - Nothing is posted blindly a second time (Seek), and no method is called beyond its budget except where that cannot be asked.
//   - A response_url is a key to its message: in memory only, and in no log.
//
// Nothing is stored here. Lost with the process are response_urls (then chat.update serves), who is who for five minutes, and
// which status was told last.
//
// Left out: files that people attach (their names are passed on), shortcuts, and apps that are installed for a whole
// organisation with one token per workspace.
package slack

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/surface"
)

// Platform is the value of [chat.ID.Platform] and [chat.User.Platform] that this adapter mints.
const Platform = blocks.Platform

// Config is what an adapter is made of.
type Config struct {
	BotToken      string                    // xoxb-
	AppToken      string                    // xapp-; set: Socket Mode
	SigningSecret string                    // for HTTP delivery, where AppToken is empty
	APIURL        string                    // of a stand-in, ending in "/"; empty: Slack's own
	Client        *http.Client              // nil: one with timeouts
	Engine        surface.Engine            //
	Asks          surface.Asks              //
	Settings      surface.Settings          // nil: nobody manages anything here
	Budget        surface.Budget            // nil: no limits are kept but Slack's own
	Follow        surface.Follow            //
	Channels      map[string]surface.Follow // by channel ID, over Follow
	Guests        bool                      // guests of the workspace may decide
	External      bool                      // people of other organisations (Slack Connect) may decide
	Suggestions   []string                  // prompts offered in the agent view, at most four
	Connections   int                       // Socket Mode connections of this process. 0: 2
	Logger        *slog.Logger              // nil: none
}

func (c *Config) validate() error {
	var bad []error
	need := func(ok bool, say string) {
		if !ok {
			bad = append(bad, errors.New("slack: "+say))
		}
	}
	need(c.BotToken != "", "Config.BotToken is missing")
	need(c.AppToken != "" || c.SigningSecret != "", "Config.AppToken (Socket Mode) or Config.SigningSecret (HTTP) is missing")
	need(c.Engine != nil, "Config.Engine is missing")
	need(c.Asks != nil, "Config.Asks is missing")
	if c.Connections <= 0 {
		c.Connections = 2
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return errors.Join(bad...)
}
