// Package turn is the pure heart of nod: what happened in a chat, and what follows from it.
//
// A chat is a log of events, in one total order. A [Session] is the fold of that log. Two functions are the
// heart of it:
//
//	Apply(Session, Entry) Session          // total: what no longer fits changes nothing; never mutates its receiver
//	Next(Session, now, Env) []Command      // what the world still owes: derived, never stored
//
// So resuming anywhere is: load, fold, Next. Races are settled by the log's order: the first Decided of an
// asking counts, the first Started of a ruling counts, and whatever comes later is a no-op.
//
// The words. Somebody says something ([Said]) and a [Turn] opens, or the message waits for the open one to end. The
// model replies ([Replied]), with text and with calls. Policy rules each call ([Ruled]): allowed, forbidden, or asked. An ask is
// answered under its [AskID], once ([Decided]); before the call starts the answer can be taken back ([Withdrawn]). A
// call starts ([Started]) before its tool hears of it, and ends [Finished], or [Abandoned] when nobody can say how it ended. When
// every call has its one result the model is asked once more. A reply without calls ends the turn ([Ended]). A person may change
// the arguments of a call that is asked for ([Amended]): it is proposed anew. Beside the turn's one message a nudge or the rest of a
// long answer may stand for a while ([Posted], [Removed]).
//
// How a call goes:
//
//	                         ┌────────── Withdrawn, Reopened ──────────┐
//	                         ▼                                         │
//	Replied → proposed → awaiting ──Decided──▶ allowed ──Started──▶ running ──Finished──▶ done, failed
//	            │  ▲         │                  │  │                    │
//	            │  └─ Amended┼─ Revoked, ModeSet┘  │Ruled (tighter)     └─Abandoned─▶ unknown ─┬─ Finished (late) ─▶ done, failed
//	            │            ├─ Expired ─▶ expired │                                           ├─ happened, leave, deadline: settled
//	            └──Ruled─────┴─ Decided ─▶ denied ◀┘                                           └─ run again ─▶ awaiting
//	                           StopAsked ─▶ cancelled
//
// Invariants, each with a test or a property that fails without it:
//
//   - no tool starts without an allowing ruling, or a decision for that asking and that digest, before its deadline;
//   - an asking is answered at most once, and a run is one attempt: no identifier is ever used twice;
//   - every call has exactly one result before the model reads on;
//   - what needs a person always has a deadline or is parked by configuration, and stands last in the message;
//   - time, randomness and identifiers come in as values;
//   - the session holds kinds and values, never sentences: every release folds a log to the same session.
//
// Where to start: event.go has what can happen, session.go what comes of it. Each event folds itself: said.go has the messages, decided.go
// rulings and answers, preview.go the look at what a call replaces, runs.go what ran, followup.go the messages beside, apply.go the rest.
// next.go is what is owed, grants.go and call.go what may be offered. A new event is a type with a Kind and an apply, a line in [ClassOf] and one in codec.go.
//
// What a model reads of a session is package talk's, how it looks package card's, what is on record about permissions package audit's:
// they read the fold, and it knows none of them.
// The package imports no I/O, and of ours chat, permission and what measures arguments in render. Stored forms are the event types and
// the session themselves.
package turn
