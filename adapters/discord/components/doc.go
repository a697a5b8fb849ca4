// Package components draws what nod shows on Discord: messages of components v2, forms, and the settings. It turns values of core/render
// into values of discordgo and JSON, and reads back what it wrote into buttons. It is pure: no clock, no network, no store; the same
// message gives the same bytes.
//
// Start at [Turn], a turn's message, and [Note], a short one beside it or for one person (encode.go). Each gives [Renditions]: the message
// as it should look, and simpler ones for when Discord refuses that (renditions.go); a [Rendition] says how it is sent.
// A card and finished calls are drawn by ask.go, buttons and selects by actions.go, the settings by panel.go, details and files by
// details.go, forms and private questions by forms.go, lists by lists.go.
//
// Text reaches a message in one of two ways only: plain text with a backslash before every sign that could begin markup (markup.go), or a
// model's Markdown, parsed and written anew (markup_answer.go). An address is alive only where people or the operator brought its host
//
// Discord's limits stand in limits.go, each with its source, and the encoder keeps them: it draws closer, then shows less, until a message
// fits. The tests hold every drawing against a second reading of the rules (check_test.go). Sentences for people stand in words.go.
package components
