// Package fakediscord is a stand-in Discord for tests: servers (guilds) with people, channels and threads, the REST API and the
// gateway of version 10, interactions both ways (gateway and signed HTTP), and the rules of the real one.
//
// It is written from Discord's documentation and from measurements of the real service, not from what any client library
// sends. It refuses what Discord refuses: components that break a limit, an interaction answered after three seconds or twice,
// an edit in an archived thread, an IDENTIFY too many; and it keeps what it refused ([Server.Refusals]).
//
// A [Server] listens on loopback; clients get [Server.URL] and [Server.Token] and find the gateway as they would at Discord.
// Tests then do what people do ([Server.Say], [Server.Click], [Server.Submit], [Server.Slash], …), and the server makes of it
// the events that Discord would dispatch. What the program did can be looked at ([Server.Message], [Server.Seen],
// [Server.Calls], …) and waited for ([Server.Wait]); no test needs to sleep. Faults come from [Server.Fail] for REST and from
// trouble_gateway.go for the gateway; [Server.Forge] sends forged interactions.
//
// Words. A member is a person in a guild. A channel is any place for messages, threads and DMs too. A session is what an
// IDENTIFY starts and a RESUME goes on with; a socket is one connection of it. A delivery is one interaction on its way to the
// program, with the callback that answered it. A call is one REST request; its method is the route as the documentation writes
// it, one of the constants in routes.go.
//
// Time is the [Clock]'s: with a [Manual] one, rate windows, the three seconds of an interaction, the fifteen minutes of its
// token, IDENTIFY limits and the life of a lost session pass when the test says so. Only heartbeats are in real time, because
// clients send them by theirs. Without [Options.Limits] nothing is rate limited; [Documented] are the limits that Discord
// states. Everything is safe for concurrent use.
//
// What it leaves out: voice, reactions, stickers, pins, forums' tags, presence, member lists over the gateway, and
// permissions of people: members see every channel; the bot's own permissions are kept per channel.
package fakediscord
