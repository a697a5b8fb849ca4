package replicas

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

// Who looked at what a call replaces died over it: whoever goes on looks no second time, and asks.
func TestWhoLookedAtWhatACallReplacesDies(t *testing.T) {
	w := New(t, Options{Replicas: 2, Lease: 300 * time.Millisecond})
	over := w.Latch()
	w.Tools.Put(Tool{Server: "files", Name: "read", Run: func(Invocation) (turn.Result, error) {
		<-over.C()
		return turn.Result{Text: "as it was"}, nil
	}})
	w.Tools.Put(Tool{Server: "files", Name: "write", Preview: "read"})
	w.Model.When("go", Calls(Call("write", `{"path":"notes.txt","content":"as it will be"}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Ran("read")
	w.Replicas[0].Kill()
	w.Deliver(w.Replicas[1], w.Click(Ana, w.Await(chat.AllowOnce, "write")))
	w.Over(0)
	equal(t, "ran", w.Tools.Ran(), "read write")
}

// What a call changes stands on its card; where the look at what it replaces failed, no word of what came of that does.
func TestWhatACallChangesIsShown(t *testing.T) {
	for name, x := range map[string]struct {
		is    turn.Result
		err   error
		shows bool
	}{
		"read":          {is: turn.Result{Text: "as it was"}, shows: true},
		"its error":     {is: turn.Result{Text: "as it was", IsError: true}},
		"nothing known": {is: turn.Result{Text: "as it was"}, err: errors.New("the server died (simulated)")},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Tools.Put(Tool{Server: "files", Name: "read", Run: func(Invocation) (turn.Result, error) { return x.is, x.err }})
			w.Tools.Put(Tool{Server: "files", Name: "write", Preview: "read"})
			w.Model.When("go", Calls(Call("write", `{"path":"notes.txt","content":"as it will be"}`)))
			w.Say(w.Replicas[0], Ana, "go")
			b := w.Await(chat.AllowOnce, "write")
			equal(t, "what it changes is shown", strings.Contains(fmt.Sprintf("%+v", w.Platform.Messages(Room)[0].Now()), "as it was"), x.shows)
			w.Deliver(w.Replicas[0], w.Click(Ana, b))
			w.Over(0)
			equal(t, "ran", w.Tools.Ran(), "read write")
		})
	}
}
