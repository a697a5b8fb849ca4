package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// numbers is the input schema of tools that take numbers, with a keyword at the top that mcp-go's own types
// would lose.
const numbers = `{"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"],"minProperties":1,"additionalProperties":false}`

// EchoSchema is the input schema of echo, byte for byte.
const EchoSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"text":{"type":"string","pattern":"^(?!secret).*$"},"n":{"type":"number"}},"anyOf":[{"required":["text"]},{"required":["n"]}],"description":"kept"}`

func (s *Server) addTools() {
	add := func(name, description, schema string, f server.ToolHandlerFunc, hints ...bool) {
		t := mcp.NewToolWithRawSchema(name, description, json.RawMessage(schema))
		if len(hints) == 3 {
			t.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &hints[0], DestructiveHint: &hints[1], IdempotentHint: &hints[2]}
		}
		s.MCP.AddTool(t, f)
	}
	const none = `{"type":"object"}`
	// echo answers with its arguments as they arrived.
	add("echo", "Says what it was given.", EchoSchema, s.echo, true, false, true)
	// write records an effect.
	add("write", "Writes to the ledger.", `{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path"]}`, s.write, false, true, false)
	// fail fails as tools do; refuse fails as servers do, with a JSON-RPC error.
	add("fail", "Fails.", none, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("the disk is full"), nil
	})
	add("refuse", "Answers with a JSON-RPC error.", none, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, fmt.Errorf("refused by the test server")
	})
	// keep keeps a text for the session that it came on; recall gives it back. Over stdio the process is the session.
	add("keep", "Keeps a text.", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.kept.Store(session(ctx), r.GetString("text", ""))
		return mcp.NewToolResultText("kept"), nil
	})
	add("recall", "Says what was kept.", none, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text, found := s.kept.Load(session(ctx))
		if !found {
			text = "nothing is kept"
		}
		return mcp.NewToolResultText(fmt.Sprint(text)), nil
	})
	// slow records that it began, and waits for Release or for the end of the call.
	add("slow", "Waits.", none, s.slow)
	// progress reports n steps.
	add("progress", "Reports progress.", numbers, s.steps)
	// big answers with n bytes of text.
	add("big", "Answers with n bytes.", numbers, func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = s.Ledger.record(Effect{Tool: "big", Phase: "did"})
		return mcp.NewToolResultText(strings.Repeat("a", r.GetInt("n", 0))), nil
	})
	add("image", "Answers with an image, a sound, a resource and a link.", none, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b := base64.StdEncoding.EncodeToString(make([]byte, 1234))
		return &mcp.CallToolResult{Content: []mcp.Content{
			mcp.NewTextContent("look:"), mcp.NewImageContent(b, "image/png"), mcp.NewAudioContent(b, "audio/wav"),
			mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: "file:///notes.txt", MIMEType: "text/plain", Text: "inside"}),
			mcp.NewResourceLink("file:///big.bin", "big.bin", "", "application/octet-stream"),
		}}, nil
	})
	// structured answers with structured content alone, holding a number that floats cannot.
	add("structured", "Answers with structured content.", none, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: json.RawMessage(`{"id":9007199254740993,"ok":true}`)}, nil
	})
	// env answers with its environment, one variable a line.
	add("env", "Shows its environment.", none, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(strings.Join(os.Environ(), "\n")), nil
	})
	// ask asks its caller for input.
	add("ask", "Elicits input.", none, s.ask)
	// elicit, elicit_url and sample ask back in a way that works in every version of the protocol; see elicit.go.
	s.addElicitors(add)
	// crash records an effect and ends the process without an answer.
	add("crash", "Dies.", none, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = s.Ledger.record(Effect{Tool: "crash", Phase: "did"})
		fmt.Fprintln(os.Stderr, "crashing on request")
		os.Exit(3)
		return nil, nil
	})
	// change gives the tool mutable another definition, which is announced.
	add("change", "Changes mutable.", none, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.Change()
		return mcp.NewToolResultText("changed"), nil
	})
	s.Change()
}

// Change gives the tool mutable another definition and announces it.
func (s *Server) Change() {
	s.mu.Lock()
	s.version++
	d := fmt.Sprintf("Version %d.", s.version)
	s.mu.Unlock()
	s.MCP.AddTool(mcp.NewToolWithRawSchema("mutable", d, json.RawMessage(`{"type":"object"}`)),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_ = s.Ledger.record(Effect{Tool: "mutable", Phase: "did"})
			return mcp.NewToolResultText(d), nil
		})
}

// Break replaces a tool's schema by one that is no JSON Schema, and announces it.
func (s *Server) Break(name string) {
	s.MCP.AddTool(mcp.NewToolWithRawSchema(name, "Broken.", json.RawMessage(`{"type":"object","properties":{"a":{"type":"strnig"}}}`)), s.echo)
}

func raw(r mcp.CallToolRequest) json.RawMessage {
	b, err := json.Marshal(r.GetRawArguments())
	if err != nil {
		return nil
	}
	return b
}

func (s *Server) echo(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(string(raw(r))), nil
}

func (s *Server) write(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if err := s.Ledger.record(Effect{Tool: "write", Args: raw(r), Phase: "did"}); err != nil {
		return nil, err
	}
	return mcp.NewToolResultText("written"), nil
}

func (s *Server) slow(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if err := s.Ledger.record(Effect{Tool: "slow", Args: raw(r), Phase: "began"}); err != nil {
		return nil, err
	}
	select {
	case <-s.release:
		if err := s.Ledger.record(Effect{Tool: "slow", Phase: "did"}); err != nil {
			return nil, err
		}
		return mcp.NewToolResultText("done"), nil
	case <-ctx.Done():
		_ = s.Ledger.record(Effect{Tool: "slow", Phase: "cancelled"})
		return nil, ctx.Err()
	}
}

func (s *Server) steps(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	n := r.GetInt("n", 0)
	for i := 1; i <= n; i++ {
		if r.Params.Meta != nil && r.Params.Meta.ProgressToken != nil {
			_ = server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": r.Params.Meta.ProgressToken, "progress": i, "total": n, "message": fmt.Sprintf("step %d", i)})
		}
	}
	// The last progress is on its way; a call that waits shows it.
	select {
	case <-s.release:
	case <-ctx.Done():
	}
	return mcp.NewToolResultText("finished"), nil
}

func (s *Server) ask(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	got, err := server.ServerFromContext(ctx).RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
		Message: "password?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"p":{"type":"string"}}}`)}})
	if err != nil {
		return mcp.NewToolResultError("could not ask: " + err.Error()), nil
	}
	return mcp.NewToolResultText(string(got.Action)), nil
}

// session is the session that a call came on; empty where there is none.
func session(ctx context.Context) string {
	if s := server.ClientSessionFromContext(ctx); s != nil {
		return s.SessionID()
	}
	return ""
}
