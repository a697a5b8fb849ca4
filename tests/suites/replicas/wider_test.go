package replicas

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// A label grants what it says: all of a server, offered because an admin could give it, is refused to somebody from whom it would not let
// this very call run, and taken from an admin.
func TestAWiderGrantThatWouldNotCoverThisCall(t *testing.T) {
	w := New(t, Options{})
	w.SetPolicy(func(_ *permission.Policy, f tools) {
		dangerous := permission.Dangerous
		f["drop"] = permission.ToolSettings{Risk: &dangerous}
	})
	w.Model.When("go", Calls(Call("drop", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	b := w.Await(chat.AllowServer, "drop")
	for _, x := range []struct {
		by     chat.User
		choice chat.Choice
		code   decision.RefusalCode
	}{
		{Ana, chat.AllowServer, decision.RefusedNotOffered}, {Root, chat.AllowServer, ""}, {Ana, chat.AllowOnce, ""}, {Ana, chat.AllowSession, ""},
		{Ben, chat.AllowOnce, decision.RefusedNotYours}, {Ben, chat.AllowSession, decision.RefusedNotYours}, {Ben, chat.ViewDetail, ""}, {Root, chat.AllowSession, ""},
		{Ana, chat.Edit, ""}, {Ben, chat.Edit, decision.RefusedNotYours},
	} {
		click := w.Click(x.by, b)
		click.Choice = x.choice
		code := decision.RefusalCode("")
		if no := w.Replicas[0].Engine.Refuses(context.Background(), click); no != nil {
			code = no.Code
		}
		equal(w, string(x.choice)+" of "+x.by.Key, code, x.code)
	}
	equal(w, "recorded", recorded(w), "said")
	has(w, "Ana's whisper", w.Press(w.Replicas[0], Ana, chat.AllowServer, "drop"), "from you it does not cover it")
	equal(w, "runs", len(w.Tools.Effects()), 0)
	w.Press(w.Replicas[0], Root, chat.AllowServer, "drop")
	w.Over(0)
	equal(w, "runs", w.Tools.Count("drop"), 1)
}

// Of one tool a click is taken as its card offered it, though such grants are withheld since: its own call runs, and the next one asks.
func TestAGrantThatIsWithheldSince(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	b, no := w.Await(chat.AllowChat, "write"), false
	w.SetPolicy(func(_ *permission.Policy, f tools) { f["write"] = permission.ToolSettings{ChatGrant: &no} })
	if say := w.Deliver(w.Replicas[0], w.Click(Ana, b)); say != "" {
		t.Fatal(say)
	}
	w.Over(0)
	equal(w, "runs", w.Tools.Count("write"), 1)
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("it is asked for again", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
	equal(w, "runs", w.Tools.Count("write"), 1)
}

// unlisted are tools that cannot be listed.
type unlisted struct {
	agent.Tools
	lost *atomic.Bool
}

var errTools = errors.New("the tools cannot be listed")

func (u unlisted) List(ctx context.Context) ([]agent.ToolSpec, []agent.ServerFault, error) {
	if u.lost.Load() {
		return nil, nil, errTools
	}
	return u.Tools.List(ctx)
}

// What a wider grant is for has to be known. Where it is not the click comes back as an error, to be delivered again: it is not refused.
func TestAWiderGrantWhileTheToolsAreUnknown(t *testing.T) {
	var lost atomic.Bool
	w := New(t, Options{Engine: func(c *agent.Config) { c.Tools = unlisted{c.Tools, &lost} }})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	click := w.Click(Ana, w.Await(chat.AllowServer, "write"))
	lost.Store(true)
	if err := w.Replicas[0].Engine.Accept(context.Background(), click); !errors.Is(err, errTools) {
		t.Errorf("got %v, want %v", err, errTools)
	}
	equal(w, "the whisper", w.Platform.Whispered(click.Reply.Key), "")
	equal(w, "recorded", recorded(w), "said")
	lost.Store(false)
	equal(w, "delivered again", w.Deliver(w.Replicas[0], click), "")
	w.Over(0)
	equal(w, "runs", w.Tools.Count("write"), 1)
}
