package permission

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
)

type enum interface {
	comparable
	String() string
	encoding.TextMarshaler
}

// roundTrip checks one enum: the documents' words in, the same out, in text and in JSON; anything else is an error that lists them.
func roundTrip[E interface {
	~uint8
	enum
}](t *testing.T, parse func(string) (E, error), words map[string]E) {
	t.Helper()
	for w, v := range words {
		got, err := parse(" " + strings.ToUpper(w) + " ")
		if err != nil || got != v {
			t.Errorf("%T %s: %v, %v", v, w, got, err)
		}
		b, err := json.Marshal(v)
		if err != nil || string(b) != `"`+w+`"` || v.String() != w {
			t.Errorf("%T %s: %s, %v", v, w, b, err)
		}
		var back E
		if err := json.Unmarshal(b, &back); err != nil || back != v {
			t.Errorf("%T %s: %v, %v", v, w, back, err)
		}
	}
	for _, bad := range []string{"", "sometimes", "0"} {
		_, err := parse(bad)
		var pe *ParseError
		if !errors.As(err, &pe) {
			t.Errorf("%T %q: %v", E(0), bad, err)
			continue
		}
		for w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v does not name %s", err, w)
			}
		}
	}
	v := E(1)
	if err := json.Unmarshal([]byte(`"sometimes"`), &v); err == nil || v != 1 {
		t.Errorf("%T: %v, %v", v, v, err)
	}
	if b, err := json.Marshal(E(200)); err == nil {
		t.Errorf("stored %s", b)
	}
	if s := E(200).String(); !strings.HasSuffix(s, "(200)") {
		t.Error(s)
	}
}

func TestWords(t *testing.T) {
	roundTrip(t, ParseVerdict, map[string]Verdict{"ask": Ask, "allow": Allow, "forbid": Forbid})
	roundTrip(t, ParseLevel, map[string]Level{"user": LevelUser, "admin": LevelAdmin})
	roundTrip(t, ParseAccess, map[string]Access{"unclassified": Unclassified, "read": Read, "write": Write, "all": All})
	roundTrip(t, ParseRisk, map[string]Risk{"safe": Safe, "moderate": Moderate, "dangerous": Dangerous})
	roundTrip(t, ParseApproval, map[string]Approval{"AutoApprove": AutoApprove, "RequireConfirmation": RequireConfirmation, "RequireAuth": RequireAuth})
	roundTrip(t, ParsePrompt, map[string]Prompt{"always": AlwaysAsk, "never": NeverAsk, "default": Inherit})
	roundTrip(t, ParseMode, map[string]Mode{"always": ModeAlways, "never": ModeNever, "tool": ModeTool})
	roundTrip(t, ParseSource, map[string]Source{"mcp": SourceMCP, "workbench": SourceWorkbench})
	roundTrip(t, ParseRepeat, map[string]Repeat{"auto": RepeatAuto, "always": RepeatAlways, "never": RepeatNever})
	roundTrip(t, ParseApproverRule, map[string]ApproverRule{"requester": ApproversRequester, "participants": ApproversParticipants, "anyone": ApproversAnyone, "listed": ApproversListed})
	roundTrip(t, ParsePosture, map[string]Posture{"mcp": PostureMCP, "all": PostureAll})
	roundTrip(t, ParseScope, map[string]Scope{"tool": ScopeTool, "reads": ScopeReads, "writes": ScopeWrites, "server": ScopeServer})
	if p, err := ParsePrompt("inherit"); p != Inherit || err != nil {
		t.Error(p, err)
	}
	if _, err := ParseRisk(strings.Repeat("é", 1000)); len(err.Error()) > 120 {
		t.Error("a long error:", err)
	}
}

// What the log holds: words, not numbers, and back again.
func TestStoredForm(t *testing.T) {
	r := Ruling{Verdict: Ask, Level: LevelAdmin, Access: Write, Risk: Dangerous, Approval: RequireAuth, Timeout: time.Minute,
		Reasons: []Reason{{Rule: RuleRequireAuth, Text: "x.", Won: true, Said: SaidAsk}}}
	g := Grant{ID: "g", Chat: here, Scope: ScopeServer, Tool: files, Tools: []Tool{files}, By: ana, At: noon}
	for _, c := range []struct {
		v    any
		want string
	}{
		{r, `{"verdict":"ask","level":"admin","access":"write","risk":"dangerous","approval":"RequireAuth","timeout":60000000000,"reasons":[{"rule":"require_auth","text":"x.","won":true,"said":"ask"}]}`},
		{Ruling{}, `{"verdict":"ask"}`},
		{g, `{"id":"g","chat":{"p":"slack","w":"T1","k":"C1/1"},"scope":"server","tool":{"server":"files","name":"move_thing","def":"d1"},"by":"slack:T1:UANA","at":"2026-11-21T12:00:00Z","tools":[{"server":"files","name":"move_thing","def":"d1"}]}`},
	} {
		b, err := json.Marshal(c.v)
		if err != nil || string(b) != c.want {
			t.Errorf("got  %s (%v)\nwant %s", b, err, c.want)
		}
		back := reflect.New(reflect.TypeOf(c.v))
		if err := json.Unmarshal(b, back.Interface()); err != nil || !reflect.DeepEqual(back.Elem().Interface(), c.v) {
			t.Errorf("back: %+v, %v", back.Elem(), err)
		}
	}
	if err := json.Unmarshal([]byte(`{"verdict":"maybe"}`), &r); err == nil {
		t.Error("an unknown verdict was read")
	}
}

// R34 and R92.
func TestMessage(t *testing.T) {
	const args = `{"target":"X","n":9007199254740993,"b":true,"z":null,"e":"","t":"{{.args.n}}","m":{"to":"a@b.c","cc":["d","<e>"]},"html":"<b>&\"\n"}`
	for template, want := range map[string]string{
		"": "",
		"Execute my_tool on target: {{.args.target}}?": "Execute my_tool on target: X?",
		"On {{.args.nowhere}}?":                        "On unknown?",
		"{{ .args.target }}{{.args.target}}":           "XX",
		"{{.args.n}} {{.args.b}} {{.args.z}}":          "9007199254740993 true null",
		"Send to {{.args.e}}?":                         `Send to ""?`,
		"{{.args.m.to}} {{.args.m.cc.1}} {{.args.m}}":  `a@b.c <e> {"to":"a@b.c","cc":["d","<e>"]}`,
		"{{.args.m.cc.7}} {{.args.m.to.x}}":            "unknown unknown",
		"{{.args.t}}":                                  "{{.args.n}}", // values are never expanded again
		"{{.args.html}}":                               "<b>&\"\n",
		"{{.tool}} {{.args}} {{.args.}} {{}}":          "unknown unknown unknown unknown",
		"half {{.args.target":                          "half {{.args.target",
	} {
		if got := Message(template, json.RawMessage(args)); got != want {
			t.Errorf("%s: got %q, want %q", template, got, want)
		}
	}
	if got := Message("a {{.args.x}}", nil); got != "a unknown" {
		t.Errorf("no arguments: %q", got)
	}
	for template, ok := range map[string]bool{"": true, "x": true, "{{.args.a}} {{ .args.b.0 }}": true, "{{.args.a": false, "{{args.a}}": false, "{{.args.a..b}}": false, "{{.args}}": false} {
		if err := CheckMessage(template); (err == nil) != ok {
			t.Errorf("%s: %v", template, err)
		}
	}
}

// SAFETY 1, points 2 and 3.
func TestMayRepeat(t *testing.T) {
	trusted := with(installed(), "files", ServerSettings{Trusted: true})
	set := func(x ToolSettings) Policy {
		return with(installed(), "files", ServerSettings{Trusted: true, Tools: tools("move_thing", x)})
	}
	for _, c := range []struct {
		name    string
		p       Policy
		src     Source
		h       Hints
		current Digest
		rule    string
		ok      bool
	}{
		{"read-only", trusted, SourceMCP, Hints{ReadOnly: yes}, "d1", "read-only", true},
		{"read-only, not destructive", trusted, SourceMCP, Hints{ReadOnly: yes, Destructive: no}, "d1", "read-only", true},
		{"idempotent write", trusted, SourceMCP, Hints{ReadOnly: no, Idempotent: yes, Destructive: yes}, "d1", "idempotent", true},
		{"idempotent, absent means write", trusted, SourceMCP, Hints{Idempotent: yes}, "d1", "idempotent", true},
		{"read-only, destructive, idempotent", trusted, SourceMCP, Hints{ReadOnly: yes, Destructive: yes, Idempotent: yes}, "d1", "idempotent", true},
		{"contradiction", trusted, SourceMCP, Hints{ReadOnly: yes, Destructive: yes}, "d1", "the tool's annotations contradict each other", false},
		{"contradiction, not idempotent", trusted, SourceMCP, Hints{ReadOnly: yes, Destructive: yes, Idempotent: no}, "d1", "the tool's annotations contradict each other", false},
		{"silent", trusted, SourceMCP, Hints{}, "d1", "nothing says that running it twice does no harm", false},
		{"write", trusted, SourceMCP, Hints{ReadOnly: no}, "d1", "nothing says that running it twice does no harm", false},
		{"untrusted", installed(), SourceMCP, Hints{ReadOnly: yes, Idempotent: yes}, "d1", "the server is not marked trusted", false},
		{"workbench", installed(), SourceWorkbench, Hints{Idempotent: yes}, "d1", "idempotent", true},
		{"workbench, silent", installed(), SourceWorkbench, Hints{}, "d1", "nothing says that running it twice does no harm", false},
		{"changed", trusted, SourceMCP, Hints{ReadOnly: yes}, "d2", "the tool is not as it was when it was approved", false},
		{"gone", trusted, SourceMCP, Hints{ReadOnly: yes}, "", "the tool is not as it was when it was approved", false},
		{"repeat: always", set(ToolSettings{Repeat: RepeatAlways}), SourceMCP, Hints{}, "d1", "repeat: always", true},
		{"repeat: always, changed", set(ToolSettings{Repeat: RepeatAlways}), SourceMCP, Hints{}, "d2", "the tool is not as it was when it was approved", false},
		{"repeat: always, not the accepted one", set(ToolSettings{Repeat: RepeatAlways, Accepted: "d0"}), SourceMCP, Hints{}, "d1", "the tool is not as it was when it was approved", false},
		{"repeat: never", set(ToolSettings{Repeat: RepeatNever}), SourceMCP, Hints{ReadOnly: yes}, "d1", "repeat: never", false},
		{"no repeat at all", set(ToolSettings{Repeat: 9}), SourceMCP, Hints{ReadOnly: yes}, "d1", "repeat: never", false},
		{"disabled", set(ToolSettings{Repeat: RepeatAlways, Disabled: true}), SourceMCP, Hints{}, "d1", "move_thing of files is disabled (tool setting).", false},
		{"no policy", Policy{}, SourceWorkbench, Hints{ReadOnly: yes}, "d1", sayNoPolicy, false},
	} {
		req := call(files)
		req.Source, req.Hints = c.src, c.h
		if rule, ok := MayRepeat(c.p, req, c.current); rule != c.rule || ok != c.ok {
			t.Errorf("%s: %q %v", c.name, rule, ok)
		}
	}
}

func TestValidate(t *testing.T) {
	if err := installed().Validate(); err != nil {
		t.Error(err)
	}
	neg := -time.Second
	p := with(Policy{
		Mode: 9, Posture: 9, Timeout: neg, Approvers: Approvers{Rule: ApproversListed}, Admins: []chat.User{{}},
	}, "files", ServerSettings{Ask: 9, Timeout: &neg, Tools: tools("x", ToolSettings{
		Ask: 9, Access: new(All), Risk: new(Risk(9)), Approval: new(Approval(9)), Timeout: &neg, Repeat: 9, Message: "{{x}}",
	})})
	err := p.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	var fields []string
	for _, l := range strings.Split(err.Error(), "\n") {
		fields = append(fields, l[:strings.Index(l, ":")])
	}
	want := []string{"permissions.mode", "permissions.posture", "approvals.approvers", "admins", "approvals.timeout",
		"permissions.servers.files.ask", "permissions.servers.files.timeout",
		"permissions.servers.files.tools.x.ask", "permissions.servers.files.tools.x.repeat", "permissions.servers.files.tools.x.access",
		"permissions.servers.files.tools.x.risk", "permissions.servers.files.tools.x.approval", "permissions.servers.files.tools.x.timeout", "permissions.servers.files.tools.x"}
	if !slices.Equal(fields, want) {
		t.Errorf("got %q\n%v", fields, err)
	}
}
