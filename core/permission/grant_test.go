package permission

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/pin"
)

// Every guard of a grant, one case each; the first case is the grant that covers.
// R40 R42 R103 R118 R119 C2
func TestCovers(t *testing.T) {
	type world struct {
		p   Policy
		g   Grant
		req Request
		now time.Time
	}
	for _, c := range []struct {
		name   string
		change func(*world)
		want   bool
		why    string
	}{
		{"as given", func(*world) {}, true, "Ana allowed move_thing of files"},
		{"R42 another chat", func(w *world) { w.req.Chat = there }, false, "another chat"},
		{"no chat", func(w *world) { w.req.Chat, w.g.Chat = chat.ID{}, chat.ID{} }, false, "another chat"},
		{"R40 another server", func(w *world) { w.req.Tool.Server = "other" }, false, "another server"},
		{"R99 another tool", func(w *world) { w.req.Tool.Name = "other" }, false, "another tool"},
		{"changed definition", func(w *world) { w.req.Tool.Definition = "d2" }, false, "definition changed"},
		{"R40 joined names", func(w *world) {
			w.g.Tool, w.req.Tool = Tool{"a_b", "c", "d"}, Tool{"a", "b_c", "d"}
		}, false, "another server"},
		{"disabled", func(w *world) { w.p = with(w.p, "files", ServerSettings{Disabled: true}) }, false, "disabled"},
		{"RequireAuth", func(w *world) {
			w.p = with(w.p, "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Approval: new(RequireAuth)})})
		}, false, "admin"},
		{"withheld", func(w *world) {
			w.p = with(w.p, "files", ServerSettings{Tools: tools("move_thing", ToolSettings{ChatGrant: no})})
		}, false, "withheld"},
		{"unattended", func(w *world) { w.req.Unattended = true }, false, "unattended"},
		{"R118 before its end", func(w *world) { w.g.Until = noon; w.now = noon.Add(-1) }, true, ""},
		{"R118 at its end", func(w *world) { w.g.Until = noon }, false, "run out"},
		{"R119 one use left", func(w *world) { w.g.Counted, w.g.Uses = true, 1 }, true, ""},
		{"R119 used up", func(w *world) { w.g.Counted = true }, false, "used up"},
		{"R119 less than nothing left", func(w *world) { w.g.Uses = -1 }, false, "used up"},
		{"C13 restarted, survives", func(w *world) { w.p.Epoch = 2 }, true, ""},
		{"C13 restarted", func(w *world) { w.p.Epoch, w.p.SurviveRestart = 2, false }, false, "restart"},
		{"C13 same run", func(w *world) { w.p.Epoch, w.g.Epoch, w.p.SurviveRestart = 2, 2, false }, true, ""},
		{"C2 Always set before it", func(w *world) { w.req.Mode, w.req.ModeAt = ModeAlways, w.g.At.Add(-1) }, true, ""},
		{"C2 Always set with it", func(w *world) { w.req.Mode, w.req.ModeAt = ModeAlways, w.g.At }, false, "always ask"},
		{"C2 Always set after it", func(w *world) { w.req.Mode, w.req.ModeAt = ModeAlways, w.g.At.Add(1) }, false, "always ask"},
		{"C2 Always by default", func(w *world) { w.p.Mode, w.req.ModeAt = ModeAlways, w.g.At.Add(1) }, false, "always ask"},
		{"5.6 another person's call", func(w *world) { w.req.Requester = ben }, false, "may not decide"},
		{"5.6 another person's call, anyone decides", func(w *world) { w.req.Requester, w.p.Approvers.Rule = ben, ApproversAnyone }, true, ""},
		{"an admin's covers everybody", func(w *world) { w.req.Requester, w.g.By = ben, boss }, true, ""},
		{"membership lost", func(w *world) { w.p.Approvers.Rule = ApproversParticipants }, false, "may not decide"},
		{"no granter", func(w *world) { w.g.By, w.req.Requester = chat.User{}, chat.User{} }, false, "may not decide"},
		{"no policy", func(w *world) { w.p.Installed = false }, false, "may not decide"},
		{"the operator's definition", func(w *world) {
			w.p = with(w.p, "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Accepted: "d0"})})
		}, true, ""},
		{"unknown scope", func(w *world) { w.g.Scope, w.g.Tools = 9, []Tool{files} }, false, "not known"},
	} {
		w := world{installed(), grantOf(files), call(files), noon}
		c.change(&w)
		got, why := Covers(w.p, w.g, w.req, w.now)
		if got != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %v, %q", c.name, got, why)
		}
		r := Evaluate(w.p, []Grant{w.g}, w.req, w.now)
		if used := r.Verdict == Allow && r.Grant == "g1"; used != c.want {
			t.Errorf("%s: ruled %v with grant %q", c.name, r.Verdict, r.Grant)
		}
	}
}

// What the wider scopes cover.
// R35 R38 R41 C6
func TestWideScopes(t *testing.T) {
	set := func(a Access, r Risk, ap Approval) ToolSettings {
		return ToolSettings{Access: new(a), Risk: new(r), Approval: new(ap)}
	}
	p := with(installed(), "files", ServerSettings{Tools: map[string]ToolSettings{
		"read": set(Read, Safe, RequireConfirmation), "write": set(Write, Moderate, RequireConfirmation),
		"burn": set(Write, Dangerous, RequireConfirmation), "auth": set(Read, Safe, RequireAuth),
	}})
	server := func(name string) Tool { return Tool{Server: "files", Name: name, Definition: "d1"} }
	all := []Tool{server("read"), server("write"), server("burn"), server("auth"), server("odd"), {"other", "read", "d1"}}
	for _, c := range []struct {
		scope  Scope
		by     chat.User
		covers string
	}{
		{ScopeReads, ana, "read"},
		{ScopeWrites, ana, "read write"},
		{ScopeServer, ana, "read write odd"},
		{ScopeReads, boss, "read"},
		{ScopeWrites, boss, "read write"},
		{ScopeServer, boss, "read write burn odd"},
	} {
		g := grantOf(server("write"))
		g.Scope, g.By, g.Tools = c.scope, c.by, all
		var got []string
		for _, tool := range all {
			if ok, _ := Covers(p, g, call(tool), noon); ok {
				got = append(got, tool.Name)
			}
		}
		if s := strings.Join(got, " "); s != c.covers {
			t.Errorf("%v by %v covers %q, want %q", c.scope, c.by, s, c.covers)
		}
		later := server("read")
		later.Definition = "d2"
		for _, tool := range []Tool{later, server("new")} {
			if ok, why := Covers(p, g, call(tool), noon); ok || !strings.Contains(why, "added or changed") {
				t.Errorf("%v covers %v: %s", c.scope, tool, why)
			}
		}
	}
	g := grantOf(server("write"))
	g.Scope, g.Tools = ScopeReads, all
	if _, why := Covers(p, g, call(server("write")), noon); !strings.Contains(why, "gives read access and this needs write access") {
		t.Errorf("R41: %q", why)
	}
}

// A card offers only what would cover the call it stands on.
// R35 R107
func TestScopes(t *testing.T) {
	p := with(installed(), "files", ServerSettings{Tools: map[string]ToolSettings{"r": {Access: new(Read)}, "w": {Access: new(Write)}}})
	for name, want := range map[string]int{"r": 4, "w": 3, "odd": 2} {
		if got := Scopes(p, call(Tool{"files", name, "d"}), ana, noon); len(got) != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	req := call(Tool{"files", "r", "d"})
	req.Mode, req.ModeAt = ModeAlways, noon
	if got := Scopes(p, req, ana, noon); len(got) != 4 {
		t.Errorf("under Always: %v", got)
	}
	if got := Scopes(p, req, ben, noon); got != nil {
		t.Errorf("a stranger: %v", got)
	}
}

// A pin narrows, and whatever cannot be read is not what it was pinned to.
// R155
func TestPins(t *testing.T) {
	pinned := func(path, value string) []pin.Pin { return []pin.Pin{{Path: path, Value: json.RawMessage(value)}} }
	for _, c := range []struct {
		pins []pin.Pin
		args string
		want bool
	}{
		{nil, `{}`, true},
		{nil, `nonsense`, true}, // nothing is pinned
		{pinned("method", `"GET"`), `{"method":"GET","url":"x"}`, true},
		{pinned("method", `"GET"`), `{"method":"get"}`, false},
		{pinned("method", `"GET"`), `{"Method":"GET"}`, false},
		{pinned("method", `"GET"`), `{}`, false},
		{pinned("method", `"GET"`), `{"method":["GET"]}`, false},
		{pinned("n", `1`), `{"n":1}`, true},
		{pinned("n", `1`), `{"n":1.0}`, false},
		{pinned("n", `9007199254740993`), `{"n":9007199254740992}`, false},
		{pinned("n", `null`), `{"n":null}`, true},
		{pinned("n", `null`), `{}`, false},
		{pinned("o", `{ "b":1, "a":2 }`), `{"o":{"a":2,"b":1}}`, true},
		{pinned("o.a", `2`), `{"o":{"a":2,"b":1}}`, true},
		{pinned("o.a", `2`), `{"o.a":2}`, false},
		{pinned("/o.a", `2`), `{"o.a":2}`, true},
		{pinned("/a~1b/~0c", `2`), `{"a/b":{"~c":2}}`, true},
		{pinned("l.1", `"x"`), `{"l":["y","x"]}`, true},
		{pinned("l.2", `"x"`), `{"l":["y","x"]}`, false},
		{pinned("l.-1", `"x"`), `{"l":["y","x"]}`, false},
		{pinned("", `{}`), `{}`, false},
		{pinned("m", `"GET`), `{"m":"GET"}`, false},
		{pinned("m", ``), `{"m":"GET"}`, false},
		{pinned("m", `"GET"`), `{"m":"PUT","m":"GET"}`, false},
		{pinned("m", `"GET"`), `nonsense`, false},
		{append(pinned("a", `1`), pinned("b", `2`)...), `{"a":1,"b":2}`, true},
		{append(pinned("a", `1`), pinned("b", `2`)...), `{"a":1,"b":3}`, false},
	} {
		g, req := grantOf(files), call(files)
		g.Pins, req.Args = c.pins, json.RawMessage(c.args)
		if got, why := Covers(installed(), g, req, noon); got != c.want {
			t.Errorf("%s on %s: %v, %s", c.pins, c.args, got, why)
		}
	}
}
