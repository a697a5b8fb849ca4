package turn

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// form is what the server of c1's run r1 wants: the name of a branch.
func form(ask AskID, wait time.Duration) Wanted {
	want := Want{Kind: WantForm, Message: "Which branch?", Fields: []FormField{{Name: "branch", Type: "string"}}}
	return Wanted{Call: "c1", Run: "r1", Ask: ask, Want: want, Wait: wait}
}

// fills is Ana's answer to it.
func fills(ask AskID) Filled {
	return Filled{Ask: ask, By: ana, Name: "Ana", Fill: Fill{Action: FillAccept, Content: json.RawMessage(`{"branch":"main"}`)}}
}

// told is what became of what c1's server wants, or "".
func (x *script) told() string {
	x.t.Helper()
	w := x.call("c1").Want
	if w == nil || w.Fill == nil {
		return ""
	}
	return w.Fill.Action + string(w.Fill.Content)
}

// wants checks whether the asking is open, wherever people look: as a card with its buttons, in the turn's state and in what waits.
func (x *script) wants(ask AskID, open bool) *script {
	x.t.Helper()
	c, found := Wants(x.s, ask)
	m, _ := x.view(Live{})
	card := slices.Contains(buttons(m), string(chat.Answer)+":"+string(ask)) && slices.Contains(buttons(m), string(chat.Decline)+":"+string(ask))
	waits := slices.ContainsFunc(Waits(x.s), func(w Wait) bool { return w.Ask == ask && w.Call == "c1" })
	if found != open || found && c.ID != "c1" || card != open || waits != open || open && m.State != render.Waiting {
		x.t.Errorf("%s: wanted %v, of %q; card %v, waits %v, the turn is %s; want %v of all", ask, found, c.ID, card, waits, m.State, open)
	}
	return x
}

// A server may want something while its tool runs, one thing at a time, and each once.
func TestWantsFitTheirRun(t *testing.T) {
	want := form("w1", 0)
	other := func(f func(*Wanted)) Wanted { w := want; f(&w); return w }
	newScript(t).ignores("no turn", want)
	asked(t).ignores("it does not run", want, other(func(w *Wanted) { w.Run = "" }))
	lost(t).ignores("nobody knows whether it runs", want)

	x := ran(t).ignores("no such call or run", other(func(w *Wanted) { w.Call = "c9" }), other(func(w *Wanted) { w.Run = "r9" }))
	x.ignores("no name for the asking, or that of the call's own", other(func(w *Wanted) { w.Ask = "" }), other(func(w *Wanted) { w.Ask = "a1" }))
	x.fork().put(Finished{Call: "c1", Run: "r1"}).ignores("it ran", want)
	x.fork().put(StopAsked{Turn: "t1", By: ben}).ignores("nobody is asked after Stop", want)

	second := other(func(w *Wanted) { w.Ask, w.Want.Message = "w2", "And which tag?" })
	x.wants("w1", false).takes(want).wants("w1", true).shows("Which branch?", render.WantHeader("files"))
	x.ignores("one at a time", want, second).wants("w2", false)
	x.put(fills("w1")).wants("w1", false).hides("Which branch?").ignores("it was answered", want)
	x.takes(second).wants("w2", true).wants("w1", false).shows("And which tag?")
}

// What a server asks of one person only that person can say, once, and saying no gives nothing away.
func TestOnlyTheRequesterFills(t *testing.T) {
	fill := fills("w1")
	other := func(f func(*Filled)) Filled { ev := fill; f(&ev); return ev }
	newScript(t).ignores("no turn", fill)
	x := ran(t).ignores("nothing is wanted", fill).put(form("w1", 0))
	x.ignores("no such asking", other(func(f *Filled) { f.Ask = "w9" }), other(func(f *Filled) { f.Ask = "" }), other(func(f *Filled) { f.Ask = "a1" }))
	x.ignores("somebody else, or nobody", other(func(f *Filled) { f.By = ben }), other(func(f *Filled) { f.By = chat.User{} }))

	accepted := x.fork().takes(fill).ignores("the first answer counts", fill, other(func(f *Filled) { f.Fill = Fill{Action: FillDecline} }))
	if got := accepted.told(); got != `accept{"branch":"main"}` {
		t.Errorf("the server reads %q", got)
	}
	if w := accepted.call("c1").Want; w.By != ana || w.Name != "Ana" {
		t.Errorf("answered by %+v, %q", w.By, w.Name)
	}
	for _, action := range []string{FillDecline, FillCancel, "", "garbage"} {
		if got := x.fork().takes(other(func(f *Filled) { f.Fill.Action = action })).told(); got != FillDecline {
			t.Errorf("%q: the server reads %q", action, got)
		}
	}

	// A turn that nobody asked for is nobody's to answer.
	y := newScript(t).put(Said{Delivery: "m1", Text: "every morning"}, Shown{Turn: "t1", Message: "s"}, Replied{Turn: "t1", Calls: []Proposal{proposes("c1", "w", `{}`)}},
		rules("c1", "a1", permission.Allow, permission.Write)).starts("c1", "r1").takes(form("w1", 0))
	y.ignores("nobody", other(func(f *Filled) { f.By = chat.User{} }), fill)
}

// What nobody answers in time the server is told, and not a moment earlier; without a deadline it waits as long as the run.
func TestWantsEnd(t *testing.T) {
	live := Env{Live: "r1"}
	x := ran(t).put(form("w1", time.Minute)).seen("w1").ignores("too early", Expired{Ask: "w1"}).after(time.Minute-1).ignores("too early", Expired{Ask: "w1"}).owesIn("nothing is due", live)
	if got := x.fork().takes(fills("w1")).told(); got != `accept{"branch":"main"}` {
		t.Errorf("answered at the last moment, the server reads %q", got)
	}
	x.after(1).owesIn("the deadline has come", live, Expire{"w1"}).ignores("too late", fills("w1")).ignores("no such asking", Expired{Ask: "w9"})
	x.takes(Expired{Ask: "w1"}).wants("w1", false).is("c1", Running, "").owesIn("it goes on running", live).ignores("it is over", fills("w1"), Expired{Ask: "w1"})
	if got := x.told(); got != FillCancel {
		t.Errorf("unanswered, the server reads %q", got)
	}

	x = ran(t).put(form("w1", 0)).after(1000*time.Hour).owesIn("it waits as long as the run", live).ignores("there is no deadline", Expired{Ask: "w1"}).wants("w1", true)
	for why, end := range map[string]Event{
		"it ran":                         Finished{Call: "c1", Run: "r1", Result: Result{Text: "wrote it"}},
		"nobody knows whether it runs":   Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2"},
		"the run is over, another comes": Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Repeat: "read_only"},
		"the turn is stopped":            StopAsked{Turn: "t1", By: ben},
	} {
		x.fork().takes(end).wants("w1", false).ignores(why, fills("w1"), Expired{Ask: "w1"})
	}
	// The server hears of Stop before its tool has ended; what was answered before, it was told.
	if got := x.fork().put(StopAsked{Turn: "t1", By: ben}).told(); got != FillCancel {
		t.Errorf("after Stop the server reads %q", got)
	}
	if got := x.fork().put(fills("w1"), StopAsked{Turn: "t1", By: ben}).told(); got != `accept{"branch":"main"}` {
		t.Errorf("answered before Stop, the server reads %q", got)
	}
}

// Content is what a server is told of what was typed into its form, or which words go back to the person who typed it.
func TestContentOfAForm(t *testing.T) {
	num := func(x float64) *float64 { return &x }
	whole, number := FormField{Type: "integer"}, FormField{Type: "number"}
	least, most, within := FormField{Type: "number", Min: num(1.5)}, FormField{Type: "number", Max: num(3)}, FormField{Type: "number", Min: num(1.5), Max: num(3)}
	long, short, sized := FormField{Type: "string", Min: num(2)}, FormField{Type: "string", Max: num(3)}, FormField{Type: "string", Min: num(2), Max: num(3)}
	one := FormField{Type: "string", Options: []string{"main", "next"}}
	many := FormField{Type: "string", Options: []string{"main", "next"}, Many: true}
	needed := FormField{Type: "string", Required: true}
	mail, uri := FormField{Type: "string", Format: "email"}, FormField{Type: "string", Format: "uri"}
	date, moment := FormField{Type: "string", Format: "date"}, FormField{Type: "string", Format: "date-time"}
	const (
		notMail = "x has to be an e-mail address."
		notURI  = "x has to be an address, such as https://example.com."
		notDate = "x has to be a date as 2026-11-21."
		notTime = "x has to be a time as 2026-11-21T14:02:00Z."
	)
	for _, c := range []struct {
		field      FormField
		text, want string // the value as JSON, nothing where it is left out, or the words that end in a full stop
	}{
		{FormField{Type: "string"}, "  main ", `"main"`},
		{FormField{Type: "string"}, "", ""},
		{FormField{Type: "string"}, " \n", ""},
		{needed, "", "x is needed."},
		{needed, " \t", "x is needed."},
		{needed, "main", `"main"`},
		{FormField{Type: "string", Title: "The\nbranch", Required: true}, "", "The ⏎ branch is needed."},

		{one, "next", `"next"`},
		{one, "trunk", "x has to be one of main, next."},
		{one, "main\nnext", "x takes one answer."},
		{many, "main", `["main"]`},
		{many, "main\n next ", `["main","next"]`},
		{many, "main\ntrunk", "x has to be one of main, next."},

		{FormField{Type: "boolean"}, "Yes", `true`},
		{FormField{Type: "boolean"}, "true", `true`},
		{FormField{Type: "boolean"}, "NO", `false`},
		{FormField{Type: "boolean"}, "false", `false`},
		{FormField{Type: "boolean"}, "maybe", "x has to be true or false."},

		{whole, "12", `12`},
		{whole, "9007199254740993", `9007199254740993`},
		{whole, "1.5", "x has to be a whole number."},
		{whole, "many", "x has to be a whole number."},
		{number, "1.5", `1.5`},
		{number, "-1e3", `-1e3`},
		{number, "many", "x has to be a number."},
		{number, "inf", "x has to be a number."},
		{number, "NaN", "x has to be a number."},
		{number, "1e400", "x has to be a number."},
		{number, "+5", `5`},
		{number, "-.5", `-0.5`},
		{number, "5.", `5`},
		{whole, "007", `7`},
		{least, "1.5", `1.5`},
		{least, "1.4", "x has to be at least 1.5."},
		{most, "3", `3`},
		{most, "3.5", "x has to be at most 3."},
		{within, "2", `2`},
		{within, "1", "x has to be 1.5 to 3."},
		{within, "4", "x has to be 1.5 to 3."},

		{long, "ab", `"ab"`},
		{long, "a", "x has to have at least 2 characters."},
		{short, "äöü", `"äöü"`},
		{short, "abcd", "x has to have at most 3 characters."},
		{sized, "abc", `"abc"`},
		{sized, "a", "x has to have 2 to 3 characters."},
		{sized, "abcd", "x has to have 2 to 3 characters."},

		{mail, "ana@example.com", `"ana@example.com"`},
		{mail, "@example.com", notMail},
		{mail, "ana", notMail},
		{mail, "ana@example", notMail},
		{mail, "ana@example.com, ben@example.com", notMail},
		{mail, "Ana <ana@example.com>", notMail},
		{mail, "ana b@example.com", notMail},
		{mail, "ana@b@example.com", notMail},
		{uri, "https://example.com/a", `"https://example.com/a"`},
		{uri, "example.com", notURI},
		{uri, "https://[::1", notURI},
		{date, "2026-11-21", `"2026-11-21"`},
		{date, "21.11.2026", notDate},
		{moment, "2026-11-21T14:02:00Z", `"2026-11-21T14:02:00Z"`},
		{moment, "2026-11-21", notTime},
	} {
		c.field.Name = "x"
		got, err := Content(Want{Kind: WantForm, Fields: []FormField{c.field}}, map[string]string{"x": c.text})
		says, want := string(got), `{"x":`+c.want+`}`
		switch {
		case c.want == "":
			want = `{}`
		case c.want[len(c.want)-1] == '.':
			want = c.want
		}
		if err != nil {
			says = err.Error()
			if wrong := (&FieldError{}); !errors.As(err, &wrong) || wrong.Field.Name != "x" || got != nil {
				t.Errorf("%q: %v names no field, beside %s", c.text, err, got)
			}
		}
		if says != want {
			t.Errorf("%+v, %q: %s, want %s", c.field, c.text, says, want)
		}
	}

	// Each field has its own value, and what is no field of the form does not go to the server.
	want := Want{Kind: WantForm, Fields: []FormField{{Name: "a", Type: "string"}, {Name: "b", Type: "integer"}, {Name: "c", Type: "string"}}}
	if got, err := Content(want, map[string]string{"a": "main", "b": "2", "z": "mine"}); err != nil || string(got) != `{"a":"main","b":2}` {
		t.Errorf("%s, %v", got, err)
	}
	// An address is opened and the model is asked: there is nothing to tell, not even an empty form.
	for _, kind := range []WantKind{WantURL, WantSample} {
		want.Kind = kind
		if got, err := Content(want, map[string]string{"a": "main"}); got != nil || err != nil {
			t.Errorf("%s: %s, %v", kind, got, err)
		}
	}
}
