// Package blocks draws what core/render says in Slack's Block Kit, and reads back what a click on the drawing carries. It is pure: values in,
// values out; no clock, no network, no engine. It may import core/*, adapters/surface and slack-go, whose types it fills in.
//
// # Where to start
//
// message.go draws a turn's message and says how a message is kept within Slack's limits; its parts are steps.go, ask.go and buttons.go.
// renditions.go has the simpler forms of the same message, for when Slack refuses it. note.go and private.go draw what stands beside a turn's
// message or is for one person, dialog.go a confirmation. The views are details.go, panel.go (modal and Home tab) and elicitation.go (the form
// of a tool's server). text.go is how words get into a block, words.go what people read on Slack only, limits.go what Slack takes.
//
// What a click says comes back through ParseAction, ParsePanelAction, ParseForm and ParsePanelForm; a thread is a Place (place.go).
//
// # Where a new line goes
//
// A kind of block of a message goes beside its kind in core/render; a view in a file of its own; a limit, with its source, in limits.go. What
// asks Slack, the engine or the clock for something stands in adapters/slack, which hands its answer in.
//
// # Invariants
//
//   - What is drawn keeps every limit of Slack's; what is too long is cut with a count of what is missing, or stands on a further page.
//   - Words of models, tools, servers and people are never markup: no mention, no disguised link, no button comes out of them.
//   - The same message gives the same bytes, and another block_id for whatever changed.
//   - What is read back says what is meant and has no authority: nothing is read that is not written here.
package blocks
