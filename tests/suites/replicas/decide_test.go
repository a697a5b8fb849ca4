package replicas

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// recorded is what people did, as the log has it: a choice that is refused leaves no trace in it.
func recorded(w *World) string {
	w.Helper()
	entries, err := w.Replicas[0].Engine.Log.History(context.Background(), Room)
	if err != nil {
		w.Fatal(err)
	}
	var kinds []string
	for _, x := range entries {
		switch x.Event.(type) {
		case turn.Said, turn.Edited, turn.Deleted, turn.Decided, turn.Withdrawn, turn.Extended, turn.Reopened, turn.Resolved, turn.Revoked, turn.ModeSet, turn.Reset, turn.StopAsked:
			kinds = append(kinds, x.Event.Kind())
		}
	}
	return strings.Join(kinds, " ")
}

func session(w *World) turn.Session {
	w.Helper()
	s, err := w.Replicas[0].Engine.Session(context.Background(), Room)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// stands waits until it is on record where the open turn's message stands. What comes after that takes an edit to be seen; before, the post may have it.
func stands(w *World) {
	w.Helper()
	w.Until("it is on record where the message stands", func() bool {
		s, err := w.Replicas[0].Engine.Session(context.Background(), Room)
		return err == nil && s.Turn != nil && s.Turn.Shown != ""
	})
}

// callOf is the newest call of a tool that the session knows.
func callOf(w *World, tool string) turn.ToolCall {
	w.Helper()
	s := session(w)
	for _, t := range []*turn.Turn{s.Turn, s.Last} {
		if t == nil {
			continue
		}
		for _, c := range t.Calls {
			if c.Tool.Name == tool {
				return c
			}
		}
	}
	w.Fatalf("there is no call of %s", tool)
	return turn.ToolCall{}
}

// api is a choice that comes without a message, as from the HTTP API.
func api(w *World, u chat.User, choice chat.Choice, token string) chat.Clicked {
	return chat.Clicked{Envelope: w.Envelope(Room, u), Token: token, Choice: choice}
}

// refused decides, which must be refused with this code and these words, and leave no trace.
func refused(w *World, in chat.Clicked, code decision.RefusalCode, words ...string) *decision.Refusal {
	w.Helper()
	before := recorded(w)
	out, err := w.Replicas[0].Engine.Decide(context.Background(), in)
	no := (*decision.Refusal)(nil)
	if !errors.As(err, &no) {
		w.Fatalf("%q by %q: got %+v, %v, want a refusal", in.Choice, in.Name, out, err)
	}
	equal(w, string(in.Choice)+": the code", no.Code, code)
	has(w, string(in.Choice), no.Say, words...)
	equal(w, string(in.Choice)+": recorded", recorded(w), before)
	return no
}

// decide decides, which must be taken.
func decide(w *World, in chat.Clicked) []decision.Outcome {
	w.Helper()
	out, err := w.Replicas[0].Engine.Decide(context.Background(), in)
	if err != nil {
		w.Fatalf("%q by %q: %v", in.Choice, in.Name, err)
	}
	return out
}

// bigAsks asks for a call that can be shown and for one that cannot.
func bigAsks(w *World) {
	w.Model.When("go", Calls(Call("send", `{}`), Call("write", `{"text":"`+strings.Repeat("x", render.MaxArgs+10)+`"}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("send", "write")
}

// setWrite changes the settings of write before it is asked for.
func setWrite(change func(*permission.ToolSettings)) func(*World) {
	return func(w *World) {
		w.SetPolicy(func(_ *permission.Policy, files tools) {
			s := files["write"]
			change(&s)
			files["write"] = s
		})
		twoAsks(w)
	}
}

// unknownOutcome brings the card of a run of write that nobody knows the end of.
func unknownOutcome(w *World) {
	w.Tools.Put(Tool{Server: "files", Name: "write", Run: func(Invocation) (turn.Result, error) { return turn.Result{}, errUnknown }})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Await(chat.Happened, "write")
	seen(w)
}

func pressed(choice chat.Choice) func(*World) {
	return func(w *World) {
		twoAsks(w)
		equal(w, "whisper", w.Press(w.Replicas[0], Ana, choice, "write"), "")
	}
}

// What a call of write takes in which state, whoever forges a button for it. Nothing of all this may leave a trace in the log.
func TestChoicesThatAreNotOpen(t *testing.T) {
	type no struct {
		code    decision.RefusalCode
		words   string
		choices []chat.Choice
	}
	notOffered := func(c ...chat.Choice) no { return no{decision.RefusedNotOffered, "This choice is not open", c} }
	auth, never, parked := permission.RequireAuth, false, time.Duration(0)
	for _, c := range []struct {
		name  string
		state func(*World)
		by    chat.User
		nos   []no
	}{
		{"awaiting", twoAsks, Ana, []no{
			notOffered(chat.AskAgain, chat.Happened, chat.RunAgain, chat.Leave, chat.ViewDetail, "made_up"),
			{decision.RefusedTooLate, "already taken effect", []chat.Choice{chat.Undo}},
		}},
		{"denied", pressed(chat.Deny), Ana, []no{
			{decision.RefusedDecided, "Already denied by Ana", []chat.Choice{chat.AllowOnce, chat.AllowChat, chat.Deny, chat.Extend, chat.Happened, chat.RunAgain, chat.Leave}},
			notOffered(chat.AskAgain),
		}},
		{"allowed and not started", pressed(chat.AllowOnce), Ana, []no{
			{decision.RefusedDecided, "Already allowed once by Ana", []chat.Choice{chat.AllowOnce, chat.Deny, chat.Extend, chat.Happened}},
		}},
		{"lapsed", func(w *World) {
			short(w, "write")
			w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`)))
			w.Say(w.Replicas[0], Ana, "go")
			w.Await(chat.AskAgain, "write")
		}, Ana, []no{
			{decision.RefusedExpired, "This ask expired at", []chat.Choice{chat.AllowOnce, chat.AllowChat, chat.Deny, chat.Extend, chat.Happened, chat.RunAgain, chat.Leave}},
			{decision.RefusedTooLate, "already taken effect", []chat.Choice{chat.Undo}},
		}},
		{"cancelled", func(w *World) {
			twoAsks(w)
			w.Press(w.Replicas[0], Ana, chat.Stop, "")
			w.Over(0)
		}, Ana, []no{
			{decision.RefusedStopped, "cancelled and not run", []chat.Choice{chat.AllowOnce, chat.AllowChat, chat.Deny, chat.Extend, chat.Happened, chat.RunAgain, chat.Leave}},
			notOffered(chat.AskAgain),
			{decision.RefusedTooLate, "already taken effect", []chat.Choice{chat.Undo}},
		}},
		{"running", func(w *World) {
			hold := w.Latch()
			w.Tools.Put(Tool{Server: "files", Name: "write", Run: func(Invocation) (turn.Result, error) { <-hold.C(); return turn.Result{Text: "ok"}, nil }})
			w.Model.When("go", Calls(Call("write", `{}`)))
			w.Say(w.Replicas[0], Ana, "go")
			w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
			w.Ran("write")
			w.Cleanup(hold.Open)
		}, Ana, []no{
			{decision.RefusedDecided, "Already allowed once by Ana", []chat.Choice{chat.AllowOnce, chat.Deny, chat.Extend, chat.Happened, chat.RunAgain, chat.Leave}},
			{decision.RefusedTooLate, "Too late: it started at", []chat.Choice{chat.Undo}},
			notOffered(chat.AskAgain),
		}},
		{"of unknown outcome", unknownOutcome, Ana, []no{
			{decision.RefusedDecided, "Already allowed once by Ana", []chat.Choice{chat.AllowOnce, chat.AllowChat, chat.Deny}},
			{decision.RefusedTooLate, "Too late: it started at", []chat.Choice{chat.Undo}},
			notOffered(chat.AskAgain),
		}},
		{"of unknown outcome and answered", func(w *World) {
			unknownOutcome(w)
			w.Press(w.Replicas[0], Ana, chat.Leave, "write")
			w.Over(0)
		}, Ana, []no{{decision.RefusedDecided, "by Ana", []chat.Choice{chat.Happened, chat.RunAgain, chat.Leave, chat.Extend}}}},
		{"parked", setWrite(func(s *permission.ToolSettings) { s.Timeout = &parked }), Ana, []no{notOffered(chat.Extend)}},
		{"too big to show", bigAsks, Ana, []no{notOffered(chat.AllowOnce, chat.AllowChat)}},
		{"for an admin", setWrite(func(s *permission.ToolSettings) { s.Approval = &auth }), Root, []no{notOffered(chat.AllowChat)}},
		{"without grants", setWrite(func(s *permission.ToolSettings) { s.ChatGrant = &never }), Ana, []no{notOffered(chat.AllowChat)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := New(t, Options{})
			c.state(w)
			call := callOf(w, "write")
			for _, n := range c.nos {
				for _, choice := range n.choices {
					got := refused(w, api(w, c.by, choice, string(call.Ask)), n.code, n.words)
					if n.code == decision.RefusedDecided && (got.By != Ana || got.Name != "Ana" || got.Choice != call.Choice || !got.At.Equal(call.DecidedAt) || got.At.IsZero()) {
						w.Errorf("%s: %+v does not say who decided what and when", choice, got)
					}
				}
			}
			refused(w, api(w, c.by, chat.Deny, ""), decision.RefusedUnknown, "not (or no longer) open here")
		})
	}
}

// A call that was refused before anybody was asked has no asking, so a click without a token is none of it.
func TestClickWithoutAToken(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", Calls(Call("drop", `[]`), Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	refused(w, api(w, Ana, chat.AllowOnce, ""), decision.RefusedUnknown)
	refused(w, api(w, Ana, chat.AllowOnce, "made-up"), decision.RefusedUnknown, "not (or no longer) open here")
}

// A surface without messages decides too, and what it is told says who, what and when, by the log's clock.
// R53 R61
func TestOutcomes(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	write, send := callOf(w, "write"), callOf(w, "send")
	stamped := func() (x turn.Entry) {
		entries, err := w.Replicas[0].Engine.Log.History(context.Background(), Room)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if turn.ClassOf(e.Event) == turn.Choice {
				x = e
			}
		}
		return x
	}
	for _, c := range []struct {
		choice, as chat.Choice
		call       turn.ToolCall
		moves      bool // to another asking
	}{
		{chat.Extend, chat.Extend, write, false}, {chat.AllowOnce, chat.AllowOnce, write, false}, {chat.Undo, chat.Undo, write, true},
		{chat.AllowChat, chat.AllowChat, write, false}, {chat.Deny, chat.Deny, send, false},
	} {
		ask := callOf(w, c.call.Tool.Name).Ask
		in := api(w, Ana, c.choice, string(ask))
		out := decide(w, in)
		if len(out) != 1 {
			t.Fatalf("%s: %+v", c.choice, out)
		}
		o, x := out[0], stamped()
		if o.Chat != Room || o.Call != c.call.ID || o.Choice != c.as || o.By != Ana || o.Name != "Ana" || o.At.IsZero() || !o.At.Equal(x.At) || (o.Ask != ask) != c.moves {
			t.Errorf("%s: %+v, recorded at %v", c.choice, o, x.At)
		}
		equal(t, "the stored name of the write", x.Op, "in:"+Ana.String()+":"+string(in.Delivery))
	}
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write")
}

func TestOutcomesOfAnUnknownRun(t *testing.T) {
	for _, choice := range []chat.Choice{chat.Happened, chat.RunAgain, chat.Leave} {
		t.Run(string(choice), func(t *testing.T) {
			w := New(t, Options{})
			unknownOutcome(w)
			c := callOf(w, "write")
			decide(w, api(w, Ana, chat.Extend, string(c.Ask)))
			equal(t, "more time", callOf(w, "write").Deadline.Sub(c.Deadline), 5*time.Minute)
			out := decide(w, api(w, Ana, choice, string(c.Ask)))
			if len(out) != 1 || out[0].Call != c.ID || (out[0].Ask != c.Ask) != (choice == chat.RunAgain) {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestBatchButtonsThatAreNotOpen(t *testing.T) {
	t.Run("nothing waits", func(t *testing.T) {
		w := New(t, Options{})
		refused(w, api(w, Ana, chat.ApproveAll, turn.BatchToken(turn.OpenAsks(session(w)))), decision.RefusedUnknown, "nothing was decided")
	})
	t.Run("what waits has changed", func(t *testing.T) {
		w := New(t, Options{})
		threeAsks(w)
		stale := w.Await(chat.ApproveAll, "")
		w.Press(w.Replicas[0], Ana, chat.Deny, "write")
		w.Asks("send", "drop")
		refused(w, w.Click(Ana, stale), decision.RefusedUnknown, "has changed", "nothing was decided")
	})
	t.Run("of another message", func(t *testing.T) {
		w := New(t, Options{})
		twoAsks(w)
		one, all := w.Await(chat.Deny, "write"), w.Await(chat.DenyAll, "")
		one.Message, all.Message = "m99", "m99"
		refused(w, w.Click(Ana, one), decision.RefusedUnknown, "not (or no longer) open here")
		refused(w, w.Click(Ana, all), decision.RefusedUnknown, "not (or no longer) open here")
		equal(w, "decided without a message", len(decide(w, api(w, Ana, chat.DenyAll, all.Token))), 2)
	})
	t.Run("by a stranger", func(t *testing.T) {
		w := New(t, Options{})
		twoAsks(w)
		refused(w, w.Click(Ben, w.Await(chat.DenyAll, "")), decision.RefusedNotYours, "Only Ana")
	})
	t.Run("with a call that is too big to show", func(t *testing.T) {
		w := New(t, Options{})
		bigAsks(w)
		all := w.Await(chat.DenyAll, "")
		if _, ok := w.Button(Room, chat.ApproveAll, ""); ok {
			t.Error("Approve all is offered")
		}
		all.Choice = chat.ApproveAll
		refused(w, w.Click(Ana, all), decision.RefusedNotOffered) // not even the one that can be shown
	})
}

// A button may be pressed before the log knows what our message is called.
func TestClickBeforeTheMessageIsKnown(t *testing.T) {
	w := New(t, Options{})
	answer := w.Latch() // the platform shows the message and is slow to say so
	w.Platform.Trouble(func(op Op) Trouble {
		if op.Post {
			return Trouble{Until: answer.C()}
		}
		return Trouble{}
	})
	w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`), Call("drop", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("it is asked", func() bool { return len(turn.OpenAsks(session(w))) == 3 })
	equal(w, "what our message is called", session(w).Turn.Shown, "")
	one := api(w, Ana, chat.Deny, string(callOf(w, "write").Ask))
	one.Message = "m1"
	equal(w, "one", len(decide(w, one)), 1)
	all := api(w, Ana, chat.DenyAll, turn.BatchToken(turn.OpenAsks(session(w))))
	all.Message = "m1"
	equal(w, "the rest", len(decide(w, all)), 2)
	answer.Open()
	w.Over(0)
}
