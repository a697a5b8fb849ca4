package card_test

import (
	"strings"
	"testing"

	. "github.com/nodhq/nod/core/agent/card"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/script"
)

// R80 R87
func TestDetails(t *testing.T) {
	long := strings.Repeat("long ", 5000)
	x := script.Begin(t, script.Proposes("c1", "write_file", `{"text":"`+long+`","hidden":"a\u200bb"}`), script.Proposes("c2", "other", `{}`)).
		Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write))
	digest := string(x.Call("c1").Digest)
	for _, token := range []string{"a1", "c1"} {
		x.Details(token, "Run write_file from files", long, `\u{200B}`, digest, text.PartArguments, text.LabelWhy, "→ files asks", text.PartTool, "Writes a file.", text.ServerUntrusted)
		if strings.Contains(x.Reads(token), "Run other") {
			t.Errorf("%s tells of another call", token)
		}
	}
	x.Details("t1", "I'll do that.", "Run write_file from files", "Run other from files", long)
	for _, token := range []string{"", "a9", "c9", "t9"} {
		if _, found := Details(x.Session, token); found {
			t.Errorf("%q has details", token)
		}
	}

	// An old asking of the call still leads to it, and what was decided, by whom and why, stands there.
	x.Decides("c1", chat.AllowOnce, script.Ana).Put(Withdrawn{Ask: "a1", By: script.Ana, Next: "a3"})
	x.Details("a1", digest)
	x.Details("a3", digest)
	x.Put(Decided{Ask: "a3", Digest: x.Call("c1").Digest, Choice: chat.Deny, By: script.Ana, Name: "Ana", Reason: "not that"}).Decides("c2", chat.AllowOnce, script.Ana)
	x.Details("c1", text.PartWrote, "denied by Ana", "“not that”", text.ResultDenied("not that"))
	x.Starts("c2", "r1").Put(Finished{Call: "c2", Run: "r1", Result: Result{Text: "first\nsecond", Structured: []byte(`{"n":1}`)}})
	x.Details("c2", text.PartRan, "first\nsecond", text.PartStructure, `"n": 1`)
	if strings.Contains(script.Ran(t).Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "ok"}}).Reads("c1"), text.PartStructure) {
		t.Error("a result without structured content shows some")
	}
	x.Answer()
	x.Details("t1", "first\nsecond", "Well.")
	x.Details("c2", "first\nsecond")

	trusted := script.Rules("c1", "a1", permission.Ask, permission.Write)
	trusted.Ruling.Trusted = true
	y := script.Begin(t, script.Proposes("c1", "write_file", `{}`)).Put(trusted)
	y.Details("a1", text.ServerTrusted)
	if strings.Contains(y.Reads("a1"), text.PartResult) || strings.Contains(y.Reads("a1"), text.PartStructure) {
		t.Error("a call without a result shows one")
	}

	// What a tool's server wants is its call's; reads that are asked about as one stand under the first of them, each with its number.
	w := script.Begin(t, script.Proposes("c1", "read", `{"path":"a"}`), script.Proposes("c2", "write", `{"path":"b"}`)).Put(script.Rules("c1", "a1", permission.Allow, permission.Read)).
		Starts("c1", "r1").Put(Elicited{Call: "c1", Run: "r1", Ask: "w1", Request: Elicitation{Kind: ElicitationForm, Message: "Which branch?"}}).Wants("w1", true)
	w.Details("w1", "Run read from files", `"path": "a"`)
	w.Details("c2", "Run write from files", `"path": "b"`)
	r := script.Begin(t, script.Proposes("c1", "read", `{"path":"a"}`), script.Proposes("c2", "read", `{"path":"b"}`), script.Proposes("c3", "write", `{"path":"c"}`)).
		Put(script.Rules("c1", "a1", permission.Ask, permission.Read), script.Rules("c2", "a2", permission.Ask, permission.Read), script.Rules("c3", "a3", permission.Ask, permission.Write))
	r.Details("a1", "1: Read “a”\n", `"path": "a"`, "2: Read “b”\n", `"path": "b"`)
	for token, own := range map[string]string{"a2": `"path": "b"`, "c2": `"path": "b"`, "a3": `"path": "c"`} {
		if got := r.Reads(token); !strings.Contains(got, own) || strings.Contains(got, `"path": "a"`) || strings.Contains(got, "1: ") {
			t.Errorf("%s reads\n%s", token, got)
		}
	}

	// An expired call of an earlier turn is still there to be asked for again, and to be looked at.
	z := script.Asked(t).After(2 * 60e9).Put(Expired{Ask: "a1"}).Answer().Put(script.Says("m2", "next", script.Ana)).Answer()
	z.Details("a1", text.PartDigest)
	z.Details("c1", text.PartDigest)
	z.Put(Reopened{Ask: "a1", By: script.Ana, Next: "a5", NextCall: "c5"}).Details("c5", text.PartDigest)

	e := script.Asked(t).Put(script.Amends(script.Asked(t), "a1", `{"path":"b.txt"}`)).Put(script.Rules("c1", "a2", permission.Ask, permission.Write))
	e.Details("a2", text.PartArguments, "b.txt", text.PartWrote, "arguments changed by Ana, 14:02 UTC")
}
