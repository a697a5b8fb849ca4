// Package mcp runs the tools of MCP servers: it implements [agent.Tools] over mcp-go, for servers reached by
// stdio, streamable HTTP, HTTP with SSE, or inside this process.
//
// Its words. [Servers] is all of them. A server is one entry of the configuration, supervised for as long as
// the program runs. A conn is one connection to it: mcp-go cannot reconnect, so every attempt is a new one. A child is
// the process behind a stdio conn (package child). A wire is mcp-go's transport with our eyes on it: it keeps the raw bytes of what the server
// said, because mcp-go's own types lose part of every schema and fail whole lists over one bad tool. A trace is what one
// request left behind on its way; the outcome of a call is read off it. A run is one call under way on a conn, with the
// way to the person who answers for it. A want is what a server asks of that person meanwhile: a form, an address to open
// (elicitation), or leave to ask the model (sampling).
//
// Start reading at [Servers.Call] (call.go); server.go keeps a server connected, conn.go makes a connection, wire.go and http.go watch what goes over
// it, tool.go and result.go read what comes back, asked.go, elicit.go, form.go and sample.go what a server asks. What compiles a schema and checks
// arguments is package schema, what starts and ends a program is package child, what bounds one is package confine. It may import core and
// these; a new trait of a transport is a line in wire.go, a new limit one in config.go.
//
// Invariants.
//   - A tool runs only for an [agent.RunToken], in the definition that was approved, with the approved
//     arguments, and the call is made at most once. There is one place in the module that calls CallTool. Since 2026-07-28
//     a server may answer that it needs something first; the call is then continued by a request with the same arguments
//     and what a person answered, which is the protocol's way to go on, and never by one without.
//   - Call tells three outcomes apart: known (a nil error, also when the tool failed), certainly not run
//     ([agent.ErrNotRun]), and unknown (any other error). In doubt it is unknown.
//   - No request of a call is sent a second time unless nothing of it left, or the server said in the protocol's words that it does
//     not know our session: not by us, by mcp-go or by net/http, and not to follow a redirect.
//   - A server that is down, slow or talks nonsense costs only its own tools. List says which, in words for
//     the model and for people. A definition that is too large costs its tool.
//   - Nothing that a server sends is trusted or unbounded: lines, bodies, lists, schemas, results and stderr
//     have limits, and a schema never makes us load anything. A check of arguments counts its steps and is given up after
//     many: it says so, and people are asked.
//   - What a server wants is put only to the person whose call it is, and only where that is certain: a request on a
//     conn with several calls, which only a shared one has, is answered with cancel. It is shown whole or not at all, and an address is never fetched.
//     Only that person's yes is a yes: no answer, an error, the end of the call are a cancel. The time in which a person
//     is asked is not the server's.
//   - The model is asked for a server only if its entry says so, and then only what that person has read in full and
//     allowed, once each time: texts, without tools and without anything of the chat.
//   - A session belongs to one chat, where the server gives sessions: what it keeps for one chat no other sees. One entry of the
//     configuration can say that all chats share one.
//   - A child sees PATH, HOME and what its entry lists, never our environment. It dies with us, and so does what it started.
//   - No header, environment value or query of a URL enters an error or a log line.
//
// Left out. Roots are refused: we declare no such capability. So is sampling with tools, pictures or context. Over HTTP with SSE nothing
// can be asked, because mcp-go does not hear it there. A call that is refused until an address is opened (-32042)
// is not made again when it was: the model may ask for it anew. A form's fields stand required first, then by name, because mcp-go loses their order. A call that goes on while a
// person is asked does not outlive this process: who is asked again after a restart is asked by a new call. OAuth, resources,
// prompts and tasks are not used.
package mcp
