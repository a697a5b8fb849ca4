// Package slack is the surface for Slack: a thread is a chat, and a turn's one message lives in it.
//
// # Its words
//
// They are Slack's: channel, thread, block, interaction, view, envelope, scope. A chat's key is the channel and the timestamp of the
// message that its thread hangs on (id.go); a message's reference is its timestamp.
//
// # In and out
//
// What Slack sends comes by sockets (socket.go) or signed requests (http.go), is decoded by our own tolerant structs (events.go,
// interact.go, commands.go), waits in lanes (surface.Lanes) and is given to the engine (inbound.go). What the engine shows is
// drawn by pure functions (encode.go, steps.go, ask.go, action.go, markup.go, views.go) within limits (limits.go), looked at once more
// before it goes (check.go), and sent (post.go, urls.go, notes.go, presence.go, tell.go) when the workspace's budget has room (spend.go).
//
// A click that needs more than a click is asked for it: a confirmation (confirm.go), a reason or other arguments (interact_views.go), what a
// server's tool wants of its requester (want.go). People see and change settings in a panel (panel.go), which is a modal, or the Home tab (home.go),
// or in words (settings.go). What a view remembers between two clicks stands in its private_metadata (views_form.go, panel_form.go).
//
// Sentences for people stand in the files that end in _words.go beside those of package surface; the app's manifest and what the doctor looks
// at in manifest.go and doctor.go.
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

	"github.com/nodhq/nod/adapters/surface"
)

// Platform is the value of [chat.ID.Platform] and [chat.User.Platform] that this adapter mints.
const Platform = "slack"

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
