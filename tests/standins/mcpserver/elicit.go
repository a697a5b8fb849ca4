package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// addElicitors adds tools that want something of a person before they finish. They answer with input_required, which
// mcp-go's server turns into requests of its own where the client speaks an older version:
//
//   - elicit asks with the parameters in "params", of elicitation/create, and answers "ACTION CONTENT";
//   - elicit_url asks that "url" be opened, and answers "ACTION";
//   - sample asks with the parameters in "params", of sampling/createMessage, which nod refuses.
//
// Each records "did" once it has its answer. With "rounds" in the arguments, elicit asks that many times.
func (s *Server) addElicitors(add func(name, description, schema string, f server.ToolHandlerFunc, hints ...bool)) {
	s.MCP.EnableSampling()
	const any = `{"type":"object"}`
	add("elicit", "Elicits what it is told to.", any, s.elicit)
	add("elicit_url", "Asks for an address to be opened.", any, func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p := mcp.ElicitationParams{Mode: mcp.ElicitationModeURL, Message: r.GetString("message", "Sign in"), ElicitationID: "e1", URL: r.GetString("url", "")}
		return s.elicited(r, 1, p)
	})
	add("sample", "Asks the model what it is told to.", any, s.sampling)
}

// params decodes the argument of that name, whatever it holds.
func params(r mcp.CallToolRequest, into any) error {
	b, err := json.Marshal(r.GetArguments()["params"])
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

func (s *Server) elicit(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var p mcp.ElicitationParams
	if err := params(r, &p); err != nil {
		return nil, err
	}
	return s.elicited(r, r.GetInt("rounds", 1), p)
}

// elicited asks once a round. The state says how often it has asked.
func (s *Server) elicited(r mcp.CallToolRequest, rounds int, p mcp.ElicitationParams) (*mcp.CallToolResult, error) {
	asked := 0
	_, _ = fmt.Sscan(r.Params.RequestState, &asked)
	if asked < rounds {
		return server.NewInputRequestBuilder(fmt.Sprint(asked+1)).Elicit("it", p).ToolResult(), nil
	}
	got := server.ElicitationResponse(r.Params.InputResponses, "it")
	if got == nil {
		return mcp.NewToolResultError("no answer"), nil
	}
	content, err := json.Marshal(got.Content)
	if err != nil {
		return nil, err
	}
	if err := s.Ledger.record(Effect{Tool: r.Params.Name, Args: content, Phase: "did"}); err != nil {
		return nil, err
	}
	return mcp.NewToolResultText(string(got.Action) + " " + string(content)), nil
}

func (s *Server) sampling(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if r.Params.RequestState == "" {
		var p mcp.CreateMessageParams
		if err := params(r, &p); err != nil {
			return nil, err
		}
		return server.NewInputRequestBuilder("asked").Sample("it", p).ToolResult(), nil
	}
	got := server.SamplingResponse(r.Params.InputResponses, "it")
	if got == nil {
		return mcp.NewToolResultError("no answer"), nil
	}
	if err := s.Ledger.record(Effect{Tool: "sample", Phase: "did"}); err != nil {
		return nil, err
	}
	content, err := json.Marshal(got.Content)
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultText(got.Model + ": " + string(content) + " " + got.StopReason), nil
}
