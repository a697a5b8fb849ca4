package replicas

import (
	"testing"

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
	has(w, "Ana's whisper", w.Press(w.Replicas[0], Ana, chat.AllowServer, "drop"), "from you it does not cover it")
	equal(w, "runs", len(w.Tools.Effects()), 0)
	w.Press(w.Replicas[0], Root, chat.AllowServer, "drop")
	w.Over(0)
	equal(w, "runs", w.Tools.Count("drop"), 1)
}
