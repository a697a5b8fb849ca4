package permission

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
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

// read reads a word as stored facts are read.
func read[E any, P interface {
	*E
	encoding.TextUnmarshaler
}](s string) (e E, err error) {
	err = P(&e).UnmarshalText([]byte(s))
	return e, err
}

// R20 R35
func TestWords(t *testing.T) {
	roundTrip(t, read[Verdict], map[string]Verdict{"ask": Ask, "allow": Allow, "forbid": Forbid})
	roundTrip(t, read[Level], map[string]Level{"user": LevelUser, "admin": LevelAdmin})
	roundTrip(t, accesses.parse, map[string]Access{"unclassified": Unclassified, "read": Read, "write": Write, "all": All})
	roundTrip(t, risks.parse, map[string]Risk{"safe": Safe, "moderate": Moderate, "dangerous": Dangerous})
	roundTrip(t, read[Approval], map[string]Approval{"AutoApprove": AutoApprove, "RequireConfirmation": RequireConfirmation, "RequireAuth": RequireAuth})
	roundTrip(t, ParsePrompt, map[string]Prompt{"always": AlwaysAsk, "never": NeverAsk, "default": Inherit})
	roundTrip(t, ParseMode, map[string]Mode{"always": ModeAlways, "never": ModeNever, "tool": ModeTool})
	roundTrip(t, read[Repeat], map[string]Repeat{"auto": RepeatAuto, "always": RepeatAlways, "never": RepeatNever})
	roundTrip(t, read[ApproverRule], map[string]ApproverRule{"requester": ApproversRequester, "participants": ApproversParticipants, "anyone": ApproversAnyone, "listed": ApproversListed})
	roundTrip(t, read[Posture], map[string]Posture{"mcp": PostureMCP, "all": PostureAll})
	roundTrip(t, read[Scope], map[string]Scope{"tool": ScopeTool, "reads": ScopeReads, "writes": ScopeWrites, "server": ScopeServer})
	if p, err := ParsePrompt("inherit"); p != Inherit || err != nil {
		t.Error(p, err)
	}
	if _, err := risks.parse(strings.Repeat("é", 1000)); len(err.Error()) > 120 {
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

// People never read the bare words always and never.
// C1
func TestLabels(t *testing.T) {
	for got, want := range map[string]string{
		ModeAlways.Label(): "Always ask", ModeNever.Label(): "Never ask (dangerous)", ModeTool.Label(): "Use each tool's setting",
		Inherit.Label(): "Use the default",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if AlwaysAsk.Label() != ModeAlways.Label() || NeverAsk.Label() != ModeNever.Label() || Mode(9).Label() != "Always ask" {
		t.Error("labels differ")
	}
}
