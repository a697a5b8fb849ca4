package fakellm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Body is a request's parts that the service reads.
type Body struct {
	Model         string         `json:"model"`
	Messages      []Message      `json:"messages"`
	Tools         []Tool         `json:"tools"`
	Stream        bool           `json:"stream"`
	StreamOptions *StreamOptions `json:"stream_options"`
	raw           []byte
}

// StreamOptions is the request's field of that name.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// Message is one message of a request.
type Message struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCalls  []Call  `json:"tool_calls"`
	ToolCallID string  `json:"tool_call_id"`
	Pictures   int     `json:"-"` // parts of the content that are pictures; Content is the text of the others
}

// UnmarshalJSON reads a message whose content is a string, or parts. https://platform.openai.com/docs/api-reference/chat/create
func (m *Message) UnmarshalJSON(b []byte) error {
	type plain Message
	var whole struct {
		plain
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(b, &whole); err != nil {
		return err
	}
	*m = Message(whole.plain)
	if !bytes.HasPrefix(whole.Content, []byte("[")) {
		if whole.Content == nil {
			return nil
		}
		return json.Unmarshal(whole.Content, &m.Content)
	}
	var parts []struct {
		Type, Text string
		Image      struct{ URL string } `json:"image_url"`
	}
	if err := json.Unmarshal(whole.Content, &parts); err != nil {
		return err
	}
	m.Content = new("")
	for _, p := range parts {
		switch {
		case p.Type == "text":
			*m.Content += p.Text
		case p.Type == "image_url" && strings.HasPrefix(p.Image.URL, "data:image/"):
			m.Pictures++
		default:
			return fmt.Errorf("Invalid value: '%s'. Supported values are: 'text', 'image_url'", p.Type)
		}
	}
	return nil
}

// Call is a tool call, in a request as in an answer.
type Call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Tool is a tool that a request offers.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Refusal is why a request is not taken.
type Refusal struct{ Message, Param string }

func (r *Refusal) Error() string { return r.Message }

var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// The fields each object may have.
var known = map[string][]string{
	"":                            {"model", "messages", "tools", "stream", "stream_options", "temperature", "max_tokens", "max_completion_tokens", "tool_choice", "parallel_tool_calls"},
	"stream_options":              {"include_usage", "include_obfuscation"},
	"system":                      {"role", "content", "name"},
	"user":                        {"role", "content", "name"},
	"assistant":                   {"role", "content", "name", "refusal", "tool_calls"},
	"tool":                        {"role", "content", "tool_call_id"},
	"tool_calls[]":                {"id", "type", "function"},
	"tool_calls[].function":       {"name", "arguments"},
	"tools[]":                     {"type", "function"},
	"tools[].function":            {"name", "description", "parameters", "strict"},
	"tools[].function.parameters": nil,
}

// Check refuses what a strict service refuses. allow names unknown fields of assistant messages and their calls that are taken all the same.
func Check(body []byte, allow ...string) (Body, *Refusal) {
	no := func(param, format string, a ...any) (Body, *Refusal) {
		return Body{}, &Refusal{fmt.Sprintf(format, a...), param}
	}
	var b Body
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&b); err != nil {
		return no("", "We could not parse the JSON body of your request: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return no("", "We could not parse the JSON body of your request: more than one value")
	}
	b.raw = body
	var top map[string]json.RawMessage
	_ = json.Unmarshal(body, &top) // it decoded above
	if r := fields(top, "", "", nil); r != nil {
		return Body{}, r
	}
	if b.Model == "" {
		return no("model", "you must provide a model parameter")
	}
	if len(b.Messages) == 0 {
		return no("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	if b.StreamOptions != nil && !b.Stream {
		return no("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if raw, ok := top["stream_options"]; ok {
		if r := object(raw, "stream_options", "stream_options", nil); r != nil {
			return Body{}, r
		}
	}
	if r := checkMessages(b.Messages, top["messages"], allow); r != nil {
		return Body{}, r
	}
	if r := checkTools(b.Tools, top["tools"]); r != nil {
		return Body{}, r
	}
	return b, nil
}

func checkMessages(messages []Message, raw json.RawMessage, allow []string) *Refusal {
	var each []map[string]json.RawMessage
	_ = json.Unmarshal(raw, &each) // it decoded as messages
	seen := map[string]bool{}
	var open []string // calls that wait for their result, in order
	for i, m := range messages {
		at := fmt.Sprintf("messages[%d]", i)
		no := func(format string, a ...any) *Refusal { return &Refusal{fmt.Sprintf(format, a...), at} }
		if !slices.Contains([]string{"system", "user", "assistant", "tool"}, m.Role) {
			return no("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'tool'.", m.Role)
		}
		var extras []string
		if m.Role == "assistant" {
			extras = allow
		}
		if r := fields(each[i], m.Role, at, extras); r != nil {
			return r
		}
		if m.Role != "tool" && len(open) > 0 {
			return no("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %v", open)
		}
		switch m.Role {
		case "tool":
			if k := slices.Index(open, m.ToolCallID); k < 0 {
				return no("Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' ('%s').", m.ToolCallID)
			} else {
				open = slices.Delete(open, k, k+1)
			}
			if m.Content == nil {
				return no("Invalid value for 'content': expected a string, got null.")
			}
		case "assistant":
			if (m.Content == nil || *m.Content == "") && len(m.ToolCalls) == 0 {
				return no("Invalid value for 'content': expected a string, got null.")
			}
			if v, ok := each[i]["tool_calls"]; ok && len(m.ToolCalls) == 0 {
				return no("Invalid 'tool_calls': %s. Expected an array with minimum length 1.", v)
			}
			var rawCalls []json.RawMessage
			_ = json.Unmarshal(each[i]["tool_calls"], &rawCalls) // absent: none
			for n, c := range m.ToolCalls {
				if r := object(rawCalls[n], "tool_calls[]", at, allow); r != nil {
					return r
				}
				if c.ID == "" || seen[c.ID] {
					return no("Invalid 'tool_calls[%d].id': '%s' is empty or was used before.", n, c.ID)
				}
				if c.Type != "function" {
					return no("Invalid 'tool_calls[%d].type': '%s'.", n, c.Type)
				}
				if !functionName.MatchString(c.Function.Name) {
					return no("Invalid 'tool_calls[%d].function.name': string does not match pattern '%s'.", n, functionName)
				}
				var args map[string]any
				if json.Unmarshal([]byte(c.Function.Arguments), &args) != nil || args == nil {
					return no("Invalid 'tool_calls[%d].function.arguments': not a JSON object: %s", n, c.Function.Arguments)
				}
				seen[c.ID] = true
				open = append(open, c.ID)
			}
		default:
			if m.Content == nil || *m.Content == "" {
				return no("Invalid value for 'content': expected a non-empty string.")
			}
		}
	}
	if len(open) > 0 {
		return &Refusal{fmt.Sprintf("The following tool_call_ids did not have response messages: %v", open), "messages"}
	}
	if last := messages[len(messages)-1].Role; last != "user" && last != "tool" {
		return &Refusal{"The last message must be a user's or a tool's.", "messages"}
	}
	return nil
}

func checkTools(tools []Tool, raw json.RawMessage) *Refusal {
	if raw != nil && len(tools) == 0 {
		return &Refusal{"Invalid 'tools': empty array. Expected an array with minimum length 1.", "tools"}
	}
	var each []json.RawMessage
	_ = json.Unmarshal(raw, &each) // absent: none
	names := map[string]bool{}
	for i, t := range tools {
		at := fmt.Sprintf("tools[%d]", i)
		if r := object(each[i], "tools[]", at, nil); r != nil {
			return r
		}
		if t.Type != "function" || !functionName.MatchString(t.Function.Name) {
			return &Refusal{fmt.Sprintf("Invalid '%s.function.name': string does not match pattern '%s'.", at, functionName), at}
		}
		if names[t.Function.Name] {
			return &Refusal{"Tool names must be unique: " + t.Function.Name, at}
		}
		names[t.Function.Name] = true
		var p struct {
			Type       string          `json:"type"`
			Properties json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(t.Function.Parameters, &p) != nil || p.Type != "object" || p.Properties == nil {
			return &Refusal{fmt.Sprintf("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"' with properties, got %s.", t.Function.Name, t.Function.Parameters), at + ".function.parameters"}
		}
	}
	return nil
}

// object checks the fields of a raw object of a kind, and of its function if it has one.
func object(raw json.RawMessage, kind, at string, allow []string) *Refusal {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return &Refusal{fmt.Sprintf("Invalid type for '%s': expected an object.", at), at}
	}
	if r := fields(m, kind, at, allow); r != nil {
		return r
	}
	if f, ok := m["function"]; ok {
		return object(f, kind+".function", at+".function", nil)
	}
	return nil
}

func fields(m map[string]json.RawMessage, kind, at string, allow []string) *Refusal {
	for k := range m {
		if !slices.Contains(known[kind], k) && !slices.Contains(allow, k) {
			if at != "" {
				k = at + "." + k
			}
			return &Refusal{fmt.Sprintf("Unknown parameter: '%s'.", k), k}
		}
	}
	return nil
}
