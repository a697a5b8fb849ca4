// Package samples has a form and some views of the settings as tests of adapters/slack draw and click them.
package samples

import (
	"strconv"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

// Ana is who asks in them.
var Ana = render.Person{User: chat.User{Platform: "slack", Workspace: "T1", Key: "UANA"}, Name: "Ana"}

func ptr(f float64) *float64 { return &f }

// FormFields has a field of every kind.
func FormFields() []turn.FormField {
	many := make([]string, 12)
	for i := range many {
		many[i] = "opt" + strconv.Itoa(i)
	}
	return []turn.FormField{
		{Name: "branch", Title: "Branch", Description: "Where to write to.", Type: "string", Required: true, Default: "main", Min: ptr(2), Max: ptr(40)},
		{Name: "notes", Type: "string"},
		{Name: "mail", Title: "Your address", Type: "string", Format: "email"},
		{Name: "page", Type: "string", Format: "uri"},
		{Name: "day", Type: "string", Format: "date", Default: "2026-11-21"},
		{Name: "when", Type: "string", Format: "date-time", Default: "2026-11-21T14:02:00Z"},
		{Name: "count", Type: "integer", Min: ptr(1), Max: ptr(9), Default: "3", Required: true},
		{Name: "ratio", Type: "number"},
		{Name: "force", Title: "Force?", Type: "boolean", Required: true, Default: "false"},
		{Name: "dry", Type: "boolean"},
		{Name: "colour", Type: "string", Options: []string{"#f00", "#0f0"}, Labels: []string{"Red", "Green"}, Required: true, Default: "#0f0"},
		{Name: "size", Type: "string", Options: many},
		{Name: "tags", Many: true, Type: "string", Options: []string{"a", "b", "c"}, Default: "a\nc"},
		{Name: "more", Many: true, Type: "string", Options: many},
	}
}

// Wanting is a running call whose server wants something.
func Wanting(w turn.Elicitation) turn.ToolCall {
	c := turn.ToolCall{ID: "c1", Status: turn.Running, Elicitation: &turn.ElicitationState{Ask: "WANT1", Request: w}}
	c.Tool.Server, c.Tool.Name = "files", "write_file"
	return c
}

func tabsOf(open string) (tabs []render.Act) {
	for _, t := range []struct{ view, label string }{{"start", "Overview"}, {"grants", "Grants"}, {"long", "Servers"}} {
		tabs = append(tabs, render.Act{Kind: render.ActGo, View: t.view, Label: t.label, Current: t.view == open})
	}
	return tabs
}

// FirstPanel has a row of every shape.
func FirstPanel() render.Panel {
	return render.Panel{
		View: "start", Title: "Settings", Tabs: tabsOf("start"),
		Banner: []render.Line{{render.Strong("This chat never asks"), render.Plain(" (dangerous). Set by "), Ana, render.Plain(" "), render.Time{At: looks.TwoPM}}},
		Sections: []render.Section{
			{Title: "Waiting for me", Empty: "Nothing waits for you."},
			{Title: "Servers", Note: "What holds for all their tools.", Rows: []render.PanelRow{{
				Line:    render.Line{render.Strong("files"), render.Plain(" · 4 tools · not trusted")},
				Details: []render.Line{{render.Plain("asks for writes")}, {render.Plain("set by "), Ana}},
				Acts: []render.Act{
					{Kind: render.ActPick, Label: "When it asks", Options: []render.Option{{Token: "server-ask", Label: "Always ask"}, {Token: "server-inherit", Label: "Use each tool's setting", Current: true}}},
					{Kind: render.ActDo, Token: "trust-1", Label: "Trust server…", Confirm: "Trust files? Tools that only read then run without asking.", Style: render.Danger},
					{Kind: render.ActFill, Token: "note-1", Label: "Change note…", Value: "Team files", Max: 300, Like: "what it is for"},
					{Kind: render.ActGo, View: "long", Label: "Tools"},
					{Kind: render.ActLink, Label: "Open the question", Link: render.ChatLink{Chat: chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/1795269720.000100"}.String(), Message: "1795269721.000200"}},
				},
			}}},
		},
	}
}

// GrantsPanel has a grant to be revoked.
func GrantsPanel() render.Panel {
	return render.Panel{View: "grants", Title: "Settings", Tabs: tabsOf("grants"), Sections: []render.Section{{Title: "Grants in this chat", Rows: []render.PanelRow{{
		Line: render.Line{render.Plain("write_file of files, for "), Ana, render.Plain("'s requests, until "), render.Time{At: looks.TwoPM, Until: true}},
		Acts: []render.Act{{Kind: render.ActDo, Token: "revoke-1", Label: "Revoke", Style: render.Danger}},
	}}}}}
}

// LongPanel has more rows than a page.
func LongPanel() render.Panel {
	p := render.Panel{View: "long", Title: "All tools of the server files, one after the other", Tabs: tabsOf("long")}
	for _, s := range []string{"Tools that read", "Tools that write"} {
		x := render.Section{Title: s, Note: "Each of them."}
		for i := range 100 {
			n := text.Number(len(p.Sections)*100 + i)
			x.Rows = append(x.Rows, render.PanelRow{Line: render.Line{render.Plain("tool_" + n + " <!channel> *x*")}, Acts: []render.Act{{Kind: render.ActDo, Token: "row-" + n, Label: "Disable"}}})
		}
		p.Sections = append(p.Sections, x)
	}
	return p
}
