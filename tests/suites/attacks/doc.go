// Package attacks is the attack corpus: SAFETY.md section 4 as named cases, each an attempt to have a tool run that nobody allowed, to
// make a card say what is not so, or to get something out of a chat that should stay in it. None may pass.
//
// # Its words
//
// They are of the house, and a few more. A row is one of the table's kinds of attack: thirty, and exhaustion. A case is one attack on one surface. A
// [world] is everything of the real product (store, engine, MCP client, the three surfaces) before stand-ins that belong to the
// attacker: a model that says what a case wants, MCP servers over streamable HTTP that lie and change, and a Slack, a Discord and HTTP
// clients with people who may not do what they try. A talk is one chat on one surface as the people in it have it. The ledger is what
// the MCP servers were called with; it and the stand-ins' message history are the only oracle. What the product says of itself, in its
// log or its results, proves nothing here.
//
// A case that nothing could fail proves nothing either. breaks.txt names for each row a guard of the product without which the row fails, or says why
// there is no such one guard; make breaks takes them out, one after the other, and stops where a row does not notice.
//
// # How a case goes
//
// Ana says words that the model answers with a call ([begin]); a card asks; the case attacks; then somebody who may says no
// ([talk.end]), so that the turn is over and everything that could have run has run; and the ledger has no line of that
// call. A call is told from all others by its own path argument, which is why the cases of a world can share it and run at once.
// TestControl is the same way with a yes at the end of it, so that a ledger which hears nothing does not pass for safety.
//
// # The table
//
// Each row has a file, or a part of one, with its cases; [table] puts them together. TestAttacks runs them as
// TestAttacks/<row>-<slug>/<surface>/<case>, and TestCorpusIsWhole counts them: below 300, or with a row that lacks a surface, it
// fails. Generated families stand for attacks that differ in what is attacked, never for repetitions: racing a click ten thousand
// times is one case.
//
// An attack that passes is a bug of the product. Until it is repaired it stands in [known] with the reason, is not counted, and runs
// with -known only.
package attacks
