// Package samples has chats, a form and a view of the settings as tests of adapters/discord draw and click them.
package samples

import (
	"fmt"
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

// Call is the n-th call of a chat: somebody is asked about it until three minutes after two, and can allow it for the chat.
func Call(n int, tool, args string) turn.ToolCall {
	tok := turn.AskID(fmt.Sprintf("ASK%d", n))
	c := turn.ToolCall{ID: turn.CallID(fmt.Sprintf("c%d", n)), Asking: turn.Asking{Ask: tok, Asks: []turn.AskID{tok}, Deadline: TwoPM.Add(time.Minute), Asked: true}, Status: turn.Awaiting,
		Tool: permission.Tool{Server: "files", Name: tool}, Args: []byte(args)}
	c.Ruling.Level, c.Ruling.ChatGrant, c.Ruling.Unrated = permission.LevelUser, true, true
	return c
}

// Asking is a chat whose turn waits for people to answer about calls.
func Asking(calls ...turn.ToolCall) turn.Session {
	return turn.Session{People: []turn.Person{{User: Ana.User, Name: "Ana"}}, Turn: &turn.Turn{ID: "T1", Requester: Ana.User, Step: 1, Calls: calls}}
}

// Reads is a chat that waits for five reads, which are asked about as one.
func Reads() turn.Session {
	var calls []turn.ToolCall
	for i := range 5 {
		c := Call(i+1, "read_text_file", fmt.Sprintf(`{"path":"docs/f%d.md"}`, i+1))
		c.Ruling.SaysReads, c.Ruling.Scopes = true, []permission.Scope{permission.ScopeReads}
		calls = append(calls, c)
	}
	return Asking(calls...)
}

// Writes is a chat that waits for n calls, each of which is asked about by itself.
func Writes(n int) turn.Session {
	var calls []turn.ToolCall
	for i := range n {
		calls = append(calls, Call(i+1, "write_file", fmt.Sprintf(`{"path":"notes%d.txt","content":"hello"}`, i+1)))
	}
	return Asking(calls...)
}

// Dangerous is a chat that waits for a call that may destroy something.
func Dangerous() turn.Session {
	c := Call(1, "run_command", `{"command":"rm -rf build","cwd":"/srv/team"}`)
	c.Ruling.Unrated, c.Ruling.Risk = false, permission.Dangerous
	c.Tool.Server = "shell"
	return Asking(c)
}

// Masked is a chat that waits for a call part of which is hidden.
func Masked() turn.Session {
	c := Call(1, "post", `{"url":"https://api.example/v1","api_key":"sk-live-0123456789abcdef"}`)
	c.Ruling.Masked = true
	return Asking(c)
}

// Wanting is a chat with a running call whose server wants something of Ana.
func Wanting(tok string, w turn.Elicitation) turn.Session {
	s := Grantable(tok)
	s.Mode = permission.ModeTool
	c := &s.Turn.Calls[0]
	c.Status, c.Run, c.Ask, c.Asks = turn.Running, "r1", "", nil
	c.Tool.Name = "send_mail"
	c.Elicitation = &turn.ElicitationState{Ask: turn.AskID(tok), Request: w, Deadline: TwoPM.Add(10 * time.Minute)}
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
