package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission/canonical"
	"github.com/nodhq/nod/core/text"
)

// The limits on what a server may ask of the model.
const (
	maxPrompt   = 32 << 10 // bytes of the whole request: what a person can be expected to read before saying yes
	maxMessages = 50
	maxTokens   = 4096 // of an answer; a request for more gets this many
)

// Sampling is what a server wants the model to answer. All of it is the server's words, which a person read and allowed.
type Sampling struct {
	System    string // instructions, if there are any
	Messages  []SamplingMessage
	MaxTokens int // of the answer: 1 to 4,096
}

// SamplingMessage is one message of a [Sampling].
type SamplingMessage struct {
	Assistant bool // the model's own words, as the server has them; else a person's
	Text      string
}

// Sampled is what the model said.
type Sampled struct {
	Text  string
	Model string // its name
	Cut   bool   // the answer ended at MaxTokens
}

// sampleFunc asks the model once. It honours its context.
type sampleFunc func(context.Context, Sampling) (Sampled, error)

// errRejected says that a person did not allow a server to ask the model.
var errRejected = errors.New("the user rejected the sampling request")

// refusedSampling is a request to the model that is not even put to a person.
type refusedSampling struct{ say string }

func (e *refusedSampling) Error() string { return e.say }

// CreateMessage implements client.SamplingHandler for multi round-trip calls.
func (c *conn) CreateMessage(ctx context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	raw, _ := json.Marshal(req.CreateMessageParams) // what cannot be written is refused
	got, err := c.ask(ctx, runOf(ctx), raw)
	if err != nil {
		traceOf(ctx).unanswered("an answer of the model: " + err.Error())
		return nil, err
	}
	return got.result(), nil
}

func (s Sampled) result() *mcp.CreateMessageResult {
	answer := mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent(s.Text)}
	r := &mcp.CreateMessageResult{Model: s.Model, StopReason: "endTurn", SamplingMessage: answer}
	if s.Cut {
		r.StopReason = "maxTokens"
	}
	return r
}

// sampled is the answer to an older server's sampling/createMessage.
func (c *conn) sampled(ctx context.Context, id mcp.RequestId, r *run, params json.RawMessage) *transport.JSONRPCResponse {
	got, err := c.ask(ctx, r, params)
	code := mcp.INTERNAL_ERROR
	if errors.Is(err, errRejected) {
		code = codeRejected
	} else if errors.As(err, new(*refusedSampling)) {
		code = mcp.INVALID_PARAMS
	}
	if err != nil {
		return transport.NewJSONRPCErrorResponse(id, code, err.Error(), nil)
	}
	raw, _ := json.Marshal(got.result()) // texts always marshal
	return transport.NewJSONRPCResultResponse(id, raw)
}

// ask asks the model once, if the person of the call read and allowed the whole question. The errors are for the server.
func (c *conn) ask(ctx context.Context, r *run, params json.RawMessage) (Sampled, error) {
	if r == nil {
		return Sampled{}, errRejected
	}
	q, prompt, err := readSampling(params)
	if err != nil {
		r.log.Warn("what the server asks of the model was refused", "why", oneline.Brief(c.clean(err.Error()), 300))
		return Sampled{}, err
	}
	f, err := r.want(ctx, turn.Want{Kind: turn.WantSample, Prompt: prompt})
	if err != nil || f.Action != turn.FillAccept {
		return Sampled{}, errRejected
	}
	defer r.clock.pause()() // the server waits for us
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.ctx, stop)()
	got, err := c.sample(ctx, q)
	if err != nil {
		r.log.Warn("the model did not answer the server", "cause", oneline.Brief(err.Error(), 300))
		return Sampled{}, errors.New("the model did not answer")
	}
	return got, nil
}

// readSampling reads the parameters of sampling/createMessage: texts only, without tools and without anything of the chat. prompt is the
// whole of it in canonical form, to be read before it is allowed.
func readSampling(params json.RawMessage) (q Sampling, prompt json.RawMessage, err error) {
	refuse := func(format string, a ...any) (Sampling, json.RawMessage, error) {
		return Sampling{}, nil, &refusedSampling{fmt.Sprintf(format, a...)}
	}
	if len(params) > maxPrompt {
		return refuse("the request has more than %s bytes", text.Number(maxPrompt))
	}
	prompt, err = canonical.Arguments(params)
	if err != nil {
		return refuse("the request is not an unambiguous JSON object")
	}
	var p object
	if json.Unmarshal(prompt, &p) != nil {
		return refuse("the request is not an object")
	}
	if !absent(p["tools"]) || !absent(p["toolChoice"]) {
		return refuse("this client does not offer tools for sampling")
	}
	if context := stringOf(p["includeContext"]); !absent(p["includeContext"]) && context != "none" {
		return refuse("this client includes no context")
	}
	var list []object
	if json.Unmarshal(p["messages"], &list) != nil || len(list) == 0 || len(list) > maxMessages {
		return refuse("messages must be a list of 1 to %d", maxMessages)
	}
	for i, m := range list {
		words, ok := onlyText(m["content"])
		role := stringOf(m["role"])
		if !ok || role != "user" && role != "assistant" {
			return refuse("message %d is not a text of the user or the assistant", i)
		}
		q.Messages = append(q.Messages, SamplingMessage{role == "assistant", words})
	}
	q.System = stringOf(p["systemPrompt"])
	var tokens float64
	if json.Unmarshal(p["maxTokens"], &tokens) != nil || tokens < 1 {
		return refuse("maxTokens must be at least 1")
	}
	q.MaxTokens = int(min(tokens, maxTokens))
	return q, prompt, nil
}

// onlyText is the text of a message's content: one item or a list of them, none of them anything but text.
func onlyText(raw json.RawMessage) (string, bool) {
	var items []object
	if json.Unmarshal(raw, &items) != nil {
		var one object
		if json.Unmarshal(raw, &one) != nil {
			return "", false
		}
		items = []object{one}
	}
	var parts []string
	for _, item := range items {
		t := stringOf(item["text"])
		if stringOf(item["type"]) != "text" || !utf8.ValidString(t) {
			return "", false
		}
		parts = append(parts, t)
	}
	all := strings.Join(parts, "\n")
	return all, strings.TrimSpace(all) != ""
}
