// Package discord is the surface for Discord: a thread, a channel or a direct conversation is a chat, and a turn's one message lives
// in it.
//
// # Its packages
//
//   - ids: what Discord's objects are called, as chats, people and snowflakes
//   - components: what nod shows, drawn; pure
//   - gateway: the connections that bring events
//   - inbound: what Discord sends, read; pure
//   - backfill: what a gap in a connection swallowed, fetched
//   - rest: calls of the API, with their limits and errors
//   - doctor: what an application must have to be nod, and whether it has it
//
// Here is what happens between them. Words are Discord's: guild, channel, thread, component, interaction, custom_id, snowflake, shard,
// intent, nonce. Start at Adapter (client.go). A sentence for people goes to words.go, or where it is drawn to components.
//
// # In and out
//
// The gateway brings events, and signed requests (http.go) bring interactions where the application wants them so. Both are decoded by
// package inbound, wait in lanes and are given to the engine (receive.go, changes.go, interact.go, commands.go). A handler of an interaction
// returns its reply, which is sent in one place (Adapter.send). What a gap in the connection swallowed is fetched afterwards (backfill). What
// the engine shows is drawn and sent (post.go, notes.go, threads.go), as the answer to a click where one waits for it (answers.go). A choice
// that has to be confirmed is asked for once more in private (interact.go), and what a tool's server wants of the requester is a form or an
// address (elicitation.go). The settings are one private message that every click on it draws anew (panel.go), or lines (commands.go).
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
// gateway: what a RESUME needs is kept by the process that has the connection.
package discord

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/nodhq/nod/adapters/discord/backfill"
	"github.com/nodhq/nod/adapters/discord/gateway"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// Platform is the value of [chat.ID.Platform] and [chat.User.Platform] that this adapter mints.
const Platform = ids.Platform

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
	Holds        gateway.Holds      // nil: this is the only process
	Marks        backfill.Marks     // nil: what a gap swallows is not fetched
	Conversation Conversation       //
	Follow       surface.Follow     // of threads
	Channels     map[string]Channel // by channel ID, over Conversation and Follow
	Bots         []string           // bots and webhooks that may begin a chat, by their IDs
	Members      []chat.User        // roles whose holders may decide, and have things run unasked; none: everybody is a member
	MembersOnly  bool               // nobody else may talk either
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
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Lease = cmp.Or(max(c.Lease, 0), defaultLease)
	c.OpenWithin = cmp.Or(max(c.OpenWithin, 0), 30*time.Second)
	c.SilentWithin = cmp.Or(max(c.SilentWithin, 0), 90*time.Second)
	c.Owner = cmp.Or(c.Owner, rand.Text())
	return errors.Join(bad...)
}

// key is the application's public key.
func (c *Config) key() (ed25519.PublicKey, bool) {
	k, err := hex.DecodeString(c.PublicKey)
	return k, err == nil && len(k) == ed25519.PublicKeySize
}
