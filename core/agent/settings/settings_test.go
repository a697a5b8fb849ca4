package settings

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
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

// holding is an engine with these settings, which cannot be changed where there is an error, and a log of two chats and the settings, which cannot
// be read where there is another. Ana wrote to one, and set something. It keeps what is marked.
type holding struct {
	Engine
	agent.Log
	agent.Index
	now              permission.Settings
	unchanged, blank error
	marked           *[]chat.ID
}

var ana, one = chat.User{Platform: "web", Key: "ana"}, chat.ID{Platform: "web", Key: "50%"}

func (h holding) Change(context.Context, chat.Envelope, string, func(permission.Policy, permission.Settings) ([]permission.Change, error)) (permission.Settings, error) {
	return h.now, h.unchanged
}

func (h holding) EachChat(_ context.Context, take func(chat.ID) error) (err error) {
	for _, id := range []chat.ID{agent.SettingsChat, {Platform: "web", Key: "two"}, one} {
		err = errors.Join(err, take(id))
	}
	return err
}

func (h holding) History(_ context.Context, id chat.ID) ([]turn.Entry, error) {
	if h.blank != nil {
		return nil, h.blank
	}
	return map[chat.ID][]turn.Entry{
		agent.SettingsChat: {{Event: turn.Changed{By: ana}}}, one: {{Event: turn.Said{By: ana}}},
	}[id], nil
}

func (h holding) Load(context.Context, chat.ID) (agent.Snapshot, []turn.Entry, agent.Head, error) {
	return agent.Snapshot{}, nil, agent.Head{}, h.blank
}

func (h holding) Retain(_ context.Context, id chat.ID, _ bool) error {
	*h.marked = append(*h.marked, id)
	return nil
}

// A hold marks the chats that it concerns, and no log of nod's own. Where it is not on record, not every chat can be read, or the store cannot hold,
// that is an error, and no chat is marked, or released.
func TestWhatAHoldMarks(t *testing.T) {
	gone := errors.New("gone")
	for name, x := range map[string]struct {
		what    string
		on      bool // it is on record
		because holding
		store   bool
		says    string
	}{
		"a chat":         {"web::50%25", true, holding{}, true, ""},
		"as it is typed": {"web::50%", true, holding{}, true, ""},
		"a person":       {"web::ana", true, holding{}, true, ""},
		"again":          {"web::50%25", true, holding{unchanged: agent.ErrUnchanged}, true, ""},
		"not changed":    {"web::50%25", false, holding{unchanged: gone}, true, "gone"},
		"one too many":   {"web::50%25", false, holding{unchanged: agent.ErrUnchanged}, true, text.TooManyHolds},
		"an unread chat": {"web::ana", true, holding{blank: gone}, true, "gone"},
		"no such store":  {"web::50%25", true, holding{}, false, "cannot hold"},
	} {
		h, marked, log := x.because, []chat.ID(nil), agent.Log(nil)
		h.marked = &marked
		if x.on {
			what, _ := chat.ParseID(x.what)
			h.now.Holds = []permission.Hold{{What: what.String()}}
		}
		if x.store {
			log = h
		}
		_, _, err := PutHold(t.Context(), h, log, h, chat.Envelope{}, permission.Holding{What: x.what}, func(chat.ID, error) {})
		if x.says == "" && (err != nil || !slices.Equal(marked, []chat.ID{one})) || x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says) || len(marked) > 0) {
			t.Errorf("%s: %v, marked %v", name, err, marked)
		}
	}
}
