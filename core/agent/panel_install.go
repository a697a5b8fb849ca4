package agent

import (
	"context"
	"slices"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// installView is a server's tools with what nod proposes for each and why (R159–R161), to be accepted or changed.
func (l *looking) installView(ctx context.Context) (render.Panel, bool, error) {
	s, _, ok, err := l.find(ctx, l.view)
	if err != nil || !ok || !l.admin {
		return render.Panel{}, false, err
	}
	list := render.Section{Title: render.PanelTools, Note: render.PanelInstallNote, Empty: render.PanelNoTools}
	var open []known
	for _, k := range s.tools {
		if !k.offered {
			continue
		}
		if k.changed() || k.isNew() || len(accepting(k)) > 0 {
			open = append(open, k)
		}
		list.Rows = append(list.Rows, l.proposalRow(k))
	}
	list.Rows = cut(list.Rows, maxPanelRows)
	if len(open) > 0 {
		var changes []permission.Change
		for _, k := range open {
			changes = append(changes, accepting(k)...)
		}
		a := l.act(render.LabelAcceptAll(len(open)), "accept all", s.name, string(s.digest()), l.change(l.view, "", render.NowAccepted(len(open)), changes...))
		a.Confirm = render.ConfirmAccept(shown(s.name), len(open))
		list.Rows = slices.Insert(list.Rows, 0, render.PanelRow{Line: words(render.AcceptMeans), Acts: []render.Act{a}})
	}
	return render.Panel{Title: render.InstallTitle(shown(s.name)), Sections: []render.Section{list}}, true, nil
}

// proposalRow is one tool with what holds for it and why: the rules' own answer, which is careful with what nobody vouched for.
func (l *looking) proposalRow(k known) render.PanelRow {
	row := render.PanelRow{
		Line: render.Line{render.Strong(shown(k.tool().Name)), render.Plain(" · " + k.facts())},
		Details: []render.Line{words(render.ProposalReason(
			string(k.is.AccessFrom), k.is.Classified, string(k.is.RiskFrom), string(k.is.ApprovalFrom), l.verdict(k)))},
		Acts: []render.Act{goTo(render.LabelEditTool, viewOf(viewTool, k.tool().Server, k.tool().Name))},
	}
	if mark := k.mark(); mark != "" {
		row.Details = append(row.Details, words(mark))
	}
	for _, a := range l.settings.Analyses {
		if a.Tool == k.tool() {
			row.Details = append(row.Details, words(render.AnalysisSays(a.Access.String()+", "+a.Risk.String()+". "+clipped(a.Reason, 300))))
		}
	}
	if d := k.spec.Description; d != "" {
		row.Details = append(row.Details, words(render.ServerSays+clipped(d, 200)))
	}
	return row
}
