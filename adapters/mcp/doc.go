// Package mcp runs the tools of MCP servers: it implements [agent.Tools] over mcp-go, by stdio, streamable HTTP, HTTP with SSE, or in this
// process.
//
// Its words. [Servers] is all of them. A server is one entry of the configuration, supervised for as long as the program runs. A conn is
// one connection to it: mcp-go cannot reconnect, so every attempt is a new one. A child is the process behind a stdio conn. A wire is
// mcp-go's transport with our eyes on it, because its types lose part of every schema and fail whole lists over one bad tool. A trace is
// what one request left behind on its way; the outcome of a call is read off it. A run is one call under way, with the way to the person
// who answers for it. An elicitation is what a server asks of that person meanwhile: a form, or an address to open.
//
// Start reading at [Servers.Call] (call.go). server.go keeps a server connected, conn.go makes a connection, wire.go and http.go watch it,
// tool.go and result.go read what comes back, elicit.go and form.go what a server asks. Package schema checks
// arguments, child starts programs, confine bounds them. It may import core and these; a new trait of a transport is a line in wire.go, a
// new limit one in config.go.
//
// Invariants.
//   - A tool runs only for an [agent.RunToken], in the definition and with the arguments that were approved, at most once. One place calls
//     CallTool. A call that a server answers with a question goes on by a request with the same arguments and what a person answered, never
//     by one without.
//   - Call tells three outcomes apart: known (a nil error), certainly not run ([agent.ErrNotRun]), and unknown (any other). In doubt it is
//     unknown.
//   - No request of a call is sent a second time unless nothing of it left, or the server said in the protocol's words that it does not
//     know our session: not by us, by mcp-go or by net/http, and not to follow a redirect.
//   - A server that is down, slow or talks nonsense costs only its own tools, and a definition that is too large its tool. List says which.
//   - Nothing that a server sends is trusted or unbounded: lines, bodies, lists, schemas, checks, results and stderr have limits.
//   - What a server wants is put, whole or not at all, only to the person whose call it is, and only where that is certain: a request on a
//     conn with several calls is answered with cancel. Only that person's yes is a yes. The time in which a person is asked is not the
//     server's.
//   - A session belongs to one chat, where the server gives sessions, unless the entry of the configuration says that all chats share one.
//   - A child sees PATH, HOME and what its entry lists, never our environment. It dies with us, and so does what it started.
//   - No header, environment value or query of a URL enters an error or a log line.
//
// Left out: roots and sampling, which MCP has deprecated (docs/decisions/0013); questions over HTTP with SSE, where mcp-go does not hear them; repeating a
// call that had to wait for an address (-32042); a question that outlives this process; OAuth, resources, prompts and tasks.
package mcp
