package settings

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// What is missing is named, all of it; what may be left out is not.
func TestNewNamesWhatIsMissing(t *testing.T) {
	_, err := New(Config{})
	for _, field := range []string{"Engine", "Log", "Index", "Tools"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+field+" is missing") {
			t.Errorf("%s: %v", field, err)
		}
	}
	type ports struct {
		agent.Log
		agent.Index
		agent.Tools
	}
	s, err := New(Config{Engine: &agent.Engine{}, Log: ports{}, Index: ports{}, Tools: ports{}})
	if err != nil || s.Logger == nil {
		t.Errorf("%+v: %v", s, err)
	}
}

// A view is of one thing, and a button can hold its name, whatever a server and its tools call themselves.
func TestViews(t *testing.T) {
	long := strings.Repeat("x", 100)
	view := func(names ...string) string {
		return viewOf([]string{1: viewServer, 2: viewTool}[len(names)], names...)
	}
	seen := map[string][]string{}
	for _, x := range [][]string{
		{"a", "b/c"}, {"a/b", "c"}, {"a", "b"}, {"a/b"}, {"a b"}, {"a\u00a0b"}, {"ä"}, {long}, {long + "x"}, {"\x7f"},
		{strings.TrimPrefix(view("ä"), viewServer)}, {strings.TrimPrefix(view("a/b", "c"), viewTool), "c"}, // as digests stand
	} {
		got := view(x...)
		if was := seen[got]; was != nil || len(got) > maxView || strings.ContainsFunc(got, func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
			t.Errorf("%q is the view of %q and of %q", got, x, was)
		}
		seen[got] = x
	}
	if got := InstallView("a/b"); got != "install:a/b" {
		t.Errorf("what can be read is %q", got)
	}
}

// A token is the same for the same action on what stands so, and another for anything else.
func TestTokens(t *testing.T) {
	token := func(view, rev string, a action) string {
		p := &page{view: view, offers: map[string]action{}}
		act := p.offer("Halt", rev, a)
		if _, offered := p.offers[act.Token]; !offered {
			t.Errorf("%s is not offered", act.Token)
		}
		return act.Token
	}
	at := permission.Setting{Server: "files", Tool: "write", Field: "ask"}
	entry := func(digest permission.Digest) toolEntry {
		return toolEntry{spec: agent.ToolSpec{Tool: permission.Tool{Server: "files", Name: "write", Definition: digest}}}
	}
	room := chat.ID{Platform: "web", Key: "room"}
	actions := func() []action {
		return []action{
			setHalt(true), setHalt(false), setMode(permission.ModeNever), setMode(permission.ModeTool), revoke(room, "g"), revoke(room, "g", "h"), revoke(chat.ID{}, "g"),
			set(at, "never", "never", "home"), set(at, "always", "always", "home"), set(permission.Setting{Field: "mode"}, "always", "always", "home"),
			{Changes: []permission.Change{at}, Fill: true}, {View: "history"}, {View: "stats"}, forget("mine", "a"), forget("mine", "a", "b"),
			remember(entry("1"), permission.StandAllow, "mine"), remember(entry("2"), permission.StandAllow, "mine"), remember(entry("1"), permission.StandDeny, "mine"),
		}
	}
	seen := map[string]bool{}
	for i, a := range actions() {
		for _, x := range [][2]string{{"home", ""}, {"home", "c"}, {"mine", "c"}, {"homec", ""}} {
			one := token(x[0], x[1], a)
			if one != token(x[0], x[1], actions()[i]) || seen[one] || len(one) > 26 {
				t.Errorf("%v %+v: %s", x, a, one)
			}
			seen[one] = true
		}
	}
}
