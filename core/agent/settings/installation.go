package settings

import (
	"context"
	"slices"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// installView is a server's tools with what nod proposes for each and why (R159–R161), to be accepted or changed.
func (q *request) installView(ctx context.Context) (render.Panel, bool, error) {
	s, _, ok, err := q.find(ctx, q.view)
	if err != nil || !ok || !q.admin {
		return render.Panel{}, false, err
	}
	list := render.Section{Title: text.PanelTools, Note: text.PanelInstallNote, Empty: text.PanelNoTools}
	var open []toolEntry
	for _, k := range s.tools {
		if !k.offered {
			continue
		}
		if k.changed() || k.isNew() || len(k.accept()) > 0 {
			open = append(open, k)
		}
		list.Rows = append(list.Rows, q.proposalRow(k))
	}
	list.Rows = cut(list.Rows, maxPanelRows)
	if len(open) > 0 {
		var changes []permission.Change
		for _, k := range open {
			changes = append(changes, k.accept()...)
		}
		a := q.offer(text.LabelAcceptAll(len(open)), "accept all", s.name, string(s.digest()), adminChange{changes: changes, say: text.NowAccepted(len(open)), view: q.view})
		a.Confirm = text.ConfirmAccept(shown(s.name), len(open))
		list.Rows = slices.Insert(list.Rows, 0, render.PanelRow{Line: words(text.AcceptMeans), Acts: []render.Act{a}})
	}
	return render.Panel{Title: text.InstallTitle(shown(s.name)), Sections: []render.Section{list}}, true, nil
}

// proposalRow is one tool with what holds for it and why: the rules' own answer, which is careful with what nobody vouched for.
func (q *request) proposalRow(k toolEntry) render.PanelRow {
	row := render.PanelRow{
		Line: render.Line{render.Strong(shown(k.tool().Name)), render.Plain(" · " + k.facts())},
		Details: []render.Line{words(text.ProposalReason(
			string(k.is.AccessFrom), k.is.Classified, string(k.is.RiskFrom), string(k.is.ApprovalFrom), q.verdict(k)))},
		Acts: []render.Act{goTo(text.LabelEditTool, viewOf(viewTool, k.tool().Server, k.tool().Name))},
	}
	if mark := k.mark(); mark != "" {
		row.Details = append(row.Details, words(mark))
	}
	for _, a := range q.settings.Analyses {
		if a.Tool == k.tool() {
			row.Details = append(row.Details, words(text.AnalysisSays(a.Access.String()+", "+a.Risk.String()+". "+text.Clip(a.Reason, 300))))
		}
	}
	if d := k.spec.Description; d != "" {
		row.Details = append(row.Details, words(text.ServerSays+text.Clip(d, 200)))
	}
	return row
}
