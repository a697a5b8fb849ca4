package web

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// office is the fake engine's settings: how its tools ask, and what people did there.
type office struct {
	asks      map[string]string // tool → default, always, never
	message   string            // of write_file's question
	halted    bool
	acts      []string // who did what
	clicked   []chat.Clicked
	broken    bool // Panel fails
	forgetful bool // nothing is remembered
}

func (b *bot) admin(u chat.User) bool { return slices.Contains(b.admins, u) }

var askWords = []struct{ token, label string }{{"default", "Use the server's setting"}, {"always", "Always ask"}, {"never", "Never ask (dangerous)"}}

func (b *bot) Panel(_ context.Context, env chat.Envelope, view string) (render.Panel, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return render.Panel{}, errDown
	}
	return b.panel(env, view), nil
}

func (b *bot) panel(env chat.Envelope, view string) render.Panel {
	if view != "tools" {
		view = "overview"
	}
	tools, news := "Servers and tools", 0
	if b.admin(env.User) {
		tools, news = "Servers and tools (3 new)", 3
	}
	p := render.Panel{News: news, View: view, Title: "Permissions", Tabs: []render.Act{
		{Kind: render.ActGo, View: "overview", Label: "Overview", Current: view == "overview"},
		{Kind: render.ActGo, View: "tools", Label: tools, Current: view == "tools"}, {Kind: render.ActGo, View: "history", Label: "History"},
		{Kind: render.ActGo, View: "stats", Label: "Statistics"}, {Kind: render.ActGo, View: "templates", Label: "Templates"}}}
	if b.halted {
		p.Banner = []render.Line{{render.Strong("Everything is halted"), render.Plain(" by "), render.Person{User: env.User, Name: "Ana"}, render.Plain(". Nothing runs until an admin resumes it.")}}
	}
	if view == "tools" {
		p.Sections = b.toolSections()
		return p
	}
	p.Sections = b.overview(env)
	return p
}

func (b *bot) overview(env chat.Envelope) []render.Section {
	waiting := render.Section{Title: "Waiting for you", Empty: "Nothing waits for you."}
	grants := render.Section{Title: "Allowed without asking", Note: "What people allowed in chats. Revoking takes effect with the next call.", Empty: "Nothing is allowed beyond the settings."}
	for id := range b.logs {
		s := b.fold(id)
		for _, c := range turn.OpenAsks(s) {
			waiting.Rows = append(waiting.Rows, render.PanelRow{Line: render.Line{render.Strong(c.Tool.Name), render.Plain(" of " + c.Tool.Server)},
				Acts: []render.Act{{Kind: render.ActLink, Label: "Open the chat", Link: render.ChatLink{Chat: id.String(), Message: "post"}}}})
		}
		for _, g := range s.Grants {
			grants.Rows = append(grants.Rows, render.PanelRow{Line: render.Line{render.Strong(g.Tool.Name), render.Plain(" of " + g.Tool.Server)},
				Details: []render.Line{{render.Plain("by "), render.Person{User: g.By, Name: g.Name}, render.Plain(" · "), render.Time{At: g.At}}},
				Acts:    []render.Act{{Kind: render.ActDo, Token: "revoke-" + string(g.ID), Label: "Revoke", Hint: "Revoke " + g.Tool.Name, Style: render.Danger}}})
		}
	}
	if len(grants.Rows) > 0 {
		grants.Rows = append(grants.Rows, render.PanelRow{Line: render.Line{render.Plain("All of them")},
			Acts: []render.Act{{Kind: render.ActDo, Token: "revoke-all", Label: "Revoke all", Style: render.Danger, Confirm: "Revoke everything that is allowed in every chat?"}}})
	}
	here := "no chat"
	if !env.Chat.IsZero() {
		here = env.Chat.Key
	}
	sections := []render.Section{waiting, grants, {Title: "This chat", Rows: []render.PanelRow{{Line: render.Line{render.Plain("Here: " + here)}}}}}
	if b.admin(env.User) {
		sections = append(sections, render.Section{Title: "Halt", Rows: []render.PanelRow{{Line: render.Line{render.Plain("Stops every turn and every grant on all replicas.")},
			Acts: []render.Act{{Kind: render.ActDo, Token: "halt", Label: "Halt everything", Style: render.Danger, Confirm: "Halt everything? Every turn stops at once."}}}}})
	}
	return sections
}

func (b *bot) toolSections() []render.Section {
	s := render.Section{Title: "files", Note: "Not marked trusted."}
	for _, name := range []string{"read_file", "write_file", "delete_file\u202e<b>x</b>"} {
		pick := render.Act{Kind: render.ActPick, Label: "Asks", Hint: "How " + strings.TrimSuffix(name, "\u202e<b>x</b>") + " asks"}
		for _, w := range askWords {
			pick.Options = append(pick.Options, render.Option{Token: w.token + ":" + name[:4], Label: w.label, Current: w.token == b.asks[name[:4]] || b.asks[name[:4]] == "" && w.token == "default"})
		}
		row := render.PanelRow{Line: render.Line{render.Strong(name), render.Plain(" · Write access · moderate · confirmation")},
			Details: []render.Line{{render.Plain("Writes a file below the workspace. Set by nobody yet.")}}, Acts: []render.Act{pick}}
		if name == "write_file" {
			row.Acts = append(row.Acts, render.Act{Kind: render.ActFill, Token: "message", Label: "Question", Value: b.message, Max: 40, Like: "Write {{.args.path}}?"})
		}
		s.Rows = append(s.Rows, row)
	}
	return []render.Section{s, {Title: "Templates", Rows: []render.PanelRow{{Line: render.Line{render.Strong("developer")}, Details: []render.Line{{render.Plain("Reads run, writes ask.")}},
		Acts: []render.Act{{Kind: render.ActGo, View: "overview", Label: "Preview"}}}}}}
}

func (b *bot) Act(_ context.Context, env chat.Envelope, view, token, said string) (settings.Done, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acts = append(b.acts, fmt.Sprintf("%s %s %s %s %q", env.User, env.Chat, view, token, said))
	if !b.offers(b.panel(env, view), token) {
		return settings.Done{}, &decision.Refusal{Code: decision.RefusedUnknown, Say: text.NotOffered}
	}
	word, tool, _ := strings.Cut(token, ":")
	switch {
	case token == "message" && strings.Contains(said, "{{.bad"):
		return settings.Done{}, &decision.Refusal{Code: decision.RefusedArguments, Say: "Nothing was changed: the template names bad, which is not there."}
	case token == "message":
		b.message = said
		return settings.Done{Say: "The question is changed.", View: view}, nil
	case token == "halt":
		b.halted = true
		return settings.Done{Say: "Halted.", View: view}, nil
	case strings.HasPrefix(token, "revoke-"):
		for id := range b.logs {
			for _, g := range b.fold(id).Grants {
				if token == "revoke-all" || token == "revoke-"+string(g.ID) {
					b.append(id, turn.Revoked{Grants: []permission.GrantID{g.ID}, By: env.User, Name: env.Name})
				}
			}
		}
		return settings.Done{Say: text.Revoked, View: view}, nil
	}
	if b.asks == nil {
		b.asks = map[string]string{}
	}
	b.asks[tool] = word
	return settings.Done{Say: "Changed: it counts from the next call.", View: view}, nil
}

func (b *bot) offers(p render.Panel, token string) bool {
	for _, s := range p.Sections {
		for _, r := range s.Rows {
			for _, a := range r.Acts {
				if a.Token == token && a.Kind != render.ActPick || slices.ContainsFunc(a.Options, func(o render.Option) bool { return o.Token == token }) {
					return true
				}
			}
		}
	}
	return false
}

func (b *bot) Permissions(_ context.Context, env chat.Envelope, words []string) ([]string, error) {
	if len(words) > 0 && words[0] == "resume" && b.refused[env.User.String()] {
		return nil, &decision.Refusal{Code: decision.RefusedNotYours, Say: text.OnlyAdmins}
	}
	return []string{"You are " + env.Name + "\u202e.", "You said: " + strings.Join(words, " "), "Here is " + env.Chat.Key + "."}, nil
}

func (b *bot) Why(_ context.Context, env chat.Envelope, ask string) (render.Details, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, found := card.Details(b.fold(env.Chat), ask)
	if !found {
		return d, &decision.Refusal{Code: decision.RefusedUnknown, Say: text.UnknownAsk}
	}
	d.Title = "Why am I asked?"
	return d, nil
}

// fill answers what a server wants, as strictly as the test needs.
func (b *bot) fill(s turn.Session, in chat.Clicked) error {
	c, open := s.FindElicitation(turn.AskID(in.Token))
	switch {
	case !open:
		return &decision.Refusal{Code: decision.RefusedUnknown, Say: text.UnknownAsk}
	case b.refused[in.User.String()]:
		return &decision.Refusal{Code: decision.RefusedNotYours, Say: text.OnlyRequesterFills("Ana")}
	case in.Choice == chat.Decline:
		b.append(in.Chat, turn.Filled{Ask: c.Elicitation.Ask, By: in.User, Name: in.Name, Fill: turn.Fill{Action: turn.FillDecline}})
	case in.Fields["branch"] == "main":
		return &decision.Refusal{Code: decision.RefusedArguments, Say: "Branch: main is protected."}
	default:
		content, _ := json.Marshal(in.Fields)
		b.append(in.Chat, turn.Filled{Ask: c.Elicitation.Ask, By: in.User, Name: in.Name, Fill: turn.Fill{Action: turn.FillAccept, Content: content}})
	}
	b.ran = append(b.ran, c.Tool.Name+string(c.Args))
	b.append(in.Chat, turn.Finished{Call: c.ID, Run: c.Run, Result: turn.Result{Text: "done: " + c.Tool.Name}})
	return nil
}
