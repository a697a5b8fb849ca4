package decision

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// grant is the standing permission that a choice makes. A wider one is for the server's tools as they are now.
func (j Judge) grant(s turn.Session, c turn.ToolCall, in chat.Clicked) (*permission.Grant, error) {
	var tools []permission.Tool
	req := turn.Requested(s, c)
	switch in.Choice {
	case chat.AllowReads, chat.AllowWrites, chat.AllowServer:
		now, err := j.Tools()
		if err != nil {
			return nil, fmt.Errorf("list the tools: %w", err)
		}
		for _, t := range now {
			tools = append(tools, t.Tool)
			if t.Tool == c.Tool {
				req = t.Request(s, c)
			}
		}
	default: // for this one tool
	}
	g, ok := turn.GrantFor(s, c, in.Choice, tools, in.Uses)
	if !ok {
		return nil, notOffered()
	}
	g.By = in.User
	if covers, _ := permission.Covers(j.Policy, j.givenNow(g, s), req, j.Now); !covers && g.Scope != permission.ScopeTool {
		return nil, refuse(RefusedNotOffered, text.NotYoursToGrant) // a label must grant what it says
	}
	g.ID, g.Name, g.At, g.Epoch = permission.GrantID(j.Mint()), in.Name, j.Now, j.Policy.Epoch
	return &g, nil
}

// givenNow is a grant as if it had just been given, whatever the clocks say.
func (j Judge) givenNow(g permission.Grant, s turn.Session) permission.Grant {
	g.Epoch, g.At = j.Policy.Epoch, s.ModeAt.Add(time.Millisecond)
	return g
}

// coverOthers answers what else waits and is covered by what this answer leaves standing, by the rule that later calls are ruled by: a grant,
// or what the person ticked to be remembered. Each has a record of its own.
func (j Judge) coverOthers(s turn.Session, c turn.ToolCall, in chat.Clicked, ev turn.Event) (more []turn.Event) {
	d, _ := ev.(turn.Decided) // what decides nothing allows nothing
	keep := Kept(c, turn.Decision{Choice: d.Choice, By: d.By, Name: d.Name, Channel: d.Channel, DecidedAt: j.Now}, d.Grant)
	if !turn.Allows(d.Choice) || d.Grant == nil && len(keep) == 0 {
		return nil
	}
	var grants []permission.Grant
	if d.Grant != nil {
		grants = []permission.Grant{j.givenNow(*d.Grant, s)}
	}
	j.Policy.Remembered = slices.Concat(keep, j.Policy.Remembered) // j is this function's own
	kept := func(x permission.Reason) bool {                       // what others left standing is no answer of this person's
		return x.Won && slices.ContainsFunc(keep, func(k permission.Remembered) bool { return k.ID == x.Ref })
	}
	for x, req := range j.coverable(s, c) {
		yes := decided(x, chat.AllowOnce, in)
		switch r := permission.Weigh(j.Policy, grants, req, j.Now); {
		case r.Verdict != permission.Allow:
		case r.Grant != "":
			if grants[0].Counted {
				grants[0].Uses--
			}
			yes.Under = r.Grant
			more = append(more, yes)
		case slices.ContainsFunc(r.Reasons, kept):
			more = append(more, yes)
		}
	}
	return more
}

// coverable gives the other calls that wait and that one answer may cover, with what the policy has to know of each.
func (j Judge) coverable(s turn.Session, not turn.ToolCall) iter.Seq2[turn.ToolCall, permission.Request] {
	return func(yield func(turn.ToolCall, permission.Request) bool) {
		var tools []Tool
		for _, x := range turn.OpenAsks(s) {
			if x.ID == not.ID || !turn.Coverable(x) {
				continue
			}
			if tools == nil {
				var err error
				if tools, err = j.Tools(); err != nil {
					return // they go on asking
				}
			}
			if t, _ := find(tools, x.Tool); t.Tool == x.Tool && !yield(x, t.Request(s, x)) {
				return
			}
		}
	}
}

// Kept is what a person's answer to a call leaves standing beyond this chat, as narrow as what they clicked: for themselves, where they ticked
// that, and for the channel.
func Kept(c turn.ToolCall, d turn.Decision, g *permission.Grant) (out []permission.Remembered) {
	keep := permission.Remembered{ID: RememberedID(c.Ask), By: d.By, Name: d.Name, Tool: c.Tool, Choice: permission.StandDeny}
	if turn.Remembers(c, d.By) {
		mine := keep
		if turn.Allows(d.Choice) {
			mine.Choice = permission.StandAllow
		}
		switch {
		case g == nil:
		case g.Scope == permission.ScopeTool:
			mine.Pins, mine.Until = g.Pins, g.Until
		case g.Scope <= c.Ruling.Keeps:
			mine.Scope, mine.Tools = g.Scope, g.Tools
		}
		out = append(out, mine)
	}
	if d.Channel != "" {
		keep.ID, keep.Choice, keep.Channel = ChannelID(c.Ask), permission.StandAllow, d.Channel
		keep.Until = d.DecidedAt.Add(c.Ruling.Channel)
		out = append(out, keep)
	}
	return out
}

// RememberedID names what was remembered with the decision of an ask, ChannelID what was allowed with it for a channel.
func RememberedID(ask turn.AskID) string { return "r:" + string(ask) }
func ChannelID(ask turn.AskID) string    { return "c:" + string(ask) }
