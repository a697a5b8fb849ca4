package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// maxAddress is how long an address may be that a person is asked to open, in bytes: what can be read in full.
const maxAddress = 2000

// Elicit implements client.ElicitationHandler for multi round-trip calls. The context is the call's own: there is no doubt whom to ask.
func (c *conn) Elicit(ctx context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	raw, _ := json.Marshal(req.Params) // what cannot be written is no want
	f, err := c.elicit(ctx, runOf(ctx), raw)
	if err != nil {
		traceOf(ctx).unanswered("a person's answer")
		return nil, err
	}
	r := &mcp.ElicitationResult{}
	if r.Action = mcp.ElicitationResponseAction(f.Action); len(f.Content) > 0 {
		r.Content = f.Content
	}
	return r, nil
}

// elicit puts what a server asks for to the person of a call, in full or not at all. An error means that the call is over.
func (c *conn) elicit(ctx context.Context, r *run, params json.RawMessage) (turn.Fill, error) {
	cancel := turn.Fill{Action: turn.FillCancel}
	if r == nil {
		return cancel, nil
	}
	w, err := readElicitation(params)
	if err != nil {
		r.log.Warn("what the server asks for was cancelled", "why", oneline.Brief(c.clean(err.Error()), 300))
		return cancel, nil
	}
	f, err := r.elicit(ctx, w)
	if err != nil {
		return cancel, err
	}
	switch {
	case f.Action != turn.FillAccept && f.Action != turn.FillDecline:
		return cancel, nil // and whatever else it may be
	case f.Action == turn.FillDecline || w.Kind == turn.ElicitationURL:
		f.Content = nil
	case len(f.Content) == 0:
		f.Content = json.RawMessage(`{}`)
	}
	return f, nil
}

// codeOpenFirst is the error of a server that wants an address opened before it takes the call.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
const codeOpenFirst = -32042

// maxOpenFirst is how many addresses one such error may name.
const maxOpenFirst = 3

// openFirst puts to the person what must be opened before a refused call can work, and says how that ended. The call is not made again by
// us: the model may, with another approval. It is empty for any other refusal.
func (c *conn) openFirst(r *run, refused *mcp.JSONRPCErrorDetails) string {
	if refused == nil || refused.Code != codeOpenFirst {
		return ""
	}
	raw, _ := json.Marshal(refused.Data) // what cannot be written names nothing
	var data struct {
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	if json.Unmarshal(raw, &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxOpenFirst {
		return ""
	}
	for _, e := range data.Elicitations {
		w, err := readElicitation(e)
		if w.Kind != turn.ElicitationURL {
			r.log.Warn("what the server wants opened first was not shown", "why", oneline.Brief(c.clean(cmp.Or(err, errors.New("it is no address")).Error()), 300))
			return " What it wants opened first cannot be shown."
		}
		if f, _ := r.elicit(r.ctx, w); f.Action != turn.FillAccept {
			return " The address that it wants opened first was not opened."
		}
	}
	return " The address that it wants opened first was opened. Call the tool again to go on."
}

// readElicitation reads the parameters of elicitation/create. The error says why a person cannot be asked that.
func readElicitation(params json.RawMessage) (turn.Elicitation, error) {
	var p object
	if json.Unmarshal(params, &p) != nil {
		return turn.Elicitation{}, errors.New("its parameters are not an object")
	}
	w := turn.Elicitation{Message: text.Cut(strings.TrimSpace(strings.ToValidUTF8(stringOf(p["message"]), "\uFFFD")), maxSay)}
	mode := stringOf(p["mode"])
	if absent(p["mode"]) {
		mode = string(turn.ElicitationForm)
	}
	switch w.Kind = turn.ElicitationKind(mode); w.Kind {
	case turn.ElicitationForm:
		var err error
		if w.Fields, err = readForm(p["requestedSchema"]); err != nil {
			return turn.Elicitation{}, fmt.Errorf("it is no form that can be shown: %w", err)
		}
	case turn.ElicitationURL:
		w.URL = stringOf(p["url"])
		if err := openable(w.URL); err != nil {
			return turn.Elicitation{}, fmt.Errorf("it is no address that can be shown: %w", err)
		}
	default:
		return turn.Elicitation{}, fmt.Errorf("its mode %q is not known", oneline.Brief(mode, 40))
	}
	return w, nil
}

// openable refuses an address that people cannot judge by reading it. It is never fetched, and no error quotes it: it may carry a key.
func openable(address string) error {
	if len(address) > maxAddress {
		return fmt.Errorf("it has more than %s bytes", text.Number(maxAddress))
	}
	if _, hidden := text.Visible(address); hidden > 0 || strings.ContainsAny(address, " \t\r\n\\\"<>`^{|}") {
		return errors.New("it holds what no address holds")
	}
	u, err := url.Parse(address)
	_, rest, _ := strings.Cut(address, "//")
	authority, _, _ := strings.Cut(strings.NewReplacer("?", "/", "#", "/").Replace(rest), "/") // as it is written: url.Parse decodes it
	switch {
	case err != nil:
		return errors.New("it is not an address")
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("it is neither https:// nor http://")
	case u.Hostname() == "":
		return errors.New("it names no host")
	case strings.Contains(authority, "%"):
		return errors.New("its host is written in a disguise")
	case u.User != nil:
		return errors.New("it has a name or a password before its host")
	}
	return nil
}

// maxReply is how long an answer to a server may take on its way.
const maxReply = 30 * time.Second

// offered is what we declare, and what answers it in multi round-trip calls.
func (c *conn) offered() []client.ClientOption {
	if !c.elicits {
		return nil
	}
	can := mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}}
	return []client.ClientOption{client.WithElicitationHandler(c), client.WithClientCapabilities(can)}
}

// answers reports whether a call's answer may ask for that.
func (c *conn) answers(method mcp.MCPMethod) bool {
	return c.modern.Load() && method == mcp.MethodElicitationCreate
}

// asked answers what a server of an older protocol asks of its client. Since 2026-07-28 servers ask in the answers to calls.
func (c *conn) asked(ctx context.Context, req transport.JSONRPCRequest) *transport.JSONRPCResponse {
	if req.Method == string(mcp.MethodPing) {
		return transport.NewJSONRPCResultResponse(req.ID, json.RawMessage(`{}`))
	}
	if c.modern.Load() || !c.elicits || req.Method != string(mcp.MethodElicitationCreate) {
		return transport.NewJSONRPCErrorResponse(req.ID, mcp.METHOD_NOT_FOUND, "this client does not offer "+req.Method, nil)
	}
	params, _ := json.Marshal(req.Params) // what cannot be written is no want
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
	fill := turn.Fill{Action: turn.FillDecline} // a server without a call has nobody to ask
	if r != nil || why != "" {
		fill, _ = c.elicit(ctx, r, params) // an error comes with a cancel
	}
	result, err := json.Marshal(fill)
	if err != nil {
		return transport.NewJSONRPCErrorResponse(req.ID, mcp.INTERNAL_ERROR, "the answer cannot be sent", nil)
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
	var id mcp.RequestId
	raw, err := json.Marshal(params.AdditionalFields["requestId"])
	if err != nil || json.Unmarshal(raw, &id) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if stop := c.withdraw[id.String()]; stop != nil {
		stop()
	}
}
