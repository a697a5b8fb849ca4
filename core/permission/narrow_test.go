package permission

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/pin"
)

// A remembered choice is as narrow as what was clicked, in time and in arguments.
func TestARememberedChoiceIsNarrow(t *testing.T) {
	until := noon.Add(time.Hour)
	in := func(args string) Request { r := call(files); r.Args = json.RawMessage(args); return r }
	const a, b = `{"path":"/srv/a"}`, `{"path":"/srv/b"}`
	pins := []pin.Pin{exactly("path", `"/srv/a"`), just("path")}
	for name, c := range map[string]struct {
		own  Remembered
		req  Request
		at   time.Time
		want Verdict
		says string
	}{
		"for good":                      {Remembered{}, in(b), noon, Allow, ""},
		"before its end":                {Remembered{Until: until}, in(b), until.Add(-1), Allow, ""},
		"at its end":                    {Remembered{Until: until}, in(b), until, Ask, "it has run out"},
		"with its arguments":            {Remembered{Pins: pins}, in(a), noon, Allow, ""},
		"with others":                   {Remembered{Pins: pins}, in(b), noon, Ask, "not the ones it is limited to"},
		"with its arguments, too late":  {Remembered{Pins: pins, Until: until}, in(a), until, Ask, "it has run out"},
		"with its arguments, and early": {Remembered{Pins: pins, Until: until}, in(a), noon, Allow, ""},
	} {
		p := installed()
		c.own.ID, c.own.By, c.own.Tool, c.own.Choice = "r1", ana, files, StandAllow
		p.Remembered = []Remembered{c.own}
		r := Evaluate(p, nil, c.req, c.at)
		said := ""
		for _, why := range r.Reasons {
			if why.Rule == RuleRemembered {
				said = why.Text
			}
		}
		if r.Verdict != c.want || !strings.Contains(said, c.says) {
			t.Errorf("%s: %v, %q", name, r.Verdict, said)
		}
	}
	// A tool that no admin accepted yet: nothing counts that was remembered, and nothing is offered to be.
	p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{New: true})})
	if r := Evaluate(p, nil, in(a), noon); r.Verdict != Ask || r.Remember {
		t.Errorf("of a new tool: %+v", r)
	}
	if r := Evaluate(installed(), nil, in(a), noon); !r.Remember {
		t.Errorf("the control: %+v", r)
	}
	p.Remembered = []Remembered{{ID: "r1", By: ana, Tool: files, Choice: StandAllow}}
	if r := Evaluate(p, nil, in(a), noon); r.Verdict != Ask || !strings.Contains(keptUncovered(p, p.Remembered[0], in(a), p.Get(files, Request{}.Source, Hints{}, Metadata{}), noon), "no admin has accepted") {
		t.Errorf("remembered of a new tool: %+v", r)
	}
}

// Only an allowance is narrowed, and only by what can be read; so it is kept, and so it is exported and imported.
func TestOnlyAnAllowanceIsNarrowed(t *testing.T) {
	pins, until := []pin.Pin{exactly("path", `"/srv/a"`)}, noon.Add(time.Hour)
	for name, c := range map[string]struct {
		r  Remembered
		ok bool
	}{
		"wide":                 {Remembered{Choice: StandAllow}, true},
		"pinned":               {Remembered{Choice: StandAllow, Pins: pins}, true},
		"ended":                {Remembered{Choice: StandAllow, Until: until}, true},
		"a denial":             {Remembered{Choice: StandDeny}, true},
		"a denial, pinned":     {Remembered{Choice: StandDeny, Pins: pins}, false},
		"a denial, ended":      {Remembered{Choice: StandDeny, Until: until}, false},
		"pinned to what is no": {Remembered{Choice: StandAllow, Pins: []pin.Pin{{Path: "path", Value: json.RawMessage(`{`)}}}, false},
	} {
		if got := c.r.fits(); got != c.ok {
			t.Errorf("%s: %v", name, got)
		}
	}
	inert(t, Settings{}, Remembered{ID: "r1", By: ana, Tool: files, Choice: StandDeny, Pins: pins})
	entry := func(change func(*RememberedEntry)) (Remembered, error) {
		e := RememberedEntry{ID: "r1", By: "web::ana", Choice: "allow", Server: "files", Tool: "move_thing", Definition: definitionNo(1)}
		change(&e)
		made, err := e.changes()
		if err != nil {
			return Remembered{}, err
		}
		return made[0].(Remembered), nil
	}
	r, err := entry(func(e *RememberedEntry) {
		e.Pins, e.Until = []PinEntry{{Path: "path", Value: `"/srv/a"`}, {Path: "dir", Value: `"/srv"`, Under: true}}, "2026-03-04T13:00:00Z"
	})
	if err != nil || len(r.Pins) != 2 || r.Pins[0].Match == pin.MatchUnder || r.Pins[1].Match != pin.MatchUnder || !r.Until.Equal(time.Date(2026, 3, 4, 13, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", r, err)
	}
	x := Settings{Remembered: []Remembered{r, {}}}.Exchange()
	if got := x.Remembered[0].Until; got != "2026-03-04T13:00:00Z" {
		t.Errorf("exported as %q", got)
	}
	if got := x.Remembered[1].Until; got != "" {
		t.Errorf("no end is exported as %q", got)
	}
	for want, change := range map[string]func(*RememberedEntry){
		"until: want a time":                     func(e *RememberedEntry) { e.Until = "soon" },
		"only an allowance":                      func(e *RememberedEntry) { e.Choice, e.Until = "deny", "2026-03-04T13:00:00Z" },
		"everything":                             func(e *RememberedEntry) { e.Scope = "everything" },
		pin.Check([]pin.Pin{{Path: ""}}).Error(): func(e *RememberedEntry) { e.Pins = []PinEntry{{}} },
	} {
		if _, err := entry(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// A grant for reads is none for what only its server calls a read and reaches out into the world.
func TestReadsReachNotIntoTheWorld(t *testing.T) {
	fetch := Tool{Server: "net", Name: "fetch_thing", Definition: "d"}
	yes := ref(true)
	for name, c := range map[string]struct {
		scope Scope
		hints Hints
		set   ToolSettings
		want  bool
	}{
		"a read":                            {ScopeReads, Hints{ReadOnly: yes, OpenWorld: ref(false)}, ToolSettings{}, true},
		"a read of the world":               {ScopeReads, Hints{ReadOnly: yes, OpenWorld: yes}, ToolSettings{}, false},
		"the same, under reads and writes":  {ScopeWrites, Hints{ReadOnly: yes, OpenWorld: yes}, ToolSettings{}, true},
		"a read by the operator's own word": {ScopeReads, Hints{ReadOnly: yes, OpenWorld: yes}, ToolSettings{Access: ref(Read)}, true},
	} {
		p := with(installed(), "net", ServerSettings{Trusted: true, Tools: tools("fetch_thing", c.set)})
		req := call(fetch)
		req.Source, req.Hints = SourceMCP, c.hints
		g := Grant{ID: "g", Chat: here, Scope: c.scope, Tool: fetch, Tools: []Tool{fetch}, By: ana, At: noon, Epoch: p.Epoch}
		if got, why := Covers(p, g, req, noon.Add(time.Minute)); got != c.want {
			t.Errorf("%s: %v, %s", name, got, why)
		}
	}
}

// Where part of a call is hidden, the trace says why the chat's “never ask” does not count; and only there.
func TestTheTraceSaysThatNeverDoesNotCount(t *testing.T) {
	says := func(mode Mode, masked bool) bool {
		req := call(files)
		req.Mode = mode
		if masked {
			req.Masked = json.RawMessage(`{}`)
		}
		for _, why := range Evaluate(installed(), nil, req, noon).Reasons {
			if why.Text == sayModeMasked {
				return true
			}
		}
		return false
	}
	for _, mode := range []Mode{ModeTool, ModeNever} {
		for _, masked := range []bool{true, false} {
			if got := says(mode, masked); got != (masked && mode == ModeNever) {
				t.Errorf("mode %v, masked %v: %v", mode, masked, got)
			}
		}
	}
}

// A digest stands for a call whatever the order of its keys, and also where the arguments cannot be read.
func TestADigestOfEachCall(t *testing.T) {
	id := chat.ID{Platform: "test", Key: "a"}
	of := func(args string) Digest { return CallDigest(id, files, []byte(args)) }
	if of(`{"a":1,"b":2}`) != of(`{"b":2,"a":1}`) || of(`{"a":1}`) == of(`{"a":2}`) {
		t.Error("it goes by the order of keys, or not by values")
	}
	all := map[Digest]string{}
	for _, args := range []string{"", "{}", "{", "nonsense", `{"a":`} {
		if other, twice := all[of(args)]; twice {
			t.Errorf("%q and %q have one digest", args, other)
		}
		all[of(args)] = args
	}
}

// Why a tool of a trusted server asks is said as it is.
func TestWhyATrustedReadAsks(t *testing.T) {
	for want, h := range map[string]Hints{
		"Tools of MCP servers ask":                   {OpenWorld: yes},
		"only reads, but reaches out into the world": {ReadOnly: yes, OpenWorld: yes},
		"only reads and that it destroys":            {ReadOnly: yes, Destructive: yes, OpenWorld: yes},
	} {
		e := Effective{Tool: files, Approval: RequireConfirmation}
		if got := saySource(e, h, true); !strings.Contains(got, want) {
			t.Errorf("%+v: %s", h, got)
		}
	}
}
