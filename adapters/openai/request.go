package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

// shape is which optional parts a request has. Everything that not every service takes is here, so that one that
// refuses it can be asked once more without.
type shape struct {
	usage  bool // stream_options.include_usage
	extras bool // provider fields of earlier replies
	simple bool // schemas and descriptions cut down to what the strictest service takes
	stream bool
	// shortIDs says that calls go under ids of nine characters, which is all that Mistral's servers take.
	shortIDs bool
	carried  []string // names of the extra fields in the request, for reading a refusal
}

// The body of a request. These are openai-go's parameter types cut down to what is sent: writing them ourselves costs
// a fraction of the time for a long chat, and keeps schemas and provider fields as the bytes they came in.
type (
	body struct {
		Model         string         `json:"model"`
		Messages      []any          `json:"messages"` // message, or json.RawMessage where it has extra fields
		Tools         []tool         `json:"tools,omitempty"`
		Stream        bool           `json:"stream,omitempty"`
		StreamOptions *streamOptions `json:"stream_options,omitempty"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	message struct {
		Role       string  `json:"role"`
		Content    *string `json:"content,omitempty"`
		ToolCalls  []any   `json:"tool_calls,omitempty"` // call, or json.RawMessage likewise
		ToolCallID string  `json:"tool_call_id,omitempty"`
	}
	call struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Arguments   *string         `json:"arguments,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
)

// encode is json.Marshal that leaves <, > and & as they are.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// with is an object with more members, each with a comma before it. Without any it stays a value, which encodes faster.
func with(object any, members []byte) (any, error) {
	if len(members) == 0 {
		return object, nil
	}
	b, err := encode(object)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(append(append(b[:len(b)-1], members...), '}')), nil
}

// request is the body of one request.
func request(model string, talk []turn.Utterance, offered []agent.ToolSpec, s *shape) ([]byte, error) {
	b := body{Model: model, Stream: s.stream}
	var err error
	if b.Messages, err = messages(talk, s); err != nil {
		return nil, err
	}
	for _, t := range offered {
		raw, description := schema(t.InputSchema), clean(t.Description)
		if s.simple {
			raw, description = simpler(raw, description)
		}
		b.Tools = append(b.Tools, tool{"function", function{Name: Alias(t.Tool.Server, t.Tool.Name), Description: description, Parameters: raw}})
	}
	if s.stream && s.usage {
		b.StreamOptions = &streamOptions{true}
	}
	return encode(b)
}

// messages puts the talk into the wire's roles. Neighbours in the person's role become one message, because some
// services insist that roles alternate; every call is followed by exactly its result.
func messages(talk []turn.Utterance, s *shape) ([]any, error) {
	out := make([]any, 1, len(talk)+2)
	out[0] = message{Role: "system", Content: new(system)}
	var pending []string
	flush := func() {
		if len(pending) == 0 {
			return
		}
		text := strings.Join(pending, "\n\n")
		if strings.TrimSpace(text) == "" {
			text = "(an empty message)" // services refuse one
		}
		out = append(out, message{Role: "user", Content: &text})
		pending = nil
	}
	// A reply's own provider fields (reasoning) belong to the turn they were made in; a call's (signatures) always travel.
	latest := 0
	for i, u := range talk {
		if u.Role == turn.RoleUser {
			latest = i
		}
	}
	ids := s.callIDs(talk)
	for i, u := range talk {
		switch u.Role {
		case turn.RoleUser:
			pending = append(pending, spoken(u))
		case turn.RoleNote:
			pending = append(pending, noted(u))
		case turn.RoleAssistant:
			if strings.TrimSpace(u.Text) == "" && len(u.Calls) == 0 {
				continue // services refuse a message without content
			}
			flush()
			m, err := assistant(u, s, ids, i > latest)
			if err != nil {
				return nil, err
			}
			out = append(out, m)
			for _, c := range u.Calls {
				out = append(out, message{Role: "tool", ToolCallID: ids[c.ID], Content: new(resulted(c.Result))})
			}
		}
	}
	if len(out) == 1 && len(pending) == 0 {
		pending = []string{""}
	}
	flush()
	return out, nil
}

// callIDs are the ids that calls go under: what the model called them, because services check the form of their own, and where that is
// missing, used twice or of no form that they all take, nine characters made from ours.
func (s *shape) callIDs(talk []turn.Utterance) map[turn.CallID]string {
	ids, taken := map[turn.CallID]string{}, map[string]bool{}
	for _, u := range talk {
		for _, c := range u.Calls {
			id := c.ModelID
			if !plain(id) || len(id) > maxName || taken[id] || s.shortIDs && (len(id) != shortID || strings.ContainsAny(id, "_-")) {
				sum := sha256.Sum256([]byte(c.ID))
				id = digits.EncodeToString(sum[:])[:shortID]
			}
			taken[id] = true
			ids[c.ID] = id
		}
	}
	return ids
}

// shortID is the length of an id that every service takes.
const shortID = 9

func assistant(u turn.Utterance, s *shape, ids map[turn.CallID]string, recent bool) (any, error) {
	m := message{Role: "assistant"}
	if strings.TrimSpace(u.Text) != "" {
		m.Content = new(clean(u.Text))
	}
	for _, c := range u.Calls {
		x, err := with(call{ids[c.ID], "function", function{Name: recalled(c.Server, c.Name), Arguments: new(written(c.Args))}}, s.extra(c.Extra, "id", "type", "function", "index"))
		if err != nil {
			return nil, err
		}
		m.ToolCalls = append(m.ToolCalls, x)
	}
	if !recent {
		return m, nil
	}
	return with(m, s.extra(u.Extra, "role", "content", "tool_calls", "refusal", "tool_call_id"))
}

// extra is stored provider fields as members, without those that are ours to write.
func (s *shape) extra(raw json.RawMessage, ours ...string) []byte {
	if !s.extras || len(raw) == 0 || !gjson.ValidBytes(raw) {
		return nil
	}
	var out []byte
	object := gjson.ParseBytes(raw)
	if !object.IsObject() {
		return nil
	}
	object.ForEach(func(key, v gjson.Result) bool {
		if slices.Contains(ours, key.Str) {
			return true
		}
		out = append(append(append(append(out, ','), key.Raw...), ':'), v.Raw...)
		if !slices.Contains(s.carried, key.Str) {
			s.carried = append(s.carried, key.Str)
		}
		return true
	})
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
		return clean(string(args))
	}
	var asWritten string
	if json.Unmarshal(args, &asWritten) != nil {
		asWritten = string(args)
	}
	t := strings.TrimSpace(asWritten)
	if strings.HasPrefix(t, "{") && json.Valid([]byte(t)) {
		return clean(t)
	}
	if t == "" {
		return "{}"
	}
	b, err := encode(map[string]string{"malformed_arguments": clean(asWritten)})
	if err != nil {
		return "{}"
	}
	return string(b)
}

// clean is text that is valid UTF-8.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
