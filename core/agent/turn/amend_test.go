package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/talk"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/script"
)

func TestAmendedIsAnotherCall(t *testing.T) {
	x := script.Asked(t)
	old := x.Call("c1")
	good := script.Amends(x, "a1", `{"path":"b.txt"}`)
	other := func(f func(*Amended)) Amended { a := good; f(&a); return a }
	script.New(t).Ignores("no turn", good)
	x.Ignores("not this ask, nobody, nothing",
		other(func(a *Amended) { a.Ask = "a9" }), other(func(a *Amended) { a.By = chat.User{} }), other(func(a *Amended) { a.Args = nil }), other(func(a *Amended) { a.Args = []byte(`[1]`) }),
		other(func(a *Amended) { a.Digest = "" }), other(func(a *Amended) { a.Digest = old.Digest }))
	x.Fork().After(time.Minute).Ignores("the ask is over", good)
	x.Fork().Decides("c1", chat.AllowOnce, script.Ana).Ignores("it is decided", good)

	x.Takes(good).Is("c1", Proposed, "").Owes("it is ruled anew", Rule{"c1"})
	x.Ignores("the old ask answers nothing", Decided{Ask: "a1", Digest: old.Digest, Choice: chat.AllowOnce, By: script.Ana},
		Decided{Ask: "a1", Digest: good.Digest, Choice: chat.AllowOnce, By: script.Ana}, good)
	x.Put(script.Rules("c1", "a2", permission.Ask, permission.Write)).Shows("arguments changed by Ana", "b.txt")
	x.Ignores("a decision about the old bytes", Decided{Ask: "a2", Digest: old.Digest, Choice: chat.AllowOnce, By: script.Ana})
	c := x.Call("c1")
	if string(c.Args) != `{"path":"b.txt"}` || string(c.Wrote) != `{}` || len(c.Edits) != 1 || c.Edits[0].From != old.Digest || c.Edits[0].By != script.Ana || c.Edits[0].At.IsZero() {
		t.Errorf("recorded: %s", script.JSON(t, c))
	}
	x.Takes(script.Amends(x, "a2", `{"path":"c.txt"}`)).Put(script.Rules("c1", "a3", permission.Ask, permission.Write))
	if c := x.Call("c1"); string(c.Wrote) != `{}` || len(c.Edits) != 2 {
		t.Errorf("after a second edit: %s", script.JSON(t, c))
	}

	// The model reads what it wrote, and in the result what ran instead.
	x.Decides("c1", chat.AllowOnce, script.Ana).Starts("c1", "r1").Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "written"}})
	x.Shows("arguments changed by Ana")
	all := talk.Of(x.Session)
	said := all[len(all)-1].Calls[0]
	if string(said.Args) != `{}` || !strings.Contains(said.Result.Text, `Ana changed the arguments`) || !strings.Contains(said.Result.Text, `{"path":"c.txt"}`) || !strings.HasSuffix(said.Result.Text, "written") {
		t.Errorf("the model reads %s", script.JSON(t, said))
	}
}

func TestWhatCanBeEdited(t *testing.T) {
	x := script.Asked(t)
	if !CanEdit(x.Call("c1")) {
		t.Error("an ordinary ask cannot be edited")
	}
	for why, args := range map[string]string{"a masked secret": `{"password":"hunter2hunter2"}`, "too long to be shown": `{"text":"` + strings.Repeat("x", 200_000) + `"}`} {
		y := script.Begin(t, script.Proposes("c1", "write_file", args)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write))
		if CanEdit(y.Call("c1")) {
			t.Errorf("%s can be edited", why)
		}
	}
	if CanEdit(x.Decides("c1", chat.AllowOnce, script.Ana).Call("c1")) {
		t.Error("a decided call can be edited")
	}
}
