package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// Why is the answer to "Why am I asked?" about an ask of a chat, for one person: what was ruled when it was asked, and every rule that
// is consulted now, with the winner.
func (e *Engine) Why(ctx context.Context, env chat.Envelope, ask string) (render.Details, error) {
	s, err := e.Session(ctx, env.Chat)
	if err != nil {
		return render.Details{}, fmt.Errorf("read the chat: %w", err)
	}
	c, t, found := findAsk(s, turn.AskID(ask))
	if !found {
		if c, found = turn.Wants(s, turn.AskID(ask)); !found {
			return render.Details{}, &Refusal{Code: RefusedUnknown, Say: render.UnknownAsk()}
		}
		t = s.Turn
	}
	d := render.Details{Title: render.RunLine(shown(c.Tool.Name), shown(c.Tool.Server))}
	d.Parts = append(d.Parts, render.Part{Name: render.PartWhyThen, Text: ruledLines(c.Ruling)})
	policy, err := e.policy(ctx)
	if err != nil {
		return render.Details{}, err
	}
	specs, _, err := e.Tools.List(ctx)
	if err != nil {
		return render.Details{}, fmt.Errorf("list the tools: %w", err)
	}
	sp, there := specOf(specs, c.Tool.Server, c.Tool.Name)
	if !there {
		d.Parts = append(d.Parts, render.Part{Name: render.PartWhyNow, Text: render.ToolNotThere})
		return d, nil
	}
	r := turn.Requested(s, c)
	r.Tool, r.Source, r.Hints, r.Metadata = sp.Tool, sp.Source, sp.Hints, sp.Metadata
	if t != nil {
		r.Requester, r.Unattended, r.Standing = t.Requester, t.Unattended, t.Standing
	}
	if r.Requester == env.User {
		policy, _ = e.knows(ctx, policy, env)
	}
	var lines []string
	for _, line := range permission.Explain(policy, s.Grants, r, e.now()).Lines() {
		lines = append(lines, clipped(line, 400))
	}
	d.Parts = append(d.Parts, render.Part{Name: render.PartWhyNow, Text: strings.Join(lines, "\n")})
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
		lines = append(lines, mark+clipped(x.Text, 400))
	}
	return strings.Join(lines, "\n")
}
