package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The forms of the settings, read independently of the code that writes them.
type (
	panelForm struct {
		View     string       `json:"view"`
		Title    string       `json:"title"`
		Banner   [][]spanForm `json:"banner"`
		Tabs     []actForm    `json:"tabs"`
		Sections []struct {
			Title string `json:"title"`
			Rows  []struct {
				Line []spanForm `json:"line"`
				Acts []actForm  `json:"acts"`
			} `json:"rows"`
		} `json:"sections"`
	}
	actForm struct {
		Kind    string `json:"kind"`
		Token   string `json:"token"`
		View    string `json:"view"`
		Label   string `json:"label"`
		Confirm string `json:"confirm"`
		Options []struct {
			Token   string `json:"token"`
			Label   string `json:"label"`
			Current bool   `json:"current"`
		} `json:"options"`
	}
)

// panel is a view of the settings.
func (p *person) panel(query string) (v panelForm) {
	p.t.Helper()
	if status, no := p.call("GET", "/api/v1/settings"+query, nil, &v); status != http.StatusOK || v.View == "" || len(v.Tabs) == 0 {
		p.t.Fatalf("GET /settings%s: %d %+v %+v", query, status, no, v)
	}
	return v
}

// token is that of the act or option with this label, in the row that begins so.
func (v panelForm) token(row, label string) string {
	for _, s := range v.Sections {
		for _, r := range s.Rows {
			if !strings.HasPrefix(words(r.Line), row) {
				continue
			}
			for _, a := range r.Acts {
				if a.Label == label {
					return a.Token
				}
				for _, o := range a.Options {
					if o.Label == label {
						return o.Token
					}
				}
			}
		}
	}
	return ""
}

// command does one by its words and returns what is told.
func (p *person) command(at string, words ...string) string {
	p.t.Helper()
	var out struct{ Lines []string }
	if status, no := p.call("POST", "/api/v1/permissions", map[string]any{"words": words, "chat": at}, &out); status != http.StatusOK {
		p.t.Fatalf("%v: %d %+v", words, status, no)
	}
	return strings.Join(out.Lines, "\n")
}

func boss(b *bot) *person { return &person{t: b.t, b: b, key: bossKey} }

// List, change, revoke, with effect on the next call. Tokens of one person's view do nothing for another.
// R4 R148
func TestSettingsAPIChangesATool(t *testing.T) {
	t.Parallel()
	b := start(t, withBoss(""))
	ana, admin := b.session("Ana"), boss(b)
	r := ana.room()
	r.say("list files")
	r.idle()
	view := "?view=tool:workbench/list_directory"
	for _, s := range admin.panel("?view=server:workbench").Sections {
		for _, x := range s.Rows {
			for _, a := range x.Acts {
				if strings.HasPrefix(words(x.Line), "list_directory") && a.Kind == "go" {
					view = "?view=" + a.View
				}
			}
		}
	}
	panel := admin.panel(view)
	token := panel.token("Asking", "Always ask")
	if token == "" {
		t.Fatalf("an admin is offered nothing at %s: %+v", view, panel)
	}
	if mine := ana.panel(view); mine.token("Asking", "Always ask") != "" {
		t.Error("somebody who is no admin is offered the same")
	}
	body := map[string]string{"view": panel.View, "token": token}
	if status, no := ana.call("POST", "/api/v1/settings", body, nil); status < 400 || no.Code != "unknown" {
		t.Errorf("the admin's token in Ana's hand: %d %+v", status, no)
	}
	var done struct {
		Say   string
		Panel *panelForm
	}
	if status, no := admin.call("POST", "/api/v1/settings", body, &done); status != http.StatusOK || done.Say == "" || done.Panel == nil || done.Panel.View != panel.View {
		t.Fatalf("%d %+v %+v", status, no, done)
	}
	ask := r.ask("list files")
	if ask.ToolName != "list_directory" {
		t.Errorf("asked for %+v", ask)
	}
	r.mustClick(ask.RequestID, "deny")
	r.idle()
	if why := ana.command(r.id, "why", "workbench", "list_directory"); !strings.Contains(why, "asks") {
		t.Errorf("why says %q", why)
	}
}

// What somebody remembers is theirs alone, in every chat of theirs, a denial too, until they forget it.
// R45 R109 R153 R162
func TestSettingsAPIRemembers(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	ana, ben := b.session("Ana"), b.session("Ben")
	approve := func(r *room, text string, approved bool) {
		t.Helper()
		ask := r.ask(text)
		if status, no := r.call("POST", "/api/v1/tools/approve", map[string]any{"tool_call_id": ask.ToolCallID, "request_id": ask.RequestID, "approved": approved, "remember": true}, nil); status != http.StatusOK {
			t.Fatalf("%s: %d %+v", text, status, no)
		}
		r.idle()
	}
	approve(ana.room(), "write one to a.txt", true)
	next := ana.room()
	next.say("write two to a.txt")
	next.idle()
	if got := b.content("a.txt"); got != "two" {
		t.Errorf("Ana remembered it, and the file says %q", got)
	}
	his := ben.room()
	ask := his.ask("write three to a.txt")
	his.mustClick(ask.RequestID, "deny")
	his.idle()
	approve(ben.room(), "delete a.txt", false)
	again := ben.room()
	again.say("delete a.txt")
	if c := again.idle(); b.content("a.txt") != "two" || len(c.Pending) > 0 || !strings.Contains(c.last().statuses(), "denied") {
		t.Errorf("Ben remembered a denial: %s", c)
	}
	if list := ben.command("", "remembered"); !strings.Contains(list, "delete_file") {
		t.Errorf("Ben's choices: %q", list)
	}
	ben.command("", "forget", "all")
	if ask := ben.room().ask("delete a.txt"); ask.ToolName != "delete_file" {
		t.Errorf("forgotten, and asked for %+v", ask)
	}
}

// So many calls, the one that was clicked included.
// R119
func TestSettingsAPIUses(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	ask := r.ask("write one to a.txt")
	var d decisionForm
	if status, no := r.call("POST", "/api/v1/tools/approve", map[string]any{"tool_call_id": ask.ToolCallID, "approved": true, "scope": "uses", "uses": 2}, &d); status != http.StatusOK || d.Scope != "uses" || !d.Approved {
		t.Fatalf("%d %+v %+v", status, no, d)
	}
	r.idle()
	r.say("write two to a.txt")
	r.idle()
	if got := b.content("a.txt"); got != "two" {
		t.Errorf("the second call: the file says %q", got)
	}
	r.ask("write three to a.txt")
	if got := b.content("a.txt"); got != "two" {
		t.Errorf("the third call: the file says %q", got)
	}
}

// Reading all of a server is not writing to it.
// R35 R41 R107
func TestSettingsAPIReadsAreNotWrites(t *testing.T) {
	t.Parallel()
	b := start(t, settings{yaml: "permissions: {posture: all}\n"})
	r := b.session("Ana").room()
	ask := r.ask("list files")
	if status, no := r.call("POST", "/api/v1/tools/approve", map[string]any{"tool_call_id": ask.ToolCallID, "approved": true, "scope": "reads"}, nil); status != http.StatusOK {
		t.Fatalf("%d %+v", status, no)
	}
	r.idle()
	r.say("list files")
	if c := r.idle(); len(c.Pending) > 0 {
		t.Errorf("reading asks again: %s", c)
	}
	if ask := r.ask("write one to a.txt"); ask.ToolName != "write_file" || b.content("a.txt") != "(missing)" {
		t.Errorf("%+v, the file says %q", ask, b.content("a.txt"))
	}
}

// Everything in this session, until somebody ends it.
// R2 R106
func TestSettingsAPISession(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	r.mustClick(r.ask("write one to a.txt").RequestID, "allow_session")
	r.idle()
	r.say("delete a.txt")
	r.idle()
	if got := b.content("a.txt"); got != "(missing)" {
		t.Errorf("the session asks no more, and the file says %q", got)
	}
	if banner := r.panel("?chat=" + r.id).Banner; len(banner) != 1 || !strings.Contains(words(banner[0]), "never asks (dangerous)") {
		t.Errorf("the banner: %+v", banner)
	}
	r.command(r.id, "mode", "tool")
	if ask := r.ask("write two to a.txt"); ask.ToolName != "write_file" {
		t.Errorf("%+v", ask)
	}
}

// Where nobody can be reached nothing waits, and nothing that would ask runs.
// R175
func TestSettingsAPIUnattended(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	for _, text := range []string{"write one to a.txt", "list files"} {
		if status, no := r.call("POST", r.path("/messages"), map[string]any{"text": text, "unattended": true}, nil); status != http.StatusAccepted {
			t.Fatalf("%d %+v", status, no)
		}
		c := r.idle()
		if len(c.Pending) > 0 || b.content("a.txt") != "(missing)" {
			t.Errorf("%s: %s; the file says %q", text, c, b.content("a.txt"))
		}
		if text == "list files" && c.last().statuses() != "list_directory done" {
			t.Errorf("what needs no asking: %s", c)
		}
	}
}

// A command is answered to one person and is no message; without its "/" it is words like any others.
// R152
func TestSettingsAPICommandsInTheChat(t *testing.T) {
	t.Parallel()
	b := start(t, withBoss(""))
	ana := b.session("Ana")
	r := ana.room()
	var out struct{ Lines []string }
	for text, want := range map[string]string{"/whoami": "not an admin", "/nod permissions why workbench write_file": "write_file", "/nod permissions why -in slack:T1:#ops workbench write_file": "want IDs, not names", "/pending": "", "/permissions": "", "/nod help": "whoami", "/halt": "Only an admin"} {
		out.Lines = nil
		if status, no := r.call("POST", r.path("/messages"), map[string]string{"text": text}, &out); status != http.StatusOK || len(out.Lines) == 0 || !strings.Contains(strings.Join(out.Lines, "\n"), want) {
			t.Errorf("%s: %d %+v %q", text, status, no, out.Lines)
		}
	}
	if c := r.get(); len(c.Messages) != 0 {
		t.Errorf("commands became messages: %s", c)
	}
	ask := r.ask("write one to a.txt")
	if status, _ := r.call("POST", r.path("/messages"), map[string]string{"text": "/stop"}, &out); status != http.StatusOK {
		t.Errorf("/stop: %d", status)
	}
	if c := r.idle(); c.last().State != "stopped" || b.content("a.txt") != "(missing)" {
		t.Errorf("stopped: %s", c)
	}
	if _, status, _ := r.click(ask.RequestID, "allow_once"); status < 400 {
		t.Errorf("after /stop a click is taken: %d", status)
	}
	if who := boss(b).command("", "whoami"); strings.Contains(who, "not an admin") || strings.Contains(who, bossKey) {
		t.Errorf("the admin is told %q", who)
	}
}

// The private answer names what was consulted, and which rule won; looking decides nothing.
// R150
func TestSettingsAPIWhy(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	ask := r.ask("write one to a.txt")
	var out struct {
		Title string
		Parts []struct{ Text string }
	}
	if status, no := r.call("GET", "/api/v1/asks/"+ask.RequestID+"/why", nil, &out); status != http.StatusOK {
		t.Fatalf("%d %+v", status, no)
	}
	if !slices.ContainsFunc(out.Parts, func(p struct{ Text string }) bool {
		return strings.Contains(p.Text, "named") || strings.Contains(p.Text, "well-known")
	}) {
		t.Errorf("%+v", out)
	}
	if len(r.get().Pending) != 1 || b.content("a.txt") != "(missing)" {
		t.Error("looking decided")
	}
}
