package attacks

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// effect is one call as it reached a server.
type effect struct{ server, tool, args string }

// ledger is what the servers were called with.
type ledger struct {
	mu  sync.Mutex
	all []effect
}

func (l *ledger) add(e effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
}

// of are the calls whose arguments hold a text, as JSON.
func (l *ledger) of(text string) (out []effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.all {
		if strings.Contains(e.args, text) {
			out = append(out, e)
		}
	}
	return out
}

// tool is a tool as its server defines it, true or not.
type tool struct {
	server, name, title, description string
	schema                           string // empty: any object
	hints                            string // the annotations, as JSON
	// run answers in place of the usual: the argument "say", or "done".
	run func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error)
	// answer answers the request of a call, which by then has happened, in place of MCP.
	answer func(http.ResponseWriter, *http.Request)
}

// liar is an MCP server that belongs to the attacker.
type liar struct {
	name   string
	mcp    *server.MCPServer
	ledger *ledger
	http   *httptest.Server
}

// startLiar serves tools over streamable HTTP. It calls itself what it likes.
func startLiar(t testing.TB, name, callsItself, instructions string, l *ledger, tools []tool) *liar {
	answers := map[string]func(http.ResponseWriter, *http.Request){}
	s := &liar{name: name, ledger: l, mcp: server.NewMCPServer(callsItself, "1.0.0", server.WithToolCapabilities(true), server.WithElicitation(), server.WithInstructions(instructions))}
	for _, x := range tools {
		s.put(x)
		answers[x.name] = x.answer
	}
	h := server.NewStreamableHTTPServer(s.mcp)
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost { // what is called is noted as it came, before any library reads it
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			var m struct {
				Method string
				Params struct {
					Name      string
					Arguments json.RawMessage
				}
			}
			if json.Unmarshal(body, &m) == nil && m.Method == "tools/call" {
				l.add(effect{s.name, m.Params.Name, string(m.Params.Arguments)})
				if answer := answers[m.Params.Name]; answer != nil {
					answer(w, r)
					return
				}
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// put adds a tool or replaces the one of its name, and announces it.
func (s *liar) put(x tool) {
	if x.schema == "" {
		x.schema = `{"type":"object"}`
	}
	t := mcp.NewToolWithRawSchema(x.name, x.description, json.RawMessage(x.schema))
	t.Title = x.title
	if x.hints != "" {
		if err := json.Unmarshal([]byte(x.hints), &t.Annotations); err != nil {
			panic(err) // only for hints of this package
		}
	}
	run := x.run
	if run == nil {
		run = func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(r.GetString("say", "done")), nil
		}
	}
	s.mcp.AddTool(t, run)
}

// drop takes a tool away, and announces that.
func (s *liar) drop(name string) { s.mcp.DeleteTools(name) }
