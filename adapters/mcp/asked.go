package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent/turn"
)

// maxReply is how long an answer to a server may take on its way.
const maxReply = 30 * time.Second

// codeRejected is the error that a server gets when a person rejects its question to the model.
// https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#error-handling
const codeRejected = -1

// offered is what we declare, and what answers it in multi round-trip calls.
func (c *conn) offered() []client.ClientOption {
	if !c.elicits {
		return nil
	}
	can := mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}}
	opts := []client.ClientOption{client.WithElicitationHandler(elicitor{c})}
	if c.sample != nil {
		can.Sampling = &mcp.SamplingCapability{}
		opts = append(opts, client.WithSamplingHandler(sampler{c}))
	}
	return append(opts, client.WithClientCapabilities(can))
}

// answers reports whether a call's answer may ask for that.
func (c *conn) answers(method mcp.MCPMethod) bool {
	return c.modern.Load() && (method == mcp.MethodElicitationCreate || method == mcp.MethodSamplingCreateMessage && c.sample != nil)
}

// asked answers what a server of an older protocol asks of its client. Since 2026-07-28 there is no such thing: servers
// ask in their answers, and each question belongs to its call.
func (c *conn) asked(ctx context.Context, req transport.JSONRPCRequest) *transport.JSONRPCResponse {
	refuse := func(code int, say string) *transport.JSONRPCResponse {
		return transport.NewJSONRPCErrorResponse(req.ID, code, say, nil)
	}
	if req.Method == string(mcp.MethodPing) {
		return transport.NewJSONRPCResultResponse(req.ID, json.RawMessage(`{}`))
	}
	samples := req.Method == string(mcp.MethodSamplingCreateMessage) && c.sample != nil
	if c.modern.Load() || !c.elicits || req.Method != string(mcp.MethodElicitationCreate) && !samples {
		return refuse(mcp.METHOD_NOT_FOUND, "this client does not offer "+req.Method)
	}
	params, err := json.Marshal(req.Params)
	if err != nil {
		return refuse(mcp.INVALID_PARAMS, "the parameters cannot be read")
	}
	// Over HTTP it may come on the stream of the call that it is about. Else it comes on the conn.
	r, why := runOf(ctx), ""
	if r == nil {
		r, why = c.asker()
	} else if r.ctx.Err() != nil {
		r, why = nil, "its call is over"
	}
	if why != "" {
		c.log.Warn("what the server asks for was cancelled", "why", why, "method", req.Method)
	}
	ctx, done := c.waiting(req.ID)
	defer done()
	if samples {
		return c.sampled(ctx, req.ID, r, params)
	}
	fill := turn.Fill{Action: turn.FillDecline} // a server without a call has nobody to ask
	if r != nil {
		if fill, err = c.elicit(ctx, r, params); err != nil {
			fill = turn.Fill{Action: turn.FillCancel}
		}
	} else if why != "" {
		fill.Action = turn.FillCancel
	}
	result, err := json.Marshal(fill)
	if err != nil {
		return refuse(mcp.INTERNAL_ERROR, "the answer cannot be sent")
	}
	return transport.NewJSONRPCResultResponse(req.ID, result)
}

// waiting gives a context for one request of the server's. It ends when the server withdraws it and when the conn ends.
func (c *conn) waiting(id mcp.RequestId) (context.Context, func()) {
	ctx, stop := context.WithCancel(c.life)
	key := id.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.withdraw[key] = stop
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		stop()
		delete(c.withdraw, key)
	}
}

// withdrawn ends the wait for an answer that the server no longer wants.
func (c *conn) withdrawn(params mcp.NotificationParams) {
	raw, err := json.Marshal(params.AdditionalFields["requestId"])
	if err != nil {
		return
	}
	var id mcp.RequestId
	if json.Unmarshal(raw, &id) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if stop := c.withdraw[id.String()]; stop != nil {
		stop()
	}
}

// replier posts answers to an HTTP server's requests. mcp-go gives whoever answers 30 seconds; people take longer.
type replier struct {
	client  *http.Client
	url     string
	life    context.Context
	session func() string
	version func() string
	log     *slog.Logger
	clean   func(string) string
}

func (p *replier) post(resp *transport.JSONRPCResponse) {
	body, err := json.Marshal(resp)
	if err != nil {
		return
	}
	ctx, stop := context.WithTimeout(p.life, maxReply)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if id := p.session(); id != "" {
		req.Header.Set(transport.HeaderKeySessionID, id)
	}
	if v := p.version(); v != "" {
		req.Header.Set(transport.HeaderKeyProtocolVersion, v)
	}
	got, err := p.client.Do(req)
	if err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(got.Body, maxErrorBody)) // nothing that it says changes anything
		_ = got.Body.Close()
		if got.StatusCode < 300 {
			return
		}
		err = errStatus(got.StatusCode)
	}
	p.log.Warn("an answer did not reach the server", "cause", oneline.Brief(p.clean(fmt.Sprint(err)), 300))
}
