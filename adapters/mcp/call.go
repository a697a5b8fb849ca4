package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/child"
	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// Call implements [agent.Tools]. The request is sent at most once. It is sent again only if nothing of it left, or if
// the server said, as the protocol has it, that it does not know our session: it did not look at the call then.
func (m *Servers) Call(ctx context.Context, token agent.RunToken, progress func(turn.Progress)) (turn.Result, error) {
	return m.run(ctx, token, token.Ask, progress)
}

// run is Call, with the way to the person who answers what the tool's server asks for meanwhile.
func (m *Servers) run(ctx context.Context, token agent.RunToken, ask askFunc, progress func(turn.Progress)) (turn.Result, error) {
	call, ok := token.Call()
	if !ok {
		return turn.Result{}, notRun("The tool was not run: the call has no approval.")
	}
	s := m.byName[call.Tool.Server]
	if s == nil {
		return turn.Result{}, notRun("%s was not run: there is no server %q.", oneline.Brief(call.Tool.Name, 60), oneline.Brief(call.Tool.Server, 60))
	}
	if progress == nil {
		progress = func(turn.Progress) {}
	}
	for first := true; ; first = false {
		c, t, err := s.find(ctx, call.Tool)
		if err != nil {
			return turn.Result{}, err
		}
		c, t, leave, err := s.seat(ctx, token.Chat(), c, t, call.Tool)
		if err != nil {
			return turn.Result{}, err
		}
		r, stale, err := s.call(ctx, c, t, call.Args, ask, progress)
		leave()
		if stale {
			s.lose(c, err)
			if first {
				continue
			}
		}
		return r, err
	}
}

// call runs one tool on one conn. stale says that the server does not know the session.
func (s *server) call(ctx context.Context, c *conn, t *tool, args json.RawMessage, ask askFunc, progress func(turn.Progress)) (turn.Result, bool, error) {
	defer c.calls.Done()
	sent, clock, stop := withClock(ctx, s.timeout)
	defer stop()
	defer context.AfterFunc(c.life, stop)() // a conn that is closed ends its calls
	r := &run{ctx: sent, clock: clock, ask: ask, log: s.log.With("tool", t.spec.Tool.Name)}
	over := c.begin(r)
	sent, tr := withTrace(withRun(sent, r))
	token, latest, forget := c.follow()
	defer forget()

	var req mcp.CallToolRequest
	req.Params.Name = t.spec.Tool.Name
	req.Params.Meta = &mcp.Meta{ProgressToken: token}
	// The very bytes that were approved: a map would lose the text of numbers, and a nil map is sent as null.
	req.Params.Arguments = args
	if len(args) == 0 {
		req.Params.Arguments = json.RawMessage(`{}`)
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.client.CallTool(sent, req) // what it returns is read off the trace, where nothing is lost
		done <- err
	}()
	for {
		select {
		case p := <-latest:
			progress(p)
		case err := <-done:
			select {
			case p := <-latest:
				progress(p)
			default:
			}
			result, stale, err := s.outcome(ctx, sent, c, tr, t.spec.Tool.Name, err)
			over(err == nil || errors.Is(err, agent.ErrNotRun))
			if err == nil && result.IsError {
				result.Text += c.openFirst(r, tr.refusal())
			}
			return result, stale, err
		}
	}
}

// outcome tells the three ends of a call apart. In doubt nobody knows.
func (s *server) outcome(ctx, sent context.Context, c *conn, tr *trace, name string, err error) (turn.Result, bool, error) {
	name = oneline.Brief(name, 60)
	status := int(tr.status.Load())

	// 1. The server answered this request.
	sendings, lacks := tr.rounds()
	if raw := tr.result(mcp.MethodToolsCall); raw != nil {
		return readResult(raw, lacks), false, nil
	}
	if r := tr.refusal(); r != nil && r.Code == codeTooBig || tr.big.Load() {
		return tooLarge(s.name, name), false, nil
	}
	// A handler in this process that ends with our context reports that as an answer; it knows no more than we.
	if r := tr.refusal(); r != nil && sent.Err() == nil {
		return turn.Result{IsError: true, Text: fmt.Sprintf("The %s server refused %s: %s (JSON-RPC error %d)",
			s.name, name, s.clean(cut(r.Message, maxDescription)), r.Code)}, false, nil
	}
	if err == nil {
		err = errors.New("an answer without a result")
	}
	s.log.Warn("call without an answer", "tool", name, "cause", oneline.Brief(s.clean(err.Error()), 500))

	// 2. It certainly did not get it.
	var half *child.UnsentError
	overHTTP := c.http != nil
	switch {
	case sendings > 1: // it got the call before, and asked back
	case errors.As(err, &half), errors.Is(err, errClosed):
		return turn.Result{}, false, notRun("%s was not run: the %s server did not take the request.", name, s.name)
	case overHTTP && errors.Is(err, transport.ErrSessionTerminated) && (!tr.reached.Load() || tr.stale.Load()):
		return turn.Result{}, true, notRun("%s was not run: the %s server ended the session.", name, s.name)
	case overHTTP && !tr.reached.Load():
		s.lose(c, err)
		return turn.Result{}, false, notRun("%s was not run: the %s server cannot be reached%s.", name, s.name, inBrackets(why(err, s.cfg)))
	case overHTTP && tr.untaken.Load():
		return turn.Result{}, false, notRun("%s was not run: the %s server refused the request (%d %s).", name, s.name, status, http.StatusText(status))
	}

	// 3. Nobody knows.
	unknown := func(is error, format string, a ...any) (turn.Result, bool, error) {
		say := fmt.Sprintf(format, a...) + fmt.Sprintf(" Whether %s happened is not known.", name)
		return turn.Result{}, false, &callError{say, is}
	}
	switch {
	case ctx.Err() != nil:
		return unknown(ctx.Err(), "%s was cancelled while it ran on the %s server.", name, s.name)
	case c.child != nil && lost(c):
		ended, say := c.exitStatus()
		if ended {
			return unknown(nil, "The %s server stopped while %s ran (%s).", s.name, name, say)
		}
		return unknown(nil, "The connection to the %s server was lost while %s ran: %s.", s.name, name, say)
	case lost(c):
		return unknown(nil, "The connection to the %s server was lost while %s ran.", s.name, name)
	case sent.Err() != nil:
		return unknown(context.Cause(sent), "The %s server did not answer in %s.", s.name, span(s.timeout.Round(time.Millisecond)))
	case status >= 300:
		if status < 400 || maybeStale(status) {
			c.toolsChanged() // whether it still knows us, and where it is, shows when the tools are read again: no call is risked for that
		}
		return unknown(nil, "The %s server answered %d %s.", s.name, status, http.StatusText(status))
	default:
		return unknown(nil, "The connection to the %s server broke while %s ran.", s.name, name)
	}
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func lost(c *conn) bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// tooLarge is the result of a tool that answered more than we read: that it ran is known, what it said is not.
func tooLarge(server, name string) turn.Result {
	return turn.Result{IsError: true, Text: fmt.Sprintf(
		"%s ran on the %s server, but its answer has more than %s bytes and was not read. Do not repeat the call as it is; ask for less.",
		name, server, text.Number(maxAnswer))}
}
