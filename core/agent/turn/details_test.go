package turn

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// reads is everything that the details of a token say, or "" where there are none.
func (x *script) reads(token string) string {
	d, found := Details(x.s, token)
	if found == (len(d.Parts) == 0) {
		x.t.Errorf("%q: found %v with %d parts", token, found, len(d.Parts))
	}
	var b strings.Builder
	for _, p := range d.Parts {
		b.WriteString(p.Name + "\n" + p.Text + "\n")
	}
	return d.Title + "\n" + b.String()
}

func (x *script) details(token string, want ...string) {
	x.t.Helper()
	got := x.reads(token)
	for _, w := range want {
		if !strings.Contains(got, w) {
			x.t.Errorf("the details of %q do not say %q:\n%s", token, w, got)
		}
	}
}

func TestDetails(t *testing.T) {
	long := strings.Repeat("long ", 5000)
	x := begin(t, proposes("c1", "write_file", `{"text":"`+long+`","hidden":"a\u200bb"}`), proposes("c2", "other", `{}`)).
		put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Ask, permission.Write))
	digest := string(x.call("c1").Digest)
	for _, token := range []string{"a1", "c1"} {
		x.details(token, "Run write_file from files", long, `\u{200B}`, digest, render.PartArguments, render.PartWhy, "→ files asks", render.PartTool, "Writes a file.", render.ServerUntrusted)
		if strings.Contains(x.reads(token), "Run other") {
			t.Errorf("%s tells of another call", token)
		}
	}
	x.details("t1", "I'll do that.", "Run write_file from files", "Run other from files", long)
	for _, token := range []string{"", "a9", "c9", "t9"} {
		if _, found := Details(x.s, token); found {
			t.Errorf("%q has details", token)
		}
	}

	// An old asking of the call still leads to it, and what was decided, by whom and why, stands there.
	x.decides("c1", chat.AllowOnce, ana).put(Withdrawn{Ask: "a1", By: ana, Next: "a3"})
	x.details("a1", digest)
	x.details("a3", digest)
	x.put(Decided{Ask: "a3", Digest: x.call("c1").Digest, Choice: chat.Deny, By: ana, Name: "Ana", Reason: "not that"}).decides("c2", chat.AllowOnce, ana)
	x.details("c1", render.PartWrote, "denied by Ana", "“not that”", render.ResultDenied("not that"))
	x.starts("c2", "r1").put(Finished{Call: "c2", Run: "r1", Result: Result{Text: "first\nsecond", Structured: []byte(`{"n":1}`)}})
	x.details("c2", render.PartRan, "first\nsecond", render.PartStructure, `"n": 1`)
	if strings.Contains(ran(t).put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "ok"}}).reads("c1"), render.PartStructure) {
		t.Error("a result without structured content shows some")
	}
	x.answer()
	x.details("t1", "first\nsecond", "Well.")
	x.details("c2", "first\nsecond")

	trusted := rules("c1", "a1", permission.Ask, permission.Write)
	trusted.Ruling.Trusted = true
	y := begin(t, proposes("c1", "write_file", `{}`)).put(trusted)
	y.details("a1", render.ServerTrusted)
	if strings.Contains(y.reads("a1"), render.PartResult) || strings.Contains(y.reads("a1"), render.PartStructure) {
		t.Error("a call without a result shows one")
	}

	// An expired call of an earlier turn is still there to be asked for again, and to be looked at.
	z := asked(t).after(2 * 60e9).put(Expired{Ask: "a1"}).answer().put(says("m2", "next", ana)).answer()
	z.details("a1", render.PartDigest)
	z.details("c1", render.PartDigest)
	z.put(Reopened{Ask: "a1", By: ana, Next: "a5", NextCall: "c5"}).details("c5", render.PartDigest)

	e := asked(t).put(amends(asked(t), "a1", `{"path":"b.txt"}`)).put(rules("c1", "a2", permission.Ask, permission.Write))
	e.details("a2", render.PartArguments, "b.txt", render.PartWrote, "arguments changed by Ana, 14:02 UTC")
}
