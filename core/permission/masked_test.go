package permission

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nodhq/nod/core/permission/canonical"
)

// The order is the schema's, then the one it was written in, and inside as it was written: some servers read a meaning out of it. The
// digest does not know it.
func TestWritten(t *testing.T) {
	for in, want := range map[string]string{
		`{"keys":{"lastName":1,"age":-1},"b":2,"a":[{"z":1,"y":2}]}`: `{"a":[{"z":1,"y":2}],"keys":{"lastName":1,"age":-1},"b":2}`,
		`{"b":1.0,"c":1E2}`:           `{"b":1.0,"c":1E2}`,
		`{"c":1,"a":{"c":1,"a":2}}`:   `{"a":{"c":1,"a":2},"c":1}`,
		``:                            `{}`,
		` {"z" : "\u0041", "y":null}`: `{"z":"A","y":null}`,
	} {
		got, err := canonical.Written([]byte(in), []string{"a", "missing"})
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
		sorted, _ := canonical.Arguments([]byte(in))
		if CallDigest(here, files, got) != CallDigest(here, files, sorted) {
			t.Errorf("%s has two digests", in)
		}
	}
	for _, in := range []string{`{"a":1,"a":2}`, `{"x":{"b":1,"a":2,"b":3}}`, `[]`, `{"a":1}}`} {
		if got, err := canonical.Written([]byte(in), nil); err == nil {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// What nobody sees is covered by nothing that a person allowed before. What the operator set for the tool is no person's word.
func TestMaskedCallsAskAgain(t *testing.T) {
	hide := func(r Request) Request {
		r.Args, r.Masked = json.RawMessage(`{"to":"hunter2"}`), json.RawMessage(`{"to":"‹secret›"}`)
		return r
	}
	p := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Message: "Move to {{.args.to}}?"})})
	g := Grant{ID: "g1", Chat: here, Tool: files, By: call(files).Requester, At: noon, Epoch: p.Epoch}
	if r := Evaluate(p, []Grant{g}, call(files), noon.Add(time.Minute)); r.Verdict != Allow || r.Masked {
		t.Errorf("the control: %+v", r)
	}
	r := Evaluate(p, []Grant{g}, hide(call(files)), noon.Add(time.Minute))
	if r.Verdict != Ask || !r.Masked || r.ChatGrant || r.Remember || len(r.Scopes) > 0 || r.Message != "Move to ‹secret›?" {
		t.Errorf("under a grant: %+v", r)
	}
	own := p
	own.Remembered = []Remembered{{ID: "r1", By: call(files).Requester, Tool: files, Choice: StandAllow}}
	if r := Evaluate(own, nil, call(files), noon); r.Verdict != Allow {
		t.Errorf("the control: %+v", r)
	}
	if r := Evaluate(own, nil, hide(call(files)), noon); r.Verdict != Ask {
		t.Errorf("remembered: %+v", r)
	}
	never := call(files)
	never.Mode = ModeNever
	if r := Evaluate(p, nil, never, noon); r.Verdict != Allow {
		t.Errorf("the control: %+v", r)
	}
	if r := Evaluate(p, nil, hide(never), noon); r.Verdict != Ask || r.Winner() == RuleMode {
		t.Errorf("a chat that is never asked: %+v", r)
	}
	always := call(files)
	always.Mode = ModeAlways
	if r := Evaluate(p, nil, hide(always), noon); r.Verdict != Ask || r.Winner() != RuleMode {
		t.Errorf("a chat that is always asked: %+v", r)
	}
	set := with(installed(), "files", ServerSettings{Tools: tools("move_thing", ToolSettings{Ask: NeverAsk})})
	if r := Evaluate(set, nil, hide(never), noon); r.Verdict != Allow || r.Winner() != RuleTool {
		t.Errorf("the operator's setting: %+v", r)
	}
}
