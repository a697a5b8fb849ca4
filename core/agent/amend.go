package agent

import (
	"context"
	"errors"

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
	args, err := permission.Written([]byte(in.Args), keys(c.Args))
	if err == nil {
		err = e.Tools.Check(ctx, c.Tool, args)
	}
	unchecked := errors.Is(err, ErrUnchecked)
	if unchecked {
		err = nil
	}
	digest := permission.CallDigest(s.Chat, c.Tool, args)
	switch {
	case err != nil:
		return nil, &Refusal{Code: RefusedArguments, Say: render.BadArguments(err.Error())}
	case digest == c.Digest:
		return nil, &Refusal{Code: RefusedArguments, Say: render.NothingChanged()}
	case render.TooBig(args):
		return nil, &Refusal{Code: RefusedArguments, Say: render.BadArguments(render.TooBigToAsk + ".")}
	}
	return turn.Amended{Ask: c.Ask, By: in.User, Name: in.Name, Args: args, Digest: digest, Unchecked: unchecked}, nil
}

// onlyAsk is the ruling of a call whose arguments a person changed, or nobody could check: whatever would have let it run was
// not given for these.
func onlyAsk(c turn.ToolCall, r permission.Ruling) permission.Ruling {
	why := permission.Reason{Won: true, Said: "ask"}
	switch {
	case r.Verdict != permission.Allow:
		return r
	case len(c.Edits) > 0:
		why.Rule, why.Text = permission.RuleEdited, render.EditedReason
	case c.Unchecked:
		why.Rule, why.Text = permission.RuleUnchecked, render.UncheckedReason
	default:
		return r
	}
	r.Verdict, r.Grant = permission.Ask, ""
	reasons := make([]permission.Reason, 0, len(r.Reasons)+1)
	reasons = append(reasons, why)
	for _, why := range r.Reasons {
		why.Won = false
		reasons = append(reasons, why)
	}
	r.Reasons = reasons
	return r
}
