package agent

import (
	"context"
	"errors"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// mineView are the choices that whoever looks told nod to remember.
func (l *looking) mineView(ctx context.Context) (render.Panel, bool, error) {
	if err := l.list(ctx); err != nil {
		return render.Panel{}, false, err
	}
	mine := l.settings.Of(l.env.User)
	s := render.Section{Title: render.TabMine, Note: render.PanelMineNote, Empty: render.PanelMineNone}
	var ids []string
	for _, r := range mine {
		ids = append(ids, r.ID)
		row := render.PanelRow{Line: render.Line{
			render.Plain(render.RememberedLine(r.Choice.String(), shown(r.Tool.Name), shown(r.Tool.Server), clipped(r.Limits(), 300)) + " · "), render.Time{At: r.At},
		}}
		if sp, there := specOf(l.specs, r.Tool.Server, r.Tool.Name); there && r.Choice == permission.StandAllow && sp.Tool != r.Tool {
			row.Details = append(row.Details, words(render.RememberedStale))
		}
		row.Acts = []render.Act{l.act(render.LabelForget, "forget", r.ID, r.Choice.String(), l.forgetting(r.ID))}
		s.Rows = append(s.Rows, row)
	}
	s.Rows = cut(s.Rows, maxPanelRows)
	if len(ids) > 1 {
		a := l.act(render.LabelForgetAll, "forget all", "", actToken(ids...), l.forgetting(ids...))
		a.Confirm, a.Style = render.ConfirmForgetAll(len(ids)), render.Danger
		s.Rows = append(s.Rows, render.PanelRow{Line: words(render.RememberedCount(len(ids))), Acts: []render.Act{a}})
	}
	return render.Panel{Title: render.TabMine, Sections: []render.Section{s}}, true, nil
}

// forgetting ends remembered choices of whoever looks: ids are from their own list, and an ID is minted once.
func (l *looking) forgetting(ids ...string) deed {
	return func(ctx context.Context, _ string) (Done, error) {
		_, err := l.Change(ctx, l.env, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
			var out []permission.Change
			for _, id := range ids {
				out = append(out, permission.Change{Forget: id})
			}
			return out, nil
		})
		return told(viewMine, render.NowForgotten(len(ids)), err)
	}
}

// remembering keeps a choice of whoever looks about a tool, for what they ask themselves.
func (l *looking) remembering(k known, choice permission.Standing, view string) deed {
	return func(ctx context.Context, _ string) (Done, error) {
		_, err := l.Change(ctx, l.env, "", func(p permission.Policy, _ permission.Settings) ([]permission.Change, error) {
			if no := l.mayRemember(p, k, choice); no != nil {
				return nil, no
			}
			return []permission.Change{{Remember: &permission.Remembered{
				ID: mint(), By: l.env.User, Name: l.env.Name, Tool: k.tool(), Choice: choice,
			}}}, nil
		})
		say := render.NowRemembered(choice.String(), shown(k.tool().Name), shown(k.tool().Server))
		return told(view, say, err)
	}
}

// mayRemember says why a choice is not kept, or nil. A person may always ask for more care of nod; to be spared the question is theirs
// only where they may answer it alone, and where nothing takes that from them.
func (l *looking) mayRemember(p permission.Policy, k known, choice permission.Standing) error {
	if choice != permission.StandAllow {
		return nil
	}
	refuse := func(say string) error { return &Refusal{Code: RefusedNotYours, Say: say} }
	req := l.request(k)
	is := p.Get(k.tool(), req.Source, req.Hints, req.Metadata)
	switch {
	case !k.offered:
		return refuse(render.ToolNotThere)
	case is.Disabled != "":
		return refuse(render.ToolIsDisabled)
	case is.Approval == permission.RequireAuth:
		return refuse(render.AdminEachCall)
	case is.Changed:
		return refuse(render.LookFirst)
	case is.New && len(p.Admins) > 0:
		return refuse(render.AcceptFirst)
	case !is.ChatGrant:
		return refuse(render.StandingWithheld)
	case is.Approvals > 1:
		return refuse(render.SeveralMust)
	}
	if err := permission.MayDecide(p, req, permission.LevelUser, l.env.User); err != nil {
		say := err.Error()
		var no *permission.NotAllowed
		if errors.As(err, &no) {
			say = no.Say(func(u chat.User) string { return l.nameOf(l.here, u) })
		}
		return refuse(say)
	}
	return nil
}
