// Package fakeslack is a stand-in Slack for tests: a workspace with people, their user groups and channels, the Web API methods that chat apps
// use, Socket Mode, signed HTTP delivery, and the rules of the real one.
//
// It is written from Slack's documentation and from measurements of the real service, not from what any adapter sends. It
// refuses what Slack refuses: blocks that break a limit, a trigger older than three seconds, an edit of somebody else's
// message, a call over its tier.
//
// A [Server] listens on loopback; clients get [Server.URL] and the tokens. Tests then do what people do ([Server.Say],
// [Server.Click], [Server.Submit], …), and the server makes of it the payloads that Slack would send, each to one random
// Socket Mode connection or, after [Server.Deliver], to signed HTTP endpoints. What is not acknowledged within three seconds
// is sent again: at once, after a minute, after five more. What the program did can be looked at ([Server.Message],
// [Server.Calls], …) and waited for ([Server.Wait]); no test needs to sleep. Faults come from [Server.Fail] and from the
// methods in trouble.go.
//
// Time is the [Clock]'s: with a [Manual] one, deadlines, retries, trigger expiry and rate windows pass when the test says so.
// Everything is safe for concurrent use.
//
// What it leaves out: streaming methods, files beyond storing them, search, Slack's own markup rendering beyond what an
// interaction echoes back.
package fakeslack
