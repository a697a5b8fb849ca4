package permission

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/chat"
)

// A file's word for a whole server accepts none of its tools; no other setting has to be kept from that.
func TestImportedWordsForAServer(t *testing.T) {
	d1, mine, old := Tool{"files", "go", "d1"}, Tool{"mail", "go", "d1"}, Tool{"web", "go", "d1"}
	now := after(t, Settings{}, saw(d1, false, true), saw(mine, false, true), accept(mine), saw(old, false, true))
	now = after(t, now, saw(Tool{"web", "go", "d2"}, false, true))
	for _, c := range []struct {
		s    Setting
		want int // changes
	}{
		{Setting{Server: "files", Field: "trusted", Value: "true"}, 3},
		{Setting{Server: "files", Field: "ask", Value: "never"}, 3},
		{Setting{Server: "files", Field: "enabled", Value: "false"}, 1},
		{Setting{Server: "files", Tool: "go", Field: "ask", Value: "never"}, 1},
		{Setting{Server: "other", Field: "trusted", Value: "true"}, 1},
		{Setting{Server: "mail", Field: "trusted", Value: "true"}, 1}, // somebody accepted what it has
		{Setting{Server: "web", Field: "trusted", Value: "true"}, 1},  // what changed nobody vouches for
	} {
		changes, err := Exchange{Version: ExchangeVersion, Settings: []Setting{c.s}}.Changes(now)
		if err != nil || len(changes) != c.want {
			t.Errorf("%s: %v, %v", c.s, changes, err)
		}
		next := now
		for _, x := range changes {
			next, _ = next.Apply(x, boss, "Boss", noon)
		}
		for i, pin := range next.Pins {
			if pin.Accepted != now.Pins[i].Accepted || pin.Tool != now.Pins[i].Tool || pin.Changed() != now.Pins[i].Changed() {
				t.Errorf("%s: %+v", c.s, pin)
			}
		}
	}
}

func TestImportedTools(t *testing.T) {
	d := Tool{"files", "go", definitionNo(1)}
	entry := func(accepted, stranger bool) Exchange {
		return Exchange{Version: ExchangeVersion, Tools: []ToolEntry{{Server: "files", Tool: "go", Counts: d.Definition, Accepted: accepted, Stranger: stranger}}}
	}
	for _, c := range []struct{ accepted, stranger, isStranger bool }{{false, false, false}, {false, true, true}, {true, true, false}, {true, false, false}} {
		pin, _ := imported(t, entry(c.accepted, c.stranger), Settings{}).Pin(d)
		if pin.Accepted != c.accepted || pin.Stranger != c.isStranger {
			t.Errorf("%+v: %+v", c, pin)
		}
		for _, e := range after(t, Settings{}, saw(d, c.accepted, c.stranger)).Exchange().Tools {
			if e.Accepted != c.accepted || e.Stranger != c.isStranger {
				t.Errorf("%+v is written as %+v", c, e)
			}
		}
	}
	// What its server says now, and nobody accepted yet: the file does.
	changes, err := entry(true, false).Changes(after(t, Settings{}, saw(d, false, true)))
	if err != nil || len(changes) != 1 || changes[0].Accept == nil {
		t.Errorf("%v, %v", changes, err)
	}
}

// Each thing that an entry needs, left out by itself.
func TestImportNeedsEveryPart(t *testing.T) {
	digest := definitionNo(1)
	whole := RememberedEntry{ID: "r1", By: "web::ana", Server: "files", Tool: "go", Definition: digest, Choice: "allow"}
	remember := func(edit func(*RememberedEntry)) Exchange {
		r := whole
		edit(&r)
		return Exchange{Version: ExchangeVersion, Remembered: []RememberedEntry{r}}
	}
	advise := func(server, tool string, d Digest) Exchange {
		return Exchange{Version: ExchangeVersion, Advice: []AdviceEntry{{Server: server, Tool: tool, Definition: d, Access: "read", Risk: "safe"}}}
	}
	list := func(server, tool string) Exchange {
		return Exchange{Version: ExchangeVersion, Tools: []ToolEntry{{Server: server, Tool: tool, Counts: digest}}}
	}
	for _, c := range []struct {
		name string
		x    Exchange
		want string // "" is taken
	}{
		{"a whole choice", remember(func(*RememberedEntry) {}), ""},
		{"no id", remember(func(r *RememberedEntry) { r.ID = "" }), "remembered, entry 1: it needs"},
		{"no server", remember(func(r *RememberedEntry) { r.Server = "" }), "remembered, entry 1: it needs"},
		{"no tool", remember(func(r *RememberedEntry) { r.Tool = "" }), "remembered, entry 1: it needs"},
		{"a group", remember(func(r *RememberedEntry) { r.By = "slack:T1:&G" }), "remembered, entry 1: it needs"},
		{"an allowance of anything", remember(func(r *RememberedEntry) { r.Definition = "" }), "definition"},
		{"a denial of anything", remember(func(r *RememberedEntry) { r.Definition, r.Choice = "", "deny" }), ""},
		{"advice", advise("files", "go", digest), ""},
		{"advice for no server", advise("", "go", digest), "advice, entry 1: it needs"},
		{"advice for no tool", advise("files", "", digest), "advice, entry 1: it needs"},
		{"advice for no definition", advise("files", "go", ""), "advice, entry 1: it needs"},
		{"a tool", list("files", "go"), ""},
		{"a tool of no server", list("", "go"), "tools, entry 1: it needs"},
		{"no tool", list("files", ""), "tools, entry 1: it needs"},
		{"a setting without a value", Exchange{Version: ExchangeVersion, Settings: []Setting{{Field: "mode"}}}, "mode has no value"},
		{"no such setting, without a value", Exchange{Version: ExchangeVersion, Settings: []Setting{{Field: "moode"}}}, `there is no "moode"`},
	} {
		changes, err := c.x.Changes(Settings{})
		if c.want == "" && (err != nil || len(changes) != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, %v", c.name, changes, err)
		}
	}
}

// A hidden character is written by its number, with as many digits as YAML wants for it.
func TestHiddenCharactersOfAFile(t *testing.T) {
	s := after(t, Settings{}, Change{Remember: &Remembered{ID: "r1", By: chat.User{Platform: "web", Key: "ana"}, Name: "a\u200b\U000E0001b\U0001F600", Tool: files}})
	if lines := s.Exchange().Lines(); !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, `a\u200B\U000E0001b`+"\U0001F600") }) {
		t.Errorf("%q", lines)
	}
}
