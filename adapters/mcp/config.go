package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/nodhq/nod/adapters/mcp/child"
	"github.com/nodhq/nod/adapters/mcp/confine"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/permission"
)

// Config says which servers there are.
type Config struct {
	// Servers by name. The name is the operator's and keys tools, policies and grants: what a server calls itself never does.
	Servers map[string]Server
	// Log takes what operators need; nil discards it.
	Log *slog.Logger
	// Version is what servers see of ours. Empty: "dev".
	Version string
}

// Server is one MCP server. Exactly one of Command, URL and InProcess is set.
type Server struct {
	// Command is the program and its arguments, for stdio.
	Command []string
	// Env is what the program sees besides PATH and HOME. Secret: never logged.
	Env map[string]string
	// Secrets are the parts of Command that are never logged, beside what stands in an address behind its host.
	Secrets []string
	// Dir is the program's working directory; empty: Home, or ours.
	Dir string
	// Home is a directory of the program's own, which is made if it is missing: its HOME, and in it its TMPDIR. Empty: it shares our HOME.
	Home string
	// Bounds are what the program may reach besides Home, Dir and what every program needs, where the kernel can. nil: whatever its user
	// may.
	Bounds *confine.Bounds
	// User is whom the program runs as; nil: as we do. Only root can give it another.
	User *child.User

	// URL is the address of a streamable HTTP or SSE server.
	URL string
	// Headers go with every HTTP request. Secret: never logged, never sent to another host.
	Headers map[string]string
	// Mark adds to a request's headers what says which work it is for; nil: nothing does.
	Mark func(context.Context, http.Header)

	// Transport is "stdio", "http" or "sse". Empty chooses by what is set; a URL is tried as streamable HTTP first, then as SSE.
	Transport string

	// InProcess makes a transport to a server in this process, for each conn. Its tools end with their context: Close waits for them.
	InProcess func() transport.Interface

	// Timeout bounds one call; 0 means 60 s. After it the outcome is unknown, so be generous: a long one costs people only time.
	Timeout time.Duration
	// ConnectTimeout bounds one attempt to connect and list; 0 means 2 min: npx and uvx download first, and begin again when they are
	// ended.
	ConnectTimeout time.Duration

	// Shared has all chats use one session with the server: for servers that keep nothing, or nothing that another chat must not see.
	Shared bool

	Source permission.Source
	// Metadata is what the operator's own tools declare about themselves, by tool name.
	Metadata map[string]permission.Metadata
	// Preview names, for a tool that replaces a text, the one that reads it: see [agent.ToolSpec].
	Preview map[string]string
	// Named are the tools that rules of the operator name. That the server has one of them not is logged: such a rule protects nothing.
	Named []string
	// Description and Icon are shown to people. Empty: what the server says of itself, which is untrusted.
	Description, Icon string
	// Trusted is shown to people. What it changes is the policy's business.
	Trusted bool
}

// The kinds of connection.
const (
	kindStdio     = "stdio"
	kindHTTP      = "http"
	kindSSE       = "sse"
	kindInProcess = "in-process"
)

// validate returns every mistake at once, each naming its field.
func (c Config) validate() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		for _, problem := range c.Servers[name].problems() {
			errs = append(errs, fmt.Errorf("mcp.servers.%s%s", name, problem))
		}
		if name == "" {
			errs = append(errs, errors.New("mcp.servers: a server needs a name"))
		}
	}
	return errors.Join(errs...)
}

func (s Server) problems() (p []string) {
	kinds := []bool{len(s.Command) > 0, s.URL != "", s.InProcess != nil}
	if len(slices.DeleteFunc(kinds, func(set bool) bool { return !set })) != 1 {
		p = append(p, ": give either command (a program to start) or url (a server that runs), not both and not neither")
	}
	if len(s.Command) > 0 && s.Command[0] == "" {
		p = append(p, ".command: the first word, the program, is empty")
	}
	switch {
	case !slices.Contains([]string{"", kindStdio, kindHTTP, kindSSE}, s.Transport):
		p = append(p, fmt.Sprintf(".transport: %q is none of stdio, http, sse", s.Transport))
	case s.Transport == kindStdio && len(s.Command) == 0:
		p = append(p, ".transport: stdio needs a command")
	case s.Transport != "" && s.Transport != kindStdio && s.URL == "":
		p = append(p, ".transport: "+s.Transport+" needs a url")
	}
	if s.URL != "" {
		// The error of url.Parse quotes the URL, which may hold a key.
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			p = append(p, ".url: not an http:// or https:// address")
		}
	}
	if s.Timeout < 0 || s.ConnectTimeout < 0 {
		p = append(p, ".timeout: must not be negative")
	}
	return p
}

// program is what a stdio server's entry starts.
func (s Server) program() child.Program {
	return child.Program{Command: s.Command, Env: s.Env, Dir: s.Dir, Home: s.Home, Bounds: s.Bounds, User: s.User}
}

func (s Server) kind() string {
	switch {
	case s.InProcess != nil:
		return kindInProcess
	case len(s.Command) > 0:
		return kindStdio
	case s.Transport == kindSSE:
		return kindSSE
	default:
		return kindHTTP
	}
}

// pace is how patient we are. Tests shorten it.
type pace struct {
	reconnect backoff.Exponential // between attempts to connect
	settled   time.Duration       // a conn that lived this long starts the backoff afresh
	debounce  time.Duration       // quiet time after list_changed before listing again
	discover  time.Duration       // for the answer to server/discover; old servers ignore it
	stdin     time.Duration       // for a child to read what we write
	grace     time.Duration       // for a child to leave, once by EOF and once by SIGTERM
	cancelled time.Duration       // for a transport to return once its context ended
	refresh   time.Duration       // between lists of HTTP servers, which die without a sign
	await     time.Duration       // a call waits this long for a server that is away
	idle      time.Duration       // a chat that calls nothing for so long has no session of its own any more
}

var usualPace = pace{
	reconnect: backoff.Exponential{First: 500 * time.Millisecond, Most: 30 * time.Second, Jitter: 0.25}, settled: 30 * time.Second,
	debounce: 100 * time.Millisecond, discover: 2 * time.Second, stdin: 10 * time.Second, grace: 2 * time.Second,
	cancelled: 500 * time.Millisecond, refresh: 60 * time.Second, await: 10 * time.Second, idle: 30 * time.Minute,
}

// The limits on what servers send.
const (
	maxAnswer      = 8 << 20   // bytes of one message; more is not read
	maxSkipped     = 512 << 20 // bytes of one message that we are willing to skip; more ends the conn
	maxResult      = 100_000   // characters of one result that the model reads, about 25,000 tokens
	maxKept        = 256 << 10 // bytes of structured content that is kept
	leastData      = 512       // characters of base64 that are taken for data; less may be a word
	maxErrorBody   = 64 << 10  // bytes of an HTTP error's body
	maxTools       = 1000      // tools of one server
	maxPages       = 100       // pages of one tools/list
	maxToolName    = 256       // bytes
	maxDescription = 8 << 10   // bytes of a tool's description
	maxDefinition  = 512 << 10 // bytes of one tool's whole definition
	maxDefinitions = 16 << 20  // bytes of the definitions of one server
	maxIcon        = 64 << 10  // bytes of a data: URI
)

const (
	defaultTimeout        = 60 * time.Second
	defaultConnectTimeout = 2 * time.Minute
)
