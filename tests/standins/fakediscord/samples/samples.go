// Package samples has chats, a form and a view of the settings as tests of adapters/discord draw and click them.
package samples

import (
	"time"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// Ana is who asks in them, TwoPM when.
var (
	Ana   = render.Person{User: chat.User{Platform: ids.Platform, Workspace: "900000000000000001", Key: "111111111111111111"}, Name: "Ana"}
	TwoPM = time.Date(2026, 11, 21, 14, 2, 0, 0, time.UTC)
)

// Grantable is a chat with a call that any grant could cover.
func Grantable(tokens ...string) turn.Session {
	s := turn.Session{Mode: permission.ModeNever, People: []turn.Person{{User: Ana.User, Name: "Ana"}}, Turn: &turn.Turn{ID: "t1", Requester: Ana.User}}
	for _, tok := range tokens {
		c := turn.ToolCall{ID: turn.CallID("c-" + tok), Asking: turn.Asking{Ask: turn.AskID(tok), Asks: []turn.AskID{turn.AskID(tok)}}, Status: turn.Awaiting, Tool: permission.Tool{Server: "files", Name: "write_file"},
			Args: []byte(`{"content":"hello","path":"/srv/team/notes.txt"}`)}
		c.Ruling.Level, c.Ruling.ChatGrant, c.Ruling.Remember = permission.LevelUser, true, true
		c.Ruling.Scopes = []permission.Scope{permission.ScopeReads, permission.ScopeWrites, permission.ScopeServer}
		s.Turn.Calls = append(s.Turn.Calls, c)
	}
	return s
}

// Wanting is a chat with a running call whose server wants something of Ana.
func Wanting(tok string, w turn.Want) turn.Session {
	s := Grantable(tok)
	s.Mode = permission.ModeTool
	c := &s.Turn.Calls[0]
	c.Status, c.Run, c.Ask, c.Asks = turn.Running, "r1", "", nil
	c.Tool.Name = "send_mail"
	c.Want = &turn.Wanting{Ask: turn.AskID(tok), Want: w, Deadline: TwoPM.Add(10 * time.Minute)}
	return s
}

// Bound is a limit of a number.
func Bound(x float64) *float64 { return &x }

// Fields is one of each kind, as far as a form of Discord's has room.
func Fields() []turn.FormField {
	return []turn.FormField{
		{Name: "to", Title: "Recipient", Type: "string", Format: "email", Required: true, Description: "Who gets it"},
		{Name: "n", Type: "integer", Min: Bound(1), Max: Bound(5), Default: "2"},
		{Name: "really", Title: "Are you sure?", Type: "boolean"},
		{Name: "colour", Type: "string", Options: []string{"red", "green"}, Labels: []string{"Rouge", "Vert"}, Required: true},
		{Name: "days", Type: "string", Many: true, Options: []string{"Mon", "Tue"}},
	}
}

// Plain is a line of words.
func Plain(s string) render.Line { return render.Line{render.Plain(s)} }

// Panel is a view as a person sees it.
func Panel() render.Panel {
	here := ids.Place{Guild: "900000000000000001", Channel: "900000000000000002", Thread: "900000000000000003"}
	return render.Panel{
		View: "chat", Title: "Settings", Banner: []render.Line{Plain("This chat never asks (dangerous): tools run without approval.")},
		Tabs: []render.Act{{Kind: render.ActGo, View: "chat", Label: "This chat", Current: true}, {Kind: render.ActGo, View: "servers", Label: "Servers"}, {Kind: render.ActGo, View: "mine", Label: "Mine"}},
		Sections: []render.Section{
			{Title: "Pending for me", Empty: "Nothing waits for you."},
			{Title: "Pending elsewhere", Note: "In chats that you can see.", Rows: []render.PanelRow{{Line: Plain("write_file of files"), Details: []render.Line{{render.Plain("expires "), render.Time{At: TwoPM}}},
				Acts: []render.Act{{Kind: render.ActLink, Label: "Open", Link: render.ChatLink{Chat: here.Chat().String(), Message: "900000000000000009"}}}}}},
			{Title: "Allowed in this chat", Rows: []render.PanelRow{
				{Line: Plain("write_file of files"), Details: []render.Line{{render.Plain("by "), Ana, render.Plain(" · until "), render.Time{At: TwoPM}}}, Acts: []render.Act{{Token: "revoke.g1", Label: "Revoke"}}},
				{Line: Plain("all reads of *mail*"), Acts: []render.Act{{Token: "revoke.g2", Label: "Revoke"}}},
				{Acts: []render.Act{{Token: "revoke.all", Label: "Revoke all", Style: render.Danger, Confirm: "Revoke everything?"}}},
			}},
			{Title: "When it asks", Rows: []render.PanelRow{{Line: Plain("Mode of this chat"), Acts: []render.Act{{Kind: render.ActPick, Token: "mode", Label: "Mode", Options: []render.Option{
				{Token: "mode.tool", Label: "Use each tool's setting"}, {Token: "mode.always", Label: "Always ask"}, {Token: "mode.never", Label: "Never ask (dangerous)", Current: true}}},
				{Kind: render.ActFill, Token: "note", Label: "Add a note…", Like: "for the release", Max: 80, Value: "old"}, {Kind: render.ActGo, View: "history", Label: "History"}}}}},
		},
	}
}
