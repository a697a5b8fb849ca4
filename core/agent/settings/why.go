package settings

import (
	"context"
	"fmt"
	"strings"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Why is the answer to "Why am I asked?" about an ask of a chat, for one person: what was ruled when it was asked, and every rule that
// is consulted now, with the winner.
func (s *Settings) Why(ctx context.Context, env chat.Envelope, ask string) (render.Details, error) {
	in, err := s.Engine.Session(ctx, env.Chat)
	if err != nil {
		return render.Details{}, fmt.Errorf("read the chat: %w", err)
	}
	c, t, found := in.FindAsk(turn.AskID(ask))
	if !found {
		if c, found = in.FindElicitation(turn.AskID(ask)); !found {
			return render.Details{}, &decision.Refusal{Code: decision.RefusedUnknown, Say: text.UnknownAsk()}
		}
		t = in.Turn
	}
	d := render.Details{Title: text.RunLine(shown(c.Tool.Name), shown(c.Tool.Server))}
	d.Parts = append(d.Parts, render.Part{Name: text.PartWhyThen, Text: ruledLines(c.Ruling)})
	now, err := s.Engine.Rules(ctx)
	if err != nil {
		return render.Details{}, err
	}
	policy := now.Policy
	specs, _, err := s.Tools.List(ctx)
	if err != nil {
		return render.Details{}, fmt.Errorf("list the tools: %w", err)
	}
	sp, there := agent.FindTool(specs, c.Tool.Server, c.Tool.Name)
	if !there {
		d.Parts = append(d.Parts, render.Part{Name: text.PartWhyNow, Text: text.ToolNotThere})
		return d, nil
	}
	r := turn.Requested(in, c)
	r.Tool, r.Source, r.Hints, r.Metadata = sp.Tool, sp.Source, sp.Hints, sp.Metadata
	if t != nil {
		r.Requester, r.Unattended, r.Standing = t.Requester, t.Unattended, t.Standing
	}
	if r.Requester == env.User {
		policy, _ = s.Engine.WithGroups(ctx, policy, env)
	}
	var lines []string
	for _, line := range permission.Explain(policy, in.Grants, r, s.Engine.Now()).Lines() {
		lines = append(lines, text.Clip(line, 400))
	}
	d.Parts = append(d.Parts, render.Part{Name: text.PartWhyNow, Text: strings.Join(lines, "\n")})
	return d, nil
}

// ruledLines are the reasons that were recorded with a ruling, the winner marked.
func ruledLines(r permission.Ruling) string {
	var lines []string
	for _, x := range r.Reasons {
		mark := "  "
		if x.Won {
			mark = "→ "
		}
		lines = append(lines, mark+text.Clip(x.Text, 400))
	}
	return strings.Join(lines, "\n")
}
