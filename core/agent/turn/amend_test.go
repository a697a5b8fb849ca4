package turn

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

func amends(x *script, ask, args string) Amended {
	c := x.call("c1")
	return Amended{Ask: AskID(ask), By: ana, Name: "Ana", Args: []byte(args), Digest: permission.CallDigest(x.s.Chat, c.Tool, []byte(args))}
}

func TestAmendedIsAnotherCall(t *testing.T) {
	x := asked(t)
	old := x.call("c1")
	good := amends(x, "a1", `{"path":"b.txt"}`)
	other := func(f func(*Amended)) Amended { a := good; f(&a); return a }
	newScript(t).ignores("no turn", good)
	x.ignores("not this ask, nobody, nothing",
		other(func(a *Amended) { a.Ask = "a9" }), other(func(a *Amended) { a.By = chat.User{} }), other(func(a *Amended) { a.Args = nil }), other(func(a *Amended) { a.Args = []byte(`[1]`) }),
		other(func(a *Amended) { a.Digest = "" }), other(func(a *Amended) { a.Digest = old.Digest }))
	x.fork().after(time.Minute).ignores("the ask is over", good)
	x.fork().decides("c1", chat.AllowOnce, ana).ignores("it is decided", good)

	x.takes(good).is("c1", Proposed, "").owes("it is ruled anew", Rule{"c1"})
	x.ignores("the old ask answers nothing", Decided{Ask: "a1", Digest: old.Digest, Choice: chat.AllowOnce, By: ana},
		Decided{Ask: "a1", Digest: good.Digest, Choice: chat.AllowOnce, By: ana}, good)
	x.put(rules("c1", "a2", permission.Ask, permission.Write)).shows("arguments changed by Ana.", "b.txt")
	x.ignores("a decision about the old bytes", Decided{Ask: "a2", Digest: old.Digest, Choice: chat.AllowOnce, By: ana})
	c := x.call("c1")
	if string(c.Args) != `{"path":"b.txt"}` || string(c.Wrote) != `{}` || len(c.Edits) != 1 || c.Edits[0].From != old.Digest || c.Edits[0].By != ana || c.Edits[0].At.IsZero() {
		t.Errorf("recorded: %s", asJSON(t, c))
	}
	x.takes(amends(x, "a2", `{"path":"c.txt"}`)).put(rules("c1", "a3", permission.Ask, permission.Write))
	if c := x.call("c1"); string(c.Wrote) != `{}` || len(c.Edits) != 2 {
		t.Errorf("after a second edit: %s", asJSON(t, c))
	}

	// The model reads what it wrote, and in the result what ran instead.
	x.decides("c1", chat.AllowOnce, ana).starts("c1", "r1").put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "written"}})
	x.shows("arguments changed by Ana")
	talk := x.s.Turn.Talk()
	said := talk[len(talk)-1].Calls[0]
	if string(said.Args) != `{}` || !strings.Contains(said.Result.Text, `Ana changed the arguments`) || !strings.Contains(said.Result.Text, `{"path":"c.txt"}`) || !strings.HasSuffix(said.Result.Text, "written") {
		t.Errorf("the model reads %s", asJSON(t, said))
	}
}

func TestWhatCanBeEdited(t *testing.T) {
	x := asked(t)
	if !CanEdit(x.call("c1")) {
		t.Error("an ordinary ask cannot be edited")
	}
	for why, args := range map[string]string{"a masked secret": `{"password":"hunter2hunter2"}`, "too long to be shown": `{"text":"` + strings.Repeat("x", 200_000) + `"}`} {
		y := begin(t, proposes("c1", "write_file", args)).put(rules("c1", "a1", permission.Ask, permission.Write))
		if CanEdit(y.call("c1")) {
			t.Errorf("%s can be edited", why)
		}
	}
	if CanEdit(x.decides("c1", chat.AllowOnce, ana).call("c1")) {
		t.Error("a decided call can be edited")
	}
}
