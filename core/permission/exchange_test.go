package permission

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/pin"
)

var exchangePeople = []chat.User{{Platform: "web", Key: "ana"}, {Platform: "web", Key: "ben"}}

func definitionNo(n int) Digest { return digest("test", string([]byte{byte(n)})) }

// drawPeoplesSettings are settings as people and servers make them, one change after the other.
func drawPeoplesSettings(t *rapid.T) Settings {
	var s Settings
	values := map[string][]string{
		"timeout": {"90s", Park}, "message": {"Do {{.args.x}}?"}, "impact": {"much"}, "category": {"Files"},
		"approvers": {"anyone", "web::ana"}, "min_approvals": {"1", "2"},
	}
	tool := func(label string) Tool {
		return Tool{Server: rapid.SampledFrom([]string{"a", "b"}).Draw(t, label+" server"), Name: rapid.SampledFrom([]string{"read_file", "go"}).Draw(t, label+" tool")}
	}
	for i := range rapid.IntRange(0, 25).Draw(t, "changes") {
		var c Change
		by := rapid.SampledFrom(exchangePeople).Draw(t, "by")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			at := Setting{}
			if rapid.Bool().Draw(t, "of a server") {
				at.Server = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "server")
				at.Tool = rapid.SampledFrom([]string{"", "read_file", "go"}).Draw(t, "tool")
			}
			f := rapid.SampledFrom(at.Fields()).Draw(t, "field")
			at.Field = f.Name
			if f.Words == nil {
				f.Words = values[f.Name]
			}
			at.Value = rapid.SampledFrom(f.Words).Draw(t, "value")
			c = at
		case 1:
			k := tool("remembered")
			k.Definition = definitionNo(rapid.IntRange(0, 2).Draw(t, "definition"))
			r := Remembered{ID: fmt.Sprint("r", i), By: by, Name: "N", Tool: k, Choice: Standing(rapid.IntRange(0, 2).Draw(t, "choice"))}
			if r.Choice == StandAllow {
				r.Pins = rapid.SampledFrom([][]pin.Pin{nil, {{Path: "path", Value: json.RawMessage(`"/srv/a"`)}}, {{Path: "path", Value: json.RawMessage(`"/srv"`), Match: pin.MatchUnder}}}).Draw(t, "pins")
				r.Until = rapid.SampledFrom([]time.Time{{}, time.Unix(2999, 5).UTC(), time.Unix(3001, 5).UTC()}).Draw(t, "until")
			}
			c = r
		case 2:
			k := tool("seen")
			k.Definition = definitionNo(rapid.IntRange(0, 2).Draw(t, "definition"))
			c = Seen{Tool: k, Definition: Definition{Description: string(k.Definition)}, Stranger: true}
		case 3:
			k := tool("accepted")
			if pin, ok := s.Pin(k); ok {
				k = pin.Tool
			}
			c = Accept(k)
		case 5:
			k := tool("accepted as a read")
			if pin, ok := s.Pin(k); ok {
				k = pin.Tool
			}
			c = AcceptReads{k, rapid.IntRange(0, 3).Draw(t, "off") == 0}
		case 4:
			k := tool("analysed")
			k.Definition = definitionNo(rapid.IntRange(0, 2).Draw(t, "definition"))
			c = Analysis{Tool: k, Access: Write, Risk: Risk(rapid.IntRange(0, 2).Draw(t, "risk")), Level: rapid.Bool().Draw(t, "admin")}
		}
		s, _ = s.Apply(c, by, "N", time.Unix(int64(i), 0))
	}
	return s
}

// heard is s once the servers said what their tools are.
func heard(s, as Settings) Settings {
	for _, p := range as.Pins {
		s, _ = s.Apply(Seen{Tool: p.Tool, Definition: p.Now, Stranger: true}, chat.User{}, "", time.Unix(1000, 0))
	}
	return s
}

func imported(t interface{ Fatal(...any) }, x Exchange, into Settings) Settings {
	changes, err := x.Changes(into)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		into, _ = into.Apply(c, exchangePeople[1], "B", time.Unix(2000, 0))
	}
	return into
}

// decisions are what every kind of call comes to, over one operator's policy; of tools that skip names nothing is told.
func decisions(s Settings, as Settings, skip func(Pinned) bool) map[string]string {
	yes := true
	base := Policy{Installed: true, SurviveRestart: true, Timeout: time.Minute, Admins: exchangePeople[1:],
		Servers: map[string]ServerSettings{"a": {Trusted: true, Tools: map[string]ToolSettings{"go": {Ask: NeverAsk}}}}}
	p := s.Over(base)
	out := map[string]string{}
	for _, pin := range as.Pins {
		if skip(pin) {
			continue
		}
		for _, mode := range []Mode{ModeTool, ModeAlways, ModeNever} {
			for _, u := range exchangePeople {
				for _, args := range []string{`{}`, `{"path":"/srv/a"}`, `{"path":"/srv/b"}`, `{"path":"/etc"}`} {
					for _, h := range []Hints{{}, {ReadOnly: &yes}, {Destructive: &yes}} {
						r := Evaluate(p, nil, Request{
							Chat: chat.ID{Platform: "web", Key: "c"}, Requester: u, Present: exchangePeople, Mode: mode, Tool: pin.Tool, Hints: h, Args: []byte(args),
						}, time.Unix(3000, 0))
						why := r.Why()
						r.Reasons = nil
						b, err := json.Marshal(r)
						if err != nil {
							panic(err)
						}
						out[fmt.Sprint(pin.Tool, mode, u, args, *first2(h.ReadOnly), *first2(h.Destructive))] = string(b) + why
					}
				}
			}
		}
	}
	return out
}

func first2(b *bool) *bool {
	if b == nil {
		b = new(bool)
	}
	return b
}

// Export, wipe, import gives identical decisions and an identical export, whether the servers were heard before or after it.
// R8
func TestExportWipeImport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawPeoplesSettings(t)
		x := s.Exchange()
		if again, err := x.Changes(s); err != nil || len(again) != 0 {
			t.Fatalf("reading it into the same settings would change %v: %v", again, err)
		}
		after := heard(imported(t, x, Settings{}), s)
		none := func(Pinned) bool { return false }
		if got, want := decisions(after, s, none), decisions(s, s, none); !reflect.DeepEqual(got, want) {
			t.Fatalf("decisions after the import:\n%v\nbefore:\n%v", got, want)
		}
		if got := after.Exchange(); !reflect.DeepEqual(got, x) {
			t.Fatalf("exported again:\n%+v\nwant\n%+v", got, x)
		}

		// What was first seen, and changed before anybody accepted it, a place that heard the server already cannot know.
		first := func(p Pinned) bool { return !p.Accepted && p.Changed() }
		late := imported(t, x, heard(Settings{}, s))
		if got, want := decisions(late, s, first), decisions(s, s, first); !reflect.DeepEqual(got, want) {
			t.Fatalf("decisions of servers that were heard first:\n%v\nbefore:\n%v", got, want)
		}
		for i, p := range late.Pins {
			if p.Tool != s.Pins[i].Tool {
				t.Fatalf("%v: the import changed what the server says", p.Tool)
			}
			if p.Accepted && !p.Changed() && !(s.Pins[i].Accepted && !s.Pins[i].Changed()) {
				t.Fatalf("%v: the import accepted what nobody accepted", p.Tool)
			}
		}
	})
}

// A word for a whole server accepts the tools that a person sees; a file sees none.
func TestImportVouchesForNothing(t *testing.T) {
	k := Tool{"a", "go", definitionNo(1)}
	now := heard(Settings{}, Settings{Pins: []Pinned{{Tool: k}}})
	x := Exchange{Version: 1, Settings: []Setting{{Server: "a", Field: "ask", Value: "never"}, {Server: "a", Field: "trusted", Value: "true"}}}
	after := imported(t, x, now)
	if p, _ := after.Pin(k); p.Accepted || p.Changed() {
		t.Errorf("%+v", p)
	}
	if len(after.Set) != 2 {
		t.Errorf("%v", after.Set)
	}
}

// A definition that the file calls accepted is not what the server says now: the tool asks until somebody looked.
func TestImportAcceptsNoOtherDefinition(t *testing.T) {
	old, now := Tool{"a", "go", definitionNo(1)}, Tool{"a", "go", definitionNo(2)}
	x := Exchange{Version: 1, Settings: []Setting{{Server: "a", Tool: "go", Field: "ask", Value: "never"}},
		Tools: []ToolEntry{{Server: "a", Tool: "go", Counts: old.Definition, Accepted: true}}}
	for what, after := range map[string]Settings{
		"heard before": imported(t, x, heard(Settings{}, Settings{Pins: []Pinned{{Tool: now}}})),
		"heard after":  heard(imported(t, x, Settings{}), Settings{Pins: []Pinned{{Tool: now}}}),
	} {
		p := after.Over(Policy{Installed: true})
		r := Evaluate(p, nil, Request{Chat: chat.ID{Platform: "web", Key: "c"}, Requester: exchangePeople[0], Tool: now}, time.Time{})
		if !r.Changed || r.Verdict != Ask {
			t.Errorf("%s: %v, changed %v", what, r.Verdict, r.Changed)
		}
		if pin, _ := after.Pin(now); pin.Tool != now || pin.Counts != old.Definition {
			t.Errorf("%s: %+v", what, pin)
		}
	}
	here := heard(Settings{}, Settings{Pins: []Pinned{{Tool: now}}})
	here, _ = here.Apply(Accept(now), exchangePeople[1], "B", time.Unix(1, 0))
	if pin, _ := imported(t, x, here).Pin(now); pin.Counts != now.Definition || !pin.Accepted {
		t.Errorf("what people here accepted is gone: %+v", pin)
	}
}

func TestExchangeRefusesWhatIsNotOne(t *testing.T) {
	good := string(definitionNo(1))
	for what, x := range map[string]Exchange{
		"settings, entry 1: ask":                        {Settings: []Setting{{Server: "a", Field: "ask", Value: "sometimes"}}},
		"settings, entry 2: a: there is no":             {Settings: []Setting{{Server: "a", Field: "ask", Value: "always"}, {Server: "a", Field: "colour", Value: "red"}}},
		"settings, entry 1: ask has no value":           {Settings: []Setting{{Server: "a", Field: "ask"}}},
		"settings, entry 1: the tool t":                 {Settings: []Setting{{Tool: "t", Field: "ask", Value: "always"}}},
		"remembered, entry 1: by":                       {Remembered: []RememberedEntry{{ID: "1", By: "ana", Server: "a", Tool: "t", Choice: "deny"}}},
		"remembered, entry 1: choice":                   {Remembered: []RememberedEntry{{ID: "1", By: "web::ana", Server: "a", Tool: "t", Choice: "maybe"}}},
		"remembered, entry 1: it needs":                 {Remembered: []RememberedEntry{{By: "web::ana", Server: "a", Tool: "t", Choice: "deny"}}},
		"remembered, entry 1: it needs an id, a person": {Remembered: []RememberedEntry{{ID: "1", By: "discord:1:&2", Server: "a", Tool: "t", Choice: "deny"}}},
		"remembered, entry 1: definition":               {Remembered: []RememberedEntry{{ID: "1", By: "web::ana", Server: "a", Tool: "t", Choice: "allow"}}},
		"tools, entry 1: counts":                        {Tools: []ToolEntry{{Server: "a", Tool: "t", Counts: "feed"}}},
		"tools, entry 1: counts: \"ABCDABCD":            {Tools: []ToolEntry{{Server: "a", Tool: "t", Counts: Digest(strings.Repeat("ABCD", 16))}}},
		"tools, entry 1: reads":                         {Tools: []ToolEntry{{Server: "a", Tool: "t", Counts: Digest(good), Reads: true}}},
		"tools, entry 1: it needs":                      {Tools: []ToolEntry{{Server: "a", Counts: Digest(good)}}},
		"advice, entry 1: risk":                         {Advice: []AdviceEntry{{Server: "a", Tool: "t", Definition: Digest(good), Access: "write", Risk: "none"}}},
		"advice, entry 1: access":                       {Advice: []AdviceEntry{{Server: "a", Tool: "t", Definition: Digest(good), Access: "none", Risk: "safe"}}},
		"advice, entry 1: it needs":                     {Advice: []AdviceEntry{{Server: "a", Tool: "t", Access: "write", Risk: "safe"}}},
	} {
		changes, err := x.Changes(Settings{})
		if err == nil || !strings.HasPrefix(err.Error(), what) || changes != nil {
			t.Errorf("%s: %v, %v", what, changes, err)
		}
	}
}

// The lines are YAML of which each entry is JSON, whatever names hold.
func TestExchangeLines(t *testing.T) {
	s, _ := Settings{}.Apply(Setting{Server: "a\u0085\n\u2028: {", Tool: "<b>\x7f", Field: "ask", Value: "always"}, exchangePeople[0], "N", time.Unix(1, 0))
	s, _ = s.Apply(Remembered{ID: "1", By: exchangePeople[0], Tool: Tool{"a", "b", ""}, Choice: StandDeny}, exchangePeople[0], "N", time.Unix(1, 0))
	lines := s.Exchange().Lines()
	if len(lines) != 5 || lines[0] != "version: 1" || lines[1] != "settings:" || lines[3] != "remembered:" {
		t.Fatalf("%q", lines)
	}
	entry, ok := strings.CutPrefix(lines[2], "  - ")
	var back Setting
	if !ok || json.Unmarshal([]byte(entry), &back) != nil || back != s.Set[0].Setting {
		t.Errorf("%q", lines[2])
	}
	for _, r := range lines[2] {
		if r < ' ' || r >= 0x7F && r < 0xA0 || r == 0x2028 {
			t.Errorf("%q holds %U", lines[2], r)
		}
	}
	if empty := (Settings{}).Exchange().Lines(); len(empty) != 1 {
		t.Errorf("%q", empty)
	}
}

// What nobody could see stands in an export as YAML's own escapes, also beyond the first 65,536 characters.
func TestExchangeHidesNothing(t *testing.T) {
	t.Parallel()
	s, moved := Settings{}.Apply(Setting{Server: "s", Tool: "t", Field: "impact", Value: "a\u200bb\U000E0041c"}, chat.User{}, "", time.Time{})
	if !moved {
		t.Fatal("not set")
	}
	text := strings.Join(s.Exchange().Lines(), "\n")
	if !strings.Contains(text, `a\u200Bb\U000E0041c`) {
		t.Error(text)
	}
}

// Written out, wiped and read in again, the settings give identical decisions, for every tool, person, mode and definition that they speak
// of; and what is written then is the same again.
// R8
func TestExportGivesTheSameDecisions(t *testing.T) {
	d1, d2 := Digest(strings.Repeat("1", 64)), Digest(strings.Repeat("2", 64))
	tool := func(name string, d Digest) Tool { return Tool{Server: "files", Name: name, Definition: d} }
	set := func(server, name, field, value string) Change {
		return Setting{Server: server, Tool: name, Field: field, Value: value}
	}
	see := func(name string) Change { x := Seen{Tool: tool(name, d1)}; return x }
	accept := func(name string) Change { x := tool(name, d1); return Accept(x) }
	var s Settings
	for _, c := range []Change{
		see("one"), see("two"), see("three"), see("four"), see("five"), accept("one"), accept("two"),
		set("files", "", "ask", "never"), set("files", "one", "ask", "always"), set("files", "two", "approval", "RequireAuth"),
		set("files", "three", "enabled", "false"), set("files", "", "trusted", "true"), set("", "", "timeout", "90s"),
		Remembered{ID: "r1", By: ana, Name: "Ana", Tool: tool("four", d1), Choice: StandAllow},
		Remembered{ID: "r2", By: ana, Name: "Ana", Tool: tool("five", d1), Choice: StandDeny},
		Remembered{ID: "r3", By: ben, Name: "Ben", Tool: tool("four", d1), Choice: StandAsk},
		Analysis{Tool: tool("one", d1), Risk: Dangerous, Reason: "it says so"},
	} {
		next, moved := s.Apply(c, boss, "Boss", noon)
		if !moved {
			t.Fatalf("%v changes nothing", c)
		}
		s = next
	}
	written, err := json.Marshal(s.Exchange())
	if err != nil {
		t.Fatal(err)
	}
	var x Exchange
	if err := json.Unmarshal(written, &x); err != nil {
		t.Fatal(err)
	}
	var empty Settings
	changes, err := x.Changes(empty)
	if err != nil {
		t.Fatal(err)
	}
	again := empty
	for _, c := range changes {
		again, _ = again.Apply(c, ben, "Ben", noon)
	}
	differ := 0
	for _, name := range []string{"one", "two", "three", "four", "five", "six"} {
		for _, d := range []Digest{d1, d2} {
			for _, mode := range []Mode{ModeTool, ModeAlways, ModeNever} {
				req := call(tool(name, d))
				req.Mode, req.Hints = mode, Hints{ReadOnly: yes}
				for _, who := range []Request{req, func() Request { r := req; r.Requester = ben; return r }()} {
					was, is := Evaluate(s.Over(installed()), nil, who, noon), Evaluate(again.Over(installed()), nil, who, noon)
					if !reflect.DeepEqual(was, is) {
						t.Errorf("%s %.2s %v for %v: was %+v, is %+v", name, d, mode, who.Requester, was, is)
					}
					if bare := Evaluate(installed(), nil, who, noon); bare.Verdict != was.Verdict || bare.Level != was.Level {
						differ++
					}
				}
			}
		}
	}
	if differ < 10 {
		t.Errorf("only %d decisions are others than without any setting: the test says nothing", differ)
	}
	if rewritten, err := json.Marshal(again.Exchange()); err != nil || string(rewritten) != string(written) {
		t.Errorf("written again it is\n%s\nand was\n%s (%v)", rewritten, written, err)
	}
	if more, err := x.Changes(s); err != nil || len(more) != 0 {
		t.Errorf("read in where it already holds, it changes %v (%v)", more, err)
	}
}

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
	if err != nil || len(changes) != 1 || changes[0] != Change(Accept(d)) {
		t.Errorf("%v, %v", changes, err)
	}
	// What people here accepted stays as it is, but that the very definition reads is added to it.
	other := Tool{"files", "go", definitionNo(2)}
	file := entry(true, false)
	file.Tools[0].Reads = true
	for name, c := range map[string]struct {
		s    Settings
		want []Change
	}{
		"accepted":          {after(t, Settings{}, saw(d, false, true), accept(d)), []Change{AcceptReads{Tool: d}}},
		"accepted as reads": {acceptedRead(t, d), nil},
		"another accepted":  {after(t, Settings{}, saw(other, false, true), accept(other)), nil},
		"changed to it":     {after(t, Settings{}, saw(other, false, true), accept(other), saw(d, false, true)), nil},
	} {
		if changes, err := file.Changes(c.s); err != nil || !slices.Equal(changes, c.want) {
			t.Errorf("%s: %v, %v", name, changes, err)
		}
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
	s := after(t, Settings{}, Remembered{ID: "r1", By: chat.User{Platform: "web", Key: "ana"}, Name: "a\u200b\U000E0001b\U0001F600", Tool: files})
	if lines := s.Exchange().Lines(); !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, `a\u200B\U000E0001b`+"\U0001F600") }) {
		t.Errorf("%q", lines)
	}
}
