package decision

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/permission/canonical"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// amend takes arguments that a person wrote. They are checked as the model's own are, and nothing is allowed by them.
func (j Judge) amend(s turn.Session, c turn.ToolCall, in chat.Clicked) ([]turn.Event, error) {
	switch {
	case c.Status != turn.Awaiting:
		return nil, notOpen(c)
	case !turn.CanEdit(c):
		return nil, refuse(RefusedNotOffered, text.NotEditable)
	}
	unchecked := false
	args, err := canonical.Written([]byte(in.Args), keys(c.Args))
	if err == nil {
		unchecked, err = j.Check(c.Tool, args)
	}
	digest := permission.CallDigest(s.Chat, c.Tool, args)
	switch {
	case err != nil:
		why := err.Error()
		if e, ok := errors.AsType[*canonical.Error](err); ok { // whose text tells a model what to send
			why = fmt.Sprintf("%s, at byte %d.", e.Problem, e.Offset)
		}
		return nil, refuse(RefusedArguments, text.BadArguments(why))
	case digest == c.Digest:
		return nil, refuse(RefusedArguments, text.NothingChanged)
	case render.TooBig(args):
		return nil, refuse(RefusedArguments, text.BadArguments(text.TooBigToAsk+"."))
	}
	return []turn.Event{turn.Amended{Ask: c.Ask, By: in.User, Name: in.Name, Args: args, Digest: digest, Unchecked: unchecked}}, nil
}

// onlyAsk is the ruling of a call whose arguments a person changed, or nobody could check: what would let it run was not given for these.
func onlyAsk(c turn.ToolCall, r permission.Ruling) permission.Ruling {
	why := permission.Reason{Won: true, Said: "ask"}
	switch {
	case r.Verdict != permission.Allow:
		return r
	case len(c.Edits) > 0:
		why.Rule, why.Text = permission.RuleEdited, text.EditedReason
	case c.Unchecked:
		why.Rule, why.Text = permission.RuleUnchecked, text.UncheckedReason
	default:
		return r
	}
	r.Verdict, r.Grant = permission.Ask, ""
	reasons := []permission.Reason{why}
	for _, why := range r.Reasons {
		why.Won = false
		reasons = append(reasons, why)
	}
	r.Reasons = reasons
	return r
}

// keys are the keys of an object as they stand.
func keys(object json.RawMessage) (names []string) {
	d := json.NewDecoder(bytes.NewReader(object))
	for open, err := d.Token(); err == nil && open == json.Delim('{') && d.More(); {
		var value json.RawMessage
		name, err := d.Token()
		if err != nil || d.Decode(&value) != nil {
			return names
		}
		if name, ok := name.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// properties are the names of a schema's properties, in the order that their server wrote them in.
func properties(schema json.RawMessage) []string {
	var s struct{ Properties json.RawMessage }
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	return keys(s.Properties)
}
