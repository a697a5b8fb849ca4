// Package text is what people and the model read: every sentence and label of ours, ready to be translated, and the
// tools that make a stranger's text safe to stand among them. It may import core/chat, and everybody may import it; it
// takes words, numbers and times, so it never learns what they are about.
//
// The sentences: card.go has those of what asks, its buttons, and the answers to whoever clicks; turn.go those of the rest of a
// turn's message, and the results that a model reads; panel.go and settings.go those of the settings; install.go those of a
// server's new tools; number.go has numbers, times and lists in words. A new sentence goes beside those that are read in
// the same place; it is a constant, or a function of what it names. A comment says when it is read where the words do not.
//
// The tools: [Hidden] is the one rule for which characters a person cannot see. [Visible] shows each of them as
// \u{200B}, a form that no JSON can hold; [Prose] does so where emoji and scripts need some of them; [Inline] and
// [OneLine] also keep a text on one line, where a second could pass for one of ours. [Cut], [Head], [Shorten] and [HeadBytes]
// shorten, each with its own end, and [Clip] is [Inline] and [Cut] together.
//
// Whoever cuts a text for a message calls core/render's Fit instead, which says how much is missing.
package text
