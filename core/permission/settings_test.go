package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// after applies changes by boss; every one of them has to have an effect.
func after(t *testing.T, s Settings, changes ...Change) Settings {
	t.Helper()
	for i, c := range changes {
		next, moved := s.Apply(c, boss, "Boss", noon)
		if !moved || next.Rev != s.Rev+1 {
			t.Fatalf("change %d, %s: moved %v, revision %d after %d", i, c, moved, next.Rev, s.Rev)
		}
		s = next
	}
	return s
}

// inert applies changes none of which may have an effect.
func inert(t *testing.T, s Settings, changes ...Change) {
	t.Helper()
	for i, c := range changes {
		if next, moved := s.Apply(c, boss, "Boss", noon); moved || !reflect.DeepEqual(next, s) {
			t.Errorf("change %d, %s: moved %v, and now %+v", i, c, moved, next)
		}
	}
}

func set(server, tool, field, value string) Change {
	return Setting{Server: server, Tool: tool, Field: field, Value: value}
}

func saw(t Tool, vouched, stranger bool) Change {
	return Seen{Tool: t, Definition: Definition{Title: string(t.Definition)}, Vouched: vouched, Stranger: stranger}
}

func accept(t Tool) Change { return Accept(t) }

func TestApplySet(t *testing.T) {
	inert(t, Settings{}, nil, set("files", "", "ask", "perhaps"), set("files", "", "no such", "true"), set("", "go", "ask", "always"), set("files", "", "ask", ""))
	s := after(t, Settings{}, set("files", "go", "ask", "always"), set("files", "", "ask", "ALWAYS"), set("", "", "mode", "always"))
	inert(t, s, set("files", "", "ask", "always"), set("files", "", "enabled", ""))
	s = after(t, s, set("files", "", "ask", "never"))
	if p := s.Over(installed()); p.Servers["files"].Ask != NeverAsk || p.Servers["files"].Tools["go"].Ask != AlwaysAsk || p.Mode != ModeAlways || len(s.Set) != 3 {
		t.Errorf("%+v", s.Set)
	}
	s = after(t, s, set("files", "", "ask", ""))
	if p := s.Over(installed()); p.Servers["files"].Ask != Inherit || len(s.Set) != 2 {
		t.Errorf("taken back: %+v", s.Set)
	}
	if x := s.Set[0]; x.By != boss || x.Name != "Boss" || !x.At.Equal(noon) {
		t.Errorf("%+v", x)
	}
}

func TestApplySetIsBounded(t *testing.T) {
	s := Settings{}
	for i := range maxSets {
		s.Set = append(s.Set, Set{Setting: Setting{Server: fmt.Sprintf("s%05d", i), Field: "ask", Value: "always"}})
	}
	inert(t, s, set("t", "", "ask", "always"))
	s = after(t, s, set("s00000", "", "ask", "never"), set("s00001", "", "ask", ""), set("t", "", "ask", "always"))
	if len(s.Set) != maxSets {
		t.Errorf("%d settings", len(s.Set))
	}
}

// Who trusts a server, or lets it never ask, means the tools that it has: those that nobody accepted, of this server, as they were seen.
func TestApplyVouches(t *testing.T) {
	a, b, elsewhere := Tool{"files", "a", "d1"}, Tool{"files", "b", "d1"}, Tool{"mail", "a", "d1"}
	b2 := b
	b2.Definition = "d2"
	accepted := Tool{"files", "c", "d1"}
	base := after(t, Settings{}, saw(a, false, true), saw(b, false, true), saw(b2, false, true), saw(elsewhere, false, true), saw(accepted, false, true))
	base, _ = base.Apply(accept(accepted), ana, "Ana", noon)
	for _, c := range []struct {
		change  Change
		vouches bool
	}{
		{set("files", "", "trusted", "true"), true},
		{set("files", "", "ask", "never"), true},
		{set("files", "", "trusted", "false"), false},
		{set("files", "", "ask", "always"), false},
		{set("files", "", "enabled", "true"), false},
		{set("files", "a", "ask", "never"), false},
		{set("", "", "mode", "never"), false},
		{set("", "", "strict", "true"), false},
		{set("mail", "", "enabled", "false"), false},
	} {
		s := after(t, base, c.change)
		pin, _ := s.Pin(a)
		if pin.Accepted != c.vouches {
			t.Errorf("%s: accepted %v", c.change, pin.Accepted)
		}
		if pin, _ := s.Pin(b); pin.Accepted {
			t.Errorf("%s accepts what changed", c.change)
		}
		if pin, _ := s.Pin(elsewhere); pin.Accepted {
			t.Errorf("%s accepts another server's", c.change)
		}
		if pin, _ := s.Pin(accepted); pin.By != ana {
			t.Errorf("%s: %v accepted what ana did", c.change, pin.By)
		}
	}
	s := after(t, base, set("files", "", "trusted", "true"), set("files", "", "trusted", "false"))
	if again, _ := s.Apply(saw(Tool{"files", "new", "d1"}, false, true), boss, "", noon); again.Pins[3].Accepted {
		t.Error("what came later is accepted")
	}
	// A word of no server's is none of a server without a name.
	odd := base
	odd.Pins = append([]Pinned{{Tool: Tool{Name: "x", Definition: "d1"}, Counts: "d1"}}, base.Pins...)
	if s := after(t, odd, set("", "", "mode", "never")); s.Pins[0].Accepted {
		t.Error("a mode accepts")
	}
}

func TestApplyRemember(t *testing.T) {
	keep := func(id string, by chat.User, tool Tool, c Standing) Change {
		return Remembered{ID: id, By: by, Tool: tool, Choice: c}
	}
	other, abroad := files, files
	other.Name, abroad.Server = "other", "elsewhere"
	nameless, homeless := files, files
	nameless.Name, homeless.Server = "", ""
	inert(t, Settings{}, keep("", ana, files, StandAllow), keep("r", chat.User{}, files, StandAllow), keep("r", chat.User{Platform: "slack", Key: "&G"}, files, StandAllow),
		keep("r", ana, nameless, StandAllow), keep("r", ana, homeless, StandAllow), keep("r", ana, files, StandDeny+1), Forget("r"))
	s := after(t, Settings{}, keep("r1", ana, files, StandAllow), keep("r2", ben, files, StandAllow), keep("r3", ana, other, StandAllow), keep("r4", ana, abroad, StandAllow))
	if len(s.Remembered) != 4 || !s.Remembered[0].At.Equal(noon) {
		t.Fatalf("%+v", s.Remembered)
	}
	changed := files
	changed.Definition = "d9"
	s = after(t, s, keep("r5", ana, changed, StandDeny)) // of the same tool by the same person: in its place
	if got := s.Of(ana); len(got) != 3 || got[0].ID != "r5" {
		t.Errorf("%+v", got)
	}
	s = after(t, s, keep("r2", boss, other, StandDeny)) // the same name: in its place
	if len(s.Of(ben)) != 0 || len(s.Of(boss)) != 1 {
		t.Errorf("%+v", s.Remembered)
	}
	s = after(t, s, Forget("r5"))
	inert(t, s, Forget("r5"))
	if len(s.Of(ana)) != 2 {
		t.Errorf("%+v", s.Of(ana))
	}
	full := Settings{}
	for i := range maxRemembered {
		full.Remembered = append(full.Remembered, Remembered{ID: fmt.Sprint(i), By: ana, Tool: Tool{"files", fmt.Sprint(i), "d"}})
	}
	inert(t, full, keep("more", ben, files, StandAllow))
	if s := after(t, full, keep("7", ana, files, StandAllow)); len(s.Remembered) != maxRemembered {
		t.Errorf("%d", len(s.Remembered))
	}
}

func TestApplySeen(t *testing.T) {
	inert(t, Settings{}, saw(Tool{"", "go", "d1"}, true, false), saw(Tool{"files", "", "d1"}, true, false), saw(Tool{"files", "go", ""}, true, false))
	d1, d2, d3 := Tool{"files", "go", "d1"}, Tool{"files", "go", "d2"}, Tool{"files", "go", "d3"}

	// Trusted from the start, and seen again.
	s := after(t, Settings{}, saw(d1, true, false))
	inert(t, s, saw(d1, true, false), saw(d1, false, true))
	if pin, ok := s.Pin(d1); !ok || !pin.Accepted || pin.Changed() || pin.Differences() != nil {
		t.Errorf("%+v", pin)
	}

	// A stranger's: nobody vouches by seeing it again, the operator does once they trust the server, and only then.
	s = after(t, Settings{}, saw(d1, false, true))
	inert(t, s, saw(d1, false, true), saw(d1, false, false))
	trusted := after(t, s, saw(d1, true, false))
	if pin, _ := trusted.Pin(d1); !pin.Accepted || pin.Stranger || pin.Changed() {
		t.Errorf("%+v", pin)
	}
	// What came to a trusted server later is no stranger's: seeing it is not accepting it.
	added := after(t, Settings{}, saw(d1, false, false))
	inert(t, added, saw(d1, true, false))
	// What somebody accepted stays theirs.
	mine := after(t, s, accept(d1))
	inert(t, mine, saw(d1, true, false))
	if pin, _ := mine.Pin(d1); pin.By != boss || !pin.Accepted {
		t.Errorf("%+v", pin)
	}

	// Changes: what was accepted is kept to compare with, whatever comes after, until it is that again.
	s = after(t, mine, saw(d2, false, false), saw(d3, true, false))
	pin, _ := s.Pin(d1)
	if want := []Difference{{"title", "d1", "d3"}}; !pin.Changed() || pin.Counts != "d1" || !reflect.DeepEqual(pin.Differences(), want) {
		t.Errorf("%+v: %+v", pin, pin.Differences())
	}
	inert(t, s, saw(d3, true, false), accept(d1), accept(d2))
	if back, _ := after(t, s, saw(d1, false, false)).Pin(d1); back.Changed() || back.Was.Title != "" || !back.Accepted {
		t.Errorf("%+v", back)
	}
	s = after(t, s, accept(d3))
	inert(t, s, accept(d3))
	if pin, _ := s.Pin(d3); pin.Changed() || !pin.Accepted || pin.Was.Title != "" {
		t.Errorf("%+v", pin)
	}
	inert(t, Settings{}, accept(d1))

	// A changed tool that somebody had accepted can be accepted anew.
	s = after(t, mine, saw(d2, false, false), accept(d2))
	if p := s.Over(installed()); p.Servers["files"].Tools["go"].Accepted != "d2" {
		t.Errorf("%+v", p.Servers)
	}
}

func TestApplySeenIsBounded(t *testing.T) {
	s := Settings{}
	for i := range maxPins {
		s.Pins = append(s.Pins, Pinned{Tool: Tool{"files", fmt.Sprintf("t%05d", i), "d1"}, Counts: "d1", Accepted: true})
	}
	inert(t, s, saw(Tool{"files", "u", "d1"}, true, false))
	if s = after(t, s, saw(Tool{"files", "t00000", "d2"}, true, false)); len(s.Pins) != maxPins || !s.Pins[0].Changed() {
		t.Errorf("%d pins, %+v", len(s.Pins), s.Pins[0])
	}
}

// Pinned.see is asked only for what [Settings.Apply] did not leave out; it answers the same by itself.
func TestSeenAgain(t *testing.T) {
	d1 := Tool{"files", "go", "d1"}
	pinned := Pinned{Tool: d1, Counts: "d1", Stranger: true}
	for _, c := range []struct {
		name string
		p    Pinned
		x    Seen
		want bool
	}{
		{"vouched", pinned, Seen{Tool: d1, Vouched: true}, true},
		{"nobody vouches", pinned, Seen{Tool: d1}, false},
		{"no stranger's", Pinned{Tool: d1, Counts: "d1"}, Seen{Tool: d1, Vouched: true}, false},
	} {
		got := c.p.see(c.x, noon)
		if got.Accepted != c.want || !got.At.IsZero() {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	taken := Pinned{Tool: d1, Counts: "d1", Stranger: true, Accepted: true}
	if got := taken.see(Seen{Tool: d1, Vouched: true}, noon); !got.Stranger {
		t.Errorf("accepted already, and now %+v", got)
	}
}

func TestApplyToldHaltAnalysis(t *testing.T) {
	told := func(server, digest string) Change { return Told{Server: server, Tools: Digest(digest)} }
	inert(t, Settings{}, told("", "x"))
	s := after(t, Settings{}, told("files", "x"), told("mail", "y"), told("files", "z"))
	inert(t, s, told("files", "z"))
	if want := []Told{{Server: "mail", Tools: "y", At: noon}, {Server: "files", Tools: "z", At: noon}}; !reflect.DeepEqual(s.Told, want) {
		t.Errorf("%+v", s.Told)
	}
	sent := func(server, digest string) Change {
		return Told{Server: server, Tools: Digest(digest), Sent: true}
	}
	inert(t, Settings{}, sent("files", "z"))
	inert(t, s, sent("files", "x"))
	done := after(t, s, sent("files", "z"))
	if want := []Told{{Server: "mail", Tools: "y", At: noon}, {Server: "files", Tools: "z", At: noon, Sent: true}}; !reflect.DeepEqual(done.Told, want) {
		t.Errorf("%+v", done.Told)
	}
	inert(t, done, sent("files", "z"), told("files", "z"))
	// Nobody says that it was done: somebody sets about it again, after twice as long each time, and after 6 h at the latest.
	at, again := noon, told("mail", "y")
	for tries, wait := range []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute} {
		if _, moved := s.Apply(again, ana, "", at.Add(wait-1)); moved {
			t.Errorf("after %d tries it is due within %s", tries, wait)
		}
		at = at.Add(wait)
		next, moved := s.Apply(again, ana, "", at)
		if i := len(next.Told) - 1; !moved || next.Told[i] != (Told{Server: "mail", Tools: "y", Tries: tries + 1, At: at}) {
			t.Errorf("after %d tries: %v, %+v", tries, moved, next.Told)
		}
		s = next
	}
	for _, tries := range []int{8, 40, 1 << 40} {
		if due := (Told{At: noon, Tries: tries}).due(); due != noon.Add(6*time.Hour) {
			t.Errorf("after %d tries it is due %s later", tries, due.Sub(noon))
		}
	}

	halt, resume := Halting(true), Halting(false)
	inert(t, Settings{}, resume)
	s = after(t, Settings{}, halt)
	inert(t, s, halt)
	if p := s.Over(installed()); p.Halted == nil || p.Halted.By != boss {
		t.Errorf("%+v", p.Halted)
	}
	if s = after(t, s, resume); s.Halted != nil {
		t.Errorf("%+v", s.Halted)
	}

	advice := func(server, tool string, d Digest, r Risk) Change {
		return Analysis{Tool: Tool{server, tool, d}, Access: Write, Risk: r}
	}
	inert(t, Settings{}, advice("files", "go", "", Safe))
	s = after(t, Settings{}, advice("files", "go", "d1", Safe), advice("files", "run", "d1", Safe), advice("mail", "go", "d1", Safe), advice("files", "go", "d1", Dangerous))
	inert(t, s, advice("files", "go", "d1", Dangerous))
	if len(s.Analyses) != 3 || s.Analyses[2].Risk != Dangerous {
		t.Errorf("%+v", s.Analyses)
	}
	// It is about the definition that counts, or about any where none does.
	for accepted, want := range map[Digest]bool{"": true, "d1": true, "d2": false} {
		p := with(installed(), "files", ServerSettings{Tools: tools("go", ToolSettings{Accepted: accepted})})
		if got := s.Over(p).Servers["files"].Tools["go"].Advice != nil; got != want {
			t.Errorf("accepted %q: advice %v", accepted, got)
		}
	}
}

func TestChangeInWords(t *testing.T) {
	d := Tool{"files", "go", "0123456789abcdef"}
	for want, c := range map[string]Change{
		"files/go: ask = always":                         set("files", "go", "ask", "always"),
		"files: ask = (not set)":                         set("files", "", "ask", ""),
		"everything: mode = never":                       set("", "", "mode", "never"),
		"remembered: deny go of files":                   Remembered{Tool: d, Choice: StandDeny},
		"forgot a remembered choice":                     Forget("r1"),
		"go of files: accepted as 01234567":              accept(d),
		"go of files: its server defines it as 01234567": saw(d, false, false),
		"go of files: accepted as d1":                    accept(Tool{"files", "go", "d1"}),
		"go of files: accepted as d1, to run without asking: it says that it only reads": AcceptReads{Tool: Tool{"files", "go", "d1"}},
		"go of files: asks again, though it says that it only reads":                     AcceptReads{Tool: d, Off: true},
		"admins are to be told of the tools of files":                                    Told{Server: "files"},
		"admins were told of the tools of files":                                         Told{Server: "files", Sent: true},
		"halted":                                                                         Halting(true),
		"resumed":                                                                        Halting(false),
		"go of files: analysed as write, dangerous":                                      Analysis{Tool: d, Access: Write, Risk: Dangerous},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The settings' log keeps the form that it always had, and what a later release may add changes nothing here.
func TestChangesAreStored(t *testing.T) {
	d := Tool{"files", "go", "d1"}
	all := Changes{
		set("files", "go", "ask", "always"), Remembered{ID: "r", Tool: d, Choice: StandDeny}, Forget("r1"), saw(d, true, false), accept(d),
		Told{Server: "files", Tools: "d2"}, Halting(true), Halting(false), Analysis{Tool: d, Level: true},
		AcceptReads{Tool: d}, AcceptReads{Tool: d, Off: true},
	}
	const tool = `{"server":"files","name":"go","def":"d1"}`
	const stored = `[{"set":{"server":"files","tool":"go","field":"ask","value":"always"}},` +
		`{"remember":{"id":"r","by":"","tool":` + tool + `,"choice":"deny"}},{"forget":"r1"},` +
		`{"seen":{"tool":` + tool + `,"definition":{"title":"d1"},"vouched":true}},{"accept":` + tool + `},` +
		`{"told":{"server":"files","tools":"d2"}},{"halt":true},{"halt":false},{"analysis":{"tool":` + tool + `,"admin":true}},` +
		`{"reads":` + tool + `},{"reads":{"server":"files","name":"go","def":"d1","off":true}}]`
	b, err := json.Marshal(all)
	if err != nil || string(b) != stored {
		t.Fatalf("%v\n%s\n%s", err, b, stored)
	}
	var back Changes
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, all) {
		t.Errorf("%v\n%v\n%v", err, back, all)
	}
	if err := json.Unmarshal([]byte(`[{},{"later":{"x":1}},{"halt":false}]`), &back); err != nil || !reflect.DeepEqual(back, Changes{Halting(false)}) {
		t.Errorf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`[{"set":7}]`), &back); err == nil {
		t.Error("a broken change was read")
	}
}

func TestSettingValues(t *testing.T) {
	long := strings.Repeat("x", maxSettingText)
	for _, c := range []struct {
		server, tool, field, value, want string // want "": it is refused
	}{
		{"", "", "timeout", "1s", "1s"}, {"", "", "timeout", "720h", "720h"}, {"", "", "timeout", "park", "park"}, {"", "", "timeout", "Park", "park"},
		{"", "", "timeout", "999ms", ""}, {"", "", "timeout", "721h", ""}, {"", "", "timeout", "soon", ""}, {"", "", "timeout", "-5m", ""},
		{"files", "", "timeout", "90s", "1m30s"}, {"files", "go", "timeout", "2m", "2m"},
		{"", "", "approvers", "anyone", "anyone"}, {"", "", "approvers", "slack:T1:U1", "slack:T1:U1"}, {"", "", "approvers", "listed", ""}, {"", "", "approvers", "slack:T1:U1,nobody", ""},
		{"files", "", "min_approvals", "1", "1"}, {"files", "", "min_approvals", "20", "20"}, {"files", "", "min_approvals", "0", ""}, {"files", "", "min_approvals", "21", ""}, {"files", "", "min_approvals", "two", ""}, {"files", "", "min_approvals", "2x", ""},
		{"files", "go", "access", "read", "read"}, {"files", "go", "access", "write", "write"}, {"files", "go", "access", "both", ""}, {"files", "go", "access", "unclassified", ""},
		{"files", "go", "impact", long, long}, {"files", "go", "impact", long + "x", ""},
		{"files", "go", "message", "Do {{.args.x}}?", "Do {{.args.x}}?"}, {"files", "go", "message", "Do {{.x}}?", ""},
	} {
		got, err := Setting{Server: c.server, Tool: c.tool, Field: c.field, Value: c.value}.Canonical()
		if (err != nil) != (c.want == "") || err == nil && got.Value != c.want {
			t.Errorf("%s/%s %s=%.20s: %.20q, %v", c.server, c.tool, c.field, c.value, got.Value, err)
		}
		if p := (*ParseError)(nil); errors.As(err, &p) && p.Field != c.field {
			t.Errorf("%s=%s: the error is about %s", c.field, c.value, p.Field)
		}
	}
	// What is not set reads as that.
	for _, field := range []string{"timeout", "approvers", "min_approvals", "requester_may_approve"} {
		if got := installed().Setting(Setting{Server: "files", Field: field}); got.Value != "" {
			t.Errorf("%s: %q", field, got.Value)
		}
	}
	if d := 90 * time.Minute; with(installed(), "files", ServerSettings{Timeout: &d}).Setting(Setting{Server: "files", Field: "timeout"}).Value != "1h30m" {
		t.Error("a timeout that is set does not read")
	}
	// Where a field is not known, those that are are named: of that place.
	for want, s := range map[string]Setting{
		"mode, posture":         {Field: "nothing"},
		"ask, enabled, trusted": {Server: "files", Field: "nothing"},
		"ask, enabled, access":  {Server: "files", Tool: "go", Field: "nothing"},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), "there is "+want) {
			t.Errorf("%s: %v", s.Where(), err)
		}
	}
}

// A hold is on a chat or a person, once, until it is taken off, and there are not endlessly many.
func TestHolds(t *testing.T) {
	put, off := Holding{What: here.String(), Why: "dispute"}, Holding{What: here.String(), Off: true}
	inert(t, Settings{}, off, Holding{What: "nobody"})
	s := after(t, Settings{}, put, Holding{What: ana.String()})
	inert(t, s, put)
	elsewhere := here
	elsewhere.Key += "x"
	for name, c := range map[string]struct {
		id     chat.ID
		people []chat.User
		what   string
	}{
		"the chat": {here, nil, here.String()}, "the person": {elsewhere, []chat.User{ben, ana}, ana.String()}, "neither": {elsewhere, []chat.User{ben}, ""},
	} {
		if h, held := s.Held(c.id, c.people...); held != (c.what != "") || h.What != c.what || held && (h.By != boss || h.At != noon) {
			t.Errorf("%s: %+v, %v", name, h, held)
		}
	}
	if s.Version() != 4 || !strings.HasSuffix(put.String(), ": dispute") || !strings.HasPrefix(off.String(), "no hold any more") {
		t.Errorf("version %d, %q, %q", s.Version(), put, off)
	}
	if s = after(t, s, off); len(s.Holds) != 1 {
		t.Errorf("taken off: %+v", s.Holds)
	}
	half := chat.ID{Platform: "web", Key: "50%"}
	typed := after(t, s, Holding{What: "web::50%"})
	if _, held := typed.Held(half); !held {
		t.Errorf("a name that is typed without its escape holds nothing: %+v", typed.Holds)
	}
	inert(t, typed, Holding{What: half.String()})
	after(t, typed, Holding{What: half.String(), Off: true})
	s.Holds = make([]Hold, maxHolds)
	inert(t, s, put)
	s.Holds[0].What = here.String()
	after(t, s, off)
}

// Where nobody set a timeout it depends on how asks reach people, and is no value of a setting.
func TestATimeoutThatNobodySet(t *testing.T) {
	p := installed()
	p.Timeout = TimeoutUnset
	if got := p.Setting(Setting{Field: "timeout"}).Value; got != "" {
		t.Errorf("it reads %q", got)
	}
	if got := strings.Join(Explain(p, nil, call(files), noon), "\n"); !strings.Contains(got, "where asks notify people") {
		t.Error(got)
	}
	for notified, want := range map[bool]time.Duration{true: TimeoutNotified, false: TimeoutOnPage} {
		set := p
		set.Timeout = time.Hour
		if got := p.AskingWhere(notified).Timeout; got != want || set.AskingWhere(notified).Timeout != time.Hour {
			t.Errorf("notified %v: %v", notified, got)
		}
	}
}

// Each place has fields of its own.
func TestFieldsOfAPlace(t *testing.T) {
	for field, at := range map[string]Setting{"mode": {}, "trusted": {Server: "files"}, "message": {Server: "files", Tool: "go"}} {
		for other, there := range map[string]Setting{"mode": {}, "trusted": {Server: "files"}, "message": {Server: "files", Tool: "go"}} {
			if has := slices.ContainsFunc(there.Fields(), func(f Field) bool { return f.Name == field }); has != (field == other) {
				t.Errorf("%s of %v, where %s is: %v", field, at, other, has)
			}
		}
	}
}
