package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// maxAddress is how long an address may be that a person is asked to open, in bytes: what can be read in full.
const maxAddress = 2000

// elicitor answers what a server elicits, over one conn. It implements mcp-go's handler for multi round-trip calls; what
// older servers ask comes by [conn.asked].
type elicitor struct{ c *conn }

// Elicit implements client.ElicitationHandler. The context is the call's own, so there is no doubt whom to ask.
func (e elicitor) Elicit(ctx context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	raw, err := json.Marshal(req.Params)
	if err != nil {
		return nil, err
	}
	f, err := e.c.elicit(ctx, runOf(ctx), raw)
	if err != nil {
		traceOf(ctx).unanswered("a person's answer")
		return nil, err
	}
	r := mcp.ElicitationResult{}
	r.Action = mcp.ElicitationResponseAction(f.Action)
	if len(f.Content) > 0 {
		r.Content = f.Content
	}
	return &r, nil
}

// elicit puts what a server asks for to the person of a call. What cannot be asked in full is cancelled: half a form
// would be another question. An error means that the call is over.
func (c *conn) elicit(ctx context.Context, r *run, params json.RawMessage) (turn.Fill, error) {
	cancel := turn.Fill{Action: turn.FillCancel}
	if r == nil {
		return cancel, nil
	}
	w, err := readWant(params)
	if err != nil {
		r.log.Warn("what the server asks for was cancelled", "why", oneline.Brief(c.clean(err.Error()), 300))
		return cancel, nil
	}
	f, err := r.want(ctx, w)
	if err != nil {
		return cancel, err
	}
	switch {
	case f.Action != turn.FillAccept && f.Action != turn.FillDecline:
		return cancel, nil // and whatever else it may be
	case f.Action == turn.FillDecline || w.Kind == turn.WantURL:
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

// openFirst puts to the person what must be opened before a refused call can work, and says how that ended. The call is
// over and is not made again by us: the model may, with another approval. It is empty for any other refusal.
func (c *conn) openFirst(r *run, refused *mcp.JSONRPCErrorDetails) string {
	if refused == nil || refused.Code != codeOpenFirst || !c.elicits {
		return ""
	}
	raw, err := json.Marshal(refused.Data)
	var data struct {
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	if err != nil || json.Unmarshal(raw, &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxOpenFirst {
		return ""
	}
	for _, e := range data.Elicitations {
		w, err := readWant(e)
		if err != nil || w.Kind != turn.WantURL {
			r.log.Warn("what the server wants opened first was not shown", "why", oneline.Brief(c.clean(errOr(err, errors.New("it is no address")).Error()), 300))
			return " What it wants opened first cannot be shown."
		}
		if f, err := r.want(r.ctx, w); err != nil || f.Action != turn.FillAccept {
			return " The address that it wants opened first was not opened."
		}
	}
	return " The address that it wants opened first was opened. Call the tool again to go on."
}

// readWant reads the parameters of elicitation/create. The error says why a person cannot be asked that.
func readWant(params json.RawMessage) (turn.Want, error) {
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil {
		return turn.Want{}, errors.New("its parameters are not an object")
	}
	w := turn.Want{Message: clip(stringOf(p["message"]), maxSay)}
	mode := stringOf(p["mode"])
	if absent(p["mode"]) {
		mode = string(turn.WantForm)
	}
	switch w.Kind = turn.WantKind(mode); w.Kind {
	case turn.WantForm:
		var err error
		if w.Fields, err = readForm(p["requestedSchema"]); err != nil {
			return turn.Want{}, fmt.Errorf("it is no form that can be shown: %w", err)
		}
	case turn.WantURL:
		w.URL = stringOf(p["url"])
		if err := openable(w.URL); err != nil {
			return turn.Want{}, fmt.Errorf("it is no address that can be shown: %w", err)
		}
	default:
		return turn.Want{}, fmt.Errorf("its mode %q is not known", oneline.Brief(mode, 40))
	}
	return w, nil
}

// openable refuses an address that people cannot judge by reading it, or that leads elsewhere than into the web. It is
// never fetched. The errors do not quote it: it may carry a key.
func openable(address string) error {
	if len(address) > maxAddress {
		return fmt.Errorf("it has more than %s bytes", text.Number(maxAddress))
	}
	if _, hidden := text.Visible(address); hidden > 0 || strings.ContainsAny(address, " \t\r\n\\\"<>`^{|}") {
		return errors.New("it holds what no address holds")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("it is not an address")
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("it is neither https:// nor http://")
	case u.Hostname() == "" || u.Opaque != "":
		return errors.New("it names no host")
	case strings.Contains(authority(address), "%"):
		return errors.New("its host is written in a disguise")
	case u.User != nil:
		return errors.New("it has a name or a password before its host")
	}
	return nil
}

// authority is what stands between an address's scheme and its path, as it is written: url.Parse decodes it.
func authority(address string) string {
	_, rest, _ := strings.Cut(address, "//")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// clip keeps the first n characters of a text of several lines.
func clip(s string, n int) string {
	return text.Cut(strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")), n)
}
