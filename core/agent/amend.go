package agent

import (
	"bytes"
	"context"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// amends takes arguments that a person wrote. They are checked as the model's own are, and nothing is allowed by them.
func (e *Engine) amends(ctx context.Context, s turn.Session, c turn.ToolCall, in chat.Clicked) (turn.Event, error) {
	switch {
	case c.Status != turn.Awaiting:
		return nil, notOpen(c)
	case !turn.CanEdit(c):
		return nil, &Refusal{Code: RefusedNotOffered, Say: render.NotEditable()}
	}
	args, err := permission.Canonical([]byte(in.Args))
	if err == nil {
		err = e.Tools.Check(ctx, c.Tool, args)
	}
	switch {
	case err != nil:
		return nil, &Refusal{Code: RefusedArguments, Say: render.BadArguments(err.Error())}
	case bytes.Equal(args, c.Args):
		return nil, &Refusal{Code: RefusedArguments, Say: render.NothingChanged()}
	case render.TooBig(args):
		return nil, &Refusal{Code: RefusedArguments, Say: render.BadArguments(render.TooBigToAsk + ".")}
	}
	return turn.Amended{Ask: c.Ask, By: in.User, Name: in.Name, Args: args, Digest: permission.CallDigest(s.Chat, c.Tool, args)}, nil
}

// onlyAsk is the ruling of a call whose arguments a person changed: whatever would have let it run was not given for these.
func onlyAsk(c turn.ToolCall, r permission.Ruling) permission.Ruling {
	if len(c.Edits) == 0 || r.Verdict != permission.Allow {
		return r
	}
	r.Verdict, r.Grant = permission.Ask, ""
	reasons := make([]permission.Reason, 0, len(r.Reasons)+1)
	reasons = append(reasons, permission.Reason{Rule: permission.RuleEdited, Text: render.EditedReason, Won: true, Said: "ask"})
	for _, why := range r.Reasons {
		why.Won = false
		reasons = append(reasons, why)
	}
	r.Reasons = reasons
	return r
}
