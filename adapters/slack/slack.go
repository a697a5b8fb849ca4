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
// interact.go, commands.go), waits in lanes (inbound_intake.go) and is given to the engine (inbound.go). What the engine shows is
// drawn by pure functions (encode.go, steps.go, ask.go, markup.go, views.go) within limits (limits.go), looked at once more before it
// goes (check.go), and sent (post.go, urls.go, notes.go, presence.go) when the workspace's budget has room (spend.go). Sentences for
// people stand in inbound_words.go and views_words.go; the app's manifest and what the doctor looks at in manifest.go and doctor.go.
//
// # Invariants
//
//   - Acknowledged means durable, for events. An interaction is always acknowledged, because Slack never repeats it: the person is told
//     when it was not recorded.
//   - Who did something is the user of the signed envelope, looked up with users.info. No field that a sender could fill in says it.
//   - Words of models, tools, servers and people are never markup: no mention, no disguised link, no button comes out of them.
//   - A card never loses a button because Slack refused a block: it is drawn simpler until Slack takes it.
//   - Nothing is posted blindly a second time (Seek), and no method is called beyond its budget except where that cannot be asked.
//   - A response_url is a key to its message: in memory only, and in no log.
//
// Nothing is stored here. Lost with the process are response_urls (then chat.update serves), who is who for five minutes, and
// which status was told last.
//
// Left out: files that people attach (their names are passed on), shortcuts, the Home tab, and apps that are installed for a whole
// organisation with one token per workspace.
package slack

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// Platform is the value of [chat.ID.Platform] and [chat.User.Platform] that this adapter mints.
const Platform = "slack"

// Engine takes what people say and click, and knows how chats stand.
type Engine interface {
	// Accept records an inbound. A nil error means durable: acknowledge. Any other means that nothing is known to be recorded.
	Accept(context.Context, chat.Inbound) error
	// Decide records an answer. It returns an [*agent.Refusal] for one that is not taken; any other error leaves it open
	// whether it was.
	Decide(context.Context, chat.Clicked) ([]agent.Outcome, error)
	// Session is a chat as the log stands now.
	Session(context.Context, chat.ID) (turn.Session, error)
	// Knows reports whether anything was ever recorded of a chat.
	Knows(context.Context, chat.ID) (bool, error)
}

// Asks finds chats in which something waits for a person, whichever replica recorded it. It reads every open ask: for rare
// events only.
type Asks interface {
	Asking(ctx context.Context, match func(chat.ID) bool) ([]chat.ID, error)
}

// Budget is what may still be called of Slack's methods. All replicas of a workspace share one.
type Budget interface {
	// Spend asks for one call. Zero: make it now, it is counted. Otherwise nothing was spent: look again after so long, with
	// what is newest then.
	Spend(context.Context, Spend) (wait time.Duration, err error)
	// CoolOff stops every spending from a pool for d: Slack said so.
	CoolOff(ctx context.Context, pool string, d time.Duration) error
}

// Spend is one call that somebody would like to make.
type Spend struct {
	Pool    string        // what the limit is counted by: workspace, method and, where Slack counts so, channel
	Limit   int           // calls in Per; 0 with Ends: the message ended by other means, and nothing is spent
	Per     time.Duration //
	Lane    agent.Urgency // a decision goes before a final, a final before progress
	Message string        // the live message it is for; empty where there is none. Each one keeps a call in reserve for its final
	Rate    float64       // how fast that message grows, in characters a second
	Ends    bool          // the message needs nothing after this
}

// Follow is which messages of a thread the bot listens to once it was mentioned there.
type Follow string

// The ways to follow. The zero value is FollowThread.
const (
	FollowThread  Follow = "thread"  // every message of the thread
	FollowMention Follow = "mention" // only those that mention it
)

// Config is what an adapter is made of.
type Config struct {
	BotToken      string            // xoxb-
	AppToken      string            // xapp-; set: Socket Mode
	SigningSecret string            // for HTTP delivery, where AppToken is empty
	APIURL        string            // of a stand-in, ending in "/"; empty: Slack's own
	Client        *http.Client      // nil: one with timeouts
	Engine        Engine            //
	Asks          Asks              //
	Budget        Budget            // nil: no limits are kept but Slack's own
	Follow        Follow            //
	Channels      map[string]Follow // by channel ID, over Follow
	Guests        bool              // guests of the workspace may decide
	External      bool              // people of other organisations (Slack Connect) may decide
	Suggestions   []string          // prompts offered in the agent view, at most four
	Connections   int               // Socket Mode connections of this process. 0: 2
	Logger        *slog.Logger      // nil: none
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
