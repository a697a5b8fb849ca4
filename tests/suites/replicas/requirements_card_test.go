package replicas

import (
	"regexp"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// What docs/requirements.md asks of the turn's message, and no other test shows.

var (
	attribution = regexp.MustCompile(`needs no question|allowed once by Ana \d\d:\d\d UTC`)
	duration    = regexp.MustCompile(`\d+(\.\d+)? s\b`)
)

// A message whose call was asked for ends like one whose call was not, but for who allowed it.
// R76 R97 C16
func TestApprovedEndsAsIfNeverAsked(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("free", Calls(Call("touch", `{"n":1}`)), Says("That is it."))
	w.Model.When("asked", Calls(Call("write", `{"n":1}`)), Says("That is it."))
	w.Say(w.Replicas[0], Ana, "free")
	free := w.Over(0)
	w.Say(w.Replicas[0], Ana, "asked")
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	asked := w.Over(1)
	has(w, "what never asked", free, "needs no question")
	has(w, "what asked", asked, "allowed once by Ana")
	same := func(text string) string {
		return duration.ReplaceAllString(attribution.ReplaceAllString(strings.ReplaceAll(text, "Write", "Touch"), "allowed"), "time")
	}
	equal(w, "what asked, compared", same(asked), same(free))
	equal(w, "messages", len(w.Platform.Messages(Room)), 2)
}

// From the click on the buttons are gone, and the message says that it runs.
// R85
func TestWhileItRuns(t *testing.T) {
	w := New(t, Options{})
	done := w.Latch()
	w.Tools.Put(Tool{Server: "files", Name: "write", Run: func(Invocation) (turn.Result, error) {
		<-done.C()
		return turn.Result{Text: "write ok"}, nil
	}})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	shown := len(w.Platform.Messages(Room)[0].Versions)
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write")
	running := func(m render.Message) bool {
		for _, b := range m.Blocks {
			if s, ok := b.(render.Step); ok && s.Tool == "write" && s.State == render.StepRunning {
				return true
			}
		}
		return false
	}
	w.Until("it is said to run", func() bool { return running(w.Platform.Messages(Room)[0].Now()) })
	for _, v := range w.Platform.Messages(Room)[0].Versions[shown:] {
		text := render.PlainText(v.View)
		hasNot(w, "the message after the click", text, "[Allow for this chat]", "[Allow once]", "[Deny]", "Allow tool call from")
	}
	has(w, "the message while it runs", w.Text(0), "running · started ", "[Stop]")
	done.Open()
	w.Over(0)
}

// What is asked for stands on the card with the rule that asks; why the model wants it stands above it, as the model's own words, and no
// word of the model is on the card itself.
// R79
func TestWhyItIsAsked(t *testing.T) {
	const why = "The report is due, so I put it into the shared folder."
	w := New(t, Options{})
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		h.Stream(agent.Delta{Text: why})
		return agent.Reply{Text: why, Calls: []agent.ReplyCall{Call("write", `{"path":"report"}`)}}, nil
	})
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	at := -1
	for i, b := range w.Platform.Messages(Room)[0].Now().Blocks {
		switch b := b.(type) {
		case render.Text:
			if strings.Contains(b.Markdown, why) {
				at = i
			}
		case render.Ask:
			if at != i-1 {
				t.Errorf("the model's words stand at %d, the card at %d", at, i)
			}
			has(w, "the card", render.PlainText(render.Message{Blocks: []render.Block{b}}), "Run write from files", "path: report", "changes things")
			hasNot(w, "the card", render.PlainText(render.Message{Blocks: []render.Block{b}}), "report is due")
			at = len(why) // seen
		default: // of no interest here
		}
	}
	if at != len(why) {
		t.Error("there is no card")
	}
}

// A tool that only an admin can allow says so, and how to have one, where there is none.
// R111
func TestNoAdminIsExplainedOnTheCard(t *testing.T) {
	w := New(t, Options{})
	auth := permission.RequireAuth
	w.SetPolicy(func(p *permission.Policy, files tools) {
		p.Admins = nil
		files["write"] = permission.ToolSettings{Approval: &auth}
	})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	has(w, "the card", w.Text(0), "ADMIN_SESSION_KEYS", "🔐")
	hasNot(w, "the card", w.Text(0), "[Allow for this chat]")
	has(w, "Ana's whisper", w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write"), "ADMIN_SESSION_KEYS")
	w.Asks("write")
	equal(w, "ran", w.Tools.Ran(), "")
}
