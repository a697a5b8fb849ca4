package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

// shape is which optional parts a request has. Everything that not every service takes is here, so that one that
// refuses it can be asked once more without.
type shape struct {
	usage   bool // stream_options.include_usage
	extras  bool // provider fields of earlier replies
	simple  bool // schemas and descriptions cut down to what the strictest service takes
	stream  bool
	carried []string // names of the extra fields in the request, for reading a refusal
}

// request makes the parameters of one request.
func request(model string, talk []turn.Utterance, offered []agent.ToolSpec, s *shape) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: model, Messages: messages(talk, s)}
	for _, t := range offered {
		raw, description := schema(t.InputSchema), strings.ToValidUTF8(t.Description, "\uFFFD")
		if s.simple {
			raw, description = simpler(raw, description)
		}
		def := shared.FunctionDefinitionParam{Name: Alias(t.Tool.Server, t.Tool.Name)}
		if description != "" {
			def.Description = openai.String(description)
		}
		def.SetExtraFields(map[string]any{"parameters": raw}) // as bytes: FunctionParameters is a map and would lose numbers and order
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(def))
	}
	if s.stream && s.usage {
		p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	}
	if s.stream {
		p.SetExtraFields(map[string]any{"stream": true})
	}
	return p
}

// messages puts the talk into the wire's roles. Neighbours in the person's role become one message, because some
// services insist that roles alternate; every call is followed by exactly its result.
func messages(talk []turn.Utterance, s *shape) []openai.ChatCompletionMessageParamUnion {
	out := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system)}
	var pending []string
	flush := func() {
		if len(pending) > 0 {
			out = append(out, openai.UserMessage(strings.Join(pending, "\n\n")))
			pending = nil
		}
	}
	// A reply's own provider fields (reasoning) belong to the turn they were made in; a call's (signatures) always travel.
	latest := 0
	for i, u := range talk {
		if u.Role == turn.RoleUser {
			latest = i
		}
	}
	for i, u := range talk {
		switch u.Role {
		case turn.RoleUser:
			pending = append(pending, spoken(u))
		case turn.RoleNote:
			pending = append(pending, noted(u))
		case turn.RoleAssistant:
			if u.Text == "" && len(u.Calls) == 0 {
				continue // services refuse a message without content
			}
			flush()
			out = append(out, assistant(u, s, i > latest))
			for _, c := range u.Calls {
				out = append(out, openai.ToolMessage(resulted(c.Result), string(c.ID)))
			}
		}
	}
	flush()
	if len(out) == 1 {
		out = append(out, openai.UserMessage("(no message)"))
	}
	return out
}

func assistant(u turn.Utterance, s *shape, recent bool) openai.ChatCompletionMessageParamUnion {
	m := openai.ChatCompletionAssistantMessageParam{}
	if u.Text != "" {
		m.Content.OfString = openai.String(strings.ToValidUTF8(u.Text, "\uFFFD"))
	}
	if extra := s.extra(u.Extra, "role", "content", "tool_calls", "refusal"); recent && extra != nil {
		m.SetExtraFields(extra)
	}
	for _, c := range u.Calls {
		call := &openai.ChatCompletionMessageFunctionToolCallParam{
			ID:       string(c.ID),
			Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: recalled(c.Server, c.Name), Arguments: written(c.Args)},
		}
		if extra := s.extra(c.Extra, "id", "type", "function", "index"); extra != nil {
			call.SetExtraFields(extra)
		}
		m.ToolCalls = append(m.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: call})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &m}
}

// extra reads stored provider fields, without those that are ours to write.
func (s *shape) extra(raw json.RawMessage, ours ...string) map[string]any {
	if !s.extras || len(raw) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	var out map[string]any
	for k, v := range fields {
		if slices.Contains(ours, k) {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[k] = v
		if !slices.Contains(s.carried, k) {
			s.carried = append(s.carried, k)
		}
	}
	return out
}

// written is a call's arguments as the wire wants them: a string that holds a JSON object. What a model wrote
// otherwise is kept as a string (turn.Proposal.Args), and goes back wrapped: several services parse this field and refuse the request.
func written(args json.RawMessage) string {
	args = bytes.TrimSpace(args)
	if len(args) == 0 || bytes.Equal(args, []byte("null")) {
		return "{}"
	}
	if args[0] == '{' && json.Valid(args) {
		return strings.ToValidUTF8(string(args), "\uFFFD")
	}
	var asWritten string
	if json.Unmarshal(args, &asWritten) != nil {
		asWritten = string(args)
	}
	if t := strings.TrimSpace(asWritten); strings.HasPrefix(t, "{") && json.Valid([]byte(t)) {
		return strings.ToValidUTF8(t, "\uFFFD")
	}
	if strings.TrimSpace(asWritten) == "" {
		return "{}"
	}
	b, err := json.Marshal(map[string]string{"malformed_arguments": strings.ToValidUTF8(asWritten, "\uFFFD")})
	if err != nil {
		return "{}"
	}
	return string(b)
}
