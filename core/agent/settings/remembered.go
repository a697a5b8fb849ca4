package settings

import (
	"context"
	"errors"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// mineView are the choices that the person told nod to remember.
func (q *request) mineView(ctx context.Context) (render.Panel, bool, error) {
	if _, err := q.servers(ctx); err != nil {
		return render.Panel{}, false, err
	}
	mine := q.settings.Of(q.env.User)
	s := render.Section{Title: text.TabMine, Note: text.PanelMineNote, Empty: text.PanelMineNone}
	var ids []string
	for _, r := range mine {
		ids = append(ids, r.ID)
		row := render.PanelRow{Line: render.Line{
			render.Plain(text.RememberedLine(r.Choice.String(), shown(r.Tool.Name), shown(r.Tool.Server), text.Clip(r.Limits(), 300)) + " · "), render.Time{At: r.At},
		}}
		if sp, there := agent.FindTool(q.specs, r.Tool.Server, r.Tool.Name); there && r.Choice == permission.StandAllow && sp.Tool != r.Tool {
			row.Details = append(row.Details, words(text.RememberedStale))
		}
		row.Acts = []render.Act{q.offer(text.LabelForget, "forget", r.ID, r.Choice.String(), forget{[]string{r.ID}, viewMine})}
		s.Rows = append(s.Rows, row)
	}
	s.Rows = cut(s.Rows, maxPanelRows)
	if len(ids) > 1 {
		a := q.offer(text.LabelForgetAll, "forget all", "", digestOf(ids...), forget{ids, viewMine})
		a.Confirm, a.Style = text.ConfirmForgetAll(len(ids)), render.Danger
		s.Rows = append(s.Rows, render.PanelRow{Line: words(text.RememberedCount(len(ids))), Acts: []render.Act{a}})
	}
	return render.Panel{Title: text.TabMine, Sections: []render.Section{s}}, true, nil
}

// mayRemember says why a choice is not kept, or nil. A person may always ask for more care of nod; to be spared the question is theirs
// only where they may answer it alone, and where nothing takes that from them.
func (q *request) mayRemember(p permission.Policy, k toolEntry, choice permission.Standing) error {
	if choice != permission.StandAllow {
		return nil
	}
	refuse := func(say string) error { return &decision.Refusal{Code: decision.RefusedNotYours, Say: say} }
	req := q.callOf(k)
	is := p.Get(k.tool(), req.Source, req.Hints, req.Metadata)
	switch {
	case !k.offered:
		return refuse(text.ToolNotThere)
	case is.Disabled != "":
		return refuse(text.ToolIsDisabled)
	case is.Approval == permission.RequireAuth:
		return refuse(text.AdminEachCall)
	case is.Changed:
		return refuse(text.LookFirst)
	case is.New && len(p.Admins) > 0:
		return refuse(text.AcceptFirst)
	case !is.ChatGrant:
		return refuse(text.StandingWithheld)
	case is.Approvals > 1:
		return refuse(text.SeveralMust)
	}
	if err := permission.MayDecide(p, req, permission.LevelUser, q.env.User); err != nil {
		say := err.Error()
		var no *permission.NotAllowed
		if errors.As(err, &no) {
			say = no.Say(func(u chat.User) string { return q.Engine.NameOf(q.here, u) })
		}
		return refuse(say)
	}
	return nil
}
