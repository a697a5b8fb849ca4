package tasks

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Hosted is a server of a service on the net, stood in for: its tools have the names, the parameters that the tasks use, and the annotations of
// the real one, and answer a fixture. What its tools did is on record.
type Hosted struct {
	mu      sync.Mutex
	did     []string // server, tool and arguments of what was no read
	fetched int
}

// Fetched is how many addresses were fetched.
func (h *Hosted) Fetched() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fetched
}

// Did is all that was done so far that was no read: server, tool, arguments.
func (h *Hosted) Did() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.did)
}

// tool is how a real server describes one of its tools.
type tool struct {
	name, title string
	reads       *bool  // readOnlyHint; nil: not said
	schema      string // properties
	required    string
	answer      string // empty: it does something
}

var yes, no = true, false

const repo = `"owner":{"type":"string"},"repo":{"type":"string"}`

// githubTools are of github/github-mcp-server, as its pkg/github/__toolsnaps__ give them: reads are annotated, most writes only have a title,
// and nothing says openWorldHint.
var githubTools = []tool{
	{"search_issues", "Search issues", &yes, `"query":{"type":"string"},` + repo, `"query"`, `{"total_count":0,"items":[]}`},
	{"list_issues", "List issues", &yes, `"state":{"type":"string","enum":["OPEN","CLOSED"]},"since":{"type":"string"},` + repo, `"owner","repo"`, `[{"number":11},{"number":14},{"number":19}]`},
	{"issue_write", "Create or update issue/pull request", nil,
		`"method":{"type":"string","enum":["create","update"]},"issue_number":{"type":"number"},"title":{"type":"string"},"body":{"type":"string"},"state":{"type":"string","enum":["open","closed"]},"state_reason":{"type":"string","enum":["completed","not_planned","duplicate"]},` + repo, `"method","owner","repo"`, ""},
	{"list_pull_requests", "List pull requests", &yes, `"state":{"type":"string","enum":["open","closed","all"]},` + repo, `"owner","repo"`, `[{"number":40},{"number":41}]`},
	{"pull_request_read", "Get details for a single pull request", &yes, `"method":{"type":"string","enum":["get","get_diff","get_status","get_files","get_check_runs"]},"pullNumber":{"type":"number"},` + repo, `"method","owner","repo","pullNumber"`, `{"number":42,"title":"Two locks"}`},
	{"pull_request_review_write", "Write operations (create, submit, delete) on pull request reviews.", &no,
		`"method":{"type":"string"},"pullNumber":{"type":"number"},"event":{"type":"string","enum":["APPROVE","REQUEST_CHANGES","COMMENT"]},"body":{"type":"string"},` + repo, `"method","owner","repo","pullNumber"`, ""},
	{"create_pull_request", "Open new pull request", &no, `"title":{"type":"string"},"head":{"type":"string"},"base":{"type":"string"},"body":{"type":"string"},` + repo, `"owner","repo","title","head","base"`, ""},
}

// slackTools are of @modelcontextprotocol/server-slack 2025.4.25, as it lists them: no titles, no annotations.
var slackTools = []tool{
	{"slack_list_channels", "", nil, `"limit":{"type":"number"},"cursor":{"type":"string"}`, "", `{"ok":true,"channels":[{"id":"C0TEAM","name":"team"}]}`},
	{"slack_get_users", "", nil, `"cursor":{"type":"string"},"limit":{"type":"number"}`, "", `{"ok":true,"members":[{"id":"U0ANA","name":"ana"}]}`},
	{"slack_post_message", "", nil, `"channel_id":{"type":"string"},"text":{"type":"string"}`, `"channel_id","text"`, ""},
}

// webTools are ours: no task needs them, and no way of working may let them run unasked. A read can carry out what was read before.
var webTools = []tool{{"fetch", "Fetch an address", &yes, `"url":{"type":"string"}`, `"url"`, "A page."}}

// Servers are the stand-ins, by name, to be served at /mcp.
func (h *Hosted) Servers() map[string]http.Handler {
	all := map[string]http.Handler{}
	for name, tools := range map[string][]tool{"github": githubTools, "slack": slackTools, "web": webTools} {
		s := server.NewMCPServer(name, "1.0.0", server.WithToolCapabilities(false))
		for _, t := range tools {
			def := mcp.NewToolWithRawSchema(t.name, t.title, json.RawMessage(`{"type":"object","properties":{`+t.schema+`},"required":[`+t.required+`]}`))
			def.Annotations = mcp.ToolAnnotation{Title: t.title, ReadOnlyHint: t.reads}
			if name == "web" {
				def.Annotations.OpenWorldHint = &yes
			}
			s.AddTool(def, h.run(name, t))
		}
		all[name] = server.NewStreamableHTTPServer(s)
	}
	return all
}

func (h *Hosted) run(name string, t tool) server.ToolHandlerFunc {
	return func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if t.name == "fetch" {
			h.fetched++
		}
		if t.answer != "" {
			return mcp.NewToolResultText(t.answer), nil
		}
		b, err := json.Marshal(r.GetArguments())
		if err != nil {
			return nil, err
		}
		h.did = append(h.did, name+" "+t.name+" "+string(b))
		return mcp.NewToolResultText(`{"ok":true}`), nil
	}
}
