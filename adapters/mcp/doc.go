// Package mcp runs the tools of MCP servers: it implements [agent.Tools] over mcp-go, for servers reached by
// stdio, streamable HTTP, HTTP with SSE, or inside this process.
//
// Its words. [Servers] is all of them. A server is one entry of the configuration, supervised for as long as
// the program runs. A conn is one connection to it: mcp-go cannot reconnect, so every attempt is a new one. A child is
// the process behind a stdio conn. A wire is mcp-go's transport with our eyes on it: it keeps the raw bytes of what the server
// said, because mcp-go's own types lose part of every schema and fail whole lists over one bad tool. A trace is what one
// request left behind on its way; the outcome of a call is read off it.
//
// Invariants.
//   - A tool runs only for an [agent.RunToken], in the definition that was approved, with the approved
//     arguments, and the request is sent at most once. There is one place in the module that calls CallTool.
//   - Call tells three outcomes apart: known (a nil error, also when the tool failed), certainly not run
//     ([agent.ErrNotRun]), and unknown (any other error). In doubt it is unknown.
//   - A server that is down, slow or talks nonsense costs only its own tools. List says which, in words for
//     the model and for people.
//   - Nothing that a server sends is trusted or unbounded: lines, bodies, lists, schemas, results and stderr
//     have limits, and a schema never makes us load anything.
//   - A child sees PATH, HOME and what its entry lists, never our environment. It dies with us, and so does what it started.
//   - No header, environment value or query of a URL enters an error or a log line.
//
// Left out. Sampling, elicitation and roots are refused: we declare no such capability. OAuth, resources,
// prompts and tasks are not used.
package mcp
