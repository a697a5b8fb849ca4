// Package inbound reads what Slack sends: events, interactions (clicks and forms) and slash commands. It is pure: bytes in, values out; no clock,
// no network, no engine. It may import core/chat, adapters/surface, adapters/slack/blocks (for a thread's Place) and slack-go, whose type of an
// action is used.
//
// # Where to start
//
// decode.go turns a payload into a Delivery, with structs of our own that take what Slack may send: a field of another type than expected is
// empty instead of an error. MeaningOf in events.go says what an event means to this bot, as one of a closed set: MessagePosted, MessageEdited,
// MessageDeleted, ChannelClosed, StopPressed, ConversationOpened, HomeOpened; nil for everything else. interaction.go and slash.go are what
// people do by hand. bot.go is who the bot is, and so whether something is for it at all. text.go makes Slack's markup readable, content.go
// quotes what stands in a message beside its text.
//
// # Where a new line goes
//
// A new event: a case in MeaningOf, a type in its set, and a payload with its meaning in events_test.go. What is then done about it stands in
// receive.go of adapters/slack.
//
// # Invariants
//
//   - Who did something is the user of the signed envelope; no field that a sender could fill in says it.
//   - The bot's own messages and those of other programs mean nothing; an edit is never a new message.
//   - A delivery has the same key each time that Slack sends it.
//   - No error quotes a message.
package inbound
