package replicas

import (
	"errors"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

func edit(w *World, b Button, args string) chat.Clicked {
	c := w.Click(Ana, b)
	c.Args = args
	return c
}

// A person changes the arguments: that is another call, asked for anew, and what was shown last is what runs.
func TestEditedArguments(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		w.Model.When("go", Calls(Call("write", `{"path":"a.txt"}`)))
		w.Say(w.Replicas[0], Ana, "go")
		old := w.Await(chat.AllowOnce, "write")
		form := w.Await(chat.Edit, "write")
		ben := w.Click(Ben, form)
		ben.Args = `{"path":"b.txt"}`
		has(w, "Ben's whisper", w.Deliver(w.Replicas[0], ben), "Only")
		has(w, "broken JSON", w.Deliver(w.Replicas[0], edit(w, form, `{"path":`)), "not taken")
		has(w, "the same", w.Deliver(w.Replicas[0], edit(w, form, ` {"path": "a.txt"} `)), "nothing was changed")
		equal(w, "whisper", w.Deliver(w.Replicas[1], edit(w, form, `{"path":"b.txt"}`)), "")
		w.Shows(0, "arguments changed by Ana", "b.txt")
		w.Until("asked anew", func() bool { b, ok := w.Button(Room, chat.AllowOnce, "write"); return ok && b.Token != old.Token })
		if w.Deliver(w.Replicas[1], w.Click(Ana, old)) == "" {
			t.Error("the button of the call as it was allowed the call as it is")
		}
		equal(w, "ran before anybody allowed it", w.Tools.Ran(), "")
		w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
		w.Over(0)
		e := w.Tools.Effects()
		if len(e) != 1 || e[0].Args != `{"path":"b.txt"}` {
			t.Errorf("ran %+v", e)
		}
		heard := w.Model.Heard()
		last := heard[len(heard)-1]
		talk := last.Talk[len(last.Talk)-1]
		if got := talk.Calls[0]; string(got.Args) != `{"path":"a.txt"}` || !strings.Contains(got.Result.Text, "Ana changed the arguments") {
			t.Errorf("the model reads %s %q", got.Args, got.Result.Text)
		}
	})
}

// A standing grant was not given for what somebody wrote into a form.
func TestEditedIsAlwaysAsked(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
	form := w.Await(chat.Edit, "send")
	w.SetPolicy(func(_ *permission.Policy, files tools) {
		files["send"] = permission.ToolSettings{Ask: permission.NeverAsk}
	})
	equal(w, "whisper", w.Deliver(w.Replicas[0], edit(w, form, `{"to":"all"}`)), "")
	w.Shows(0, "arguments changed by Ana")
	w.Asks("send")
	w.Press(w.Replicas[0], Ana, chat.Deny, "send")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write")
}

// What the tool does not take never becomes a call, and a call that is decided is not edited any more.
func TestEditRefused(t *testing.T) {
	w := New(t, Options{})
	w.Tools.Put(Tool{Server: "files", Name: "send", Check: func(args string) error {
		if strings.Contains(args, "bad") {
			return errors.New("to: must not be bad")
		}
		return nil
	}})
	w.Model.When("go", Calls(Call("write", `{"password":"hunter2hunter2"}`), Call("send", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	ask := w.Await(chat.AllowOnce, "write")
	if _, ok := w.Button(Room, chat.Edit, "write"); ok {
		t.Error("a call with a masked secret is offered to be edited")
	}
	has(w, "a call with a secret", w.Deliver(w.Replicas[0], edit(w, Button{Chat: Room, Message: ask.Message, Choice: chat.Edit, Token: ask.Token}, `{"x":1}`)), "cannot be changed here")
	form := w.Await(chat.Edit, "send")
	has(w, "what the tool does not take", w.Deliver(w.Replicas[0], edit(w, form, `{"to":"bad"}`)), "must not be bad")
	w.Press(w.Replicas[0], Ana, chat.Deny, "send")
	has(w, "a decided call", w.Deliver(w.Replicas[0], edit(w, form, `{"x":1}`)), "Already denied by Ana")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(0)
	s, err := w.Replicas[0].Engine.Session(t.Context(), Room)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Last.Calls {
		if len(c.Edits) > 0 || c.Status != turn.Denied {
			t.Errorf("%s: %s, edits %v", c.Tool.Name, c.Status, c.Edits)
		}
	}
}

// What is forbidden stays forbidden, whoever wrote the arguments.
func TestEditedAndForbidden(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	form := w.Await(chat.Edit, "send")
	w.SetPolicy(func(_ *permission.Policy, files tools) { files["send"] = permission.ToolSettings{Disabled: true} })
	equal(w, "whisper", w.Deliver(w.Replicas[0], edit(w, form, `{"to":"all"}`)), "")
	w.Shows(0, "not allowed: send of files is disabled")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "")
}

// Arguments that cannot be shown in full are no call, so that nobody can allow them unseen.
func TestEditTooLong(t *testing.T) {
	w := New(t, Options{})
	twoAsks(w)
	form := w.Await(chat.Edit, "send")
	has(w, "whisper", w.Deliver(w.Replicas[0], edit(w, form, `{"text":"`+strings.Repeat("x", 200_000)+`"}`)), "too long to be shown in full")
	w.Asks("write", "send")
	w.Press(w.Replicas[0], Ana, chat.DenyAll, "")
	w.Over(0)
}
