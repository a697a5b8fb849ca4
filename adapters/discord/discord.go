// Package discord is the surface for Discord: a thread, a channel or a direct conversation is a chat, and a turn's one message lives
// in it.
//
// # Its words
//
// They are Discord's: guild, channel, thread, component, interaction, custom_id, snowflake, shard, intent, nonce. A chat's key is
// its channel, and for a thread the channel that the thread hangs in as well (id.go); a message's reference is its snowflake.
//
// # In and out
//
// A supervised gateway connection per shard (gateway.go, shards.go, wire.go) brings events, and signed requests (http.go) bring
// interactions where the application wants them so. Both are decoded by our own tolerant structs (events.go, interact.go,
// commands.go), wait in lanes and are given to the engine (inbound.go). What a gap in the connection swallowed is fetched afterwards
// (missed.go). What the engine shows is drawn by pure functions (encode.go, steps.go, ask.go, markup.go, details.go, forms.go) within
// limits (limits.go), looked at once more before it goes (check.go), and sent (post.go, notes.go, threads.go, tell.go), as the answer
// to a click where one waits for it (answers.go), when the budget has room (spend.go, transport.go). A choice that has to be confirmed
// is asked for once more in private (confirm.go), and what a tool's server wants of the requester is a form or an address (want.go,
// want_form.go). The settings are one private message that every click on it draws anew (panel.go, panel_draw.go), or lines
// (commands_settings.go). Sentences for people stand in inbound_words.go, views_words.go and settings_words.go beside those of package
// surface; what the doctor looks at stands in doctor.go.
//
// # Invariants
//
//   - A message counts as taken when its place's mark has passed it, and that is after the engine has recorded it. Until then it is
//     fetched again. An interaction never comes again: the person is told when it was not recorded.
//   - Who did something, and which roles they have, is the member of the gateway's event or of the signed request. In direct messages
//     there is no member: who clicks on what they were told as a member of a server is looked up there first.
//   - Settings are drawn in no message that more than one person sees.
//   - Words of models, tools, servers and people are never markup: no mention, no disguised link, no button comes out of them, and no
//     address that neither people nor the operator brought is alive.
//   - Every message is sent with a nonce that Discord enforces and with mentions switched off but for those of a nudge.
//   - IDENTIFY is sent only when the gate that all replicas share has opened: Discord resets the token of a bot that sends too many.
//   - Interaction tokens are kept in memory only, and stand in no log.
//
// Nothing is stored here. Lost with the process are open interactions (then a channel's PATCH serves), what is known of channels,
// forms that were not taken and the short names of long views (then somebody types, or opens, them again), and sessions of the
// gateway: discordgo keeps what a RESUME needs to itself.
package discord

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/nodhq/nod/adapters/surface"
)

// Platform is the value of [chat.ID.Platform] and [chat.User.Platform] that this adapter mints.
const Platform = "discord"

// Holds are rights that one process has at a time, by name.
type Holds interface {
	// Hold takes the right, or renews it. mine is false where another owner has it, and left is then how long that still lasts.
	Hold(ctx context.Context, name, owner string, d time.Duration) (mine bool, left time.Duration, err error)
	// Drop gives it back.
	Drop(ctx context.Context, name, owner string) error
}

// Marks remember, per place, the newest message that was taken.
type Marks interface {
	// Mark moves a place's mark forward, never back.
	Mark(ctx context.Context, place, message string) error
	// Marks are those of places that were marked lately.
	Marks(ctx context.Context, within time.Duration) (map[string]string, error)
	// Unmark forgets a place that is no more.
	Unmark(ctx context.Context, place string) error
}

// Conversation is where a conversation that begins in a channel goes on.
type Conversation string

// The conversations. The zero value is InThread.
const (
	InThread  Conversation = "thread"  // a public thread on the message that mentions the bot
	InChannel Conversation = "channel" // the channel itself: one chat for all of it
)

// Channel is what is set for one channel.
type Channel struct {
	Conversation Conversation   // empty: as everywhere
	Follow       surface.Follow // empty: as everywhere
}

// Config is what an adapter is made of.
type Config struct {
	Token        string             // of the bot, without "Bot "
	PublicKey    string             // of the application, 64 hexadecimal digits; set: signed requests are taken as well
	APIURL       string             // of a stand-in: scheme and host; empty: Discord's own
	Client       *http.Client       // nil: one with timeouts
	Engine       surface.Engine     //
	Asks         surface.Asks       //
	Settings     surface.Settings   // nil: nobody manages anything here
	Budget       surface.Budget     // nil: no limits are kept but Discord's own
	Holds        Holds              // nil: this is the only process
	Marks        Marks              // nil: what a gap swallows is not fetched
	Conversation Conversation       //
	Follow       surface.Follow     // of threads
	Channels     map[string]Channel // by channel ID, over Conversation and Follow
	LinkHosts    []string           // hosts whose addresses stay alive whoever wrote them; "*.example.com" includes what is below
	Shards       int                // 0: as many as Discord recommends
	Lease        time.Duration      // how long a shard is held without renewal. 0: 15 s
	Owner        string             // this process, as holder of shards. Empty: a random name
	Logger       *slog.Logger       // nil: none

	// For tests; zero: as said.
	OpenWithin   time.Duration // for the gateway to say READY. 30 s
	SilentWithin time.Duration // for the gateway to say anything at all. 90 s: its heartbeat is answered every 41 s
}

// defaultLease is much longer than a renewal takes and much shorter than a person waits.
const defaultLease = 15 * time.Second

func (c *Config) validate() error {
	var bad []error
	need := func(ok bool, say string) {
		if !ok {
			bad = append(bad, errors.New("discord: "+say))
		}
	}
	need(c.Token != "", "Config.Token is missing")
	need(c.Engine != nil, "Config.Engine is missing")
	need(c.Asks != nil, "Config.Asks is missing")
	if _, ok := c.key(); c.PublicKey != "" {
		need(ok, "Config.PublicKey is not 64 hexadecimal digits")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Lease <= 0 {
		c.Lease = defaultLease
	}
	if c.OpenWithin <= 0 {
		c.OpenWithin = 30 * time.Second
	}
	if c.SilentWithin <= 0 {
		c.SilentWithin = 90 * time.Second
	}
	if c.Owner == "" {
		c.Owner = rand.Text()
	}
	return errors.Join(bad...)
}

// key is the application's public key.
func (c *Config) key() (ed25519.PublicKey, bool) {
	k, err := hex.DecodeString(c.PublicKey)
	return k, err == nil && len(k) == ed25519.PublicKeySize
}
