// Package inbound reads what Discord sends: events of the gateway, interactions (clicks, forms, slash commands), and the objects in them. It is
// pure: bytes in, values out; no clock, no network, no engine. It may import core/chat, core/render (for the product's name),
// adapters/surface, adapters/discord/ids and discordgo, whose flags of messages are used.
//
// # Where to start
//
// events.go has the payloads, with structs of our own that take what Discord may send: Decode leaves out a field of another type than
// expected, and reads the rest. Message says whose words it is, and whom it calls; Channel is what a place of messages is. interaction.go is
// what people do by hand and who they are to the core, slash.go the commands that they can type and what one says. text.go makes Discord's
// markup readable, and quotes what somebody else wrote.
//
// # Where a new line goes
//
// A new event: its payload in events.go. What is then done about it stands in receive.go or changes.go of adapters/discord; a new kind of
// interaction in its interact.go.
//
// # Invariants
//
//   - Who did something is the author, the member or the user of the event, as Discord vouches for them; no field that they could fill in says it.
//   - Words of programs, and the bot's own, are nobody's; text is never more than what people saw.
//   - A delivery has the same key each time that it comes.
//   - No error quotes a message.
package inbound
