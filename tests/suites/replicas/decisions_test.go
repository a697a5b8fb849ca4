package replicas

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// allowed brings a world in which Ana answered the card of a call with a choice, in turn 0.
func allowed(w *World, tool, args string, choice chat.Choice) {
	w.Helper()
	w.Model.When("first", Calls(Call(tool, args)))
	w.Say(w.Replicas[0], Ana, "first")
	w.Press(w.Replicas[0], Ana, choice, tool)
	w.Over(0)
	equal(w, "runs", len(w.Tools.Effects()), 1)
}

// next says something that makes the model call a tool, in turn n, and reports whether it was asked for.
func next(w *World, n int, words, tool, args string) (asked bool) {
	w.Helper()
	w.Model.When(words, Calls(Call(tool, args)))
	before := len(w.Tools.Effects())
	w.Say(w.Replicas[len(w.Replicas)-1], Ana, words)
	w.Until("it is asked or over", func() bool {
		return len(w.Platform.Messages(Room)) == n+1 && (w.Asked() != "" || len(w.Tools.Effects()) > before)
	})
	if w.Asked() != "" {
		w.Press(w.Replicas[0], Ana, chat.Deny, tool)
		w.Over(n)
		return true
	}
	w.Over(n)
	return false
}

// What each standing choice covers, and what it does not (R99, R107, R118, R119, R154, R155, C6).
func TestStandingChoices(t *testing.T) {
	type call struct {
		tool, args string
		asks       bool
	}
	read := permission.Read
	for name, c := range map[string]struct {
		choice chat.Choice
		args   string
		then   []call
	}{
		"this tool": {chat.AllowChat, `{"path":"a/b.txt"}`, []call{{"write", `{"path":"c"}`, false}, {"send", `{}`, true}}},
		"only these values": {chat.AllowExact, `{"path":"a/b.txt","n":1}`, []call{
			{"write", `{"n":1,"path":"a/b.txt"}`, false}, {"write", `{"n":2,"path":"a/b.txt"}`, true}, {"write", `{"n":1,"path":"a/c.txt"}`, true},
			{"write", `{"force":true,"n":1,"path":"a/b.txt"}`, true},
		}},
		"below this directory": {chat.AllowPath, `{"path":"a/b.txt"}`, []call{
			{"write", `{"path":"a/c.txt"}`, false}, {"write", `{"path":"a/d/e.txt"}`, false}, {"write", `{"path":"a/../x"}`, true}, {"write", `{"path":"ab/c.txt"}`, true},
		}},
		"three times":          {chat.AllowUses, `{}`, []call{{"write", `{}`, false}, {"write", `{}`, false}, {"write", `{}`, true}}},
		"reads of the server":  {chat.AllowReads, `{}`, []call{{"list", `{}`, false}, {"look", `{}`, false}, {"write", `{}`, true}}},
		"writes of the server": {chat.AllowWrites, `{}`, []call{{"write", `{}`, false}, {"send", `{}`, false}, {"list", `{}`, false}, {"drop", `{}`, true}}},
		"all of the server":    {chat.AllowServer, `{}`, []call{{"write", `{}`, false}, {"send", `{}`, false}, {"vague", `{}`, false}, {"drop", `{}`, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Replicas: 2})
			vouched(w)
			for _, x := range []string{"list", "look", "vague"} {
				w.Tools.Put(Tool{Server: "files", Name: x})
			}
			w.SetPolicy(func(_ *permission.Policy, files tools) {
				write, dangerous := permission.Write, permission.Dangerous
				for _, x := range []string{"list", "look"} {
					files[x] = permission.ToolSettings{Access: &read}
				}
				for _, x := range []string{"write", "send"} {
					files[x] = permission.ToolSettings{Access: &write}
				}
				files["drop"] = permission.ToolSettings{Access: &write, Risk: &dangerous}
			})
			first := "write"
			if c.choice == chat.AllowReads {
				first = "list"
			}
			allowed(w, first, c.args, c.choice)
			for i, x := range c.then {
				if got := next(w, i+1, "then "+string(rune('a'+i)), x.tool, x.args); got != x.asks {
					t.Errorf("call %d, %s(%s): asked %v, want %v", i, x.tool, x.args, got, x.asks)
				}
			}
		})
	}
}

// An hour is an hour of the log's time, looked at when it is used.
func TestForAnHour(t *testing.T) {
	w := New(t, Options{})
	allowed(w, "write", `{}`, chat.AllowHour)
	s, err := w.Replicas[0].Engine.Session(t.Context(), Room)
	if err != nil || len(s.Grants) != 1 {
		t.Fatalf("grants %+v, %v", s.Grants, err)
	}
	if g := s.Grants[0]; g.Until.Sub(g.At) != time.Hour {
		t.Errorf("it ends %s after it was given", g.Until.Sub(g.At))
	}
	req := permission.Request{Chat: Room, Requester: Ana, Tool: s.Grants[0].Tool, Args: json.RawMessage(`{}`)}
	p, _ := w.Policy(t.Context())
	for d, want := range map[time.Duration]bool{3599 * time.Second: true, 3600 * time.Second: false} {
		if got, why := permission.Covers(p, s.Grants[0], req, s.Grants[0].At.Add(d)); got != want {
			t.Errorf("after %s: covered %v (%s)", d, got, why)
		}
	}
}

// Only what the card offers is taken, whoever says so.
func TestChoicesThatAreNotOffered(t *testing.T) {
	no := false
	admin := permission.RequireAuth
	for name, c := range map[string]struct {
		set    func(*permission.Policy, tools)
		by     chat.User
		refuse []chat.Choice
	}{
		"RequireAuth": {func(_ *permission.Policy, f tools) { f["write"] = permission.ToolSettings{Approval: &admin} }, Root, []chat.Choice{
			chat.AllowChat, chat.AllowExact, chat.AllowPath, chat.AllowHour, chat.AllowUses, chat.AllowReads, chat.AllowWrites, chat.AllowServer, chat.AllowSession, chat.Remember,
		}},
		"withheld": {func(_ *permission.Policy, f tools) { f["write"] = permission.ToolSettings{ChatGrant: &no} }, Ana, []chat.Choice{
			chat.AllowChat, chat.AllowExact, chat.AllowHour, chat.AllowUses, chat.AllowServer, chat.AllowSession, chat.Remember,
		}},
		"reads of a write": {nil, Ana, []chat.Choice{chat.AllowReads}},
		"no path":          {nil, Ana, []chat.Choice{chat.AllowPath}},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			if c.set != nil {
				w.SetPolicy(c.set)
			}
			w.Model.When("go", Calls(Call("write", `{"n":1}`)))
			w.Say(w.Replicas[0], Ana, "go")
			once := w.Await(chat.AllowOnce, "write")
			for _, choice := range c.refuse {
				if _, ok := w.Button(Room, choice, "write"); ok {
					t.Errorf("%s stands on the card", choice)
				}
				b := once
				b.Choice = choice
				if w.Deliver(w.Replicas[0], w.Click(c.by, b)) == "" {
					t.Errorf("%s was taken", choice)
				}
			}
			equal(w, "runs", len(w.Tools.Effects()), 0)
			w.Press(w.Replicas[0], c.by, chat.AllowOnce, "write")
			w.Over(0)
		})
	}
}

// min_approvals counts people, not clicks; each of them may decide; a denial ends it (SAFETY 4, row 20).
func TestSeveralPeopleMustAllow(t *testing.T) {
	two := permission.People(2)
	setup := func(t *testing.T) *World {
		w := New(t, Options{Replicas: 2})
		w.SetPolicy(func(p *permission.Policy, _ tools) {
			p.Approvers.Rule, p.Rights.MinApprovals = permission.ApproversAnyone, &two
		})
		w.Model.When("go", Calls(Call("write", `{}`)))
		w.Say(w.Replicas[0], Ana, "go")
		w.Asks("write")
		if _, ok := w.Button(Room, chat.AllowChat, "write"); ok {
			t.Error("a grant is offered that one person would give alone")
		}
		return w
	}
	t.Run("two people", func(t *testing.T) {
		w := setup(t)
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
		w.Shows(0, "1 of 2 people allowed it: Ana")
		has(w, "the second click's whisper", w.Press(w.Replicas[1], Ana, chat.AllowOnce, "write")+"1 of 2", "1 of 2")
		equal(w, "runs after two clicks of one person", len(w.Tools.Effects()), 0)
		w.Press(w.Replicas[1], Ben, chat.AllowOnce, "write")
		has(w, "the message", w.Over(0), "allowed once by Ana, Ben")
		equal(w, "runs", w.Tools.Count("write"), 1)
	})
	t.Run("a denial", func(t *testing.T) {
		w := setup(t)
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
		w.Press(w.Replicas[0], Ben, chat.Deny, "write")
		has(w, "the message", w.Over(0), "denied by Ben")
		equal(w, "runs", len(w.Tools.Effects()), 0)
	})
	t.Run("who lost the right does not count", func(t *testing.T) {
		w := setup(t)
		first := w.Await(chat.AllowOnce, "write")
		w.Press(w.Replicas[0], Ben, chat.AllowOnce, "write")
		w.SetPolicy(func(p *permission.Policy, _ tools) {
			p.Approvers = permission.Approvers{Rule: permission.ApproversListed, Users: []chat.User{Ana, Root}}
		})
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write") // the second word, but Ben's counts no more
		w.Until("it is asked again", func() bool {
			b, ok := w.Button(Room, chat.AllowOnce, "write")
			return ok && b.Token != first.Token && strings.Contains(w.Text(0), "0 of 2")
		})
		equal(w, "runs", len(w.Tools.Effects()), 0)
		w.Press(w.Replicas[0], Root, chat.AllowOnce, "write")
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
		w.Over(0)
		equal(w, "runs", w.Tools.Count("write"), 1)
	})
	t.Run("approve all", func(t *testing.T) {
		w := New(t, Options{})
		w.SetPolicy(func(p *permission.Policy, _ tools) {
			p.Approvers.Rule, p.Rights.MinApprovals = permission.ApproversAnyone, &two
		})
		w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`)))
		w.Say(w.Replicas[0], Ana, "go")
		w.Press(w.Replicas[0], Ana, chat.ApproveAll, "")
		w.Shows(0, "1 of 2 people allowed it: Ana")
		equal(w, "runs", len(w.Tools.Effects()), 0)
		w.Press(w.Replicas[0], Ben, chat.ApproveAll, "")
		w.Over(0)
		equal(w, "runs", w.Tools.Ran(), "write send")
	})
}

// requester_may_approve: false means whoever asks, also an admin.
func TestRequesterMayNotApprove(t *testing.T) {
	no := false
	w := New(t, Options{})
	w.SetPolicy(func(p *permission.Policy, _ tools) {
		p.Approvers.Rule, p.Rights.RequesterMayApprove = permission.ApproversAnyone, &no
	})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Root, "go")
	has(w, "the whisper", w.Press(w.Replicas[0], Root, chat.AllowOnce, "write"), "somebody else has to")
	has(w, "the whisper", w.Press(w.Replicas[0], Root, chat.AllowChat, "write"), "somebody else has to")
	equal(w, "runs", len(w.Tools.Effects()), 0)
	w.Press(w.Replicas[0], Ben, chat.AllowOnce, "write")
	w.Over(0)
	equal(w, "runs", w.Tools.Count("write"), 1)
}

// A ticked box decides nothing; with the decision it counts for that person, in every chat, and for nobody else.
// R43 R44 R45 R83 R109
func TestATickedChoiceIsRemembered(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		vouched(w)
		w.Model.When("go", Calls(Call("write", `{}`)))
		w.Say(w.Replicas[0], Ana, "go")
		w.Press(w.Replicas[0], Ana, chat.Remember, "write")
		w.Shows(0, "Remember this choice")
		equal(w, "runs after the tick", len(w.Tools.Effects()), 0)
		w.Press(w.Replicas[1], Ana, chat.AllowOnce, "write")
		w.Over(0)
		elsewhere := w.SaidBy(Ana, "go")
		elsewhere.Chat = Other
		w.Deliver(w.Replicas[1], elsewhere)
		w.Until("it ran in the other chat, unasked", func() bool { return w.Tools.Count("write") == 2 })
		w.Say(w.Replicas[0], Ben, "go")
		w.Until("Ben is asked", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
		w.Press(w.Replicas[0], Ben, chat.Remember, "write")
		w.Press(w.Replicas[0], Ben, chat.Deny, "write")
		w.Over(1)
		w.Say(w.Replicas[1], Ben, "go")
		has(w, "the message", w.Over(2), "Ben chose to deny write of files (remembered choice)")
		equal(w, "runs", w.Tools.Count("write"), 2)
	})
}

// Undo takes back what was remembered with the decision, too: the next call asks.
func TestUndoForgets(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		vouched(w)
		twoAsks(w)
		w.Press(w.Replicas[0], Ana, chat.Remember, "write")
		w.Press(w.Replicas[1], Ana, chat.AllowOnce, "write")
		remembered := func() int {
			s, err := w.Replicas[1].Engine.Settings(w.Context())
			if err != nil {
				w.Fatal(err)
			}
			return len(s.Remembered)
		}
		equal(w, "remembered", remembered(), 1)
		w.Press(w.Replicas[0], Ana, chat.Undo, "write")
		equal(w, "remembered after Undo", remembered(), 0)
		w.Press(w.Replicas[0], Ana, chat.Remember, "write") // unticked: the box is as it was
		w.Press(w.Replicas[0], Ana, chat.DenyAll, "")
		w.Over(0)
		w.Say(w.Replicas[0], Ana, "go")
		w.Asks("write", "send")
	})
}

// A box that was ticked by one person remembers nothing for another, and an unticked one nothing at all.
func TestRememberIsOnesOwn(t *testing.T) {
	w := New(t, Options{})
	vouched(w)
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Approvers.Rule = permission.ApproversAnyone })
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Press(w.Replicas[0], Ana, chat.Remember, "write")
	w.Press(w.Replicas[0], Ben, chat.AllowOnce, "write")
	w.Over(0)
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("Ana is asked", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
	w.Press(w.Replicas[0], Ana, chat.Remember, "write")
	w.Press(w.Replicas[0], Ana, chat.Remember, "write")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	w.Over(1)
	s, err := w.Replicas[0].Engine.Settings(t.Context())
	if err != nil || len(s.Remembered) != 0 {
		t.Errorf("remembered %+v, %v", s.Remembered, err)
	}
}

// Approve all for this session runs what is open and asks no more, except where an admin or a changed definition wants it;
// only the chat's owner or an admin may.
// R106 C3
func TestTheSessionAsksNoMore(t *testing.T) {
	admin := permission.RequireAuth
	w := New(t, Options{Replicas: 2})
	vouched(w)
	w.SetPolicy(func(p *permission.Policy, f tools) {
		f["drop"], p.Approvers.Rule = permission.ToolSettings{Approval: &admin}, permission.ApproversAnyone
	})
	w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`), Call("drop", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write", "send", "drop")
	if _, ok := w.Button(Room, chat.AllowSession, "drop"); ok {
		t.Error("it is offered where an admin is needed")
	}
	has(w, "Ben's whisper", w.Press(w.Replicas[0], Ben, chat.AllowSession, "write"), "admin")
	w.Press(w.Replicas[1], Ana, chat.AllowSession, "write")
	w.Asks("drop")
	w.Shows(0, "This chat never asks (dangerous)")
	w.Press(w.Replicas[0], Root, chat.AllowOnce, "drop")
	w.Over(0)
	equal(w, "runs", w.Tools.Ran(), "write send drop")
	w.Model.When("more", Calls(Call("send", `{}`)))
	w.Say(w.Replicas[0], Ana, "more")
	w.Over(1)
	equal(w, "runs", w.Tools.Count("send"), 2)
	w.Tools.Change("send")
	w.Model.When("again", Calls(Call("send", `{}`)))
	w.Say(w.Replicas[0], Ana, "again")
	w.Until("the changed tool is asked for", func() bool { return len(w.Platform.Messages(Room)) == 3 && w.Asked() == "send" })
	w.Press(w.Replicas[0], Ben, chat.AskFor, "")
	w.Press(w.Replicas[0], Ana, chat.Deny, "send")
	w.Over(2)
	w.Say(w.Replicas[0], Ana, "more")
	w.Until("it asks again", func() bool { return len(w.Platform.Messages(Room)) == 4 && w.Asked() == "send" })
}

// 5.10: a server that the operator moved says the same as before, and is another one: what was allowed for it is void, and the card says why.
func TestAMovedServerIsAnother(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
	w.Over(0)
	w.Tools.Put(Tool{Server: "files", Name: "write", Moved: true})
	w.Say(w.Replicas[0], Ana, "go")
	w.Shows(1, "This tool changed since it was last accepted or first seen: command or address of its server.", "is another one in the configuration")
	equal(w, "runs", w.Tools.Count("write"), 1)
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(1)
}

// A changed tool voids what was allowed and remembered for it, and says what changed before anything is asked; once it is accepted
// nothing is said any more.
func TestAChangedToolSaysWhatChanged(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		vouched(w)
		w.Model.When("go", Calls(Call("write", `{}`)))
		w.Say(w.Replicas[0], Ana, "go")
		w.Press(w.Replicas[0], Ana, chat.Remember, "write")
		w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
		w.Over(0)
		w.Tools.Change("write")
		w.Say(w.Replicas[1], Ana, "go")
		w.Shows(1, "This tool changed since it was last accepted or first seen: description.", "“It does write.”", "“It does write, in version 1.”")
		equal(w, "runs", w.Tools.Count("write"), 1)
		w.Press(w.Replicas[0], Ana, chat.Deny, "write")
		w.Over(1)
		s, err := w.Replicas[0].Engine.Settings(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		pin, _ := s.Pin(permission.Tool{Server: "files", Name: "write"})
		env := w.Envelope(Room, Ben)
		if _, err := w.Replicas[0].Engine.ChangeAsAdmin(w.Context(), env, "", permission.Accept(pin.Tool)); err == nil {
			w.Error("somebody who is no admin accepted a tool")
		}
		if _, err := w.Replicas[0].Engine.ChangeAsAdmin(w.Context(), w.Envelope(Room, Root), "", permission.Accept(pin.Tool)); err != nil {
			w.Error(err)
		}
		w.Say(w.Replicas[1], Ana, "go")
		w.Until("it is asked as it is", func() bool { return len(w.Platform.Messages(Room)) == 3 && w.Asked() == "write" })
		hasNot(w, "the card", w.Text(2), "changed since")
	})
}

// An admin's halt stops every turn of every replica, those that wait and those that run; nothing begins until an admin resumes.
func TestHalt(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		held := w.Latch()
		w.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(in Invocation) (turn.Result, error) {
			select {
			case <-held.C():
			case <-in.Ctx.Done():
			}
			return turn.Result{Text: "late"}, in.Ctx.Err()
		}})
		w.Model.When("ask", Calls(Call("write", `{}`)))
		w.Model.When("run", Calls(Call("touch", `{}`)))
		w.Say(w.Replicas[0], Ana, "ask")
		w.Asks("write")
		running := w.SaidBy(Ana, "run")
		running.Chat = Other
		w.Deliver(w.Replicas[1], running)
		w.Until("it runs", func() bool { return w.Tools.Count("touch") == 1 })
		halt := func(by chat.User, on bool) error {
			_, err := w.Replicas[0].Engine.ChangeAsAdmin(w.Context(), w.Envelope(Room, by), "", permission.Halting(on))
			return err
		}
		if halt(Ana, true) == nil {
			w.Error("somebody who is no admin halted everything")
		}
		if err := halt(Root, true); err != nil {
			w.Fatal(err)
		}
		has(w, "the waiting turn", w.Over(0), "Stopped by Root")
		w.Until("the running turn is over", func() bool {
			list := w.Platform.Messages(Other)
			return len(list) == 1 && !slices.Contains([]string{"working", "waiting"}, string(list[0].Now().State))
		})
		asked := len(w.Model.Heard())
		w.Say(w.Replicas[1], Ana, "ask")
		has(w, "a turn while it is halted", w.Over(1), "Root halted nod")
		equal(w, "requests to the model while it is halted", len(w.Model.Heard()), asked)
		if halt(Ana, false) == nil {
			w.Error("somebody who is no admin resumed")
		}
		if err := halt(Root, false); err != nil {
			w.Fatal(err)
		}
		w.Say(w.Replicas[1], Ana, "ask")
		w.Until("it asks again", func() bool { return len(w.Platform.Messages(Room)) == 3 && w.Asked() == "write" })
	})
}

// Where nobody can be asked the model is offered only what needs no asking, and what it calls all the same is refused at once.
// R175
func TestUnattendedRuns(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("nightly", Calls(Call("write", `{}`), Call("read", `{}`)))
	in := w.SaidBy(Ana, "nightly")
	in.Unattended = true
	w.Deliver(w.Replicas[0], in)
	text := w.Over(0)
	var offered []string
	for _, sp := range w.Model.Heard()[0].Tools {
		offered = append(offered, sp.Tool.Name)
	}
	if !slices.Equal(offered, []string{"read", "touch"}) {
		t.Errorf("offered %q", offered)
	}
	equal(w, "runs", w.Tools.Ran(), "read")
	hasNot(w, "the message", text, "[Allow once]")
}

// What a server asks of a person while its tool runs is put to the requester, and to nobody else (SAFETY 4, row 25).
func TestAServerAsksForSomething(t *testing.T) {
	form := turn.Elicitation{Kind: turn.ElicitationForm, Message: "Which branch?", Fields: []turn.FormField{{Name: "branch", Type: "string", Required: true}}}
	setup := func(w *World) chan turn.Fill {
		got := make(chan turn.Fill, 1)
		w.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(in Invocation) (turn.Result, error) {
			f, err := in.Ask(form)
			got <- f
			return turn.Result{Text: "it said " + f.Action}, err
		}})
		w.Model.When("go", Calls(Call("touch", `{}`)))
		w.Say(w.Replicas[0], Ana, "go")
		w.Shows(0, "files asks for something before it goes on", "Which branch?", "Ana can answer")
		return got
	}
	fill := func(w *World, by chat.User, choice chat.Choice, fields map[string]string) string {
		in := w.Click(by, w.Await(choice, "touch"))
		in.Fields = fields
		return w.Deliver(w.Replicas[1], in)
	}
	t.Run("answered", func(t *testing.T) {
		both(t, Options{Replicas: 2}, func(w *World) {
			got := setup(w)
			has(w, "Ben's whisper", fill(w, Ben, chat.Answer, map[string]string{"branch": "main"}), "Only Ana")
			has(w, "an admin's whisper", fill(w, Root, chat.Decline, nil), "Only Ana")
			has(w, "the whisper", fill(w, Ana, chat.Answer, nil), "branch is needed")
			fill(w, Ana, chat.Answer, map[string]string{"branch": "main"})
			w.Over(0)
			if f := <-got; f.Action != turn.FillAccept || string(f.Content) != `{"branch":"main"}` {
				w.Errorf("the server got %s %s", f.Action, f.Content)
			}
		})
	})
	t.Run("declined", func(t *testing.T) {
		w := New(t, Options{Replicas: 2})
		got := setup(w)
		fill(w, Ana, chat.Decline, nil)
		w.Over(0)
		if f := <-got; f.Action != turn.FillDecline || f.Content != nil {
			t.Errorf("the server got %s %s", f.Action, f.Content)
		}
	})
	t.Run("nobody answers", func(t *testing.T) {
		w := New(t, Options{Replicas: 2})
		w.SetPolicy(func(p *permission.Policy, _ tools) { p.Timeout = time.Second })
		got := setup(w)
		w.Over(0)
		if f := <-got; f.Action != turn.FillCancel {
			t.Errorf("the server got %s", f.Action)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		w := New(t, Options{Replicas: 2})
		got := setup(w)
		w.Press(w.Replicas[1], Ana, chat.Stop, "")
		w.Over(0)
		if f := <-got; f.Action == turn.FillAccept {
			t.Errorf("the server got %s", f.Action)
		}
	})
}
